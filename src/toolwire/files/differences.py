"""What a change of a file changes, as a unified diff for a person or a model.

The way is Myers': the cost grows with the lines and with how many of them differ, and it is cut off where it would be
too much. What comes out then is still true, only longer than it could be: all the lines between the first and the last
that differ go, and the new ones come.
"""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_EDITS = 800
"""Lines that may differ among those which both sides have, and are still told apart: a fifth of a second."""
_STEPS = 1_000_000
"""Comparisons of equal lines."""
_CONTEXT = 3
"""Lines that are shown around what differs, as everywhere."""
_SHOWN = 1_000
"""Lines of a diff. Nobody reads more before they say yes."""
_IN_A_ROW = 300
"""Lines of it that go, one after the other: so that the ones which come are seen too."""
_WIDTH = 1_000
"""Characters of a line of it."""


class Counted(NamedTuple):
    """How many lines come and go."""

    added: int
    removed: int


class _Run(NamedTuple):
    """Lines `start` to `end` of the old text that become `new_start` to `new_end` of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


def unified(before: bytes | None, after: bytes | None, path: str) -> str:
    """The diff from one content to another; None is no file. Empty if they are the same.

    At most some thousand lines; what was left out is said in the last one. What a diff cannot show is said before it:
    that the file is no text, that its encoding changes, that its line ends do.
    """
    if before == after:
        return ""
    name = path if path.isprintable() else ascii(path)
    head = [f"--- {'/dev/null' if before is None else name}", f"+++ {'/dev/null' if after is None else name}"]
    if _is_binary(before) or _is_binary(after):
        return "\n".join([*head, f"not text: {_size(before)} before, {_size(after)} after", ""])
    old, new = _lines(before), _lines(after)
    lines = list(head)
    lines += _remarks(before, after)
    for line in _hunks(old, new):
        if len(lines) >= _SHOWN:
            counted = count_changed(before, after)
            lines.append(f"… the rest of +{counted.added:,} −{counted.removed:,} lines is not shown")
            break
        lines += _bounded(line)
    return "".join(f"{line}\n" for line in lines)


def count_changed(before: bytes | None, after: bytes | None) -> Counted:
    """How many lines the diff between them adds and takes away."""
    if before == after:
        return Counted(0, 0)
    runs = _runs(_lines(before), _lines(after))
    return Counted(sum(run.new_end - run.new_start for run in runs), sum(run.end - run.start for run in runs))


def count_lines(content: bytes) -> int:
    """How many lines there are; the last may have no end."""
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))


def encoding_of(content: bytes | None) -> str:
    """What the mark at the beginning says: `UTF-8 with BOM`, `UTF-16`, `UTF-32`, or nothing."""
    # The mark of UTF-32 begins with that of UTF-16.
    for mark, name in _MARKS:
        if content is not None and content.startswith(mark):
            return name
    return ""


_MARKS = (
    (codecs.BOM_UTF8, "UTF-8 with BOM"),
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_CODECS = {"UTF-8 with BOM": "utf-8-sig", "UTF-16": "utf-16", "UTF-32": "utf-32", "": "utf-8"}


def _is_binary(content: bytes | None) -> bool:
    return content is not None and encoding_of(content) not in ("UTF-16", "UTF-32") and b"\0" in content


def _size(content: bytes | None) -> str:
    return "no file" if content is None else f"{len(content):,} bytes"


def _lines(content: bytes | None) -> list[str]:
    """Lines with their ends. A byte that is no text shows as `\\xff`."""
    if content is None:
        return []
    name = encoding_of(content)
    errors = "backslashreplace" if name in ("", "UTF-8 with BOM") else "replace"
    pieces = content.decode(_CODECS[name], errors).split("\n")
    last = pieces.pop()
    return [f"{piece}\n" for piece in pieces] + ([last] if last else [])


def _remarks(before: bytes | None, after: bytes | None) -> Iterator[str]:
    """What changes and cannot be seen in lines."""
    if before is None or after is None:
        return
    was, is_now = encoding_of(before), encoding_of(after)
    if was != is_now:
        yield f"the encoding changes from {was or 'UTF-8'} to {is_now or 'UTF-8'}"
    ends = [(content.count(b"\r\n"), content.count(b"\n")) for content in (before, after)]
    kinds = [_ends(*counts) for counts in ends]
    if all(kinds) and kinds[0] != kinds[1]:
        yield f"the line ends change from {kinds[0]} to {kinds[1]}"


def _ends(both: int, all_: int) -> str:
    if not all_:
        return ""
    return "LF" if not both else "CRLF" if both == all_ else "mixed"


def _bounded(line: str) -> Iterator[str]:
    """A line of the diff without its end, and that there is none where there is none."""
    text = line.removesuffix("\n")
    if len(text) > _WIDTH:
        text = f"{text[:_WIDTH]}… ({len(text) - _WIDTH:,} more characters)"
    yield text
    if not line.endswith("\n") and not line.startswith("@@"):
        yield "\\ No newline at end of file"


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The lines of all hunks: runs that are near each other share one."""
    runs = _runs(old, new)
    place = 0
    while place < len(runs):
        last = place
        while last + 1 < len(runs) and runs[last + 1].start - runs[last].end <= 2 * _CONTEXT:
            last += 1
        yield from _hunk(old, new, runs[place : last + 1])
        place = last + 1


