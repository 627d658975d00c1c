"""The paths of a call that runs: where they lead, what they may be opened in, and how a model is shown them."""

from __future__ import annotations

import os
from difflib import get_close_matches
from itertools import islice

from ..errors import FileRefused
from ..files.beneath import MAX_PATH, Roots, quoted
from ..tools.running import this_call


def real_path(path: str) -> str:
    """Where a path leads, absolute and with links followed: as it was when the call was approved, where it was judged.

    Relative paths start from the call's folder. A `~` is a character like another.
    """
    call = this_call()
    known = call.real.get(path)
    if known is not None:
        return known
    try:
        length = len(os.fsencode(path))
    except ValueError:
        length = -1
    if length < 0 or "\0" in path:
        raise FileRefused(f"{quoted(path)} is no file name; write it without such characters", path=path, why="name")
    if length > MAX_PATH:
        raise FileRefused(f"{quoted(path)} is too long: a path has at most {MAX_PATH:,} bytes", path=path, why="name")
    try:
        return os.path.realpath(os.path.join(call.cwd, path))
    except OSError as error:  # a link that may not be read
        raise FileRefused(f"{quoted(path)} cannot be opened: {error.strerror}", path=path, why="system") from None


def roots() -> Roots:
    """What the current call may open files in; its errors name paths as the model knows them."""
    return Roots(this_call().roots, shown=shown)


def shown(real: str) -> str:
    """A path as the model should see it: from the call's folder where it lies inside, else absolute."""
    cwd = this_call().cwd
    if real == cwd:
        return "."
    above = cwd.rstrip(os.sep) + os.sep
    return real[len(above) :] if real.startswith(above) else real


def named(real: str) -> str:
    """A path at the beginning of a sentence: as it is shown, in quotes where something in it would not be seen."""
    name = shown(real)
    return name if name.isprintable() else quoted(name)


_SCANNED = 2_000
_LONGEST = 64


def with_near_names(error: FileRefused) -> FileRefused:
    """The error; where nothing is at its path, with what in the same folder has a name like it."""
    if error.facts.get("why") != "missing":
        return error
    inside = roots()
    missing = str(error.facts["path"])
    for _ in range(20):
        above, name = os.path.split(missing)
        if not name or len(name) > _LONGEST:
            break
        try:
            with inside.folder(above) as descriptor, os.scandir(descriptor) as scan:
                names = {each.name.casefold(): each.name for each in islice(scan, _SCANNED)}
        except FileRefused as above_it:
            if above_it.facts.get("why") != "missing":
                break
            missing = above
            continue
        except OSError:
            break
        near = get_close_matches(name.casefold(), names, n=3, cutoff=0.65)
        if near:
            found = ", ".join(quoted(shown(os.path.join(above, names[each]))) for each in near)
            words = f"there is no {quoted(shown(error.facts['path']))}; names like it: {found}"
            error = FileRefused(words, **error.facts)
        break
    return error
