"""Ollama, encoding: the body that goes out, and the recorded clients' own follow-ups as the oracle."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from ollama._types import ChatRequest

import toolwire
from corpus import body, needs_corpus, rows, story
from encoding_alone import encode_alone
from feeding import read, whole
from toolwire.errors import ConfigError
from toolwire.messages import Message, ToolResultPart
from toolwire.providers.ollama_request import encode_ollama_request

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Weather for a city.", "parameters": CITY}
PNG = {"type": "media", "media_type": "image/png", "data": "iVBOR"}


def encode(messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    return encode_alone("ollama", messages, **options)


def only(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The encoded messages of a conversation of one message."""
    encoded: list[dict[str, Any]] = encode([message])["messages"]
    return encoded


def test_a_whole_request() -> None:
    request = encode(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Paris?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "text": "h"},
                    {"type": "thinking", "text": "m"},
                    {"type": "text", "text": "Let me "},
                    {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Paris"}},
                    {"type": "text", "text": "look."},
                    {"type": "tool_call", "id": "s1", "name": "get_weather", "arguments": {"city": "Nice"}},
                ],
            },
            {
                "role": "tool",
                "content": [
                    {"type": "tool_result", "id": "c1", "name": "get_weather", "content": "18 °C"},
                    {"type": "tool_result", "id": "s1", "name": "get_weather", "content": "no data", "is_error": True},
                ],
            },
        ],
        tools=[WEATHER],
        max_tokens=100,
        temperature=0.5,
        think="high",
    )
    assert request == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Paris?"},
            {
                "role": "assistant",
                "content": "Let me look.",
                "thinking": "hm",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": {"city": "Paris"}},
                    },
                    {
                        "id": "s1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": {"city": "Nice"}},
                    },
                ],
            },
            {"role": "tool", "tool_name": "get_weather", "tool_call_id": "c1", "content": "18 °C"},
            {"role": "tool", "tool_name": "get_weather", "tool_call_id": "s1", "content": "Error: no data"},
        ],
        "tools": [{"type": "function", "function": WEATHER}],
        "options": {"num_predict": 100, "temperature": 0.5},
        "think": "high",
        "stream": True,
    }
    ChatRequest.model_validate(request)


def test_what_is_not_asked_for_is_not_sent() -> None:
    assert encode([], stream=False) == {"model": "m", "messages": [], "stream": False}
    assert encode([], think=False)["think"] is False
    assert encode([], temperature=0)["options"] == {"temperature": 0}


def test_tool_choice() -> None:
    assert "tools" in encode([], tools=[WEATHER], tool_choice="auto")
    assert "tools" not in encode([], tools=[WEATHER], tool_choice="none")
    assert "tool_choice" not in encode([], tools=[WEATHER], tool_choice="none")


@pytest.mark.parametrize("choice", ["required", "get_weather", "get_time"])
def test_tool_choice_that_ollama_cannot_keep_to(choice: str) -> None:
    with pytest.raises(ConfigError, match=choice) as error:
        encode([], tools=[WEATHER], tool_choice=choice)
    assert error.value.hint


