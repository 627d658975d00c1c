"""The parent of one program on Linux: it ends when nothing of what the program started lives any more.

Run as a script by `supervised`, with nothing of Toolwire imported. Whatever the program starts, however often it forks
and whatever session it makes, remains a descendant of this process, because orphans come to the nearest subreaper. The
other end of the control socket is Toolwire's: when it closes, or Toolwire is gone, the tree is ended, first by SIGTERM
and after a grace by SIGKILL; at once by SIGKILL when it is over a ceiling that it was given. On the socket go lines:
`pid N`, `status N` (as of waitpid), `failed STAGE ERRNO`, `over WHAT`, `end LEFT`.
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
from collections.abc import Callable, Iterable, Iterator

KILL_SECONDS = 10.0
"""How long SIGKILL is tried; only what another user owns, or what hangs in the kernel, withstands it."""

SOONEST_SECONDS = 0.01
LATEST_SECONDS = 0.1
"""How far apart two looks at the size of the tree lie."""

_BYTES_A_SECOND = 8 << 30
_TASKS_A_SECOND = 10_000
"""No tree grows faster than about this: so long it cannot be over, and need not be looked at."""
_SHARE = 3
"""How much longer than a look the time to the next one is, at least: what watches a large tree shall not slow it."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Tree:
    """The descendants of this process."""

    def __init__(self, control: int, parent: int, size: Size) -> None:
        self.empty = False
        self.status: int | None = None
        self.told = False
        """Whether the tree shall end: the parent said so, or is gone."""
        self.over = b""
        """The ceiling that the tree went through."""
        self._size = size
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
        """Until `done`, or the tree is over a ceiling, or so many seconds have passed."""
        until = None if seconds is None else time.monotonic() + seconds
        self._look(0)
        while not done() and not self._measure():
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return
            self._look(self._size.sooner(left))

    def _measure(self) -> bool:
        """Whether the tree is over a ceiling; the first time, that is said."""
        if not self.over and (over := self._size.over()):
            self.over = over
            self.say(b"over " + over)
        return bool(self.over)

    def terminate(self) -> None:
        """Asks all of them to end; those that are stopped too."""
        there = descendants(os.getpid())
        for number in (signal.SIGTERM, signal.SIGCONT):
            send(there, number)

    def kill(self, seconds: float) -> None:
        """Kills until none is left. What forks meanwhile is found in the next round."""
        until = time.monotonic() + seconds
        while not self.empty and time.monotonic() < until:
            kill(_descending(os.getpid()))
            self._look(0.001)

    def _look(self, seconds: float | None) -> None:
        """Sleeps until something happens, then takes in what did."""
        for descriptor, _ in self._poll.poll(None if seconds is None else seconds * 1000):
            if descriptor == self._wake:
                os.read(self._wake, 4096)
            elif not self._heard():
                self.told = True
                self._poll.unregister(self._control)
        if os.getppid() != self._parent:
            self.told = True
        self._reap()

    def _heard(self) -> bytes:
        try:
            return os.read(self._control, 4096)
        except OSError:
            # The parent is gone, and there was a line that it had not read.
            return b""

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


