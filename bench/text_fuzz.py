"""Broken texts without end: whatever a model writes, every promise of `bench.checks.check_text` must hold.

`bench.fuzz` runs this beside the wires: a format is one more thing to read.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import pairwise
from time import process_time
from typing import Any

from toolwire import SegmentEvent, TextStream
from toolwire.embedded.registry import format_names, text_format
from toolwire.limits import DEFAULT_LIMITS, Limits
from toolwire.tools.registry import ToolRegistry

from .checks import Fault, check_text, same_events
from .mutate_text import TOKENS, Stock, mutate_text
from .payloads import ROOT

sys.path.append(str(ROOT / "tests"))

from embedded.family_soups import a_call
from embedded.family_writers import FAMILIES as FAMILIES
from embedded.family_writers import MARKS
from embedded.text_tools import TOOLS as TOOLS

FORMATS = tuple(format_names())
TAUGHT = tuple(name for name in FORMATS if name not in FAMILIES)
"""Those that Toolwire teaches; models were trained on the others."""
DATA = ROOT / "tests" / "data" / "text"
TIGHT = Limits(held=60, arguments=400, calls=3, segments=12, stream=2_500, fields=6, depth=6)
"""Bounds that mutated texts do reach: what happens there must not depend on cuts either."""

_PROSE = "Let me see: if a < b, then rows[i] is `x`; {see} the [manual](a_b).\n"


def cases(format_: str) -> list[dict[str, Any]]:
    """The data file of a format."""
    path = DATA / f"{format_}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@cache
def seeds(format_: str) -> list[str]:
    """What is changed: the inputs of the data file, and calls as the format and the family's models write them."""
    made = [case["input"] for case in cases(format_)]
    if format_ in FAMILIES:
        rng = random.Random(format_)
        made += [f"{a_call(FAMILIES[format_], rng)}\n" for _ in range(20)]
    write = text_format(format_).write_call
    values: list[tuple[str, dict[str, Any]]] = [
        ("ping", {}),
        ("search", {"query": 'a "b" \\ <c> ]] {d}\n', "limit": 3, "exact": True}),
        ("echo", {"text": "é🦊\n```\n"}),
        ("write_file", {"path": "a/b.py", "content": "if a < b:\n    x[0] = {}\n"}),
        ("edit_file", {"path": "a", "patch": "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"}),
        ("run_bash", {"command": "ls -la | grep '<x>'", "background": False, "timeout_seconds": 5}),
        ("book", {"cabin": "economy", "zip": "00501", "price": 1.5, "tags": ["a", "b"], "seats": [1, 2]}),
        ("book", {"cabin": "business", "passengers": [{"name": "Bob", "age": 3}], "options": {"note": None}}),
        ("book", {"cabin": "economy", "either": 1, "anything": [{"a": [True, None]}, "x"]}),
    ]
    made += [f"{_PROSE}{write(name, arguments, TOOLS.get(name))}\nDone.\n" for name, arguments in values]
    return [seed for seed in made if len(seed) <= 4_000]


def mutants(format_: str, rng: random.Random) -> Iterator[str]:
    """Texts without end."""
    given = seeds(format_)
    own = text_format(format_).marks
    stock = Stock(given, [*TOKENS, *MARKS, *own * (1 + 100 // (len(own) + 1))])
    while True:
        yield mutate_text(rng.choice(given), rng, stock)


def deep_texts(format_: str) -> Iterator[str]:
    """Calls with values about as deep as the bound on arguments, and as deep as Python recurses."""
    write = text_format(format_).write_call
    mark = "\x01"
    shells = [
        write("echo", {"text": mark}, TOOLS.get("echo")),
        write("book", {"cabin": "economy", "anything": [mark]}, TOOLS.get("book")),
    ]
    if format_ in TAUGHT:
        shells += ['{"tool": %s', "[%s", '{"name": "echo", "arguments": %s', '[[SEG_START {"type": %s']
        shells.append('<tool name="book">%s')
    for depth in (*range(55, 70), *range(560, 600, 7), *range(930, 1000, 7), 2_000):
        for opened, closed in (("[", "]"), ('{"a":', "}"), ('{"tool":', "}"), ('<arg name="anything">', "</arg>")):
            nested = opened * depth + "1" + closed * depth
            for shell in shells:
                yield shell.replace(f'"{mark}"', nested).replace(mark, nested).replace("%s", nested)


def read(
    format_: str,
    pieces: Iterable[str],
    *,
    tools: ToolRegistry | None = TOOLS,
    live: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    reasoning: bool = False,
    repair: bool = False,
) -> tuple[list[SegmentEvent], TextStream]:
    """All events of a text that comes in these pieces, and the stream that made them."""
    stream = TextStream(format_, tools, live_arguments=live, limits=limits, reasoning=reasoning, repair=repair)
    events: list[SegmentEvent] = []
    for piece in pieces:
        events += stream.feed(piece)
    events += stream.close()
    return events, stream


def calls(stream: TextStream) -> list[tuple[str, str]]:
    """What would run, exactly."""
    return [(one.tool_name, json.dumps(one.arguments)) for one in stream.invocations]


def random_pieces(text: str, rng: random.Random, *, one_by_one: float = 0.1) -> list[str]:
    """The text in two to thirteen pieces, some empty; now and then character by character."""
    if rng.random() < one_by_one:
        return list(text)
    bounds = [0, *sorted(rng.randint(0, len(text)) for _ in range(rng.randint(1, 12))), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


def check_one(format_: str, text: str, rng: random.Random, tools: ToolRegistry | None, live: bool) -> float:
    """Check one text whole, cut and broken off; the seconds it took whole. Anything raised is a fault."""
    limits = TIGHT if rng.random() < 0.25 else DEFAULT_LIMITS
    reasoning, repair = rng.random() < 0.2, rng.random() < 0.15
    read_so = partial(read, format_, tools=tools, limits=limits, reasoning=reasoning, repair=repair)
    started = process_time()
    whole, stream = read_so([text], live=live)
    taken = process_time() - started
    tight = ", with tight limits" * (limits is TIGHT) + ", in reasoning" * reasoning + ", repairing" * repair
    check_text(text, whole, stream, tools)
    pieces = random_pieces(text, rng)
    again, other = read_so(pieces, live=live)
    lengths = [len(piece) for piece in pieces] if len(pieces) < 20 else "1 each"
    if not same_events(whole, again) or stream.message != other.message:
        raise Fault(f"other events when cut into pieces of {lengths}{tight}")
    made = calls(stream)
    if stream.error is None:
        end = rng.randint(0, len(text))
        events, begun = read_so([text[:end]])
        check_text(text[:end], events, begun, tools)
        run = calls(begun)
        if run != made[: len(run)]:
            raise Fault(f"the first {end} characters run {run}, the whole {made}{tight}")
    return taken


def seconds(format_: str, text: str, tools: ToolRegistry | None, live: bool) -> float:
    """How long one text takes."""
    started = process_time()
    read(format_, [text], tools=tools, live=live)
    return process_time() - started
