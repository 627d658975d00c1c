"""OpenAI Responses, encoding: the body that goes out, and that an answer goes back as it came."""

from __future__ import annotations

from typing import Any

import pytest

from encoding_alone import encode_alone
from feeding import read, whole
from responses_bodies import WIRE, X, added, body_of, call, custom, done, end, message, piece, reasoning, words
from toolwire.errors import ConfigError
from toolwire.messages import Message, ToolResultPart, tool_results, user
from toolwire.providers.openai_responses_request import ENCRYPTED_REASONING

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Weather for a city.", "parameters": CITY}
FREE = {"name": "put", "description": "", "parameters": {"type": "object", "additionalProperties": True}}


def encode(messages: list[Any], **options: Any) -> dict[str, Any]:
    return encode_alone(WIRE, messages, **options)


def items(messages: list[Any], **options: Any) -> list[dict[str, Any]]:
    """The encoded input of a conversation."""
    encoded: list[dict[str, Any]] = encode(messages, **options)["input"]
    return encoded


def answer(*events: dict[str, Any], **response: Any) -> Message:
    """The decoded answer of a stream of these events."""
    stream, _ = read(whole(body_of([*events, end(**response)])), WIRE)
    assert stream.complete
    return stream.message


def test_a_whole_request() -> None:
    assert encode(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Weather in Paris?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "text": "hm"},
                    {"type": "text", "text": "Let me "},
                    {"type": "text", "text": "look."},
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
            {"role": "system", "content": "Hurry."},
        ],
        tools=[WEATHER],
        tool_choice="required",
        max_tokens=50,
        temperature=0.5,
    ) == {
        "model": "m",
        "instructions": "Be brief.\n\nBe kind.",
        "input": [
            {"role": "user", "content": "Weather in Paris?"},
            {"role": "assistant", "content": "Let me look."},
            {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city":"Paris"}'},
            {"type": "function_call", "call_id": "c2", "name": "get_weather", "arguments": '{ "city": "Nice" }'},
            {"type": "function_call_output", "call_id": "c1", "output": "18 °C"},
            {"type": "function_call_output", "call_id": "c2", "output": "Error: no data"},
            {"role": "system", "content": "Hurry."},
        ],
        "tools": [
            {
                "type": "function",
                "name": "get_weather",
                "description": "Weather for a city.",
                "parameters": CITY,
                "strict": False,
            }
        ],
        "tool_choice": "required",
        "max_output_tokens": 50,
        "temperature": 0.5,
        "stream": True,
    }


def test_the_least_request() -> None:
    assert encode([user("hi")], stream=False) == {"model": "m", "input": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("get_weather", {"type": "function", "name": "get_weather"}),
    ],
)
def test_tool_choice(choice: str, expected: Any) -> None:
    assert encode([user("hi")], tools=[WEATHER], tool_choice=choice).get("tool_choice") == expected


def test_a_tool_choice_that_is_no_tool() -> None:
    with pytest.raises(ConfigError):
        encode([user("hi")], tools=[WEATHER], tool_choice="get_time")


def test_names_outside_the_rule_are_mapped_everywhere() -> None:
    tool = {**WEATHER, "name": "files.read"}
    made = encode(
        [
            {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "files.read"}]},
            {"role": "tool", "content": [{"type": "tool_result", "id": "c1", "name": "files.read", "content": "x"}]},
        ],
        tools=[tool],
        tool_choice="files.read",
    )
    name = made["tools"][0]["name"]
    assert name != "files.read"
    assert "." not in name
    assert made["input"][0]["name"] == name
    assert made["tool_choice"]["name"] == name


def test_strict_tools_and_one_that_cannot_be() -> None:
    strict, free = encode([user("hi")], tools=[WEATHER, FREE], strict=True)["tools"]
    assert strict["strict"] is True
    assert strict["parameters"] == {**CITY, "additionalProperties": False}
    assert free["strict"] is False
    assert free["parameters"] == FREE["parameters"]


