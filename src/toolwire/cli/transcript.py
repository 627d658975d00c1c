"""A session as a person reads it: questions, answers, calls and what came of them, one piece after the other.

`heading` is Toolwire's own words, with names in them that are made visible; `text` came from people, models and tools,
and is for whoever shows it to make harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import msgspec

from ..agent.events import (
    ApprovalAnswered,
    HistoryCompacted,
    HistoryMoved,
    HookFailed,
    ParserChanged,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunInterrupted,
    ToolsChanged,
)
from ..agent.sessions.entries import Answered, Entry, Finished, Mended, Noted, Replaced, Said, Settled, Starting
from ..chunks import StopReason, TokenUsage
from ..messages import MediaPart, Message, OpaquePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from .telling import event_words
from .visible import json_bytes, one_line

Kind = Literal["system", "question", "reasoning", "answer", "call", "result", "note"]

_Told = (
    ApprovalAnswered
    | HistoryCompacted
    | HistoryMoved
    | HookFailed
    | ParserChanged
    | RequestRetried
    | RunFailed
    | RunFinished
    | RunInterrupted
    | ToolsChanged
)
"""The events that a reader is told of."""


class Piece(NamedTuple):
    """One thing that was said or done."""

    kind: Kind
    heading: str
    text: str = ""


def pieces(entries: Iterable[Entry]) -> Iterator[Piece]:
    """What the entries tell, in their order."""
    reader = _Reader()
    for entry in entries:
        yield from reader.take(entry)


class _Reader:
    """Keeps what later entries refer to: the calls of the answer at hand, and which of them have their result."""

    def __init__(self) -> None:
        self._questions = 0
        self._calls: dict[str, ToolCallPart] = {}
        self._given: set[str] = set()

    def take(self, entry: Entry) -> Iterator[Piece]:
        match entry.what:
            case Said(message):
                yield from self._said(message)
            case Answered(_, message):
                self._calls = {call.id: call for call in message.tool_calls}
                self._given.clear()
                yield from _answer_pieces(message)
            case Starting(_, id, tool, arguments) if id in self._calls and self._calls[id].arguments != arguments:
                yield Piece("call", f"{_named(tool)} ran with changed arguments", _json(arguments))
            case Finished(_, result) if result.id not in self._given:
                self._given.add(result.id)
                seconds = f" ({result.seconds:.1f} s)" if result.seconds else ""
                yield self._result(result.part(), seconds)
            case Settled(_, results):
                yield from self._left(results)
            case Mended(results):
                yield Piece("note", "The program ended here, in the middle of a run.")
                if results is not None:
                    yield from self._left(results, failed="gave no result")
            case Replaced(messages):
                yield Piece(
                    "note", f"From here on the model was sent a shorter conversation ({len(messages)} messages)."
                )
            case Noted(event):
                yield from self._event(event)
            case _:
                pass

    def _said(self, message: Message) -> Iterator[Piece]:
        if message.role == "system":
            yield Piece("system", "System", message.text)
            return
        self._questions += 1
        media = [_media_words(part) for part in message.parts if isinstance(part, MediaPart)]
        yield Piece("question", f"Question {self._questions}", "\n".join(filter(None, [message.text, *media])))

    def _left(self, results: Message, *, failed: str = "failed") -> Iterator[Piece]:
        """The results that had no entry of their own: of calls that were cancelled, or left open."""
        for part in results.parts:
            if isinstance(part, ToolResultPart) and part.id not in self._given:
                self._given.add(part.id)
                yield self._result(part, failed=failed)

    def _result(self, part: ToolResultPart, seconds: str = "", *, failed: str = "failed") -> Piece:
        heading = f"{_named(part.name)} {failed if part.is_error else 'gave'}{seconds}"
        if isinstance(part.content, str):
            return Piece("result", heading, part.content)
        texts = (each.text if isinstance(each, TextPart) else _media_words(each) for each in part.content)
        return Piece("result", heading, "\n".join(texts))

    def _event(self, event: dict[str, Any]) -> Iterator[Piece]:
        within = ""
        while event.get("type") == "nested" and isinstance(event.get("event"), dict):
            within, event = "In an agent of its own: ", event["event"]
        with suppress(msgspec.ValidationError):
            told: _Told = msgspec.convert(event, _Told)
            if isinstance(told, ApprovalAnswered):
                call = None if within else self._calls.get(told.id)
                name = _named(call.name) if call is not None else "a call"
                yield Piece("note", f"{within}{_decision_words(told, name)}", told.reason)
            elif isinstance(told, RunFailed):
                yield Piece("note", f"{within}The run failed{_cost(told.turns, told.usage)}.", told.error.message)
            elif isinstance(told, RunInterrupted):
                yield Piece("note", f"{within}The run was interrupted{_cost(told.turns, told.usage)}.")
            elif isinstance(told, RunFinished):
                why = "" if told.stop_reason is StopReason.STOP else f" ({told.stop_reason})"
                yield Piece("note", f"{within}Finished{why}{_cost(told.turns, told.usage)}.")
            else:
                for words in event_words(told):
                    yield Piece("note", within + one_line(words))


def _answer_pieces(message: Message) -> Iterator[Piece]:
    for part in message.parts:
        if isinstance(part, TextPart):
            yield Piece("answer", "Refusal" if part.refusal else "Answer", part.text)
        elif isinstance(part, ThinkingPart):
            if part.text:
                yield Piece("reasoning", "Reasoning", part.text)
        elif isinstance(part, ToolCallPart):
            yield Piece("call", f"Call of {_named(part.name)}", _json(part.arguments))
        elif isinstance(part, MediaPart):
            yield Piece("answer", "Answer", _media_words(part))
        elif isinstance(part, OpaquePart):
            yield Piece("note", f"At the provider: {_named(part.name or 'something')}")


def _decision_words(told: ApprovalAnswered, name: str) -> str:
    scope = "" if told.scope == "once" else f" ({one_line(str(told.scope))})"
    why = ":" if told.reason else "."
    return f"{name} was {'allowed' if told.allowed else 'denied'} by {_named(told.who)}{scope}{why}"


def _cost(turns: int, usage: TokenUsage) -> str:
    tokens = f", {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out" if usage.output_tokens else ""
    return f" after {turns} request{'' if turns == 1 else 's'}{tokens}"


def _media_words(part: MediaPart) -> str:
    where = part.name or (part.url if part.url and not part.url.startswith("data:") else "")
    return f"[{part.media_type}{f' {where}' if where else ''}]"


def _json(arguments: dict[str, Any]) -> str:
    return json_bytes(arguments, indent=2).decode()


def _named(name: str) -> str:
    return one_line(name)[:100]
