"""A program under its supervisor (Linux): started, read and ended from the event loop.

Everything here happens in callbacks of the loop and ends in one future, so that no cancellation can interrupt the end
of a tree half-way. If the loop itself is gone, the supervisor sees its socket close and ends the tree alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import os
import signal
import socket
import subprocess
import sys
import time

from . import supervisor
from .captured import Captured
from .environment import CALL_MARK
from .program import Program

LATE_OUTPUT_SECONDS = 0.2
"""How long output is awaited when the tree is gone: only a process that is none of ours can still hold the pipe."""

_PRESS_SECONDS = 0.05
_LATE_SECONDS = 0.5
_HOPELESS_SECONDS = supervisor.KILL_SECONDS + 2
_READ_BYTES = 1 << 16
_PYTHON = os.path.realpath(sys.executable)
"""Where the interpreter was at the start: a link to it may be in reach of commands."""


class Supervised:
    """One running tree. `gone` is done when no process of it lives and its output is read.

    `stdin` and `stdout` are descriptors for the program to read and write, where somebody stays connected to it; what
    is captured then is its standard error alone.
    """

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
        """Its exit code, or the signal that ended it as a negative number."""
        self.failed: tuple[str, int] | None = None
        """Why it never ran: at which stage, and the number of the error."""
        self.left = 0
        self.over = ""
        """The ceiling for which it was ended."""
        self._grace = grace
        self._captured = captured
        self._mark = f"{CALL_MARK}={program.call}".encode()
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self._main: int | None = None
        self._said = b""
        self._whole = False
        self._ending = False
        self._late: asyncio.TimerHandle | None = None
        self._start(program, drain, memory, processes, stdin, stdout)
        self._loop.add_reader(self._control, self._hear)
        self._loop.add_reader(self._output, self._read)

    def end(self) -> None:
        """Begins to end the tree; more than once does no harm."""
        if self._ending or self.gone.done():
            return
        self._ending = True
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        self._press(time.monotonic() + self._grace)

    def _start(
        self, program: Program, drain: float, memory: int, processes: int, stdin: int | None, stdout: int | None
    ) -> None:
        request = marshal.dumps(
            (
                os.getpid(),
                self._grace,
                drain,
                memory,
                processes,
                os.fsencode(program.cwd),
                [os.fsencode(path) for path in program.paths()],
                [os.fsencode(word) for word in program.argv],
                {os.fsencode(name): os.fsencode(value) for name, value in program.environment.items()},
            )
        )
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            try:
                self._control, control = socket.socketpair()
                ours.enter_context(self._control)
                theirs.enter_context(control)
                self._output, written = os.pipe()
                ours.callback(os.close, self._output)
                theirs.callback(os.close, written)
                asked = _in_memory(request, theirs)
                given = subprocess.DEVNULL if stdin is None else stdin
                if program.input:
                    given = _in_memory(program.input, theirs)
                self._process = subprocess.Popen(
                    [_PYTHON, "-I", "-S", supervisor.__file__, str(control.fileno()), str(asked)],
                    stdin=given,
                    stdout=written if stdout is None else stdout,
                    stderr=written,
                    pass_fds=(control.fileno(), asked),
                    env=_supervisor_environment(program),
                    start_new_session=True,
                )
            except OSError as error:
                raise program.refused("start", error.errno or 0) from error
            ours.pop_all()
        self._control.setblocking(False)
        os.set_blocking(self._output, False)

    def _hear(self) -> None:
        """A word of the supervisor, or its end."""
        try:
            data = self._control.recv(4096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        *lines, self._said = (self._said + data).split(b"\n")
        for line in lines:
            kind, *facts = line.decode().split()
            if kind == "pid":
                self._main = int(facts[0])
            elif kind == "status":
                self.status = os.waitstatus_to_exitcode(int(facts[0]))
            elif kind == "failed":
                self.failed = facts[0], int(facts[1])
            elif kind == "over":
                self.over = facts[0]
            elif kind == "end":
                self._whole, self.left = True, int(facts[0])
        if not data:
            self._loop.remove_reader(self._control)
            self._reap()

    def _reap(self) -> None:
        if self._process.poll() is None:
            # It has closed its socket and is on its way out.
            self._loop.call_later(0.001, self._reap)
        elif self._whole or self.failed:
            self._finish()
        else:
            self._hunt(time.monotonic() + supervisor.KILL_SECONDS)

    def _hunt(self, until: float) -> None:
        """The supervisor was killed. What it held is found by its session and the mark in its environment."""
        found = _marked(self._mark, self._main)
        if found and time.monotonic() < until:
            supervisor.kill(found)
            self._loop.call_later(0.005, self._hunt, until)
            return
        self.left = len(found)
        if self.status is None and self._main is not None:
            # The program dies with its supervisor.
            self.status = -signal.SIGKILL
        self._finish()

    def _press(self, grace_end: float) -> None:
        """Sees to it that the supervisor does its work, and does it from here if the program keeps it stopped."""
        if self._process.returncode is not None:
            # It is reaped; its number may be another's by now.
            return
        over = time.monotonic() - grace_end
        if over > _LATE_SECONDS:
            supervisor.kill(supervisor.descendants(self._process.pid))
        if over > _HOPELESS_SECONDS:
            self._process.kill()
        self._process.send_signal(signal.SIGCONT)
        self._loop.call_later(_PRESS_SECONDS, self._press, grace_end)

    def _read(self) -> None:
        try:
            data = os.read(self._output, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        if not data:
            self._close_output()
            return
        self._captured.feed(data)
        if self._captured.error is not None:
            self.end()

    def _close_output(self) -> None:
        if self._late is not None:
            # A live timer keeps the loop from dropping the cancelled ones behind it, and with them the tools.
            self._late.cancel()
        if self._output >= 0:
            self._captured.feed(b"")
            self._loop.remove_reader(self._output)
            os.close(self._output)
            self._output = -1
        if self._control.fileno() < 0 and not self.gone.done():
            self.gone.set_result(None)

    def _finish(self) -> None:
        """No process is left; what they wrote may still be on its way."""
        self._control.close()
        if self._output >= 0:
            self._late = self._loop.call_later(LATE_OUTPUT_SECONDS, self._close_output)
        else:
            self._close_output()


def _supervisor_environment(program: Program) -> dict[str, str]:
    """Its mark, and where the loader finds what this Python itself is made of."""
    libraries = os.environ.get("LD_LIBRARY_PATH")
    return {CALL_MARK: program.call, **({"LD_LIBRARY_PATH": libraries} if libraries else {})}


def _in_memory(data: bytes, closing: contextlib.ExitStack) -> int:
    """A descriptor from which the data can be read, without a file and without anyone who has to write."""
    descriptor = os.memfd_create("toolwire")
    closing.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _marked(mark: bytes, session: int | None) -> list[int]:
    """The living processes with the mark or of the session, and what they started."""
    found: dict[int, None] = {}
    for pid in supervisor.processes():
        state, *_, its_session = supervisor.facts(pid) or (b"Z", b"0")
        if state in b"ZX" or pid == os.getpid():
            continue
        if int(its_session) == session or mark in _environment(pid):
            found |= dict.fromkeys((pid, *supervisor.descendants(pid)))
    return list(found)


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []
