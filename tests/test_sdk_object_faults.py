"""Real SDKs whose answer breaks in the middle, over loopback: one typed last event, and nothing runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import sdk_streams
from feeding import check_shape
from rawserver import CANARY, CHUNKED, answering, receive, reset, serving
from rawserver import whole as http_answer
from sdks import served
from test_sdk_objects import ASYNC, KINDS, SHAPES
from toolwire import EventType, SdkStream
from toolwire.errors import (
    AuthenticationFailed,
    IncompleteStream,
    ProviderError,
    RateLimited,
    ToolwireError,
    TransportError,
)
from wire_bodies import WIRES, Call, End, Error, Text, body

PICKY = ("chat_helper", "responses_helper", "mistral", "invoke")
"""These want members that bodies made here leave out."""
WAYS = {way: wire for way, (_, wire) in SHAPES.items() if wire in WIRES and way not in PICKY}
LAZY = ("gemini", "ollama_chat", "cohere_chat")
"""The SDKs that send the request when the first object is asked for."""


async def read_over(way: str, url: str) -> tuple[SdkStream, list[Any]]:
    def read_all() -> tuple[SdkStream, list[Any]]:
        stream = SdkStream()
        with getattr(sdk_streams, way)(url) as opened, opened("0") as sdk_stream:
            return stream, list(stream.events(sdk_stream))

    return await asyncio.to_thread(read_all)


def check_broken(stream: SdkStream, events: list[Any], kind: type[ToolwireError]) -> None:
    check_shape(events)
    assert events[-1].type is EventType.ERROR
    assert isinstance(stream.error, kind)
    assert events[-1].error == stream.error.info()
    assert stream.invocations == []
    assert not stream.complete


@pytest.mark.parametrize("way", WAYS)
async def test_a_whole_answer_first(way: str) -> None:
    """What the other tests break."""
    answer = body(WAYS[way], Text("Hello"), Call("c1", "f", '{"x":1}'), End())
    async with served([answer], KINDS.get(WAYS[way], "text/event-stream")) as url:
        stream, events = await read_over(way, url)
    check_shape(events)
    assert stream.error is None
    assert [(one.tool_name, one.arguments) for one in stream.invocations] == [("f", {"x": 1})]


@pytest.mark.parametrize("way", WAYS)
async def test_an_error_of_the_provider(way: str) -> None:
    answer = body(WAYS[way], Text("Hello"), Call("c1", "f", '{"x":1}'), Error("overloaded"))
    async with served([answer], KINDS.get(WAYS[way], "text/event-stream")) as url:
        stream, events = await read_over(way, url)
    check_broken(stream, events, ProviderError)
    assert "overloaded" in str(stream.error)
    assert stream.summary()["text"] == "Hello"


@pytest.mark.parametrize("way", WAYS)
async def test_a_connection_that_breaks(way: str) -> None:
    sent = body(WAYS[way], Text("Hello"), Call("c1", "f", '{"x":1}'))

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(CHUNKED.replace(b"text/event-stream", KINDS.get(WAYS[way], "text/event-stream").encode()))
        writer.write(b"%x\r\n%b\r\n" % (len(sent), sent))
        await writer.drain()
        await asyncio.sleep(0.1)
        reset(writer)

    async with serving(handle) as url:
        stream, events = await read_over(way, url)
    check_broken(stream, events, TransportError)
    assert stream.error is not None
    assert stream.error.__cause__ is not None
    assert stream.summary()["text"] == "Hello"


@pytest.mark.parametrize("way", [way for way in ASYNC if way in WAYS])
async def test_a_connection_that_breaks_under_an_asynchronous_client(way: str) -> None:
    sent = body(WAYS[way], Text("Hello"), Call("c1", "f", '{"x":1}'))
    head = CHUNKED.replace(b"text/event-stream", KINDS.get(WAYS[way], "text/event-stream").encode())
    stream, events = SdkStream(), []
    async with (
        serving(answering(head, b"%x\r\n%b\r\n" % (len(sent), sent))) as url,
        getattr(sdk_streams, f"async_{way}")(url) as opened,
        opened("0") as sdk_stream,
    ):
        events = [event async for event in stream.aevents(sdk_stream)]
    check_broken(stream, events, TransportError)


@pytest.mark.parametrize("way", WAYS)
async def test_a_body_that_just_stops(way: str) -> None:
    sent = body(WAYS[way], Text("Hello"), Call("c1", "f", '{"x":1}'))
    async with served([sent], KINDS.get(WAYS[way], "text/event-stream")) as url:
        stream, events = await read_over(way, url)
    check_broken(stream, events, IncompleteStream)


@pytest.mark.parametrize("way", LAZY)
@pytest.mark.parametrize(
    ("status", "kind"),
    [("401 Unauthorized", AuthenticationFailed), ("429 Too Many Requests", RateLimited), ("500 No", ProviderError)],
)
async def test_a_refusal_that_comes_with_the_first_object(way: str, status: str, kind: type[ProviderError]) -> None:
    words = b'{"error": {"message": "the key %b is wrong", "code": 1}}' % CANARY.encode()
    async with serving(answering(http_answer(status, words, "Content-Type: application/json"))) as url:
        stream, events = await read_over(way, url)
    check_broken(stream, events, kind)
    assert stream.error is not None
    assert stream.error.status == int(status[:3])
    if kind is AuthenticationFailed:
        assert CANARY not in str(events)
