"""How the time grows with the input: every path must stay linear, where the usual patterns are quadratic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import process_time

import jiter
import msgspec

from toolwire import Stream

from .payloads import READ, argument_text, pieces
from .report import Verdict, table
from .wires import Subject

MB = 1_000_000
TARGET, DECADE_TARGET = 2.2, 12.0
"""For twice the input, and for ten times."""

WORDS = """
Twice the input must take twice the time. The last row is the usual way to show arguments while they arrive, a partial
parse of all the text so far at each delta, here with `jiter`, which is written in Rust.
"""
DECADE_WORDS = """
Arguments of 2 kB to 2 MB in deltas of 8 characters, the way models write them: ten times the arguments must take ten
times the time. A format that sends arguments whole has no row.
"""

Step = Callable[[], None]


class Growth(msgspec.Struct):
    """Times of one path at growing sizes."""

    wire: str
    name: str
    sizes: list[int]
    seconds: list[float]

    @property
    def factors(self) -> list[float]:
        """The time of each size against that of the size before."""
        return [after / before for before, after in zip(self.seconds, self.seconds[1:], strict=False)]


def measure(wire: str, name: str, sizes: Sequence[int], steps: Sequence[Step], rounds: int = 3) -> Growth:
    """The least processor time of each size, the sizes taken in turn so that a slow moment hits all alike."""
    least = [float("inf")] * len(sizes)
    for _ in range(rounds):
        for number, step in enumerate(steps):
            started = process_time()
            step()
            least[number] = min(least[number], process_time() - started)
    return Growth(wire, name, list(sizes), least)


def read_all(wire: str, reads: Iterable[bytes], *, live: bool = False) -> Stream:
    """Feed a stream whose events nobody keeps; it must end properly."""
    stream = Stream(wire, live_arguments=live)
    for data in reads:
        stream.feed(data)
    stream.close()
    if not stream.complete:
        raise AssertionError(f"the stream did not end properly: {stream.error}")
    return stream


def reading(wire: str, body: bytes, *, calls: int, live: bool = False, read: int = READ) -> Step:
    """Reads a body that makes so many calls."""
    reads = pieces(body, read)

    def step() -> None:
        if len(read_all(wire, reads, live=live).invocations) != calls:
            raise AssertionError("the calls were not read")

    return step


def wire_growths(subject: Subject, sizes: Sequence[int]) -> Iterator[Growth]:
    """Every path of one format: plain, its arguments live too, and one long line in tiny reads."""
    wire = subject.name
    for name, make in subject.growths.items():
        calls = int("arguments" in name)
        bodies = [make(size) for size in sizes]
        for live in (False, True)[: 1 + calls]:
            steps = [reading(wire, body, calls=calls, live=live) for body in bodies]
            yield measure(wire, f"{name}{', live' * live}", sizes, steps)
    tiny = [2 * size for size in sizes[-3:]]
    steps = [reading(wire, subject.long_text(size), calls=0, read=16) for size in tiny]
    yield measure(wire, "one piece of text in 16-byte reads", tiny, steps, rounds=2)


def partial_parses(size: int) -> Step:
    """The usual pattern: parse the argument text so far at every delta of 16 characters."""
    text = argument_text(size)
    deltas = [text[at : at + 16].encode() for at in range(0, len(text), 16)]

    def step() -> None:
        so_far = b""
        for delta in deltas:
            so_far += delta
            jiter.from_json(so_far, partial_mode="trailing-strings")

    return step


DECADES = [2_000, 20_000, 200_000, 2 * MB]


def decades(subject: Subject) -> Growth | None:
    """Arguments in deltas of 8 characters, each size ten times the one before; None where they come whole."""
    make = subject.calls_answer
    if make is None or subject.whole_calls:
        return None
    steps = [reading(subject.name, make(size, 8, 1), calls=1) for size in DECADES]
    return measure(subject.name, "arguments, 8-character deltas", DECADES, steps, rounds=5)


QUARTER_TO_TWO = [MB // 4, MB // 2, MB, 2 * MB]


def growths(subjects: Sequence[Subject]) -> list[Growth]:
    """Every path of these formats; the last row is the usual pattern."""
    made = [growth for subject in subjects for growth in wire_growths(subject, QUARTER_TO_TWO)]
    small = [MB // 80, MB // 40, MB // 20, MB // 10]
    steps = [partial_parses(size) for size in small]
    made.append(measure("", "for comparison: partial JSON parsed again at each delta", small, steps))
    return made


def growth_table(growths: Sequence[Growth], factor: str = "t(2n)/t(n)") -> str:
    """The factor for each step, and the time of the largest."""
    rows = [
        [
            growth.wire,
            growth.name,
            " → ".join(f"{size / MB:g}" for size in growth.sizes) + " MB",
            ", ".join(f"{one:.2f}" for one in growth.factors),
            f"{growth.seconds[-1]:.2f} s",
        ]
        for growth in growths
    ]
    return table(["", "", "sizes", factor, "the largest"], rows)


def growth_verdicts(growths: Sequence[Growth], factor: str = "t(2n)/t(n)", target: float = TARGET) -> list[Verdict]:
    """The worst step of each against the target."""
    return [
        Verdict(
            f"{growth.wire}, {growth.name}: {factor} at most {max(growth.factors):.2f}, target {target:g}",
            max(growth.factors) <= target,
        )
        for growth in growths
        if growth.wire
    ]
