"""Keeps closed what runs later while a confined command runs: what is not there, and what no sandbox can hold.

Where the sandbox can lay something over a path, something must lie there: it is put there for the command and taken
away afterwards. What it cannot hold (all of it with Landlock alone, links always) is compared afterwards: what a
command changed is set aside under another name, and what was there is put back.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

import msgspec

from ..errors import FileRefused
from ..files.beneath import Roots
from .guarded import Guarded, Missing

SET_ASIDE = ".set-aside"
"""What is put behind the name of what a command planted. No program runs what has such a name."""

MOST_BYTES = 1 << 20
"""Of one file that is put back. What was larger is only set aside."""
MOST_FILES = 500
"""Files of a guarded folder that are compared."""

_CONTENTS: dict[Missing, bytes] = {"empty": b"", "here": b".\n"}
_HELD: Counter[str] = Counter()
"""How many commands of this process need a path that was put somewhere."""
_LOCK = threading.Lock()


@contextmanager
def in_place(roots: Roots, wanted: Iterable[Guarded]) -> Iterator[None]:
    """What is missing is there meanwhile, empty. Afterwards it is gone, unless something has come of it."""
    with ExitStack() as stack:
        for each in wanted:
            with _LOCK:
                there = _HELD[each.path] > 0 or _put(roots, each) or _was_left(roots, each)
                _HELD[each.path] += there
            if there:
                stack.callback(_let_go, roots, each)
        yield


def _let_go(roots: Roots, each: Guarded) -> None:
    with _LOCK:
        _HELD[each.path] -= 1
        if _HELD[each.path] > 0:
            return
        del _HELD[each.path]
        with suppress(OSError, FileRefused), roots.parent(each.path) as (folder, name):
            if each.missing == "folder":
                os.rmdir(name, dir_fd=folder)
            elif _holds(roots, each):
                os.unlink(name, dir_fd=folder)


def _put(roots: Roots, each: Guarded) -> bool:
    """Whether it was missing and is there now."""
    try:
        with roots.parent(each.path) as (folder, name):
            if each.missing == "folder":
                os.mkdir(name, 0o755, dir_fd=folder)
            elif each.missing:
                _write(folder, name, _CONTENTS[each.missing], 0o644)
    except (OSError, FileRefused):
        return False
    return bool(each.missing)


def _was_left(roots: Roots, each: Guarded) -> bool:
    """Whether a Toolwire that was killed left it there. What is only empty may be somebody's and does no harm."""
    return each.missing == "here" and _holds(roots, each)


def _holds(roots: Roots, each: Guarded) -> bool:
    """Whether the file is still what was put there."""
    content = _CONTENTS[each.missing]
    try:
        with roots.file(each.path) as opened:
            return os.read(opened, len(content) + 1) == content
    except (OSError, FileRefused):
        return False


class Watch:
    """What guarded paths were like, to see what a command made of them."""

    def __init__(self, roots: Roots, paths: Sequence[str]) -> None:
        self._roots = roots
        self._paths = paths
        self._before = self._state()

    def undo(self) -> list[str]:
        """Sets aside what was changed or made, and puts back what was there. Gives the paths."""
        now = self._state()
        changed = [path for path in {**self._before, **now} if self._before.get(path) != now.get(path)]
        # A folder that was made goes as one, and takes along what is in it.
        tops = [path for path in changed if not any(path.startswith(f"{other}{os.sep}") for other in changed)]
        return [path for path in sorted(tops) if self._put_back(path, now)]

    def _put_back(self, path: str, now: dict[str, _State]) -> bool:
        try:
            with self._roots.parent(path) as (folder, name):
                if path in now:
                    os.rename(name, _free(folder, name + SET_ASIDE), src_dir_fd=folder, dst_dir_fd=folder)
                before = self._before.get(path)
                if before is None:
                    return True
                if before.link:
                    os.symlink(before.link, name, dir_fd=folder)
                elif before.content is not None:
                    _write(folder, name, before.content, before.mode)
        except (OSError, FileRefused):
            # The folder that it was in is gone, or is no folder of ours any more.
            return path in now
        return True

    def _state(self) -> dict[str, _State]:
        found: dict[str, _State] = {}
        waiting = list(reversed(self._paths))
        while waiting and len(found) < MOST_FILES:
            path = waiting.pop()
            with suppress(OSError, FileRefused), self._roots.parent(path) as (folder, name):
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISLNK(mode):
                    found[path] = _State(mode, link=os.readlink(name, dir_fd=folder))
                elif stat.S_ISDIR(mode):
                    found[path] = _State(stat.S_IFDIR)
                    with self._roots.folder(path) as opened:
                        waiting += [os.path.join(path, below) for below in sorted(os.listdir(opened), reverse=True)]
                else:
                    found[path] = self._file(path, mode)
        return found

    def _file(self, path: str, mode: int) -> _State:
        if not stat.S_ISREG(mode):
            return _State(mode)
        with self._roots.file(path) as opened:
            facts = os.fstat(opened)
            if facts.st_size > MOST_BYTES:
                return _State(mode, facts=(facts.st_ino, facts.st_size, facts.st_mtime_ns))
            with open(opened, "rb", closefd=False) as file:
                return _State(stat.S_IMODE(mode), content=file.read(MOST_BYTES))


class _State(msgspec.Struct, frozen=True):
    mode: int
    link: str = ""
    content: bytes | None = None
    facts: tuple[int, ...] = ()


def _write(folder: int, name: str, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(name, flags, mode, dir_fd=folder), "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode & 0o777)


def _free(folder: int, name: str) -> str:
    """This name, or one with a number where it is taken."""
    taken = set(os.listdir(folder))
    return next(
        each for number in range(len(taken) + 1) if (each := f"{name}-{number}" if number else name) not in taken
    )
