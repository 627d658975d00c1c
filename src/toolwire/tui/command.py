"""`toolwire chat`: opens the conversation on the whole screen, or as plain lines where that is wanted."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from functools import partial
from typing import Annotated, NamedTuple

import msgspec
from cyclopts import Parameter

from .. import __version__
from ..approval.files import PolicyPaths, policy_paths
from ..approval.places import Workspace
from ..chat.attached import open_runs
from ..chat.commands.layout import cells
from ..chat.commands.trust import MODES
from ..chat.talk import Talk
from ..cli.assembly import EMBEDDED_WORDS, Assembly, Options, as_model, described, options_of
from ..cli.choose import EMBEDDED, check_choice, choose_model
from ..cli.console import PlainConsole, has_person
from ..cli.faults import say
from ..cli.inputs import STANDARD_INPUT, as_text
from ..cli.install import ensure_weights
from ..cli.keeping import Keeping, check_state_folder
from ..cli.run import DEMO_QUESTION
from ..cli.services import use_services
from ..cli.toolset import ToolSet
from ..cli.visible import one_line
from ..cli.working import find_workspace
from ..errors import ConfigError
from ..extras import is_installed, missing_extra
from ..settings.loading import Loaded, load_settings

COLUMNS, LINES = 40, 10
"""The smallest terminal for the whole screen: below that, little but the prompt is seen."""


def chat(
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
    no_audit: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    resume: Annotated[str | None, Parameter(metavar="[ID]")] = None,
    no_session: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    attach: Annotated[str | None, Parameter(metavar="RUN")] = None,
    database: Annotated[str | None, Parameter(metavar="URL")] = None,
    record: Annotated[str | None, Parameter(metavar="FILE")] = None,
    theme: Annotated[str | None, Parameter(metavar="NAME")] = None,
    plain: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Opens a conversation on the whole screen: answers and tool calls as they stream, questions before anything runs.

    Parameters
    ----------
    question
        What to ask first.
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
    file
        A Python file whose @tool functions are offered too. It is run. Can be given several times.
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
    repair
        Mend malformed calls in text where that can be done. You are asked before such a call runs.
    mode
        What runs without a question: read-only, ask, auto-edit or full. A project's file can only narrow it.
    no_audit
        Write nothing into the audit trail (see toolwire audit).
    resume
        Go on with an earlier conversation: the one with this id, or else the newest of this folder.
    no_session
        Do not keep the conversation for --resume.
    attach
        Show a durable run, by its id or the beginning of it: all that it did, and what it does now. Its questions are
        asked here; Esc leaves it, and it goes on. After its end, what you type goes on from there as a new run.
    database
        Where the durable runs are. Without it: your setting `database`, or else a file beside the sessions.
    record
        Write all that the provider sends and all that happens into a new file, without keys.
    theme
        The colours: dark, light, or the name of any theme of Textual.
    plain
        Lines of text in place of the whole screen: for screen readers, logs and slow connections.
    """
    if question == STANDARD_INPUT or not has_person():
        stream = "output" if sys.stdin.isatty() and not sys.stdout.isatty() else "input"
        raise ConfigError(
            f"the chat needs a terminal, and standard {stream} is not one",
            hint='In scripts and pipes use: toolwire run "…". To see a tool call here: toolwire demo',
        )
    if resume is not None and no_session:
        raise ConfigError("--resume goes on with a session, which --no-session rules out", hint="Leave one out.")
    if attach is not None and question is not None:
        raise ConfigError("--attach shows a run, which has its question", hint="Leave one of the two out.")
    loaded = load_settings(os.environ)
    use_services(loaded)
    for note in loaded.notes:
        say(note)
    loaded = loaded.with_flags(
        model=None if model is None else as_text(model),
        base_url=None if base_url is None else as_text(base_url),
        system=None if system is None else as_text(system),
        tools="none" if no_tools else tools,
        sandbox=False if no_sandbox else None,
        stream_parser=None if stream_parser is None else as_text(stream_parser),
        repair=True if repair else None,
        mode=None if mode is None else as_text(mode),
        audit=False if no_audit else None,
        sessions=False if no_session else None,
        theme=None if theme is None else as_text(theme),
        plain=True if plain else None,
        database=None if database is None else as_text(database),
    )
    settings = loaded.settings
    options = msgspec.structs.replace(
        options_of(loaded),
        files=tuple(file or ()),
        mcp=tuple(mcp or ()),
        mcp_config=tuple(mcp_config or ()),
        # Who names a server wants it now.
        no_mcp=no_mcp or not (settings.use_mcp or mcp or mcp_config),
    )
    check_state_folder(sessions=settings.sessions, audit=settings.audit and settings.tools != "none")
    files = policy_paths(os.environ)
    workspace = find_workspace(files, further=[*filter(os.path.isdir, settings.roots), *(root or [])])
    console = PlainConsole()
    with Keeping(workspace.root, keep=settings.sessions, resume=resume) as keeping:
        if model is None and keeping.model:
            chosen, address = keeping.model, keeping.base_url
        else:
            check_choice(settings.model or None, base_url, os.environ)
            # Whoever looks at a run need not choose whom to ask something of their own.
            chosen = settings.model or (EMBEDDED if attach else choose_model(os.environ, console, ask=True))
            address = settings.base_url or None
        chosen = as_model(chosen)
        is_embedded = described(loaded, chosen, address) == EMBEDDED_WORDS
        if is_embedded and attach is None:
            ensure_weights(
                is_chosen=bool(settings.model or keeping.model or os.environ.get("TOOLWIRE_MODEL")),
                extras=[name for name in ("chat", "local") if not is_installed(name)],
            )
        wanted = _Wanted(
            loaded=loaded,
            options=options,
            workspace=workspace,
            files=files,
            model=chosen,
            base_url=address,
            keeping=keeping,
            console=console,
            record=record,
            question=None if question is None else as_text(question),
            attach=None if attach is None else as_text(attach),
        )
        if settings.chat.plain or not _has_screen():
            return _plain(wanted)
        return asyncio.run(
            _whole_screen(wanted, suggested=DEMO_QUESTION if is_embedded and resume is None and attach is None else "")
        )


