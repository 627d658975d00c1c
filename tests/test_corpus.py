"""Every recorded body of the formats that we read: what is in it as the index says, and laws 1 and 2 on all of them.

The core set runs with the tests; the whole index with `make figures`. Where the index itself errs, `index_faults.json`
says why and holds what is right: that is asserted instead.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corpus import WIRES, body, every_row, expected_calls, needs_corpus
from feeding import bytewise, check_shape, merged, random_cuts, read, whole
from plain_reading import opaque, proper_end, server_tools
from toolwire import EventType, Stream
from toolwire.errors import IncompleteStream, ToolwireError
from toolwire.messages import ThinkingPart

pytestmark = needs_corpus

INDEX_FAULTS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "index_faults.json").read_bytes())

_KERNEL = "semantic-kernel/{0}/Connectors.{1}.UnitTests-chat_completion_{2}_streaming_test_response"
_PHP = "openai-php/openai-responses/Streams-Response"
_VERTEX = "vertexai-test-data/vertex-generatecontent/mock-responses-vertexai-streaming-"

INCOMPLETE = {
    "pydantic-ai/groq-chat/models-test_groq-test_tool_use_failed_error_streaming__00": "ProviderError",
    "pydantic-ai/openrouter-chat/models-test_openrouter-test_openrouter_stream_error": "ProviderError",
    _KERNEL.format("azure-openai-chat", "AzureOpenAI", "with_data"): "IncompleteStream",
    _KERNEL.format("openai-chat", "OpenAI", "invalid"): "ProtocolError",
    "vercel-ai/openai-responses/openai-responses-openai-error.1": "RateLimited",
    _PHP + "CreatedResponse": "IncompleteStream",
    _PHP + "OutputItemApplyPatchCallDone": "IncompleteStream",
    _PHP + "OutputItemCompactionDone": "IncompleteStream",
    _PHP + "OutputItemToolSearchCallAdded": "IncompleteStream",
    _PHP + "OutputItemToolSearchOutputDone": "IncompleteStream",
    _VERTEX + "failure-error-mid-stream": "ProviderError",
    _VERTEX + "failure-empty-content": "IncompleteStream",
    _VERTEX + "failure-malformed-content": "IncompleteStream",
    _VERTEX + "success-quotes-escaped": "IncompleteStream",
    "lingua/openai-responses/multimodalRequest-responses-followup-response-streaming__01": "ProtocolError",
}
"""The bodies that do not reach a proper end, and as what we report it. All others must be complete."""

EXPECTED_CALLS = {
    "openai-chat": 113,
    "openai-responses": 90,
    "anthropic": 59,
    "gemini": 33,
    "ollama": 4,
    "bedrock": 5,
    "cohere": 1,
}
"""For how many bodies of each wire the next request of the recording client tells the calls."""


def wire_of(row: dict[str, Any]) -> str:
    return WIRES[row["shape"]]


def parametrize(found: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", found, ids=[f"{wire_of(row)}:{row['case']}" for row in found])


def thought(stream: Stream, wire: str) -> bool:
    """Whether the model reasoned, as the index counts it.

    It counts Responses reasoning items and Anthropic thinking blocks that show no words, and not redacted thinking.
    """
    parts = [part for part in stream.message.parts if isinstance(part, ThinkingPart)]
    if wire == "anthropic":
        return any(part.text or "redacted" not in str(part.provider_data) for part in parts)
    if wire == "cohere":
        # A plan before calls is no thinking there.
        return any("tool_plan" not in str(part.provider_data) for part in parts)
    return bool(parts)


def told(row: dict[str, Any]) -> dict[str, Any]:
    """What the index says of a body."""
    said = {
        "tool_names": row["tool_names"],
        "tool_ids": [call_id or None for call_id in row["tool_ids"]],
        "text_chars": row["text_chars"],
        "thinking": row["thinking"],
        "usage": row["usage"],
        # The last word counts; Gemini can say it as a number.
        "finish": None if row["case"] in INCOMPLETE or not row["finish"] else str(row["finish"][-1]),
    }
    fault = INDEX_FAULTS.get(row["case"])
    if fault is not None:
        assert list(fault["ours"]) == fault["fields"]
        for field, value in fault["ours"].items():
            assert said[field] != value, f"the index agrees by now: {field}"
            said[field] = value
    return said


def found(stream: Stream, row: dict[str, Any], ids: list[str | None]) -> dict[str, Any]:
    """The same of what we decoded. An id that the provider did not send is ours: the index has None there."""
    summary = stream.summary()
    calls = summary["calls"]
    assert all(call["id"] for call in calls)
    made = [call["id"] for call in calls]
    if len(ids) == len(made):
        made = [ours if theirs else None for ours, theirs in zip(made, ids, strict=True)]
    return {
        "tool_names": [call["name"] for call in calls],
        "tool_ids": made,
        "text_chars": len(summary["text"]),
        "thinking": thought(stream, wire_of(row)),
        "usage": summary["usage"] is not None,
        "finish": stream.raw_stop_reason,
    }


def check_against_index(row: dict[str, Any]) -> None:
    stream, events = read(whole(body(row)), wire_of(row))
    check_shape(events)
    problem = INCOMPLETE.get(row["case"])
    assert (type(stream.error).__name__ if stream.error else None) == problem
    assert stream.complete is (problem is None)
    said = told(row)
    assert found(stream, row, said["tool_ids"]) == said


def check_cuts(row: dict[str, Any], random_runs: int) -> None:
    """Byte by byte, at random cuts, and small bodies at every place in two: always the same."""
    data, wire = body(row), wire_of(row)
    stream, events = read(whole(data), wire)
    expected, summary = list(merged(events)), stream.summary()

    def ways() -> Iterator[Iterable[bytes]]:
        yield bytewise(data)
        for seed in range(random_runs):
            yield random_cuts(data, seed)
        if len(data) < 2_000:
            for at in range(1, len(data)):
                yield data[:at], data[at:]

    for pieces in ways():
        cut, cut_events = read(pieces, wire)
        assert list(merged(cut_events)) == expected
        assert cut.summary() == summary


def check_kept(row: dict[str, Any]) -> None:
    """What must go back unchanged, and the blocks of tools that ran elsewhere, are in the message for the history."""
    stream, _ = read(whole(body(row)), wire_of(row))
    kept = json.dumps(msgspec.to_builtins(stream.message), ensure_ascii=False)
    assert [one for one in opaque(row) if json.dumps(one, ensure_ascii=False) not in kept] == []
    assert [kind for kind in server_tools(row) if f'"{kind}"' not in kept] == []


def check_truncations(row: dict[str, Any], lengths: Iterable[int]) -> None:
    """Cut off anywhere before its end, an answer is not complete, says so, and nothing of it runs."""
    data, wire, end = body(row), wire_of(row), proper_end(row)
    whole_calls = [(one.id, one.arguments) for one in read(whole(data), wire)[0].invocations]
    for length in lengths:
        stream, events = read(whole(data[:length]), wire)
        check_shape(events)
        if stream.complete:
            assert end is not None
            assert length >= end
            # Some gateways and fixtures say an end with each of several calls, so there may be fewer; never others.
            made = [(one.id, one.arguments) for one in stream.invocations]
            assert made == whole_calls[: len(made)]
            continue
        # Chat, Gemini and Bedrock may go on after the first word of an end; the others may not.
        assert end is None or length < end or wire in ("openai-chat", "gemini", "bedrock")
        assert not stream.invocations
        assert events[-1].type is EventType.ERROR
        assert isinstance(stream.error, ToolwireError)
        assert stream.error.message
        assert stream.error.hint
        if row["case"] not in INCOMPLETE:
            assert isinstance(stream.error, IncompleteStream)
        assert all(call["problem"] for call in stream.summary()["calls"])


@parametrize(every_row(core=True))
def test_core_agrees_with_the_index(row: dict[str, Any]) -> None:
    check_against_index(row)


def test_calls_are_those_that_the_recording_clients_echoed() -> None:
    expected = expected_calls()
    agreed: Counter[str] = Counter()
    for row in every_row(core=False):
        if row["case"] in expected:
            stream, _ = read(whole(body(row)), wire_of(row))
            echoed = expected[row["case"]]
            calls = [call for call in stream.summary()["calls"] if call["complete"]]
            assert [(call["name"], call["arguments"]) for call in calls] == [(c["name"], c["args"]) for c in echoed]
            for call, echo in zip(calls, echoed, strict=True):
                assert echo["id"] in (call["id"], None)  # Not every client sends the ids back.
            agreed[wire_of(row)] += 1
    assert agreed == EXPECTED_CALLS


@parametrize(every_row(core=True))
def test_core_keeps_what_must_go_back(row: dict[str, Any]) -> None:
    check_kept(row)


@pytest.mark.thorough
@parametrize(every_row(core=True))
def test_core_does_not_depend_on_cuts(row: dict[str, Any]) -> None:
    check_cuts(row, random_runs=30)


@pytest.mark.figures
@parametrize(every_row(core=True))
def test_core_does_not_depend_on_many_cuts(row: dict[str, Any]) -> None:
    check_cuts(row, random_runs=200)


def sample() -> list[dict[str, Any]]:
    """The smallest body of each api, form and kind of end, with calls and without."""
    chosen: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in sorted(every_row(core=False), key=lambda row: row["bytes"]):
        chosen.setdefault((row["api"], row["kind"], str(row["tool_calls"] > 0), *map(str, row["finish"])), row)
    return list(chosen.values())


@pytest.mark.thorough
@parametrize(sample())
def test_truncated_near_its_end_nothing_runs(row: dict[str, Any]) -> None:
    size = row["bytes"]
    check_truncations(row, range(0 if size <= 4_000 else max(0, size - 1_000) if size <= 20_000 else size - 100, size))


@pytest.mark.figures
@parametrize(sample())
def test_truncated_at_every_byte_nothing_runs(row: dict[str, Any]) -> None:
    size = row["bytes"]
    # Cutting costs the square of the size: of long bodies only the end, where the calls are.
    check_truncations(row, range(0 if size <= 12_000 else size - 2_000 if size <= 40_000 else size - 200, size))


def test_every_exception_is_of_a_known_body() -> None:
    cases = {row["case"] for row in every_row(core=False)}
    assert {*INCOMPLETE, *INDEX_FAULTS} <= cases


@pytest.mark.figures
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("wire", dict.fromkeys(WIRES.values()))
def test_whole_index(wire: str) -> None:
    every = [row for row in every_row(core=False) if wire_of(row) == wire]
    assert every
    for row in every:
        check_against_index(row)
        check_kept(row)
        check_cuts(row, random_runs=20)
        check_truncations(row, range(0, row["bytes"], max(1, row["bytes"] // 40)))
