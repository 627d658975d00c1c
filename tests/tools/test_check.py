from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from toolwire.errors import ToolDefinitionError
from toolwire.tools.check import ArgumentCheck, join_problems, measure, quote, spell_path


def check(properties: dict[str, Any], **rest: Any) -> ArgumentCheck:
    return ArgumentCheck("t", {"type": "object", "properties": properties, **rest})


SHAPE: dict[str, Any] = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
            "required": ["kind", "side"],
        },
    ]
}
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "zip": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}

SENTENCES: list[tuple[dict[str, Any], Any, str | None]] = [
    # one argument "a": its schema, its value, what is said
    ({"type": "integer"}, 3, None),
    ({"type": "integer"}, 3.0, None),
    ({"type": "integer"}, 10**400, None),
    ({"type": "integer"}, "three", "a: 'three' is not of type 'integer'"),
    ({"type": "integer"}, True, "a: true is not of type 'integer'"),
    ({"type": "integer"}, None, "a: null is not of type 'integer'"),
    ({"type": "integer"}, 1.5, "a: 1.5 is not of type 'integer'"),
    ({"type": "string"}, {"x": 1}, "a: an object is not of type 'string'"),
    ({"type": "string"}, [1, 2], "a: an array of 2 is not of type 'string'"),
    ({"type": "string"}, 10**1000, "a: a huge number is not of type 'string'"),
    ({"type": ["integer", "null"]}, "x", "a: 'x' is not of type 'integer' or 'null'"),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", "a: 'x' is not of type 'integer' or 'null'"),
    ({"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]}, 1, "a: 1 is less than the minimum of 3"),
    ({"enum": ["c", "f", 1, None]}, "k", "a: 'k' is not one of 'c', 'f', 1, null"),
    ({"const": "x"}, "y", "a: 'y' is not 'x'"),
    ({"minimum": 1}, 0, "a: 0 is less than the minimum of 1"),
    ({"maximum": 1}, 2, "a: 2 is greater than the maximum of 1"),
    ({"exclusiveMinimum": 1}, 1, "a: 1 is not greater than 1"),
    ({"exclusiveMaximum": 1}, 1, "a: 1 is not less than 1"),
    ({"multipleOf": 5}, 7, "a: 7 is not a multiple of 5"),
    ({"minLength": 3}, "ab", "a: 'ab' is shorter than 3 characters"),
    ({"maxLength": 1}, "ab", "a: 'ab' is longer than 1 characters"),
    ({"minItems": 1}, [], "a: an array of 0 has fewer than 1 items"),
    ({"maxItems": 1}, [1, 2], "a: an array of 2 has more than 1 items"),
    ({"uniqueItems": True}, [1, 1], "a: an array of 2 has items that are equal, but each must differ"),
    ({"pattern": "^[0-9]{5}$"}, "x", "a: 'x' does not match the pattern ^[0-9]{5}$"),
    ({"not": {"type": "string"}}, "x", 'a: \'x\' is excluded by {"type": "string"}'),
    ({"items": {"type": "integer"}}, [1, "x"], "a[1]: 'x' is not of type 'integer'"),
    ({"propertyNames": {"maxLength": 2}}, {"abc": 1}, "a: a name in it is wrong: 'abc' is longer than 2 characters"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1, "a: 1 fits more than one of the allowed forms, but"),
    (CITY, {"name": "Paris"}, None),
    (CITY, {}, "a.name: required, but missing"),
    (CITY, {"name": "x", "Zip": 1}, "a.Zip: not a known argument; known are name, zip"),
    ({"anyOf": [CITY, {"type": "array"}]}, {}, "a.name: required, but missing"),
    ({"anyOf": [CITY, {"type": "array"}]}, 3, "a: 3 is not of type 'object' or 'array'"),
    (SHAPE, {"kind": "circle"}, "a.radius: required, but missing"),
    (SHAPE, {"kind": "square", "side": "x"}, "a.side: 'x' is not of type 'number'"),
    (SHAPE, {"kind": "cone"}, "a: fits none of the 2 allowed forms (a.kind: 'cone' is not 'circle' | or a.kind:"),
    ({"anyOf": [{"minLength": 5}, {"minLength": 5}]}, "x", "a: 'x' is shorter than 5 characters"),
    ({"prefixItems": [{}], "items": False}, [1, 2], "a[1]: not allowed here"),
    ({"format": "date-time"}, "yesterday", None),
    ({"contains": {"type": "integer"}}, ["x"], "a: None of the value are valid under the given schema"),
]


@pytest.mark.parametrize(("schema", "value", "expected"), SENTENCES)
def test_what_a_model_is_told(schema: dict[str, Any], value: Any, expected: str | None) -> None:
    found = check({"a": schema}).problem({"a": value})
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert found.startswith(expected)
        assert ";" not in found.removeprefix(expected)


@pytest.mark.parametrize(
    "draft", ["http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#"]
)
def test_formats_are_words_only_in_every_draft(draft: str) -> None:
    assert check({"a": {"format": "email"}}, **{"$schema": draft}).problem({"a": "x"}) is None


def test_missing_and_unknown_arguments_are_named() -> None:
    strict = check({"city": {"type": "string"}, "days": {}}, required=["city", "days"], additionalProperties=False)
    assert strict.problem({"town": "x"}) == (
        "city: required, but missing; days: required, but missing; town: not a known argument; known are city, days"
    )
    assert check({}, additionalProperties=False).problem({"x": 1}) == "x: not a known argument; there are none"


def test_known_names_of_a_referenced_object() -> None:
    nested = check({"a": {"$ref": "#/$defs/City"}}, **{"$defs": {"City": CITY}})
    assert nested.problem({"a": {"name": "x", "y": 1}}) == "a.y: not a known argument; known are name, zip"


def test_a_member_without_a_name_is_explained_too() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer"}}}
    check = ArgumentCheck("t", {"type": "object", "additionalProperties": inner})
    for arguments in ({"": {"a": "x"}}, {"b": {"": {}, "a": "x"}}, {"": 3}, {"": {"": 1, "a": []}}):
        assert "integer" in (found := check.problem(arguments) or "") or "object" in found


def test_at_most_five_problems() -> None:
    numbers = check({"a": {"items": {"type": "integer"}}})
    assert (numbers.problem({"a": ["x"] * 5}) or "").count(";") == 4
    found = numbers.problem({"a": ["x"] * 9}) or ""
    assert found.endswith("; a[4]: 'x' is not of type 'integer'; and 4 more")


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": "x" * 8_000_000},
        {"a": ["x" * 1000] * 100},
        {"x" * 100_000: 1},
        {f"{n}{'x' * 1000}": 1 for n in range(100)},
        {"a": {"\n\x1b[2J\u202e" * 10_000: 1}},
        {"a": "\n\x1b[2J\u202e" * 10_000},
    ],
)
def test_sentences_are_bounded_and_on_one_line(arguments: dict[str, Any]) -> None:
    inner = {"type": "integer", "additionalProperties": False}
    found = check({"a": inner}, additionalProperties=False).problem(arguments)
    assert found is not None
    assert len(found) < 2500
    assert found.isprintable()


