"""What stands below the tables: what was seen while reading, and what is legal or reported but in no recording."""

from __future__ import annotations

import aws_frames
from feeding import DONE, call, delta, sse, typed_sse
from odd_streams import item, response
from quirks import Quirk, choices, entries, finishes, function, gemini_calls, later_entries, of_type
from quirks_chat import END, WHOLE, calls
from quirks_gemini import chunk, going_on, partial

CHAT = "openai-chat"
F = [("c1", "f", {"x": 1})]
HELLO = sse(delta(content="Hello"), delta(finish="stop"))


def numbered(*names: str) -> bytes:
    """A response with calls of these names, numbered from nought."""
    made = []
    for place, name in enumerate(names):
        sent = item(place, f"i{place}", f"call_{place}", "{}")
        sent["item"]["name"] = name
        made += [("output_item.added", sent), ("output_item.done", sent)]
    return response(*made)


SEEN: dict[str, Quirk] = {
    "Ids are reused": Quirk(
        wire="openai-responses",
        body=numbered("f", "g"),
        shows=lambda _, events: (
            [made["item"]["call_id"] for made in of_type(events, "response.output_item.done")] == ["call_0", "call_1"]
        ),
        calls=[("call_0", "f", {}), ("call_1", "g", {})],
    ),
    "Id formats": Quirk(
        wire=CHAT,
        body=calls(
            call("{}", index=0, id="call_12345678", name="f"),
            call("{}", index=1, id="a1B2c3D4e", name="f"),
            call("{}", index=2, id="chatcmpl-tool-0af3", name="f"),
            call("{}", index=3, id="functions.f:0", name="f"),
        ),
        shows=lambda _, events: len({entry["id"] for entry in entries(events)}) == 4,
        calls=[(call_id, "f", {}) for call_id in ("call_12345678", "a1B2c3D4e", "chatcmpl-tool-0af3", "functions.f:0")],
    ),
    "Writer sends the whole delta again under `message`": Quirk(
        wire=CHAT,
        body=sse(
            *[
                {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}, "message": {"tool_calls": [entry]}}]}
                for entry in (
                    {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": None}},
                    {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": '{"x":'}},
                    {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": "1}"}},
                )
            ],
            END,
        ),
        shows=lambda _, events: any(choice.get("message") == choice.get("delta") for choice in choices(events)),
        calls=F,
    ),
    "Groq on a rejected call": Quirk(
        wire=CHAT,
        body=sse(delta(content="Hel"), delta(content="lo"), done=False)
        + b'event: error\ndata: {"error":{"message":"Failed to call a function.","code":"tool_use_failed",'
        b'"failed_generation":"<function=f>"}}\n\n',
        shows=lambda data, events: b"failed_generation" in data and not finishes(events) and "[DONE]" not in events,
        text="Hello",
        error=("ProviderError", "Failed to call a function."),
    ),
    "OpenRouter on an upstream error": Quirk(
        wire=CHAT,
        body=sse(
            delta(content="Hello"),
            delta(tool_calls=[WHOLE]),
            delta(finish="length"),
            {**delta(finish="error"), "error": {"message": "overloaded"}, "usage": {"prompt_tokens": 5}},
        ),
        shows=lambda _, events: finishes(events)[0] == "length" and "error" in events[-2] and events[-1] == "[DONE]",
        text="Hello",
        half=[("c1", "f", '{"x":1}')],
        usage=(5, 0, 5),
        error=("ProviderError", "overloaded"),
    ),
    "Gemini `partialArgs`": Quirk(
        wire="gemini",
        body=chunk({"functionCall": {"name": "f", "willContinue": True}})
        + chunk(going_on(partial("$.recipe.ingredients[0].amount", stringValue="2 ", willContinue=True)))
        + chunk(going_on(partial("$.recipe.ingredients[0].amount", stringValue="cups")))
        + chunk({"functionCall": {"willContinue": True}})
        + chunk({"text": ""}, finish="STOP"),
        shows=lambda _, events: {} not in gemini_calls(events),
        half=[("s0", "f", '{"recipe":{"ingredients":[{"amount":"2 cups"')],
    ),
    "Hugging Face router": Quirk(
        wire=CHAT,
        body=sse(delta(content="Hello"), delta(finish="stop"), done=False),
        shows=lambda _, events: "[DONE]" not in events,
        text="Hello",
        stop="stop",
    ),
    "GPUStack (llama-box)": Quirk(
        wire=CHAT,
        body=sse(delta(content="Hello"), done=False) + b'error: {"detail":"failed to decode, try again"}\n\n',
        shows=lambda data, _: b"\nerror: {" in data,
        text="Hello",
        error=("ProviderError", "failed to decode, try again"),
    ),
}
"""By the words before the colon (or, for one, the comma)."""

