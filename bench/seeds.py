"""Small chat streams, one for each oddity that services are known to send, and the tools they call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from toolwire.tools.registry import ToolRegistry

from .mutate import LARGEST
from .payloads import USAGE, call_stream, chunk, corpus_body, corpus_rows, dump, sse, text_stream

_TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "Weather for a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    {
        "name": "write_file",
        "description": "Write a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}, "overwrite": {"type": "boolean"}},
            "required": ["path", "content"],
        },
    },
    {"name": "get_time", "description": "The time.", "parameters": {"type": "object", "properties": {}}},
    {
        "name": "sort_items",
        "description": "Sort.",
        "parameters": {
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
        },
    },
    *({"name": f"look_up_{number:03}_in_the_long_list_of_similar_tools"} for number in range(124)),
]

PARIS = '{"city": "Paris"}'


def registry() -> ToolRegistry:
    """The tools that the seeds call, and as many as a provider takes."""
    return ToolRegistry(_TOOLS)


def call(arguments: Any = PARIS, **more: Any) -> dict[str, Any]:
    """One tool call of a delta; `name` and `arguments` go where they belong, `...` leaves a member out."""
    function = {"name": more.pop("name", "get_weather"), "arguments": arguments}
    made = {"index": 0, "id": "call_1", "type": "function", **more}
    made["function"] = {name: value for name, value in function.items() if value is not ...}
    return {name: value for name, value in made.items() if value is not ...}


def _more(arguments: str, **more: Any) -> dict[str, Any]:
    return call(arguments, **{"id": ..., "type": ..., "name": ..., **more})


def _answer(*deltas: dict[str, Any], finish: str | None = "tool_calls", done: bool = True, end: str = "\n\n") -> bytes:
    made = [chunk(delta) for delta in deltas]
    if finish is not None:
        made.append(chunk({}, finish=finish))
    made.append(chunk(None, usage=USAGE))
    return sse(map(dump, made), done=done, end=end)


def _calls(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": list(calls)}


def quirk_streams() -> list[bytes]:
    """One stream for each known oddity."""
    text, hello = {"role": "assistant", "content": "Hello"}, {"content": " world 🦊"}
    pieces = (
        _calls(call("")),
        _calls(_more('{"city": ')),
        _calls(_more('"Par\\u00e9\\ud83d')),
        _calls(_more('\\ude00is"}')),
    )
    two = (*pieces, _calls(call("", index=1, id="call_2", name="get_time")), _calls(_more("{}", index=1)))
    finish = {**chunk({}, finish="stop"), "usage": USAGE}
    both = chunk(text)
    both["choices"] += [{"index": 1, "delta": _calls(call()), "finish_reason": "tool_calls"}]
    plain = [dump(chunk(text)), dump(chunk(hello)), dump(finish)]
    error = {"error": {"message": "Overloaded", "code": 529, "type": "overloaded_error"}}
    details = [
        {"type": "reasoning.text", "text": "so", "signature": "abc"},
        {"type": "reasoning.encrypted", "data": "x"},
    ]
    return [
        _answer(text, hello, finish="stop"),
        _answer(text, hello, finish="stop", end="\r\n\r\n"),
        _answer(text, hello, finish=None),
        _answer(text, hello, finish="stop", done=False),
        _answer(text, hello, finish="length"),
        _answer(*pieces),
        _answer(*two),
        _answer(*two, finish="length"),
        _answer(*two, finish="stop", end="\r\n\r\n"),
        _answer(text, *pieces, hello),
        _answer(_calls(call(index=..., type=...)), _calls(call(index=..., id="call_2"))),
        _answer(_calls(call(id="", index=...))),
        _answer(_calls(call()), _calls(call("", id=None, type=None, name=None))),
        _answer(_calls(call('{"city": ')), _calls(call('"Paris"}'))),
        _answer(_calls(call("", name="get_")), _calls(_more("", name="weather")), _calls(_more(PARIS))),
        _answer(_calls(call(None)), _calls(_more(PARIS))),
        _answer(_calls(call(...)), _calls(_more(PARIS))),
        _answer(_calls(call({"city": "Paris"}))),
        _answer(_calls(call("", name="get_time"))),
        _answer(_calls(call("null", name="get_time"))),
        _answer(_calls(call(), call("{}", index=1, id="call_2", name="get_time"))),
        _answer(_calls(call(index=1)), _calls(call(index=7, id="call_2"))),
        _answer(_calls(call()), _calls(call(id="call_2"))),
        _answer(_calls(call()), _calls(call(index=1))),
        _answer(_calls(call(extra_content={"google": {"thought_signature": "abc"}}))),
        _answer({"function_call": {"name": "get_weather", "arguments": ""}}, {"function_call": {"arguments": PARIS}}),
        _answer({"content": "a", "tool_calls": None}, {"content": "b", "tool_calls": []}, finish="eos"),
        _answer({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}]}, text, finish="stop"),
        _answer({"reasoning_content": "so"}, {"reasoning": "then"}, {"reasoning_details": details}, *pieces),
        _answer({"refusal": "No"}, {"refusal": "."}, finish="stop"),
        _answer({"audio": {"id": "a", "data": "QUJD", "transcript": "hi"}}, {"audio": {"data": "REVG"}}, finish="stop"),
        _answer({"images": [{"image_url": {"url": "data:image/png;base64,QUJD"}}]}, finish="stop"),
        sse([dump(both), *plain]),
        sse([dump({"choices": [], "prompt_filter_results": []}), *plain]),
        sse([*plain, dump(finish), dump(finish)]),
        sse([*plain[:2], dump({"x_groq": {"usage": USAGE}, "choices": []})]),
        sse([*plain[:2], dump({"choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {}}]})]),
        sse([dump({"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}]})]),
        sse([*plain[:2], dump(error)]),
        sse([*plain[:2], dump({**chunk({}, finish="error"), **error})]),
        sse(plain[:2], done=False) + b"event: error\ndata: " + dump(error).encode() + b"\n\n",
        sse(plain[:2], done=False) + b"error: " + dump(error["error"]).encode() + b"\n\n",
        sse(plain[:2], done=False) + dump(error).encode() + b"\n",
        b": OPENROUTER PROCESSING\n\n" + sse(plain) + b": bye\n\n",
        b"\xef\xbb\xbfretry: 3000\n\n" + b"id: 7\nevent: message\n" + sse(plain),
        sse(plain, end="\n"),
        sse(plain).rstrip(),
        sse(plain).replace(b"data: ", b"data:"),
        sse(plain).replace(b"data: ", b" data: ", 1),
        sse(plain) + sse(plain),
        dump({"choices": [{"index": 0, "message": {"content": "whole"}, "finish_reason": "stop"}]}).encode(),
        dump(error).encode(),
        b"<html>\n<p>502 Bad Gateway</p>\n</html>\n",
        b"",
        text_stream(20),
        call_stream(20),
    ]


def costly_streams() -> list[bytes]:
    """Small bodies that lead to much work: many names that are nearly right, many values that are wrong."""
    near = (f"look_up_{number:03}_in_a_long_list_of_similar_tool" for number in range(100))
    unknown = [call("{}", index=number, id=f"c{number}", name=name) for number, name in enumerate(near)]
    wrong = dump({"items": [1] * 6000})
    return [
        _answer(_calls(*unknown)),
        _answer(_calls(call(wrong, name="sort_items"))),
        _answer({"reasoning_details": [{}] * 4000}, finish="stop"),
        _answer({"images": [{"image_url": "a"}] * 800}, finish="stop"),
        _answer({"content": [{"type": str(number)} for number in range(1000)]}, finish="stop"),
        sse([dump({"error": {"message": "x", "code": [{}] * 4000}})]),
        b"x\n" * 8000,
        b"data\n" * 3000,
    ]


def deep_streams() -> Iterator[bytes]:
    """Values as deep as Python recurses in every place that takes any JSON: one step reads what the next cannot."""
    mark = "\x01"
    places: list[Any] = [
        {"error": mark},
        {"error": {"message": mark}},
        {"error": {"message": "x", "code": mark}},
        {"error": {"more": mark}},
        {"usage": {"more": mark}},
        chunk(_calls(call(mark))),
        chunk(_calls(call(index=mark))),
        chunk(_calls(call(extra_content={"more": mark}))),
        chunk({"content": [{"type": mark}]}),
        chunk({"reasoning": mark}),
        chunk({"reasoning_details": [{"more": mark}]}),
        chunk({"images": [{"image_url": mark}]}),
        chunk({"audio": {"data": mark}}),
    ]
    for place in places:
        before, after = dump(place).split(json.dumps(mark))
        for depth in (*range(60, 70), *range(930, 1005)):
            yield sse([f"{before}{'[' * depth}{']' * depth}{after}"])
        yield f"{before}{'[' * 990}{']' * 990}{after}\n".encode()


def all_seeds() -> list[bytes]:
    """The streams made here and the recorded core streams, none longer than `LARGEST`."""
    recorded = map(corpus_body, corpus_rows(core=True))
    return quirk_streams() + costly_streams() + [_shortened(body) for body in recorded]


def _shortened(body: bytes) -> bytes:
    """The first and the last events of a long body: the middle of a stream is more of the same."""
    if len(body) <= LARGEST:
        return body
    half = LARGEST // 2
    start, end = body.rfind(b"\n\n", 0, half) + 2, body.find(b"\n\n", len(body) - half) + 2
    return body[:start] + body[end:] if start > 2 and end > 2 else body[:LARGEST]
