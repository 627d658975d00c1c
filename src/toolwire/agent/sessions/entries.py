"""What a session is made of: entries in a row, each JSON with a checksum, so that a damaged one is never believed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

import msgspec

from ...execution.executor import ToolResult
from ...messages import MediaPart, Message, OpaquePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from ..events import RunFailed, RunFinished, RunInterrupted, RunStarted


class Began(msgspec.Struct, frozen=True, tag="began", tag_field="type", omit_defaults=True):
    """Always the first: with which model, and in which folder."""

    model: str
    cwd: str
    base_url: str = ""


class Said(msgspec.Struct, frozen=True, tag="said", tag_field="type"):
    """A message of the person or of the system."""

    message: Message


class Answered(msgspec.Struct, frozen=True, tag="answered", tag_field="type"):
    """What the model answered, before any of its calls ran."""

    turn: int
    message: Message


class Starting(msgspec.Struct, frozen=True, tag="starting", tag_field="type"):
    """A call is about to run, with these arguments; without a `Finished` nobody knows what came of it."""

    turn: int
    id: str
    tool: str
    arguments: dict[str, Any]
    repeatable: bool
    """Whether it does no harm to call it again: it reads, or is declared idempotent."""


class Finished(msgspec.Struct, frozen=True, tag="finished", tag_field="type"):
    """A call has its result."""

    turn: int
    result: ToolResult


class Settled(msgspec.Struct, frozen=True, tag="settled", tag_field="type"):
    """Every call of the last answer has its result."""

    turn: int
    results: Message


class Replaced(msgspec.Struct, frozen=True, tag="replaced", tag_field="type"):
    """From here on the conversation is this, shorter one."""

    messages: list[Message]


class Mended(msgspec.Struct, frozen=True, tag="mended", tag_field="type", omit_defaults=True):
    """The program had ended in the middle of a run. `results` are for the calls that it left open, if it did."""

    results: Message | None = None


class Noted(msgspec.Struct, frozen=True, tag="noted", tag_field="type"):
    """An event of a run, as JSON has it."""

    event: dict[str, Any]


Written = Began | Said | Answered | Starting | Finished | Settled | Replaced | Mended | Noted


class Entry(msgspec.Struct, frozen=True):
    """One entry: when it was written, in UTC, and what."""

    at: str
    what: Written


class Damaged(Exception):
    """An entry is not what was written. Internal: it becomes a `SessionFailed`, or the end of what can be shown."""


def encode(what: Written, hide: Callable[[str], str]) -> bytes:
    """An entry of now. `hide` takes out of every text what may not be in a file."""
    return msgspec.json.encode({"at": now(), "what": _plain(msgspec.to_builtins(what, enc_hook=str), hide)})


def decode(body: bytes) -> Entry:
    """The entry again."""
    return _DECODER.decode(body)


def decode_checked(session: str, number: int, body: object, checksum: object) -> Entry:
    """The entry that was written as this one of this session; raises `Damaged` for anything else."""
    if not isinstance(body, bytes) or checksum != check(session, number, body):
        raise Damaged(f"entry {number} is not as it was written")
    try:
        return decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Damaged(f"entry {number} is of a kind that is not known") from None


def check(session: str, number: int, body: bytes) -> bytes:
    """The checksum of an entry: also for its place, so that none is taken for another."""
    return blake2b(b"%b\0%d\0%b" % (session.encode(), number, body), digest_size=16).digest()


def now() -> str:
    """The time in UTC; later times come later in the alphabet too."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_unicode(text: str) -> str:
    """The text as it is written: what is no Unicode, as in names of files that are none, is spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _plain(value: Any, hide: Callable[[str], str]) -> Any:
    """The value with every text in it made fit to be written. A secret that is a word of the format spoils none."""
    if isinstance(value, str):
        return value if value in _WORDS else hide(as_unicode(value))
    if isinstance(value, dict):
        return {_plain(str(name), hide): _plain(each, hide) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, hide) for each in value]
    return value


_ENTRIES = (Began, Said, Answered, Starting, Finished, Settled, Replaced, Mended, Noted)
_PARTS = (TextPart, ThinkingPart, ToolCallPart, MediaPart, ToolResultPart, OpaquePart)
_EVENTS = (RunStarted, RunFinished, RunFailed, RunInterrupted)
_WORDS = frozenset(
    {
        *("assistant", "system", "user", "tool"),
        *(str(each.__struct_config__.tag) for each in (*_ENTRIES, *_PARTS, *_EVENTS)),
        *(name for each in (*_ENTRIES, *_PARTS, Message, ToolResult) for name in each.__struct_fields__),
    }
)
"""Without these nothing could be read again."""
_DECODER = msgspec.json.Decoder(Entry)
