"""How fast the text of an answer becomes events, where calls are written in it: `python -m bench.text`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from toolwire import TextStream
from toolwire.embedded.registry import text_format
from toolwire.tools.registry import ToolRegistry

from .growth import DECADE_TARGET, Step, measure
from .payloads import argument_text, argument_values, some_words, split
from .report import Verdict, table

FORMATS = ("xml", "json", "sentinel")
DELTA = 4
"""Characters of a delta: about one token."""
SIZES = [2_000, 20_000, 200_000]
PLAIN = 1_000_000
ROUNDS = 5
CALL_TARGET = 0.5
"""Seconds for the largest call."""
PLAIN_TARGET = 3.0
"""Microseconds per delta of plain text."""

WORDS = f"""
Answers of models that write their calls into the text, in deltas of {DELTA} characters, through `TextStream`: the
scanner, the call's JSON, segments, events, the strict parse, the schema, the invocation. One call writes a file of 2,
20 and 200 kB: to a tool that nothing is known of; with its arguments live; and as `write_file`, whose decoded content
every event carries. Ten times the text must take ten times the time, and 200 kB less than {CALL_TARGET:g} s.

The floor keeps the deltas in a list, joins them at the end, and for the call parses the JSON of the same arguments
once, with `orjson`: nothing can be shown before the end that way, and no call can be found.
"""
PLAIN_WORDS = f"""
The same for {PLAIN // 1_000_000} MB of text without a call. Prose has none of the characters that can begin one; of
Markdown and code every other line has some. Target, for prose: {PLAIN_TARGET:g} µs per delta.
"""

_LINES = [
    "- [ ] see [the manual](https://example.org/a_b) and `make test`, **twice**",
    'if a < b && rows[i] > {limit} { print("<br>") }',
    "```python",
    'x = {"name": "bob", "rows": [[1, 2], [3]]}',
    "```",
    "and then the weather in Paris is mild, and a light wind comes from the west.",
]


class Timed(msgspec.Struct, frozen=True):
    """The least seconds of each size."""

    format: str
    """Empty: the floor."""
    name: str
    seconds: list[float]
    deltas: int
    """Of the largest size."""

    @property
    def micros(self) -> float:
        """Microseconds per delta of the largest size."""
        return self.seconds[-1] / self.deltas * 1e6

    @property
    def factors(self) -> list[float]:
        """The time of each size against that of the size before."""
        return [after / before for before, after in zip(self.seconds, self.seconds[1:], strict=False)]


@cache
def tools() -> ToolRegistry:
    """A tool that nothing is known of, and one that makes a segment of its own, with the same arguments."""
    kinds = {"path": "string", "overwrite": "boolean", "content": "string"}
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in kinds.items()}}
    return ToolRegistry([{"name": name, "description": "", "parameters": schema} for name in ("note", "write_file")])


def reading(format_: str, text: str, *, calls: int, live: bool = False) -> Step:
    """Reads a text that makes so many calls."""
    deltas = split(text, DELTA)

    def step() -> None:
        stream = TextStream(format_, tools(), live_arguments=live)
        for delta in deltas:
            stream.feed(delta)
        stream.close()
        if len(stream.invocations) != calls:
            raise AssertionError(f"{format_}: {len(stream.invocations)} calls were read, and not {calls}")

    return step


def joining(text: str, *, parse: bool) -> Step:
    """The floor."""
    import orjson

    deltas = split(text, DELTA)

    def step() -> None:
        kept: list[str] = []
        for delta in deltas:
            kept.append(delta)  # noqa: PERF402 - each comes by itself
        whole = "".join(kept)
        if parse:
            orjson.loads(whole)

    return step


def call_text(format_: str, name: str, size: int) -> str:
    """A call of this tool with so many characters of arguments, as the format's own prompt half writes it."""
    return text_format(format_).write_call(name, argument_values(size), tools().get(name))


def time_calls(formats: Sequence[str] = FORMATS) -> list[Timed]:
    """One call of each size; the floor first."""
    texts = [argument_text(size) for size in SIZES]
    made = [timed("", "the floor: join, `orjson.loads`", texts, [joining(text, parse=True) for text in texts])]
    for format_ in formats:
        for name, tool, live in (
            ("a call", "note", False),
            ("a call, live arguments", "note", True),
            ("`write_file`", "write_file", False),
        ):
            texts = [call_text(format_, tool, size) for size in SIZES]
            steps = [reading(format_, text, calls=1, live=live) for text in texts]
            made.append(timed(format_, name, texts, steps))
    return made


def time_plain(formats: Sequence[str] = FORMATS) -> list[Timed]:
    """Text without a call; the floor first."""
    prose = "".join(some_words(PLAIN // 4))[:PLAIN]
    code = "\n".join(_LINES * (PLAIN // 200))[:PLAIN]
    made = [timed("", "the floor: join", [prose], [joining(prose, parse=False)])]
    for format_ in formats:
        made.append(timed(format_, "prose", [prose], [reading(format_, prose, calls=0)]))
        made.append(timed(format_, "Markdown and code", [code], [reading(format_, code, calls=0)]))
    return made


def timed(format_: str, name: str, texts: Sequence[str], steps: Sequence[Step]) -> Timed:
    """The least of some rounds."""
    found = measure(format_, name, [len(text) for text in texts], steps, ROUNDS)
    return Timed(format_, name, found.seconds, -(-len(texts[-1]) // DELTA))


def call_table(timed: Iterable[Timed]) -> str:
    """A row for each: the times, the largest per delta, the growth."""
    rows = [
        [
            one.format,
            one.name,
            *(f"{seconds * 1000:.2f} ms" for seconds in one.seconds),
            f"{one.micros:.2f}",
            ", ".join(f"{factor:.2f}" for factor in one.factors),
        ]
        for one in timed
    ]
    sizes = [f"{size // 1000} kB" for size in SIZES]
    return table(["", "", *sizes, "µs per delta", "t(10n)/t(n)"], rows)


def plain_table(timed: Iterable[Timed]) -> str:
    """A row for each."""
    rows = [[one.format, one.name, f"{one.seconds[0]:.2f} s", f"{one.micros:.2f}"] for one in timed]
    return table(["", "", f"{PLAIN // 1_000_000} MB", "µs per delta"], rows)


def text_verdicts(calls: Iterable[Timed], plain: Iterable[Timed]) -> list[Verdict]:
    """Growth and time of the calls, time of the prose."""
    made: list[Verdict] = []
    for one in calls:
        if one.format:
            factor = max(one.factors)
            words = f"{one.format}, {one.name}: t(10n)/t(n) at most {factor:.2f}, target {DECADE_TARGET:g}"
            made.append(Verdict(words, factor < DECADE_TARGET))
            words = f"{one.format}, {one.name}: 200 kB in {one.seconds[-1]:.2f} s, target {CALL_TARGET:g} s"
            made.append(Verdict(words, one.seconds[-1] < CALL_TARGET))
    for one in plain:
        if one.format and one.name == "prose":
            words = f"{one.format}, 1 MB of prose: {one.micros:.2f} µs per delta, target {PLAIN_TARGET:g}"
            made.append(Verdict(words, one.micros <= PLAIN_TARGET))
    return made


def main() -> int:
    """Measure and print; 1 when a target is missed."""
    formats = sys.argv[1:] or FORMATS
    calls, plain = time_calls(formats), time_plain(formats)
    print(call_table(calls), plain_table(plain), sep="\n\n", end="\n\n")
    verdicts = text_verdicts(calls, plain)
    print("\n".join(f"- {'holds' if holds else 'MISSED'}: {words}" for words, holds in verdicts))
    return 0 if all(verdict.holds for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
