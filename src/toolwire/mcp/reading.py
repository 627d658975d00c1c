"""Servers as files describe them, and their values filled in from the environment.

The JSON of other clients (`mcpServers`, VS Code's `servers`, Zed's `context_servers`) and TOML of our own
(`[mcp.servers.time]`). Reading a file starts nothing and looks at no variable.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from ..approval.hidden import marked
from ..errors import ConfigError, McpFailed
from .config import ServerConfig
from .entries import Scope, WrongEntry, is_address, server_of
from .jsonc import Member, NotJson, blanked, members, parse

MAX_BYTES = 1024 * 1024
"""Of a file."""
MAX_SERVERS = 200
"""In a file."""
MAX_NOTES = 50
"""What is told of a file, in sentences: a project's shall not push all else off the screen."""
MAX_DOTS = 500
"""Dots in one line of TOML: the time that a key takes to read grows with the square of them."""

Form = Literal["json", "toml"]
PLACES = {
    "json": (("mcpServers",), ("servers",), ("context_servers",), ("mcp", "servers")),
    "toml": (("mcp", "servers"), ("mcp_servers",)),
}
"""Where servers stand in a file, by its form."""


class Found(msgspec.Struct, frozen=True):
    """What a file says."""

    servers: list[ServerConfig]
    notes: list[str]
    """What of it is left out, one sentence each."""


def read_servers(data: bytes, *, form: Form, scope: Scope, source: str) -> Found:
    """The servers in the content of a file, as written there.

    What is not known is left out with a note. What is wrong is a `ConfigError` that names file, line, server and key
    and never a value, which may be a secret; in a project's file a wrong entry is left out with the same words, so
    that a file written for another client does not hold its reader up.
    """
    text = _text(data, source)
    top = _parsed(text, form, source)
    found = Found([], [])
    entries = _entries(top, form, source, found.notes)
    lines = _Lines(text, form)
    for name, entry in entries.items():
        try:
            config, notes = server_of(name, entry, form, scope, source)
        except WrongEntry as wrong:
            error = _error(wrong, name, lines, source)
            if scope != "project":
                raise error from None
            found.notes.append(f"{error.message}; it is left out. {error.hint}")
            continue
        found.servers.append(config)
        found.notes.extend(f"{source}, server {name!r}: {note}" for note in notes)
    if len(found.notes) > MAX_NOTES:
        found.notes[MAX_NOTES:] = [f"{source}: {len(found.notes) - MAX_NOTES:,} more of the kind are not told"]
    return found


def filled(config: ServerConfig, env: Mapping[str, str]) -> ServerConfig:
    """The server with `${NAME}` and `${NAME:-otherwise}` filled in from `env`, ready to be started.

    `${env:NAME}` and `${userHome}` are taken as other clients write them; `$${` stands for a plain `${`. A variable
    that is not there, and anything else in such brackets, is a `McpFailed` that names it.
    """

    def fill(text: str) -> str:
        return "".join(piece if isinstance(piece, str) else _value(piece, env, config.name) for piece in _pieces(text))

    try:
        made = msgspec.structs.replace(
            config,
            command=fill(config.command),
            args=tuple(map(fill, config.args)),
            env={name: fill(value) for name, value in config.env.items()},
            cwd=fill(config.cwd),
            url=fill(config.url),
            headers={name: fill(value) for name, value in config.headers.items()},
        )
    except _NotAName as problem:
        raise _cannot_start(
            config.name,
            f"{problem} cannot be filled in",
            "Write ${NAME} or ${NAME:-otherwise} for a variable of the environment, and $${ for a plain ${.",
        ) from None
    _check_filled(made)
    return made


def variables(config: ServerConfig) -> list[str]:
    """The names of the environment that this server is given values of, each once."""
    found: dict[str, None] = {}
    for text in _filled_texts(config):
        try:
            found.update((piece.name, None) for piece in _pieces(text) if isinstance(piece, _Variable))
        except _NotAName:
            continue
    return list(found)


# ---- files