@pytest.mark.parametrize(
    "arguments", [{"a": "\ud800"}, {"\ud800": 1}, {"a": object()}, {"a": {1: 2}}, {"a": {"b": {1, 2}}}]
)
def test_what_is_not_json_is_a_sentence_too(arguments: dict[str, Any]) -> None:
    found = check({"a": {"type": "integer"}}).problem(arguments)
    assert found is not None
    assert found.startswith("the arguments are not JSON")


@pytest.mark.timeout(30)
def test_patterns_cannot_backtrack() -> None:
    hostile = check({"a": {"type": "string", "pattern": "^(a+)+$"}, "b": {"pattern": "(x+x+)+y"}})
    assert hostile.problem({"a": "a" * 100_000 + "!", "b": "x" * 100_000}) is not None


@pytest.mark.parametrize("keyword", ["$ref", "$schema", "$dynamicRef"])
def test_nothing_is_fetched_from_the_network(keyword: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(ToolDefinitionError):
            ArgumentCheck("t", {"type": "object", keyword: url, "properties": {"a": {"$ref": url}}})
        with pytest.raises(BlockingIOError):
            server.accept()


def test_nothing_is_read_from_the_disk(tmp_path: Any) -> None:
    (tmp_path / "schema.json").write_text('{"type": "integer"}')
    for uri in ((tmp_path / "schema.json").as_uri(), str(tmp_path / "schema.json"), "schema.json"):
        with pytest.raises(ToolDefinitionError):
            check({"a": {"$ref": uri}}, **{"$id": (tmp_path / "base.json").as_uri()})


def tree(keyword: str) -> ArgumentCheck:
    """A schema whose plain explanation doubles with every level."""
    node = {
        keyword: [
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}, "k": {"enum": [kind]}}, "required": ["a"]}
            for kind in "xy"
        ]
    }
    return check({"r": {"$ref": "#/$defs/N"}}, **{"$defs": {"N": node}})


