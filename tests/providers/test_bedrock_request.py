"""Bedrock, encoding: the body that goes out, held against botocore's own model of the API and its own serializer."""

from __future__ import annotations

import json
from base64 import b64decode
from functools import cache
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.serialize import create_serializer
from botocore.validate import ParamValidator

import toolwire
from aws_frames import converse
from encoding_alone import encode_alone
from feeding import read, whole
from toolwire.errors import ConfigError
from toolwire.messages import ToolResultPart, tool_results
from toolwire.providers.bedrock_request import NO_WORDS
from wire_bodies import Call, End, Text, Thought, body

Json = dict[str, Any]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Weather for a city.", "parameters": CITY}
TIME: Json = {"name": "get_time", "description": "", "parameters": {"type": "object", "properties": {}}}
HELLO = {"role": "user", "content": "Hello"}
ASKED = {"role": "user", "content": [{"text": "Hello"}]}


@cache
def operation() -> Any:
    model = Loader().load_service_model("bedrock-runtime", "service-2")
    return ServiceModel(model, "bedrock-runtime").operation_model("ConverseStream")


def with_bytes(value: Any) -> Any:
    """As botocore is given it: data are bytes, not base64 text."""
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    blobs = ("bytes", "redactedContent")
    return {name: b64decode(item) if name in blobs else with_bytes(item) for name, item in value.items()}


def encode(messages: list[Any], **options: Any) -> Json:
    request = encode_alone("bedrock", messages, **options)
    given = {"modelId": "m", **with_bytes(request)}
    assert not ParamValidator().validate(given, operation().input_shape).has_errors()
    sent = create_serializer("rest-json").serialize_to_request(given, operation())
    assert sent["url_path"] == "/model/m/converse-stream"
    assert json.loads(sent["body"]) == request
    return request


def said(*messages: Any, **options: Any) -> list[Json]:
    made: list[Json] = encode([HELLO, *messages], **options)["messages"]
    assert made.pop(0)["content"][:1] == ASKED["content"]
    return made


def assistant(*parts: Any) -> Json:
    return {"role": "assistant", "content": list(parts)}


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def call(call_id: str = "c1", name: str = "f", **arguments: Any) -> Json:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def results(*answers: Any) -> Json:
    made = []
    for call_id, content in answers:
        made.append({"type": "tool_result", "id": call_id, "name": "f", "content": content})
    return {"role": "tool", "content": made}


def media(media_type: str, **more: Any) -> Json:
    return {"type": "media", "media_type": media_type, "data": "aGk=", **more}


def used(call_id: str = "c1", name: str = "f", **arguments: Any) -> Json:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}


def answered(call_id: str, *content: Json, **more: Any) -> Json:
    return {"toolResult": {"toolUseId": call_id, "content": list(content), **more}}


KEPT = {"wire": "bedrock", "signature": "sig"}
SERVER = {"toolUse": {"toolUseId": "s1", "name": "nova_code_interpreter", "type": "server_tool_use", "input": {"a": 1}}}
GIVEN = {"toolResult": {"toolUseId": "s1", "type": "nova_code_interpreter_result", "content": [{"json": {"out": 1}}]}}


def opaque(block: Json) -> Json:
    return {"type": "opaque", "provider_data": {"wire": "bedrock", "block": block}}


