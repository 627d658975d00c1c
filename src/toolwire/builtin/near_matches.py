"""What in a file is near a text that is not in it, and how it differs: for a model that must write it again.

The way is linear. Texts are folded (no blanks, plain quotes, small letters) and cut into lines; a line of the one that
is a line of the other votes for the place where the whole would then begin, and so does every piece of a line. The
places with most votes are looked at closely. How many votes are counted is bounded, so that a file that says the same
thing a million times costs no more than another.
"""

from __future__ import annotations

import html
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from heapq import nlargest
from itertools import accumulate
from typing import NamedTuple

_MAX_CHARACTERS = 8 * 1024 * 1024
"""Of a text that is looked through. Above that one knows only that it is not there."""
_MAX_LINES = 200_000
_MAX_WANTED = 200_000
"""Characters of what is looked for: nobody writes so much nearly right."""
_VOTES = 100_000
"""Votes of whole lines."""
_PIECES = 4
"""Pieces of a line, and those between them: one wrong word spoils some of them."""
_PIECED = 8
"""Lines that are cut into pieces, the longest ones; each piece is looked for in the whole text."""
_FOUND = 50
"""Places of one piece. What is everywhere says little."""
_REGIONS = 3
_SHOWN = 10
"""Lines of a region that are shown."""
_WIDTH = 160
"""Characters of a line that are shown."""

_ODD = str.maketrans("“”„‟«»‘’‚‛`´′″–—−‐‑‒", "\"\"\"\"\"\"'''''''\"------")
_ODD_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000\ufeff\u200b", " "))


def other_reading(text: str, wanted: str, name: str) -> str:
    """The one slip of the pen with which the text is there after all, in words; empty if it is none of these."""
    for words, read in _READINGS:
        other = read(wanted)
        if other and other != wanted:
            place = text.find(other)
            if place >= 0:
                line = text.count("\n", 0, place) + 1
                return f"it is there, at line {line:,}, {words.format(name=name)}"
    return ""


def nearest(text: str, wanted: str, name: str) -> str:
    """The regions of a text that are nearest to what is wanted, with their differences; empty if none is near."""
    if len(text) > _MAX_CHARACTERS or len(wanted) > _MAX_WANTED or text.count("\n") > _MAX_LINES:
        return ""
    lines, want = text.split("\n"), wanted.split("\n")
    for each in (lines, want):
        if len(each) > 1 and not each[-1]:
            each.pop()
    regions = _regions(text, lines, want)
    return "\n".join(_told(lines, first, want, name) for first in regions)


def numbered(lines: list[str], first: int, last: int) -> Iterator[str]:
    """Lines of a file (from 0, the last one not counted) as a model is shown them."""
    for number in range(first, last):
        line = lines[number]
        yield f"{number + 1:>6}\t{line if len(line) <= _WIDTH else line[:_WIDTH] + ' […]'}"


# ---- other readings


def _without_numbers(text: str) -> str:
    """The text without the line numbers that other tools put before each line; empty if it has none."""
    lines = text.split("\n")
    cut = [line.partition("\t") for line in lines]
    if all((number.strip().isdecimal() and tab) or not line for (number, tab, _), line in zip(cut, lines, strict=True)):
        return "\n".join(rest for _, _, rest in cut)
    return ""


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\\\", "\\")


def _if_there(text: str) -> str:
    return text if text.strip() else ""


_READINGS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("without the line end at the end of {name}", lambda text: _if_there(text.removesuffix("\n"))),
    ("without the blanks at the beginning and end of {name}", lambda text: text.strip()),
    ("without the line numbers: leave them out of {name}", _without_numbers),
    ("with real line ends, tabs and quotes where {name} has a backslash before them", _unescaped),
    ("with plain characters where {name} has &lt; &gt; &amp; or the like", html.unescape),
    ("with &lt; &gt; &amp; where {name} has plain characters", lambda text: html.escape(text, quote=False)),
)


# ---- finding


def _folded(text: str) -> str:
    """The text with as many lines, and without what is easily mistaken."""
    if not text.isascii():
        text = text.translate(_ODD_BLANKS).translate(_ODD)
    return text.replace(" ", "").replace("\t", "").replace("\r", "").replace('"', "'").lower()


def _regions(text: str, lines: list[str], want: list[str]) -> list[int]:
    """Where (from 0) the nearest regions begin, the best first."""
    folded = _folded(text)
    keys, wanted = folded.split("\n"), _folded("\n".join(want)).split("\n")
    votes = _line_votes(keys, wanted)
    _add_piece_votes(votes, folded, keys, wanted)
    enough = sum(nlargest(_PIECED, map(_weight, wanted))) / 3
    leading = nlargest(_REGIONS * 8, votes.items(), key=lambda item: (item[1], -item[0]))
    best = [(score + _likeness(keys, first, wanted), first) for first, score in leading if score >= enough]
    best.sort(key=lambda item: (-item[0], item[1]))
    regions: list[int] = []
    for score, first in best:
        if score < 0.9 * best[0][0] or len(regions) == _REGIONS:
            break
        if all(abs(first - other) >= len(want) for other in regions):
            regions.append(first)
    return [min(max(first, 0), len(lines) - 1) for first in regions]


def _weight(key: str) -> int:
    """What a line counts: a brace says less than a sentence."""
    return 100 * min(len(key), 12)


