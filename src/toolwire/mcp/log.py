"""What a server says beside its messages, for the person who wonders why it does not work.

It is a stranger's text: shown with every hidden character marked, never obeyed, and bounded on the disk, in memory and
in how fast it is written. A log that cannot be written harms nobody: its end is in memory all the same.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..approval.hidden import marked
from ..folders import state_folder
from .limits import LOG_BYTES, LOG_BYTES_A_SECOND

_KEPT_BYTES = 16 << 10


class ServerLog:
    """The log of one server. Without a path it is in memory alone."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._end = b""
        self._room = float(LOG_BYTES)
        self._looked = time.monotonic()
        self._left_out = 0

    def begin(self, words: str) -> None:
        """A new start of the server: `tail` tells of it alone."""
        self._end = b""
        self._keep(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')} {words}\n".encode())

    def write(self, data: bytes) -> None:
        """More of what it says. Never raises."""
        self._end = (self._end + data[-_KEPT_BYTES:])[-_KEPT_BYTES:]
        self._keep(data)

    def tail(self, characters: int = 2_000) -> str:
        """The end of it since the last start, at most so long: whole lines where they fit, hidden characters marked."""
        lines: list[str] = []
        room = characters
        for line in reversed(self._end.decode(errors="replace").splitlines()):
            shown = marked(line.expandtabs())
            if len(shown) + 1 > room:
                if not lines:
                    lines.append("…" + shown[-(room - 1) :])
                break
            lines.append(shown)
            room -= len(shown) + 1
        return "\n".join(reversed(lines)).strip()

    def _keep(self, data: bytes) -> None:
        if self.path is None or not data:
            return
        now = time.monotonic()
        self._room = min(float(LOG_BYTES), self._room + (now - self._looked) * LOG_BYTES_A_SECOND)
        self._looked = now
        if len(data) > self._room:
            self._left_out += len(data)
            return
        self._room -= len(data)
        if self._left_out:
            data = b"\n[%d bytes left out: they came too fast]\n" % self._left_out + data
            self._left_out = 0
        with suppress(OSError):
            _append(self.path, data)


def log_path(env: Mapping[str, str], identity: str) -> Path:
    """The log of the server with this identity, which may hold a path or anything else."""
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in identity.rpartition("#")[2])[:40]
    mark = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()[:12]
    return state_folder(env) / "mcp" / "logs" / f"{name}-{mark}.log"


def _append(path: Path, data: bytes) -> None:
    # Opened each time: another Toolwire may write to the same log, and put it aside.
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if os.lstat(path).st_size + len(data) > LOG_BYTES:
            os.replace(path, f"{path}.1")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(path, "ab", buffering=0, opener=lambda name, _: os.open(name, flags, 0o600)) as file:
        file.write(data)