@pytest.mark.timeout(30)
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_schemas_that_refer_to_themselves_are_explained_in_bounded_time(keyword: str) -> None:
    schema = tree(keyword)
    value: Any = "bad"
    for _ in range(200):
        value = {"a": value, "k": "x"}
        found = schema.problem({"r": value})
        assert found is not None
        assert found.startswith("r")
        assert len(found) < 2500


def test_a_plain_tree_is_explained_in_full_however_deep() -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "below": {"items": {"$ref": "#/$defs/N"}}}}
    schema = check({"r": {"$ref": "#/$defs/N"}}, **{"$defs": {"N": node}})
    value: dict[str, Any] = {"name": 3}
    for _ in range(10):
        value = {"name": "x", "below": [value]}
    found = schema.problem({"r": value})
    assert found == "r" + ".below[0]" * 10 + ".name: 3 is not of type 'string'"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "$ref": "#"},
        {"type": "object", "properties": {"r": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {
            "type": "object",
            "properties": {"r": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"anyOf": [{"$ref": "#/$defs/A"}]}},
        },
    ],
)
def test_a_reference_to_nothing_but_itself_ends(schema: dict[str, Any]) -> None:
    found = ArgumentCheck("t", schema).problem({"r": {"r": 1}})
    assert found is None or "fit" in found


@pytest.mark.timeout(30)
def test_too_large_to_explain_still_names_the_argument() -> None:
    schema = check(
        {"numbers": {"type": "array", "items": {"type": "integer"}}, "who": {"$ref": "#/$defs/C"}, "fine": {}},
        required=["more"],
        additionalProperties=False,
        **{"$defs": {"C": CITY}},
    )
    found = schema.problem({"numbers": ["x"] * 500_000, "who": {}, "fine": 1, "odd": 2})
    assert found == (
        "more: required, but missing; "
        'numbers: does not fit its schema {"type": "array", "items": {"type": "integer"}}; '
        f"who: does not fit its schema {json.dumps(CITY)}; "
        "odd: not a known argument; known are numbers, who, fine"
    )


def test_too_large_and_no_single_argument_at_fault() -> None:
    schema = check({"a": {}, "b": {}}, anyOf=[{"required": ["x"]}, {"required": ["y"]}])
    assert schema.problem({"a": [0] * 50_000}) == "the arguments do not fit the schema of this tool"


def kinds(count: int, keyword: str) -> ArgumentCheck:
    """A syntax tree as Pydantic writes it: every kind of node has two nodes in it, each the whole union."""
    union = {keyword: [{"$ref": f"#/$defs/K{n}"} for n in range(count)]}
    names = {
        f"K{n}": {
            "type": "object",
            "properties": {"a": {**union, "title": "A"}, "b": {**union, "title": "B"}, f"p{n}": {"type": "integer"}},
            "required": [f"p{n}"],
            "additionalProperties": {"const": {"anyOf": [1]}},
        }
        for n in range(count)
    }
    return check({"r": union}, **{"$defs": names})