def ours(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def user_turn(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


CONVERSATIONS: dict[str, tuple[list[Json], list[Json]]] = {
    "words": ([assistant(text("Hi"))], [ours({"text": "Hi"})]),
    "blank words are left out": (
        [assistant(text(" "), call()), results(("c1", "x"))],
        [ours(used()), user_turn(answered("c1", {"text": "x"}))],
    ),
    "all results of a turn in one message, before what the user says": (
        [
            assistant(call("a", x=1), call("b")),
            results(("a", "1")),
            results(("b", "2")),
            {"role": "user", "content": "and?"},
        ],
        [
            ours(used("a", x=1), used("b")),
            user_turn(answered("a", {"text": "1"}), answered("b", {"text": "2"}), {"text": "and?"}),
        ],
    ),
    "a result without words": (
        [assistant(call()), results(("c1", ""))],
        [ours(used()), user_turn(answered("c1", {"text": NO_WORDS}))],
    ),
    "a result with a picture": (
        [assistant(call()), results(("c1", [text("see"), media("image/png")]))],
        [
            ours(used()),
            user_turn(answered("c1", {"text": "see"}, {"image": {"format": "png", "source": {"bytes": "aGk="}}})),
        ],
    ),
    "reasoning goes back with its signature": (
        [assistant({"type": "thinking", "text": "hm", "provider_data": KEPT}, call()), results(("c1", "x"))],
        [
            ours({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}}, used()),
            user_turn(answered("c1", {"text": "x"})),
        ],
    ),
    "hidden reasoning goes back as it came": (
        [assistant({"type": "thinking", "provider_data": {"wire": "bedrock", "redacted": "c2Vj"}}, text("Hi"))],
        [ours({"reasoningContent": {"redactedContent": "c2Vj"}}, {"text": "Hi"})],
    ),
    "reasoning without a signature, of another provider, or at the end stays out": (
        [
            assistant(
                {"type": "thinking", "text": "hm"},
                {"type": "thinking", "text": "hm", "provider_data": {"wire": "anthropic", "signature": "s"}},
                text("Hi"),
                {"type": "thinking", "text": "hm", "provider_data": KEPT},
            )
        ],
        [ours({"text": "Hi"})],
    ),
    "an answer of nothing but reasoning is none": (
        [assistant({"type": "thinking", "text": "hm", "provider_data": KEPT}), {"role": "user", "content": "So?"}],
        [],
    ),
    "citations": (
        [assistant(text("So.", provider_data={"wire": "bedrock", "citations": [{"title": "T"}]}))],
        [ours({"citationsContent": {"content": [{"text": "So."}], "citations": [{"title": "T"}]}})],
    ),
    "what a server tool was asked and gave": (
        [assistant(opaque(SERVER), opaque(GIVEN), text("1"))],
        [ours(SERVER, GIVEN, {"text": "1"})],
    ),
    "a server tool that was cut off": ([assistant(opaque(SERVER), text("1"))], [ours({"text": "1"})]),
    "an answer to be continued does not end in blanks": ([assistant(text("So \n"))], [ours({"text": "So"})]),
    "names that the API does not take": (
        [assistant(call(name="files.read")), results(("c1", "x"))],
        [ours(used(name="files_read_601e4e")), user_turn(answered("c1", {"text": "x"}))],
    ),
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_conversation(name: str) -> None:
    messages, expected = CONVERSATIONS[name]
    assert said(*messages) == expected


def test_a_result_that_is_an_error() -> None:
    failed = {"type": "tool_result", "id": "c1", "name": "f", "content": "", "is_error": True}
    made = said(assistant(call()), {"role": "tool", "content": [failed]})
    assert made[1] == user_turn(answered("c1", {"text": NO_WORDS}, status="error"))


def test_system_text_stands_apart() -> None:
    request = encode([{"role": "system", "content": "Be brief."}, HELLO, {"role": "system", "content": " "}])
    assert request == {"messages": [ASKED], "system": [{"text": "Be brief."}]}


def spec(name: str, schema: Json, **more: Any) -> Json:
    return {"toolSpec": {"name": name, "inputSchema": {"json": schema}, **more}}


SPECS = [spec("get_weather", CITY, description="Weather for a city."), spec("get_time", TIME["parameters"])]


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"tools": SPECS}),
        ("required", {"tools": SPECS, "toolChoice": {"any": {}}}),
        ("get_time", {"tools": SPECS, "toolChoice": {"tool": {"name": "get_time"}}}),
        ("none", None),
    ],
)
def test_tools_and_choice(choice: str, config: Json | None) -> None:
    assert encode([HELLO], tools=[WEATHER, TIME], tool_choice=choice).get("toolConfig") == config


def test_the_tools_of_a_history_are_declared_whatever_the_choice() -> None:
    history = [HELLO, assistant(call(name="get_time")), results(("c1", "x"))]
    assert encode(history, tools=[WEATHER, TIME], tool_choice="none")["toolConfig"] == {"tools": SPECS}
    assert encode(history)["toolConfig"] == {"tools": [spec("get_time", {"type": "object"})]}
    server = [HELLO, assistant(opaque(SERVER), opaque(GIVEN))]
    assert encode(server)["toolConfig"] == {"tools": [{"systemTool": {"name": "nova_code_interpreter"}}]}


def test_unions_at_the_top_of_a_schema_move_into_words() -> None:
    tool = {"name": "f", "description": "F.", "parameters": {**CITY, "anyOf": [{"required": ["city"]}]}}
    (made,) = encode([HELLO], tools=[tool])["toolConfig"]["tools"]
    assert made["toolSpec"]["inputSchema"] == {"json": CITY}
    assert '"anyOf":[{"required":["city"]}]' in made["toolSpec"]["description"]


