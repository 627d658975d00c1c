"""The scanner by itself, with a reader of one invented format: `<name>json</>`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest

from toolwire.embedded.json_source import read_key, read_raw, read_string, read_value
from toolwire.embedded.marks import give_to
from toolwire.embedded.prose import prose
from toolwire.embedded.scanner import SLICE, Piece, PieceKind, Scanner, Wait
from toolwire.embedded.text_reader import TextReader
from toolwire.errors import LimitExceeded
from toolwire.limits import DEFAULT_LIMITS, Limits

TEXT, MARKUP, CALL = PieceKind.TEXT, PieceKind.MARKUP, PieceKind.CALL
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
Made = list[tuple[PieceKind, str, str, str, int, bool, str]]


def angle(scanner: Scanner) -> Wait[None]:
    """Calls are `<name>arguments</>`; a `!` among the arguments spoils them, `<nobody>` is no tool's."""

    def begin() -> Wait[bool]:
        scanner.read_to(scanner.at + 1)
        name = yield from scanner.read_word(LETTERS, 10)
        if not name or not (yield from scanner.read_literal(">")):
            return False
        if name == "nobody":
            scanner.note_unknown(name)
            return False
        scanner.begin_call(name)
        problem = ""
        while (yield from scanner.more()):
            scanner.give_run(scanner.find("<!"), str.upper)
            if not (yield from scanner.more()) or scanner.text[scanner.at] not in "<!":
                continue
            if (yield from scanner.read_literal("</>")):
                if problem:
                    scanner.break_call(problem)
                else:
                    scanner.end_call(";")
                return True
            if scanner.text[scanner.at] == "!":
                problem = problem or f"spoiled (at character {scanner.position})"
            scanner.give_run(scanner.at + 1, str.upper)
        scanner.break_call("not closed")
        return True

    return prose(scanner, "<", begin)


def take(
    pieces: Iterable[str], read: Callable[[Scanner], Wait[None]] = angle, limits: Limits = DEFAULT_LIMITS
) -> tuple[Made, list[str], str]:
    """The pieces, adjacent ones of a kind merged; the unknown names; what limit was met."""
    reader = TextReader(read, limits)
    out: list[Piece] = []
    limit = ""
    try:
        for piece in pieces:
            reader.feed(piece, out)
        reader.close(out)
    except LimitExceeded as error:
        limit = str(error)
    made: Made = []
    for given in out:
        open_now = made[-1] if made and not made[-1][5] and made[-1][0] is given.kind and not given.name else None
        if open_now is not None:
            kind, text, arguments, name, position, _, _ = made.pop()
            made.append(
                (kind, text + given.text, arguments + given.arguments, name, position, given.done, given.problem)
            )
        elif given.text or given.name or given.done:
            made.append(
                (given.kind, given.text, given.arguments, given.name, given.position, given.done, given.problem)
            )
    return made, reader.unknown, limit


def check(text: str, limits: Limits = DEFAULT_LIMITS, read: Callable[[Scanner], Wait[None]] = angle) -> Made:
    expected = take([text], read, limits)
    if not expected[2]:
        assert "".join(piece[1] for piece in expected[0]) == text
    for at in range(1, len(text)):
        assert take([text[:at], text[at:]], read, limits) == expected, at
    assert take(text, read, limits) == expected
    return expected[0]


def call(text: str, arguments: str, name: str, position: int, problem: str = "") -> tuple[object, ...]:
    return (CALL, text, arguments, name, position, True, problem)


def words(text: str, kind: PieceKind = TEXT) -> tuple[object, ...]:
    return (kind, text, "", "", -1, False, "")


def test_text_alone() -> None:
    assert check("no call here") == [words("no call here")]
    assert check("") == []


def test_a_call_between_text() -> None:
    assert check("a <go>x</> b") == [words("a "), call("<go>x</>", "X;", "go", 2), words(" b")]


def test_calls_side_by_side() -> None:
    assert check("<a></><b>y</>") == [call("<a></>", ";", "a", 0), call("<b>y</>", "Y;", "b", 6)]


