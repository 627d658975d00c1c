"""The files that name servers: the person's own, those of a project, and any that are named on the command line.

A project's files come with code that somebody else wrote. What they name is started only with consent, and never in
place of a server of the person's own.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..approval.hidden import marked
from ..errors import ConfigError, FileRefused
from ..files.beneath import Roots
from ..files.replacing import Note, change_file
from ..folders import config_folder, home_folder
from .config import ServerConfig
from .consent import Consents
from .entries import Scope
from .jsonc import blanked, members
from .names import server_slug
from .reading import MAX_BYTES, Found, read_servers

_PROJECT_FILES = (".mcp.json", ".toolwire/config.toml", ".vscode/mcp.json", ".cursor/mcp.json")
_WORKSPACE = "${workspaceFolder}"
"""How editors write the folder that is worked in."""


class McpPaths(msgspec.Struct, frozen=True):
    """Where servers are looked for."""

    user: Path
    """The file that `toolwire mcp add` writes."""
    user_config: Path
    """The person's own settings, with `[mcp.servers.NAME]`."""
    project: tuple[Path, ...]
    root: Path
    """The workspace, links followed."""
    home: Path


class Loaded(msgspec.Struct, frozen=True):
    """All servers that are known, each name once."""

    servers: list[ServerConfig]
    """Those that may be started, and those that are not enabled."""
    unconsented: list[ServerConfig]
    """A project's, which may not before somebody has said so."""
    notes: list[str]


def mcp_paths(env: Mapping[str, str], workspace_root: str | os.PathLike[str]) -> McpPaths:
    """The files as the environment says, and those of the workspace."""
    config = config_folder(env)
    root = Path(os.path.realpath(workspace_root))
    return McpPaths(
        config / "mcp.json",
        config / "config.toml",
        tuple(root / name for name in _PROJECT_FILES),
        root,
        home_folder(env),
    )


def load_servers(paths: McpPaths, *, consents: Consents, further: Sequence[Path] = ()) -> Loaded:
    """Every server, as it was read at this moment: what is later shown, agreed to and started is this very value.

    Of servers with one name that counts which was named on the command line, then the person's own, then the
    project's; the others are left out with a note. A fault in a file of the person's is a `ConfigError`; a project's
    file that cannot be used is a note, since leaving it out starts nothing. A project's file stays one when it is
    named on the command line.
    """
    own = {os.path.realpath(path) for path in paths.project}
    loaded = Loaded([], [], [])
    taken: dict[str, ServerConfig] = {}
    for path in further:
        if os.path.realpath(path) in own:
            loaded.notes.append(f"{path} is the project's own file: what it names needs your consent")
            continue
        found = _read(path, "given", paths)
        if found is None:
            raise ConfigError(f"there is no file {path}", hint="Give the path of a JSON or TOML file.", file=str(path))
        _take(found, taken, loaded)
    for path in (paths.user, paths.user_config):
        found = _read(path, "user", paths)
        if found is not None:
            _take(found, taken, loaded)
    for path in paths.project:
        try:
            found = _read(path, "project", paths)
        except ConfigError as error:
            loaded.notes.append(f"{error.message}; the file is left out. {error.hint}".strip())
            continue
        if found is not None:
            _take(found, taken, loaded)
    for config in taken.values():
        may = config.scope != "project" or consents.given(config)
        (loaded.servers if may else loaded.unconsented).append(config)
    return loaded


def _take(found: Found, taken: dict[str, ServerConfig], loaded: Loaded) -> None:
    loaded.notes.extend(found.notes)
    for config in found.servers:
        other = taken.setdefault(server_slug(config.name), config)
        if other is not config and (other.scope, other.entry, other.name) != (config.scope, config.entry, config.name):
            loaded.notes.append(
                f"{config.source}: the server {config.name!r} is left out, for {other.source} has one of this name"
            )


def _read(path: Path, scope: Scope, paths: McpPaths) -> Found | None:
    """None where there is no such file."""
    source = os.path.abspath(path)
    try:
        # A pipe that nobody writes to must not hold everything up.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError(f"{source} is not a file", hint="Move it away.", file=source)
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        words = f"{source} cannot be read: {error.strerror or error}"
        raise ConfigError(words, hint="Look at its permissions, or move it away.", file=source) from None
    found = read_servers(data, form="toml" if path.suffix == ".toml" else "json", scope=scope, source=source)
    placed = Found([], found.notes)
    for config in found.servers:
        try:
            placed.servers.append(_placed(config, paths))
        except ConfigError as error:
            if scope != "project":
                raise
            placed.notes.append(f"{error.message}; it is left out. {error.hint}")
    return placed


def _placed(config: ServerConfig, paths: McpPaths) -> ServerConfig:
    """The server with its program and folder as whole paths, and the workspace where editors write a variable for it.

    A relative path is one from the workspace, but not in a file of the person's own: there it would let each project
    put its own program in the place.
    """
    root, home = (_as_written(str(path)) for path in (paths.root, paths.home))

    def here(text: str) -> str:
        before, *others = text.split(_WORKSPACE)
        made = before
        for after in others:
            # `$${` is a plain `${`; and a folder may be called so that one would begin at its end.
            place = _WORKSPACE if before.endswith("$") else root
            made += place + ("$" if place.endswith("$") and after.startswith("{") else "") + after
            before = after
        return made

    def whole(path: str, key: str) -> str:
        path = here(path)
        if config.scope != "project" and (path == "~" or path.startswith("~/")):
            path = home + path[1:]
        if os.path.isabs(path) or path.startswith("${"):
            return path
        if config.scope == "user":
            raise _from_nowhere(config.source, config.name, key)
        return os.path.normpath(os.path.join(root, path))

    return msgspec.structs.replace(
        config,
        command=whole(config.command, "command") if "/" in config.command else config.command,
        args=tuple(map(here, config.args)),
        env={name: here(value) for name, value in config.env.items()},
        cwd=whole(config.cwd, "cwd") if config.cwd else "",
    )


