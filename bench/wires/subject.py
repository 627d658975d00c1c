"""What the bench must know of a wire format to measure it, to break it and to judge it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from toolwire.limits import MIB, Limits

from ..payloads import corpus_body, corpus_rows, dump

LARGEST = 20_000
"""Bytes of a seed: longer recordings are shortened."""

BOUNDS = Limits(line=2 * MIB, event=2 * MIB, stream=8 * MIB, arguments=MIB, segments=2_000, blocks=4_000)
"""For bodies without end: tighter than the defaults, so that each kind is tried in a moment."""

MARK = "\x01"
"""Stands in a value where another value goes."""

PARIS = '{"city": "Paris"}'
CALL_NAMES = ["get_weather", "get_weather", "get_", "weather", "write_file", "", None, "run_bash", "n" * 90]
CALL_IDS = ["call_1", "call_2", "call_3", "", None, "s0", "s1", "x" * 600]
ARGUMENT_PIECES = [
    *(PARIS, '{"ci', 'ty": "', 'Paris"}', "{}", "", None, "null", "}", "[1]", '{"city": 1}', " ", "\n", '"', "\\"),
    *('{"path": "a", "content": "', 'b\\n\\u00e9"}', '{"a": NaN}', '{"a":1,"a":1}', "{}{}", '\\ud83d\\ude00"}'),
]
ODD_COUNTS = (1, None, "x", -1, 1e400, 2**70, 1.5, True)


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """One wire format, as far as it can be told by data. Everything is made from the format, nothing is copied."""

    name: str
    shape: str | tuple[str, ...]
    """Its name in the index of the recordings, or its names."""
    suffix: str
    """How a kept body's file is called."""
    samples: dict[str, Callable[[], bytes]]
    """What the provider sends a lot of: the inputs of the speed table."""
    growths: dict[str, Callable[[int], bytes]]
    """Bodies of about so many characters; those whose name speaks of arguments hold one call."""
    long_text: Callable[[int], bytes]
    """One piece of text of so many characters: a long line."""
    text_answer: Callable[[int], bytes] | None = None
    """An answer of so many text deltas."""
    calls_answer: Callable[[int, int, int], bytes] | None = None
    """An answer of calls: the characters of the arguments of each, those of a delta, and how many calls."""
    whole_calls: bool = False
    """Whether arguments are never streamed: `calls_answer` has as many deltas of thought before the calls."""
    quirks: Callable[[], list[bytes]]
    """One stream for each known oddity."""
    costly: Callable[[], list[bytes]]
    """Small bodies that lead to much work."""
    deep: Callable[[], list[Any]]
    """Events with `MARK` in every place that takes any JSON."""
    frame: Callable[[Sequence[str]], bytes]
    """Payloads → a body."""
    random_answer: Callable[[random.Random], bytes]
    """Well-formed events in an order that means little: the space in which trackers and handlers go wrong."""
    names: Sequence[str]
    """Members of the format, for changes of JSON values."""
    values: Sequence[str]
    """JSON values that mean something in the format."""
    tokens: Sequence[bytes] = ()
    """Bytes that mean something in the format."""
    is_end: Callable[[bytes], bool]
    """Whether one payload holds the provider's own end of an answer, read by the plainest means."""
    endless: dict[str, tuple[Callable[[], Iterator[bytes]], int]]
    """Bodies that never end, and how many bytes may be taken of each within `BOUNDS` before the error, and one read."""
    opened: Callable[[bytes], bytes] | None = None
    """A body whose bytes are guarded by checksums, as lines of JSON that can be changed."""
    sealed: Callable[[bytes], bytes] | None = None
    """Such lines as a body."""
    numbers_blocks: bool = False
    """Whether an index only names what is open, so that calls have the order in which they began."""
    interleaved: Callable[[Sequence[tuple[str, str, str]], Sequence[int]], bytes] | None = None
    """A body whose calls (id, name, arguments; four pieces each) come in this order, where a format can mix them."""

    def recordings(self, *, core: bool) -> Iterator[tuple[str, bytes]]:
        """The recorded bodies with their names."""
        for row in corpus_rows(self.shape, core=core):
            yield str(row["case"]), corpus_body(row)

    def seeds(self) -> list[bytes]:
        """The streams made here and the recorded core streams, none longer than `LARGEST`."""
        recorded = [_shortened(body) for _, body in self.recordings(core=True)]
        return self.quirks() + self.costly() + recorded

    def deep_streams(self) -> Iterator[bytes]:
        """Values as deep as Python recurses in every place that takes any JSON: one step reads what the next cannot."""
        for place in self.deep():
            before, after = dump(place).split(json.dumps(MARK))
            for depth in (*range(60, 70), *range(580, 605, 3), *range(930, 1005, 3)):
                yield self.frame([f"{before}{'[' * depth}{']' * depth}{after}"])
            yield f"{before}{'[' * 990}{']' * 990}{after}\n".encode()


def without(members: dict[str, Any]) -> dict[str, Any]:
    """The members that are not left out with `...`."""
    return {name: value for name, value in members.items() if value is not ...}


def near_names() -> list[str]:
    """Names that are nearly those of tools: the costliest to be helpful about."""
    return [f"look_up_{number:03}_in_a_long_list_of_similar_tool" for number in range(100)]


def four_pieces(text: str) -> list[str]:
    """Nothing, then three thirds."""
    third = len(text) // 3
    return ["", text[:third], text[third : 2 * third], text[2 * third :]]


def _shortened(body: bytes) -> bytes:
    """The first and the last events of a long body: the middle of a stream is more of the same."""
    if len(body) <= LARGEST:
        return body
    half = LARGEST // 2
    for end in (b"\n\n", b"\r\n\r\n", b"\n,\r\n", b"\n"):
        start, rest = body.rfind(end, 0, half) + len(end), body.find(end, len(body) - half) + len(end)
        if start > len(end) and rest > len(end):
            return body[:start] + body[rest:]
    return body[:LARGEST]
