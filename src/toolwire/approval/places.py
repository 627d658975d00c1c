"""Where a path leads: inside the workspace or outside, with every link followed.

For judging only. What a tool really opens is held inside by how it opens it: between the judging and the opening the
file system may change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from copy import copy
from pathlib import Path

import msgspec

from ..errors import ConfigError

MAX_PATH = 4096
"""Characters of a path: systems open none that is longer, and following the steps of one takes their square in time."""


class Place(msgspec.Struct, frozen=True):
    """One path of a call: as it was given, as it reads from the workspace's root, and as it is with links followed."""

    given: str
    written: str
    """Absolute, without `.` and `..`, links not followed."""
    real: str
    """Absolute, links followed."""
    inside: bool
    """Both forms lie in the workspace. What is too long to be a path lies nowhere."""


class Workspace:
    """The folders that calls may work in: `root` and any `further` ones. Relative paths start from `cwd`."""

    __slots__ = ("_seen", "cwd", "home", "root", "roots")

    def __init__(
        self,
        root: str | os.PathLike[str],
        cwd: str | os.PathLike[str] | None = None,
        further: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        self.root = os.path.realpath(root)
        self.roots = tuple(dict.fromkeys((self.root, *map(os.path.realpath, further))))
        self.cwd = self.root if cwd is None else os.path.realpath(cwd)
        self.home = os.path.expanduser("~")
        self._seen: dict[tuple[str, str, bool], Place] | None = None

    @classmethod
    def here(cls) -> Workspace:
        """The folder that the program was started in."""
        try:
            return cls(Path.cwd())
        except OSError:
            raise ConfigError(
                "the folder you are in is not there any more", hint="Go to another one, or say where calls may work."
            ) from None

    def place(self, path: str, *, start: str = "", home: bool = False) -> Place:
        """Where a path leads that is meant from `start` (else from the working folder).

        With `home` a leading `~` stands for the home folder; without, it is a character like another.
        """
        base = start or self.cwd
        if self._seen is None:
            return self._look(path, base, home)
        key = (path, base, home)
        if key not in self._seen:
            self._seen[key] = self._look(path, base, home)
        return self._seen[key]

    def _look(self, path: str, base: str, home: bool) -> Place:
        given = path
        if home and (path == "~" or path.startswith("~/")):
            path = self.home + path[1:]
        if "\0" in path:
            raise ValueError("a path holds a NUL character")
        if len(path) > MAX_PATH:
            return Place(given, path, path, inside=False)
        written = os.path.normpath(os.path.join(base, path))
        real = os.path.realpath(os.path.join(base, path))
        return Place(given, written, real, self._holds(written) and self._holds(real))

    def starting_in(self, folder: str) -> Workspace:
        """The same with another folder that relative paths start from."""
        found = copy(self)
        found.cwd = self.place(folder).real
        return found

    def looking_once(self) -> Workspace:
        """The same, which looks at the disk once for each path and keeps to what it saw.

        What is judged with it and what is bound to a ticket are one thing, whatever is put in the way in between.
        """
        found = copy(self)
        found._seen = {}
        return found

    def _holds(self, path: str) -> bool:
        return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in self.roots)
