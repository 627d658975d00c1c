"""Anthropic Messages, encoding: the body that goes out, and what of an answer goes back."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from encoding_alone import encode_alone
from feeding import read, typed_sse, whole
from toolwire.errors import ConfigError
from toolwire.messages import Message, ToolResultPart
from toolwire.providers.claude_request import DEFAULT_MAX_TOKENS

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Weather for a city.", "parameters": CITY}
HELLO = {"role": "user", "content": "Hello"}

Block = dict[str, Any]


def encode(messages: list[Any], **options: Any) -> dict[str, Any]:
    return encode_alone("anthropic", messages, **options)


def encoded(*messages: Any) -> list[tuple[str, list[Block]]]:
    """Role and content of the messages that go out."""
    return [(message["role"], message["content"]) for message in encode(list(messages))["messages"]]


def said(words: str) -> Block:
    return {"type": "text", "text": words}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": [said(part) if isinstance(part, str) else part for part in parts]}


def assistant(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [said(part) if isinstance(part, str) else part for part in parts]}


def call(id: str, name: str = "f", **members: Any) -> Block:
    return {"type": "tool_call", "id": id, "name": name, **members}


def results(*ids: str, **members: Any) -> dict[str, Any]:
    return {
        "role": "tool",
        "content": [{"type": "tool_result", "id": id, "name": "f", "content": f"r {id}", **members} for id in ids],
    }


def kept(block: Any, kind: str = "opaque") -> Block:
    """A part that holds a whole block of this wire."""
    return {"type": kind, "provider_data": {"wire": "anthropic", "block": block}}


def thinking(words: str, signature: str, wire: str = "anthropic") -> Block:
    return {"type": "thinking", "text": words, "provider_data": {"wire": wire, "signature": signature}}


def used(id: str, name: str = "f", **members: Any) -> Block:
    return {"type": "tool_use", "id": id, "name": name, "input": {}, **members}


def answered(id: str, **members: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": id, "content": f"r {id}", **members}


def test_a_whole_request() -> None:
    assert encode(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Paris?"},
            {
                "role": "assistant",
                "content": [
                    thinking("hm", "S"),
                    said("Let me look."),
                    call("c1", "get_weather", arguments={"city": "Paris"}, raw_arguments='{ "city": "Paris" }'),
                    call("c2", "get_weather", arguments={"city": "Nice"}),
                ],
            },
            {
                "role": "tool",
                "content": [
                    {"type": "tool_result", "id": "c1", "name": "get_weather", "content": "18 °C"},
                    {"type": "tool_result", "id": "c2", "name": "get_weather", "content": "no data", "is_error": True},
                ],
            },
            {"role": "user", "content": "And tomorrow?"},
        ],
        tools=[WEATHER],
        tool_choice="required",
        max_tokens=100,
        temperature=0.5,
    ) == {
        "model": "m",
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [said("Weather in Paris?")]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "S"},
                    said("Let me look."),
                    {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Paris"}},
                    {"type": "tool_use", "id": "c2", "name": "get_weather", "input": {"city": "Nice"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "18 °C"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "no data", "is_error": True},
                    said("And tomorrow?"),
                ],
            },
        ],
        "tools": [{"name": "get_weather", "description": "Weather for a city.", "input_schema": CITY}],
        "tool_choice": {"type": "any"},
        "temperature": 0.5,
        "stream": True,
    }


def test_the_least_request() -> None:
    assert encode([HELLO], stream=False) == {
        "model": "m",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [said("Hello")]}],
    }


def test_all_system_messages_are_joined() -> None:
    body = encode(
        [{"role": "system", "content": "a"}, HELLO, {"role": "system", "content": "b"}, assistant("x"), HELLO]
    )
    assert body["system"] == "a\n\nb"
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


SERVER = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
FALLBACK = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
REDACTED = {"type": "redacted_thinking", "data": "x"}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "S"}

CONVERSATIONS: dict[str, tuple[list[Any], list[tuple[str, list[Block]]]]] = {
    "neighbours of one role are one message": (
        [user("a"), user("b"), assistant("c"), assistant("d"), user("e")],
        [("user", [said("a"), said("b")]), ("assistant", [said("c"), said("d")]), ("user", [said("e")])],
    ),
    "all results in one message, before the words": (
        [HELLO, assistant(call("a"), call("b")), user("wait"), results("a"), results("b")],
        [
            ("user", [said("Hello")]),
            ("assistant", [used("a"), used("b")]),
            ("user", [answered("a"), answered("b"), said("wait")]),
        ],
    ),
    "empty text is left out": (
        [user("a", "", " \n"), assistant("", call("c")), results("c")],
        [("user", [said("a")]), ("assistant", [used("c")]), ("user", [answered("c")])],
    ),
    "a message of nothing is left out": (
        [user("a"), assistant(""), user("b"), user("")],
        [("user", [said("a"), said("b")])],
    ),
    "a last answer ends without blanks": (
        [HELLO, assistant("so \n")],
        [("user", [said("Hello")]), ("assistant", [said("so")])],
    ),
    "blanks inside are kept": (
        [HELLO, assistant("so \n"), HELLO],
        [("user", [said("Hello")]), ("assistant", [said("so \n")]), ("user", [said("Hello")])],
    ),
    "thinking without a signature, or of another provider, stays out": (
        [
            HELLO,
            assistant({"type": "thinking", "text": "a"}, thinking("b", ""), thinking("c", "S", "gemini"), "d"),
        ],
        [("user", [said("Hello")]), ("assistant", [said("d")])],
    ),
    "thinking in its place": (
        [
            HELLO,
            assistant(thinking("hm", "S"), "a", kept(REDACTED, "thinking"), thinking("", "T"), call("c")),
            results("c"),
        ],
        [
            ("user", [said("Hello")]),
            (
                "assistant",
                [SIGNED, said("a"), REDACTED, {"type": "thinking", "thinking": "", "signature": "T"}, used("c")],
            ),
            ("user", [answered("c")]),
        ],
    ),
    "thinking does not come last": (
        [HELLO, assistant("a", thinking("hm", "S"), kept(REDACTED, "thinking")), HELLO],
        [("user", [said("Hello")]), ("assistant", [said("a")]), ("user", [said("Hello")])],
    ),
    "an answer of nothing but thinking is left out": (
        [user("a"), assistant(thinking("hm", "S")), user("b")],
        [("user", [said("a"), said("b")])],
    ),
    "a paused answer goes on after its thinking": (
        [HELLO, assistant(thinking("hm", "S")), assistant("a")],
        [("user", [said("Hello")]), ("assistant", [SIGNED, said("a")])],
    ),
    "tools of the provider": (
        [HELLO, assistant(kept(SERVER), kept(FOUND), "a"), HELLO],
        [("user", [said("Hello")]), ("assistant", [SERVER, FOUND, said("a")]), ("user", [said("Hello")])],
    ),
    "tools of another provider stay out": (
        [HELLO, assistant({"type": "opaque", "provider_data": {"wire": "openai-responses", "block": SERVER}}, "a")],
        [("user", [said("Hello")]), ("assistant", [said("a")])],
    ),
    "a tool of the provider still at work": (
        [HELLO, assistant("a", kept(SERVER))],
        [("user", [said("Hello")]), ("assistant", [said("a"), SERVER])],
    ),
    "a tool of the provider that waits for results": (
        [HELLO, assistant(kept(SERVER), call("c")), results("c")],
        [("user", [said("Hello")]), ("assistant", [SERVER, used("c")]), ("user", [answered("c")])],
    ),
    "a tool of the provider that gave its result in a later turn": (
        [HELLO, assistant(kept(SERVER), call("c")), results("c"), assistant(kept(FOUND), "a"), HELLO],
        [
            ("user", [said("Hello")]),
            ("assistant", [SERVER, used("c")]),
            ("user", [answered("c")]),
            ("assistant", [FOUND, said("a")]),
            ("user", [said("Hello")]),
        ],
    ),
    "a tool of the provider that was cut off": (
        [HELLO, assistant("a", kept(SERVER)), HELLO],
        [("user", [said("Hello")]), ("assistant", [said("a")]), ("user", [said("Hello")])],
    ),
    "a tool of the provider with its result under another id (a recording with new ids)": (
        [HELLO, assistant(kept(SERVER), kept({**FOUND, "tool_use_id": "s9"}), "a"), HELLO],
        [
            ("user", [said("Hello")]),
            ("assistant", [SERVER, {**FOUND, "tool_use_id": "s9"}, said("a")]),
            ("user", [said("Hello")]),
        ],
    ),
    "results that come after more words": (
        [HELLO, assistant(call("a")), assistant("so"), results("a")],
        [
            ("user", [said("Hello")]),
            ("assistant", [used("a"), said("so")]),
            ("user", [answered("a")]),
        ],
    ),
    "thinking before a tool of the provider that was cut off": (
        [HELLO, assistant("a", thinking("hm", "S"), kept(SERVER)), HELLO],
        [("user", [said("Hello")]), ("assistant", [said("a")]), ("user", [said("Hello")])],
    ),
    "citations": (
        [HELLO, assistant({**said("a"), "provider_data": {"wire": "anthropic", "citations": [{"url": "u"}]}}), HELLO],
        [
            ("user", [said("Hello")]),
            ("assistant", [{**said("a"), "citations": [{"url": "u"}]}]),
            ("user", [said("Hello")]),
        ],
    ),
    "words of a block that is kept whole": (
        [HELLO, assistant({**kept({"type": "connector_text", "text": "a"}, "text"), "text": "a"}, "b"), HELLO],
        [
            ("user", [said("Hello")]),
            ("assistant", [{"type": "connector_text", "text": "a"}, said("b")]),
            ("user", [said("Hello")]),
        ],
    ),
    "what a model that declined left behind": (
        [
            HELLO,
            assistant(
                thinking("hm", "S"),
                "a",
                kept(SERVER),
                kept(FOUND),
                kept({**SERVER, "id": "s2"}),
                {**kept({"type": "connector_text", "text": "b"}, "text"), "text": "b"},
                call("c0"),
                kept(FALLBACK),
                thinking("hm", "S"),
                call("c"),
            ),
            results("c0", "c"),
        ],
        [
            ("user", [said("Hello")]),
            ("assistant", [said("a"), SERVER, FOUND, FALLBACK, SIGNED, used("c")]),
            ("user", [answered("c")]),
        ],
    ),
    "names that the API does not take": (
        [HELLO, assistant(call("c", "files.read")), results("c")],
        [
            ("user", [said("Hello")]),
            ("assistant", [used("c", "files_read_601e4e")]),
            ("user", [answered("c")]),
        ],
    ),
    "members of a toolset": (
        [HELLO, assistant(call("c", provider_data={"wire": "anthropic", "toolset_name": "browser"})), results("c")],
        [
            ("user", [said("Hello")]),
            ("assistant", [used("c", toolset_name="browser")]),
            ("user", [answered("c", toolset_name="browser")]),
        ],
    ),
    "an error without words": (
        [HELLO, assistant(call("c")), results("c", content="", is_error=True)],
        [
            ("user", [said("Hello")]),
            ("assistant", [used("c")]),
            ("user", [answered("c", content="The tool failed without a word.", is_error=True)]),
        ],
    ),
    "results with pictures": (
        [
            HELLO,
            assistant(call("c")),
            results("c", content=[said("see"), said(""), {"type": "media", "media_type": "image/png", "data": "AA=="}]),
        ],
        [
            ("user", [said("Hello")]),
            ("assistant", [used("c")]),
            (
                "user",
                [
                    answered(
                        "c",
                        content=[
                            said("see"),
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
                            },
                        ],
                    )
                ],
            ),
        ],
    ),
    "media of another provider's answer stay out": (
        [HELLO, assistant("a", {"type": "media", "media_type": "image", "url": "https://x/y.png"})],
        [("user", [said("Hello")]), ("assistant", [said("a")])],
    ),
    "blocks of nonsense stay out": (
        [HELLO, assistant("a", kept([]), kept({"type": 5}), kept({})), HELLO],
        [("user", [said("Hello")]), ("assistant", [said("a")]), ("user", [said("Hello")])],
    ),
    "ids of nonsense are kept": (
        [HELLO, assistant(kept({**SERVER, "id": []}), kept({**FOUND, "tool_use_id": {}})), HELLO],
        [
            ("user", [said("Hello")]),
            ("assistant", [{**SERVER, "id": []}, {**FOUND, "tool_use_id": {}}]),
            ("user", [said("Hello")]),
        ],
    ),
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_conversations(name: str) -> None:
    messages, expected = CONVERSATIONS[name]
    given = msgspec.json.encode(messages)
    assert encoded(*messages) == expected
    assert msgspec.json.encode(messages) == given, "what was given is not changed"


def media(media_type: str, **members: Any) -> Block:
    return {"type": "media", "media_type": media_type, **members}


WORDS = base64.b64encode("wörds".encode()).decode()
BASE64_PDF = {"type": "base64", "media_type": "application/pdf", "data": "AA=="}

MEDIA: dict[str, tuple[Block, Block]] = {
    "an image": (
        media("image/webp", data="AA=="),
        {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "AA=="}},
    ),
    "an image by URL": (
        media("image/png", url="https://x/y.png"),
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
    ),
    "an image in a data: URL": (
        media("image", url="data:image/png;base64,AA=="),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
    ),
    "a PDF": (media("application/pdf", data="AA=="), {"type": "document", "source": BASE64_PDF}),
    "a PDF with a name": (
        media("application/pdf", data="AA==", name="a.pdf"),
        {"type": "document", "source": BASE64_PDF, "title": "a.pdf"},
    ),
    "a PDF by URL": (
        media("application/pdf", url="https://x/y.pdf"),
        {"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}},
    ),
    "text": (
        media("text/markdown", data=WORDS),
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "wörds"}},
    ),
}


@pytest.mark.parametrize("name", MEDIA)
def test_media(name: str) -> None:
    part, block = MEDIA[name]
    assert encoded(user("see", part)) == [("user", [said("see"), block])]


NOT_TAKEN = {
    "sound": media("audio/wav", data="AA=="),
    "an image of another kind": media("image/bmp", data="AA=="),
    "text by URL": media("text/plain", url="https://x/y.txt"),
    "text that is no base64": media("text/plain", data="w?rds"),
    "text that is no UTF-8": media("text/plain", data="/w=="),
    "a data: URL without base64": media("image/png", url="data:image/png,x"),
    "nothing": media("image/png"),
}


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_other_media_are_an_error_that_says_what_is_possible(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        encode([user(NOT_TAKEN[name])])
    assert "base64" in caught.value.hint


CHOICES: dict[str, Any] = {
    "auto": None,
    "none": {"type": "none"},
    "required": {"type": "any"},
    "get_weather": {"type": "tool", "name": "get_weather"},
}


@pytest.mark.parametrize("choice", CHOICES)
def test_tool_choice(choice: str) -> None:
    assert encode([HELLO], tools=[WEATHER], tool_choice=choice).get("tool_choice") == CHOICES[choice]


def test_a_tool_choice_that_is_none_of_the_tools() -> None:
    with pytest.raises(ConfigError, match="none of the tools"):
        encode([HELLO], tools=[WEATHER], tool_choice="get_time")


SCHEMAS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "none": ({}, {"type": "object", "properties": {}}, "Does it."),
    "references and unions inside": (
        {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/$defs/n"}]}}, "$defs": {"n": {"type": "null"}}},
        {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/$defs/n"}]}}, "$defs": {"n": {"type": "null"}}},
        "Does it.",
    ),
    "an object or nothing": ({"type": ["object", "null"]}, {"type": "object"}, "Does it."),
    "a union at the top": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "properties": {"a": {}, "b": {}}},
        'Does it.\n\nThe arguments must also fit this JSON Schema: {"anyOf":[{"required":["a"]},{"required":["b"]}]}',
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_tool_schemas(name: str) -> None:
    given, schema, description = SCHEMAS[name]
    tools = [{"name": "f", "description": "Does it.", "parameters": given}]
    before = msgspec.json.encode(tools)
    assert encode([HELLO], tools=tools)["tools"] == [{"name": "f", "description": description, "input_schema": schema}]
    assert msgspec.json.encode(tools) == before


def test_thinking() -> None:
    body = encode([HELLO], thinking_budget=2000)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert body["max_tokens"] == DEFAULT_MAX_TOKENS + 2000
    assert encode([HELLO], thinking_budget=2000, max_tokens=2001, temperature=1)["max_tokens"] == 2001


@pytest.mark.parametrize(
    "options",
    [
        {"thinking_budget": 1023},
        {"thinking_budget": 2000, "max_tokens": 2000},
        {"thinking_budget": 2000, "temperature": 0.5},
        {"thinking_budget": 2000, "tool_choice": "required"},
        {"thinking_budget": 2000, "tool_choice": "get_weather"},
    ],
)
def test_thinking_that_the_api_refuses(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        encode([HELLO], tools=[WEATHER], **options)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [call("c")]},
        {"role": "tool", "content": [said("a")]},
        {"role": "assistant", "content": results("c")["content"]},
    ],
)
def test_parts_in_the_wrong_message(message: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="cannot hold"):
        encode([message])


CODE = {"type": "code_execution_20250825", "tool_id": "s1"}


@pytest.mark.parametrize(("caller", "container"), [(CODE, "c9"), ({"type": "direct"}, None), (None, None)])
def test_the_container_is_named_while_code_waits_in_it(caller: Any, container: str | None) -> None:
    waiting = assistant(call("c", provider_data={"wire": "anthropic", "caller": caller} if caller else None))
    waiting["provider_data"] = [{"wire": "gemini", "container": "c8"}, {"wire": "anthropic", "container": "c9"}]
    body = encode([HELLO, waiting, results("c")])
    assert body.get("container") == container
    assert body["messages"][1]["content"] == [used("c", **({"caller": caller} if caller else {}))]


def test_an_answer_goes_back_as_it_came() -> None:
    blocks: list[Block] = [
        {"type": "thinking", "thinking": "hm", "signature": "S"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "compaction", "content": "sum", "encrypted_content": "e"},
        {"type": "text", "text": "a", "citations": [{"type": "char_location", "cited_text": "q"}]},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"encrypted_content": "e"}]},
        {"type": "text", "text": "b "},
        {"type": "brand_new", "a": {"b": [1, None]}},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"y": 1.5}, "caller": {"type": "direct"}},
    ]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"content": []}}]
    for at, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": at, "content_block": block})
        events.append({"type": "content_block_stop", "index": at})
    events += [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
    stream, _ = read(whole(typed_sse(*events)), "anthropic")
    stored = msgspec.json.decode(msgspec.json.encode(stream.message), type=Message)
    body = encode([Message("user", "x"), stored, Message("tool", [ToolResultPart("t1", "f", "r t1")])])
    assert body["messages"][1:] == [
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [answered("t1")]},
    ]
