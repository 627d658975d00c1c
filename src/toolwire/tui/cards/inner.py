"""An agent that runs as a tool, inside its card: the calls that it makes, a line each, and the end of what it says."""

from __future__ import annotations

from typing import NamedTuple

from ...agent.events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    NestedEvent,
    RunFailed,
    ToolFinished,
    ToolStarted,
)
from ...cli.telling import call_words, event_words
from ...cli.visible import one_line
from ...execution.executor import CANCELLED, DENIED
from ...stream.segments import CALL_SEGMENTS, EventType, SegmentEvent, SegmentType
from .line import MUTED, Line, quiet

_KEPT = 200
"""Calls that are kept; of more, the first are only counted."""
_TEXT = 400
"""Characters of its text that are kept: the whole comes as the result."""
_SHORT = 200
_FINAL = ("✓", "✗", "⊘", "■")
_NOT_RUN = {DENIED: ("⊘", "$text-warning"), CANCELLED: ("■", "$text-warning")}
"""Marks of results that no tool gave."""


class InnerCall(NamedTuple):
    """One call of the inner agent."""

    depth: int
    mark: str
    style: str
    name: str
    words: str = ""


class Inner:
    """What is known of the agent that runs in a call, and of those in its calls."""

    def __init__(self) -> None:
        self.count = 0
        """Calls that it made."""
        self._calls: dict[tuple[str, ...], InnerCall] = {}
        self._segment_id = ""
        self._text = ""
        self._notes: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._calls or self._text or self._notes)

    def take(self, event: NestedEvent) -> None:
        """Something happens in it, or deeper."""
        ids: list[str] = []
        inner: AgentEvent = event
        while isinstance(inner, NestedEvent):
            ids.append(inner.id)
            inner = inner.event
        path = tuple(ids[1:])
        if isinstance(inner, SegmentEvent):
            self._segment(path, inner)
        elif isinstance(inner, ApprovalAsked):
            self._set(path, inner.id, "?", "$text-warning", inner.request.invocation.tool_name, "waiting")
        elif isinstance(inner, ApprovalAnswered) and not inner.allowed:
            self._set(path, inner.id, "⊘", "$text-warning", "", f"denied by {one_line(inner.who)[:80]}")
        elif isinstance(inner, ToolStarted):
            name, words = call_words(inner.invocation.tool_name, inner.invocation.arguments)
            self._set(path, inner.id, "▶", "$text-primary", name, words.strip())
        elif isinstance(inner, ToolFinished):
            failed = inner.result.is_error
            mark, style = ("✗", "$text-error") if failed else ("✓", "$text-success")
            mark, style = _NOT_RUN.get(inner.result.outcome, (mark, style))
            words = _short(inner.result.content)
            self._set(path, inner.id, mark, style, inner.result.name, words if failed else "", keep=not failed)
        elif isinstance(inner, RunFailed):
            self._note(f"failed: {_short(inner.error.message)}")
        else:
            for words in event_words(inner):
                self._note(_short(words))

    def lines(self, most: int) -> list[Line]:
        """The last of its calls, then the end of its text."""
        shown = list(self._calls.values())[-most:]
        lines = [quiet(f"… {self.count - len(shown):,} calls above", "  ")] if self.count > len(shown) else []
        for call in shown:
            text = f"{call.name} {call.words}".rstrip()
            lines.append(Line(text, "", f"  {'  ' * call.depth}{call.mark} ", call.style, rows=1))
        lines += [quiet(note, "    ") for note in self._notes[-3:]]
        if tail := one_line(self._text):
            lines.append(Line(f"…{tail[-_SHORT:]}" if len(tail) > _SHORT else tail, "italic", "  › ", rows=2))
        return lines

    def plain(self) -> str:
        """The calls as text."""
        return "\n".join(f"{'  ' * each.depth}{each.mark} {each.name} {each.words}" for each in self._calls.values())

    def _segment(self, path: tuple[str, ...], event: SegmentEvent) -> None:
        if event.type is EventType.START:
            if event.segment_type in CALL_SEGMENTS:
                self._set(path, event.segment_id, "◌", MUTED, event.tool_name or "", "streaming")
            elif event.segment_type is SegmentType.TEXT and not path:
                self._segment_id, self._text = event.segment_id, ""
        elif event.type is EventType.CONTENT and not path and event.segment_id == self._segment_id:
            self._text = (self._text + event.delta[-_TEXT:])[-_TEXT:]

    def _set(
        self, path: tuple[str, ...], id: str, mark: str, style: str, name: str, words: str, *, keep: bool = False
    ) -> None:
        key = (*path, id)
        before = self._calls.get(key)
        if before is not None and before.mark in _FINAL and mark not in _FINAL:
            # Some providers count the calls of each answer from 0: this is another one.
            self._calls = {(*each, "") if each == key else each: call for each, call in self._calls.items()}
            before = None
        if before is None:
            self.count += 1
            while len(self._calls) >= _KEPT:
                del self._calls[next(iter(self._calls))]
        elif before.mark == "⊘" and mark in ("✗", "⊘"):
            return
        name = (before.name if before else "") or one_line(name[:200])[:100]
        words = before.words if keep and before else words
        self._calls[key] = InnerCall(len(path), mark, style, name, words)

    def _note(self, words: str) -> None:
        self._notes = [*self._notes[-2:], words]


def _short(text: str) -> str:
    words = one_line(text[: 2 * _SHORT])
    return words if len(words) <= _SHORT else f"{words[:_SHORT]}…"
