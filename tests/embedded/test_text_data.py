"""The data files `tests/data/text/*.jsonl`: text in, events out, at every cut and truncated at every character.

A line is `{"case", "input", "expect": [["text", …], ["markup", …], ["call", name, arguments], ["broken", name, words of
the problem]]}`; a file is named after its format, and `provider` says whose envelope `json` means.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embedded.text_feeding import FORMATS, check_cuts, check_truncated, read_text
from embedded.text_tools import TOOLS
from toolwire import TextStream
from toolwire.embedded.history import as_text_conversation
from toolwire.embedded.registry import text_format
from toolwire.messages import TextPart

FOLDER = Path(__file__).parent.parent / "data" / "text"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.jsonl"))}
LINES = [
    (name, json.loads(line))
    for name, path in FILES.items()
    for line in path.read_text(encoding="utf-8").splitlines()
    if line
]
CASES = [pytest.param(name, case, id=f"{name}-{case['case']}") for name, case in LINES]
LONG = 1_500
"""Characters from which on not every cut is tried, but a prime number of them apart."""


def every(text: str) -> int:
    return 1 if len(text) <= LONG else 37


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_cases(name: str) -> None:
    cases = [case["case"] for of, case in LINES if of == name]
    assert len(cases) >= (8 if name.startswith("json-") else 30)
    assert len(set(cases)) == len(cases)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_text_in_events_out(name: str, case: dict[str, Any]) -> None:
    format_ = text_format(name, provider=case.get("provider", ""))
    outcome = check_cuts(format_, case["input"], every=every(case["input"])).outcome
    expected = case["expect"]
    assert [part[:2] for part in outcome] == [part[:2] for part in expected]
    for part, wanted in zip(outcome, expected, strict=True):
        if part[0] == "broken":
            assert wanted[2] in part[2]
        elif part[0] == "call":
            assert json.dumps(part[2]) == json.dumps(wanted[2])


@pytest.mark.parametrize(("name", "case"), CASES)
def test_no_prefix_runs_more_than_the_whole(name: str, case: dict[str, Any]) -> None:
    format_ = text_format(name, provider=case.get("provider", ""))
    check_truncated(format_, case["input"], every=every(case["input"]))


@pytest.mark.parametrize(("name", "case"), CASES)
def test_without_tools_and_with_every_format(name: str, case: dict[str, Any]) -> None:
    """Whatever a text is meant for, no reader loses a character of it or cares how it was cut."""
    text: str = case["input"]
    for other in FORMATS:
        for tools in ((), (None,)):
            whole = read_text(other, [text], *tools)
            assert whole.rebuilt == text
            assert read_text(other, text, *tools).outcome == whole.outcome


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_model_finds_its_own_words_again(name: str, case: dict[str, Any]) -> None:
    format_ = text_format(name, provider=case.get("provider", ""))
    stream = TextStream(format_, tools=TOOLS)
    stream.feed(case["input"])
    stream.close()
    told = as_text_conversation([stream.message], TOOLS, format_)[-1]
    assert "".join(part.text for part in told.parts if isinstance(part, TextPart)) == case["input"]
