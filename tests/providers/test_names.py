from __future__ import annotations

import pytest

import toolwire
from feeding import call, delta, read, sse, whole
from toolwire.errors import ConfigError
from toolwire.providers.names import COHERE_RULE, COMMON_RULE, GEMINI_RULE, NameRule
from toolwire.providers.wires import WIRES

ODD = ["files.read", "x" * 65, "a b", "ü", "", "\ud800", "get weather!", "1st", "-x", ".x", "a/b"]


@pytest.mark.parametrize("rule", [COMMON_RULE, GEMINI_RULE, COHERE_RULE], ids=["common", "gemini", "cohere"])
def test_every_name_becomes_one_that_the_rule_allows(rule: NameRule) -> None:
    made = [rule.wire_name(name) for name in ODD]
    assert all(rule.allows(name) for name in made)
    assert len(set(made)) == len(ODD)
    assert made == [rule.wire_name(name) for name in ODD]


def test_a_legal_name_stays_as_it_is() -> None:
    assert COMMON_RULE.wire_name("get_weather-2") == "get_weather-2"
    assert GEMINI_RULE.wire_name("files.read") == "files.read"
    assert GEMINI_RULE.wire_name("1st") != "1st"
    assert COHERE_RULE.wire_name("get_time2") == "get_time2"
    assert not any(COHERE_RULE.allows(name) for name in ("get-time", "2nd", "-a", "a.b"))


def test_names_that_would_be_cut_to_the_same_stay_two() -> None:
    one, two = (COMMON_RULE.wire_name("x" * 70 + end) for end in "ab")
    assert one != two
    assert len(one) == len(two) == 64


@pytest.mark.parametrize("wire", WIRES)
def test_two_tools_of_one_name_on_the_wire_are_refused(wire: str) -> None:
    rule = WIRES[wire].names
    tools = [{"name": "a" * 70}, {"name": rule.wire_name("a" * 70)}]
    with pytest.raises(ConfigError, match="one name on this wire"):
        toolwire.encode_request(wire=wire, model="m", messages=[{"role": "user", "content": "x"}], tools=tools)


def test_the_model_is_told_the_wire_name_and_the_tool_is_found_by_it() -> None:
    tool = {"name": "files.read", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}
    request = toolwire.encode_request(
        wire="openai-chat",
        model="m",
        messages=[{"role": "user", "content": "x"}],
        tools=[tool],
        tool_choice="files.read",
    )
    name = request["tools"][0]["function"]["name"]
    assert name != "files.read"
    assert COMMON_RULE.allows(name)
    assert request["tool_choice"]["function"]["name"] == name
    body = sse(delta(tool_calls=[call('{"path":"a"}', id="c1", name=name)]), delta(finish="tool_calls"))
    stream, events = read(whole(body), tools=[tool])
    assert [invocation.tool_name for invocation in stream.invocations] == ["files.read"]
    assert events[0].tool_name == "files.read"
    again = toolwire.encode_request(wire="openai-chat", model="m", messages=[stream.message], tools=[tool])
    assert again["messages"][0]["tool_calls"][0]["function"]["name"] == name
