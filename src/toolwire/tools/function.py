"""`@tool`: a typed function becomes a tool. Its types give the schema, its docstring gives the words.

The function itself is returned unchanged, with its `ToolDefinition` as the attribute `__toolwire__`. Pydantic is
imported when the first tool is defined, not before.
"""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints, overload

from ..errors import IncompleteCall, ToolDefinitionError
from .check import PROBLEMS, cut, join_problems, spell_path
from .definition import Risk, ToolDefinition, tool_from_json

if TYPE_CHECKING:
    from pydantic import BaseModel

F = TypeVar("F", bound=Callable[..., Any])
RiskName = Literal["read", "write", "execute", "network", "dangerous"]

_ATTRIBUTE = "__toolwire__"


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    risk: Risk | RiskName | None = None,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    paths: Sequence[str] = (),
    command: str = "",
    shell: str = "",
    exclusive: bool = False,
    idempotent: bool = False,
    retries: int = 0,
    cache: float = 0.0,
) -> Callable[[F], F]: ...
def tool(
    function: F | None = None,
    /,
    *,
    risk: Risk | RiskName | None = None,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    paths: Sequence[str] = (),
    command: str = "",
    shell: str = "",
    exclusive: bool = False,
    idempotent: bool = False,
    retries: int = 0,
    cache: float = 0.0,
) -> F | Callable[[F], F]:
    """Make a typed function, plain or async, a tool: `@tool` or `@tool(risk="read")`.

    Without a `risk` the tool is of unknown risk and asked about. Name and description are those of the function
    unless given; the rest is what a `ToolDefinition` says. A generator, plain or async, gives its result in pieces,
    which are told as they come. On a method, give the bound method to whoever takes tools: `tools=[service.search]`.
    """

    def decorate(function: F) -> F:
        definition = replace(
            _define(function, name=name, description=description),
            risk=cast("Risk | None", risk),
            timeout=timeout,
            paths=tuple(paths),
            command=command,
            shell=shell,
            exclusive=exclusive,
            idempotent=idempotent,
            retries=retries,
            cache=cache,
        )
        try:
            setattr(function, _ATTRIBUTE, definition)
        except AttributeError:  # a bound method takes no attributes, a partial of it does
            holder = functools.update_wrapper(functools.partial(function), function)
            setattr(holder, _ATTRIBUTE, definition)
            return cast("F", holder)
        return function

    return decorate if function is None else decorate(function)


def is_async(call: Callable[[dict[str, Any]], Any]) -> bool:
    """Whether what runs a tool belongs on the event loop; all else belongs in a thread."""
    function = call.function if isinstance(call, _Call) else call
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def as_definition(tool: ToolDefinition | Callable[..., Any] | dict[str, Any]) -> ToolDefinition:
    """The definition of a tool: decorated, a plain typed function (then of unknown risk), or an entry of tools.json."""
    if isinstance(tool, ToolDefinition):
        return tool
    if isinstance(tool, dict):
        return tool_from_json(tool)
    known = getattr(tool, _ATTRIBUTE, None)
    if not isinstance(known, ToolDefinition):
        return _define(tool)
    call = known.call
    if not isinstance(call, _Call) or not call.unbound:
        return known
    if not inspect.ismethod(tool):
        raise ToolDefinitionError(
            f"tool {known.name!r} is a method without its object",
            hint=f"Give the bound method of an object: tools=[thing.{known.name}].",
            tool=known.name,
        )
    return replace(known, call=replace(call, function=tool, unbound=False))


