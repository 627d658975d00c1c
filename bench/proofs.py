"""The heavy proofs: each tries one promise on every recorded stream of one wire format, on all cores."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from toolwire.strict_json import NotStrict, parse
from toolwire.wire.sse import SseDecoder

from . import aws
from .bounds import endless_bodies as endless_bodies
from .checks import Fault, check_stream, decode, random_cut, same_events
from .growth import MB, Growth, wire_growths
from .payloads import ROOT
from .wires import SUBJECTS, Subject

JOBS = os.cpu_count() or 1


class Extent(msgspec.Struct, frozen=True):
    """How far the proofs go; sizes are in bytes."""

    cut_in_three: int = 300
    cut_in_two: int = 2_000
    random_cuts: int = 200
    every_prefix: int = 2_500
    mutations: int = 100_000
    round_trips: int = 1_000_000
    hostile: int = 10_000_000
    prompt_attacks: int = 1_000


FULL = Extent()
QUICK = Extent(
    cut_in_three=100,
    cut_in_two=400,
    random_cuts=3,
    every_prefix=200,
    mutations=2_000,
    round_trips=12_500,
    hostile=400_000,
    prompt_attacks=200,
)


class Found(msgspec.Struct):
    """What a proof over many bodies found."""

    bodies: int = 0
    runs: int = 0
    faults: list[str] = []


Named = tuple[str, bytes]
Proof = Callable[[str, Named], tuple[int, list[str]]]


def bodies(subject: Subject) -> list[Named]:
    """Every recorded stream and every generated oddity; the largest first, so that all cores end together."""
    made = [*subject.recordings(core=False)]
    made += [(f"{subject.name} quirk {number}", body) for number, body in enumerate(subject.quirks())]
    return sorted(made, key=lambda named: -len(named[1]))


def over_all(subject: Subject, proof: Proof) -> Found:
    """Run a proof over all bodies of a format on all cores."""
    found = Found(faults=[])
    with ProcessPoolExecutor(JOBS) as pool:
        for runs, faults in pool.map(partial(proof, subject.name), bodies(subject), chunksize=4):
            found.bodies += 1
            found.runs += runs
            found.faults += faults
    for fault in found.faults[:20]:
        print(f"FAULT {fault}")
    return found


# A1


def split_invariance(subject: Subject, extent: Extent) -> Found:
    """All ways to cut small bodies in two and three, byte by byte and at random for all."""
    return over_all(subject, partial(_splits, extent=extent))


def _splits(wire: str, named: Named, *, extent: Extent) -> tuple[int, list[str]]:
    name, body = named
    rng = random.Random(name)
    whole = {live: decode(wire, [body], live=live) for live in (False, True)}
    runs = 0
    faults: list[str] = []
    for pieces in _ways_to_cut(body, rng, extent):
        live = bool(runs % 2)
        runs += 1
        events, stream = decode(wire, pieces, live=live)
        expected, first = whole[live]
        if not same_events(events, expected) or stream.message != first.message:
            faults.append(f"{name}: other events for {[len(piece) for piece in pieces[:20]]}")
            break
    return runs, faults


def _ways_to_cut(body: bytes, rng: random.Random, extent: Extent) -> Iterator[list[bytes]]:
    yield [body[at : at + 1] for at in range(len(body))]
    if len(body) <= extent.cut_in_two:
        for at in range(1, len(body)):
            yield [body[:at], body[at:]]
    if len(body) <= extent.cut_in_three:
        for one, other in combinations(range(1, len(body)), 2):
            yield [body[:one], body[one:other], body[other:]]
    for _ in range(extent.random_cuts):
        yield random_cut(body, rng, bytewise=0.0)


# A3


def truncation(subject: Subject, extent: Extent) -> Found:
    """Every prefix of small bodies and 50 of each larger one."""
    return over_all(subject, partial(_truncated, most=extent.every_prefix))


def proper_end(subject: Subject, body: bytes) -> int:
    """How long a prefix must be to hold the provider's own end of the answer, read by the plainest means."""
    if body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        return _end_of_array(subject, body)
    if subject.suffix == "eventstream":
        return next((end for end, said in aws.said(body) if subject.is_end(said)), len(body) + 1)
    at = 0
    events = False
    for line in re.split(rb"(?<=\n)|(?<=\r)", body):
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if text.startswith(b"data:") or subject.suffix == "ndjson":
            events = True
            if subject.is_end(text.removeprefix(b"data:").strip()):
                return at + len(line.rstrip())
        at += len(line)
    return len(body) + 1 if events else len(body.rstrip())


