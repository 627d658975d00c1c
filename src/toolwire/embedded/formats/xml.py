"""`xml`: calls as tags, `<tool name="…">` with an `<arg name="…">` for each argument, and shorthands for long texts.

    <tool name="search">
        <arguments>
            <arg name="query">a < b && c > d</arg>
            <arg name="tags"><item>one</item><item>two</item></arg>
            <arg name="options"><arg name="deep">true</arg></arg>
        </arguments>
    </tool>
    <write_file path="notes.md">text as it stands</write_file>

It is not XML but what models write when they are asked for it: the text of an argument is taken as it stands, no
character is escaped, and only its own closing tag ends it. What is read (`xml_reading`):

- `<arguments>` may be left out, an argument may be an attribute of the opening tag (`<tool name="search" limit="3">`)
  or a tag of its own name (`<query>…</query>`). Comments may stand between tags. Letters of tags may be large or small.
- One line end directly after an opening tag is not part of the text. Text in `<![CDATA[ … ]]>`, or between
  `__START_CONTENT__` and `__END_CONTENT__` (or `PATCH`) with a line end after the first, may hold any tags.
- The text becomes a value by the tool's schema (`toolwire.embedded.arguments`); arrays and objects are tags in the
  value, or JSON. `type="json"` says that a value is JSON whatever the schema allows.
- Entities (`&lt;`, `&#10;`) count in attributes alone.

A tag that is malformed, longer than `limits.held` or names no tool is text; so is all that stands in a call of an
unknown tool. What goes wrong after the opening tag breaks the call: it is read to its end, and nothing in it is taken
for another call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.forms import form_of, shorthand_tools
from ..arguments import Shape, shape_of
from ..branches import (
    ALL_KINDS,
    Flat,
    any_of,
    branches,
    items_of,
    kind_of,
    kinds_of,
    listed_values,
    other_properties,
    properties_of,
    required_of,
)
from ..format import Format
from ..grammar import Grammar
from ..json_source import json_text, written
from .xml_inside import CDATA, CDATA_END, MARKERS
from .xml_reading import ARGUMENT, ARGUMENTS, ITEM, TOOL, read, spoilers
from .xml_tags import NAME, quoted

RESULT = "tool_result"
_INDENT = "    "
_DEEPEST = 20
"""Levels that are written as tags; what is deeper is JSON."""
_DECLARED = 8
"""Levels of a schema that are told."""
_HELD = 10
"""Levels of indentation that a grammar has tags for; what is deeper is JSON."""
_COUNTED = 1_000
"""Items that a grammar counts: llama.cpp takes 2,000."""
_KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")
_BOUNDS = (
    *("format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minItems", "maxItems", "uniqueItems"),
)


# What a model is told.

_RULES = """\
To use a tool, write a call in your answer, outside of any code example:

<tool name="TOOL_NAME">
    <arguments>
        <arg name="ARGUMENT_NAME">value</arg>
    </arguments>
</tool>

