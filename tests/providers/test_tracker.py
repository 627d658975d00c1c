"""`ToolCallTracker`: whichever way a provider names its calls, the same calls come out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolwire import Limits
from toolwire.chunks import ToolCallDelta
from toolwire.errors import LimitExceeded, ProtocolError
from toolwire.providers.tracker import ToolCallTracker

Delta = tuple[int | str | None, str | None, str | None, str]
"""key, id, name, arguments: what a provider sends."""


def assemble(deltas: list[ToolCallDelta]) -> list[tuple[str, str, str]]:
    """(id, name, arguments) of each call, in canonical order, put together as a handler does."""
    calls: dict[int, list[str]] = {}
    for delta in deltas:
        call = calls.setdefault(delta.index, ["", "", ""])
        call[0] = delta.call_id or call[0]
        call[1] += delta.name or ""
        call[2] += delta.arguments_delta
    return [(calls[index][0], calls[index][1], calls[index][2]) for index in sorted(calls)]


def track(deltas: list[Delta], **limits: Any) -> list[tuple[str, str, str]]:
    tracker = ToolCallTracker(Limits(**limits))
    made = [tracker.delta(*delta) for delta in deltas]
    return assemble([delta for delta in made if delta is not None])


CASES: dict[str, tuple[list[Delta], list[tuple[str, str, str]]]] = {
    "index, id and name first, then arguments": (
        [(0, "a", "f", ""), (0, None, None, '{"x"'), (0, None, None, ":1}")],
        [("a", "f", '{"x":1}')],
    ),
    "everything at once": ([(0, "a", "f", "{}")], [("a", "f", "{}")]),
    "same id on every delta": ([(0, "a", "f", "{"), (0, "a", None, "}")], [("a", "f", "{}")]),
    "same id and name on every delta": ([(0, "a", "f", "{"), (0, "a", "f", "}")], [("a", "f", "{}")]),
    "id, name null or empty later": ([(0, "a", "f", "{"), (0, "", "", ""), (0, None, None, "}")], [("a", "f", "{}")]),
    "name in pieces": (
        [(0, "a", "get_", ""), (0, None, "weather", ""), (0, None, None, "{}")],
        [("a", "get_weather", "{}")],
    ),
    "name growing": ([(0, "a", "get", ""), (0, None, "get_weather", "{}")], [("a", "get_weather", "{}")]),
    "arguments before the name": ([(0, "a", None, '{"x":'), (0, None, "f", "1}")], [("a", "f", '{"x":1}')]),
    "arguments before a name in pieces": (
        [(0, "a", None, "{"), (0, None, "f", ""), (0, None, "g", "}")],
        [("a", "fg", "{}")],
    ),
    "id after the name": ([(0, None, "f", ""), (0, "a", None, "{}")], [("a", "f", "{}")]),
    "same index, new id: a new call": (
        [(0, "a", "f", "{}"), (0, "b", "g", "{}")],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "same index, ids taking turns": (
        [(0, "a", "f", "{"), (0, "b", "g", "{"), (0, "a", None, "}"), (0, "b", None, "}")],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "same index, no ids, whole calls": (
        [(0, None, "f", '{"x":1}'), (0, None, "f", '{"x":2}')],
        [("", "f", '{"x":1}'), ("", "f", '{"x":2}')],
    ),
    "same index, no ids, other name": ([(0, "", "f", "{}"), (0, "", "g", "{}")], [("", "f", "{}"), ("", "g", "{}")]),
    "same index, no ids, name repeated inside": (
        [(0, None, "f", '{"x":'), (0, None, "f", '{"y":1}'), (0, None, "f", "}")],
        [("", "f", '{"x":{"y":1}}')],
    ),
    "braces inside strings do not close a call": (
        [(0, None, "f", '{"x":"}"'), (0, None, "f", ',"y":"\\"}"}'), (0, None, "f", "{}")],
        [("", "f", '{"x":"}","y":"\\"}"}'), ("", "f", "{}")],
    ),
    "name repeated with nothing after the close": ([(0, None, "f", "{}"), (0, None, "f", "")], [("", "f", "{}")]),
    "no index, ids": ([(None, "a", "f", "{}"), (None, "b", "g", "{}")], [("a", "f", "{}"), ("b", "g", "{}")]),
    "no index, ids, pieces taking turns": (
        [(None, "a", "f", "{"), (None, "b", "g", "{"), (None, "a", None, "}"), (None, "b", None, "}")],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "no index, id on the first delta only": ([(None, "a", "f", "{"), (None, None, None, "}")], [("a", "f", "{}")]),
    "nothing but names": ([(None, None, "f", "{}"), (None, "", "g", "{}")], [("", "f", "{}"), ("", "g", "{}")]),
    "nothing but names, pieces": ([(None, None, "f", "{"), (None, None, None, "}")], [("", "f", "{}")]),
    "nothing but names, the same twice": (
        [(None, None, "f", "{}"), (None, None, "f", "{}")],
        [("", "f", "{}"), ("", "f", "{}")],
    ),
    "nothing but names, repeated inside": ([(None, None, "f", "{"), (None, None, "f", "}")], [("", "f", "{}")]),
    "no index, id comes later": ([(None, None, "f", "{"), (None, "a", None, "}")], [("a", "f", "{}")]),
    "first index is 1": ([(1, "a", "f", "{}")], [("a", "f", "{}")]),
    "gaps": ([(7, "b", "g", "{}"), (3, "a", "f", "{}")], [("a", "f", "{}"), ("b", "g", "{}")]),
    "huge and negative": ([(2**31, "b", "g", "{}"), (-4, "a", "f", "{}")], [("a", "f", "{}"), ("b", "g", "{}")]),
    "index, then one without": ([(0, "a", "f", "{}"), (None, "b", "g", "{}")], [("a", "f", "{}"), ("b", "g", "{}")]),
    "new id takes the next place, a later index its own": (
        [(0, "a", "f", "{}"), (0, "b", "g", "{}"), (1, "c", "h", "{}")],
        [("a", "f", "{}"), ("b", "g", "{}"), ("c", "h", "{}")],
    ),
    "item ids": (
        [("item_1", "a", "f", "{"), ("item_2", "b", "g", "{}"), ("item_1", None, None, "}")],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "same id under two indexes": ([(0, "a", "f", "{}"), (1, "a", "g", "{}")], [("a", "f", "{}"), ("a", "g", "{}")]),
    "empty entries are no calls": ([(0, None, None, ""), (None, "", "", ""), (0, "a", "f", "{}")], [("a", "f", "{}")]),
    "no arguments at all": ([(0, "a", "f", "")], [("a", "f", "")]),
}


@pytest.mark.parametrize("name", CASES)
def test_ways_of_naming_a_call(name: str) -> None:
    deltas, expected = CASES[name]
    assert track(deltas) == expected


NONSENSE: dict[str, list[Delta]] = {
    "a piece before any call": [(None, None, None, "{}")],
    "the name changes inside the arguments": [(0, "a", "f", "{"), (0, "a", "g", "}")],
    "the name changes inside the arguments, no id": [(0, None, "f", "{"), (0, None, "g", "}")],
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_refused(name: str) -> None:
    with pytest.raises(ProtocolError):
        track(NONSENSE[name])


def test_bounds() -> None:
    with pytest.raises(LimitExceeded) as calls:
        track([(index, f"c{index}", "f", "{}") for index in range(5)], calls=4)
    assert calls.value.limit == 4
    with pytest.raises(LimitExceeded, match="arguments"):
        track([(0, "a", "f", "x" * 60), (0, None, None, "x" * 60)], arguments=100)
    with pytest.raises(LimitExceeded, match="name"):
        track([(0, "a", "f" * 60, ""), (0, None, "g" * 60, "")], name=100)
    with pytest.raises(LimitExceeded, match="id"):
        track([(0, "a" * 101, "f", "")], call_id=100)
    assert track([(0, "a", "f", "x" * 100)], arguments=100) == [("a", "f", "x" * 100)]


def test_done_ends_one_call_and_finish_the_rest() -> None:
    tracker = ToolCallTracker()
    tracker.delta("x", "a", "f", "{}")
    tracker.delta("y", "b", "g", "{}")
    done = tracker.done("x")
    assert done is not None
    assert (done.index, done.done) == (0, True)
    assert tracker.done("x") is None
    assert tracker.done("nobody") is None
    assert [(delta.index, delta.done) for delta in tracker.finish()] == [(1, True)]
    assert tracker.finish() == []
    with pytest.raises(ProtocolError, match="after its end"):
        tracker.delta("x", None, None, "more")


PIECES = ["", '{"n":', "12", "}"]
"""The four deltas of each call: the first names it, the others add arguments."""

SCHEMES: dict[str, Callable[[int, int], tuple[int | str | None, str | None, str | None]]] = {
    "index on all, id and name first": lambda c, k: (c, f"id{c}" if k == 0 else None, f"f{c}" if k == 0 else None),
    "index, id and name on all": lambda c, k: (c, f"id{c}", f"f{c}"),
    "index 0 on all, id on all": lambda c, k: (0, f"id{c}", f"f{c}" if k == 0 else None),
    "id on all, no index": lambda c, k: (None, f"id{c}", f"f{c}" if k == 0 else None),
    "item ids": lambda c, k: (f"item{c}", f"id{c}" if k == 0 else None, f"f{c}" if k == 0 else None),
    "index, no ids": lambda c, k: (c, None, f"f{c}" if k == 0 else None),
    "index, name last": lambda c, k: (c, f"id{c}" if k == 0 else None, f"f{c}" if k == 3 else None),
}


def interleavings() -> Iterator[tuple[int, ...]]:
    """All 34,650 orders of 3 calls × 4 deltas that keep the order within each call."""
    places = range(12)
    for first in itertools.combinations(places, 4):
        rest = [place for place in places if place not in first]
        for second in itertools.combinations(rest, 4):
            yield tuple(0 if place in first else 1 if place in second else 2 for place in places)


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_interleaving_gives_the_same_calls(scheme: str) -> None:
    name_of = SCHEMES[scheme]
    by_index = "index" in scheme and "index 0" not in scheme and "no index" not in scheme
    count = 0
    for order in interleavings():
        sent = [0, 0, 0]
        tracker = ToolCallTracker()
        made = []
        for number in order:
            key, call_id, name = name_of(number, sent[number])
            delta = tracker.delta(key, call_id, name, PIECES[sent[number]])
            if delta is not None:
                made.append(delta)
            sent[number] += 1
        calls = assemble(made)
        if not by_index:
            # Nothing but the order of appearance is known then.
            assert [call[0] for call in calls] == [f"id{number}" for number in dict.fromkeys(order)]
            calls.sort()
        ids = ["", "", ""] if scheme == "index, no ids" else ["id0", "id1", "id2"]
        assert calls == [(ids[number], f"f{number}", '{"n":12}') for number in range(3)]
        count += 1
    assert count == 34_650


def test_an_index_is_a_key_and_costs_nothing() -> None:
    tracker = ToolCallTracker()
    tracker.delta(2**62, "a", "f", "{}")
    assert len(tracker) == 1


def test_asking_whether_arguments_are_closed_stays_linear() -> None:
    """A name on each of many deltas makes the tracker look at the brackets; each piece is read once."""
    tracker = ToolCallTracker()
    tracker.delta(0, None, "f", "[")
    for _ in range(20_000):
        tracker.delta(0, None, "f", "1,")
    (known,) = tracker._calls
    assert len(known.unread) <= 1


@pytest.mark.parametrize("arguments", ['{"x":1}', '{"x":'])
def test_a_name_after_the_end_of_a_call_begins_another(arguments: str) -> None:
    tracker = ToolCallTracker()
    tracker.delta(0, None, "f", arguments)
    tracker.done(0)
    begun = tracker.delta(0, None, "g", "")
    assert begun is not None
    assert (begun.index, begun.name) == (1, "g")
