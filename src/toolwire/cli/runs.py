"""`toolwire runs`: the durable runs of a database; to list, to look at, to stop, to go on with and to forget."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from cyclopts import Parameter

from ..errors import ConfigError, ToolwireError
from .console import PlainConsole, has_person
from .faults import FAILED, say, say_error
from .inputs import as_text
from .question import Line
from .runs_open import seconds_of, with_runs
from .runs_shown import (
    WholeRun,
    ago,
    json_lines,
    question_of_run_lines,
    run_lines,
    run_rows,
    step_lines,
    worker_rows,
)
from .visible import one_line

if TYPE_CHECKING:
    from ..durable.client import Runs
    from ..durable.records import RunInfo, RunState

State = Literal["queued", "running", "waiting", "paused", "finished", "failed", "cancelled", "refused"]
_LIMIT = 20
_CHILDREN = 1_000
_WATCH_SECONDS = 1.0
_Id = Annotated[str, Parameter(name="RUN")]
_Json = Annotated[bool, Parameter(negative="", show_default=False)]
_Database = Annotated[str | None, Parameter(metavar="URL")]


def list_runs(
    *,
    state: Annotated[list[State] | None, Parameter(metavar="STATE", negative="")] = None,
    queue: Annotated[str | None, Parameter(metavar="QUEUE")] = None,
    limit: Annotated[int, Parameter(metavar="N")] = _LIMIT,
    watch: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: _Json = False,
    database: _Database = None,
) -> int:
    """Lists the runs, the newest last: id, state, age, turns, how many questions wait for an answer, and what it is.

    Parameters
    ----------
    state
        Only those that stand so: queued, running, waiting, paused, finished, failed, cancelled or refused. Can be given
        several times.
    queue
        Only those of this queue.
    limit
        How many, the newest ones.
    watch
        Show them again every second, until Ctrl-C. At a terminal.
    json
        Print one JSON object for each, a line each.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    if limit < 1:
        raise ConfigError(f"--limit {limit} is no number of runs", hint="Give how many, 1 or more.")
    if watch and (json or not sys.stdout.isatty()):
        raise ConfigError("--watch is for a terminal", hint="Leave it out, or use toolwire runs follow RUN --json.")

    async def work(runs: Runs) -> int:
        async def newest() -> list[RunInfo]:
            found = await runs.list(
                states=_states(state or ()), queue=None if queue is None else as_text(queue), limit=limit
            )
            return found[::-1]

        if watch:
            return await _watched(newest)
        infos = await newest()
        if json:
            _write(json_lines(infos))
            return 0
        console = PlainConsole()
        _print(console, run_rows(infos, console.width if console.is_terminal else None))
        if not infos:
            say("there is no such run", 'Submit one: toolwire runs submit "What is 17 * 23?"')
        if len(infos) == limit:
            say(f"these are the newest {limit:,}", f"More of them: toolwire runs list --limit {limit * 10}")
        return 0

    return with_runs(database, work)


def show(id: _Id, /, *, json: _Json = False, database: _Database = None) -> int:
    """Shows all that is known of a run: how it stands, its steps, what it waits for, why it failed, what it started.

    Parameters
    ----------
    id
        Its id, or as much of its beginning as no other has.
    json
        Print one JSON object: run, spec, steps, questions, children.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """

    async def work(runs: Runs) -> int:
        info = await runs.get(as_text(id))
        spec, steps = await runs.spec(info.id), await runs.steps(info.id)
        questions = await runs.questions(info.id)
        children = (await runs.list(parent=info.id, limit=_CHILDREN))[::-1]
        if json:
            whole = WholeRun(run=info, spec=spec, steps=steps, questions=questions, children=children)
            _write(json_lines([whole]))
            return 0
        console = PlainConsole()
        width = console.width if console.is_terminal else 10_000
        _print(console, run_lines(info, spec, width))
        _print(console, step_lines(steps))
        for question in questions:
            _print(console, question_of_run_lines(question, width))
        if children:
            _print(console, [Line("  started these runs:", "dim")])
            rows = run_rows(children, width - 4 if console.is_terminal else None)
            _print(console, (line._replace(text=f"    {line.text}") for line in rows))
        return 0

    return with_runs(database, work)


def cancel(*id: _Id, database: _Database = None) -> int:
    """Ends runs, and those that they started; a tool that runs is stopped. `resume` can go on with them.

    Parameters
    ----------
    id
        Their ids, or as much of the beginning of each as no other has.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    return _each(id, database, lambda runs, info: runs.cancel(info.id))


def pause(*id: _Id, database: _Database = None) -> int:
    """Lets runs rest once the steps that run now have ended; no worker holds them until `resume`.

    Parameters
    ----------
    id
        Their ids, or as much of the beginning of each as no other has.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    return _each(id, database, lambda runs, info: runs.pause(info.id), resting=True)


