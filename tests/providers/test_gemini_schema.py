from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolwire.providers.gemini_schema import gemini_schema

ALLOWED = frozenset(
    (
        *("type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties"),
        *("required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf"),
        *("propertyOrdering", "default", "items", "minimum", "maximum"),
    )
)


def said(words: str, **rest: Any) -> dict[str, Any]:
    return {**rest, "description": words}


A = {"type": "string"}
STRING = {"type": "STRING"}

CASES: list[tuple[Any, dict[str, Any]]] = [
    ({}, {}),
    ({"type": "string", "title": "T", "description": "D"}, {"type": "STRING", "title": "T", "description": "D"}),
    (
        {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
        STRING | {"minLength": 1, "maxLength": 5, "pattern": "^a"},
    ),
    (
        {"type": "integer", "minimum": 0, "maximum": 9, "default": 3},
        {"type": "INTEGER", "minimum": 0, "maximum": 9, "default": 3},
    ),
    (
        {"type": "array", "items": A, "minItems": 1, "maxItems": 2},
        {"type": "ARRAY", "items": STRING, "minItems": 1, "maxItems": 2},
    ),
    ({"type": "array"}, {"type": "ARRAY", "items": {}}),
    (
        {"type": "object", "properties": {"a": A, "b": True}, "required": ["a"]},
        {"type": "OBJECT", "properties": {"a": STRING, "b": {}}, "required": ["a"]},
    ),
    ({"type": "object", "properties": {}}, {"type": "OBJECT"}),
    ({"properties": {"a": A}}, {"type": "OBJECT", "properties": {"a": STRING}}),
    ({"items": A}, {"type": "ARRAY", "items": STRING}),
    ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
    ({"type": ["null"]}, {"type": "NULL"}),
    (
        {"anyOf": [A, {"type": "null"}], "description": "D", "default": None},
        {"type": "STRING", "description": "D", "nullable": True, "default": None},
    ),
    ({"oneOf": [{"type": "null"}, {"$ref": "#/$defs/a"}], "$defs": {"a": A}}, {"type": "STRING", "nullable": True}),
    (
        {"type": ["string", "integer"], "minLength": 2, "minimum": 3},
        {"anyOf": [STRING | {"minLength": 2}, {"type": "INTEGER", "minimum": 3}]},
    ),
    (
        {"type": ["string", "integer", "null"], "description": "D"},
        {"anyOf": [{"type": "STRING", "description": "D", "nullable": True}, {"type": "INTEGER", "nullable": True}]},
    ),
    ({"type": ["string", "integer"], "enum": ["a"]}, {"anyOf": [STRING | {"enum": ["a"]}]}),
    (
        {"anyOf": [A | {"description": "own"}, {"type": "number"}], "description": "whole", "title": "T"},
        {"anyOf": [STRING | {"description": 'whole Title: "T". own'}, {"type": "NUMBER"}]},
    ),
    (
        {"oneOf": [A, {"type": "number"}]},
        {"anyOf": [STRING | {"description": "Exactly one of the alternatives fits."}, {"type": "NUMBER"}]},
    ),
    (
        {"type": "object", "properties": {"a": A}, "anyOf": [{"required": ["a"]}]},
        said('Must also fit one of: [{"required":["a"]}].', type="OBJECT", properties={"a": STRING}),
    ),
    ({"enum": ["a", "b", "a"]}, {"type": "STRING", "enum": ["a", "b"]}),
    ({"enum": ["a", None]}, {"type": "STRING", "enum": ["a"], "nullable": True}),
    ({"type": "string", "enum": ["a", ""]}, said('One of: "a", "".', type="STRING")),
    ({"type": "integer", "enum": [1, 2]}, said("One of: 1, 2.", type="INTEGER")),
    ({"enum": [1, 2.5]}, said("One of: 1, 2.5.", type="NUMBER")),
    ({"enum": [1, "a"]}, said('One of: 1, "a".')),
    ({"const": "a"}, {"type": "STRING", "enum": ["a"]}),
    ({"const": 5}, said("Always 5.", type="INTEGER")),
    ({"const": None}, {"type": "NULL"}),
    ({"const": {"a": 1}}, said('Always {"a":1}.', type="OBJECT")),
    ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
    ({"type": "string", "format": "email", "description": "D"}, said('D format: "email".', type="STRING")),
    ({"type": "integer", "format": "int64"}, {"type": "INTEGER", "format": "int64"}),
    (
        {"type": "number", "exclusiveMinimum": 0, "multipleOf": 2},
        said("Greater than 0. A multiple of 2.", type="NUMBER"),
    ),
    (
        {"type": "object", "properties": {"a": A}, "additionalProperties": False},
        said("No other names.", type="OBJECT", properties={"a": STRING}),
    ),
    ({"type": "object", "additionalProperties": A}, said('Other names hold: {"type":"string"}.', type="OBJECT")),
    ({"type": "object", "additionalProperties": True}, {"type": "OBJECT"}),
    (
        {"type": "object", "properties": {"a": A}, "required": ["a", "b", 5]},
        said('Also required: "b", 5.', type="OBJECT", properties={"a": STRING}, required=["a"]),
    ),
    (
        {"type": "array", "prefixItems": [A], "items": False},
        said('Items, in this order: [{"type":"string"}]. No more items.', type="ARRAY", items={}),
    ),
    ({"type": "string", "not": {"const": "a"}, "if": {}}, said('Must not fit: {"const":"a"}. if: {}.', type="STRING")),
    ({"type": "string", "minLength": "x"}, said('minLength: "x".', type="STRING")),
    (
        {"type": "string", "$comment": "c", "$schema": "s", "deprecated": True, "uniqueItems": False},
        said("Deprecated.", type="STRING"),
    ),
    (
        {"allOf": [{"$ref": "#/$defs/a"}], "description": "D", "$defs": {"a": A | {"description": "own"}}},
        said("D own", type="STRING"),
    ),
    (
        {
            "allOf": [
                {"type": "object", "properties": {"a": A}, "required": ["a"]},
                {"properties": {"b": A}, "required": ["b"]},
                True,
            ]
        },
        {"type": "OBJECT", "properties": {"a": STRING, "b": STRING}, "required": ["a", "b"]},
    ),
    ({"type": "string", "allOf": [{"type": "integer"}]}, said('Must also fit: {"type":"integer"}.', type="STRING")),
    ({"$ref": "#/$defs/a/b~1c", "$defs": {"a": {"b/c": A}}}, STRING),
    ({"$ref": "#/$defs/none"}, said('See "#/$defs/none".')),
    ({"$ref": "https://example.org/a"}, said('See "https://example.org/a".')),
    (
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "ARRAY", "items": said("Of the same form as the whole.", type="ARRAY", items={})},
    ),
    (
        {
            "$ref": "#/$defs/node",
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node", "description": "D"}}}},
        },
        {"type": "OBJECT", "properties": {"next": said("D Of the same form as node.", type="OBJECT")}},
    ),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, said("Of the same form as a.", type="OBJECT")),
    ({"type": "object", "properties": {"a": False}}, {"type": "OBJECT", "properties": {"a": said("No value fits.")}}),
]


