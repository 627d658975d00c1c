"""From what a person wants to an agent: its model, tools, rules, servers. For `toolwire run`, `chat` and `worker`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from ..agent.asking import Retries
from ..agent.bounds import Bounds
from ..agent.endpoint import environment
from ..agent.hooks import Hooks
from ..agent.loop import Agent
from ..approval.audit import audit_path
from ..approval.files import PolicyPaths, load_policy
from ..approval.memory import FileMemory
from ..approval.places import Workspace
from ..approval.policy import Policy
from ..approval.request import Answer, ApprovalRequest
from ..errors import ConfigError
from ..mcp.servers import McpServers
from ..providers.catalog import find_provider
from ..providers.encoding import check_tool_choice
from ..providers.endpoint import resolve
from ..refusals import shown_url
from ..settings.loading import Loaded
from ..tools.definition import ToolDefinition
from ..transport import AiohttpTransport, Timeouts, Transport
from .console import PlainConsole
from .faults import say
from .install import NAME
from .mcp_servers import RunServers, Tell, servers_for_run
from .toolset import ToolSet, set_words, tools_in, tools_of
from .working import missing_folders

if TYPE_CHECKING:
    from ..agent.sessions.store import Session
    from ..agent.steps import Steps
    from ..mcp.host import FillIn

EMBEDDED_WORDS = (
    f"{NAME}, a very small model running on this machine: enough to see everything work, not to think with."
)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of an agent beside its model; as the flags of the same names have it."""

    system: str = ""
    tools: ToolSet | None = None
    """None: demo for the embedded model, builtin for all others."""
    no_tools: bool = False
    files: tuple[str, ...] = ()
    """Python files whose tools are offered beside those of the set."""
    mcp: tuple[str, ...] = ()
    no_mcp: bool = False
    mcp_config: tuple[str, ...] = ()
    needs_servers: bool = False
    """Something that goes along with the question is a server's."""
    sandbox: bool = True
    stream_parser: str | None = None
    repair: bool = False
    mode: str | None = None
    audit: bool = True
    tool_choice: str = "auto"
    bounds: Bounds = Bounds()
    retries: Retries = Retries()
    timeout: float = Timeouts().idle
    context_tokens: int | None = None


def options_of(loaded: Loaded) -> Options:
    """What the settings say, the flags among them."""
    settings = loaded.settings
    chosen: ToolSet | None = settings.tools if settings.tools in ("builtin", "demo") else None
    from_variable = loaded.source.get("stream_parser", "").isupper()
    return Options(
        system=settings.system,
        tools=chosen,
        no_tools=settings.tools == "none",
        no_mcp=not settings.use_mcp,
        sandbox=settings.sandbox,
        # What a variable says the agent reads by itself, so that an error names the variable.
        stream_parser=None if from_variable else settings.stream_parser or None,
        repair=settings.repair,
        mode=settings.mode or None,
        audit=settings.audit,
        bounds=Bounds(
            turns=settings.max_turns, tokens=settings.max_tokens or None, seconds=settings.max_seconds or None
        ),
        retries=Retries(attempts=settings.retries + 1),
        timeout=settings.timeout,
        context_tokens=settings.context_tokens or None,
    )


class Person(Protocol):
    """Whoever can be asked: an `Ask` for the gate, and the one who answers questions of the model itself."""

    async def __call__(self, request: ApprovalRequest) -> Answer:
        """What they say to a call."""
        ...

    async def ask_person(self, question: str, options: Sequence[str]) -> str:
        """What they answer to a question of the model's."""
        ...


class Made(NamedTuple):
    """An agent, and what a person should know of it."""

    agent: Agent
    model: str
    base_url: str | None
    words: str
    """The model, in one plain line."""
    is_embedded: bool
    tools: list[ToolDefinition]
    """Those that are there from the start."""
    tool_words: list[str]
    servers: McpServers | None
    server_words: list[str]
    problems: list[str]
    """About servers; also among the words."""
    policy: Policy


