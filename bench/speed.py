"""How fast bytes become events, against the plain JSON parse of the same payloads and against the official SDK.

All contenders run in turn, round by round, in one process on the same bytes; each is given its least time. The
result is printed and written to docs/performance.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from time import process_time

import msgspec
import orjson

from toolwire import Stream

from .growth import MB, Growth, all_growths
from .payloads import PACKET, READ, call_stream, corpus_body, corpus_rows, event_data, pieces, text_stream
from .peers import SDK, sdk_accumulate, sdk_read
from .report import machine, table, write_document

ROUNDS = 15
PEER_ROUNDS = 4
TARGET = 3.0
GROWTH_TARGET = 2.2


SPEED_WORDS = f"""
The floor is the cheapest thing that any decoder must do: one fast JSON parse of each payload, already cut out of the
stream, the result thrown away. Toolwire's figure holds all of its work: framing, UTF-8, bounds, chunks, tool calls,
segments, events, invocations. The SDK's figure is its own stream class over the same reads in memory, without a
network; the second row adds its own accumulation.

All contenders run in turn in one process on one answer, {ROUNDS} rounds (the SDK {PEER_ROUNDS}), once to get warm and
once by the clock, with the garbage collector on, then on the next answer; the figure is the sum of the least processor
times, as a multiple of the floor, then in microseconds per event. Text and tool calls are generated (253-byte chunks
with OpenAI's padding); the recordings are real answers of many services: all of the core set that every contender can
read to the end, most of them short. The target, at most 3 × the floor, is for reads of 16 KiB; smaller reads are shown
too.
"""

GROWTH_WORDS = """
Twice the input must take twice the time. The last row is the usual way to show arguments while they arrive, a partial
parse of all the text so far at each delta, here with `jiter`, which is written in Rust.
"""


class Input(msgspec.Struct):
    """Bodies, each an answer of its own."""

    name: str
    bodies: list[bytes]


class Timing(msgspec.Struct):
    """One input: the number of events, and the least microseconds per event of each contender."""

    name: str
    events: int
    size: int
    per_event: dict[str, float]

    def ratio(self, contender: str) -> float:
        """Times the floor."""
        return self.per_event[contender] / self.per_event[FLOOR]


FLOOR = "`orjson.loads` of each payload (the floor)"
OURS = "toolwire, 16 KiB reads"
OURS_PACKETS = "toolwire, 1,400-byte reads"
OURS_LIVE = "toolwire, 16 KiB reads, live arguments"
STDLIB = "`json.loads` of each payload"
PEER = f"{SDK}: chunks"
PEER_WHOLE = f"{SDK}: chunks, accumulated"
CONTENDERS = [FLOOR, STDLIB, OURS, OURS_PACKETS, OURS_LIVE, PEER, PEER_WHOLE]


def parse_all(loads: Callable[[bytes], object], payloads: Sequence[bytes]) -> None:
    """Only the JSON: no framing, no events, nothing kept."""
    for payload in payloads:
        loads(payload)


def stream_all(reads: Sequence[bytes], *, live: bool = False) -> None:
    """Bytes to events, which are dropped as a consumer drops them."""
    stream = Stream("openai-chat", live_arguments=live)
    for data in reads:
        stream.feed(data)
    stream.close()


def is_plain(body: bytes) -> bool:
    """Whether every contender can read this body to its end, so that all do the same work."""
    try:
        parse_all(orjson.loads, event_data(body))
        sdk_accumulate([body])
    except Exception:
        return False
    stream = Stream("openai-chat")
    stream.feed(body)
    stream.close()
    return stream.complete


def inputs() -> list[Input]:
    """The generated streams, and the recordings that every contender can read."""
    made = [Input("text", [text_stream()]), Input("tool calls", [call_stream()])]
    recorded = [body for body in map(corpus_body, corpus_rows(core=True)) if is_plain(body)]
    if recorded:
        made.append(Input(f"{len(recorded)} recordings", recorded))
    return made


def time_input(given: Input) -> Timing:
    """Each body by itself: all contenders in turn, `ROUNDS` times, the least time of each; then the sum over bodies."""
    total = dict.fromkeys(CONTENDERS, 0.0)
    events = 0
    for body in given.bodies:
        payloads = event_data(body)
        events += len(payloads)
        for name, seconds in least_times(payloads, pieces(body, READ), pieces(body, PACKET)).items():
            total[name] += seconds
    size = sum(map(len, given.bodies))
    return Timing(given.name, events, size, {name: 1e6 * seconds / events for name, seconds in total.items()})


def least_times(payloads: Sequence[bytes], reads: Sequence[bytes], packets: Sequence[bytes]) -> dict[str, float]:
    """The least processor time of each contender for one body."""
    light: dict[str, Callable[[], object]] = {
        FLOOR: lambda: parse_all(orjson.loads, payloads),
        STDLIB: lambda: parse_all(json.loads, payloads),
        OURS: lambda: stream_all(reads),
        OURS_PACKETS: lambda: stream_all(packets),
        OURS_LIVE: lambda: stream_all(reads, live=True),
    }
    heavy: dict[str, Callable[[], object]] = {
        PEER: lambda: sdk_read(reads),
        PEER_WHOLE: lambda: sdk_accumulate(reads),
    }
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
    rows = [
        [name, *(f"**{timing.ratio(name):.2f} ×** ({timing.per_event[name]:.2f} µs)" for timing in timings)]
        for name in CONTENDERS
    ]
    return table(head, rows)


def growth_table(growths: Sequence[Growth]) -> str:
    """t(2n)/t(n) for each doubling, and the time of the largest."""
    rows = [
        [
            growth.name,
            " → ".join(f"{size / MB:g}" for size in growth.sizes) + " MB",
            ", ".join(f"{factor:.2f}" for factor in growth.factors),
            f"{growth.seconds[-1]:.2f} s",
        ]
        for growth in growths
    ]
    return table(["", "sizes", "t(2n)/t(n)", "the largest"], rows)


def verdicts(timings: Sequence[Timing], growths: Sequence[Growth]) -> list[tuple[str, bool]]:
    """Every target with whether it holds."""
    made = [
        (
            f"{timing.name}, 16 KiB reads: {timing.ratio(OURS):.2f} × the floor, target at most {TARGET:g} ×",
            timing.ratio(OURS) <= TARGET,
        )
        for timing in timings
    ]
    for growth in growths[:-1]:
        worst = max(growth.factors)
        made.append(
            (f"{growth.name}: t(2n)/t(n) at most {worst:.2f}, target {GROWTH_TARGET:g}", worst <= GROWTH_TARGET)
        )
    return made


def main() -> int:
    """Measure, print, write; 1 when a target is missed."""
    timings = [time_input(given) for given in inputs()]
    growths = all_growths()
    results = verdicts(timings, growths)
    write_document(
        "performance.md",
        [
            "# Performance",
            f"Written by `make bench` (`python -m bench.speed`); run it to repeat every number. On {machine()}.",
            "## Bytes to events",
            SPEED_WORDS,
            speed_table(timings),
            "## Growth",
            GROWTH_WORDS,
            growth_table(growths),
            "## Targets",
            "\n".join(f"- {'holds' if holds else 'MISSED'}: {words}" for words, holds in results),
        ],
    )
    return 0 if all(holds for _, holds in results) else 1


if __name__ == "__main__":
    sys.exit(main())
