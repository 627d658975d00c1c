"""Histories move between all formats: answers of one wire, or of several mixed, go on at every other, and what is sent
keeps the target's rules (`format_rules.py`) and fits its official SDK's types (`request_types.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolwire
from corpus import WIRES as SHAPES
from corpus import body as recorded_body
from corpus import every_row, needs_corpus
from feeding import read, whole
from foreign_answers import PNG, SECRET, answers
from format_rules import broken
from request_types import problems
from toolwire.messages import MediaPart, Message, Part, TextPart, ToolResultPart, dump_conversation, system, user
from toolwire.providers.endpoint import resolve
from toolwire.tools.function import as_definition
from wire_bodies import WIRES

TARGETS = (*WIRES, "mistral")
"""Every wire, and the strictest of the services that speak one of them."""

TOOLS = [
    as_definition({"name": name, "description": "A tool.", "parameters": {"type": "object", "properties": {"x": {}}}})
    for name in ("f", "g", "files.read")
]
MEDIA = (
    MediaPart("image/png", data=PNG),
    MediaPart("image/png", url="https://a.example/b.png"),
    MediaPart("image/png", url=f"data:image/png;base64,{PNG}"),
    MediaPart("image/tiff", data=PNG),
    MediaPart("application/pdf", data=PNG, name="a.pdf"),
    MediaPart("audio/ogg", data=PNG),
    MediaPart("audio/wav", data=PNG),
    MediaPart("video/mp4", url="https://a.example/b.mp4"),
)
GIVEN = st.one_of(
    st.sampled_from(["18 °C", "", "   "]),
    st.lists(st.one_of(st.builds(TextPart, st.sampled_from(["seen", ""])), st.sampled_from(MEDIA)), max_size=2),
)
ASKED = st.one_of(
    st.sampled_from(["And then?", ""]).map(user),
    st.lists(st.sampled_from(MEDIA), min_size=1, max_size=2).map(
        lambda media: Message("user", [TextPart("See:"), *media])
    ),
)
MANNERS = ("whole", "each", "reversed", "missing", "twice", "late", "never", "stray")
"""How results come: as one message, one message each, in another order, not all, twice, after the user's words, not at
all, with one that belongs to no call."""


@st.composite
def exchange(draw: st.DrawFn, wires: tuple[str, ...]) -> list[Message]:
    """What the user says, an answer, and its results."""
    wire = draw(st.sampled_from(wires))
    answer = draw(st.sampled_from(answers(wire)))
    answer = msgspec.structs.replace(answer, origin=draw(st.sampled_from(["", f"a provider of {wire}"])))
    results: list[Part] = [
        ToolResultPart(call.id, call.name, draw(GIVEN), draw(st.booleans())) for call in answer.tool_calls
    ]
    said = draw(st.lists(ASKED, max_size=2))
    manner = draw(st.sampled_from(MANNERS))
    if manner == "each":
        return [*said, answer, *(Message("tool", [result]) for result in results)]
    if manner == "late":
        return [*said, answer, user("Wait."), Message("tool", results)]
    if manner == "never":
        return [*said, answer]
    if manner == "reversed":
        results.reverse()
    elif manner == "missing":
        results = results[1:]
    elif manner == "twice":
        results += results
    elif manner == "stray":
        results.append(ToolResultPart("nobody", "f", "?"))
    return [*said, answer, Message("tool", results)]


def histories(wires: tuple[str, ...]) -> st.SearchStrategy[list[Message]]:
    """Conversations that end with a question of the user."""
    exchanges = st.lists(exchange(wires), min_size=1, max_size=4)
    begun = st.sampled_from([[], [system("Be brief.")]])
    return st.builds(
        lambda head, parts: [*head, *(message for part in parts for message in part), user("Go on.")], begun, exchanges
    )


def encoded(target: str, history: Iterable[Message], **options: Any) -> dict[str, Any]:
    if target == "mistral":
        return resolve("mistral:m", {}, api_key="none").encode(messages=history, **options)
    return toolwire.encode_request(wire=target, model="gemini-3-pro", messages=history, **options)


def check(target: str, body: dict[str, Any]) -> None:
    assert broken(target, body) == []
    assert problems(target, body) == []


def check_moved(target: str, history: list[Message], sources: Iterable[str]) -> None:
    if target == "mistral":
        history = [msgspec.structs.replace(message, origin="elsewhere") for message in history]
    before = dump_conversation(history)
    body = encoded(target, history, tools=TOOLS)
    assert dump_conversation(history) == before, "what was given is left as it is"
    check(target, body)
    sent = msgspec.json.encode(body).decode()
    for source in sources:
        if source != target:
            assert SECRET[source] not in sent
    for message in history:
        if message.role == "assistant" and message.text.strip():
            assert msgspec.json.encode(message.text.strip()).decode()[1:-1] in sent


def tries(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", WIRES)
@tries(12)
@given(data=st.data())
def test_every_format_goes_on_at_every_other(source: str, target: str, data: st.DataObject) -> None:
    check_moved(target, data.draw(histories((source,))), (source,))


@pytest.mark.parametrize("target", TARGETS)
@tries(60)
@given(history=histories(WIRES))
def test_answers_of_many_in_one_history(target: str, history: list[Message]) -> None:
    check_moved(target, history, WIRES)


def recorded(row: dict[str, Any], wire: str) -> Message:
    """A recorded answer; pictures that the recorder cut short are made whole ones."""
    answer = read(whole(recorded_body(row)), wire)[0].message
    answer.origin = row["api"]
    for part in answer.parts:
        if isinstance(part, MediaPart) and part.url is not None and part.url.startswith("data:"):
            part.url = f"data:{part.media_type};base64,{PNG}"
    return answer


@needs_corpus
@pytest.mark.parametrize("target", TARGETS)
def test_recorded_answers_go_on_everywhere(target: str) -> None:
    """Every recorded core answer as the first one of a history, its calls answered, at every other format."""
    for row in every_row(core=True):
        wire = SHAPES[row["shape"]]
        if wire == target:
            continue
        answer = recorded(row, wire)
        results: list[Part] = [ToolResultPart(call.id, call.name, "done") for call in answer.tool_calls]
        body = encoded(target, [user("Hello"), answer, Message("tool", results), user("Go on.")])
        assert broken(target, body) == [], row["case"]
        assert problems(target, body) == [], row["case"]


BAD: dict[str, dict[str, Any]] = {
    "openai-chat": {"role": "tool", "tool_call_id": "c", "content": "x"},
    "mistral": {"role": "tool", "tool_call_id": "c", "content": "x"},
    "openai-responses": {"type": "function_call_output", "call_id": "c", "output": "x"},
    "anthropic": {"role": "user", "content": [{"type": "text", "text": " "}]},
    "gemini": {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
    "ollama": {"role": "tool", "tool_name": "f", "tool_call_id": "c", "content": "x"},
    "bedrock": {"role": "user", "content": [{"text": " "}]},
    "cohere": {"role": "tool", "tool_call_id": "c", "content": "x"},
}


@pytest.mark.parametrize("target", TARGETS)
def test_the_rules_and_the_types_can_fail(target: str) -> None:
    body = encoded(target, [user("Hello")])
    member = {"openai-responses": "input", "gemini": "contents"}.get(target, "messages")
    assert broken(target, {**body, member: [*body[member], BAD[target]]})
    assert problems(target, {**body, member: [{"role": "user"}, {"role": {}, "content": 5, "parts": 5}]})
