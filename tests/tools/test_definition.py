from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from toolwire.errors import ConfigError, ToolDefinitionError
from toolwire.tools.definition import Risk, ToolDefinition, is_tool_name, load_tools, tool_from_json

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}},
    "required": ["city"],
}


@pytest.mark.parametrize("name", ["a", "get_weather", "get-weather", "A9_-", "x" * 128, "0", "files.read"])
def test_names_that_are_taken(name: str) -> None:
    assert is_tool_name(name)
    assert ToolDefinition(name).name == name


@pytest.mark.parametrize(
    "name",
    ["", "x" * 129, "get weather", "get:weather", "weather\n", "é", "a/b", "а", "a\x00", "ａ", 3, None, b"a"],
)
def test_names_that_are_refused(name: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="is no tool name") as caught:
        ToolDefinition(name)
    assert "128" in caught.value.hint


NO_ARGUMENTS = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, NO_ARGUMENTS),
        ({}, NO_ARGUMENTS),
        ({"type": "object"}, {"type": "object"}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {}}}, {"type": "object", "$ref": "#/$defs/A", "$defs": {"A": {}}}),
        ({"type": ["object", "null"]}, {"type": ["object", "null"]}),
        ({"type": "object", "properties": {"a": True}}, {"type": "object", "properties": {"a": True}}),
    ],
)
def test_what_counts_as_an_object(given: Any, kept: dict[str, Any]) -> None:
    assert ToolDefinition("t", "", given).parameters == kept


UNTOUCHED: list[dict[str, Any]] = [
    WEATHER,
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "n": {"type": ["integer", "null"], "default": None},
            "who": {"$ref": "#/$defs/Who"},
            "either": {"anyOf": [{"type": "string"}, {"type": "array", "prefixItems": [{"type": "integer"}]}]},
        },
        "$defs": {"Who": {"type": "object", "title": "Who", "properties": {"title": {"type": "string"}}}},
        "additionalProperties": False,
    },
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "definitions": {"pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}},
        "properties": {"pair": {"$ref": "#/definitions/pair"}},
    },
]


@pytest.mark.parametrize("schema", UNTOUCHED)
def test_schemas_pass_through_untouched(schema: dict[str, Any]) -> None:
    tool = ToolDefinition("t", "words", schema)
    assert json.dumps(tool.parameters) == json.dumps(schema)
    assert tool.as_json() == {"name": "t", "description": "words", "parameters": schema}


def test_both_drafts_are_understood() -> None:
    new, old = (ToolDefinition("t", "", schema) for schema in UNTOUCHED[1:])
    assert new.problem({"n": None, "either": [1, "x"]}) is None
    assert new.problem({"either": ["x"]}) == "either[0]: 'x' is not of type 'integer'"
    assert old.problem({"pair": [1, "x"]}) is None
    assert old.problem({"pair": ["x", "x"]}) == "pair[0]: 'x' is not of type 'integer'"


CIRCLE: dict[str, Any] = {"type": "object"}
CIRCLE["properties"] = {"self": CIRCLE}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("string", "are a str"),
        ([1], "are a list"),
        (True, "are a bool"),
        ({"type": "string"}, 'of type "string", not object'),
        ({"type": ["string", "null"]}, "not object"),
        ({"type": None}, "not object"),
        ({"properties": []}, "not an object"),
        ({"properties": {"a": "string"}}, "schema of 'a' is a str"),
        ({"properties": {"a": None}}, "schema of 'a' is a NoneType"),
        ({"type": "object", "required": "city"}, "not a list of names"),
        ({"type": "object", "required": [1]}, "not a list of names"),
        ({"type": "object", "x": {1, 2}}, "not plain JSON"),
        ({"type": "object", "maximum": float("nan")}, "not plain JSON"),
        (CIRCLE, "not plain JSON"),
        (nested(200), "nested over 256"),
        (nested(100_000), "not plain JSON"),
    ],
)
def test_schemas_refused_at_once(schema: Any, reason: str) -> None:
    with pytest.raises(ToolDefinitionError, match="tool 'wrong'") as caught:
        ToolDefinition("wrong", "", schema)
    assert reason in caught.value.message
    assert caught.value.tool == "wrong"


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "object", "properties": {"a": {"type": "strin"}}}, "at properties.a.type"),
        ({"type": "object", "properties": {"a": {"minimum": "3"}}}, "at properties.a.minimum"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/Missing"}}}, "'/$defs/Missing' does not exist"),
        ({"type": "object", "properties": {"a": {"pattern": "(a"}}}, "at properties.a.pattern"),
        ({"type": "object", "properties": {"a": {"pattern": "(?=a)a"}}}, "pattern is not supported"),
        ({"type": "object", "properties": {"a": {"pattern": r"(a)\1"}}}, "pattern is not supported"),
        ({"type": "object", "properties": {"a": {"pattern": "(a{1,1000}){1,1000}"}}}, "pattern is not supported"),
        ({"type": "object", "properties": {"\ud800": {}}}, "surrogates"),
        ({"$schema": "urn:mine", "type": "object"}, "urn:mine"),
    ],
)
def test_schemas_refused_at_first_use(schema: dict[str, Any], reason: str) -> None:
    tool = ToolDefinition("wrong", "", schema)
    for _ in range(2):
        with pytest.raises(ToolDefinitionError, match="tool 'wrong'") as caught:
            tool.problem({})
        assert reason in caught.value.message


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_timeouts_that_are_refused(timeout: float) -> None:
    with pytest.raises(ToolDefinitionError, match="timeout"):
        ToolDefinition("t", timeout=timeout)


