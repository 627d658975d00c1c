"""`Cutter`: cuts a text that is still coming at places where what stands above stays as it is, whatever follows.

Such places are the beginnings of blocks, of the items of a list, and every twentieth row of a table. What stands above
the last one is laid out once and never looked at again, so that a long answer costs no more than a short one. Where a
text is cut depends on the text alone, never on the pieces in which it came. What has no such place for too long is
shown as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markdown_it.token import Token

from .blocks import LONGEST_LINE, TABLE_ROWS, Blocks, closing, language_of
from .coloured import STRETCH, coloured, stretch
from .grammar import DEEPEST, parse
from .laying import AnyLine, Columns

WINDOW = 8_000
"""Characters of one block; a longer one is not laid out."""


class _Unit(NamedTuple):
    """What is settled as one: a block, an item of a list, some rows of a table."""

    start: int
    """The line of the tail at which it begins."""
    tokens: Sequence[Token]
    number: int | None = None
    """Of an item that is not the first of its list."""
    more: bool = False
    """Rows of a table that began before."""


class _Code:
    """A code fence that is open: how it ends, and the lines that are not settled yet."""

    def __init__(self, token: Token, indent: int) -> None:
        self.mark = token.markup
        self.indent = indent
        self.language = language_of(token.info)
        self.lines: list[str] = []
        self.joined: list[bool] = []
        """Which of them go on the line before, because it was too long."""
        self.begun = False

    def ends(self, line: str) -> bool:
        """Whether this line is its end."""
        bare = line.lstrip(" ")
        rest = bare.rstrip(" \t")
        return len(line) - len(bare) < 4 and len(rest) >= len(self.mark) and not rest.strip(self.mark[0])

    def shown(self, line: str) -> str:
        """A line of the code, without the blanks that stood in front of the fence too."""
        line = line.expandtabs(4)
        return line[min(self.indent, len(line) - len(line.lstrip(" "))) :]

    def add(self, line: str, joined: bool) -> bool:
        """One more line; whether there is enough to settle some."""
        self.lines.append(line if joined else self.shown(line))
        self.joined.append(joined)
        return len(self.lines) > STRETCH or sum(map(len, self.lines)) > STRETCH * 80


class Cutter:
    """Takes text in any pieces. `settled` gives the lines that will not change, `open` those after them, as of now."""

    def __init__(self) -> None:
        self._tail = ""
        self._blocks = Blocks()
        self._number: int | None = None
        """The tail begins with an item of a list that began above it, and this is its number."""
        self._head = ""
        self._columns: Columns | None = None
        """The tail begins with rows of a table that began above it: its first two lines, and its columns."""
        self._code: _Code | None = None
        self._plain = False
        self._plain_begun = False
        self._joined = False
        """The tail goes on a line of code or of plain text."""
        self._looked = 0
        """Characters of the tail in which no place was found."""

    @property
    def between(self) -> str | None:
        """What is not settled, where it begins with a block of its own; None within a list, a table or code."""
        inside = self._code or self._plain or self._number is not None or self._columns is not None
        return None if inside else self._tail

    def begin_at_top(self) -> None:
        """What comes next stands at the top, with no room above it."""
        self._blocks.begin()

    def feed(self, text: str) -> None:
        """More of the text. Nothing is looked at yet."""
        self._tail += text

    def settled(self, *, end: bool = False) -> list[AnyLine]:
        """The lines that are final since the last time. With `end` nothing follows, and all of them are."""
        while self._step(end):
            pass
        return self._blocks.take()

    def open(self) -> list[AnyLine]:
        """The lines of what is not settled. A last line that could still become anything is not among them."""
        blocks = self._blocks.copy()
        if self._code is not None:
            self._open_code(self._code, blocks)
            return blocks.take()
        whole, cut, partial = self._tail.rpartition("\n")
        tail = self._tail if any(map(str.isalnum, partial)) else whole + cut
        if self._plain:
            if tail:
                blocks.add_plain(tail, first=not self._plain_begun, joined=self._joined)
        else:
            self._add(blocks, list(self._units(parse(self._head + tail))), tail.split("\n"))
        return blocks.take()

    def _step(self, end: bool) -> bool:
        """Settles something; whether there may be more to settle."""
        if self._code is not None:
            return self._step_code(self._code, end)
        if self._plain:
            return self._step_plain(end)
        self._tail = source = self._tail.lstrip("\n")
        final = end and len(source) < WINDOW
        if not final:
            source = source[: source.rfind("\n", 0, WINDOW) + 1]
        if not self._tail or (len(source) <= self._looked and len(self._tail) < WINDOW and not final):
            return False
        self._looked = len(source)
        lines = source.split("\n")
        units = list(self._units(parse(self._head + source)))
        if self._opens(units, source):
            return True
        cut = _place(units, every=not final)
        if final and not cut:
            self._add(self._blocks, units, lines)
            self._cut(len(source), None)
            return False
        if cut:
            start = units[cut].start
            self._add(self._blocks, units[:cut], lines[:start], units[cut])
            self._cut(sum(map(len, lines[:start])) + start, units[cut])
            return True
        if len(self._tail) >= WINDOW:
            self._cut(0, None)
            self._plain = True
            return True
        return False

    def _cut(self, count: int, unit: _Unit | None) -> None:
        """The tail begins later: with this unit, or with nothing that is known yet."""
        if unit is None or not unit.more:
            self._head, self._columns = "", None
        self._tail = self._tail[count:]
        self._number = None if unit is None else unit.number
        self._looked = 0

    def _units(self, tokens: Sequence[Token]) -> Iterator[_Unit]:
        above = self._head.count("\n")
        number, more = self._number, self._columns is not None
        at = 0
        while at < len(tokens):
            token, end = tokens[at], closing(tokens, at)
            start = max((token.map or (0, 0))[0] - above, 0)
            if token.type in ("bullet_list_open", "ordered_list_open"):
                yield from _items(tokens[at:end], number)
            elif token.type == "table_open":
                yield from _rows(tokens[at:end], above, more)
            else:
                yield _Unit(start, tokens[at:end])
            number, more = None, False
            at = end

    def _add(self, blocks: Blocks, units: Sequence[_Unit], lines: Sequence[str], then: _Unit | None = None) -> None:
        """Makes lines of units; `then` is the one that follows them."""
        columns = self._columns
        for unit, after in zip(units, [*units[1:], then], strict=False):
            if any(token.level >= DEEPEST - 2 for token in unit.tokens):
                source = lines[unit.start : after.start if after is not None else len(lines)]
                blocks.add_plain("\n".join(source).strip("\n"), first=True)
            elif unit.tokens[0].type == "table_open":
                columns = blocks.add_table(
                    unit.tokens, columns if unit.more else None, ends=after is None or not after.more
                )
                if blocks is self._blocks and not unit.more:
                    self._head = "\n".join(lines[unit.start : unit.start + 2]) + "\n"
            else:
                blocks.add(unit.tokens, number=unit.number)
        if blocks is self._blocks:
            self._columns = columns

    def _opens(self, units: Sequence[_Unit], source: str) -> bool:
        """Whether the tail begins with code of which the lines are settled one by one."""
        if not units or not _is_code(units, 0):
            return False
        lines = source.split("\n", units[0].start + 1)
        if len(lines) < units[0].start + 2:
            return False
        first = lines[-2]
        self._code = _Code(units[0].tokens[0], len(first) - len(first.lstrip(" ")))
        self._cut(len(source) - len(lines[-1]), None)
        return True

    def _step_code(self, code: _Code, end: bool) -> bool:
        for line, joined in self._lines(end):
            if not joined and code.ends(line):
                self._settle_code(code, len(code.lines))
                self._code = None
                return True
            if code.add(line, joined):
                self._settle_code(code, None)
        if end:
            self._settle_code(code, len(code.lines))
            self._code = None
        return False

    def _settle_code(self, code: _Code, count: int | None) -> None:
        """Settles so many lines, or as many as can be coloured by themselves."""
        if count is None:
            made, count = stretch(code.lines, code.language)
        else:
            made = coloured(code.lines, code.language)
        self._blocks.add_code(made, code.joined, first=None if code.begun else code.language)
        code.begun = True
        del code.lines[:count], code.joined[:count]

    def _open_code(self, code: _Code, blocks: Blocks) -> None:
        shown, joined = list(code.lines), [*code.joined, self._joined]
        if self._tail.strip(f" {code.mark[0]}") or self._joined:
            shown.append(self._tail if self._joined else code.shown(self._tail))
        if shown or not code.begun:
            blocks.add_code(coloured(shown, code.language), joined, first=None if code.begun else code.language)

    def _step_plain(self, end: bool) -> bool:
        for line, joined in self._lines(end):
            if not line.strip() and not joined:
                self._plain = self._plain_begun = False
                return True
            self._blocks.add_plain(line, first=not self._plain_begun, joined=joined)
            self._plain_begun = True
        return False

    def _lines(self, end: bool) -> Iterator[tuple[str, bool]]:
        """Takes whole lines off the tail, long ones in pieces; and whether each goes on the one before."""
        at = 0
        try:
            while at < len(self._tail):
                stop = self._tail.find("\n", at, at + LONGEST_LINE + 1)
                joined = self._joined
                if stop >= 0:
                    line, at, self._joined = self._tail[at:stop], stop + 1, False
                elif len(self._tail) - at > LONGEST_LINE:
                    line, at, self._joined = self._tail[at : at + LONGEST_LINE], at + LONGEST_LINE, True
                elif end:
                    line, at = self._tail[at:], len(self._tail)
                    if not line.strip():
                        break
                else:
                    break
                yield line, joined
        finally:
            self._tail = self._tail[at:]


def _place(units: Sequence[_Unit], *, every: bool) -> int:
    """Which unit the tail is to begin with: the first that is code, else (with `every`) the last one; 0 for none.

    All of them begin with a line that is complete, so that none can turn out to go on the line above it.
    """
    places = [at for at, unit in enumerate(units) if at and unit.start]
    code = next((at for at in places if _is_code(units, at)), 0)
    return code or (places[-1] if places and every else 0)


def _is_code(units: Sequence[_Unit], at: int) -> bool:
    """Whether a unit is code that is long, or may not have ended. Any other may as well be settled as a whole."""
    token = units[at].tokens[0]
    long = len(token.content) > STRETCH * 20 or token.content.count("\n") > STRETCH
    return token.type == "fence" and (long or at == len(units) - 1)


def _items(tokens: Sequence[Token], number: int | None) -> Iterator[_Unit]:
    """Each item of a list as a list of its own."""
    begins = number
    number = int(tokens[0].attrs.get("start", 1)) if number is None else number
    at = 1
    while at < len(tokens) - 1:
        end = closing(tokens, at)
        start = (tokens[at].map or (0, 0))[0]
        yield _Unit(start, [tokens[0], *tokens[at:end], tokens[-1]], None if begins is None and at == 1 else number)
        number += 1
        at = end


def _rows(tokens: Sequence[Token], above: int, more: bool) -> Iterator[_Unit]:
    """A table in parts, each with the head of all."""
    places = [at for at, token in enumerate(tokens) if token.type == "tr_open"]
    head = tokens[: closing(tokens, places[0])]
    rows = [tokens[at : closing(tokens, at)] for at in places[1:]]
    for start in range(0, max(len(rows), 1), TABLE_ROWS):
        part = rows[start : start + TABLE_ROWS]
        first = part[0][0] if start or more else tokens[0]
        line = max((first.map or (0, 0))[0] - above, 0)
        yield _Unit(line, [*head, *(token for row in part for token in row)], more=more or start > 0)
