"""Every call that models' own chat templates rendered is read exactly: in the row's format, and by the model's name."""

from __future__ import annotations

import random
from typing import Any

import pytest

from embedded.text_corpus import ROOT, needs_text_corpus, rows, templates
from embedded.text_feeding import Reading, check_cuts, random_pieces, read_text
from toolwire.embedded.prose import opens_reasoning
from toolwire.embedded.registry import text_format
from toolwire.tools.registry import ToolRegistry

CUTS = (1, 3, 9, 40)
"""The longest piece of each way to cut a row at random."""


@needs_text_corpus
def test_the_corpus_is_whole() -> None:
    assert len(templates()) >= 27, ROOT
    assert all(len(rows(template)) >= 20 for template in templates())


def tools_of(row: dict[str, Any]) -> ToolRegistry:
    """The row's tools. Three rows call one with what its schema refuses: that schema is left open."""
    tools = ToolRegistry(row["tools"])
    refused = {call["name"] for call in row["calls"] if tools[call["name"]].problem(call["arguments"]) is not None}
    return ToolRegistry([{**tool, "parameters": {}} if tool["name"] in refused else tool for tool in row["tools"]])


def check_row(reading: Reading, row: dict[str, Any]) -> None:
    told = f"{row['template']} {row['id']}: {row['text']!r}: {reading.outcome}"
    assert reading.rebuilt == row["text"], told
    assert [name for name, _ in reading.calls] == [call["name"] for call in row["calls"]], told
    # Values, not JSON: templates write 5.0 as 5 and the other way round.
    assert [arguments for _, arguments in reading.calls] == [call["arguments"] for call in row["calls"]], told
    assert not any(part[0] == "broken" for part in reading.outcome), told
    prefix = row["prefix"] if row["prefix"] in row["text"] else ""
    for kind in ("text", "reasoning"):
        kept = "".join(part[1] for part in reading.outcome if part[0] == kind).strip()
        assert kept == (prefix if (kind == "reasoning") == (row["format"] == "harmony") else ""), told


@needs_text_corpus
@pytest.mark.parametrize("template", templates())
def test_every_row_is_read_exactly(template: str) -> None:
    rng = random.Random(template)
    for row in rows(template):
        tools = tools_of(row)
        text = row["text"]
        for format_, model in ((row["format"], ""), ("auto", template)):
            check_row(read_text(format_, [text], tools, model=model), row)
            for longest in CUTS:
                check_row(read_text(format_, random_pieces(text, rng, longest), tools, model=model), row)


@needs_text_corpus
@pytest.mark.parametrize("template", templates())
def test_rows_at_every_cut(template: str) -> None:
    for row in rows(template)[:3]:
        check_row(check_cuts(row["format"], row["text"], tools_of(row), every=7), row)


@needs_text_corpus
@pytest.mark.parametrize("template", templates())
def test_what_the_prompt_opened_is_known(template: str) -> None:
    """A prompt that ends with an opening mark opens reasoning; one that closed it again does not."""
    for row in rows(template):
        tail = row["prompt_tail"].rstrip()
        opened = opens_reasoning(text_format(row["format"]).thinking, row["prompt_tail"])
        assert opened == tail.endswith(("<think>", "<seed:think>")), row["prompt_tail"]