@pytest.mark.parametrize(
    ("part", "data"),
    [
        ({"media_type": "image/png", "data": "iVBOR"}, "iVBOR"),
        ({"media_type": "image", "url": "data:image/jpeg;base64,/9j/"}, "/9j/"),
        ({"media_type": "image/png", "data": "AAAA", "url": "https://example.com/a.png"}, "AAAA"),
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_pictures(part: dict[str, Any], data: str, role: str) -> None:
    message = {"role": role, "content": [{"type": "text", "text": "see"}, {"type": "media", **part}]}
    assert only(message) == [{"role": role, "content": "see", "images": [data]}]


def test_pictures_of_a_tool_stand_beside_its_words() -> None:
    result = {"type": "tool_result", "id": "a", "name": "f", "content": [{"type": "text", "text": "ok"}, PNG]}
    assert only({"role": "tool", "content": [result]}) == [
        {"role": "tool", "tool_name": "f", "tool_call_id": "a", "content": "ok", "images": ["iVBOR"]}
    ]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"media_type": "image/png", "url": "https://example.com/a.png"}, "not by URL"),
        ({"media_type": "image/png", "url": "data:image/png,plain"}, "not by URL"),
        ({"media_type": "audio/wav", "data": "AAAA"}, "audio/wav"),
        ({"media_type": "image/png", "url": "data:application/pdf;base64,AAAA"}, "application/pdf"),
    ],
)
def test_media_that_ollama_does_not_take(part: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        only({"role": "user", "content": [{"type": "media", **part}]})
    assert error.value.hint


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "tool_call", "id": "c", "name": "f"}]},
        {"role": "user", "content": [{"type": "thinking", "text": "hm"}]},
        {"role": "assistant", "content": [{"type": "tool_result", "id": "c", "name": "f"}]},
        {"role": "tool", "content": [{"type": "text", "text": "x"}]},
        {"role": "tool", "content": "text"},
    ],
    ids=str,
)
def test_parts_in_the_wrong_place(message: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="cannot hold") as error:
        only(message)
    assert error.value.hint


def test_what_only_another_provider_understands_stays_here() -> None:
    foreign = {"wire": "anthropic", "signature": "abc"}
    message = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "text": "", "provider_data": foreign},
            {"type": "opaque", "provider_data": foreign},
            {"type": "text", "text": "Hi", "provider_data": foreign},
            {"type": "tool_call", "id": "c", "name": "f", "provider_data": foreign},
        ],
    }
    assert only(message) == [
        {
            "role": "assistant",
            "content": "Hi",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}],
        }
    ]


def test_names_that_a_model_invented_are_made_safe_and_the_same_everywhere() -> None:
    name = "get weather!ü"
    call, result = encode(
        [
            {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": name}]},
            {"role": "tool", "content": [{"type": "tool_result", "id": "c1", "name": name}]},
        ]
    )["messages"]
    assert call["tool_calls"][0]["function"]["name"].startswith("get_weather__")
    assert result["tool_name"] == call["tool_calls"][0]["function"]["name"]


def theirs(message: dict[str, Any]) -> dict[str, Any]:
    """A recorded message without what makes no difference: this client sends empty lists, and no ids."""
    return {name: value for name, value in message.items() if value != []}


def ours(message: dict[str, Any]) -> dict[str, Any]:
    """Our message without the ids, which that client leaves out."""
    made = {name: value for name, value in message.items() if name != "tool_call_id"}
    if "tool_calls" in made:
        made["tool_calls"] = [{name: call[name] for name in call if name != "id"} for call in made["tool_calls"]]
    return made


@needs_corpus
def test_follow_ups_are_those_of_the_recording_client() -> None:
    """The whole recorded follow-up, from the decoded first answer, the recorded results and the recorded request."""
    every = {row["case"]: row for row in rows("ollama", core=False)}
    compared = 0
    for row in every.values():
        followup = (story(row).get("chain") or {}).get("followup") or {}
        if followup.get("case") not in every:
            continue
        stream, _ = read(whole(body(row)), "ollama")
        sent = story(every[followup["case"]])["request"]
        answers = [message["content"] for message in sent["messages"] if message["role"] == "tool"]
        results: list[Any] = [
            ToolResultPart(invocation.id, invocation.tool_name, answer)
            for invocation, answer in zip(stream.invocations, answers, strict=True)
        ]
        asked = [msgspec.convert(message, Message) for message in story(row)["request"]["messages"]]
        request = encode_ollama_request(
            model=sent["model"],
            messages=[*asked, stream.message, Message("tool", results)],
            think=sent["think"],
        )
        assert list(map(ours, request.pop("messages"))) == list(map(theirs, sent.pop("messages"))), row["case"]
        offered = toolwire.encode_request(
            wire="ollama", model="m", messages=[], tools=[tool["function"] for tool in sent["tools"]]
        )["tools"]
        assert offered == sent.pop("tools")
        assert request == {name: value for name, value in sent.items() if value != {}}
        compared += 1
    assert compared == 4
