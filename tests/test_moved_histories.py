"""Histories move between all formats: answers of one wire, or of several mixed, go on at every other, and what is sent
keeps the target's rules (`format_rules.py`) and fits its official SDK's types (`request_types.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
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
from toolwire.messages import (
    MediaPart,
    Message,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    dump_conversation,
    load_conversation,
    system,
    user,
)
from toolwire.providers.endpoint import resolve
from toolwire.tools.function import as_definition
from wire_bodies import WIRES

SERVICES = ("openai", "mistral", "deepseek", "openrouter")
"""Services of one wire that want something else of a history than one another."""
OLDER = "gemini-2.5"
"""Its models want no signatures, and take no media inside results."""
TARGETS = (*WIRES, OLDER, *SERVICES)

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
    st.builds(
        lambda words, media: Message("user", [*words, *media]),
        st.sampled_from([[], [TextPart("See:")]]),
        st.lists(st.sampled_from(MEDIA), min_size=1, max_size=2),
    ),
)
MANNERS = ("whole", "each", "reversed", "missing", "twice", "late", "never", "stray")
"""How results come: as one message, one message each, in another order, not all, twice, after the user's words, not at
all, with one that belongs to no call."""


def without_ids(answer: Message) -> Message:
    """As a program may hold it that had the answer from elsewhere: by the names of the calls alone."""
    parts = [msgspec.structs.replace(part, id="") if isinstance(part, ToolCallPart) else part for part in answer.parts]
    return msgspec.structs.replace(answer, content=parts)


@st.composite
def exchange(draw: st.DrawFn, wires: tuple[str, ...]) -> list[Message]:
    """What the user says, an answer, and its results."""
    wire = draw(st.sampled_from(wires))
    answer = draw(st.sampled_from(answers(wire)))
    answer = msgspec.structs.replace(answer, origin=draw(st.sampled_from(["", f"a provider of {wire}"])))
    if draw(st.booleans()):
        answer = without_ids(answer)
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
    if target in SERVICES:
        return resolve(f"{target}:m", {}, api_key="none").encode(messages=history, **options)
    wire, model = ("gemini", "gemini-2.5-flash") if target == OLDER else (target, "gemini-3-pro")
    return toolwire.encode_request(wire=wire, model=model, messages=history, **options)


def check(target: str, body: dict[str, Any]) -> None:
    assert broken(target, body) == []
    assert problems(target, body) == []


def check_moved(target: str, history: list[Message], sources: Iterable[str], *, tools: bool = True) -> None:
    if target in SERVICES:
        history = [msgspec.structs.replace(message, origin="elsewhere") for message in history]
    before = dump_conversation(history)
    body = encoded(target, history, tools=TOOLS if tools else ())
    assert dump_conversation(history) == before, "what was given is left as it is"
    check(target, body)
    sent = msgspec.json.encode(body).decode()
    for source in sources:
        if source != target.removesuffix("-2.5"):
            assert SECRET[source] not in sent
    for message in history:
        if message.role == "assistant" and message.text.strip():
            assert msgspec.json.encode(message.text.strip()).decode()[1:-1] in sent


def tries(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.thorough
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", WIRES)
@tries(12)
@given(data=st.data())
def test_every_format_goes_on_at_every_other(source: str, target: str, data: st.DataObject) -> None:
    check_moved(target, data.draw(histories((source,))), (source,))


@pytest.mark.thorough
@pytest.mark.parametrize("target", TARGETS)
@tries(60)
@given(history=histories(WIRES), tools=st.booleans())
def test_answers_of_many_in_one_history(target: str, history: list[Message], tools: bool) -> None:
    check_moved(target, history, WIRES, tools=tools)


@st.composite
def proper_histories(draw: st.DrawFn) -> list[Message]:
    """Conversations as an agent leads them: every answer with calls is answered at once."""
    history: list[Message] = []
    for _ in range(draw(st.integers(1, 3))):
        history.append(user("And then?"))
        for _ in range(draw(st.integers(1, 3))):
            answer = draw(st.sampled_from(answers(draw(st.sampled_from(WIRES)))))
            history.append(msgspec.structs.replace(answer, origin="elsewhere"))
            results: list[Part] = [ToolResultPart(call.id, call.name, draw(GIVEN)) for call in answer.tool_calls]
            if not results:
                break
            history.append(Message("tool", results))
    return [*history, user("Go on.")]


def sent_items(target: str, history: list[Message]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = encoded(target, history)[MEMBER.get(target, "messages")]
    return items


def begins(later: list[dict[str, Any]], earlier: list[dict[str, Any]]) -> bool:
    """Whether a request begins with another; of its last message there may be more."""
    *before, last = earlier
    if later[: len(before)] != before or len(later) < len(earlier):
        return False
    grown = later[len(before)]
    member = "parts" if "parts" in last else "content"
    if grown != last and isinstance(last.get(member), list):
        grown = {**grown, member: grown[member][: len(last[member])]}
    return grown == last


@pytest.mark.parametrize("target", TARGETS)
@tries(40)
@given(history=proper_histories())
def test_every_request_begins_with_the_one_before(target: str, history: list[Message]) -> None:
    """What the providers' caches live by; and a history that was saved is the same one."""
    asked = [end for end, message in enumerate(history, 1) if message.role != "assistant"]
    requests = [sent_items(target, history[:end]) for end in asked]
    for earlier, later in pairwise(requests):
        assert begins(later, earlier)
    assert sent_items(target, load_conversation(dump_conversation(history))) == requests[-1]