def test_reasoning_and_storing() -> None:
    made = encode([user("hi")], reasoning_effort="low", reasoning_summary="auto", store=False)
    assert made["reasoning"] == {"effort": "low", "summary": "auto"}
    assert made["store"] is False
    assert made["include"] == [ENCRYPTED_REASONING]
    # A model that does not reason refuses that wish.
    assert "include" not in encode([user("hi")], store=False)
    assert "include" not in encode([user("hi")], reasoning_effort="low")
    assert encode([user("hi")], store=False, include=[ENCRYPTED_REASONING])["include"] == [ENCRYPTED_REASONING]


PNG = {"type": "media", "media_type": "image/png", "data": "AA"}
MEDIA: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a picture": (PNG, {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "auto"}),
    "a picture by its address": (
        {"type": "media", "media_type": "image/png", "url": "https://a/b.png"},
        {"type": "input_image", "image_url": "https://a/b.png", "detail": "auto"},
    ),
    "a file": (
        {"type": "media", "media_type": "application/pdf", "data": "AA", "name": "a.pdf"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"},
    ),
    "a file by its address": (
        {"type": "media", "media_type": "application/pdf", "url": "https://a/b.pdf"},
        {"type": "input_file", "file_url": "https://a/b.pdf"},
    ),
}


@pytest.mark.parametrize("name", MEDIA)
def test_media(name: str) -> None:
    part, expected = MEDIA[name]
    text = {"type": "text", "text": "see"}
    assert items([{"role": "user", "content": [text, part]}]) == [
        {"role": "user", "content": [{"type": "input_text", "text": "see"}, expected]}
    ]
    result = {"type": "tool_result", "id": "c1", "name": "f", "content": [text, part], "is_error": True}
    assert items([{"role": "tool", "content": [result]}]) == [
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_text", "text": "Error:"}, {"type": "input_text", "text": "see"}, expected],
        }
    ]


@pytest.mark.parametrize("media_type", ["video/mp4", "audio/ogg"])
def test_media_that_it_does_not_take(media_type: str) -> None:
    with pytest.raises(ConfigError):
        encode([{"role": "user", "content": [{"type": "media", "media_type": media_type, "url": "https://a"}]}])


