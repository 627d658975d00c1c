"""E4: what is tried to get out of the sandbox, by real programs, in every way of confining that this machine has."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import get_args

from toolwire.execution.environment import child_environment
from toolwire.execution.process import Ceiling, ProcessResult, run_process
from toolwire.execution.sandbox.escapes import ESCAPES
from toolwire.execution.sandbox.sandbox import Means, Profile, Sandbox, find_sandbox
from toolwire.execution.sandbox.trials import try_escapes

from . import Found

MEGABYTE = 1 << 20
SOON_SECONDS = 2.0
"""After how long a bomb is gone, on a machine that does nothing else."""
OVER_MOST = 300
"""Processes or megabytes over the ceiling when it is ended, on such a machine."""


def sandboxes() -> list[Sandbox]:
    """Every way of confining that works here."""
    found = [find_sandbox(only=means) for means in get_args(Means) if means != "nothing"]
    return [sandbox for sandbox in found if sandbox.holds]


def escapes(count: int, seed: int) -> Found:
    """`count` of all trials at random (0: all of them), in each sandbox there is. The plan: all, some 60 seconds.

    What gets out by a gap that the sandbox itself tells of is told here too, and is no fault.
    """
    found = Found()
    chosen = random.Random(seed).sample(ESCAPES, min(count, len(ESCAPES))) if count else ESCAPES
    gaps = {escape.name: escape.gap for escape in ESCAPES}
    told: list[str] = []

    async def run(sandbox: Sandbox) -> None:
        held, by_gap, untried = 0, [], []
        async for trial in try_escapes(sandbox, chosen):
            if trial.state == "not tried":
                untried.append(trial.name)
                continue
            found.runs += 1
            if trial.state == "held":
                held += 1
            elif gaps[trial.name] in sandbox.gaps:
                by_gap.append(trial.name)
            else:
                found.fault(f"{sandbox.means}: {trial.name} {trial.state}: {trial.why}")
        words = f"{sandbox.means}: {held} held"
        words += f", {len(by_gap)} by gaps that it tells of ({', '.join(by_gap)})" if by_gap else ""
        words += f", {len(untried)} that get nowhere here anyway ({', '.join(untried)})" if untried else ""
        told.append(words)

    for sandbox in sandboxes():
        asyncio.run(run(sandbox))
    found.words = "; ".join(told)
    return found


FORKS = """\
import os, time
left, fill = os.pipe(); os.write(fill, b'x' * %d); os.set_blocking(left, False)
until = time.monotonic() + 15
while time.monotonic() < until:
    try:
        os.read(left, 1)
    except BlockingIOError:
        time.sleep(max(0.0, until - time.monotonic()))
        break
    if os.fork() == 0:
        %s
        os.close(os.open(f'born-{os.getpid()}', os.O_CREAT))
"""
SHELL_FORKS = """\
b() { : > born-$BASHPID; if [ $1 -gt 8 ]; then sleep 15; else b $(($1 + 1)) | b $(($1 + 1)) & fi; }; b 0; sleep 15
"""
ALLOCATES = """\
import mmap, os, time
grown = os.open('grown', os.O_WRONLY | os.O_APPEND | os.O_CREAT)
kept = []
for _ in range(%d):
    kept.append(mmap.mmap(-1, 16 << 20, flags=mmap.%s | mmap.MAP_ANONYMOUS))
    kept[-1].write(b'x' * (16 << 20))
    os.write(grown, b'x' * 16)
time.sleep(15)
"""


async def limited(text: str, ceiling: Ceiling, folder: Path, *, confined: bool = False) -> ProcessResult:
    """A script of Python, or of bash, under a ceiling."""
    argv = ["bash", "-c", text] if text.startswith("b()") else [sys.executable, "-I", "-S", "-c", text]
    if confined:
        argv = find_sandbox().command(argv, Profile(writable=(str(folder),), processes=ceiling.processes))
    environment = child_environment(os.environ)
    return await run_process(argv, cwd=folder, environment=environment, timeout=20, ceiling=ceiling)


def ceilings(count: int, seed: int) -> Found:
    """`count` bombs of processes and of memory, each with an end of its own far beyond the ceiling.

    The plan: 30, some 15 seconds. All are ended within 2 seconds, at most 300 processes or megabytes over it. What
    makes a session for each process can only be killed one by one, for which only root is given its turn in time: for
    others it is tried in the sandbox, where the kernel limits them as well.
    """
    found = Found()
    chance = random.Random(seed)
    worst = {"processes": 0, "memory": 0}
    longest = 0.0
    for turn in range(count):
        most = chance.randrange(50, 150)
        megabytes = chance.randrange(100, 400)
        name, text, what = (
            ("forks", FORKS % (most + 600, "pass"), "processes"),
            ("private memory", ALLOCATES % (512, "MAP_PRIVATE"), "memory"),
            ("forks with sessions", FORKS % (most + 600, "os.setsid()"), "processes"),
            ("shared memory", ALLOCATES % (512, "MAP_SHARED"), "memory"),
            ("forks of the shell", SHELL_FORKS, "processes"),
        )[turn % 5]
        confined = "sessions" in name and os.geteuid() != 0
        if confined and not find_sandbox().holds:
            continue
        with tempfile.TemporaryDirectory() as folder:
            ceiling = Ceiling(megabytes * MEGABYTE, most)
            result = asyncio.run(limited(text, ceiling, Path(folder).resolve(), confined=confined))
            grown = Path(folder, "grown")
            came = grown.stat().st_size if grown.exists() else len(os.listdir(folder))
        over = came - (megabytes if what == "memory" else most)
        found.runs += 1
        worst[what] = max(worst[what], over)
        longest = max(longest, result.seconds)
        if (result.over != what and not confined) or result.left:
            found.fault(f"{name}: ended for {result.over or 'nothing'}, {result.left} left")
        if over > OVER_MOST:
            found.fault(f"{name}: {over} over its ceiling")
        if result.seconds > SOON_SECONDS:
            found.fault(f"{name}: gone only after {result.seconds:.1f} seconds")
    found.words = (
        f"at most {worst['processes']} processes and {worst['memory']} MB over the ceiling, "
        f"the longest gone after {longest:.1f} s"
    )
    return found
