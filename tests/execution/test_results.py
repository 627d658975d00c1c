"""What tools give, as bounded text."""

from __future__ import annotations

import datetime
import random
from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
import pytest
from bench.trust.execution import flood
from pydantic import BaseModel

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.gate import Gate, Ticket
from toolwire.execution.executor import Executor, ToolResult
from toolwire.execution.results import Pieces, bounded, error_words, result_text


class City(BaseModel):
    name: str


@dataclass
class Point:
    x: int


class Pair(msgspec.Struct):
    a: int
    b: City


class Unit(StrEnum):
    CELSIUS = "c"


class Array:
    """Like an array of numbers: it has no truth, and equals nothing."""

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")

    def __eq__(self, other: object) -> Any:
        return self

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return "[1 2]"


TEXTS: list[tuple[Any, str]] = [
    ("hello", "hello"),
    (None, "Done; there is no output."),
    ("", "Done; there is no output."),
    (b"", "Done; there is no output."),
    ([], "[]"),
    (0, "0"),
    (False, "false"),
    ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
    (b"caf\xc3\xa9 \xff", "café \ufffd"),
    (bytearray(b"abc"), "abc"),
    (City(name="Paris"), '{"name":"Paris"}'),
    ([City(name="Paris")], '[{"name":"Paris"}]'),
    (Point(3), '{"x":3}'),
    (Pair(1, City(name="Rome")), '{"a":1,"b":{"name":"Rome"}}'),
    (Unit.CELSIUS, "c"),
    ({1}, "[1]"),
    ((1, 2), "[1,2]"),
    ({1: 2}, '{"1":2}'),
    (2**70, "1180591620717411303424"),
    (float("nan"), "NaN"),
    (datetime.date(2024, 2, 29), '"2024-02-29"'),
    (Array(), '"[1 2]"'),
    ([b"abc"], '["YWJj"]'),
]


@pytest.mark.parametrize(("value", "text"), TEXTS)
def test_values_become_text(value: Any, text: str) -> None:
    assert result_text(value) == text


def test_errors_become_words() -> None:
    assert error_words(ValueError("wrong city")) == "wrong city"
    assert error_words(RuntimeError("boom")) == "RuntimeError: boom"
    nested: ExceptionGroup[Any] = ExceptionGroup("outer", [ExceptionGroup("inner", [ValueError("deep")])])
    assert error_words(nested).endswith("inner (1 sub-exception): deep")
    for _ in range(100):
        nested = ExceptionGroup("outer", [nested] * 9)
    assert len(error_words(nested)) < 11_000


def test_long_text_keeps_its_start_and_its_end() -> None:
    assert bounded("abc", 3) == "abc"
    assert bounded("abcdefgh", 4) == "abc\n[… 4 characters cut …]\nh"


def test_pieces_are_the_bounded_whole_however_they_are_cut() -> None:
    chance = random.Random(7)
    for _ in range(500):
        text = "".join(chance.choice("aé😀\n") for _ in range(chance.randrange(60)))
        pieces, rest = Pieces(16), text
        while rest:
            size = chance.randrange(1, 30)
            assert pieces.add(rest[:size]) == rest[:size]
            rest = rest[size:]
        pieces.close()
        assert pieces.text() == bounded(text, 16)


def test_bytes_in_pieces_keep_characters_that_were_cut_in_two() -> None:
    pieces = Pieces()
    for byte in "café 😀".encode():
        pieces.add(bytes([byte]))
    assert pieces.text() == "café 😀"
    pieces.add(b"\xf0\x9f")
    pieces.add("!")
    pieces.add(b"\xf0")
    assert pieces.close() == "\ufffd"
    assert pieces.text() == "café 😀\ufffd!\ufffd"


async def run(call: Any) -> ToolResult:
    gate = Gate()
    ticket = await gate.decide(ToolInvocation("c1", "f", {}), ToolDefinition("f", "", {}, Risk.READ, call))
    assert isinstance(ticket, Ticket)
    return await Executor(gate).run(ticket)


def plain(*values: Any, result: Any = None) -> Any:
    def call(arguments: dict[str, Any]) -> Generator[Any, None, Any]:
        yield from values
        return result

    return call


def asynchronous(*values: Any) -> Any:
    async def call(arguments: dict[str, Any]) -> AsyncIterator[Any]:
        for value in values:
            yield value

    return call


@pytest.mark.parametrize("make", [plain, asynchronous])
@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((), "Done; there is no output."),
        ((None, ""), "Done; there is no output."),
        (("a", "b"), "ab"),
        (("a", {"b": 1}, [2], "c"), 'a\n{"b":1}\n[2]\nc'),
        ((b"\xc3", b"\xa9"), "é"),
        (("a\ud800",), "a?"),
    ],
)
async def test_what_a_generator_yields_is_joined(make: Any, values: Any, text: str) -> None:
    assert (await run(make(*values))).content == text


async def test_what_a_generator_returns_is_its_last_piece() -> None:
    assert (await run(plain("a ", result="b"))).content == "a b"


async def test_a_piece_that_cannot_be_written_is_an_error_with_what_came_before() -> None:
    result = await run(plain("fine", {(1, 2): 3}))
    assert result.is_error
    assert result.content.endswith("Its output until then:\nfine")


async def test_a_flood_in_pieces_is_cut_and_counted() -> None:
    result = await run(plain(*["0123456789" * 1000] * 30))
    head, note, tail = result.content.split("\n")
    assert (len(head), note, len(tail)) == (75_000, "[… 200,000 characters cut …]", 25_000)


def test_floods_do_not_fill_the_memory() -> None:
    found = flood(0.05, 1)
    assert not found.faults
    assert found.runs == 4
