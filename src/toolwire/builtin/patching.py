"""Unified patches, applied exactly: every line that a hunk keeps or removes is in the file, or nothing is changed.

What models get wrong without harm is forgiven, because the lines themselves say it better: the counts in the header of
a hunk are not used where the body says otherwise, an empty line without its leading space is an empty line, and a hunk
may stand at another line than its header says, if there is only one place where it fits. What could mean two things is
refused.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from ..errors import FileRefused
from .file_text import FileText, Span
from .near_matches import nearest

MAX_HUNKS = 300
"""Hunks of one patch. Each may have to be looked for in the whole file."""
_LISTED = 10
_FORM = (
    "Give hunks such as '@@ -12,3 +12,3 @@', then lines that begin with a space (kept), - (removed) or + (added), "
    "with some kept lines around each change"
)


class Line(NamedTuple):
    """One line of a hunk: its sign (space, minus, plus), and its text without the end."""

    sign: str
    text: str
    open: bool = False
    """Whether the file ends with it, without a line end: what `\\ No newline at end of file` says."""


class Hunk(NamedTuple):
    """One hunk. `stated` is the line (from 0) that its header says it begins at; None where it does not say."""

    number: int
    stated: int | None
    lines: tuple[Line, ...]

    @property
    def old(self) -> list[Line]:
        """The lines that the file must have."""
        return [line for line in self.lines if line.sign != "+"]

    @property
    def new(self) -> list[Line]:
        """The lines that it has afterwards."""
        return [line for line in self.lines if line.sign != "-"]


class Applied(NamedTuple):
    """What to change, and for each hunk the line (from 1) at which it was placed and the one that it named."""

    spans: list[Span]
    placed: list[tuple[int, int | None]]


def apply_patch(text: FileText, patch: str, names: Sequence[str] = ()) -> Applied:
    """What a patch changes; a `FileRefused` where it does not fit. Its fact `near` shows lines of the file.

    `names` are paths of the file: one of them ends as the header says. Without any, the header may say anything.
    """
    hunks = parse_patch(patch, names)
    file = _Lines(text.plain)
    spans: list[Span] = []
    placed: list[tuple[int, int | None]] = []
    free = drift = 0
    for hunk in hunks:
        place = _place(file, hunk, free, drift)
        if hunk.stated is not None:
            drift = place - hunk.stated
        spans += _spans(file, hunk, place)
        free = place + len(hunk.old)
        placed.append((place + 1, None if hunk.stated is None else hunk.stated + 1))
    if not spans:
        raise FileRefused("the patch changes nothing: no line in it is removed (-) or added (+), or all are the same")
    return Applied(spans, placed)


# ---- reading


class _Header(NamedTuple):
    start: int | None
    old: int
    new: int


def parse_patch(patch: str, names: Sequence[str] = ()) -> list[Hunk]:
    """The hunks of a patch of one file."""
    lines = patch.split("\n")
    if not lines[-1]:
        lines.pop()
    place, end = _fence(lines)
    place = _head(lines, place, end, names)
    hunks: list[Hunk] = []
    while place < end:
        if not lines[place].strip():
            place += 1
            continue
        if not lines[place].startswith("@@"):
            raise _misread(place, lines[place])
        if len(hunks) == MAX_HUNKS:
            raise FileRefused(f"the patch has more than {MAX_HUNKS} hunks: make several edits of it")
        header = _header(lines[place], place)
        body, place = _body(lines, place + 1, end, header)
        if not body:
            raise FileRefused(f"hunk {len(hunks) + 1} of the patch has no lines. {_FORM}")
        start = header.start
        # A hunk without old lines names the line after which it goes.
        if start is not None and any(line.sign != "+" for line in body):
            start = max(start - 1, 0)
        hunks.append(Hunk(len(hunks) + 1, start, tuple(body)))
    if not hunks:
        raise FileRefused(f"the patch has no hunk. {_FORM}")
    return hunks


def _fence(lines: list[str]) -> tuple[int, int]:
    """From where to where the patch goes: without empty lines before it, and without a Markdown fence around it."""
    place, end = 0, len(lines)
    while place < end and not lines[place].strip():
        place += 1
    last = end
    while last > place and not lines[last - 1].strip():
        last -= 1
    if last - place > 1 and lines[place].startswith("```") and lines[last - 1].strip() == "```":
        return place + 1, last - 1
    return place, end


_IGNORED = ("diff ", "index ", "Index: ", "=====", "similarity index ", "dissimilarity index ")
_REFUSED = {
    "new file mode": "makes a file: use write_file",
    "deleted file mode": "removes a file: edit_file does not",
    "rename from": "renames a file: edit_file does not",
    "copy from": "copies a file: edit_file does not",
    "old mode": "changes the mode of a file: edit_file does not",
    "Binary files": "is of a binary file: edit_file changes text only",
    "GIT binary patch": "is of a binary file: edit_file changes text only",
    "*** Begin Patch": f"is not a unified one. {_FORM}",
}


def _head(lines: list[str], place: int, end: int, names: Sequence[str]) -> int:
    """Where the first hunk begins."""
    while place < end and not lines[place].startswith("@@"):
        line = lines[place]
        for begin, words in _REFUSED.items():
            if line.startswith(begin):
                raise FileRefused(f"the patch {words}")
        if line.startswith("--- ") and place + 1 < end and lines[place + 1].startswith("+++ "):
            old, new = _file_name(line), _file_name(lines[place + 1])
            if old == "/dev/null":
                raise FileRefused("the patch makes a new file (from /dev/null): use write_file")
            if new == "/dev/null":
                raise FileRefused("the patch removes the file (to /dev/null): edit_file does not")
            if names and not any(_names(each, name) for each in (old, new) for name in names):
                raise FileRefused(
                    f"the patch is for {new[:200]!r}, not for {names[0][:200]!r}: give the path of the file it is for, "
                    "or leave its --- and +++ lines out"
                )
            place += 1
        elif line.strip() and not line.startswith(_IGNORED):
            raise _misread(place, line)
        place += 1
    return place


def _file_name(line: str) -> str:
    """The name in a header: without the time behind a tab, and the quotes around a name with odd characters."""
    return line[4:].split("\t")[0].rstrip("\r ").strip('"')


def _names(given: str, name: str) -> bool:
    """Whether a header means this file: by the end of its path, with or without the a/ or b/ before."""
    asked, path = given.split("/"), name.split("/")
    for parts in (asked, asked[1:] if asked[0] in ("a", "b", "i", "w", "c", "o") else asked):
        parts = [part for part in parts if part not in ("", ".")]
        if parts and path[-len(parts) :] == parts:
            return True
    return False


def _header(line: str, place: int) -> _Header:
    """What `@@ -a,b +c,d @@` says; without numbers (`@@`, or `@@ def f():`) nothing."""
    words = line[2:].split("@@")[0].split()
    if not words or not words[0].startswith("-"):
        return _Header(None, -1, -1)
    old, new = _range(words[0], "-"), _range(words[1], "+") if len(words) > 1 else None
    if old is None or new is None or len(words) > 2:
        raise FileRefused(
            f"line {place + 1:,} of the patch is no header of a hunk: {line[:80]!r}. Write '@@ -12,3 +12,4 @@'"
        )
    return _Header(old[0], old[1], new[1])


def _range(word: str, sign: str) -> tuple[int, int] | None:
    start, _, count = word.removeprefix(sign).partition(",")
    if not word.startswith(sign) or not _is_number(start) or not (_is_number(count) or "," not in word):
        return None
    return int(start), int(count) if count else 1


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def _body(lines: list[str], place: int, end: int, header: _Header) -> tuple[list[Line], int]:
    """The lines of a hunk, and where the next thing begins.

    The counts of the header are used where the lines alone could mean two things, and nowhere else.
    """
    body: list[Line] = []
    old, new = header.old, header.new
    while place < end and not lines[place].startswith("@@"):
        raw = lines[place]
        text = raw.removesuffix("\r")
        if old == new == 0 and _is_signature(lines, place, end):
            place = end
            break
        if raw.startswith("diff --git ") or ((old < 1 or new < 1) and _begins_file(lines, place, end)):
            raise FileRefused(
                f"the patch is for more than one file (line {place + 1:,} begins another): edit one file at a time"
            )
        if raw.startswith("\\") and body and not body[-1].open:
            # Of a line without an end a CR at its end is a part, unless all lines of the patch have one.
            last = lines[place - 1] if raw == text else lines[place - 1].removesuffix("\r")
            body[-1] = Line(body[-1].sign, last[1:], open=True)
        elif text and text[0] not in " -+":
            raise _misread(place, raw)
        else:
            body.append(Line(text[:1] or " ", text[1:]))
            old -= body[-1].sign != "+"
            new -= body[-1].sign != "-"
        place += 1
    _drop_stray(body, lines, place, old, new)
    for side in "+-":
        if any(line.open for line in [line for line in body if line.sign != side][:-1]):
            raise FileRefused(
                f"a hunk of the patch goes on after '\\ No newline at end of file', before line {place:,} of the patch"
            )
    return body, place


def _drop_stray(body: list[Line], lines: list[str], place: int, old: int, new: int) -> None:
    """Takes empty lines at the end of a hunk away, unless its header counts them: they stand between hunks."""
    while body and not (old == new == 0) and not body[-1].open and not lines[place - 1].strip("\r"):
        body.pop()
        place, old, new = place - 1, old + 1, new + 1


def _is_signature(lines: list[str], place: int, end: int) -> bool:
    """Whether this is the line `-- ` with which mails end, and the version after it."""
    rest = [line for line in lines[place + 1 : end] if line.strip()]
    return lines[place].rstrip("\r") == "-- " and len(rest) <= 1 and not any(line[0] in "@+- " for line in rest)


def _begins_file(lines: list[str], place: int, end: int) -> bool:
    heads = [line[:4] for line in lines[place : min(place + 3, end)]]
    return len(heads) == 3 and heads[0] == "--- " and heads[1] == "+++ " and heads[2].startswith("@@")


def _misread(place: int, line: str) -> FileRefused:
    return FileRefused(f"line {place + 1:,} of the patch cannot be read: {line[:80]!r}. {_FORM}")


# ---- placing


class _Lines:
    """The lines of a file, and where a row of them stands."""

    def __init__(self, plain: str) -> None:
        self.plain = plain
        self.is_closed = plain.endswith("\n") or not plain
        self.lines = plain.split("\n")
        if self.is_closed:
            self.lines.pop()
        self.count = len(self.lines)
        self.starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        self._framed = "\n" + plain + ("" if self.is_closed else "\n")

    def has(self, texts: list[str], place: int) -> bool:
        return place >= 0 and self.lines[place : place + len(texts)] == texts

    def find(self, texts: list[str], first: int = 0) -> Iterator[int]:
        """Every line at which these lines stand, from a first one on."""
        if first + len(texts) > self.count:
            return
        framed = "\n" + "\n".join(texts) + "\n"
        place = self._framed.find(framed, self.starts[first])
        while place >= 0:
            yield bisect_left(self.starts, place)
            place = self._framed.find(framed, place + 1)


def _place(file: _Lines, hunk: Hunk, free: int, drift: int) -> int:
    """The line (from 0) where a hunk belongs: the one it names (moved as the hunk before was), or the only one."""
    texts = [line.text for line in hunk.old]
    if not texts:
        if file.count:
            raise FileRefused(
                f"hunk {hunk.number} of the patch only adds lines, so that nothing shows where they go. {_FORM}"
            )
        return 0
    if any(line.open for line in hunk.lines):
        return _place_at_end(file, hunk, texts, free)
    places: list[int] = []
    if hunk.stated is not None:
        stated = dict.fromkeys((hunk.stated + drift, hunk.stated))
        places = sorted(place for place in stated if place >= free and file.has(texts, place))
    if not places:
        for place in file.find(texts, free):
            places.append(place)
            if len(places) > _LISTED:
                break
    if not places:
        raise _misfit(file, hunk, texts, free)
    if len(places) > 1:
        listed = ", ".join(f"{place + 1:,}" for place in places[:_LISTED]) + (", …" if len(places) > _LISTED else "")
        raise FileRefused(
            f"hunk {hunk.number} of the patch fits at several places, lines {listed}, and its header names "
            f"{_stated(hunk)}; nothing was changed. Give more kept lines around the change, or the right line number"
        )
    return places[0]


def _place_at_end(file: _Lines, hunk: Hunk, texts: list[str], free: int) -> int:
    """The end of the file, for a hunk that says that the file ends with it."""
    place = file.count - len(texts)
    if place < free or not file.has(texts, place):
        raise _misfit(
            file, hunk, texts, free, " at the end of the file, where '\\ No newline at end of file' puts them"
        )
    if hunk.old[-1].open and file.is_closed:
        raise FileRefused(
            f"hunk {hunk.number} of the patch says that the file ends without a line end, but it has one; nothing was "
            "changed. Leave out the line '\\ No newline at end of file' after the lines that are kept or removed"
        )
    return place


def _stated(hunk: Hunk) -> str:
    return "no line" if hunk.stated is None else f"line {hunk.stated + 1:,}"


def _misfit(file: _Lines, hunk: Hunk, texts: list[str], free: int, where: str = "") -> FileRefused:
    name = f"hunk {hunk.number} of the patch"
    words = f"{name} does not fit: its kept and removed lines are not in the file{where}; nothing was changed"
    above = next(file.find(texts), None)
    if free and above is not None and above < free:
        return FileRefused(
            f"{name} fits only at line {above + 1:,}, above or inside of the one before it; nothing was changed. Give "
            "hunks in the order of the file, without lines in common"
        )
    there = next(file.find([line.text for line in hunk.new]), None) if len(hunk.new) > 1 else None
    if there is not None:
        words += f". Its new lines are there already, at line {there + 1:,}: maybe it was applied before"
    near = nearest(file.plain, "".join(f"{text}\n" for text in texts), f"hunk {hunk.number}")
    if near:
        return FileRefused(f"{words}. Write them exactly as the file has them:", near=near)
    return FileRefused(f"{words}, and nothing in it is near: read the file again")


def _spans(file: _Lines, hunk: Hunk, place: int) -> Iterator[Span]:
    """What a hunk at this line changes: each run of lines that are removed and added. Kept lines are not touched."""
    stays_open = not any(line.open for line in hunk.old)
    removed = 0
    added: list[str] = []
    for line in (*hunk.lines, None):
        if line is not None and line.sign == "-":
            removed += 1
        elif line is not None and line.sign == "+":
            added.append(line.text if line.open else line.text + "\n")
        else:
            span = _span(file, place, place + removed, "".join(added), stays_open)
            if file.plain[span.start : span.end] != span.new:
                yield span
            place += removed + 1
            removed = 0
            added.clear()


def _span(file: _Lines, first: int, last: int, new: str, stays_open: bool) -> Span:
    start, end = file.starts[first], file.starts[last]
    if file.is_closed or last < file.count:
        return Span(start, end, new)
    # The last line has no end: what is put behind it comes after one, and is left without one itself.
    size = len(file.plain)
    if stays_open:
        new = new.removesuffix("\n")
    return Span(min(start, size), min(end, size), "\n" + new if start > size and new else new)
