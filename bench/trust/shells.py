"""Whether what is said to be plain is read alike by every shell, with the real ones as the judges."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from toolwire.approval.commands.command_line import CommandLine
from toolwire.approval.commands.dialects import Dialect
from toolwire.approval.commands.shell import read_command_line

from . import Found
from .plain_shell_lines import NAMES, plain_line
from .shell import Outcome, Run, unseen
from .shell_lines import is_harmless

SHELLS = {
    "dash": ("dash", "-c"),
    "busybox ash": ("busybox", "ash", "-c"),
    "ksh93": ("ksh", "-c"),
    "mksh": ("mksh", "-c"),
    "zsh": ("zsh", "-f", "-c"),
    "bash": ("bash", "--norc", "-c"),
    "bash as sh": ("bash", "--posix", "-c"),
    "bash as 3.2": ("bash", "-O", "compat32", "-c"),
}
"""How each runs a line. The last reads it as bash 3.2 would, as far as a later bash can."""

_DEEP = "1/2/3/4"
_RECORDER = """#!/bin/sh
printf '%s\\0' "$PWD" "$(($# + 1))" "${0##*/}" "$@" >>"$RECORD.$$"
case $0 in */f*) exit 1 ;; esac
"""
_MISSING = re.compile(r"(?:command not found: (.+)|.*: ([^:]+): (?:command |inaccessible or )?not found)$")


def shells_agree(count: int, seed: int) -> Found:
    """Every program that a shell starts for a line, with its words and folder, and every file that it makes, is among
    what was read; or the line was not plain. 30,000 lines in each shell take some ten minutes.
    """
    found = Found()
    plain = plain_lines(Random(seed), count)
    words = [f"of {count:,} lines {len(plain):,} plain"]
    for name, argv in SHELLS.items():
        path = shutil.which(argv[0])
        if path is None:
            words.append(f"{name}: not installed")
            continue
        found.runs += count
        started, faults = compare(name, (path, *argv[1:]), plain)
        words.append(f"{name}: {started:,} started something, {len(faults)} faults")
        for fault in faults:
            found.fault(fault)
    found.words = "; ".join(words)
    return found


def plain_lines(chance: Random, count: int) -> list[tuple[str, CommandLine]]:
    """Those of so many random lines that are plain, as they were read: no other is said to be understood."""
    lines: list[tuple[str, CommandLine]] = []
    while count:
        text = plain_line(chance)
        if not is_harmless(text) or "\0" in text:
            continue
        count -= 1
        line = read_command_line(text, Dialect.PLAIN)
        if not line.problem:
            lines.append((text, line))
    return lines


def compare(name: str, argv: Sequence[str], lines: Sequence[tuple[str, CommandLine]]) -> tuple[int, list[str]]:
    """Runs lines in one shell: how many started a program, and each time that it did what was not read."""
    started = 0
    faults = []
    with tempfile.TemporaryDirectory(prefix="toolwire-shells-", ignore_cleanup_errors=True) as base, _pool() as pool:
        programs = _make_programs(base)

        def run(given: tuple[int, tuple[str, CommandLine]]) -> tuple[Outcome, list[str]]:
            return run_line(argv, given[1][0], os.path.join(base, str(given[0])), programs)

        for (text, line), (outcome, missing) in zip(lines, pool.map(run, enumerate(lines)), strict=True):
            started += bool(outcome.runs or missing)
            faults += [f"{name}: {text!r}: {words}" for words in (*unseen(line, outcome), *_unread(line, missing))]
    return started, faults


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1)


def _make_programs(base: str) -> str:
    folder = Path(base, "bin")
    folder.mkdir()
    for name in NAMES:
        path = folder / name
        path.write_text(_RECORDER)
        path.chmod(0o755)
    return str(folder)


def run_line(argv: Sequence[str], line: str, top: str, path: str) -> tuple[Outcome, list[str]]:
    """What a shell does with a line in an empty folder of its own, and the programs that it looked for in vain."""
    folder, home, records = (os.path.join(top, name) for name in (_DEEP, "home", "records"))
    os.makedirs(os.path.join(folder, "d"))
    os.mkdir(home)
    os.mkdir(records)
    record, errors = os.path.join(records, "run"), os.path.join(records, "errors")
    environment = {"PATH": path, "HOME": home, "RECORD": record, "LC_ALL": "C.UTF-8"}
    with open(errors, "wb") as said:
        process = subprocess.Popen(
            [*argv, line],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        with contextlib.suppress(ProcessLookupError):
            # What a line left in the background.
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    found = (_MISSING.search(each) for each in Path(errors).read_text("utf-8", "replace").splitlines())
    missing = [each[1] or each[2] for each in found if each]
    made = [os.path.join(at, name) for at, _, names in os.walk(top) if at != records for name in names]
    outcome = Outcome(folder, home, list(_runs(records)), made)
    shutil.rmtree(top, ignore_errors=True)
    return outcome, missing


def _runs(records: str) -> Iterator[Run]:
    for path in sorted(Path(records).glob("run.*")):
        fields = path.read_bytes().decode(errors="replace").split("\0")
        while len(fields) > 1:
            size = int(fields[1])
            yield Run(fields[0], tuple(fields[2 : 2 + size]))
            fields = fields[2 + size :]


def _unread(line: CommandLine, missing: Sequence[str]) -> Iterator[str]:
    known = {word.text for command in line.commands for word in command.words}
    for name in missing:
        if name not in known:
            yield f"looked for the program {name!r}"
