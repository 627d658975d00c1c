"""Grammars, held against llama.cpp's own engine: what they let through, what they refuse, that all of it is read."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from embedded.gbnf_tools import HeldBy, Writer
from embedded.random_calls import TOOL_NAMES, random_tool
from embedded.text_feeding import FORMATS, read_text
from embedded.text_tools import BOOK, TOOLS
from toolwire import ToolDefinition
from toolwire.embedded.examples import example_arguments
from toolwire.embedded.grammar import MAX_RULES, Grammar
from toolwire.embedded.registry import text_format
from toolwire.errors import ConfigError
from toolwire.tools.registry import ToolRegistry

HELD_FORMATS = [name for name in FORMATS if text_format(name).grammar is not None]


def held(schema: Any, root: dict[str, Any] | None = None) -> HeldBy:
    grammar = Grammar()
    return HeldBy(grammar.text(grammar.json(schema, {} if root is None else root)))


NODE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"label": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["label"],
        }
    }
}
MEMBERS = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "integer"},
        "c": {"type": "integer"},
        "d": {"type": "integer"},
    },
    "required": ["c"],
}
SCHEMAS: list[tuple[str, Any, list[str], list[str]]] = [
    ("string", {"type": "string"}, ['""', '"a b"', '"\\n\\"\\\\"', '"é😀"', '"\\u00e9"', '"\\ud83d\\ude00"'], []),
    (
        "no_string",
        {"type": "string"},
        [],
        ["", "a", '"', '"a', '"\n"', '"\\x"', '"\\ud83d"', '"\\ude00"', '"\\u12"', "5"],
    ),
    ("length", {"type": "string", "minLength": 2, "maxLength": 3}, ['"ab"', '"abc"'], ['"a"', '"abcd"', '""']),
    ("integer", {"type": "integer"}, ["0", "-1", "12345678901234567890"], ["01", "+1", "1.5", "1e5", "-", "", '"1"']),
    ("positive", {"type": "integer", "minimum": 0}, ["0", "7"], ["-1"]),
    ("number", {"type": "number"}, ["0", "-1.5", "1e5", "1.5E-10"], [".5", "1.", "1e", "1e999", "NaN", "Infinity"]),
    ("boolean", {"type": "boolean"}, ["true", "false"], ["True", "1", "null"]),
    ("null", {"type": "null"}, ["null"], ["None", "", "0"]),
    ("types", {"type": ["string", "null"]}, ['"x"', "null"], ["5"]),
    (
        "enum",
        {"enum": ["a", 1, None, True, [1]]},
        ['"a"', "1", "null", "true", "[1]"],
        ['"b"', "2", "false", '"'],
    ),
    ("enum_of_a_type", {"type": "string", "enum": ["é\n", '"']}, ['"é\\n"', '"\\""'], ['"e"']),
    ("enum_with_what_the_type_excludes", {"type": "string", "enum": ["a", 1]}, ['"a"'], ["1"]),
    ("const", {"const": "x"}, ['"x"'], ['"y"', "x"]),
    ("any_of", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, ["5", "null"], ['"5"']),
    ("one_of", {"oneOf": [{"const": 1}, {"const": 2}]}, ["1", "2"], ["3"]),
    ("all_of", {"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]}, ["5"], ['"5"', "null"]),
    (
        "reference",
        {"$ref": "#/$defs/node"},
        ['{"label": "x"}', '{"label":"x","kids":[{"label":"y","kids":[]}]}'],
        ["{}"],
    ),
    ("recursion", {"$ref": "#/$defs/node"}, [], ['{"label": "x", "kids": [5]}', '{"kids": [], "label": "x"}']),
    (
        "array",
        {"type": "array", "items": {"type": "integer"}},
        ["[]", "[ ]", "[1]", "[1, 2]", "[1,2,3]"],
        ["[1,]", "[,1]", "[", '["a"]'],
    ),
    ("array_of_anything", {"type": "array"}, ['[1, "a", [], {}]'], ["{}"]),
    (
        "items",
        {"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 3},
        ["[1,1]", "[1, 1, 1]"],
        ["[]", "[1]", "[1,1,1,1]"],
    ),
    ("one_item", {"type": "array", "items": {"const": 1}, "minItems": 1, "maxItems": 1}, ["[1]"], ["[]", "[1,1]"]),
    ("no_items", {"type": "array", "maxItems": 0}, ["[]"], ["[1]"]),
    (
        "first_items",
        {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}},
        ["[]", "[1]", "[1, 2]", "[1,2,3,3]"],
        ["[2]", "[1,3]", "[3]"],
    ),
    (
        "first_items_only",
        {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": False, "minItems": 2},
        ["[1,2]"],
        ["[]", "[1]", "[1,2,3]"],
    ),
    (
        "first_items_and_bounds",
        {"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 3}, "minItems": 2, "maxItems": 3},
        ["[1,3]", "[1,3,3]"],
        ["[1]", "[1,3,3,3]"],
    ),
    (
        "fewer_than_the_first",
        {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "maxItems": 1},
        ["[]", "[1]"],
        ["[1,2]"],
    ),
    ("no_item_can_be", {"type": "array", "items": False}, ["[]"], ["[1]"]),
    (
        "members",
        MEMBERS,
        ['{"c":1}', '{"a":1,"c":1}', '{"b": 1, "c": 1, "d": 1}', '{\n  "a": 1,\n  "c": 1\n}'],
        ["{}", '{"a":1}', '{"c":1,"a":1}', '{"c":1,}', '{"c":1,"c":1}', '{"c":1,"x":1}'],
    ),
    (
        "optional_members",
        {**MEMBERS, "required": []},
        ["{}", '{"a":1}', '{"d":1}', '{"a":1,"d":1}', '{"b":1,"c":1}'],
        ['{"d":1,"a":1}', '{,"a":1}'],
    ),
    ("no_members", {"type": "object", "properties": {}}, ["{}", "{ }"], ['{"a": 1}']),
    ("open_object", {"type": "object"}, ["{}", '{"a": [{}], "b": 1}'], ["[]"]),
    (
        "map",
        {"type": "object", "additionalProperties": {"type": "integer"}},
        ["{}", '{"x": 1, "y": 2}'],
        ['{"x": "1"}'],
    ),
    (
        "members_and_map",
        {**MEMBERS, "additionalProperties": {"type": "null"}},
        ['{"c":1,"x":null}', '{"c":1}'],
        ['{"x":null}', '{"c":1,"x":1}'],
    ),
    ("closed", {**MEMBERS, "additionalProperties": False}, ['{"c":1}'], ['{"c":1,"x":1}']),
    (
        "member_that_cannot_be",
        {"type": "object", "properties": {"a": False, "b": True}},
        ["{}", '{"b":{"x":[1]}}'],
        ['{"a":1}'],
    ),
    ("required_and_unnamed", {"type": "object", "required": ["x"]}, ['{"x": 1}'], ["{}", '{"y": 1}']),
    (
        "names",
        {"type": "object", "properties": {'quo"te\n[]é': {"const": 1}}},
        ['{"quo\\"te\\n[]é": 1}'],
        ['{"quo": 1}'],
    ),
    ("anything", True, ["1", '"a"', "null", '{"a": [true, {"b": -1.5}]}', "[]"], ["", "nul", "{a: 1}", "[1 2]", "1 2"]),
]


@pytest.mark.parametrize(
    ("schema", "allowed", "refused"), [case[1:] for case in SCHEMAS], ids=[case[0] for case in SCHEMAS]
)
def test_json_of_a_schema(schema: Any, allowed: list[str], refused: list[str]) -> None:
    grammar = held(schema, NODE)
    assert {text: grammar.refuses_at(text) for text in allowed} == dict.fromkeys(allowed)
    assert [text for text in refused if grammar.allows(text)] == []


def test_json_of_arguments_as_they_are_written_anywhere() -> None:
    grammar = held(BOOK.parameters, BOOK.parameters)
    arguments = example_arguments(BOOK, optional=True)
    for written in (
        json.dumps(arguments),
        json.dumps(arguments, indent=2),
        json.dumps(arguments, separators=(",", ":")),
    ):
        assert grammar.refuses_at(written) is None


def test_an_argument_may_have_any_name() -> None:
    """Also that of a rule which every grammar has."""
    for name in ("anything", "space", "string", "root", "until", "boolean", "", "-", "é"):
        schema = {"type": "object", "properties": {name: {"type": "object", "properties": {"y": {}}}, "z": {}}}
        made = held(schema)
        for value in ("[1]", '{"a": {"b": "c"}}'):
            text = f'{{{json.dumps(name, ensure_ascii=False)}: {{"y": {value}}}, "z": {value}}}'
            assert made.refuses_at(text) is None


def test_each_schema_has_its_own_order() -> None:
    grammar = Grammar()
    names = [
        grammar.json({"type": "object", "properties": {key: {"const": 1} for key in order}, "required": ["a", "b"]}, {})
        for order in ("ab", "ba")
    ]
    assert HeldBy(grammar.text(" ".join(names))).allows('{"a": 1, "b": 1}{"b": 1, "a": 1}')


def test_two_tools_keep_their_references_apart() -> None:
    grammar = Grammar()
    schema = {"$ref": "#/$defs/x"}
    names = [grammar.json(schema, {"$defs": {"x": {"const": value}}}) for value in (1, 2, 1)]
    both = HeldBy(grammar.text(f"{names[0]} {names[1]}"))
    assert both.allows("12")
    assert not both.allows("11")
    assert names[0] == names[2]


@pytest.mark.parametrize(
    ("stop", "without", "allowed", "refused"),
    [
        ("</arg>", (), ["</arg>", "a < b</arg>", "<</arg>", "</arg</arg>", "</ARG>é\n</arg>"], ["", "a", "</arg>x"]),
        ("[[SEG_", (), ["[[SEG_", "[[[[SEG_", "[[SE[[SEG_", "]]^-\\[[SEG_"], ["[[SEG", "[[SEG_[[SEG_"]),
        ("z-*", (), ["bz-*", "-z-*"], ["b-*"]),
        ("aab", (), ["aab", "aaab", "aaaaab", "abaab"], ["aabb", "ab"]),
        ("]]>", ("<x>", "[["), ["]]>", "]]]>", "<x]]>", "[a[]]>"], ["<x>]]>", "[[]]>", "a<x>", "[[a]]>"]),
    ],
)
def test_text_up_to_a_mark(stop: str, without: tuple[str, ...], allowed: list[str], refused: list[str]) -> None:
    grammar = Grammar()
    name = grammar.until(stop, without)
    assert grammar.until(stop, without) == name
    made = HeldBy(grammar.text(name))
    assert [text for text in allowed if not made.allows(text)] == []
    assert [text for text in refused if made.allows(text)] == []


@pytest.mark.parametrize(
    "text", ["plain", 'quo"te\\', "\n\r\t\x00\x07\x7f", "é漢😀\u200b\ufeff\ud800", "[a-z]* ::= # |(x){1}"]
)
def test_exact_text(text: str) -> None:
    if "\ud800" not in text:
        made = HeldBy(Grammar().text(Grammar.literal(text)))
        assert made.allows(text)
        assert not made.allows(text + "x")
    assert Grammar.literal(text).encode()


def test_rules_are_shared_and_named() -> None:
    grammar = Grammar()
    assert grammar.rule("a b_c", '"x"') == "a-b-c"
    assert grammar.rule("other", '"x"') == "a-b-c"
    assert grammar.rule("a b_c", '"y"') == "a-b-c-2"
    assert grammar.rule("", '"z"') == "rule"
    assert grammar.rule("root", '"w"') == "root-2"


def test_the_same_tools_give_the_same_grammar() -> None:
    for name in HELD_FORMATS:
        make = text_format(name).grammar
        assert make is not None
        assert make(list(TOOLS)) == make([ToolDefinition(tool.name, "", tool.parameters) for tool in TOOLS])


def test_what_explodes_is_an_error_that_says_so() -> None:
    many = {"type": "object", "properties": {f"p{number}": {"const": number} for number in range(MAX_RULES)}}
    with pytest.raises(ConfigError, match=r"over 10,000 rules") as caught:
        held(many)
    assert caught.value.hint
    with pytest.raises(ConfigError, match=r"over 1,000,000 characters"):
        held({"enum": [f"{number:0100}" for number in range(MAX_RULES)]})


def test_what_is_too_deep_or_wide_to_follow_is_anything() -> None:
    deep: Any = {"type": "integer"}
    for _ in range(200):
        deep = {"type": "array", "items": deep}
    assert held(deep).allows("[" * 100 + '"x"' + "]" * 100)
    wide = {"anyOf": [{"type": "integer", "title": str(number)} for number in range(100)], "title": "x"}
    assert held(wide).allows('"x"')


@pytest.mark.parametrize("name", HELD_FORMATS)
def test_examples_match(name: str) -> None:
    """What a model is shown is what it is held to."""
    format_ = text_format(name)
    assert format_.grammar is not None
    grammar = HeldBy(format_.grammar(list(TOOLS)))
    for tool in TOOLS:
        for optional in (False, True):
            call = format_.write_call(tool.name, example_arguments(tool, optional=optional), tool)
            assert grammar.refuses_at(call) is None, call


@pytest.mark.parametrize("name", HELD_FORMATS)
def test_what_a_grammar_lets_through_is_one_call(name: str) -> None:
    """Texts by chance: llama.cpp takes each, and each is read as one call that the schema accepts."""
    format_ = text_format(name)
    assert format_.grammar is not None
    text = format_.grammar(list(TOOLS))
    grammar, writer, rng = HeldBy(text), Writer(text), random.Random(name)
    for _ in range(150):
        written = writer.write(rng)
        assert grammar.refuses_at(written) is None, written
        outcome = [part for part in read_text(format_, [written]).outcome if part[0] != "markup"]
        assert [part[0] for part in outcome] == ["call"], (written, outcome)


@pytest.mark.thorough
@pytest.mark.parametrize("name", HELD_FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_random_tools(name: str, seed: int) -> None:
    format_ = text_format(name)
    assert format_.grammar is not None
    rng = random.Random(f"{name} {seed}")
    for _ in range(8):
        tools = ToolRegistry([random_tool(rng, tool) for tool in rng.sample(TOOL_NAMES, 3)])
        text = format_.grammar(list(tools))
        grammar, writer = HeldBy(text), Writer(text)
        for tool in tools:
            for optional in (False, True):
                call = format_.write_call(tool.name, example_arguments(tool, optional=optional), tool)
                assert grammar.refuses_at(call) is None, (call, tool.parameters)
        for _ in range(4):
            written = writer.write(rng)
            assert grammar.refuses_at(written) is None, written
            outcome = [part for part in read_text(format_, [written], tools).outcome if part[0] != "markup"]
            assert len(outcome) == 1, (written, outcome)
            # That free names differ is the one thing that a grammar cannot say.
            assert outcome[0][0] == "call" or outcome[0][2].endswith("twice"), (written, outcome)
