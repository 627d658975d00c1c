"""An agent run on a terminal, as it happens: calls while they stream, results, the answer, how it ended.

Everything is written once and in order, so that it reads the same in a scroll-back, a pipe or a log. Calls that
stream side by side are shown one after the other, results as they come. All text is made visible before it is printed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status
from rich.text import Text

from ..agent.events import (
    AgentEvent,
    ApprovalAsked,
    NestedEvent,
    RunFinished,
    RunInterrupted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from ..execution.executor import ToolResult
from ..providers.media import mention
from ..stream.segments import CALL_SEGMENTS, EventType, FieldDelta, SegmentEvent, SegmentType
from .held import HeldEvents
from .nested import NestedCalls
from .telling import call_words, duration, end_words, event_words
from .visible import one_line, visible
from .wrapping import WordWrap

CALL_CHARACTERS = 4_000
"""How much of a call's arguments is shown while they stream."""

RESULT_LINES, RESULT_CHARACTERS = 10, 800
"""How much of a result is shown; the model gets all of it."""

_STYLES = {SegmentType.REASONING: "dim"}
SERVER_TOOL_SHOWN = 200
"""Characters of what a tool at the provider was asked or gave: it is for the model, and may be a whole page."""


class _Shown:
    """A segment on the screen: what waits to be written while another one is in front of it."""

    def __init__(self, kind: SegmentType) -> None:
        self.kind = kind
        self.waiting: list[tuple[str, str]] = []
        self.ended = False
        self.path: tuple[str | int, ...] | None = None
        self.line_ends = ""
        """Of the argument that streams, not written before something follows them."""
        self.room = CALL_CHARACTERS
        self.blank = kind is SegmentType.TEXT
        """Nothing but space so far, as it stands between calls in text: not worth a line."""
        self.wrap: WordWrap | None = None