class Assembly:
    """Makes agents for one workspace and one person, as `Options` say. Makes no session and asks no model."""

    def __init__(
        self,
        workspace: Workspace,
        files: PolicyPaths,
        *,
        person: Person | None = None,
        fill_in: FillIn | None = None,
        tell: Tell = say,
        is_here: bool = True,
    ) -> None:
        self.workspace = workspace
        self.files = files
        self._person = person
        self._is_here = is_here
        """Whether the person sits at this machine, so that a login may open their browser."""
        self._fill_in = fill_in
        self._tell = tell

    def make(
        self,
        options: Options,
        model: str,
        base_url: str | None = None,
        *,
        session: Session | None = None,
        policy: Policy | None = None,
        hooks: Sequence[Hooks] = (),
        around: Callable[[Transport], Transport] = lambda transport: transport,
        console: PlainConsole | None = None,
        tools_beside: Sequence[ToolDefinition] = (),
        steps: Steps | None = None,
    ) -> Made:
        """An agent for this model. `around` is put around what carries its requests, `steps` is who does them.

        `tools_beside` are offered beside those of the options: tools of files that were run once, for many agents.

        With a `console`, the person is asked there about servers of the project that they have not agreed to yet.
        Without `policy`, the files say what may run.
        """
        model = as_model(model)
        words = describe(model, base_url)
        is_embedded = words == EMBEDDED_WORDS
        if policy is None:
            policy = load_policy(self.workspace, mode=options.mode, paths=self.files)
        chosen: ToolSet = options.tools or ("demo" if is_embedded else "builtin")
        tools = [] if options.no_tools else tools_of(chosen, self.workspace, self._person, sandbox=options.sandbox)
        tools += [*(tool for name in options.files for tool in tools_in(Path(name))), *tools_beside]
        more = self._servers(options, is_embedded, console)
        if more.servers is None:
            check_tool_choice(options.tool_choice, tools)
        agent = Agent(
            model,
            tools if more.servers is None else [*tools, more.servers],
            system_prompt=options.system,
            approve=self._person,
            policy=policy,
            workspace=self.workspace,
            memory=FileMemory(self.files.always),
            audit=audit_path(os.environ) if options.audit else None,
            base_url=base_url,
            transport=around(AiohttpTransport(timeouts=Timeouts(idle=options.timeout))),
            tool_choice=options.tool_choice,
            bounds=options.bounds,
            retries=options.retries,
            context_tokens=options.context_tokens,
            stream_parser=options.stream_parser,
            repair=options.repair,
            hooks=hooks,
            session=session,
            steps=steps,
        )
        tool_words = (
            set_words(tools, self.workspace, missing_folders(self.files)) if tools or more.servers is None else []
        )
        return Made(
            agent,
            model,
            base_url,
            words,
            is_embedded,
            tools,
            tool_words,
            more.servers,
            more.words,
            more.problems,
            policy,
        )

    def _servers(self, options: Options, is_embedded: bool, console: PlainConsole | None) -> RunServers:
        named = bool(options.mcp or options.mcp_config or options.needs_servers)
        return servers_for_run(
            self.workspace.root,
            console,
            person=self._person is not None and self._is_here,
            wanted=not options.no_mcp and (named or not (options.no_tools or is_embedded)),
            only=options.mcp or None,
            config=options.mcp_config,
            fill_in=self._fill_in,
            tell=self._tell,
        )


def as_model(name: str) -> str:
    """A file of weights is a model too."""
    if name.lower().endswith(".gguf") and find_provider(name.partition(":")[0]) is None:
        return f"local:{name}"
    return name


def describe(model: str, base_url: str | None) -> str:
    """What is about to be asked, in one plain line; also where a model that cannot be asked is told of."""
    endpoint = resolve(model, environment(model), base_url=base_url)
    provider = endpoint.provider
    if provider.name != "local" or base_url:
        maker = "" if provider.name == "openai-compatible" else f" from {provider.title.partition(' (')[0]}"
        return f"{endpoint.model}{maker}, at {shown_url(endpoint.base_url)}"
    if endpoint.model == provider.default_model:
        return EMBEDDED_WORDS
    return f"{Path(endpoint.model).name}, running on this machine."


def described(loaded: Loaded, model: str, address: str | None) -> str:
    """As `describe`; one of the settings that cannot be asked is told with its line."""
    try:
        return describe(model, address)
    except ConfigError as error:
        if model != loaded.settings.model or loaded.source["model"].startswith("--"):
            raise
        raise loaded.error("model", f"cannot be asked: {error.message}", error.hint) from None