class Size:
    """How large the tree of this process is, held against its ceilings; 0 is none.

    Tasks are processes and their threads. Memory is what the tree has in main memory, without the files that it maps;
    what its processes share counts once, as near as the memory of the whole machine tells. Nothing is asked here that
    waits for a lock of a process: that could keep the answer back. What is written to files in memory and not mapped
    is not seen. A look costs some microseconds for each process, and lies so far from the last one as the room that is
    left allows.
    """

    def __init__(self, memory: int, tasks: int) -> None:
        self._memory = memory
        self._tasks = tasks
        self._others = 0
        self._next = 0.0 if memory or tasks else float("inf")

    def sooner(self, seconds: float | None) -> float | None:
        """So many seconds, or those until the next look."""
        left = self._next - time.monotonic()
        return seconds if left == float("inf") else max(0.0, left if seconds is None else min(left, seconds))

    def over(self) -> bytes:
        """The ceiling that the tree is over, if it is time to look."""
        started = time.monotonic()
        if started < self._next:
            return b""
        below: list[int] = []
        tasks = 0
        for pid in _descending(os.getpid()):
            below.append(pid)
            tasks += _threads(pid)
            if 0 < self._tasks < tasks:
                return b"processes"
        memory = self._used(below) if self._memory else 0
        if memory > self._memory:
            return b"memory"
        least = LATEST_SECONDS
        if self._memory:
            least = min(least, (self._memory - memory) / _BYTES_A_SECOND)
        if self._tasks:
            least = min(least, (self._tasks - tasks) / _TASKS_A_SECOND)
        now = time.monotonic()
        self._next = now + max(least, SOONEST_SECONDS, _SHARE * (now - started))
        return b""

    def _used(self, pids: list[int]) -> int:
        """The sum if that is below the ceiling; else less, if the memory of the machine has not grown by as much."""
        each = [_in_memory(pid) for pid in pids]
        together, used = sum(each), _used_by_all()
        if together <= self._memory:
            self._others = used - together
            return together
        return min(together, max(*each, used - self._others))


def descendants(pid: int) -> list[int]:
    """The processes below this one, parents first, at about this moment."""
    return list(_descending(pid))


def _descending(pid: int) -> Iterator[int]:
    below = _children if os.path.exists("/proc/thread-self/children") else _children_by_parent()
    found = {pid}
    waiting = [pid]
    while waiting:
        for child in below(waiting.pop()):
            if child not in found:
                found.add(child)
                waiting.append(child)
                yield child


def kill(pids: Iterable[int]) -> None:
    """SIGKILL to each and to its process group, which catches in one stroke what a group forks meanwhile.

    Each is killed when it comes: what forks fast is not given the time of a walk over all of it.
    """
    # A group lies in one session, and each session of the tree was made in it; only before its own setsid is a child
    # in ours. To killpg, 0 is our own group and 1 is everyone.
    spared = {os.getpgrp(), 0, 1}
    for pid in pids:
        try:
            group = os.getpgid(pid)
            if group not in spared:
                spared.add(group)
                os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        send((pid,), signal.SIGKILL)


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


def _threads(pid: int) -> int:
    try:
        return max(1, os.stat(f"/proc/{pid}/task").st_nlink - 2)
    except OSError:
        return 0


def _in_memory(pid: int) -> int:
    """The bytes of a process that lie in main memory and in no file; those that it shares are with each that does."""
    return _kilobytes(f"/proc/{pid}/status", (b"RssAnon:", b"RssShmem:")) << 10


def _used_by_all() -> int:
    """The same of all processes of the machine, each byte once."""
    return _kilobytes("/proc/meminfo", (b"AnonPages:", b"Shmem:")) << 10


def _kilobytes(path: str, names: tuple[bytes, ...]) -> int:
    try:
        with open(path, "rb") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(names))
    except OSError:
        return 0


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


def _come_first() -> None:
    """Among hundreds of processes that all want to run, the one that is to end them would hardly ever have its turn."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:
        # Not everyone may; the others are held by RLIMIT_NPROC in the sandbox, which in turn does not hold root.
        return


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
        parent, grace, drain, memory, tasks, *program = marshal.load(file)
    # SIGTERM only wakes: the parent's end is told by it, and a program that ends its parent shall not reach this one.
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    if tasks:
        _come_first()
    tree = Tree(control, parent, Size(memory, tasks))
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
    if not tree.empty and not tree.over:
        tree.terminate()
        tree.wait(lambda: tree.empty, grace)
    tree.kill(KILL_SECONDS)
    tree.say(b"end %d" % len(descendants(os.getpid())))


if __name__ == "__main__":
    main()