class Screen:
    """Shows the events of one agent, run after run. `clock` tells when: of what happened earlier, when it did."""

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._status: Status | None = None
        self._segments: dict[str, _Shown] = {}
        self._calls: dict[str, tuple[str, str]] = {}
        """Of this turn: the name and the arguments of each, by its id."""
        self._running: dict[str, str] = {}
        """What runs now, and what it last told."""
        self._nested = NestedCalls()
        self._held = HeldEvents()
        """What happened while a question stands."""
        self._column_zero = True
        self._line_above = False
        self._begins = False
        """Nothing was written since the question."""
        self._started = clock()

    def header(self, *lines: str) -> None:
        """What this is, before anything else."""
        self._block()
        for line in lines:
            self._write(f"{self._wrapped(visible(line), self._console.width)}\n", "dim")

    def question(self, text: str) -> None:
        """A question that nobody typed."""
        self._block()
        self._write(f"> {visible(text)}\n", "bold")

    def wait(self, what: str) -> None:
        """Something takes a moment. Shown on a terminal only, and gone with the next word."""
        words = Text(one_line(what), no_wrap=True, overflow="ellipsis")
        if self._status is not None:
            self._status.update(words)
            return
        self.settle()
        # Asked of the stream: FORCE_COLOR makes a console of a log, and there nothing can move.
        if self._console.is_terminal and self._console.file.isatty():
            self._status = self._console.status(words, spinner_style="dim")
            self._status.start()

    def begin(self) -> None:
        """A run begins."""
        self._segments.clear()
        self._running.clear()
        self._begins = True
        self._started = self._clock()

    def settle(self) -> None:
        """Nothing moves any more and the cursor is at the start of a line."""
        self._still()
        if not self._column_zero:
            self._write("\n")

    def withdraw(self, words: str, call: str = "") -> None:
        """What stands above of the answer that streams, or of this call, is void: says so. It comes again."""
        if call:
            self._running.pop(call, None)
        else:
            self._segments.clear()
            self._calls.clear()
        self._block()
        self._write(f"{self._wrapped(one_line(words), self._console.width)}\n", "dim")

    @contextmanager
    def held(self) -> Iterator[None]:
        """While a question stands, nothing else is written; what happened meanwhile is shown after it."""
        self.settle()
        with self._held.until_answered(self.show):
            yield

    def show(self, event: AgentEvent) -> None:
        """One event of the run."""
        if self._held.takes(event):
            return
        if isinstance(event, SegmentEvent):
            self._segment(event)
        elif isinstance(event, TurnStarted):
            self._calls.clear()
            self._running.clear()
            self.wait("waiting for the model")
        elif words := event_words(event):
            if self._begins:
                self._block()
            self.settle()
            for note in words:
                self._write(f"{self._wrapped(one_line(note), self._console.width)}\n", "dim")
            self.wait("waiting for the model")
        elif isinstance(event, ApprovalAsked):
            self.settle()
        elif isinstance(event, ToolStarted):
            self._calls[event.id] = call_words(event.invocation.tool_name, event.invocation.arguments)
            self._running[event.id] = ""
            self._wait_for_tools()
        elif isinstance(event, ToolProgress):
            self._running[event.id] = event.text
            self._wait_for_tools()
        elif isinstance(event, ToolFinished):
            self._running.pop(event.id, None)
            self._result(event.result)
            self._wait_for_tools()
        elif isinstance(event, NestedEvent):
            self._nested_event(event)
        elif isinstance(event, RunFinished):
            self._finished(event)
        elif isinstance(event, RunInterrupted):
            for segment_id in list(self._segments):
                self._end(segment_id)
            self._block()
            self._write("(interrupted)\n", "dim")

    def _wait_for_tools(self) -> None:
        """Says what runs, and the last line that it told."""
        if self._running:
            told = []
            for id, text in self._running.items():
                last = one_line(text.rstrip().rpartition("\n")[2])
                told.append(self._name(id) + (f" ({last[:100]})" if last else ""))
            self.wait(f"running {', '.join(told)}")

    def _nested_event(self, event: NestedEvent) -> None:
        """A line of an agent that runs as a tool: its name, and what it does. Its text comes with its result."""
        self._calls.setdefault(event.id, call_words("agent", {}))
        line = self._nested.line(event, self._name(event.id))
        if line is None:
            return
        self.settle()
        self._write(f"  {line.who} ", "dim")
        self._write(f"{line.mark} ", line.style)
        head = f"  {line.who} {line.mark} "
        text = self._wrapped(head + line.text, self._console.width - 4)[len(head) :]
        self._write(text.replace("\n", "\n    ") + "\n")
        if event.id in self._running:
            self._running[event.id] = line.text
        self._wait_for_tools()

    def _name(self, id: str) -> str:
        """The tool of a call of this turn, with its arguments where another call has the same."""
        name, arguments = self._calls[id]
        return name + arguments if Counter(name for name, _ in self._calls.values())[name] > 1 else name

    def _segment(self, event: SegmentEvent) -> None:
        if event.segment_type is SegmentType.MARKUP:
            return
        if event.type is EventType.START and event.segment_type is not None:
            self._segments[event.segment_id] = shown = _Shown(event.segment_type)
            if self._console.is_terminal:
                # A pipe gets the text as it is.
                shown.wrap = WordWrap(self._console.width)
            if len(self._segments) == 1 and not shown.blank:
                self._open(shown)
            if event.segment_type in CALL_SEGMENTS:
                self._calls[event.segment_id] = call_words(event.tool_name or "", {})
                self._add(event.segment_id, "● ", "cyan")
                self._add(event.segment_id, one_line(event.tool_name or "")[:100], "bold")
            elif event.segment_type is SegmentType.SERVER_TOOL:
                shown.wrap, shown.room = None, SERVER_TOOL_SHOWN
                gave = " gave " if (event.metadata or {}).get("result") else " "
                self._add(event.segment_id, f"○ {one_line(event.tool_name or '')[:100]} (at the provider){gave}", "dim")
            elif event.segment_type is SegmentType.MEDIA:
                kind = (event.metadata or {}).get("media", "media")
                self._add(event.segment_id, f"[{one_line(str(kind))}]", "dim")
        elif event.type is EventType.CONTENT:
            self._content(event)
        elif event.type is EventType.END:
            if event.segment_id in self._calls:
                name, _ = self._calls[event.segment_id]
                self._calls[event.segment_id] = call_words(name, (event.metadata or {}).get("arguments", {}))
            self._end(event.segment_id)
        elif event.type is EventType.DONE and (ignored := (event.metadata or {}).get("ignored_calls")):
            self._block()
            self._write(
                f"(not run: {ignored} call{'s' * (ignored != 1)} of a kind that the model was not given)\n", "dim"
            )

    def _content(self, event: SegmentEvent) -> None:
        shown = self._segments.get(event.segment_id)
        if shown is None or shown.kind is SegmentType.MEDIA:
            return
        if shown.kind is SegmentType.SERVER_TOOL:
            if shown.room > 0:
                end = " …" if len(event.delta) > shown.room else ""
                self._add(event.segment_id, one_line(event.delta[: shown.room]) + end, "dim")
                shown.room -= len(event.delta)
        elif shown.kind in CALL_SEGMENTS:
            for field in event.fields or ():
                self._field(event.segment_id, shown, field)
        else:
            text = visible(event.delta)
            if shown.blank:
                text = text.lstrip("\n")
                if not text.strip():
                    return
                shown.blank = False
                if event.segment_id == next(iter(self._segments)):
                    self._open(shown)
            if shown.wrap is not None:
                text = shown.wrap.feed(text)
            self._add(event.segment_id, text, _STYLES.get(shown.kind, ""))

    def _field(self, segment_id: str, shown: _Shown, field: FieldDelta) -> None:
        """A piece of an argument: its name when it begins, then its text as it grows."""
        if shown.room <= 0:
            return
        if shown.path != field.path:
            shown.path, shown.line_ends = field.path, ""
            label = f"  {_spelled(field.path)} "
            shown.room -= len(label)
            self._add(segment_id, label, "dim")
        text = shown.line_ends + visible(field.text[: max(shown.room, 0)])
        shown.room -= len(field.text)
        written = text.rstrip("\n")
        shown.line_ends = text[len(written) :]
        self._add(segment_id, written.replace("\n", "\n    "), "cyan")
        if shown.room <= 0:
            self._add(segment_id, " … more than is shown here", "dim")
        if field.done:
            shown.path = None

    def _add(self, segment_id: str, text: str, style: str = "") -> None:
        """Writes now what belongs to the segment in front, later what belongs to one behind it."""
        if segment_id == next(iter(self._segments), None):
            self._write(text, style)
        elif segment_id in self._segments:
            self._segments[segment_id].waiting.append((text, style))

    def _end(self, segment_id: str) -> None:
        ended = self._segments.get(segment_id)
        if ended is not None:
            ended.ended = True
            if ended.wrap is not None:
                self._add(segment_id, ended.wrap.flush(), _STYLES.get(ended.kind, ""))
        while self._segments:
            front = next(iter(self._segments))
            if not self._segments[front].ended:
                break
            del self._segments[front]
            self.settle()
            behind = next(iter(self._segments.values()), None)
            if behind is not None and not behind.blank:
                self._open(behind)
                for text, style in behind.waiting:
                    self._write(text, style)
                behind.waiting.clear()

    def _open(self, shown: _Shown) -> None:
        """Room above a segment; calls stand together."""
        if shown.kind in CALL_SEGMENTS and self._calls:
            self.settle()
        else:
            self._block()

    def _result(self, result: ToolResult) -> None:
        self.settle()
        self._calls.setdefault(result.id, call_words(result.name, {}))
        name = f"{self._name(result.id)}: " if len(self._calls) > 1 else ""
        mark, style = ("✗", "red") if result.is_error else ("→", "green")
        self._write(f"  {mark} ", style)
        text, left = _excerpt(result.content)
        if name and "\n" in text:
            # Columns of a result stand below each other.
            name, text = name.rstrip(), f"\n{text}"
        text = self._wrapped(name + visible(text), self._console.width - 6)[len(name) :]
        self._write(name, "dim")
        self._write(text.replace("\n", "\n    "), "red" if result.is_error else "")
        if left:
            self._write(f"\n    … {left:,} more characters", "dim")
        for part in result.media:
            self._write(f"\n    {one_line(mention(part))}", "dim")
        self._write(f"  {duration(result.seconds)}\n" if result.seconds else "\n", "dim")

    def _finished(self, event: RunFinished) -> None:
        self._block()
        self._write(f"{end_words(event, self._clock() - self._started)}\n", "dim")

    def _wrapped(self, text: str, width: int) -> str:
        """Broken between words on a terminal; a pipe gets text as it is."""
        if not self._console.is_terminal:
            return text
        wrap = WordWrap(width)
        return wrap.feed(text) + wrap.flush()

    def _block(self) -> None:
        """The start of a line with an empty one above it."""
        self.settle()
        if self._line_above:
            self._write("\n")

    def _write(self, text: str, style: str = "") -> None:
        if not text:
            return
        self._still()
        self._begins = False
        self._console.out(text, end="", style=style or None, highlight=False)
        self._line_above = not (text.endswith("\n\n") or (text == "\n" and self._column_zero))
        self._column_zero = text.endswith("\n")

    def _still(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _excerpt(text: str) -> tuple[str, int]:
    """The start of a result, and how many characters follow."""
    text = text.rstrip()
    shown = "\n".join(text[:RESULT_CHARACTERS].split("\n")[:RESULT_LINES])
    return shown, len(text) - len(shown)


def _spelled(path: tuple[str | int, ...]) -> str:
    """`("files", 0, "name")` as `files[0].name`."""
    spelled = ""
    for step in path:
        spelled += f"[{step}]" if isinstance(step, int) else f".{one_line(step)[:80]}"
    return spelled.removeprefix(".") + ":"
