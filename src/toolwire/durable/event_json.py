"""Events of runs as JSON: items of a list, each with its place in the run and what it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ..agent.events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    HistoryCompacted,
    HistoryMoved,
    HookFailed,
    NestedEvent,
    ParserChanged,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolsChanged,
    ToolStarted,
    TurnStarted,
)
from ..errors import DurableFailed
from ..stream.segments import EventType, SegmentEvent
from .records import AttemptWithdrawn, spelled_out

_SEGMENTS = frozenset(EventType)
_VOIDABLE = {
    True: _SEGMENTS | {"request_retried", "history_moved"},
    False: frozenset({"tool_started", "tool_progress", "nested"}),
}
"""What is told while something is done, and told anew when that is done again: by whether it is of an answer."""
ENDS = frozenset({"run_finished", "run_interrupted", "run_failed"})
"""Each is the last event of an attempt that got so far."""


class Entry(NamedTuple):
    """One event as it stands in a batch."""

    position: int
    turn: int
    id: str
    event: AgentEvent | AttemptWithdrawn


class _Asked(msgspec.Struct, frozen=True, gc=False):
    digest: str = ""


class Head(msgspec.Struct, frozen=True, gc=False):
    """What must be known of any event to find its way. `attempt` and `first` are those of an `AttemptWithdrawn`."""

    type: str
    attempt: int = 0
    first: int = 0
    request: _Asked | None = None

    @property
    def kind(self) -> str:
        """What is counted as one: a question that is asked anew, about what the call has become, is another one."""
        return self.type if self.request is None else f"{self.type} {self.request.digest}"


def is_voidable(kind: str, id: str) -> bool:
    """Whether an event of this kind, of this call or (without an id) of an answer, can be withdrawn."""
    return kind in _VOIDABLE[not id]


def kind_of(event: AgentEvent | AttemptWithdrawn) -> str:
    """What stands as its `type` in JSON."""
    return event.type if isinstance(event, SegmentEvent) else str(type(event).__struct_config__.tag)


def head_of(event: AgentEvent) -> Head:
    """Of an event that is about to be told."""
    asked = _Asked(event.request.digest) if isinstance(event, ApprovalAsked) else None
    return Head(kind_of(event), request=asked)


def encode_event(position: int, turn: int, id: str, event: AgentEvent | AttemptWithdrawn) -> str:
    """The event as an item of a batch, which is a list in JSON. What is no Unicode in it is spelled out."""
    item = (position, turn, id, event)
    try:
        return _ENCODER.encode(item).decode()
    except UnicodeEncodeError:
        return _ENCODER.encode(spelled_out(msgspec.to_builtins(item, enc_hook=str, str_keys=True))).decode()


def decode_events(body: str) -> Iterator[Entry]:
    """The events of a batch again."""
    for position, turn, id, event in _batch(_ITEMS, body):
        try:
            yield Entry(position, turn, id, _decoded(event))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise _unknown(position, error) from None


def decode_heads(body: str) -> list[tuple[int, int, str, Head]]:
    """Position, turn, call and kind of every event of a batch, without the events themselves."""
    return _batch(_HEADS, body)


class _Nested(msgspec.Struct, frozen=True, tag="nested", tag_field="type"):
    """A `NestedEvent` of which the inside is not read yet."""

    turn: int
    id: str
    event: msgspec.Raw


_Tagged = (
    RunStarted
    | TurnStarted
    | HistoryMoved
    | HistoryCompacted
    | RequestRetried
    | ParserChanged
    | ToolsChanged
    | HookFailed
    | ApprovalAsked
    | ApprovalAnswered
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | RunFinished
    | RunInterrupted
    | RunFailed
    | AttemptWithdrawn
    | _Nested
)
_ENCODER = msgspec.json.Encoder(enc_hook=str)
_ITEMS = msgspec.json.Decoder(list[tuple[int, int, str, msgspec.Raw]])
_HEADS = msgspec.json.Decoder(list[tuple[int, int, str, Head]])
_HEAD = msgspec.json.Decoder(Head)
_SEGMENT = msgspec.json.Decoder(SegmentEvent)
_OTHER: msgspec.json.Decoder[_Tagged] = msgspec.json.Decoder(_Tagged)


def _decoded(event: msgspec.Raw) -> AgentEvent | AttemptWithdrawn:
    # A segment's event has no tag, so that it cannot be one of a union.
    if _HEAD.decode(event).type in _SEGMENTS:
        return _SEGMENT.decode(event)
    read = _OTHER.decode(event)
    if not isinstance(read, _Nested):
        return read
    inner = _decoded(read.event)
    assert not isinstance(inner, AttemptWithdrawn), "an agent inside has no attempts"
    return NestedEvent(read.turn, read.id, inner)


def _batch(decoder: msgspec.json.Decoder[list[Any]], body: str) -> list[Any]:
    try:
        return decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise _unknown(None, error) from None


class Unreadable(DurableFailed):
    """What is written of a run cannot be read, now or later."""


def _unknown(position: int | None, error: Exception) -> Unreadable:
    return Unreadable(
        f"an event of the run cannot be read: {error}",
        hint="It was written by another Toolwire, or damaged. Use the Toolwire of the workers.",
        position=position,
    )