def _hunk(old: Sequence[str], new: Sequence[str], runs: Sequence[_Run]) -> Iterator[str]:
    first, last = runs[0], runs[-1]
    before = min(_CONTEXT, first.start)
    behind = min(_CONTEXT, len(old) - last.end)
    start, end = first.start - before, last.end + behind
    yield f"@@ -{_range(start, end)} +{_range(first.new_start - before, last.new_end + behind)} @@"
    place = start
    for run in runs:
        yield from (f" {line}" for line in old[place : run.start])
        going = min(run.end, run.start + _IN_A_ROW)
        yield from (f"-{line}" for line in old[run.start : going])
        if going < run.end:
            yield f"… {run.end - going:,} more lines that go\n"
        yield from (f"+{line}" for line in new[run.new_start : run.new_end])
        place = run.end
    yield from (f" {line}" for line in old[place:end])


def _range(start: int, end: int) -> str:
    """Lines from 1; of none, the one before."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + (length > 0)},{length}"


def _runs(old: Sequence[str], new: Sequence[str]) -> list[_Run]:
    """What differs, in order."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    end, new_end = len(old) - tail, len(new) - tail
    # A line that the other side does not have is in no pair: without those, texts that share little cost little.
    here, there = set(old[head:end]), set(new[head:new_end])
    places = [place for place in range(head, end) if old[place] in there]
    new_places = [place for place in range(head, new_end) if new[place] in here]
    same = _pairs([old[place] for place in places], [new[place] for place in new_places])
    runs: list[_Run] = []
    left, right = head, head
    for mine, other in (*((places[a], new_places[b]) for a, b in same), (end, new_end)):
        if mine > left or other > right:
            runs.append(_Run(left, mine, right, other))
        left, right = mine + 1, other + 1
    return runs


def _pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The places of equal lines in a longest row of them; none if finding it takes too long."""
    most = min(len(old) + len(new), _EDITS)
    # How far each diagonal has come; from `most` on, the negative ones are counted from the end.
    furthest = array("l", [0]) * (2 * most + 3)
    trace: list[array[int]] = []
    steps = 0
    for edits in range(most + 1):
        trace.append(furthest[:])
        for diagonal in range(-edits, edits + 1, 2):
            before = _before(furthest, edits, diagonal)
            x = furthest[before] + (before < diagonal)
            start = x
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x += 1
                y += 1
            steps += x - start
            furthest[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _walk_back(trace, x, y)
        if steps > _STEPS:
            break
    return []


def _before(furthest: array[int], edits: int, diagonal: int) -> int:
    """The diagonal from which the furthest point of this one is reached with one edit more."""
    if diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]):
        return diagonal + 1
    return diagonal - 1


def _walk_back(trace: Sequence[array[int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        before = _before(trace[edits], edits, x - y)
        from_x = trace[edits][before]
        from_y = from_x - before
        while x > from_x and y > from_y:
            x -= 1
            y -= 1
            pairs.append((x, y))
        x, y = from_x, from_y
    pairs.reverse()
    return pairs
