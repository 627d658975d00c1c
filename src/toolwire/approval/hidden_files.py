"""Which files are hidden from models: by their names, by where links lead, and by what they are.

A hidden file that has a second name (a hard link), or was moved since it was last looked at, is hidden by that name
too. That is for judging: what a confined command can read is for its sandbox, which is given `paths`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from .commands.found import upwards
from .patterns import folded, is_below

MOST_KNOWN = 5_000
"""Hidden files that are known by what they are."""
MOST_IN_FOLDER = 500
"""Of those, in one hidden folder; a folder in it counts as one more file."""
MOST_OWN = 1_000
"""Paths that hidden names were seen to lead to."""


class _Known(NamedTuple):
    """Where a hidden file was, and when it was last changed: its number alone may be given to another one later."""

    path: str
    changed: int


class HiddenFiles:
    """The hidden files of one workspace. `owners` are those who may own the files of a workspace that root works in.

    Without `owners` nobody's files are strange.
    """

    def __init__(self, named: Iterable[str], owners: Collection[int] = ()) -> None:
        self._named = tuple(dict.fromkeys(named))
        self._owners = frozenset(owners)
        self._led: dict[str, None] = {}
        self._there: tuple[str, ...] = ()
        self._names = frozenset(map(folded, self._named))
        self._known: dict[tuple[int, int], _Known] = {}
        self._looked = False

    @property
    def paths(self) -> tuple[str, ...]:
        """All names, and where they led when they were looked at: a link may have been turned since."""
        return tuple(dict.fromkeys((*self._named, *self._led)))

    def look(self) -> None:
        """Looks where the hidden files are now. Bounded, a millisecond where homes are as usual."""
        self._looked = True
        there = []
        for path in self._named:
            if not os.path.lexists(path):
                continue
            real = os.path.realpath(path)
            there.append(real)
            if len(self._led) < MOST_OWN:
                self._led[real] = None
            self._learn(real)
        self._there = tuple(there)
        self._names |= frozenset(map(folded, self._led))

    def hides(self, path: str) -> bool:
        """Whether this absolute path, or a folder above it, is hidden. What is not there yet is hidden by its name."""
        return _is_of_process(path) or any(self._is_one(step) for step in upwards(path))

    def below(self, folder: str) -> str:
        """Something hidden that is there, below this folder; empty if nothing is."""
        self._look_once()
        above = os.path.join(folder, "")
        return next((path for path in self._there if path.startswith(above)), "")

    @staticmethod
    def is_linked(path: str) -> bool:
        """Whether it is a plain file with more than one name."""
        status = _status(path)
        return status is not None and _is_linked(status)

    def watch(self, opened: Iterable[str] = ()) -> Callable[[str], bool]:
        """As `hides`, for one walk over many files; what is at or below `opened` is not hidden."""
        free = tuple(opened)
        folders: dict[str, bool] = {}

        def is_hidden(path: str) -> bool:
            if any(is_below(path, each) for each in free):
                return False
            above = os.path.dirname(path)
            try:
                if above not in folders:
                    folders[above] = self.hides(above)
                return folders[above] or self._is_one(path)
            except OSError:
                # What cannot be judged is left out; the walk goes on.
                return True

        return is_hidden

    def _is_one(self, path: str) -> bool:
        self._look_once()
        if folded(path) in self._names:
            return True
        status = _status(path)
        if status is None:
            return False
        known = self._known.get((status.st_dev, status.st_ino))
        if known is None:
            return self._is_strange(status)
        if known.changed == status.st_mtime_ns:
            return True
        there = _status(known.path)
        return there is not None and os.path.samestat(there, status)

    def _is_strange(self, status: os.stat_result) -> bool:
        """Whether root would read another user's file here by a name that anybody could have given it."""
        return bool(self._owners) and _is_linked(status) and status.st_uid not in self._owners

    def _look_once(self) -> None:
        if not self._looked:
            self.look()

    def _learn(self, path: str) -> None:
        """This file or folder, and what is in it, from now on known by what it is."""
        status = _status(path)
        if status is None:
            return
        known = self._known.get((status.st_dev, status.st_ino))
        if known == (path, status.st_mtime_ns):
            return
        self._keep(path, status)
        if stat.S_ISDIR(status.st_mode):
            for entry in islice(_entries(path), MOST_IN_FOLDER):
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                self._keep(entry.path, status)

    def _keep(self, path: str, status: os.stat_result) -> None:
        key = (status.st_dev, status.st_ino)
        if key in self._known or len(self._known) < MOST_KNOWN:
            self._known[key] = _Known(path, status.st_mtime_ns)


def _is_linked(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1


_UNREACHED = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG))


def _status(path: str) -> os.stat_result | None:
    """None where nothing is there, or nothing that we could open either. Any other fault is one of the judging."""
    try:
        return os.lstat(path)
    except OSError as error:
        if error.errno not in _UNREACHED:
            raise
        return None


_OF_PROCESS = frozenset(("cwd", "root", "fd", "task", "environ", "mem", "map_files"))


def _is_of_process(path: str) -> bool:
    """Whether it leads through a process, to its memory, its variables or wherever it is: for each reader elsewhere."""
    parts = path.split("/", 4)
    return parts[1:2] == ["proc"] and not _OF_PROCESS.isdisjoint(parts[3:4])


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """What is in a folder and in the folders in it; nothing of links, which lead elsewhere."""
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if not entry.is_symlink():
                        yield entry
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
        except OSError:
            continue
