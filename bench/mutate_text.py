"""Texts gone wrong: calls with marks added, lost, doubled, moved and misspelt."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

LONGEST = 6_000
"""Characters that a changed text keeps."""


class Stock(NamedTuple):
    """What changes are made of: whole texts, and what means something in them."""

    seeds: Sequence[str]
    tokens: Sequence[str]


Change = Callable[[str, random.Random, Stock], str]

TOKENS = [
    *('<tool name="search">', '<tool name="', "<tool", "</tool>", "<tool />", "<TOOL NAME='ping'>", "<toolbox>", "<"),
    *('<arg name="query">', '<arg name="', "</arg>", "<query>", "</query>", "<arguments>", "</arguments>", ">", "/>"),
    *("<item>", "</item>", "<![CDATA[", "]]>", "<!-- ", "-->", "&quot;", "&#0;", "&", ' type="json"', "'", "="),
    *("__START_CONTENT__\n", "\n__END_CONTENT__", "__START_PATCH__", "__END_PATCH__", '<write_file path="a">'),
    *("</write_file>", "<run_bash>", "</run_bash>", '<run_bash timeout_seconds="60">', '<edit_file path="b">'),
    *("[[SEG_START ", '[[SEG_START {"type":"', "[[SEG_START {", "[[SEG_END]]", "]]", "[[", "[", "]"),
    *(
        '"type":"tool",',
        '"tool_name":"search",',
        '"arguments":{',
        '"arguments": ',
        '"path":"a",',
        '{"type":"run_bash"}',
    ),
    *(
        "```",
        "```json\n",
        "\n```\n",
        "`",
        '{"tool":',
        '{"tool_calls":[',
        '{"tools":',
        '{"function":',
        '{"name":"search",',
    ),
    *('"args":', '"parameters":', '{"functionCall":', '"id":"c1",', '"function":"ping"', '"{\\"query\\": \\"x\\"}"'),
    *("{", "}", "{}", ",", ":", '"', "\\", "\\u", "\\ud83d", "\\n", '"search"', '"ping"', '"write_file"', "search"),
    *("null", "true", "1e5", "-", "00501", "1" * 400, "NaN", "[" * 70, '{"a":' * 70, "\n", "\r\n", "\r", " ", "\t"),
    *(
        "\0",
        "İ",
        "é",
        "🦊",
        "\u200b",
        "＜",
        "ｔ",
        "о",
        "\ufeff",
        "\u2028",
        "\x85",
        "a" * 300,
        " " * 300,
        "if a < b: x[0]\n",
    ),
]


def insert(text: str, rng: random.Random, stock: Stock) -> str:
    """Something put in that means something to a format."""
    at = _place(text, rng)
    return text[:at] + rng.choice(stock.tokens) + text[at:]


def replace(text: str, rng: random.Random, stock: Stock) -> str:
    """A stretch made something else."""
    start, end = _span(text, rng)
    return text[:start] + rng.choice(stock.tokens) + text[end:]


def delete(text: str, rng: random.Random, _: Stock) -> str:
    """A stretch gone."""
    start, end = _span(text, rng)
    return text[:start] + text[end:]


def repeat(text: str, rng: random.Random, _: Stock) -> str:
    """A stretch again, somewhere."""
    start, end = _span(text, rng)
    at = _place(text, rng)
    return text[:at] + text[start:end] * rng.randint(1, 3) + text[at:]


def swap(text: str, rng: random.Random, _: Stock) -> str:
    """Two stretches in each other's place."""
    places = sorted(_place(text, rng) for _ in range(4))
    one, two, three, four = places
    return text[:one] + text[three:four] + text[two:three] + text[one:two] + text[four:]


def cut(text: str, rng: random.Random, _: Stock) -> str:
    """Broken off, or begun late."""
    at = _place(text, rng)
    return text[:at] if rng.random() < 0.7 else text[at:]


def splice(text: str, rng: random.Random, stock: Stock) -> str:
    """The start of one text, the end of another."""
    other = rng.choice(stock.seeds)
    return text[: _place(text, rng)] + other[_place(other, rng) :]


def nest(text: str, rng: random.Random, stock: Stock) -> str:
    """One text inside another."""
    at = _place(text, rng)
    return text[:at] + rng.choice(stock.seeds) + text[at:]


def change_case(text: str, rng: random.Random, _: Stock) -> str:
    """Capital letters for small ones, or the other way round."""
    start, end = _span(text, rng)
    return text[:start] + text[start:end].swapcase() + text[end:]


def escape(text: str, rng: random.Random, _: Stock) -> str:
    """A stretch escaped once more, or once less."""
    start, end = _span(text, rng)
    middle = text[start:end]
    if rng.random() < 0.5:
        middle = middle.replace("\\", "\\\\").replace('"', '\\"')
    else:
        middle = middle.replace('\\"', '"').replace("&lt;", "<")
    return text[:start] + middle + text[end:]


CHANGES: list[Change] = [
    *(insert, insert, insert, replace, replace, delete, delete, repeat, swap, cut, splice, nest, nest),
    *(change_case, escape),
]


def mutate_text(text: str, rng: random.Random, stock: Stock) -> str:
    """One to four changes, one on top of the other."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        text = rng.choice(CHANGES)(text, rng, stock)[:LONGEST]
    return text


_MARKS = '<>[]{}()|｜"`,:/='


def _place(text: str, rng: random.Random) -> int:
    """Somewhere; as often as not at a mark, where most changes mean something."""
    at = rng.randint(0, len(text))
    if rng.random() < 0.5:
        found = text.find(rng.choice(_MARKS), at)
        at = found + rng.randint(0, 1) if found >= 0 else at
    return at


def _span(text: str, rng: random.Random) -> tuple[int, int]:
    start = _place(text, rng)
    return start, min(len(text), start + rng.choice((1, 1, 2, 3, 8, 40, 200)))