@pytest.mark.parametrize(
    "text", ["<", "a < b", "<<<<", "<go", "<go x>", "<GO>x</>", "<>x</>", "<abcdefghijk>x</>", "`", "``", "```", "```<"]
)
def test_near_calls_are_text(text: str) -> None:
    assert check(text) == [words(text)]


def test_a_failed_beginning_hides_no_call() -> None:
    """W1: what follows a stray opener is looked at again."""
    assert check("a < b <<go>x</>") == [words("a < b <"), call("<go>x</>", "X;", "go", 7)]
    assert check("<no <go>x</>") == [words("<no "), call("<go>x</>", "X;", "go", 4)]


def test_a_call_that_is_not_closed() -> None:
    assert check("a <go>x</") == [words("a "), call("<go>x</", "X</", "go", 2, "not closed")]


def test_a_spoiled_call_keeps_its_text() -> None:
    made = check("<go>a!b</> c")
    assert made == [call("<go>a!b</>", "A!B", "go", 0, "spoiled (at character 5)"), words(" c")]


def test_unknown_names_are_noted_once() -> None:
    text = "<nobody>x</> <nobody>x</>"
    assert check(text) == [words(text)]
    assert take([text])[1] == ["nobody"]


def test_positions_count_what_was_fed_in_many_pieces() -> None:
    rng = random.Random(0)
    text = "".join(
        rng.choice(("plain text ", "`code` ", "a < b ", "<go>x</>", "```\n<go>y</>\n``` ")) for _ in range(400)
    )
    places = [piece[4] for piece in take([text])[0] if piece[0] is CALL]
    assert [text[place : place + 4] for place in places] == ["<go>"] * len(places)
    for longest in (1, 3, 50):
        pieces: list[str] = []
        at = 0
        while at < len(text):
            pieces.append(text[at : at + rng.randint(1, longest)])
            at += len(pieces[-1])
        assert take(pieces)[0] == take([text])[0]


def test_more_than_a_slice_at_once() -> None:
    text = f"{'a' * SLICE}<go>{'x' * (3 * SLICE)}</>{'b' * SLICE}"
    made = take([text])[0]
    assert made == [
        words("a" * SLICE),
        call(f"<go>{'x' * (3 * SLICE)}</>", f"{'X' * (3 * SLICE)};", "go", SLICE),
        words("b" * SLICE),
    ]
    assert take(text)[0] == made


# Fences.


def test_a_fence_around_a_call_is_markup() -> None:
    assert check("a ```json\n<go>x</>\n``` b") == [
        words("a "),
        words("```json\n", MARKUP),
        call("<go>x</>", "X;", "go", 10),
        words("\n```", MARKUP),
        words(" b"),
    ]


def test_a_fence_around_several_calls_is_markup() -> None:
    assert check("```\n<go>x</>\n<go>y</> <go>z</>\n``` b") == [
        words("```\n", MARKUP),
        call("<go>x</>", "X;", "go", 4),
        words("\n", MARKUP),
        call("<go>y</>", "Y;", "go", 13),
        words(" ", MARKUP),
        call("<go>z</>", "Z;", "go", 22),
        words("\n```", MARKUP),
        words(" b"),
    ]


@pytest.mark.parametrize("rest", ["\n<b> <go>z</>\n```", "\n<go", "<", " ", "\n``", "\n<go>y</"])
def test_what_follows_a_call_in_a_fence_and_is_none(rest: str) -> None:
    made = check(f"```\n<go>x</>{rest}")
    assert made[:2] == [words("```\n", MARKUP), call("<go>x</>", "X;", "go", 4)]
    assert "".join(piece[1] for piece in made[2:]) == rest


def test_a_fence_that_goes_on_after_the_call_is_text_there() -> None:
    assert check("```\n<go>x</>\nmore\n```") == [
        words("```\n", MARKUP),
        call("<go>x</>", "X;", "go", 4),
        words("\nmore\n```"),
    ]


def test_a_fence_without_a_call_is_text() -> None:
    for text in ("```\ncode\n```", "```python\nif a < b:\n```", "```\n<go\n```", "`<`", "````"):
        assert check(text) == [words(text)]


