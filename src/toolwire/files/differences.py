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
_COMPARED = 8 * 1024 * 1024
"""Bytes of a side that are compared line by line; of more it is only said that they go or come."""
_COMPARED_LINES = 100_000
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


class _Sides(NamedTuple):
    """What is compared: the lines that differ with some around them, without what both begin and end with."""

    skipped: int
    """Lines before it, the same on both sides."""
    old: list[bytes]
    new: list[bytes]
    runs: list[_Run]


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
    lines = [*head, *_remarks(before, after)]
    sides = _sides(before, after)
    for line in _hunks(sides):
        if len(lines) >= _SHOWN:
            counted = _counted(sides.runs)
            lines.append(f"… the rest of +{counted.added:,} −{counted.removed:,} lines is not shown")
            break
        lines += _bounded(line)
    return "".join(f"{line}\n" for line in lines)


def count_changed(before: bytes | None, after: bytes | None) -> Counted:
    """How many lines the diff between them adds and takes away."""
    return _counted(_sides(before, after).runs) if before != after else Counted(0, 0)


def _counted(runs: Sequence[_Run]) -> Counted:
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
_CODECS = {"UTF-16": "utf-16", "UTF-32": "utf-32"}


def _is_binary(content: bytes | None) -> bool:
    return content is not None and encoding_of(content) not in ("UTF-16", "UTF-32") and b"\0" in content


def _size(content: bytes | None) -> str:
    return "no file" if content is None else f"{len(content):,} bytes"


def _text(content: bytes | None) -> bytes:
    """The content without its mark, in an encoding in which a line end is one byte."""
    name = encoding_of(content)
    if content is None or not name:
        return content or b""
    if name == "UTF-8 with BOM":
        return content.removeprefix(codecs.BOM_UTF8)
    return content.decode(_CODECS[name], "replace").encode()


def _sides(before: bytes | None, after: bytes | None) -> _Sides:
    """Bytes are compared before lines are: what is the same in a large file is never cut into lines."""
    old, new = _text(before), _text(after)
    head = old.rfind(b"\n", 0, _same_start(old, new)) + 1
    tail = _same_end(old[head:], new[head:])
    for _ in range(_CONTEXT):
        head = old.rfind(b"\n", 0, max(head - 1, 0)) + 1
    is_much = max(len(old), len(new)) - head - tail > _COMPARED
    is_many = max(each.count(b"\n", head, len(each) - tail) for each in (old, new)) > _COMPARED_LINES
    if not is_much and not is_many:
        end = len(old) - tail
        for _ in range(_CONTEXT):
            end = old.find(b"\n", end) + 1 or len(old)
        tail = len(old) - end
    skipped = old.count(b"\n", 0, head)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if not is_much and not is_many:
        old_lines, new_lines = _lines(old), _lines(new)
        return _Sides(skipped, old_lines, new_lines, _runs(old_lines, new_lines))
    # Only the beginnings are shown of so much: all of it goes, and all of it comes.
    old_lines, new_lines = _lines(old, _SHOWN), _lines(new, _SHOWN)
    kept = 0
    while kept < min(_CONTEXT, len(old_lines), len(new_lines)) and old_lines[kept] == new_lines[kept]:
        kept += 1
    return _Sides(skipped, old_lines, new_lines, [_Run(kept, count_lines(old), kept, count_lines(new))])


def _same_start(old: bytes, new: bytes) -> int:
    """How many bytes both begin with."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_end(old: bytes, new: bytes) -> int:
    """How many bytes of whole lines both end with."""
    same = _same_start(old[::-1], new[::-1])
    if all(len(each) == same or each[-same - 1 : len(each) - same] == b"\n" for each in (old, new)):
        return same
    found = old.find(b"\n", len(old) - same)
    return len(old) - found - 1 if found >= 0 else 0


def _lines(text: bytes, most: int = -1) -> list[bytes]:
    """Lines with their ends: all, or the first ones."""
    pieces = text.split(b"\n", most)
    last = pieces.pop()
    return [piece + b"\n" for piece in pieces] + ([last] if last and len(pieces) != most else [])


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


def _bounded(line: bytes) -> Iterator[str]:
    """A line of the diff without its end, and that there is none where there is none. No text shows as `\\xff`."""
    text = line.removesuffix(b"\n")
    shown = text[: 4 * _WIDTH + 4].decode("utf-8", "backslashreplace")
    if len(shown) > _WIDTH:
        shown = f"{shown[:_WIDTH]}… ({len(text.decode('utf-8', 'replace')) - _WIDTH:,} more characters)"
    yield shown
    if not line.endswith(b"\n") and not line.startswith(b"@@"):
        yield "\\ No newline at end of file"


def _hunks(sides: _Sides) -> Iterator[bytes]:
    """The lines of all hunks: runs that are near each other share one."""
    runs = sides.runs
    place = 0
    while place < len(runs):
        last = place
        while last + 1 < len(runs) and runs[last + 1].start - runs[last].end <= 2 * _CONTEXT:
            last += 1
        yield from _hunk(sides, runs[place : last + 1])
        place = last + 1


def _hunk(sides: _Sides, runs: Sequence[_Run]) -> Iterator[bytes]:
    skipped, old, new, _ = sides
    first, last = runs[0], runs[-1]
    before = min(_CONTEXT, first.start)
    behind = max(min(_CONTEXT, len(old) - last.end), 0)
    start, end = first.start - before, last.end + behind
    ranges = (
        _range(skipped + start, skipped + end),
        _range(skipped + first.new_start - before, skipped + last.new_end + behind),
    )
    yield f"@@ -{ranges[0]} +{ranges[1]} @@".encode()
    place = start
    for run in runs:
        yield from (b" " + line for line in old[place : run.start])
        going = min(run.end, run.start + _IN_A_ROW)
        yield from (b"-" + line for line in old[run.start : going])
        if going < run.end:
            yield f"… {run.end - going:,} more lines that go\n".encode()
        yield from (b"+" + line for line in new[run.new_start : run.new_end])
        place = run.end
    yield from (b" " + line for line in old[place:end])


def _range(start: int, end: int) -> str:
    """Lines from 1; of none, the one before."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + (length > 0)},{length}"


def _runs(old: Sequence[bytes], new: Sequence[bytes]) -> list[_Run]:
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


def _pairs(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
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
