"""What no recording holds and a provider, a proxy or a network may still send: in every wire format, the right content
or a typed error that says where, and never a call that was not made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from feeding import call, check_shape, read, whole
from odd_streams import ARGUMENTS, block, chat, item, made_calls, message, outcome, response
from wire_bodies import SSE_WIRES, TEXT_WIRES, WIRES, Call, End, Text, Thought, body, payload

WORDS = "naïve 🦊 \u2028\u2029\x85 end"
PIECES = (Thought("hm"), Text(WORDS), Call("c1", "f", '{"x":1}'), Call("c2", "g", '{"y":["é"]}'))
MADE = [("c1", "f", {"x": 1}), ("c2", "g", {"y": ["é"]})]


# How the same events may be framed.


def over_several_lines(data: bytes) -> bytes:
    """Each event's JSON over as many `data:` lines as it takes."""
    lines = []
    for line in data.replace(b"\r\n", b"\n").split(b"\n"):
        if line.startswith(b"data: {"):
            spread = msgspec.json.format(line[6:], indent=1)
            lines += [b"data: " + piece for piece in spread.split(b"\n")]
        else:
            lines.append(line)
    return b"\n".join(lines)


def lines_ended_with(mark: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", mark)


FRAMINGS: dict[str, Callable[[bytes], bytes]] = {
    "LF": lines_ended_with(b"\n"),
    "CRLF": lines_ended_with(b"\r\n"),
    "a lone CR": lines_ended_with(b"\r"),
    "a BOM": lambda data: b"\xef\xbb\xbf" + data,
    "one event over several data lines": over_several_lines,
    "no space after the colon": lambda data: data.replace(b"data: ", b"data:"),
    "comments everywhere": lambda data: data.replace(b"data: ", b": ping\n:\ndata: "),
    "ids and retry times": lambda data: data.replace(b"data: ", b"id: 7\nretry: 10\ndata: "),
    "fields of other names": lambda data: data.replace(b"data: ", b"x-more: 1\ndata: "),
    "more blank lines": lambda data: data.replace(b"\n\n", b"\n\n\n\n"),
    "no event lines": lambda data: b"\n".join(
        line for line in data.replace(b"\r\n", b"\n").split(b"\n") if not line.startswith(b"event:")
    ),
    "no blank line at the end": lambda data: data.rstrip(b"\r\n"),
}


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("wire", SSE_WIRES)
def test_framings_of_sse(wire: str, framing: str) -> None:
    plain = body(wire, *PIECES, End())
    _, expected = outcome(plain, wire)
    stream, made = outcome(FRAMINGS[framing](plain), wire)
    assert made == expected
    assert made_calls(stream) == MADE


@pytest.mark.parametrize(
    "changed",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\n\n \n"),
        lambda data: data.replace(b"\n", b" \r\t\n"),
        lambda data: data[:-1],
    ],
    ids=["BOM", "CRLF", "blank lines", "blanks at the ends of lines", "no newline at the end"],
)
def test_framings_of_ndjson(changed: Callable[[bytes], bytes]) -> None:
    plain = body("ollama", *PIECES, End())
    stream, made = outcome(changed(plain), "ollama")
    assert made == outcome(plain, "ollama")[1]
    assert made_calls(stream) == MADE


def test_a_lone_cr_ends_no_line_of_ndjson() -> None:
    stream, _ = outcome(body("ollama", *PIECES, End()).replace(b"\n", b"\r"), "ollama")
    assert type(stream.error).__name__ in ("ProtocolError", "IncompleteStream")


@pytest.mark.parametrize("layout", ["[%b]", "[\r\n%b\r\n]\r\n", "\ufeff [%b\n] "])
def test_gemini_as_an_array(layout: str) -> None:
    plain = body("gemini", *PIECES, End())
    elements = [event[6:].strip() for event in plain.split(b"\r\n\r\n") if event]
    _, expected = outcome(plain, "gemini")
    for between in (b",", b"\r\n,\r\n", b" ,\n"):
        stream, made = outcome(layout.encode() % between.join(elements), "gemini")
        assert made == expected
        assert made_calls(stream) == MADE


