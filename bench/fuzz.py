"""Broken streams without end: whatever the bytes, every promise of `bench.checks` must hold.

    python -m bench.fuzz [--minutes M | --runs N] [--seed S] [--folder F] [--replay FILE...]

A run is decided by its seed, which is printed. A body that breaks a promise is written to the folder; put it into
tests/data/fuzz once the fault is mended.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from time import monotonic, process_time

import msgspec

from toolwire.tools.registry import ToolRegistry

from .bounds import endless_line
from .checks import Fault, check_stream, decode, random_cut, same_events, sse_outcome
from .mutate import mutate, random_answer
from .seeds import all_seeds, deep_streams, registry

SLOWEST = 0.05
"""Seconds of processor time that no body may take."""
_ENOUGH = 20


class FuzzResult(msgspec.Struct):
    """What a run found."""

    seed: int
    runs: int
    slowest: float
    faults: dict[str, str]
    """What was wrong, by the file that shows it."""


def check_body(body: bytes, rng: random.Random, tools: ToolRegistry | None, live: bool) -> float:
    """Check one body whole and cut; returns the seconds it took whole. Anything raised is a fault."""
    started = process_time()
    whole, stream = decode([body], tools=tools, live=live)
    taken = process_time() - started
    quirks = stream.quirks
    check_stream(whole, stream, tools)
    pieces = random_cut(body, rng)
    again, cut_stream = decode(pieces, tools=tools, live=live)
    lengths = [len(piece) for piece in pieces] if len(pieces) < 20 else "byte by byte"
    if not same_events(whole, again):
        raise Fault(f"other events when cut into pieces of {lengths}")
    if stream.invocations != cut_stream.invocations:
        raise Fault(f"other invocations when cut into pieces of {lengths}")
    if stream.error is None and quirks != cut_stream.quirks:  # after a fault, the rest of a read may still be counted
        raise Fault(f"other quirks when cut into pieces of {lengths}: {quirks}, {cut_stream.quirks}")
    if sse_outcome([body]) != sse_outcome(pieces):
        raise Fault(f"other frames when cut into pieces of {lengths}")
    return taken if taken < SLOWEST else min(taken, *(_seconds(body, tools, live) for _ in range(3)))


def check_time(body: bytes, taken: float) -> None:
    """No small body may cost much."""
    if taken >= SLOWEST:
        raise Fault(f"{len(body)} bytes took {taken * 1000:.0f} ms")


def fuzz(seed: int, *, runs: int | None = None, seconds: float | None = None, folder: Path) -> FuzzResult:
    """Mutate and check until the runs or the time are used up, or enough faults are found."""
    rng = random.Random(seed)
    seeds = all_seeds()
    tools = registry()
    result = FuzzResult(seed, 0, 0.0, {})
    for tool in tools:
        tool.problem({})  # the first check imports the validator, which is no body's fault
    deadline = None if seconds is None else monotonic() + seconds
    for number, body in enumerate(chain(deep_streams(), _mutants(rng, seeds))):
        if number == runs or (deadline is not None and number % 50 == 0 and monotonic() > deadline):
            break
        result.runs += 1
        try:
            given = (None, tools, ToolRegistry())[rng.choice((0, 0, 1, 1, 1, 2))]
            taken = check_body(body, rng, given, rng.random() < 0.5)
            result.slowest = max(result.slowest, taken)
            check_time(body, taken)
        except Exception as error:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{hashlib.sha256(body).hexdigest()[:16]}.sse"
            path.write_bytes(body)
            result.faults[str(path)] = f"{type(error).__name__}: {error}"
            if len(result.faults) >= _ENOUGH:
                break
    return result


def _mutants(rng: random.Random, seeds: Sequence[bytes]) -> Iterator[bytes]:
    """Bodies without end: some made up, most of them mutated."""
    while True:
        body = random_answer(rng) if rng.random() < 0.25 else rng.choice(seeds)
        yield mutate(body, rng, seeds) if rng.random() < 0.9 else body


def replay(paths: Sequence[Path]) -> list[str]:
    """Check kept bodies in every way; returns what is still wrong."""
    wrong: list[str] = []
    for path in paths:
        body = path.read_bytes()
        for words, tools in (("no check of tools", None), ("tools", registry()), ("no tools", ToolRegistry())):
            for live in (False, True):
                for seed in range(30):
                    try:
                        check_time(body, check_body(body, random.Random(seed), tools, live))
                    except Exception as error:
                        wrong.append(f"{path.name}, {words}{', live' * live}: {error!r}")
                        break
    return wrong


def _seconds(body: bytes, tools: ToolRegistry | None, live: bool) -> float:
    started = process_time()
    decode([body], tools=tools, live=live)
    return process_time() - started


def main() -> int:
    """The command line; 1 when a promise was broken."""
    reader = argparse.ArgumentParser(prog="python -m bench.fuzz", description="Mutated streams through the decoders.")
    reader.add_argument("--minutes", type=float, help="how long (default 1)")
    reader.add_argument("--runs", type=int, help="how many bodies, instead of a time")
    reader.add_argument("--seed", type=int, help="to repeat a run (default: a new one, printed)")
    reader.add_argument("--folder", type=Path, help="where bodies that fail are kept (default: a new temporary one)")
    reader.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="check these kept bodies and no others")
    given = reader.parse_args()
    if given.replay:
        wrong = replay(given.replay)
        print("\n".join(wrong) or f"{len(given.replay)} bodies, nothing wrong")
        return 1 if wrong else 0
    seed = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
    folder = given.folder or Path(tempfile.mkdtemp(prefix="toolwire-fuzz-"))
    print(f"seed {seed}, bodies that fail go to {folder}", flush=True)
    seconds = None if given.runs is not None else 60 * (1 if given.minutes is None else given.minutes)
    result = fuzz(seed, runs=given.runs, seconds=seconds, folder=folder)
    print(f"{result.runs:,} bodies, the slowest {result.slowest * 1000:.1f} ms, {len(result.faults)} faults")
    for path, fault in result.faults.items():
        print(f"FAULT {path}: {fault}")
    endless = endless_line()
    print(endless)
    if result.faults or not endless.holds:
        print(f"failed with --seed {seed}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
