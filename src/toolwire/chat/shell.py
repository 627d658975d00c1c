"""`!command`: the person's own command in their own shell, watched while it runs, with nothing of it left behind.

It is their act and not the model's: no rule asks about it and no sandbox holds it. It has no terminal and no input, so
that editors, pagers and whatever asks end at once or say so. What it left running in the background ends with it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from ..builtin.commands import spell_seconds
from ..builtin.terminal_text import TerminalText, with_pictures
from ..cli.visible import one_line
from ..errors import ConfigError, ToolwireError
from ..execution.process import ProcessResult, run_process
from ..execution.results import bounded, clean
from ..framed import framed
from ..messages import Message, TextPart
from ..redaction import Redactor
from ..tasks import create_lazy_task
from .typed import ShellLine

KEPT_CHARACTERS = 1_000_000
"""Of the output of one command: the newest."""
TOLD_CHARACTERS = 20_000
"""Of the output of one command that the model is told: its beginning and its end."""
TOLD_COMMANDS = 10
"""Commands that go along with one question: the newest."""

_SHELLS = frozenset(("ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "yash", "zsh"))
"""Shells that take a command behind `-c`; a login that is none of them (nologin, false) runs nothing."""

State = Literal["ready", "running", "ended", "stopped", "failed"]


class ShellRun:
    """One command. `run` it once; look at it meanwhile and afterwards."""

    def __init__(self, command: str, folder: str, environ: Mapping[str, str] | None = None) -> None:
        self.command = command
        self.folder = folder
        self.state: State = "ready"
        self.result: ProcessResult | None = None
        self.dropped = 0
        """Characters of the older output that are not kept."""
        self._environ = dict(os.environ if environ is None else environ)
        self._problem = ""
        self._started = 0.0
        self._seconds = 0.0
        self._pieces: deque[str] = deque()
        self._held = 0
        self._terminal = TerminalText()
        self._task: asyncio.Task[ProcessResult] | None = None

    async def run(self, changed: Callable[[], object] = lambda: None) -> None:
        """Runs it to its end. `changed` is called when it begins, for each piece of output, and when it has ended.

        A cancel ends all of its processes.
        """
        self.state, self._started = "running", time.monotonic()
        changed()

        def take(text: str) -> None:
            self._keep(self._terminal.feed(text))
            changed()

        self._task = create_lazy_task(
            run_process(
                shell_words(self.command, self._environ),
                cwd=self.folder,
                environment=self._environ,
                timeout=None,
                on_output=take,
                limit=100,
            )
        )
        try:
            self.result = await self._task
            self.state = "ended"
        except asyncio.CancelledError:
            self.state = "stopped"
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
        except ToolwireError as error:
            self.state, self._problem = "failed", " ".join(filter(None, (error.message, error.hint)))
        finally:
            self._seconds = time.monotonic() - self._started
            self._keep(self._terminal.close())
            changed()

    def stop(self) -> None:
        """Begins to end it; `run` returns when all of its processes are gone."""
        if self._task is not None:
            self._task.cancel()

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self._started if self.state == "running" else self._seconds

    @property
    def ending(self) -> str:
        """How it is, in words: `exit code 1`, `running for 3 s`."""
        took = spell_seconds(self.seconds)
        if self.state == "failed":
            return f"could not run: {self._problem}"
        if self.state == "stopped":
            return f"stopped after {took}"
        if self.result is None:
            return f"running for {took}"
        ended = f"ended by {self.result.signal}" if self.result.signal else f"exit code {self.result.code}"
        left = f", {self.result.left} of its processes could not be ended" if self.result.left else ""
        return f"{ended} after {took}{left}"

    @property
    def text(self) -> str:
        """The output so far, as plain text without anything a terminal would obey; the newest of it if it is long."""
        return with_pictures(clean("".join(self._pieces) + self._terminal.line))

    def tail(self, lines: int) -> str:
        """The last lines of it; costs as much as they are long, whatever came before."""
        found: list[str] = [self._terminal.line]
        count = 0
        for piece in reversed(self._pieces):
            found.append(piece)
            count += piece.count("\n")
            if count > lines:
                break
        text = "".join(reversed(found)).removesuffix("\n")
        return with_pictures(clean("\n".join(text.split("\n")[-lines:])))

    def _keep(self, text: str) -> None:
        if not text:
            return
        self._pieces.append(text)
        self._held += len(text)
        while self._held > KEPT_CHARACTERS and len(self._pieces) > 1:
            oldest = self._pieces.popleft()
            self._held -= len(oldest)
            self.dropped += len(oldest)


class ShellRuns:
    """The commands of one chat: one at a time. Those that the model may know of go along with the next question."""

    def __init__(self, root: str, environ: Mapping[str, str] | None = None) -> None:
        self._root = root
        self._environ = dict(os.environ if environ is None else environ)
        self._redactor = Redactor(environment=self._environ)
        self._current: ShellRun | None = None
        self._untold: deque[ShellRun] = deque(maxlen=TOLD_COMMANDS)

    @property
    def running(self) -> bool:
        """Whether one has not ended."""
        return self._current is not None

    async def run(self, line: ShellLine, show: Callable[[ShellRun], object] = lambda run: None) -> ShellRun:
        """Runs a line to its end. `show` is called when it begins, for each piece of its output and at its end."""
        if self._current is not None:
            raise ConfigError("a command of yours is running", hint="Wait for its end, or stop it with Esc.")
        run = self._current = ShellRun(line.command, self._root, self._environ)
        try:
            await run.run(lambda: show(run))
        finally:
            self._current = None
            if line.is_told:
                self._untold.append(run)
        return run

    def stop(self) -> None:
        """Begins to end the one that runs."""
        if self._current is not None:
            self._current.stop()

    def with_runs(self, message: Message) -> Message:
        """The message with what was run since the last one: told once, without the secrets that are known."""
        runs, self._untold = self._untold, deque(maxlen=TOLD_COMMANDS)
        parts = [TextPart(self._told(run)) for run in runs]
        return msgspec.structs.replace(message, content=[*message.parts, *parts]) if parts else message

    def _told(self, run: ShellRun) -> str:
        output = bounded(run.text.rstrip("\n"), TOLD_CHARACTERS)
        if run.dropped:
            output = f"[… {run.dropped:,} older characters dropped …]\n{output}"
        text = "\n".join(filter(None, (f"$ {run.command}", output, f"[{run.ending}]")))
        command = self._redactor.held(one_line(clean(run.command)))[:80]
        return framed(f"command that the user ran: {command}", self._redactor.held(clean(text)))


def shell_words(command: str, environ: Mapping[str, str]) -> list[str]:
    """The words that run a command line in the person's own shell, or in the system's."""
    if sys.platform == "win32":
        return [environ.get("COMSPEC") or "cmd.exe", "/d", "/s", "/c", command]
    own = environ.get("SHELL", "")
    if os.path.isabs(own) and os.path.basename(own) in _SHELLS and os.access(own, os.X_OK):
        return [own, "-c", command]
    return [shutil.which("sh", path=environ.get("PATH")) or "/bin/sh", "-c", command]