def _as_written(path: str) -> str:
    """A path as a file would have to say it: a folder's name is no place to fill variables in."""
    return path.replace("${", "$${")


def _from_nowhere(file: str, server: str, key: str) -> ConfigError:
    return ConfigError(
        f"{file}, server {marked(server)!r}: `{key}` is a path from nowhere",
        hint="Write it from / or from ~/.",
        file=file,
        server=server,
        key=key,
    )


# ---- writing


def add_server(path: Path, config: ServerConfig) -> None:
    """Writes a server into a JSON file, made where there is none. All else in it stays as it is, comments too.

    A `ConfigError` where the file cannot be used or has a server of this name, and for a relative path, as in any file
    of the person's own.
    """
    for key, value in (("command", config.command if "/" in config.command else ""), ("cwd", config.cwd)):
        if value and not value.startswith(("/", "~/", "${")) and value != "~":
            raise _from_nowhere(str(path), config.name, key)
    entry = _entry(config)

    def added(text: str) -> str:
        if not text.strip():
            return json.dumps({"mcpServers": {config.name: entry}}, indent=2, ensure_ascii=False) + "\n"
        plain = blanked(text)
        tops = members(plain)
        table = next((each for each in tops if each.key == "mcpServers"), None)
        if table is None:
            return _put(text, plain, 0, "mcpServers", {config.name: entry})
        if any(each.key == config.name for each in members(plain, table.value)):
            raise ConfigError(
                f"{path} has a server {config.name!r} already", hint=f"First: toolwire mcp remove {config.name}"
            )
        return _put(text, plain, table.value, config.name, entry)

    _change(path, added)


def remove_server(path: Path, name: str) -> None:
    """Takes a server out of a JSON file. All else in it stays as it is. A `ConfigError` where there is none."""

    def removed(text: str) -> str:
        plain = blanked(text)
        tops = members(plain) if text.strip() else []
        for table in tops:
            if table.key not in ("mcpServers", "servers") or plain[table.value] != "{":
                continue
            entries = members(plain, table.value)
            for number, each in enumerate(entries):
                if each.key != name:
                    continue
                if number < len(entries) - 1:
                    return text[: each.start] + text[entries[number + 1].start :]
                if number:
                    return text[: entries[number - 1].end] + text[each.end :]
                # A comma behind the only entry goes with it.
                return text[: each.start].rstrip() + text[plain.index("}", each.end) :]
        raise ConfigError(f"{path} has no server {marked(name)!r}", hint="toolwire mcp list shows where each stands.")

    _change(path, removed)


def _change(path: Path, change: Callable[[str], str]) -> None:
    real = os.path.realpath(path)
    folder = os.path.dirname(real)

    def changed(before: bytes | None) -> bytes:
        data = before or b""
        read_servers(data, form="json", scope="user", source=str(path))
        text = data.decode()
        mark = text[:1] if text[:1] == "\ufeff" else ""
        after = (mark + change(text.removeprefix("\ufeff"))).encode()
        read_servers(after, form="json", scope="user", source=str(path))
        return after

    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        change_file(Roots([folder]), real, changed, note=Note(mode=0o600))
    except FileRefused as error:
        raise ConfigError(error.message, hint=error.hint or "Look at the folder's permissions.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}", hint="Look at its folder.") from None


def _put(text: str, plain: str, at: int, key: str, value: dict[str, Any]) -> str:
    """The text with one more member at the end of the object that begins at `at`."""
    start = plain.index("{", at)
    there = members(plain, start)
    if there:
        line = text.rfind("\n", 0, there[-1].start) + 1
        between = text[line : there[-1].start]
        indent = between if not between.strip() else "  "
        place, head, tail = there[-1].end, ",", ""
    else:
        line = text.rfind("\n", 0, start) + 1
        outer = text[line : len(text) - len(text[line:].lstrip(" \t"))]
        indent = outer + "  "
        place, head, tail = start + 1, "", "" if text[start + 1 : start + 2] == "\n" else "\n" + outer
    written = json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + indent)
    return f"{text[:place]}{head}\n{indent}{json.dumps(key, ensure_ascii=False)}: {written}{tail}{text[place:]}"


def _entry(config: ServerConfig) -> dict[str, Any]:
    """What a file has to say for this server to be read from it."""
    said = msgspec.to_builtins(config)
    unset = msgspec.to_builtins(ServerConfig(name=config.name))
    entry = {key: value for key, value in said.items() if value != unset[key] and key not in _NOT_WRITTEN}
    for key in ("start_timeout", "timeout"):
        # Above an hour JSON files count in milliseconds.
        if entry.get(key, 0) > 3600:
            entry[key] *= 1000
    tools = {key: said[key] for key in ("allow", "deny") if said[key] != unset[key]}
    return {**entry, "tools": tools} if tools else entry


_NOT_WRITTEN = ("name", "scope", "source", "entry", "allow", "deny")
