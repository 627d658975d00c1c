"""Every contender over the loopback, one after another, and what that says: tables and verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ..payloads import ROOT, payloads
from ..report import Verdict, table
from .answers import KINDS, bodies
from .contenders import CONTENDERS, FLOOR, OURS, Contender

PEERS_PYTHON = Path(sys.prefix) / "peers" / "bin" / "python"
"""The interpreter of the libraries that have an environment of their own."""

ROUNDS = 3
"""Processes for the floor and for Toolwire, to which all others are compared; the others have one each."""


class Reading(msgspec.Struct, frozen=True):
    """What one contender needs for one answer; no `seconds` where it is not installed."""

    wire: str
    kind: str
    name: str
    times: float
    events: int
    seconds: float | None = None
    version: str = ""

    @property
    def micros(self) -> float:
        """Per event."""
        return 1e6 * (self.seconds or 0.0) / self.events

    @property
    def label(self) -> str:
        """The name with the version."""
        return f"{self.name} ({self.version})" if self.version else self.name


class Ports(dict[str, int]):
    """The server's ports, by what it sends there."""

    def url(self, name: str) -> str:
        """Where to ask."""
        return f"http://127.0.0.1:{self[name]}"


@contextmanager
def server() -> Iterator[Ports]:
    """The server in a process of its own, as long as it is needed."""
    command = [sys.executable, "-m", "bench.loopback.server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield Ports(json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()


def race(ports: Ports, wire: str) -> list[Reading]:
    """All contenders of one format on both answers, round by round; the least time of each."""
    made: list[Reading] = []
    for kind, body in bodies(wire):
        events = len(payloads(body))
        found: dict[int, Reading] = {}
        for turn in range(ROUNDS):
            for number, contender in enumerate(CONTENDERS):
                if contender.wire == wire and not (contender.package and turn):
                    reading = _run(number, contender, kind, ports.url(f"{wire} {kind}"), events)
                    found[number] = _quicker(found.get(number, reading), reading)
        made += found.values()
    return made


def _quicker(one: Reading, other: Reading) -> Reading:
    return other if (other.seconds or 0.0) < (one.seconds or 0.0) else one


def _run(number: int, contender: Contender, kind: str, url: str, events: int) -> Reading:
    python = PEERS_PYTHON if contender.apart else Path(sys.executable)
    said: dict[str, object] = {}
    if python.exists():
        command = [str(python), "-m", "bench.loopback.client", str(number), kind, url]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if ended.returncode:
            raise RuntimeError(f"{contender.name} ({contender.wire}, {kind}) failed:\n{ended.stderr}")
        said = json.loads(ended.stdout.splitlines()[-1])  # some libraries print before
    fixed = {"wire": contender.wire, "kind": kind, "name": contender.name, "times": contender.times, "events": events}
    return msgspec.convert({**fixed, **said}, Reading)


def race_table(readings: Sequence[Reading], wire: str) -> str:
    """One format: for each answer the time per event, as a multiple of the floor's and of Toolwire's."""
    kinds = [kind for kind in KINDS if any((one.wire, one.kind) == (wire, kind) for one in readings)]
    head = [""]
    for kind in kinds:
        head += [f"{kind}: µs per event", "× floor", "× toolwire over HTTP"]
    names = dict.fromkeys(one.name for one in readings if one.wire == wire)
    rows = []
    for name in names:
        cells = [find(readings, wire, kind, name) for kind in kinds]
        row = [cells[0].label]
        for cell in cells:
            row += _cells(readings, cell)
        rows.append([f"**{part}**" for part in row] if name == OURS else row)
    return table(head, rows)


def _cells(readings: Sequence[Reading], cell: Reading) -> list[str]:
    if cell.seconds is None:
        return ["not installed", "", ""]
    floor, ours = (find(readings, cell.wire, cell.kind, name).micros for name in (FLOOR, OURS))
    return [f"{cell.micros:.2f}", f"{cell.micros / floor:.1f}", f"{cell.micros / ours:.1f}"]


def find(readings: Sequence[Reading], wire: str, kind: str, name: str) -> Reading:
    """One cell."""
    return next(one for one in readings if (one.wire, one.kind, one.name) == (wire, kind, name))


def race_verdicts(readings: Sequence[Reading]) -> list[Verdict]:
    """Every target over HTTP, with whether it holds."""
    made = []
    for one in readings:
        if one.times and one.seconds is not None:
            ratio = one.micros / find(readings, one.wire, one.kind, OURS).micros
            words = f"{one.wire} over HTTP, {one.kind}: {ratio:.1f} × less than {one.label}, "
            made.append(Verdict(f"{words}target at least {one.times:g} ×", ratio >= one.times))
    return made
