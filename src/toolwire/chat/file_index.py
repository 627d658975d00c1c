"""The files of a folder for whoever types the name of one: found in a thread, held in memory, ranked in slices.

What `.gitignore` files leave out is left out, and so are folders of many files that nobody wrote. Shallow files come
first, so that they are what is kept of a folder that is too large to know whole.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from ..builtin.ignoring import MAX_FILE, IgnoreFile

MOST = 50_000
"""Files and folders that are known."""
SECONDS = 5.0
"""How long they are looked for."""
FRESH_SECONDS = 5.0
"""How old an index may be before the next use has it made anew; that use still gets the old one."""

_SLICE = 512
"""Names that are compared before others on the loop have their turn: some half a millisecond."""
_UNOPENED = frozenset(
    (".git", ".hg", ".svn", ".jj", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache", ".ruff_cache")
)

_Rules = tuple[tuple[int, IgnoreFile], ...]
"""The ignore files that hold in a folder, the nearest first, each with the length of its own folder's path."""


class Known(NamedTuple):
    """What an index knows: paths from its root, folders with a slash at their end, and the same in lower case."""

    paths: list[str]
    lower: list[str]


class Match(NamedTuple):
    """A path that fits what was typed, and the places of the characters that were."""

    path: str
    places: tuple[int, ...]


def walk(root: str, *, most: int = MOST, depth: int = 100, seconds: float = SECONDS) -> Iterator[str]:
    """Files and folders below a folder, the shallow ones first; no link is followed, what cannot be read is skipped."""
    end = time.monotonic() + seconds
    waiting: deque[tuple[str, int, _Rules]] = deque([("", 1, ())])
    count = 0
    while waiting and time.monotonic() < end:
        folder, level, rules = waiting.popleft()
        entries = _entries(os.path.join(root, folder))
        if any(name == ".gitignore" for name, _ in entries):
            rules = _with_file(root, folder, rules)
        for name, is_folder in entries:
            path = folder + name
            if name == ".git" or _left_out(path, is_folder, rules):
                continue
            yield f"{path}/" if is_folder else path
            count += 1
            if count >= most:
                return
            if is_folder and name not in _UNOPENED and level < depth:
                waiting.append((f"{path}/", level + 1, rules))


def _entries(real: str) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    with suppress(OSError), os.scandir(real) as scan:
        for entry in scan:
            if len(found) >= MOST:
                break
            with suppress(OSError):
                found.append((entry.name, entry.is_dir(follow_symlinks=False)))
    found.sort()
    return found


def _with_file(root: str, folder: str, rules: _Rules) -> _Rules:
    try:
        descriptor = os.open(os.path.join(root, folder, ".gitignore"), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return rules
    try:
        data = os.read(descriptor, MAX_FILE)
    except OSError:
        return rules
    finally:
        os.close(descriptor)
    return ((len(os.fsencode(folder)), IgnoreFile(data)), *rules)


def _left_out(path: str, is_folder: bool, rules: _Rules) -> bool:
    if not rules:
        return False
    name = os.fsencode(path)
    for length, file in rules:
        verdict = file.leaves_out(name[length:], is_folder)
        if verdict is not None:
            return verdict
    return False


class FileIndex:
    """The files of one folder. Made when first asked for; whoever asks waits for the first look only."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._known: Known | None = None
        self._made = float("-inf")
        self._took = 0.0
        self._making: asyncio.Future[None] | None = None
        self._last: tuple[Known, str, list[int]] | None = None
        """The names that fitted what was typed before: what fits more of it is among them."""

    async def known(self) -> Known:
        """What is there, a few seconds ago at most if it is asked for often."""
        # A folder that takes long to look through is not looked through all the time.
        if self._making is None and time.monotonic() - self._made > max(FRESH_SECONDS, 20 * self._took):
            self._start()
        if self._known is None and self._making is not None:
            await asyncio.shield(self._making)
        return self._known or Known([], [])

    async def matches(self, query: str, most: int) -> tuple[list[Match], int]:
        """The paths that fit best, and how many fit in all. Others on the loop have their turn many times."""
        known = await self.known()
        wanted = query.lower()
        if not wanted:
            return [Match(path, ()) for path in known.paths[:most]], len(known.paths)
        candidates: Iterable[int] = range(len(known.paths))
        if self._last is not None and self._last[0] is known and wanted.startswith(self._last[1]):
            candidates = self._last[2]
        fitting: list[int] = []
        best: list[tuple[tuple[int, int, int, str], int]] = []
        for number, at in enumerate(candidates):
            if number % _SLICE == _SLICE - 1:
                best = heapq.nsmallest(most, best)
                await asyncio.sleep(0)
            rank = _rank(known.lower[at], wanted)
            if rank is not None:
                fitting.append(at)
                best.append((rank, at))
        self._last = (known, wanted, fitting)
        shown = [known.paths[at] for _, at in heapq.nsmallest(most, best)]
        return [Match(path, places(path, query)) for path in shown], len(fitting)

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        making = self._making = loop.create_future()

        def done(known: Known, took: float) -> None:
            self._known, self._took, self._made, self._making = known, took, time.monotonic(), None
            if not making.done():
                making.set_result(None)

        def look() -> None:
            start = time.monotonic()
            paths: list[str] = []
            with suppress(Exception):  # whoever waits would wait for ever
                paths.extend(walk(self.root))
            known = Known(paths, [path.lower() for path in paths])
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(done, known, time.monotonic() - start)

        # No thread of the loop's own: a disk that does not answer must not hold up the end of the program.
        threading.Thread(target=look, daemon=True, name="toolwire-files").start()


def _rank(path: str, query: str) -> tuple[int, int, int, str] | None:
    """How well a path fits, the best first; None where it does not. Both in lower case."""
    at = path.find(query)
    if at >= 0:
        name = path.rfind("/", 0, -1) + 1
        in_name = path.find(query, name)
        into_name = at + len(query) > name and (at == 0 or path[at - 1] == "/")
        if in_name == name or into_name:
            kind = 0
        elif at == 0:
            kind = 1
        elif in_name > name:
            kind = 2
        else:
            kind = 3
        # Most of those who name something name a file; a folder of exactly this name comes first all the same.
        is_folder = path.endswith("/") and (len(path) != len(query) + 1 or "/" in query)
        return kind, is_folder, len(path), path
    start = at = path.find(query[0])
    for char in query[1:]:
        if at < 0:
            return None
        at = path.find(char, at + 1)
    return None if at < 0 else (4, at - start, len(path), path)


def places(text: str, query: str) -> tuple[int, ...]:
    """Where the characters of the query stand in a text that fits it: together if they can, and near its end."""
    lower, wanted = text.lower(), query.lower()
    if len(lower) != len(text):
        return ()
    at = lower.rfind(wanted)
    if at >= 0:
        return tuple(range(at, at + len(wanted)))
    found: list[int] = []
    end = len(lower)
    for char in reversed(wanted):
        end = lower.rfind(char, 0, end)
        if end < 0:
            return ()
        found.append(end)
    return tuple(reversed(found))
