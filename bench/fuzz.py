"""Broken streams and texts without end: whatever comes, every promise of `bench.checks` must hold.

    python -m bench.fuzz [--wire W] [--runs N | --minutes M] [--seed S] [--folder F] [--replay FILE...]

A run is decided by its seed, which is printed. A body that breaks a promise is written to the folder; put it into
tests/data/fuzz, its name beginning with that of the wire, once the fault is mended.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from time import monotonic, process_time

import msgspec

from toolwire.tools.registry import ToolRegistry

from . import text_fuzz
from .bounds import endless_line
from .checks import Fault, check_stream, decode, frames_of, random_cut, same_events
from .mutate import Stock, mutate, stock
from .tools import registry
from .wires import SUBJECTS, Subject

READABLE = (*SUBJECTS, *text_fuzz.FORMATS)
"""All that is fuzzed: wire formats, which read bytes, and text formats, which read text."""
SLOWEST = 0.05
"""Seconds of processor time that no body may take."""
SHARE = 2_500
"""Bodies of one piece of work."""
_ENOUGH = 20


class FuzzResult(msgspec.Struct):
    """What a run found."""

    wire: str
    seed: int
    runs: int = 0
    slowest: float = 0.0
    faults: dict[str, str] = {}
    """What was wrong, by the file that shows it."""

    def add(self, other: FuzzResult) -> None:
        """Both together."""
        self.runs += other.runs
        self.slowest = max(self.slowest, other.slowest)
        self.faults |= other.faults


def check_body(wire: str, body: bytes, rng: random.Random, tools: ToolRegistry | None, live: bool) -> float:
    """Check one body whole and cut; returns the seconds it took whole. Anything raised is a fault."""
    if wire not in SUBJECTS:
        text = body.decode()
        taken = text_fuzz.check_one(wire, text, rng, tools, live)
        return taken if taken < SLOWEST else min(text_fuzz.seconds(wire, text, tools, live) for _ in range(3))
    started = process_time()
    whole, stream = decode(wire, [body], tools=tools, live=live)
    taken = process_time() - started
    quirks = stream.quirks
    check_stream(whole, stream, tools)
    pieces = random_cut(body, rng)
    again, cut_stream = decode(wire, pieces, tools=tools, live=live)
    lengths = [len(piece) for piece in pieces] if len(pieces) < 20 else "byte by byte"
    if not same_events(whole, again):
        raise Fault(f"other events when cut into pieces of {lengths}")
    if stream.invocations != cut_stream.invocations or stream.message != cut_stream.message:
        raise Fault(f"another message when cut into pieces of {lengths}")
    if stream.error is None and quirks != cut_stream.quirks:  # after a fault, the rest of a read may still be counted
        raise Fault(f"other quirks when cut into pieces of {lengths}: {quirks}, {cut_stream.quirks}")
    if frames_of(wire, [body]) != frames_of(wire, pieces):
        raise Fault(f"other frames when cut into pieces of {lengths}")
    return taken if taken < SLOWEST else min(taken, *(_seconds(wire, body, tools, live) for _ in range(3)))


def check_time(body: bytes, taken: float) -> None:
    """No small body may cost much."""
    if taken >= SLOWEST:
        raise Fault(f"{len(body)} bytes took {taken * 1000:.0f} ms")


def fuzz(wire: str, seed: int, *, runs: int | None = None, seconds: float | None = None, folder: Path) -> FuzzResult:
    """Mutate and check until the runs or the time are used up, or enough faults are found."""
    rng = random.Random(seed)
    if wire in SUBJECTS:
        bodies = _mutants(SUBJECTS[wire], rng, _stock(wire))
    else:
        bodies = (text.encode() for text in text_fuzz.mutants(wire, rng))
    return _check_all(FuzzResult(wire, seed, faults={}), bodies, rng, runs, seconds, folder)


def fuzz_deep(wire: str, seed: int, *, folder: Path) -> FuzzResult:
    """The same checks on every value that is as deep as Python recurses."""
    if wire in SUBJECTS:
        bodies = iter(SUBJECTS[wire].deep_streams())
    else:
        bodies = (text.encode() for text in text_fuzz.deep_texts(wire))
    return _check_all(FuzzResult(wire, seed, faults={}), bodies, random.Random(seed), None, None, folder)


def replay(paths: Sequence[Path]) -> list[str]:
    """Check kept bodies in every way; returns what is still wrong."""
    wrong: list[str] = []
    for path in paths:
        body = path.read_bytes()
        wire = max((name for name in READABLE if path.name.startswith(name)), key=len, default="openai-chat")
        for words, tools in (("no check of tools", None), ("tools", _tools(wire)), ("no tools", ToolRegistry())):
            for live in (False, True):
                for seed in range(30):
                    try:
                        check_time(body, check_body(wire, body, random.Random(seed), tools, live))
                    except Exception as error:
                        wrong.append(f"{path.name}, {words}{', live' * live}: {error!r}")
                        break
    return wrong


def fuzz_all(
    wires: Sequence[str], seed: int, *, runs: int | None, seconds: float | None, folder: Path
) -> Iterator[FuzzResult]:
    """Every wire in turn on all cores, so many bodies or so long each; one result a wire."""
    jobs = os.cpu_count() or 1
    with ProcessPoolExecutor(jobs) as pool:
        for wire in wires:
            result = FuzzResult(wire, seed, faults={})
            started = monotonic()
            shares = jobs if runs is None else -(-runs // SHARE)
            share = None if runs is None else -(-runs // shares)
            waiting = [pool.submit(fuzz_deep, wire, seed, folder=folder)]
            waiting += [
                pool.submit(fuzz, wire, seed + number, runs=share, seconds=seconds, folder=folder)
                for number in range(shares)
            ]
            for done, future in enumerate(as_completed(waiting), 1):
                result.add(future.result())
                if len(result.faults) >= _ENOUGH:
                    for other in waiting:
                        other.cancel()
                    break
                if done % 10 == 0 and done < len(waiting):
                    print(f"  {wire}: {result.runs:,} bodies in {monotonic() - started:.0f} s", flush=True)
            yield result


@cache
def _stock(wire: str) -> Stock:
    return stock(SUBJECTS[wire])


@cache
def _tools(wire: str) -> ToolRegistry:
    tools = registry() if wire in SUBJECTS else text_fuzz.TOOLS
    for tool in tools:
        tool.problem({})  # the first check imports the validator, which is no body's fault
    return tools


def _check_all(
    result: FuzzResult,
    bodies: Iterable[bytes],
    rng: random.Random,
    runs: int | None,
    seconds: float | None,
    folder: Path,
) -> FuzzResult:
    tools = _tools(result.wire)
    deadline = None if seconds is None else monotonic() + seconds
    for number, body in enumerate(bodies):
        if number == runs or (deadline is not None and number % 50 == 0 and monotonic() > deadline):
            break
        result.runs += 1
        try:
            given = (None, tools, ToolRegistry())[rng.choice((0, 0, 1, 1, 1, 2))]
            taken = check_body(result.wire, body, rng, given, rng.random() < 0.5)
            result.slowest = max(result.slowest, taken)
            check_time(body, taken)
        except Exception as error:
            folder.mkdir(parents=True, exist_ok=True)
            name = hashlib.sha256(body).hexdigest()[:16]
            suffix = SUBJECTS[result.wire].suffix if result.wire in SUBJECTS else "txt"
            path = folder / f"{result.wire}-{name}.{suffix}"
            path.write_bytes(body)
            result.faults[str(path)] = f"{type(error).__name__}: {error}"
            if len(result.faults) >= _ENOUGH:
                break
    return result


def _mutants(subject: Subject, rng: random.Random, given: Stock) -> Iterator[bytes]:
    """Bodies without end: some made up, most of them mutated."""
    while True:
        body = subject.random_answer(rng) if rng.random() < 0.25 else rng.choice(given.seeds)
        if subject.sealed is not None and rng.random() < 0.15:
            body = subject.sealed(body)  # most of what is changed after this is a wrong checksum
            yield mutate(body, rng, given)
            continue
        changed = mutate(body, rng, given) if rng.random() < 0.9 else body
        yield changed if subject.sealed is None else subject.sealed(changed)


def _seconds(wire: str, body: bytes, tools: ToolRegistry | None, live: bool) -> float:
    started = process_time()
    decode(wire, [body], tools=tools, live=live)
    return process_time() - started


def _turns(
    wires: Sequence[str], seed: int, runs: int | None, seconds: float | None, folder: Path
) -> Iterator[FuzzResult]:
    """All of them in turn; of the families, which are many and alike, a tenth as many bodies if there are others."""
    families = [wire for wire in wires if wire in text_fuzz.FAMILIES]
    others = [wire for wire in wires if wire not in text_fuzz.FAMILIES]
    yield from fuzz_all(others, seed, runs=runs, seconds=seconds, folder=folder)
    fewer = -(-runs // 10) if runs is not None and others else runs
    yield from fuzz_all(families, seed, runs=fewer, seconds=seconds, folder=folder)


def main() -> int:
    """The command line; 1 when a promise was broken."""
    reader = argparse.ArgumentParser(
        prog="python -m bench.fuzz", description="Mutated streams and texts through the readers."
    )
    reader.add_argument("--wire", choices=READABLE, help="one wire or text format (default: all in turn)")
    reader.add_argument(
        "--runs", type=int, default=100_000, help="how many bodies of each format, a tenth of a family's (100,000)"
    )
    reader.add_argument("--minutes", type=float, help="how long in all, instead of a number")
    reader.add_argument("--seed", type=int, help="to repeat a run (default: a new one, printed)")
    reader.add_argument("--folder", type=Path, help="where bodies that fail are kept (default: a new temporary one)")
    reader.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="check these kept bodies and no others")
    given = reader.parse_args()
    if given.replay:
        wrong = replay(given.replay)
        print("\n".join(wrong) or f"{len(given.replay)} bodies, nothing wrong")
        return 1 if wrong else 0
    wires = [given.wire] if given.wire else list(READABLE)
    seed = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
    folder = given.folder or Path(tempfile.mkdtemp(prefix="toolwire-fuzz-"))
    print(f"seed {seed}, bodies that fail go to {folder}", flush=True)
    seconds = None if given.minutes is None else 60 * given.minutes / len(wires)
    failed = False
    started = monotonic()
    for result in _turns(wires, seed, None if seconds is not None else given.runs, seconds, folder):
        failed |= bool(result.faults)
        slowest = f"the slowest {result.slowest * 1000:.1f} ms"
        print(f"{result.wire}: {result.runs:,} bodies, {slowest}, {len(result.faults)} faults", flush=True)
        for path, fault in result.faults.items():
            print(f"FAULT {path}: {fault}")
    endless = endless_line()
    print(endless)
    print(f"{monotonic() - started:.0f} s in all")
    if failed or not endless.holds:
        print(f"failed with --seed {seed}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
