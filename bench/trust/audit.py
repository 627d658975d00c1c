"""The audit trail under kill -9: what a process was told to be written is in the file, and the file can be read.

A child writes records as fast as it can and prints the number of each when it is written; at a random moment it is
killed, and the next one goes on with the same file.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.trust import Found
from toolwire.approval.audit import AuditRecord, AuditTrail, read_trail

CHILD = """
import os, sys
from toolwire.approval.audit import AuditRecord, AuditTrail
from toolwire.redaction import Redactor
trail = AuditTrail(sys.argv[1], Redactor())
name, events, padding = sys.argv[2], sys.argv[3].split(","), "x" * int(sys.argv[4])
for number in range(int(sys.argv[5])):
    trail(AuditRecord(event=events[number % len(events)], call=f"{name}-{number}", tool="f", risk="read",
                      arguments={"x": padding}))
    os.write(1, b"%d\\n" % number)
"""


def start(
    path: Path, name: str, *, events: str = "allowed,started", padding: int = 9000, records: int = 10**9
) -> subprocess.Popen[bytes]:
    """A process that adds records to the trail; each line that it prints is the number of one that is written."""
    arguments = [str(path), name, events, str(padding), str(records)]
    return subprocess.Popen([sys.executable, "-c", CHILD, *arguments], stdout=subprocess.PIPE)


def killed(count: int, seed: int) -> Found:
    """Plan: 1,000 kills (some 80 seconds, most of them the start of the processes)."""
    dice = random.Random(seed)
    found = Found()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.jsonl"
        acknowledged: list[str] = []
        for run in range(count):
            name = f"r{run}"
            child = start(path, name)
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(dice.random() * 0.02)
            os.kill(child.pid, signal.SIGKILL)
            # Nothing cuts a number in two: each is one small write to a pipe.
            acknowledged += [f"{name}-{int(line)}" for line in (first, *child.stdout)]
            child.stdout.close()
            child.wait()
            found.runs += 1
        AuditTrail(path)(AuditRecord(event="denied", call="after", tool="f", risk="read"))
        with path.open("rb") as file:
            lines = list(read_trail(file))
        written = {line.record.call for line in lines if line.record is not None}
        for call in acknowledged:
            if call not in written:
                found.fault(f"{call} was acknowledged and is not in the file")
        for line in lines:
            if line.broken:
                found.fault(f"line {line.number}: {line.broken}")
        if lines[-1].record is None or lines[-1].record.call != "after":
            found.fault("the record after all of them is not the last one")
        torn = sum(line.record is None for line in lines)
        found.words = f"{len(acknowledged):,} acknowledged, {len(written):,} written, {torn} unfinished lines"
    return found
