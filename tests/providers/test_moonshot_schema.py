"""JSON Schema for Moonshot: what its servers refuse goes out in a form that they take, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from toolwire.errors import ConfigError
from toolwire.providers.moonshot_schema import moonshot_schema

ANYTHING = [{"type": kind} for kind in ("string", "number", "boolean", "object", "array", "null")]

PROPERTIES: dict[str, tuple[Any, Any]] = {
    "an ordinary one": ({"type": "string", "minLength": 1}, {"type": "string", "minLength": 1}),
    "a title says nothing": ({"type": "string", "title": "City"}, {"type": "string"}),
    "no type": ({}, {"anyOf": ANYTHING}),
    "anything at all": (True, {"anyOf": ANYTHING}),
    "only words": ({"description": "Any value."}, {"anyOf": ANYTHING, "description": "Any value."}),
    "several types": (
        {"type": ["string", "null"], "minLength": 1, "description": "A name."},
        {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "description": "A name."},
    ),
    "a type beside anyOf": (
        {"type": "string", "anyOf": [{"enum": ["a"]}, {"pattern": "b+"}]},
        {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "pattern": "b+"}]},
    ),
    "anyOf as it is taken": (
        {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    ),
    "oneOf": (
        {"oneOf": [{"type": "integer"}, {"const": "all"}]},
        {"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["all"]}]},
    ),
    "an object beside its alternatives": (
        {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]},
        {"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}]},
    ),
    "values without a type": ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
    "values, one of them null": (
        {"enum": ["a", None]},
        {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
    ),
    "values that are no text and no number": (
        {"const": True, "description": "Yes."},
        {"type": "boolean", "description": "Yes.\nenum: [true]"},
    ),
    "values that are objects": ({"enum": [{"a": 1}]}, {"anyOf": ANYTHING, "description": 'enum: [{"a":1}]'}),
    "an object that does not say so": (
        {"properties": {"a": {"items": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
    ),
    "words beside a reference": (
        {"$ref": "#/$defs/City", "description": "Where."},
        {"anyOf": [{"$ref": "#/$defs/City"}], "description": "Where."},
    ),
    "a reference in an allOf of one": (
        {"allOf": [{"$ref": "#/$defs/City"}], "default": "Paris"},
        {"anyOf": [{"$ref": "#/$defs/City"}], "default": "Paris"},
    ),
    "a reference by the older name": ({"$ref": "#/definitions/Old"}, {"$ref": "#/$defs/Old"}),
    "a reference to a property": ({"$ref": "#/$defs/Pair/properties/left"}, {"type": "integer"}),
    "a reference to nothing": ({"$ref": "#/$defs/Nobody"}, {"type": "object", "description": "As Nobody."}),
    "a reference to another document": (
        {"$ref": "https://example.com/a.json"},
        {"type": "object", "description": "As a.json."},
    ),
    "a reference to the whole": ({"type": "array", "items": {"$ref": "#"}}, {"type": "array", "items": {"$ref": "#"}}),
    "conditions": (
        {"type": "string", "not": {"enum": ["x"]}, "allOf": [{"minLength": 1}, {"maxLength": 2}]},
        {"type": "string", "description": 'not: {"enum":["x"]}, allOf: [{"minLength":1},{"maxLength":2}]'},
    ),
    "further members of a type": (
        {"type": "object", "additionalProperties": {"title": "X", "type": "string"}},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ),
    "no further members": (
        {"type": "object", "additionalProperties": False},
        {"type": "object", "additionalProperties": False},
    ),
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties(name: str) -> None:
    schema, expected = PROPERTIES[name]
    given: dict[str, Any] = {
        "type": "object",
        "properties": {"p": schema},
        "$defs": {
            "City": {"type": "string"},
            "Pair": {"type": "object", "properties": {"left": {"type": "integer"}}},
        },
        "definitions": {"Old": {"type": "number"}},
    }
    made = moonshot_schema(given)
    assert made["properties"]["p"] == expected
    assert made["$defs"] == {**given["$defs"], **given["definitions"]}
    assert "definitions" not in made
    assert moonshot_schema(made) == made


WHOLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing said": ({}, {"type": "object"}),
    "no type": ({"properties": {}}, {"properties": {}, "type": "object"}),
    "alternatives at the top": (
        {"type": "object", "description": "d", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "description": 'd\nanyOf: [{"required":["a"]},{"required":["b"]}]'},
    ),
    "a reference at the top": (
        {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"x": {"type": "integer"}}}}},
        {
            "type": "object",
            "properties": {"x": {"type": "integer"}},
            "$defs": {"A": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        },
    ),
    "a reference at the top to itself": ({"$ref": "#"}, {"type": "object"}),
    "an allOf of one at the top": (
        {"allOf": [{"properties": {"x": {"type": "integer"}}}]},
        {"type": "object", "properties": {"x": {"type": "integer"}}},
    ),
}


@pytest.mark.parametrize("name", WHOLES)
def test_the_top_is_an_object(name: str) -> None:
    given, expected = WHOLES[name]
    assert moonshot_schema(given) == expected


def test_a_property_that_leads_to_itself() -> None:
    given = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "#/properties/a"}}}
    assert moonshot_schema(given)["properties"]["a"] == {"type": "object", "description": "As a."}


@pytest.mark.parametrize(
    "odd", [{"type": []}, {"type": [{}]}, {"type": 5}, {"enum": "abc"}, {"anyOf": []}, {"anyOf": 5}]
)
def test_schemas_that_are_none(odd: dict[str, Any]) -> None:
    made = moonshot_schema({"properties": {"p": odd}})["properties"]["p"]
    assert "type" in made or made["anyOf"]


def test_depth_is_an_error_that_says_what_to_do() -> None:
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"type": "object", "properties": {"p": deep}}
    with pytest.raises(ConfigError) as error:
        moonshot_schema(deep)
    assert error.value.hint
