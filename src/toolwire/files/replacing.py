"""A file is replaced whole: whoever reads it, and whatever is killed meanwhile, finds the old content or the new one.

The new content is written beside the file and renamed over it, on the disk before it is in place. Writers that come
this way wait for each other, by a lock on the folder that the kernel gives back when its holder is killed. Of others it
is noticed when they changed the file since it was read, until just before it is renamed: then all is done again from
what they wrote.

The permissions stay, without the bits that run a program as somebody else; so do the owner, the group and the access
list where the system permits it. A link is never followed. A second name of the file (a hard link) keeps the old
content, which is why nothing outside of the roots can be changed through one.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ..errors import FileRefused
from .beneath import Roots, quoted
from .journal import Journal, write_all
from .locks import lock

MOST = 64 * 1024 * 1024
"""Bytes of a file that is changed: it is held in memory, and kept so that it can be put back."""
_TRIES = 5
"""How often others may come in between."""
_LOCK_SECONDS = 20.0
_PREFIX, _SUFFIX = ".toolwire-", ".new"
_RANDOM = 8
"""Bytes of chance in the name of what is written beside: nobody can put something there before."""
_LEFT_BEHIND = 60.0
"""Seconds after which it belongs to a writer that was killed. Where locks work it does at once."""


class Replaced(NamedTuple):
    """What the file held, None where there was none, and what it holds now."""

    before: bytes | None
    after: bytes


class Changed(NamedTuple):
    """The same for a change that may remove the file: None where it is gone."""

    before: bytes | None
    after: bytes | None


class Note(NamedTuple):
    """What the journal is told beside the change itself."""

    tool: str = ""
    of: str = ""
    is_undo: bool = False
    mode: int | None = None
    """Permissions for a file that is not there."""


def replace_file(
    roots: Roots,
    real: str,
    change: Callable[[bytes | None], bytes],
    journal: Journal | None = None,
    *,
    tool: str = "",
) -> Replaced:
    """Makes of what the file holds what `change` gives for it; None is given where there is no file, and it is made.

    What `change` raises goes through, and nothing was changed. It is called again when somebody else changed the file
    meanwhile, and before folders are made. Where it gives what is there already nothing is written. Every other error
    is a `FileRefused`.
    """
    latest: list[bytes] = []

    def wanted(before: bytes | None) -> bytes:
        latest[:] = [change(before)]
        return latest[0]

    changed = change_file(roots, real, wanted, journal, Note(tool))
    return Replaced(changed.before, latest[0])


def change_file(
    roots: Roots,
    real: str,
    change: Callable[[bytes | None], bytes | None],
    journal: Journal | None = None,
    note: Note = Note(),  # noqa: B008
) -> Changed:
    """As `replace_file`; the file is removed where `change` gives None."""
    try:
        with roots.parent(real):
            pass
    except FileRefused as error:
        if error.facts.get("why") != "missing":
            raise
        if change(None) is None:
            return Changed(None, None)
    with roots.parent(real, create=True) as (folder, name):
        with _explaining(roots, real):
            lock(folder, _LOCK_SECONDS)
            _remove_left_behind(folder)
        for _ in range(_TRIES):
            changed = _try(roots, real, folder, name, change, journal, note)
            if changed is not None:
                return changed
    raise FileRefused(
        f"{quoted(roots.shown(real))} was not changed: another program keeps changing it; try again later",
        path=real,
        why="busy",
    )


def read_content(roots: Roots, real: str) -> bytes | None:
    """What a file holds that could be replaced; None where there is none."""
    found = _read(roots, real)
    return None if found is None else found.content


class _Found(NamedTuple):
    """A file as it was read."""

    content: bytes
    status: os.stat_result
    attributes: dict[str, bytes]


def _try(
    roots: Roots,
    real: str,
    folder: int,
    name: str,
    change: Callable[[bytes | None], bytes | None],
    journal: Journal | None,
    note: Note,
) -> Changed | None:
    """None where the file was changed by somebody else before it could be replaced."""
    found = _read(roots, real)
    before = None if found is None else found.content
    after = change(before)
    if after == before:
        return Changed(before, after)
    if after is not None and len(after) > MOST:
        raise FileRefused(
            f"{quoted(roots.shown(real))} was not changed: it would be larger than {_mib()}", path=real, why="large"
        )
    beside = f"{_PREFIX}{secrets.token_hex(_RANDOM)}{_SUFFIX}" if after is not None else ""
    entry = ""
    with _explaining(roots, real):
        if found is not None and not _is_writable(folder, name, found.status):
            if not _is_still(folder, name, found):
                return None
            raise FileRefused(
                f"{quoted(roots.shown(real))} was not changed: it is read-only", path=real, why="read-only"
            )
        try:
            if after is not None:
                _write_beside(folder, beside, after, found, note.mode)
            if journal is not None:
                mode = None if found is None else stat.S_IMODE(found.status.st_mode)
                entry = journal.begin(real, before, after, mode=mode, tool=note.tool, of=note.of, is_undo=note.is_undo)
            if not _is_still(folder, name, found):
                if journal is not None:
                    journal.dropped(entry)
                return None
            if after is not None:
                os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
                beside = ""
            else:
                os.unlink(name, dir_fd=folder)
        finally:
            if beside:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=folder)
    if journal is not None:
        journal.done(entry)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # what a file system says that has no such thing
            raise FileRefused(
                f"{quoted(roots.shown(real))} was changed, but the disk does not confirm it: {error.strerror}",
                path=real,
                why="system",
            ) from None
    return Changed(before, after)


def _read(roots: Roots, real: str) -> _Found | None:
    for _ in range(_TRIES):
        try:
            with roots.file(real) as descriptor, _explaining(roots, real):
                status = os.fstat(descriptor)
                if status.st_size > MOST:
                    words = f"{quoted(roots.shown(real))} was not changed: it is larger than {_mib()}"
                    raise FileRefused(words, path=real, why="large")
                content = _read_all(descriptor)
                if _state(os.fstat(descriptor)) == _state(status):
                    return _Found(content, status, _attributes(descriptor))
        except FileRefused as error:
            if error.facts.get("why") == "missing":
                return None
            raise
    raise FileRefused(f"{quoted(roots.shown(real))} keeps being written; try again later", path=real, why="busy")


def _read_all(descriptor: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while size <= MOST and (piece := os.read(descriptor, 1024 * 1024)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _state(status: os.stat_result) -> tuple[int, ...]:
    """What differs when a file was changed or is another one."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_still(folder: int, name: str, found: _Found | None) -> bool:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return found is None
    return found is not None and _state(status) == _state(found.status)


