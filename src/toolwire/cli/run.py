"""`toolwire run`: asks a model that has tools, and shows everything as it happens; in a pipe, the answer alone."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..agent.events import AgentEvent, RunFinished
from ..approval.files import load_policy, policy_paths
from ..approval.policy import Mode, Policy
from ..errors import ConfigError
from ..mcp.attaching import attached, is_reference
from ..mcp.servers import McpServers
from ..messages import Part
from ..settings.loading import load_settings
from .ask import TerminalQuestion
from .assembly import EMBEDDED_WORDS, Assembly, Made, as_model, described, options_of
from .choose import EMBEDDED, check_choice, choose_model
from .console import PlainConsole, has_person
from .conversation import Conversation
from .faults import say
from .forms import TerminalForms
from .inputs import STANDARD_INPUT, as_text, read_whole
from .install import ensure_weights
from .keeping import Keeping, check_resume, check_state_folder
from .output import AnswerAlone, Document, Events, OneObject, Output, OutputFormat
from .piped import check_piped, framed, is_piped, read_piped
from .recordings import recording, replay_recording
from .run_rules import add_rules, check_names
from .screen import Screen
from .services import use_services
from .telling import ENDS
from .toolset import ToolSet
from .working import find_workspace

DEMO_QUESTION = "What time is it in Tokyo?"
"""For the embedded model, which is there to be seen; nobody pays for an answer to a question that they did not ask."""


def run(
    question: Annotated[str | None, Parameter(name="QUESTION")] = None,
    /,
    *,
    model: Annotated[str | None, Parameter(metavar="PROVIDER:MODEL")] = None,
    base_url: Annotated[str | None, Parameter(metavar="URL")] = None,
    system: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    tools: Annotated[ToolSet | None, Parameter(metavar="SET")] = None,
    no_tools: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    file: Annotated[list[str] | None, Parameter(metavar="FILE.PY", negative="")] = None,
    mcp: Annotated[list[str] | None, Parameter(metavar="NAME", negative="")] = None,
    no_mcp: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    root: Annotated[list[str] | None, Parameter(metavar="FOLDER", negative="")] = None,
    no_sandbox: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    stream_parser: Annotated[str | None, Parameter(metavar="PARSER")] = None,
    repair: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mode: Annotated[str | None, Parameter(metavar="MODE")] = None,
    allow: Annotated[list[str] | None, Parameter(metavar="TOOL(PATTERN)", negative="")] = None,
    deny: Annotated[list[str] | None, Parameter(metavar="TOOL(PATTERN)", negative="")] = None,
    yes_read_only: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    headless: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    no_audit: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    output_format: Annotated[OutputFormat | None, Parameter(metavar="FORMAT")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    quiet: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    attach: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    tool_choice: Annotated[str, Parameter(metavar="CHOICE", show_default=False)] = "auto",
    resume: Annotated[str | None, Parameter(metavar="[ID]")] = None,
    no_session: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    record: Annotated[str | None, Parameter(metavar="FILE")] = None,
    replay: Annotated[str | None, Parameter(metavar="FILE")] = None,
    max_turns: Annotated[int | None, Parameter(metavar="N")] = None,
    max_tokens: Annotated[int | None, Parameter(metavar="N")] = None,
    max_seconds: Annotated[float | None, Parameter(metavar="SECONDS")] = None,
    retries: Annotated[int | None, Parameter(metavar="N")] = None,
    timeout: Annotated[float | None, Parameter(metavar="SECONDS")] = None,
) -> int:
    """Asks a model that has tools, and shows everything as it happens.

    In a pipe, standard output gets the answer alone, and all else goes to standard error. What is piped in goes along
    with the question, where it begins to come within 3 seconds; where no question is given, it is the question.

    Exit codes: 0 answered (also where calls were denied: the model was told, and --output-format json says which), 1
    failed, 2 asked for wrongly, 3 a bound was reached (--max-turns and its like), 130 interrupted.

    Parameters
    ----------
    question
        What to ask; "-" reads it from standard input. Without one: questions at the terminal until Ctrl-D.
    model
        Whom to ask. Without it: your usual one (see toolwire config), or what is found here and you choose, or else the
        embedded model.
    base_url
        Where the server is, if not where its provider usually is.
    system
        Words that stand before the conversation.
    tools
        Which tools it has: builtin (files, search, commands, pages, in this folder) or demo (a few harmless ones).
        Without it: demo for the embedded model, which is too small for more, and builtin for all others.
    no_tools
        Offer no tools, nor those of MCP servers that --mcp does not name.
    file
        A Python file whose @tool functions are offered. It is run. Can be given several times.
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
    allow
        In this run, a tool that is not asked about, or commands, paths or addresses of one: "run_bash(git status)",
        "write_file(docs/*)", "fetch_url(https://docs.python.org/*)", with the host spelled out. What a rule of a file
        denies or asks about stays so, and so does a command that can break the machine, unless a pattern names it.
        Can be given several times.
    deny
        In this run, what is denied, in the same form. Can be given several times.
    yes_read_only
        In this run, commands and tools that only read are not asked about, also where they read outside this folder;
        where keys and other secrets usually lie, they are. All else is as without it.
    headless
        Never ask: what would be asked is denied, and the model is told why. So it is where no terminal is.
    no_audit
        Write nothing into the audit trail (see toolwire audit).
    output_format
        What standard output gets: text (the answer), markdown (all that was said and done, as a document), json (one
        object at the end: text, stop_reason, error, usage, calls) or events (each as one JSON line, as it happens).
        Without it: text in a pipe, and at a terminal everything. You are asked about calls only without it.
    json
        Short for --output-format events.
    quiet
        Nothing on standard error but errors, or that the answer is not whole or what was piped in came too late; at a
        terminal, too, the answer alone, and nobody is asked.
    attach
        What goes along with the question: a file (a picture, a sound, a document, a text), an address, something of an
        MCP server (mcp:SERVER:URI, mcp:SERVER:prompt:NAME?key=value), or "-" for what is piped in, however long that
        takes. Can be given several times.
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
        Requests for one question, at most. Without it: 25.
    max_tokens
        Tokens for one question, sent and received together, at most. Looked at before each request.
    max_seconds
        Time for one question, with that of tools and of your answers, at most.
    retries
        How often a request goes out again that failed before its answer began. Without it: 3.
    timeout
        Seconds that the server may be silent. Without it: 300.
    """
    format_ = _format(output_format, json=json, quiet=quiet)
    if replay is not None:
        given = {"--model": model, "--resume": resume, "--record": record, "--attach": attach, "QUESTION": question}
        given["--output-format"] = None if output_format == "events" else output_format
        if not_with := [name for name, value in given.items() if value]:
            raise ConfigError(
                f"--replay shows what was recorded, and {', '.join(not_with)} would have no say in it",
                hint="Give it alone, or with --json.",
            )
        return replay_recording(replay, Events().show if format_ == "events" else None)
    _check_numbers(max_turns, max_tokens, max_seconds, retries, timeout)
    loaded = load_settings(os.environ)
    use_services(loaded)
    loaded = loaded.with_flags(
        model=_text(model),
        base_url=_text(base_url),
        system=_text(system),
        tools="none" if no_tools else tools,
        sandbox=False if no_sandbox else None,
        stream_parser=_text(stream_parser),
        repair=True if repair else None,
        mode=_text(mode),
        audit=False if no_audit else None,
        sessions=False if no_session else None,
        max_turns=max_turns,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        retries=retries,
        timeout=timeout,
    )
    settings = loaded.settings
    person = has_person() and format_ is None
    names = list(attach or ())
    words, piped = _asked(question, names)
    if resume is not None:
        check_resume(no_session=no_session, system=system or "", has_question=words is not None or person)
    read = _read_attached([name for name in names if name != STANDARD_INPUT])
    if piped:
        read[STANDARD_INPUT] = [framed(piped)]
        names += [STANDARD_INPUT] * (STANDARD_INPUT not in names)
    if not quiet:
        for note in loaded.notes:
            say(note)

    check_state_folder(sessions=settings.sessions, audit=settings.audit and settings.tools != "none")
    files = policy_paths(os.environ)
    workspace = find_workspace(files, further=[*filter(os.path.isdir, settings.roots), *(root or ())])
    with ExitStack() as closing:
        keeping = closing.enter_context(Keeping(workspace.root, keep=settings.sessions, resume=resume))
        console = PlainConsole(stderr=format_ is not None)
        if model is None and keeping.model:
            chosen, address = keeping.model, _text(base_url) or keeping.base_url
        else:
            check_choice(settings.model or None, _text(base_url), os.environ)
            chosen = settings.model or _chosen(console, ask=person, quiet=quiet)
            address = settings.base_url or None
        chosen = as_model(chosen)
        # One that cannot be asked is told of before anything is opened.
        is_embedded = described(loaded, chosen, address) == EMBEDDED_WORDS
        if words is None and not person and not is_embedded:
            raise ConfigError("there is no question", hint='Ask something: toolwire run "What is 17 * 23?"')

        policy = load_policy(workspace, mode=settings.mode or None, paths=files)
        rules = add_rules(policy, allow=allow or (), deny=deny or (), yes_read_only=yes_read_only, env=os.environ)
        screen = Screen(console)
        asker = TerminalQuestion(console, screen, kept_in=str(files.always)) if person and not headless else None
        recorder = None if record is None else closing.enter_context(recording(record))
        made = Assembly(
            workspace, files, person=asker, fill_in=None if asker is None else TerminalForms(console, asker.held)
        ).make(
            msgspec.structs.replace(
                options_of(loaded),
                files=tuple(file or ()),
                mcp=tuple(mcp or ()),
                # Who names a server wants it, whatever is usual.
                no_mcp=no_mcp or not (settings.use_mcp or mcp or mcp_config),
                mcp_config=tuple(mcp_config or ()),
                needs_servers=any(map(is_reference, names)),
                tool_choice=as_text(tool_choice),
            ),
            chosen,
            address,
            session=keeping.session_for(chosen, address),
            policy=policy,
            hooks=[] if recorder is None else [recorder],
            around=(lambda transport: transport) if recorder is None else recorder.transport,
            console=console,
        )
        if made.servers is None:
            check_names(rules, made.tools)
        if made.is_embedded:
            ensure_weights(is_chosen=bool(settings.model or keeping.model or os.environ.get("TOOLWIRE_MODEL")))
        to_attach = _attaching(names, read, made.servers)
        is_shown = not quiet and format_ != "events"
        if is_shown:
            screen.header(made.words, *made.tool_words, *made.server_words, *_mode_words(made.policy, headless))
            if resumed := keeping.resumed_words():
                screen.header(*resumed)
        elif not quiet:
            for line in made.problems:
                say(line)
        if format_ is None:
            conversation = Conversation(made.agent, screen.show, screen, attach=to_attach)
            if words is None and person:
                return conversation.chat(at_end=keeping.tell)
        else:
            output = _output(format_, screen, made, workspace.root, quiet=quiet)
            conversation = Conversation(made.agent, output.show, screen if is_shown else None, attach=to_attach)
        if words is None and is_shown:
            screen.question(DEMO_QUESTION)
        tells = is_shown and format_ in (None, "text")
        return conversation.ask_once(words or DEMO_QUESTION, at_end=keeping.tell if tells else lambda: None)


def _format(given: OutputFormat | None, *, json: bool, quiet: bool) -> OutputFormat | None:
    """What standard output gets; None for everything, on a terminal."""
    if json and given not in (None, "events"):
        raise ConfigError(f"--json is --output-format events, and not {given}", hint="Leave one of them out.")
    if json:
        return "events"
    return given or ("text" if quiet or not sys.stdout.isatty() else None)


def _text(argument: str | None) -> str | None:
    return None if argument is None else as_text(argument)


def _asked(question: str | None, attach: list[str]) -> tuple[str | None, str]:
    """The question, if there is one, and what was piped in beside it. Standard input is read once."""
    if STANDARD_INPUT in attach:
        if question is None or question == STANDARD_INPUT:
            raise ConfigError(
                "standard input is to go along with the question, and there is none",
                hint='Give it: toolwire run "What is in there?" --attach -',
            )
        piped = read_piped(wait=None)
    elif question == STANDARD_INPUT:
        question, piped = _whole_question(), ""
    else:
        if question is None:
            piped = read_piped(wait=None) if is_piped() else ""
            return (piped if piped.strip() else None), ""
        piped = read_piped() if is_piped() else ""
    if question is not None and not question.strip():
        raise ConfigError("the question is empty", hint='Ask something: toolwire run "What is 17 * 23?"')
    return None if question is None else as_text(question), piped if piped.strip() else ""


def _whole_question() -> str:
    """The question on standard input, however long it takes to come."""
    data = read_whole(STANDARD_INPUT)
    check_piped(data)
    return data.decode("utf-8", "replace")


def _chosen(console: PlainConsole, *, ask: bool, quiet: bool) -> str:
    """The model where nobody has said which. What is found here is only told of where somebody reads that."""
    return EMBEDDED if quiet else choose_model(os.environ, console, ask=ask)


def _output(format_: OutputFormat, screen: Screen, made: Made, folder: str, *, quiet: bool) -> Output:
    """Who takes the events of the run, for a script."""
    if format_ == "events":
        return Events()
    beside: Callable[[AgentEvent], None] = _say_cut if quiet else screen.show
    if format_ == "json":
        return OneObject(beside)
    if format_ == "markdown":
        return Document(beside, made.agent.messages, made.model, folder)
    return AnswerAlone(beside, screen.settle)


def _say_cut(event: AgentEvent) -> None:
    """All that a quiet run says of what happens: an answer that is not whole must not pass for one that is."""
    if isinstance(event, RunFinished) and event.stop_reason in ENDS:
        say(f"the answer may not be whole: {ENDS[event.stop_reason]}")


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


def _check_numbers(
    turns: int | None, tokens: int | None, seconds: float | None, retries: int | None, timeout: float | None
) -> None:
    """What the options say of bounds; an error is in their words."""
    if turns is not None and turns < 1:
        raise ConfigError(f"--max-turns {turns} leaves no request to make", hint="Give 1 or more.")
    if tokens is not None and tokens < 1:
        raise ConfigError(f"--max-tokens {tokens} leaves nothing to say", hint="Give how many, such as 100000.")
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise ConfigError(f"--max-seconds {seconds:g} is no time to work in", hint="Give seconds, such as 600.")
    if retries is not None and retries < 0:
        raise ConfigError(f"--retries {retries} is no number of times", hint="Give 0 or more.")
    if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
        raise ConfigError(f"--timeout {timeout:g} is no time to wait", hint="Give seconds, such as 60.")


def _mode_words(policy: Policy, headless: bool) -> list[str]:
    """What is not as usual about what may run."""
    if headless:
        return [f"Mode: {policy.mode}, and what would be asked is denied."]
    return [f"Mode: {policy.mode}."] if policy.mode is not Mode.ASK else []
