"""Changes of files as lines with + and -: unified diffs, patches while they arrive, one text for another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...files.differences import unified
from .fields import Path
from .growing import GrowingText
from .line import MUTED, Line, fit, quiet
from .syntax import coloured

_COMPARED = 400
"""Lines of both texts that are compared here: a few milliseconds. Of more, all go and all come."""
_OLD_LIVE = 5
"""Lines of the text that goes which stay in sight while the one that comes is written."""

_NEW_NAMES = {
    "old_text": "new_text",
    "old_string": "new_string",
    "old_str": "new_str",
    "old_content": "new_content",
    "old_code": "new_code",
    "oldText": "newText",
    "oldString": "newString",
    "old": "new",
    "search": "replace",
    "find": "replace",
    "before": "after",
}
"""Arguments that hold a text that goes, and those that hold what comes in its place."""
_OLD_NAMES = {new: [old for old, its in _NEW_NAMES.items() if its == new] for new in _NEW_NAMES.values()}

_HEADERS = ("--- ", "+++ ", "diff ", "index ", "```", "*** ")
"""How lines before the first hunk begin that say nothing new."""
_GAP = "⋯"
"""Stands for lines of the file between two places that change."""

_STYLES = {
    "+": ("$text-success", "on $success 14%"),
    "-": ("$text-error", "on $error 14%"),
    " ": (MUTED, ""),
    "@": (MUTED, ""),
}


class Replacement(NamedTuple):
    """One text for another, while either may be missing."""

    old_path: Path
    new_path: Path
    old: GrowingText | None
    new: GrowingText | None


class Mark(NamedTuple):
    """A line of a diff: + - or a blank, or @ for what stands between; its text; its number in the file, 0: unknown."""

    sign: str
    text: str
    number: int = 0


def replacements(texts: dict[Path, GrowingText]) -> list[Replacement]:
    """The pairs of arguments that are one text for another, wherever they stand."""
    found: dict[tuple[Path, str], Replacement] = {}
    for path, text in texts.items():
        name = path[-1]
        if not isinstance(name, str):
            continue
        if name in _NEW_NAMES:
            new = _NEW_NAMES[name]
            key = path[:-1], new
            if key not in found:
                new_path = (*path[:-1], new)
                found[key] = Replacement(path, new_path, text, texts.get(new_path))
        elif name in _OLD_NAMES and (path[:-1], name) not in found:
            old = next((each for each in _OLD_NAMES[name] if (*path[:-1], each) in texts), "")
            # `after` or `replace` alone say nothing; `new_text` does.
            if old or name.startswith("new"):
                old_path = (*path[:-1], old or _OLD_NAMES[name][0])
                found[path[:-1], name] = Replacement(old_path, path, texts.get(old_path), text)
    return [each for each in found.values() if each.new is not None or _names_old(each.old_path)]


def _names_old(path: Path) -> bool:
    return str(path[-1]).startswith("old")


def is_diff(text: str) -> bool:
    """Whether this is a unified diff, and no sentence about one."""
    head, _, rest = text.partition("\n")
    return head.startswith("--- ") and rest.startswith("+++ ")


def is_new_file(diff: str) -> bool:
    """Whether what it changes is not there yet."""
    return diff.startswith("--- /dev/null")


def marks_of(lines: Iterable[str], path: str | None = None) -> Iterator[Mark]:
    """The lines of a diff or patch, also of one that is not whole. What stands before the first hunk is left out, but
    for remarks. With a `path`, so is only what names this file: a patch of another one is to be seen as that."""
    old = new = 0
    in_hunk = False
    for line in lines:
        if line.startswith("@@"):
            in_hunk = True
            old, new = _places(line)
            yield Mark("@", line)
        elif not in_hunk:
            if line.strip() and (not line.startswith(_HEADERS) or (path is not None and _names_other(line, path))):
                yield Mark("@", line)
        elif line.startswith("+"):
            yield Mark("+", line[1:], new)
            new += new > 0
        elif line.startswith("-"):
            yield Mark("-", line[1:], old)
            old += old > 0
        elif line.startswith(("\\", "…")):
            yield Mark("@", line)
        else:
            yield Mark(" ", line.removeprefix(" "), new)
            old += old > 0
            new += new > 0


def _names_other(header: str, path: str) -> bool:
    """Whether this line before the first hunk names a file, and not this one."""
    kind, _, rest = header.partition(" ")
    if kind not in ("---", "+++", "***"):
        return False
    name = rest.partition("\t")[0].strip()
    if kind == "***":
        _, named, name = name.partition(": ")
        return bool(named) and name != path
    return name.removeprefix("a/" if kind == "---" else "b/") != path != name


def replaced(replacement: Replacement, path: str, *, compared: bool = True) -> list[Mark]:
    """One text for another, both whole: with what both have in common as kept lines, if they are `compared`."""
    old, new = (text.text() if text is not None else "" for text in replacement[2:])
    if compared and old.count("\n") + new.count("\n") <= _COMPARED:
        # Whether the last line ends is no matter of a replacement.
        sides = [(text if text.endswith("\n") else f"{text}\n").encode("utf-8", "replace") for text in (old, new)]
        diff = unified(sides[0], sides[1], path or "text")
        marks = list(marks_of(diff.removesuffix("\n").split("\n")))
        numbered = [mark._replace(number=0) for mark in marks if mark.sign != "@" or "@@" not in mark.text]
        if numbered:
            return numbered
    return [*(Mark("-", line) for line in old.split("\n")), *(Mark("+", line) for line in new.split("\n"))]


def growing_marks(replacement: Replacement, most: int) -> tuple[int, list[Mark]]:
    """One text for another while it arrives: how many lines are not shown, and the last of each."""
    hidden = 0
    marks: list[Mark] = []
    for sign, text, room in (("-", replacement.old, most), ("+", replacement.new, most)):
        if text is None:
            continue
        if sign == "-" and replacement.new is not None:
            room = _OLD_LIVE
        _, lines = text.last(room)
        hidden += text.count - len(lines)
        marks += [Mark(sign, line) for line in lines]
    return hidden, marks


def counted(marks: Iterable[Mark]) -> str:
    """How many lines come and go, as `+3 −1`."""
    signs = [mark.sign for mark in marks]
    return f"+{signs.count('+'):,} −{signs.count('-'):,}"


def change_lines(marks: Sequence[Mark], language: str, *, rows: int) -> list[Line]:
    """The lines of a diff: numbers where they are known, the sign, and the text in the colours of its language."""
    texts = [fit(mark.text) for mark in marks]
    spans = coloured(["" if mark.sign == "@" else text for mark, text in zip(marks, texts, strict=True)], language)
    widest = max((mark.number for mark in marks), default=0)
    width = len(str(widest)) if widest else 0
    lines: list[Line] = []
    for mark, text, colours in zip(marks, texts, spans, strict=True):
        sign_style, fill = _STYLES[mark.sign]
        if mark.sign == "@":
            words = _place_words(text)
            if lines or words != _GAP:
                lines.append(quiet(words, " " * (width + 1)))
            continue
        number = f"{mark.number or '':>{width}} " if width else ""
        # Without colours of its language a line has that of its sign, so that it is told apart without a background.
        style = "" if colours or mark.sign == " " else sign_style
        lines.append(Line(text, style, f"{number}{mark.sign} ", sign_style, colours, rows, fill))
    return lines


def _places(header: str) -> tuple[int, int]:
    """Where a hunk begins, in the old file and the new one; 0 where its header does not say."""
    places = []
    for word in header.split(" ", 3)[1:3]:
        number = word[1:].partition(",")[0]
        places.append(int(number) if number.isdecimal() and number.isascii() and len(number) < 10 else 0)
    return (places[0], places[1]) if len(places) == 2 else (0, 0)


def _place_words(text: str) -> str:
    """`@@ -12,3 +12,4 @@ def f():` as `⋯ def f():`: where it is, the numbers say."""
    if not text.startswith("@@"):
        return text
    places, closed, words = text[2:].partition("@@")
    return f"{_GAP} {(words if closed else places).strip()}".rstrip()
