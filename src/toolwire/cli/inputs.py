"""What a command reads: files named on the command line or standard input, whole or in pieces.

Whatever the file system says becomes a `ConfigError` with the file's name in it.
"""

from __future__ import annotations

import os
import random
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec

from ..errors import ConfigError
from ..limits import KIB, MIB
from ..messages import Message, load_conversation

READ = 64 * KIB
"""How much is asked for at once; a pipe gives what it has."""

SMALL = 64 * MIB
"""What a file that is read whole may hold: a conversation with pictures in it, and not a disk image."""

STANDARD_INPUT = "\0-"
"""What `-` on the command line becomes: no file can have this name, and no option parser takes it for an option."""

NEWEST = "\0newest"
"""What `--resume` becomes where no id stands behind it."""


def as_text(argument: str) -> str:
    """What was written on the command line as text that can be sent and printed, also when its bytes are none."""
    return os.fsencode(argument).decode("utf-8", "replace").removeprefix("\0")


def check_files(names: Iterable[str]) -> None:
    """Says which of these files cannot be read before work on the others begins."""
    for name in names:
        if name == STANDARD_INPUT:
            continue
        try:
            is_folder = stat.S_ISDIR(os.stat(name).st_mode)
        except (OSError, ValueError) as error:
            raise _unreadable(name, error) from None
        if is_folder:
            raise ConfigError(
                f"{as_text(name)} is a directory, not a file",
                hint=f"Name the files in it: {as_text(name).rstrip('/')}/*",
            )
        if not os.access(name, os.R_OK):
            raise _unreadable(name, PermissionError(13, "Permission denied"))


def read_pieces(name: str) -> Iterator[bytes]:
    """The bytes of a file as they come."""
    try:
        if name == STANDARD_INPUT:
            descriptor = _standard_input()
            while data := os.read(descriptor, READ):
                yield data
        else:
            with open(name, "rb", buffering=0) as file:
                while data := file.read(READ):
                    yield data
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from None


def read_whole(name: str) -> bytes:
    """All bytes of a file of ordinary size."""
    check_files([name])
    pieces: list[bytes] = []
    size = 0
    for data in read_pieces(name):
        pieces.append(data)
        size += len(data)
        if size > SMALL:
            raise ConfigError(f"{as_text(name)} holds more than {SMALL // MIB} MiB", hint="Is it the right file?")
    return b"".join(pieces)


class _Exported(msgspec.Struct):
    """What `toolwire sessions export` writes as JSON, as far as it is a conversation."""

    session: msgspec.Raw
    messages: msgspec.Raw


def read_conversation(name: str) -> list[Message]:
    """The messages in a file, or of an exported session; what is wrong with them is told with the file's name."""
    try:
        data = read_whole(name)
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            data = bytes(msgspec.json.decode(data, type=_Exported).messages)
        return load_conversation(data)
    except ConfigError as error:
        shown = "standard input" if name == STANDARD_INPUT else as_text(name)
        words = error.message if shown in error.message else f"{shown}: {error.message}"
        raise ConfigError(words, hint=error.hint) from None


def _standard_input() -> int:
    if sys.stdin is None:
        raise ConfigError("there is no standard input", hint="Name a file.")
    if sys.stdin.isatty():
        sys.stderr.write("toolwire: reading what you type; Ctrl-D ends it\n")
        sys.stderr.flush()
    return sys.stdin.fileno()


def _unreadable(name: str, error: OSError | ValueError) -> ConfigError:
    shown = as_text(name)
    if isinstance(error, FileNotFoundError):
        return ConfigError(f"there is no file {shown}", hint="Check the name and the folder you are in.")
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ConfigError(f"cannot read {shown}: {words}", hint="Check the file and its permissions.")


class Cut:
    """Where a stream is cut before it is fed: as it was read, every N bytes, or at random from a seed."""

    def __init__(self, text: str | None = None) -> None:
        self._size: int | None = None
        self._seed: int | None = None
        if text is None:
            return
        kind, _, number = text.rpartition(":")
        digits = number.isascii() and number.isdigit() and len(number) < 20
        if kind == "random" and digits:
            self._seed = int(number)
        elif not kind and digits and int(number) > 0:
            # What is held back until a piece is full stays bounded.
            self._size = min(int(number), 16 * MIB)
        else:
            raise ConfigError(
                f"--cut {text} is no way to cut a stream",
                hint="Use a number of bytes (--cut 7) or random:SEED (--cut random:1).",
            )

    def __call__(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes, cut. The cuts do not depend on how the bytes were read."""
        if self._size is None and self._seed is None:
            yield from pieces
            return
        # A fresh generator for each file: a file is cut the same whichever files come before it.
        dice = random.Random(self._seed)
        size = self._size or dice.randint(1, 64)
        held = bytearray()
        for data in pieces:
            held += data
            while len(held) >= size:
                yield bytes(held[:size])
                del held[:size]
                size = self._size or dice.randint(1, 64)
        if held:
            yield bytes(held)
