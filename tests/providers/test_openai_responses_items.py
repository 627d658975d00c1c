"""What the items of a Responses answer become: words said once, the provider's tools shown, all kept to go back."""

from __future__ import annotations

from typing import Any

import pytest

from feeding import bytewise, check_shape, merged, read, whole
from responses_bodies import (
    CODE,
    MCP,
    SEARCH,
    SHELL,
    SHELL_OUTPUT,
    WIRE,
    X,
    added,
    at,
    body_of,
    call,
    done,
    end,
    event,
    message,
    part_done,
    piece,
    reasoning,
    refusal,
    summary,
    text_done,
    thought,
    words,
)
from toolwire import EventType, SegmentType, StopReason
from toolwire.messages import MediaPart, OpaquePart, TextPart, ThinkingPart


def segments(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Kind and words of each segment."""
    body = body_of(events)
    stream, made = read(whole(body), WIRE)
    check_shape(made)
    assert stream.complete, stream.error
    assert list(merged(read(bytewise(body), WIRE)[1])) == list(merged(made))
    kinds = {one.segment_id: str(one.segment_type) for one in made if one.type is EventType.START}
    told = dict.fromkeys(kinds, "")
    for one in made:
        if one.type is EventType.CONTENT:
            told[one.segment_id] += one.delta
    return [(kinds[key], told[key]) for key in kinds]


HELLO = [("text", "Hello")]
TEXTS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]]]] = {
    "said five times": (
        [
            added(message()),
            words("Hel"),
            words("lo"),
            text_done("Hello"),
            part_done({"type": "output_text", "text": "Hello"}),
            done(message("Hello")),
            end(message("Hello")),
        ],
        HELLO,
    ),
    "only as deltas": ([words("Hel"), words("lo"), end()], HELLO),
    "only when the text is done": ([text_done("Hello"), end()], HELLO),
    "only when the part is done": ([part_done({"type": "output_text", "text": "Hello"}), end()], HELLO),
    "only when the item is done": ([done(message("Hello")), end()], HELLO),
    "only in the last event": ([end(message("Hello"))], HELLO),
    "the end adds the rest": ([added(message()), words("Hel"), done(message("Hello")), end()], HELLO),
    "the end differs: what was said stands": ([words("Hello"), text_done("Bye"), done(message("Bye")), end()], HELLO),
    "a new item id on every event": (
        [
            added(message(id="a")),
            words("Hel", item_id="b"),
            words("lo", item_id="c"),
            done(message("Hello", id="d")),
            end(message("Hello", id="e")),
        ],
        HELLO,
    ),
    "no output_index": (
        [added(message(), None), words("Hel", None), words("lo", None), done(message("Hello"), None), end()],
        HELLO,
    ),
    "no reference at all": (
        [words("Hel", None, None, None), words("lo", None, None, None), end(message("Hello"))],
        HELLO,
    ),
    "parts numbered from 1": ([words("Hel", part=1), words("lo", part=1), done(message("Hello")), end()], HELLO),
    "the last event leaves an item out": (
        [added(reasoning()), done(reasoning("hm")), added(message(), 1), words("Hello", 1), end(message("Hello"))],
        [("reasoning", "hm"), ("text", "Hello")],
    ),
    "two parts": (
        [words("Hel", part=0), words("lo", part=1), done(message("Hel", "lo")), end(message("Hel", "lo"))],
        [("text", "Hel"), ("text", "lo")],
    ),
    "two messages": (
        [words("a"), done(message("a")), words("b", 1, "msg2"), done(message("b", id="msg2"), 1), end()],
        [("text", "a"), ("text", "b")],
    ),
    "content that is plain text": ([done({**message(), "content": "Hello"}), end()], HELLO),
    "a refusal": (
        [refusal("N"), refusal("o."), done({**message(), "content": [{"type": "refusal", "refusal": "No."}]}), end()],
        [("text", "No.")],
    ),
    "a summary": (
        [summary("hm"), event("reasoning_summary_text.done", text="hm", summary_index=0, **at(0, "rs1")), end()],
        [("reasoning", "hm")],
    ),
    "a summary in parts": (
        [summary("a"), summary("b", 1), done(reasoning("a", "b")), end(reasoning("a", "b"))],
        [("reasoning", "a\n\nb")],
    ),
    "a summary that was not streamed": ([done(reasoning("a", "b")), end()], [("reasoning", "a\n\nb")]),
    "the thoughts themselves": (
        [thought("h"), thought("m"), done(reasoning(content=[{"type": "reasoning_text", "text": "hm"}])), end()],
        [("reasoning", "hm")],
    ),
    "thoughts and their summary are said once": (
        [
            thought("hm"),
            summary("h."),
            done(reasoning("h.", content=[{"type": "reasoning_text", "text": "hm"}])),
            end(),
        ],
        [("reasoning", "hm")],
    ),
    "both, not streamed": (
        [done(reasoning("h.", content=[{"type": "reasoning_text", "text": "hm"}])), end()],
        [("reasoning", "h.")],
    ),
    "reasoning that ends after the text began": (
        [thought("hm"), words("Hello", 1), done(message("Hello"), 1), done(reasoning()), end()],
        [("reasoning", "hm"), ("text", "Hello")],
    ),
    "two reasonings": (
        [summary("a"), summary("b", 0, 1, "rs2"), end()],
        [("reasoning", "a"), ("reasoning", "b")],
    ),
    "sound": (
        [event("audio.transcript.delta", delta="Hello"), event("audio.delta", delta="AAAA"), end()],
        [("text", "Hello"), ("media", "AAAA")],
    ),
    "nothing": ([end()], []),
}


@pytest.mark.parametrize("name", TEXTS)
def test_words_are_never_lost_and_never_said_twice(name: str) -> None:
    events, expected = TEXTS[name]
    assert segments(events) == expected


def test_a_refusal_is_marked() -> None:
    stream, _ = read(whole(body_of(TEXTS["a refusal"][0])), WIRE)
    assert stream.summary()["refusal"] == "No."
    part = stream.message.parts[0]
    assert isinstance(part, TextPart)
    assert part.refusal


SERVER: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]], list[str]]] = {
    "a search": (
        [
            added({**SEARCH, "action": None}),
            event("web_search_call.searching", **at(0, "ws1")),
            done(SEARCH),
            end(SEARCH),
        ],
        [("server_tool", '{"type":"search","query":"q"}')],
        ["web_search"],
    ),
    "only in the last event": ([end(SEARCH)], [("server_tool", '{"type":"search","query":"q"}')], ["web_search"]),
    "ended only in the last event": (
        [added(SEARCH), words("a", 1), end(SEARCH, message("a"))],
        [("server_tool", '{"type":"search","query":"q"}'), ("text", "a")],
        ["web_search"],
    ),
    "code, as it is written": (
        [
            added({**CODE, "code": "", "outputs": None}),
            event("code_interpreter_call_code.delta", delta="1+", **at(0, "ci1")),
            event("code_interpreter_call_code.delta", delta="1", **at(0, "ci1")),
            event("code_interpreter_call_code.done", code="1+1", **at(0, "ci1")),
            done(CODE),
            end(CODE),
        ],
        [("server_tool", "1+1"), ("server_tool", '[{"type":"logs","logs":"2"}]')],
        ["code_interpreter"],
    ),
    "a remote tool": (
        [added(MCP), done(MCP), end(MCP)],
        [("server_tool", "{}"), ("server_tool", "seen")],
        ["look"],
    ),
    "a shell of the provider": (
        [added(SHELL), done(SHELL), done(SHELL_OUTPUT, 1), end()],
        [("server_tool", '{"commands":["ls"]}'), ("server_tool", '[{"stdout":"a"}]')],
        ["shell", "shell"],
    ),
    "output in pieces that are objects": (
        [
            added({**SHELL_OUTPUT, "output": []}),
            event("shell_call_output_content.delta", delta={"stdout": "a"}, **at(0, "sho1")),
            done(SHELL_OUTPUT),
            end(),
        ],
        [("server_tool", "a")],
        ["shell"],
    ),
    "a kind that nobody knows": (
        [done({"type": "teleport_call", "id": "t1", "to": "Mars"}), end()],
        [("server_tool", "")],
        ["teleport"],
    ),
    "pieces of a kind that nobody knows": (
        [event("teleport_call_path.delta", delta="up", **at(0, "t1")), end()],
        [("server_tool", "up")],
        [],
    ),
    "a compaction is not shown": (
        [done({"type": "compaction", "id": "cmp1", "encrypted_content": "e"}), end()],
        [],
        [""],
    ),
}


@pytest.mark.parametrize("name", SERVER)
def test_tools_of_the_provider_are_shown_and_never_run(name: str) -> None:
    events, shown, kept = SERVER[name]
    assert segments(events) == shown
    stream, _ = read(whole(body_of(events)), WIRE)
    assert stream.invocations == []
    assert stream.summary()["calls"] == []
    assert stream.stop_reason is StopReason.STOP
    opaque = [part for part in stream.message.parts if isinstance(part, OpaquePart)]
    assert [part.name for part in opaque] == kept
    sent = [one["item"] for one in events if one["type"].endswith("item.done")]
    sent += [one for one in events[-1]["response"]["output"] if one not in sent and one["type"] != "message"]
    assert [part.provider_data["item"] for part in opaque] == sent


@pytest.mark.parametrize("kind", ["local_shell_call", "computer_call", "shell_call", "apply_patch_call"])
def test_calls_for_the_client_of_another_kind_never_run(kind: str) -> None:
    item = {"type": kind, "id": "i1", "call_id": "c1", "status": "completed", "action": {"command": ["rm"]}}
    stream, _ = read(whole(body_of([added(item), done(item), end(item)])), WIRE)
    assert stream.invocations == []
    assert stream.summary()["calls"] == []


def test_a_picture() -> None:
    item = {
        "type": "image_generation_call",
        "id": "ig1",
        "status": "completed",
        "result": "AAAA",
        "output_format": "webp",
    }
    stream, events = read(whole(body_of([added({**item, "result": None}), done(item), end(item)])), WIRE)
    check_shape(events)
    part = stream.message.parts[0]
    assert isinstance(part, MediaPart)
    assert part.url == "data:image/webp;base64,AAAA"
    assert part.media_type == "image/webp"
    assert part.provider_data is not None
    assert "result" not in part.provider_data["item"]
    assert len(stream.message.parts) == 1


def test_citations() -> None:
    page = {"type": "url_citation", "url": "https://a", "title": "A", "start_index": 0, "end_index": 1}
    file = {"type": "file_citation", "file_id": "f1", "filename": "b.txt", "index": 3}
    note = event("output_text.annotation.added", annotation=page, content_index=0, **at(0, "msg1"))
    final = {**message(), "content": [{"type": "output_text", "text": "a", "annotations": [page, file]}]}
    for streamed, expected in (([note], [("https://a", "A")]), ([], [("https://a", "A"), ("", "b.txt")])):
        stream, events = read(whole(body_of([added(message()), words("a"), *streamed, done(final), end(final)])), WIRE)
        ends = [one for one in events if one.type is EventType.END]
        assert ends[0].metadata is not None
        assert [(one.url, one.title) for one in ends[0].metadata["citations"]] == expected
        data = stream.message.parts[0].provider_data  # type: ignore[union-attr]
        assert data is not None
        assert len(data["annotations"]) == len(expected)


def test_what_must_go_back_is_kept_in_its_place() -> None:
    thinking = reasoning("hm", encrypted_content="final")
    text = message("Look", phase="commentary", status="completed")
    made = call(X, status="completed", namespace="n")
    events = [
        added(reasoning(encrypted_content="first")),
        summary("hm"),
        done(thinking),
        added({**text, "content": [], "status": "in_progress"}, 1),
        words("Look", 1),
        done(text, 1),
        added({**made, "arguments": ""}, 2),
        piece(X, 2),
        done(made, 2),
        end(thinking, text, made, store=False),
    ]
    kept = read(whole(body_of(events)), WIRE)[0].message
    first, second, third = kept.parts
    assert isinstance(first, ThinkingPart)
    assert (first.text, first.provider_data) == ("hm", {"wire": WIRE, "index": 0, "item": thinking})
    assert second.provider_data == {  # type: ignore[union-attr]
        "wire": WIRE,
        "index": 1,
        "part": 0,
        "item": {key: value for key, value in text.items() if key != "content"},
    }
    assert third.provider_data == {  # type: ignore[union-attr]
        "wire": WIRE,
        "index": 2,
        "item": {"type": "function_call", "id": "fc1", "status": "completed", "namespace": "n"},
    }
    assert kept.provider_data == [{"wire": WIRE, "response_id": "resp1", "stored": False}]


def test_hidden_reasoning_and_empty_messages_have_a_place() -> None:
    events = [done(reasoning(encrypted_content="e")), done(message(), 1), end()]
    stream, made = read(whole(body_of(events)), WIRE)
    assert [type(part) for part in stream.message.parts] == [ThinkingPart, TextPart]
    assert [one.type for one in made] == [EventType.DONE]


def test_a_text_that_a_call_interrupts_keeps_its_message() -> None:
    events = [
        added(message()),
        words("a"),
        added(call(), 1),
        piece(X, 1),
        words("b"),
        done(call(X), 1),
        done(message("ab")),
        end(message("ab"), call(X)),
    ]
    parts = read(whole(body_of(events)), WIRE)[0].message.parts
    texts = [part for part in parts if isinstance(part, TextPart)]
    assert [part.text for part in texts] == ["a", "b"]
    assert [part.provider_data["item"]["id"] for part in texts if part.provider_data] == ["msg1", "msg1"]


def test_reasoning_and_calls_are_told_apart_in_events() -> None:
    events = [summary("hm"), done(reasoning("hm")), added(call(), 1), piece(X, 1), done(call(X), 1), end()]
    _, made = read(whole(body_of(events)), WIRE)
    assert [one.segment_type for one in made if one.type is EventType.END] == [
        SegmentType.REASONING,
        SegmentType.TOOL_CALL,
    ]


def test_items_without_a_type_are_counted_and_nothing_else() -> None:
    events = [added({"name": "f"}), done({"call_id": "c1", "name": "f", "arguments": "{}"}), end({}, {"type": 7})]
    stream, made = read(whole(body_of(events)), WIRE)
    assert [one.type for one in made] == [EventType.DONE]
    assert stream.quirks == {"item-without-type": 4}


def test_a_result_of_the_provider_s_tool_does_not_cost_the_text_its_message() -> None:
    text = message("ab", id="msg2", status="completed")
    events = [added(CODE), added(message(id="msg2"), 1), words("a", 1, "msg2"), done(CODE), words("b", 1, "msg2")]
    parts = read(whole(body_of([*events, done(text, 1), end()])), WIRE)[0].message.parts
    texts = [part for part in parts if isinstance(part, TextPart)]
    assert [part.text for part in texts] == ["a", "b"]
    assert all(part.provider_data and part.provider_data["item"]["id"] == "msg2" for part in texts)
