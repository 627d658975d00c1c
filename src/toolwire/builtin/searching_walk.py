"""The files that a search looks through, in the order of their names: one folder open at a time, no link followed."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import FileRefused
from ..files.beneath import Roots
from .ignoring import MAX_FILE, Glob, IgnoreFile

FILE_BYTES = 10 << 20
"""A file that is larger is left out: it is read whole to be searched."""
FOLDER_ENTRIES = 100_000
"""Entries of one folder that are looked at: some ten megabytes of names."""
DEPTH = 200
"""How deep folders are looked into."""


class Named(NamedTuple):
    """A file to be searched."""

    real: str
    size: int


@dataclass
class Left:
    """How many were left out of a search, and why; what it does not know of has no number."""

    ignored: int = 0
    closed: int = 0
    binary: int = 0
    large: int = 0
    links: int = 0
    unreadable: int = 0
    crowded: int = 0

    def words(self) -> str:
        """A list for a sentence; empty where nothing was left out."""
        told = (
            (self.ignored, "ignored by .gitignore (search them with ignored=true)"),
            (self.closed, "closed by a rule, or hidden"),
            (self.binary, "binary"),
            (self.large, f"over {FILE_BYTES >> 20} MiB"),
            (self.links, "linked (links are not followed)"),
            (self.unreadable, "that could not be read"),
            (self.crowded, f"folders with over {FOLDER_ENTRIES:,} entries, in part"),
        )
        return ", ".join(f"{count:,} {words}" for count, words in told if count)


class Clock:
    """How long a search may take. Whoever asks whether it is over is told so too when the search was given up."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.stopped = False

    @property
    def seconds(self) -> float:
        """How many are left."""
        return max(self._end - time.monotonic(), 0.0)

    def is_over(self) -> bool:
        """Whether to stop here."""
        return self.stopped or not self.seconds


@dataclass
class Walk:
    """Looks for files below `start`, a folder or a file beneath the roots."""

    roots: Roots
    top: str
    """The root that `start` lies in: `.gitignore` files count from there."""
    start: str
    clock: Clock
    glob: Glob | None = None
    ignored: bool = False
    is_closed: Callable[[str], bool] = lambda path: False
    left: Left = field(default_factory=Left)

    def files(self) -> Iterator[Named]:
        """All of them; what is left out meanwhile is counted. Raises `FileRefused` if `start` cannot be opened."""
        try:
            with self.roots.folder(self.start):
                pass
        except FileRefused as error:
            if error.facts.get("why") != "file":
                raise
            yield from self._one()
            return
        waiting = [iter(self._entries(self.start, self._above()))]
        while waiting and not self.clock.is_over():
            entry = next(waiting[-1], None)
            if entry is None:
                waiting.pop()
            elif isinstance(entry, Named):
                yield entry
            elif len(waiting) < DEPTH:
                try:
                    waiting.append(iter(self._entries(*entry)))
                except (FileRefused, OSError):
                    self.left.unreadable += 1
            else:
                self.left.unreadable += 1

    def _one(self) -> Iterator[Named]:
        with self.roots.file(self.start) as descriptor:
            size = os.fstat(descriptor).st_size
        if size > FILE_BYTES:
            self.left.large += 1
        else:
            yield Named(self.start, size)

    def _entries(self, folder: str, rules: _Rules) -> list[Named | tuple[str, _Rules]]:
        """What is to be searched in a folder: files, and folders with the rules that hold in them."""
        found: list[tuple[bytes, Named | tuple[str, _Rules]]] = []
        with self.roots.folder(folder) as descriptor:
            names = self._names(descriptor)
            rules = rules if self.ignored else self._rules(folder, names, rules)
            for name, is_folder in names.items():
                if self.clock.is_over():
                    break
                real = os.path.join(folder, name)
                if name == ".git":
                    continue
                if not self.ignored and rules.leave_out(real, is_folder):
                    self.left.ignored += 1
                elif is_folder and self.is_closed(real):
                    # So is everything below it.
                    self.left.closed += 1
                elif is_folder:
                    found.append((os.fsencode(name), (real, rules)))
                elif (named := self._file(real, name, descriptor)) is not None:
                    found.append((os.fsencode(name), named))
        found.sort(key=lambda each: each[0])
        return [entry for _, entry in found]

    def _names(self, descriptor: int) -> dict[str, bool]:
        """The names in a folder, with whether each is a folder; nothing but folders and plain files."""
        names: dict[str, bool] = {}
        with os.scandir(descriptor) as entries:
            for number, entry in enumerate(entries):
                if number >= FOLDER_ENTRIES:
                    self.left.crowded += 1
                    break
                if entry.is_symlink():
                    self.left.links += 1
                elif (is_folder := entry.is_dir(follow_symlinks=False)) or entry.is_file(follow_symlinks=False):
                    names[entry.name] = is_folder
        return names

    def _file(self, real: str, name: str, descriptor: int) -> Named | None:
        if self.glob is not None and not self.glob.fits(os.fsencode(real[len(self.start.rstrip(os.sep)) + 1 :])):
            return None
        if self.is_closed(real):
            self.left.closed += 1
            return None
        try:
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except OSError:
            self.left.unreadable += 1
            return None
        if not stat.S_ISREG(status.st_mode):
            self.left.links += 1
        elif status.st_size > FILE_BYTES:
            self.left.large += 1
        else:
            return Named(real, status.st_size)
        return None

    # ---- rules

    def _above(self) -> _Rules:
        """The rules of the folders above the one that is searched."""
        rules = _Rules()
        if self.ignored or self.start == self.top:
            return rules
        folder = self.top
        for part in os.path.relpath(self.start, self.top).split(os.sep):
            with suppress(FileRefused), self.roots.folder(folder) as descriptor:
                names = {name: True for name in (".git", ".gitignore") if _is_there(name, descriptor)}
                rules = self._rules(folder, names, rules)
            folder = os.path.join(folder, part)
        return rules

    def _rules(self, folder: str, names: dict[str, bool], above: _Rules) -> _Rules:
        """The rules that hold in a folder. A repository inside another one knows nothing of its rules."""
        if ".git" in names:
            above = _Rules()
        if ".gitignore" not in names:
            return above
        try:
            with self.roots.file(os.path.join(folder, ".gitignore")) as descriptor:
                data = os.read(descriptor, MAX_FILE)
        except (FileRefused, OSError):
            return above
        return _Rules(((len(os.fsencode(folder).rstrip(b"/")) + 1, IgnoreFile(data)), *above.files))


class _Rules(NamedTuple):
    """The files of rules that hold in a folder, the nearest first, each with the length of its own folder's path."""

    files: tuple[tuple[int, IgnoreFile], ...] = ()

    def leave_out(self, real: str, is_folder: bool) -> bool:
        if not self.files:
            return False
        path = os.fsencode(real)
        for length, file in self.files:
            verdict = file.leaves_out(path[length:], is_folder)
            if verdict is not None:
                return verdict
        return False


def _is_there(name: str, descriptor: int) -> bool:
    try:
        os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except OSError:
        return False
    return True