def _likeness(keys: list[str], first: int, wanted: list[str]) -> int:
    """How much of the lines is the same from their beginnings or to their ends, weighed as votes are."""
    score = 0
    for offset, key in enumerate(wanted):
        if key and 0 <= first + offset < len(keys):
            there = keys[first + offset]
            same = same_start(key, there) + same_start(key[::-1], there[: -len(key) - 1 : -1])
            score += _weight(key) * min(same, len(key)) // len(key)
    return score


def same_start(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _line_votes(keys: list[str], wanted: list[str]) -> Counter[int]:
    places: dict[str, list[int]] = {key: [] for key in wanted if key}
    for number, key in enumerate(keys):
        if key in places:
            places[key].append(number)
    votes: Counter[int] = Counter()
    offsets: dict[str, list[int]] = {key: [] for key in places}
    for offset, key in enumerate(wanted):
        if key:
            offsets[key].append(offset)
    left = _VOTES
    for key in sorted(places, key=lambda key: len(places[key]) * len(offsets[key])):
        voting = places[key][: left // len(offsets[key])]
        weight = _weight(key)
        for offset in offsets[key]:
            for number in voting:
                votes[number - offset] += weight
        left -= len(voting) * len(offsets[key])
    return votes


def _add_piece_votes(votes: Counter[int], folded: str, keys: list[str], wanted: list[str]) -> None:
    """Votes of pieces, for lines that are not there as a whole."""
    there = set(keys)
    longest = nlargest(_PIECED, (item for item in enumerate(wanted) if item[1] not in there), lambda item: len(item[1]))
    starts: list[int] = []
    for offset, key in longest:
        pieces = _pieces(key)
        weight = _weight(key) // max(1, len(pieces))
        for piece in pieces:
            starts = starts or [0, *accumulate(len(key) + 1 for key in keys)]
            seen: set[int] = set()
            place = folded.find(piece)
            while place >= 0 and len(seen) < _FOUND:
                number = bisect_right(starts, place) - 1
                seen.add(number)
                place = folded.find(piece, starts[number + 1])
            for number in seen:
                votes[number - offset] += weight


def _pieces(key: str) -> list[str]:
    size = max(2 if len(key) < 6 else 3, -(-len(key) // _PIECES))
    return [key[begin : begin + size] for begin in range(0, len(key) - size + 1, size // 2)]


# ---- telling


class _Fold(NamedTuple):
    words: str
    fold: Callable[[str], str]


def _each(fold: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(map(fold, text.split("\n")))


_FOLDS = (
    _Fold("spaces at the ends of lines", _each(lambda line: line.rstrip(" \t\r"))),
    _Fold("indentation", _each(lambda line: line.lstrip(" \t"))),
    _Fold("blanks", lambda text: text.translate(_ODD_BLANKS).replace(" ", "").replace("\t", "").replace("\r", "")),
    _Fold("quotation marks or dashes", lambda text: text.translate(_ODD).replace('"', "'")),
    _Fold("upper and lower case", str.lower),
)


def _told(lines: list[str], first: int, want: list[str], name: str) -> str:
    """One region: its difference in words, and its lines."""
    last = min(first + len(want), len(lines))
    region, wanted = "\n".join(lines[first:last]), "\n".join(want)
    only = next((fold.words for fold in _FOLDS if fold.fold(wanted) in fold.fold(region)), "")
    if not only and _folded(wanted) in _folded(region):
        only = "blanks, quotation marks or case"
    if only == "indentation":
        only += _tabs(region, wanted, name)
    where = f"line {first + 1:,}" if last == first + 1 else f"lines {first + 1:,} to {last:,}"
    number = _first_difference(lines[first:last], want)
    words = f"Near: {where}"
    words += f", where only {only} differ{'s' if only.startswith('indentation') else ''}." if only else "."
    if number is not None:
        if first + number < last:
            has, wants = _shown_pair(lines[first + number], want[number])
            words += f" Line {first + number + 1:,} is {has}, {name} has {wants}."
        else:
            words += f" The file ends there; {name} goes on with {_shown_pair(want[number], '')[0]}."
    begin = max(first, min(first + (number or 0) - _SHOWN // 2, last - _SHOWN))
    end = min(begin + _SHOWN, last)
    shown = [words, *numbered(lines, begin, end)]
    if last - first > _SHOWN:
        shown.append(f"[{last - first - (end - begin):,} more lines of it are not shown]")
    return "\n".join(shown)


def _tabs(region: str, wanted: str, name: str) -> str:
    if ("\t" in region) == ("\t" in wanted):
        return ""
    there, here = ("tabs", "spaces") if "\t" in region else ("spaces", "tabs")
    return f" (the file has {there}, {name} has {here})"


def _first_difference(region: list[str], want: list[str]) -> int | None:
    """The first line that is not as wanted. The first and last line of what is wanted may be parts of lines."""
    for number, line in enumerate(want):
        if number == len(region):
            return number
        there = region[number]
        if line == there or (len(want) == 1 and line in there):
            continue
        is_part = (number == 0 and there.endswith(line)) or (number == len(want) - 1 and there.startswith(line))
        if not is_part or len(want) == 1:
            return number
    return None


def _shown_pair(there: str, wanted: str) -> tuple[str, str]:
    """Both lines, or of long ones what is around the first difference."""
    begin = max(0, same_start(there, wanted) - _WIDTH // 2) if max(len(there), len(wanted)) > _WIDTH else 0
    return _quoted(there, begin), _quoted(wanted, begin)


def _quoted(line: str, begin: int) -> str:
    part = line[begin : begin + _WIDTH]
    return f"{'…' if begin else ''}{part!r}{'…' if begin + _WIDTH < len(line) else ''}"