@pytest.mark.parametrize("wire", WIRES)
def test_no_separator_of_text_is_a_line_end(wire: str) -> None:
    for mark in "\u2028\u2029\x85":
        data = body(wire, Text(f"a{mark}b"), End())
        assert mark.encode() in data
        stream, _ = outcome(data, wire)
        assert stream.summary()["text"] == f"a{mark}b"


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"])
@pytest.mark.parametrize("wire", TEXT_WIRES)
def test_bytes_that_are_no_utf_8(wire: str, bad: bytes) -> None:
    data = body(wire, Text("good"), Text("a@b"), Call(), End())
    at = data.index(b"@")
    stream, _ = outcome(data[:at] + bad + data[at + 1 :], wire)
    assert type(stream.error).__name__ == "ProtocolError"
    assert stream.error is not None
    assert stream.error.position == at
    assert stream.summary()["text"].startswith("good")
    assert "\ufffd" not in stream.summary()["text"]


# A connection cut anywhere.


@pytest.mark.thorough
@pytest.mark.parametrize("wire", WIRES)
def test_cut_anywhere(wire: str) -> None:
    before, data = body(wire, *PIECES), body(wire, *PIECES, End())
    assert data.startswith(before)
    text = outcome(data, wire)[0].summary()["text"]
    for length in range(len(data)):
        stream, made = read(whole(data[:length]), wire)
        check_shape(made)
        assert text.startswith(stream.summary()["text"])
        if length <= len(before):
            assert not stream.complete
        if stream.complete:
            assert made_calls(stream) == MADE
        else:
            assert stream.invocations == []
            assert type(stream.error).__name__ == "IncompleteStream", length


@pytest.mark.parametrize("data", [b"d", b"dat", b"eve", b"event: x\nd", b": ping\n\ni", b"retry: 1\nre"])
@pytest.mark.parametrize("wire", SSE_WIRES)
def test_cut_inside_the_first_field_name(wire: str, data: bytes) -> None:
    stream, _ = outcome(data, wire)
    assert type(stream.error).__name__ == "IncompleteStream"


# Bodies that are no stream of this format.

PAGE = b"<!doctype html>\n<html>\n<body>Sign in</body>\n</html>\n"
NO_ANSWERS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "IncompleteStream"),
    "blank lines": (b"\n\n\r\n", "IncompleteStream"),
    "a web page": (PAGE, "ProtocolError"),
    "a web page without a line end": (PAGE.replace(b"\n", b""), "ProtocolError"),
    "plain text": (b"upstream request timeout\n", "ProtocolError"),
    "an error": (b'{"error":{"message":"overloaded","type":"x","code":500}}', "ProviderError"),
    "an error over several lines": (b'{\n  "error": {\n    "message": "overloaded"\n  }\n}\n', "ProviderError"),
    "another object": (b'{\n  "ok": true\n}\n', "ProtocolError"),
    "compressed bytes": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\xff\n", "ProtocolError"),
    "another encoding": (b"\xff\xfe{\x00\n\x00", "ProtocolError"),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
@pytest.mark.parametrize("wire", WIRES)
def test_bodies_that_are_no_answer(wire: str, name: str) -> None:
    data, kind = NO_ANSWERS[name]
    _, made = outcome(data, wire)
    assert made[-1].error is not None
    assert made[-1].error.type == kind
    assert made[-1].error.hint
    if kind == "ProviderError":
        assert "overloaded" in made[-1].error.message


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("other", WIRES)
def test_the_answer_of_another_format_is_never_complete(wire: str, other: str) -> None:
    stream, _ = outcome(body(other, *PIECES, End()), wire)
    assert stream.complete is (wire == other)
    assert made_calls(stream) == (MADE if wire == other else [])


# Calls that are named in odd ways, where the format has such names.