def _text(data: bytes, source: str) -> str:
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{source} holds more than {MAX_BYTES:,} bytes", hint=_NO_SUCH_FILE, file=source)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{source} is not UTF-8 (line {line})", hint="Save it as UTF-8.", file=source) from None


def _parsed(text: str, form: Form, source: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        found = parse(text) if form == "json" else _toml(text)
    except (NotJson, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        words = "it is nested too deep" if isinstance(error, RecursionError) else marked(str(error))
        raise ConfigError(
            f"{source} is not {form.upper()}: {words}", hint="Correct it, or move the file away.", file=source
        ) from None
    if not isinstance(found, dict):
        raise ConfigError(f"{source} is no JSON object", hint=_FORM["json"], file=source)
    return found


def _toml(text: str) -> dict[str, Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise ValueError(f"more than {MAX_DOTS} dots (at line {number})")
    return tomllib.loads(text)


def _entries(top: dict[str, Any], form: Form, source: str, notes: list[str]) -> dict[str, Any]:
    """The entries of servers by their names, wherever in the file they stand."""
    entries: dict[str, Any] = {}
    tables = 0
    for place in PLACES[form]:
        table: Any = top
        for key in place:
            table = table.get(key) if isinstance(table, dict) else None
        if table is None:
            continue
        tables += 1
        if not isinstance(table, dict):
            raise ConfigError(f"in {source} `{'.'.join(place)}` is no table", hint=_FORM[form], file=source)
        for name, entry in table.items():
            if name in entries:
                words = f"{source} has the server {marked(name)[:80]!r} twice"
                raise ConfigError(words, hint="Delete one of them.", file=source, server=name)
            entries[name] = entry
    if len(entries) > MAX_SERVERS:
        raise ConfigError(f"{source} has more than {MAX_SERVERS} servers", hint=_NO_SUCH_FILE, file=source)
    if form == "json" and top and not tables:
        if any(isinstance(entry, dict) and entry.keys() & {"command", "url"} for entry in top.values()):
            raise ConfigError(f"{source} has servers outside of `mcpServers`", hint=_FORM["json"], file=source)
        notes.append(f"{source} names no servers; they would stand in `mcpServers`")
    if form == "toml" and isinstance(table := top.get("mcp"), dict):
        notes.extend(
            f"{source}: `mcp.{marked(key)[:60]}` is not known and left out" for key in table if key != "servers"
        )
    if top.get("inputs"):
        notes.append(
            f"{source}: `inputs` is left out; for what should not stand in the file, write ${{NAME}} of a variable"
        )
    return entries


def _error(wrong: WrongEntry, name: str, lines: _Lines, source: str) -> ConfigError:
    line = lines.of(name, wrong.key)
    where = f"{source}, line {line}" if line else source
    key = f": `{wrong.key}`" if wrong.key else ""
    return ConfigError(
        f"{where}, server {marked(name)[:80]!r}{key} {wrong.words}",
        hint=wrong.hint,
        file=source,
        server=name,
        key=wrong.key or None,
        line=line or None,
    )


class _Lines:
    """Where entries and their keys stand in a file. Looked for when the first is wrong, and once for all of them: else
    a project's file could hold its reader up for as long as it has wrong entries.
    """

    def __init__(self, text: str, form: Form) -> None:
        self._text = text
        self._form = form

    def of(self, name: str, key: str) -> int:
        """The line of a key of an entry, or of the entry; 0 where that cannot be said for sure."""
        return self._json(name, key) if self._form == "json" else self._toml(name, key)

    @cached_property
    def _plain(self) -> str:
        return blanked(self._text)

    @cached_property
    def _entries(self) -> dict[str, Member]:
        found: dict[str, Member] = {}
        for place in PLACES["json"]:
            at: int | None = len(self._plain) - len(self._plain.lstrip())
            for step in place:
                at = next((each.value for each in self._members(at) if each.key == step), None)
            found.update((each.key, each) for each in self._members(at))
        return found

    def _members(self, at: int | None) -> list[Member]:
        return [] if at is None or self._plain[at] != "{" else members(self._plain, at)

    def _json(self, name: str, key: str) -> int:
        entry = self._entries.get(name)
        if entry is None:
            return 0
        start = next((each.start for each in self._members(entry.value) if each.key == key), entry.start)
        return self._plain.count("\n", 0, start) + 1

    @cached_property
    def _written(self) -> list[str]:
        return self._text.split("\n")

    @cached_property
    def _headers(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self._written, 1):
            if line.lstrip().startswith("["):
                found.setdefault(line.partition("#")[0].strip(), []).append(number)
        return found

    def _toml(self, name: str, key: str) -> int:
        """By the header of the table, written as people do; keys in dotted or inline tables are not looked for."""
        quoted = (name, f'"{name}"', f"'{name}'")
        headers = [f"[{'.'.join(place)}.{each}]" for place in PLACES["toml"] for each in quoted]
        starts = [number for header in headers for number in self._headers.get(header, ())]
        if len(starts) != 1:
            return 0
        for number in range(starts[0], len(self._written)):
            line = self._written[number]
            if line.lstrip().startswith("["):
                break
            if key and line.partition("=")[0].strip().strip("\"'") == key:
                return number + 1
        return starts[0]


# ---- values


class _NotAName(Exception):
    """What stands in the brackets, as written."""


class _Variable(NamedTuple):
    name: str
    otherwise: str | None


def _pieces(text: str) -> Iterator[str | _Variable]:
    """A text in its order: what stays, and what is filled in."""
    at = 0
    while (start := text.find("${", at)) >= 0:
        if start > at and text[start - 1] == "$":
            yield text[at : start - 1] + "${"
            at = start + 2
            continue
        end = text.find("}", start)
        inner = text[start + 2 : end] if end >= 0 else ""
        name, has_other, otherwise = inner.partition(":-")
        name = "HOME" if name == "userHome" else name.removeprefix("env:")
        if not (name.isascii() and name.isidentifier()) or "${" in otherwise:
            raise _NotAName(marked(text[start : end + 1] if end >= 0 else text[start:])[:200])
        yield text[at:start]
        yield _Variable(name, otherwise if has_other else None)
        at = end + 1
    yield text[at:]


def _value(variable: _Variable, env: Mapping[str, str], server: str) -> str:
    if variable.otherwise is not None:
        return env.get(variable.name) or variable.otherwise
    if variable.name not in env:
        raise _cannot_start(
            server,
            f"the variable {variable.name} is not set",
            f"Set it before you start Toolwire: export {variable.name}=…",
        )
    return env[variable.name]


def _filled_texts(config: ServerConfig) -> list[str]:
    return [
        config.command,
        *config.args,
        *config.env.values(),
        config.cwd,
        config.url,
        *config.headers.values(),
    ]


def _check_filled(config: ServerConfig) -> None:
    """What could not be seen before the values were there."""
    if not config.command and not config.url:
        raise _cannot_start(config.name, "there is no program and no address", "Set the variable that gives it.")
    if config.url and not is_address(config.url):
        raise _cannot_start(config.name, "its url is no address of HTTP", "Write it whole: https://example.com/mcp")
    if config.cwd and not os.path.isabs(config.cwd):
        raise _cannot_start(config.name, "its cwd is no whole path", "Write a path that begins with /.")
    if "/" in config.command and not os.path.isabs(config.command):
        raise _cannot_start(config.name, "its command is no whole path", "Write a program's name, or its whole path.")
    if any(char in value for value in config.headers.values() for char in "\r\n\0"):
        raise _cannot_start(config.name, "one of its headers has several lines", "Look at the variables in it.")


def _cannot_start(server: str, words: str, hint: str) -> McpFailed:
    return McpFailed(f"the MCP server {server!r} cannot be started: {words}", hint=hint, server=server, why="start")


_FORM = {
    "json": 'Write {"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}.',
    "toml": 'Write [mcp.servers.time] and below it command = "uvx", args = ["mcp-server-time"].',
}
_NO_SUCH_FILE = "That is no file of MCP servers; move it away."
