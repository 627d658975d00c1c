"""The official SDKs' own stream objects through `SdkStream`, over loopback: what comes out is what `Stream` makes of
the same bytes.

`sdk_object_differences.json` lists, for each way to open a stream, the recordings where it is not, with the reason;
each must still differ. All of those end in an error, and nothing may run on any of them that does not run on the bytes.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sdk_streams
from corpus import body, needs_corpus, rows
from feeding import check_shape, read, whole
from sdks import served
from toolwire import SdkStream, Stream

pytestmark = [
    needs_corpus,
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* is not a valid:UserWarning"),
]

DIFFERENCES: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parent / "data" / "sdk_object_differences.json").read_bytes()
)

SHAPES = {
    "chat": ("chat", "openai-chat"),
    "chat_helper": ("chat", "openai-chat"),
    "responses": ("responses", "openai-responses"),
    "responses_helper": ("responses", "openai-responses"),
    "messages": ("messages", "anthropic"),
    "messages_helper": ("messages", "anthropic"),
    "gemini": ("generatecontent", "gemini"),
    "ollama_chat": ("ollama", "ollama"),
    "mistral": ("chat", "openai-chat"),
    "cohere_chat": ("cohere-v2", "cohere"),
    "converse": ("converse", "bedrock"),
    "invoke": ("invoke/anthropic-messages", "bedrock"),
}
"""Each way to open a stream: the shape of the recordings it can read, and their wire."""

ASYNC = ("chat", "responses", "messages_helper", "gemini", "ollama_chat", "mistral", "cohere_chat")
KINDS = {"ollama": "application/x-ndjson", "bedrock": "application/vnd.amazon.eventstream"}


def recordings(way: str, *, core: bool = True) -> list[dict[str, Any]]:
    """The recordings that can be put before the SDK: google-genai does not ask for the JSON array form, and mistralai
    checks what only Mistral sends.
    """
    found = rows(SHAPES[way][0], core=core)
    return [
        row for row in found if row["kind"] != "jsonarray" and (way != "mistral" or row["api"].startswith("mistral"))
    ]


def told(stream: Stream | SdkStream) -> dict[str, Any]:
    """What an answer comes to, without what no SDK can keep: the words of an error; the blanks in arguments that came
    as an object; Ollama's call ids, which its SDK drops; and in which alphabet of base64 a signature was spelled, since
    google-genai holds bytes.
    """
    summary = stream.summary()
    message = msgspec.to_builtins(stream.message)
    for part in message["content"]:
        if part.get("raw_arguments"):
            part["raw_arguments"] = json.loads(part["raw_arguments"])
    if stream.wire == "ollama":
        for one in (*summary["calls"], *(part for part in message["content"] if part["type"] == "tool_call")):
            assert one.pop("id")
    if stream.wire == "gemini":
        _respell(message)
    error = summary.pop("error")
    return {**summary, "error": None if error is None else error.type, "message": message}


def _respell(value: Any) -> None:
    for key, held in value.items() if isinstance(value, dict) else enumerate(value):
        if key == "thoughtSignature":
            value[key] = held.translate(str.maketrans("-_", "+/")).rstrip("=")
        elif isinstance(held, (dict, list)):
            _respell(held)


def runs(stream: Stream | SdkStream) -> list[Any]:
    return [(invocation.tool_name, invocation.arguments) for invocation in stream.invocations]


class Comparison:
    """What came of the recordings: which differ, and in what."""

    def __init__(self, way: str) -> None:
        self.wire = SHAPES[way][1]
        self.differing: dict[str, Any] = {}
        self.silent: list[str] = []

    def add(self, row: dict[str, Any], stream: SdkStream, events: list[Any]) -> None:
        check_shape(events)
        expected, _ = read(whole(body(row)), self.wire)
        assert stream.wire in (self.wire, None)
        assert all(run in runs(expected) for run in runs(stream)), row["case"]
        ours, theirs = told(expected), told(stream)
        if ours != theirs:
            self.differing[row["case"]] = {name: (ours.get(name), theirs.get(name)) for name in ours}
            if stream.error is None:
                self.silent.append(row["case"])


async def compare(way: str, found: list[dict[str, Any]]) -> Comparison:
    compared = Comparison(way)

    def read_all(url: str) -> None:
        with getattr(sdk_streams, way)(url) as opened:
            for number, row in enumerate(found):
                stream = SdkStream()
                with opened(str(number)) as sdk_stream:
                    compared.add(row, stream, list(stream.events(sdk_stream)))

    async with served([body(row) for row in found], KINDS.get(compared.wire, "text/event-stream")) as url:
        await asyncio.to_thread(read_all, url)
    return compared


@pytest.mark.thorough
@pytest.mark.parametrize("way", SHAPES)
async def test_objects_say_what_the_bytes_say(way: str) -> None:
    found, listed = recordings(way), DIFFERENCES.get(way, {})
    compared = await compare(way, found)
    assert {case: unlike for case, unlike in compared.differing.items() if case not in listed} == {}
    assert set(listed) <= set(compared.differing), "these agree by now"
    assert compared.silent == []
    assert found


@pytest.mark.figures
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", SHAPES)
async def test_objects_of_the_whole_index(way: str) -> None:
    """Where an SDK lost something, it is seen: no answer is complete and different."""
    found = recordings(way, core=False)
    compared = await compare(way, found)
    assert compared.silent == []
    assert len(compared.differing) < len(found) / 10


@pytest.mark.thorough
@pytest.mark.parametrize("way", ASYNC)
async def test_objects_of_asynchronous_clients(way: str) -> None:
    """Every third recording: the objects are the same, only the way to them is another."""
    found, compared = recordings(way)[::3], Comparison(way)
    kind = KINDS.get(compared.wire, "text/event-stream")
    async with (
        served([body(row) for row in found], kind) as url,
        getattr(sdk_streams, f"async_{way}")(url) as opened,
    ):
        for number, row in enumerate(found):
            stream = SdkStream()
            async with opened(str(number)) as sdk_stream:
                compared.add(row, stream, [event async for event in stream.aevents(sdk_stream)])
    assert set(compared.differing) == {row["case"] for row in found if row["case"] in DIFFERENCES.get(way, {})}
