"""Cohere, encoding: the body that goes out, held against the official SDK's own types and its own request."""

from __future__ import annotations

from typing import Any

import cohere
import httpx
import msgspec
import pydantic
import pytest
from aiohttp import web

from encoding_alone import encode_alone
from feeding import read, whole
from toolwire.errors import ConfigError
from toolwire.messages import Message, ToolResultPart
from wire_bodies import Call, End, Text, Thought, body

Json = dict[str, Any]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Weather for a city.", "parameters": CITY}
TIME = {"name": "get_time", "description": "", "parameters": {"type": "object", "properties": {}}}
PNG = {"type": "media", "media_type": "image/png", "data": "iVBOR"}
PLAN, THINKING = {"wire": "cohere", "part": "tool_plan"}, {"wire": "cohere", "part": "thinking"}
ROLES: dict[str, Any] = {
    "system": cohere.SystemChatMessageV2,
    "user": cohere.UserChatMessageV2,
    "assistant": cohere.AssistantChatMessageV2,
    "tool": cohere.ToolChatMessageV2,
}


def as_sdk(message: Json) -> Any:
    """The message as the SDK's own type, which has a member for everything in it."""
    typed = ROLES[message["role"]].model_validate(message)
    check_known(typed)
    return typed


def check_known(value: Any) -> None:
    if isinstance(value, pydantic.BaseModel):
        assert not value.model_extra
        for name in value.model_fields_set:
            check_known(getattr(value, name))
    elif isinstance(value, list):
        for item in value:
            check_known(item)


def encode(messages: list[Any], **options: Any) -> Json:
    request = encode_alone("cohere", messages, **options)
    for message in request["messages"]:
        as_sdk(message)
    for tool in request.get("tools", ()):
        check_known(cohere.ToolV2.model_validate(tool))
    return request


def only(message: Json) -> list[Json]:
    """The encoded messages of a conversation of one message."""
    encoded: list[Json] = encode([message])["messages"]
    return encoded


CONVERSATION: list[Json] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather in Paris?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "text": "hm", "provider_data": THINKING},
            {"type": "thinking", "text": "I will ", "provider_data": PLAN},
            {"type": "thinking", "text": "look.", "provider_data": PLAN},
            {"type": "text", "text": "Let me look."},
            {
                "type": "tool_call",
                "id": "c1",
                "name": "get_weather",
                "arguments": {"city": "Paris"},
                "raw_arguments": '{"city":  "Paris"}',
            },
            {"type": "tool_call", "id": "c2", "name": "get_weather", "arguments": {"city": "Nice"}},
        ],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool_result", "id": "c1", "name": "get_weather", "content": "18 °C"},
            {"type": "tool_result", "id": "c2", "name": "get_weather", "content": "no data", "is_error": True},
        ],
    },
]
REQUEST: Json = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Paris?"},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Let me look."}],
            "tool_plan": "I will look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city":  "Paris"}'},
                },
                {"id": "c2", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Nice"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "18 °C"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no data"},
    ],
    "tools": [{"type": "function", "function": WEATHER}],
    "tool_choice": "REQUIRED",
    "max_tokens": 100,
    "temperature": 0.5,
    "thinking": {"type": "enabled", "token_budget": 2000},
    "stream": True,
}
OPTIONS: Json = {"tool_choice": "required", "max_tokens": 100, "temperature": 0.5, "thinking_budget": 2000}


def test_a_whole_request() -> None:
    assert encode(CONVERSATION, tools=[WEATHER], **OPTIONS) == REQUEST


async def test_the_sdk_sends_the_same() -> None:
    """Its own types of our messages and tools, sent by its own client, are our request."""
    sent: list[Json] = []

    async def answer(request: web.Request) -> web.Response:
        sent.append({"path": request.path, **(await request.json())})
        return web.Response(body=body("cohere", Text("Hi"), End()), content_type="text/event-stream")

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with httpx.AsyncClient(trust_env=False, verify=False) as plain:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            client = cohere.AsyncClientV2(api_key="none", base_url=url, httpx_client=plain)
            stream = client.chat_stream(
                model="m",
                messages=[as_sdk(message) for message in REQUEST["messages"]],
                tools=[cohere.ToolV2.model_validate(tool) for tool in REQUEST["tools"]],
                tool_choice="REQUIRED",
                max_tokens=100,
                temperature=0.5,
                thinking=cohere.Thinking(type="enabled", token_budget=2000),
            )
            assert [event.type async for event in stream][-1] == "message-end"
    finally:
        await runner.cleanup()
    assert sent == [{"path": "/v2/chat", **REQUEST}]


def test_what_is_not_asked_for_is_not_sent() -> None:
    assert encode([], stream=False) == {"model": "m", "messages": [], "stream": False}
    assert encode([], temperature=0)["temperature"] == 0


def test_thinking() -> None:
    assert encode([], thinking_budget=1)["thinking"] == {"type": "enabled", "token_budget": 1}
    assert encode([], thinking_budget=0)["thinking"] == {"type": "disabled"}
    with pytest.raises(ConfigError, match="-1") as error:
        encode([], thinking_budget=-1)
    assert error.value.hint