def test_a_call_later_in_a_fence_is_a_call() -> None:
    assert check("```\ncode <go>x</>\n```")[1][0] is CALL


# What is held.


@pytest.mark.parametrize("spaces", [5, 29, 30, 31, 32, 60])
def test_space_over_the_bound_is_the_same_at_every_cut(spaces: int) -> None:
    check(f"<go>x</>```{' ' * spaces}<go>y</>{' ' * spaces}``` end", Limits(held=30))


def json_members(scanner: Scanner) -> Wait[None]:
    """Calls are `{"name": value}` with a value that is held."""

    def begin() -> Wait[bool]:
        scanner.read_to(scanner.at + 1)
        key = yield from read_key(scanner)
        if key is None:
            return False
        raw = yield from read_raw(scanner)
        if raw is None or not (yield from scanner.read_literal("}")):
            return False
        scanner.begin_call(key)
        scanner.end_call(raw)
        return True

    return prose(scanner, "{", begin)


@pytest.mark.parametrize("size", range(10, 40))
def test_a_held_value_over_the_bound_is_the_same_at_every_cut(size: int) -> None:
    check(f'a {{"go": "{"x" * size}"}} b', Limits(held=30), json_members)
    check(f'a {{"go": [{"1," * size}1]}} b', Limits(held=30), json_members)
    check(f'a {{{" " * size}"go":{" " * size}1}} b', Limits(held=30), json_members)
    check(f'a {{"{"k" * size}":1}} b', Limits(held=30), json_members)


def json_values(scanner: Scanner) -> Wait[None]:
    """Calls are `{value}` with a value that flows."""

    def begin() -> Wait[bool]:
        scanner.read_to(scanner.at + 1)
        if not (yield from scanner.read_literal(":")):
            return False
        scanner.begin_call("go")
        good = yield from read_value(scanner)
        if good and (yield from scanner.read_literal("}")):
            scanner.end_call()
        else:
            scanner.break_call(scanner.fault("bad"))
        return True

    return prose(scanner, "{", begin)


@pytest.mark.parametrize(
    "value",
    [
        *('"a b"', '"a\\"}"', "[1, [2]]", '{"a": {"b": "}"}}', "1", "-1.5e3", "tru", '"a', "[1", "}", "", "1 2"),
        *('"\\x"', '"\\u12xy"', '"\\u1', '"\\ud83d\\ude00"', f'{{"{"k" * 20}": 1}}', "[" * 5 + "]" * 5, "9" * 20),
    ],
)
def test_values_that_flow(value: str) -> None:
    for text in (f"{{:{value}}} after", f"{{:{value}"):
        check(text, Limits(name=1, depth=4), json_values)
        made = check(text, read=json_values)
        assert made[0][0] is CALL
        assert made[0][5]


def strings(scanner: Scanner) -> Wait[None]:
    """Everything is JSON strings, one after the other."""
    while (yield from scanner.more()):
        value = yield from read_string(scanner)
        if value is None:
            scanner.give_text()
            return
        scanner.begin_call(value or "-")
        scanner.end_call()


def test_strings_are_decoded() -> None:
    made = check('"a" "\\u00e9\\n" "😀"', read=strings)
    assert [piece[3] for piece in made] == ["a", "é\n", "😀"]


def sections(scanner: Scanner) -> Wait[None]:
    """Calls are `(`, any text, `--)` and the space after it."""

    def begin() -> Wait[bool]:
        scanner.read_to(scanner.at + 1)
        scanner.begin_call("go")
        if (yield from give_to(scanner, ("--)",), lambda at: scanner.give_run(at, str.upper))):
            yield from scanner.give_space(scanner.give_run)
            scanner.end_call()
        else:
            scanner.break_call(scanner.fault("open", 0))
        return True

    return prose(scanner, "(", begin)


@pytest.mark.parametrize("inside", ["", "a", "-", "--", "---", "a--b-", "- --- )", "----", "(", "(--", "😀--😀"])
def test_all_up_to_a_mark(inside: str) -> None:
    made = check(f"x ({inside}--) \t\ny", read=sections)
    assert made[1] == (CALL, f"({inside}--) \t\n", inside.upper(), "go", 2, True, "")
    made = check(f"x ({inside}", read=sections)
    assert made[1] == (CALL, f"({inside}", inside.upper(), "go", 2, True, "open (at character 0)")