class _Wanted(NamedTuple):
    """All that was found out before anything is shown."""

    loaded: Loaded
    options: Options
    workspace: Workspace
    files: PolicyPaths
    model: str
    base_url: str | None
    keeping: Keeping
    console: PlainConsole
    record: str | None
    question: str | None
    attach: str | None

    def talk(self, assembly: Assembly) -> Talk:
        """The conversation, for whoever shows it."""
        return Talk(
            assembly,
            self.options,
            self.model,
            self.base_url,
            prices=self.loaded.settings.prices,
            store=self.keeping.store,
            session=self.keeping.session_for(self.model, self.base_url),
            console=self.console,
            runs=partial(open_runs, self.loaded.settings.database or None),
        )


def _has_screen() -> bool:
    """Whether the whole screen can be had; says so where it cannot."""
    if (term := os.environ.get("TERM", "")) in ("", "dumb") and os.name != "nt":
        say(f"TERM is {term or 'not set'}, so the chat uses plain lines", "For the whole screen: TERM=xterm-256color")
        return False
    if not (sys.__stderr__ is not None and sys.__stderr__.isatty()):
        say("the whole screen is painted on standard error, which is no terminal here")
        return False
    with suppress(OSError):
        size = os.get_terminal_size(sys.__stderr__.fileno())
        # A terminal that does not know its size says 0.
        if 0 < size.columns < COLUMNS or 0 < size.lines < LINES:
            say(
                f"the terminal is {size.columns} x {size.lines}, so the chat uses plain lines",
                f"The whole screen needs {COLUMNS} x {LINES}.",
            )
            return False
    if not is_installed("chat"):
        missing = missing_extra("chat")
        say(missing.message, missing.hint)
        return False
    return True


def _plain(wanted: _Wanted) -> int:
    from ..chat.plain import PlainChat

    return PlainChat(wanted.console, wanted.workspace, wanted.files, wanted.talk).run(
        wanted.question, record=wanted.record, attach=wanted.attach
    )


async def _whole_screen(wanted: _Wanted, *, suggested: str) -> int:
    from ..chat.typed_history import TypedHistory
    from .app import ChatApp
    from .questions.person import ScreenPerson

    settings = wanted.loaded.settings
    person = ScreenPerson(kept_in=str(wanted.files.always))
    app: ChatApp | None = None

    def tell(words: str) -> None:
        if app is None:
            say(words)
        else:
            app.say(words)

    assembly = Assembly(wanted.workspace, wanted.files, person=person, fill_in=person.fill_in, tell=tell)
    async with wanted.talk(assembly) as talk:
        if wanted.record is not None:
            await talk.start_recording(wanted.record)
        first = wanted.question or ""
        if wanted.attach is not None:
            # One that is not there is known before the screen is.
            first = f"/attach {(await (await talk.runs()).get(wanted.attach)).id}"
        app = ChatApp(
            talk,
            person,
            history=TypedHistory.of(os.environ, wanted.workspace.root),
            theme=settings.chat.theme,
            welcome=_welcome(talk),
            resumed=_resumed(talk),
            reasoning=settings.chat.reasoning,
            bell=settings.chat.notify,
            first=first,
            suggested=suggested,
        )
        code = await app.run_async() or 0
        kept = talk.session
    if app.parting:
        say(app.parting)
    if kept is not None and kept.title:
        say(f"session {kept.id}; go on with: toolwire chat --resume {kept.id}")
    if app.fault is not None:
        raise app.fault
    return code


def _resumed(talk: Talk) -> list[str]:
    """What a person should know before they go on with an earlier session."""
    words = [
        f"{one_line(name)[:100]} was running when the program ended. Whether it did its work is not known; it is not "
        "repeated, and the model is told so."
        for name in talk.unknown
    ]
    if talk.session is not None and not talk.session.is_in(talk.assembly.workspace.root):
        words.append(f"The session was begun in {one_line(talk.session.cwd)}; tools work here.")
    return words


def _welcome(talk: Talk) -> list[str]:
    """What a person should know before they begin, in a few lines."""
    made = talk.made
    lines = [f"**Toolwire** {__version__} · {cells(made.words)}"]
    lines += [cells(words) for words in (*made.tool_words, *made.server_words) if words not in made.problems]
    lines.append(f"Mode {talk.mode}: {MODES[talk.mode]}.")
    lines.append("`@file` attaches a file, `!command` runs one of yours, `/help` lists what else there is.")
    return ["  \n".join(lines)]