@pytest.mark.parametrize(
    ("choice", "word", "offered"),
    [
        ("auto", None, ["get_weather", "get_time"]),
        ("none", "NONE", ["get_weather", "get_time"]),
        ("required", "REQUIRED", ["get_weather", "get_time"]),
        ("get_time", "REQUIRED", ["get_time"]),
    ],
)
def test_tool_choice(choice: str, word: str | None, offered: list[str]) -> None:
    request = encode([], tools=[WEATHER, TIME], tool_choice=choice)
    assert request.get("tool_choice") == word
    assert [tool["function"]["name"] for tool in request["tools"]] == offered


def test_tool_choice_without_tools() -> None:
    assert encode([], tool_choice="none") == {"model": "m", "messages": [], "stream": True}
    for choice in ("required", "get_time"):
        with pytest.raises(ConfigError):
            encode([], tool_choice=choice)


def test_names() -> None:
    """Letters, digits and `_`, and no digit first; what is changed is the same in tools and calls."""
    tool = {**TIME, "name": "get-time"}
    call = {"role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "get-time"}]}
    request = encode([call], tools=[tool, {**TIME, "name": "2nd"}, WEATHER], tool_choice="get-time")
    (offered,) = request["tools"]
    assert offered["function"]["name"].startswith("get_time_")
    assert request["messages"][0]["tool_calls"][0]["function"]["name"] == offered["function"]["name"]
    names = [tool["function"]["name"] for tool in encode([], tools=[tool, {**TIME, "name": "2nd"}, WEATHER])["tools"]]
    assert names[1].startswith("_2nd_")
    assert names[2] == "get_weather"
    assert all(name.isidentifier() and name.isascii() for name in names)


@pytest.mark.parametrize(
    ("part", "url"),
    [
        (PNG, "data:image/png;base64,iVBOR"),
        ({"type": "media", "media_type": "image/png", "url": "https://example.com/a.png"}, "https://example.com/a.png"),
        ({"type": "media", "media_type": "image", "url": "data:image/jpeg;base64,/9j/"}, "data:image/jpeg;base64,/9j/"),
    ],
)
def test_pictures(part: Json, url: str) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "see"}, part, {"type": "text", "text": " "}]}
    shown = {"type": "image_url", "image_url": {"url": url}}
    assert only(message) == [{"role": "user", "content": [{"type": "text", "text": "see"}, shown]}]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "media", "media_type": "audio/wav", "data": "AAAA"}]},
        {"role": "user", "content": [{"type": "media", "media_type": "application/pdf", "url": "https://a.b/c.pdf"}]},
        {"role": "tool", "content": [{"type": "tool_result", "id": "a", "name": "f", "content": [PNG]}]},
    ],
    ids=["sound", "a file", "a picture in a result"],
)
def test_media_that_cohere_does_not_take(message: Json) -> None:
    with pytest.raises(ConfigError, match="Cohere takes no") as error:
        only(message)
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
def test_parts_in_the_wrong_place(message: Json) -> None:
    with pytest.raises(ConfigError, match="cannot hold") as error:
        only(message)
    assert error.value.hint


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": "\n"},
        {"role": "user", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": " "}]},
        {"role": "assistant", "content": " "},
        {"role": "assistant", "content": [{"type": "thinking", "text": "hm"}]},
        {"role": "assistant", "content": [{"type": "thinking", "text": "", "provider_data": THINKING}]},
        {"role": "assistant", "content": [{"type": "thinking", "text": "I look.", "provider_data": PLAN}]},
    ],
    ids=str,
)
def test_messages_that_say_nothing_are_left_out(message: Json) -> None:
    assert only(message) == []


def test_a_result_always_says_something() -> None:
    results = [
        {"type": "tool_result", "id": "a", "name": "f", "content": ""},
        {
            "type": "tool_result",
            "id": "b",
            "name": "f",
            "content": [{"type": "text", "text": "o"}, {"type": "text", "text": "k"}],
        },
    ]
    assert [one["content"] for one in only({"role": "tool", "content": results})] == ["(no output)", "ok"]


def test_what_only_another_provider_understands_stays_here() -> None:
    foreign = {"wire": "anthropic", "signature": "abc", "part": "thinking"}
    message = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "text": "hm", "provider_data": foreign},
            {"type": "opaque", "provider_data": foreign},
            {"type": "text", "text": "Hi", "provider_data": foreign},
            {"type": "tool_call", "id": "c", "name": "f", "provider_data": foreign},
        ],
    }
    assert only(message) == [
        {
            "role": "assistant",
            "content": "Hi",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }
    ]


def test_an_answer_goes_back_as_it_came() -> None:
    stream, _ = read(whole(body("cohere", Thought("hm"), Text("Hi"), Call("c1", "f", '{"x": 1}'), End())), "cohere")
    result = Message("tool", [ToolResultPart("c1", "f", "ok")])
    stored = msgspec.convert(msgspec.to_builtins([stream.message, result]), list[Message])
    assert encode(stored)["messages"] == [
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}],
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
