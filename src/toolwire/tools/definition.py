"""`ToolDefinition`: what a model is told about a tool, what its arguments must be, and how it runs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from ..errors import ConfigError, ToolDefinitionError
from .check import MAX_DEPTH, ArgumentCheck, cut, measure
from .running import Preview

NAME_LENGTH = 128
_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")


class Risk(StrEnum):
    """What a tool can do at worst. A definition without a risk is of unknown risk: it is asked about."""

    READ = "read"
    """It looks, and changes nothing."""
    WRITE = "write"
    """It changes files or data."""
    EXECUTE = "execute"
    """It runs programs."""
    NETWORK = "network"
    """It talks to other machines."""
    DANGEROUS = "dangerous"
    """It may do harm that cannot be undone."""


@dataclass(frozen=True, slots=True, eq=False)
class ToolDefinition:
    """One tool. Read-only, compared by identity; a `ToolDefinitionError` says what is wrong with it.

    `parameters` is the JSON Schema of an object, kept as given; `None` and `{}` mean no arguments. `call` takes the
    checked JSON arguments and returns the result, an awaitable of it or a generator of its pieces; without one the
    tool can be declared to a model but not run. `timeout` is in seconds, `None` for the executor's own.

    What approval looks at beside the risk: `paths` names the arguments that are file paths, `command` the one that is
    a shell command line, `folder` the one that says where it runs, `variables` the one with environment variables for
    it, `network` the one that, when true, lets it reach other machines. `shell="bash"` promises that bash 5.1 or newer
    runs the line, without start files; without it, only what all shells read alike is understood of a line. `asks` is a
    sentence for a tool that is asked about whatever allows it: why. The paths of a `confined` tool lie inside the
    workspace, or the call is denied without a question. `preview` shows a person what a call would change before they
    are asked.

    What execution may do: an `exclusive` tool never runs beside another; `retries` are made after a failure, only for
    a tool that reads or is `idempotent`; a result is kept for `cache` seconds and given again for the same arguments,
    only for a tool that reads.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    risk: Risk | None = None
    call: Callable[[dict[str, Any]], Any] | None = None
    timeout: float | None = None
    paths: tuple[str, ...] = ()
    command: str = ""
    folder: str = ""
    variables: str = ""
    network: str = ""
    asks: str = ""
    confined: bool = False
    preview: Callable[[dict[str, Any]], Preview] | None = None
    exclusive: bool = False
    idempotent: bool = False
    retries: int = 0
    cache: float = 0.0
    shell: str = ""
    _check: ArgumentCheck | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not is_tool_name(self.name):
            raise ToolDefinitionError(
                f"{cut(repr(self.name))} is no tool name",
                hint=f"A name is 1 to {NAME_LENGTH} of the characters A-Z a-z 0-9 _ - and dot.",
                tool=str(self.name),
            )
        if not isinstance(self.description, str):
            raise self._error(f"its description is a {type(self.description).__name__}, not text")
        if self.timeout is not None and not (math.isfinite(self.timeout) and self.timeout > 0):
            raise self._error(f"its timeout is {self.timeout}", hint="Give a number of seconds above 0, or None.")
        object.__setattr__(self, "parameters", self._checked_parameters())
        if self.risk is not None:
            try:
                object.__setattr__(self, "risk", Risk(self.risk))
            except ValueError:
                known = ", ".join(Risk)
                raise self._error(f"its risk is {self.risk!r}", hint=f"Use one of {known}, or None.") from None
        self._check_promises()

    def _check_promises(self) -> None:
        """What the tool says of its arguments and of running it again must be true of its schema and its risk."""
        object.__setattr__(self, "paths", tuple(self.paths))
        properties = self.parameters.get("properties", {})
        for name in (*self.paths, self.command, self.folder, self.variables, self.network):
            if name and name not in properties:
                raise self._error(f"it has no argument {cut(repr(name))}", hint="Name arguments that its schema has.")
        if self.shell not in ("", "bash"):
            raise self._error(
                f"its shell is {cut(repr(self.shell))}", hint='Set it to "bash", or leave it out for any other shell.'
            )
        if self.retries < 0 or (self.retries and self.risk is not Risk.READ and not self.idempotent):
            raise self._error(
                f"it cannot have {self.retries} retries",
                hint="Only a tool of risk read, or one declared idempotent, may be run again after a failure.",
            )
        if not (math.isfinite(self.cache) and self.cache >= 0) or (self.cache and self.risk is not Risk.READ):
            raise self._error(
                f"its results cannot be kept for {self.cache:g} seconds",
                hint="Only results of a tool of risk read may be kept, for a number of seconds.",
            )

    def _error(self, reason: str, hint: str = "Give name, description and a JSON Schema.") -> ToolDefinitionError:
        return ToolDefinitionError(f"tool {self.name!r}: {reason}", hint=hint, tool=self.name)

    def _checked_parameters(self) -> dict[str, Any]:
        """A private copy of the schema, so that what is checked is what was digested."""
        given: Any = self.parameters
        if given is None or given == {}:
            return {"type": "object", "properties": {}}
        if not isinstance(given, dict):
            raise self._error(f"its parameters are a {type(given).__name__}", hint="Give a JSON Schema object.")
        try:
            schema: dict[str, Any] = json.loads(json.dumps(given, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise self._error(f"its parameters are not plain JSON: {cut(str(error))}") from None
        if measure(schema)[1] > MAX_DEPTH:
            raise self._error(f"its parameters are nested over {MAX_DEPTH} levels deep")
        if "type" not in schema:
            schema = {"type": "object", **schema}
        kind = schema["type"]
        if kind != "object" and not (isinstance(kind, list) and "object" in kind):
            raise self._error(
                f"its parameters are of type {cut(json.dumps(kind))}, not object",
                hint='Arguments have names: put the value into {"type": "object", "properties": {...}}.',
            )
        properties = schema.get("properties", {})
        if not isinstance(properties, dict):
            raise self._error("the properties of its parameters are not an object")
        for key, value in properties.items():
            if not isinstance(value, (dict, bool)):
                raise self._error(f"the schema of {cut(repr(key))} is a {type(value).__name__}, not an object")
        required = schema.get("required", [])
        if not (isinstance(required, list) and all(isinstance(key, str) for key in required)):
            raise self._error("what its parameters require is not a list of names")
        return schema

    @property
    def can_run(self) -> bool:
        """Whether there is a function behind it: else it is declared only."""
        return self.call is not None

    def problem(self, arguments: dict[str, Any]) -> str | None:
        """None when the schema accepts these arguments, else one bounded sentence that a model can act on.

        The schema is compiled at the first use; one that is no JSON Schema is a `ToolDefinitionError` then.
        """
        check = self._check
        if check is None:
            check = ArgumentCheck(self.name, self.parameters)
            object.__setattr__(self, "_check", check)
        return check.problem(arguments)

    @property
    def is_repeatable(self) -> bool:
        """Whether it does no harm to run it again: it reads, or is declared idempotent."""
        return self.risk is Risk.READ or self.idempotent

    def digest(self) -> str:
        """SHA-256 of everything that the definition says. Tickets are bound to it."""
        facts = [
            self.name,
            self.description,
            self.parameters,
            self.risk,
            self.timeout,
            self.paths,
            self.command,
            self.folder,
            self.variables,
            self.network,
            self.asks,
            self.confined,
            self.exclusive,
            self.idempotent,
            self.retries,
            self.cache,
            self.shell,
        ]
        return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """What a model is told: an entry of tools.json."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


def is_tool_name(name: str) -> bool:
    """Whether this is a name for a tool. A provider that takes fewer gets another one: `providers.names`."""
    return 0 < len(name) <= NAME_LENGTH and _NAME_CHARACTERS.issuperset(name)


def tool_from_json(entry: Any) -> ToolDefinition:
    """One declared tool, as Toolwire, OpenAI, Anthropic or MCP write it."""
    if isinstance(entry, dict) and isinstance(entry.get("function"), dict):
        entry = entry["function"]
    if not isinstance(entry, dict):
        raise ToolDefinitionError(f"a tool is a JSON object, not a {_json_type(entry)}", hint=_FORM)
    if "name" not in entry:
        raise ToolDefinitionError("a tool has no name", hint=_FORM)
    schema = next((entry[key] for key in ("parameters", "input_schema", "inputSchema") if key in entry), None)
    description = entry.get("description")
    return ToolDefinition(entry["name"], "" if description is None else description, {} if schema is None else schema)


def load_tools(data: bytes | str) -> list[ToolDefinition]:
    """Read tools.json: a list of declared tools. A `ConfigError` says which entry is wrong and how."""
    bom = b"\xef\xbb\xbf" if isinstance(data, bytes) else "\ufeff"
    try:
        entries = msgspec.json.decode(data.removeprefix(bom))  # type: ignore[arg-type]
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"the list of tools is not JSON: {error}", hint=_FORM) from None
    if not isinstance(entries, list):
        raise ConfigError(f"the list of tools is a {_json_type(entries)}, not a list", hint=_FORM)
    tools: list[ToolDefinition] = []
    seen: set[str] = set()
    for number, entry in enumerate(entries, 1):
        try:
            tool = tool_from_json(entry)
        except ToolDefinitionError as error:
            raise ConfigError(f"entry {number} of the list of tools: {error}", hint=error.hint, entry=number) from None
        if tool.name in seen:
            raise ConfigError(
                f"entry {number} of the list of tools: there is already a tool {tool.name!r}",
                hint="Give every tool a name of its own.",
                entry=number,
            )
        seen.add(tool.name)
        tools.append(tool)
    return tools


_FORM = 'Give a JSON list such as [{"name": "get_weather", "description": "...", "parameters": {"type": "object"}}].'


def _json_type(value: Any) -> str:
    return {dict: "JSON object", str: "string", bool: "boolean", type(None): "null", list: "list"}.get(
        type(value), "number"
    )
