"""Characters that a person cannot see or a terminal obeys, and the marks that stand for them: ‹U+202E›, ‹TAB›.

A run of blanks or empty lines so long that what follows it may lie outside of the window is one mark: ‹240 BLANKS›.

The one table of them. A mark begins with `‹`, and a `‹` of the text itself is marked too, so that marked text goes
back to exactly the text it was made of and nothing else in it needs an escape.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby
from string import hexdigits

from ..strict_json import NotStrict


def _codes(*ranges: tuple[int, int]) -> frozenset[str]:
    return frozenset(chr(code) for first, last in ranges for code in range(first, last + 1))


_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_IGNORED = _codes(
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)
"""Letters, marks and free places by their category, but drawn as nothing: Unicode's default ignorable ones."""
_UNSURE = _codes(
    (0x0488, 0x0489),
    (0x1160, 0x11FF),
    (0x1ABE, 0x1ABE),
    (0x2039, 0x2039),
    (0x20DD, 0x20E4),
    (0x2800, 0x2800),
    (0xA670, 0xA672),
    (0xD7B0, 0xD7FF),
    (0xFE00, 0xFE0F),
    (0xFFFC, 0xFFFC),
    (0x16FE4, 0x16FE4),
    (0x1D159, 0x1D159),
    (0x1F3FB, 0x1F3FF),
)
"""Harmless in a sentence, but blank, drawn around a neighbour or without a width of their own: parts of Korean letters
that join the one before, an empty Braille cell, forms and skin colours of an emoji, places for objects. And `‹`."""

_NAMES = {"\t": "TAB", "\n": "LF", "\r": "CR", "\x1b": "ESC"}
_CHARACTERS = {name: char for char, name in _NAMES.items()}
MANY_BLANKS = 40
"""Blanks in a row that are shown as one mark: more than code is indented by, less than pushes anything off a screen."""
MANY_LINES = 10
"""Empty lines in a row that are."""
LONGEST_RUN = 1_000_000
"""How many characters one mark covers at most; a longer run is several marks."""
_RUNS = {"BLANKS": (" ", MANY_BLANKS), "EMPTY LINES": ("\n", MANY_LINES)}
_STACKED = 3
"""Combining marks on one letter: as many as any language writes. More of them run into the lines around."""


def is_hidden(char: str) -> bool:
    """Whether a terminal obeys this character or draws nothing for it."""
    return unicodedata.category(char) in _OBEYED or char in _IGNORED


def is_marked(char: str) -> bool:
    """Whether this character is shown as a mark: hidden ones, and whatever may look like another or like nothing.

    That is also every blank but the plain one, and characters that Unicode has not given out or leaves to others.
    """
    return not char.isprintable() or char in _IGNORED or char in _UNSURE


def mark(char: str) -> str:
    """The mark of one character."""
    return f"‹{_NAMES.get(char) or f'U+{ord(char):04X}'}›"


def marked(text: str) -> str:
    """The text on one line with a mark for everything that would not be seen as it is. `unmarked` takes it back."""
    if text.isascii() and text.isprintable():
        return _with_runs(text)
    characters = set(text)
    marks = {char: mark(char) for char in characters if is_marked(char)}
    combining = {char for char in characters if unicodedata.category(char)[0] == "M" and char not in marks}
    if not combining:
        return _with_runs(text.translate({ord(char): shown for char, shown in marks.items()}) if marks else text)
    made = []
    room = 0
    for char in text:
        if char not in combining:
            made.append(marks.get(char, char))
            room = _STACKED if char.isalpha() and char not in marks else 0
        elif room:
            made.append(char)
            room -= 1
        else:
            made.append(mark(char))
    return _with_runs("".join(made))


def _with_runs(text: str) -> str:
    """The text with marks for long runs of blanks."""
    if " " * MANY_BLANKS not in text:
        return text
    pieces = ("".join(group) for _, group in groupby(text, " ".__eq__))
    return "".join(_run(len(piece)) if piece.startswith(" " * MANY_BLANKS) else piece for piece in pieces)


def _run(size: int) -> str:
    whole, rest = divmod(size, LONGEST_RUN)
    mark = f"‹{rest} BLANKS›" if rest >= MANY_BLANKS else " " * rest
    return f"‹{LONGEST_RUN} BLANKS›" * whole + mark


def mark_lines(count: int) -> str:
    """The mark of so many empty lines in a row, on a line of its own: `unmarked` gives the line ends between them."""
    return f"‹{count} EMPTY LINES›"


def unmarked(text: str) -> str:
    """The text that was marked; raises `NotStrict` for a mark that is none."""
    first, *rest = text.split("‹")
    if not rest:
        return text
    made = [first]
    for piece in rest:
        name, closed, after = piece.partition("›")
        made.append(_character(name if closed else ""))
        made.append(after)
    return "".join(made)


def _character(name: str) -> str:
    size, _, kind = name.partition(" ")
    if kind in _RUNS and size.isascii() and size.isdecimal() and len(size) <= len(str(LONGEST_RUN)):
        character, least = _RUNS[kind]
        if least <= int(size) <= LONGEST_RUN:
            return character * (int(size) - (character == "\n"))
    code = name.removeprefix("U+")
    if code != name and 4 <= len(code) <= 6 and all(char in hexdigits for char in code) and int(code, 16) <= 0x10FFFF:
        return chr(int(code, 16))
    if name not in _CHARACTERS:
        raise NotStrict("a ‹ begins the mark of a character, such as ‹U+200B›; ‹ itself is ‹U+2039›")
    return _CHARACTERS[name]
