"""The heavy proofs: each tries one promise on every recorded stream, on all cores."""

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

from toolwire.stream.strict_json import NotStrict, parse
from toolwire.wire.sse import SseDecoder

from .bounds import endless_bodies as endless_bodies
from .checks import Fault, check_stream, decode, random_cut, same_events
from .fuzz import FuzzResult, fuzz
from .growth import MB, Growth, arguments, long_line, long_text, measure
from .payloads import ROOT, chunk, corpus_body, corpus_rows, dump, sse
from .seeds import quirk_streams

JOBS = os.cpu_count() or 1


class Found(msgspec.Struct):
    """What a proof over many bodies found."""

    words: str = ""
    bodies: int = 0
    runs: int = 0
    faults: list[str] = []


Named = tuple[str, bytes]
Proof = Callable[[Named], tuple[int, list[str]]]


def bodies() -> list[Named]:
    """Every recorded chat stream and every generated oddity; the largest first, so that all cores end together."""
    made = [(str(row["case"]), corpus_body(row)) for row in corpus_rows(core=False)]
    made += [(f"quirk {number}", body) for number, body in enumerate(quirk_streams())]
    return sorted(made, key=lambda named: -len(named[1]))


def over_all(proof: Proof, words: str) -> Found:
    """Run a proof over all bodies on all cores."""
    found = Found(words)
    with ProcessPoolExecutor(JOBS) as pool:
        for runs, faults in pool.map(proof, bodies(), chunksize=4):
            found.bodies += 1
            found.runs += runs
            found.faults += faults
    for fault in found.faults[:20]:
        print(f"FAULT {fault}")
    return found


# A1


def split_invariance(quick: bool) -> Found:
    """All ways to cut small bodies in two and three, byte by byte and at random for all."""
    three, two, often = (150, 800, 20) if quick else (300, 8_000, 1_000)
    words = f"every cut in two up to {two:,} bytes, in three up to {three}, and {often:,} random cuts of each"
    return over_all(partial(_splits, three=three, two=two, often=often), words)


def _splits(named: Named, *, three: int, two: int, often: int) -> tuple[int, list[str]]:
    name, body = named
    rng = random.Random(name)
    whole = {live: decode([body], live=live) for live in (False, True)}
    runs = 0
    faults: list[str] = []
    for pieces in _ways_to_cut(body, rng, three, two, often):
        live = bool(runs % 2)
        runs += 1
        events, stream = decode(pieces, live=live)
        expected, first = whole[live]
        if not same_events(events, expected) or stream.invocations != first.invocations:
            faults.append(f"{name}: other events for {[len(piece) for piece in pieces[:20]]}")
            break
    return runs, faults


def _ways_to_cut(body: bytes, rng: random.Random, three: int, two: int, often: int) -> Iterator[list[bytes]]:
    yield [body[at : at + 1] for at in range(len(body))]
    if len(body) <= two:
        for at in range(1, len(body)):
            yield [body[:at], body[at:]]
    if len(body) <= three:
        for one, other in combinations(range(1, len(body)), 2):
            yield [body[:one], body[one:other], body[other:]]
    for _ in range(often):
        yield random_cut(body, rng, bytewise=0.0)


# A2


