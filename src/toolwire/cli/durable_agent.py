"""The agent that `toolwire worker` offers: what its own person set up, with what a run wants within that.

A run comes out of a database that others write to. It can choose among what the worker's person allows, and narrow it;
it names no server, no file, no folder and no program, and widens nothing. What it may not have is refused in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..agent.bounds import Bounds
from ..agent.loop import Agent
from ..approval.files import PolicyPaths, load_layers
from ..approval.places import Workspace
from ..approval.policy import Mode, Policy, as_mode
from ..approval.rules import Rule
from ..errors import ConfigError
from ..providers.catalog import split_model
from ..settings.checking import MAX_SYSTEM, MAX_TEXT, nearest
from ..tools.definition import ToolDefinition
from .assembly import EMBEDDED_WORDS, Assembly, Made, Options, as_model, describe
from .visible import one_line

if TYPE_CHECKING:
    from ..durable.records import RunSpec
    from ..durable.workplace import Workplace

NAME = "toolwire"
"""Under which a run finds it."""
VERSION = "1"
"""Of what its runs record. It changes when a run that was begun before could not be gone on with."""

_Tools = Literal["", "none", "demo", "builtin"]
_WIDTHS = ("none", "demo", "builtin")
"""Sets of tools, from the narrowest."""
_Line = Annotated[str, Meta(max_length=MAX_TEXT)]
_Count = Annotated[int, Meta(ge=1, le=10**12)]


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a run may say of the agent that works on it; what it leaves out is as the worker has it."""

    model: _Line = ""
    """`provider:model`; the worker must have the key for it."""
    base_url: _Line = ""
    """No other than the worker's own: its keys go along."""
    system: Annotated[str, Meta(max_length=MAX_SYSTEM)] | None = None
    tools: _Tools = ""
    mode: Literal["", "read-only", "ask", "auto-edit", "full"] = ""
    tool_choice: _Line = "auto"
    stream_parser: _Line = ""
    max_turns: _Count | None = None
    max_tokens: _Count | None = None


def read_options(given: dict[str, Any]) -> RunOptions:
    """The options of a run. A `ConfigError` names what is not known or not of its kind."""
    known = RunOptions.__struct_fields__
    for name in given:
        if name not in known:
            near = nearest(name, list(known))
            hint = f"Did you mean `{near}`?" if near else f"There are {', '.join(known)}."
            raise ConfigError(f"a run has no option {one_line(name)[:60]!r}", hint=hint)
    try:
        return msgspec.convert(given, RunOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"the options of the run cannot be used: {error}", hint="See toolwire runs submit --help."
        ) from None


