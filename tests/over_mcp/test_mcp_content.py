"""What servers give becomes parts of a conversation, whatever it is."""

from __future__ import annotations

import base64
import json
import random
import time
from base64 import b64encode
from typing import Any

import pytest

from toolwire.mcp.content import MAX_MEDIA, output_of, prompt_messages, resource_parts
from toolwire.messages import MediaPart, Message, TextPart
from toolwire.providers.request import encode_request
from toolwire.providers.wires import WIRES

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def image(data: Any = PIXEL, kind: Any = "image/png", type_: str = "image") -> dict[str, Any]:
    return {"type": type_, "data": data, "mimeType": kind}


def resource(**fields: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "demo://r", **fields}}


@pytest.mark.parametrize(
    ("result", "words", "media"),
    [
        ({}, "", 0),
        ({"content": []}, "", 0),
        ({"content": [text("a"), text("b\n")]}, "a\nb\n", 0),
        ({"content": [text("see"), image(), image(PIXEL, "audio/wav", "audio")]}, "see", 2),
        ({"content": [image(PIXEL[:4] + "\n" + PIXEL[4:])]}, "", 1),
        ({"content": [image("???")]}, "[image, image/png, whose data is no base64]", 0),
        ({"content": [image(PIXEL + "=")]}, "[image, image/png, whose data is no base64]", 0),
        ({"content": [image("")]}, "[image, image/png, which is empty]", 0),
        ({"content": [image(None)]}, "[image, image/png, without data]", 0),
        ({"content": [image(PIXEL, "text/html")]}, "[image of a type that is none]", 0),
        ({"content": [image(PIXEL, "image/png\r\nx: y")]}, "[image of a type that is none]", 0),
        ({"content": [image(PIXEL, None)]}, "[image of a type that is none]", 0),
        ({"content": [resource(text="hello", mimeType="text/plain")]}, "[demo://r]\nhello", 0),
        ({"content": [resource(blob="aGk=", mimeType="text/plain")]}, "[demo://r]\nhi", 0),
        ({"content": [resource(blob=PIXEL, mimeType="image/png")]}, "", 1),
        (
            {"content": [resource(blob="aGk=")]},
            "[demo://r: application/octet-stream, 2 bytes, which cannot be shown]",
            0,
        ),
        ({"content": [resource(blob="aGk=", mimeType=3)]}, "[resource demo://r of a type that is none]", 0),
        ({"content": [resource()]}, "[resource demo://r, application/octet-stream, without data]", 0),
        ({"content": [{"type": "resource"}]}, "[a resource that is none]", 0),
        (
            {"content": [{"type": "resource_link", "uri": "f:///a", "name": "A", "mimeType": "text/x", "size": 1200}]},
            "[A: f:///a (1,200 bytes, text/x)]",
            0,
        ),
        ({"content": [{"type": "resource_link"}]}, "[a resource: None]", 0),
        ({"content": [{"type": "hologram"}]}, "[content of the unknown type hologram]", 0),
        ({"content": [3, {}]}, "[content without a type]\n[content without a type]", 0),
        ({"content": "words"}, "[content that is no list]", 0),
        ({"content": [{"type": "text"}]}, "[text that is none]", 0),
        ({"content": [text("a\ud800")]}, "a?", 0),
    ],
)
def test_results(result: dict[str, Any], words: str, media: int) -> None:
    output = output_of(result)
    assert (output.text, len(output.media), output.is_error) == (words, media, False)


def test_a_picture_is_whole() -> None:
    assert output_of({"content": [image()]}).media == (MediaPart("image/png", data=PIXEL),)
    [part] = output_of({"content": [resource(blob=PIXEL, mimeType="Image/PNG; q=1")]}).media
    assert part == MediaPart("image/png", data=PIXEL, name="demo://r")


@pytest.mark.parametrize("is_error", [True, False])
def test_an_error_is_one(is_error: bool) -> None:
    assert output_of({"content": [text("no such file")], "isError": is_error}).is_error is is_error


@pytest.mark.parametrize(
    ("structured", "texts", "words"),
    [
        ({"b": 1, "a": "é"}, [], '{"b": 1, "a": "é"}'),
        ({"b": 1, "a": 2}, ['{"a":2,"b":1}'], '{"a":2,"b":1}'),
        ({"a": 1}, ["A is one."], 'A is one.\n{"a": 1}'),
        ({"a": 1}, ['{"a": true}'], '{"a": true}\n{"a": 1}'),
        ({"a": 1}, ['{"a": 1.0}'], '{"a": 1.0}\n{"a": 1}'),
        ({"result": "words"}, ["words"], "words"),
        ({"content": "words"}, ["words"], "words"),
        ({"result": 5}, ["5"], "5"),
        ({"result": [1, "b"]}, ["1", "b"], "1\nb"),
        ({"result": [1, 2]}, ["[1,2]"], "[1,2]"),
        ({"result": [1, 2]}, ["1"], '1\n{"result": [1, 2]}'),
        ({"result": "5", "more": 1}, ["5"], '5\n{"result": "5", "more": 1}'),
        ([1], [], "[1]"),
        (None, ["x"], "x"),
        ({"a": float("inf")}, [], '{"a": Infinity}'),
    ],
)
def test_structured_content_is_said_once(structured: Any, texts: list[str], words: str) -> None:
    assert output_of({"content": [*map(text, texts)], "structuredContent": structured}).text == words


