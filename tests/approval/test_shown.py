"""What a person is shown of a call: readable, exact, and nothing that a terminal obeys."""

from __future__ import annotations

import time
import unicodedata
from typing import Any

import pytest
from bench.trust.shown import problems, shown_and_read_back
from rich.cells import cell_len

from toolwire.approval.hidden import is_hidden, is_marked, marked, unmarked
from toolwire.approval.misreading import MAX_WARNINGS, warnings
from toolwire.approval.shown import SHOWN_CHARACTERS, SHOWN_LINES, read_arguments, show_arguments, whole_text
from toolwire.strict_json import NotStrict

SHOWN: list[tuple[dict[str, Any], str]] = [
    ({}, "(no arguments)"),
    ({"path": "docs/a.md"}, "path: docs/a.md"),
    ({"command": 'git commit -m "it\'s: done"'}, 'command: git commit -m "it\'s: done"'),
    ({"n": 5}, "n: 5"),
    ({"n": "5"}, 'n: "5"'),
    ({"n": 5.0}, "n: 5.0"),
    ({"n": "5.0"}, 'n: "5.0"'),
    ({"n": "05"}, "n: 05"),
    ({"n": "-5 apples"}, "n: -5 apples"),
    ({"n": True}, "n: true"),
    ({"n": "true"}, 'n: "true"'),
    ({"n": None}, "n: null"),
    ({"n": "null"}, 'n: "null"'),
    ({"n": ""}, 'n: ""'),
    ({"n": []}, "n: []"),
    ({"n": "[]"}, 'n: "[]"'),
    ({"n": "[not JSON"}, 'n: "[not JSON"'),
    ({"n": '"quoted"'}, 'n: "\\"quoted\\""'),
    ({"n": {"a": [1, "b\nc"]}}, 'n: {"a": [1, "b\\nc"]}'),
    ({"n": "one\ntwo"}, "n:\n| one\n| two"),
    ({"n": "one\n\n  two\n"}, "n:\n| one\n|\n|   two\n|"),
    ({"n": "\n"}, "n:\n|\n|"),
    ({"n": "| x"}, "n: | x"),
    ({"n": "a\npath: b\n| c"}, "n:\n| a\n| path: b\n| | c"),
    ({"n": "a\tb\r\nc"}, "n:\n| a‹TAB›b‹CR›\n| c"),
    ({"n": " a "}, "n: ‹U+0020›a‹U+0020›"),
    ({"n": " "}, "n: ‹U+0020›"),
    ({"n": "a  \n b"}, "n:\n| a ‹U+0020›\n|  b"),
    ({"n": "\x1b[2J"}, "n: ‹ESC›[2J"),
    ({"n": ["\x1b[2J"]}, 'n: ["‹ESC›[2J"]'),
    ({"n": "\u202egnp.exe"}, "n: ‹U+202E›gnp.exe"),
    ({"n": "‹U+202E›"}, "n: ‹U+2039›U+202E›"),
    ({"n": "a\u00a0b\u3000c"}, "n: a‹U+00A0›b‹U+3000›c"),
    ({"n": "\ue000\U000e0041\U0001f44d\U0001f3fd\ufe0f"}, "n: ‹U+E000›‹U+E0041›👍‹U+1F3FD›‹U+FE0F›"),
    ({"n": "\ud800"}, "n: ‹U+D800›"),
    ({"n": "e\u0301"}, "n: e\u0301"),
    ({"n": "\u0301e"}, "n: ‹U+0301›e"),
    ({"n": "a \u0338b"}, "n: a ‹U+0338›b"),
    ({"n": "e\u0301\u0301\u0301\u0301"}, "n: e\u0301\u0301\u0301‹U+0301›"),
    ({"größe": 1}, "größe: 1"),
    ({"": 1}, '"": 1'),
    ({"two words": 1}, '"two words": 1'),
    ({"a: b": 1}, '"a: b": 1'),
    ({"a\nb\u200b": 1}, '"a\\nb‹U+200B›": 1'),
    ({"(no arguments)": 1}, '"(no arguments)": 1'),
    ({"… 5 characters left out …": 1}, '"… 5 characters left out …": 1'),
    (
        {"edits": [{"old": "a" * 30, "new": "b" * 30}], "path": "x"},
        f'edits: [\n  {{\n    "old": "{"a" * 30}",\n    "new": "{"b" * 30}"\n  }}\n]\npath: x',
    ),
]