def _is_writable(folder: int, name: str, status: os.stat_result) -> bool:
    """A rename asks for no permission of the file itself, so it is asked for here."""
    effective = os.access in os.supports_effective_ids
    return bool(status.st_mode & 0o222) and os.access(name, os.W_OK, dir_fd=folder, effective_ids=effective)


def _write_beside(folder: int, beside: str, content: bytes, found: _Found | None, mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # Of a new file the system takes away what the person's mask says; others can read an old one only in the end.
    descriptor = os.open(beside, flags, 0o666 if found is None and mode is None else 0o600, dir_fd=folder)
    try:
        write_all(descriptor, content)
        if found is not None:
            _keep_owner(descriptor, found)
        elif mode is not None:
            os.fchmod(descriptor, mode & 0o777)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_owner(descriptor: int, found: _Found) -> None:
    """Owner, group, permissions and attributes of the old file, as far as the system permits."""
    old, new = found.status, os.fstat(descriptor)
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if old.st_uid != new.st_uid:
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, -1)
    attributes = found.attributes
    if old.st_gid != new.st_gid:
        try:
            os.fchown(descriptor, -1, old.st_gid)
        except PermissionError:
            # The other group may do what everybody may, as before.
            mode = mode & 0o707 | (mode & 0o007) << 3
            attributes = {name: value for name, value in attributes.items() if name != _ACCESS_LIST}
    os.fchmod(descriptor, mode)
    for name, value in attributes.items():
        with suppress(OSError):
            os.setxattr(descriptor, name, value)


_ACCESS_LIST = "system.posix_acl_access"


def _attributes(descriptor: int) -> dict[str, bytes]:
    """The access list and what a person's programs put there; none that gives a program rights."""
    if not hasattr(os, "listxattr"):
        return {}
    kept: dict[str, bytes] = {}
    with suppress(OSError):
        for name in os.listxattr(descriptor):
            if name == _ACCESS_LIST or name.startswith("user."):
                kept[name] = os.getxattr(descriptor, name)
    return kept


def _remove_left_behind(folder: int) -> None:
    """What writers that were killed left in the folder."""
    old = time.time() - _LEFT_BEHIND
    length = len(_PREFIX) + 2 * _RANDOM + len(_SUFFIX)
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(entry.name) == length and entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_mtime < old:
                        os.unlink(entry.name, dir_fd=folder)


@contextmanager
def _explaining(roots: Roots, real: str) -> Iterator[None]:
    """What the system says, as a sentence for a model."""
    try:
        yield
    except OSError as error:
        words = _WORDS.get(error.errno or 0, error.strerror or str(error))
        raise FileRefused(f"{quoted(roots.shown(real))} was not changed: {words}", path=real, why="system") from None


_WORDS = {
    errno.ENOSPC: "there is no room on the disk",
    errno.EDQUOT: "there is no room left on the disk for this user",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "there is no permission to write in its folder",
    errno.EPERM: "there is no permission to write in its folder",
    errno.EBUSY: "another process is changing files in its folder; try again",
    errno.ENAMETOOLONG: "its name is too long",
}


def _mib() -> str:
    return f"{MOST // 1024 // 1024} MiB"
