"""What a file holds, for judging it and for seeing that it is still the same: plain files alone, within bounds."""

from __future__ import annotations

import hashlib
import os
import stat

_PLAIN = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)


def plain_content(path: str, most: int) -> bytes | None:
    """The bytes of a plain file; None where it is none, cannot be read, or is larger than `most`.

    Nothing else is opened: no pipe, which would wait, and no device.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        opened = os.open(path, os.O_RDONLY | _PLAIN)
        with open(opened, "rb") as file:
            found = os.fstat(opened)
            if not stat.S_ISREG(found.st_mode) or found.st_size > most:
                return None
            content = file.read(most + 1)
    except (OSError, ValueError):
        return None
    return content if len(content) <= most else None


def identity(path: str, most: int) -> tuple[str, int]:
    """What tells whether a path still holds the same, and how many bytes were read for it.

    The digest of a plain file of at most `most` bytes; of a larger one and of all else its kind, size, times and
    number, which a change of the content changes too; `missing` where there is nothing. With 0 for `most` only what is
    the same on another machine: its kind, size and the time of its content.
    """
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return "missing", 0
    if stat.S_ISDIR(found.st_mode):
        return "a folder", 0
    if not most:
        return f"{stat.S_IFMT(found.st_mode)} {found.st_size} {found.st_mtime_ns}", 0
    content = plain_content(path, most) if stat.S_ISREG(found.st_mode) else None
    if content is not None:
        return hashlib.sha256(content).hexdigest(), len(content)
    facts = (found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return " ".join(map(str, facts)), 0
