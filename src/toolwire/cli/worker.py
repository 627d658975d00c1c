"""`toolwire worker`: works on durable runs until it is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

from ..approval.files import policy_paths
from ..approval.places import Workspace
from ..approval.policy import Policy
from ..errors import ConfigError
from ..settings.loading import Loaded, load_settings
from .assembly import Made, as_model, described, options_of
from .choose import EMBEDDED, check_choice
from .durable_agent import NAME, VERSION, WorkerAgent
from .faults import INTERRUPTED, TERMINATED, say
from .inputs import as_text
from .run_rules import add_rules, check_names
from .runs_open import check_extra
from .services import use_services
from .toolset import ToolSet, tools_in
from .visible import one_line
from .working import find_workspace

if TYPE_CHECKING:
    from ..durable.rates import Rate
    from ..durable.worker import Worker

CONCURRENCY = 8
_LATE_SECONDS = 10.0
"""Beyond the grace of the worker, for the database and for what takes no cancellation."""


def worker(
    *,
    database: Annotated[str | None, Parameter(metavar="URL")] = None,
    queue: Annotated[list[str] | None, Parameter(metavar="QUEUE", negative="")] = None,
    concurrency: Annotated[int, Parameter(metavar="N")] = CONCURRENCY,
    everywhere: Annotated[int | None, Parameter(metavar="N")] = None,
    rate: Annotated[list[str] | None, Parameter(metavar="PROVIDER=RATE", negative="")] = None,
    workspace: Annotated[str | None, Parameter(metavar="FOLDER")] = None,
    root: Annotated[list[str] | None, Parameter(metavar="FOLDER", negative="")] = None,
    model: Annotated[str | None, Parameter(metavar="PROVIDER:MODEL")] = None,
    base_url: Annotated[str | None, Parameter(metavar="URL")] = None,
    system: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    tools: Annotated[ToolSet | None, Parameter(metavar="SET")] = None,
    no_tools: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    file: Annotated[list[str] | None, Parameter(metavar="FILE.PY", negative="")] = None,
    mcp: Annotated[list[str] | None, Parameter(metavar="NAME", negative="")] = None,
    no_mcp: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
    start_agents: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    no_sandbox: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    stream_parser: Annotated[str | None, Parameter(metavar="PARSER")] = None,
    mode: Annotated[str | None, Parameter(metavar="MODE")] = None,
    allow: Annotated[list[str] | None, Parameter(metavar="TOOL(PATTERN)", negative="")] = None,
    deny: Annotated[list[str] | None, Parameter(metavar="TOOL(PATTERN)", negative="")] = None,
    no_audit: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    max_turns: Annotated[int | None, Parameter(metavar="N")] = None,
    max_tokens: Annotated[int | None, Parameter(metavar="N")] = None,
    retries: Annotated[int | None, Parameter(metavar="N")] = None,
    timeout: Annotated[float | None, Parameter(metavar="SECONDS")] = None,
) -> int:
    """Works on durable runs (toolwire runs submit) until Ctrl-C or SIGTERM, one line for each that it takes and leaves.

    Told to end, it takes no more, lets the steps that run end for 30 seconds, and gives its runs back to the others;
    it has left after 40 seconds, whatever hangs. Told again, it leaves at once. The others take its runs over.

    A run chooses among what stands here, and can narrow it; it names no server, no file and no folder, and widens
    nothing. What would be asked waits for toolwire runs approve, without holding the worker.

    Parameters
    ----------
    database
        Where the runs are: sqlite:////home/me/runs.db for one machine, postgresql://user@host/name for many. Without
        it: TOOLWIRE_DATABASE, your setting `database`, or else a file of SQLite beside the sessions.
    queue
        A queue that it listens to; can be given several times. Without it: toolwire.
    concurrency
        Runs of a queue that it works on at a time.
    everywhere
        Runs of a queue that all workers together work on at a time. Give all workers the same.
    rate
        Requests to a provider, or to one of its models, that all workers together make with one key: anthropic=50/60s,
        openai:gpt-4.1=10/s, or *=1000/1h for all others. Can be given several times. Give all workers the same.
    workspace
        The folder that tools work in. Without it: this one. On several machines it should be the same files.
    root
        A further folder that tools may work in. Can be given several times.
    model
        Whom to ask where a run does not say. Without it: your usual one, or else the embedded model.
    base_url
        Where the server of this model is, if not where its provider usually is. No run names another one.
    system
        Words that stand before the conversation, where a run has none of its own.
    tools
        Which tools runs may have at most: builtin (files, search, commands, pages) or demo (a few harmless ones).
    no_tools
        Offer no tools but those of --file and --mcp.
    file
        A Python file whose @tool functions are offered. It is run, once. Can be given several times.
    mcp
        The MCP server whose tools runs have beside these; can be given several times. Without it: all that are set up
        here and need no consent (see toolwire mcp list), and none for the embedded model.
    no_mcp
        No MCP servers.
    mcp_config
        A further file of MCP servers, in the form of any client. Can be given several times.
    start_agents
        Let a run give tasks to others that it starts on the queue, and gather their answers: the tool start_agents.
    no_sandbox
        Let commands run without the sandbox (see toolwire sandbox). Each that does more than read is asked about.
    stream_parser
        How the model calls tools, where a run does not say (see toolwire run).
    mode
        What runs without a question, at most: read-only, ask, auto-edit or full. A run can only narrow it. Without it,
        your policy file says it, or else ask.
    allow
        A tool that is not asked about, or commands, paths or addresses of one (see toolwire run). Can be given several
        times.
    deny
        What is denied, in the same form. Can be given several times.
    no_audit
        Write nothing into the audit trail (see toolwire audit).
    max_turns
        Requests for one run, at most; where it is given, no run has more. Without it: 25, unless the run says more.
    max_tokens
        Tokens for one run, sent and received together, at most; where it is given, no run has more.
    retries
        How often a request goes out again that failed before its answer began. Without it: 3.
    timeout
        Seconds that the server may be silent. Without it: 300.
    """
    check_extra()
    if concurrency < 1 or (everywhere is not None and everywhere < 1):
        name, number = ("--concurrency", concurrency) if concurrency < 1 else ("--everywhere", everywhere)
        raise ConfigError(f"{name} {number} lets nothing run", hint="Give 1 or more.")
    loaded = load_settings(os.environ)
    use_services(loaded)
    loaded = loaded.with_flags(
        database=_text(database),
        model=_text(model),
        base_url=_text(base_url),
        system=_text(system),
        tools="none" if no_tools else tools,
        sandbox=False if no_sandbox else None,
        stream_parser=_text(stream_parser),
        mode=_text(mode),
        audit=False if no_audit else None,
        max_turns=max_turns,
        max_tokens=max_tokens,
        retries=retries,
        timeout=timeout,
    )
    settings = loaded.settings
    for note in loaded.notes:
        say(note)
    check_choice(settings.model or None, _text(base_url), os.environ)
    chosen, address = as_model(settings.model or EMBEDDED), settings.base_url or None
    # One that cannot be asked is told of before anything is opened.
    described(loaded, chosen, address)
    rates = _rates(rate or ())
    files = policy_paths(os.environ)
    folder = find_workspace(files, _folder(workspace), further=[*filter(os.path.isdir, settings.roots), *(root or ())])
    rules = add_rules(Policy(), allow=allow or (), deny=deny or (), yes_read_only=False, env=os.environ)
    agent = WorkerAgent(
        msgspec.structs.replace(
            options_of(loaded),
            mcp=tuple(mcp or ()),
            no_mcp=no_mcp or not (settings.use_mcp or mcp or mcp_config),
            mcp_config=tuple(mcp_config or ()),
        ),
        chosen,
        address,
        workspace=folder,
        files=files,
        tools=[tool for name in file or () for tool in tools_in(Path(name))],
        rules=rules,
        ceilings=_ceilings(loaded),
        starts_agents=start_agents,
    )
    made = agent.offered()
    if made.servers is None:
        check_names(rules, made.tools)

    from ..durable.attempt import DurableAgent
    from ..durable.database import database_url
    from ..durable.records import DEFAULT_QUEUE
    from ..durable.worker import Worker

    url = database_url(os.environ, settings.database or None)
    _check_apart(url, folder)
    queues = list(dict.fromkeys(map(as_text, queue or ()))) or [DEFAULT_QUEUE]
    working = Worker(
        url,
        [DurableAgent(NAME, agent.make, VERSION)],
        queues=queues,
        concurrency=concurrency,
        everywhere=everywhere,
        rates=rates,
        tell=_tell,
    )
    _say_offered(made, working.database, queues, concurrency, folder.root, rates)
    ending = _Ending(working)
    asyncio.run(ending.run())
    return ending.over()


def _say_offered(
    made: Made, database: str, queues: Sequence[str], concurrency: int, folder: str, rates: dict[str, Rate]
) -> None:
    """What this worker offers, before it begins."""
    runs = f"{concurrency} run{'' if concurrency == 1 else 's'} at a time"
    lines = [
        f"Database: {database}",
        f"Queues: {', '.join(map(one_line, queues))}; {runs} of each. Agents: {NAME}.",
        f"Model: {made.words}",
        *made.tool_words,
        *made.server_words,
        f"Folder: {as_text(folder)}. Mode: {made.policy.mode}; what would be asked waits for toolwire runs approve.",
    ]
    if rates:
        limits = (f"{one_line(name)} {each.requests} in {each.seconds:g} s" for name, each in rates.items())
        lines.append(f"Rates: {', '.join(limits)}.")
    for line in lines:
        print(one_line(line))
    sys.stdout.flush()


def _tell(sentence: str) -> None:
    """One line of what happens, with its time in UTC."""
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {one_line(sentence)}", flush=True)


class _Ending:
    """The signals that end a worker. The first drains it, the second leaves at once.

    Whatever then hangs, the process ends: neither signal depends on the event loop, and a thread counts the seconds.
    """

    def __init__(self, working: Worker) -> None:
        self._working = working
        self._timer: threading.Timer | None = None
        self.code = 0

    async def run(self) -> None:
        """Works until a signal, and then until what runs has ended."""
        loop = asyncio.get_running_loop()

        def end(number: int, _frame: object) -> None:
            if self.code:
                _leave(self.code, "left at once; other workers take the runs over within seconds")
                return
            self.code = TERMINATED if number == signal.SIGTERM else INTERRUPTED
            self._count_down()
            loop.call_soon_threadsafe(self._drain)

        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            await self._working.run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def over(self) -> int:
        """The exit code of a worker that has ended by itself."""
        if self._timer is not None:
            self._timer.cancel()
        return self.code

    def _drain(self) -> None:
        say("ending: no more runs are taken, and the steps that run now may end", "Again: leaves at once.")
        self._working.stop()

    def _count_down(self) -> None:
        from ..durable.worker import GRACE

        seconds = GRACE + _LATE_SECONDS
        words = f"left after {seconds:g} s, though not all had ended; other workers take the runs over within seconds"
        self._timer = threading.Timer(seconds, _leave, (self.code, words))
        self._timer.daemon = True
        self._timer.start()


def _leave(code: int, words: str) -> None:
    """Ends the process. Its commands and servers end with it."""
    with suppress(Exception):  # whoever was interrupted may be writing just now
        say(words)
    os._exit(code)


def _rates(given: Sequence[str]) -> dict[str, Rate]:
    from ..durable.rates import Rate

    rates: dict[str, Rate] = {}
    for each in given:
        name, equals, text = as_text(each).partition("=")
        if not (name.strip() and equals):
            raise ConfigError(
                f"--rate {one_line(as_text(each))} names no provider and no rate",
                hint="Write it as anthropic=50/60s, openai:gpt-4.1=10/s or *=1000/1h.",
            )
        rates[name.strip()] = Rate.parse(text)
    return rates


def _check_apart(url: str, folder: Workspace) -> None:
    """No tool may write to the database: whoever can answers the questions about its own calls."""
    scheme, _, path = url.partition(":///")
    if scheme.startswith("sqlite") and folder.place(os.path.abspath(path.partition("?")[0])).inside:
        raise ConfigError(
            "the database lies in a folder that tools may change",
            hint="Put it elsewhere: --database sqlite:////var/lib/toolwire/runs.db",
        )


def _ceilings(loaded: Loaded) -> frozenset[str]:
    """The bounds that somebody has set, which no run goes beyond."""
    return frozenset(name for name in ("turns", "tokens") if loaded.is_set(f"max_{name}"))


def _folder(given: str | None) -> str | None:
    if given is None:
        return None
    if not os.path.isdir(given):
        raise ConfigError(f"there is no folder {as_text(given)}", hint="Give --workspace a folder that is there.")
    return os.path.realpath(given)


def _text(argument: str | None) -> str | None:
    return None if argument is None else as_text(argument)
