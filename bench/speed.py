"""All that docs/performance.md says of speed and memory, measured in one run and held against its targets.

    python -m bench.speed [--wire W] [--part P]

With a wire or a part nothing is written. 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from . import agent_run, growth, memory, sans_io, text, text_families
from .loopback import WORDS as HTTP_WORDS
from .loopback.race import Ports, Reading, race, race_table, race_verdicts, server
from .payloads import ROOT
from .report import Verdict, machine, write_document
from .wires import SUBJECTS

PARTS = ("http", "sans-io", "agent", "text", "growth", "memory")
PICTURE = "performance.svg"
OPENING = f"""
Written by `make bench` (`python -m bench.speed`), which obtains every number on this page anew in one run; it takes
about ten minutes and wants the machine to itself. On {machine()}. `--wire anthropic` or `--part http` measure less
and write nothing.
"""
PER_DECADE = "t(10n)/t(n)"


class Page:
    """The document as it grows: each part is printed as soon as it is there."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.verdicts: list[Verdict] = []

    def add(self, *parts: str) -> None:
        """More text."""
        self.parts += parts
        print("\n\n".join(part.strip() for part in parts), end="\n\n", flush=True)


def http_part(page: Page, ports: Ports, wires: Sequence[str], *, picture: bool) -> None:
    """Every client over the loopback."""
    page.add("## Over HTTP, against the clients people use", HTTP_WORDS)
    if picture:
        page.add(f"![Processor time per event of each client]({PICTURE})")
    readings: list[Reading] = []
    for wire in wires:
        readings += race(ports, wire)
        page.add(f"### {wire}", race_table(readings, wire))
    page.verdicts += race_verdicts(readings)
    if picture:
        from .plot import plot

        plot(readings, ROOT / "docs" / PICTURE)


def sans_io_part(page: Page, wires: Sequence[str]) -> None:
    """Bytes in memory, against the JSON parse."""
    page.add("## Bytes to events", sans_io.WORDS)
    for wire in wires:
        timings = sans_io.time_wire(SUBJECTS[wire])
        page.add(f"### {wire}, in memory", sans_io.speed_table(timings))
        page.verdicts += sans_io.speed_verdicts(timings)


def agent_part(page: Page, wires: Sequence[str]) -> None:
    """What a run adds to its stream."""
    timings = agent_run.time_runs(wires)
    if timings:
        page.add("## Runs of an agent", agent_run.WORDS, agent_run.agent_table(timings))
        page.verdicts += agent_run.agent_verdicts(timings)


def text_part(page: Page) -> None:
    """Calls that stand in text."""
    calls, plain = text.time_calls(), text.time_plain()
    page.add("## Calls in text", text.WORDS, text.call_table(calls), text.PLAIN_WORDS, text.plain_table(plain))
    page.verdicts += text.text_verdicts(calls, plain)
    families, held = text_families.time_families(), text_families.hold_backs()
    page.add("### As models were trained to write them", text_families.WORDS, text.call_table(families))
    page.add(text_families.held_table(held), text_families.PEER_WORDS, text_families.peer_table())
    page.verdicts += [*text.text_verdicts(families, ()), *text_families.held_verdicts(held)]


def growth_part(page: Page, wires: Sequence[str]) -> None:
    """Ten times and twice the input."""
    page.add("## Growth", growth.DECADE_WORDS)
    decades = [found for wire in wires if (found := growth.decades(SUBJECTS[wire])) is not None]
    page.add(growth.growth_table(decades, PER_DECADE), growth.WORDS)
    doubled = growth.growths([SUBJECTS[wire] for wire in wires])
    page.add(growth.growth_table(doubled))
    page.verdicts += growth.growth_verdicts(decades, PER_DECADE, growth.DECADE_TARGET)
    page.verdicts += growth.growth_verdicts(doubled)


def memory_part(page: Page, ports: Ports, wires: Sequence[str]) -> None:
    """Ten thousand streams at once, and one of each format."""
    page.add("## Ten thousand streams at once", memory.WORDS)
    bare, ours = memory.crowd(ports, "aiohttp"), memory.crowd(ports, "toolwire")
    page.add(memory.crowd_table(ours, bare), memory.WEIGHT_WORDS)
    weights = [weight for wire in wires for weight in memory.weigh(SUBJECTS[wire])]
    page.add(memory.weight_table(weights))
    page.verdicts += memory.memory_verdicts(ours, bare, weights)


def main() -> int:
    """Measure, print, write."""
    reader = argparse.ArgumentParser(prog="python -m bench.speed", description="Speed and memory against the targets.")
    reader.add_argument("--wire", choices=SUBJECTS, help="one wire format alone; nothing is written")
    reader.add_argument("--part", choices=PARTS, help="one part alone; nothing is written")
    given = reader.parse_args()
    wires = [given.wire] if given.wire else list(SUBJECTS)
    parts = [given.part] if given.part else PARTS
    whole = not (given.wire or given.part)
    page = Page()
    page.add("# Performance", OPENING)
    with ExitStack() as stack:
        if "http" in parts or "memory" in parts:
            ports = stack.enter_context(server())
        if "http" in parts:
            http_part(page, ports, wires, picture=whole)
        if "sans-io" in parts:
            sans_io_part(page, wires)
        if "agent" in parts:
            agent_part(page, wires)
        if "text" in parts:
            text_part(page)
        if "growth" in parts:
            growth_part(page, wires)
        if "memory" in parts:
            memory_part(page, ports, wires)
    page.add("## Targets", "\n".join(f"- {'holds' if holds else 'MISSED'}: {words}" for words, holds in page.verdicts))
    if whole:
        write_document("performance.md", page.parts)
    return 0 if all(verdict.holds for verdict in page.verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
