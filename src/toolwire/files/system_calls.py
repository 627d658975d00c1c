"""The two system calls of Linux that Python has no name for: open without being led away, and the kind of file system.

Where the kernel has them not, or a filter forbids them, `open_beneath` is `None` and `file_system` says 0: whoever uses
them has another way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

_OPENAT2 = 437
_MACHINES = frozenset(
    ("x86_64", "i686", "aarch64", "armv7l", "armv8l", "riscv64", "ppc64", "ppc64le", "s390x", "loongarch64")
)
"""Those on which the call has this number; there are others with numbers of their own."""
_NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 0x02, 0x04, 0x08

Open = Callable[[str, int, int], int]
"""Opens a path below a folder: the path, the flags, the folder's descriptor. No link anywhere in it is followed."""


@lru_cache(maxsize=1)
def _library() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


@lru_cache(maxsize=1)
def open_beneath() -> Open | None:
    """`openat2` with everything refused that leads out of the folder; `None` where it does not work."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES:
        return None
    import ctypes

    class How(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    try:
        call = _library().syscall
    except (OSError, AttributeError):
        return None

    def open_it(path: str, flags: int, folder: int) -> int:
        name = os.fsencode(path)
        if b"\0" in name:  # C would take what stands before it
            raise ValueError("embedded null byte")
        how = How(flags | os.O_CLOEXEC, 0, _NO_MAGIC_LINKS | _NO_LINKS | _BENEATH)
        while True:
            found: int = call(
                ctypes.c_long(_OPENAT2),
                ctypes.c_int(folder),
                ctypes.c_char_p(name),
                ctypes.byref(how),
                ctypes.c_size_t(ctypes.sizeof(how)),
            )
            if found >= 0:
                return found
            number = ctypes.get_errno()
            if number != 4:  # EINTR: a signal came in between
                raise OSError(number, os.strerror(number), path)

    return open_it if _works(open_it) else None


def _works(open_it: Open) -> bool:
    """Whether the kernel has the call, no filter forbids it, and it refuses to leave the folder."""
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(open_it(".", os.O_PATH | os.O_DIRECTORY, folder))
        try:
            os.close(open_it("..", os.O_PATH | os.O_DIRECTORY, folder))
        except OSError:
            return True
        return False
    except OSError:
        return False
    finally:
        os.close(folder)


@lru_cache(maxsize=1)
def _fstatfs() -> Callable[[int], int] | None:
    if sys.platform != "linux":
        return None
    import ctypes

    try:
        call = _library().fstatfs
    except (OSError, AttributeError):
        return None
    kind = ctypes.c_uint if os.uname().machine == "s390x" else ctypes.c_ulong

    def ask(descriptor: int) -> int:
        room = ctypes.create_string_buffer(512)
        if call(ctypes.c_int(descriptor), room) != 0:
            return 0
        return kind.from_buffer(room).value & 0xFFFFFFFF  # the kind is the first field everywhere

    return ask


def file_system(descriptor: int) -> int:
    """The number of the kind of file system that an open file lies on; 0 where that cannot be told."""
    ask = _fstatfs()
    return 0 if ask is None else ask(descriptor)