def resume(*id: _Id, database: _Database = None) -> int:
    """Goes on with runs that were paused, cancelled or refused; one that failed is tried again where it failed.

    The latter is a new run with the steps before: its id is told.

    Parameters
    ----------
    id
        Their ids, or as much of the beginning of each as no other has.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    return _each(id, database, lambda runs, info: runs.resume(info.id))


def fork(
    id: _Id,
    /,
    *,
    step: Annotated[int, Parameter(metavar="N")],
    json: _Json = False,
    database: _Database = None,
) -> int:
    """Begins a new run that has everything of another one before a step, and does that step anew.

    Parameters
    ----------
    id
        The other one: its id, or as much of its beginning as no other has.
    step
        The number of the step (toolwire runs show).
    json
        Print what is known of the new run as JSON.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    if step < 1:
        raise ConfigError(f"--step {step} is no step", hint="toolwire runs show RUN says their numbers.")

    async def work(runs: Runs) -> int:
        info = await runs.get(as_text(id))
        made = await runs.fork(info.id, step)
        if json:
            _write(json_lines([made]))
        else:
            print(one_line(made.id))
            say(f"forked from run {info.id}, before its step {step}", f"See it: toolwire runs follow {made.id}")
        return 0

    return with_runs(database, work)


def workers(
    *,
    all: Annotated[bool, Parameter(name="--all", negative="", show_default=False)] = False,
    json: _Json = False,
    database: _Database = None,
) -> int:
    """Lists the workers that live.

    Parameters
    ----------
    all
        Also those that ended or were lost.
    json
        Print one JSON object for each, a line each.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """

    async def work(runs: Runs) -> int:
        found = [each for each in await runs.workers() if all or each.state in ("alive", "draining")]
        if json:
            _write(json_lines(found))
            return 0
        console = PlainConsole()
        _print(console, worker_rows(found, console.width if console.is_terminal else None))
        if not found:
            say("no worker lives", "Start one: toolwire worker")
        return 0

    return with_runs(database, work)


def prune(
    *,
    older_than: Annotated[str, Parameter(metavar="TIME")],
    yes: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    database: _Database = None,
) -> int:
    """Forgets runs for good that ended longer ago than some time, with all their events. You are asked before.

    Parameters
    ----------
    older_than
        How long ago they ended, at least: 12h, 30d, 8w.
    yes
        Do not ask.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    seconds = seconds_of(older_than, "--older-than")
    if not yes and not _agreed(f"Forget all runs that ended more than {ago(seconds)} ago, for good?"):
        say("nothing was forgotten")
        return FAILED

    async def work(runs: Runs) -> int:
        count = await runs.prune(older_than=seconds)
        print(f"Forgot {count:,} run{'' if count == 1 else 's'}.")
        return 0

    return with_runs(database, work)


def _each(
    ids: Sequence[str],
    database: str | None,
    do: Callable[[Runs, RunInfo], Awaitable[RunInfo]],
    *,
    resting: bool = False,
) -> int:
    """Does something with each run that was named, and says how it stands then. One that cannot is told of.

    With `resting`, one that runs now rests in a while.
    """
    if not ids:
        raise ConfigError("no run is named", hint="Give their ids: toolwire runs list")

    async def work(runs: Runs) -> int:
        infos = [await runs.get(as_text(each)) for each in dict.fromkeys(ids)]
        code = 0
        for info in infos:
            try:
                made = await do(runs, info)
            except ToolwireError as error:
                told = error.info()
                code = say_error(msgspec.structs.replace(told, message=f"{info.id}: {told.message}"))
                continue
            if made.id != info.id:
                print(f"Run {one_line(info.id)} goes on as run {one_line(made.id)}, which is {one_line(made.state)}.")
            elif resting and made.state == "running":
                print(f"Run {one_line(made.id)} rests when the steps that run now have ended.")
            else:
                print(f"Run {one_line(made.id)} is {one_line(made.state)}.")
        return code

    return with_runs(database, work)


async def _watched(newest: Callable[[], Awaitable[list[RunInfo]]]) -> int:
    """The list, drawn again and again in its place."""
    from rich.live import Live
    from rich.text import Text

    console = PlainConsole()
    with Live(console=console, auto_refresh=False, screen=True) as live:
        while True:
            infos = await newest()
            rows = list(run_rows(infos, console.width))[-max(console.height - 1, 1) :]
            shown = Text(no_wrap=True, overflow="ellipsis")
            for line in rows or [Line("There is no such run.", "dim")]:
                shown.append(f"{line.text}\n", style=line.style)
            live.update(shown, refresh=True)
            await asyncio.sleep(_WATCH_SECONDS)


def _states(names: Iterable[State]) -> list[RunState]:
    from ..durable.records import RunState

    return [RunState(name) for name in names]


def _agreed(question: str) -> bool:
    if not has_person():
        raise ConfigError("nobody is there to ask whether to forget them", hint="If you are sure, say so: --yes")
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def _print(console: PlainConsole, lines: Iterable[Line]) -> None:
    for line in lines:
        console.out(line.text, style=line.style or None)


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