@dataclass(frozen=True, slots=True)
class _Call:
    """What runs a function on JSON arguments: they become the typed values of its parameters first."""

    tool: str
    function: Callable[..., Any]
    model: type[BaseModel]
    parameters: dict[str, _Parameter]
    unbound: bool

    def __call__(self, arguments: dict[str, Any]) -> Any:
        if self.unbound:
            raise ToolDefinitionError(f"tool {self.tool!r} is a method without its object", tool=self.tool)
        return self.function(**self._values(arguments))

    def _values(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Typed values by parameter. Read as JSON, not as Python values: strict models then take dates and tuples."""
        from pydantic import ValidationError

        try:
            text = json.dumps(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise self._refused(f"the arguments are not JSON: {cut(str(error))}") from None
        try:
            values = self.model.model_validate_json(text)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)[:PROBLEMS]
            sentences = [f"{spell_path(item['loc'])}: {cut(item['msg'], 200)}" for item in found]
            raise self._refused(join_problems(sentences, error.error_count())) from None
        return {
            parameter.name: getattr(values, field)
            for field, parameter in self.parameters.items()
            if field in values.model_fields_set or not parameter.has_default
        }

    def _refused(self, reason: str) -> IncompleteCall:
        return IncompleteCall(reason, hint="Correct the arguments and call again.", tool=self.tool)


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter as its function sees it. `has_default`: the function itself can fill it in."""

    name: str
    type: Any
    default: Any
    has_default: bool


def _define(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
) -> ToolDefinition:
    if not hasattr(function, "__name__") or isinstance(function, (type, staticmethod, classmethod)):
        raise ToolDefinitionError(
            f"a {type(function).__name__} cannot become a tool",
            hint="Give a typed function or a bound method; put @tool under @staticmethod and @classmethod.",
        )
    name = function.__name__ if name is None else name
    original = inspect.unwrap(getattr(function, "__func__", function))
    unbound = _is_unbound_method(function)
    parameters = {f"p{n}": each for n, each in enumerate(_parameters(name, function, original, skip_first=unbound))}
    summary, words = _docstring(function)
    model, schema = _schema(name, parameters, words)
    return ToolDefinition(
        name,
        summary if description is None else description,
        schema,
        call=_Call(name, function, model, parameters, unbound),
    )


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature; an annotation whose name is unknown is a forward reference, also on Python 3.14."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.FORWARDREF)
    return inspect.signature(function)


def _is_unbound_method(function: Callable[..., Any]) -> bool:
    """A function of a class body whose first parameter is an untyped `self` or `cls`."""
    if not inspect.isfunction(function):
        return False
    owner = function.__qualname__.rpartition(".")[0]
    first = next(iter(_signature(function).parameters.values()), None)
    return (
        bool(owner)
        and not owner.endswith("<locals>")
        and first is not None
        and first.name in ("self", "cls")
        and first.annotation is first.empty
    )


def _parameters(tool: str, function: Callable[..., Any], original: Any, *, skip_first: bool) -> Iterator[_Parameter]:
    from pydantic.fields import FieldInfo

    def wrong(reason: str, hint: str) -> ToolDefinitionError:
        return ToolDefinitionError(
            f"tool {tool!r}: parameter {parameter.name!r} {reason}", hint=hint, tool=tool, parameter=parameter.name
        )

    try:
        signature = _signature(function)
    except (ValueError, TypeError, NameError) as error:
        raise ToolDefinitionError(
            f"tool {tool!r}: its signature cannot be read: {error}", hint="Wrap it in a typed function.", tool=tool
        ) from None
    names = getattr(original, "__globals__", {})
    local_names = _local_names(original)
    for parameter in list(signature.parameters.values())[skip_first:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise wrong(
                "takes any number of values", "A model must know every argument: name each one, or take a list."
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise wrong("is positional-only", "Arguments go by name: remove the '/' of the signature.")
        plain_default = parameter.default is not parameter.empty and not isinstance(parameter.default, FieldInfo)
        if parameter.annotation is not parameter.empty:
            try:
                hints = SimpleNamespace(__annotations__={"it": parameter.annotation})
                hint = get_type_hints(hints, names, local_names, include_extras=True)["it"]
            except Exception as error:
                raise wrong(
                    f"has a type that cannot be found: {error}",
                    "Define or import the type at the top of the module, outside of `if TYPE_CHECKING`.",
                ) from None
        elif parameter.default is not parameter.empty:
            hint = Any
        else:
            raise wrong("has no type", f"Write its type, such as {parameter.name}: str.")
        if parameter.default is None:
            hint = _with_none(hint)
        default = ... if parameter.default is parameter.empty else parameter.default
        yield _Parameter(parameter.name, hint, default, plain_default)


def _with_none(hint: Any) -> Any:
    """The type, with None accepted: what a default of None means even where the type does not say so."""
    inner, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if inner is Any or type(None) in get_args(inner):
        return hint
    inner = inner | None
    return Annotated[inner, *extras] if extras else inner


def _local_names(function: Any) -> dict[str, Any]:
    """Names that were local where the function was written: of the function around it if that still runs, and those
    that the function keeps itself."""
    outer, inside, _ = getattr(function, "__qualname__", "").rpartition(".<locals>.")
    names: dict[str, Any] = {}
    frame = inspect.currentframe() if inside else None
    while frame is not None:
        if frame.f_code.co_qualname == outer and frame.f_globals is function.__globals__:
            names.update(frame.f_locals)
            break
        frame = frame.f_back
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is not None and cells:
        for name, cell in zip(code.co_freevars, cells, strict=True):
            try:
                names.setdefault(name, cell.cell_contents)
            except ValueError:  # not yet assigned
                continue
    return names


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """What the docstring says of the tool, and of each parameter (Google, NumPy and reST styles)."""
    text = inspect.getdoc(function) or ""
    if not text:
        return "", {}
    import docstring_parser

    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return text, {}
    words = {each.arg_name: " ".join((each.description or "").split()) for each in parsed.params}
    return (parsed.description or "").strip(), words


def _schema(
    tool: str, parameters: dict[str, _Parameter], words: dict[str, str]
) -> tuple[type[BaseModel], dict[str, Any]]:
    """The model that reads arguments and its JSON Schema.

    The fields have neutral names and the parameters' own names as aliases: a parameter may be called anything.
    """
    import pydantic
    from pydantic.fields import FieldInfo
    from pydantic.json_schema import GenerateJsonSchema

    class Quiet(GenerateJsonSchema):
        """A default that is no JSON is left out without a warning."""

        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def build(chosen: dict[str, _Parameter]) -> tuple[type[BaseModel], dict[str, Any]]:
        fields: dict[str, Any] = {}
        for field, parameter in chosen.items():
            given = FieldInfo.from_annotated_attribute(parameter.type, parameter.default)
            own: dict[str, Any] = {} if given.alias or given.validation_alias else {"alias": parameter.name}
            if given.description is None and words.get(parameter.name):
                own["description"] = words[parameter.name]
            fields[field] = (Annotated[parameter.type, pydantic.Field(**own)], parameter.default)
        config = pydantic.ConfigDict(extra="forbid", protected_namespaces=())
        model: type[BaseModel] = pydantic.create_model(tool, __config__=config, **fields)
        return model, model.model_json_schema(schema_generator=Quiet)

    try:
        model, schema = build(parameters)
    except Exception as error:  # types bring code of their own, which may raise anything
        culprit, reason = "a parameter", error
        for field, parameter in parameters.items():
            try:
                build({field: parameter})
            except Exception as own:
                culprit, reason = f"parameter {parameter.name!r}", own
                break
        raise ToolDefinitionError(
            f"tool {tool!r}: {culprit} has a type that cannot be given as JSON: {cut(str(reason), 300)}",
            hint="Use types that JSON can carry: str, int, float, bool, list, dict, Literal, Enum, Pydantic models.",
            tool=tool,
        ) from None
    _tidy(schema)
    return model, {"type": "object", "properties": {}, **schema}


_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")


def _tidy(schema: Any) -> None:
    """Drop the titles that Pydantic makes up, and patterns that only a backtracking engine reads: some releases write
    one for Decimal, and Pydantic holds to it anyway."""
    if not isinstance(schema, dict):
        return
    schema.pop("title", None)
    if any(sign in schema.get("pattern", "") for sign in _LOOK_AROUND):
        del schema["pattern"]
    for keyword in ("properties", "patternProperties", "$defs"):
        for each in schema.get(keyword, {}).values():
            _tidy(each)
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for each in schema.get(keyword, []):
            _tidy(each)
    for keyword in ("items", "additionalProperties", "propertyNames"):
        _tidy(schema.get(keyword))
