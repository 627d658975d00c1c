"""The names under which a model knows the tools of servers: `mcp__SERVER__TOOL`.

Every such name leads back to one server and one tool. A name that does not fit is made to, and ended by a mark of what
it was; a name that happens to look as if it had such a mark gets one too. The server's part is short, so that it is
whole even where a provider takes no more than 64 characters: no server can come by a name of another's tool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from ..errors import ConfigError
from ..tools.definition import NAME_LENGTH, is_tool_name
from .config import ServerConfig

PREFIX = "mcp__"
SLUG_LENGTH = 32
_BETWEEN = "__"
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_TOOL_LETTERS = _LETTERS | {"."}
_MARK = 10
_HEX = frozenset("0123456789abcdef")
_REQUESTS = frozenset({"sampling", "elicitation"})
"""What servers ask of us goes through the gate under these names."""


def server_slug(name: str) -> str:
    """The server's part: its name where that is plain, without `__` in it or `_` at its ends, up to 32 characters."""
    kept = "_".join(filter(None, _plain(name[:NAME_LENGTH], _LETTERS).split("_")))
    if kept and kept == name and len(kept) <= SLUG_LENGTH and not _is_ended_by_mark(kept):
        return kept
    return _with_mark(kept or "server", name, SLUG_LENGTH)


def tool_name(server: str, tool: str) -> str:
    """The whole name of a server's tool. Different pairs have different names; none is that of a built-in tool."""
    start = f"{PREFIX}{server_slug(server)}{_BETWEEN}"
    room = NAME_LENGTH - len(start)
    fits = len(tool) <= room and is_tool_name(tool)
    if fits and not _is_ended_by_mark(tool) and tool not in _REQUESTS:
        return start + tool
    return start + _with_mark(_plain(tool[:room], _TOOL_LETTERS), tool, room)


def request_name(server: str, request: str) -> str:
    """The name for what a server asks of us, `sampling` or `elicitation`: no tool of a server has it."""
    return f"{PREFIX}{server_slug(server)}{_BETWEEN}{request}"


def check_names(configs: Iterable[ServerConfig]) -> None:
    """That no two servers have one name, or two that become one: a `ConfigError` says which."""
    seen: dict[str, ServerConfig] = {}
    for config in configs:
        other = seen.setdefault(server_slug(config.name), config)
        if other is not config:
            places = [f"{each.name!r}" + (f" in {each.source}" if each.source else "") for each in (other, config)]
            raise ConfigError(
                f"two MCP servers have one name: {places[0]} and {places[1]}",
                hint="Give one of them another name.",
                server=config.name,
            )


def _plain(name: str, letters: frozenset[str]) -> str:
    return "".join(char if char in letters else "_" for char in name)


def _with_mark(kept: str, name: str, room: int) -> str:
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    kept = kept[: room - _MARK - 1].rstrip("_")
    return f"{kept}_{mark}" if kept else mark


def _is_ended_by_mark(name: str) -> bool:
    """Whether it ends as names with a mark do."""
    return _HEX.issuperset(name[-_MARK:]) and len(name) >= _MARK and name[-_MARK - 1 : -_MARK] in ("", "_")
