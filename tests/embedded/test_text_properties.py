"""Whatever fits a tool's schema is read back exactly as it was written, in every format, at random cuts."""

from __future__ import annotations

import json
import random

import pytest

from embedded.injections import BROKEN, CALLS, ENDS
from embedded.random_calls import PIECES, PROSE, TOOL_NAMES, Answers, random_json, random_names, round_trips
from embedded.text_feeding import FORMATS, check_cuts, check_truncated, random_pieces, read_text
from embedded.text_tools import TOOLS
from feeding import check_shape, merged
from toolwire.embedded.registry import text_format
from toolwire.limits import DEFAULT_LIMITS, Limits

pytestmark = pytest.mark.thorough

COUNT = 500
SEEDS = range(8)
"""Five formats, eight seeds, 500 answers: 20,000. A quarter of them in every run of the tests, all in the figures."""


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", [*SEEDS[:2], *(pytest.param(seed, marks=pytest.mark.figures) for seed in SEEDS[2:])])
def test_what_is_written_is_read_back(name: str, seed: int) -> None:
    faults = round_trips(name, seed, COUNT)
    assert not faults, f"{len(faults)} of {COUNT}: {min(faults, key=len)}"


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_without_a_schema_is_read_back(name: str) -> None:
    format_ = text_format(name)
    rng = random.Random(name)
    for _ in range(300):
        tool = rng.choice(TOOL_NAMES)
        arguments = {key: random_json(rng) for key in random_names(rng, 4)}
        text = format_.write_call(tool, arguments, None)
        reading = read_text(format_, random_pieces(text, rng, 20), None)
        assert json.dumps(reading.calls, sort_keys=True) == json.dumps([(tool, arguments)], sort_keys=True), text


@pytest.mark.parametrize("name", FORMATS)
def test_written_calls_at_every_cut(name: str) -> None:
    format_ = text_format(name)
    answers = Answers(format_, seed=99)
    for _ in range(15):
        answer = answers.next()
        every = 1 + len(answer.text) // 60
        reading = check_cuts(format_, answer.text, answer.tools, every=every)
        assert reading.calls == answer.calls
        check_truncated(format_, answer.text, answer.tools, every=every)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_spoiled_calls_keep_the_laws(name: str, seed: int) -> None:
    """A character taken out, doubled or exchanged: no cut makes a difference, and every character comes out."""
    format_ = text_format(name)
    answers = Answers(format_, seed=1000 + seed)
    rng = random.Random(seed)
    for _ in range(30):
        answer = answers.next()
        at = rng.randrange(len(answer.text))
        other = rng.choice(("", answer.text[at] * 2, rng.choice('<>"{}[]\\/ x&'), answer.text[at:] + answer.text[:at]))
        text = answer.text[:at] + other + answer.text[at + 1 :]
        every = 1 + len(text) // 10
        check_cuts(format_, text, answer.tools, every=every, seed=seed)
        check_truncated(format_, text, answer.tools, every=every)


def soup(rng: random.Random) -> str:
    """Anything: whole calls, halves of them, their markers and ordinary text in any order."""
    made: list[str] = []
    for _ in range(rng.randint(1, 9)):
        piece = rng.choice(rng.choice((PIECES, PROSE, CALLS, ENDS, BROKEN)))
        made.append(piece if rng.random() < 0.7 else piece[: rng.randrange(len(piece) + 1)])
    return "".join(made)


SMALL = Limits(held=60, arguments=150, calls=4, segments=8, stream=400, depth=4, name=3)


def check_soup(name: str, seed: int, count: int) -> None:
    format_ = text_format(name)
    rng = random.Random(f"{name} {seed}")
    for _ in range(count):
        text = soup(rng)
        limits = rng.choice((DEFAULT_LIMITS, SMALL))
        tools = rng.choice((TOOLS, TOOLS, None))
        pieces = list(random_pieces(text, rng, rng.choice((1, 2, 9))))
        one, other = (read_text(format_, way, tools, limits=limits) for way in ([text], pieces))
        check_shape(one.events)
        assert list(merged(one.events)) == list(merged(other.events)), (text, pieces)
        assert one.stream.summary() == other.stream.summary()
        assert one.unknown == other.unknown
        assert (one.rebuilt == text) if one.stream.error is None else text.startswith(one.rebuilt)
        end = rng.randrange(len(text) + 1)
        half = read_text(format_, [text[:end]], tools, limits=limits)
        assert one.stream.error is not None or half.calls == one.calls[: len(half.calls)], (text, end)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(2))
def test_any_soup_of_markers_keeps_the_laws(name: str, seed: int) -> None:
    check_soup(name, seed, 700)
