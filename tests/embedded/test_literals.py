"""Python literals become JSON: what Python reads, and nothing else, however the text is cut."""

from __future__ import annotations

import ast
import json
import random
import warnings
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest

from embedded.random_calls import random_json, random_text
from embedded.text_feeding import random_pieces
from toolwire.embedded.literals import Literal
from toolwire.embedded.scanner import Piece, PieceKind, Scanner, Wait
from toolwire.embedded.text_reader import TextReader
from toolwire.limits import DEFAULT_LIMITS, Limits


def read(pieces: Iterable[str], limits: Limits = DEFAULT_LIMITS) -> tuple[str, str, str]:
    """The JSON of a literal, what is wrong with it, and what stands after it."""
    found: list[Literal] = []

    def reading(scanner: Scanner) -> Wait[None]:
        literal = Literal(scanner)
        found.append(literal)
        scanner.begin_call("f")
        yield from literal.read()
        scanner.end_call()
        while (yield from scanner.more()):
            scanner.pass_to(len(scanner.text))

    reader = TextReader(reading, limits)
    made: list[Piece] = []
    for piece in pieces:
        reader.feed(piece, made)
    reader.close(made)
    rest = "".join(piece.text for piece in made if piece.kind is not PieceKind.CALL)
    return "".join(piece.arguments for piece in made), found[0].problem, rest


def random_literal(rng: random.Random, depth: int = 3) -> str:
    """A literal in one of the ways that Python has for it."""
    space = rng.choice(("", "", " ", "\n  ", "\t"))
    kind = rng.randrange(8 if depth else 5)
    if kind == 0:
        return rng.choice(("True", "False", "None"))
    if kind == 1:
        return rng.choice(("0", "-1", "+5", "1_000", ".5", "-.5", "1.", "1.e5", "1e5", "1E-7", "12_3.4_5", "2.50"))
    if kind in (2, 3):
        return random_string(rng)
    if kind == 4:
        return json.dumps(random_text(rng), ensure_ascii=rng.random() < 0.3)
    items = [random_literal(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    comma = rng.choice(("", f"{space},")) if items else ""
    if kind == 5:
        return f"[{space}{f',{space}'.join(items)}{comma}{space}]"
    if kind == 6:
        return f"({space}{f'{space},'.join(items)}{',' if len(items) == 1 else comma}{space})"
    members = (f"{random_string(rng)}{space}:{space}{item}" for item in items)
    return f"{{{space}{f',{space}'.join(members)}{comma}{space}}}"


def random_string(rng: random.Random) -> str:
    quotes = rng.choice(("'", '"', "'''", '"""'))
    parts: list[str] = []
    for _ in range(rng.randint(0, 6)):
        part = rng.choice(
            (
                *("a", "é", "😀", " ", "\t", "{", "]", ",", "\\n", "\\t", "\\\\", "\\'", '\\"', "\\x41", "\\xff"),
                *("\\u0041", "\\u00e9", "\\U0001F600", "\\0", "\\12", "\\1017", "\\a", "\\v", "\\b", "\\f", "\\d"),
                *("\\ ", "\\\n", "'", '"', "''", '""', "\n"),
            )
        )
        if part == "\n" and len(quotes) == 1:
            continue
        if part and part[0] == quotes[0]:
            part = f"\\{part[0]}" * len(part)
        parts.append(part)
    return f"{quotes}{''.join(parts)}{quotes}"


def listed(value: Any) -> Any:
    """A value as JSON has it: tuples are lists."""
    if isinstance(value, (list, tuple)):
        return [listed(item) for item in value]
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize("seed", range(6))
def test_python_reads_the_same(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(700):
        text = random_literal(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = listed(ast.literal_eval(text))
        made, problem, rest = read([text, " x"])
        assert (problem, rest.strip()) == ("", "x"), text
        assert json.dumps(json.loads(made)) == json.dumps(expected), text
        assert read([*random_pieces(text, rng, 3), " x"]) == (made, "", rest)
        end = rng.randrange(len(text))
        assert read([f"[{text[:end]}"])[1], text[:end]


@pytest.mark.parametrize("seed", range(3))
def test_json_comes_out_as_it_stands(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        value = [random_json(rng)]
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1, 2)))
        assert read(random_pieces(text, rng, 7)) == (text, "", "")
    exact = '{"n": [12345678901234567890.10, -0, 1E+5], "s": "\\u00e9\\ud83d\\ude00\\/\\b" , "e" :{ }}'
    assert read([exact]) == (exact, "", "")


@pytest.mark.parametrize("seed", range(3))
def test_spoiled_literals_are_cut_anywhere(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        text = random_literal(rng)
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(("", "'", '"', "\\", "[", "}", ",", ":", "x", "\n")) + text[at + 1 :]
        limits = rng.choice((DEFAULT_LIMITS, Limits(depth=2, name=1)))
        assert read(random_pieces(text, rng, 3), limits) == read([text], limits), text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'a\nb'", "line end"),
        ('"a\nb"', "line end"),
        ("'\\u12'", "no escape"),
        ("'\\xg1'", "no escape"),
        ("'\\U00110000'", "no escape"),
        ("007 ", "no value"),
        ("0x1f ", "no value"),
        ("1__0 ", "no value"),
        ("1e ", "no value"),
        ("nan ", "no value"),
        ("-", "not finished"),
        ("(1)", "round brackets"),
        ("([1])", "round brackets"),
        ("{1: 2}", "a key"),
        ("{'a', 'b'}", "a colon"),
        ("[1 2]", "a comma"),
        ("[,]", "a value"),
        ("{,}", "a key"),
        ("[1,,]", "a value"),
        ("{'a': }", "a value"),
        ("f('x')", "no value"),
        ("@", "a value"),
        ("", "not finished"),
        ("'abc", "not finished"),
        ("'''abc''", "not finished"),
        ("'abc\\", "not finished"),
        ("[1, ", "not finished"),
        ("[" * 999, "nested deeper"),
    ],
)
def test_what_is_no_literal(text: str, problem: str) -> None:
    assert problem in read([text])[1]
    assert read(text) == read([text])


def test_a_long_string_flows() -> None:
    flowing: list[int] = []

    def reading(scanner: Scanner) -> Wait[None]:
        scanner.begin_call("f")
        assert (yield from Literal(scanner).read())
        scanner.end_call()

    reader = TextReader(reading)
    made: list[Piece] = []
    for piece in ("['", *["some \\'text\\' and more\\n"] * 50, "']"):
        reader.feed(piece, made)
        flowing.append(sum(len(piece.text) for piece in made))
    assert all(later > earlier for earlier, later in pairwise(flowing))
