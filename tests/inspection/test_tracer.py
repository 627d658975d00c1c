"""Frames beside events: exact to the byte, the same however the bytes were cut, and nothing else than `Stream` says."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest

import aws_frames
import corpus
from cli.chat_bytes import CALCULATE, call_deltas, sse
from toolwire.errors import TransportError
from toolwire.inspection.frames import TracedFrame
from toolwire.inspection.text_tracer import TextTracer
from toolwire.inspection.tracer import Tracer
from toolwire.stream.pipeline import Stream
from toolwire.stream.segments import EventType, SegmentEvent
from wire_bodies import WIRES, Call, End, Error, Piece, Text, Thought, body, good_end

BLANKS = b" \r\n\t,[]\xef\xbb\xbf"
"""What may stand between frames: line ends, and the punctuation of a JSON array."""


def traced(wire: str, data: bytes, seed: int | None = None, **options: Any) -> list[TracedFrame]:
    tracer = Tracer(wire, **options)
    if seed is None:
        return [*tracer.feed(data), *tracer.close()]
    dice, frames, at = random.Random(seed), [], 0
    while at < len(data):
        size = dice.randint(1, 150 if len(data) > 600 else 12)
        frames += tracer.feed(data[at : at + size])
        at += size
    return [*frames, *tracer.close()]


def meaning(events: list[SegmentEvent]) -> tuple[dict[str, str], list[Any]]:
    """What events say, however their content was cut."""
    texts: dict[str, str] = {}
    for event in events:
        texts[event.segment_id] = texts.get(event.segment_id, "") + event.delta
    return texts, [event for event in events if event.type is not EventType.CONTENT]


def check(wire: str, data: bytes, seed: int = 1) -> list[TracedFrame]:
    """What holds for every body."""
    frames = traced(wire, data)
    left = bytearray(data)
    for frame in frames:
        assert data[frame.offset : frame.offset + frame.size] == frame.raw
        left[frame.offset : frame.offset + frame.size] = b" " * frame.size
    assert not left.strip(BLANKS)
    assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
    stream = Stream(wire, live_arguments=True)
    events = [*stream.feed(data), *stream.close()]
    assert meaning([event for frame in frames for event in frame.events]) == meaning(events)
    assert traced(wire, data, seed) == frames
    return frames


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire(wire: str) -> None:
    pieces: list[Piece] = [Thought("Hm."), Text("I look "), Text("it up – né 🦜."), Call("c1", "look", '{"what": "x"}')]
    frames = check(wire, body(wire, *pieces, End(good_end(wire, calls=True))))
    assert len(frames) > 3
    assert not any(frame.has_problem for frame in frames)
    held = [frame for frame in frames if any("look" in (event.tool_name or "") for event in frame.events)]
    assert len(held) == 1
    assert all(frame.value() is not None for frame in frames if frame.carries and frame.payload != "[DONE]")


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_of_the_provider_is_the_problem_of_its_frame(wire: str) -> None:
    frames = check(wire, body(wire, Text("I begin"), Error("it is overloaded")))
    (bad,) = [frame for frame in frames if frame.has_problem]
    assert "it is overloaded" in bad.findings[0].words
    assert bad.events[-1].type is EventType.ERROR


@corpus.needs_corpus
@pytest.mark.parametrize("shape", corpus.WIRES)
def test_recorded_streams(shape: str) -> None:
    for row in corpus.rows(shape, core=True):
        check(corpus.WIRES[shape], corpus.body(row))


CHUNK = b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}'
OBJECT = b'{"choices": [{"index": 0, "delta": {"content": "a"}}]}'

SHAPES: list[tuple[bytes, list[str]]] = [
    (b": ping\n\n" + CHUNK + b"\n\n", ["comment", ""]),
    (b": one\n: two\n\n\n" + CHUNK + b"\n\n", ["comment", "comment", ""]),
    (CHUNK + b"\r\n\r\n: OPENROUTER PROCESSING\r\n\r\n" + CHUNK + b"\r\n\r\n", ["", "comment", ""]),
    (CHUNK + b"\r\r" + CHUNK + b"\r\r", ["", ""]),
    (b"\xef\xbb\xbf: ping\n\n" + CHUNK + b"\n\n", ["comment", ""]),
    (b"event: ping\n\n" + CHUNK + b"\n\n", ["event without data", ""]),
    (b"retry: 3000\n\nid: 7\n\n" + CHUNK + b"\n\n", ["event without data", "event without data", ""]),
    (b": x\nevent: delta\n" + CHUNK + b"\n: y\n\n", ["comment", "delta"]),
    (b"nonsense\n\n" + CHUNK + b"\n\n", ["stray line", ""]),
    (b"event: delta\nnonsense\n" + CHUNK + b"\n\n" + CHUNK + b"\n\n", ["stray line", "delta", ""]),
    (b"event: lost\nnonsense\n\n" + CHUNK + b"\n\n", ["stray line", "event without data", ""]),
    (b"event: lost\n\nnonsense\n\n" + CHUNK + b"\n\n", ["event without data", "stray line", ""]),
    (b"event: a\nnonsense\nid: 1\nnonsense\n" + CHUNK + b"\n\n", ["stray line", "stray line", "a"]),
    (CHUNK + b"\nnonsense\n\n: x\n\nnonsense\n\n", ["stray line", "", "comment", "stray line"]),
    (b"data: " + OBJECT[:20] + b"\ndata: " + OBJECT[20:] + b"\n\n", [""]),
    (CHUNK + b"\n\n: tail", ["", "comment"]),
]


@pytest.mark.parametrize(("data", "names"), SHAPES)
def test_what_stands_between_events(data: bytes, names: list[str]) -> None:
    for seed in range(3):
        frames = check("openai-chat", data, seed)
        assert [frame.name for frame in frames if frame.name != "end of the body"] == names


SOUP = [
    *(b"data: ", b"data:", b"data", b"event: x", b"event:", b": c", b":", b"id: 1", b"retry: 5", b"junk", b" ", CHUNK),
    *(b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xc3\xa9", b"[", b"]", b",", b"[DONE]", OBJECT),
]


@pytest.mark.parametrize("wire", ["openai-chat", "gemini", "ollama"])
def test_any_bytes(wire: str) -> None:
    """Every byte is in a frame, and cuts make no difference but to how much of a broken rest is there to be seen."""
    dice = random.Random(7)
    for seed in range(250):
        data = b"".join(dice.choices(SOUP, k=dice.randint(1, 25)))
        frames = traced(wire, data)
        left = bytearray(data)
        for frame in frames:
            assert data[frame.offset : frame.offset + frame.size] == frame.raw
            left[frame.offset : frame.offset + frame.size] = b" " * frame.size
        assert not left.strip(BLANKS), data
        cut = traced(wire, data, seed)
        for both in (frames, cut):
            both[-1:] = [msgspec.structs.replace(frame, raw=b"") for frame in both[-1:] if frame.name == "broken"]
        assert cut == frames, data


def test_a_comment_is_told_when_it_comes() -> None:
    tracer = Tracer("openai-chat")
    assert [frame.name for frame in tracer.feed(b": ping\n", 1.0)] == ["comment"]
    assert tracer.feed(b"\n: pi", 2.0) == []
    (frame,) = tracer.feed(b"ng\n\n", 3.0)
    assert (frame.at, frame.offset, frame.raw, frame.carries) == (3.0, 8, b": ping", False)


def test_lines_outside_of_events_are_not_held() -> None:
    tracer = Tracer("openai-chat")
    for _ in range(50):
        tracer.feed(b"event: lost\n\n" + b"nonsense\n" * 50)
        assert len(tracer._held) == 0


def test_times_and_silences() -> None:
    tracer = Tracer("openai-chat")
    frames = tracer.feed(CHUNK + b"\n\n" + CHUNK[:10], 0.5) + tracer.feed(CHUNK[10:] + b"\n\n", 3.25)
    assert [frame.at for frame in frames] == [0.5, 3.25]
    assert [finding.words for finding in frames[1].findings] == ["2.8 s of silence before it"]
    assert not frames[1].has_problem


def test_what_comes_late_is_a_problem() -> None:
    frames = check("openai-chat", CALCULATE + CHUNK + b"\n\n" + b"data: [DONE]\n\n")
    late = [frame for frame in frames if frame.has_problem]
    assert [frame.raw for frame in late] == [CHUNK]
    assert "after the end" in late[0].findings[0].words


def test_what_comes_after_a_fault_is_a_problem() -> None:
    frames = check("openai-chat", CHUNK + b"\n\ndata: {bad\n\n" + CHUNK + b"\n\n")
    assert [frame.has_problem for frame in frames] == [False, True, True]
    assert "after the fault" in frames[2].findings[0].words


def test_a_call_that_will_not_run() -> None:
    data = sse(*call_deltas("calculate", '{"a": 1,}'), stop="tool_calls")
    problems = [finding.words for frame in check("openai-chat", data) for finding in frame.findings]
    assert len(problems) == 1
    assert problems[0].startswith("calculate (call_1) will not run: ")


@pytest.mark.parametrize(
    ("wire", "data", "name", "words"),
    [
        ("openai-chat", CALCULATE[: CALCULATE.index(b"* 23")], "", "the body ends within it"),
        ("openai-chat", CHUNK + b"\n\ndata: \xff\n\n", "broken", "invalid UTF-8"),
        ("bedrock", aws_frames.event("messageStart", {})[:-1] + b"?", "broken", "checksum"),
        ("bedrock", aws_frames.event("messageStart", {})[:-5], "cut off", "broke off before its end"),
        ("gemini", b'[{"candidates": []}x', "broken", "where a JSON array"),
        ("ollama", b'{"done": fal', "", "ends within it"),
    ],
)
def test_bodies_that_break(wire: str, data: bytes, name: str, words: str) -> None:
    frames = traced(wire, data)
    assert frames[-1].name == name
    assert any(words in finding.words for finding in frames[-1].findings)
    assert frames[-1].events[-1].type is EventType.ERROR
    assert data.endswith(frames[-1].raw)
    assert traced(wire, data, 3) == frames


def test_an_error_of_the_transport() -> None:
    tracer = Tracer("openai-chat")
    tracer.feed(CHUNK + b"\n\n" + CHUNK[:20], 1.0)
    (frame,) = tracer.close(2.0, TransportError("connection reset"))
    assert (frame.name, frame.raw, frame.at) == ("broke off", CHUNK[:20], 2.0)
    assert tracer.error is not None
    assert tracer.error.message == "connection reset"
    assert tracer.feed(b"more") == []


def test_frames_of_gemini_as_an_array_and_as_events() -> None:
    element = {"candidates": [{"content": {"parts": [{"text": "a"}]}}]}
    array = json.dumps([element, element], indent=1).encode()
    frames = check("gemini", array)
    assert [frame.framing for frame in frames[:2]] == ["array", "array"]
    assert frames[0].value() == element
    assert {frame.framing for frame in check("gemini", b"data: " + json.dumps(element).encode() + b"\n\n")} == {"sse"}


def test_pretty_lays_json_out_and_changes_nothing() -> None:
    (frame,) = Tracer("openai-chat").feed(b'event: x\ndata: {"a":1,"a":[2,{"b":"\\u0041"}]}\n\n')
    assert frame.text == 'event: x\ndata: {"a":1,"a":[2,{"b":"\\u0041"}]}'
    assert frame.payload == '{"a":1,"a":[2,{"b":"\\u0041"}]}'
    assert "".join(frame.pretty().split()) == frame.payload
    assert frame.pretty().count("\n") > 5
    (odd,) = Tracer("openai-chat").feed(b"data: [DONE]\n\n")
    assert odd.pretty() == "[DONE]"


def test_a_flood_of_small_reads_costs_no_more_than_its_bytes() -> None:
    data = CALCULATE * 40
    tracer = Tracer("openai-chat")
    frames = [frame for at in range(len(data)) for frame in tracer.feed(data[at : at + 1])]
    assert len(frames) == 40 * CALCULATE.count(b"data:")
    assert len(tracer._held) == 0


TEXT = 'Hi – né\n<tool name="x"><arguments>\n<a>1</a></arguments></tool>\nbye'


def test_plain_text_by_lines() -> None:
    data = b"\xef\xbb\xbf" + TEXT.encode()
    whole = TextTracer("xml")
    frames = [*whole.feed(data), *whole.close()]
    assert [frame.raw for frame in frames] == [*(line for line in data.splitlines(True)), b""]
    assert "".join(event.delta for frame in frames for event in frame.events) == TEXT
    assert [event.tool_name for event in frames[1].events if event.type is EventType.START] == ["x"]
    assert whole.complete
    bytewise = TextTracer("xml")
    cut = [frame for at in range(len(data)) for frame in bytewise.feed(data[at : at + 1])]
    assert [*cut, *bytewise.close()] == frames


@pytest.mark.parametrize(("data", "words"), [(b"a\nb\xff\nc\n", "byte 3"), ("a\né".encode()[:-1], "middle")])
def test_text_that_is_none(data: bytes, words: str) -> None:
    tracer = TextTracer("xml")
    frames = [*tracer.feed(data), *tracer.close()]
    assert not tracer.complete
    assert frames[-1].has_problem
    assert words in frames[-1].findings[0].words
