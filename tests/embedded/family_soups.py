"""Soups: whole calls, halves of them, the marks of all families and ordinary text in any order."""

from __future__ import annotations

import random
from typing import Any

from embedded.family_values import Call
from embedded.family_writers import FAMILIES, MARKS, Family
from embedded.random_calls import PIECES, PROSE
from embedded.text_feeding import random_pieces, read_text
from embedded.text_tools import TOOLS
from feeding import check_shape, merged
from toolwire.embedded.registry import text_format
from toolwire.limits import DEFAULT_LIMITS, Limits

SMALL = Limits(held=60, arguments=150, calls=4, segments=8, stream=400, depth=4, name=3)
"""Bounds that a soup does reach: what happens there must not depend on cuts either."""

VALUES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ping", {}),
    ("search", {"query": "x", "limit": 3, "exact": True}),
    ("search", {"query": 'a "b" \\ <c> {d}\n', "limit": -1}),
    ("echo", {"text": "é🦊\n```\n"}),
    ("write_file", {"path": "a/b.py", "content": "if a < b:\n    x[0] = {}\n"}),
    ("book", {"cabin": "economy", "zip": "00501", "price": 1.5, "tags": ["a", "b"], "seats": [1, 2]}),
    ("book", {"cabin": "business", "passengers": [{"name": "Bob", "age": 3}], "options": {"note": None}}),
)


def a_call(family: Family, rng: random.Random) -> str:
    """One or two calls of the tests' tools, as the family writes them."""
    calls: list[Call] = []
    for number in range(min(family.most, rng.choice((1, 1, 2)))):
        name, arguments = rng.choice(VALUES)
        calls.append(Call(TOOLS[name], arguments, "" if family.ids is None else family.ids(rng, name, number)))
    return family.write(rng, calls)


def soup(name: str, rng: random.Random) -> str:
    """Anything."""
    family = FAMILIES[name]
    made: list[str] = []
    for _ in range(rng.randint(1, 8)):
        kind = rng.randrange(8)
        if kind < 3:
            piece = a_call(family, rng)
        elif kind == 3:
            piece = a_call(FAMILIES[rng.choice(list(FAMILIES))], rng)
        elif kind == 4 and family.think is not None:
            piece = rng.choice(family.think)
        elif kind == 5:
            piece = rng.choice(text_format(name).marks or MARKS)
        else:
            piece = rng.choice(rng.choice((PIECES, PROSE, MARKS)))
        if rng.random() < 0.35:
            at = rng.randrange(len(piece) + 1)
            piece = piece[:at] if rng.random() < 0.7 else piece[at:]
        made.append(piece)
    return "".join(made)


def check_family_soup(name: str, seed: int, count: int) -> None:
    """The laws: the same at every cut, every character once, and no half of it runs what the whole does not."""
    format_ = text_format(name)
    rng = random.Random(f"{name} {seed}")
    for _ in range(count):
        text = soup(name, rng)
        options: dict[str, Any] = {
            "limits": rng.choice((DEFAULT_LIMITS, DEFAULT_LIMITS, SMALL)),
            "reasoning": rng.random() < 0.2,
            "repair": rng.random() < 0.1,
        }
        tools = rng.choice((TOOLS, TOOLS, TOOLS, None))
        pieces = list(random_pieces(text, rng, rng.choice((1, 2, 9))))
        one, other = (read_text(format_, way, tools, **options) for way in ([text], pieces))
        check_shape(one.events)
        assert list(merged(one.events)) == list(merged(other.events)), (text, pieces, options)
        assert one.stream.summary() == other.stream.summary(), (text, pieces, options)
        assert one.unknown == other.unknown, (text, pieces, options)
        assert (one.rebuilt == text) if one.stream.error is None else text.startswith(one.rebuilt), text
        end = rng.randrange(len(text) + 1)
        half = read_text(format_, [text[:end]], tools, **options)
        assert one.stream.error is not None or half.calls == one.calls[: len(half.calls)], (text, end, options)
