"""Names for a shell to complete that only this machine knows: sessions, runs, MCP servers, by `toolwire __names KIND`.

Asked at each press of Tab, so it loads next to nothing. Whatever is wrong, it prints less and says nothing. Names that
a shell could take for more than a word are left out: they come from models and from files of projects.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

COMMAND = "__names"
MOST = 200
"""Names at once."""
_WORDS = 50
"""Characters of what stands beside a name."""
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


def print_names(kinds: Sequence[str]) -> int:
    """Prints the names of a kind, each on a line, with a tab and some words about it where there are any."""
    lines: list[str] = []
    for kind in kinds:
        if kind in _SOURCES:
            lines += _SOURCES[kind](os.environ)
    try:
        sys.stdout.write("".join(f"{line}\n" for line in lines[:MOST]))
        sys.stdout.flush()
    except (OSError, ValueError):
        return 1
    return 0


def is_plain(name: str) -> bool:
    """Whether a shell takes it for one word and nothing else."""
    return 0 < len(name) <= 100 and set(name) <= _PLAIN and not name.startswith("-")


def _sessions(env: Mapping[str, str]) -> Iterator[str]:
    """The newest first. Read without the store, whose loading would take longer than a person waits for a Tab."""
    from ..folders import state_folder

    for name, info in _rows(
        state_folder(env) / "sessions.db", "SELECT id, info FROM sessions ORDER BY id DESC LIMIT ?"
    ):
        if isinstance(name, str) and is_plain(name):
            yield f"{name}\t{_title(info)}"


def _runs(env: Mapping[str, str]) -> Iterator[str]:
    """Those of a file of SQLite, the newest first; another machine's database is not asked at a Tab."""
    from ..folders import state_folder

    path = state_folder(env) / "runs.db"
    if url := env.get("TOOLWIRE_DATABASE", "").strip() or _database_setting(env):
        if not url.startswith("sqlite:///"):
            return
        path = Path(url.removeprefix("sqlite:///").partition("?")[0])
    wanted = "SELECT id, title FROM toolwire_runs ORDER BY created DESC LIMIT ?"
    for name, title in _rows(path, wanted):
        if isinstance(name, str) and is_plain(name):
            yield f"{name}\t{_words(str(title))}"


def _database_setting(env: Mapping[str, str]) -> str:
    import tomllib

    from ..folders import config_folder

    try:
        with (config_folder(env) / "config.toml").open("rb") as file:
            found = tomllib.load(file).get("database", "")
    except (OSError, ValueError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def _rows(path: Path, wanted: str) -> list[tuple[object, object]]:
    """What a file of SQLite has, up to `MOST` of it; nothing where it cannot be read."""
    import sqlite3

    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.1)
    except (sqlite3.Error, ValueError):
        return []
    try:
        return connection.execute(wanted, (MOST,)).fetchall()
    except sqlite3.Error:
        return []
    finally:
        connection.close()


def _title(info: object) -> str:
    """The beginning of the first question, if it can be read."""
    import json

    try:
        title = json.loads(info)["title"] if isinstance(info, (bytes, str)) else ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return _words(str(title))


def _words(title: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in title[: 4 * _WORDS])
    return " ".join(shown.split())[:_WORDS]


def _servers(env: Mapping[str, str]) -> Iterator[str]:
    from ..errors import ToolwireError
    from ..mcp.files import mcp_paths
    from ..mcp.reading import MAX_BYTES, read_servers

    paths = mcp_paths(env, os.getcwd())
    seen: set[str] = set()
    for path in (paths.user, paths.user_config, *paths.project):
        try:
            if not path.is_file():
                continue
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            found = read_servers(
                data, form="toml" if path.suffix == ".toml" else "json", scope="project", source=str(path)
            )
        except (ToolwireError, OSError, ValueError):
            continue
        for config in found.servers:
            if config.name not in seen and is_plain(config.name):
                seen.add(config.name)
                yield config.name


_SOURCES = {"sessions": _sessions, "runs": _runs, "servers": _servers}
