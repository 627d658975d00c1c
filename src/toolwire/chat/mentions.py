"""`@path` in a question: which words of it name a file, and the parts that those files become.

A mention is the person's own doing, so that any file they can read may be mentioned. What names no file stays what it
was: addresses of mail, decorators, names of people.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..approval.hidden import marked
from ..attachments import MAX_BYTES, MAX_TEXT, attachment
from ..builtin.listing import size_words
from ..errors import ConfigError
from ..files.contents import HEAD, recognise
from ..framed import frame_name, framed
from ..mcp.attaching import attached, is_reference
from ..messages import MediaPart, Message, Part, TextPart
from .file_index import walk

if TYPE_CHECKING:
    from ..mcp.servers import McpServers

MOST_MENTIONS = 50
"""In one question."""
MOST_LISTED = 300
"""Entries of a folder that is mentioned."""
_LIST_DEPTH = 3
_PATH_CHARACTERS = 4_096
"""What is longer names nothing, and no system is asked about it."""

_BEFORE = frozenset(" \t\n([{,;\"'")
"""What may stand before the `@`; anything else makes it part of a word."""
_AFTER = ".,;:!?)]}>\"'"
"""What a sentence may put behind a name; taken off where the name with it is no file."""
_MOST_AFTER = 10
"""So many of them: each is a question to the file system."""


class Mention(NamedTuple):
    """A place in the text that names a file, a folder, or something of a server's."""

    start: int
    end: int
    written: str
    """The path or reference as it is typed, without quotes and lines."""
    real: str = ""
    """The path to open; empty for what is a server's."""
    lines: tuple[int, int] | None = None
    """The first and the last line that are meant, from 1."""

    @property
    def name(self) -> str:
        """What it is called in the message."""
        if self.lines is None:
            return self.written
        first, last = self.lines
        return f"{self.written}, line {first}" if first == last else f"{self.written}, lines {first}-{last}"


class Attached(NamedTuple):
    """The parts of all mentions of a question, and what the person is told about them."""

    parts: list[Part]
    notes: list[str]


def mention_at(text: str, cursor: int) -> tuple[int, int, str, bool] | None:
    """The mention that is being typed: where it begins and ends, what of it stands before the cursor, and whether it
    has quotes, open or closed. None where none is.
    """
    line = text.rfind("\n", 0, cursor) + 1
    start = text.find("@", line, cursor)
    while start >= 0:
        end = start + 1
        if start == 0 or text[start - 1] in _BEFORE:
            is_quoted = text[start + 1 : start + 2] == '"'
            end = _quoted_end(text, start + 2) if is_quoted else _word_end(text, start + 1)
            if start + is_quoted < cursor <= end:
                return start, end, text[start + 1 + is_quoted : cursor], is_quoted
        start = text.find("@", end, cursor)
    return None


def _quoted_end(text: str, at: int) -> int:
    """Behind the closing quote; the end of the line where there is none."""
    line = text.find("\n", at)
    line = len(text) if line < 0 else line
    close = text.find('"', at, line)
    return line if close < 0 else close + 1


def find_mentions(text: str, folder: str) -> tuple[list[Mention], list[str]]:
    """The mentions of a text, and what looks like one and names no file. Asks the file system for each."""
    found: list[Mention] = []
    missing: list[str] = []
    for start, end, written, is_quoted in _candidates(text):
        if is_reference(written):
            reference = written if is_quoted else written.rstrip(_AFTER)
            found.append(Mention(start, start + 1 + len(reference), reference))
        elif (mention := _mention(start, end, written, is_quoted, folder)) is not None:
            found.append(mention)
        elif is_quoted or _is_path_like(written):
            missing.append(written)
        if len(found) > MOST_MENTIONS:
            raise ConfigError(f"more than {MOST_MENTIONS} files are mentioned", hint="Mention a folder instead.")
    return found, missing


async def attach(text: str, folder: str, servers: McpServers | None = None) -> Attached:
    """The parts that the mentions of a text stand for. What cannot be attached is a `ConfigError` that says why."""
    mentions, missing = await asyncio.to_thread(find_mentions, text, folder)
    parts: list[Part] = []
    notes = [f"{marked(each)[:100]} is no file here: it was sent as words" for each in missing]
    seen: set[tuple[str, tuple[int, int] | None]] = set()
    room = MAX_BYTES
    for mention in mentions:
        what = (mention.real or mention.written, mention.lines)
        if what in seen:
            continue
        seen.add(what)
        if mention.real:
            part, words = await asyncio.to_thread(_part, mention)
            more: list[Part] = [part]
        else:
            more, words = await _of_server(mention.written, servers), "of an MCP server"
        room -= sum(_size(part) for part in more)
        if room < 0:
            raise ConfigError(
                f"what is mentioned has more than {MAX_BYTES // 1_000_000} MB together", hint="Mention fewer files."
            )
        parts += more
        notes.append(f"attached {marked(mention.name)}, {words}")
    return Attached(parts, notes)


def words_and_names(message: Message) -> tuple[str, list[str]]:
    """A question as its person sees it: what they typed, and the names of what went along with it.

    Also for questions of sessions that were kept.
    """
    words: list[str] = []
    names: list[str] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            if name := frame_name(part.text):
                names.append(name)
            else:
                words.append(part.text)
        elif isinstance(part, MediaPart):
            names.append(part.name or part.media_type)
    return "".join(words), names


