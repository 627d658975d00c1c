"""A lock that goes with an open folder: the kernel gives it back when its holder ends, however it ends."""

from __future__ import annotations

import errno
import time

_UNABLE = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
"""What file systems say that cannot lock."""


def lock(descriptor: int, seconds: float) -> None:
    """Waits until nobody else holds the lock of what was opened; it lasts until the descriptor is closed.

    An `OSError` after `seconds`. On a file system that cannot lock, nothing is locked.
    """
    import fcntl

    until = time.monotonic() + seconds
    pause = 0.0005
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise OSError(errno.EBUSY, "another process holds it") from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.01)
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
            return None
