"""How bodies are framed: the first table of the quirks."""

from __future__ import annotations

from typing import Any

from aws_frames import converse
from feeding import DONE, call, delta, sse
from quirks import Quirk, payloads
from wire_bodies import End, Text, body

HELLO = sse(delta(content="Hello"), delta(finish="stop"))
CALL = sse(delta(tool_calls=[call('{"x":1}', id="c1", name="f")]), delta(finish="tool_calls"))
F = [("c1", "f", {"x": 1})]
PADDED: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant", "p": "abc"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hello"}, "p": "abcdefgh"}},
    {"contentBlockStop": {"contentBlockIndex": 0, "p": "ab"}},
    {"messageStop": {"stopReason": "end_turn", "p": "abcd"}},
    {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}, "p": "a"}},
]


def stray_lines(data: bytes) -> list[bytes]:
    """Lines that are no field, no comment and not blank."""
    fields = (b"data:", b"event:", b"id:", b"retry:", b":")
    return [line for line in data.split(b"\n") if line.strip() and not line.startswith(fields)]


QUIRKS: dict[str, Quirk] = {
    "CRLF line ends (all native Gemini SSE; Perplexity; Claude v1 text completion)": Quirk(
        wire="openai-chat",
        body=CALL.replace(b"\n", b"\r\n"),
        shows=lambda data, _: b"\r\n\r\n" in data,
        calls=F,
        example=lambda stream: stream.complete and bool(stream.summary()["text"]),
    ),
    "comment `: OPENROUTER PROCESSING` before and between events": Quirk(
        wire="openai-chat",
        body=b": OPENROUTER PROCESSING\n\n" + HELLO.replace(b"\n\n", b"\n\n: OPENROUTER PROCESSING\n\n", 1),
        shows=lambda data, _: data.startswith(b": OPENROUTER PROCESSING\n"),
        text="Hello",
        stop="stop",
    ),
    "other comments: empty `:`, `: keepalive`, `: ping - <time>`": Quirk(
        wire="openai-responses",
        body=b":\n\n"
        + body("openai-responses", Text("Hello"), End()).replace(b"\n\n", b"\n\n: keepalive\n\n: ping\n\n"),
        shows=lambda data, _: any(line.strip() in (b":", b": keepalive") for line in data.split(b"\n")),
        text="Hello",
    ),
    "last event not ended by a blank line (end of body ends it)": Quirk(
        wire="openai-chat",
        body=sse(delta(content="Hello"), delta(finish="stop"), done=False).rstrip(b"\n"),
        shows=lambda data, _: not data.endswith((b"\n\n", b"\r\n\r\n")),
        text="Hello",
        stop="stop",
    ),
    (
        "`data:` lines not separated by blank lines (several JSON objects in one event) — fixtures and Replicate only"
    ): Quirk(
        wire="openai-chat",
        body=CALL.replace(b"\n\n", b"\n"),
        shows=lambda data, _: b"}\ndata: {" in data,
        calls=F,
        example=lambda stream: stream.complete and bool(stream.summary()["text"]),
    ),
    "one JSON object over several `data:` lines": Quirk(
        wire="openai-chat",
        body=b'data: {"choices":[{"delta":{"tool_calls":[\ndata: {"id":"c1","function":{"name":"f",\n'
        b'data: "arguments":"{\\"x\\":1}"}}]}}]}\n\n' + DONE,
        shows=lambda data, _: payloads(data, "openai-chat") == ["[DONE]"],
        calls=F,
    ),
    "`data:{…}` with no space": Quirk(
        wire="openai-chat",
        body=CALL.replace(b"data: ", b"data:"),
        shows=lambda data, _: b"data:{" in data,
        calls=F,
    ),
    "mid-stream error as an SSE field of its own: `error: {…}` (GPUStack)": Quirk(
        wire="openai-chat",
        body=sse(delta(content="Hello"), done=False) + b'error: {"detail":"failed to decode"}\n\n',
        shows=lambda data, _: b"\nerror: {" in data,
        text="Hello",
        error=("ProviderError", "failed to decode"),
    ),
    "other lines that are no SSE field: bare JSON error after `data:` events; a blank before `data:`": Quirk(
        wire="openai-chat",
        body=b" " + sse(delta(content="Hello"), done=False) + b'{"error":{"message":"overloaded"}}\n',
        shows=lambda data, _: bool(stray_lines(data)),
        text="Hello",
        error=("ProviderError", "overloaded"),
        example=lambda stream: stream.complete and stream.quirks["indented-data"] > 0,
    ),
    "`id:` field present": Quirk(
        wire="openai-chat",
        body=CALL.replace(b"data: ", b"id: 7\ndata: "),
        shows=lambda data, _: b"\nid: " in data,
        calls=F,
    ),
    "`event: error` line in a chat-completions stream": Quirk(
        wire="openai-chat",
        body=sse(delta(content="Hello"), done=False)
        + b'event: error\ndata: {"error":{"message":"Failed to call a function","code":"tool_use_failed"}}\n\n',
        shows=lambda data, _: b"\nevent: error\n" in data,
        text="Hello",
        error=("ProviderError", "Failed to call a function"),
    ),
    "NDJSON without a final newline": Quirk(
        wire="ollama",
        body=body("ollama", Text("Hello"), End()).rstrip(b"\n"),
        shows=lambda data, _: data.endswith(b"}"),
        text="Hello",
        stop="stop",
    ),
    "Bedrock payloads with padding member `p`": Quirk(
        wire="bedrock",
        body=b"".join(map(converse, PADDED)),
        shows=lambda _, events: any("p" in event for event in events),
        text="Hello",
        usage=(1, 2, 3),
    ),
}
