"""Any history is made one that every provider takes: the proof with a small count, and what it found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from bench.trust.histories import STRICT, TARGETS, Target, histories_repaired, wrongs

from foreign_answers import PNG, SECRET
from toolwire.messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user
from toolwire.providers.moving import Moved, move_history

PDF = MediaPart("application/pdf", data=PNG, name="a.pdf")
CALL = ToolCallPart("c1", "f", {"x": 1})


def test_random_histories_are_repaired() -> None:
    found = histories_repaired(200, 11)
    assert found.faults == []
    assert found.runs == 200
    assert "broken answers" in found.words


each_target = pytest.mark.parametrize("target", [*TARGETS, *STRICT], ids=lambda target: target.rules)


@each_target
def test_media_that_was_refused_does_not_stand_in_the_way_of_the_next_question(target: Target) -> None:
    """The run that was asked so has failed; the person says something else."""
    assert wrongs(target, [user("Hello"), Message("user", [PDF]), user("Never mind. What is 2 + 3?")]) == []


@each_target
def test_answers_of_two_providers_in_a_row_stay_what_they_are_when_they_are_moved_again(target: Target) -> None:
    first = Message("assistant", [TextPart("Well."), CALL], origin="elsewhere")
    second = Message("assistant", [ThinkingPart("hm"), ToolCallPart("c2", "g")], origin="")
    results = Message("tool", [ToolResultPart("c1", "f", "1"), ToolResultPart("c2", "g", "2")])
    history = [user("Look."), first, second, results, user("Go on.")]
    assert wrongs(target, history) == []
    if target.wire == "openai-chat":
        moved = move_history(history, wire=target.wire, provider="openai", dialect=target.endpoint.provider.dialect)
        answer = next(message for message in moved.messages if message.role == "assistant")
        assert answer.origin == "openai"
        assert [call.name for call in answer.tool_calls] == ["f", "g"]


BAD: list[tuple[str, list[Message]]] = [
    ("a call without its result", [user("x"), Message("assistant", [CALL]), user("y")]),
    ("a result without its call", [user("x"), Message("tool", [ToolResultPart("c1", "f", "1")]), user("y")]),
    (
        "a call answered twice",
        [
            user("x"),
            Message("assistant", [CALL]),
            Message("tool", [ToolResultPart("c1", "f", "1"), ToolResultPart("c1", "f", "1")]),
        ],
    ),
]


@pytest.mark.parametrize("history", [history for _, history in BAD], ids=[words for words, _ in BAD])
@each_target
def test_the_checks_can_fail(target: Target, history: list[Message], monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent as it is, each of these breaks a rule of the provider."""

    def as_it_is(messages: Any, **_: Any) -> Any:
        return Moved(list(messages))

    monkeypatch.setattr("toolwire.providers.endpoint.move_history", as_it_is)
    try:
        told = wrongs(target, history)
    except Exception as error:
        told = [repr(error)]
    assert told


def test_what_only_its_own_provider_reads_is_looked_for() -> None:
    responses = next(target for target in TARGETS if target.wire == "openai-responses")
    signed = {"wire": "anthropic", "type": "thinking", "signature": SECRET["anthropic"]}
    answer = Message("assistant", [TextPart(SECRET["anthropic"]), ThinkingPart("hm", signed)])
    history = [user("x"), answer, user("y")]
    assert wrongs(responses, history, frozenset([("anthropic", "")])) == ["what only anthropic can read"]
    words = msgspec.structs.replace(answer, content=[TextPart("Well."), ThinkingPart("hm", signed)])
    assert wrongs(responses, [user("x"), words, user("y")], frozenset([("anthropic", "")])) == []
