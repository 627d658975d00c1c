"""OpenAI Chat, encoding: the body that goes out, and the recorded clients' own follow-ups as the oracle."""

from __future__ import annotations

from typing import Any

import pytest

from encoding_alone import encode_alone
from feeding import call, delta, read, sse, whole
from toolwire.errors import ConfigError
from toolwire.messages import Message, ToolResultPart
from toolwire.providers.dialects import OPENAI, ChatDialect
from toolwire.providers.openai_chat_request import encode_chat_request, merge_reasoning_details

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Weather for a city.", "parameters": CITY}


def encode(messages: list[Any], **options: Any) -> dict[str, Any]:
    return encode_alone("openai-chat", messages, **options)


def only(message: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """The encoded messages of a conversation of one message."""
    encoded: list[dict[str, Any]] = encode([message], **options)["messages"]
    return encoded


def test_a_whole_request() -> None:
    assert encode(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Paris?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "text": "hm"},
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Paris"}},
                    {
                        "type": "tool_call",
                        "id": "c2",
                        "name": "get_weather",
                        "arguments": {"city": "Nice"},
                        "raw_arguments": '{ "city": "Nice" }',
                    },
                ],
            },
            {
                "role": "tool",
                "content": [
                    {"type": "tool_result", "id": "c1", "name": "get_weather", "content": "18 °C"},
                    {"type": "tool_result", "id": "c2", "name": "get_weather", "content": "no data", "is_error": True},
                ],
            },
        ],
        tools=[WEATHER],
        tool_choice="required",
        max_tokens=100,
        temperature=0.5,
    ) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Paris?"},
            {
                "role": "assistant",
                "content": "Let me look.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'},
                    },
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{ "city": "Nice" }'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "18 °C"},
            {"role": "tool", "tool_call_id": "c2", "content": "Error: no data"},
        ],
        "tools": [{"type": "function", "function": WEATHER}],
        "tool_choice": "required",
        "max_completion_tokens": 100,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize(
    ("choice", "encoded"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("get_weather", {"type": "function", "function": {"name": "get_weather"}}),
    ],
)
def test_tool_choice(choice: str, encoded: Any) -> None:
    assert encode([], tools=[WEATHER], tool_choice=choice).get("tool_choice") == encoded


def test_tool_choice_that_names_no_tool() -> None:
    with pytest.raises(ConfigError, match="'get_time'") as error:
        encode([], tools=[WEATHER], tool_choice="get_time")
    assert "get_weather" in error.value.hint
    with pytest.raises(ConfigError, match="required"):
        encode([], tool_choice="required")
    assert "tool_choice" not in encode([], tool_choice="none")


def test_dialects() -> None:
    plain = encode_chat_request(model="m", messages=[], max_tokens=5, dialect=ChatDialect(stream_usage=False))
    assert plain == {"model": "m", "messages": [], "max_tokens": 5, "stream": True}
    assert encode_chat_request(model="m", messages=[], stream=False, dialect=OPENAI) == {"model": "m", "messages": []}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_under_the_field_that_the_service_reads(field: str) -> None:
    message = {"role": "assistant", "content": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "Hi"}]}
    assert only(message, dialect=ChatDialect(reasoning_field=field)) == [
        {"role": "assistant", "content": "Hi", field: "hm"}
    ]
    assert only(message) == [{"role": "assistant", "content": "Hi"}]


def test_reasoning_details_go_back_whole_and_in_order() -> None:
    stream, _ = read(
        whole(
            sse(
                delta(reasoning_details=[{"type": "reasoning.text", "text": "h", "index": 0, "format": "x"}]),
                delta(reasoning_details=[{"type": "reasoning.text", "text": "m", "index": 0}]),
                delta(reasoning_details=[{"type": "reasoning.text", "signature": "s", "index": 0}]),
                delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "abc", "index": 1}]),
                delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "def", "index": 1}]),
                delta(tool_calls=[call("{}", id="c1", name="f")]),
                delta(finish="tool_calls"),
            )
        )
    )
    dialect = ChatDialect(reasoning_field="reasoning_details")
    (encoded,) = encode_chat_request(model="m", messages=[stream.message], dialect=dialect)["messages"]
    assert encoded["reasoning_details"] == [
        {"type": "reasoning.text", "text": "hm", "index": 0, "format": "x", "signature": "s"},
        {"type": "reasoning.encrypted", "data": "abc", "index": 1},
        {"type": "reasoning.encrypted", "data": "def", "index": 1},
    ]
    assert "reasoning_details" not in encode_chat_request(model="m", messages=[stream.message])["messages"][0]


def test_merging_leaves_what_was_given_untouched() -> None:
    details = [{"type": "t", "text": "a"}, {"type": "t", "text": "b"}]
    assert merge_reasoning_details(details) == [{"type": "t", "text": "ab"}]
    assert details == [{"type": "t", "text": "a"}, {"type": "t", "text": "b"}]


def test_opaque_data_of_a_call_goes_back_in_its_place() -> None:
    extra = {"google": {"thought_signature": "sig"}}
    stream, _ = read(
        whole(
            sse(
                delta(tool_calls=[call("{}", id="c1", name="f", extra_content=extra)]),
                delta(finish="tool_calls"),
            )
        )
    )
    (encoded,) = encode_chat_request(model="m", messages=[stream.message])["messages"]
    assert encoded["tool_calls"][0]["extra_content"] == extra


