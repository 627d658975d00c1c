"""Example arguments: what a model is shown is what the schema accepts, and always the same."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from embedded.random_calls import TOOL_NAMES, random_tool
from embedded.text_tools import BOOK, TOOLS
from toolwire import ToolDefinition
from toolwire.embedded.examples import example_arguments


def tool_with(schema: Any, **defs: Any) -> ToolDefinition:
    """A tool whose one argument, `x`, has this schema."""
    return ToolDefinition("t", "", {"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": defs})


def example(schema: Any, **defs: Any) -> Any:
    tool = tool_with(schema, **defs)
    made = example_arguments(tool, optional=True)
    assert tool.problem(made) is None
    return made["x"]


INTEGER = {"type": "integer"}
CASES: list[tuple[Any, Any]] = [
    ({"type": "string"}, "A valid string for 'x'"),
    ({}, "A valid string for 'x'"),
    (True, "A valid string for 'x'"),
    (INTEGER, 123),
    ({"type": "number"}, 1.5),
    ({"type": "boolean"}, True),
    ({"type": "null"}, None),
    # The schema's own words first.
    ({"type": "string", "examples": ["Paris", "Rome"], "default": "Oslo"}, "Paris"),
    ({"type": "string", "default": "Oslo"}, "Oslo"),
    ({"type": "string", "default": None}, "A valid string for 'x'"),
    ({"type": "boolean", "default": False}, False),
    ({"type": "integer", "default": 0}, 0),
    ({"enum": ["low", "high"]}, "low"),
    ({"enum": ["low", "high"], "default": "high"}, "low"),
    ({"const": {"a": 1}}, {"a": 1}),
    ({"enum": [None, 5]}, None),
    ({"type": "integer", "examples": ["five", 5]}, 5),
    # Types and unions.
    ({"type": ["null", "integer"]}, 123),
    ({"type": ["integer", "string"]}, 123),
    ({"anyOf": [{"type": "null"}, INTEGER]}, 123),
    ({"anyOf": [INTEGER, {"type": "null"}], "default": None}, 123),
    ({"oneOf": [{"type": "boolean"}, INTEGER]}, True),
    ({"allOf": [{"type": "number"}, {"minimum": 10}]}, 10),
    # Bounds.
    ({"type": "integer", "minimum": 200}, 200),
    ({"type": "integer", "maximum": 10}, 10),
    ({"type": "integer", "minimum": 1, "maximum": 1}, 1),
    ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}, 9),
    ({"type": "integer", "exclusiveMaximum": 0}, -1),
    ({"type": "integer", "minimum": 0.5, "maximum": 1.5}, 1),
    ({"type": "integer", "multipleOf": 7, "minimum": 20}, 126),
    ({"type": "integer", "multipleOf": 7, "maximum": -20}, -21),
    ({"type": "number", "minimum": 0, "maximum": 1}, 1),
    ({"type": "integer", "minimum": 10**400}, 10**400),
    ({"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 5}}, [5, 4]),
    ({"type": "array", "items": {"type": "integer", "multipleOf": 10, "minimum": 1000}}, [1000, 1010]),
    ({"type": "array", "items": {"type": "number", "maximum": 1}}, [1, 0]),
    ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}, 4),
    ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.75),
    ({"type": "number", "exclusiveMaximum": 1.5}, 0.5),
    ({"type": "number", "multipleOf": 0.5}, 1.5),
    ({"type": "string", "maxLength": 1}, "x"),
    ({"type": "string", "maxLength": 0}, ""),
    ({"type": "string", "minLength": 25}, "A valid string for 'x'..."),
    # Formats.
    ({"type": "string", "format": "date"}, "2025-01-31"),
    ({"type": "string", "format": "email"}, "name@example.com"),
    ({"type": "string", "format": "uri"}, "https://example.com/"),
    ({"type": "string", "format": "unheard-of"}, "A valid string for 'x'"),
    # Arrays: two items that differ.
    ({"type": "array"}, ["A valid string for 'x_item_1'", "A valid string for 'x_item_2'"]),
    ({"type": "array", "items": INTEGER}, [123, 456]),
    ({"type": "array", "items": {"type": "number"}}, [1.5, 2.5]),
    ({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True}, [True, False]),
    ({"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}, ["a", "b"]),
    ({"type": "array", "items": INTEGER, "maxItems": 1}, [123]),
    ({"type": "array", "items": INTEGER, "maxItems": 0}, []),
    ({"type": "array", "items": INTEGER, "minItems": 3}, [123, 456, 123]),
    ({"type": "array", "prefixItems": [INTEGER, {"type": "boolean"}], "items": False}, [123, False]),
    ({"type": "array", "prefixItems": [INTEGER], "items": {"type": "null"}}, [123, None]),
    ({"type": "array", "items": {"type": "array", "items": INTEGER}}, [[123, 456], [456, 123]]),
    ({"type": "array", "items": {"type": "string", "maxLength": 8}}, ["x_item_1", "x_item_2"]),
    # Objects.
    ({"type": "object", "properties": {"a": INTEGER, "b": {"type": "null"}}, "required": ["a"]}, {"a": 123, "b": None}),
    ({"type": "object", "properties": {}}, {}),
    ({"type": "object"}, {"key_1": "A valid string for 'key_1'"}),
    ({"type": "object", "additionalProperties": INTEGER}, {"key_1": 123}),
    ({"type": "object", "additionalProperties": INTEGER, "minProperties": 2}, {"key_1": 123, "key_2": 456}),
    ({"type": "object", "additionalProperties": False}, {}),
    ({"type": "object", "properties": {"a": False, "b": INTEGER}}, {"b": 123}),
    ({"type": "object", "required": ["z"]}, {"z": "A valid string for 'z'"}),
]


@pytest.mark.parametrize(("schema", "made"), CASES)
def test_example_of_a_schema(schema: Any, made: Any) -> None:
    # As JSON: to Python, 1, 1.0 and true are equal.
    assert json.dumps(example(schema)) == json.dumps(made)


def test_references_and_recursion() -> None:
    node = {
        "type": "object",
        "properties": {
            "label": {"type": "string"},
            "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            "next": {"$ref": "#/$defs/node"},
            "last": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
        },
        "required": ["label", "last"],
    }
    assert example({"$ref": "#/$defs/node"}, node=node) == {
        "label": "A valid string for 'label'",
        "kids": [],
        "last": None,
    }
    assert example({"$ref": "#/$defs/tree"}, tree={"type": "array", "items": {"$ref": "#/$defs/tree"}}) == [[], []]


def test_a_schema_that_never_ends_still_gives_something() -> None:
    endless = {"type": "object", "properties": {"again": {"$ref": "#/$defs/e"}}, "required": ["again"]}
    tool = tool_with({"$ref": "#/$defs/e"}, e=endless)
    assert example_arguments(tool, optional=True) == {}


def test_definitions_that_double_each_other_stay_small() -> None:
    defs = {
        f"d{n}": {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/d{n + 1}"}, "b": {"$ref": f"#/$defs/d{n + 1}"}},
            "required": required,
        }
        for n in range(40)
        for required in (["a", "b"] if n % 2 else [],)
    }
    tool = tool_with({"$ref": "#/$defs/d0"}, **defs, d40=INTEGER)
    assert len(json.dumps(example_arguments(tool, optional=True))) < 20_000


def test_a_large_example_stays_right() -> None:
    defs: dict[str, Any] = {"d7": INTEGER}
    for n in range(7):
        defs[f"d{n}"] = {"type": "object", "properties": {key: {"$ref": f"#/$defs/d{n + 1}"} for key in "abc"}}
    made = example({"$ref": "#/$defs/d0"}, **defs)
    assert 1_000 < len(json.dumps(made)) < 20_000


def test_only_what_is_required() -> None:
    assert example_arguments(BOOK, optional=False) == {"cabin": "economy"}
    assert list(example_arguments(BOOK, optional=True)) == list(BOOK.parameters["properties"])
    nested = {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}, "required": ["b"]}
    assert example_arguments(tool_with(nested), optional=False) == {"x": {"b": 123}}


def test_the_tools_of_the_other_tests() -> None:
    for tool in TOOLS:
        for optional in (False, True):
            made = example_arguments(tool, optional=optional)
            assert tool.problem(made) is None
            assert made == example_arguments(tool, optional=optional)


def test_random_tools_accept_their_examples() -> None:
    rng = random.Random(5)
    for _ in range(150):
        tool = random_tool(rng, rng.choice(TOOL_NAMES))
        for optional in (False, True):
            made = example_arguments(tool, optional=optional)
            assert tool.problem(made) is None, (tool.parameters, made)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": "1", "multipleOf": 0},
        {"type": 5, "enum": {}, "properties": [], "items": 3, "required": {}, "examples": 7},
        {"type": "array", "minItems": -1, "maxItems": "x", "prefixItems": {}},
        {"type": "string", "minLength": True, "format": ["date"]},
        {"type": "integer", "minimum": True, "exclusiveMaximum": False},
        {"type": "number", "multipleOf": 5e-324},
        {"type": "number", "minimum": 10**400, "multipleOf": 0.1},
        {"type": "number", "exclusiveMinimum": 10**400, "exclusiveMaximum": 0.5},
    ],
)
def test_schemas_that_are_none_raise_nothing(schema: Any) -> None:
    assert "x" in example_arguments(tool_with(schema), optional=True)
