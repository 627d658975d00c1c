"""Whole files: segments over time, calls, what a recording tells beside the answers, and the bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import toolwire
from cli.chat_bytes import CALCULATE, sse
from toolwire import Agent
from toolwire.agent.recordings.recording import Recorder
from toolwire.errors import RecordingFailed
from toolwire.inspection import trace as trace_module
from toolwire.inspection.recording import begins_recording, trace_recording
from toolwire.inspection.trace import Trace, TracedAnswer, Tracking
from toolwire.inspection.tracer import Tracer
from toolwire.inspection.words import event_words, seconds_words, shortened, size_words
from toolwire.stream.segments import EventType, FieldDelta, SegmentEvent
from toolwire.testing import ScriptedModel, approve_all, call, cut_off, events_of, fail, half_call, say, think
from toolwire.transport import HttpRequest
from wire_bodies import PROVIDERS


def trace_of(data: bytes, *, at: float | None = None) -> Trace:
    trace = Trace(name="x", what="a recorded stream", timed=at is not None)
    tracking = Tracking(trace, TracedAnswer(number=1, wire="openai-chat"), Tracer("openai-chat"))
    tracking.feed(data, at)
    tracking.close(at)
    return trace


def test_segments_calls_and_totals() -> None:
    trace = trace_of(CALCULATE)
    (answer,) = trace.answers
    assert (answer.complete, answer.stop_reason, answer.raw_stop_reason) == (True, "tool_calls", "tool_calls")
    assert (trace.bytes, trace.frame_count, trace.problems) == (len(CALCULATE), CALCULATE.count(b"data:"), 0)
    assert answer.usage is not None
    text, made = answer.spans
    assert (text.kind, text.first, text.characters, text.pieces) == ("text", 1, 17, 2)
    assert (made.kind, made.name, made.first, made.problem) == ("tool_call", "calculate", 4, "")
    assert 0 < text.start < text.end <= made.start < made.end <= trace.end == len(CALCULATE)
    assert made.marks == sorted(made.marks)
    (found,) = answer.calls
    assert found.arguments == {"expression": "17 * 23"}
    assert "".join(found.written) == '{"expression": "17 * 23"}'
    assert (found.first, found.problem) == (4, "")


def test_a_call_that_was_cut_says_so() -> None:
    trace = trace_of(CALCULATE[: CALCULATE.index(b"* 23")])
    (answer,) = trace.answers
    assert answer.error is not None
    assert answer.calls[0].problem == answer.spans[1].problem == "the stream broke off before its end"
    assert answer.calls[0].arguments is None
    assert [frame.number for frame, _ in trace.findings()] == [6, 6, 6]


def test_what_is_too_much_is_counted_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "KEPT_FRAMES", 10)
    late = b'data: {"choices": [{"index": 0, "delta": {"content": "late"}}]}\n\n'
    trace = trace_of(sse(*({"content": f"{number} "} for number in range(50))) + late)
    (answer,) = trace.answers
    assert [frame.number for frame in answer.frames] == [*range(1, 11), answer.frame_count]
    assert trace.left_out == answer.frame_count - 11
    assert answer.spans[0].pieces == 50
    monkeypatch.setattr(trace_module, "KEPT_PROBLEMS", 0)
    assert trace_of(sse({"content": "x"}) + late * 20).problems == 20


@toolwire.tool(risk="read")
async def look(what: str) -> str:
    """Looks it up."""
    await asyncio.sleep(0.01)
    return f"{what} is fine"


@toolwire.tool(risk="write")
def change(what: str) -> str:
    """Changes it."""
    raise RuntimeError("it is broken")


async def recorded(path: Path, answers: list[Any], model: str = "anthropic:m", **options: Any) -> list[Any]:
    recorder = Recorder(path)
    script = ScriptedModel(answers, chop=options.pop("chop", 50))
    options = {"approve": approve_all, "api_key": "k", "base_url": "http://127.0.0.1:1", **options}
    agent = Agent(model, [look, change], transport=recorder.transport(script), hooks=[recorder], **options)
    events = await events_of(agent, "How is it?")
    recorder.close()
    return events


def read(path: Path, **options: Any) -> Trace:
    return trace_recording([path.read_bytes()], "run.jsonl", **options)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_recording_of_every_wire(tmp_path: Path, provider: str) -> None:
    path = tmp_path / "run.jsonl"
    answers = [[think("Hm."), say("I look."), call("look", what="x"), call("change", what="y")], say("It is fine.")]
    events = await recorded(path, answers, f"{provider}:m")
    trace = read(path)
    assert begins_recording(path.read_bytes())
    assert (len(trace.answers), trace.cut, trace.timed) == (2, False, True)
    assert [answer.wire for answer in trace.answers] == [PROVIDERS[provider]] * 2
    assert all(answer.complete for answer in trace.answers)
    first, second = trace.answers
    told = [event for event in events if isinstance(event, SegmentEvent) and event.type is EventType.START]
    traced = [event for answer in trace.answers for frame in answer.frames for event in frame.events]
    assert [event.segment_id for event in traced if event.type is EventType.START] == [
        event.segment_id for event in told
    ]
    looked, changed = first.calls
    assert (looked.name, looked.arguments, looked.result, looked.outcome) == ("look", {"what": "x"}, "x is fine", "ok")
    assert looked.seconds is not None
    assert (changed.is_error, changed.decision) == (True, "allowed by person")
    assert [span.name for span in trace.running] == ["look", "change"]
    assert first.began <= first.ended <= trace.running[0].start <= trace.running[0].end <= second.began
    numbers = [frame.number for answer in trace.answers for frame in answer.frames]
    assert numbers == list(range(1, trace.frame_count + 1))
    words = [each.words for each in trace.happenings]
    assert words[0] == "question: How is it?"
    assert words[-1] == "the run finished after 2 turns"
    assert dict(trace.facts)["tools"] == "look, change"


async def test_what_went_wrong_in_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(
        path,
        [fail(503, "busy", retry_after=0.01), [say("I"), call("nothing_like_it", a=1)], cut_off(half_call("look"))],
    )
    trace = read(path)
    assert [answer.error and answer.error.type for answer in trace.answers[:3]] == [
        "ProviderError",
        None,
        "TransportError",
    ]
    assert "there is no tool" in trace.answers[1].calls[0].problem
    assert trace.answers[2].calls[0].problem == "the stream broke off before its end"
    assert any("attempt 1 failed" in each.words and each.level == "problem" for each in trace.happenings)
    assert [any(frame.has_problem for frame in answer.frames) for answer in trace.answers[:3]] == [True] * 3


async def test_calls_in_text_are_found_in_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    written = '<tool name="look"><arguments><what>x</what></arguments></tool>'
    await recorded(path, [say(written), say("Fine.")], stream_parser="xml")
    trace = read(path)
    assert trace.answers[0].calls[0].arguments == {"what": "x"}
    assert trace.answers[0].calls[0].result == "x is fine"
    assert trace.answers[0].parser == "xml"


class _Interrupted(ScriptedModel):
    """Interrupts its agent in the middle of an answer."""

    agent: Agent

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        async for data in super().stream(request):
            yield data
            self.agent.interrupt()


async def test_an_interrupted_answer(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorder, script = Recorder(path), _Interrupted([[say("one "), say("two "), say("three")]])
    agent = Agent(
        "openai:m", [], transport=recorder.transport(script), hooks=[recorder], api_key="k", base_url="http://h"
    )
    script.agent = agent
    await events_of(agent, "Count")
    recorder.close()
    (answer,) = read(path).answers
    assert answer.error is not None
    assert "closed on this side" in answer.error.message


async def test_a_recording_that_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, [[say("I look."), call("look", what="x")], say("Fine.")])
    whole = path.read_bytes()
    lines = whole.splitlines(True)
    for size in range(len(lines[0]), len(whole), 997):
        trace = trace_recording([whole[:size]], "run.jsonl")
        assert trace.cut or whole[:size].count(b"\n") == 1
    pieces = [whole[at : at + 7] for at in range(0, len(whole), 7)]
    assert trace_recording(pieces, "run.jsonl") == trace_recording([whole], "run.jsonl")


HEADER = {"record": "toolwire-recording", "version": 1, "toolwire": "0", "started": "", "provider": "p", "model": "m"}


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [{"record": "chunk", "at": 1, "text": "x"}],
        [{**HEADER, "wire": "telegraph"}],
        [{**HEADER, "wire": "anthropic", "version": 2}],
        [{**HEADER, "wire": "anthropic"}, {"record": "chunk", "at": 1, "text": "x"}],
        [{**HEADER, "wire": "anthropic"}, {**HEADER, "wire": "anthropic"}],
        [{**HEADER, "wire": "anthropic"}, {"record": "event", "at": 1, "event": {"type": "tool_started"}}],
        [
            {**HEADER, "wire": "anthropic", "parser": "no such"},
            {"record": "request", "at": 0, "number": 1, "url": "", "body": 1},
        ],
        [{**HEADER, "wire": "anthropic", "tools": [{"name": "no name"}]}],
    ],
)
def test_what_is_no_recording(lines: list[Any]) -> None:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with pytest.raises(RecordingFailed, match=r"run\.jsonl is no recording"):
        trace_recording([data], "run.jsonl")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (SegmentEvent(EventType.CONTENT, "s0", 'a"\n'), 'content s0 "a\\"\\n"'),
        (
            SegmentEvent(EventType.CONTENT, "c", "x", fields=[FieldDelta(("files", 0), "y")]),
            'content c "x"  (files.0 += "y")',
        ),
        (SegmentEvent(EventType.CONTENT, "s0", "x" * 50), 'content s0 "xxxxxxxxxx"… (+40)'),
        (SegmentEvent(EventType.END, "c", metadata={"arguments": {"a": 1}}), 'end c {"a":1}'),
        (SegmentEvent(EventType.END, "c", metadata={"problem": "no"}), "end c will not run: no"),
    ],
)
def test_events_in_words(event: SegmentEvent, words: str) -> None:
    assert " ".join(event_words(event, 10)[:3]) == words


def test_figures_in_words() -> None:
    assert [size_words(each) for each in (5, 10_240, 50 << 20)] == ["5 B", "10 KiB", "50.0 MiB"]
    assert [seconds_words(each) for each in (0, 0.01, 1.5, 125)] == ["0 s", "10 ms", "1.50 s", "2 min 5 s"]
    assert shortened("abcdef", 3) == "abc… (+3)"
