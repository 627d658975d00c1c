"""Commands in the background: started by one call, looked at and ended by later ones.

A job is a task of the event loop. It ends with the loop and with the tools that it belongs to, and whatever becomes of
Toolwire itself, because its processes are held as those of any command are.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from contextlib import suppress
from contextvars import Context

from ..errors import ConfigError, ToolwireError
from ..execution.process import ProcessResult
from ..tasks import create_lazy_task
from .commands import Command, ending_words, spell_seconds
from .terminal_text import TerminalText, with_pictures

MOST_JOBS = 16
"""That run at one time."""
MOST_KEPT = 32
"""Jobs that are remembered, with those that have ended."""
KEPT_CHARACTERS = 60_000
"""Of the output that nobody has looked at yet: the newest."""
FIRST_SECONDS = 0.5
"""How long the start of a job is watched: what cannot run at all says so at once."""
SHOWN_COMMAND = 80


class Newest:
    """Text that comes in pieces: the newest of it, and how much of the older is dropped."""

    def __init__(self, limit: int) -> None:
        self.dropped = 0
        self._limit = limit
        self._pieces: list[str] = []
        self._held = 0

    def add(self, text: str) -> None:
        """One more piece."""
        if not text:
            return
        self._pieces.append(text[-self._limit :])
        self.dropped += len(text) - len(self._pieces[-1])
        self._held += len(self._pieces[-1])
        if self._held > 2 * self._limit:
            self._shorten()

    def take(self) -> str:
        """What is kept; it is not given again, and `dropped` begins anew after it."""
        self._shorten()
        text = "".join(self._pieces)
        self._pieces, self._held = [], 0
        return text

    def _shorten(self) -> None:
        text = "".join(self._pieces)
        self._pieces = [text[-self._limit :]]
        self._held = len(self._pieces[0])
        self.dropped += len(text) - self._held


class Job:
    """One command in the background."""

    def __init__(self, number: int, line: str, command: Command) -> None:
        self.number = number
        self.line = line if len(line) <= SHOWN_COMMAND else f"{line[: SHOWN_COMMAND - 1]}…"
        self.seen_ended = False
        self._command = command
        self._terminal = TerminalText()
        self._newest = Newest(KEPT_CHARACTERS)
        self._line_shown = ""
        self._result: ProcessResult | None = None
        self._problem = ""
        self._started = time.monotonic()
        self._loop = asyncio.get_running_loop()
        # In a context of its own: that of the call holds what holds the tools, and they must be free to go.
        self._task = create_lazy_task(self._run(), name=f"toolwire-job {number}", context=Context())

    @property
    def runs(self) -> bool:
        """Whether it has not ended; what ran in a loop that is closed has."""
        return not self._task.done() and not self._loop.is_closed()

    async def wait(self, seconds: float) -> None:
        """Until it has ended, or so many seconds have passed."""
        if self.runs and seconds > 0:
            self._check_loop()
            await asyncio.wait((self._task,), timeout=seconds)

    async def stop(self) -> None:
        """Ends it; nothing of it lives when this returns."""
        if self.runs:
            self._check_loop()
            self._task.cancel()
            await asyncio.wait((self._task,))

    def abandon(self) -> None:
        """Ends it, from wherever this is called; nobody waits for it."""
        with suppress(RuntimeError):  # the loop is closed, and with it the job
            self._loop.call_soon_threadsafe(self._task.cancel)

    def news(self) -> str:
        """Its output since the last look, and how it is."""
        output = self._newest.take()
        dropped, self._newest.dropped = self._newest.dropped, 0
        if self.runs and self._terminal.line != self._line_shown:
            output += self._terminal.line
            self._line_shown = self._terminal.line
        parts = [f"[… {dropped:,} older characters dropped …]"] if dropped else []
        if output:
            parts.append(with_pictures(output).rstrip("\n"))
        parts.append(f"[{'' if output else 'no new output; '}{self.state()}]")
        if self._result is not None and (advice := self._command.advice(self._result, output)):
            parts.append(f"[{advice}]")
        self.seen_ended = not self.runs
        return "\n".join(parts)

    def state(self) -> str:
        """How it is, in words."""
        who = f"job {self.number}"
        if self.runs:
            return f"{who} runs since {spell_seconds(time.monotonic() - self._started)}"
        if self._problem:
            return f"{who} could not run: {self._problem}"
        if self._result is None:
            return f"{who} was stopped"
        ended = ending_words(self._result) or [f"exit code 0 after {spell_seconds(self._result.seconds)}"]
        return f"{who} has ended: {'; '.join(ended)}"

    async def _run(self) -> None:
        try:
            self._result = await self._command.run(None, self._take)
        except ToolwireError as error:
            self._problem = str(error)
        finally:
            self._newest.add(self._terminal.close())

    def _take(self, text: str) -> None:
        self._newest.add(self._terminal.feed(text))

    def _check_loop(self) -> None:
        if self._loop is not asyncio.get_running_loop():
            raise ConfigError(f"job {self.number} runs in another event loop; only its output can be looked at here")


class Jobs:
    """The jobs of one tool set. When it is dropped, all of them are ended."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._last = 0
        weakref.finalize(self, _abandon_all, self._jobs)

    async def start(self, line: str, command: Command) -> Job:
        """Starts a job and watches its first moments; if this is cancelled meanwhile, the job is ended too."""
        self._make_room()
        self._last += 1
        job = self._jobs[self._last] = Job(self._last, line, command)
        try:
            await job.wait(FIRST_SECONDS)
        except asyncio.CancelledError:
            del self._jobs[job.number]
            await job.stop()
            raise
        return job

    def get(self, number: int) -> Job:
        """A job by its number; a `ConfigError` says which there are."""
        job = self._jobs.get(number)
        if job is None:
            there = ", ".join(map(str, self._jobs))
            raise ConfigError(f"there is no job {number}; {f'there are {there}' if there else 'none was started'}")
        return job

    def list(self) -> str:
        """All of them, a line each."""
        return "\n".join(f"{job.state()}: {job.line}" for job in self._jobs.values()) or "There are no jobs."

    def _make_room(self) -> None:
        if sum(job.runs for job in self._jobs.values()) >= MOST_JOBS:
            raise ConfigError(
                f"{MOST_JOBS} jobs run already; stop one with bash_job(job=…, action='stop'), then start this one"
            )
        ended = sorted((job for job in self._jobs.values() if not job.runs), key=lambda job: not job.seen_ended)
        for job in ended[: max(0, len(self._jobs) - MOST_KEPT + 1)]:
            del self._jobs[job.number]


def _abandon_all(jobs: dict[int, Job]) -> None:
    for job in jobs.values():
        job.abandon()
