"""A folder for the temporary files of confined programs, that goes with all that they left in it."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator

PREFIX = "toolwire-tmp-"

YOUNG_SECONDS = 60.0
"""A folder that nobody holds may be held in a moment; after so long it was left by a Toolwire that was killed."""


@contextlib.contextmanager
def private_temp() -> Iterator[str]:
    """A folder that only this user can open; removed afterwards by who made it, whatever is in it by then.

    It is locked as long as it is used. Those that are not, because whoever made them was killed, are removed first.
    """
    if sys.platform == "linux":
        _remove_left(os.path.realpath(tempfile.gettempdir()))
    folder = os.path.realpath(tempfile.mkdtemp(prefix=PREFIX))
    made = os.lstat(folder)
    held = _hold(folder)
    maker = os.getpid()
    try:
        yield folder
    finally:
        if os.getpid() != maker:
            # A process that was forked off lets go of it, too, and it is not its own.
            pass
        elif sys.platform == "linux":
            with contextlib.suppress(OSError):
                _remove(folder, made)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def _hold(folder: str) -> int | None:
    """A lock on the folder, by a descriptor; None where somebody has it, or there are no such locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


def _remove_left(parent: str) -> None:
    """Removes what was left in this folder by others of this user who are gone."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in [entry for entry in entries if entry.name.startswith(PREFIX)]:
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                if found.st_uid != os.geteuid() or time.time() - found.st_ctime < YOUNG_SECONDS:
                    continue
                if (held := _hold(entry.path)) is not None:
                    try:
                        _remove(entry.path, found)
                    finally:
                        os.close(held)


def _remove(folder: str, made: os.stat_result) -> None:
    """Removes the folder that was made, and nothing else: not what has come into its place, nor through any link.

    Programs may leave folders without rights, and deeper than a recursion goes: each is opened up first, and the
    folders in it are moved to the top, so that two levels are all there ever is.
    """
    with _opened(folder) as top:
        if not os.path.samestat(os.fstat(top), made):
            return
        moved = 0
        waiting = os.listdir(top)
        while waiting:
            name = waiting.pop()
            if not _is_folder(name, top):
                os.unlink(name, dir_fd=top)
                continue
            with _opened(name, top) as inner:
                for below in os.listdir(inner):
                    if not _is_folder(below, inner):
                        os.unlink(below, dir_fd=inner)
                        continue
                    with _opened(below, inner):
                        pass
                    moved += 1
                    to = _free(f"moved-{moved}", top)
                    os.rename(below, to, src_dir_fd=inner, dst_dir_fd=top)
                    waiting.append(to)
            os.rmdir(name, dir_fd=top)
    os.rmdir(folder)


@contextlib.contextmanager
def _opened(name: str, parent: int | None = None) -> Iterator[int]:
    """A folder, no link, in which we may do anything from here on."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{found}", 0o700)
        usable = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=found)
    finally:
        os.close(found)
    try:
        yield usable
    finally:
        os.close(usable)


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _free(name: str, parent: int) -> str:
    """A name that is not taken."""
    while True:
        try:
            os.lstat(name, dir_fd=parent)
        except FileNotFoundError:
            return name
        name += "-"