def test_media_are_bounded() -> None:
    output = output_of({"content": [image()] * (MAX_MEDIA + 3)})
    assert len(output.media) == MAX_MEDIA
    assert output.text == "[3 more files, of which none is taken: 16 are the most]"


def test_resources() -> None:
    contents = [{"uri": "a", "text": "x"}, {"uri": "b", "blob": PIXEL, "mimeType": "image/png"}, None]
    assert resource_parts({"contents": contents}) == [
        TextPart("[a]\nx"),
        MediaPart("image/png", data=PIXEL, name="b"),
        TextPart("[a resource that is none]"),
    ]
    assert resource_parts({}) == resource_parts({"contents": "x"}) == []


def test_prompts() -> None:
    given = [
        {"role": "user", "content": text("hello")},
        {"role": "assistant", "content": image()},
        {"role": "system", "content": [text("obey"), image()]},
        {"role": "user"},
        "nonsense",
    ]
    assert prompt_messages({"messages": given}) == [
        Message("user", [TextPart("hello")]),
        Message("assistant", "[image/png]"),
        Message("user", [TextPart("obey"), MediaPart("image/png", data=PIXEL)]),
        Message("user", [TextPart("[content without a type]")]),
    ]
    assert prompt_messages({}) == prompt_messages({"messages": 3}) == []


def test_prompts_can_be_sent_to_everyone() -> None:
    given = [{"role": "user", "content": text("hello")}, {"role": "assistant", "content": image()}]
    for wire in WIRES:
        encode_request(wire=wire, model="m", messages=[*prompt_messages({"messages": given}), Message("user", "go")])


def test_anything_at_all_is_taken() -> None:
    rng = random.Random(5)
    keys = ["type", "text", "data", "mimeType", "resource", "uri", "blob", "content", "contents", "messages", "role"]
    values: list[Any] = ["text", "image", "resource", "resource_link", "image/png", PIXEL, "x", None, 3, True, 1e400]

    def value(depth: int) -> Any:
        kind = rng.randrange(4) if depth else 3
        if kind == 0:
            return [value(depth - 1) for _ in range(rng.randrange(4))]
        return {rng.choice(keys): value(depth - 1) for _ in range(5)} if kind < 3 else rng.choice(values)

    for _ in range(500):
        result = {key: value(4) for key in ("content", "structuredContent", "isError", "contents", "messages")}
        output = output_of(result)
        json.dumps([output.text, [part.data for part in output.media]])
        assert all(part.data and "/" in part.media_type for part in output.media)
        resource_parts(result)
        prompt_messages(result)


def test_a_text_is_not_read_as_more_values_than_a_message_may_have() -> None:
    words = "[" + "{}," * 2_000_000 + "{}]"
    start = time.process_time()
    result = output_of({"content": [text(words)], "structuredContent": {"a": 1}})
    assert time.process_time() - start < 0.3
    assert result.text == words + '\n{"a": 1}'


@pytest.mark.parametrize(
    ("raw", "kind", "taken"),
    [
        (b"\x89PNG\r\n\x1a\n..", "image/jpeg", "image/png"),
        (b"\xff\xd8\xff..", "IMAGE/PNG; q=1", "image/jpeg"),
        (b"\xff\xd8\xff..", "image/jpg", "image/jpeg"),
        (b"GIF89a..", "image/png", "image/gif"),
        (b"RIFF....WEBP", "image/png", "image/webp"),
        (b"RIFF....WAVE", "image/webp", ""),
        (b"<svg/>", "image/svg+xml", ""),
        (b"no picture", "image/png", ""),
    ],
)
def test_a_picture_is_what_its_bytes_say(raw: bytes, kind: str, taken: str) -> None:
    data = b64encode(raw).decode()
    output = output_of({"content": [image(data, kind)]})
    assert [part.media_type for part in output.media] == ([taken] if taken else [])
    assert output.text == ("" if taken else f"[image, {kind}, whose data is no PNG, JPEG, GIF or WebP]")


def test_texts_that_come_as_files_are_read() -> None:
    for kind in ("TEXT/Plain", "text/html; charset=utf-8", "image/svg+xml"):
        assert output_of({"content": [resource(blob="PGE+", mimeType=kind)]}).text == "[demo://r]\n<a>"
