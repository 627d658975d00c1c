"""Whether the shell reader sees everything that bash runs, with a real bash as the judge."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from toolwire.approval.commands.command_line import Command, CommandLine, Word, WordKind
from toolwire.approval.commands.dialects import Dialect
from toolwire.approval.commands.shell import read_command_line

from . import Found
from .shell_lines import ODD, command_line, is_harmless

BASH = shutil.which("bash") or ""
_BATCH = 200
_DEEP = "1/2/3/4"
"""Below this a line runs, so that a few `cd ..` do not leave the proof's own folder."""
_SCRIPT = r"""
command_not_found_handle() {
    builtin printf '%s\0' "$PWD" "$#" "$@" >>"$RECORD.$BASHPID"
    builtin printf . >>"$RECORD"
    builtin read -r runs <"$RECORD"
    if ((${#runs} > 50)); then builtin kill -9 "$LINE"; fi
    case $1 in f*) return 1 ;; esac
}
place=0
while ((place < COUNT)); do
    IFS= builtin read -r -d '' line <"$BASE/$place.line"
    (
        RECORD=$BASE/$place.record LINE=$BASHPID HOME=$BASE/$place/home
        builtin cd "$BASE/$place/$DEEP" && builtin ulimit -t 1 && unset OLDPWD place && eval "$line"
        wait
    ) </dev/null >/dev/null 2>&1
    ((place++))
done
"""


class Run(NamedTuple):
    """A program that bash started."""

    folder: str
    words: tuple[str, ...]


class Outcome(NamedTuple):
    """What a line did: the programs it started and the files it made."""

    folder: str
    home: str
    runs: list[Run]
    files: list[str]


def bash_runs_nothing_unseen(count: int, seed: int) -> Found:
    """Every program that bash starts for a line, with its words and folder, and every file that it makes, is among
    what was read; or the line was not understood. 100,000 lines take some 20 minutes.
    """
    found = Found()
    chance = Random(seed)
    understood = ran = 0
    for lines in _batches(chance, count):
        for text, outcome in zip(lines, run_in_bash(lines), strict=True):
            line = read_command_line(text, Dialect.BASH)
            found.runs += 1
            understood += not line.problem
            ran += bool(outcome.runs)
            for fault in unseen(line, outcome):
                found.fault(f"{text!r}: {fault}")
    found.words = f"{understood:,} of {found.runs:,} lines understood, {ran:,} started something"
    return found


def _batches(chance: Random, count: int) -> Iterator[list[str]]:
    waiting = [line for line in ODD if is_harmless(line)][:count]
    done = 0
    while done < count:
        while len(waiting) < min(_BATCH, count - done):
            line = command_line(chance)
            if is_harmless(line) and "\0" not in line:
                waiting.append(line)
        lines, waiting = waiting[:_BATCH], waiting[_BATCH:]
        done += len(lines)
        yield lines


def run_in_bash(lines: Sequence[str]) -> list[Outcome]:
    """What bash does with each line, in an empty folder of its own where no program exists."""
    base = tempfile.mkdtemp(prefix="toolwire-bash-")
    try:
        for place, line in enumerate(lines):
            Path(base, f"{place}.line").write_text(line + "\0", newline="")
            Path(base, str(place), _DEEP, "d").mkdir(parents=True)
            Path(base, str(place), "home").mkdir()
        environment = {
            "PATH": "/nonexistent",
            "BASE": base,
            "COUNT": str(len(lines)),
            "DEEP": _DEEP,
            "LC_ALL": "C.UTF-8",
        }
        process = subprocess.Popen(
            [BASH, "--norc", "--noprofile", "-c", _SCRIPT],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(timeout=300)
            time.sleep(0.05)
        finally:
            # What a line left in the background would go on writing.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return [_outcome(base, place) for place in range(len(lines))]
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _outcome(base: str, place: int) -> Outcome:
    top = Path(base, str(place))
    runs = []
    for record in sorted(Path(base).glob(f"{place}.record.*")):
        fields = record.read_bytes().decode(errors="replace").split("\0")
        while len(fields) > 1:
            size = int(fields[1])
            runs.append(Run(fields[0], tuple(fields[2 : 2 + size])))
            fields = fields[2 + size :]
    files = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
    return Outcome(str(top / _DEEP), str(top / "home"), runs, files)


def unseen(line: CommandLine, outcome: Outcome) -> Iterator[str]:
    """What bash did that the reading does not say."""
    if line.problem:
        return
    for run in outcome.runs:
        if not any(_covers(command, run, outcome) for command in line.commands):
            yield f"started {run.words} in {os.path.relpath(run.folder, outcome.folder)!r}"
    for path in outcome.files:
        if not any(_writes(command, path, outcome) for command in line.commands):
            yield f"made {os.path.relpath(path, outcome.folder)!r}"


def _covers(command: Command, run: Run, outcome: Outcome) -> bool:
    folders = _folders(command, outcome)
    if folders is not None and run.folder not in folders:
        return False
    words = command.words
    while not _fits(words, run.words, outcome.home):
        if not words or words[0].text not in ("command", "time", "-p", "--"):
            return False
        words = words[1:]
    return True


def _fits(words: Sequence[Word], given: Sequence[str], home: str) -> bool:
    """Whether what a program was given is what was read: a word that is not known stands for any number of them."""
    reached = {0}
    for word in words:
        if word.kind is not WordKind.LITERAL:
            reached = set(range(min(reached), len(given) + 1))
            continue
        text = home + word.text[1:] if word.home else word.text
        reached = {at + 1 for at in reached if at < len(given) and given[at] == text}
        if not reached:
            return False
    return len(given) in reached


def _folders(command: Command, outcome: Outcome) -> set[str] | None:
    """Every folder that the command may run in; None where that is not known."""
    folders = {outcome.folder}
    for word in command.folders:
        if word.kind is not WordKind.LITERAL or len(folders) > 100:
            return None
        folders |= {_path(word, folder, outcome.home) for folder in folders}
    return folders


def _path(word: Word, folder: str, home: str) -> str:
    text = home + word.text[1:] if word.home else word.text
    return os.path.normpath(os.path.join(folder, text))


def _writes(command: Command, path: str, outcome: Outcome) -> bool:
    folders = _folders(command, outcome)
    for redirect in command.redirects:
        if not redirect.writes:
            continue
        if redirect.target.kind is not WordKind.LITERAL or folders is None:
            return True
        if any(_path(redirect.target, folder, outcome.home) == path for folder in folders):
            return True
    return False
