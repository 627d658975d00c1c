"""`edit_file`: one text for another, or a unified patch, applied exactly or not at all.

An edit is worked out from what the file holds at the moment in which it is replaced. So two edits of one file at the
same time both count, and a file that somebody changed since it was shown is no reason to refuse: the text to replace is
there, exactly once, or it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import FileRefused
from ..files.beneath import quoted
from ..files.differences import count_changed, unified
from ..files.journal import Journal
from ..files.replacing import read_content, replace_file
from ..tools.definition import ToolDefinition
from ..tools.function import as_definition, tool
from ..tools.running import Preview, this_call
from .file_text import FileText, Place
from .near_matches import numbered
from .patching import apply_patch
from .paths import named, real_path, roots, shown, with_near_names
from .replacement import replaced
from .writing import check_seen, state_of

_AROUND = 2
"""Lines that are shown before and after a change."""
_IN_A_ROW = 16
"""Lines of one change that are shown: the model has written them itself."""
_SHOWN = 48
"""Lines that are shown in all."""
_LISTED = 10


def editing_tools(journal: Journal | None = None) -> list[ToolDefinition]:
    """`edit_file`. With a journal, what it changes can be put back."""

    @tool(risk="write", paths=["path"])
    def edit_file(
        path: str,
        old_text: str | None = None,
        new_text: str | None = None,
        replace_all: bool = False,
        patch: str | None = None,
    ) -> str:
        """Change a text file that is there: give old_text and new_text, or a patch. Read the file first.

        Nothing is changed unless everything fits exactly, blanks and indentation too. Line ends stay as the file has
        them, CRLF or LF. To make a file, use write_file.

        Args:
            path: The file, such as src/app.py
            old_text: The text to replace, exactly as in the file, without line numbers. It must be there once: give
                enough lines around it
            new_text: What to put in its place; an empty text removes it
            replace_all: Replace old_text everywhere in the file
            patch: Instead of old_text and new_text: a unified diff of this file, with kept lines around each change
        """
        real = real_path(path)
        edit = _Edit(shown(real), real, old_text, new_text, replace_all, patch)
        latest: list[_Edited] = []
        seen = this_call().seen if replace_all else ""

        def change(before: bytes | None) -> bytes:
            # Any other edit fits at the one place that the person saw; this one may have found more of them since.
            check_seen(before, seen, path)
            latest[:] = [edit.of(before)]
            return latest[0].after

        try:
            done = replace_file(roots(), real, change, journal, tool="edit_file")
        except FileRefused as error:
            raise _for_model(error, real) from None
        return _told(named(real), done.before, latest[0], this_call().is_closed(real))

    return [replace(as_definition(edit_file), confined=True, preview=_preview)]


class _Edited(NamedTuple):
    """What an edit makes of a file."""

    after: bytes
    places: list[Place]
    """The lines that are new, by their numbers now."""
    what: str
    notes: list[str]


class _Edit(NamedTuple):
    """One edit, as it was asked for."""

    name: str
    real: str
    old_text: str | None
    new_text: str | None
    replace_all: bool
    patch: str | None

    def of(self, before: bytes | None) -> _Edited:
        """What it makes of this content; a `FileRefused` where it does not fit."""
        # An argument that is not used is often given empty.
        if self.patch and (self.old_text or self.new_text or self.replace_all):
            raise FileRefused("give either old_text and new_text, or a patch alone, not both")
        if not self.patch and (self.old_text is None or self.new_text is None):
            raise FileRefused(
                "give old_text and new_text (an empty new_text removes old_text), or a patch with hunks: '@@ -12,3 "
                "+12,3 @@', then lines that begin with a space (kept), - (removed) or + (added)"
            )
        if before is None:
            words = (
                f"there is no {quoted(self.name)}; see what there is with list_directory, or make it with write_file"
            )
            raise FileRefused(words, path=self.real, why="missing")
        text = FileText(before)
        if self.patch:
            return self._patched(text, self.patch)
        spans = replaced(text, self.old_text or "", self.new_text or "", self.replace_all)
        places = list(text.places(spans))
        what = f"{_counted(len(spans), 'replacement')} at {_lines(place.first for place in places)}"
        return _Edited(text.changed(spans), places, what, _mixed(text))

    def _patched(self, text: FileText, patch: str) -> _Edited:
        applied = apply_patch(text, patch, (self.name, self.real))
        moved = [
            f"hunk {number} was placed at line {line:,}, its header said {stated:,}"
            for number, (line, stated) in enumerate(applied.placed, 1)
            if stated is not None and line != stated
        ]
        if len(moved) > _LISTED:
            moved[_LISTED:] = [f"{len(moved) - _LISTED:,} more hunks were not placed where their headers said"]
        places = list(text.places(applied.spans))
        what = f"{_counted(len(applied.placed), 'hunk')}, new at {_lines(place.first for place in places)}"
        return _Edited(text.changed(applied.spans), places, what, moved + _mixed(text))


def _mixed(text: FileText) -> list[str]:
    long, short = text.ends
    if not long or not short:
        return []
    return [f"the file has mixed line ends ({long:,} CRLF, {short:,} LF); new lines have that of their place"]


def _preview(arguments: dict[str, Any]) -> Preview:
    """What the edit would do, or why it would not."""
    real = real_path(arguments["path"])
    name = shown(real)
    edit = _Edit(
        name,
        real,
        arguments.get("old_text"),
        arguments.get("new_text"),
        bool(arguments.get("replace_all")),
        arguments.get("patch"),
    )
    try:
        before = read_content(roots(), real)
    except FileRefused as error:
        return Preview(f"As it is now, this would change nothing: {error.message}")
    try:
        edited = edit.of(before)
    except FileRefused as error:
        words = "\n".join(part for part in (error.message, error.facts.get("near", "")) if part)
        return Preview(f"As the file is now, this would change nothing: {words}", state_of(before))
    return Preview(unified(before, edited.after, name), state_of(before))


def _for_model(error: FileRefused, real: str) -> FileRefused:
    """The error with what is near, unless a rule keeps the file from being read."""
    near = error.facts.pop("near", "")
    if near and not this_call().is_closed(real):
        return FileRefused(f"{error.message}\n{near}", **error.facts)
    named = with_near_names(error)
    if named is error:
        return error
    return FileRefused(f"{named.message}; write_file makes new files", **named.facts)


def _told(name: str, before: bytes | None, edited: _Edited, is_closed: bool) -> str:
    counted = count_changed(before, edited.after)
    told = [f"Edited {name}: {edited.what} (+{counted.added:,} −{counted.removed:,}).{' Now:' * (not is_closed)}"]
    if not is_closed:
        told += _shown_lines(FileText(edited.after).plain, edited.places)
    return "\n".join([*told, *(f"[{note}]" for note in edited.notes)])


def _shown_lines(plain: str, places: list[Place]) -> Iterator[str]:
    """The changed lines with some around them, numbered, in bounded number."""
    lines = plain.split("\n")
    if not lines[-1]:
        lines.pop()
    left = _SHOWN
    end = 0
    for place in places:
        first, last = max(place.first - 1 - _AROUND, end), min(place.last + _AROUND, len(lines))
        if first >= last:
            continue
        if left <= 0:
            yield "[more changes are not shown]"
            return
        if first > end and end:
            yield "   ..."
        cut = last - first - _IN_A_ROW
        if cut > 1:
            yield from numbered(lines, first, first + _IN_A_ROW // 2)
            yield f"   ... {cut:,} more lines"
            first += _IN_A_ROW // 2 + cut
        yield from numbered(lines, first, last)
        left -= min(last - first, _IN_A_ROW)
        end = last
    if not lines:
        yield "[the file is empty]"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _lines(numbers: Iterable[int]) -> str:
    listed = list(dict.fromkeys(numbers))
    words = ", ".join(f"{number:,}" for number in listed[:_LISTED])
    return f"line{'' if len(listed) == 1 else 's'} {words}{', …' if len(listed) > _LISTED else ''}"
