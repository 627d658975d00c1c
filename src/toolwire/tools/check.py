"""Arguments against a JSON Schema: yes, or one sentence that tells a model what to mend.

The check itself (`jsonschema_rs`) is linear: patterns run on an engine that cannot backtrack, and no reference is
ever fetched from a network or a disk. Explaining a refusal can be exponential for schemas that refer to themselves, so
it is done in detail only where the work is known to be small; beyond that the argument at fault is named as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ToolDefinitionError
from .references import target

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

MAX_DEPTH = 256
"""Nesting of a schema or of arguments: the validator recurses on the machine's stack, which must not overflow."""
MAX_SCHEMA = 50_000
"""Parts of a schema with every reference written out: thirty short definitions that double each other reach 2**30."""
EXPLAIN_BUDGET = 300
"""Steps spent on a detailed explanation, some 10 to 40 microseconds each."""

PROBLEMS = 5
QUOTED = 80
_NAMES = 20
_LINE = 400


class ArgumentCheck:
    """A compiled schema. A `ToolDefinitionError` says why a schema cannot be used."""

    __slots__ = ("_loose", "_repeats", "_schema", "_validator", "_without_required")

    def __init__(self, tool: str, schema: dict[str, Any]) -> None:
        self._schema = compiled = schema
        size, self._repeats = _weigh(schema)
        if size > MAX_SCHEMA:
            compiled = _share_unions(schema)
            size, self._repeats = _weigh(compiled)
        if size > MAX_SCHEMA:
            raise ToolDefinitionError(
                f"the parameters of tool {tool!r} are over {MAX_SCHEMA:,} parts once their references are written out",
                hint="Use fewer definitions that refer to each other.",
                tool=tool,
                limit=MAX_SCHEMA,
            )
        self._validator = _compile(tool, compiled)
        self._without_required = {key: value for key, value in compiled.items() if key != "required"}
        self._loose: Validator | None = None

    def problem(self, arguments: dict[str, Any]) -> str | None:
        """None when the schema accepts the arguments, else one bounded sentence."""
        parts, depth = measure(arguments)
        if depth > MAX_DEPTH:
            return f"the arguments are nested over {MAX_DEPTH} levels deep"
        try:
            if self._validator.is_valid(arguments):
                return None
            if parts * self._repeats**depth <= EXPLAIN_BUDGET:
                found = list(self._explain(self._validator.iter_errors(arguments), arguments))
            else:
                found = list(self._name(arguments))
        except ValueError as error:
            return f"the arguments are not JSON: {cut(str(error))}"
        return join_problems(list(dict.fromkeys(found)) or ["the arguments do not fit the schema of this tool"])

    def _explain(self, errors: Iterable[ValidationError], arguments: dict[str, Any]) -> Iterator[str]:
        for error in errors:
            path = error.instance_path
            value: Any = arguments
            try:
                for key in path:
                    value = value[key]
            except (KeyError, IndexError, TypeError):  # the validator leaves members without a name out of a path
                value = error.instance
            yield from self._sentences(error, path, value, arguments)

    def _sentences(
        self, error: ValidationError, path: list[str | int], value: Any, arguments: dict[str, Any]
    ) -> Iterator[str]:
        from jsonschema_rs import ValidationErrorKind as Kind

        match error.kind:
            case Kind.Required(name):
                yield f"{spell_path([*path, name])}: required, but missing"
            case Kind.AdditionalProperties(names) | Kind.UnevaluatedProperties(names):
                known = self._known(error.schema_path)
                yield from (f"{spell_path([*path, name])}: not a known argument{known}" for name in names)
            case Kind.AnyOf(branches) | Kind.OneOfNotValid(branches):
                yield from self._union(branches, path, value, arguments)
            case Kind.PropertyNames(inner):
                reason = _fault(inner.kind, quote(inner.instance)) or cut(inner.message)
                yield f"{spell_path(path)}: a name in it is wrong: {reason}"
            case kind:
                yield f"{spell_path(path)}: {_fault(kind, quote(value)) or cut(error.message)}"

    def _union(
        self, branches: list[list[ValidationError]], path: list[str | int], value: Any, arguments: dict[str, Any]
    ) -> Iterator[str]:
        """The problems of the one branch that was meant, where that is clear; otherwise the types that would do."""
        types: list[str] = []
        meant: list[list[ValidationError]] = []
        for branch in branches:
            wrong_kind = [e.kind for e in branch if e.kind.name == "type" and e.instance_path == path]
            if wrong_kind:
                types += [name for name in wrong_kind[0].value if name not in types]
            else:
                meant.append(branch)
        meant = [branch for branch in meant if not any(_other_tag(e, path) for e in branch)] or meant
        if not meant:
            yield f"{spell_path(path)}: {quote(value)} is not of type {_either(types)}"
        elif len(meant) == 1:
            yield from self._explain(meant[0], arguments)
        else:
            tags = [[e for e in branch if _other_tag(e, path)] or branch for branch in meant]
            ways = dict.fromkeys(next(self._explain(branch, arguments)) for branch in tags[:3])
            start = f"{spell_path(path)}: fits none of the {len(branches)} allowed forms"
            yield f"{start} ({' | or '.join(ways)})" if len(ways) > 1 else next(iter(ways))

    def _known(self, schema_path: Sequence[str | int]) -> str:
        """The names that an object may have, from the schema beside the keyword that refused one."""
        schema: Any = self._schema
        try:
            for key in schema_path[:-1]:
                schema = schema[key]
            names = [spell_path([name]) for name in schema.get("properties", {})]
        except (LookupError, TypeError, AttributeError):
            return ""
        more = ", ..." if len(names) > _NAMES else ""
        return f"; known are {', '.join(names[:_NAMES])}{more}" if names else "; there are none"

    def _name(self, arguments: dict[str, Any]) -> Iterator[str]:
        """Which arguments are wrong, each as a whole: linear, for what is too large to explain."""
        for name in self._schema.get("required", []):
            if name not in arguments:
                yield f"{spell_path([name])}: required, but missing"
        if self._loose is None:
            self._loose = _compile("", self._without_required)
        if not self._loose.is_valid({}):
            return
        properties = self._schema.get("properties", {})
        for name, value in arguments.items():
            if self._loose.is_valid({name: value}):
                continue
            if name in properties:
                wanted = properties[name]
                if isinstance(wanted, dict) and "$ref" in wanted:
                    wanted = target(self._schema, wanted["$ref"]) or wanted
                wanted = json.dumps(wanted, ensure_ascii=False)
                yield f"{spell_path([name])}: does not fit its schema {cut(wanted, _LINE // 2)}"
            else:
                yield f"{spell_path([name])}: not a known argument{self._known([''])}"


