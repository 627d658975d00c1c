"""JSON Schema in OpenAI's strict form, and the nulls that it brings taken out again."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from toolwire.providers.strict_schema import NESTING, PROPERTIES, strict_schema, without_added_nulls
from toolwire.tools.definition import ToolDefinition

Schema = dict[str, Any]
TEXT = {"type": "string"}


def tool(required: list[str] | None = None, /, **properties: Any) -> Schema:
    """The parameters of a tool; all required unless told."""
    return {"type": "object", "properties": properties, "required": list(properties) if required is None else required}


def closed(**properties: Any) -> Schema:
    return {**tool(**properties), "additionalProperties": False}


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "required": []}

STRICT: dict[str, tuple[Schema, Schema]] = {
    "no arguments": (tool(), closed()),
    "all required": (tool(a=TEXT), closed(a=TEXT)),
    "one that may be left out": (tool([], a=TEXT), closed(a={"type": ["string", "null"]})),
    "one that may be null already": (
        tool([], a={"type": ["string", "null"]}),
        closed(a={"type": ["string", "null"]}),
    ),
    "words of a choice": (
        tool([], a={"type": "string", "enum": ["x", "y"]}),
        closed(a={"type": ["string", "null"], "enum": ["x", "y", None]}),
    ),
    "a choice without a type": (
        tool(a={"enum": ["x", 1]}),
        closed(a={"enum": ["x", 1], "type": ["string", "integer"]}),
    ),
    "one fixed value": (
        tool([], a={"const": "x"}),
        closed(a={"anyOf": [{"const": "x", "type": "string"}, {"type": "null"}]}),
    ),
    "alternatives": (
        tool([], a={"anyOf": [TEXT, {"type": "integer"}]}),
        closed(a={"anyOf": [TEXT, {"type": "integer"}, {"type": "null"}]}),
    ),
    "alternatives with null": (
        tool([], a={"anyOf": [TEXT, {"type": "null"}]}),
        closed(a={"anyOf": [TEXT, {"type": "null"}]}),
    ),
    "one of": (tool(a={"oneOf": [TEXT, tool(b=TEXT)]}), closed(a={"anyOf": [TEXT, closed(b=TEXT)]})),
    "all of one": (tool(a={"allOf": [TEXT], "description": "d"}), closed(a={"type": "string", "description": "d"})),
    "objects in lists in objects": (
        tool(a={"type": "array", "items": tool([], b=TEXT), "minItems": 1}),
        closed(a={"type": "array", "items": closed(b={"type": ["string", "null"]}), "minItems": 1}),
    ),
    "a reference": (
        {**tool(a={"$ref": "#/$defs/T"}), "$defs": {"T": tool([], b=TEXT)}},
        {**closed(a={"$ref": "#/$defs/T"}), "$defs": {"T": closed(b={"type": ["string", "null"]})}},
    ),
    "a reference that may be left out": (
        {**tool([], a={"$ref": "#/definitions/T"}), "definitions": {"T": TEXT}},
        {**closed(a={"anyOf": [{"$ref": "#/definitions/T"}, {"type": "null"}]}), "definitions": {"T": TEXT}},
    ),
    "a reference with words": (
        {**tool(a={"$ref": "#/$defs/T", "description": "d"}), "$defs": {"T": TEXT}},
        {**closed(a={"description": "d", "anyOf": [{"$ref": "#/$defs/T"}]}), "$defs": {"T": TEXT}},
    ),
    "a schema that refers to itself": (
        {**tool(a={"$ref": "#/$defs/Node"}), "$defs": {"Node": NODE}},
        {
            **closed(a={"$ref": "#/$defs/Node"}),
            "$defs": {"Node": closed(next={"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]})},
        },
    ),
    "keywords that it does not know": (
        tool(a={"type": "string", "description": "A word.", "minLength": 3, "default": "abc"}),
        closed(a={"type": "string", "description": 'A word. (minLength: 3, default: "abc")'}),
    ),
    "keywords without a description": (
        tool(a={"type": "array", "items": TEXT, "uniqueItems": True}),
        closed(a={"type": "array", "items": TEXT, "description": "(uniqueItems: true)"}),
    ),
    "formats that it knows, and one that it does not": (
        tool(a={"type": "string", "format": "date"}, b={"type": "string", "format": "binary"}),
        closed(a={"type": "string", "format": "date"}, b={"type": "string", "description": '(format: "binary")'}),
    ),
    "bounds and patterns stay": (
        tool(a={"type": "integer", "minimum": 1, "maximum": 9}, b={"type": "string", "pattern": "^a"}),
        closed(a={"type": "integer", "minimum": 1, "maximum": 9}, b={"type": "string", "pattern": "^a"}),
    ),
    "a default that is null says nothing": (
        tool([], a={"type": "string", "default": None}),
        closed(a={"type": ["string", "null"]}),
    ),
    "nullable as OpenAPI has it": (
        tool(a={"type": "string", "nullable": True}),
        closed(a={"type": ["string", "null"]}),
    ),
    "$schema and the like": ({**tool(a=TEXT), "$schema": "https://x", "$id": "y"}, closed(a=TEXT)),
    "properties without a type": (
        tool(a={"properties": {"b": TEXT}}),
        closed(a={"type": "object", **closed(b={"type": ["string", "null"]})}),
    ),
}


@pytest.mark.parametrize("name", STRICT)
def test_the_strict_form(name: str) -> None:
    schema, expected = STRICT[name]
    before = copy.deepcopy(schema)
    assert strict_schema(schema) == expected
    assert schema == before


def nested(levels: int) -> Schema:
    schema = tool(a=TEXT)
    for _ in range(levels):
        schema = tool(a=schema)
    return schema


NOT_STRICT: dict[str, Schema] = {
    "any arguments": {"type": "object"},
    "any names": {**tool(a=TEXT), "additionalProperties": True},
    "a map": tool(a={"type": "object", "additionalProperties": TEXT}),
    "an object of anything": tool(a={"type": "object"}),
    "names by pattern": tool(a={**tool(b=TEXT), "patternProperties": {"^x": TEXT}}),
    "a value of any type": tool(a={}),
    "true": tool(a=True),
    "a list of anything": tool(a={"type": "array"}),
    "a tuple": tool(a={"type": "array", "prefixItems": [TEXT], "items": False}),
    "alternatives at the top": {**tool(a=TEXT), "anyOf": [{"required": ["a"]}]},
    "a reference at the top": {"type": "object", "$ref": "#/$defs/T", "$defs": {"T": tool(a=TEXT)}},
    "all of several": tool(a={"allOf": [tool(b=TEXT), tool(c=TEXT)]}),
    "not": tool(a={"type": "string", "not": {"const": "x"}}),
    "alternatives beside properties": tool(a={**tool(b=TEXT), "anyOf": [{"required": ["b"]}]}),
    "no alternatives": tool(a={"anyOf": []}),
    "a reference to elsewhere": tool(a={"$ref": "https://x/y"}),
    "a map among the definitions": {**tool(a={"$ref": "#/$defs/T"}), "$defs": {"T": {"type": "object"}}},
    "a name that is required and not there": {**tool(a=TEXT), "required": ["b"]},
    "too many properties": tool(**{f"p{n}": TEXT for n in range(PROPERTIES + 1)}),
    "too deep": nested(NESTING + 1),
    "a choice of objects without a type": tool(a={"enum": [{"b": 1}]}),
}


@pytest.mark.parametrize("name", NOT_STRICT)
def test_what_has_no_strict_form(name: str) -> None:
    assert strict_schema(NOT_STRICT[name]) is None


def test_as_deep_as_may_be() -> None:
    assert strict_schema(nested(NESTING - 1)) is not None


OPTIONAL = {
    **tool(
        ["a"],
        a=TEXT,
        b=TEXT,
        c={"type": ["string", "null"]},
        d={"anyOf": [TEXT, {"type": "null"}]},
        e=tool([], f=TEXT),
        g={"type": "array", "items": tool([], h=TEXT)},
        i={"$ref": "#/$defs/T"},
        j={"enum": ["x", None]},
        k={"const": "x"},
        m={},
        n={"anyOf": [tool([], o=TEXT), tool([], o={"type": "null"})]},
    ),
    "$defs": {"T": tool([], u={"$ref": "#/$defs/T"}, v=TEXT)},
}

NULLS: dict[str, tuple[Schema, Schema]] = {
    "left out": ({"a": "x", "b": None}, {"a": "x"}),
    "required": ({"a": None}, {"a": None}),
    "may be null": ({"a": "x", "c": None, "d": None, "j": None}, {"a": "x", "c": None, "d": None, "j": None}),
    "of any type": ({"a": "x", "m": None}, {"a": "x", "m": None}),
    "one fixed value": ({"a": "x", "k": None}, {"a": "x"}),
    "an object": ({"a": "x", "e": None, "i": None}, {"a": "x"}),
    "in an object": ({"a": "x", "e": {"f": None}}, {"a": "x", "e": {}}),
    "in a list": ({"a": "x", "g": [{"h": None}, {"h": "y"}]}, {"a": "x", "g": [{}, {"h": "y"}]}),
    "behind a reference": (
        {"a": "x", "i": {"u": {"u": None, "v": None}, "v": "y"}},
        {"a": "x", "i": {"u": {}, "v": "y"}},
    ),
    "one alternative takes it": ({"a": "x", "n": {"o": None}}, {"a": "x", "n": {"o": None}}),
    "a name that is not known": ({"a": "x", "z": None}, {"a": "x", "z": None}),
    "nothing to take out": ({"a": "x", "b": "y"}, {"a": "x", "b": "y"}),
}


@pytest.mark.parametrize("name", NULLS)
def test_added_nulls_are_taken_out_and_no_others(name: str) -> None:
    arguments, expected = NULLS[name]
    before = copy.deepcopy(arguments)
    assert without_added_nulls(OPTIONAL, arguments) == expected
    assert arguments == before


def test_the_tool_s_own_schema_takes_what_is_left() -> None:
    schema = tool(["a"], a=TEXT, b=TEXT, c=tool([], d=TEXT))
    own = ToolDefinition("f", parameters=schema)
    held_to = strict_schema(schema)
    assert held_to is not None
    sent = {"a": "x", "b": None, "c": {"d": None}}
    assert ToolDefinition("g", parameters=held_to).problem(sent) is None
    assert own.problem(sent) is not None
    assert own.problem(without_added_nulls(schema, sent)) is None
