"""Arguments of white space that JSON does not have are no arguments, in every wire and text format."""

from __future__ import annotations

from typing import Any

import pytest

from toolwire import Stream, TextStream, ToolDefinition
from toolwire.embedded.arguments import Shape
from toolwire.embedded.format import CallToWrite, write_calls
from toolwire.embedded.registry import format_names, text_format
from toolwire.strict_json import NotStrict, parse_arguments
from wire_bodies import Call, body

ODD = ("\u00a0", "\u2003", "\u3000", "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\u1680", "\u202f", "\u205f")
PIECES_OF_JSON = ("openai-chat", "openai-responses", "anthropic", "bedrock", "cohere")
"""The wires in which a model writes the text of its arguments; in the others they are an object."""
PING = ToolDefinition("ping", "Answers.")


@pytest.mark.parametrize("blank", ODD, ids=ascii)
def test_strict_json(blank: str) -> None:
    for text in (blank, f"{blank}{{}}", f"{{}}{blank}", f"{{{blank}}}", f" {blank} ", f"{blank}null"):
        with pytest.raises(NotStrict):
            parse_arguments(text)


@pytest.mark.parametrize("wire", PIECES_OF_JSON)
@pytest.mark.parametrize("blank", ODD, ids=ascii)
def test_wires(wire: str, blank: str) -> None:
    for arguments in (blank, f"{blank}{{}}", f"{{}}{blank}"):
        stream = Stream(wire, tools=[PING])
        stream.feed(body(wire, Call("c1", "ping", arguments)))
        stream.close()
        assert stream.invocations == [], ascii(arguments)


@pytest.mark.parametrize("name", format_names())
@pytest.mark.parametrize("blank", ODD, ids=ascii)
def test_text_formats(name: str, blank: str) -> None:
    """Formats that write arguments as JSON; the others have none for a call without arguments."""
    format_ = text_format(name)
    written = write_calls(format_, [CallToWrite("ping", {}, PING, "c1")])
    for arguments in (blank, f"{blank}{{}}", f"{{{blank}}}"):
        text = written.replace("{}", arguments)
        if text == written:
            continue
        stream = TextStream(name, tools=[PING])
        stream.feed(text)
        stream.close()
        assert stream.invocations == [], ascii(text)


@pytest.mark.parametrize("blank", ODD, ids=ascii)
def test_typed_values(blank: str) -> None:
    """Text that is typed by its schema: no empty object, no number, but a text that the schema refuses."""
    kinds: list[Any] = ["object", "array", "integer", "boolean", "null"]
    for kind in kinds:
        shape = Shape({"type": kind}, {})
        for text in (blank, f"{blank}5", f"true{blank}", f"{blank}{{}}", f"[]{blank}"):
            assert shape.json_of(text).startswith('"'), (kind, ascii(text))