@pytest.mark.parametrize(("arguments", "text"), SHOWN, ids=[repr(arguments)[:40] for arguments, _ in SHOWN])
def test_arguments_read_as_a_person_would_write_them(arguments: dict[str, Any], text: str) -> None:
    assert show_arguments(arguments) == (text, True)
    assert read_arguments(text) == arguments


@pytest.mark.thorough
def test_random_arguments_read_back_exactly() -> None:
    found = shown_and_read_back(400, seed=6)
    assert found.runs == 400
    assert found.faults == []


def test_the_proof_would_see_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems({"a": "\x1b‹"}) == problems({"a": "x" * 50_000}) == []
    with monkeypatch.context() as patch:
        patch.setattr("toolwire.approval.shown.marked", lambda text: text)
        assert [problem.split(" ")[1] for problem in problems({"a": "\x1b‹"})] == ["does", "holds"]
        assert problems({"a": "‹TAB›"}) == ["it reads back as something else"]
    with monkeypatch.context() as patch:
        patch.setattr(
            "bench.trust.shown.show_arguments", lambda arguments: ("a: x\n… 9 characters left out …\nx", False)
        )
        assert problems({"a": "x" * 50_000}) == ["the number of characters left out is wrong"]
        assert problems({"a": "x" * 11}) == []
    with monkeypatch.context() as patch:
        patch.setattr("bench.trust.shown.show_arguments", lambda arguments: ("a: x", True))
        assert problems({"a": "y"}) == ["what is shown is not what it says it is"]


def test_every_character_that_is_not_marked_takes_room_on_a_terminal() -> None:
    for char in map(chr, range(0x110000)):
        category = unicodedata.category(char)
        if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Me") or is_hidden(char):
            assert is_marked(char), ascii(char)
        elif not is_marked(char):
            assert category[0] == "M" or cell_len(char) > 0, ascii(char)


def test_marks_go_back() -> None:
    text = "".join(map(chr, range(0x3000))) + "\ud800\udfff\U000e0041\U0010ffff"
    assert unmarked(marked(text)) == text
    assert "\n" not in marked(text)


CUT: list[dict[str, Any]] = [
    {"content": "x" * 50_000},
    {"content": "line\n" * 5_000},
    {"content": ("\n" * 9 + "}") * 300},
    {"content": "\u200b" * 5_000},
    {"content": [f"item {number}" for number in range(5_000)]},
    {f"name{number}": number for number in range(5_000)},
]


@pytest.mark.parametrize("arguments", CUT, ids=["long", "lines", "empty lines", "marks", "list", "many"])
def test_too_much_is_cut_in_the_middle_and_says_by_how_much(arguments: dict[str, Any]) -> None:
    whole = whole_text(arguments)
    shown, complete = show_arguments(arguments)
    assert not complete
    assert len(shown) < SHOWN_CHARACTERS + 100
    assert shown.count("\n") < SHOWN_LINES + 5
    head, note, tail = shown.partition("\n… ")
    left, _, tail = tail.partition(" characters left out …\n")
    tail = tail.removeprefix("…")
    assert note
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(head) + int(left.replace(",", "")) + len(tail) == len(whole)
    assert head.count("‹") == head.count("›")
    assert tail.count("‹") == tail.count("›")


def test_a_short_argument_is_never_left_out_beside_long_ones() -> None:
    shown, complete = show_arguments({"first": "x" * 50_000, "path": "/etc/passwd", "last": "y\n" * 9_000})
    assert not complete
    assert "\npath: /etc/passwd\n" in shown


def test_the_end_of_a_cut_value_does_not_look_like_an_argument() -> None:
    shown, _ = show_arguments({"a": "path: /tmp " * 3_000})
    lines = shown.split("\n")
    assert [line[:2] for line in lines] == ["a:", "… ", "…p"] or [line[0] for line in lines] == ["a", "…", "…"]


def test_just_as_much_as_fits_is_shown_whole() -> None:
    fits = "x" * (SHOWN_CHARACTERS - len("a: "))
    assert show_arguments({"a": fits}).complete
    assert not show_arguments({"a": f"{fits}x"}).complete
    assert show_arguments({"a": "x\n" * (SHOWN_LINES - 2)}).complete
    assert not show_arguments({"a": "x\n" * (SHOWN_LINES - 1)}).complete