class WorkerAgent:
    """Makes an agent for each run, in the worker's folder and by its rules, which are read anew each time.

    `tools` stand in files of the worker's person, `rules` on its command line; `ceilings` are the bounds that this
    person set (`turns`, `tokens`), which no run goes beyond. Tools of a run with no tools are none at all. With
    `starts_agents` a run may start others.
    """

    def __init__(
        self,
        options: Options,
        model: str,
        base_url: str | None,
        *,
        workspace: Workspace,
        files: PolicyPaths,
        tools: Sequence[ToolDefinition] = (),
        rules: Sequence[Rule] = (),
        ceilings: frozenset[str] = frozenset(),
        starts_agents: bool = False,
    ) -> None:
        self._model = as_model(model)
        # What is usual for its own model is the worker's: a run that names another one gets no more by that.
        is_embedded = describe(self._model, base_url) == EMBEDDED_WORDS
        if is_embedded:
            no_mcp = options.no_mcp or not (options.mcp or options.mcp_config)
            options = msgspec.structs.replace(options, tools=options.tools or "demo", no_mcp=no_mcp)
        self._options = options
        self._base_url = base_url
        self._workspace = workspace
        self._files = files
        self._tools = list(tools)
        self._rules = list(rules)
        self._ceilings = ceilings
        self._starts_agents = starts_agents

    def offered(self) -> Made:
        """As it is for a run that says nothing; to be told of, not to be asked."""
        assembly = Assembly(self._workspace, self._files, is_here=False)
        return assembly.make(self._options, self._model, self._base_url, policy=self.policy(), tools_beside=self._tools)

    def make(self, spec: RunSpec, place: Workplace) -> Agent:
        """The agent for this run. A `ConfigError` says what of it this worker does not do."""
        wanted = read_options(spec.options)
        model, base_url = self._where(wanted)
        tools = self._tool_set(wanted)
        options = msgspec.structs.replace(
            self._options,
            system=self._options.system if wanted.system is None else wanted.system,
            tools=tools if tools == "builtin" or tools == "demo" else None,
            no_tools=tools == "none" or self._options.no_tools,
            no_mcp=self._options.no_mcp or tools == "none",
            mcp=() if tools == "none" else self._options.mcp,
            mcp_config=() if tools == "none" else self._options.mcp_config,
            stream_parser=wanted.stream_parser or self._options.stream_parser,
            tool_choice=wanted.tool_choice,
            bounds=self._bounds(wanted, spec.bounds),
        )
        # Nobody sits here: a form of an MCP server is declined, and no login opens a browser.
        made = Assembly(self._workspace, self._files, person=place.person, is_here=False).make(
            options,
            model,
            base_url,
            policy=self.policy(wanted.mode),
            around=place.transport,
            tools_beside=() if tools == "none" else [*self._tools, *self._delegating(spec, place)],
            steps=place.steps,
        )
        return made.agent

    def _delegating(self, spec: RunSpec, place: Workplace) -> list[ToolDefinition]:
        """The tool by which a run starts others, which have the options that it has itself."""
        if not self._starts_agents:
            return []
        from ..durable.fanout import sub_agents

        return [sub_agents(place, agent=NAME, options=spec.options)]

    def policy(self, wanted: str = "") -> Policy:
        """The rules that hold now. A run can narrow the mode, as a project's file can, and never widen it."""
        layers = load_layers(self._workspace, mode=self._options.mode, paths=self._files)
        user = layers.files[0].file
        own = as_mode(self._options.mode or (user.mode if user is not None and user.mode is not None else Mode.ASK))
        policy = layers.policy()
        if wanted:
            mode = as_mode(wanted)
            if mode.width > own.width:
                raise ConfigError(
                    f"the run wants the mode {mode}, and this worker's is {own}",
                    hint=f"Submit it with --mode {own} or less, or start a worker with --mode {mode}.",
                )
            policy.mode = min(mode, policy.mode, key=lambda each: each.width)
        for rule in self._rules:
            policy.remember(rule)
        return policy

    def _where(self, wanted: RunOptions) -> tuple[str, str | None]:
        """Whom to ask, and where. The worker's address holds for its own provider, and no run names another."""
        if wanted.base_url and wanted.base_url != self._base_url:
            raise ConfigError(
                "the run names the server that is to be asked, and this worker's keys would go there",
                hint="Leave base_url out; a worker asks the servers of its own settings.",
            )
        if not wanted.model:
            return self._model, self._base_url
        model = as_model(wanted.model)
        provider, name = split_model(model)
        if provider.name == "local" and model != self._model and name != provider.default_model:
            raise ConfigError(
                "the run names a file of weights, and those are for the worker's own person to choose",
                hint="Start a worker with --model FILE.gguf, and leave the model out.",
            )
        is_own = provider.name == split_model(self._model)[0].name
        if wanted.base_url and not is_own:
            raise ConfigError(
                f"the address of this worker's server is not for {provider.name}", hint="Leave base_url out."
            )
        return model, self._base_url if is_own else None

    def _tool_set(self, wanted: RunOptions) -> _Tools:
        """The set that the run has; empty: what the worker has, or what is usual for its model."""
        own: _Tools = "none" if self._options.no_tools else self._options.tools or ""
        if not wanted.tools:
            return "" if own == "none" else own
        if _WIDTHS.index(wanted.tools) > _WIDTHS.index(own or "builtin"):
            raise ConfigError(
                f"the run wants the tools {wanted.tools}, and this worker offers {own}",
                hint=f"Submit it with --tools {own}, or start a worker with --tools {wanted.tools}.",
            )
        return wanted.tools

    def _bounds(self, wanted: RunOptions, given: Bounds | None) -> Bounds:
        own = self._options.bounds
        # Time is a bound of the run (`runs submit --timeout`), and not of one attempt at it.
        bounds = msgspec.structs.replace(given or own, seconds=None)
        if wanted.max_turns is not None:
            bounds = msgspec.structs.replace(bounds, turns=wanted.max_turns)
        if wanted.max_tokens is not None:
            bounds = msgspec.structs.replace(bounds, tokens=wanted.max_tokens)
        for name in sorted(self._ceilings):
            ceiling, value = getattr(own, name), getattr(bounds, name)
            if ceiling is not None and value is None:
                bounds = msgspec.structs.replace(bounds, **{name: ceiling})
            elif ceiling is not None and value > ceiling:
                raise ConfigError(
                    f"the run wants {value:,g} {name}, and this worker lets none have more than {ceiling:,g}",
                    hint=f"Submit it with less, or start a worker with --max-{name} {value:g}.",
                )
        return bounds