def recorded(row: dict[str, Any], wire: str) -> Message:
    """A recorded answer; pictures that the recorder cut short are made whole ones."""
    answer = read(whole(recorded_body(row)), wire)[0].message
    answer.origin = row["api"]
    for part in answer.parts:
        if isinstance(part, MediaPart) and part.url is not None and part.url.startswith("data:"):
            part.url = f"data:{part.media_type};base64,{PNG}"
    return answer


@pytest.mark.thorough
@needs_corpus
@pytest.mark.parametrize("target", TARGETS)
def test_recorded_answers_go_on_everywhere(target: str) -> None:
    """Every recorded core answer as the first one of a history, its calls answered, at every other format."""
    for row in every_row(core=True):
        wire = SHAPES[row["shape"]]
        if wire == target.removesuffix("-2.5"):
            continue
        answer = recorded(row, wire)
        results: list[Part] = [ToolResultPart(call.id, call.name, "done") for call in answer.tool_calls]
        body = encoded(target, [user("Hello"), answer, Message("tool", results), user("Go on.")])
        assert broken(target, body) == [], row["case"]
        assert problems(target, body) == [], row["case"]


MEMBER = {"openai-responses": "input", "gemini": "contents", OLDER: "contents"}
"""Where messages stand, if not under their usual name."""

BAD: dict[str, dict[str, Any]] = {
    "openai-chat": {"role": "tool", "tool_call_id": "c", "content": "x"},
    "openai": {
        "role": "user",
        "content": [{"type": "file", "file": {"filename": "a", "file_data": "data:text/csv;x"}}],
    },
    "mistral": {"role": "tool", "tool_call_id": "c", "content": "x"},
    "deepseek": {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/b"}}]},
    "openrouter": {"role": "tool", "tool_call_id": "c", "content": "x"},
    "openai-responses": {"type": "function_call_output", "call_id": "c", "output": "x"},
    "anthropic": {"role": "user", "content": [{"type": "text", "text": " "}]},
    "gemini": {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
    OLDER: {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
    "ollama": {"role": "tool", "tool_name": "f", "tool_call_id": "c", "content": "x"},
    "bedrock": {"role": "user", "content": [{"text": " "}]},
    "cohere": {"role": "tool", "tool_call_id": "c", "content": "x"},
}


@pytest.mark.parametrize("target", TARGETS)
def test_the_rules_and_the_types_can_fail(target: str) -> None:
    body = encoded(target, [user("Hello")])
    member = MEMBER.get(target, "messages")
    assert broken(target, {**body, member: [*body[member], BAD[target]]})
    assert problems(target, {**body, member: [{"role": "user"}, {"role": {}, "content": 5, "parts": 5}]})
