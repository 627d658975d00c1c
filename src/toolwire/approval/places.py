"""Where a path leads: inside the workspace or outside, with every link followed.

For judging only. What a tool really opens is held inside by how it opens it: between the judging and the opening the
file system may change.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from ..errors import ConfigError


class Place(msgspec.Struct, frozen=True):
    """One path of a call: as it was given, as it reads from the workspace's root, and as it is with links followed."""

    given: str
    written: str
    """Absolute, without `.` and `..`, links not followed."""
    real: str
    """Absolute, links followed."""
    inside: bool
    """Both forms lie in the workspace."""


class Workspace:
    """The folder that calls may work in, and the folder that relative paths start from."""

    __slots__ = ("cwd", "home", "root")

    def __init__(self, root: str | os.PathLike[str], cwd: str | os.PathLike[str] | None = None) -> None:
        self.root = os.path.realpath(root)
        self.cwd = self.root if cwd is None else os.path.realpath(cwd)
        self.home = os.path.expanduser("~")

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
        given = path
        if home and (path == "~" or path.startswith("~/")):
            path = self.home + path[1:]
        if "\0" in path:
            raise ValueError("a path holds a NUL character")
        base = start or self.cwd
        written = os.path.normpath(os.path.join(base, path))
        real = os.path.realpath(os.path.join(base, path))
        return Place(given, written, real, self._holds(written) and self._holds(real))

    def _holds(self, path: str) -> bool:
        return path == self.root or path.startswith(self.root.rstrip(os.sep) + os.sep)
