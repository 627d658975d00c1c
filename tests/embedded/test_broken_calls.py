"""Calls that are quoted in a value of another call never run, whatever happens to the call around them.

One character of `echo(text=<whole calls of ping>)` is spoiled after the tool's name, a hundred times for each family:
left out, put in, or another in its place. Then the call may be broken, or say something else, or be text. What it
quotes stays what it is.
"""

from __future__ import annotations

import random

import pytest

from embedded.family_values import Call
from embedded.family_writers import FAMILIES
from embedded.text_feeding import Reading, check_cuts, read_text
from embedded.text_tools import TOOLS
from toolwire.errors import LimitExceeded
from toolwire.limits import Limits

COUNT = 100
QUICK = ("hermes", "llama3-json", "deepseek-v3", "qwen3-coder", "mistral-v11", "pythonic", "harmony", "glm45")
"""Families of each kind of syntax: the others run with `make test-all`."""
each_family = pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in FAMILIES]
)
WRONG = "<>\"'{}x[](),\\\n/"

QUOTES = "\"'"
NOT_A_CALL = "the tool is unknown and its syntax is spoiled: ordinary text, in which calls may stand"
MENDED = "a spoiled call without marks is text, and a call that is mended after it is asked about (approval)"
ALLOWED: dict[tuple[str, str], tuple[int, str]] = {
    **{("unknown", name): (2, NOT_A_CALL) for name in ("functionary", "pythonic", "olmo3", "mistral-v11")},
    **{("repair", name): (5, MENDED) for name in ("llama3-json", "inkling", "functionary")},
    ("repair", "xlam"): (15, MENDED),
}
"""How many of the hundred nobody can tell from calls of their own, and why."""


def quoting(name: str, rng: random.Random, *, calls: int, single: bool = False) -> str:
    """A call of `echo` whose text is this many calls of `ping`, as the family writes both."""
    family = FAMILIES[name]

    def written(tool: str, number: int, **arguments: str) -> str:
        call_id = "" if family.ids is None else family.ids(rng, tool, number)
        return family.write(rng, [Call(TOOLS[tool], arguments, call_id)])

    while True:
        inner = " ".join(written("ping", 5) for _ in range(calls))
        inner = rng.choice(("", "\n", "x\n")) + inner + rng.choice(("", "\n", "y"))
        if single:
            inner = inner.replace('"', "'")
        for text in (inner, inner.replace("\n", "")):
            whole = written("echo", 0, text=text)
            if read_text(name, [whole]).calls == [("echo", {"text": text})]:
                return whole


def spoiled(text: str, rng: random.Random, wrong: str = WRONG) -> str:
    at = rng.randrange(text.find("echo") + 4, len(text))
    return text[:at] + rng.choice(("", rng.choice(wrong))) + text[at + rng.randrange(2) :]


def runs_ping(reading: Reading) -> bool:
    return any(name == "ping" for name, _ in reading.calls)


def is_whole(reading: Reading) -> bool:
    """Whether the call around is one all the same, with fewer arguments: it has ended, and text follows it."""
    return bool(reading.unknown) or any(
        part[:2] == ["call", "echo"] or (part[:2] == ["broken", "echo"] and "do not fit" in part[2])
        for part in reading.outcome
    )


def check_spoiled(
    kind: str, name: str, *, calls: int = 1, tool: str = "echo", wrong: str = WRONG, repair: bool = False
) -> None:
    """No quoted call runs, but for what is allowed."""
    rng = random.Random(f"{kind} {name}")
    ran: list[str] = []
    for number in range(COUNT):
        if number % 10 == 0:
            whole = quoting(name, rng, calls=calls, single=repair)
        text = spoiled(whole, rng, wrong).replace("echo", tool)
        reading = read_text(name, [text], repair=repair)
        if runs_ping(reading) and not is_whole(reading):
            ran.append(text)
    most, _ = ALLOWED.get((kind, name), (0, ""))
    assert len(ran) <= most, ran


@each_family
def test_what_a_spoiled_call_quotes_does_not_run(name: str) -> None:
    check_spoiled("known", name)


@each_family
def test_what_a_spoiled_call_of_an_unknown_tool_quotes_does_not_run(name: str) -> None:
    check_spoiled("unknown", name, tool="nono")


@each_family
def test_several_quoted_calls_do_not_run(name: str) -> None:
    """Without quotes in the wrong place: one may end a string in the middle of a quoted mark, and then the next mark
    that ends a call looks like the broken call's own.
    """
    check_spoiled("two", name, calls=2, wrong="".join(mark for mark in WRONG if mark not in QUOTES))


@each_family
def test_nothing_is_mended_after_a_broken_call(name: str) -> None:
    check_spoiled("repair", name, repair=True)


@each_family
def test_what_a_call_of_an_unknown_tool_quotes_does_not_run(name: str) -> None:
    rng = random.Random(name)
    for _ in range(5):
        text = quoting(name, rng, calls=2).replace("echo", "nono")
        assert not read_text(name, [text]).calls, text


@each_family
def test_a_spoiled_call_is_the_same_at_every_cut(name: str) -> None:
    rng = random.Random(f"{name} cuts")
    for _ in range(3):
        check_cuts(name, spoiled(quoting(name, rng, calls=1), rng), every=7)


@each_family
def test_nothing_runs_after_a_call_that_is_too_long(name: str) -> None:
    """Also where the bound is reached within a value: the stream ends there, with the limit as its error."""
    rng = random.Random(f"{name} limits")
    family = FAMILIES[name]
    call_id = "" if family.ids is None else family.ids(rng, "echo", 0)
    long = family.write(rng, [Call(TOOLS["echo"], {"text": "a b " * 200}, call_id)])
    reading = read_text(name, [long, quoting(name, rng, calls=1)], limits=Limits(arguments=300))
    assert isinstance(reading.stream.error, LimitExceeded)
    assert not reading.calls


@each_family
def test_a_quoted_call_that_is_cut_off_does_not_run(name: str) -> None:
    """The answer ends within the value; the prompt may have opened reasoning, which the call ended."""
    rng = random.Random(f"{name} cut off")
    for reasoning in (False, True):
        whole = quoting(name, rng, calls=2)
        for end in range(whole.find("echo"), len(whole), 3):
            assert not runs_ping(read_text(name, [whole[:end]], reasoning=reasoning)), whole[:end]
