"""What may stand where the cursor is: names of commands, what follows them, files behind an `@`.

Nothing here takes the loop for longer than a moment: files are looked for in a thread and compared in slices.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..errors import ToolwireError
from ..mcp.attaching import PREFIX
from .commands import ALIASES, COMMANDS
from .file_index import FileIndex, places
from .mentions import find_mentions, mention_at

if TYPE_CHECKING:
    from ..mcp.servers import McpServers
    from .commands.command import Command
    from .talk import Talk

MOST_ROWS = 50
"""Suggestions at one time."""
_MOST_LISTED = 5_000
"""Names of one folder outside the index that are compared."""
_RESOURCES_SECONDS = 30.0
_PATIENCE = 2.0


class Completion(NamedTuple):
    """One suggestion: the text that it puts, and what is read of it."""

    put: str
    shown: str
    words: str = ""
    places: tuple[int, ...] = ()
    """The characters of `shown` that were typed."""
    goes_on: bool = False
    """More is to be typed behind it: the inside of a folder, what a command takes."""


class Completions(NamedTuple):
    """Suggestions for what stands between `start` and `end` of the text; without rows there is nothing to suggest."""

    start: int = 0
    end: int = 0
    rows: tuple[Completion, ...] = ()
    more: int = 0
    """How many others fit."""
    kind: Literal["commands", "arguments", "files", "servers", "history", "paste", ""] = ""
    mentioned: tuple[tuple[int, int], ...] = ()
    """Where the text names files that would be attached."""


NOTHING = Completions()


class Completer:
    """Suggests for one conversation in one folder."""

    def __init__(self, talk: Talk, commands: Mapping[str, Command] = COMMANDS) -> None:
        self._talk = talk
        self._commands = commands
        self._folder = talk.assembly.workspace.root
        self._index = FileIndex(self._folder)
        self._resources: dict[str, tuple[float, list[tuple[str, str]]]] = {}

    async def __call__(self, text: str, cursor: int) -> Completions:
        """What may stand at the cursor, and which files the text names."""
        if text.startswith("!"):
            return NOTHING
        found = await self._suggested(text, cursor)
        if "@" in text and not text.startswith("/"):
            mentions = await asyncio.to_thread(_mentioned, text, self._folder)
            found = found._replace(mentioned=mentions)
        return found

    async def _suggested(self, text: str, cursor: int) -> Completions:
        if text.startswith("/") and not text.startswith("//"):
            head, space, _ = text.partition(" ")
            if not space or cursor <= len(head):
                return self._names(text, head, cursor)
            command = self._commands.get(head[1:].lower()) or ALIASES.get(head[1:].lower())
            if "\n" not in text and command is not None:
                return self._arguments(text, head, command)
        mention = mention_at(text, cursor)
        if mention is None:
            return NOTHING
        start, end, typed, is_quoted = mention
        if typed.startswith(PREFIX) and (servers := self._talk.made.servers) is not None:
            return await self._of_servers(servers, start, end, typed.removeprefix(PREFIX))
        return await self._files(text, start, end, typed, is_quoted)

    async def prepare(self) -> None:
        """Looks through the folder before anyone asks, so that the first answer comes at once."""
        await self._index.known()

    # ---- commands

    def _names(self, text: str, head: str, cursor: int) -> Completions:
        typed = head[1:cursor].lower()
        if "\n" in head or "/" in typed:
            return NOTHING
        order = []
        for number, command in enumerate(self._commands.values()):
            name = command.name.lower()
            kind = 0 if name.startswith(typed) else 1 if typed in name else 2 if places(name, typed) else None
            if kind is not None:
                order.append((kind, number, command))
        rows = [
            _command_row(command, typed, text[len(head) :]) for _, _, command in sorted(order, key=lambda row: row[:2])
        ]
        if len(rows) == 1 and rows[0].put.strip() == head:
            return NOTHING
        return _of(0, len(head), rows, "commands")

    def _arguments(self, text: str, head: str, command: Command) -> Completions:
        start = len(head) + 1
        start += len(text[start:]) - len(text[start:].lstrip())
        typed = text[start:]
        try:
            found = command.complete(self._talk, typed)
        except ToolwireError:
            return NOTHING
        rows = [Completion(each.text, each.text, each.words, places(each.text, typed)) for each in found]
        if len(rows) == 1 and rows[0].put == typed:
            return NOTHING
        return _of(start, len(text), rows, "arguments")

    # ---- files

    async def _files(self, text: str, start: int, end: int, typed: str, is_quoted: bool) -> Completions:
        if not is_quoted and os.sep == "/":
            typed = typed.replace("\\ ", " ")
        if typed.startswith(("/", "~", "./", "../")) or typed in (".", ".."):
            found = await asyncio.to_thread(_listed, typed, self._folder)
            matches = [(path, places(path, typed)) for path in found[:MOST_ROWS]]
            count = len(found)
        else:
            fitting, count = await self._index.matches(typed, MOST_ROWS)
            matches = [(match.path, match.places) for match in fitting]
        space = "" if text[end : end + 1].isspace() else " "
        rows = [_file_row(path, marks, space) for path, marks in matches if path.isprintable() and '"' not in path]
        if typed == "" and not is_quoted and (servers := self._talk.made.servers) is not None and servers.statuses():
            rows.append(Completion(f"@{PREFIX}", PREFIX, "what MCP servers have to read", goes_on=True))
        if len(rows) == 1 and rows[0].shown == typed and not rows[0].goes_on:
            return NOTHING
        return _of(start, end, rows, "files", more=max(count - len(rows), 0))

    # ---- servers

    async def _of_servers(self, servers: McpServers, start: int, end: int, typed: str) -> Completions:
        statuses = {status.name: status for status in servers.statuses() if status.state != "off"}
        name, colon, rest = typed.partition(":")
        if not colon:
            rows = [
                Completion(f"@{PREFIX}{each}:", each, status.transport, places(each, name), goes_on=True)
                for each, status in statuses.items()
                if _fits(each, name)
            ]
            return _of(start, end, rows, "servers")
        if name not in statuses or statuses[name].state != "ready":
            # It would have to be started for this; whoever wants that can send the question.
            return NOTHING
        found = await self._resources_of(servers, name)
        rows = [
            Completion(f"@{PREFIX}{name}:{uri} ", uri, words, places(uri, rest))
            for uri, words in found
            if _fits(uri, rest) and not any(char.isspace() for char in uri)
        ]
        return _of(start, end, rows, "servers")

    async def _resources_of(self, servers: McpServers, name: str) -> list[tuple[str, str]]:
        known = self._resources.get(name)
        if known is None or time.monotonic() - known[0] > _RESOURCES_SECONDS:
            try:
                async with asyncio.timeout(_PATIENCE):
                    listed = await servers.connection(name).list_resources()
            except (ToolwireError, TimeoutError):
                listed = []
            found = [(str(each.get("uri", "")), str(each.get("name") or "")) for each in listed]
            known = self._resources[name] = (time.monotonic(), found)
        return known[1]


def _of(
    start: int,
    end: int,
    rows: Sequence[Completion],
    kind: Literal["commands", "arguments", "files", "servers"],
    more: int = 0,
) -> Completions:
    if not rows:
        return NOTHING
    return Completions(start, end, tuple(rows[:MOST_ROWS]), more + max(len(rows) - MOST_ROWS, 0), kind)


def _command_row(command: Command, typed: str, after: str) -> Completion:
    name = f"/{command.name}"
    shown = f"{name} {command.usage}".rstrip()
    marks = tuple(place + 1 for place in places(command.name, typed)) if typed else ()
    takes_more = bool(command.usage)
    return Completion(name + (" " if takes_more and not after else ""), shown, command.summary, marks, takes_more)


def _file_row(path: str, marks: tuple[int, ...], space: str) -> Completion:
    is_folder = path.endswith("/")
    needs_quotes = any(char.isspace() for char in path)
    put = f'@"{path}' if needs_quotes else f"@{path}"
    if not is_folder:
        put += ('"' if needs_quotes else "") + space
    return Completion(put, path, "folder" if is_folder else "", marks, goes_on=is_folder)


def _fits(text: str, typed: str) -> bool:
    return not typed or bool(places(text, typed))


def _listed(typed: str, folder: str) -> list[str]:
    """What is in the folder of a path that is typed, written as it is typed; hidden names where one is begun."""
    if typed in (".", "..", "~"):
        typed += "/"
    head, _, tail = typed.rpartition("/")
    head += "/"
    found: list[str] = []
    try:
        with os.scandir(os.path.join(folder, os.path.expanduser(head))) as scan:
            for number, entry in enumerate(scan):
                if number >= _MOST_LISTED:
                    break
                if entry.name.lower().startswith(tail.lower()) and (tail or not entry.name.startswith(".")):
                    found.append(f"{head}{entry.name}/" if _is_folder(entry) else f"{head}{entry.name}")
    except (OSError, ValueError):
        return []
    return sorted(found, key=_folders_first)


def _mentioned(text: str, folder: str) -> tuple[tuple[int, int], ...]:
    try:
        found, _ = find_mentions(text, folder)
    except ToolwireError:
        return ()
    return tuple((mention.start, mention.end) for mention in found)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _folders_first(path: str) -> tuple[bool, str]:
    return not path.endswith("/"), path.lower()
