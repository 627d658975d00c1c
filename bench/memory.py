"""What one stream in the middle of an answer holds in memory, alone and among ten thousand."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence

import msgspec

from toolwire import Stream

from .loopback.answers import HELD_ARGUMENTS, HELD_CALLS, HELD_DELTA, HELD_WIRE
from .loopback.race import Ports
from .payloads import PACKET, ROOT, pieces
from .report import Verdict, table
from .wires import Subject

KB = 1_000
MANY = 10_000
ALONE = 200
"""Streams held at once to weigh one."""
TEXT = 2_000
"""Characters of the answer of text."""
LONGER = 600
TARGET = 10 * KB


WORDS = f"""
{MANY:,} answers ({HELD_CALLS} calls with {HELD_ARGUMENTS} characters of arguments each, {HELD_WIRE}) are asked for by
one process. The server sends each its first half, and the rest only when every one of them is in its middle; there the
memory of the process is read, and compared with that of a process that reads the same sockets with the same HTTP
client and throws the bytes away. The difference is Toolwire's own part, the answer so far included.
"""
WEIGHT_WORDS = """
The same without a network, for every format: what a `Stream` and all its state hold, given reads of 1,400 bytes.
Python keeps a text with a single emoji at four bytes a character, and these have some. The arguments of a call that has
ended are held several times (as they came, joined, parsed), so the longer calls, which have no target, weigh more;
those that were recorded have 22 characters on average. Toolwire's own part is what is not the answer, held once.
"""


class Weight(msgspec.Struct, frozen=True):
    """Bytes that one stream holds half-way through an answer, and those of the answer so far."""

    wire: str
    name: str
    held: float
    answer: int

    aimed: bool = True
    """Whether the target is for this."""

    @property
    def own(self) -> float:
        """What is not the answer itself."""
        return self.held - self.answer


class Crowd(msgspec.Struct, frozen=True):
    """Many answers at once in one process: how many ended properly, and the memory in their middle."""

    complete: int
    before: int
    between: int

    @property
    def each(self) -> float:
        """Bytes for one stream."""
        return (self.between - self.before) / MANY


def weigh(subject: Subject) -> list[Weight]:
    """The `Stream` and all its state, half-way through text and half-way through two calls; reads as packets come."""
    if subject.text_answer is None or subject.calls_answer is None:
        return []
    sample = 40
    length = len(_fed(subject.name, subject.text_answer(sample)).summary()["text"])
    text = subject.text_answer(TEXT * sample // length)
    calls = subject.calls_answer(HELD_ARGUMENTS, HELD_DELTA, HELD_CALLS)
    longer = subject.calls_answer(LONGER, HELD_DELTA, HELD_CALLS)
    return [
        _weight(subject.name, f"{TEXT:,} characters of text", text),
        _weight(subject.name, f"{HELD_CALLS} calls of {HELD_ARGUMENTS} characters", calls),
        _weight(subject.name, f"{HELD_CALLS} calls of {LONGER} characters", longer, aimed=False),
    ]


def _fed(wire: str, body: bytes) -> Stream:
    stream = Stream(wire)
    for data in pieces(body, PACKET):
        stream.feed(data)
    return stream


def _weight(wire: str, name: str, body: bytes, *, aimed: bool = True) -> Weight:
    half = body[: len(body) // 2]
    kept = [_fed(wire, half)]  # what every stream shares is made by the first
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    kept += [_fed(wire, half) for _ in range(ALONE)]
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Weight(wire, name, (after - before) / ALONE, _answer_size(kept[0]), aimed)


def _answer_size(stream: Stream) -> int:
    """Bytes of the answer so far, each text once."""
    said = stream.summary()
    texts = [said["text"], said["reasoning"], *(call["arguments"] for call in said["calls"])]
    return sum(map(sys.getsizeof, filter(None, texts)))


def crowd(ports: Ports, reader: str) -> Crowd:
    """Ten thousand answers over the loopback, read by Toolwire or by its HTTP client alone."""
    command = [sys.executable, "-m", "bench.loopback.many", reader, str(ports["held"]), str(MANY)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f"{MANY:,} streams with {reader} failed:\n{ended.stderr}")
    return msgspec.convert(json.loads(ended.stdout), Crowd)


def crowd_table(ours: Crowd, bare: Crowd) -> str:
    """Both clients, and the difference: Toolwire's own part."""
    rows = [
        [name, f"{found.complete:,} of {MANY:,}", f"{found.each / KB:.1f} kB"]
        for name, found in (("toolwire over HTTP", ours), ("aiohttp alone, the bytes thrown away", bare))
    ]
    rows.append(["**Toolwire's own part**", "", f"**{(ours.each - bare.each) / KB:.1f} kB**"])
    return table(["", "complete", "memory for each stream"], rows)


def weight_table(weights: Sequence[Weight]) -> str:
    """Every format."""
    rows = [
        [one.wire, one.name, f"{one.held / KB:.1f} kB", f"{one.answer / KB:.1f} kB", f"**{one.own / KB:.1f} kB**"]
        for one in weights
    ]
    return table(["", "half-way through", "held", "the answer so far", "Toolwire's own part"], rows)


def memory_verdicts(ours: Crowd | None, bare: Crowd | None, weights: Sequence[Weight]) -> list[Verdict]:
    """All complete, and Toolwire's own part within its bound."""
    made = []
    if ours is not None and bare is not None:
        own = ours.each - bare.each
        made.append(Verdict(f"{ours.complete:,} of {MANY:,} concurrent streams complete", ours.complete == MANY))
        words = f"{own / KB:.1f} kB are Toolwire's own part of each of {MANY:,} concurrent streams"
        made.append(Verdict(f"{words}, target at most {TARGET / KB:g} kB", own <= TARGET))
    for one in weights:
        if one.aimed:
            words = f"{one.wire}, half-way through {one.name}: a stream holds {one.own / KB:.1f} kB besides the answer"
            made.append(Verdict(f"{words}, target at most {TARGET / KB:g} kB", one.own <= TARGET))
    return made
