"""A trace on a terminal: what it is, its segments over time, its calls, and its frames beside their events."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

from ..approval.shown import show_arguments
from ..inspection.frames import TracedFrame
from ..inspection.trace import Span, Trace, TracedAnswer, TracedCall
from ..inspection.words import counted, ending_words, event_words, seconds_words, shortened, size_words, usage_words
from .console import PlainConsole
from .visible import json_bytes, one_line, visible

SIDE_BY_SIDE = 120
"""Columns from which on frames and events stand beside each other."""
SHOWN_FRAMES = 200
SHOWN_SPANS = 60
SHOWN_HAPPENINGS = 60
SHOWN_PROBLEMS = 20
_LINES = 6
"""Of a frame that is not shown whole."""
_CALL_LINES = 12
_LABEL = 26
_FIGURES = 20
_STYLES = {
    "text": "green",
    "reasoning": "dim",
    "running": "yellow",
    "media": "magenta",
    "markup": "dim",
    "server_tool": "magenta",
}
_EVENT_STYLES = {"start": "bold", "content": "", "end": "bold", "done": "bold green", "error": "bold red"}


def frame_json(trace: Trace, answer: TracedAnswer, frame: TracedFrame) -> None:
    """One frame as a line of JSON on standard output."""
    value = {
        "frame": frame.number,
        "answer": answer.number,
        "at": frame.at,
        "offset": frame.offset,
        "size": frame.size,
        "name": frame.name,
        "raw": frame.text,
        "events": frame.events,
        "findings": frame.findings,
    }
    sys.stdout.buffer.write(json_bytes(value) + b"\n")


class InspectScreen:
    """Prints one trace."""

    def __init__(self, trace: Trace, width: int | None, *, pretty: bool = False) -> None:
        self._trace = trace
        self._console = PlainConsole()
        if width is not None:
            self._console.width = width
        self._width = self._console.width
        self._pretty = pretty

    def show(self, frames: Sequence[tuple[TracedAnswer, TracedFrame]], *, is_choice: bool) -> None:
        """Everything, with these frames. Where they are a choice, the frames alone."""
        if not is_choice:
            self._head()
            self._timeline()
            self._calls()
            self._happenings()
            self._problems()
        self._frames(frames, is_choice=is_choice)

    def _line(self, *parts: tuple[str, str]) -> None:
        """One line; what of it is too long is cut."""
        if self._console.color_system is None:
            # The same without styles, many times faster: a file may have a hundred thousand lines.
            self._console.file.write(f"{_cut(''.join(text for text, _ in parts), self._width).rstrip()}\n")
            return
        line = Text.assemble(*parts)
        line.truncate(self._width, overflow="ellipsis")
        line.rstrip()
        self._console.print(line, no_wrap=True, crop=False, overflow="ignore", soft_wrap=True)

    def _wrapped(self, text: str, width: int) -> list[str]:
        """A sentence in lines, cut between words."""
        if cell_len(text) <= width:
            return [text]
        return [line.plain.rstrip() for line in Text(text).wrap(self._console, width)]

    def _title(self, words: str) -> None:
        self._line()
        self._line((words, "bold"))

    def _fact(self, name: str, value: str, style: str = "") -> None:
        indent = 13
        for place, piece in enumerate(self._wrapped(one_line(value), self._width - indent)):
            self._line((f"  {name if not place else '':<{indent - 2}}", "dim"), (piece, style))

    def _head(self) -> None:
        trace = self._trace
        self._line((one_line(trace.name), "bold"), (f"  {trace.what}", "dim"))
        for name, value in trace.facts:
            self._fact(name, value)
        for answer in trace.answers:
            if len(trace.answers) > 1:
                self._line((f"  answer {answer.number}", "bold"), (f"  {one_line(answer.url)}", "dim"))
            parts = [answer.wire, counted(answer.frame_count, "frame"), size_words(answer.bytes)]
            if trace.timed:
                first = "" if answer.first_at is None else f", first after {seconds_words(answer.first_at)}"
                parts.append(f"{seconds_words(answer.ended - answer.began)}{first}")
            self._fact("wire", " · ".join(parts))
            if answer.parser not in ("", "api_tool_call") and not trace.facts:
                self._fact("calls", f"in the text, as {answer.parser}")
            mark = "" if answer.error is None else "! "
            self._fact("ended", f"{mark}{ending_words(answer)}", "red" if mark else "")
            if answer.usage is not None:
                self._fact("usage", usage_words(answer.usage))
            if answer.quirks:
                self._fact("departures", ", ".join(f"{name} ×{count}" for name, count in answer.quirks.items()))
        if not trace.timed:
            self._fact("times", "none in this file: places are bytes from its beginning")
        if trace.cut:
            self._fact("cut", "the recording breaks off", "red")
        if trace.left_out:
            self._fact("left out", f"{counted(trace.left_out, 'frame')} of a very large file, counted and not kept")
        words = f"! {counted(trace.problems, 'frame')}: --problems shows them" if trace.problems else "none"
        self._fact("problems", words, "red" if trace.problems else "")

    def _timeline(self) -> None:
        trace = self._trace
        spans = [(answer, span) for answer in trace.answers for span in answer.spans]
        rows: list[tuple[TracedAnswer | None, Span]] = [*spans, *((None, span) for span in trace.running)]
        if not rows:
            return
        rows.sort(key=lambda row: (row[1].start, row[1].first))
        end = trace.end or 1.0
        room = max(self._width - _LABEL - _FIGURES - 4, 10)
        last = seconds_words(end) if trace.timed else size_words(int(end))
        self._title("Segments over time" if trace.timed else "Segments over the bytes")
        self._line((f"  {'':<{_LABEL}}0{last:>{room - 1}}", "dim"))
        for _, span in rows[:SHOWN_SPANS]:
            self._span(span, end, room)
        if len(rows) > SHOWN_SPANS:
            self._line((f"  … {counted(len(rows) - SHOWN_SPANS, 'more segment')}", "dim"))

    def _span(self, span: Span, end: float, room: int) -> None:
        bar = [" "] * room
        first, last = _column(span.start, end, room), _column(span.end, end, room)
        bar[first : last + 1] = "░" * (last - first + 1)
        if span.kind == "running":
            bar[first : last + 1] = "▒" * (last - first + 1)
        for mark in span.marks:
            bar[_column(mark, end, room)] = "█"
        if not span.marks and first == last:
            bar[first] = "▏" if span.kind != "running" else "▒"
        label = f"{'! ' if span.problem else ''}{span.name or span.kind} {span.id}"
        if span.kind == "running":
            label = f"{'! ' if span.problem else ''}{span.name} runs"
        figures = f"{span.characters:,} chars" if span.kind != "running" else ""
        if self._trace.timed:
            figures = ", ".join([seconds_words(span.end - span.start), *([figures] if figures else [])])
        style = "red" if span.problem else _STYLES.get(span.kind, "cyan")
        self._line(
            ("  ", ""),
            (set_cell_size(_cut(one_line(label), _LABEL - 1), _LABEL), "red" if span.problem else ""),
            ("".join(bar), style),
            (f"  {figures}", "dim"),
        )

    def _calls(self) -> None:
        calls = [call for answer in self._trace.answers for call in answer.calls]
        if not calls:
            return
        self._title("Calls")
        for call in calls:
            where = f"frame {call.first}" if call.first == call.last else f"frames {call.first}-{call.last}"
            state = "! will not run" if call.problem else f"! {one_line(call.outcome)}" if call.is_error else "complete"
            self._line(
                (f"  {one_line(call.name) or '(no name)'}", "bold"),
                (f"  {one_line(call.id)}  {where}  ", "dim"),
                (state, "red" if call.problem or call.is_error else "green"),
            )
            for text, style in self._call_lines(call):
                for piece in self._wrapped(text, self._width - 4):
                    self._line(("    ", ""), (piece, style))

    def _call_lines(self, call: TracedCall) -> Iterator[tuple[str, str]]:
        if call.problem:
            yield one_line(call.problem), "red"
            yield from _first_lines(visible("".join(call.written)), "dim")
        elif call.arguments is not None:
            yield from _first_lines(show_arguments(call.arguments).text, "")
        for repair in call.repairs:
            yield f"mended: {one_line(repair)}", "yellow"
        if call.decision:
            yield one_line(call.decision), "dim"
        if call.result is not None:
            took = "" if call.seconds is None else f" after {seconds_words(call.seconds)}"
            yield f"{'! ' if call.is_error else ''}{one_line(call.outcome)}{took}:", "red" if call.is_error else "dim"
            yield from _first_lines(visible(call.result), "dim")

    def _happenings(self) -> None:
        happenings = self._trace.happenings
        if not happenings:
            return
        self._title("What else happened")
        for each in happenings[:SHOWN_HAPPENINGS]:
            mark = "! " if each.level == "problem" else "  "
            self._line(
                (f"  {each.at:9.3f} s  ", "dim"), (f"{mark}{one_line(each.words)}", "red" if mark == "! " else "")
            )
        if len(happenings) > SHOWN_HAPPENINGS:
            self._line((f"  … {len(happenings) - SHOWN_HAPPENINGS:,} more", "dim"))

    def _problems(self) -> None:
        found = self._trace.findings()
        if not found:
            return
        self._title("Problems")
        for frame, finding in found[:SHOWN_PROBLEMS]:
            for place, piece in enumerate(self._wrapped(one_line(finding.words), self._width - 10)):
                self._line((f"  {f'#{frame.number}' if not place else '':<8}", "dim"), (piece, "red"))
        if len(found) > SHOWN_PROBLEMS:
            self._line((f"  … {len(found) - SHOWN_PROBLEMS:,} more: --problems", "dim"))

    def _frames(self, frames: Sequence[tuple[TracedAnswer, TracedFrame]], *, is_choice: bool) -> None:
        shown = frames if is_choice else frames[:SHOWN_FRAMES]
        if not is_choice:
            self._title("Frames")
        elif not frames:
            self._line(("no such frames", "dim"))
        answer_now = 0
        for answer, frame in shown:
            if answer.number != answer_now and len(self._trace.answers) > 1:
                self._title(f"Answer {answer.number}")
            answer_now = answer.number
            self._frame(frame)
        if len(shown) < len(frames):
            last = shown[-1][1].number
            more = counted(len(frames) - len(shown), "more frame")
            self._line((f"… {more}: --frames {last + 1}-{last + SHOWN_FRAMES}, or all: --frames 1-", "dim"))

    def _frame(self, frame: TracedFrame) -> None:
        when = f"+{frame.at:.3f} s" if frame.at is not None else f"byte {frame.offset:,}"
        self._line(
            (f"#{frame.number}{' !' if frame.has_problem else ''}", "bold red" if frame.has_problem else "bold"),
            (f"  {when}  {size_words(frame.size)}  ", "dim"),
            (one_line(frame.name), "cyan"),
        )
        right = self._event_lines(frame)
        if self._width >= SIDE_BY_SIDE:
            half = (self._width - 5) // 2
            left = self._raw_lines(frame, half)
            rows = [
                (piece, style) for text, style in right for piece, style in _folded(text, style, self._width - half - 5)
            ]
            for place in range(max(len(left), len(rows))):
                raw = left[place] if place < len(left) else ""
                words, style = rows[place] if place < len(rows) else ("", "")
                self._line(("  ", ""), (set_cell_size(raw, half), "dim"), (" │ ", "dim"), (words, style))
            return
        for raw in self._raw_lines(frame, self._width - 4):
            self._line(("  ", ""), (raw, "dim"))
        for text, style in right:
            for piece, piece_style in _folded(text, style, self._width - 4):
                self._line(("  ", ""), (piece, piece_style))

    def _raw_lines(self, frame: TracedFrame, width: int) -> list[str]:
        text = frame.pretty() if self._pretty else shortened(frame.text, 4 * _LINES * width)
        lines = [piece for line in visible(text).split("\n") for piece in _chopped(line.expandtabs(4), width)]
        while lines and not lines[-1].strip():
            lines.pop()
        if self._pretty or len(lines) <= _LINES:
            return lines
        return [*lines[: _LINES - 1], f"… {size_words(frame.size)} in all: --pretty --frames {frame.number}"]

    def _event_lines(self, frame: TracedFrame) -> list[tuple[str, str]]:
        lines = []
        for event in frame.events:
            kind, segment, words, is_problem = event_words(event, 100_000 if self._pretty else 400)
            line = f"{'!' if is_problem else '→'} {kind:<7} {one_line(f'{segment} {words}')}".rstrip()
            lines.append((line, "red" if is_problem else _EVENT_STYLES[kind]))
        if not lines and frame.carries:
            lines.append(("→ no event", "dim"))
        for finding in frame.findings:
            if finding.told:
                continue
            is_problem = finding.level == "problem"
            words = f"{'! problem' if is_problem else '· note'}: {one_line(finding.words)}"
            lines.append((words, "red" if is_problem else "yellow"))
        return lines


def _column(place: float, end: float, room: int) -> int:
    return min(max(int(place / end * room), 0), room - 1)


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{chop_cells(text, width - 1)[0]}…"


def _chopped(text: str, width: int) -> list[str]:
    """The text in lines of at most this width; one empty line of none."""
    if cell_len(text) <= width:
        return [text]
    return chop_cells(text, width)


def _folded(text: str, style: str, width: int) -> list[tuple[str, str]]:
    """The same, with what follows the first line set in."""
    first, *rest = _chopped(text, width)
    more = _chopped("".join(rest), width - 2) if rest else []
    return [(first, style), *((f"  {piece}", style) for piece in more)]


def _first_lines(text: str, style: str) -> Iterator[tuple[str, str]]:
    lines = text.rstrip("\n").split("\n")
    for line in lines[:_CALL_LINES]:
        yield shortened(line.expandtabs(4), 1_000), style
    if len(lines) > _CALL_LINES:
        yield f"… {counted(len(lines) - _CALL_LINES, 'more line')}", "dim"