@pytest.mark.parametrize(
    ("pieces", "held"),
    [
        (["(ab-", "-", "x"], [1, 2, 0]),
        (["(ab--", "-"], [2, 2]),
        (["```", "x"], [3, 4]),
        (["``", "x"], [2, 0]),
        (["```js ", "x"], [6, 0]),
    ],
)
def test_no_more_waits_than_must(pieces: list[str], held: list[int]) -> None:
    reader = TextReader(sections)
    given: list[Piece] = []
    waiting: list[int] = []
    for at, piece in enumerate(pieces, 1):
        reader.feed(piece, given)
        waiting.append(len("".join(pieces[:at])) - sum(len(one.text) for one in given))
    assert waiting == held


# Limits.


def test_a_call_over_the_bound_ends_the_same_at_every_cut() -> None:
    for size in range(20):
        check(f"a <go>{'x' * size}</>", Limits(arguments=10))
        check(f"a <go>x{'!' * size}</>", Limits(arguments=10))
    made, _, limit = take([f"<go>{'x' * 20}</>"], limits=Limits(arguments=10))
    assert "the text of one call" in limit
    assert made == [(CALL, f"<go>{'x' * 10}", "X" * 10, "go", 0, False, "")]
    for size, over in ((7, False), (8, True), (9, True), (10, True)):  # the end of the call counts too
        made, _, limit = take([f"<go>{'x' * size}</>"], limits=Limits(arguments=10))
        assert bool(limit) is over
        assert made[-1][5] is not over


def test_calls_over_the_bound() -> None:
    made, _, limit = take(["<a>x</>" * 5], limits=Limits(calls=3))
    check("<a>x</>" * 5, Limits(calls=3))
    assert "the number of calls" in limit
    assert len(made) == 3


def test_an_answer_over_the_bound() -> None:
    for size in (9, 10, 11):
        check("a" * size, Limits(stream=10))
        check("<" * size, Limits(stream=10))
        check("a <go>" + "x" * (size - 6), Limits(stream=10))
    made, _, limit = take(["a" * 11], limits=Limits(stream=10))
    assert made == [words("a" * 10)]
    assert "the text of one answer" in limit


def test_literals_fold_ascii_alone() -> None:
    def read(scanner: Scanner) -> Wait[None]:
        found = yield from scanner.read_literal("kis", fold=True)
        scanner.give_text()
        scanner.begin_call("yes" if found else "no")
        scanner.end_call()

    for text, answer in (("KiS", "yes"), ("kis", "yes"), ("\u212ais", "no"), ("kıs", "no"), ("ki", "no"), ("", "no")):
        assert {piece[3] for piece in take(text, read)[0]} - {""} == {answer}
        assert take(text, read)[0][-1][3] == take([text], read)[0][-1][3] == answer


def test_a_literal_is_refused_as_soon_as_that_is_certain() -> None:
    def read(scanner: Scanner) -> Wait[None]:
        found = yield from scanner.read_literal("literal")
        scanner.begin_call("yes" if found else "no")
        scanner.end_call()

    for text in ("x", "lix", "literax"):
        given: list[Piece] = []
        TextReader(read).feed(text, given)
        assert [piece.name for piece in given if piece.name] == ["no"]


def test_what_is_held_is_over_its_bound_from_the_next_character_on() -> None:
    scanner = Scanner(Limits(held=3))
    scanner.feed("abcde")
    scanner.read_to(3)
    assert not scanner.over_held()
    scanner.read_to(4)
    assert scanner.over_held()
    assert scanner.held_length == 4


def test_find_is_the_nearest_of_all() -> None:
    scanner = Scanner()
    scanner.feed("abcabc")
    assert [scanner.find(stops) for stops in ("c", "cb", "ca", "x", "")] == [2, 1, 0, 6, 6]
    scanner.read_to(3)
    assert scanner.find("ab") == 3
