"""`run_bash` and `bash_job`: commands of a model, confined where the system can, and what it is told of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

from ..execution.process import OUTPUT_CHARACTERS, ProcessResult
from ..execution.results import Pieces
from ..execution.sandbox.sandbox import Sandbox
from ..tools.definition import ToolDefinition
from ..tools.function import as_definition, tool
from ..tools.running import this_call
from .commands import Shell, ending_words
from .jobs import Jobs
from .terminal_text import TerminalText, with_pictures

DEFAULT_SECONDS = 120
MOST_SECONDS = 600
MOST_WAIT = 60
TELL_SECONDS = 1.0
"""How often an unfinished line is told while a command runs: a progress bar has no other."""

_WORDS = (
    "Run a {shell} command line and return its output (standard output and error in one) and how it ended. Every call "
    "starts in the workspace, in a new shell: nothing of cd or export lasts. There is no input: a program that asks "
    "gets none.{sandbox}{plain} Long output is cut in its middle: use head, tail or grep, or write it to a file in "
    "$TMPDIR."
)
_CONFINED = (
    " It can write only inside the workspace and $TMPDIR, and reach no network unless network is true. What it starts "
    "is ended with it; use background for a server or a long run."
)
_PLAIN = (
    " Of a command line only plain words, quotes, pipes and lists are understood: one with variables, substitutions or "
    "other signs of the shell needs approval."
)


def shell_tools(sandbox: Sandbox | None, hidden: tuple[str, ...] = ()) -> list[ToolDefinition]:
    """The tools for commands; `hidden` are files and folders that commands may not read, beside the usual ones.

    Where no sandbox holds a command, what does more than read is asked about. Jobs and temporary files last as long as
    the tools.
    """
    from pydantic import Field

    shell = Shell(sandbox, hidden)
    jobs = Jobs()
    Seconds = Annotated[float, Field(gt=0, le=MOST_SECONDS)]
    Wait = Annotated[float, Field(ge=0, le=MOST_WAIT)]

    async def run_bash(
        command: str,
        timeout: Seconds = DEFAULT_SECONDS,  # noqa: ASYNC109 - a result tells of it
        cwd: str | None = None,
        background: bool = False,
        network: bool = False,
        environment: dict[str, str] | None = None,
    ) -> str:
        """Run a command line.

        Args:
            command: The command line.
            timeout: Seconds after which it is stopped. A command in the background has no limit.
            cwd: Folder to run it in; the workspace if left out.
            background: Return at once and let it run on; look at it with bash_job.
            network: Let it reach the network. A person is asked about that.
            environment: Further environment variables.
        """
        ready = shell.command(command, cwd, network, environment or {})
        if background:
            job = await jobs.start(command, ready)
            if not job.runs:
                return job.news()
            later = f"bash_job(job={job.number}) shows its output, bash_job(job={job.number}, action='stop') ends it."
            return f"Job {job.number} runs in the background. {later}\n{job.news()}"
        output = Output(this_call().report)
        result = await ready.run(timeout, output.add)
        text = output.text()
        return written(text, result, timeout, ready.advice(result, text), output.written_over)

    async def bash_job(job: int = 0, action: Literal["output", "stop", "list"] = "output", wait: Wait = 0) -> str:
        """Look at a command that run_bash started in the background: its output since the last look and whether it
        still runs. Also ends such a command, or lists all of them.

        Args:
            job: The number that run_bash gave; not needed for list.
            action: output (the default), stop, or list.
            wait: Seconds to wait for its end first, at most 60.
        """
        if action == "list":
            return jobs.list()
        chosen = jobs.get(job)
        if action == "stop":
            await chosen.stop()
        else:
            await chosen.wait(wait)
        return chosen.news()

    words = _WORDS.format(
        shell=shell.name or "shell",
        sandbox="" if shell.unconfined else _CONFINED,
        plain="" if shell.is_known else _PLAIN,
    )
    return [
        replace(
            as_definition(
                tool(risk="execute", description=words, timeout=MOST_SECONDS + 30, command="command")(run_bash)
            ),
            folder="cwd",
            variables="environment",
            network="network",
            shell="bash" if shell.is_known else "",
            asks=f"commands are not confined here: {shell.unconfined}" if shell.unconfined else "",
        ),
        as_definition(tool(risk="read", timeout=MOST_WAIT + 30)(bash_job)),
    ]


class Output:
    """What a command writes: kept for its result within bounds, and told line by line while it comes."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._terminal = TerminalText()
        self._kept = Pieces(OUTPUT_CHARACTERS)
        self._told = time.monotonic()

    @property
    def written_over(self) -> int:
        """How many forms of lines are left out."""
        return self._terminal.written_over

    def add(self, text: str) -> None:
        """More of it."""
        settled = self._terminal.feed(text)
        self._kept.add(settled)
        now = time.monotonic()
        if settled:
            self._tell(with_pictures(settled.removesuffix("\n")))
        elif self._terminal.line and now - self._told > TELL_SECONDS:
            self._tell(with_pictures(self._terminal.line))
        else:
            return
        self._told = now

    def text(self) -> str:
        """All of it, or its start and its end; no more comes."""
        last = self._terminal.close()
        if last:
            self._kept.add(last)
            self._tell(with_pictures(last))
        return with_pictures(self._kept.text())


def written(text: str, result: ProcessResult, limit: float, advice: str, written_over: int = 0) -> str:
    """The result of a command for a model: its output, then how it ended and what else there is to know."""
    notes = ending_words(result, limit)
    if written_over:
        notes.append(f"earlier forms of lines that were written over (progress bars) left out: {written_over:,}")
    if advice:
        notes.append(advice)
    if not text.strip():
        notes.insert(0, "no output")
    parts = [text.rstrip("\n")] if text.strip() else []
    return "\n".join([*parts, *(f"[{note}]" for note in notes)])