@pytest.mark.parametrize(("schema", "expected"), CASES, ids=lambda value: json.dumps(value)[:60])
def test_case(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    before = json.dumps(schema)
    assert gemini_schema(schema) == expected
    assert json.dumps(schema) == before


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"$ref": "#"}]},
        {"allOf": [{"allOf": [{"$ref": "#"}]}], "anyOf": [{"$ref": "#"}]},
        {"properties": {"a": {"allOf": [{"$ref": "#"}]}}},
        {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    ],
)
def test_references_to_themselves_end(schema: dict[str, Any]) -> None:
    assert "same form" in json.dumps(gemini_schema(schema))


def test_references_that_fork_are_bounded() -> None:
    names = [f"d{number}" for number in range(40)]
    fork = {
        name: {"type": "object", "properties": {"a": {"$ref": f"#/$defs/{after}"}, "b": {"$ref": f"#/$defs/{after}"}}}
        for name, after in zip(names, [*names[1:], "d39"], strict=True)
    }
    made = json.dumps(gemini_schema({"$ref": "#/$defs/d0", "$defs": fork}))
    assert "same form" in made
    assert len(made) < 1_000_000


def test_what_is_nested_very_deep_goes_on_in_words() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    assert "Must fit: " in json.dumps(gemini_schema(schema))