MISTAKES = [
    ("path", "line 1: behind the name"),
    ("path:x", "line 1: behind the name"),
    ("a: 1\npath:", "line 2: the value is missing"),
    ("path: ", "line 1: the value is missing"),
    ("a: 1\na: 2", "line 2: a is there twice"),
    ("two words: x", "line 1: no argument begins here"),
    ("| x", "line 1: no argument begins here"),
    ("… 5 characters left out …", "line 1: no argument begins here"),
    ('"a: 1', "line 1: the name in quotes"),
    ('"a" 1', "line 1: behind the name"),
    ("a: [1, 2", "line 1: the arguments are not valid JSON"),
    ("a: [\n  1,", "line 1: the arguments are not valid JSON"),
    ('a: {"b": 1, "b": 2}', "line 1: the arguments name 'b' twice"),
    ("a: ‹", "line 1: a ‹ begins the mark"),
    ("a: ‹U+110000›", "line 1: a ‹ begins the mark"),
    ("a: ‹U+ 20›", "line 1: a ‹ begins the mark"),
    ("a:\n| x‹tab›", "line 1: a ‹ begins the mark"),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_a_slip_of_the_hand_is_told_with_its_line(text: str, words: str) -> None:
    with pytest.raises(NotStrict) as raised:
        read_arguments(text)
    assert str(raised.value).startswith(words)


def test_text_that_an_editor_left_behind_is_read() -> None:
    assert read_arguments("a: 1\n\nb:\n|\n| x\n\n") == {"a": 1, "b": "\nx"}
    assert read_arguments("a: {\n}\n") == {"a": {}}


@pytest.mark.parametrize("value", [(1, "\x1b"), b"x", {1: 2}, {1}, float("nan"), [object()]])
def test_what_is_no_json_is_not_shown(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        show_arguments({"a": value})


WARNED: list[tuple[dict[str, Any], list[str]]] = [
    ({"path": "docs/né.md", "n": 5, "code": "if x:\n\treturn ‹1›"}, []),
    ({"text": "Straße Łódź"}, []),
    ({"text": "Москва and Paris, 東京タワー Tシャツ"}, []),
    ({"a": "x\u200by\u200b\x1b"}, ["a holds 3 hidden characters, shown as ‹ESC›, ‹U+200B›"]),
    ({"a": {"b\u202e": [1]}}, ["a holds 1 hidden character, shown as ‹U+202E›"]),
    ({"a\u200b": 1}, ["a‹U+200B› holds 1 hidden character, shown as ‹U+200B›"]),
    (
        {"url": "https://pаypal.com"},
        [
            "url mixes Cyrillic and Latin letters in one word: pаypal (а is U+0430)",
            "url names the host pаypal.com, which is xn--pypal-4ve.com",
        ],
    ),
    ({"a": ["ｒm"]}, ["a mixes Fullwidth and Latin letters in one word: ｒm (ｒ is U+FF52)"]),
    ({"a": "שלום"}, ["a holds letters written from right to left: they may be drawn in another order"]),
    (
        {"a": "\x00\x01\x02\x03\x04\x05"},
        ["a holds 6 hidden characters, shown as ‹U+0000›, ‹U+0001›, ‹U+0002›, ‹U+0003›, ‹U+0004›, …"],
    ),
]


@pytest.mark.parametrize(("arguments", "told"), WARNED, ids=[repr(arguments)[:40] for arguments, _ in WARNED])
def test_what_may_be_misread_is_told(arguments: dict[str, Any], told: list[str]) -> None:
    assert warnings(arguments) == told


HOSTS = {
    "https://exämple.com/a": "exämple.com, which is xn--exmple-cua.com",
    "https://user:pw@аррӏе.com:8080/": "аррӏе.com, which is xn--80ak6aa92e.com",
    "see https://bücher.example and": "bücher.example, which is xn--bcher-kva.example",
    "http://例え.jp?x": "例え.jp, which is xn--r8jz45g.jp",
    "https://example\u3002com/": "example\u3002com, which is example.com",
    "https://ｅxample.com/": "ｅxample.com, which is example.com",
    "curl -s раураl.example": "раураl.example, which is xn--l-7sba6dbr.example",
    "ssh root@häst": "häst, which is xn--hst-qla",
    "git push git@gıthub.com:a/b": "gıthub.com, which is xn--gthub-n4a.com",
    "wget 'exämple.com/x'": "exämple.com, which is xn--exmple-cua.com",
}


@pytest.mark.parametrize("text", HOSTS)
def test_the_ascii_of_a_host_is_told(text: str) -> None:
    assert any(warning.endswith(f"names the host {HOSTS[text]}") for warning in warnings({"command": text}))


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/größe",
        "git add größe.txt",
        "Schöne Grüße. Bis morgen.",
        "a@b.example schrieb: gut gelöst.",
        "cat ñandú.md && python größe.py",
        "z.B. für x://",
    ],
)
def test_no_host_is_seen_in_other_words(text: str) -> None:
    assert not any("host" in warning for warning in warnings({"command": text}))


