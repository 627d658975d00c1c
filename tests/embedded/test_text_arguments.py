"""The typing rule: what a text becomes under a schema, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolwire import ToolDefinition
from toolwire.embedded.arguments import ANYTHING, Shape, shape_of
from toolwire.embedded.branches import MOST, branches

STRING, INTEGER, NUMBER, BOOLEAN, NULL = ({"type": kind} for kind in ("string", "integer", "number", "boolean", "null"))
ARRAY: dict[str, Any] = {"type": "array"}
OBJECT: dict[str, Any] = {"type": "object"}


def either(*options: Any, **beside: Any) -> dict[str, Any]:
    return {"anyOf": list(options), **beside}


RULE = [
    # 1. A string stays what it is.
    (STRING, "00501", '"00501"'),
    (STRING, "true", '"true"'),
    (STRING, "null", '"null"'),
    (STRING, "", '""'),
    (STRING, "  a\n", '"  a\\n"'),
    (STRING, '{"a": 1}', '"{\\"a\\": 1}"'),
    (STRING, "é漢😀\u2028", '"é漢😀\u2028"'),
    (True, "5", '"5"'),
    ({}, "null", '"null"'),
    ({"description": "Anything."}, "5", '"5"'),
    ({"type": ["string", "null"]}, "null", '"null"'),
    ({"type": ["integer", "string"]}, "007", '"007"'),
    (either(INTEGER, STRING), "7", '"7"'),
    (either(STRING, NULL), "", '""'),
    ({"enum": ["true", "5"]}, "5", '"5"'),
    ({"const": "7"}, "7", '"7"'),
    # 2. What JSON writes, where the type is allowed.
    (INTEGER, "5", "5"),
    (INTEGER, " \n5\t", "5"),
    (INTEGER, "-0", "-0"),
    (INTEGER, "12345678901234567890123", "12345678901234567890123"),
    (INTEGER, "5.0", "5.0"),
    (NUMBER, "5", "5"),
    (NUMBER, "12345678901234567890.10", "12345678901234567890.10"),
    (NUMBER, "-1.5E+3", "-1.5E+3"),
    (BOOLEAN, "true", "true"),
    (BOOLEAN, "True", "true"),
    (BOOLEAN, "FALSE", "false"),
    (BOOLEAN, " false ", "false"),
    (NULL, "null", "null"),
    (NULL, "NULL", "null"),
    ({"type": ["integer", "null"]}, "null", "null"),
    ({"type": ["integer", "null"]}, "3", "3"),
    (either(INTEGER, BOOLEAN), "true", "true"),
    (ARRAY, "[1, 1.50]", "[1, 1.50]"),
    (OBJECT, ' {"a": [1]} ', '{"a": [1]}'),
    ({"enum": ["auto", 1, None, True]}, "1", "1"),
    ({"enum": ["auto", 1, None, True]}, "auto", '"auto"'),
    ({"enum": ["auto", 1, None, True]}, "null", "null"),
    ({"enum": ["auto", 1, None, True]}, "True", "true"),
    ({"enum": [1.5, "1.5"]}, "1.5", '"1.5"'),
    ({"enum": [1.5, "1.5"]}, " 1.5", '"1.5"'),
    ({"enum": ["one", "two"]}, "\n  two\n", '"two"'),
    ({"enum": ["one", " one "]}, " one ", '" one "'),
    ({"const": "one"}, "one\n", '"one"'),
    ({"type": "string"}, " one ", '" one "'),
    ({"anyOf": [{"enum": ["one"]}, {"type": "string", "pattern": "x"}]}, " one ", '" one "'),
    ({"enum": [2.0]}, "2", "2"),
    ({"type": "integer", "enum": [1, 2]}, "2", "2"),
    ({"type": "integer", "enum": [2.0]}, "2", "2"),
    ({"const": 7}, "7", "7"),
    ({"const": False}, "False", "false"),
    ({"oneOf": [INTEGER, NULL]}, "3", "3"),
    ({"allOf": [NUMBER, {"minimum": 1}]}, "3", "3"),
    ({"allOf": [NUMBER, INTEGER]}, "3", "3"),
    (either(INTEGER, BOOLEAN, type="boolean"), "true", "true"),
    (either(INTEGER, BOOLEAN, type="boolean"), "1", '"1"'),
    # 3. No text.
    (ARRAY, "", "[]"),
    (OBJECT, " \n ", "{}"),
    ({"type": ["array", "null"]}, "", "[]"),
    ({"type": ["array", "object"]}, "", '""'),
    (INTEGER, "", '""'),
    # 4. What is left is a string, for the schema to refuse.
    (INTEGER, "5 apples", '"5 apples"'),
    (INTEGER, "1 2", '"1 2"'),
    (INTEGER, "0x10", '"0x10"'),
    (INTEGER, "007", '"007"'),
    (INTEGER, "+5", '"+5"'),
    (INTEGER, "1_000", '"1_000"'),
    (INTEGER, "٣", '"٣"'),
    (INTEGER, "true", '"true"'),
    (INTEGER, "null", '"null"'),
    (INTEGER, "-", '"-"'),
    (INTEGER, "9" * 5000, f'"{"9" * 5000}"'),
    (NUMBER, "NaN", '"NaN"'),
    (NUMBER, "nan", '"nan"'),
    (NUMBER, "Infinity", '"Infinity"'),
    (NUMBER, "-Infinity", '"-Infinity"'),
    (NUMBER, "1.", '"1."'),
    (NUMBER, ".5", '".5"'),
    (NUMBER, "1,5", '"1,5"'),
    (BOOLEAN, "yes", '"yes"'),
    (BOOLEAN, "1", '"1"'),
    (BOOLEAN, "tRue", '"tRue"'),
    (NULL, "None", '"None"'),
    (ARRAY, "a, b", '"a, b"'),
    (ARRAY, "[1, 2", '"[1, 2"'),
    (ARRAY, "[1] [2]", '"[1] [2]"'),
    (ARRAY, '{"a": 1}', '"{\\"a\\": 1}"'),
    (OBJECT, '{"a": 1, "a": 2}', '"{\\"a\\": 1, \\"a\\": 2}"'),
    (OBJECT, "{'a': 1}", "\"{'a': 1}\""),
    (OBJECT, '{"a": NaN}', '"{\\"a\\": NaN}"'),
    (ARRAY, "[" * 100 + "]" * 100, f'"{"[" * 100}{"]" * 100}"'),
    ({"enum": ["one", "two"]}, "three", '"three"'),
    ({"enum": ["one", "two"]}, " three ", '" three "'),
    (False, "5", '"5"'),
]


@pytest.mark.parametrize(("schema", "text", "made"), RULE)
def test_the_rule(schema: Any, text: str, made: str) -> None:
    assert Shape(schema, {}).json_of(text) == made


REFERENCES = [
    ({"$ref": "#/$defs/count"}, {"count": INTEGER}, "5", "5"),
    ({"$ref": "#/$defs/count", "description": "How many."}, {"count": INTEGER}, "5", "5"),
    ({"$ref": "#/$defs/a"}, {"a": {"$ref": "#/$defs/b"}, "b": BOOLEAN}, "true", "true"),
    ({"$ref": "#/$defs/a%20b"}, {"a b": INTEGER}, "5", "5"),
    ({"$ref": "#/$defs/%zz"}, {"%zz": INTEGER}, "5", "5"),
    ({"$ref": "#/$defs/x~1y~0z"}, {"x/y~z": INTEGER}, "5", "5"),
    ({"$ref": "#/$defs/list/1"}, {"list": [STRING, INTEGER]}, "5", "5"),
    (either({"$ref": "#/$defs/count"}, NULL, default=None), {"count": INTEGER}, "null", "null"),
    ({"allOf": [{"$ref": "#/$defs/count"}], "default": 1}, {"count": INTEGER}, "5", "5"),
    ({"$ref": "#/$defs/n", "anyOf": [INTEGER, STRING]}, {"n": {"type": ["integer", "null"]}}, "5", "5"),
    # What leads nowhere, out of the schema or back to itself allows anything.
    ({"$ref": "#/$defs/missing"}, {}, "5", '"5"'),
    ({"$ref": "https://example.com/schema"}, {}, "5", '"5"'),
    ({"$ref": "#anchor"}, {}, "5", '"5"'),
    ({"$ref": 5}, {}, "5", '"5"'),
    ({"$ref": "#/$defs/self"}, {"self": {"$ref": "#/$defs/self", "title": "Self"}}, "5", '"5"'),
    ({"$ref": "#/$defs/a", "title": "A"}, {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "5", '"5"'),
]


@pytest.mark.parametrize(("schema", "defs", "text", "made"), REFERENCES)
def test_references(schema: Any, defs: dict[str, Any], text: str, made: str) -> None:
    assert Shape(schema, {"$defs": defs}).json_of(text) == made


INNER = {
    "type": "object",
    "properties": {
        "zip": STRING,
        "count": INTEGER,
        "": BOOLEAN,
        "tags": {"type": "array", "items": INTEGER},
        "pair": {"type": "array", "prefixItems": [STRING, INTEGER], "items": BOOLEAN},
        "old_pair": {"type": "array", "items": [STRING, INTEGER], "additionalItems": BOOLEAN},
        "map": {"type": "object", "additionalProperties": NUMBER},
        "closed": {"type": "object", "properties": {"a": INTEGER}, "additionalProperties": False},
        "patterns": {"type": "object", "patternProperties": {"^n": INTEGER}, "additionalProperties": False},
        "open_patterns": {"type": "object", "patternProperties": {"^n": INTEGER}},
        "both_items": {"allOf": [{"items": {"type": ["integer", "string"]}}, {"items": {"type": ["integer", "null"]}}]},
        "both_maps": {"allOf": [{"additionalProperties": False}, {"additionalProperties": INTEGER}]},
        "kid": {"$ref": "#"},
        "any_kid": either(
            {"properties": {"x": INTEGER}, "type": "object"}, {"properties": {"x": NULL}, "type": "object"}
        ),
        "both": {"allOf": [{"properties": {"a": INTEGER}}, {"properties": {"b": BOOLEAN}}], "type": "object"},
        "odd": {"properties": [1], "type": 5, "required": 7, "anyOf": 3, "items": "x", "enum": {}},
    },
}
INSIDE: list[tuple[list[str | int], str, str]] = [
    (["zip"], "00501", '"00501"'),
    (["count"], "00501", '"00501"'),
    (["count"], "501", "501"),
    ([""], "true", "true"),
    (["unknown"], "true", '"true"'),
    (["tags", 0], "5", "5"),
    (["tags", 1000], "5", "5"),
    (["pair", 0], "5", '"5"'),
    (["pair", 1], "5", "5"),
    (["pair", 2], "true", "true"),
    (["pair", 9], "true", "true"),
    (["old_pair", 0], "5", '"5"'),
    (["old_pair", 1], "5", "5"),
    (["old_pair", 2], "true", "true"),
    (["map", "x"], "1.50", "1.50"),
    (["closed", "a"], "1", "1"),
    (["closed", "b"], "1", '"1"'),
    (["patterns", "n1"], "1", "1"),
    (["open_patterns", "n1"], "1", "1"),
    (["both_items", 0], "1", "1"),
    (["both_items", 0], "null", '"null"'),
    (["both_maps", "x"], "1", '"1"'),
    (["kid", "kid", "kid", "count"], "5", "5"),
    (["any_kid", "x"], "5", "5"),
    (["any_kid", "x"], "null", "null"),
    (["both", "a"], "1", "1"),
    (["both", "b"], "true", "true"),
    (["count", "x"], "5", '"5"'),
    (["count", 0], "5", '"5"'),
    (["odd"], "5", '"5"'),
    (["odd", "x"], "5", '"5"'),
]


@pytest.mark.parametrize(("path", "text", "made"), INSIDE)
def test_what_is_inside(path: list[str | int], text: str, made: str) -> None:
    shape = shape_of(ToolDefinition("t", "", INNER))
    for key in path:
        shape = shape.item(key) if isinstance(key, int) else shape.property(key)
    assert shape.json_of(text) == made


def test_names_that_are_made_up_cost_nothing() -> None:
    shape = Shape(INNER, INNER)
    assert len({id(shape.property(f"name {number}")) for number in range(100)}) == 1
    assert shape.property("count") is shape.property("count")
    assert shape.item(5) is shape.item(6)


@pytest.mark.parametrize(
    ("schema", "takes"),
    [
        (STRING, True),
        (True, True),
        (either(INTEGER, STRING), True),
        ({"type": ["null", "string"]}, True),
        (INTEGER, False),
        ({"enum": ["auto", 1]}, False),
        ({"type": "string", "enum": ["a"]}, False),
        (either({"const": "a"}, INTEGER), False),
        (False, False),
    ],
)
def test_text_that_can_flow(schema: Any, takes: bool) -> None:
    assert Shape(schema, {}).takes_any_text is takes


def test_only_forms_that_are_arrays_have_items() -> None:
    shape = Shape(either(INTEGER, {"type": "array", "items": INTEGER}), {})
    assert shape.item(0).json_of("5") == "5"
    assert not shape.item(0).takes_any_text


def test_all_forms_of_a_union_are_seen() -> None:
    """Also those whose schemas live only while they are looked at."""
    options = [{"type": "object", "properties": {f"p{number}": INTEGER}} for number in range(40)]
    shape = Shape(either(*options, title="One of forty."), {})
    assert shape.properties == [f"p{number}" for number in range(40)]


def test_a_union_over_the_bound_allows_anything() -> None:
    options = [{"type": "integer", "title": str(number)} for number in range(MOST + 1)]
    assert Shape(either(*options[:MOST], title="x"), {}).kinds == {"integer"}
    assert len(Shape(either(*options, title="x"), {}).kinds) == 7
    assert Shape(either(*options, title="x"), {}).json_of("5") == "5"


def test_definitions_that_double_each_other_end() -> None:
    defs = {
        f"d{n}": either({"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}", "title": "x"}) for n in range(60)
    }
    found, whole = branches({"$ref": "#/$defs/d0"}, {"$defs": defs})
    assert len(found) <= MOST
    assert not whole


def test_a_long_way_to_a_type_ends() -> None:
    for length, kinds in ((30, 1), (3000, 7)):
        defs: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(length)}
        defs[f"d{length}"] = INTEGER
        assert len(Shape({"$ref": "#/$defs/d0"}, {"$defs": defs}).kinds) == kinds
    nested: dict[str, Any] = INTEGER
    for _ in range(200):
        nested = either(nested)
    assert len(Shape(nested, {}).kinds) == 7


def test_what_contradicts_itself_has_no_form() -> None:
    assert branches({"allOf": [STRING, INTEGER]}, {}) == ([], True)
    assert branches({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, {}) == ([{"enum": ["b"]}], True)
    assert Shape({"allOf": [STRING, INTEGER]}, {}).json_of("5") == '"5"'


def test_without_a_tool_everything_is_text() -> None:
    assert shape_of(None) is ANYTHING
    assert ANYTHING.property("x").item(3).json_of("5") == '"5"'


def test_what_is_typed_is_json() -> None:
    for _, text, made in RULE:
        bare = text.strip()
        assert json.loads(made) in (text, bare) or made in (bare, bare.lower(), "[]", "{}")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "array"}, "[]"),
        ({"type": "object"}, "{}"),
        ({"type": ["array", "object"]}, '""'),
        ({"anyOf": [{"type": "array"}, {"type": "object", "required": ["a"]}]}, "[]"),
        ({"anyOf": [{"type": "array", "minItems": 1}, {"type": "object"}]}, "{}"),
        ({"anyOf": [{"type": "array", "minItems": 1}, {"type": "object", "required": ["a"]}]}, '""'),
        ({"enum": [[], {"a": 1}]}, "[]"),
    ],
)
def test_no_text_is_the_one_thing_that_may_be_empty(schema: dict[str, Any], expected: str) -> None:
    assert Shape(schema, schema).json_of(" \n") == (expected if expected != '""' else '" \\n"')