def measure(value: Any) -> tuple[int, int]:
    """How many values there are in a JSON value and how deep they nest, without recursion; stops past `MAX_DEPTH`."""
    parts, depth, level = 1, 0, [value]
    while level and depth <= MAX_DEPTH:
        depth += 1
        below: list[Any] = []
        for item in level:
            children: Iterable[Any] = item.values() if isinstance(item, dict) else item
            parts += len(item)
            below += [child for child in children if isinstance(child, (dict, list))]
        level = below
    return parts, depth


def _refuse(uri: str) -> Any:
    raise ValueError(f"references to other documents are not followed ({cut(uri)})")


def _compile(tool: str, schema: dict[str, Any]) -> Validator:
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(
            schema,
            validate_formats=False,
            retriever=_refuse,
            mask="the value",
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except jsonschema_rs.ValidationError as error:
        where = f" at {spell_path(error.instance_path)}" if error.instance_path else ""
        reason = cut(error.message, _LINE)
        if error.instance_path[-1:] == ["pattern"]:
            reason = "this pattern is not supported"
        raise ToolDefinitionError(
            f"the parameters of tool {tool!r} are not a usable JSON Schema{where}: {reason}",
            hint="Patterns may use no look-around and no back-reference; references must stay inside the schema.",
            tool=tool,
        ) from None
    except ValueError as error:
        raise ToolDefinitionError(
            f"the parameters of tool {tool!r} are not a usable JSON Schema: {cut(str(error), _LINE)}",
            hint="Give a JSON Schema of an object, made of plain JSON values.",
            tool=tool,
        ) from None


_SAME_VALUE = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas"})
"""Keywords whose schemas look at the same value again; all others look at a part of it, or at nothing."""


def _weigh(schema: dict[str, Any]) -> tuple[int, int]:
    """Two bounds on the work that arguments can cause.

    The size of the schema with every reference written out, up to where it refers to itself: the validator goes
    through that much. And how often, at most, one value is looked at again per level of nesting when a refusal is
    explained: 1 for a schema that does not refer to itself.
    """
    known: dict[str, tuple[int, int] | None] = {}
    widest, recursive = 1, False

    def follow(reference: str) -> tuple[int, int]:
        nonlocal recursive, widest
        if reference not in known:
            known[reference] = None
            found_at = target(schema, reference)
            if found_at is None:
                recursive, widest = True, max(widest, 2)
            known[reference] = walk(found_at)
        found = known[reference]
        if found is None:
            recursive = True
            return 1, 0
        return found

    def walk(node: Any) -> tuple[int, int]:
        nonlocal widest
        if isinstance(node, list):
            results = [walk(each) for each in node]
            return 1 + sum(size for size, _ in results), sum(again for _, again in results)
        if not isinstance(node, dict):
            return 1, 0
        size, again = 1, _looks_inside(node)
        for keyword, value in node.items():
            if keyword in ("$defs", "definitions") and isinstance(value, dict):
                size = max([size, *(walk(each)[0] for each in value.values())])
                continue
            if keyword == "dependentSchemas" and isinstance(value, dict):
                value = list(value.values())
            more_size, more_again = walk(value)
            size += more_size
            again += more_again if keyword in _SAME_VALUE else 0
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = node.get(keyword)
            if isinstance(reference, str):
                more_size, more_again = follow(reference)
                size, again = size + more_size, again + more_again
        widest = max(widest, again)
        return size, again

    try:
        size = walk(schema)[0]
    except RecursionError:
        size = MAX_SCHEMA + 1
    return size, widest if recursive else 1


_PLAIN_VALUES = frozenset({"const", "enum", "default", "examples"})


def _share_unions(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with equal unions written once.

    Types that hold each other (a node is one of twenty kinds, each with two nodes in it) come with the whole union
    written out wherever it is used; the validator remembers what it found only where a reference leads back.
    """
    unions: dict[str, str] = {}
    shared: dict[str, Any] = {}

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(each) for each in node]
        if not isinstance(node, dict):
            return node
        node = {keyword: value if keyword in _PLAIN_VALUES else walk(value) for keyword, value in node.items()}
        for keyword in ("anyOf", "oneOf"):
            union = node.get(keyword)
            if isinstance(union, list) and isinstance(node.get("allOf", []), list):
                spelled = json.dumps({keyword: node.pop(keyword)}, sort_keys=True)
                name = unions.setdefault(spelled, f"toolwire-union-{len(unions)}")
                shared[name] = {keyword: union}
                node["allOf"] = [*node.get("allOf", []), {"$ref": f"#/$defs/{name}"}]
        return node

    if '"$id"' in json.dumps(schema):  # a reference would not mean the same below it
        return schema
    rewritten: dict[str, Any] = walk(schema)
    return {**rewritten, "$defs": {**rewritten.get("$defs", {}), **shared}}


def _looks_inside(schema: dict[str, Any]) -> int:
    """How many keywords of this one schema look at the same part of a value."""
    patterns = schema.get("patternProperties")
    return (
        any(keyword in schema for keyword in ("properties", "additionalProperties", "items", "prefixItems"))
        + any(keyword in schema for keyword in ("unevaluatedProperties", "unevaluatedItems", "contains"))
        + (len(patterns) if isinstance(patterns, dict) else 0)
    )


def _other_tag(error: ValidationError, path: list[str | int]) -> bool:
    """Whether a constant beside the value says that this form was not meant: {"kind": "circle"} is no square."""
    return error.kind.name == "const" and error.instance_path[:-1] == path


def _fault(kind: Any, value: str) -> str | None:
    from jsonschema_rs import ValidationErrorKind as Kind

    match kind:
        case Kind.Type(types):
            return f"{value} is not of type {_either(types)}"
        case Kind.Enum(options):
            more = ", ..." if len(options) > _NAMES else ""
            return f"{value} is not one of {', '.join(map(quote, options[:_NAMES]))}{more}"
        case Kind.Constant(expected):
            return f"{value} is not {quote(expected)}"
        case Kind.Minimum(limit):
            return f"{value} is less than the minimum of {limit}"
        case Kind.Maximum(limit):
            return f"{value} is greater than the maximum of {limit}"
        case Kind.ExclusiveMinimum(limit):
            return f"{value} is not greater than {limit}"
        case Kind.ExclusiveMaximum(limit):
            return f"{value} is not less than {limit}"
        case Kind.MultipleOf(step):
            return f"{value} is not a multiple of {step}"
        case Kind.MinLength(limit):
            return f"{value} is shorter than {limit} characters"
        case Kind.MaxLength(limit):
            return f"{value} is longer than {limit} characters"
        case Kind.MinItems(limit):
            return f"{value} has fewer than {limit} items"
        case Kind.MaxItems(limit):
            return f"{value} has more than {limit} items"
        case Kind.Pattern(pattern):
            return f"{value} does not match the pattern {cut(pattern)}"
        case Kind.UniqueItems():
            return f"{value} has items that are equal, but each must differ"
        case Kind.OneOfMultipleValid():
            return f"{value} fits more than one of the allowed forms, but must fit exactly one"
        case Kind.Not(schema):
            return f"{value} is excluded by {cut(json.dumps(schema, ensure_ascii=False))}"
        case Kind.FalseSchema():
            return "not allowed here"
    return None


def _either(types: list[str]) -> str:
    return " or ".join(f"'{name}'" for name in sorted(types, key="null".__eq__))


def cut(text: str, length: int = QUOTED) -> str:
    """At most `length` characters of one line."""
    text = " ".join(text[: 4 * length].split())
    return text if len(text) <= length else text[: length - 3] + "..."


def quote(value: Any) -> str:
    """A value as a sentence shows it: short whatever its size, and on one line."""
    if isinstance(value, str):
        shown = ascii(value[:QUOTED]) if not value[:QUOTED].isprintable() else repr(value[:QUOTED])
        return shown if len(shown) <= QUOTED and len(value) <= QUOTED else shown[: QUOTED - 4] + "...'"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return f"an array of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 256:
        return "a huge number"
    return json.dumps(value, default=str)


def spell_path(path: Sequence[str | int]) -> str:
    """`files[0].name`; a name that is not plain is quoted, and the whole is bounded."""
    spelled = ""
    for key in path[:MAX_DEPTH]:
        if isinstance(key, int):
            spelled += f"[{key}]"
        elif key.replace("-", "_").isidentifier() and len(key) <= QUOTED:
            spelled += f".{key}" if spelled else key
        else:
            spelled += f"[{quote(key)}]" if spelled else quote(key)
        if len(spelled) > 2 * QUOTED:
            return spelled[: 2 * QUOTED] + "..."
    return spelled or "arguments"


def join_problems(found: Sequence[str], total: int | None = None) -> str:
    """At most `PROBLEMS` of them as one sentence, and how many more there are."""
    more = (len(found) if total is None else total) - PROBLEMS
    shown = "; ".join(cut(problem, _LINE) for problem in found[:PROBLEMS])
    return f"{shown}; and {more} more" if more > 0 else shown
