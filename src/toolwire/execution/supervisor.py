"""The parent of one program on Linux: it ends when nothing of what the program started lives any more.

Run as a script by `supervised`, with nothing of Toolwire imported. Whatever the program starts, however often it forks
and whatever session it makes, remains a descendant of this process, because orphans come to the nearest subreaper. The
other end of the control socket is Toolwire's: when it closes, or Toolwire is gone, the tree is ended, first by SIGTERM
and after a grace by SIGKILL. On it go lines: `pid N`, `status N` (as of waitpid), `failed STAGE ERRNO`, `end LEFT`.
"""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable

KILL_SECONDS = 10.0
"""How long SIGKILL is tried; only what another user owns, or what hangs in the kernel, withstands it."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Tree:
    """The descendants of this process."""

    def __init__(self, control: int, parent: int) -> None:
        self.empty = False
        self.status: int | None = None
        self.told = False
        """Whether the tree shall end: the parent said so, or is gone."""
        self._control = control
        self._parent = parent
        self._main = 0
        self._wake, wakes = os.pipe()
        for end in (self._wake, wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)

    def hold(self, main: int) -> None:
        """Takes the process as the program itself."""
        self._main = main
        self.say(b"pid %d" % main)

    def say(self, line: bytes) -> None:
        """One line to the parent, if it is there."""
        try:
            os.write(self._control, line + b"\n")
        except OSError:
            self.told = True

    def wait(self, done: Callable[[], bool], seconds: float | None = None) -> None:
        """Until `done`, or until so many seconds have passed."""
        until = None if seconds is None else time.monotonic() + seconds
        self._look(0)
        while not done():
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return
            self._look(left)

    def terminate(self) -> None:
        """Asks all of them to end; those that are stopped too."""
        there = descendants(os.getpid())
        for number in (signal.SIGTERM, signal.SIGCONT):
            send(there, number)

    def kill(self, seconds: float) -> None:
        """Kills until none is left. What forks meanwhile is found in the next round."""
        until = time.monotonic() + seconds
        while not self.empty and time.monotonic() < until:
            kill(descendants(os.getpid()))
            self._look(0.001)

    def _look(self, seconds: float | None) -> None:
        """Sleeps until something happens, then takes in what did."""
        for descriptor, _ in self._poll.poll(None if seconds is None else seconds * 1000):
            if descriptor == self._wake:
                os.read(self._wake, 4096)
            elif not os.read(self._control, 4096):
                self.told = True
                self._poll.unregister(self._control)
        if os.getppid() != self._parent:
            self.told = True
        self._reap()

    def _reap(self) -> None:
        self.empty = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                # Every descendant hangs from some child of this process: without a child there is none.
                self.empty = True
                return
            if pid == 0:
                return
            if pid == self._main and self.status is None:
                self.status = status
                self.say(b"status %d" % status)


def descendants(pid: int) -> list[int]:
    """The processes below this one, parents first, at about this moment."""
    below = _children if os.path.exists("/proc/thread-self/children") else _children_by_parent()
    found = {pid: None}
    waiting = [pid]
    while waiting:
        for child in below(waiting.pop()):
            if child not in found:
                found[child] = None
                waiting.append(child)
    return list(found)[1:]


def kill(pids: Iterable[int]) -> None:
    """SIGKILL to each and to its process group, which catches in one stroke what a group forks meanwhile."""
    groups = set()
    for pid in pids:
        try:
            groups.add(os.getpgid(pid))
        except ProcessLookupError:
            continue
    # A group lies in one session, and each session of the tree was made in it; only before its own setsid is a child
    # in ours. To killpg, 0 is our own group and 1 is everyone.
    for group in groups - {os.getpgrp(), 0, 1}:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    send(pids, signal.SIGKILL)


def send(pids: Iterable[int], number: int) -> None:
    """The signal to each that is there and may be sent one; never to init, nor to 0 and below, which mean many."""
    for pid in pids:
        try:
            if pid > 1:
                os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def facts(pid: int) -> list[bytes]:
    """State, parent, process group and session of a process; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[:4]
    except OSError:
        return []


def processes() -> list[int]:
    """Every process that can be seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def _children_by_parent() -> Callable[[int], list[int]]:
    """For kernels that do not list children: every process is asked for its parent."""
    children: dict[int, list[int]] = {}
    for pid in processes():
        known = facts(pid)
        if known:
            children.setdefault(int(known[1]), []).append(pid)
    return lambda pid: children.get(pid, [])


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _become(control: int, cwd: bytes, paths: list[bytes], argv: list[bytes], environment: dict[bytes, bytes]) -> None:
    """In the forked child: turns into the program, or says why not."""
    stage = b"session"
    try:
        os.setsid()
        # Python ignores some signals, and who started Toolwire may have; a program expects the defaults.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        stage = b"cwd"
        os.chdir(cwd)
        stage = b"exec"
        refused: OSError = FileNotFoundError(errno.ENOENT, "")
        for path in paths:
            try:
                os.execve(path, argv, environment)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except PermissionError as error:
                refused = error
        raise refused
    except OSError as error:
        os.write(control, b"failed %s %d\n" % (stage, error.errno or 0))
    finally:
        os._exit(127)


def main() -> None:
    """Start the program, see it end, end its tree."""
    control, request = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(control, False)
    with open(request, "rb") as file:
        parent, grace, drain, *program = marshal.load(file)
    # SIGTERM only wakes: the parent's end is told by it, and a program that ends its parent shall not reach this one.
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    tree = Tree(control, parent)
    try:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        tree.wait(lambda: True)
        if tree.told:
            tree.say(b"end 0")
            return
        child = os.fork()
    except OSError as error:
        tree.say(b"failed start %d" % (error.errno or 0))
        return
    if child == 0:
        _become(control, *program)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    tree.hold(child)
    tree.wait(lambda: tree.told or tree.status is not None)
    tree.wait(lambda: tree.told or tree.empty, drain)
    if not tree.empty:
        tree.terminate()
        tree.wait(lambda: tree.empty, grace)
        tree.kill(KILL_SECONDS)
    tree.say(b"end %d" % len(descendants(os.getpid())))


if __name__ == "__main__":
    main()
