"""E1 and E2: no path leads the file tools outside, nor does what is swapped while they open."""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from toolwire.approval.gate import Denial, Gate
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.request import ApprovalRequest
from toolwire.builtin.editing import editing_tools
from toolwire.builtin.reading import reading_tools
from toolwire.builtin.searching import searching_tools
from toolwire.builtin.writing import writing_tools
from toolwire.errors import FileRefused, ToolwireError
from toolwire.execution.executor import Executor
from toolwire.files import beneath
from toolwire.files import excerpt as excerpts
from toolwire.files.beneath import Roots
from toolwire.files.excerpt import read_excerpt
from toolwire.files.replacing import replace_file
from toolwire.files.system_calls import open_beneath
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.running import CURRENT, RunningCall

from . import Found
from .path_shapes import CANARY, PASSWORDS, Tree, filled, made_by_chance, made_by_hand

HANGS = 10.0
"""Seconds after which a call counts as one that does not end."""


def _tools() -> list[tuple[ToolDefinition, dict[str, Any]]]:
    read, listing = reading_tools()
    tools: list[tuple[ToolDefinition, dict[str, Any]]] = [
        (read, {}),
        (listing, {"depth": 2}),
        (searching_tools(None)[0], {"pattern": "7f3|root:"}),
        (writing_tools(None)[0], {"content": "written\n"}),
        (editing_tools(None)[0], {"old_text": "a", "new_text": "edited"}),
    ]
    return [(replace(tool, timeout=HANGS), arguments) for tool, arguments in tools]


def paths(count: int, seed: int) -> Found:
    """E1: `count` paths, those made by hand first, each for five tools in three ways.

    As an agent calls them, with a person who says yes to everything; without the gate, as if it had been passed; and
    as if what the gate found of the path were wrong. The plan: 2,000, some 60 seconds.
    """
    found = Found()
    chance = random.Random(seed)
    shapes = made_by_hand()
    chance.shuffle(shapes)
    shapes = shapes[:count] + [(made_by_chance(chance), True) for _ in range(count - len(shapes))]
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as base:
        tree = Tree(base)
        try:
            asyncio.run(_try_all(tree, shapes, found, outcomes))
        finally:
            tree.close()
    told = ", ".join(f"{times:,} {outcome}" for outcome, times in sorted(outcomes.items()))
    found.words = f"{len(shapes):,} paths, {min(len(made_by_hand()), count):,} of them made by hand; answers: {told}"
    if count >= 100 and not {"done", "refused", "denied"} <= outcomes.keys():
        found.fault(f"not every kind of answer came: {told}")
    return found


async def _try_all(tree: Tree, shapes: list[tuple[str, bool]], found: Found, outcomes: Counter[str]) -> None:
    tools = _tools()
    for shape, may_write in shapes:
        path = filled(shape, tree)
        for tool, more in tools:
            if tool.risk is not Risk.READ and not may_write:
                continue
            for way in (_gated, _straight, _misjudged):
                began = time.monotonic()
                outcome, text = await way(tool, {"path": path, **more}, tree)
                found.runs += 1
                outcomes[outcome] += 1
                where = f"{tool.name} {shape[:80]!r} {way.__name__[1:]}"
                if CANARY in text or PASSWORDS in text:
                    found.fault(f"{where}: it tells what lies outside")
                if outcome == "broken":
                    found.fault(f"{where}: {text[:200]}")
                if time.monotonic() - began > HANGS / 2:
                    found.fault(f"{where}: it took {time.monotonic() - began:.1f} seconds")
                if tool.risk is not Risk.READ:
                    if tree.state() != tree.before:
                        found.fault(f"{where}: something outside has changed")
                        return
                    if outcome == "done":
                        tree.renew()


async def _gated(tool: ToolDefinition, arguments: dict[str, Any], tree: Tree) -> tuple[str, str]:
    async def yes(_: ApprovalRequest) -> bool:
        return True

    gate = Gate(yes, policy=Policy("ask"), workspace=Workspace(tree.ws))
    call = ToolInvocation("c1", tool.name, arguments, 1, "c1", "{}")
    decision = await gate.decide(call, tool)
    if isinstance(decision, Denial):
        return "denied", decision.reason
    result = await Executor(gate).run(decision)
    return ("refused" if result.is_error else "done"), result.content


async def _straight(tool: ToolDefinition, arguments: dict[str, Any], tree: Tree) -> tuple[str, str]:
    return await _called(tool, arguments, tree, {})


async def _misjudged(tool: ToolDefinition, arguments: dict[str, Any], tree: Tree) -> tuple[str, str]:
    path = arguments["path"]
    return await _called(tool, arguments, tree, {path: os.path.join(tree.ws, path)})