def test_options() -> None:
    assert encode([HELLO], max_tokens=9, temperature=0.5)["inferenceConfig"] == {"maxTokens": 9, "temperature": 0.5}
    made = encode([HELLO], thinking_budget=2048)
    assert made["additionalModelRequestFields"] == {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    assert made["inferenceConfig"] == {"maxTokens": 10_240}
    assert set(encode([HELLO], stream=False)) == {"messages"}


@pytest.mark.parametrize(
    "options",
    [
        {"thinking_budget": 100},
        {"thinking_budget": 2048, "max_tokens": 2048},
        {"thinking_budget": 2048, "temperature": 0.5},
        {"thinking_budget": 2048, "tools": [WEATHER], "tool_choice": "required"},
        {"tool_choice": "required"},
        {"tool_choice": "nobody"},
    ],
)
def test_options_that_do_not_fit(options: Json) -> None:
    with pytest.raises(ConfigError) as caught:
        encode([HELLO], **options)
    assert caught.value.hint


MEDIA: dict[str, tuple[Json, Json]] = {
    "a picture": (media("image/jpg"), {"image": {"format": "jpeg", "source": {"bytes": "aGk="}}}),
    "a picture as a data URL": (
        {"type": "media", "media_type": "image", "url": "data:image/webp;base64,aGk="},
        {"image": {"format": "webp", "source": {"bytes": "aGk="}}},
    ),
    "a picture in S3": (
        {"type": "media", "media_type": "image/png", "url": "s3://b/k.png"},
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k.png"}}}},
    ),
    "a document": (
        media("application/pdf", name="Q3 (final)  v1.2_é.pdf"),
        {"document": {"format": "pdf", "name": "Q3 (final) v1 2 pdf", "source": {"bytes": "aGk="}}},
    ),
    "text of any kind": (
        media("text/x-python"),
        {"document": {"format": "txt", "name": "document", "source": {"bytes": "aGk="}}},
    ),
    "a film": (media("video/quicktime"), {"video": {"format": "mov", "source": {"bytes": "aGk="}}}),
}


@pytest.mark.parametrize("name", MEDIA)
def test_media(name: str) -> None:
    part, block = MEDIA[name]
    made = encode([{"role": "user", "content": [part, text("See?")]}])
    assert made["messages"] == [user_turn(block, {"text": "See?"})]


def test_documents_have_names_of_their_own_and_words_beside_them() -> None:
    both = [media("application/pdf", name="a.pdf"), media("application/pdf", name="a_pdf"), media("text/plain")]
    (made,) = encode([{"role": "user", "content": both}])["messages"]
    assert [block["document"]["name"] for block in made["content"][:-1]] == ["a pdf", "a pdf 2", "document"]
    assert made["content"][-1] == {"text": NO_WORDS}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "media", "media_type": "image/png", "url": "https://example.org/a.png"},
        {"type": "media", "media_type": "image/png"},
        media("audio/wav"),
        media("application/zip"),
    ],
)
def test_media_that_are_not_taken(part: Json) -> None:
    with pytest.raises(ConfigError, match="Bedrock takes no"):
        encode([{"role": "user", "content": [part]}])


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [call()]},
        {"role": "tool", "content": [text("x")]},
        {"role": "assistant", "content": [{"type": "tool_result", "id": "c", "name": "f", "content": "x"}]},
    ],
)
def test_parts_in_the_wrong_place(message: Json) -> None:
    with pytest.raises(ConfigError, match="cannot hold"):
        encode([message])


def test_an_answer_goes_back_as_it_came() -> None:
    pieces = (
        Thought("hm"),
        Text("Let me look."),
        Call("tooluse_1", "get_time", "{}"),
        Call("tooluse_2", "f", '{"x":[1]}'),
    )
    stream, _ = read(whole(body("bedrock", *pieces, End())), "bedrock")
    answers = tool_results([ToolResultPart(one.id, one.tool_name, "done") for one in stream.invocations])
    request = toolwire.encode_request(
        wire="bedrock", model="m", messages=[HELLO, stream.message, answers], tools=[WEATHER, TIME]
    )
    assert request["messages"] == [
        ASKED,
        ours(
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
            {"text": "Let me look."},
            used("tooluse_1", "get_time"),
            used("tooluse_2", "f", x=[1]),
        ),
        user_turn(answered("tooluse_1", {"text": "done"}), answered("tooluse_2", {"text": "done"})),
    ]


def test_a_server_tool_goes_back_as_it_came() -> None:
    start = {name: SERVER["toolUse"][name] for name in ("toolUseId", "name", "type")}
    given = {name: GIVEN["toolResult"][name] for name in ("toolUseId", "type")}
    data = converse(
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": start}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"a":1}'}}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolResult": given}}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolResult": [{"json": {"out": 1}}]}}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"messageStop": {"stopReason": "end_turn"}},
    )
    stream, _ = read(whole(data), "bedrock")
    assert stream.complete
    assert stream.invocations == []
    assert said(stream.message) == [ours(SERVER, GIVEN)]
