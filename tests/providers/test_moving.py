"""Moving histories: ids, results, what stays behind, what is mentioned, and what is told about it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolwire
from feeding import typed_sse
from foreign_answers import PNG, answers
from toolwire.errors import ConfigError
from toolwire.messages import (
    MediaPart,
    Message,
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    dump_conversation,
    system,
    user,
)
from toolwire.providers.catalog import PROVIDERS
from toolwire.providers.dialects import MISTRAL
from toolwire.providers.endpoint import encode_for
from toolwire.providers.moving import FAMILIES, NOT_RUN, OPENING, move_history
from toolwire.providers.wires import WIRES

HELLO = user("Hello")


def said(*parts: str | Part, origin: str = "", data: tuple[dict[str, Any], ...] = ()) -> Message:
    return Message("assistant", [TextPart(part) if isinstance(part, str) else part for part in parts], [*data], origin)


def calls(*ids: str, name: str = "f") -> list[ToolCallPart]:
    return [ToolCallPart(call_id, name, {"x": 1}) for call_id in ids]


def result(call_id: str, words: str = "", name: str = "f") -> ToolResultPart:
    return ToolResultPart(call_id, name, words or f"r {call_id}")


def results(*given: str | ToolResultPart) -> Message:
    return Message("tool", [result(one) if isinstance(one, str) else one for one in given])


def not_run(call_id: str, name: str = "f") -> ToolResultPart:
    return ToolResultPart(call_id, name, NOT_RUN, is_error=True)


# Calls and their results

PAIRED: dict[str, tuple[list[Message], list[Message], list[str]]] = {
    "as it should be": (
        [system("s"), HELLO, said(*calls("a", "b")), results("a", "b"), said("so"), HELLO],
        [system("s"), HELLO, said(*calls("a", "b")), results("a", "b"), said("so"), HELLO],
        [],
    ),
    "a message for each result": (
        [HELLO, said(*calls("a", "b")), results("a"), results("b")],
        [HELLO, said(*calls("a", "b")), results("a", "b")],
        [],
    ),
    "all there, in another order": (
        [HELLO, said(*calls("a", "b")), results("b", "a")],
        [HELLO, said(*calls("a", "b")), results("b", "a")],
        [],
    ),
    "words of the user in between": (
        [HELLO, said(*calls("a", "b")), results("b"), user("wait"), results("a")],
        [HELLO, said(*calls("a", "b")), results("a", "b"), user("wait")],
        [],
    ),
    "a system message in between": (
        [HELLO, said(*calls("a")), system("be quick"), results("a")],
        [HELLO, said(*calls("a")), results("a"), system("be quick")],
        [],
    ),
    "no result": (
        [HELLO, said(*calls("a", "b")), results("b"), HELLO],
        [HELLO, said(*calls("a", "b")), results(not_run("a"), "b"), HELLO],
        ["answered as not run, since no result was there: f"],
    ),
    "the last answer still waits": (
        [HELLO, said(*calls("a"))],
        [HELLO, said(*calls("a")), results(not_run("a"))],
        ["answered as not run, since no result was there: f"],
    ),
    "two results: the first counts": (
        [HELLO, said(*calls("a")), results(result("a", "1"), result("a", "2")), results(result("a", "3"))],
        [HELLO, said(*calls("a")), results(result("a", "1"))],
        ["2 results left out, for which no call waits"],
    ),
    "a result without a call": (
        [HELLO, results("a"), said("so"), HELLO],
        [HELLO, said("so"), HELLO],
        ["1 result left out, for which no call waits"],
    ),
    "a result before its call": (
        [HELLO, results("a"), said(*calls("a")), HELLO],
        [HELLO, said(*calls("a")), results(not_run("a")), HELLO],
        ["answered as not run, since no result was there: f", "1 result left out, for which no call waits"],
    ),
    "an id in every answer": (
        [HELLO, said(*calls("c")), results(result("c", "1")), said(*calls("c")), results(result("c", "2"))],
        [HELLO, said(*calls("c")), results(result("c", "1")), said(*calls("c_2")), results(result("c_2", "2"))],
        [],
    ),
    "an id in every answer, the first without a result": (
        [HELLO, said(*calls("c")), HELLO, said(*calls("c")), results(result("c", "2"))],
        [HELLO, said(*calls("c")), results(not_run("c")), HELLO, said(*calls("c_2")), results(result("c_2", "2"))],
        ["answered as not run, since no result was there: f"],
    ),
    "both results late: the nearest first": (
        [HELLO, said(*calls("c")), HELLO, said(*calls("c")), results(result("c", "2"), result("c", "1"))],
        [
            HELLO,
            said(*calls("c")),
            results(result("c", "1")),
            HELLO,
            said(*calls("c_2")),
            results(result("c_2", "2")),
        ],
        [],
    ),
    "no ids: by name, then by order": (
        [
            HELLO,
            said(*calls("", ""), *calls("", name="g")),
            results(result("", "1", "g"), result("", "2"), result("", "3")),
        ],
        [
            HELLO,
            said(*calls("call", "call_2"), *calls("call_3", name="g")),
            results(result("call_3", "1", "g"), result("call", "2"), result("call_2", "3")),
        ],
        [],
    ),
    "a result under another name": (
        [HELLO, said(*calls("a")), results(result("a", "1", "g"))],
        [HELLO, said(*calls("a")), results(result("a", "1"))],
        [],
    ),
    "calls of answers in a row are one turn": (
        [HELLO, said(*calls("a")), said("so", *calls("b")), said("on"), results("a", "b")],
        [HELLO, said(*calls("a"), "so", *calls("b"), "on"), results("a", "b")],
        [],
    ),
    "words before calls stay a message": (
        [HELLO, said("so"), said(*calls("a")), results("a")],
        [HELLO, said("so"), said(*calls("a")), results("a")],
        [],
    ),
    "an answer after results is another": (
        [HELLO, said(*calls("a")), results("a"), said(*calls("b")), results("b")],
        [HELLO, said(*calls("a")), results("a"), said(*calls("b")), results("b")],
        [],
    ),
    "a part in the wrong message is left for the encoder": (
        [HELLO, said(*calls("a")), Message("tool", [result("a"), TextPart("x")])],
        [HELLO, said(*calls("a")), results("a"), Message("tool", [TextPart("x")])],
        [],
    ),
    "an empty message of results": ([HELLO, results(), HELLO], [HELLO, HELLO], []),
    "nothing": ([], [], []),
}


@pytest.mark.parametrize("name", PAIRED)
def test_calls_and_results(name: str) -> None:
    before, after, notes = PAIRED[name]
    kept = dump_conversation(before)
    moved = move_history(before, wire="openai-chat")
    assert moved.messages == after
    assert moved.notes == notes
    assert dump_conversation(before) == kept


@pytest.mark.parametrize("wire", WIRES)
def test_answers_in_a_row_stay_apart_where_encoders_join_them(wire: str) -> None:
    moved = move_history([HELLO, said(*calls("a")), said("so"), results("a")], wire=wire).messages
    one_by_one = wire in ("openai-chat", "ollama", "cohere")
    assert [message.role for message in moved] == ["user", *["assistant"] * (1 if one_by_one else 2), "tool"]


@pytest.mark.parametrize("wire", ["gemini", "ollama"])
def test_results_stand_in_the_order_of_calls_where_their_place_ties_them(wire: str) -> None:
    moved = move_history([HELLO, said(*calls("a", "b")), results("b", "a")], wire=wire)
    assert moved.messages == [HELLO, said(*calls("a", "b")), results("a", "b")]


def test_ids_by_the_rule_of_the_wire_or_of_the_provider() -> None:
    history = [HELLO, said(*calls("functions.f:0")), results("functions.f:0")]
    assert move_history(history, wire="bedrock").messages == history
    for wire, dialect in (("anthropic", None), ("openai-chat", MISTRAL)):
        moved = move_history(history, wire=wire, dialect=dialect)
        (call,) = moved.messages[1].tool_calls
        (answer,) = moved.messages[2].parts
        assert isinstance(answer, ToolResultPart)
        assert call.id == answer.id != "functions.f:0"
        assert moved.notes == []


def test_a_server_is_told_the_id_that_it_gave() -> None:
    """A service that numbers its calls from nought in each answer, and has kept the answers."""

    def answer() -> Message:
        item = {"id": "fc", "type": "function_call", "call_id": "call_0", "name": "f", "arguments": "{}"}
        response = {"id": "r1", "status": "completed", "store": True, "output": [item]}
        stream = toolwire.Stream("openai-responses")
        stream.feed(
            typed_sse(
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response},
            )
        )
        return stream.message

    history = [HELLO, answer(), results("call_0"), answer(), results("call_0")]

    def sent(**options: Any) -> list[str]:
        body = toolwire.encode_request(wire="openai-responses", model="m", messages=history, **options)
        return [item["call_id"] for item in body["input"] if "call_id" in item]

    assert sent() == ["call_0", "call_0", "call_0_2", "call_0_2"]
    assert sent(use_previous_response=True) == ["call_0"]


# What stays behind


def of(wire: str, **members: Any) -> dict[str, Any]:
    return {"wire": wire, **members}


ANSWER = said(
    ThinkingPart("hm", of("anthropic", signature="S")),
    ThinkingPart("", of("anthropic", block={"type": "redacted_thinking"})),
    TextPart("Found.", provider_data=of("anthropic", citations=[])),
    OpaquePart(of("anthropic", block={"type": "server_tool_use"}), "web_search"),
    ToolCallPart("c", "f", provider_data=of("anthropic", caller={"type": "direct"})),
    data=(of("anthropic", container="box"),),
)
HISTORY = [HELLO, ANSWER, results("c")]
LEFT = [HELLO, said("Found.", ToolCallPart("c", "f")), results("c")]


def with_origin(origin: str) -> list[Message]:
    return [HELLO, msgspec.structs.replace(ANSWER, origin=origin), results("c")]


@pytest.mark.parametrize(
    ("origin", "provider"),
    [
        ("", ""),
        ("", "anthropic"),
        ("anthropic", ""),
        ("anthropic", "anthropic"),
        ("vertex-anthropic", "anthropic"),
        ("anthropic", "bedrock-anthropic"),
    ],
)
def test_home_again(origin: str, provider: str) -> None:
    moved = move_history(with_origin(origin), wire="anthropic", provider=provider)
    assert moved.messages == with_origin(origin)
    assert moved.notes == []


@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire not in ("anthropic", "openai-chat", "ollama")])
def test_what_only_its_own_provider_reads(wire: str) -> None:
    moved = move_history(HISTORY, wire=wire)
    assert moved.messages == LEFT
    assert moved.notes == [
        "2 parts of reasoning left out: only who wrote it can read it",
        "left out what another provider's own tools did: web_search",
    ]


@pytest.mark.parametrize("wire", ["openai-chat", "ollama"])
def test_reasoning_in_words_where_there_is_a_member_for_it(wire: str) -> None:
    moved = move_history(HISTORY, wire=wire)
    assert moved.messages[1] == said(ThinkingPart("hm"), *LEFT[1].parts)
    assert "1 part of another model's reasoning kept as words alone" in moved.notes


@pytest.mark.parametrize("wire", ["openai-responses", "anthropic", "bedrock", "cohere"])
def test_reasoning_that_nobody_signed_is_not_of_a_wire_that_marks_its_own(wire: str) -> None:
    """As `Stream` gives it for a wire that has no signatures: without an origin, and gone without a word otherwise."""
    history = [HELLO, said(ThinkingPart("hm"), "so"), HELLO]
    moved = move_history(history, wire=wire)
    assert moved.messages == [HELLO, said("so"), HELLO]
    assert moved.notes == ["1 part of reasoning left out: only who wrote it can read it"]
    own = [HELLO, said(ThinkingPart("cut before its signature"), "so", origin="home"), HELLO]
    assert move_history(own, wire=wire, provider="home").notes == []


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_notes_say_whether_the_words_went_along(name: str) -> None:
    answer = said(ThinkingPart("thought of before"), *calls("c"), origin="elsewhere")
    notes: list[str] = []
    body = encode_for(PROVIDERS[name], model="m", messages=[HELLO, answer, results("c")], notes=notes)
    told = ["1 part of another model's reasoning kept as words alone"]
    if "thought of before" not in str(body):
        told = ["1 part of reasoning left out: only who wrote it can read it"]
    assert notes == told


def test_notes_of_a_request_for_a_wire() -> None:
    notes: list[str] = []
    toolwire.encode_request(wire="gemini", model="m", messages=HISTORY, notes=notes)
    assert notes == move_history(HISTORY, wire="gemini").notes != []
    notes.clear()
    toolwire.encode_request(wire="openai-chat", model="m", messages=HISTORY, notes=notes)
    assert notes[0] == "2 parts of reasoning left out: only who wrote it can read it"
    notes.clear()
    toolwire.encode_request(wire="openai-chat", model="m", messages=HISTORY, notes=notes, dialect=MISTRAL)
    assert notes[1] == "1 part of another model's reasoning kept as words alone"


def test_another_provider_of_the_same_wire() -> None:
    moved = move_history(with_origin("somebody"), wire="anthropic", provider="anthropic")
    assert moved.messages == [HELLO, msgspec.structs.replace(LEFT[1], origin="somebody"), results("c")]
    details = of("openai-chat", reasoning_detail={"type": "reasoning.encrypted", "data": "E"})
    call = ToolCallPart("c", "f", provider_data=of("openai-chat", extra_content={"google": {}}))
    history = [HELLO, said(call, origin="openrouter", data=(details,)), results("c")]
    moved = move_history(history, wire="openai-chat", provider="deepseek")
    assert moved.messages == [HELLO, said(ToolCallPart("c", "f"), origin="openrouter"), results("c")]
    assert move_history(history, wire="openai-chat", provider="openrouter").messages == history


EMPTIED: dict[str, Message] = {
    "thoughts": said(ThinkingPart("hm", of("anthropic", signature="S"))),
    "sealed thoughts": said(ThinkingPart("", of("anthropic", block={"type": "redacted_thinking"}))),
    "a signature on no words": said(TextPart("", provider_data=of("openai-responses", item={}))),
    "a tool of the provider": said(OpaquePart(of("bedrock", block={}), "web_search")),
    "a picture drawn while thinking": said(
        MediaPart("image/png", data=PNG, provider_data=of("anthropic", thought=True))
    ),
    "what belongs to the answer as a whole": said(data=(of("openai-responses", response_id="r"),)),
    "nothing, from elsewhere": said(origin="somebody"),
}


@pytest.mark.parametrize("name", EMPTIED)
def test_no_empty_answer_is_left(name: str) -> None:
    moved = move_history([HELLO, EMPTIED[name], user("so?")], wire="gemini", provider="gemini")
    assert moved.messages == [HELLO, user("so?")]


@pytest.mark.parametrize(
    ("origin", "provider", "signature"),
    [
        ("vertex", "vertex-express", "S"),
        ("gemini", "vertex", "skip_thought_signature_validator"),
        ("vertex", "gemini", "skip_thought_signature_validator"),
    ],
)
def test_signatures_of_gemini_models_go_back_to_the_service_that_gave_them(
    origin: str, provider: str, signature: str
) -> None:
    call = ToolCallPart("c", "f", provider_data=of("gemini", thoughtSignature="S"))
    history = [HELLO, said(call, origin=origin), results("c")]
    body = encode_for(PROVIDERS[provider], model="gemini-3-pro", messages=history)
    assert body["contents"][1]["parts"][0]["thoughtSignature"] == signature


def test_every_family_is_of_providers_that_there_are() -> None:
    for family in FAMILIES:
        assert family <= PROVIDERS.keys()
        assert len({PROVIDERS[name].asks_in for name in family}) == 1


# Media

PICTURE = MediaPart("image/png", data=PNG)
FILM = MediaPart("video/mp4", url="https://a.example/b.mp4")
MENTION = TextPart("[video/mp4: cannot be shown here]")


def test_media_become_mentions() -> None:
    shown = ToolResultPart("c", "f", [TextPart("see"), FILM, PICTURE])
    history = [Message("user", [TextPart("See:"), FILM, PICTURE]), said(PICTURE, FILM, *calls("c")), results(shown)]
    moved = move_history(history, wire="anthropic")
    mentioned = TextPart("[image/png, 18 bytes: cannot be shown here]")
    assert moved.messages == [
        Message("user", [TextPart("See:"), MENTION, PICTURE]),
        said(mentioned, MENTION, *calls("c")),
        results(ToolResultPart("c", "f", [TextPart("see"), MENTION, PICTURE])),
    ]
    lost = " ".join(part.text for part in (MENTION, mentioned, MENTION, MENTION))
    assert moved.notes == [f"media that this provider does not take there, mentioned in words: {lost}"]
    assert move_history(history, wire="gemini").messages == history


def test_what_the_user_has_just_sent_is_left_for_the_encoder_to_refuse() -> None:
    asked = Message("user", [FILM])
    assert move_history([HELLO, said("so"), asked], wire="anthropic").messages[-1] == asked
    with pytest.raises(ConfigError, match="video/mp4"):
        toolwire.encode_request(wire="anthropic", model="m", messages=[asked])


def test_a_provider_that_takes_less_than_its_wire_has() -> None:
    history = [Message("user", [MediaPart("application/pdf", data=PNG), PICTURE]), said("so"), HELLO]
    assert move_history(history, wire="openai-chat").messages == history
    asked = move_history(history, wire="openai-chat", provider="mistral").messages[0]
    assert asked == Message("user", [TextPart("[application/pdf, 18 bytes: cannot be shown here]"), PICTURE])
    assert move_history(history, wire="openai-chat", provider="openai").messages == history
    asked = move_history(history, wire="openai-chat", provider="deepseek").messages[0]
    assert all(isinstance(part, TextPart) for part in asked.parts)


@pytest.mark.parametrize("kind", ["image/tiff", "audio/ogg", "video/mp4", "text/csv", "application/json"])
@pytest.mark.parametrize("provider", ["openai", "azure"])
def test_openai_takes_no_file_but_pdf(provider: str, kind: str) -> None:
    history = [Message("user", [MediaPart(kind, data=PNG)]), said("so"), HELLO]
    moved = move_history(history, wire="openai-chat", provider=provider)
    assert moved.messages[0] == Message("user", [TextPart(f"[{kind}, 18 bytes: cannot be shown here]")])
    assert len(moved.notes) == 1


def test_media_that_the_provider_gave_itself_go_back() -> None:
    own = MediaPart("image", url="gs://a/b", provider_data=of("gemini", fileData={"fileUri": "gs://a/b"}))
    history = [HELLO, said(own), HELLO]
    assert move_history(history, wire="gemini").messages == history
    assert move_history(history, wire="ollama").messages[1] == said("[image: cannot be shown here]")


# The beginning


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_at_the_beginning(wire: str) -> None:
    first = user(OPENING)
    for before in ([], [system("s")], [user("")], [user("  "), system("s")]):
        moved = move_history([*before, said("so"), HELLO], wire=wire)
        opened = [first] if wire in ("anthropic", "gemini", "bedrock") else []
        assert moved.messages == [*before, *opened, said("so"), HELLO]
        assert bool(moved.notes) == bool(opened)
    assert move_history([PICTURE_ALONE, said("so")], wire=wire).messages[0] == PICTURE_ALONE


PICTURE_ALONE = Message("user", [PICTURE])


# Everything

ANSWERS = [answer for wire in WIRES for answer in answers(wire)]
GIVEN = st.lists(st.sampled_from([call.id for answer in ANSWERS for call in answer.tool_calls]), max_size=4)
MESSAGES = st.one_of(
    st.sampled_from(ANSWERS),
    st.sampled_from([HELLO, system("s"), PICTURE_ALONE]),
    GIVEN.map(lambda ids: results(*ids)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(MESSAGES, max_size=8), st.sampled_from([*WIRES]))
def test_moving_again_changes_nothing(history: list[Message], wire: str) -> None:
    once = move_history(history, wire=wire)
    again = move_history(once.messages, wire=wire)
    assert again.messages == once.messages
    assert again.notes == []


@settings(max_examples=150, deadline=None)
@given(st.lists(MESSAGES, max_size=8), st.sampled_from([*WIRES]))
def test_a_longer_conversation_begins_the_same(history: list[Message], wire: str) -> None:
    def ids(messages: list[Message]) -> list[str]:
        return [call.id for message in move_history(messages, wire=wire).messages for call in message.tool_calls]

    whole = ids(history)
    for end in range(len(history)):
        part = ids(history[:end])
        assert whole[: len(part)] == part