def _candidates(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Where a mention may stand, its words, and whether they are in quotes."""
    at = text.find("@")
    while at >= 0:
        end = at + 1
        if at == 0 or text[at - 1] in _BEFORE:
            if text[end : end + 1] == '"':
                close = text.find('"', end + 1)
                if close > end + 1 and "\n" not in text[end:close]:
                    yield at, close + 1, text[end + 1 : close], True
                    end = close + 1
            else:
                end = _word_end(text, end)
                if end > at + 1:
                    yield at, end, text[at + 1 : end], False
        at = text.find("@", end)


def _word_end(text: str, at: int) -> int:
    while at < len(text) and not text[at].isspace():
        at += 2 if text[at] == "\\" and text[at + 1 : at + 2] == " " else 1
    return min(at, len(text))


def _mention(start: int, end: int, written: str, is_quoted: bool, folder: str) -> Mention | None:
    """The mention, if there is such a file. Behind a quoted name there may be lines: `@"a b.txt":10-40` is not one."""
    for cut in range(min(len(written), _MOST_AFTER) + 1):
        path = written[: len(written) - cut]
        if cut and (is_quoted or not path or written[-cut] not in _AFTER):
            return None
        if not is_quoted and os.sep == "/":
            path = path.replace("\\ ", " ")
        real = _real(path, folder)
        if real:
            return Mention(start, end - cut, path, real)
        head, colon, tail = path.rpartition(":")
        lines = _lines(tail) if colon else None
        if lines is not None and (real := _real(head, folder)) and not os.path.isdir(real):
            return Mention(start, end - cut, head, real, lines)
    return None


def _real(path: str, folder: str) -> str:
    """The path to open, if something is there."""
    if not path or len(path) > _PATH_CHARACTERS:
        return ""
    try:
        real = os.path.join(folder, os.path.expanduser(path))
        os.stat(real)
    except (OSError, ValueError):
        return ""
    return real


def _lines(text: str) -> tuple[int, int] | None:
    first, dash, last = text.partition("-")
    if not (_is_number(first) and (_is_number(last) if dash else True)):
        return None
    numbers = int(first), int(last) if dash else int(first)
    return numbers if 1 <= numbers[0] <= numbers[1] else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _is_path_like(written: str) -> bool:
    """Whether it was surely meant as a path: worth a word when it is none."""
    return "/" in written and all(char.isalnum() or char in "/._-~" for char in written)


async def _of_server(reference: str, servers: McpServers | None) -> list[Part]:
    if servers is None:
        raise ConfigError(
            f"{marked(reference)[:100]} cannot be attached: there are no MCP servers", hint="/mcp shows what there is."
        )
    return await attached(servers, reference)


def _part(mention: Mention) -> tuple[TextPart | MediaPart, str]:
    """What a file or folder becomes, and words about its size."""
    if os.path.isdir(mention.real):
        return _folder(mention)
    text = _text(mention)
    if text is None:
        part = attachment(mention.real)
        kind = part.media_type if isinstance(part, MediaPart) else "text"
        return part, f"{kind}, {size_words(_size(part))}"
    return TextPart(framed(f"file {mention.name}", text)), size_words(len(text.encode("utf-8", "replace")))


def _folder(mention: Mention) -> tuple[TextPart, str]:
    entries = list(walk(mention.real, most=MOST_LISTED + 1, depth=_LIST_DEPTH))
    more = len(entries) > MOST_LISTED
    lines = [entry if entry.isprintable() else ascii(entry)[1:-1] for entry in sorted(entries[:MOST_LISTED])]
    if more:
        lines.append("[more are not listed]")
    count = f"{'over ' if more else ''}{min(len(entries), MOST_LISTED)} entries"
    text = "\n".join(lines) or "[it is empty]"
    return TextPart(framed(f"folder {mention.name}", text)), f"a folder, {count}"


def _text(mention: Mention) -> str | None:
    """The text of a file, or the lines of it that are meant; None for what is no text."""
    data = _read(mention)
    contents = recognise(data[:HEAD], is_whole=len(data) <= HEAD)
    if not contents.encoding:
        if mention.lines is not None:
            raise ConfigError(
                f"{marked(mention.written)} has no lines: it is {contents.name}", hint="Mention it whole."
            )
        return None
    text = data[contents.mark :].decode(contents.encoding, "replace")
    if mention.lines is not None:
        text = _between(text, mention)
    if len(text) > MAX_TEXT:
        raise ConfigError(
            f"{marked(mention.name)} has {len(text):,} characters, and a text in a message at most {MAX_TEXT:,}",
            hint="Mention the lines that matter: @FILE:10-40. Or ask the model to read it with its tools.",
        )
    return text


def _between(text: str, mention: Mention) -> str:
    assert mention.lines is not None
    first, last = mention.lines
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if first > len(lines):
        raise ConfigError(f"{marked(mention.written)} has {len(lines):,} lines", hint=f"There is no line {first:,}.")
    return "\n".join(lines[first - 1 : last]) + "\n"


def _read(mention: Mention) -> bytes:
    name = marked(mention.written)
    try:
        # A pipe without a writer would not open otherwise.
        descriptor = os.open(mention.real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise ConfigError(f"{name} cannot be attached: {error.strerror}", hint="Check its permissions.") from None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{name} cannot be attached: it is neither a file nor a folder", hint="Check the path.")
        try:
            data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise ConfigError(f"{name} cannot be attached: {error.strerror}", hint="Is it a file?") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"{name} cannot be attached: it has {size_words(status.st_size)}, more than {MAX_BYTES // 1_000_000} MB",
            hint="Ask the model to read the part that matters with its tools.",
        )
    return data


def _size(part: Part) -> int:
    match part:
        case TextPart(text):
            return len(text)
        case MediaPart(_, _, data):
            return 0 if data is None else len(data) * 3 // 4 - data.count("=", max(0, len(data) - 2))
    return 0


def joined(words: str, parts: Iterable[Part]) -> Message:
    """A question with what goes along with it: the person's words first."""
    more = list(parts)
    return Message("user", [TextPart(words), *more] if more else words)