PUSHED = {
    f"ls{' ' * 240}; rm -rf x": ("ls‹240 BLANKS›; rm -rf x", "240 blanks in a row"),
    f"ls{' ' * 40}x": ("ls‹40 BLANKS›x", "40 blanks in a row"),
    f"ls{chr(10) * 98}rm x": ("| ls\n| ‹97 EMPTY LINES›\n| rm x", "97 empty lines in a row"),
    f"ls\n{(' ' * 3 + chr(10)) * 30}rm x": ("| rm x", "30 empty lines in a row"),
    f"ls{chr(9) * 90}rm x": ("‹TAB›rm x", "90 tabs in a row"),
}


@pytest.mark.parametrize("command", PUSHED, ids=range(len(PUSHED)))
def test_what_pushes_the_rest_out_of_sight_is_marked_and_told(command: str) -> None:
    shown, told = PUSHED[command]
    text = show_arguments({"command": command}).text
    assert shown in text
    assert read_arguments(text) == {"command": command}
    assert any(told in warning for warning in warnings({"command": command}))
    listed = show_arguments({"commands": [command, {command: 1}]}).text
    assert read_arguments(listed) == {"commands": [command, {command: 1}]}


def test_code_is_shown_as_it_is() -> None:
    """Indented and aligned, with empty lines between its parts."""
    code = f"def f():\n{' ' * 36}return 1\n{chr(10) * 4}x = 1{' ' * 30}# one\n"
    assert "BLANKS" not in show_arguments({"content": code}).text
    assert "EMPTY" not in show_arguments({"content": code}).text
    assert warnings({"content": code}) == []


@pytest.mark.parametrize("text", [" " * 2_500_039, " " * 2_500_040, "a" + "\n" * 2_000_050 + "b"], ids=len)
def test_very_long_runs_go_back(text: str) -> None:
    assert read_arguments(whole_text({"a": text})) == {"a": text}


@pytest.mark.parametrize("mark", ["‹39 BLANKS›", "‹9 EMPTY LINES›", "‹1000001 BLANKS›", "‹٤٠ BLANKS›", "‹40 blanks›"])
def test_no_other_mark_is_a_run(mark: str) -> None:
    with pytest.raises(NotStrict):
        read_arguments(f"a: x{mark}")


def test_warnings_are_bounded() -> None:
    told = warnings({f"name{number}": "\u200b" for number in range(1_000)})
    assert len(told) == MAX_WARNINGS + 1


LARGE = ["x" * 1_000_000, "\n" * 1_000_000, "\u200bé" * 250_000, "e\u0301" * 300_000, "aа " * 200_000, "‹" * 300_000]


@pytest.mark.parametrize("text", LARGE, ids=["plain", "line ends", "hidden", "combining", "mixed", "marks"])
def test_a_megabyte_is_shown_at_once(text: str) -> None:
    started = time.process_time()
    show_arguments({"a": text})
    warnings({"a": text})
    assert time.process_time() - started < 3.0


@pytest.mark.parametrize("host", ["é.\x07\x1b[2J", "a\x1bé", "\x7f.日本", "é\x00.com"])
def test_the_ascii_of_a_host_holds_nothing_that_a_terminal_obeys(host: str) -> None:
    found = warnings({"url": f"https://{host}/x"})
    assert any("names the host" in each for each in found)
    assert all(each.isprintable() for each in found)
