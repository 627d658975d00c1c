"""A program in a process group of its own, where there is no supervisor: macOS and Windows.

Threads do the waiting, because not every event loop there can watch pipes and processes. What leaves the group, or on
Windows outlives its parent, is not found; a pipe that such a process holds is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from .captured import Captured
from .program import Program

_LOOK_SECONDS = 0.01
_READ_BYTES = 1 << 16
_AHEAD = 8
"""How many reads may wait for the loop; a program that writes faster than it is read has to wait then."""
_LAST_READS = 4
"""Reads that take all that a pipe can hold. What still comes then is of a process that left the group."""


class ProcessGroup:
    """One running group. `gone` is done when it has been killed and its output is read; the rest is as `Supervised`."""

    def __init__(
        self,
        program: Program,
        captured: Captured,
        *,
        grace: float,
        drain: float,
        memory: int = 0,
        processes: int = 0,
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> None:
        self.status: int | None = None
        self.failed: tuple[str, int] | None = None
        self.left = 0
        self.over = ""
        """Always empty: nothing here counts what a group uses."""
        self._grace = grace
        self._drain = drain
        self._captured = captured
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self._told = threading.Event()
        self._room = threading.Semaphore(_AHEAD)
        self._reading = False
        self._reads = 0
        self._process = _started(program, stdin, stdout)
        self._reader = threading.Thread(target=self._read, daemon=True, name="toolwire-output")
        self._reader.start()
        threading.Thread(target=self._watch, daemon=True, name="toolwire-process").start()

    def end(self) -> None:
        """Begins to end the group; more than once does no harm."""
        self._told.set()

    def _watch(self) -> None:
        while self._process.poll() is None and not self._told.wait(_LOOK_SECONDS):
            pass
        if self._told.is_set():
            self._signal(force=False)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(self._grace)
        else:
            self._reader.join(self._drain)
        self._signal(force=True)
        self.status = self._process.wait()
        self._read_out()
        self._in_loop(self._finish)

    def _read_out(self) -> None:
        """Waits until what the group left in the pipe is read, as long as the loop takes for it."""
        enough = self._reads + _LAST_READS
        while self._reader.is_alive() and self._reads < enough and not self._loop.is_closed():
            before = self._reads
            self._reader.join(self._drain)
            if self._reading and self._reads == before:
                return

    def _read(self) -> None:
        output = self._process.stdout or self._process.stderr
        assert output is not None
        with output:
            while True:
                self._room.acquire()
                self._reading = True
                data = output.read(_READ_BYTES)
                self._reading = False
                self._reads += 1
                if not data:
                    return
                self._in_loop(self._feed, data)

    def _feed(self, data: bytes) -> None:
        self._room.release()
        if not self.gone.done():
            self._captured.feed(data)
            if self._captured.error is not None:
                self.end()

    def _finish(self) -> None:
        self._captured.feed(b"")
        self.gone.set_result(None)

    def _in_loop(self, call: Callable[..., None], *values: Any) -> None:
        # The loop may be closed: then nobody waits for this any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *values)

    def _signal(self, *, force: bool) -> None:
        if sys.platform == "win32":
            words = ["taskkill", "/T", "/PID", str(self._process.pid), *(["/F"] if force else [])]
            subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL if force else signal.SIGTERM)


def _started(program: Program, stdin: int | None, stdout: int | None) -> subprocess.Popen[bytes]:
    if not os.path.isdir(program.cwd):
        raise program.refused("cwd", errno.ENOENT)
    try:
        with tempfile.TemporaryFile() as given:
            given.write(program.input)
            given.seek(0)
            return subprocess.Popen(
                program.argv,
                executable=_executable(program),
                cwd=program.cwd,
                env=program.environment,
                stdin=given if program.input else subprocess.DEVNULL if stdin is None else stdin,
                stdout=subprocess.PIPE if stdout is None else stdout,
                stderr=subprocess.STDOUT if stdout is None else subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
    except OSError as error:
        raise program.refused("exec", error.errno or 0) from error


def _executable(program: Program) -> str | None:
    """Found here: the system's own search tells of the first folder that it may not search, not of the program."""
    if os.name != "posix" or "/" in program.argv[0]:
        return None
    return next(filter(None, map(shutil.which, program.paths())), None)
