"""What Ollama reads of a schema: only members that it knows, and nothing that the schema says is lost."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwire.errors import ConfigError
from toolwire.providers.ollama_schema import ollama_tool

READ = {"type", "description", "enum", "anyOf", "items", "properties", "required"}


def prop(schema: Any, **root: Any) -> Any:
    """The schema of one property, rewritten."""
    parameters = {"type": "object", "properties": {"p": schema}, **root}
    return ollama_tool("f", "", parameters)["function"]["parameters"]["properties"]["p"]


PROPERTIES: dict[str, tuple[Any, Any]] = {
    "what it reads stays": (
        {"type": ["string", "null"], "description": "d", "enum": ["a", 1, None]},
        {"type": ["string", "null"], "description": "d", "enum": ["a", 1, None]},
    ),
    "nested": (
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}, "required": ["a"]},
    ),
    "bounds go into the words": (
        {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 9},
        {"type": "integer", "description": "How many.\nminimum: 1, maximum: 9"},
    ),
    "bounds within items too": (
        {"type": "array", "items": {"type": "string", "pattern": "^a"}},
        {"type": "array", "items": {"type": "string", "description": 'pattern: "^a"'}},
    ),
    "titles say nothing": ({"type": "string", "title": "City", "$comment": "x"}, {"type": "string"}),
    "const": ({"const": "x"}, {"enum": ["x"]}),
    "oneOf": ({"oneOf": [{"type": "string"}, {"const": 1}]}, {"anyOf": [{"type": "string"}, {"enum": [1]}]}),
    "oneOf beside anyOf": (
        {"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]},
        {"anyOf": [{"type": "string"}], "description": 'oneOf: [{"type":"string"}]'},
    ),
    "closed objects": (
        {"type": "object", "additionalProperties": False},
        {"type": "object"},
    ),
    "open objects": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "description": 'additionalProperties: {"type":"integer"}'},
    ),
    "true": (True, {}),
    "false": (False, {"description": "Nothing is allowed here."}),
    "a type that is no name": ({"type": 5}, {"description": "type: 5"}),
    "a description that is no text": ({"description": 5}, {"description": "description: 5"}),
    "items as a list": ({"items": [{"type": "string"}]}, {"description": 'items: [{"type":"string"}]'}),
    "required as it was once": (
        {"type": "string", "required": True},
        {"type": "string", "description": "required: true"},
    ),
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties(name: str) -> None:
    given_schema, expected = PROPERTIES[name]
    assert prop(given_schema) == expected


COLOUR = {"type": "string", "enum": ["red", "green"], "description": "A colour."}
DEFS = {"$defs": {"Colour": COLOUR, "a/b~c": {"type": "integer"}}}

REFERENCES: dict[str, tuple[Any, Any]] = {
    "in place": ({"$ref": "#/$defs/Colour"}, COLOUR),
    "with words beside it": (
        {"$ref": "#/$defs/Colour", "description": "Of the car."},
        {**COLOUR, "description": "A colour.\nOf the car."},
    ),
    "within allOf": (
        {"allOf": [{"$ref": "#/$defs/Colour"}], "default": "red"},
        {**COLOUR, "description": 'A colour.\ndefault: "red"'},
    ),
    "within anyOf": (
        {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}]},
        {"anyOf": [COLOUR, {"type": "null"}]},
    ),
    "within items": ({"type": "array", "items": {"$ref": "#/$defs/Colour"}}, {"type": "array", "items": COLOUR}),
    "within what is only said": (
        {"patternProperties": {"^a": {"$ref": "#/$defs/a~1b~0c"}}},
        {"description": 'patternProperties: {"^a":{"type":"integer"}}'},
    ),
    "that leads nowhere": ({"$ref": "#/$defs/Missing"}, {"description": "As Missing."}),
    "to another place": ({"$ref": "https://example.com/x.json"}, {"description": "As x.json."}),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_references(name: str) -> None:
    given_schema, expected = REFERENCES[name]
    assert prop(given_schema, **DEFS) == expected


def test_a_reference_to_itself_is_named() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert prop({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": node}}) == {
        "type": "object",
        "properties": {"next": {"description": "As Node."}},
    }


def test_references_that_double_at_every_step_stay_bounded() -> None:
    """Forty steps would be a million million places."""
    steps: dict[str, Any] = {
        f"D{n}": {"properties": {key: {"$ref": f"#/$defs/D{n + 1}"} for key in "ab"}} for n in range(40)
    }
    made = prop({"$ref": "#/$defs/D0"}, **{"$defs": {**steps, "D40": {"type": "string"}}})
    assert len(msgspec.json.encode(made)) < 1_000_000


def test_a_long_chain_of_references_ends_in_a_name() -> None:
    steps: dict[str, Any] = {f"D{n}": {"items": {"$ref": f"#/$defs/D{n + 1}"}} for n in range(2000)}
    assert "As D" in msgspec.json.encode(prop({"$ref": "#/$defs/D0"}, **{"$defs": steps})).decode()


def test_nesting_that_nothing_can_follow_is_a_typed_error() -> None:
    deep: dict[str, Any] = {}
    for _ in range(20_000):
        deep = {"items": deep}
    with pytest.raises(ConfigError, match="nested too deeply"):
        prop(deep)


def test_the_tool_itself() -> None:
    assert ollama_tool(
        "f", "Does f.", {"type": ["object", "null"], "minProperties": 1, "description": "Give one."}
    ) == {
        "type": "function",
        "function": {
            "name": "f",
            "description": "Does f.\nGive one.\nminProperties: 1",
            "parameters": {"type": "object", "properties": {}},
        },
    }
    either = {"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    made = ollama_tool("f", "", either)["function"]
    assert made["description"] == 'anyOf: [{"required":["a"]},{"required":["b"]}]'
    assert made["parameters"] == {"type": "object", "properties": {"a": {}, "b": {}}}


kinds = st.sampled_from(["string", "integer", "number", "boolean", "null"])
leaves = st.one_of(
    st.builds(lambda kind: {"type": kind}, kinds),
    st.builds(lambda values: {"enum": values}, st.lists(st.one_of(st.integers(), st.text()), min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, st.one_of(st.integers(), st.text())),
    st.just({"$ref": "#/$defs/Colour"}),
)
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(lambda items: {"anyOf": items}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda properties: {"type": "object", "properties": properties, "required": list(properties)},
            st.dictionaries(st.sampled_from(["a", "b", "$ref", "type"]), inner, max_size=2),
        ),
    ),
    max_leaves=8,
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["red", "", "x"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["a", "b", "$ref", "type"]), inner, max_size=2)
    ),
    max_leaves=5,
)


def members(schema: Any) -> set[str]:
    found = set(schema)
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        found |= members(inner)
    return found | members(schema["items"]) if "items" in schema else found


@given(schemas, values)
@settings(max_examples=300, deadline=None)
def test_simple_schemas_mean_the_same(schema: dict[str, Any], value: Any) -> None:
    made = prop(schema, **DEFS)
    assert members(made) <= READ
    before = jsonschema_rs.is_valid({**DEFS, "properties": {"p": schema}}, {"p": value})
    assert jsonschema_rs.is_valid({"properties": {"p": made}}, {"p": value}) is before
