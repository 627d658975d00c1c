"""How the time grows with the input: every path must stay linear, where the usual patterns are quadratic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import process_time

import jiter
import msgspec

from toolwire import Stream

from .payloads import argument_text, call_payloads, chunk, dump, padded, pieces, sse

MB = 1_000_000

Step = Callable[[], None]


class Growth(msgspec.Struct):
    """Times of one path at growing sizes."""

    name: str
    sizes: list[int]
    seconds: list[float]

    @property
    def factors(self) -> list[float]:
        """t(2n)/t(n) for each doubling."""
        return [after / before for before, after in zip(self.seconds, self.seconds[1:], strict=False)]


def measure(name: str, sizes: Sequence[int], prepare: Callable[[int], Step], rounds: int = 3) -> Growth:
    """The least processor time of each size, the sizes taken in turn so that a slow moment hits all alike."""
    steps = [prepare(size) for size in sizes]
    least = [float("inf")] * len(sizes)
    for _ in range(rounds):
        for number, step in enumerate(steps):
            started = process_time()
            step()
            least[number] = min(least[number], process_time() - started)
    return Growth(name, list(sizes), least)


def read_all(reads: Iterable[bytes], *, live: bool = False) -> Stream:
    """Feed a stream whose events nobody keeps; it must end properly."""
    stream = Stream("openai-chat", live_arguments=live)
    for data in reads:
        stream.feed(data)
    stream.close()
    if not stream.complete:
        raise AssertionError(f"the stream did not end properly: {stream.error}")
    return stream


def arguments(piece: int, *, live: bool = False) -> Callable[[int], Step]:
    """One call whose arguments come `piece` characters at a time."""

    def prepare(size: int) -> Step:
        reads = pieces(sse(call_payloads(argument_text(size), piece)), 16 * 1024)

        def step() -> None:
            if len(read_all(reads, live=live).invocations) != 1:
                raise AssertionError("the call was not read")

        return step

    return prepare


def long_text(size: int) -> Step:
    """Text of `size` characters, 16 in a delta."""
    deltas = (padded(chunk({"content": f"{number:15} "}), number) for number in range(size // 16))
    reads = pieces(sse([*deltas, padded(chunk({}, finish="stop"), 0)]), 16 * 1024)
    return lambda: void(read_all(reads))


def long_line(size: int) -> Step:
    """One line of `size` bytes that arrives 16 bytes at a time."""
    body = sse([dump(chunk({"content": "x" * size})), dump(chunk({}, finish="stop"))])
    reads = pieces(body, 16)
    return lambda: void(read_all(reads))


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


def void(_: object) -> None:
    """For steps whose result nobody needs."""


QUARTER_TO_TWO = [MB // 4, MB // 2, MB, 2 * MB]


def all_growths() -> list[Growth]:
    """The growth table of docs/performance.md."""
    return [
        measure("arguments, 16-character deltas", QUARTER_TO_TWO, arguments(16)),
        measure("the same with live arguments", QUARTER_TO_TWO, arguments(16, live=True)),
        measure("text, 16-character deltas", QUARTER_TO_TWO, long_text),
        measure("one line in 16-byte reads", [MB, 2 * MB, 4 * MB, 8 * MB], long_line),
        measure(
            "for comparison: partial JSON parsed again at each delta",
            [MB // 80, MB // 40, MB // 20, MB // 10],
            partial_parses,
        ),
    ]
