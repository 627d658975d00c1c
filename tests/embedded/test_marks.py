"""Marks and names: whether one is next, what comes before one, and that no cut makes a difference."""

from __future__ import annotations

from typing import Any

import pytest

from toolwire.embedded.marks import at_any, at_mark, give_to, read_any, read_end, read_line_end
from toolwire.embedded.names import read_bare_name, read_name, read_run
from toolwire.embedded.scanner import PieceKind, Scanner


def finish(reading: Any) -> Any:
    """What a reader gives whose text is all there."""
    try:
        next(reading)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


def scanner_of(text: str) -> Scanner:
    scanner = Scanner()
    scanner.feed(text)
    scanner.ended = True
    return scanner


@pytest.mark.parametrize(
    ("text", "name"), [("ab>c", "ab"), ("a b>", "a b"), (">", ""), ("a\nb>", ""), ("a<b>", ""), ("ab", "")]
)
def test_names_in_tags(text: str, name: str) -> None:
    assert finish(read_name(scanner_of(text), ">")) == name


@pytest.mark.parametrize(("text", "name"), [("ab\nc", "ab"), ("ab <c", "ab"), ("<", ""), ("a b", "a b")])
def test_bare_names(text: str, name: str) -> None:
    assert finish(read_bare_name(scanner_of(text))) == name


@pytest.mark.parametrize(
    ("text", "mark", "rest"),
    [("a\n</x>b", "</x>", "b"), ("a\r\n</x>b", "</x>", "b"), ("a</y></x>", "</y>", "</x>"), ("a</", "", "")],
)
def test_the_first_mark_ends(text: str, mark: str, rest: str) -> None:
    scanner = scanner_of(text)
    assert finish(give_to(scanner, ("</x>", "</y>"), scanner.give_text_to, trim=True)) == mark
    assert scanner.text[scanner.at :] == rest
    assert scanner.pieces[0].text == ("a" if mark else "a</")


@pytest.mark.parametrize("inside", ["", "a", "<", "<<", "\n", "\n<", "</", "\n</", "</z>", "\rx", "\r\n\n", "😀<😀"])
def test_the_first_mark_ends_at_every_cut(inside: str) -> None:
    text = f"{inside}\n</y>"
    for at in range(len(text) + 1):
        scanner = Scanner()
        reading = give_to(scanner, ("</x>", "</y>"), scanner.give_text_to, trim=True)
        scanner.feed(text[:at])
        found = [next(reading, "over")]
        if found != ["over"]:
            scanner.feed(text[at:])
            found.append(next(reading, "over"))
        assert found[-1] == "over"
        assert "".join(piece.text for piece in scanner.pieces) == inside


def test_a_mark_that_is_next() -> None:
    assert finish(at_mark(scanner_of("<a>"), "<a>"))
    assert not finish(at_mark(scanner_of("<a"), "<a>"))
    assert finish(at_any(scanner_of("<a>"), ("<b>", "<a>")))
    scanner = scanner_of("<a>x")
    assert finish(read_any(scanner, ("<b>", "<a>"))) == "<a>"
    assert finish(read_any(scanner, ("<b>", "<a>"))) == ""
    assert scanner.held_length == 3


@pytest.mark.parametrize(
    ("text", "kind", "given"), [(" \n<a>x", PieceKind.MARKUP, " \n<a>"), (" x", PieceKind.TEXT, " ")]
)
def test_the_mark_after_a_call(text: str, kind: PieceKind, given: str) -> None:
    scanner = scanner_of(text)
    finish(read_end(scanner, "<a>"))
    assert [(piece.kind, piece.text) for piece in scanner.pieces] == [(kind, given)]


@pytest.mark.parametrize(("text", "length"), [("\r\n\n", 2), ("\n\n", 1), ("\r", 0), ("x", 0)])
def test_one_line_end(text: str, length: int) -> None:
    scanner = scanner_of(text)
    assert finish(read_line_end(scanner)) == bool(length)
    assert scanner.held_length == length


@pytest.mark.parametrize(("text", "run"), [("ab<", "ab"), ("abc{", "abc"), ("abcd<", None), ("<", ""), ("ab", "ab")])
def test_a_run_no_longer_than_it_may_be(text: str, run: str | None) -> None:
    assert finish(read_run(scanner_of(text), "<{", 3)) == run
