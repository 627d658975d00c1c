"""The figures behind what is said of approval, execution, the built-in tools, the sandbox, the agent and MCP.

    python -m bench.trust [--part approval|tools|agent|mcp] [--quick] [--only ROW]

The tables go to docs/reliability-trust.md, -tools.md, -agent.md and -mcp.md unless `--quick` or `--only` asked for
less. A promise that does not hold is said and exits 1.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable
from time import monotonic

from bench.report import machine, table, write_document

from . import agent_rows, approval_rows, mcp_rows, tool_rows
from .approval_rows import Row

PARTS = {
    "approval": ("Reliability: approval and execution", "reliability-trust.md", approval_rows.ROWS),
    "tools": ("Reliability: the built-in tools and the sandbox", "reliability-tools.md", tool_rows.ROWS),
    "agent": ("Reliability: the agent", "reliability-agent.md", agent_rows.ROWS),
    "mcp": ("Reliability: MCP", "reliability-mcp.md", mcp_rows.ROWS),
}


def main() -> int:
    """Obtain the figures, print and write them; 1 when a promise does not hold."""
    reader = argparse.ArgumentParser(prog="python -m bench.trust", description="The figures of what may run.")
    reader.add_argument("--part", choices=PARTS, help="only this page")
    reader.add_argument("--quick", action="store_true", help="a minute or two; nothing is written")
    reader.add_argument("--only", default="", help="only rows whose title begins so; nothing is written")
    given = reader.parse_args()
    missed = False
    for part, (title, document, rows) in PARTS.items():
        if given.part not in (None, part):
            continue
        seed = random.SystemRandom().randrange(2**31)
        chosen = [row for row in rows if row.title.startswith(given.only)]
        lines, holds = _obtained(chosen, seed, quick=given.quick)
        missed |= not holds
        parts = [
            f"# {title}",
            f"Written by `make figures` (`python -m bench.trust --part {part}`): every figure is the result of that "
            f"run, which fails when a promise does not hold. Seed {seed}. On {machine()}.",
            table(["row", "figure", "target", "how it was obtained"], lines),
        ]
        if given.quick or given.only:
            print("\n\n".join(parts))
        else:
            write_document(document, parts)
    return 1 if missed else 0


def _obtained(rows: Iterable[Row], seed: int, *, quick: bool) -> tuple[list[list[str]], bool]:
    """A line for each row, and whether all of them hold."""
    lines: list[list[str]] = []
    all_hold = True
    for row in rows:
        started = monotonic()
        found = row.run(-(-row.tries // 50) if quick else row.tries, seed)
        holds = not found.faults and found.runs > 0
        all_hold &= holds
        for fault in found.faults:
            print(f"FAULT {row.title}: {fault}", flush=True)
        words = f"; {found.words}" if found.words else ""
        figure = f"{found.runs:,} tries, {len(found.faults)} faults{words} ({monotonic() - started:.0f} s)"
        print(f"{row.title}: {figure}", flush=True)
        lines.append([row.title, figure, "holds" if holds else "MISSED", row.how])
    return lines, all_hold


if __name__ == "__main__":
    raise SystemExit(main())
