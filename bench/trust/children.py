"""Children that misbehave: cancelled at random times, flooding, looking for secrets. Linux.

Each process of a case carries its token, in its environment or its arguments, so that what is left can be found
whatever its parent, session or environment has become.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

from toolwire.execution.environment import child_environment
from toolwire.execution.process import ProcessResult, run_process
from toolwire.execution.supervisor import descendants

from . import Found

AT_ONCE = 20
GONE_SECONDS = 5.0
"""After so long nothing may live, however it was started."""

BASH = {
    "waits": "sleep @; true",
    "background": "sleep @ & sleep @ & sleep @",
    "background outlives": "sleep @ & echo started",
    "pipe held by a session": "setsid sleep @ & echo started",
    "ignores SIGTERM": "trap '' TERM HUP INT; sleep @; sleep @",
    "own process groups": "set -m; sleep @ & sleep @ & wait",
    "sessions below sessions": "setsid bash -c 'setsid sleep @ & sleep @' & sleep @",
    "stops itself": "kill -STOP $$; sleep @",
    "stopped in the background": "sleep @ & kill -STOP $!; sleep @",
    "stopped and deaf": "(trap '' TERM; kill -STOP $BASHPID; sleep @) & wait",
    "without environment": "env -i setsid sleep @ & sleep @",
    "closed output": "exec >&- 2>&-; sleep @",
    "floods": "trap '' TERM; while :; do echo @ @ @ @ @ @ @ @; done",
    "kills its supervisor": "setsid sleep @ & sleep 0.05; kill -9 $PPID; sleep @",
    "terminates its supervisor": "sleep @ & kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; sleep @",
    "stops its supervisor": "sleep @ & kill -STOP $PPID; sleep @",
    "ends at once": "true",
    "starts many": "for i in 1 2 3 4 5 6 7 8 9 10; do (sleep @; sleep @) & done; wait",
}
"""Shell lines; @ stands for a time that nobody waits for, which holds the token."""

PYTHON = {
    "double fork": """
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
rest()
""",
    "daemon": """
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    os.chdir("/"); os.closerange(0, 256)
    for number in (1, 2, 3, 15): signal.signal(number, signal.SIG_IGN)
    rest()
rest()
""",
    "forks when terminated": """