def schemas_in(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    for one in [*inner, schema["items"]] if "items" in schema else inner:
        yield from schemas_in(one)


values = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=2) | st.lists(st.integers(0, 2), max_size=2)
keywords = st.sampled_from([*sorted(ALLOWED), "const", "oneOf", "allOf", "not", "if", "$ref", "additionalProperties"])
anything = st.recursive(
    st.sampled_from([{}, True, False, {"type": "string"}, {"$ref": "#"}, {"$ref": "#/properties/a"}, {"type": "null"}]),
    lambda inner: st.dictionaries(
        keywords | st.sampled_from(["type", "type"]),
        values
        | inner
        | st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
        | st.sampled_from(["string", "object", "array", "integer", ["string", "null"], ["integer", "array"]]),
        max_size=4,
    ),
    max_leaves=8,
)


@pytest.mark.thorough
@given(st.dictionaries(keywords, anything | values | st.lists(anything, max_size=2), max_size=4))
@settings(max_examples=600)
@example({"anyOf": [{"anyOf": ["string", "null"]}], "$ref": None})
@example({"anyOf": [{"anyOf": [{"anyOf": ["string", "null"]}, "null"]}], "description": "x", "nullable": True})
def test_whatever_comes_the_result_is_of_the_subset(schema: dict[str, Any]) -> None:
    made = gemini_schema(schema)
    for one in schemas_in(made):
        assert one.keys() <= ALLOWED
        assert one.get("type", "STRING").isupper()
        assert all(isinstance(item, str) and item for item in one.get("enum", []))
        assert set(one.get("required", ())) <= set(one.get("properties", ()))
        assert "anyOf" not in one or one.keys() == {"anyOf"}
        assert one.get("type") != "ARRAY" or "items" in one


def plain(made: Any) -> Any:
    """A schema of the subset as JSON Schema again."""
    back = {name: value for name, value in made.items() if name not in ("nullable", "description", "format")}
    if "type" in back:
        back["type"] = back["type"].lower()
    if "items" in back:
        back["items"] = plain(back["items"])
    for name in ("properties",):
        if name in back:
            back[name] = {key: plain(inner) for key, inner in back[name].items()}
    if "anyOf" in back:
        back["anyOf"] = [plain(inner) for inner in back["anyOf"]]
    return {"anyOf": [back, {"type": "null"}]} if made.get("nullable") else back


leaf = st.one_of(
    st.builds(lambda low: {"type": "integer", "minimum": low}, st.integers(-2, 2)),
    st.builds(lambda low: {"type": "string", "minLength": low}, st.integers(0, 2)),
    st.builds(lambda words: {"enum": words}, st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3)),
    st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "number"},
            {"type": ["string", "null"]},
            {"const": "a"},
            {"type": ["integer", "boolean"]},
            {"$ref": "#/$defs/d"},
            {"type": "null"},
            {"enum": ["a", None]},
        ]
    ),
)
simple = st.recursive(
    leaf,
    lambda inner: (
        st.builds(lambda item: {"type": "array", "items": item, "maxItems": 2}, inner)
        | st.builds(lambda kinds: {"anyOf": kinds}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda one: {"anyOf": [one, {"type": "null"}]}, inner)
        | st.builds(lambda one: {"allOf": [one], "description": "D"}, inner)
        | st.builds(
            lambda properties, needed: {
                "type": "object",
                "properties": properties,
                "required": [name for name in properties if needed],
            },
            st.dictionaries(st.sampled_from(["a", "b"]), inner, min_size=1, max_size=2),
            st.booleans(),
        )
    ),
    max_leaves=6,
)
instances = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "abc"]) | st.just(0.5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=5,
)


@pytest.mark.thorough
@given(simple, st.lists(instances, min_size=1, max_size=12))
@settings(max_examples=600)
def test_a_simple_schema_takes_the_same_values(schema: dict[str, Any], given_values: list[Any]) -> None:
    schema = {**schema, "$defs": {"d": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}}
    ours, theirs = jsonschema_rs.validator_for(plain(gemini_schema(schema))), jsonschema_rs.validator_for(schema)
    for value in given_values:
        assert ours.is_valid(value) == theirs.is_valid(value), (value, gemini_schema(schema))
