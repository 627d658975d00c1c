"""The data files `tests/data/text/*.jsonl`: text in, events out, however it is cut and wherever it breaks off.

A line is `{"case", "input", "expect": [["text", …], ["reasoning", …], ["markup", …], ["call", name, arguments],
["broken", name, words of the problem]]}`; a file is named after its format. Further keys: `provider` says whose
envelope `json` means, `reasoning` that the prompt opened it, `repair` that malformed calls are mended, `ids` which ids
the calls that run have in the text.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedded.text_feeding import FORMATS, check_cuts, check_truncated, read_text
from embedded.text_tools import TOOLS
from toolwire import TextStream
from toolwire.embedded.format import Format
from toolwire.embedded.history import as_text_conversation
from toolwire.embedded.registry import format_names, text_format
from toolwire.embedded.scanner import Piece, PieceKind
from toolwire.embedded.text_reader import TextReader
from toolwire.messages import TextPart

FOLDER = Path(__file__).parent.parent / "data" / "text"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.jsonl"))}
CASES: dict[str, list[dict[str, Any]]] = {
    name: [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    for name, path in FILES.items()
}
FAMILIES = [name for name in format_names() if name not in FORMATS]
SHORT = 80
"""Characters up to which every cut and every end is tried; of longer texts every 13th, from another place in each.
All of all are tried by `make figures` (B1)."""
OTHERS = 4
"""Formats that read each text too, whatever it is meant for: over all cases, each of them reads a hundred and more."""

REQUIRED = {
    *("plain_text", "single", "parallel", "text_around", "no_arguments", "nested_objects", "arrays", "unicode"),
    *("quotes_and_marks_in_strings", "numbers_exact", "truncated", "malformed", "bad_then_good", "unknown_tool"),
    "near_marks",
}
"""Cases that every family has."""
REASONING = {"reasoning_before", "reasoning_opened_by_prompt", "call_in_open_reasoning"}
"""And every family that marks its reasoning."""


def cuts(text: str) -> dict[str, Any]:
    return {"every": 1 if len(text) <= SHORT else 13, "seed": len(text)}


def format_of(name: str, case: dict[str, Any]) -> Format:
    return text_format(name, provider=case.get("provider", ""))


def options(case: dict[str, Any]) -> dict[str, Any]:
    return {key: True for key in ("reasoning", "repair") if case.get(key)}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_cases(name: str) -> None:
    cases = [case["case"] for case in CASES[name]]
    assert len(cases) >= (8 if name.startswith("json-") else 30)
    assert len(set(cases)) == len(cases)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_its_cases(name: str) -> None:
    cases = [case["case"] for case in CASES[name]]
    needed = REQUIRED | (REASONING if text_format(name).thinking is not None else set())
    assert not needed.difference(cases)
    assert len(set(cases)) == len(cases)


def test_every_file_is_of_a_format() -> None:
    assert not FILES.keys() - {*FORMATS, *FAMILIES}


def check_each(name: str, check: Callable[[str, dict[str, Any]], None]) -> None:
    """All cases of a file in one test; it tells every one that fails."""
    faults = []
    for case in CASES[name]:
        try:
            check(name, case)
        except Exception as error:
            error.add_note(f"case: {case['case']}")
            faults.append(error)
    if faults:
        raise ExceptionGroup(f"{name}: {', '.join(error.__notes__[-1] for error in faults)}", faults)


def test_a_case_that_fails_is_told_and_the_rest_is_tried() -> None:
    tried = []

    def check(name: str, case: dict[str, Any]) -> None:
        tried.append(case)
        assert len(tried) not in (2, 3)

    with pytest.raises(ExceptionGroup) as told:
        check_each("hermes", check)
    assert tried == CASES["hermes"]
    second, third = (case["case"] for case in tried[1:3])
    assert told.value.message == f"hermes: case: {second}, case: {third}"


def check_events(name: str, case: dict[str, Any]) -> None:
    check_cut_events(name, case, every=len(case["input"]) or 1)


def check_cut_events(name: str, case: dict[str, Any], **each: int) -> None:
    text = case["input"]
    reading = check_cuts(format_of(name, case), text, **(each or cuts(text)), **options(case))
    outcome, expected = reading.outcome, case["expect"]
    assert [part[:2] for part in outcome] == [part[:2] for part in expected]
    for part, wanted in zip(outcome, expected, strict=True):
        if part[0] == "broken":
            assert wanted[2] in part[2]
        elif part[0] == "call":
            assert json.dumps(part[2]) == json.dumps(wanted[2])
    if "ids" in case:
        assert reading.ids == case["ids"]


def check_prefixes(name: str, case: dict[str, Any]) -> None:
    check_truncated(format_of(name, case), case["input"], **cuts(case["input"]), **options(case))


def check_other_readers(name: str, case: dict[str, Any]) -> None:
    text: str = case["input"]
    rng = random.Random(f"{name} {case['case']}")
    for other in {name: None} | dict.fromkeys(rng.sample(format_names(), OTHERS)):
        for tools in ((), (None,)):
            whole = read_text(other, [text], *tools)
            assert whole.rebuilt == text
            assert read_text(other, text, *tools).outcome == whole.outcome


def check_history(name: str, case: dict[str, Any]) -> None:
    format_ = format_of(name, case)
    stream = TextStream(format_, tools=TOOLS, **options(case))
    stream.feed(case["input"])
    stream.close()
    told = as_text_conversation([stream.message], TOOLS, format_)[-1]
    pieces: list[Piece] = []
    reader = TextReader(lambda scanner: format_.read(scanner, TOOLS), **options(case))
    reader.feed(case["input"], pieces)
    reader.close(pieces)
    kept = "".join(piece.text for piece in pieces if piece.kind not in (PieceKind.REASONING, PieceKind.MARK))
    assert "".join(part.text for part in told.parts if isinstance(part, TextPart)) == kept


@pytest.mark.parametrize("name", FILES)
def test_text_in_events_out(name: str) -> None:
    check_each(name, check_events)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_text_in_events_out_at_every_cut(name: str) -> None:
    check_each(name, check_cut_events)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_no_prefix_runs_more_than_the_whole(name: str) -> None:
    check_each(name, check_prefixes)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_without_tools_and_with_other_formats(name: str) -> None:
    """Whatever a text is meant for, no reader loses a character of it or cares how it was cut."""
    check_each(name, check_other_readers)


@pytest.mark.parametrize("name", FILES)
def test_a_model_finds_its_own_words_again(name: str) -> None:
    """As it wrote them, but for its reasoning and the marks around it: those are told in their own way, or not."""
    check_each(name, check_history)