@pytest.mark.parametrize(
    ("role", "part"),
    [
        ("user", {"type": "tool_call", "id": "c1", "name": "f"}),
        ("tool", {"type": "text", "text": "a"}),
        ("assistant", {"type": "tool_result", "id": "c1", "name": "f"}),
    ],
)
def test_parts_in_the_wrong_place(role: str, part: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        encode([{"role": role, "content": [part]}])


THINKING = reasoning("hm", encrypted_content="e")
TEXT = message("Look", phase="commentary", status="completed")
CALL = call(X, status="completed")
SEARCH = {"type": "web_search_call", "id": "ws1", "status": "completed", "action": {"type": "search", "query": "q"}}
SHELL = {"type": "shell_call", "id": "sh1", "call_id": "c9", "status": "completed", "action": {"commands": ["ls"]}}
SHELL_OUTPUT = {"type": "shell_call_output", "id": "sho1", "call_id": "c9", "status": "completed", "output": []}
IMAGE = {"type": "image_generation_call", "id": "ig1", "status": "completed", "result": "AA"}
COMPACTION = {"type": "compaction", "id": "cmp1", "encrypted_content": "e"}

GOES_BACK: dict[str, list[dict[str, Any]]] = {
    "reasoning, text and a call": [THINKING, TEXT, CALL],
    "two calls": [THINKING, CALL, call('{"y": 2}', id="fc2", call_id="c2", status="completed")],
    "a call in a namespace": [call(X, status="completed", namespace="n", caller={"type": "direct"})],
    "free text": [THINKING, custom('a "b"\n')],
    "two messages": [TEXT, message("more", id="msg2", status="completed", phase="final_answer")],
    "a message of two parts": [message("a", "b", status="completed")],
    "an empty message after reasoning": [THINKING, message("", status="completed")],
    "a refusal": [{**TEXT, "content": [{"type": "refusal", "refusal": "No."}]}],
    "annotations": [
        {
            **TEXT,
            "content": [{"type": "output_text", "text": "a", "annotations": [{"type": "url_citation", "url": "u"}]}],
        }
    ],
    "the provider's own tools": [THINKING, SEARCH, TEXT],
    "the provider's own shell": [SHELL, SHELL_OUTPUT, TEXT],
    "a picture": [IMAGE, TEXT],
    "a compaction": [COMPACTION, TEXT],
    "a kind that nobody knows": [{"type": "teleport_call", "id": "t1", "to": "Mars"}, TEXT],
    "a summary in parts": [reasoning("a", "b", encrypted_content="e"), TEXT],
    "thoughts as they were": [reasoning(content=[{"type": "reasoning_text", "text": "hm"}]), CALL],
    "OpenRouter's reasoning behind the text": [TEXT, reasoning(encrypted_content="e", format="google-gemini-v1")],
}


@pytest.mark.parametrize("name", GOES_BACK)
def test_an_answer_goes_back_as_it_came(name: str) -> None:
    sent = GOES_BACK[name]
    for events in (
        [done(item, index) for index, item in enumerate(sent)],
        [done(item, index) for index, item in reversed(list(enumerate(sent)))],
    ):
        assert items([answer(*events)], store=False) == sent


def test_members_that_say_nothing_stay_out() -> None:
    sent = {**THINKING, "status": None}
    assert items([answer(done(sent), done(TEXT, 1))]) == [THINKING, TEXT]


def test_a_text_in_two_stretches_is_one_message() -> None:
    events = [
        added(message()),
        words("a"),
        added(call(), 1),
        piece(X, 1),
        words("b"),
        done(CALL, 1),
        done(message("ab", status="completed")),
    ]
    assert items([answer(*events)]) == [message("ab"), CALL]


def test_results_answer_their_kind_of_call() -> None:
    program = {"type": "program", "caller_id": "c7"}
    made = answer(
        done(custom("a")),
        done(call(X, id="fc2", call_id="c2"), 1),
        done(call(X, id="f3", call_id="c3", caller=program), 2),
    )
    results = tool_results([ToolResultPart(f"c{n}", "f", "r") for n in (1, 2, 3)])
    assert items([made, results])[3:] == [
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "r"},
        {"type": "function_call_output", "call_id": "c2", "output": "r"},
        {"type": "function_call_output", "call_id": "c3", "output": "r", "caller": program},
    ]


PLAIN = reasoning("hm")


def test_reasoning_that_the_server_keeps_goes_back_by_its_id() -> None:
    assert items([answer(done(PLAIN), done(CALL, 1))]) == [PLAIN, CALL]


@pytest.mark.parametrize("how", ["the request", "the answer"])
def test_where_reasoning_cannot_go_back_the_items_after_it_have_no_id(how: str) -> None:
    message_ = answer(done(PLAIN), done(TEXT, 1), done(CALL, 2), store=how == "the request")
    made = items([message_], store=False if how == "the request" else None)
    assert made == [{key: value for key, value in item.items() if key != "id"} for item in (TEXT, CALL)]


def test_reasoning_with_nothing_behind_it_stays_out() -> None:
    assert items([answer(done(THINKING))]) == []
    assert items([answer(done(TEXT), done(THINKING, 1))]) == [TEXT]


