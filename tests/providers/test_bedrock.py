"""Bedrock, decoding: Converse, invoked models, exceptions, and bodies that are no event stream."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec
import pytest

from aws_frames import converse, event, exception, invoked, message, messages, string_header
from feeding import check_every_cut, read, whole
from odd_streams import made_calls, outcome
from toolwire import EventType, StopReason, Stream
from toolwire.chunks import TokenUsage
from toolwire.limits import Limits
from toolwire.messages import MediaPart, OpaquePart, TextPart, ThinkingPart, ToolCallPart

Json = dict[str, Any]
START = {"messageStart": {"role": "assistant", "p": "abc"}}
USAGE = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}
METADATA = {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 9}, "p": "a"}}


def begin(start: Json, index: Any = 0) -> Json:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start}}


def delta(delta: Any, index: Any = 0) -> Json:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta, "p": "abcdef"}}


def words(text: str, index: Any = 0) -> Json:
    return delta({"text": text}, index)


def thought(index: Any = 0, **members: Any) -> Json:
    return delta({"reasoningContent": members}, index)


def piece(text: str, index: Any = 0) -> Json:
    return delta({"toolUse": {"input": text}}, index)


def stop(index: Any = 0) -> Json:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def use(call_id: str = "c1", name: str = "f", **more: Any) -> Json:
    return {"toolUse": {"toolUseId": call_id, "name": name, **more}}


def call(*pieces: str, index: Any = 0, call_id: str = "c1", name: str = "f") -> list[Json]:
    return [begin(use(call_id, name), index), *(piece(text, index) for text in pieces), stop(index)]


def ended(reason: str | None = "end_turn") -> Json:
    return {"messageStop": {"stopReason": reason} if reason else {}}


def answer(*events: Json, reason: str | None = "end_turn") -> bytes:
    return converse(START, *events, ended(reason), METADATA)


def parts(stream: Stream) -> list[Any]:
    return list(stream.message.parts)


def kept(**data: Any) -> Json:
    return {"wire": "bedrock", **data}


SERVER = use("s1", "nova_code_interpreter", type="server_tool_use")
RESULT = {"toolResult": {"toolUseId": "s1", "type": "nova_code_interpreter_result", "status": "success"}}
OUT = [{"json": {"stdOut": "7"}}]
CITED = {"title": "T", "sourceContent": [{"text": "q"}], "location": {"web": {"url": "https://example.org"}}}
PNG = b64encode(b"\x89PNGdata").decode()

ANSWERS: dict[str, tuple[bytes, list[Any], dict[str, int]]] = {
    "text": (answer(words("Hel"), words("lo"), stop()), [TextPart("Hello")], {}),
    "two texts": (
        answer(words("a"), stop(), words("b", 1), stop(1)),
        [TextPart("a"), TextPart("b")],
        {},
    ),
    "a start that says nothing": (answer(begin({}), words("a"), stop()), [TextPart("a")], {}),
    "empty pieces": (answer(words(""), words("a"), words(""), stop()), [TextPart("a")], {}),
    "reasoning beside words": (
        answer(words("a"), delta({"text": "b", "reasoningContent": {"text": "h"}}), stop()),
        [TextPart("ab"), ThinkingPart("h")],
        {"delta-of-another-kind": 1},
    ),
    "words beside reasoning": (
        answer(thought(text="h"), delta({"text": "b", "reasoningContent": {"text": "m"}}), stop()),
        [ThinkingPart("h"), TextPart("b"), ThinkingPart("m")],
        {"delta-of-another-kind": 1},
    ),
    "reasoning with its signature": (
        answer(thought(text="h"), thought(text="m"), thought(signature="si"), thought(signature="g"), stop()),
        [ThinkingPart("hm", kept(signature="sig"))],
        {},
    ),
    "reasoning without one": (answer(thought(text="hm"), stop()), [ThinkingPart("hm")], {}),
    "an empty signature is none": (answer(thought(text="hm"), thought(signature=""), stop()), [ThinkingPart("hm")], {}),
    "hidden reasoning": (
        answer(thought(redactedContent="c2Vj"), stop(), words("a", 1), stop(1)),
        [ThinkingPart("", kept(redacted="c2Vj")), TextPart("a")],
        {},
    ),
    "hidden reasoning in pieces": (
        answer(thought(redactedContent="c2U="), thought(redactedContent="Yw=="), stop()),
        [ThinkingPart("", kept(redacted="c2Vj"))],
        {},
    ),
    "citations": (
        answer(words("So."), delta({"citation": CITED}), stop(), words("b", 1), stop(1)),
        [TextPart("So.", provider_data=kept(citations=[CITED])), TextPart("b")],
        {},
    ),
    "an image": (
        answer(begin({"image": {"format": "webp"}}), delta({"image": {"source": {"bytes": PNG}}}), stop()),
        [MediaPart("image/webp", url=f"data:image/webp;base64,{PNG}")],
        {},
    ),
    "an image in S3": (
        answer(
            begin({"image": {"format": "png"}}),
            delta({"image": {"source": {"s3Location": {"uri": "s3://b/k"}}}}),
            stop(),
        ),
        [MediaPart("image", url="s3://b/k")],
        {},
    ),
    "an image that failed": (
        answer(begin({"image": {"format": "png"}}), delta({"image": {"error": {"message": "no"}}}), stop()),
        [],
        {"image-without-data": 1},
    ),
    "a server tool and what it gave": (
        answer(
            *(begin(SERVER), piece('{"a":'), piece("1}"), stop()),
            *(begin(RESULT, 1), delta({"toolResult": OUT}, 1), stop(1)),
        ),
        [
            OpaquePart(kept(block={"toolUse": {**SERVER["toolUse"], "input": {"a": 1}}}), "nova_code_interpreter"),
            OpaquePart(
                kept(block={"toolResult": {**RESULT["toolResult"], "content": OUT}}), "nova_code_interpreter_result"
            ),
        ],
        {},
    ),
    "a server tool whose question is broken": (
        answer(begin(SERVER), piece('{"a":'), stop(), begin(RESULT, 1), delta({"toolResult": OUT}, 1), stop(1)),
        [],
        {"server-tool-input-is-no-object": 1},
    ),
    "a block that nobody knows": (
        answer(begin({"new": {"a": 1}}), delta({"new": 1}), stop(), words("a", 1), stop(1)),
        [TextPart("a")],
        {"block-of-another-kind": 1, "delta-of-another-kind": 1},
    ),
    "blocks that overlap": (
        answer(words("a"), words("b", 1), words("c"), stop(), stop(1)),
        [TextPart("a"), TextPart("b"), TextPart("c")],
        {"blocks-overlap": 2},
    ),
    "what belongs nowhere": (
        answer(
            stop(7),
            delta({}, 3),
            {"contentBlockDelta": {"contentBlockIndex": 0}},
            {"new": {"x": 1}},
            words("a"),
            stop(),
        ),
        [TextPart("a")],
        {
            "stop-without-block": 1,
            "delta-without-block": 1,
            "delta-without-content": 1,
            "event-of-another-kind": 1,
        },
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answer(name: str) -> None:
    data, expected, quirks = ANSWERS[name]
    stream, _ = outcome(data, "bedrock")
    assert stream.complete
    assert parts(stream) == expected
    assert stream.quirks == quirks
    assert stream.usage == TokenUsage(5, 7, total_tokens=12)
    assert stream.invocations == []


def test_every_cut() -> None:
    check_every_cut(answer(thought(text="hm"), stop(), *call('{"x":', "1}", index=1), reason="tool_use"), "bedrock")
    check_every_cut(invoked(*anthropic_call()), "bedrock")


CALL = ("c1", "f", {"x": 1})
CALLS: dict[str, tuple[bytes, list[Any], StopReason]] = {
    "one": (answer(*call("", '{"x"', ":1}"), reason="tool_use"), [CALL], StopReason.TOOL_CALLS),
    "two": (
        answer(*call('{"x":1}'), *call("{}", index=1, call_id="c2", name="g"), reason="tool_use"),
        [CALL, ("c2", "g", {})],
        StopReason.TOOL_CALLS,
    ),
    "without arguments": (answer(*call(""), reason="tool_use"), [("c1", "f", {})], StopReason.TOOL_CALLS),
    "end_turn after a call": (answer(*call('{"x":1}')), [CALL], StopReason.TOOL_CALLS),
    "of a named type": (
        answer(begin(use(type="tool_use")), piece('{"x":1}'), stop(), reason="tool_use"),
        [CALL],
        StopReason.TOOL_CALLS,
    ),
    "of a type that is not ours": (
        answer(begin(use(type="new_tool_use")), piece('{"x":1}'), stop(), reason="tool_use"),
        [],
        StopReason.STOP,
    ),
    "interleaved": (
        answer(
            *(begin(use()), begin(use("c2", "g"), 1), piece('{"x"'), piece("{", 1), piece(":1}"), piece("}", 1)),
            *(stop(1), stop()),
            reason="tool_use",
        ),
        [CALL, ("c2", "g", {})],
        StopReason.TOOL_CALLS,
    ),
    "one index after the other's end": (
        answer(*call('{"x":1}'), *call("{}", call_id="c2", name="g"), reason="tool_use"),
        [CALL, ("c2", "g", {})],
        StopReason.TOOL_CALLS,
    ),
    "begun twice": (answer(begin(use()), *call('{"x":1}'), reason="tool_use"), [CALL], StopReason.TOOL_CALLS),
    "never stopped": (answer(*call('{"x":1}')[:-1], reason="tool_use"), [], StopReason.TOOL_CALLS),
    "begun anew in another's place": (
        answer(*call('{"x":1}')[:-1], *call("{}", call_id="c2"), reason="tool_use"),
        [],
        StopReason.UNKNOWN,
    ),
    "a block without a kind begun in its place": (
        answer(*call('{"x":1}')[:-1], begin({}), stop(), reason="tool_use"),
        [],
        StopReason.UNKNOWN,
    ),
    "cut by the token limit": (answer(*call('{"x":1}'), reason="max_tokens"), [], StopReason.LENGTH),
    "cut by a stop sequence": (answer(*call('{"x":1}'), reason="stop_sequence"), [], StopReason.UNKNOWN),
    "blocked": (answer(*call('{"x":1}'), reason="guardrail_intervened"), [], StopReason.CONTENT_FILTER),
    "something unknown within": (
        answer(begin(use()), piece('{"x":1}'), delta({"new": 1}), stop(), reason="tool_use"),
        [],
        StopReason.TOOL_CALLS,
    ),
    "reasoning beside a piece": (
        answer(begin(use()), delta({"toolUse": {"input": "{}"}, "reasoningContent": {"text": "h"}}), stop()),
        [],
        StopReason.TOOL_CALLS,
    ),
    "an answer begun after a call": (
        converse(*call('{"x":1}'), START, *call("{}", call_id="c2"), ended("tool_use"), METADATA),
        [],
        StopReason.UNKNOWN,
    ),
    "an answer begun within a call": (
        converse(*call('{"x":1}')[:-1], START, stop(), ended("tool_use"), METADATA),
        [],
        StopReason.TOOL_CALLS,
    ),
    "an answer begun again": (
        answer(*call('{"x":1}'), START, *call("{}", call_id="c2"), reason="tool_use"),
        [],
        StopReason.UNKNOWN,
    ),
    "two ends that contradict": (
        converse(START, *call('{"x":1}'), ended("tool_use"), ended("max_tokens"), METADATA),
        [CALL],
        StopReason.TOOL_CALLS,
    ),
    "two ends, the first by the token limit": (
        converse(START, *call('{"x":1}'), ended("max_tokens"), ended("tool_use"), METADATA),
        [],
        StopReason.LENGTH,
    ),
    "an answer begun after the end": (
        converse(START, *call('{"x":1}'), ended("tool_use"), START, *call("{}", call_id="c2"), ended("tool_use")),
        [CALL],
        StopReason.TOOL_CALLS,
    ),
    "content after the end": (
        converse(START, *call('{"x":1}'), ended("tool_use"), words("a", 1), ended("end_turn"), METADATA),
        [CALL],
        StopReason.TOOL_CALLS,
    ),
    "content after an end by the token limit": (
        converse(START, *call('{"x":1}'), ended("max_tokens"), words("a", 1), ended("tool_use"), METADATA),
        [],
        StopReason.LENGTH,
    ),
    "content after an end by a stop sequence": (
        converse(START, *call('{"x":1}'), ended("stop_sequence"), words("a", 1), ended("tool_use"), METADATA),
        [],
        StopReason.UNKNOWN,
    ),
    "the cost before the end": (
        converse(START, *call('{"x":1}'), METADATA, ended("tool_use")),
        [CALL],
        StopReason.TOOL_CALLS,
    ),
    "no cost": (converse(START, *call('{"x":1}'), ended("tool_use")), [CALL], StopReason.TOOL_CALLS),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    data, expected, reason = CALLS[name]
    stream, _ = outcome(data, "bedrock")
    assert stream.complete
    assert made_calls(stream) == expected
    assert stream.stop_reason is reason


def test_the_end_is_the_same_for_every_cut() -> None:
    """After `messageStop` the answer is whole, with or without its cost; within a message the body was cut."""
    stopped = converse(START, *call('{"x":1}'), ended("tool_use"))
    data = stopped + converse(METADATA)
    for length in range(len(data) + 1):
        stream, _ = read(whole(data[:length]), "bedrock")
        assert stream.complete is (length in (len(stopped), len(data)))
        assert bool(stream.invocations) is stream.complete
        assert (stream.usage is not None) is (length == len(data))


@pytest.mark.parametrize("name", CALLS)
def test_no_beginning_makes_a_call_that_the_whole_does_not(name: str) -> None:
    """A body may be cut between two messages, where nothing tells that it was."""
    data, expected, _ = CALLS[name]
    for end, _, _ in messages(data):
        stream, _ = read(whole(data[:end]), "bedrock")
        assert [one for one in made_calls(stream) if one not in expected] == []


def test_content_after_the_end_is_counted() -> None:
    stream, _ = outcome(converse(START, *call('{"x":1}'), ended("tool_use"), words("a", 1), METADATA), "bedrock")
    assert stream.complete
    assert stream.usage is not None
    assert stream.summary()["text"] == ""
    assert stream.quirks == {"data-after-the-end": 1}


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([piece("{}")], "outside of any block"),
        ([words("a"), piece("{}")], "no call"),
        ([thought(text="a"), delta({"reasoningContent": {"text": "b"}, "toolUse": {"input": "{}"}})], "no call"),
        ([delta({"text": 1})], "not of this format"),
        ([begin([1])], "not of this format"),  # type: ignore[arg-type]
        ([{"messageStop": {"stopReason": ["x"]}}], "not of this format"),
    ],
)
def test_nonsense_is_told(events: list[Json], words: str) -> None:
    stream, made = outcome(answer(*events), "bedrock")
    assert made[-1].error is not None
    assert made[-1].error.type == "ProtocolError"
    assert words in made[-1].error.message
    assert made[-1].error.facts["event"] == len(events) + 1
    assert stream.invocations == []


def counts(**more: int) -> bytes:
    return converse(START, ended(), {"metadata": {"usage": {**USAGE, **more}}})


@pytest.mark.parametrize(
    ("data", "usage"),
    [
        (counts(), TokenUsage(5, 7, total_tokens=12)),
        (
            counts(cacheReadInputTokens=3, cacheWriteInputTokens=2, totalTokens=17),
            TokenUsage(10, 7, cached_tokens=3, cache_write_tokens=2, total_tokens=17),
        ),
        (
            counts(cacheReadInputTokenCount=3, cacheWriteInputTokenCount=0, totalTokens=15),
            TokenUsage(8, 7, cached_tokens=3, total_tokens=15),
        ),
        (counts(cacheReadInputTokens=3), TokenUsage(5, 7, cached_tokens=3, total_tokens=12)),
        (converse(START, ended(), {"metadata": {"usage": 5}}), None),
    ],
)
def test_usage(data: bytes, usage: TokenUsage | None) -> None:
    stream, _ = outcome(data, "bedrock")
    assert stream.complete
    assert stream.usage == usage


# Exceptions

EXCEPTIONS: dict[str, tuple[bytes, str, list[str], str | None]] = {
    "throttling": (
        exception("throttlingException", {"message": "Too many tokens"}),
        "RateLimited",
        ["Too many tokens"],
        "throttlingException",
    ),
    "validation": (
        exception("validationException", {"message": "bad"}),
        "ProviderError",
        ["bad"],
        "validationException",
    ),
    "access": (
        exception("accessDeniedException", {"Message": "not yours"}),
        "AuthenticationFailed",
        ["not yours"],
        "accessDeniedException",
    ),
    "not found": (
        exception("resourceNotFoundException", {"message": "no such model"}),
        "ModelNotFound",
        ["no such model"],
        "resourceNotFoundException",
    ),
    "the model's own error": (
        exception(
            "modelStreamErrorException", {"message": "failed", "originalStatusCode": 500, "originalMessage": "OOM"}
        ),
        "ProviderError",
        ["failed", "OOM"],
        "modelStreamErrorException",
    ),
    "no words": (exception("internalServerException", {}), "ProviderError", ["internalServerException"], None),
    "no JSON": (exception("serviceUnavailableException", b"<p>"), "ProviderError", ["<p>"], None),
    "an error": (
        message(
            b"".join(
                string_header(*pair)
                for pair in ((":message-type", "error"), (":error-code", "Internal"), (":error-message", "broke"))
            ),
            b"",
        ),
        "ProviderError",
        ["broke"],
        "Internal",
    ),
    "a message of another kind": (
        message(string_header(":message-type", "new"), b"{}"),
        "ProviderError",
        ["new"],
        None,
    ),
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions(name: str) -> None:
    sent, kind, said, code = EXCEPTIONS[name]
    stream, made = outcome(converse(START, words("Hi"), *call('{"x":1}', index=1)) + sent, "bedrock")
    assert made[-1].error is not None
    assert made[-1].error.type == kind
    for word in said:
        assert word in made[-1].error.message
    assert made[-1].error.facts["provider"] == "bedrock"
    assert code is None or made[-1].error.facts["code"] == code
    assert stream.summary()["text"] == "Hi"
    assert stream.invocations == []


# Models that are invoked by themselves

METRICS = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 5, "outputTokenCount": 7}}


def anthropic_call(stop_reason: str = "tool_use") -> list[Json]:
    tool = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": text} for text in ("", '{"x"', ":1}")]
    usage = {"input_tokens": 5, "output_tokens": 1}
    thinking = [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "sig"}]
    return [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        *[{"type": "content_block_delta", "index": 0, "delta": one} for one in thinking],
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": tool},
        *[{"type": "content_block_delta", "index": 1, "delta": one} for one in deltas],
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 7}},
        {"type": "message_stop", **METRICS},
    ]


def test_anthropic_messages() -> None:
    stream, _ = outcome(invoked(*anthropic_call()), "bedrock")
    assert stream.complete
    assert made_calls(stream) == [CALL]
    # It goes back in Anthropic's own request.
    assert parts(stream) == [
        ThinkingPart("hm", {"wire": "anthropic", "signature": "sig"}),
        ToolCallPart("c1", "f", {"x": 1}, '{"x":1}'),
    ]
    assert stream.usage == TokenUsage(5, 7, total_tokens=12)
    assert stream.raw_stop_reason == "tool_use"
    assert stream.quirks == {}


def test_anthropic_messages_that_break_off_or_fail() -> None:
    events = anthropic_call()
    cut, _ = outcome(invoked(*events[:-1]), "bedrock")
    assert type(cut.error).__name__ == "IncompleteStream"
    assert cut.invocations == []
    limited, _ = outcome(invoked(*anthropic_call("max_tokens")), "bedrock")
    assert limited.invocations == []
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    failed, made = outcome(invoked(*events[:-2], error), "bedrock")
    assert made[-1].error is not None
    assert made[-1].error.facts["provider"] == "bedrock"
    assert "busy" in made[-1].error.message
    assert failed.invocations == []


def test_nova() -> None:
    """A block for every word: one text here."""
    words_ = [event for number in range(3) for event in (words("a", number), stop(number))]
    last = {**METADATA, **METRICS}
    stream, events = outcome(invoked(START, *words_, *call('{"x":1}', index=3), ended("tool_use"), last), "bedrock")
    assert made_calls(stream) == [CALL]
    assert parts(stream)[0] == TextPart("aaa")
    assert [one.type for one in events].count(EventType.START) == 2
    assert stream.usage == TokenUsage(5, 7, total_tokens=12)
    assert stream.quirks == {}


TEXT_MODELS: dict[str, tuple[list[Json], str, StopReason]] = {
    "titan": (
        [{"outputText": "He", "completionReason": None}, {"outputText": "y", "completionReason": "FINISH", **METRICS}],
        "FINISH",
        StopReason.STOP,
    ),
    "titan, cut": ([{"outputText": "Hey", "completionReason": "LENGTH", **METRICS}], "LENGTH", StopReason.LENGTH),
    "llama": (
        [{"generation": "Hey", "stop_reason": None}, {"generation": "", "stop_reason": "stop", **METRICS}],
        "stop",
        StopReason.STOP,
    ),
    "claude 2": (
        [{"completion": "Hey", "stop_reason": None}, {"completion": "", "stop_reason": "max_tokens", **METRICS}],
        "max_tokens",
        StopReason.LENGTH,
    ),
    "command": (
        [{"is_finished": False, "text": "Hey"}, {"is_finished": True, "finish_reason": "COMPLETE", **METRICS}],
        "COMPLETE",
        StopReason.STOP,
    ),
    "mistral": (
        [
            {"outputs": [{"text": "Hey", "stop_reason": None}]},
            {"outputs": [{"text": "", "stop_reason": "stop"}], **METRICS},
        ],
        "stop",
        StopReason.STOP,
    ),
    "a word that nobody knows": (
        [{"outputText": "Hey", "completionReason": "NEW", **METRICS}],
        "NEW",
        StopReason.UNKNOWN,
    ),
}


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_text_models(name: str) -> None:
    chunks, raw, reason = TEXT_MODELS[name]
    stream, _ = outcome(invoked(*chunks), "bedrock")
    assert stream.complete
    assert (stream.summary()["text"], stream.raw_stop_reason, stream.stop_reason) == ("Hey", raw, reason)
    assert stream.usage == TokenUsage(5, 7, total_tokens=12)
    cut, _ = outcome(invoked(*chunks[:-1]), "bedrock")
    assert not cut.complete


def test_two_answers_of_a_text_model() -> None:
    chunks = [{"index": 0, "text": "a"}, {"index": 1, "text": "b"}, {"is_finished": True, "finish_reason": "COMPLETE"}]
    stream, _ = outcome(invoked(*chunks), "bedrock")
    assert stream.complete
    assert stream.summary()["text"] == "ab"
    assert parts(stream) == [TextPart("a")]


INVOKED_FAULTS: dict[str, tuple[bytes, str]] = {
    "a chat completion": (invoked({"choices": [{"delta": {"content": "Hi"}}]}), "OpenAI's chat format"),
    "a model of its own": (invoked({"novel": 1}), "novel"),
    "no JSON": (invoked(b"{nonsense"), "not of this format"),
    "no object": (invoked(b"[1]"), "not of this format"),
    "no text": (invoked(b'{"type":"\xff"}'), "not of this format"),
    "no base64": (event("chunk", b'{"bytes":"?"}'), "not of this format"),
    "too deep": (invoked(b'{"type":' + b"[" * 700 + b"]" * 700 + b"}"), "nested too deeply"),
    "a later one that is none": (invoked(anthropic_call()[0], b"5"), "not of this format"),
    "chunks among events": (converse(START) + invoked({"outputText": "Hi"}), "among the events of Converse"),
    "events among chunks": (invoked(anthropic_call()[0]) + converse(START), "among the chunks"),
}


@pytest.mark.parametrize("name", INVOKED_FAULTS)
def test_invoked_models_that_are_not_read(name: str) -> None:
    data, words = INVOKED_FAULTS[name]
    stream, made = outcome(data, "bedrock")
    assert made[-1].error is not None
    assert made[-1].error.type == "ProtocolError"
    assert words in made[-1].error.message
    assert stream.invocations == []


def test_an_empty_chunk_says_nothing() -> None:
    stream, _ = outcome(invoked(b"", *anthropic_call()), "bedrock")
    assert made_calls(stream) == [CALL]
    assert stream.quirks == {"empty-chunk": 1}


# Bodies that are no event stream


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b'{"message":"The security token is invalid."}', "ProviderError", "security token"),
        (b'{"Message":"User is not authorized"}', "ProviderError", "not authorized"),
        (
            b'{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}',
            "AuthenticationFailed",
            "no",
        ),
        (b'{"__type":"ThrottlingException"}', "RateLimited", "ThrottlingException"),
        (b"<html>502</html>", "ProtocolError", "<html>"),
        (b"event: message_start\ndata: {}\n\n", "ProtocolError", "no event stream"),
    ],
)
def test_a_body_that_is_none(data: bytes, kind: str, words: str) -> None:
    _, made = outcome(data, "bedrock")
    assert made[-1].error is not None
    assert made[-1].error.type == kind
    assert words in made[-1].error.message


def test_an_answer_that_was_not_streamed() -> None:
    content = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
        {"reasoningContent": {"redactedContent": "c2Vj"}},
        {"text": "Hi"},
        {"toolUse": {"toolUseId": "c1", "name": "f", "input": {"x": 1}}},
        {"guardContent": {"text": {"text": "x"}}},
    ]
    whole_ = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use",
        "usage": USAGE,
    }
    stream, _ = outcome(msgspec.json.encode(whole_), "bedrock")
    assert stream.complete
    assert made_calls(stream) == [CALL]
    assert parts(stream) == [
        ThinkingPart("hm", kept(signature="sig")),
        ThinkingPart("", kept(redacted="c2Vj")),
        TextPart("Hi"),
        ToolCallPart("c1", "f", {"x": 1}, '{"x":1}'),
        OpaquePart(kept(block=content[-1])),
    ]
    assert stream.usage == TokenUsage(5, 7, total_tokens=12)
    assert stream.quirks == {"not-streamed": 1}


@pytest.mark.parametrize("sent", [[], 0, False, "{"])
def test_arguments_of_an_answer_that_was_not_streamed_must_be_an_object(sent: Any) -> None:
    content = [{"toolUse": {"toolUseId": "c1", "name": "f", "input": sent}}]
    whole_ = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "tool_use"}
    stream, _ = outcome(msgspec.json.encode(whole_), "bedrock")
    assert stream.complete
    assert stream.invocations == []


def test_the_bound_of_an_image_is_named() -> None:
    picture = [delta({"image": {"source": {"bytes": "MTIz" * 40}}})] * 30
    stream, _ = read(whole(answer(begin({"image": {"format": "png"}}), *picture)), "bedrock", limits=BOUNDS)
    assert stream.error is not None
    assert stream.error.facts["limit"] == BOUNDS.event


BOUNDS = Limits(arguments=50, event=3_000, blocks=4, segments=4)


@pytest.mark.parametrize(
    "data",
    [
        answer(begin(use()), *[piece("12345")] * 30),
        answer(begin(SERVER), *[piece("12345")] * 30),
        answer(*[thought(signature="12345")] * 30),
        answer(*[thought(redactedContent="MTIz")] * 30),
        answer(begin({"image": {"format": "png"}}), *[delta({"image": {"source": {"bytes": "MTIz" * 40}}})] * 30),
        answer(begin(RESULT), *[delta({"toolResult": [{"text": "1"}]})] * 30),
        answer(begin(RESULT), delta({"toolResult": [{"text": "12345" * 20}]})),
        answer(*[delta({"citation": {}})] * 30),
        answer(*[delta({"citation": {"source": "12345" * 300}})] * 3),
        answer(begin(RESULT), *[delta({"toolResult": [{"text": "1", "more": "12345" * 300}]})] * 3),
        answer(*[words("a", number) for number in range(30)]),
    ],
)
def test_everything_is_bounded(data: bytes) -> None:
    stream, _ = read(whole(data), "bedrock", limits=BOUNDS)
    cut, _ = read([data[at : at + 1] for at in range(len(data))], "bedrock", limits=BOUNDS)
    assert type(stream.error).__name__ == "LimitExceeded"
    assert stream.error is not None
    assert cut.error is not None
    assert stream.error.info() == cut.error.info()
