"""Taking changes back: which of those in the journal were made, which can be taken back or made again, and doing so.

A file is touched only while it holds what the change left there, unless that is forced. Taking a change back is a
change as well: it happens whole or not at all, and is written down, so that it can be made again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ..errors import FileRefused
from .beneath import Roots
from .journal import Change, Journal, digest_of
from .replacing import Changed, Note, change_file, read_content


class Standing(NamedTuple):
    """A change that was made, or may have been, and how its file stands to it."""

    change: Change
    is_as_left: bool
    """Whether the file holds what the change left there: then it can be taken back without force."""


class Undoing:
    """What can be taken back in the workspace of a journal, and made again. Files are read once, at the beginning."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._now: dict[str, str | None] = {}
        changes = [change for change in self._settled(journal.changes()) if change.outcome != "dropped"]
        latest = {change.of: change for change in changes}
        newest_first = [change for change in reversed(changes) if latest[change.of] is change]
        self.to_undo = list(self._standing(change for change in newest_first if not change.is_undo))
        """The newest first."""
        self.to_redo = list(self._standing(change for change in newest_first if change.is_undo))

    def _settled(self, changes: list[Change]) -> Iterator[Change]:
        """The changes with an outcome each; empty where it cannot be told."""
        for place, change in enumerate(changes):
            if change.outcome:
                yield change
                continue
            # What the next writer found there, else what is there now.
            later = next((other for other in changes[place + 1 :] if other.path == change.path), None)
            found = self._digest(change.path) if later is None else later.before
            outcome = "done" if found == change.after else "dropped" if found == change.before else ""
            yield replace(change, outcome=outcome)

    def _standing(self, changes: Iterable[Change]) -> Iterator[Standing]:
        """Each as it stands once those before it in the row were taken back."""
        left: dict[str, str | None] = {}
        for change in changes:
            now = left[change.path] if change.path in left else self._digest(change.path)
            yield Standing(change, now == change.after)
            left[change.path] = change.before

    def _digest(self, path: str) -> str | None:
        if path not in self._now:
            try:
                self._now[path] = digest_of(self.content(path))
            except FileRefused as error:
                self._now[path] = f"unreadable: {error.message}"
        return self._now[path]

    def content(self, path: str) -> bytes | None:
        """What a file holds now."""
        return read_content(self._roots(path), path)

    def earlier(self, change: Change) -> bytes | None:
        """What the file of a change held before it."""
        return None if change.before is None else self._journal.content(change.before)

    def take_back(self, change: Change, *, force: bool = False) -> Changed:
        """Puts back what the file held before; a `FileRefused` if it was changed since, unless with `force`."""
        earlier = self.earlier(change)

        def back(now: bytes | None) -> bytes | None:
            if not force and digest_of(now) not in (change.after, change.before):
                what = "is not there any more" if now is None else "was changed since"
                raise FileRefused(f"{self.shown(change.path)} {what}", path=change.path, why="changed")
            return earlier

        note = Note(change.tool, change.of, not change.is_undo, change.mode)
        changed = change_file(self._roots(change.path), change.path, back, self._journal, note)
        if changed.before == changed.after:
            # Somebody has done it by hand. It is written down all the same, so that it is not offered again.
            entry = self._journal.begin(
                change.path,
                earlier,
                earlier,
                mode=change.mode,
                tool=change.tool,
                of=change.of,
                is_undo=not change.is_undo,
            )
            self._journal.done(entry)
        return changed

    def shown(self, path: str) -> str:
        """A path from the workspace where it lies inside, else absolute."""
        above = self._journal.workspace.rstrip(os.sep) + os.sep
        return path[len(above) :] if path.startswith(above) else path

    def _roots(self, path: str) -> Roots:
        workspace = self._journal.workspace
        if path.startswith(workspace.rstrip(os.sep) + os.sep):
            return Roots([workspace], shown=self.shown)
        # It was in a further folder. Which one is not known, but that no link was on the way.
        folder = os.path.dirname(path)
        if os.path.realpath(folder) != folder:
            raise FileRefused(f"{path} leads through a link now; links are not followed", path=path, why="link")
        return Roots([folder], shown=self.shown)
