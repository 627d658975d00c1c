"""A run as whole lines of words, for ears as well as for eyes: nothing moves, and no mark or colour says anything.

Our own words begin a line; what a model, a tool or a file says is always indented, so that it cannot pass for them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from ..agent.events import (
    AgentEvent,
    NestedEvent,
    RunFinished,
    RunInterrupted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from ..cli.held import HeldEvents
from ..cli.nested import NestedCalls
from ..cli.screen import CALL_CHARACTERS, RESULT_CHARACTERS, RESULT_LINES, SERVER_TOOL_SHOWN
from ..cli.telling import ENDS, event_words
from ..cli.visible import json_bytes, one_line, visible
from ..cli.wrapping import WordWrap
from ..execution.executor import ToolResult
from ..providers.media import mention
from ..stream.segments import CALL_SEGMENTS, EventType, SegmentEvent, SegmentType

_INDENT = "  "
_PATIENCE = 10.0
"""Seconds between two words about a tool that still runs."""
_HEADINGS = {SegmentType.TEXT: "Answer:", SegmentType.REASONING: "Reasoning:"}
_NESTED = {"●": "calls", "→": "got", "✗": "error:"}


class _Segment:
    """A segment until it is written: what waits behind another one, and the line that is not whole yet."""

    def __init__(self, kind: SegmentType, width: int, heading: str) -> None:
        self.kind = kind
        self.heading = heading
        self.wrap = WordWrap(width)
        self.text = ""
        """Broken into lines, the last one not whole."""
        self.room = SERVER_TOOL_SHOWN if kind is SegmentType.SERVER_TOOL else None
        self.ended = False


class LineScreen:
    """Shows the events of one talk, run after run. A line is written when it is whole."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._segments: dict[str, _Segment] = {}
        self._numbers: dict[str, int] = {}
        """Of the calls of this run, by their ids."""
        self._names: dict[str, str] = {}
        self._started: dict[str, float] = {}
        """When a call that runs was last told of."""
        self._nested = NestedCalls()
        self._held = HeldEvents()
        self._began = 0.0

    def header(self, *lines: str) -> None:
        """Words of ours."""
        for line in lines:
            self._say(one_line(line))

    def number(self, id: str) -> int | None:
        """By which a call of this run was told of; None for one that was not."""
        return self._numbers.get(id)

    def begin(self) -> None:
        """A run begins."""
        for known in (self._segments, self._numbers, self._names, self._started):
            known.clear()
        self._began = time.monotonic()

    def wait(self, what: str) -> None:
        """Says nothing: whoever listens would hear it again and again."""

    def settle(self) -> None:
        """Writes what waits for the end of its line: nothing more comes."""
        for id in list(self._segments):
            self._end(id)

    def withdraw(self, id: str) -> None:
        """A worker was lost: says that what was written of this call, or of the answer, comes again."""
        if id:
            self._say(f"A worker was lost while {self._names.get(id, 'a tool')} ran.")
            return
        self.settle()
        self._say("A worker was lost: what came of this answer is void, and it begins anew.")

    @contextmanager
    def held(self) -> Iterator[None]:
        """While a question stands, nothing else is written; what happened meanwhile is shown after it."""
        with self._held.until_answered(self.show):
            yield

    def show(self, event: AgentEvent) -> None:
        """One event of the run."""
        if self._held.takes(event):
            return
        match event:
            case SegmentEvent():
                self._segment(event)
            case ToolStarted():
                self._name(event.id, event.invocation.tool_name)
                self._started[event.id] = time.monotonic()
            case ToolProgress():
                self._progress(event)
            case ToolFinished():
                self._started.pop(event.id, None)
                self._result(event.result)
            case NestedEvent():
                self._nested_event(event)
            case RunFinished():
                self._finished(event)
            case RunInterrupted():
                self.settle()
                self._say("")  # the terminal has written ^C
                self._say("Interrupted.")
            case _:
                for words in event_words(event):
                    self.settle()
                    self._say(f"Note: {one_line(words)}")

    # What streams

    def _segment(self, event: SegmentEvent) -> None:
        id = event.segment_id
        if event.type is EventType.START and event.segment_type not in (None, SegmentType.MARKUP):
            self._start(event)
        elif event.type is EventType.CONTENT and (shown := self._segments.get(id)) is not None:
            if shown.kind in CALL_SEGMENTS or shown.kind is SegmentType.MEDIA:
                return
            delta = event.delta
            if shown.room is not None:
                delta, shown.room = one_line(delta[: shown.room]), shown.room - len(delta)
            shown.text += shown.wrap.feed(visible(delta))
            self._write_front()
        elif event.type is EventType.END and (shown := self._segments.get(id)) is not None:
            if shown.kind in CALL_SEGMENTS:
                # Of a call that cannot be used, its result says why.
                shown.text = self._arguments((event.metadata or {}).get("arguments"))
            self._end(id)
        elif event.type is EventType.ERROR:
            self.settle()
        elif event.type is EventType.DONE and (ignored := (event.metadata or {}).get("ignored_calls")):
            self._say(f"Not run: {ignored} call{'s' * (ignored != 1)} of a kind that the model was not given.")

    def _start(self, event: SegmentEvent) -> None:
        assert event.segment_type is not None
        facts, kind, tool = event.metadata or {}, event.segment_type, one_line(event.tool_name or "")[:100]
        heading = _HEADINGS.get(kind, "")
        if kind in CALL_SEGMENTS:
            self._name(event.segment_id, tool)
            heading = f"Tool call {self._numbers[event.segment_id]}: {tool}"
        elif kind is SegmentType.SERVER_TOOL:
            heading = f"At the provider, {tool} {'gave' if facts.get('result') else 'was asked'}:"
        elif kind is SegmentType.MEDIA:
            heading = f"The model sent {one_line(str(facts.get('media', 'media')))[:100]}."
        self._segments[event.segment_id] = _Segment(kind, self._width, heading)
        self._write_front()

    def _write_front(self) -> None:
        """The whole lines of the segment in front; those behind it wait."""
        shown = next(iter(self._segments.values()), None)
        if shown is None:
            return
        if not shown.text.strip() and shown.kind in _HEADINGS:
            # Blank lines between calls are not worth a heading.
            return
        if shown.heading:
            shown.text = shown.text.lstrip("\n")
            self._say(shown.heading)
            shown.heading = ""
        whole, newline, shown.text = shown.text.rpartition("\n")
        if newline:
            self.quote(whole)

    def _end(self, id: str) -> None:
        ended = self._segments.get(id)
        if ended is not None and not ended.ended:
            ended.ended = True
            ended.text += ended.wrap.flush()
            if ended.text.strip():
                ended.text = ended.text.rstrip("\n") + "\n"
        while self._segments:
            front = next(iter(self._segments))
            self._write_front()
            if not self._segments[front].ended:
                break
            del self._segments[front]

    def _arguments(self, arguments: Any) -> str:
        """Each argument on a line of its own, a text of several lines below its name; all of it bounded."""
        if not isinstance(arguments, dict) or not arguments:
            return ""
        lines: list[str] = []
        for name, value in arguments.items():
            text = visible(value) if isinstance(value, str) else json_bytes(value).decode()
            name = one_line(str(name))[:80]
            if "\n" in text.rstrip("\n"):
                lines += [f"{name}:", *(f"{_INDENT}{line}" for line in text.rstrip("\n").split("\n"))]
            else:
                lines.append(f"{name}: {text.rstrip()}")
        whole = "\n".join(lines)
        left = len(whole) - CALL_CHARACTERS
        return f"{whole[:CALL_CHARACTERS]}\n" + (f"and {left:,} more characters\n" if left > 0 else "")

    # What runs

    def _name(self, id: str, tool: str) -> None:
        if id not in self._numbers:
            self._numbers[id] = len(self._numbers) + 1
            self._names[id] = one_line(tool)[:100]

    def _progress(self, event: ToolProgress) -> None:
        now = time.monotonic()
        if now - self._started.get(event.id, now) < _PATIENCE or event.id not in self._names:
            return
        self._started[event.id] = now
        last = one_line(event.text.rstrip().rpartition("\n")[2])[:200]
        self._say(f"Call {self._numbers[event.id]}, {self._names[event.id]}, still runs.")
        if last:
            self.quote(last)

    def _result(self, result: ToolResult) -> None:
        self.settle()
        self._name(result.id, result.name)
        call = f"call {self._numbers[result.id]}, {self._names[result.id]}"
        took = f", after {_spoken(result.seconds)}" if result.seconds else ""
        text = result.content.rstrip()
        if result.is_error and result.outcome in ("", "denied"):
            self._say(f"Not run: {call}:")
            text = text.removeprefix("Error: ").removeprefix("not run: ")
        else:
            self._say(f"{'Error' if result.is_error else 'Result'} of {call}{took}:")
        shown = "\n".join(text[:RESULT_CHARACTERS].split("\n")[:RESULT_LINES])
        self.quote(visible(shown) or "(nothing)")
        if left := len(text) - len(shown):
            self.quote(f"and {left:,} more characters, which the model gets")
        for part in result.media:
            self.quote(one_line(mention(part)))
        if result.note:
            self._say(f"Note: {one_line(result.note)}")

    def _nested_event(self, event: NestedEvent) -> None:
        self._name(event.id, "agent")
        line = self._nested.line(event, self._names[event.id])
        if line is not None:
            self.settle()
            self.quote(f"{line.who} {_NESTED.get(line.mark, '')} {line.text}".replace("  ", " "))

    def _finished(self, event: RunFinished) -> None:
        self.settle()
        facts = [f"{event.turns} turn{'' if event.turns == 1 else 's'}"]
        if event.usage.total_tokens:
            facts.append(f"{event.usage.input_tokens:,} tokens in, {event.usage.output_tokens:,} out")
        facts.append(_spoken(time.monotonic() - self._began))
        if event.stop_reason in ENDS:
            facts.append(ENDS[event.stop_reason])
        self._say(f"Done: {', '.join(facts)}.")

    # Lines

    @property
    def _width(self) -> int:
        return max(self._console.width - 2 * len(_INDENT) - 1, 20)

    def _say(self, words: str) -> None:
        """What is in our words may not be ours: only their first line begins at the left."""
        wrap = WordWrap(self._width)
        head, *more = f"{wrap.feed(words)}{wrap.flush()}".split("\n")
        self._console.out(head, highlight=False)
        for line in more:
            self._console.out(f"{_INDENT}{line}", highlight=False)

    def quote(self, text: str) -> None:
        """Words that are not ours: indented, whatever they hold."""
        for line in text.split("\n"):
            wrap = WordWrap(self._width)
            space = line[: len(line) - len(line.lstrip(" "))][: self._width // 2]
            for piece in f"{wrap.feed(line.lstrip(' '))}{wrap.flush()}".split("\n"):
                self._console.out(f"{_INDENT}{space}{piece}".rstrip(), highlight=False)


def _spoken(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