- Give every required argument, one <arg> each, with exactly the names of the definition. Leave out optional arguments \
that you do not need.
- Write text as it is. Never escape it: `a < b && c > d`, quotes and line breaks stand as they are. Space at the ends \
counts, but one line break directly after <arg …> does not.
- Text that holds tags of this syntax itself (</arg>, <arg name=…>, <tool name=…>) goes into <![CDATA[ … ]]>. Write \
]]> inside it as ]]]]><![CDATA[>.
- Numbers, true, false and null are written plainly: <arg name="count">3</arg>.
- An array has one <item> for each element, also if there is only one. Never write it as text with commas:
    <arg name="tags">
        <item>first</item>
        <item>second</item>
    </arg>
  An empty array is [].
- An object holds an <arg> for each member, to any depth:
    <arg name="options">
        <arg name="deep">true</arg>
    </arg>
  In an array of objects every <item> holds the <arg> tags of one object. An object whose members have no names in the \
definition is written as JSON: {"key": 1}.
- Where an argument may be text or something else, it is read as text. Add type="json" to write a value as JSON \
instead: <arg name="value" type="json">3</arg>.
- To make several calls, write one after the other. They are run in this order.
- After your calls, stop and wait. The results come back to you as <tool_result name="…" status="…">; never write a \
result yourself. In results `&lt;` stands for `<` before a tag of this syntax."""


def rules(tools: Sequence[ToolDefinition]) -> str:
    """How a call is written."""
    lines = [_RULES]
    for name in (each for each in shorthand_tools() if any(each == tool.name for tool in tools)):
        tool = next(tool for tool in tools if tool.name == name)
        if len(lines) == 1:
            lines.append("- These tools have a short form, in which the text stands between the tags as it is:")
        lines.append(_INDENT + _short_form(tool))
    marked = {_marker(tool.name, form_of(tool.name).body_of(tool.parameters)) for tool in tools}
    pairs = [f"{start} and {end}" for start, end in MARKERS.items() if start in marked]
    if pairs:
        lines.append(
            f"- A long text can stand between {', or '.join(pairs)}: anything may be in it. It begins on the line "
            "after the first and ends exactly where the second begins."
        )
    return "\n".join(lines)


def _short_form(tool: ToolDefinition) -> str:
    body = form_of(tool.name).body_of(tool.parameters)
    others = [key for key in shape_of(tool).properties if key != body and NAME.issuperset(key)]
    attributes = "".join(f" {key}={quoted('…')}" for key in others)
    return f"<{tool.name}{attributes}>{body}</{tool.name}>"


def declare(tool: ToolDefinition) -> str:
    """One tool as tags: its arguments with their types, what they are for, what they may be."""
    lines = [f"<{TOOL} name={quoted(tool.name)} description={quoted(tool.description)}>"]
    members = list(_declared(tool.parameters, tool.parameters, 2, frozenset()))
    if members:
        lines += [f"{_INDENT}<{ARGUMENTS}>", *members, f"{_INDENT}</{ARGUMENTS}>"]
    else:
        lines.append(f"{_INDENT}<!-- This tool takes no arguments. -->")
    return "\n".join([*lines, f"</{TOOL}>"])


def _declared(schema: Any, root: dict[str, Any], level: int, above: frozenset[int]) -> Iterator[str]:
    """The members that an object may have, and the items of an array."""
    for name, inner, needed in _members_of(schema, root):
        yield from _entry(f"{ARGUMENT} name={quoted(name)}", inner, root, level, above, str(needed).lower())
    for flat in branches(schema, root)[0]:
        if "array" in kinds_of(flat):
            first, rest = items_of(flat)
            for number, inner in enumerate(first, 1):
                yield from _entry(f'items number="{number}"', inner, root, level, above, "")
            if isinstance(rest, dict) and rest:
                yield from _entry("items", rest, root, level, above, "")


def _members_of(schema: Any, root: dict[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """The names, schemas and need of all members that an object of this schema may have."""
    objects = [flat for flat in branches(schema, root)[0] if "object" in kinds_of(flat)]
    for name in dict.fromkeys(name for flat in objects for name in properties_of(flat)):
        found = [properties_of(flat)[name] for flat in objects if name in properties_of(flat)]
        yield (
            name,
            any_of(found),
            all(name in required_of(flat) for flat in objects),
        )


def _entry(
    tag: str, schema: Any, root: dict[str, Any], level: int, above: frozenset[int], required: str
) -> Iterator[str]:
    """One member or item: an empty tag, or one with what is in it."""
    pad = _INDENT * level
    flats, _ = branches(schema, root)
    opening = f"{pad}<{tag}{_about(flats, required)}"
    # A schema that holds itself is told once: its properties are the same object again.
    held = {id(properties_of(flat)) for flat in flats if properties_of(flat)}
    again = not held.isdisjoint(above)
    inside = [] if again or level > _DECLARED else list(_declared(schema, root, level + 1, above | held))
    if inside:
        name = tag.split(" ")[0]
        yield from (f"{opening}>", *inside, f"{pad}</{name}>")
    else:
        yield opening + (' members="as above" />' if again else " />")


def _about(flats: list[dict[str, Any]], required: str) -> str:
    """Attributes that say what a value may be."""
    kinds = frozenset().union(*map(kinds_of, flats))
    if "number" in kinds:
        kinds -= {"integer"}
    told = {"type": "any" if kinds >= ALL_KINDS - {"integer"} else "|".join(kind for kind in _KINDS if kind in kinds)}
    first = flats[0] if flats else {}
    if isinstance(first.get("description"), str):
        told["description"] = first["description"]
    if required:
        told["required"] = required
    if "default" in first:
        told["default"] = written(first["default"])
    listed = [value for flat in flats for value in listed_values(flat) or ()]
    if listed:
        plain = all(isinstance(value, str) and value and "," not in value for value in listed)
        told["enum_values"] = ",".join(listed) if plain else json_text(listed)
    if len(flats) == 1:
        told |= {key: written(first[key]) for key in _BOUNDS if key in first}
    return "".join(f" {key}={quoted(value)}" for key, value in told.items())


# Writing.


def write_call(name: str, arguments: dict[str, Any], tool: ToolDefinition | None = None) -> str:
    """A call as a model should write it."""
    shape = shape_of(tool)
    body = form_of(name).body_of(tool.parameters if tool is not None else {})
    lines = [f"<{TOOL} name={quoted(name)}>"]
    if arguments:
        lines.append(f"{_INDENT}<{ARGUMENTS}>")
        for key, value in arguments.items():
            marker = _marker(name, key) if key == body else ""
            lines.append(_argument(key, value, shape.property(key), 2, marker))
        lines.append(f"{_INDENT}</{ARGUMENTS}>")
    return "\n".join([*lines, f"</{TOOL}>"])


def _argument(key: str, value: Any, shape: Shape, level: int, marker: str = "") -> str:
    return _element(ARGUMENT, f" name={quoted(key)}", value, shape, level, marker)


def _element(own: str, attributes: str, value: Any, shape: Shape, level: int, marker: str = "") -> str:
    """A value between its tags, in the first way that is read back as this value."""
    pad = _INDENT * level
    opening, closing = f"{pad}<{own}{attributes}", f"</{own}>"
    if isinstance(value, str) and shape.takes_any_text:
        if marker and MARKERS[marker] not in value:
            return f"{opening}>\n{marker}\n{value}{MARKERS[marker]}\n{pad}{closing}"
        return f"{opening}>{_text(value, own)}{closing}"
    if shape.takes_any_text:
        return f'{opening} type="json">{json_text(value)}{closing}'
    if value and isinstance(value, (dict, list)) and level < _DEEPEST:
        if isinstance(value, dict) and "object" in shape.kinds and value.keys() <= set(shape.properties):
            inside = [_argument(key, inner, shape.property(key), level + 1) for key, inner in value.items()]
            return "\n".join([f"{opening}>", *inside, pad + closing])
        if isinstance(value, list) and "array" in shape.kinds:
            inside = [_element(ITEM, "", inner, shape.item(at), level + 1) for at, inner in enumerate(value)]
            return "\n".join([f"{opening}>", *inside, pad + closing])
    if isinstance(value, str) and shape.kinds.isdisjoint(("object", "array")):
        if shape.json_of(value) == json_text(value):
            return f"{opening}>{_text(value, own)}{closing}"
    elif not isinstance(value, str) and shape.json_of(json_text(value)) == json_text(value):
        return f"{opening}>{json_text(value)}{closing}"
    return f'{opening} type="json">{json_text(value)}{closing}'


def _text(value: str, own: str) -> str:
    """Text as it is, where nothing in it could be taken for markup, else as CDATA."""
    folded = value.lower()
    start = value.lstrip(" \t\r\n")
    refused = (f"</{own}>", *spoilers(own, ""))
    if start.startswith((CDATA, *MARKERS)) or any(each in folded for each in refused):
        inside = value.replace(CDATA_END, f"]]{CDATA_END}{CDATA}>")
        return f"{CDATA}{inside}{CDATA_END}"
    return "\n" + value if value.startswith(("\n", "\r\n")) else value


def _marker(name: str, key: str) -> str:
    """The marker before a long text of this tool; empty if it has none."""
    if form_of(name).segment not in ("write_file", "edit_file"):
        return ""
    content, patch = MARKERS
    return patch if key == "patch" else content


def write_result(part: ToolResultPart, content: str) -> str:
    """A result between tags of its own: `<` before a tag of this syntax becomes `&lt;`, all else stays as it is."""
    status = "error" if part.is_error else "ok"
    return f"<{RESULT} name={quoted(part.name)} status={quoted(status)}>\n{_harmless(content)}\n</{RESULT}>"


def _harmless(content: str) -> str:
    tags = {TOOL, RESULT, *(name.lower() for name in shorthand_tools())}
    longest = max(map(len, tags)) + 2
    first, *rest = content.split("<")
    made = [first]
    for part in rest:
        start = part[:longest].removeprefix("/")
        size = next((at for at, char in enumerate(start) if char not in NAME), len(start))
        made += ["&lt;" if start[:size].lower() in tags else "<", part]
    return "".join(made)


# Holding a model to it.


def grammar(tools: Sequence[ToolDefinition]) -> str:
    """An answer that is one call, laid out as `write_call` does it: arguments in the schema's order, text without tags.

    Letters are large or small here: a text that holds `</ARG>` is let through and read as its end.
    """
    made = Grammar()
    return made.text(" | ".join(_Layout(made, tool).call() for tool in tools))


class _Layout:
    """The rules for calls of one tool."""

    def __init__(self, grammar: Grammar, tool: ToolDefinition) -> None:
        self._grammar = grammar
        self._literal = grammar.literal
        self._tool = tool
        self._root = tool.parameters
        self._elements: dict[tuple[str, str, int], str] = {}

    def call(self) -> str:
        """The name of a rule."""
        flats = [flat for flat in branches(self._root, self._root)[0] if "object" in kinds_of(flat)]
        members = self._members(flats, 2)
        first, last = f"{_INDENT}<{ARGUMENTS}>\n", f"{_INDENT}</{ARGUMENTS}>\n"
        inside = " ".join([self._literal(first), *members, self._literal(last)])
        if all(member.endswith("?") for member in members):
            inside = f"({inside})?" if members else ""
        opening, closing = f"<{TOOL} name={quoted(self._tool.name)}>\n", f"</{TOOL}>"
        return self._grammar.rule(self._tool.name, f"{self._literal(opening)} {inside} {self._literal(closing)}")

    def _members(self, flats: list[Flat], level: int) -> list[str]:
        """An expression for each member that an object has or may have, if it fits one of these."""
        body = form_of(self._tool.name).body_of(self._root) if level == 2 else ""
        made: list[str] = []
        for name in dict.fromkeys(name for flat in flats for name in properties_of(flat)):
            inner: list[Any] = []
            for flat in flats:  # what is read there depends on all of them: `Shape.property`
                named = properties_of(flat)
                inner += [named[name]] if name in named else other_properties(flat)
            marker = _marker(self._tool.name, name) if name == body else ""
            element = self._element(ARGUMENT, f" name={quoted(name)}", any_of(inner), level, marker)
            made.append(element if all(name in required_of(flat) for flat in flats) else f"{element}?")
        return made

    def _element(self, own: str, attributes: str, schema: Any, level: int, marker: str = "") -> str:
        """The name of a rule for a value between its tags, on lines of its own."""
        key = (own + attributes, json_text(schema), level)
        if key not in self._elements:
            ways = dict.fromkeys(self._ways(own, attributes, schema, level, marker))
            self._elements[key] = self._grammar.rule(own, " | ".join(ways))
        return self._elements[key]

    def _ways(self, own: str, attributes: str, schema: Any, level: int, marker: str) -> Iterator[str]:
        shape = Shape(schema, self._root)
        flats, whole = branches(schema, self._root)
        pad = _INDENT * level
        opening, closing = f"{pad}<{own}{attributes}", f"</{own}>\n"
        start, end = self._literal(f"{opening}>"), self._literal(closing)
        start_json = self._literal(f'{opening} type="json">')
        if not flats or not whole or level > _HELD:
            yield f"{start_json} {self._grammar.json(schema, self._root)} {end}"
            return
        if shape.takes_any_text:
            if marker:
                text = (
                    f"{self._literal(f'{opening}>{chr(10)}{marker}{chr(10)}')} {self._grammar.until(MARKERS[marker])}"
                )
                yield f"{text} {self._literal(chr(10) + pad + closing)}"
            else:
                yield f"{start} {self._grammar.until(f'</{own}>', (*spoilers(own, ''), CDATA, *MARKERS))} " + '"\\n"'
            others = [only for flat in flats if (only := _only(flat, kinds_of(flat) - {"string"})) is not None]
            if others:
                yield f"{start_json} {self._grammar.json({'anyOf': others}, self._root)} {end}"
            return
        for flat in flats:
            listed = listed_values(flat)
            if listed is not None:
                yield from (self._literal(_element(own, attributes, value, shape, level) + "\n") for value in listed)
                continue
            kinds = kinds_of(flat)
            scalar = _only(flat, kinds - {"object", "array"})
            if scalar is not None:
                yield f"{start} {self._grammar.json(scalar, self._root)} {end}"
        plain = [flat for flat in flats if listed_values(flat) is None]
        objects = [flat for flat in plain if "object" in kinds_of(flat)]
        arrays = [flat for flat in plain if "array" in kinds_of(flat)]
        for flat in objects:
            if not properties_of(flat) or flat.get("additionalProperties"):
                yield f"{start} {self._grammar.json(_only(flat, frozenset(('object',))), self._root)} {end}"
        inside = [(self._members(objects, level + 1), "{}")] if any(map(properties_of, objects)) else []
        if arrays:
            inside.append((self._items(arrays, level + 1), "[]"))
        for parts, empty in inside:
            if all(part.endswith("?") for part in parts):
                yield self._literal(f"{opening}>{empty}{closing}")
            if parts:
                yield f"{self._literal(f'{opening}>{chr(10)}')} {self._some(parts)} {self._literal(pad + closing)}"

    def _some(self, parts: list[str]) -> str:
        """These one after the other, those that end with a question mark only if they are wanted, but not nothing."""
        ways: list[str] = []
        after = ""
        for part in reversed(parts):
            alone = f"{part.removesuffix('?')} {after}".rstrip()
            ways = [alone, *ways] if part.endswith("?") else [alone]
            after = self._grammar.rule("rest", f"{part} {after}".rstrip())
        return f"({' | '.join(ways)})"

    def _items(self, flats: list[Flat], level: int) -> list[str]:
        """An expression for the items of an array that fits one of these, with a question mark if there may be none."""
        parts = [items_of(flat) for flat in flats]
        count = max(len(first) for first, _ in parts)
        least = min(_count(flat, "minItems", 0) for flat in flats)
        most = max(_count(flat, "maxItems", _COUNTED) for flat in flats)
        rest = [rest for _, rest in parts if rest is not False]
        tail = ""
        if rest and most > count:
            item = self._element(ITEM, "", any_of(rest), level)
            fewest, farthest = max(least - count, 0), "" if most == _COUNTED else most - count
            tail = f"{item}{{{fewest},{farthest}}}" if fewest else f"({item}{{1,{farthest}}})?"
        for index in range(count - 1, -1, -1):
            inner = [first[index] if index < len(first) else rest for first, rest in parts]
            item = self._element(ITEM, "", any_of([each for each in inner if each is not False]), level)
            tail = f"{item} {tail}".rstrip() if index < least else f"({item} {tail})?"
        return [tail] if tail else []


def _count(flat: Flat, key: str, otherwise: int) -> int:
    count = flat.get(key)
    return count if isinstance(count, int) and 0 <= count <= _COUNTED else otherwise


def _only(flat: Flat, kinds: frozenset[str]) -> Flat | None:
    """A flat schema for these types alone; None if there are none."""
    if listed_values(flat) is not None:
        values = [value for value in listed_values(flat) or () if kind_of(value) in kinds]
        return {"enum": values} if values else None
    return {**flat, "type": sorted(kinds)} if kinds else None


XML = Format("xml", "tags, with text as it stands", rules, declare, write_call, write_result, read, grammar)
