"""The official SDKs on the same bytes, over loopback: wherever one succeeds, we say the same.

`sdk_faults.json` lists the bodies on which an SDK succeeds and errs, with the reason; each must still differ.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import WIRES, body, needs_corpus, rows
from feeding import read, whole
from sdks import Reading, reader, served

pytestmark = [
    needs_corpus,
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* is not a valid:UserWarning"),
]

SDK_FAULTS: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "data" / "sdk_faults.json").read_bytes())

AGREED = {
    "openai-chat": 149,
    "openai-responses": 80,
    "anthropic": 51,
    "gemini": 44,
    "ollama": 12,
    "bedrock": 24,
    "cohere": 8,
}
"""How many bodies of the core set each SDK reads as we do: fewer would mean that the comparison lost its bite."""


CONTENT_TYPES = {"ollama": "application/x-ndjson", "bedrock": "application/vnd.amazon.eventstream"}


def differences(wire: str, data: bytes, theirs: Reading) -> dict[str, tuple[Any, Any]]:
    """Where we differ from the SDK: ours, theirs."""
    stream, _ = read(whole(data), wire)
    pairs: dict[str, tuple[Any, Any]] = {}
    first = [s for s in stream._handler.segments if not s.choice]
    if theirs.text is not None:
        pairs["text"] = ("".join(s.text for s in first if s.segment_type == "text" and not s.metadata), theirs.text)
    if theirs.reasoning is not None:
        pairs["reasoning"] = ("".join(s.text for s in first if s.segment_type == "reasoning"), theirs.reasoning)
    calls = [call for call in stream._handler.calls if not call.choice]
    if theirs.calls is not None:
        pairs["calls"] = (len(calls), len(theirs.calls))
        for number, (call, (call_id, name, arguments)) in enumerate(zip(calls, theirs.calls, strict=False)):
            pairs[f"name {number}"] = (call.arrived.name, name)
            if call_id is not None:
                pairs[f"id {number}"] = (call.arrived.call_id, call_id)
            if isinstance(arguments, str):
                pairs[f"arguments {number}"] = (call.text, arguments)
            elif call.arrived.arguments is not None:
                pairs[f"arguments {number}"] = (call.arrived.arguments, arguments)
    if stream.complete:
        pairs["stop"] = (stream.raw_stop_reason, theirs.stop)
    if theirs.output_tokens is not None and stream.usage is not None:
        pairs["usage"] = (stream.usage.output_tokens, theirs.output_tokens)
    return {what: (ours, sdk) for what, (ours, sdk) in pairs.items() if ours != sdk}


async def agreement(wire: str, found: list[dict[str, Any]]) -> tuple[int, dict[str, Any], dict[str, str]]:
    """How many bodies agree, where we differ, and what the SDK could not read."""
    agreed, differing, failed = 0, dict[str, Any](), dict[str, str]()
    kind = CONTENT_TYPES.get(wire, "text/event-stream")
    async with served([body(row) for row in found], kind) as url, reader(wire, url) as read_model:
        for number, row in enumerate(found):
            try:
                reading = await read_model(str(number))
            except Exception as error:
                failed[row["case"]] = repr(error)
                continue
            if reading is None:
                failed[row["case"]] = "nothing to compare"
            elif unlike := differences(wire, body(row), reading):
                differing[row["case"]] = unlike
            else:
                agreed += 1
    return agreed, differing, failed


def servable(wire: str, *, core: bool) -> list[dict[str, Any]]:
    """The bodies that can be put before the SDK: google-genai does not ask for the JSON array form."""
    shapes = [shape for shape, name in WIRES.items() if name == wire]
    return [row for shape in shapes for row in rows(shape, core=core) if row["kind"] != "jsonarray"]


@pytest.mark.thorough
@pytest.mark.parametrize("wire", dict.fromkeys(WIRES.values()))
async def test_sdk_agrees_wherever_it_succeeds(wire: str) -> None:
    agreed, differing, failed = await agreement(wire, servable(wire, core=True))
    core = {row["case"] for row in servable(wire, core=True)}
    assert {case: differing[case] for case in differing if case not in SDK_FAULTS[wire]} == {}
    assert {case for case in SDK_FAULTS[wire] if case in core} <= set(differing), "these agree by now"
    assert agreed == AGREED[wire], failed


@pytest.mark.figures
@pytest.mark.timeout(600)
@pytest.mark.parametrize("wire", dict.fromkeys(WIRES.values()))
async def test_sdk_agrees_on_the_whole_index(wire: str) -> None:
    every = servable(wire, core=False)
    agreed, differing, failed = await agreement(wire, every)
    assert set(differing) == set(SDK_FAULTS[wire])
    assert agreed == len(every) - len(differing) - len(failed)
    assert len(failed) < len(every) / 10, failed