MEDIA = {
    "image by url": (
        {"media_type": "image/png", "url": "https://example.com/a.png"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ),
    "image as data": (
        {"media_type": "image/png", "data": "AAAA"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ),
    "sound": (
        {"media_type": "audio/mpeg", "data": "AAAA"},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
    ),
    "sound in a data URL": (
        {"media_type": "audio/wav", "url": "data:audio/wav;base64,AAAA"},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    ),
    "file": (
        {"media_type": "application/pdf", "data": "AAAA", "name": "a.pdf"},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
    ),
}


@pytest.mark.parametrize("name", MEDIA)
def test_media(name: str) -> None:
    part, encoded = MEDIA[name]
    message = {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "media", **part}]}
    assert only(message) == [{"role": "user", "content": [{"type": "text", "text": "see"}, encoded]}]


@pytest.mark.parametrize(
    "part",
    [{"media_type": "video/mp4", "url": "https://example.com"}, {"media_type": "audio", "data": "AAAA"}],
    ids=str,
)
def test_media_that_chat_does_not_take(part: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=part["media_type"]):
        only({"role": "user", "content": [{"type": "media", **part}]})


def test_pictures_of_a_tool_follow_all_results() -> None:
    picture = {"type": "media", "media_type": "image/png", "data": "AAAA"}
    message = {
        "role": "tool",
        "content": [
            {"type": "tool_result", "id": "a", "name": "shoot", "content": [picture]},
            {"type": "tool_result", "id": "b", "name": "f", "content": "ok"},
        ],
    }
    first, second, media = only(message)
    assert (first["role"], first["tool_call_id"]) == ("tool", "a")
    assert second == {"role": "tool", "tool_call_id": "b", "content": "ok"}
    assert media["role"] == "user"
    assert media["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("content", "encoded"),
    [
        ([{"type": "text", "text": "No.", "refusal": True}], {"content": None, "refusal": "No."}),
        (
            [{"type": "tool_call", "id": "c", "name": "f"}],
            {
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
        ),
    ],
)
def test_assistant_messages(content: Any, encoded: dict[str, Any]) -> None:
    assert only({"role": "assistant", "content": content}) == [{"role": "assistant", **encoded}]


@pytest.mark.parametrize("content", ["", [], [{"type": "thinking", "text": "hm"}]], ids=str)
def test_an_answer_of_which_nothing_goes_back_is_left_out(content: Any) -> None:
    assert only({"role": "assistant", "content": content}) == []


def test_a_call_of_the_older_form_goes_back_in_that_form() -> None:
    """A service that answers with `function_call` knows no `tool_calls`, and its results have role `function`."""
    stream, _ = read(
        whole(
            sse(
                delta(function_call={"name": "f", "arguments": '{"x":'}),
                delta(function_call={"arguments": "1}"}),
                delta(finish="function_call"),
            )
        )
    )
    (made,) = stream.invocations
    results = Message("tool", [ToolResultPart(made.id, "f", "done")])
    assert encode([stream.message, results])["messages"] == [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"x":1}'}},
        {"role": "function", "name": "f", "content": "done"},
    ]
    strict = encode([stream.message, results], dialect=ChatDialect(known_members_only=True))["messages"]
    assert [*strict[0]] == ["role", "content", "tool_calls"]
    assert strict[1] == {"role": "tool", "tool_call_id": made.id, "content": "done"}


def test_a_call_of_the_older_form_beside_another_is_as_all_others() -> None:
    """There is no older form for two: both go back in the newer one, and so do their results."""
    stream, _ = read(
        whole(
            sse(
                delta(function_call={"name": "f", "arguments": "{}"}),
                delta(tool_calls=[call("{}", id="c1", name="g")]),
                delta(finish="tool_calls"),
            )
        )
    )
    results = Message("tool", [ToolResultPart(each.id, each.name, "done") for each in stream.message.tool_calls])
    answer, *told = encode([stream.message, results])["messages"]
    assert {each["function"]["name"] for each in answer["tool_calls"]} == {"f", "g"}
    assert [each["role"] for each in told] == ["tool", "tool"]


MISPLACED = [
    {"role": "user", "content": [{"type": "tool_call", "id": "c", "name": "f"}]},
    {"role": "assistant", "content": [{"type": "tool_result", "id": "c", "name": "f"}]},
    {"role": "tool", "content": [{"type": "text", "text": "x"}]},
    {"role": "tool", "content": "text"},
    {"role": "robot", "content": "x"},
    {"content": "x"},
    {"role": "user", "content": [{"type": "nonsense"}]},
    {"role": "user", "content": 5},
]


@pytest.mark.parametrize("message", MISPLACED, ids=str)
def test_parts_in_the_wrong_place(message: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as error:
        only(message)
    assert error.value.hint


def test_names_that_a_model_invented_are_made_safe() -> None:
    invented = {"type": "tool_call", "id": "c1", "name": "get weather!ü", "arguments": {}}
    (encoded,) = only({"role": "assistant", "content": [invented]})
    assert encoded["tool_calls"][0]["function"]["name"].startswith("get_weather__")


def test_broken_calls_never_go_back_as_broken_json() -> None:
    stream, _ = read(whole(sse(delta(tool_calls=[call('{"x":', id="c1", name="f")]), delta(finish="tool_calls"))))
    (encoded,) = encode_chat_request(model="m", messages=[stream.message])["messages"]
    assert encoded["tool_calls"][0]["function"]["arguments"] == "{}"
