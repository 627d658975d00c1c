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
from ..folders import config_folder, state_folder
from ..hidden_paths import default_hidden
from .commands.found import find_program, folders_above, search_folders, way_to
from .hidden_files import HiddenFiles
from .patterns import is_below
from .repository import Reading, read_by_git

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
    hidden: bool = False
    """Either form is hidden from models: keys and other secrets usually lie there."""
    linked: bool = False
    """A plain file with more than one name: what is written into it is written wherever the others lie."""


class Program(msgspec.Struct, frozen=True):
    """The file that the bare name of a program resolves to."""

    path: str
    """Empty where there is none."""
    inside: bool
    """It lies in the workspace, or a link that leads to it does: it is what somebody wrote there."""


class Workspace:
    """The folders that calls may work in: `root` and any `further` ones. Relative paths start from `cwd`.

    Programs are looked for in the folders of `search`.
    """

    __slots__ = ("_programs", "_readings", "_seen", "cwd", "hidden", "home", "root", "roots", "search")

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
        # As children get it: without folders that would be others in another folder.
        self.search = tuple(filter(os.path.isabs, search_folders(os.environ.get("PATH"))))
        own = (str(config_folder(os.environ)), str(state_folder(os.environ)))
        self.hidden = HiddenFiles(default_hidden(self.home, own, os.environ), _owners(self.roots))
        """What no call reads unasked, inside the workspace and outside."""
        self._seen: dict[tuple[str, str, bool], Place] | None = None
        self._programs: dict[str, Program] = {}
        self._readings: dict[str, Reading] = {}

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
        is_inside = self.holds(written) and self.holds(real)
        return Place(given, written, real, is_inside, self._is_hidden(written, real), self.hidden.is_linked(real))

    def _is_hidden(self, written: str, real: str) -> bool:
        return any(map(self.hidden.hides, dict.fromkeys((written, real))))

    def program(self, name: str) -> Program:
        """The file that runs by a bare name."""
        if self._seen is None:
            return self._find(name)
        if name not in self._programs:
            self._programs[name] = self._find(name)
        return self._programs[name]

    def _find(self, name: str) -> Program:
        path = find_program(name, self.search)
        if not path or not os.path.isabs(path):
            return Program(path, inside=bool(path))
        roots = {(root.st_dev, root.st_ino) for root in map(os.stat, filter(os.path.isdir, self.roots))}
        inside = any(self.holds(step) or not roots.isdisjoint(folders_above(step)) for step in way_to(path))
        return Program(path, inside)

    def reading(self, folder: str) -> Reading:
        """What git would run if it read in this folder."""
        if self._seen is None:
            return read_by_git(folder)
        if folder not in self._readings:
            self._readings[folder] = read_by_git(folder)
        return self._readings[folder]

    def starting_in(self, folder: str) -> Workspace:
        """The same with another folder that relative paths start from."""
        found = copy(self)
        found.cwd = self.place(folder).real
        return found

    def looking_once(self, search_path: str | None = None) -> Workspace:
        """The same, which looks at the disk once for each path and keeps to what it saw.

        What is judged with it and what is bound to a ticket are one thing, whatever is put in the way in between.
        Programs are looked for on `search_path`.
        """
        found = copy(self)
        found.search = self.search if search_path is None else search_folders(search_path)
        found._seen, found._programs, found._readings = {}, {}, {}
        self.hidden.look()
        return found

    def holds(self, path: str) -> bool:
        """Whether an absolute path is a folder that calls may work in, or lies below one."""
        return any(is_below(path, root) for root in self.roots)


def _owners(roots: Iterable[str]) -> set[int]:
    """Whose files root expects in these folders: its own and their owners'. Others are held by modes, without us."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return set()
    return {0, *(os.stat(root).st_uid for root in roots if os.path.exists(root))}