A, B = ("a", "f", {"x": 1}), ("b", "f", {"x": 2})
ONE, TWO = '{"x":1}', '{"x":2}'
ODD_NAMES: dict[str, tuple[str, bytes, list[tuple[str, str, Any]]]] = {
    "two calls with one index, their pieces mixed": (
        "openai-chat",
        chat(call('{"x":', id="a", name="f"), call('{"x":', id="b", name="f"), call("1}", id="a"), call("2}", id="b")),
        [A, B],
    ),
    "an index below zero": ("openai-chat", chat(call(ONE, index=-1, id="a", name="f")), [A]),
    "an index of 300 digits": ("openai-chat", chat(call(ONE, index=10**300, id="a", name="f")), [A]),
    "two items with one index": (
        "openai-responses",
        response(
            ("output_item.added", item(0, "i1", "a")),
            ("output_item.added", item(0, "i2", "b")),
            (f"{ARGUMENTS}.delta", {"item_id": "i2", "output_index": 0, "delta": TWO}),
            (f"{ARGUMENTS}.delta", {"item_id": "i1", "output_index": 0, "delta": ONE}),
            ("output_item.done", item(0, "i1", "a", ONE)),
            ("output_item.done", item(0, "i2", "b", TWO)),
        ),
        [A, B],
    ),
    "no index": (
        "openai-responses",
        response(
            ("output_item.added", item(None, "i1", "a")),
            (f"{ARGUMENTS}.delta", {"item_id": "i1", "delta": ONE}),
            (f"{ARGUMENTS}.done", {"item_id": "i1", "arguments": ONE}),
            ("output_item.done", item(None, "i1", "a", ONE)),
            ("output_item.added", item(None, "i2", "b")),
            ("output_item.done", item(None, "i2", "b", TWO)),
        ),
        [A, B],
    ),
    "no item ids": (
        "openai-responses",
        response(
            ("output_item.added", item(0, None, "a")),
            (f"{ARGUMENTS}.delta", {"output_index": 0, "delta": ONE}),
            ("output_item.done", item(0, None, "a", ONE)),
            ("output_item.added", item(1, None, "b")),
            (f"{ARGUMENTS}.delta", {"output_index": 1, "delta": TWO}),
            ("output_item.done", item(1, None, "b", TWO)),
        ),
        [A, B],
    ),
    "gaps in output_index": (
        "openai-responses",
        response(
            ("output_item.added", item(7, "i1", "a")),
            ("output_item.done", item(7, "i1", "a", ONE)),
            ("output_item.added", item(90, "i2", "b")),
            ("output_item.done", item(90, "i2", "b", TWO)),
        ),
        [A, B],
    ),
    "gaps in a block's index": ("anthropic", message(*block(3, "a", ONE), *block(900, "b", TWO)), [A, B]),
    "an index used again after its stop": ("anthropic", message(*block(0, "a", ONE), *block(0, "b", TWO)), [A, B]),
    "blocks without an index": ("anthropic", message(*block(None, "a", ONE), *block(None, "b", TWO)), [A, B]),
    "an index as text": ("anthropic", message(*block("0", "a", '{"x"', ":1}"), *block("1", "b", TWO)), [A, B]),
    "blocks that overlap": (
        "anthropic",
        message(
            *block(0, "a", '{"x":')[:-1],
            *block(1, "b", '{"x":')[:-1],
            block(0, "a", "1}")[1],
            block(1, "b", "2}")[1],
            block(1, "b")[-1],
            block(0, "a")[-1],
        ),
        [A, B],
    ),
    "one index for two whole calls": (
        "ollama",
        b"".join(
            payload(
                "ollama",
                {"message": {"tool_calls": [{"id": i, "function": {"index": 0, "name": "f", "arguments": a}}]}},
            )
            for i, a in (("a", {"x": 1}), ("b", {"x": 2}))
        )
        + body("ollama", End()),
        [A, B],
    ),
    "arguments as text": (
        "ollama",
        payload("ollama", {"message": {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": ONE}}]}})
        + body("ollama", End()),
        [A],
    ),
    "two calls in one part list": (
        "gemini",
        payload(
            "gemini",
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [
                                {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}},
                                {"functionCall": {"id": "b", "name": "f", "args": {"x": 2}}},
                            ]
                        },
                        "finishReason": "STOP",
                    }
                ]
            },
        ),
        [A, B],
    ),
}


@pytest.mark.parametrize("name", ODD_NAMES)
def test_calls_that_are_named_in_odd_ways(name: str) -> None:
    wire, data, expected = ODD_NAMES[name]
    stream, _ = outcome(data, wire)
    assert made_calls(stream) == expected
    assert stream.complete