NEVER_SEEN: dict[str, Quirk] = {
    "Two calls with one `index` and different ids": Quirk(
        wire=CHAT,
        body=calls(WHOLE, call('{"y":', id="c2", name="g"), call("2}")),
        shows=lambda _, events: {entry["index"] for entry in entries(events)} == {0},
        calls=[*F, ("c2", "g", {"y": 2})],
    ),
    "`index: null`": Quirk(
        wire=CHAT,
        body=calls({**call('{"x":', id="c1", name="f"), "index": None}, {**call("1}"), "index": None}),
        shows=lambda _, events: {entry["index"] for entry in entries(events)} == {None},
        calls=F,
    ),
    "gaps in `index`": Quirk(
        wire=CHAT,
        body=calls(call('{"x":1}', index=3, id="c1", name="f"), call("{}", index=900, id="c2", name="g")),
        shows=lambda _, events: [entry["index"] for entry in entries(events)] == [3, 900],
        calls=[*F, ("c2", "g", {})],
    ),
    "a function name in pieces": Quirk(
        wire=CHAT,
        body=calls(call("", id="c1", name="get_"), call("", name="weather"), call('{"x":1}')),
        shows=lambda _, events: bool(function(later_entries(events)[0])["name"]),
        calls=[("c1", "get_weather", {"x": 1})],
    ),
    "`arguments` as an object in a chat delta": Quirk(
        wire=CHAT,
        body=calls(call({"x": 1}, id="c1", name="f")),
        shows=lambda _, events: isinstance(function(entries(events)[0])["arguments"], dict),
        calls=F,
    ),
    '`finish_reason: ""`': Quirk(
        wire=CHAT,
        body=sse(delta(tool_calls=[WHOLE], finish=""), END, done=False),
        shows=lambda _, events: choices(events)[0]["finish_reason"] == "",
        calls=F,
    ),
    "data after `[DONE]`": Quirk(
        wire=CHAT,
        body=HELLO + sse(delta(content="!")),
        shows=lambda _, events: events[-1] != events[-2] and events.count("[DONE]") == 2,
        text="Hello",
    ),
    "text after `finish_reason`": Quirk(
        wire=CHAT,
        body=sse(delta(content="Hel", finish="stop"), delta(content="lo")),
        shows=lambda _, events: not finishes(events[1:]),
        text="Hello",
        stop="stop",
    ),
    "one SSE event over several `data:` lines": Quirk(
        wire="anthropic",
        body=typed_sse({"type": "message_start", "message": {}})
        + b'event: content_block_start\ndata: {"type":"content_block_start","index":0,\ndata: "content_block":\n'
        b'data: {"type":"text","text":"Hello"}}\n\n'
        + typed_sse(
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ),
        shows=lambda _, events: not of_type(events, "content_block_start"),
        text="Hello",
    ),
    "a lone CR as line end": Quirk(
        wire=CHAT,
        body=HELLO.replace(b"\n", b"\r"),
        shows=lambda data, _: b"\n" not in data and b"\r\r" in data,
        text="Hello",
    ),
    "U+2028/U+2029/U+0085 inside data (no line ends)": Quirk(
        wire=CHAT,
        body=sse(delta(content="a\u2028b\u2029c\x85d"), delta(finish="stop")),
        shows=lambda data, _: all(mark.encode() in data for mark in "\u2028\u2029\x85"),
        text="a\u2028b\u2029c\x85d",
    ),
    "a BOM": Quirk(
        wire=CHAT,
        body=b"\xef\xbb\xbf" + HELLO,
        shows=lambda data, _: data.startswith(b"\xef\xbb\xbf"),
        text="Hello",
    ),
    "invalid UTF-8": Quirk(
        wire=CHAT,
        body=sse(delta(content="Hello"), done=False) + b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n' + DONE,
        shows=lambda data, _: b"\xff" in data,
        text="Hello",
        error=("ProtocolError", "UTF-8"),
    ),
    "Anthropic `event: error`": Quirk(
        wire="anthropic",
        body=typed_sse(
            {"type": "message_start", "message": {}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello"}},
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
        shows=lambda data, _: b"event: error" in data,
        text="Hello",
        error=("ProviderError", "Overloaded"),
    ),
    "a Bedrock exception frame": Quirk(
        wire="bedrock",
        body=aws_frames.converse(
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hello"}}},
        )
        + aws_frames.exception("modelStreamErrorException", {"message": "overloaded"}),
        shows=lambda data, _: b":exception-type" in data,
        text="Hello",
        error=("ProviderError", "overloaded"),
    ),
    "a connection cut anywhere": Quirk(
        wire=CHAT,
        body=sse(delta(content="Hello"), delta(tool_calls=[WHOLE]), END, done=False)[:-9],
        shows=lambda data, _: not data.endswith(b"}\n\n"),
        text="Hello",
        half=[("c1", "f", '{"x":1}')],
        error=("IncompleteStream", "broke off"),
    ),
}
