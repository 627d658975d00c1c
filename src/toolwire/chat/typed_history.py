"""What was typed before, of all chats of this person: in a file that several of them append to at the same time.

What looks like a key is not written, and a file that is broken, missing or in nobody's reach costs nothing but memory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ..files.locks import lock
from ..files.whole import put_in_place
from ..folders import state_folder
from ..redaction import Redactor

MOST = 1_000
"""Entries that are kept."""
_ROOM = 500
"""How many more a file may have before it is made shorter: not at each entry."""
MOST_BYTES = 64 * 1024
"""Of one entry: what is longer is remembered until the program ends, and not written."""
_READ = 8 * 1024 * 1024
_LOCK_SECONDS = 0.25
"""Others hold the lock for a moment, or for as long as the disk takes when they make the file shorter. Who types does
not wait longer: a line is written whole also without the lock.
"""


class Typed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry: what was sent, what was pasted into it under labels, and in which folder."""

    text: str
    folder: str = ""
    pasted: dict[str, str] = {}


_DECODER = msgspec.json.Decoder(Typed)


def typed_path(env: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/toolwire/typed.jsonl`, else below `~/.local/state`."""
    return state_folder(env) / "typed.jsonl"


class TypedHistory:
    """The entries, read once; what is added is written at once. Without a `path` nothing is read or written."""

    def __init__(self, path: Path | None = None, folder: str = "", redactor: Redactor | None = None) -> None:
        self._path = path
        self._folder = _unicode(folder)
        self._redactor = redactor or Redactor()
        self._all: list[Typed] = []
        if path is not None:
            lines = _read(path)
            self._all = _entries(lines[-MOST:])
            if len(lines) > MOST + _ROOM:
                self._shorten(path)

    @classmethod
    def of(cls, env: Mapping[str, str], folder: str) -> TypedHistory:
        """The history of whoever has this environment, as seen from a folder; its keys are not written."""
        return cls(typed_path(env), folder, Redactor(environment=env))

    def newest_first(self) -> list[Typed]:
        """What was typed in this folder, then what was typed in others; nothing twice."""
        here = [entry for entry in reversed(self._all) if entry.folder == self._folder]
        others = [entry for entry in reversed(self._all) if entry.folder != self._folder]
        found: dict[str, Typed] = {}
        for entry in (*here, *others):
            found.setdefault(entry.text, entry)
        return list(found.values())

    def search(self, words: str, most: int = 50) -> list[Typed]:
        """The entries that hold all these words, in any order and case; the newest first."""
        wanted = words.lower().split()
        found = []
        for entry in self.newest_first():
            lower = entry.text.lower()
            if all(word in lower for word in wanted):
                found.append(entry)
                if len(found) == most:
                    break
        return found

    def add(self, text: str, pasted: Mapping[str, str] | None = None) -> None:
        """One more, unless it is what was typed last. Never raises: a history is no reason to lose a question."""
        text = _unicode(text)
        if not text.strip() or (self._all and self._all[-1].text == text and self._all[-1].folder == self._folder):
            return
        entry = Typed(text, self._folder, {_unicode(name): _unicode(each) for name, each in (pasted or {}).items()})
        self._all.append(entry)
        del self._all[:-MOST]
        # What is too long as it is needs no look for secrets, which takes its time.
        size = sum(map(len, (text, *entry.pasted.values())))
        if self._path is not None and size <= MOST_BYTES:
            clean = Typed(
                self._redactor.text(entry.text),
                entry.folder,
                {name: self._redactor.text(each) for name, each in entry.pasted.items()},
            )
            line = msgspec.json.encode(clean) + b"\n"
            if len(line) <= MOST_BYTES:
                _append(self._path, line)

    def _shorten(self, path: Path) -> None:
        """Leaves the newest. Under the lock, and read again there: others may have written meanwhile."""
        with suppress(OSError, ImportError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                lock(descriptor, _LOCK_SECONDS)
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    put_in_place(path, b"".join(line + b"\n" for line in _read(path)[-MOST:]))
            finally:
                os.close(descriptor)


def _append(path: Path, line: bytes) -> None:
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for _ in range(5):
            # Whatever else is there may not answer.
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
            descriptor = os.open(path, flags, 0o600)
            try:
                with suppress(OSError, ImportError):
                    lock(descriptor, _LOCK_SECONDS)
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    return
                # A shorter one may have been put in its place since it was opened.
                if os.path.samestat(status, os.stat(path)):
                    os.write(descriptor, line if _is_whole(descriptor, status.st_size) else b"\n" + line)
                    return
            finally:
                os.close(descriptor)


def _is_whole(descriptor: int, size: int) -> bool:
    """Whether the last line has its end: a program that was killed may have left half of one."""
    if not size:
        return True
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"


def _read(path: Path) -> list[bytes]:
    """The lines of the file, or its newest ones."""
    try:
        # Whatever else is there may not answer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with open(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            file.seek(max(0, size - _READ))
            data = file.read(_READ)
    except (OSError, ValueError):
        return []
    lines = data.split(b"\n")
    return [line for line in (lines[1:] if size > _READ else lines) if line]


def _entries(lines: Iterable[bytes]) -> list[Typed]:
    found = []
    for line in lines:
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found.append(_DECODER.decode(line))
    return found


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
