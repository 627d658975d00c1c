"""`KeptFile`: what a person decided about servers, in a JSON file that is whole at every moment."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..files.locks import lock
from ..files.whole import put_in_place

MAX_BYTES = 64 * 1024 * 1024
"""Of the whole file."""
_LOCK_SECONDS = 10.0
_VERSION = 1

Entries = dict[str, dict[str, Any]]
"""What is kept: for each server or file, something by name."""


class KeptFile:
    """Entries by two names. Without a path they live in memory alone.

    What `change` did is on the disk when its `with` ends, or nothing of it is; several programs may change the file at
    the same time. It is the person's own (0600 in a folder 0700). A file that is damaged, or that others may write, is
    a `ConfigError`: it is never taken for an empty one, which would forget what was decided.
    """

    def __init__(self, path: Path | None, holds: str) -> None:
        self._path = None if path is None else Path(os.path.realpath(path))
        self._holds = holds
        """What is in it, for the words of an error: "which tools were looked at"."""
        self._read: tuple[tuple[int, ...] | None, Entries] = (None, {})

    def entries(self) -> Entries:
        """What is kept now. Not to be changed."""
        if self._path is None:
            return self._read[1]
        try:
            known, entries = self._read
            seen = _signature(os.stat(self._path))
            if seen != known:
                data, seen = self._content(self._path)
                entries = self._parsed(data)
                self._read = seen, entries
            return entries
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self.unusable(f"cannot be read: {error.strerror or error}") from None

    @contextmanager
    def change(self) -> Iterator[Entries]:
        """The entries, to be changed in the block; nothing is changed where it raises."""
        if self._path is None:
            entries = deepcopy(self._read[1])
            yield entries
            self._read = None, entries
            return
        folder = self._path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self.unusable(f"cannot be written: {error.strerror or error}") from None
        try:
            # The lock is on the folder: the file itself is replaced.
            with self._written():
                lock(descriptor, _LOCK_SECONDS)
            before = self.entries()
            entries = deepcopy(before)
            yield entries
            data = _written_down(entries)
            if data != _written_down(before):
                if len(data) > MAX_BYTES:
                    raise self.unusable("cannot take more", "Forget servers that you do not use any more.")
                with self._written():
                    put_in_place(self._path, data)
        finally:
            os.close(descriptor)

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.unusable(f"cannot be written: {error.strerror or error}") from None

    def _content(self, path: Path) -> tuple[bytes, tuple[int, ...]]:
        # A pipe that nobody writes to must not hold everything up.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise self.unusable("is not a file")
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or status.st_uid not in (os.geteuid(), 0):
                raise self.unusable("may be written by others", f"Look at it, then: chmod 600 {path}")
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise self.unusable(f"holds more than {MAX_BYTES:,} bytes")
        return data, _signature(status)

    def _parsed(self, data: bytes) -> Entries:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.unusable(f"is damaged ({error or type(error).__name__})") from None
        if not isinstance(found, dict) or found.keys() != {"version", "entries"}:
            raise self.unusable("is damaged (it has another form)")
        if found["version"] != _VERSION:
            raise self.unusable(f"is of version {found['version']!r}, and this Toolwire knows version {_VERSION}")
        entries = found["entries"]
        if not isinstance(entries, dict) or not all(isinstance(each, dict) for each in entries.values()):
            raise self.unusable("is damaged (its entries have another form)")
        return entries

    def unusable(self, words: str, hint: str = "") -> ConfigError:
        """The error that says this of the file."""
        return ConfigError(
            f"{self._path}, which keeps {self._holds}, {words}",
            hint=hint or "Put it right, or delete it: all that it kept is then asked again.",
            file=str(self._path),
        )


def _written_down(entries: Entries) -> bytes:
    # Not msgspec, for which a number of more than 64 bits is none.
    return json.dumps({"version": _VERSION, "entries": entries}, indent=1, allow_nan=False).encode()


def _signature(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
