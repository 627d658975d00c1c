"""`toolwire runs submit`: puts a question into a queue, for any worker to work on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..approval.policy import as_mode
from ..errors import ConfigError
from ..mcp.attaching import is_reference
from ..messages import Part, TextPart
from .durable_agent import NAME, read_options
from .faults import say
from .inputs import STANDARD_INPUT, as_text
from .piped import framed, is_piped, read_piped
from .runs_follow import followed
from .runs_open import run_options, seconds_of, with_runs
from .runs_shown import json_lines
from .toolset import ToolSet
from .visible import one_line

if TYPE_CHECKING:
    from ..durable.client import Runs
    from ..durable.records import RunInfo

_ASK = 'Ask something: toolwire runs submit "What is 17 * 23?"'


def submit(
    question: Annotated[str | None, Parameter(name="QUESTION")] = None,
    /,
    *,
    model: Annotated[str | None, Parameter(metavar="PROVIDER:MODEL")] = None,
    system: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    tools: Annotated[ToolSet | None, Parameter(metavar="SET")] = None,
    no_tools: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mode: Annotated[str | None, Parameter(metavar="MODE")] = None,
    stream_parser: Annotated[str | None, Parameter(metavar="PARSER")] = None,
    tool_choice: Annotated[str | None, Parameter(metavar="CHOICE")] = None,
    max_turns: Annotated[int | None, Parameter(metavar="N")] = None,
    max_tokens: Annotated[int | None, Parameter(metavar="N")] = None,
    attach: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    continue_run: Annotated[str | None, Parameter(name="--continue", metavar="RUN")] = None,
    queue: Annotated[str | None, Parameter(metavar="QUEUE")] = None,
    priority: Annotated[int, Parameter(metavar="N")] = 0,
    timeout: Annotated[str | None, Parameter(metavar="TIME")] = None,
    id: Annotated[str | None, Parameter(name="--id", metavar="NEW")] = None,
    follow: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    database: Annotated[str | None, Parameter(metavar="URL")] = None,
) -> int:
    """Puts a question into a queue, and prints the id of the run that works on it (toolwire worker).

    What is left out here is as the worker has it, which also says what a run may have at most. What is piped in goes
    along with the question; where no question is given, it is the question.

    Parameters
    ----------
    question
        What to ask; "-" reads it from standard input.
    model
        Whom to ask. The worker must have the key. Without it: the worker's model.
    system
        Words that stand before the conversation.
    tools
        Which tools it has: builtin or demo (see toolwire run). No more than the worker offers.
    no_tools
        Offer no tools at all.
    mode
        What runs without a question: read-only, ask, auto-edit or full. No wider than the worker's.
    stream_parser
        How the model calls tools (see toolwire run).
    tool_choice
        Whether the first answer calls tools: auto, none, required, or the name of the tool that it must call.
    max_turns
        Requests for this question, at most.
    max_tokens
        Tokens for this question, sent and received together, at most.
    attach
        A file or an address that goes along with the question, or "-" for what is piped in, however long that takes.
        Can be given several times.
    continue_run
        Go on with the conversation of a run that has ended.
    queue
        Into which queue; workers listen to toolwire unless told otherwise.
    priority
        Who comes first: 0 before 1, and so on.
    timeout
        End it as failed when it is not over so long after work on it began, with the time of people's answers: 90s,
        30m, 12h, 7d.
    id
        The id of the run. Where there is one of this id already, that one is meant, and nothing new is begun.
    follow
        Show what happens until it is over, as toolwire run does. Ctrl-C leaves; the run goes on.
    json
        Print what is known of the run as JSON, in place of its id; with --follow, each event as one JSON line.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    seconds = None if timeout is None else seconds_of(timeout, "--timeout")
    if no_tools and tools is not None:
        raise ConfigError("--no-tools and --tools are two answers", hint="Leave one of them out.")
    options = run_options(
        model=_text("--model", model),
        system=None if system is None else as_text(system),
        tools="none" if no_tools else tools,
        mode=None if mode is None else str(as_mode(as_text(mode))),
        stream_parser=_text("--stream-parser", stream_parser),
        tool_choice=_text("--tool-choice", tool_choice),
        max_turns=max_turns,
        max_tokens=max_tokens,
    )
    read_options(options)
    parts = _parts(question, list(attach or ()))
    earlier = _text("--continue", continue_run)
    named = _text("--id", id)

    async def work(runs: Runs) -> int:
        from ..durable.records import DEFAULT_QUEUE

        history, turn = await runs.history(earlier) if earlier is not None else ([], 0)
        info = await runs.submit(
            parts,
            agent=NAME,
            options=options,
            queue=_text("--queue", queue) or DEFAULT_QUEUE,
            priority=priority,
            timeout=seconds,
            history=history,
            turn=turn,
            id=named,
        )
        if follow:
            if not json:
                await _say_alone(runs, info)
            return await followed(runs, info, json=json)
        sys.stdout.buffer.write(json_lines([info]) if json else f"{info.id}\n".encode())
        sys.stdout.buffer.flush()
        if not json:
            await _say_alone(runs, info)
            say(f"the run is {info.state}; see it with: toolwire runs follow {info.id}")
        return 0

    return with_runs(database, work)


async def _say_alone(runs: Runs, info: RunInfo) -> None:
    """Says where nobody is there to work on it: it waits, and whoever submitted it wonders."""
    if info.state != "queued":
        return
    alive = [each for each in await runs.workers() if each.state == "alive"]
    if not any(info.queue in each.queues and info.agent in each.agents for each in alive):
        queue = "" if info.queue == "toolwire" else f" --queue {one_line(info.queue)}"
        say(f"no worker listens to the queue {info.queue} now", f"Start one: toolwire worker{queue}")


def _parts(question: str | None, attach: list[str]) -> list[Part]:
    """The question and what goes along with it. Standard input is read once."""
    from ..attachments import attachment

    if references := [name for name in attach if is_reference(name)]:
        raise ConfigError(
            f"{as_text(references[0])} is something of an MCP server, and a run is given files and addresses alone",
            hint="Ask for it with toolwire run, or give it as a file.",
        )
    wants_piped = STANDARD_INPUT in attach
    if question == STANDARD_INPUT or (question is None and is_piped()):
        if wants_piped:
            raise ConfigError("standard input is to go along with the question, and there is none", hint=_ASK)
        question, piped = read_piped(wait=None), ""
    else:
        piped = read_piped(wait=None) if wants_piped else read_piped() if is_piped() else ""
    words = "" if question is None else as_text(question)
    if not words.strip():
        raise ConfigError("there is no question" if question is None else "the question is empty", hint=_ASK)
    parts: list[Part] = [TextPart(words)]
    parts += [attachment(name) for name in attach if name != STANDARD_INPUT]
    if piped.strip():
        parts.append(framed(piped))
    return parts


def _text(option: str, given: str | None) -> str | None:
    """A word of the command line; an empty one says nothing, and was hardly meant."""
    if given is None:
        return None
    if not given.strip():
        raise ConfigError(f"{option} is empty", hint="Write something, or leave it out.")
    return as_text(given)
