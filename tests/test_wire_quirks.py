"""Every row of the table of quirks (`../shared/wire-quirks.md`): a body of our own, and the recording that it names."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import quirks_anthropic
import quirks_chat
import quirks_chat_ends
import quirks_framing
import quirks_gemini
import quirks_others
import quirks_reported
import quirks_responses
from corpus import ROOT, WIRES, body, index, needs_corpus
from feeding import check_every_cut, check_shape, read, whole
from odd_streams import outcome
from quirks import Quirk, payloads
from toolwire import Stream
from toolwire.messages import dump_conversation

UNSEEN = "Never seen in these recordings, and still to be handled (they are legal, or were reported)"
TABLES: dict[str, dict[str, Quirk]] = {
    "Framing (SSE / NDJSON / AWS)": quirks_framing.QUIRKS,
    "Chat completions: tool-call deltas": quirks_chat.QUIRKS,
    "Chat completions: chunks, ends, usage, errors": quirks_chat_ends.QUIRKS,
    "OpenAI Responses": quirks_responses.QUIRKS,
    "Anthropic Messages": quirks_anthropic.QUIRKS,
    "Gemini / Vertex": quirks_gemini.QUIRKS,
    "Ollama, Cohere, Bedrock": quirks_others.QUIRKS,
    "Seen while reading": quirks_reported.SEEN,
    UNSEEN: quirks_reported.NEVER_SEEN,
}
CASES = [(table, row) for table, rows in TABLES.items() for row in rows]
"""Rows of two tables may have the same words."""

DOCUMENT = ROOT.parent / "wire-quirks.md"
needs_document = pytest.mark.skipif(not DOCUMENT.exists(), reason="the table (../shared/wire-quirks.md) is not here")


def calls_of(stream: Stream, *, complete: bool) -> list[tuple[str, str, Any]]:
    made = [call for call in stream.summary()["calls"] if call["complete"] is complete]
    return [(call["id"], call["name"], call["arguments"]) for call in made]


@pytest.mark.parametrize(("table", "row"), CASES)
def test_a_body_of_our_own(table: str, row: str) -> None:
    case = TABLES[table][row]
    assert case.shows(case.body, payloads(case.body, case.wire))
    stream, events = outcome(case.body, case.wire)
    summary = stream.summary()
    assert (summary["text"], summary["reasoning"]) == (case.text, case.reasoning)
    assert summary.get("refusal", "") == case.refusal
    assert case.keeps in dump_conversation([stream.message]).decode()
    assert calls_of(stream, complete=True) == case.calls
    assert calls_of(stream, complete=False) == case.half
    if case.error is None:
        assert stream.error is None
        assert stream.complete
    else:
        assert events[-1].error is not None
        assert events[-1].error.type == case.error[0]
        assert case.error[1] in events[-1].error.message
    if case.stop is not None:
        assert stream.stop_reason == case.stop
    if case.usage is not None:
        assert stream.usage is not None
        assert (stream.usage.input_tokens, stream.usage.output_tokens, stream.usage.total_tokens) == case.usage


@pytest.mark.thorough
@pytest.mark.parametrize(("table", "row"), CASES)
def test_it_does_not_depend_on_cuts(table: str, row: str) -> None:
    check_every_cut(TABLES[table][row].body, TABLES[table][row].wire)


@cache
def document() -> dict[tuple[str, str], str]:
    """The rows as they stand in the document, by table and first cell, with the recording each names."""
    found: dict[tuple[str, str], str] = {}
    title = ""
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if DOCUMENT.exists() else ():
        if line.startswith("### "):
            title = line[4:]
        elif line.startswith("- "):
            found[title, line[2:].partition(":")[0].partition(",")[0]] = ""
        elif line and title == UNSEEN:
            found |= {(title, item.strip(" .")): "" for item in line.split(";")}
        elif line.startswith("| ") and not line.startswith(("| what is seen", "| ---")):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            example = cells[-1].split("`")[1] if cells[-1].startswith("`") else ""
            found[title, cells[0]] = example
    return found


@needs_document
def test_every_row_has_a_case() -> None:
    missing = [row for row in document() if row not in CASES]
    assert missing == []
    assert [case for case in CASES if case not in document()] == []


RECORDED = [(*row, example) for row, example in document().items() if example and row in CASES]


@needs_corpus
@needs_document
@pytest.mark.parametrize(("table", "row", "example"), RECORDED)
def test_the_recording_that_it_names(table: str, row: str, example: str) -> None:
    """It shows the quirk, and comes to the same kind of end as our body: calls that run or may not, or an error."""
    case = TABLES[table][row]
    (line,) = [line for line in index() if line["case"] == example]
    wire = WIRES.get(line["shape"])
    data = body(line)
    assert case.shows(data, payloads(data, "bedrock" if line["kind"] == "eventstream" else case.wire))
    if wire is None:
        return  # a format that is not read here
    stream, events = read(whole(data), wire)
    check_shape(events)
    if case.example is not None:
        assert case.example(stream)
        return
    assert (stream.error is None) is (case.error is None)
    if case.calls:
        assert stream.invocations
    if case.half:
        assert calls_of(stream, complete=False)
    if case.reasoning:
        assert stream.summary()["reasoning"]
    if case.usage is not None:
        assert stream.usage is not None
        assert stream.usage.total_tokens
