"""Who writes a session: one process at a time, until it lets go or ends, however it ends."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from ...files.locks import lock

WAIT = 0.25
"""Seconds that a lock is waited for: whoever only looks whether it is held has it for an instant."""


class SessionLock:
    """The lock of one session, which is held while this lives. Its file is there only as long.

    What a tool forked and left behind holds the lock too: it may still be at work for this session.
    """

    def __init__(self, folder: Path, session: str, wait: float = WAIT) -> None:
        """Raises a `BlockingIOError` if somebody holds it, and any other `OSError` as it comes."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / session
        self._pid = os.getpid()
        while True:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                _take(self._descriptor, wait)
                # Whoever held it last has removed the file: then this one is nobody's.
                if _is_still(self._path, self._descriptor):
                    os.ftruncate(self._descriptor, 0)
                    os.write(self._descriptor, b"%d\n" % os.getpid())
                    return
            except BaseException:
                os.close(self._descriptor)
                raise
            os.close(self._descriptor)

    def release(self) -> None:
        """Lets go; more than once is as once. A fork lets go of its own hold alone: who made it has the lock still."""
        if self._descriptor >= 0:
            if self._pid == os.getpid():
                with suppress(OSError):
                    os.unlink(self._path)
            os.close(self._descriptor)
            self._descriptor = -1


def holder(folder: Path, session: str) -> str:
    """The process that holds the lock, as far as it can be told; empty if nobody does."""
    try:
        descriptor = os.open(folder / session, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        _take(descriptor, wait=0)
    except BlockingIOError:
        number = os.pread(descriptor, 32, 0).strip()
        return f"process {number.decode()}" if number.isdigit() else "another process"
    finally:
        os.close(descriptor)
    return ""


def _take(descriptor: int, wait: float) -> None:
    try:
        lock(descriptor, wait)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        raise BlockingIOError(error.errno, "another process holds it") from None


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