@pytest.mark.thorough
@pytest.mark.timeout(30)
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("count", [2, 3, 5, 10, 20, 40])
def test_syntax_trees_of_many_kinds_are_checked_in_bounded_time(count: int, keyword: str) -> None:
    schema = kinds(count, keyword)
    value: dict[str, Any] = {"p0": 1}
    wrong: dict[str, Any] = {"p0": "x"}
    every = {f"p{n}": 1 for n in range(count)}
    for depth in range(60):
        value = {"a": value, "b": {"p0": 1}, f"p{depth % count}": 1, "odd": {"anyOf": [1]}}
        wrong = {"a": wrong, "b": {"p0": 1}} | every
        assert schema.problem({"r": value}) is None
        assert schema.problem({"r": wrong}) is not None
        assert schema.problem({"r": {**value, "odd": 2}}) is not None


@pytest.mark.parametrize("keyword", ["anyOf", "allOf"])
@pytest.mark.parametrize(
    ("name", "written"), [("n", "n"), ("n/", "n~1"), ("n~", "n~0"), ("n ", "n%20"), ("n/", "n%7E1")]
)
def test_definitions_that_double_each_other_are_refused(keyword: str, name: str, written: str) -> None:
    names = {f"{name}{i}": {keyword: [{"$ref": f"#/$defs/{written}{i + 1}"}] * 2} for i in range(40)}
    with pytest.raises(ToolDefinitionError, match="over 50,000 parts"):
        check({"a": {"$ref": f"#/$defs/{written}0"}}, **{"$defs": {**names, f"{name}40": {"type": "string"}}})


@pytest.mark.parametrize("mark", ["$anchor", "$dynamicAnchor"])
def test_definitions_that_double_each_other_by_anchors_are_refused(mark: str) -> None:
    chain: dict[str, Any] = {f"d{at}": {mark: f"a{at}", "anyOf": [{"$ref": f"#a{at - 1}"}] * 2} for at in range(1, 40)}
    with pytest.raises(ToolDefinitionError, match="50,000 parts"):
        check({"x": {"$ref": "#a39"}}, **{"$defs": {"d0": {mark: "a0", "type": "string"}, **chain}})
    short = check({"x": {"$ref": "#a1"}}, **{"$defs": {"d0": {mark: "a0", "type": "string"}, "d1": chain["d1"]}})
    assert short.problem({"x": 1}) == "x: 1 is not of type 'string'"


@pytest.mark.parametrize("end", ["type", "items"])
def test_a_doubling_that_leads_back_is_refused(end: str) -> None:
    names: dict[str, Any] = {f"n{i}": {"anyOf": [{"$ref": f"#/$defs/n{i + 1}"}] * (2 + i % 2)} for i in range(30)}
    names["n30"] = {
        "properties": {"definitions": {"$ref": "#/$defs/n0"}},
        end: {"type": "object"} if end == "items" else end,
    }
    with pytest.raises(ToolDefinitionError):
        check({"definitions": {"$ref": "#/$defs/n0"}}, **{"$defs": names})


def test_deep_arguments_never_reach_the_stack_of_the_validator() -> None:
    schema = tree("anyOf")
    value: Any = 1
    for _ in range(200_000):
        value = {"a": value}
    assert schema.problem({"r": value}) == "the arguments are nested over 256 levels deep"


def test_measure() -> None:
    assert measure({}) == (1, 1)
    assert measure({"a": [1, {"b": 2}], "c": {}}) == (6, 3)


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        ([], "arguments"),
        (["a"], "a"),
        (["files", 0, "name"], "files[0].name"),
        (["x-y", "z"], "x-y.z"),
        (["a b"], "'a b'"),
        (["a", "b.c"], "a['b.c']"),
        (["a", "\n"], "a['\\n']"),
    ],
)
def test_paths(path: list[str | int], spelled: str) -> None:
    assert spell_path(path) == spelled


@pytest.mark.parametrize("value", ["x" * 81, "'" * 200, "\n" * 81, "\U0001f600" * 100, "\ud800" * 100])
def test_quotes_are_cut(value: str) -> None:
    assert len(quote(value)) <= 80
    assert quote(value).endswith("...'")


def test_a_short_text_is_quoted_whole() -> None:
    assert quote("x" * 78) == "'" + "x" * 78 + "'"
    assert quote("it's") == '"it\'s"'


def test_join_problems() -> None:
    assert join_problems(["a", "b"]) == "a; b"
    assert join_problems(["a", "b", "c", "d", "e"], 7) == "a; b; c; d; e; and 2 more"
