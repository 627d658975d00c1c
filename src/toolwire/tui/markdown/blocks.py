"""Tokens of Markdown as lines: what stands in front of them, where there is room between them."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it.token import Token
from textual.content import Content

from ...cli.visible import one_line
from .coloured import coloured
from .grammar import words
from .laying import AnyLine, Columns, Line, Table, longest_word

TABLE_ROWS = 20
"""Rows of a table that decide how wide its columns are; later ones fit in."""
LONGEST_LINE = 2_000
"""Characters of one line of code or plain text; longer ones go on in another."""

_BULLETS = "•◦▪"
_FAINT = "$foreground 55%"
_BAR = Content.styled("▎ ", "$foreground 40%")
_HEADINGS = {"h1": "bold underline $text-primary", "h2": "bold $text-primary"}
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
EMPTY = Line(Content(""))


class _Place:
    """A list item or a quote that lines stand in: what is in front of its first one and of all others."""

    def __init__(self, kind: str, first: Content, rest: Content) -> None:
        self.kind = kind
        self.first = first
        self.rest = rest
        self.before = ""
        """The kind of the block that came last in it."""


class Blocks:
    """Makes lines of blocks, one after the other, and knows what stands above the next one."""

    def __init__(self) -> None:
        self.lines: list[AnyLine] = []
        self._above = ""
        self._places: list[_Place] = []

    def take(self) -> list[AnyLine]:
        """The lines made since the last time."""
        taken, self.lines = self.lines, []
        return taken

    def begin(self) -> None:
        """Nothing stands above the next block."""
        self._above = ""

    def copy(self) -> Blocks:
        """Another one that stands at the same place, between two blocks."""
        other = Blocks()
        other._above = self._above
        return other

    def add(self, tokens: Sequence[Token], *, number: int | None = None) -> None:
        """Blocks. `number`: the first is a list that began before, and this is the number of its next item."""
        at = 0
        while at < len(tokens):
            at = self._block(tokens, at, number)
            number = None

    def add_code(self, code: Sequence[Content], joined: Sequence[bool], *, first: str | None = None) -> None:
        """Lines of code, and which of them go on the one before. `first`: it begins here, and this is its language."""
        if first is not None:
            self._room("code")
            self._caption(first)
            if not code:
                self._emit(Content(""), "code")
        for line, more in zip(code, joined, strict=False):
            self._emit(line, "more" if more else "code")

    def add_plain(self, text: str, *, first: bool, joined: bool = False) -> None:
        """Text as it was written, because it is too much to be laid out."""
        if first:
            self._room("paragraph")
            self._emit(Content.styled("(too long or too deep to be laid out: shown as it was written)", _FAINT))
        for line in text.split("\n"):
            for start in range(0, max(len(line), 1), LONGEST_LINE):
                self._emit(Content(line[start : start + LONGEST_LINE].expandtabs(4)), "on" if joined or start else "")
            joined = False

    def add_table(self, tokens: Sequence[Token], columns: Columns | None, *, ends: bool = True) -> Columns:
        """A table, or (with the columns of its beginning) more rows of one; gives its columns."""
        head, rows, aligns = _cells(tokens)
        begins = columns is None
        if columns is None:
            self._room("table")
            columns = _columns([head, *rows[:TABLE_ROWS]])
        first, rest = self._prefixes()
        self.lines.append(Table(head, rows, columns, aligns, first, rest, begins, ends))
        return columns

    def _block(self, tokens: Sequence[Token], at: int, number: int | None) -> int:
        """One block; gives the place of the token after it."""
        token = tokens[at]
        end = closing(tokens, at)
        kind = token.type
        if kind == "heading_open":
            self._room("heading")
            self._words(tokens[at + 1], _HEADINGS.get(token.tag, "bold"))
        elif kind == "paragraph_open":
            self._room("paragraph")
            self._words(tokens[at + 1])
        elif kind in ("fence", "code_block"):
            self._room("code")
            code = token.content.removesuffix("\n").split("\n")
            language = language_of(token.info)
            self._caption(language)
            for line in coloured([line.expandtabs(4) for line in code], language):
                self._emit(line, "code")
        elif kind == "hr":
            self._room("rule")
            self._emit(Content(""), "rule")
        elif kind == "blockquote_open":
            self._room("quote")
            self._within(_Place("quote", _BAR, _BAR), tokens[at + 1 : end - 1])
        elif kind in ("bullet_list_open", "ordered_list_open"):
            self._list(tokens[at:end], number)
        elif kind == "table_open":
            self.add_table(tokens[at:end], None)
        else:
            self._room("paragraph")
            self._words(token)
        return end

    def _list(self, tokens: Sequence[Token], number: int | None) -> None:
        if number is None:
            self._room("list")
            number = int(tokens[0].attrs.get("start", 1))
        depth = sum(place.kind == "item" for place in self._places)
        ordered = tokens[0].type == "ordered_list_open"
        at = 1
        while at < len(tokens) - 1:
            end = closing(tokens, at)
            mark = f"{number}. " if ordered else f"{_BULLETS[depth % len(_BULLETS)]} "
            place = _Place("item", Content.styled(mark, "$text-primary"), Content(" " * len(mark)))
            self._within(place, tokens[at + 1 : end - 1])
            number += 1
            at = end

    def _within(self, place: _Place, tokens: Sequence[Token]) -> None:
        self._places.append(place)
        at = 0
        while at < len(tokens):
            at = self._block(tokens, at, None)
        if not place.before:
            self._emit(Content(""))
        self._places.pop()

    def _room(self, kind: str) -> None:
        """An empty line between blocks; in list items only between paragraphs."""
        place = self._places[-1] if self._places else None
        before = self._above if place is None else place.before
        tight = place is not None and place.kind == "item" and (before, kind) != ("paragraph", "paragraph")
        if before and not tight:
            self._emit(Content(""))
        if place is None:
            self._above = kind
        else:
            place.before = kind

    def _caption(self, language: str) -> None:
        if language:
            self._emit(Content.styled(language, _FAINT), "code")

    def _words(self, token: Token, style: str = "") -> None:
        content = words(token)
        if self._places and self._places[-1].kind == "item" and (task := _TASKS.get(content.plain[:4])):
            content = Content(task) + content[4:]
        for line in content.split("\n", allow_blank=True) if "\n" in content.plain else (content,):
            self._emit(line.stylize(style) if style else line)

    def _emit(self, content: Content, kind: str = "") -> None:
        first, rest = self._prefixes()
        self.lines.append(Line(content, first, rest, kind))

    def _prefixes(self) -> tuple[Content, Content]:
        first = rest = EMPTY.content
        for place in self._places:
            first, rest = first + place.first, rest + place.rest
            place.first = place.rest
        return first, rest


def closing(tokens: Sequence[Token], at: int) -> int:
    """The place after the block that begins at this token."""
    level = tokens[at].level
    if tokens[at].nesting != 1:
        return at + 1
    return (
        next(end for end in range(at + 1, len(tokens)) if tokens[end].level == level and tokens[end].nesting == -1) + 1
    )


def language_of(info: str) -> str:
    """The name of the language that a code fence begins with."""
    name = one_line(info).split(" ", 1)[0]
    return name.strip("{}.")[:40]


def _cells(tokens: Sequence[Token]) -> tuple[list[Content], list[list[Content]], list[str]]:
    """The head of a table, its rows, and how each column is aligned."""
    head: list[Content] = []
    rows: list[list[Content]] = []
    aligns: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            cell = words(tokens[at + 1] if tokens[at + 1].type == "inline" else None)
            rows[-1].append(cell)
            if token.type == "th_open":
                aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:") or "left")
    if rows:
        head = rows.pop(0)
    return head, rows, aligns


def _columns(rows: Sequence[Sequence[Content]]) -> Columns:
    count = max(map(len, rows), default=0)
    return [
        (
            max((row[at].cell_length for row in rows if at < len(row)), default=0),
            max((longest_word(row[at].plain) for row in rows if at < len(row)), default=0),
        )
        for at in range(count)
    ]