def test_risk_is_a_known_word_or_unknown() -> None:
    assert ToolDefinition("t").risk is None
    given: Any = "write"
    assert ToolDefinition("t", risk=given).risk is Risk.WRITE
    given = "harmless"
    with pytest.raises(ToolDefinitionError, match="harmless") as caught:
        ToolDefinition("t", risk=given)
    assert "read, write, execute, network, dangerous" in caught.value.hint


def test_description_must_be_text() -> None:
    words: Any = ["a"]
    with pytest.raises(ToolDefinitionError, match="not text"):
        ToolDefinition("t", words)


def test_read_only_and_apart_from_what_was_given() -> None:
    schema = json.loads(json.dumps(WEATHER))
    tool = ToolDefinition("t", "", schema)
    before = tool.digest()
    schema["properties"]["city"] = {"type": "integer"}
    assert tool.digest() == before
    assert tool.problem({"city": "Paris"}) is None
    with pytest.raises(FrozenInstanceError):
        tool.risk = Risk.READ  # type: ignore[misc]
    assert len({tool, ToolDefinition("t", "", WEATHER)}) == 2


def test_digest_depends_on_everything_that_is_approved_and_on_nothing_else() -> None:
    tool = ToolDefinition("t", "words", WEATHER, Risk.READ)
    assert len(tool.digest()) == 64
    same = [
        ToolDefinition("t", "words", dict(reversed(WEATHER.items())), Risk.READ),
        replace(tool, call=print),
    ]
    assert {each.digest() for each in same} == {tool.digest()}
    others = [
        replace(tool, name="u"),
        replace(tool, description="word"),
        replace(tool, parameters={**WEATHER, "required": []}),
        replace(tool, risk=Risk.WRITE),
        replace(tool, timeout=3.0),
        replace(tool, paths=("city",)),
        replace(tool, command="city"),
        replace(tool, exclusive=True),
        replace(tool, idempotent=True),
        replace(tool, retries=1),
        replace(tool, cache=1.0),
        replace(tool, risk=None),
        replace(tool, name="twords", description=""),
        replace(tool, description="\ud800"),
    ]
    assert len({each.digest() for each in [tool, *others]}) == len(others) + 1


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "get_weather", "description": "Weather.", "parameters": WEATHER},
        {"type": "function", "function": {"name": "get_weather", "description": "Weather.", "parameters": WEATHER}},
        {"type": "function", "name": "get_weather", "description": "Weather.", "parameters": WEATHER, "strict": True},
        {"name": "get_weather", "description": "Weather.", "input_schema": WEATHER},
        {"name": "get_weather", "description": "Weather.", "inputSchema": WEATHER, "annotations": {}},
    ],
)
def test_every_spelling_of_a_declared_tool(entry: dict[str, Any]) -> None:
    tool = tool_from_json(entry)
    assert tool.as_json() == {"name": "get_weather", "description": "Weather.", "parameters": WEATHER}
    assert (tool.risk, tool.call, tool.timeout) == (None, None, None)


@pytest.mark.parametrize("entry", [{"name": "now"}, {"name": "now", "description": None, "parameters": None}])
def test_words_and_parameters_may_be_left_out(entry: dict[str, Any]) -> None:
    tool = tool_from_json(entry)
    assert (tool.description, tool.parameters) == ("", NO_ARGUMENTS)


def test_load_tools_keeps_the_order() -> None:
    data = json.dumps([{"name": name} for name in ("b", "a", "c")])
    for form in (data, data.encode(), b"\xef\xbb\xbf" + data.encode(), "\ufeff" + data):
        assert [tool.name for tool in load_tools(form)] == ["b", "a", "c"]
    assert load_tools("[]") == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "not JSON"),
        ("[", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'["\xff"]', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("{}", "is a JSON object, not a list"),
        ("null", "is a null, not a list"),
        ("3", "is a number, not a list"),
        ("[3]", "entry 1 of the list of tools: a tool is a JSON object, not a number"),
        ('[{"name": "a"}, {"description": "x"}]', "entry 2 of the list of tools: a tool has no name"),
        ('[{"type": "function", "function": {}}]', "entry 1 of the list of tools: a tool has no name"),
        ('[{"name": "a b"}]', "entry 1 of the list of tools: 'a b' is no tool name"),
        ('[{"name": 3}]', "entry 1 of the list of tools: 3 is no tool name"),
        ('[{"name": "a", "parameters": []}]', "entry 1 of the list of tools: tool 'a': its parameters are a list"),
        ('[{"name": "a", "description": 3}]', "not text"),
        ('[{"name": "a"}, {"name": "b"}, {"name": "a"}]', "entry 3 of the list of tools: there is already a tool 'a'"),
    ],
)
def test_load_tools_says_which_entry_is_wrong(data: bytes | str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_tools(data)
    assert reason in caught.value.message
    assert caught.value.hint


def test_defining_and_finding_tools_imports_nothing_heavy() -> None:
    code = (
        "import sys; from toolwire.tools.registry import ToolRegistry\n"
        "registry = ToolRegistry([{'name': 'a'}]); registry.nearest('b'); registry['a'].digest()\n"
        "print([m for m in ('pydantic', 'jsonschema_rs', 'docstring_parser') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
