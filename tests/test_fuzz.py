"""Mutated streams of every wire format, mutated texts of every text format, and what once broke a promise.

`make fuzz` runs two hundred times as many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.bounds import meet
from bench.fuzz import READABLE, FuzzResult, fuzz, fuzz_deep, replay
from bench.text_fuzz import FAMILIES, TAUGHT
from bench.wires import SUBJECTS
from bench.wires.subject import BOUNDS

from toolwire.embedded.registry import format_names
from toolwire.providers.wires import WIRES

pytestmark = pytest.mark.thorough

KEPT = sorted((Path(__file__).parent / "data" / "fuzz").glob("*.*"))
RUNS = 500
FAMILY_RUNS = 60
"""Of each family, once: there are many."""


def some_of(names: Sequence[str], every: int) -> Iterator[Any]:
    """One of so many in every run of the tests, all of them in the figures."""
    for number, name in enumerate(names):
        yield name if number % every == 0 else pytest.param(name, marks=pytest.mark.figures)


def check(result: FuzzResult) -> None:
    """Nothing is said of the time: other processes share the processor."""
    faults = {path: words for path, words in result.faults.items() if not words.endswith(" ms")}
    assert not faults


@pytest.mark.parametrize("wire", SUBJECTS)
def test_mutated_streams_keep_every_promise(wire: str, tmp_path: Path) -> None:
    result = fuzz(wire, 1, runs=RUNS, folder=tmp_path)
    check(result)
    assert result.runs == RUNS


@pytest.mark.parametrize("format_", TAUGHT)
def test_mutated_texts_keep_every_promise(format_: str, tmp_path: Path) -> None:
    result = fuzz(format_, 1, runs=RUNS, folder=tmp_path)
    check(result)
    assert result.runs == RUNS


@pytest.mark.parametrize("format_", FAMILIES)
def test_mutated_answers_of_a_family_keep_every_promise(format_: str, tmp_path: Path) -> None:
    result = fuzz(format_, 1, runs=FAMILY_RUNS, folder=tmp_path)
    check(result)
    assert result.runs == FAMILY_RUNS


@pytest.mark.parametrize("wire", [*(name for name in READABLE if name not in FAMILIES), *some_of(list(FAMILIES), 4)])
def test_deep_values_keep_every_promise(wire: str, tmp_path: Path) -> None:
    result = fuzz_deep(wire, 1, folder=tmp_path)
    check(result)
    assert result.runs >= (250 if wire in FAMILIES else 500)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_bodies_that_broke_a_promise_keep_it(path: Path) -> None:
    assert [words for words in replay([path]) if " ms'" not in words] == []


@pytest.mark.parametrize(
    ("wire", "name"), [(wire, name) for wire, subject in SUBJECTS.items() for name in subject.endless]
)
def test_input_without_end_meets_its_bound(wire: str, name: str) -> None:
    source, bound = SUBJECTS[wire].endless[name]
    met = meet(wire, name, source(), bound, BOUNDS)
    assert met.holds, str(met)


def test_every_wire_and_every_text_format_is_fuzzed() -> None:
    assert set(SUBJECTS) == set(WIRES)
    assert set(READABLE) == {*WIRES, *format_names()}
