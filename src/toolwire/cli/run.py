"""`toolwire run`: asks a model that has tools, and shows everything as it happens."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Annotated

from cyclopts import Parameter

from ..agent.asking import Retries
from ..agent.bounds import Bounds
from ..agent.events import AgentEvent
from ..approval.files import policy_paths
from ..approval.policy import Mode, Policy
from ..errors import ConfigError
from ..mcp.attaching import attached, is_reference
from ..mcp.servers import McpServers
from ..messages import Part
from ..transport import Timeouts
from .ask import TerminalQuestion
from .assembly import Assembly, Options, as_model, describe
from .choose import check_choice, choose_model
from .console import PlainConsole, has_person
from .conversation import Conversation
from .faults import say
from .forms import TerminalForms
from .inputs import STANDARD_INPUT, as_text, read_whole
from .install import ensure_weights
from .keeping import Keeping, check_resume
from .recordings import recording, replay_recording
from .screen import Screen
from .toolset import ToolSet
from .visible import json_bytes
from .working import find_workspace

DEMO_QUESTION = "What time is it in Tokyo?"


def run(
    question: Annotated[str | None, Parameter(name="QUESTION")] = None,
    /,
    *,
    model: Annotated[str | None, Parameter(metavar="PROVIDER:MODEL")] = None,
    base_url: Annotated[str | None, Parameter(metavar="URL")] = None,
    system: Annotated[str, Parameter(metavar="TEXT", show_default=False)] = "",
    tools: Annotated[ToolSet | None, Parameter(metavar="SET")] = None,
    no_tools: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mcp: Annotated[list[str] | None, Parameter(metavar="NAME", negative="")] = None,
    no_mcp: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    root: Annotated[list[str] | None, Parameter(metavar="FOLDER", negative="")] = None,
    no_sandbox: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    stream_parser: Annotated[str | None, Parameter(metavar="PARSER")] = None,
    repair: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mode: Annotated[str | None, Parameter(metavar="MODE")] = None,
    headless: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    no_audit: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    attach: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    tool_choice: Annotated[str, Parameter(metavar="CHOICE", show_default=False)] = "auto",
    resume: Annotated[str | None, Parameter(metavar="[ID]")] = None,
    no_session: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    record: Annotated[str | None, Parameter(metavar="FILE")] = None,
    replay: Annotated[str | None, Parameter(metavar="FILE")] = None,
    max_turns: Annotated[int, Parameter(metavar="N")] = Bounds().turns,
    max_tokens: Annotated[int | None, Parameter(metavar="N")] = None,
    max_seconds: Annotated[float | None, Parameter(metavar="SECONDS")] = None,
    retries: Annotated[int, Parameter(metavar="N")] = Retries().attempts - 1,
    timeout: Annotated[float, Parameter(metavar="SECONDS")] = Timeouts().idle,
) -> int:
    """Asks a model that has tools, and shows everything as it happens.

    Parameters
    ----------
    question
        What to ask; "-" reads it from standard input. Without one: questions at the terminal until Ctrl-D.
    model
        Whom to ask. Without it: what is found here and you choose, or else the embedded model.
    base_url
        Where the server is, if not where its provider usually is.
    system
        Words that stand before the conversation.
    tools
        Which tools it has: builtin (files, search, commands, pages, in this folder) or demo (a few harmless ones).
        Without it: demo for the embedded model, which is too small for more, and builtin for all others.
    no_tools
        Offer no tools, nor those of MCP servers that --mcp does not name.
    mcp
        The MCP server whose tools it has beside these; can be given several times. Without it: all that are set up
        here (see toolwire mcp list), and none for the embedded model.
    no_mcp
        No MCP servers.
    mcp_config
        A further file of MCP servers, in the form of any client. Can be given several times.
    root
        A further folder that tools may work in, beside this one. Can be given several times.
    no_sandbox
        Let commands run without the sandbox (see toolwire sandbox). Each that does more than read is asked about.
    stream_parser
        How the model calls tools: api_tool_call, a text format (see toolwire formats), api_tool_call+FORMAT for both.
        auto is text where the provider has no tool calls. Without it, TOOLWIRE_STREAM_PARSER says it, or else auto.
    repair
        Mend malformed calls in text where that can be done. You are asked before such a call runs.
    mode
        What runs without a question: read-only, ask, auto-edit or full. A project's file can only narrow it.
        Without it, your policy file says it, or else ask.
    headless
        Never ask: what would be asked is denied, and the model is told why. So it is where no terminal is.
    no_audit
        Write nothing into the audit trail (see toolwire audit).
    json
        Print every event as one JSON line. Nobody is asked.
    attach
        What goes along with the question: a file (a picture, a sound, a document, a text), an address, or something of
        an MCP server (mcp:SERVER:URI, mcp:SERVER:prompt:NAME?key=value). Can be given several times.
    tool_choice
        Whether the first answer calls tools: auto, none, required, or the name of the tool that it must call.
    resume
        Go on with an earlier conversation: the one with this id, or else the newest of this folder.
        Its model is asked unless another is named. All of them: toolwire sessions list.
    no_session
        Do not keep the conversation for --resume.
    record
        Write all that the provider sends and all that happens into a new file, without keys: for bug reports.
    replay
        Show a recorded run again, without a network. Nothing runs and nobody is asked.
    max_turns
        Requests for one question, at most.
    max_tokens
        Tokens for one question, sent and received together, at most. Looked at before each request.
    max_seconds
        Time for one question, with that of tools and of your answers, at most.
    retries
        How often a request goes out again that failed before its answer began.
    timeout
        How long the server may be silent.
    """
    if replay is not None:
        given = {"--model": model, "--resume": resume, "--record": record, "--attach": attach, "QUESTION": question}
        if not_with := [name for name, value in given.items() if value]:
            raise ConfigError(
                f"--replay shows what was recorded, and {', '.join(not_with)} would have no say in it",
                hint="Give it alone, or with --json.",
            )
        return replay_recording(replay, _print_json if json else None)
    bounds = _bounds(max_turns, max_tokens, max_seconds)
    if retries < 0:
        raise ConfigError(f"--retries {retries} is no number of times", hint="Give 0 or more.")
    if not (math.isfinite(timeout) and timeout > 0):
        raise ConfigError(f"--timeout {timeout:g} is no time to wait", hint="Give seconds, such as 60.")
    if question == STANDARD_INPUT:
        question = read_whole(STANDARD_INPUT).decode("utf-8", "replace")
    if question is not None and not question.strip():
        raise ConfigError("the question is empty", hint='Ask something: toolwire run "What is 17 * 23?"')
    base_url = None if base_url is None else as_text(base_url)
    person = has_person() and not json
    if resume is not None:
        check_resume(no_session=no_session, system=system, has_question=question is not None or person)
    read = _read_attached(attach or [])

    files = policy_paths(os.environ)
    workspace = find_workspace(files, further=root or [])
    with ExitStack() as closing:
        keeping = closing.enter_context(Keeping(workspace.root, keep=not no_session, resume=resume))
        console = PlainConsole()
        if model is None and keeping.model:
            chosen, base_url = keeping.model, base_url or keeping.base_url
        else:
            check_choice(model, base_url, os.environ)
            chosen = as_text(model) if model is not None else choose_model(os.environ, console, ask=not json)
        chosen = as_model(chosen)
        describe(chosen, base_url)  # one that cannot be asked is told of before anything is opened

        screen = Screen(console)
        asker = TerminalQuestion(console, screen, kept_in=str(files.always)) if person and not headless else None
        recorder = None if record is None else closing.enter_context(recording(record))
        made = Assembly(
            workspace, files, person=asker, fill_in=None if asker is None else TerminalForms(console, asker.held)
        ).make(
            Options(
                system=as_text(system),
                tools=tools,
                no_tools=no_tools,
                mcp=tuple(mcp or ()),
                no_mcp=no_mcp,
                mcp_config=tuple(mcp_config or ()),
                needs_servers=any(map(is_reference, attach or [])),
                sandbox=not no_sandbox,
                stream_parser=None if stream_parser is None else as_text(stream_parser),
                repair=repair,
                mode=None if mode is None else as_text(mode),
                audit=not no_audit,
                tool_choice=as_text(tool_choice),
                bounds=bounds,
                retries=Retries(attempts=retries + 1),
                timeout=timeout,
            ),
            chosen,
            base_url,
            session=keeping.session_for(chosen, base_url),
            hooks=[] if recorder is None else [recorder],
            around=(lambda transport: transport) if recorder is None else recorder.transport,
            console=console,
        )
        if made.is_embedded:
            ensure_weights()
        to_attach = _attaching(attach or [], read, made.servers)
        if json:
            for line in made.problems:
                say(line)
            return Conversation(made.agent, _print_json, attach=to_attach).ask_once(as_text(question or DEMO_QUESTION))
        screen.header(made.words, *made.tool_words, *made.server_words, *_mode_words(made.policy, headless))
        if resumed := keeping.resumed_words():
            screen.header(*resumed)
        conversation = Conversation(made.agent, screen.show, screen, attach=to_attach)
        if question is None and person:
            return conversation.chat(at_end=keeping.tell)
        if question is None:
            screen.question(DEMO_QUESTION)
        return conversation.ask_once(as_text(question or DEMO_QUESTION), at_end=keeping.tell)


def _read_attached(names: list[str]) -> dict[str, list[Part]]:
    """The files and addresses among what goes along, by name; read at once, so that a wrong one is told at once."""
    if not names:
        return {}
    from ..attachments import attachment

    return {name: [attachment(name)] for name in names if not is_reference(name)}


def _attaching(
    names: list[str], read: dict[str, list[Part]], servers: McpServers | None
) -> Callable[[], Awaitable[list[Part]]] | None:
    """Gives what goes along with the first question, in order; what MCP servers have is asked of them then."""
    if not names:
        return None
    if servers is None and (references := [name for name in names if name not in read]):
        raise ConfigError(f"there is no MCP server to ask for {references[0]}", hint="See toolwire mcp list.")

    async def attach() -> list[Part]:
        parts: list[Part] = []
        for name in names:
            parts += read[name] if servers is None or name in read else await attached(servers, name)
        return parts

    return attach


def _bounds(turns: int, tokens: int | None, seconds: float | None) -> Bounds:
    """What the options say; an error is in their words."""
    if turns < 1:
        raise ConfigError(f"--max-turns {turns} leaves no request to make", hint="Give 1 or more.")
    if tokens is not None and tokens < 1:
        raise ConfigError(f"--max-tokens {tokens} leaves nothing to say", hint="Give how many, such as 100000.")
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise ConfigError(f"--max-seconds {seconds:g} is no time to work in", hint="Give seconds, such as 600.")
    return Bounds(turns=turns, tokens=tokens, seconds=seconds)


def _mode_words(policy: Policy, headless: bool) -> list[str]:
    """What is not as usual about what may run."""
    if headless:
        return [f"Mode: {policy.mode}, and what would be asked is denied."]
    return [f"Mode: {policy.mode}."] if policy.mode is not Mode.ASK else []


def _print_json(event: AgentEvent) -> None:
    sys.stdout.buffer.write(json_bytes(event) + b"\n")
    sys.stdout.buffer.flush()
