"""The figures behind the claims: each is obtained by this run, and a missed target is said and exits 1.

    python -m bench.figures [--quick] [--mutations N]

The table goes to docs/reliability.md, unless `--quick` asked for a smaller run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import msgspec

from . import agreement, proofs
from .payloads import corpus_rows
from .report import machine, table, write_document


class Figure(msgspec.Struct):
    """One row: what was found, whether the target is met, how it was obtained."""

    row: str
    figure: str
    holds: bool
    how: str


def split_invariance(quick: bool) -> Figure:
    """A1."""
    found = proofs.split_invariance(quick)
    target = 0 if quick else 500_000
    return Figure(
        "A1 the same bytes give the same events wherever they are cut",
        f"{found.runs:,} runs over {found.bodies:,} bodies, {len(found.faults)} differences",
        not found.faults and found.runs >= target,
        f"every recorded chat stream and one made for each known oddity: byte by byte, {found.words}; adjacent text "
        "merged, everything else equal. Target: 500,000 runs, 0 differences",
    )


def mutation(count: int, folder: Path) -> Figure:
    """A2."""
    results = proofs.mutations(count, folder)
    runs = sum(result.runs for result in results)
    faults = {path: words for result in results for path, words in result.faults.items()}
    for path, words in faults.items():
        print(f"FAULT {path}: {words}")
    seeds = ", ".join(str(result.seed) for result in results)
    slowest = max(result.slowest for result in results)
    return Figure(
        "A2 mutated streams",
        f"{runs:,} bodies, {len(faults)} broken promises, the slowest {slowest * 1000:.1f} ms",
        not faults and runs >= count and slowest < 0.05,
        f"`bench.fuzz` with seeds {seeds}: bytes, lines and JSON values changed, odd answers made up; each whole and "
        "cut, with and without tools and live arguments. Target: 0 broken promises, none over 50 ms",
    )


def truncation(quick: bool) -> Figure:
    """A3."""
    found = proofs.truncation(quick)
    return Figure(
        "A3 streams that break off",
        f"{found.runs:,} prefixes of {found.bodies:,} bodies, {len(found.faults)} wrong ends, 0 raised"
        if not found.faults
        else f"{found.runs:,} prefixes, {len(found.faults)} faults: {found.faults[0]}",
        not found.faults,
        f"{found.words}; a prefix without [DONE] or a finish_reason is an ERROR with 0 invocations, and none makes an "
        "invocation that the whole body does not make",
    )


def endless() -> Figure:
    """A5."""
    met = proofs.endless_bodies()
    for one in met:
        print(one)
    line = met[0]
    return Figure(
        "A5 input without end",
        f"{sum(one.holds for one in met)} of {len(met)} kinds end in a LimitExceeded within the bound and one read; "
        f"100 MB without a line end: {line.memory / 1e6:.1f} MB of memory",
        all(one.holds for one in met),
        "a line, an event, comments, arguments, calls, a name, an id without end, in 64 KiB reads; memory is the "
        f"growth of a process of its own, at most {line.memory_bound / 1e6:.1f} MB",
    )


def linear() -> Figure:
    """A6."""
    growths, seconds = proofs.linear()
    worst = max(max(growth.factors) for growth in growths)
    sizes = "; ".join(f"{growth.name} up to {growth.sizes[-1] / 1e6:g} MB" for growth in growths)
    return Figure(
        "A6 time in proportion to the input",
        f"t(2n)/t(n) at most {worst:.2f}; 1 MB of arguments in 4-character deltas: {seconds:.2f} s",
        worst <= 2.2 and seconds < 3,
        f"{sizes}; least of 3 runs each. Target: 2.2, and 3 s",
    )


def framing() -> Figure:
    """A7."""
    cases, wrong = proofs.framing_cases()
    return Figure(
        "A7 the SSE standard on bytes",
        f"{cases} cases, {len(wrong)} deviations",
        cases >= 40 and not wrong,
        "the table in tests/wire/sse_cases.py, whole and byte by byte. Target: 40 cases, 0 deviations",
    )


def strict_json() -> Figure:
    """A8."""
    passed, failed, seconds = proofs.strict_json()
    return Figure(
        "A8 strict JSON for arguments",
        f"{passed} tests passed, {failed} failed; 100,000 levels deep refused in {seconds * 1000:.2f} ms",
        passed > 0 and not failed and seconds < 0.01,
        "tests/stream/test_strict_json.py, and the time by the clock here. Target: all, 10 ms",
    )


def interleavings() -> Figure:
    """A11."""
    found = proofs.interleavings()
    return Figure(
        "A11 parallel calls interleaved",
        f"{found.runs:,} orders, {len(found.faults)} differences",
        found.runs == 34_650 and not found.faults,
        "all interleavings of 3 calls of 4 deltas each give the same 3 invocations",
    )


def recorded_calls() -> Figure:
    """Calls as the recording clients echoed them."""
    found = agreement.with_clients()
    return Figure(
        "Calls that the recording clients sent back",
        f"{found.equal} of {found.bodies} bodies equal",
        found.equal == found.bodies > 0,
        "expected_calls.jsonl: id, name and arguments of every call, in order",
    )


def index() -> Figure:
    """The index of the recordings."""
    found = agreement.with_index()
    return Figure(
        "The index of the recordings",
        f"{found.equal:,} of {found.bodies:,} bodies equal{found.apart()}",
        found.holds,
        "calls, ids, names and their order, text length, finish reason; the index was made by another program",
    )


def sdk() -> Figure:
    """The official SDK on the same bytes."""
    found = agreement.with_sdk()
    return Figure(
        "The official SDK on the same bytes",
        f"{found.equal:,} of {found.bodies:,} bodies that {agreement.SDK} reads are equal{found.apart()}; "
        f"{found.refused} it cannot read, of which we read {found.read_here}",
        found.holds,
        "content, calls (id, name, argument text) and finish reason of the first choice, against its own accumulation",
    )


def main() -> int:
    """Obtain all figures, print and write them; 1 when one misses its target."""
    reader = argparse.ArgumentParser(prog="python -m bench.figures", description="The figures behind the claims.")
    reader.add_argument("--quick", action="store_true", help="two minutes; nothing is written")
    reader.add_argument("--mutations", type=int, help="bodies for A2 (default 100,000)")
    given = reader.parse_args()
    quick = given.quick or not corpus_rows(core=True)
    if quick and not given.quick:
        print("The recordings are not here: a quick run over the streams made for the purpose, and nothing is written.")
    mutations = given.mutations or (5_000 if quick else 100_000)
    folder = Path(tempfile.mkdtemp(prefix="toolwire-fuzz-"))
    steps: list[Callable[[], Figure]] = [
        lambda: split_invariance(quick),
        lambda: mutation(mutations, folder),
        lambda: truncation(quick),
        *(endless, linear, framing, strict_json, interleavings),
        *((recorded_calls, index, sdk) if corpus_rows(core=True) else ()),
    ]
    figures: list[Figure] = []
    for step in steps:
        started = monotonic()
        figures.append(step())
        print(f"[{monotonic() - started:5.0f} s] {figures[-1].row}: {figures[-1].figure}", flush=True)
    parts = [
        "# Reliability",
        "Written by `make figures` (`python -m bench.figures`): every figure is the result of that run, which fails "
        f"when one misses its target. On {machine()}.",
        table(
            ["row", "figure", "target", "how it was obtained"],
            [[one.row, one.figure, "met" if one.holds else "**MISSED**", one.how] for one in figures],
        ),
    ]
    if quick:
        print("\n\n".join(parts))
    else:
        write_document("reliability.md", parts)
    return 0 if all(one.holds for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