def mutations(count: int, folder: Path) -> list[FuzzResult]:
    """The fuzzer on all cores, each with a seed of its own."""
    share = -(-count // JOBS)
    first = random.SystemRandom().randrange(2**31)
    with ProcessPoolExecutor(JOBS) as pool:
        waiting = [pool.submit(fuzz, first + job, runs=share, folder=folder) for job in range(JOBS)]
        return [result.result() for result in waiting]


# A3


def truncation(quick: bool) -> Found:
    """Every prefix of small bodies and 50 of each larger one."""
    most = 400 if quick else 4_000
    return over_all(
        partial(_truncated, most=most), f"every prefix of bodies up to {most:,} bytes, 50 of each larger one"
    )


def proper_end(body: bytes) -> int:
    """How long a prefix must be to hold [DONE] or a finish_reason of the first choice, read by the plainest means."""
    at = 0
    events = False
    for line in re.split(rb"(?<=\n)|(?<=\r)", body):
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if text.startswith(b"data:"):
            events = True
            payload = text[5:].strip()
            if payload == b"[DONE]" or _finishes(payload):
                return at + len(line.rstrip())
        at += len(line)
    return len(body) + 1 if events else len(body.rstrip())


def _finishes(payload: bytes) -> bool:
    try:
        value = json.loads(payload)
        return any(choice.get("finish_reason") and not choice.get("index") for choice in value["choices"])
    except (ValueError, LookupError, TypeError, AttributeError):
        return False


def _truncated(named: Named, *, most: int) -> tuple[int, list[str]]:
    name, body = named
    end = proper_end(body)
    whole = [(one.tool_name, one.arguments) for one in decode([body])[1].invocations]
    places: Sequence[int] = range(len(body))
    if len(body) > most:
        rng = random.Random(name)
        places = sorted({*(rng.randrange(len(body)) for _ in range(48)), end - 1, len(body) - 1})
    faults: list[str] = []
    for place in places:
        try:
            events, stream = decode([body[:place]], live=bool(place % 2))
            check_stream(events, stream)
            if place < end and (stream.complete or stream.invocations):
                raise Fault("complete, without its proper end")
            if any((one.tool_name, one.arguments) not in whole for one in stream.invocations):
                raise Fault("an invocation that the whole body does not make")
        except Exception as error:
            faults.append(f"{name} cut at byte {place} of {len(body)}: {error!r}")
    return len(places), faults


# A6


def linear() -> tuple[list[Growth], float]:
    """The growth of every path, and the seconds for 1 MB of arguments in 4-character deltas."""
    growths = [
        measure("one line in 16-byte reads", [4 * MB, 8 * MB, 16 * MB], long_line),
        measure("arguments in 16-character deltas", [MB, 2 * MB, 4 * MB], arguments(16)),
        measure("live arguments in 16-character deltas", [MB, 2 * MB, 4 * MB], arguments(16, live=True)),
        measure("text in 16-character deltas", [MB, 2 * MB, 4 * MB], long_text),
    ]
    return growths, measure("", [MB], arguments(4)).seconds[0]


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
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/stream/test_strict_json.py"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", ran.stdout)}
    deep = "[" * 100_000 + "]" * 100_000
    least = float("inf")
    for _ in range(5):
        started = process_time()
        try:
            parse(deep)
        except NotStrict:
            least = min(least, process_time() - started)
    return counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0), least


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(path.name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


# A11


def interleavings() -> Found:
    """Three calls of four deltas each, in every order that keeps each call's own."""
    names = ["get_weather", "write_file", "get_time"]
    texts = ['{"city":"Paris","days":[1,2]}', '{"path":"a.md","content":"é\\n"}', '{"zone":"Europe/Paris"}']
    calls = [_four(number, names[number], texts[number]) for number in range(3)]
    deltas = [[dump(chunk({"tool_calls": [part]})) for part in call] for call in calls]
    expected = [(f"call_{number}", names[number], json.loads(texts[number])) for number in range(3)]
    last = dump(chunk({}, finish="tool_calls"))
    found = Found("", 1)
    for order in _orders((4, 4, 4)):
        sent = [0, 0, 0]
        payloads = []
        for number in order:
            payloads.append(deltas[number][sent[number]])
            sent[number] += 1
        stream = decode([sse([*payloads, last])])[1]
        found.runs += 1
        if [(one.id, one.tool_name, one.arguments) for one in stream.invocations] != expected:
            found.faults.append("".join(map(str, order)))
    return found


def _four(number: int, name: str, text: str) -> list[dict[str, Any]]:
    third = len(text) // 3
    first = {"index": number, "id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": ""}}
    parts = (text[:third], text[third : 2 * third], text[2 * third :])
    return [first, *({"index": number, "function": {"arguments": part}} for part in parts)]


def _orders(left: tuple[int, ...]) -> Iterator[list[int]]:
    if not any(left):
        yield []
    for number, count in enumerate(left):
        if count:
            rest = (*left[:number], count - 1, *left[number + 1 :])
            yield from ([number, *order] for order in _orders(rest))
