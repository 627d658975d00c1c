"""A session as a file for others: JSON with everything that is kept, or Markdown to read."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from ..errors import ConfigError
from .inputs import as_text
from .transcript import Piece, pieces
from .visible import json_bytes, one_line, visible

if TYPE_CHECKING:
    from ..agent.sessions.store import SessionInfo, SessionRecord

Format = Literal["markdown", "json"]


def exported(record: SessionRecord, format: Format) -> bytes:
    """The session in this format."""
    return as_json(record) if format == "json" else as_markdown(record).encode("utf-8", "backslashreplace")


def as_json(record: SessionRecord) -> bytes:
    """`session` is as listed, `messages` the conversation as `load_conversation` reads it, `entries` everything."""
    found = {"session": record.info, "messages": record.messages, "entries": record.entries}
    return json_bytes(found, indent=2) + b"\n"


def as_markdown(record: SessionRecord) -> str:
    """A transcript. What people, models and tools said stands in fences that nothing in it can end."""
    info = record.info
    blocks = [f"# {_escaped(info.title)}", "\n".join(f"- {line}" for line in info_lines(info, _code))]
    blocks += [_block(piece) for piece in pieces(record.entries)]
    return "\n\n".join(blocks) + "\n"


def info_lines(info: SessionInfo, spelled: Callable[[str], str] = one_line) -> list[str]:
    """What is known of a session beside what was said; `spelled` is how names are written."""
    return [
        f"Session: {spelled(info.id)}",
        f"Model: {spelled(info.model)}",
        f"Folder: {spelled(info.cwd)}",
        f"Begun: {when(info.created)}, last used: {when(info.updated)}",
        f"State: {info.state}",
    ]


def when(time: str) -> str:
    """A time of the store as a person reads it."""
    return f"{time.replace('T', ' ').partition('.')[0]} UTC"


def write_export(data: bytes, name: str, *, force: bool) -> None:
    """Writes the file for its owner alone. One that is there stays, unless `force` replaces it."""
    beside = f"{name}.{os.getpid()}.new" if force else name
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            if force:
                os.replace(beside, name)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise
    except FileExistsError:
        raise ConfigError(
            f"{as_text(name)} is there already", hint="Name another file, or replace it: --force"
        ) from None
    except (OSError, ValueError) as error:
        words = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(
            f"cannot write {as_text(name)}: {words}", hint="Check the folder and its permissions."
        ) from None


def _block(piece: Piece) -> str:
    if piece.kind == "note":
        block = f"*{_escaped(piece.heading)}*"
        return f"{block}\n\n{_fenced(piece.text)}" if piece.text else block
    fenced = _fenced(piece.text, "json" if piece.kind == "call" else "text")
    if piece.kind == "reasoning":
        return f"<details><summary>{piece.heading}</summary>\n\n{fenced}\n\n</details>"
    level = "##" if piece.kind in ("question", "system") else "###"
    return f"{level} {_escaped(piece.heading)}\n\n{fenced}"


def _fenced(text: str, language: str = "text") -> str:
    """The text in a fence that is longer than every run of its mark inside."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{visible(text).rstrip()}\n{fence}"


def _code(text: str) -> str:
    """A name in a line, written so that nothing in it is Markdown."""
    shown = one_line(text)
    mark = "`" * (_longest_run(shown) + 1)
    blank = " " if "`" in shown else ""
    return f"{mark}{blank}{shown}{blank}{mark}" if shown else "(none)"


def _escaped(text: str) -> str:
    """A line in which nothing is Markdown or HTML, nor an address that readers make a link of by themselves."""
    shown = one_line(text)
    return "".join(
        f"\\{char}" if char in _MARKS or (char == "." and shown[max(0, at - 3) : at].lower() == "www") else char
        for at, char in enumerate(shown)
    )


_MARKS = frozenset("\\`*_{}[]<>#+!|~&$:@")


def _longest_run(text: str) -> int:
    """Of backticks."""
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