async def _called(tool: ToolDefinition, arguments: dict[str, Any], tree: Tree, real: dict[str, str]) -> tuple[str, str]:
    call = RunningCall("c1", tool.name, tree.ws, {}, lambda _: None, roots=(tree.ws,), real=real)
    token = CURRENT.set(call)
    try:
        assert tool.call is not None
        given = tool.call(arguments)
        return "done", str(await given if inspect.isawaitable(given) else given)
    except ToolwireError as error:
        return "refused", error.message
    except Exception as error:
        return "broken", f"{type(error).__name__}: {error}"
    finally:
        CURRENT.reset(token)


# ---- what is swapped while it is opened

_SWAPS = """
import ctypes, os, sys, time
pairs = [tuple(map(os.fsencode, pair.split(":"))) for pair in sys.argv[2:]]
libc = ctypes.CDLL(None, use_errno=True)
end = time.monotonic() + float(sys.argv[1])
parent = os.getppid()
print("ready", flush=True)
while time.monotonic() < end and os.getppid() == parent:
    for _ in range(200):
        for one, other in pairs:
            if libc.renameat2(-100, one, -100, other, 2) != 0:  # exchanges the two
                sys.exit("no exchange: " + os.strerror(ctypes.get_errno()))
"""
"""A program that exchanges pairs of names as fast as it can, for so many seconds."""


class _Race:
    """A workspace in which a folder, and a file, are by turns what they are and links to outside."""

    def __init__(self, base: str) -> None:
        base = os.path.realpath(base)
        self.ws, self.outside = f"{base}/ws", f"{base}/outside"
        for folder in (f"{self.ws}/door/mid", f"{self.ws}/writes/mid", f"{self.outside}/mid"):
            os.makedirs(folder)
        for path in (f"{self.ws}/door/mid/f", f"{self.ws}/leaf", f"{self.ws}/writes/mid/f"):
            _write(path, b"inside")
        _write(f"{self.outside}/mid/f", CANARY.encode())
        os.symlink("../outside", f"{self.ws}/door-link")
        os.symlink("../outside", f"{self.ws}/writes-link")
        os.symlink("../outside/mid/f", f"{self.ws}/leaf-link")
        self.roots = Roots([self.ws])

    def is_untouched(self) -> bool:
        return (
            os.listdir(self.outside) == ["mid"]
            and os.listdir(f"{self.outside}/mid") == ["f"]
            and _read(f"{self.outside}/mid/f") == CANARY.encode()
        )

    @contextmanager
    def swapping(self, seconds: float) -> Iterator[None]:
        pairs = [f"{self.ws}/{name}:{self.ws}/{name}-link" for name in ("door", "leaf", "writes")]
        with subprocess.Popen([sys.executable, "-c", _SWAPS, str(seconds), *pairs], stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                if process.stdout.readline() != b"ready\n":
                    raise RuntimeError("the program that swaps did not start")
                yield
                if process.poll() not in (None, 0):
                    raise RuntimeError("the program that swaps stopped with an error")
            finally:
                process.kill()


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def races(count: int, seed: int) -> Found:
    """E2: `count` times (and some) something is opened while another process swaps it for a link.

    One half by the kernel's call, the other step by step. Each kind of opening must have met both the thing and the
    link, and a program that compares names must have been led outside in the same place: else nothing was tried. The
    plan: 100,000, some 10 seconds.
    """
    found = Found()
    chance = random.Random(seed)
    shared = "/dev/shm"
    where = shared if os.access(shared, os.W_OK) else None  # where waiting for a disk does not slow the race
    met: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=where) as base:
        race = _Race(base)
        with race.swapping(600):
            led = _naive_is_led_outside(race)
            if not led:
                found.fault("comparing names was never led outside: the race was none")
            for number in range(count):
                if number == count // 2:
                    _by_steps(True)
                kind = chance.choices(list(_OPENINGS), weights=[4, 4, 2, 2, 1])[0]
                _open_once(race, kind, number, found, met)
                if number % 1_000 == 0 and not race.is_untouched():
                    found.fault(f"{kind}: something outside has changed")
            _by_steps(False)
            for kind in _OPENINGS:  # on a busy machine the other process may not have had its turn yet
                end = time.monotonic() + 10
                while not (met[f"{kind} inside"] and met[f"{kind} link"]):
                    if time.monotonic() > end:
                        found.fault(f"{kind}: it did not meet both, the thing and the link")
                        break
                    _open_once(race, kind, found.runs, found, met)
        if not race.is_untouched():
            found.fault("something outside has changed")
    links = sum(times for outcome, times in met.items() if outcome.endswith(" link"))
    found.words = (
        f"{links:,} of {found.runs:,} met a link and were refused, in {time.monotonic() - began:.0f} s; comparing "
        f"names was led outside after {led:,} tries"
    )
    return found


