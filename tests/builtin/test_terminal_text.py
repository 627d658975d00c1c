"""What programs write for terminals becomes plain text, the same for every cut; only what was written over is lost."""

from __future__ import annotations

import random
import time

import pytest

from toolwire.builtin.terminal_text import LINE, SEQUENCE, TerminalText, with_pictures

CASES = {
    "plain": ("one\ntwo", "one\ntwo"),
    "colours": ("\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mtrue\x1b[m\n", "red and true\n"),
    "windows lines": ("one\r\ntwo\r\r\nthree\r\n", "one\ntwo\nthree\n"),
    "a progress bar": ("get 1%\rget 50%\rget 100%\ndone\n", "get 100%\ndone\n"),
    "a bar that is erased": ("get 1%\r\x1b[Kget 2%\r\x1b[2Kdone\n", "done\n"),
    "a bar that ends with a return": ("get 1%\rget 2%\r", "get 2%"),
    "to the first column": ("1%\x1b[1G2%\x1b[G3%\x1b[0Gend\n", "end\n"),
    "to another column": ("a\x1b[10Gb\n", "ab\n"),
    "bold by backspace": ("N\bNA\bAM\bME\bE\n", "NAME\n"),
    "underlined by backspace": ("_\ba_\bb\n", "ab\n"),
    "backspaces at the start": ("\b\b\bok\n\bok", "ok\nok"),
    "a title with a bell": ("\x1b]0;title\x07text", "text"),
    "a link": ("\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\.", "link."),
    "a picture": ("a\x1bPq#0;2\x1b\\b", "ab"),
    "a character set": ("\x1b(Ba\x1b)0b\x1b#8c", "abc"),
    "keypad and cursor": ("\x1b=a\x1b>b\x1b7c\x1b8d\x1bMe", "abcde"),
    "a private mode": ("\x1b[?25lhidden\x1b[?25h", "hidden"),
    "broken by a new line": ("\x1b[31\nnext", "[31\nnext"),
    "broken by a letter beyond ASCII": ("\x1b[3émore", "[3émore"),
    "broken title": ("\x1b]0;title\ntext", "]0;title\ntext"),
    "a title that a sequence breaks": ("\x1b]0;title\x1b[1mtext", "text"),
    "two escapes": ("\x1b\x1b[1ma", "a"),
    "an escape at the end": ("a\x1b", "a"),
    "an escape with a bracket at the end": ("a\x1b[3", "a[3"),
    "a sequence over a return": ("old\r\x1b[32mnew\n", "new\n"),
    "an empty line after a return": ("\r\nx\r\n", "\nx\n"),
    "spaces are no form": ("   \rtext\n", "text\n"),
}


def read(pieces: list[str]) -> tuple[str, int]:
    terminal = TerminalText()
    text = "".join(map(terminal.feed, pieces)) + terminal.close()
    return text, terminal.written_over


@pytest.mark.parametrize("name", CASES)
def test_it_is_plain_text_wherever_it_is_cut(name: str) -> None:
    given, expected = CASES[name]
    whole, written_over = read([given])
    assert whole == expected
    assert read(list(given)) == (expected, written_over)
    for place in range(len(given)):
        assert read([given[:place], given[place:]]) == (expected, written_over)


def test_forms_that_were_written_over_are_counted() -> None:
    assert read(["1%\r2%\r3%\n\r\nok\r\n"]) == ("3%\n\nok\n", 2)


def test_a_line_that_is_too_long_to_hold_stays() -> None:
    long = "x" * (LINE + 1)
    assert read([long, "\rnew\n"]) == (f"{long}\nnew\n", 0)
    assert read([f"{long}\b\b\rnew\n"]) == (f"{long}\nnew\n", 0)
    assert read(["x" * LINE, "\rnew\n"]) == ("new\n", 1)


def test_a_sequence_that_never_ends_is_text() -> None:
    title = "\x1b]0;" + "t" * SEQUENCE
    assert read([title])[0] == title[1:]
    assert read([f"{title}\x07more"])[0] == f"{title[1:]}\x07more"
    numbers = "\x1b[" + "1" * SEQUENCE
    assert read([f"{numbers}m"])[0] == f"{numbers[1:]}m"


def test_a_finished_line_is_given_at_once_and_the_open_one_can_be_seen() -> None:
    terminal = TerminalText()
    assert terminal.feed("one\ntw") == "one\n"
    assert terminal.line == "tw"
    assert terminal.feed("o\r") == ""
    assert terminal.line == "two"
    assert terminal.feed("2") == ""
    assert terminal.line == "2"


def test_control_characters_become_visible() -> None:
    assert with_pictures("a\0b\x01\t\n\x07\x7f\x9b\u00e9") == "a␀b␁\t\n␡é"


SIGNS = ["\x1b", "[", "]", "\r", "\n", "\b", "\x07", "\\", "m", "G", "1", ";", "(", " ", "a", "é", "\0"]


def test_any_text_is_the_same_for_any_cut() -> None:
    chance = random.Random(8)
    for _ in range(400):
        text = "".join(chance.choices(SIGNS, k=chance.randrange(1, 60)))
        expected = read([text])
        cuts = sorted(chance.choices(range(len(text) + 1), k=3))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert read(pieces) == read(list(text)) == expected, repr(text)
        assert "\x1b" not in expected[0]
        assert "\r" not in expected[0]


@pytest.mark.parametrize("piece", ["\x1b[", "\r", "a\b", "\x1b]0;", "x\r", "\x1b[1m", "\x1b" * 3, "é\rx\x1b["])
def test_it_takes_time_in_proportion(piece: str) -> None:
    def seconds(count: int) -> float:
        taken = []
        for _ in range(3):
            started = time.process_time()
            read([piece * count])
            taken.append(time.process_time() - started)
        return min(taken)

    # Sixteen times as much: 256 times as long if it were quadratic.
    assert seconds(16_000) < 80 * max(seconds(1_000), 0.0005)
