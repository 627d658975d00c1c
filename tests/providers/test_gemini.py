"""Gemini, decoding: every quirk of the Gemini API and of Vertex AI as a small case of our own, fed at every cut."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from feeding import bytewise, check_shape, merged, read, whole
from toolwire import EventType, Limits, SegmentType, StopReason, Stream
from toolwire.messages import MediaPart, OpaquePart, TextPart, ThinkingPart
from toolwire.providers.gemini import STOP_REASONS

Calls = list[tuple[str, str, Any]]
"""id, name, arguments (or the raw text where the call may not run)."""

MORE: dict[str, Any] = {"willContinue": True}
SIGNED: dict[str, Any] = {"thoughtSignature": "c2ln"}
WIRE: dict[str, Any] = {"wire": "gemini"}


def chunk(*parts: Any, finish: Any = None, index: int | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    if finish is not None:
        candidate["finishReason"] = finish
    if index is not None:
        candidate["index"] = index
    return {"candidates": [candidate], **more}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"text": words, **more}


def call(
    name: str | None = "f", args: Any = ..., *, beside: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    made = {"name": name, "args": {"x": 1} if args is ... else args, **more}
    return {"functionCall": {key: value for key, value in made.items() if value is not None}, **(beside or {})}


def partial(path: str, value: str, *, goes_on: bool = True, **more: Any) -> dict[str, Any]:
    piece = {"jsonPath": path, "stringValue": value, **(MORE if goes_on else {})}
    return {"functionCall": {"partialArgs": [piece], **MORE, **more}}


def sse(*chunks: Any, end: bytes = b"\r\n\r\n") -> bytes:
    return b"".join(b"data: " + msgspec.json.encode(one) + end for one in chunks)


def array(*chunks: Any) -> bytes:
    return b"[" + b"\n,\r\n".join(json.dumps(one, indent=2).encode() for one in chunks) + b"\n]\n"


def calls_of(summary: dict[str, Any]) -> Calls:
    return [(made["id"], made["name"], made["arguments"]) for made in summary["calls"]]


END = chunk(finish="STOP")
USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 22}
F = [("s0", "f", {"x": 1})]
BEGIN = {"functionCall": {"name": "f", **MORE}}
LAST: dict[str, Any] = {"functionCall": {}}

CALLS: dict[str, tuple[list[Any], Calls]] = {
    "whole, and the finish": ([chunk(call(), finish="STOP")], F),
    "whole, the finish later": ([chunk(call()), END], F),
    "the finish with an empty text": ([chunk(call()), chunk(text(""), finish="STOP")], F),
    "with an id": ([chunk(call(id="c1"), finish="STOP")], [("c1", "f", {"x": 1})]),
    "with a number as id": ([chunk(call(id=7), finish="STOP")], [("7", "f", {"x": 1})]),
    "args missing": ([chunk(call(args=None), finish="STOP")], [("s0", "f", {})]),
    "args null": ([{"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": None}}]}}]}, END],
                  [("s0", "f", {})]),
    "args empty": ([chunk(call(args={}), finish="STOP")], [("s0", "f", {})]),
    "two of one function in one chunk": (
        [chunk(call(), call(args={"x": 2}), finish="STOP")],
        [("s0", "f", {"x": 1}), ("s1", "f", {"x": 2})],
    ),
    "two of one function, the same in all": ([chunk(call()), chunk(call()), END], [*F, ("s1", "f", {"x": 1})]),
    "signed and unsigned": (
        [chunk(call(beside=SIGNED), call("g")), END],
        [("s0", "f", {"x": 1}), ("s1", "g", {"x": 1})],
    ),
    "finish as a number": ([chunk(call(), finish=1)], F),
    "STOP in every chunk": ([chunk(text("a"), finish="STOP"), chunk(call(), finish="STOP")], [("s1", "f", {"x": 1})]),
    "the finish twice": ([chunk(text("a"), finish="STOP"), chunk(call(), finish="STOP"), END], [("s1", "f", {"x": 1})]),
    "unspecified finish before the real one": (
        [chunk(text("a"), finish="FINISH_REASON_UNSPECIFIED"), chunk(call(), finish=0), END],
        [("s1", "f", {"x": 1})],
    ),
    "streamed arguments": (
        [
            chunk({**BEGIN, **SIGNED}),
            chunk(partial("$.city", "Par")),
            chunk({"functionCall": MORE}),
            chunk(partial("$.city", "is")),
            chunk(partial("$.city", "", goes_on=False)),
            chunk(LAST),
            END,
        ],
        [("s0", "f", {"city": "Paris"})],
    ),
    "streamed arguments with counts": (
        [
            *(chunk(text("a"), usageMetadata=USAGE), chunk(text("b"), usageMetadata=USAGE)),
            chunk(BEGIN, usageMetadata=USAGE),
            *(chunk(partial("$.a", word), usageMetadata=USAGE) for word in ("x", "", '"', "\n")),
            chunk(partial("$.a", "", goes_on=False), usageMetadata=USAGE),
            chunk(partial("$.b", "z"), usageMetadata=USAGE),
            chunk(partial("$.b", "", goes_on=False), usageMetadata=USAGE),
            chunk(LAST, usageMetadata=USAGE, finish="STOP"),
        ],
        [("s1", "f", {"a": 'x"\n', "b": "z"})],
    ),
    "streamed arguments of two calls of one function": (
        [
            *(chunk(BEGIN), chunk(partial("$.a", "1", goes_on=False)), chunk(LAST)),
            *(chunk(BEGIN), chunk(partial("$.a", "2", goes_on=False)), chunk(LAST)),
            END,
        ],
        [("s0", "f", {"a": "1"}), ("s1", "f", {"a": "2"})],
    ),
    "streamed arguments in one chunk": (
        [chunk(BEGIN, partial("$.a", "1"), partial("$.a", "2", goes_on=False), LAST, finish="STOP")],
        [("s0", "f", {"a": "12"})],
    ),
    "streamed arguments, the last piece ends the call": (
        [
            chunk(BEGIN),
            chunk(partial("$.a[0].b", "x", goes_on=False)),
            chunk({"functionCall": {"partialArgs": [{"jsonPath": "$.a[1].b", "numberValue": 0.5}]}}),
            chunk(text(""), finish="STOP"),
        ],
        [("s0", "f", {"a": [{"b": "x"}, {"b": 0.5}]})],
    ),
    "streamed arguments with the name on every piece": (
        [chunk(BEGIN), chunk(partial("$.a", "x", name="f")), chunk(partial("$.a", "", goes_on=False, name="f")),
         chunk(LAST), END],
        [("s0", "f", {"a": "x"})],
    ),
    "streamed arguments with the id on every piece": (
        [
            chunk(call(args=None, id="c1", **MORE)),
            chunk(partial("$.a", "x", goes_on=False, id="c1")),
            chunk({"functionCall": {"id": "c1"}}),
            END,
        ],
        [("c1", "f", {"a": "x"})],
    ),
    "streamed, without any argument": ([chunk(BEGIN), chunk(LAST), END], [("s0", "f", {})]),
    "streamed, the arguments all at once": (
        [chunk(BEGIN), chunk({"functionCall": {"args": {"x": 1}, **MORE}}), chunk(LAST), END],
        F,
    ),
    "streamed, and nested": (
        [
            chunk(BEGIN),
            chunk(
                {
                    "functionCall": {
                        "partialArgs": [
                            {"jsonPath": "$.a.b[0]", "boolValue": True},
                            {"jsonPath": "$.a.b[1]", "nullValue": None},
                            {"jsonPath": "$['c d']", "nullValue": "NULL_VALUE"},
                        ],
                        **MORE,
                    }
                }
            ),
            chunk(LAST),
            END,
        ],
        [("s0", "f", {"a": {"b": [True, None]}, "c d": None})],
    ),
    "an end of a call that never began": ([chunk(LAST), chunk(call()), END], F),
    "names in the spelling of the Python SDK": (
        [
            {
                "candidates": [
                    {"content": {"parts": [{"function_call": {"name": "f", "args": {"a_b": {"c_d": 1}}}}]},
                     "finish_reason": "STOP"}
                ],
                "usage_metadata": {"prompt_token_count": 5},
            }
        ],
        [("s0", "f", {"a_b": {"c_d": 1}})],
    ),
    "streamed, in the spelling of the Python SDK": (
        [
            {"candidates": [{"content": {"parts": [{"function_call": {"name": "f", "will_continue": True}}]}}]},
            chunk({"functionCall": {"partial_args": [{"json_path": "$.a", "string_value": "x"}]}}),
            END,
        ],
        [("s0", "f", {"a": "x"})],
    ),
    "wrapped by Code Assist": ([{"response": chunk(call())}, {"response": END, "traceId": "t"}], F),
    "without role, index and usage": ([{"candidates": [{"content": {"parts": [call()]}}]}, END], F),
    "text around it": ([chunk(text("a")), chunk(call()), chunk(text("b"), finish="STOP")], [("s1", "f", {"x": 1})]),
}  # fmt: skip


def both(chunks: list[Any]) -> list[bytes]:
    return [sse(*chunks), array(*chunks), sse(*chunks, end=b"\n\n")]


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    chunks, expected = CALLS[name]
    for body in both(chunks):
        stream, events = read(whole(body), wire="gemini")
        check_shape(events)
        assert stream.error is None
        assert calls_of(stream.summary()) == expected
        assert all(made["complete"] for made in stream.summary()["calls"])
        assert stream.complete
        assert stream.stop_reason is StopReason.TOOL_CALLS
        assert [invocation.id for invocation in stream.invocations] == [
            event.segment_id
            for event in events
            if event.type is EventType.END and event.segment_type is SegmentType.TOOL_CALL
        ]


@pytest.mark.thorough
@pytest.mark.parametrize("name", CALLS)
def test_calls_do_not_depend_on_cuts(name: str) -> None:
    for body in both(CALLS[name][0])[:2]:
        stream, events = read(whole(body), wire="gemini")
        expected, summary = list(merged(events)), stream.summary()
        for at in range(0, len(body) + 1, 3):
            cut, cut_events = read([body[:at], body[at:]], wire="gemini")
            assert list(merged(cut_events)) == expected
            assert cut.summary() == summary
        cut, cut_events = read(bytewise(body), wire="gemini")
        assert list(merged(cut_events)) == expected
        assert cut.message == stream.message


@pytest.mark.thorough
@pytest.mark.parametrize("name", CALLS)
def test_a_cut_answer_runs_nothing(name: str) -> None:
    """An array is whole with its `]`; SSE once a finish was there that no content followed."""
    for body in both(CALLS[name][0])[:2]:
        ended = False
        for at in range(0, len(body) + 1):
            stream, events = read([body[:at]], wire="gemini")
            check_shape(events)
            if stream.complete:
                ended = True
                assert b"inish" in body[:at]
                assert body[:1] != b"[" or body[:at].rstrip().endswith(b"]")
            else:
                assert stream.invocations == []
                assert events[-1].type is EventType.ERROR
        assert ended


NOT_RUN: dict[str, list[Any]] = {
    "no finish": [chunk(call())],
    "content after the finish": [chunk(text("a"), finish="STOP"), chunk(call())],
    "a streamed call that never ends": [chunk(BEGIN), chunk(partial("$.a", "x", goes_on=False)), END],
    "a streamed call that another one follows": [
        chunk(BEGIN), chunk(partial("$.a", "x", goes_on=False)), chunk(call("g", None)), END,
    ],
    "a string that never ends": [chunk(BEGIN), chunk(partial("$.a", "x")), chunk(LAST), END],
    "a member twice": [chunk(BEGIN), *[chunk(partial("$.a", "x", goes_on=False))] * 2, chunk(LAST), END],
    "a list with a gap": [chunk(BEGIN), chunk(partial("$.a[1]", "x", goes_on=False)), chunk(LAST), END],
    "a piece before any call": [chunk(partial("$.a", "x")), END],
    "arguments twice": [chunk(call(**MORE)), chunk({"functionCall": {"args": {"x": 2}}}), END],
    "arguments whole and in pieces": [chunk(call(**MORE)), chunk(partial("$.a", "x", goes_on=False)), chunk(LAST), END],
    "arguments that are no object": [chunk(call(args=[1]), finish="STOP")],
    "a text as arguments": [chunk(call(args='{"x":1}'), finish="STOP")],
    "no name": [chunk(call(name=None), finish="STOP")],
    "an error afterwards": [chunk(call(), finish="STOP"), {"error": {"code": 500, "message": "x"}}],
    "the prompt was blocked after all": [chunk(call(), finish="STOP"), {"promptFeedback": {"blockReason": "SAFETY"}}],
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_RUN)
def test_calls_that_may_not_run(name: str) -> None:
    for body in both(NOT_RUN[name]):
        stream, events = read(whole(body), wire="gemini")
        check_shape(events)
        assert "f" not in [invocation.tool_name for invocation in stream.invocations]
        assert all(made["problem"] for made in stream.summary()["calls"] if made["name"] != "g")
        assert list(merged(read(bytewise(body), wire="gemini")[1])) == list(merged(events))


def test_a_duplicate_key_in_whole_arguments_is_refused() -> None:
    body = b'data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"x":1,"x":2}}}]},'
    stream, _ = read(whole(body + b'"finishReason":"STOP"}]}\r\n\r\n'), wire="gemini")
    assert stream.complete
    assert "twice" in stream.summary()["calls"][0]["problem"]


@pytest.mark.parametrize(("word", "reason"), [*STOP_REASONS.items(), ("NEW_WORD", StopReason.UNKNOWN), (9, "unknown")])
def test_stop_reasons(word: Any, reason: StopReason) -> None:
    sent = int(word) if str(word).isdigit() else word
    stream, _ = read(whole(sse(chunk(call(), finish=sent))), wire="gemini")
    assert stream.complete
    assert stream.raw_stop_reason == str(word)
    assert stream.stop_reason == (StopReason.TOOL_CALLS if reason is StopReason.STOP else reason)
    assert len(stream.invocations) == (reason is StopReason.STOP)
    stream, _ = read(whole(sse(chunk(text("a")), chunk(finish=sent))), wire="gemini")
    assert stream.stop_reason == reason


@pytest.mark.parametrize("reason", ["SAFETY", "PROHIBITED_CONTENT", "NEW_WORD", 4])
def test_a_blocked_prompt_is_an_end(reason: Any) -> None:
    blocked = {"promptFeedback": {"blockReason": reason, "blockReasonMessage": "no"}, "usageMetadata": {}}
    for body in both([blocked]):
        stream, events = read(whole(body), wire="gemini")
        assert (stream.complete, stream.stop_reason) == (True, StopReason.CONTENT_FILTER)
        assert stream.raw_stop_reason == str(reason)
        assert len(events) == 1


def test_feedback_without_a_reason_is_no_end() -> None:
    sent: list[Any] = [{}, {"safetyRatings": []}, {"blockReason": 0}, {"blockReason": "BLOCKED_REASON_UNSPECIFIED"}, 5]
    for feedback in sent:
        assert not read(whole(sse({"promptFeedback": feedback})), wire="gemini")[0].complete


def segments(body: bytes) -> list[tuple[str, str]]:
    stream, events = read(whole(body), wire="gemini")
    assert stream.complete
    types = {event.segment_id: event.segment_type for event in events if event.type is EventType.START}
    return [(str(types[event.segment_id]), event.delta) for event in merged(events) if event.type is EventType.CONTENT]


IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
TEXTS: dict[str, tuple[list[Any], list[tuple[str, str]]]] = {
    "text": ([chunk(text("Hel")), chunk(text("lo")), END], [("text", "Hello")]),
    "several parts": ([chunk(text("Hel"), text("lo"), finish="STOP")], [("text", "Hello")]),
    "text and thoughts by turns": (
        [chunk(text(str(n), thought=n % 3 == 0), usageMetadata={"totalTokenCount": n}) for n in range(8)] + [END],
        [("reasoning", "0"), ("text", "12"), ("reasoning", "3"), ("text", "45"), ("reasoning", "6"), ("text", "7")],
    ),
    "thoughts": (
        [chunk(text("so", thought=True)), chunk(text("!", thought=True), text("Hi")), END],
        [("reasoning", "so!"), ("text", "Hi")],
    ),
    "thought false": ([chunk(text("Hi", thought=False), finish="STOP")], [("text", "Hi")]),
    "a signed text stays apart": (
        [chunk(text("a")), chunk(text("b", **SIGNED)), chunk(text("c")), END],
        [("text", "a"), ("text", "b"), ("text", "c")],
    ),
    "an empty signed text shows nothing": (
        [chunk(text("a")), chunk(text("", **SIGNED), finish="STOP")],
        [("text", "a")],
    ),
    "media": (
        [
            chunk(
                text("see"),
                IMAGE,
                {"inlineData": {"mimeType": "audio/wav", "data": "BB=="}},
                {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://a/b"}},
                finish="STOP",
            )
        ],
        [
            ("text", "see"),
            ("media", "data:image/png;base64,AA=="),
            ("media", "data:audio/wav;base64,BB=="),
            ("media", "gs://a/b"),
        ],
    ),
    "code that Google ran": (
        [
            chunk({"executableCode": {"language": "PYTHON", "code": "1+1"}}),
            chunk({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}, text("2"), finish="STOP"),
        ],
        [("server_tool", "1+1"), ("server_tool", "2"), ("text", "2")],
    ),
    "tools that Google ran": (
        [
            chunk(
                {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "x"}, "id": "t1"}, **SIGNED},
                {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {"a": 1}, "id": "t1"}},
                {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1"}},
                finish="STOP",
            )
        ],
        [("server_tool", '{"q":"x"}'), ("server_tool", '{"a":1}')],
    ),
    "parts of kinds that are new": (
        [chunk({"newPart": {"a": 1}}, {"other": "x"}, IMAGE | {"inlineData": 5}, finish="STOP")],
        [("server_tool", '{"a":1}'), ("server_tool", "x"), ("server_tool", "5")],
    ),
    "parts in another spelling": (
        [
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [
                                {"executable_code": {"code": "1"}},
                                {"inline_data": {"mime_type": "image/png", "data": "AA=="}},
                                {"text": "a", "thought_signature": "s"},
                            ]
                        },
                        "finish_reason": "STOP",
                    }
                ]
            }
        ],
        [("server_tool", "1"), ("media", "data:image/png;base64,AA=="), ("text", "a")],
    ),
    "a new part wrapped by Code Assist": ([{"response": chunk({"newPart": 1}, finish="STOP")}], [("server_tool", "1")]),
    "a file of another kind": (
        [chunk({"inlineData": {"mimeType": "application/pdf", "data": "AA=="}}, finish="STOP")],
        [("server_tool", "application/pdf")],
    ),
    "nothing in it": (
        [
            *({"candidates": [{"content": {}}]}, {"candidates": []}, {}, chunk({}, {"thought": True})),
            chunk(text("a"), finish="STOP"),
        ],
        [("text", "a")],
    ),
    "line separators are no line ends": (
        [chunk(text("a\u2028b\u0085c"), finish="STOP")],
        [("text", "a\u2028b\u0085c")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_text_thoughts_media_and_the_rest(name: str) -> None:
    chunks, expected = TEXTS[name]
    for body in both(chunks):
        assert segments(body) == expected
        assert list(merged(read(bytewise(body), wire="gemini")[1])) == list(merged(read([body], wire="gemini")[1]))


def message_of(*chunks: Any) -> Any:
    return read(whole(sse(*chunks)), wire="gemini")[0].message.parts


def test_signatures_are_kept_with_their_parts() -> None:
    signed = {**WIRE, **SIGNED}
    parts = message_of(
        chunk(text("hm", thought=True, **SIGNED)),
        chunk(text("a")),
        chunk(text("b", **SIGNED)),
        chunk(text("", **SIGNED)),
        chunk(SIGNED),
        chunk(call(beside=SIGNED), call("g", id="c2")),
        chunk({**IMAGE, **SIGNED, "thought": True}),
        chunk({"fileData": {"mimeType": "image/png", "fileUri": "gs://a"}}),
        chunk(text("c")),
        END,
    )
    assert parts[:5] == [
        ThinkingPart("hm", signed),
        TextPart("a"),
        TextPart("b", provider_data=signed),
        TextPart("", provider_data=signed),
        TextPart("", provider_data=signed),
    ]
    assert [part.provider_data for part in parts[5:7]] == [signed, {**WIRE, "id": "c2"}]
    assert parts[7:] == [
        MediaPart("image/png", url="data:image/png;base64,AA==", provider_data={**signed, "thought": True}),
        MediaPart(
            "image", url="gs://a", provider_data={**WIRE, "fileData": {"mimeType": "image/png", "fileUri": "gs://a"}}
        ),
        TextPart("c"),
    ]


def test_a_signature_of_a_streamed_call_is_kept() -> None:
    parts = message_of(chunk({**BEGIN, **SIGNED}), chunk(partial("$.a", "x", goes_on=False)), chunk(LAST), END)
    assert [(part.arguments, part.provider_data) for part in parts] == [({"a": "x"}, {**WIRE, **SIGNED})]


def test_parts_of_googles_tools_are_kept_whole() -> None:
    native = {"executableCode": {"code": "1", "language": "PYTHON", "id": "e1"}, **SIGNED, "partMetadata": {"a_b": 1}}
    parts = message_of(chunk(native), END)
    assert parts == [OpaquePart({**WIRE, "part": native}, "code_execution")]


def test_arguments_of_a_body_printed_for_people_have_no_line_breaks() -> None:
    stream, _ = read(whole(array(chunk(call(args={"a": [1, "x\ny"]}), finish="STOP"))), wire="gemini")
    assert stream.invocations[0].raw_arguments == '{"a":[1,"x\\ny"]}'


USAGES: dict[str, tuple[list[Any], Any]] = {
    "thoughts and results of tools are counted in": (
        [
            chunk(
                text("a"),
                finish="STOP",
                usageMetadata={
                    **USAGE,
                    "thoughtsTokenCount": 4,
                    "toolUsePromptTokenCount": 3,
                    "cachedContentTokenCount": 2,
                },
            )
        ],
        (13, 9, 2, 4, 22),
    ),
    "the last of several": (
        [chunk(text("a"), usageMetadata={"promptTokenCount": 1}), chunk(text("b"), finish="STOP", usageMetadata=USAGE)],
        (10, 5, 0, 0, 22),
    ),
    "one without counts says nothing": (
        [chunk(text("a"), usageMetadata=USAGE), chunk(text("b"), finish="STOP", usageMetadata={"trafficType": "X"})],
        (10, 5, 0, 0, 22),
    ),
    "after the finish": ([END, {"usageMetadata": USAGE}], (10, 5, 0, 0, 22)),
    "in a chunk of the fast way": (
        [chunk(text("a"), usageMetadata={}), *(chunk(text("b"), usageMetadata=one) for one in (USAGE, {})), END],
        (10, 5, 0, 0, 22),
    ),
    "without a total": ([chunk(finish="STOP", usageMetadata={"promptTokenCount": 2, "thoughtsTokenCount": 3})],
                        (2, 3, 0, 3, 5)),
    "nonsense": ([chunk(finish="STOP", usageMetadata={"promptTokenCount": "x", "candidatesTokenCount": -1})],
                 (0, 0, 0, 0, 0)),
    "none": ([chunk(finish="STOP", usageMetadata=None)], None),
    "in another spelling": (
        [{"candidates": [{"finish_reason": 1}], "usage_metadata": {"prompt_token_count": 2}}],
        (2, 0, 0, 0, 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", USAGES)
def test_usage(name: str) -> None:
    chunks, expected = USAGES[name]
    for body in both(chunks):
        for pieces in (whole(body), bytewise(body)):
            stream, _ = read(pieces, wire="gemini")
            assert stream.complete
            usage = stream.usage
            assert expected == (
                usage
                and (
                    *(usage.input_tokens, usage.output_tokens, usage.cached_tokens),
                    *(usage.reasoning_tokens, usage.total_tokens),
                )
            )


@pytest.mark.parametrize("rest", [b"", sse({"error": {"message": "x"}}), b"data: nonsense\r\n\r\n"])
def test_a_broken_answer_has_the_usage_so_far(rest: bytes) -> None:
    body = sse(chunk(text("a"), usageMetadata={}), chunk(text("b"), usageMetadata=USAGE)) + rest
    for pieces in (whole(body), bytewise(body)):
        stream, events = read(pieces, wire="gemini")
        assert not stream.complete
        assert events[-1].usage is not None
        assert events[-1].usage.total_tokens == 22


def cited(*chunks: Any) -> list[tuple[str, str, str]]:
    _, events = read(whole(sse(*chunks)), wire="gemini")
    return [
        (one.url, one.title, one.quote)
        for event in events
        if event.metadata and "citations" in event.metadata
        for one in event.metadata["citations"]
    ]


def test_citations() -> None:
    grounding = {
        "groundingChunks": [
            {"web": {"uri": "https://a", "title": "A"}},
            {"retrievedContext": {"title": "B", "text": "said"}},
            {"web": {"uri": "https://c"}},
            5,
            {},
        ],
        "groundingSupports": [
            {"segment": {"text": "Hi"}, "groundingChunkIndices": [0, 1, 9, "x"]},
            {"segment": {"text": "Ho"}, "groundingChunkIndices": [0]},
            {"segment": 5},
        ],
        "webSearchQueries": ["q"],
    }
    recited = {"citationSources": [{"uri": "https://d", "startIndex": 1}, {}], "citations": [{"title": "E"}]}
    made = chunk(text("Hi Ho"), finish="STOP")
    made["candidates"][0] |= {"groundingMetadata": grounding, "citationMetadata": recited}
    again = chunk(finish="STOP")
    again["candidates"][0] |= {"groundingMetadata": grounding, "citationMetadata": recited}
    assert cited(made, again) == [
        ("https://a", "A", "Hi"),
        ("", "B", "Hi"),
        ("https://a", "A", "Ho"),
        ("https://c", "", ""),
        ("https://d", "", ""),
        ("", "E", ""),
    ]


@pytest.mark.parametrize("value", [5, "x", [], [5], {}, {"groundingChunks": 5, "citationSources": {"a": 1}}])
def test_citations_of_other_kinds_are_none(value: Any) -> None:
    made = chunk(text("a"), finish="STOP")
    made["candidates"][0] |= {"groundingMetadata": value, "citationMetadata": value}
    assert cited(made) == []


def test_alternatives_are_kept_apart_and_only_the_first_is_acted_on() -> None:
    stream, events = read(
        whole(
            sse(
                {"candidates": [
                    {"index": 1, "content": {"parts": [text("B"), call("g")]}, "finishReason": "STOP"},
                    {"index": 0, "content": {"parts": [text("A"), call()]}},
                ]},
                chunk(text("b"), index=1),
                chunk(text("a"), finish="STOP", index=0),
            )
        ),
        wire="gemini",
    )  # fmt: skip
    check_shape(events)
    assert stream.complete
    assert [invocation.tool_name for invocation in stream.invocations] == ["f"]
    assert stream.message.text == "Aa"


ERROR = {"error": {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED", "details": [{"a": [1]}]}}
START = sse(chunk(text("a"), finish="STOP"))
ERRORS: dict[str, bytes] = {
    "an event": START + sse(ERROR),
    "an element": array(chunk(text("a"), finish="STOP"), ERROR),
    "the whole body": json.dumps(ERROR, indent=2).encode(),
    "the whole body in a list": json.dumps([ERROR], indent=2).encode(),
    "lines after chunks that said STOP": START + json.dumps(ERROR, indent=2).encode(),
    "one line after chunks that said STOP": START + json.dumps(ERROR).encode() + b"\n",
    "wrapped by Code Assist": sse({"response": ERROR}),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_typed(name: str) -> None:
    _, events = read(whole(ERRORS[name]), wire="gemini")
    assert events[-1].error is not None
    assert events[-1].error.type == "RateLimited"
    assert "Quota exceeded." in events[-1].error.message
    assert events[-1].error.facts["code"] == 429
    assert list(merged(read(bytewise(ERRORS[name]), wire="gemini")[1])) == list(merged(events))


def test_half_an_error_after_the_finish_is_no_end() -> None:
    lines = json.dumps(ERROR, indent=2).encode()
    for length in range(1, len(lines)):
        stream, _ = read(whole(START + lines[:length]), wire="gemini")
        assert stream.complete is False, lines[:length]


FAULTS: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"data: {x}\r\n\r\n", "ProtocolError"),
    "candidates of another kind": (sse({"candidates": 5}), "ProtocolError"),
    "text of another kind": (sse(chunk({"text": 5})), "ProtocolError"),
    "another spelling, and another kind": (
        sse({"candidates": [{"finish_reason": "STOP", "content": {"parts": [{"function_call": 5}]}}]}),
        "ProtocolError",
    ),
    "a number that nobody can hold beside a new part": (
        b'data: {"candidates":[{"content":{"parts":[{"newPart":1e999}]}}]}\r\n\r\n',
        "ProtocolError",
    ),
    "no array of objects": (b"[1,2]", "ProtocolError"),
    "something after the array": (array(chunk(text("a"), finish="STOP")) + b"x", "ProtocolError"),
    "an element that is no JSON": (b"[{x}]", "ProtocolError"),
    "an element over several lines that is no JSON": (b'[{\n"candidates": x\n}]', "ProtocolError"),
    "an array without its end": (array(chunk(text("a"), finish="STOP"))[:-2], "IncompleteStream"),
    "an array cut in an element": (array(chunk(text("a"), finish="STOP"), END)[:-20], "IncompleteStream"),
    "an empty array": (b"[]", "IncompleteStream"),
    "no finish": (sse(chunk(text("a"))), "IncompleteStream"),
    "nothing": (b"", "IncompleteStream"),
    "a web page": (b"<html>\n</html>\n", "ProtocolError"),
    "too deep": (b"data: " + b'{"a":' * 700 + b"1" + b"}" * 700 + b"\r\n\r\n", "ProtocolError"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_typed(name: str) -> None:
    body, kind = FAULTS[name]
    stream, events = read(whole(body), wire="gemini")
    check_shape(events)
    assert events[-1].error is not None
    assert (events[-1].error.type, stream.invocations) == (kind, [])
    assert list(merged(read(bytewise(body), wire="gemini")[1])) == list(merged(events))


def test_an_answer_that_was_not_streamed() -> None:
    answer = chunk(text("Hi"), call(), finish="STOP", usageMetadata=USAGE)
    stream, _ = read(whole(json.dumps(answer, indent=2).encode()), wire="gemini")
    assert stream.complete
    assert (stream.message.text, calls_of(stream.summary())) == ("Hi", [("s1", "f", {"x": 1})])
    assert stream.usage is not None
    assert stream.quirks["not-streamed"] == 1


def test_quirks_are_counted() -> None:
    body = sse({}, chunk({}), chunk(LAST), chunk(BEGIN), chunk(call("g")), END)
    assert read(whole(body), wire="gemini")[0].quirks == {
        "chunk-without-candidates": 1,
        "empty-part": 1,
        "empty-function-call": 1,
        "call-never-ended": 1,
    }


LIMITS = {
    "arguments": (Limits(arguments=100), sse(chunk(BEGIN), *[chunk(partial("$.a", "x" * 30))] * 5)),
    "line": (Limits(line=100), array(chunk(text("x" * 200)))),
    "stream": (Limits(stream=100), sse(*[chunk(text("x"))] * 10)),
    "calls": (Limits(calls=3), sse(*[chunk(call())] * 5)),
    "segments": (Limits(segments=3), sse(*[chunk(text("", **SIGNED))] * 5)),
    "name": (Limits(name=10), sse(chunk(call("f" * 20)))),
    "call_id": (Limits(call_id=10), sse(chunk(call(id="a" * 20)))),
}


@pytest.mark.parametrize("name", LIMITS)
def test_every_bound_ends_in_a_typed_error(name: str) -> None:
    limits, body = LIMITS[name]
    stream, events = read(whole(body), wire="gemini", limits=limits)
    check_shape(events)
    assert events[-1].error is not None
    assert events[-1].error.type == "LimitExceeded"
    assert events[-1].error.facts["limit"] == getattr(limits, name)
    assert stream.invocations == []
    assert list(merged(read(bytewise(body), wire="gemini", limits=limits)[1])) == list(merged(events))


def test_more_candidates_than_calls_may_be_is_a_fault() -> None:
    stream, _ = read(whole(sse(*(chunk(text("a"), index=number) for number in range(200)))), wire="gemini")
    assert stream.error is not None
    assert "candidates" in str(stream.error)


def test_each_part_is_shown_as_it_comes() -> None:
    stream = Stream("gemini")
    shown = [[event.delta for event in stream.feed(sse(one)) if event.delta] for one in CALLS["streamed arguments"][0]]
    assert shown == [[], ['{"city":"Par'], [], ["is"], ['"'], ["}"], []]