def _end_of_array(subject: Subject, body: bytes) -> int:
    """The whole array: only its bracket says that no element follows."""
    try:
        text = body.decode("utf-8-sig")
        value, end = json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip()))
    except ValueError:
        return len(body) + 1
    if isinstance(value, list) and any(subject.is_end(json.dumps(one).encode()) for one in value):
        return len(body) - len(text[end:].encode())
    return len(body) + 1


def _truncated(wire: str, named: Named, *, most: int) -> tuple[int, list[str]]:
    name, body = named
    end = proper_end(SUBJECTS[wire], body)
    whole = [(one.tool_name, one.arguments) for one in decode(wire, [body])[1].invocations]
    places: Sequence[int] = range(len(body))
    if len(body) > most:
        rng = random.Random(name)
        places = sorted({*(rng.randrange(len(body)) for _ in range(48)), min(end, len(body)) - 1, len(body) - 1})
    faults: list[str] = []
    for place in places:
        try:
            events, stream = decode(wire, [body[:place]], live=bool(place % 2))
            check_stream(events, stream)
            if place < end and (stream.complete or stream.invocations):
                raise Fault("complete, without its proper end")
            if any((one.tool_name, one.arguments) not in whole for one in stream.invocations):
                raise Fault("an invocation that the whole body does not make")
        except Exception as error:
            faults.append(f"{name} cut at byte {place} of {len(body)}: {error!r}")
    return len(places), faults


# A6


def linear(subject: Subject) -> list[Growth]:
    """The growth of every path."""
    return list(wire_growths(subject, [MB // 2, MB, 2 * MB]))


# A7, A8


def framing_cases() -> tuple[int, list[str]]:
    """The number of cases of the standard, and those that came out otherwise."""
    cases = _module(ROOT / "tests" / "wire" / "sse_cases.py").CASES
    wrong = []
    for case in cases:
        for pieces in ([case.body], [case.body[at : at + 1] for at in range(len(case.body))]):
            decoder = SseDecoder()
            frames = [frame for piece in pieces for frame in decoder.feed(piece)] + decoder.close()
            if [(frame.event, frame.data, frame.id) for frame in frames] != case.events or decoder.retry != case.retry:
                wrong.append(case.name)
                break
    return len(cases), wrong


def strict_json() -> tuple[int, int, float]:
    """Tests passed and failed, and the seconds to refuse a very deep text."""
    passed, failed = run_tests("tests/test_strict_json.py")
    deep = "[" * 100_000 + "]" * 100_000
    least = float("inf")
    for _ in range(5):
        started = process_time()
        try:
            parse(deep)
        except NotStrict:
            least = min(least, process_time() - started)
    return passed, failed, least


def run_tests(file: str) -> tuple[int, int]:
    """How many tests of a file pass, and how many fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", ran.stdout)}
    return counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(path.name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


# A11

_CALLS = [
    ("call_0", "get_weather", '{"city":"Paris","days":[1,2]}'),
    ("call_1", "write_file", '{"path":"a.md","content":"é\\n"}'),
    ("call_2", "get_time", '{"zone":"Europe/Paris"}'),
]


def interleavings(subject: Subject) -> Found:
    """Three calls of four deltas each, in every order that keeps each call's own."""
    found = Found(1, faults=[])
    if subject.interleaved is None:
        return found
    expected = [(call_id, name, json.loads(text)) for call_id, name, text in _CALLS]
    for order in _orders((4, 4, 4)):
        stream = decode(subject.name, [subject.interleaved(_CALLS, order)])[1]
        found.runs += 1
        made = [(one.id, one.tool_name, one.arguments) for one in stream.invocations]
        begun = [expected[number] for number in dict.fromkeys(order)]
        if made != (begun if subject.numbers_blocks else expected):
            found.faults.append("".join(map(str, order)))
    return found


def _orders(left: tuple[int, ...]) -> Iterator[list[int]]:
    if not any(left):
        yield []
    for number, count in enumerate(left):
        if count:
            rest = (*left[:number], count - 1, *left[number + 1 :])
            yield from ([number, *order] for order in _orders(rest))