_KERNEL = open_beneath


def _by_steps(on: bool) -> None:
    setattr(beneath, "open_beneath", (lambda: None) if on else _KERNEL)  # noqa: B010


def _naive_is_led_outside(race: _Race) -> int:
    """After how many tries a path that was compared with the root, then opened, gave what lies outside; 0: never."""
    end = time.monotonic() + 10
    tries = 0
    while time.monotonic() < end:
        tries += 1
        path = f"{race.ws}/door/mid/f"
        with suppress(OSError):
            if os.path.realpath(path).startswith(f"{race.ws}/") and _read(path) == CANARY.encode():
                return tries
    return 0


def _read_file(race: _Race, path: str) -> str:
    with race.roots.file(path) as descriptor:
        text = os.read(descriptor, 100)
    return "inside" if text != CANARY.encode() else "it read what lies outside"


def _list(race: _Race) -> str:
    with race.roots.folder(f"{race.ws}/door/mid") as descriptor:
        here = os.fstat(descriptor)
    return "inside" if not os.path.samestat(here, os.stat(f"{race.outside}/mid")) else "it listed what lies outside"


def _create(race: _Race, number: int) -> str:
    with race.roots.parent(f"{race.ws}/writes/made/new{number}", create=True) as (folder, name):
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, dir_fd=folder))
    return "inside"


def _replace(race: _Race, number: int) -> str:
    done = replace_file(race.roots, f"{race.ws}/writes/mid/f", lambda _: b"written %d" % number)
    return "inside" if done.before != CANARY.encode() else "it read what lies outside"


_OPENINGS: dict[str, Callable[[_Race, int], str]] = {
    "a file in a folder that is swapped": lambda race, _: _read_file(race, f"{race.ws}/door/mid/f"),
    "a file that is swapped": lambda race, _: _read_file(race, f"{race.ws}/leaf"),
    "a folder in one that is swapped": lambda race, _: _list(race),
    "a new file in a folder that is swapped": _create,
    "a file replaced in a folder that is swapped": _replace,
}


def _open_once(race: _Race, kind: str, number: int, found: Found, met: Counter[str]) -> None:
    try:
        outcome = _OPENINGS[kind](race, number)
    except FileRefused as error:
        outcome = "link" if error.facts.get("why") == "link" else error.message
    met[f"{kind} {outcome}"] += 1
    found.runs += 1
    if outcome not in ("inside", "link"):
        found.fault(f"{kind}: {outcome}")


# ---- files of any size


def large_file(count: int, seed: int) -> Found:
    """Lines of a file of `count` megabytes, most of it a hole, from the start and the end, in bounded memory.

    The plan: 10,000, some 10 seconds.
    """
    found = Found()
    size, seconds = count * 1_000_000, excerpts.SECONDS
    lines = random.Random(seed).randint(10_000, 20_000)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(os.path.realpath(folder), "large")
        with open(path, "wb") as file:
            file.writelines(b"line %d\n" % number for number in range(1, lines + 1))
            file.seek(size - 18)
            file.write(b"\ntail one\ntail two")
        before, began = _memory(), time.monotonic()
        setattr(excerpts, "SECONDS", 600.0)  # noqa: B010  # so that a busy machine finds them too
        wanted = {1: "line 1", lines: f"line {lines}", -2: "tail one", lines + 3: "tail two"}
        with Roots([os.path.dirname(path)]).file(path) as descriptor:
            for start, text in wanted.items():
                excerpt = read_excerpt(descriptor, start, 1, 90_000)
                found.runs += 1
                if excerpt.lines != [text]:
                    found.fault(f"line {start} is {excerpt.lines[:1]}, not {text!r}")
            excerpt = read_excerpt(descriptor, lines + 1, 5, 90_000)
            if not excerpt.lines or not excerpt.lines[0].startswith("[binary data: "):
                found.fault(f"what is no text is shown as {str(excerpt.lines)[:100]}")
        setattr(excerpts, "SECONDS", seconds)  # noqa: B010
        grown = _memory() - before
    if grown > 20_000_000:
        found.fault(f"memory grew by {grown:,} bytes")
    found.words = f"{size:,} bytes in {time.monotonic() - began:.1f} s; memory grew by {max(grown, 0):,} bytes"
    return found


def _memory() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
