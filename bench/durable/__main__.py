"""The figures behind what is said of durable runs.

    python -m bench.durable [--part PART] [--quick] [--only TITLE]

The table goes to docs/reliability-durable.md unless less was asked for. A promise that does not hold is said and
exits 1.
"""

from __future__ import annotations

import argparse
import random
from time import monotonic

from bench.report import machine, table, write_document

from .rows import PARTS, ROWS


def main() -> int:
    """Obtain the figures, print and write them; 1 when a promise does not hold."""
    reader = argparse.ArgumentParser(prog="python -m bench.durable", description="The figures of durable runs.")
    reader.add_argument("--part", choices=PARTS, help="only these rows; nothing is written")
    reader.add_argument("--quick", action="store_true", help="some minutes; nothing is written")
    reader.add_argument("--only", default="", help="only rows whose title holds this; nothing is written")
    reader.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    given = reader.parse_args()
    lines: list[list[str]] = []
    missed = False
    for row in ROWS:
        if given.part not in (None, row.part) or given.only not in row.title:
            continue
        started = monotonic()
        found = row.run(row.quick if given.quick else row.tries, given.seed)
        holds = not found.faults and found.runs > 0
        missed |= not holds
        for fault in found.faults:
            print(f"FAULT {row.title}: {fault}", flush=True)
        words = f"; {found.words}" if found.words else ""
        figure = f"{found.runs:,} tries, {len(found.faults)} faults{words} ({monotonic() - started:.0f} s)"
        print(f"{row.title}: {figure}", flush=True)
        lines.append([row.title, figure, "holds" if holds else "MISSED", row.how])
    parts = [
        "# Reliability: durable runs",
        "Written by `make figures` (`python -m bench.durable`): every figure is the result of that run, which fails "
        f"when a promise does not hold. Seed {given.seed}. On {machine()}.",
        table(["row", "figure", "target", "how it was obtained"], lines),
    ]
    if given.quick or given.only or given.part:
        print("\n\n".join(parts))
    else:
        write_document("reliability-durable.md", parts)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