def fork(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(5):
        if os.fork() == 0: os.setsid(); rest()
signal.signal(signal.SIGTERM, fork)
rest()
""",
    "forks fifty": """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(50):
    if os.fork() == 0: os.setsid(); rest()
rest()
""",
    "runs from fork to fork": """
import fcntl
lock = open(f"{sys.argv[2]}/{sys.argv[1]}.lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
until = time.monotonic() + 20
while time.monotonic() < until:
    if os.fork(): os._exit(0)
    os.setsid()
""",
    "keeps its supervisor stopped": """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
supervisor, until = os.getppid(), time.monotonic() + 20
os.fork(); os.fork()
while time.monotonic() < until: os.kill(supervisor, signal.SIGSTOP)
rest()
""",
    "child of a thread": """
import threading
def run():
    if os.fork() == 0: os.setsid(); rest()
    rest()
threading.Thread(target=run).start(); rest()
""",
    "takes orphans itself": """
import ctypes
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if os.fork() == 0:
    if os.fork() == 0: os.setsid(); rest()
    os._exit(0)
rest()
""",
}
"""Scripts. Each process ends in `rest`, so that what a fault leaves behind is gone after a minute and forks no more."""
BEGINNING = """
import os, signal, sys, time
def rest():
    until = time.monotonic() + 60
    while time.monotonic() < until: time.sleep(1)
    os._exit(0)
"""
MISBEHAVIOURS = (*BASH, *PYTHON)


def words(case: str, token: str) -> list[str]:
    """The command of a case, with its token."""
    if case in BASH:
        return ["bash", "-c", BASH[case].replace("@", f"60.{token}")]
    return [sys.executable, "-I", "-S", "-c", BEGINNING + PYTHON[case], token, gettempdir()]


def new_token() -> str:
    return str(10**19 + secrets.randbelow(10**19))


def living(token: str) -> dict[int, str]:
    """The processes that carry the token and are not this one, and what they run.

    A process that is never the same for long is not seen in this way; it holds a lock, which stands here as 0.
    """
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as environ, open(f"/proc/{name}/cmdline", "rb") as cmdline:
                line = cmdline.read()
                if token.encode() in environ.read() or token.encode() in line:
                    found[int(name)] = line.replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    lock = Path(gettempdir(), f"{token}.lock")
    if lock.exists():
        with lock.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found[0] = "somebody holds the lock"
            else:
                lock.unlink()
    return found


async def run_case(case: str, token: str, timeout: float | None) -> ProcessResult:  # noqa: ASYNC109 - handed on
    environment = child_environment(os.environ, {"TOKEN": token})
    return await run_process(words(case, token), cwd="/", environment=environment, timeout=timeout)


def cancels(count: int, seed: int) -> Found:
    """Programs cancelled after 0 to 300 ms, twenty at once; plan: 1,000, which takes a minute on two cores.

    Each gives one outcome, and nothing of it lives when it does (the plan allows five seconds after the cancel). In
    the end there is no child, not even a dead one, and no descriptor more than before.
    """
    found = Found()
    before = set(os.listdir("/proc/self/fd"))
    asyncio.run(_cancel_all(found, count, random.Random(seed)))
    if more := set(os.listdir("/proc/self/fd")) - before:
        found.fault(f"descriptors left open: {more}")
    if children := descendants(os.getpid()):
        found.fault(f"children left: {children}")
    return found


async def _cancel_all(found: Found, count: int, rng: random.Random) -> None:
    places = asyncio.Semaphore(AT_ONCE)
    cases = [MISBEHAVIOURS[number % len(MISBEHAVIOURS)] for number in range(count)]
    rng.shuffle(cases)
    slowest = 0.0
    ended = 0

    async def one(case: str, delay: float) -> None:
        nonlocal slowest, ended
        async with places:
            token = new_token()
            task = asyncio.create_task(run_case(case, token, None))
            await asyncio.wait((task,), timeout=delay)
            cancelled = time.monotonic()
            task.cancel()
            await asyncio.wait((task,))
            left = living(token)
            seconds = time.monotonic() - cancelled
            slowest = max(slowest, seconds)
            found.runs += 1
            ended += not task.cancelled()
            if not task.cancelled() and task.exception():
                found.fault(f"{case} after {delay:.3f} s: {task.exception()!r}")
            if left:
                found.fault(f"{case} after {delay:.3f} s: {left}")
            if seconds > GONE_SECONDS:
                found.fault(f"{case} after {delay:.3f} s: gone only after {seconds:.1f} s")

    await asyncio.gather(*(one(case, rng.uniform(0, 0.3)) for case in cases))
    found.words = f"slowest end {slowest:.1f} s after its cancel; {ended} had ended by themselves"


def flood(count: int, seed: int) -> Found:
    """A program that writes `count` bytes; plan: 10 GB, about ten seconds. Memory stays, the cut is exact."""
    found = Found(runs=1)
    before = _resident()
    most = before
    seen = 0

    def watch(text: str) -> None:
        nonlocal most, seen
        if seen // 50_000_000 != (seen + len(text)) // 50_000_000:
            most = max(most, _resident())
        seen += len(text)

    environment = child_environment(os.environ)
    started = time.monotonic()
    line = ["head", "-c", str(count), "/dev/zero"]
    result = asyncio.run(run_process(line, cwd="/", environment=environment, timeout=None, on_output=watch))
    grown = max(most, _resident()) - before
    note = len(f"\n[… {result.cut:,} characters cut …]\n")
    if seen != count or result.cut + len(result.output) - note != count:
        found.fault(f"{count:,} bytes written, {seen:,} seen, {result.cut:,} cut of {len(result.output):,}")
    if grown > 20_000_000:
        found.fault(f"memory grew by {grown:,} bytes")
    found.words = f"{count:,} bytes in {time.monotonic() - started:.1f} s; memory grew by {grown / 1e6:.1f} MB"
    return found


def canaries(count: int, seed: int) -> Found:
    """Secrets in the environment, under names that look allowed too; plan: 1,000. None is in a child or grandchild."""
    found = Found(runs=count)
    with planted(count, random.Random(seed)) as secret:
        line = [
            "bash",
            "-c",
            "env; cat /proc/self/environ /proc/$PPID/environ /proc/$$/environ; setsid -w bash -c 'env; set'",
        ]
        result = asyncio.run(
            run_process(line, cwd="/", environment=child_environment(os.environ), timeout=60, limit=10**9)
        )
    if result.output.count("TOOLWIRE_CALL=") != 6:
        found.fault(f"the children did not show their environments: {result.output[:1000]}")
    for line_ in result.output.split("\n"):
        if secret in line_:
            found.fault(line_[:200])
    return found


@contextmanager
def planted(count: int, rng: random.Random) -> Iterator[str]:
    """Variables in the environment of this very process, each with the secret that is given."""
    secret = f"canary{rng.getrandbits(64):016x}"
    shapes = ("{}_API_KEY", "LC_{}", "PATH_{}", "HOME{}", "LANG_{}", "BASH_FUNC_{}%%", "TZ{}", "USER_{}", "{}", "lc_{}")
    names = [shapes[number % len(shapes)].format(f"C{rng.getrandbits(48):x}") for number in range(count)]
    before = dict(os.environ)
    os.environ.update({name: f"() {{ echo {secret}; }}" if "%" in name else secret for name in names})
    os.environ["LC_PAPER"] = f"() {{ {secret}; }}"
    os.environ["PATH"] = f"{before['PATH']}:{secret}:./{secret}"
    try:
        yield secret
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


def _resident() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
