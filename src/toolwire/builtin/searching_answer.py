"""What a model is told of a search: the lines by file, numbered and bounded, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ..files.beneath import quoted
from .searching_python import Line
from .searching_walk import Left

LINE_CHARACTERS = 300
"""How much of one line is shown, around what fits."""
ANSWER_CHARACTERS = 40_000
"""How much is shown altogether."""

Output = Literal["content", "files", "count"]


@dataclass
class Answer:
    """Takes the files with lines that fit, in order, until `is_full`."""

    output: Output
    limit: int
    context: int
    searched: int = 0
    """Files whose text was looked through."""
    out_of_time: bool = False
    _lines: list[str] = field(default_factory=list)
    _characters: int = 0
    _files: int = 0
    _found: int = 0
    _too_long: bool = False

    @property
    def is_full(self) -> bool:
        """Whether nothing more would be shown."""
        return self._too_long or (self._found if self.output == "content" else self._files) >= self.limit

    def add(self, name: str, text: bytes, lines: Iterator[Line]) -> None:
        """A file, with the lines of it that fit: no more of them are taken than are needed."""
        first = next(lines, None)
        if first is None:
            return
        self._files += 1
        name = name if name.isprintable() else quoted(name)
        if self.output == "files":
            self._found += 1
            self._show(name)
        elif self.output == "count":
            count = 1 + sum(1 for _ in lines)
            self._found += count
            self._show(f"{name}: {count:,}")
        else:
            fitting = [first]
            while self._found + len(fitting) < self.limit and (line := next(lines, None)) is not None:
                fitting.append(line)
            self._show_lines(name, text, fitting)

    def _show_lines(self, name: str, text: bytes, fitting: list[Line]) -> None:
        if self._lines:
            self._show("")
        self._show(name)
        shown = 0
        for number, start, end, at in _with_context(text, fitting, self.context):
            if shown and number > shown + 1 and self.context:
                self._show("--")
            if not self._show(f"{number:>5}{'-' if at < 0 else ':'} {_excerpt(text[start:end], max(at - start, 0))}"):
                return
            self._found += at >= 0
            shown = number

    def _show(self, line: str) -> bool:
        self._too_long = self._too_long or self._characters + len(line) > ANSWER_CHARACTERS
        if not self._too_long:
            self._lines.append(line)
            self._characters += len(line) + 1
        return not self._too_long

    def text(self, left: Left) -> str:
        """All of it. `left` says what was not searched."""
        words = left.words()
        aside = f" Left out: {words}." if words else ""
        where = f"{_count(self.searched, 'file')} searched"
        if not self._files:
            if self.out_of_time:
                return (
                    f"Nothing found before the time was up, {where}. Give a smaller folder as path, or a glob.{aside}"
                )
            hint = "" if self.searched else " Check path and glob with list_directory."
            return f"Nothing found, {where}.{hint}{aside}"
        found = _count(self._found, "matching line")
        if self.output == "files":
            total = f"{_count(self._files, 'file')} with a match"
        else:
            total = f"{found} in {_count(self._files, 'file')}"
        return "\n".join([*self._lines, "", f"[{total}, {where}.{self._cut()}{aside}]"])

    def _cut(self) -> str:
        narrower = "Narrow it with path, glob or a more exact pattern"
        if self._too_long:
            return f' The answer is cut here: it is too long. {narrower}, or see the names alone with output="files".'
        if self.is_full:
            return f" Stopped at limit={self.limit}, there may be more. {narrower}, or give a larger limit."
        if self.out_of_time:
            return " Stopped because the time was up, there may be more. Give a smaller folder as path, or a glob."
        return ""


def _with_context(text: bytes, fitting: list[Line], context: int) -> list[Line]:
    """The lines with those around them, in order, each once; one that is there for company has no place that fits."""
    found: dict[int, Line] = {}
    for line in fitting:
        start = line.start
        for number in range(line.number - 1, max(line.number - 1 - context, 0), -1):
            end = start - 1
            start = text.rfind(b"\n", 0, end) + 1
            found.setdefault(number, Line(number, start, end, -1))
        found[line.number] = line
        end = line.end
        last = len(text) - text.endswith(b"\n")
        for number in range(line.number + 1, line.number + 1 + context):
            if end >= last:
                break
            start = end + 1
            end = text.find(b"\n", start, last)
            end = last if end < 0 else end
            found.setdefault(number, Line(number, start, end, -1))
    return [found[number] for number in sorted(found)]


def _excerpt(line: bytes, at: int) -> str:
    """A line as it is shown: around what fits where it is too long."""
    start = max(0, at - 4 * LINE_CHARACTERS)
    before = line[start:at].decode("utf-8", "replace")
    after = line[at : at + 4 * LINE_CHARACTERS].decode("utf-8", "replace")
    if len(line) <= 4 * LINE_CHARACTERS and len(before) + len(after) <= LINE_CHARACTERS:
        return _visible(line.decode("utf-8", "replace"))
    room = max(LINE_CHARACTERS - len(after), LINE_CHARACTERS // 3)
    shown = before[-room:]
    rest = after[: LINE_CHARACTERS - len(shown)]
    marks = ("…" if len(shown) < len(before) or start else "", "…" if len(rest) < len(after) else "")
    return f"{marks[0]}{_visible(shown + rest)}{marks[1]} [a line of {len(line):,} bytes]"


_CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) != "\t"}


def _visible(text: str) -> str:
    """Without control characters, which would break the line or worse: their pictures stand there."""
    return text.translate(_CONTROLS)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