@pytest.mark.parametrize("kind", ["computer_call", "local_shell_call", "shell_call", "apply_patch_call"])
def test_calls_that_nobody_here_answers_stay_out_with_their_reasoning(kind: str) -> None:
    unanswered = {"type": kind, "id": "i1", "call_id": "c9", "status": "completed"}
    assert items([answer(done(unanswered), done(TEXT, 1))]) == [TEXT]
    assert items([answer(done(THINKING), done(unanswered, 1), done(CALL, 2))]) == [
        {key: value for key, value in CALL.items() if key != "id"}
    ]


@pytest.mark.parametrize(("execution", "sent"), [("client", False), ("server", True)])
def test_a_tool_search_stays_out_if_the_client_should_have_done_it(execution: str, sent: bool) -> None:
    search = {"type": "tool_search_call", "id": "ts1", "execution": execution, "arguments": {}}
    assert items([answer(done(search), done(TEXT, 1))]) == ([search, TEXT] if sent else [TEXT])


def test_what_came_from_another_wire_goes_as_plain_items() -> None:
    foreign = {"wire": "anthropic", "signature": "s"}
    made = items(
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "text": "hm", "provider_data": foreign},
                    {"type": "text", "text": "a", "provider_data": foreign},
                    {"type": "opaque", "provider_data": foreign},
                    {"type": "tool_call", "id": "c1", "name": "f", "provider_data": foreign},
                ],
            }
        ]
    )
    assert made == [
        {"role": "assistant", "content": "a"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    ]


def test_after_the_answer_that_the_server_has() -> None:
    conversation = [
        Message("system", "Be brief."),
        user("hi"),
        answer(done(THINKING), done(custom("a"), 1)),
        tool_results([ToolResultPart("c1", "f", "r")]),
        user("and?"),
    ]
    made = encode(conversation, use_previous_response=True)
    assert made["previous_response_id"] == "resp1"
    assert made["instructions"] == "Be brief."
    assert made["input"] == [
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "r"},
        {"role": "user", "content": "and?"},
    ]
    assert "previous_response_id" not in encode(conversation)


def test_an_answer_that_the_server_did_not_keep_goes_whole() -> None:
    conversation = [user("hi"), answer(done(TEXT), store=False), user("and?")]
    made = encode(conversation, use_previous_response=True)
    assert "previous_response_id" not in made
    assert made["input"][1] == TEXT


def test_a_cut_call_goes_back_with_empty_arguments() -> None:
    cut = call('{"x"', status="incomplete")
    stream, _ = read(whole(body_of([added(call()), piece('{"x"'), done(cut), end(status="incomplete")])), WIRE)
    results = tool_results([ToolResultPart("c1", "f", "cut", is_error=True)])
    assert items([stream.message, results]) == [
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "Error: cut"},
    ]


def test_reasoning_does_not_go_back_before_what_was_cut() -> None:
    events = [done(THINKING), added(call(), 1), piece('{"x"', 1), end(status="incomplete")]
    cut = read(whole(body_of(events)), WIRE)[0].message
    assert [item["type"] for item in items([cut])] == ["function_call"]
    cut = read(whole(body_of([done(THINKING), added(message(), 1), words("Lo", 1)])), WIRE)[0].message
    assert items([cut]) == [{"role": "assistant", "content": "Lo"}]


@pytest.mark.parametrize("odd", [None, 7, "x", [], {}, {"item": 7}, {"item": {"type": [], "status": {}, "id": []}}])
def test_opaque_data_of_any_form_is_taken(odd: Any) -> None:
    data = {**(odd if isinstance(odd, dict) else {"item": odd}), "wire": WIRE, "index": odd}
    parts: list[dict[str, Any]] = [
        {"type": "thinking", "provider_data": data},
        {"type": "text", "text": "a", "provider_data": data},
        {"type": "opaque", "provider_data": data},
        {"type": "media", "media_type": "image/png", "data": "AA", "provider_data": data},
        {"type": "tool_call", "id": "c1", "name": "f", "provider_data": data},
    ]
    made = items([{"role": "assistant", "content": parts}])
    assert any(item.get("call_id") == "c1" for item in made)
