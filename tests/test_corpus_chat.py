"""Every recorded body of shape `chat`: calls, ids, order, text and finish as in the index; laws 1 and 2 on all of them.

The core set runs with the tests; the whole index with `make figures`.
"""

from __future__ import annotations

from typing import Any

import pytest

from corpus import body, expected_calls, needs_corpus, rows
from feeding import bytewise, check_shape, merged, random_cuts, read, whole
from toolwire import EventType
from toolwire.errors import ToolwireError

pytestmark = needs_corpus

NOT_SEPARATED = "sse:events-not-separated-by-blank-line"
"""Three fixtures whose events lack the blank lines between them: the index could not read them. We do."""

BY_HAND = {
    "openai-php/openai-chat/Streams-ChatCompletionCreate": ("Hello! How can I help you today?", 1, "stop"),
    "openai-php/openai-chat/Streams-ChatCompletionKeepAlive": ("Hello!", 0, None),
    "openai-php/openai-chat/Streams-ChatCompletionPing": (180, 0, "stop"),
}
"""What they hold, read by eye: text (or its length), number of calls, finish reason."""

_KERNEL = "semantic-kernel/{0}/Connectors.{1}.UnitTests-chat_completion_{2}_streaming_test_response"

INCOMPLETE = {
    "pydantic-ai/groq-chat/models-test_groq-test_tool_use_failed_error_streaming__00": "ProviderError",
    "pydantic-ai/openrouter-chat/models-test_openrouter-test_openrouter_stream_error": "ProviderError",
    _KERNEL.format("azure-openai-chat", "AzureOpenAI", "with_data"): "IncompleteStream",
    _KERNEL.format("openai-chat", "OpenAI", "invalid"): "ProtocolError",
}
"""Bodies that do not reach a proper end: two errors of the provider, one without any end, one with broken JSON."""


def parametrize(core: bool) -> pytest.MarkDecorator:
    found = rows("chat", core=core)
    return pytest.mark.parametrize("row", found, ids=[row["case"] for row in found])


def check_against_index(row: dict[str, Any]) -> None:
    stream, events = read(whole(body(row)))
    check_shape(events)
    summary = stream.summary()
    problem = INCOMPLETE.get(row["case"])
    assert (summary["error"].type if summary["error"] else None) == problem
    assert summary["complete"] is (problem is None)
    if row["case"] in BY_HAND:
        text, calls, finish = BY_HAND[row["case"]]
        assert summary["text"] == text or len(summary["text"]) == text
        assert len(summary["calls"]) == calls
        assert stream.raw_stop_reason == finish
        return
    assert [call["name"] for call in summary["calls"]] == row["tool_names"]
    assert len(row["tool_ids"]) == len(summary["calls"])
    for call, call_id in zip(summary["calls"], row["tool_ids"], strict=True):
        assert call["id"] == call_id if call_id else call["id"]
    assert len(summary["text"]) == row["text_chars"]
    assert bool(summary["reasoning"]) is row["thinking"]
    assert bool(summary["usage"]) is row["usage"]
    if problem is None:
        assert stream.raw_stop_reason == (row["finish"][-1] if row["finish"] else None)


def check_against_client(row: dict[str, Any], calls: list[dict[str, Any]]) -> None:
    summary = read(whole(body(row)))[0].summary()
    made = [{"id": c["id"], "name": c["name"], "args": c["arguments"]} for c in summary["calls"] if c["complete"]]
    assert made == calls


def check_cuts(row: dict[str, Any], random_runs: int) -> None:
    data = body(row)
    stream, events = read(whole(data))
    expected, summary = list(merged(events)), stream.summary()
    for seed in range(random_runs):
        cut, cut_events = read(random_cuts(data, seed))
        assert list(merged(cut_events)) == expected
        assert cut.summary() == summary
    cut, cut_events = read(bytewise(data))
    assert list(merged(cut_events)) == expected
    assert cut.summary() == summary


def properly_ended(prefix: bytes) -> bool:
    """Whether the bytes hold an end mark: independent of the decoder, by looking for it as text."""
    return b"[DONE]" in prefix or any(
        mark in prefix and not prefix.rstrip(b" \r\n").endswith(mark)
        for mark in (b'"finish_reason":"', b'"finish_reason": "')
    )


def check_truncations(row: dict[str, Any], step: int) -> None:
    data = body(row)
    for length in range(0, len(data), step):
        stream, events = read(whole(data[:length]))
        check_shape(events)
        if not properly_ended(data[:length]):
            assert not stream.complete
            assert not stream.invocations
        if not stream.complete:
            assert not stream.invocations
            assert events[-1].type is EventType.ERROR
            assert isinstance(stream.error, ToolwireError)


@parametrize(core=True)
def test_core_agrees_with_the_index(row: dict[str, Any]) -> None:
    check_against_index(row)


def test_calls_are_those_that_the_recording_clients_echoed() -> None:
    expected = expected_calls()
    known = [row for row in rows("chat", core=False) if row["case"] in expected]
    assert len(known) > 100
    for row in known:
        check_against_client(row, expected[row["case"]])


@parametrize(core=True)
def test_core_does_not_depend_on_cuts(row: dict[str, Any]) -> None:
    check_cuts(row, random_runs=200)


def sample() -> list[dict[str, Any]]:
    """Small bodies with calls, of as many apis as there are, and every kind of end."""
    chosen: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows("chat", core=True):
        if row["bytes"] <= 6_000:
            chosen.setdefault((row["api"], str(row["tool_calls"] > 0)), row)
    return list(chosen.values())


@pytest.mark.parametrize("row", sample(), ids=[row["case"] for row in sample()])
def test_truncated_at_every_byte_nothing_runs(row: dict[str, Any]) -> None:
    check_truncations(row, step=1)


@pytest.mark.figures
def test_whole_index() -> None:
    every = rows("chat", core=False)
    assert len(every) > 1000
    for row in every:
        check_against_index(row)
        check_cuts(row, random_runs=20)
        check_truncations(row, step=max(1, row["bytes"] // 40))
