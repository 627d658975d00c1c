"""Files of Toolwire's own, put whole in place of others: who reads one finds the old or the new, also after a crash."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def put_in_place(path: Path, data: bytes) -> None:
    """Writes the file, for its owner alone, and returns when it is on the disk; an `OSError` leaves all as it was."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
