"""Files that are written, edits, commands: segments of their own, for native calls and for calls in text alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from embedded.text_feeding import Reading, check_cuts, read_text
from embedded.text_tools import TOOLS, tool
from feeding import check_shape, merged
from toolwire import ChunkResponse, EventType, SegmentEvent, SegmentType, StopReason, ToolCallDelta
from toolwire.embedded.registry import text_format
from toolwire.errors import ConfigError
from toolwire.stream.handlers import ApiToolCallStreamingResponseHandler
from toolwire.stream.invocation import ToolInvocationAdapter
from toolwire.tools import forms
from toolwire.tools.forms import HEAD_LENGTH, PLAIN, ToolForm, form_of, register_form
from toolwire.tools.registry import ToolRegistry

WAYS = ("native", "xml", "json", "sentinel")
TEXT_WAYS = WAYS[1:]
CONTENT = 'line "one"\n\tline <two> é 😀 \\ end\n'

SEGMENTS = [
    ("write_file", {"path": "a/b.txt", "content": CONTENT}, SegmentType.WRITE_FILE, "path", "content"),
    ("edit_file", {"path": "a.py", "patch": "--- a\n+++ b\n"}, SegmentType.EDIT_FILE, "path", "patch"),
    ("patch_file", {"path": "a.py", "patch": "@@ -1 +1 @@"}, SegmentType.EDIT_FILE, "path", "patch"),
    ("run_bash", {"command": "ls -la", "background": True}, SegmentType.RUN_BASH, "command", "command"),
]


def native_events(name: str, text: str, size: int, tools: ToolRegistry = TOOLS) -> list[SegmentEvent]:
    """A native call whose arguments come in pieces of this size."""
    handler = ApiToolCallStreamingResponseHandler(ToolInvocationAdapter(tools))
    events = handler.feed(ChunkResponse(tool_calls=[ToolCallDelta(0, "c1", name)]))
    for at in range(0, len(text), size):
        events += handler.feed(ChunkResponse(tool_calls=[ToolCallDelta(0, arguments_delta=text[at : at + size])]))
    events += handler.feed(ChunkResponse(tool_calls=[ToolCallDelta(0, done=True)]))
    events += handler.feed(ChunkResponse(stop_reason=StopReason.TOOL_CALLS, is_complete=True))
    check_shape(events)
    return events


def pieces_of(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def events_of(
    way: str, name: str, arguments: dict[str, Any], size: int, tools: ToolRegistry = TOOLS
) -> list[SegmentEvent]:
    if way == "native":
        return native_events(name, json.dumps(arguments), size, tools)
    return read_text(way, pieces_of(text_format(way).write_call(name, arguments, tools.get(name)), size), tools).events


def start_of(events: Iterable[SegmentEvent]) -> SegmentEvent:
    (start,) = [event for event in events if event.type is EventType.START and event.tool_name is not None]
    return start


def shown(events: Iterable[SegmentEvent]) -> dict[tuple[str | int, ...], str]:
    """The text of each field, as a screen would have it in the end."""
    made: dict[tuple[str | int, ...], str] = {}
    for event in events:
        for field in event.fields or ():
            made[field.path] = made.get(field.path, "") + field.text
    return made


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [1, 5, 10_000])
@pytest.mark.parametrize(("name", "arguments", "kind", "head", "body"), SEGMENTS)
def test_the_start_tells_the_head_and_the_body_flows_decoded(
    way: str, size: int, name: str, arguments: dict[str, Any], kind: SegmentType, head: str, body: str
) -> None:
    events = events_of(way, name, arguments, size)
    start = start_of(events)
    assert start.segment_type is kind
    assert start.tool_name == name
    assert start.metadata is not None
    assert start.metadata[head] == arguments[head]
    assert shown(events)[(body,)] == arguments[body]
    assert shown(events)[(head,)] == arguments[head]
    (end,) = [event for event in events if event.type is EventType.END and event.segment_id == start.segment_id]
    assert end.segment_type is kind
    assert end.metadata == {"arguments": arguments}


@pytest.mark.parametrize("way", WAYS)
def test_the_start_comes_before_the_content_has_ended(way: str) -> None:
    events = events_of(way, "write_file", {"path": "a.txt", "content": "x" * 3000}, 4)
    types = [event.type for event in events]
    contents = types.count(EventType.CONTENT)
    assert contents > 500, "the content flows"
    texts = [field.text for event in events for field in event.fields or () if field.path == ("content",)]
    assert max(map(len, texts)) < 100


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_path_after_the_content_is_not_waited_for(way: str, size: int) -> None:
    """W3: whichever way round they come, the call is the same at every cut."""
    arguments = {"content": CONTENT, "path": "late.txt"}
    if way == "native":
        events = native_events("write_file", json.dumps(arguments), size)
    else:
        late = {
            "xml": f'<tool name="write_file"><arg name="content">{CONTENT}</arg><arg name="path">late.txt</arg></tool>',
            "json": json.dumps({"tool": {"function": "write_file", "parameters": arguments}}),
            "sentinel": f"[[SEG_START {json.dumps({'type': 'write_file', **arguments})}]][[SEG_END]]",
        }[way]
        reading = check_cuts(way, late, every=5)
        assert reading.calls == [("write_file", arguments)]
        events = read_text(way, pieces_of(late, size)).events
    start = start_of(events)
    assert start.segment_type is SegmentType.WRITE_FILE
    assert "path" not in (start.metadata or {})
    assert shown(events) == {("content",): CONTENT, ("path",): "late.txt"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("length", [HEAD_LENGTH - 1, HEAD_LENGTH, HEAD_LENGTH + 1, 5000])
def test_a_short_command_is_told_and_a_long_one_flows(way: str, length: int) -> None:
    arguments = {"command": "x" * length}
    starts = set()
    for size in (1, 50, 10_000):
        events = events_of(way, "run_bash", arguments, size)
        start = start_of(events)
        starts.add((start.metadata or {}).get("command"))
        assert shown(events)[("command",)] == arguments["command"]
    assert starts == {arguments["command"] if length <= HEAD_LENGTH else None}
    first = next(event for event in events_of(way, "run_bash", arguments, 1) if event.type is EventType.CONTENT)
    assert len(first.delta) < HEAD_LENGTH + 200, "what is held back is bounded"


@pytest.mark.parametrize("way", WAYS)
def test_a_file_without_a_path_still_starts(way: str) -> None:
    events = events_of(way, "write_file", {"content": "abc"}, 1)
    start = start_of(events)
    assert "path" not in (start.metadata or {})
    (end,) = [event for event in events if event.type is EventType.END and event.segment_id == start.segment_id]
    assert end.metadata is not None
    assert "path" in end.metadata["problem"]


@pytest.mark.parametrize(
    "arguments", ["", "{}", "null", "[]", "[1, 2]", "7", '"text"', "{", '{"path', '{"path": 5}', "x"]
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_native_arguments_that_are_no_object_or_broken(arguments: str, size: int) -> None:
    events = native_events("write_file", arguments, size)
    assert list(merged(events)) == list(merged(native_events("write_file", arguments, 1)))
    start = start_of(events)
    assert start.segment_type is SegmentType.WRITE_FILE
    assert "".join(event.delta for event in events) == arguments
    (end,) = [event for event in events if event.type is EventType.END]
    assert end.metadata is not None
    assert end.metadata["problem"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": {"path": "inner"}, "content": {"content": "deep"}},
        {"other": {"path": "not this", "content": "nor this"}, "path": "this", "content": "that"},
        {"path": ["a"], "content": ["b"]},
        {"content": "", "path": ""},
    ],
)
def test_keys_further_in_are_not_the_head(arguments: dict[str, Any]) -> None:
    """W10: nested `path` and `content` keys are neither head nor body."""
    for size in (1, 1000):
        events = native_events("write_file", json.dumps(arguments), size)
        told = (start_of(events).metadata or {}).get("path")
        first = next(iter(arguments))
        assert told == ("this" if first == "other" else None)


@pytest.mark.parametrize(
    "escape", ["\\u00e9", "\\ud83d\\ude00", "\\b\\f\\n\\r\\t", "\\/\\\\", '\\"', "\\u201cq\\u201d"]
)
def test_escapes_are_decoded_as_they_arrive(escape: str) -> None:
    """W10: what a screen shows and what is run are what the JSON says, at every cut."""
    text = f'{{"path": "caf{escape}", "content": "a{escape}b{escape}"}}'
    expected = json.loads(text)
    for size in range(1, len(text) + 1):
        events = native_events("write_file", text, size)
        assert shown(events) == {("path",): expected["path"], ("content",): expected["content"]}
        assert (start_of(events).metadata or {})["path"] == expected["path"]


@pytest.mark.parametrize("way", TEXT_WAYS)
@pytest.mark.parametrize(("name", "arguments", "kind", "head", "body"), SEGMENTS)
def test_text_calls_at_every_cut(
    way: str, name: str, arguments: dict[str, Any], kind: SegmentType, head: str, body: str
) -> None:
    text = f"Now: {text_format(way).write_call(name, arguments, TOOLS.get(name))} Done."
    reading = check_cuts(way, text)
    assert reading.calls == [(name, arguments)]
    assert "".join(shown(read_text(way, list(text)).events)[(body,)]) == arguments[body]


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_can_be_given_a_form(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_FORMS", dict(forms._FORMS))
    tools = ToolRegistry([tool("create_note", title="string", text="string")])
    arguments = {"title": "Plan", "text": "One.\nTwo."}
    assert start_of(events_of(way, "create_note", arguments, 3, tools)).segment_type is SegmentType.TOOL_CALL
    register_form("create_note", ToolForm("write_file", head="title", body=("text",)))
    for size in (1, 4, 1000):
        events = events_of(way, "create_note", arguments, size, tools)
        start = start_of(events)
        assert start.segment_type is SegmentType.WRITE_FILE
        assert (start.metadata or {})["title"] == "Plan"
        assert shown(events)[("text",)] == "One.\nTwo."
        (end,) = [event for event in events if event.type is EventType.END and event.segment_id == start.segment_id]
        assert end.metadata == {"arguments": arguments}


@pytest.mark.parametrize("way", TEXT_WAYS)
def test_the_body_is_the_argument_that_the_tool_has(way: str) -> None:
    """`edit_file` takes its long text as `patch` or as `content`, whichever the tool declares."""
    tools = ToolRegistry([tool("edit_file", path="string", content="string")])
    text = text_format(way).write_call("edit_file", {"path": "a", "content": "new"}, tools.get("edit_file"))
    reading: Reading = check_cuts(way, text, tools)
    assert reading.calls == [("edit_file", {"path": "a", "content": "new"})]


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_start_does_not_wait_in_arguments_that_are_broken(size: int) -> None:
    """Nothing can be found in them any more: they are shown as they come."""
    handler = ApiToolCallStreamingResponseHandler(ToolInvocationAdapter(TOOLS))
    events = handler.feed(ChunkResponse(tool_calls=[ToolCallDelta(0, "c1", "write_file")]))
    for piece in pieces_of('{"mode": oops, "more": 1', size):
        events += handler.feed(ChunkResponse(tool_calls=[ToolCallDelta(0, arguments_delta=piece)]))
    assert start_of(events).metadata is None
    assert "".join(event.delta for event in events) == '{"mode": oops, "more": 1'


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("", ToolForm()),
        ("two words", ToolForm()),
        ("note", None),
        ("note", ToolForm("note")),  # type: ignore[arg-type]
        ("note", ToolForm("write_file", body="text")),  # type: ignore[arg-type]
        ("note", ToolForm("write_file", head=None)),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_form_is_refused_before_anything_streams(name: str, form: Any) -> None:
    with pytest.raises(ConfigError):
        register_form(name, form)
    assert form_of(name) is PLAIN
