"""How fast bytes in memory become events, against the plain JSON parse of the same payloads and the official SDKs.

All contenders run in turn, round by round, in one process on the same bytes; each is given its least time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from time import process_time

import msgspec

from toolwire import Stream

from .payloads import PACKET, READ, payloads, pieces
from .peers import PEERS, Peer
from .report import Verdict, table
from .wires import Subject

ROUNDS = 15
PEER_ROUNDS = 3
TARGET = 3.0
LONG = 50
"""Events of an answer from which on the cost of each counts more than that of the answer."""


WORDS = f"""
The floor is the cheapest thing that any decoder must do: one fast JSON parse of each payload, already cut out of the
stream, the result thrown away. Toolwire's figure holds all of its work: framing, UTF-8, bounds, chunks, tool calls,
segments, events, invocations. The SDK's figure is its own client over the same reads in memory, without a network;
where it has an accumulation of its own, the next row adds that.

All contenders run in turn in one process on one answer, {ROUNDS} rounds (the SDK {PEER_ROUNDS}), once to get warm and
once by the clock, with the garbage collector on, then on the next answer; the figure is the sum of the least processor
times, as a multiple of the floor, then in microseconds per event. Text, tool calls and reasoning are generated as the
provider sends them (its padding, its line ends, its ids); the recordings are real answers of many services: all of the
core set that every contender can read to the end. The target, at most 3 × the floor, is for reads of 16 KiB and answers
of {LONG} events or more. What an answer costs whatever its length (some 20 to 50 µs for its stream, segments, calls and
end) is a large multiple of parsing a handful of payloads, so the shorter recordings are shown without a target.
The floor leaves out the two checksums of every one of Bedrock's messages, and the JSON inside the JSON of a model that
is invoked there; Toolwire reads both.
"""


class Input(msgspec.Struct):
    """Bodies, each an answer of its own."""

    name: str
    bodies: list[bytes]
    aimed: bool = True
    """Whether the target is for these."""


class Timing(msgspec.Struct):
    """One input: the number of events, and the least microseconds per event of each contender."""

    wire: str
    name: str
    events: int
    size: int
    per_event: dict[str, float]
    aimed: bool

    def ratio(self, contender: str) -> float:
        """Times the floor."""
        return self.per_event[contender] / self.per_event[FLOOR]


FLOOR = "`orjson.loads` of each payload (the floor)"
OURS = "toolwire, 16 KiB reads"
OURS_PACKETS = "toolwire, 1,400-byte reads"
OURS_LIVE = "toolwire, 16 KiB reads, live arguments"
STDLIB = "`json.loads` of each payload"


def parse_all(loads: Callable[[bytes], object], given: Sequence[bytes]) -> None:
    """Only the JSON: no framing, no events, nothing kept."""
    for payload in given:
        loads(payload)


def stream_all(wire: str, reads: Sequence[bytes], *, live: bool = False) -> bool:
    """Bytes to events, which are dropped as a consumer drops them; returns whether the answer was complete."""
    stream = Stream(wire, live_arguments=live)
    for data in reads:
        stream.feed(data)
    stream.close()
    return stream.complete


def is_plain(wire: str, body: bytes, peer: Peer | None) -> bool:
    """Whether every contender can read this body to its end, so that all do the same work."""
    import orjson

    try:
        parse_all(orjson.loads, payloads(body))
        if peer is not None:
            (peer.whole or peer.chunks)([body])
    except Exception:
        return False
    return stream_all(wire, [body])


def inputs(subject: Subject, peer: Peer | None) -> list[Input]:
    """The generated streams, and the recordings that every contender can read."""
    made = [Input(name, [sample()]) for name, sample in subject.samples.items()]
    recorded = [body for _, body in subject.recordings(core=True) if is_plain(subject.name, body, peer)]
    long = [body for body in recorded if len(payloads(body)) >= LONG]
    short = [body for body in recorded if len(payloads(body)) < LONG]
    if long:
        made.append(Input(f"{len(long)} long recordings", long))
    if short:
        made.append(Input(f"{len(short)} short recordings", short, aimed=False))
    return made


def time_input(wire: str, given: Input, peer: Peer | None) -> Timing:
    """Each body by itself: all contenders in turn, `ROUNDS` times, the least time of each; then the sum over bodies."""
    if peer is not None and not is_plain(wire, given.bodies[0], peer):
        peer = None  # the SDK does not ask for this form of the answer
    total: dict[str, float] = {}
    events = 0
    for body in given.bodies:
        parts = payloads(body)
        events += len(parts)
        for name, seconds in least_times(wire, parts, pieces(body, READ), pieces(body, PACKET), peer).items():
            total[name] = total.get(name, 0.0) + seconds
    size = sum(map(len, given.bodies))
    per_event = {name: 1e6 * seconds / events for name, seconds in total.items()}
    return Timing(wire, given.name, events, size, per_event, given.aimed)


def least_times(
    wire: str, parts: Sequence[bytes], reads: Sequence[bytes], packets: Sequence[bytes], peer: Peer | None
) -> dict[str, float]:
    """The least processor time of each contender for one body."""
    import orjson

    light: dict[str, Callable[[], object]] = {
        FLOOR: lambda: parse_all(orjson.loads, parts),
        STDLIB: lambda: parse_all(json.loads, parts),
        OURS: lambda: stream_all(wire, reads),
        OURS_PACKETS: lambda: stream_all(wire, packets),
        OURS_LIVE: lambda: stream_all(wire, reads, live=True),
    }
    heavy: dict[str, Callable[[], object]] = {}
    if peer is not None:
        chunks, whole = peer.chunks, peer.whole
        heavy[f"{peer.name}: chunks"] = lambda: chunks(reads)
        if whole is not None:
            heavy[f"{peer.name}: chunks, accumulated"] = lambda: whole(reads)
    # Apart, because the heavy ones leave the processor's caches full of their own code.
    return in_turn(light, ROUNDS) | in_turn(heavy, PEER_ROUNDS)


def in_turn(work: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Round by round, each once to get warm and once by the clock; the least time of each."""
    least = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, step in work.items():
            step()
            started = process_time()
            step()
            least[name] = min(least[name], process_time() - started)
    return least


def speed_table(timings: Sequence[Timing]) -> str:
    """Ratios first, microseconds per event in brackets."""
    head = ["", *(f"{timing.name} ({timing.events:,} events, {timing.size // 1000:,} kB)" for timing in timings)]
    names = max((timing.per_event for timing in timings), key=len)
    rows = [[name, *(_cell(timing, name) for timing in timings)] for name in names]
    return table(head, rows)


def _cell(timing: Timing, name: str) -> str:
    if name not in timing.per_event:
        return "cannot read it"
    return f"**{timing.ratio(name):.2f} ×** ({timing.per_event[name]:.2f} µs)"


def time_wire(subject: Subject) -> list[Timing]:
    """All inputs of one format."""
    peer = PEERS.get(subject.name)
    return [time_input(subject.name, given, peer) for given in inputs(subject, peer)]


def speed_verdicts(timings: Sequence[Timing]) -> list[Verdict]:
    """The target for each input that has one."""
    return [
        Verdict(
            f"{timing.wire}, {timing.name}, 16 KiB reads: {timing.ratio(OURS):.2f} × the floor, "
            f"target at most {TARGET:g} ×",
            timing.ratio(OURS) <= TARGET,
        )
        for timing in timings
        if timing.aimed
    ]
