"""What is in a folder, and in the folders below it, as a list for a model."""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass, field
from itertools import islice

from ..approval.patterns import is_below
from ..errors import FileRefused
from ..tools.running import RunningCall, this_call
from .paths import roots, shown

MAX_DEPTH = 5
MAX_ENTRIES = 500
_SCANNED = 20_000
"""Names that are read of one folder: enough to put those in order that are shown."""
_TARGET = 200

_NOT_OPENED = frozenset((".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache"))
"""Folders of many files that nobody wrote: listed by themselves when they are asked for, not on the way."""

_KINDS = {
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


@dataclass(slots=True)
class _Folder:
    """One folder of the list. The shallow ones are filled before the deep ones, so that these are what is cut."""

    real: str
    level: int
    entries: list[tuple[str, _Folder | None]] = field(default_factory=list)
    left_out: str = ""
    """What is not shown of it."""


def list_folder(real: str, depth: int) -> str:
    """The list. What a rule keeps from being read unasked is named, and nothing more is said of it."""
    call = this_call()
    top = _Folder(real, 1)
    waiting = deque([top])
    room = MAX_ENTRIES
    while waiting:
        folder = waiting.popleft()
        if room <= 0:
            folder.left_out = "not listed: too much to show"
            continue
        try:
            room -= _fill(folder, depth, room, call)
        except FileRefused as error:
            if folder is top:
                raise
            folder.left_out = "it cannot be opened" if error.facts.get("why") != "missing" else "it is gone"
            continue
        waiting.extend(below for _, below in folder.entries if below is not None)
    if not top.entries:
        return f"{_safe(shown(real))} is empty."
    lines = list(_written(top))
    if room <= 0:
        lines.append(f"[cut at {MAX_ENTRIES} entries; list a folder by itself, or find files with search_files]")
    return "\n".join(lines)


def _fill(folder: _Folder, depth: int, room: int, call: RunningCall) -> int:
    """Puts into the folder what it holds, at most `room` entries. Gives how many."""
    with roots().folder(folder.real) as descriptor:
        try:
            with os.scandir(descriptor) as scan:
                found = [(not each.is_dir(follow_symlinks=False), each.name) for each in islice(scan, _SCANNED)]
                more = next(scan, None) is not None
        except OSError as error:
            raise FileRefused(f"{_safe(folder.real)} cannot be listed: {error.strerror}", path=folder.real) from None
        found.sort()
        if len(found) > room:
            folder.left_out = f"{'at least ' if more else ''}{len(found) - room:,} more are not shown"
        elif more:
            folder.left_out = "more are not shown"
        for is_other, name in found[:room]:
            path = os.path.join(folder.real, name)
            if call.is_closed(path):
                folder.entries.append((f"{_safe(name)}{'' if is_other else '/'} (closed by a rule, or hidden)", None))
            elif is_other:
                folder.entries.append((_file(name, path, descriptor, call), None))
            elif folder.level == depth:
                folder.entries.append((f"{_safe(name)}/", None))
            elif name in _NOT_OPENED:
                folder.entries.append((f"{_safe(name)}/ (not opened: list it by itself)", None))
            else:
                folder.entries.append((f"{_safe(name)}/", _Folder(path, folder.level + 1)))
    return len(folder.entries)


def _file(name: str, path: str, folder: int, call: RunningCall) -> str:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return f"{_safe(name)} -> {_safe(os.readlink(name, dir_fd=folder)[:_TARGET])}{_where(path, call)}"
    except OSError:
        return f"{_safe(name)} (it is gone)"
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    return f"{_safe(name)} ({kind})" if kind else f"{_safe(name)}  {size_words(status.st_size)}"


def _where(link: str, call: RunningCall) -> str:
    """What to say of where a link leads. Of what lies outside it is not told whether it is there."""
    try:
        real = os.path.realpath(link)
    except OSError:  # a link on the way may not be read
        return " (cannot be followed)"
    if not any(is_below(real, root) for root in call.roots):
        return " (leads outside)"
    try:
        mode = os.lstat(real).st_mode
    except OSError:
        mode = stat.S_IFLNK
    return " (leads nowhere)" if stat.S_ISLNK(mode) else "/" if stat.S_ISDIR(mode) else ""


def _written(folder: _Folder) -> list[str]:
    indent = "  " * (folder.level - 1)
    lines = []
    for words, below in folder.entries:
        lines.append(f"{indent}{words}")
        if below is not None:
            lines += _written(below)
    if folder.left_out:
        lines.append(f"{indent}[{folder.left_out}]")
    return lines


def _safe(name: str) -> str:
    """A name that can forge neither lines nor colours."""
    return name if name.isprintable() else ascii(name)[1:-1]


def size_words(size: int) -> str:
    """A size for reading: "812 B", "4.2 KB", "10.0 GB"."""
    if size < 1000:
        return f"{size} B"
    amount = float(size)
    for unit in ("KB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"
