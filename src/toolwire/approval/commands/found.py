"""Resolves the bare name of a program: the first file of that name on the search path, as a shell finds it.

The name alone says little about what runs. An activated environment in the workspace comes first on the
path, and what lies in it may have been written by a model, or have come with a download.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from .options import names

BUILTINS = names(
    ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo "
    "enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf "
    "pushd pwd read readarray readonly return set shift shopt source suspend test time times trap true type typeset "
    "ulimit umask unalias unset wait"
)
"""Names that bash itself takes for its own, wherever it looks for others."""
_MOST_LINKS = 40


def search_folders(path: str | None) -> tuple[str, ...]:
    """The folders of a search path, in order; those of the system if there is none."""
    return tuple(dict.fromkeys((path or os.defpath).split(os.pathsep)))


def find_program(name: str, folders: Sequence[str]) -> str:
    """The file that runs by this name; empty where there is none.

    A folder that is not absolute may be any, so that the program may always lie in it.
    """
    if not name or "/" in name or "\0" in name:
        return ""
    for folder in folders:
        path = os.path.join(folder, name)
        if not os.path.isabs(folder) or (os.access(path, os.X_OK) and not os.path.isdir(path)):
            return path
    return ""


def way_to(path: str) -> list[str]:
    """Every link that is followed on the way to a file, and the file: whoever writes one of them says what is there."""
    found: list[str] = []
    at, waiting = "/", path.split("/")[::-1]
    while waiting and len(found) < _MOST_LINKS:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            at = os.path.dirname(at)
            continue
        at = os.path.join(at, part)
        try:
            target = os.readlink(at)
        except OSError:
            continue
        found.append(at)
        at = "/" if target.startswith("/") else os.path.dirname(at)
        waiting += target.split("/")[::-1]
    return [*found, at]


def upwards(path: str) -> Iterator[str]:
    """An absolute path, and the folders that it lies in, nearest first."""
    yield path
    while path != (path := os.path.dirname(path)):
        yield path


def folders_above(path: str) -> set[tuple[int, int]]:
    """The folders that a path lies in, as the disk knows them: one may have several paths."""
    found: set[tuple[int, int]] = set()
    for above in islice(upwards(path), 1, None):
        with suppress(OSError):
            folder = os.stat(above)
            found.add((folder.st_dev, folder.st_ino))
    return found
