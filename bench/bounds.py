"""Endless input of every kind: each must end in a typed error within its bound and one read."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

from toolwire import Stream
from toolwire.errors import LimitExceeded
from toolwire.limits import DEFAULT_LIMITS as BOUNDS
from toolwire.limits import MIB, Limits

from .wires import SUBJECTS
from .wires.subject import BOUNDS as TIGHT

READ = 64 * 1024
ENDLESS = 100_000_000
CHAT = "openai-chat"


class Endless(msgspec.Struct):
    """How a body without end was met."""

    name: str
    error: str
    """What the typed error says; empty when there was none."""
    taken: int
    """Bytes taken before it came."""
    bound: int
    """Bytes that may be taken: the limit as it stands on the wire, and one read."""
    memory: int = 0
    """Bytes by which the process grew, where that was measured."""
    memory_bound: int = 0

    @property
    def holds(self) -> bool:
        """A typed error, in time, in bounded memory."""
        return bool(self.error) and self.taken <= self.bound and self.memory <= self.memory_bound

    def __str__(self) -> str:
        memory = (
            f", {self.memory / 1e6:.1f} MB of memory (at most {self.memory_bound / 1e6:.1f})" if self.memory else ""
        )
        said = self.error or "no LimitExceeded"
        return f"{self.name}: {said} after {self.taken:,} bytes (at most {self.bound:,}){memory}"


def meet(wire: str, name: str, reads: Iterable[bytes], bound: int, limits: Limits = BOUNDS) -> Endless:
    """Feed until the stream breaks off; the reads are longer than any bound."""
    stream = Stream(wire, limits=limits, live_arguments=True)
    taken = 0
    for data in reads:
        taken += len(data)
        stream.feed(data)
        if stream.error is not None or stream.complete or taken > bound + 2 * READ:
            break
    error = stream.error
    said = error.message if isinstance(error, LimitExceeded) else ""
    return Endless(f"{wire}, {name}", said, taken, bound + READ)


def endless_line() -> Endless:
    """100 MB without a line end, in a process of its own so that its memory can be told."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_measured_line).result()


def endless_bodies() -> list[Endless]:
    """Every kind of endless input."""
    made = [endless_line()]
    made += [meet(CHAT, name, source(), bound) for name, (source, bound) in _FRAMING.items()]
    made.append(meet(CHAT, "an event of empty data lines", _short_data_lines(), 5 * MIB, Limits(event=MIB)))
    for wire, subject in SUBJECTS.items():
        for name, (source, bound) in subject.endless.items():
            made.append(meet(wire, f"{name} without end", source(), bound, TIGHT))
    return made


def _measured_line() -> Endless:
    meet(CHAT, "warm-up", [b"data: {}\n\n"], 0)
    before = _memory("VmRSS")
    data = b"x" * READ
    met = meet(CHAT, "100 MB without a line end", (data for _ in range(ENDLESS // READ)), BOUNDS.line)
    met.memory = max(_memory("VmHWM") - before, 1)
    met.memory_bound = 2 * BOUNDS.line
    return met


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


def _data_line() -> Iterator[bytes]:
    yield b"data: "
    while True:
        yield b"x" * READ


def _data_lines() -> Iterator[bytes]:
    while True:
        yield b"data: " + b"x" * (READ - 7) + b"\n"


def _short_data_lines() -> Iterator[bytes]:
    while True:
        yield b"data\n" * (READ // 5)


def _comments() -> Iterator[bytes]:
    while True:
        yield b": " + b"x" * (READ - 3) + b"\n"


_FRAMING: dict[str, tuple[Callable[[], Iterator[bytes]], int]] = {
    "a data line without end": (_data_line, BOUNDS.line),
    "an event of data lines without end": (_data_lines, BOUNDS.event + 6 * (BOUNDS.event // READ)),
    "comments without end": (_comments, BOUNDS.stream),
}
