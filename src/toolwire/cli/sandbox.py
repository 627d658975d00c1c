"""`toolwire sandbox`: what confines commands on this machine, and whether it holds."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..approval.files import policy_paths
from ..builtin.profile import command_profile
from ..execution.sandbox.escapes import ESCAPES, Escape
from ..execution.sandbox.sandbox import Profile, Sandbox, find_sandbox
from ..execution.sandbox.trials import State, Trial, try_escapes
from .console import PlainConsole
from .inputs import as_text
from .visible import json_bytes, one_line
from .working import find_workspace

WHAT_TO_DO = "Linux 6.2 or newer with Landlock switched on can confine commands, or bubblewrap (bwrap): install that."

_SHOWN: dict[State, tuple[str, str]] = {
    "held": ("held", "green"),
    "got out": ("GOT OUT", "bold red"),
    "not started": ("NOT STARTED", "bold red"),
    "not tried": ("not tried", "dim"),
}
_KINDS = {
    "network": "To reach the network",
    "write": "To change something outside",
    "read": "To read a secret",
    "process": "To reach other processes",
    "privilege": "To gain privileges",
    "size": "To use up the machine",
}


class Verdict(msgspec.Struct, frozen=True):
    """What the test came to."""

    holds: bool
    """Whether something was tried and all of it held."""
    words: str
    held: int = 0
    got_out: int = 0
    not_started: int = 0
    """What the sandbox could not run at all: it holds so, but nothing can be done in it."""
    not_tried: int = 0
    seconds: float = 0.0


class Allowed(msgspec.Struct, frozen=True):
    """What a command in a folder may do."""

    holds: bool
    words: str
    gaps: tuple[str, ...]
    profile: Profile


def test(
    *,
    all: Annotated[bool, Parameter(negative="", show_default=False)] = False,  # noqa: PT028 - no test of pytest
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,  # noqa: PT028
) -> int:
    """Tries to get out of the sandbox of this machine in many ways, and says what held.

    Each way is tried without the sandbox first, on files, listeners and processes made for it: what gets nowhere even
    then says nothing, and counts as not tried.

    Parameters
    ----------
    all
        Every way there is, the slow ones and those for root too.
    json
        Print one JSON object for each trial, a line each, and the verdict last.
    """
    sandbox = find_sandbox()
    if not json:
        print(_sentence(sandbox.words))
    if sandbox.holds:
        chosen = [escape for escape in ESCAPES if all or escape.quick]
        verdict = asyncio.run(_tried(sandbox, chosen, _write_json if json else _Lines().show))
    else:
        words = "commands run without a sandbox here, and each that does more than read is asked about"
        verdict = Verdict(False, f"{words}. {WHAT_TO_DO}")
    if json:
        _write_json(verdict)
    else:
        print(f"\n{_sentence(verdict.words)}" if sandbox.holds else _sentence(verdict.words))
    return 0 if verdict.holds else 1


def show(
    *,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Says what a command in this folder may do. Nothing runs.

    Parameters
    ----------
    json
        Print one JSON object.
    """
    sandbox = find_sandbox()
    files = policy_paths(os.environ)
    held = sandbox if sandbox.holds else None
    profile = command_profile(held, find_workspace(files).roots, map(str, files.protected))
    if held is not None:
        held.command(["true"], profile)  # says where none can run
    if json:
        _write_json(Allowed(sandbox.holds, sandbox.words, sandbox.gaps, profile))
        return 0 if sandbox.holds else 1
    print(_sentence(sandbox.words))
    if not sandbox.holds:
        print(WHAT_TO_DO)
        return 1
    hidden = [path for path in profile.hidden if os.path.lexists(path)]
    rows = {
        "write": f"{', '.join(profile.writable)}, and a folder of its own for temporary files",
        "but not": ", ".join(profile.protected),
        "read": "everything else, but not what is hidden",
        "hidden": ", ".join(hidden) or "nothing of what is usually secret is here",
        "network": "only when the call says so and that is approved",
        "memory": f"{profile.memory >> 20:,} MB, of all its processes together",
        "processes": f"{profile.processes:,}, threads among them",
        "files": f"{profile.open_files:,} open at a time, {profile.file_size >> 20:,} MB each",
        "not held": ", ".join(sandbox.gaps) or "nothing that is known",
    }
    for name, words in rows.items():
        if words:
            print(f"{name:9}  {one_line(as_text(words))}")
    return 0


class _Lines:
    """The trials on a terminal, a line each, as they come."""

    def __init__(self) -> None:
        self._console = PlainConsole()
        self._kind = ""

    def show(self, trial: Trial) -> None:
        if trial.kind != self._kind:
            self._kind = trial.kind
            self._console.print(f"\n{_KINDS[trial.kind]}", style="bold")
        words, style = _SHOWN[trial.state]
        why = "" if trial.state == "held" else f": {one_line(trial.why)}"
        self._console.print(f"  {words:11}", style=style, end="")
        self._console.print(f"  {trial.seconds:4.1f} s  {trial.name}{why}", soft_wrap=True)


async def _tried(sandbox: Sandbox, escapes: Sequence[Escape], show: Callable[[Trial], None]) -> Verdict:
    """Shows each trial when it is done, and says what they came to."""
    started = time.monotonic()
    counts: Counter[State] = Counter()
    async with aclosing(try_escapes(sandbox, escapes)) as trials:
        async for trial in trials:
            counts[trial.state] += 1
            show(trial)
    seconds = round(time.monotonic() - started, 1)
    held, out, failed, untried = (counts[state] for state in ("held", "got out", "not started", "not tried"))
    words = f"{held} of {held + out + failed} ways out held"
    words += f", {untried} could not be tried here" if untried else ""
    words += f"; {failed} did not start in the sandbox, which is a fault of it" if failed else ""
    words += f"; {out} got out: do not rely on the sandbox for those" if out else ""
    return Verdict(held > 0 and not out and not failed, f"{words} ({seconds} s)", held, out, failed, untried, seconds)


def _write_json(value: object) -> None:
    sys.stdout.buffer.write(json_bytes(value) + b"\n")
    sys.stdout.buffer.flush()


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"
