"""What a family's models write is read back exactly, at random cuts; spoiled or thrown together it keeps the laws."""

from __future__ import annotations

import random

import pytest

from embedded.family_answers import FamilyAnswers, family_round_trips, fault_in
from embedded.family_soups import a_call, check_family_soup
from embedded.family_values import Call
from embedded.family_writers import FAMILIES
from embedded.text_feeding import FORMATS, check_cuts, check_truncated, random_pieces, read_text
from embedded.text_tools import TOOLS
from toolwire.embedded.registry import format_names

FEW, MANY, COUNT = 20, 100, 400
"""Answers of each family in `make test`, in `make test-all`, and in `make figures`: 20,000 in all."""


def test_every_family_has_a_writer() -> None:
    assert set(FAMILIES) == set(format_names()) - set(FORMATS)
    assert COUNT * len(FAMILIES) >= 20_000


@pytest.mark.parametrize(
    "count",
    [
        FEW,
        pytest.param(MANY, marks=pytest.mark.thorough),
        pytest.param(COUNT, marks=pytest.mark.figures),
    ],
)
@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_model_writes_is_read_back(name: str, count: int) -> None:
    faults = family_round_trips(name, 0, count)
    assert not faults, f"{len(faults)} of {count}: {min(faults, key=len)}"


@pytest.mark.parametrize("name", FAMILIES)
def test_a_call_in_a_value_is_part_of_the_value(name: str) -> None:
    """Whole calls of the same family, in a string of another, as far as the syntax can say that."""
    family, rng = FAMILIES[name], random.Random(name)
    for _ in range(40):
        inner = "".join((rng.choice(("", "So:\n")), a_call(family, rng), rng.choice(("", "\n", " x"))))
        call = Call(TOOLS["echo"], {"text": inner}, "" if family.ids is None else family.ids(rng, "echo", 0))
        if family.sayable(call):
            text = family.write(rng, [call])
            assert read_text(name, random_pieces(text, rng)).calls == [("echo", call.arguments)], text


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAMILIES)
def test_answers_at_every_cut(name: str) -> None:
    answers = FamilyAnswers(name, seed=99)
    for _ in range(5):
        answer = answers.next()
        every = 1 + len(answer.text) // 60
        reading = check_cuts(name, answer.text, answer.tools, every=every, reasoning=answer.opened)
        assert not fault_in(answer, reading)
        check_truncated(name, answer.text, answer.tools, every=every, reasoning=answer.opened)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAMILIES)
def test_spoiled_answers_keep_the_laws(name: str) -> None:
    """Something taken out, doubled, exchanged or moved: no cut makes a difference, and every character comes out."""
    answers = FamilyAnswers(name, seed=1000)
    rng = random.Random(name)
    for number in range(25):
        answer = answers.next()
        at = rng.randrange(len(answer.text))
        end = at + rng.choice((1, 1, 4, 30))
        kept = answer.text[at:end]
        other = rng.choice(("", kept * 2, rng.choice("<>\"{}[]()|\\/ x&'=,"), answer.text[at:] + answer.text[:at]))
        text = answer.text[:at] + other + answer.text[end:]
        every = 1 + len(text) // 10
        check_cuts(name, text, answer.tools, every=every, seed=number, reasoning=answer.opened)
        check_truncated(name, text, answer.tools, every=every, reasoning=answer.opened)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAMILIES)
def test_any_soup_of_marks_keeps_the_laws(name: str) -> None:
    check_family_soup(name, 0, 250)
