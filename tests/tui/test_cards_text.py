"""What a card is made of: texts that grow, fields, rows, colours, diffs, output. Without a screen."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from counted_work import Work
from toolwire.agent.events import RunFailed, ToolFinished, ToolStarted
from toolwire.errors import ErrorInfo
from toolwire.json_reader import FieldDelta, JsonReader
from toolwire.stream.segments import EventType, SegmentEvent, SegmentType
from toolwire.tui.cards.changes import Mark, change_lines, is_diff, marks_of, replaced, replacements
from toolwire.tui.cards.code import MOST, Whole
from toolwire.tui.cards.fields import MOST_FIELDS, Fields, spelled
from toolwire.tui.cards.growing import KEPT, TAIL, GrowingText
from toolwire.tui.cards.inner import Inner
from toolwire.tui.cards.line import Line, Sheet, fit, shortened
from toolwire.tui.cards.output import Output
from toolwire.tui.cards.syntax import CodeTail, coloured, language_of, prepare
from tui.card_events import gave, nested, started

# ---- texts that grow


@given(st.text(alphabet="ab\n\ré", max_size=400), st.lists(st.integers(0, 400), max_size=8))
def test_where_a_text_was_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    at = 0
    growing = GrowingText()
    for cut in sorted(cuts):
        growing.add(text[at:cut])
        if cut % 2:
            growing.settle()
        at = max(at, cut)
    growing.add(text[at:])
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    assert growing.text() == text
    assert growing.count == len(lines)
    assert growing.first(5) == lines[:5]
    assert growing.last(4) == (len(lines) - len(lines[-4:]) + 1, lines[-4:])
    assert (growing.size, growing.bytes) == (len(text), len(text.encode()))


def test_much_at_once_and_little_by_little_end_alike() -> None:
    text = "".join(f"line {number}\n" for number in range(1_000)) + "open"
    at_once, slowly = GrowingText([text]), GrowingText()
    for start in range(0, len(text), 3):
        slowly.add(text[start : start + 3])
        slowly.settle()
    assert at_once.last(TAIL) == slowly.last(TAIL)
    number, lines = GrowingText([text.removesuffix("open")]).last(TAIL)
    assert lines == [f"line {at}" for at in range(number - 1, 1_000)]
    assert at_once.last(2) == (1_000, ["line 999", "open"])


def test_a_text_is_kept_up_to_a_bound() -> None:
    text = GrowingText()
    for _ in range(30):
        text.add("x" * 99_999 + "\n")
        text.settle()
    assert len(text.text()) == KEPT
    assert text.left_out == 2_000_000
    assert text.count == 30
    _, last = text.last(1)
    assert len(last[0]) < 2_000
    assert "98,199 characters" in last[0]


def test_a_long_line_that_grows_costs_the_same_at_its_end() -> None:
    text = GrowingText()
    began = time.process_time()
    for _ in range(20_000):
        text.add("x" * 50)
        text.settle()
    assert time.process_time() - began < 2
    number, [line] = text.last()
    assert number == 1
    assert len(line) < 2_000
    assert text.beginning(7) == "x" * 7


# ---- fields


def test_fields_that_grow_are_those_of_the_whole() -> None:
    arguments: dict[str, Any] = {
        "files": [{"name": "a", "n": 1}, {"name": "b", "ok": True}],
        "empty": {},
        "none": None,
        "list": [],
    }
    grown = Fields()
    reader = JsonReader()
    for char in json.dumps(arguments):
        for delta in reader.feed(char):
            grown.take(delta)
    texts = {spelled(path): text.text() for path, text in grown.texts.items()}
    assert texts == {spelled(path): text.text() for path, text in Fields.of(arguments).texts.items()}
    assert texts["files[1].ok"] == "true"
    assert texts["empty"] == "{}"
    assert texts["none"] == "null"


def test_zillions_of_fields_are_counted() -> None:
    arguments = {"rows": [{"a": number, "b": "x"} for number in range(5_000)]}
    fields = Fields.of(arguments)
    assert (len(fields.texts), fields.left_out) == (MOST_FIELDS, 10_000 - MOST_FIELDS)
    grown = Fields()
    for number in range(2 * MOST_FIELDS):
        grown.take(FieldDelta(("rows", number), "x"))
        grown.take(FieldDelta(("rows", number), "y", True))
    assert (len(grown.texts), grown.left_out) == (MOST_FIELDS, MOST_FIELDS)


def test_all_fields_together_are_bounded() -> None:
    fields = Fields.of({str(number): "x" * 400_000 for number in range(5)})
    assert sum(len(text.text()) for text in fields.texts.values()) == KEPT


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"depth": 2, "path": "src"}, ("path", "src")),
        ({"limit": 5, "query": "TODO"}, ("query", "TODO")),
        ({"whatever": "first"}, ("whatever", "first")),
        ({"path": ""}, ("", "")),
        ({}, ("", "")),
    ],
)
def test_what_a_call_is_about(arguments: dict[str, Any], told: tuple[str, str]) -> None:
    path, text = Fields.of(arguments).telling()
    assert (spelled(path), text) == told


# ---- rows

_WILD = st.text(alphabet=st.sampled_from("abc  é漢字😀\u0301\u200b\u202e\x1b\x00[/]"), max_size=120)


@given(
    st.lists(st.tuples(_WILD, st.booleans(), st.integers(0, 3), st.sampled_from(["", "12 ", "│ "])), max_size=6),
    st.integers(10, 40),
)
@example([("[ [[[[\u200b\u200b\u0301", True, 0, "")], 10)
@example([("a" * 10 + "\u0301" * 60 + "b", True, 0, "")], 10)
def test_no_row_is_wider_than_the_card_and_nothing_is_lost(texts: list[tuple[str, bool, int, str]], width: int) -> None:
    lines = [Line(fit(text), "", gutter, rows=rows, by_words=words) for text, words, rows, gutter in texts]
    sheet = Sheet(lines, width)
    rows = [sheet.row(y).plain for y in range(sheet.height)]
    assert all(cell_len(row) <= width for row in rows)
    assert sheet.text() == "\n".join(rows)
    for line in lines:
        alone = Sheet([line._replace(gutter="")], width)
        shown = "".join(alone.row(y).plain for y in range(alone.height))
        if line.rows and shown != line.text:
            assert shown.endswith("…")
            assert alone.height == line.rows
        else:
            assert shown == line.text


@pytest.mark.parametrize("line", ["word " * 800, "é = " + "ü" * 70, "x" * 400_000], ids=["prose", "accents", "long"])
@pytest.mark.parametrize("by_words", [True, False])
def test_large_texts_are_laid_out_in_a_moment(line: str, by_words: bool) -> None:
    lines = [Line(f"{number} {line}", by_words=by_words) for number in range(min(1_000_000 // len(line), 6_000))]
    with Work() as work:
        sheet = Sheet(lines, 72)
        assert sheet.row(sheet.height - 1).plain
    assert work.count < sum(len(line.text) for line in lines), "the screen waits for it"


def test_what_is_laid_out_is_not_laid_out_again() -> None:
    lines = [Line(f"{number} {'漢 ' * 30}") for number in range(3_000)]
    with Work() as first:
        before = Sheet(lines, 72)
        before.row(before.height - 1)
    with Work() as again:
        after = Sheet([Line("one more"), *lines], 72, before)
        after.row(after.height - 1)
    assert again.count < first.count / 5
    assert after.height == before.height + 1
    assert after.text() == f"one more\n{before.text()}"
    assert Sheet(lines, 40, before).text() == Sheet(lines, 40).text()


def test_rows_end_between_words_where_they_are_prose() -> None:
    sheet = Sheet([Line("the answer was cut by the limit", by_words=True)], 12)
    assert [sheet.row(y).plain.rstrip() for y in range(sheet.height)] == ["the answer", "was cut by", "the limit"]


def test_a_row_that_is_cut_is_full() -> None:
    sheet = Sheet([Line("return Counter(text.lower().split())", by_words=True, rows=1)], 20)
    assert sheet.row(0).plain == "return Counter(text…"
    wide = Sheet([Line("漢字 漢字漢字漢字漢字漢字", by_words=True, rows=1)], 12)
    assert wide.row(0).plain == "漢字 漢字漢…"


def test_spans_follow_their_text_into_the_next_row() -> None:
    [spans] = coloured(["x"], "")
    assert spans == []
    from textual.content import Span

    sheet = Sheet([Line("aaaaaaaabbbb", spans=[Span(6, 10, "bold")])], 8)
    assert [(span.start, span.end) for y in (0, 1) for span in sheet.row(y).spans] == [(6, 8), (0, 2)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", "a\u241b[2Jb"),
        ("user\u202egpj.exe", "user<U+202E>gpj.exe"),
        ("\tx", "    x"),
        ("line\r", "line"),
        ("[bold]x[/]", "[bold]x[/]"),
        ("a\x00b", "a\u2400b"),
    ],
)
def test_what_others_wrote_is_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert fit(text) == shown


@pytest.mark.parametrize(
    ("text", "width", "keep_end", "shown"),
    [
        ("src/app.py", 10, False, "src/app.py"),
        ("src/app.py", 6, False, "src/a…"),
        ("src/app.py", 7, True, "…app.py"),
        ("漢字漢字", 5, True, "…漢字"),
        ("漢字漢字", 5, False, "漢字…"),
        ("abc", 1, False, "…"),
        ("abc", 0, False, ""),
        ("\u0301" * 6 + "abcdef", 4, False, "\u0301" * 4 + "…"),
    ],
)
def test_what_has_no_room_is_shortened(text: str, width: int, keep_end: bool, shown: str) -> None:
    assert shortened(text, width, keep_end=keep_end) == shown


# ---- colours

_CODE = '''"""A module."""

import os

LONG = """
{words}
"""


class Thing:
    """Of no use."""

    def method(self, number: int) -> str:
        # a comment
        return f"{{number}} things" + 'and "more"'

'''


def _styles(line: str, spans: list[Any]) -> list[str]:
    styles = [""] * len(line)
    for span in spans:
        styles[span.start : span.end] = [span.style] * (span.end - span.start)
    return styles


@pytest.mark.parametrize("long", [3, 150], ids=["short strings", "a string that is longer than what is read"])
async def test_colours_of_a_text_that_grows_are_those_of_the_whole(long: int) -> None:
    await prepare("python")
    text = _CODE.format(words="\n".join(["words in a string, def and class too"] * long)) * (16 if long < 10 else 3)
    whole = coloured(text.rstrip("\n").split("\n"), "python")
    growing, tail = GrowingText(), CodeTail()
    choose = random.Random(7)
    at = wrong = seen = 0
    while at < len(text):
        size = choose.choice((20, 90, 300))
        growing.add(text[at : at + size])
        at += size
        first, lines, spans = tail.last(growing, 12, "python")
        for number, (line, its) in enumerate(zip(lines[:-1], spans, strict=False), first):
            seen += 1
            wrong += _styles(line, its) != _styles(line, whole[number - 1])
    assert seen > 300
    assert wrong <= seen * 0.01


@pytest.mark.parametrize(("characters", "at_once"), [(1_000_000, 32), (40_000, 1)])
async def test_a_long_text_is_read_in_linear_time(characters: int, at_once: int) -> None:
    await prepare("python")
    text, tail = GrowingText(), CodeTail()
    piece = _CODE.format(words="words") * at_once
    costs: list[int] = []
    for _ in range(characters // len(piece)):
        text.add(piece)
        with Work() as work:
            tail.last(text, 12, "python")
        costs.append(work.count)
    assert len(costs) > 100
    assert max(costs) < 2 * costs[1]


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/app.py", "python"),
        ("C:\\x\\A.JSON", "json"),
        ("Makefile", "make"),
        (".bashrc", "bash"),
        ("notes", ""),
        ("x.unheard", ""),
        ("", ""),
        ("a/../\x1b[2J.py\n", "python"),
    ],
)
def test_the_language_of_a_file(path: str, language: str) -> None:
    assert language_of(path) == language


async def test_every_language_of_the_table_can_be_read() -> None:
    from toolwire.tui.cards.syntax import _LANGUAGES

    quick = [each for each in _LANGUAGES if each not in ("scala", "julia", "kotlin")]
    await prepare(*quick)
    for language in quick:
        assert len(coloured(["a = 1", "", "b"], language)) == 3


def test_a_reader_that_fails_leaves_the_text_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def get_tokens_unprocessed(self, text: str) -> Any:
            raise RecursionError

    monkeypatch.setattr("toolwire.tui.cards.syntax._READERS", {"python": Failing()})
    assert coloured(["x", "y"], "python") == [[], []]
    assert CodeTail().last(GrowingText(["x\ny"]), 5, "python") == (1, ["x", "y"], [[], []])


def test_all_lines_of_a_large_text_within_bounds() -> None:
    lines = Whole("x\n" * 5_500, "", 5_500, 0).lines()
    assert lines[0].text == "5,500 lines, shown without colours"
    assert len(lines) == 5_501
    lines = Whole("x\n" * 20_000, "", 20_000, 0).lines()
    assert len(lines) == MOST + 2
    assert lines[-1].text == f"… {20_000 - MOST:,} more lines are not kept here"
    [line] = Whole("x" * 900_000, "", 1, 0).lines()
    assert len(line.text) < 5_000
    assert "more characters" in line.text


# ---- changes

_DIFF = "--- a.py\n+++ a.py\n@@ -9,3 +9,3 @@ def f():\n kept\n-old\n+new\n kept\n\\ No newline at end of file\n"


def test_a_diff_is_read_with_its_numbers() -> None:
    assert is_diff(_DIFF)
    assert not is_diff("As the file is now, this would change nothing")
    marks = list(marks_of(_DIFF.removesuffix("\n").split("\n")))
    assert [(mark.sign, mark.number) for mark in marks] == [
        ("@", 0),
        (" ", 9),
        ("-", 10),
        ("+", 10),
        (" ", 11),
        ("@", 0),
    ]
    lines = change_lines(marks, "", rows=1)
    assert lines[0].text == "⋯ def f():"
    assert [line.gutter for line in lines[1:5]] == [" 9   ", "10 - ", "10 + ", "11   "]
    assert lines[2].fill != lines[3].fill
    assert not lines[1].fill


@given(st.lists(st.text(alphabet="+-@ \\…,0123456789x²", max_size=12), max_size=12))
def test_whatever_calls_itself_a_patch_is_shown(lines: list[str]) -> None:
    change_lines(list(marks_of(["@@ -1 +1 @@", *lines])), "", rows=1)


def _texts(**arguments: str) -> Any:
    return Fields.of(arguments).texts


@pytest.mark.parametrize(
    ("arguments", "pairs"),
    [
        ({"old_text": "a", "new_text": "b"}, [("a", "b")]),
        ({"new_string": "b", "old_string": "a"}, [("a", "b")]),
        ({"search": "a", "replace": "b"}, [("a", "b")]),
        ({"find": "a", "replace": "b"}, [("a", "b")]),
        ({"old_str": "a"}, [("a", None)]),
        ({"new_text": "b"}, [(None, "b")]),
        ({"search": "what to look for"}, []),
        ({"after": "2024-01-01"}, []),
        ({"before": "x"}, []),
        ({"text": "x"}, []),
    ],
)
def test_arguments_that_are_one_text_for_another(arguments: dict[str, str], pairs: list[Any]) -> None:
    found = replacements(_texts(**arguments))
    assert [tuple(text and text.text() for text in pair[2:]) for pair in found] == pairs


def test_pairs_stand_anywhere() -> None:
    edits = {"edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "d"}]}
    assert [spelled(pair.old_path) for pair in replacements(Fields.of(edits).texts)] == ["edits[0].old", "edits[1].old"]


def test_what_both_texts_have_is_kept() -> None:
    [pair] = replacements(_texts(old_text="a\nb\nc", new_text="a\nB\nc"))
    assert replaced(pair, "x") == [Mark(" ", "a"), Mark("-", "b"), Mark("+", "B"), Mark(" ", "c")]
    [pair] = replacements(_texts(old_text="a", new_text="a"))
    assert replaced(pair, "x") == [Mark("-", "a"), Mark("+", "a")]


# ---- output and inner agents


def test_the_tail_of_what_a_tool_tells() -> None:
    output = Output()
    for number in range(1_000):
        output.take(f"\x1b[32mline {number}\x1b[0m")
    output.take("10 %\r20 %\r30 %", 5)
    assert output.last(2) == ["line 999", "30 %"]
    assert (output.count, output.missed) == (1_001, 5)


def test_calls_of_an_inner_agent_are_a_line_each() -> None:
    inner = Inner()
    start = SegmentEvent(EventType.START, "a", segment_type=SegmentType.TOOL_CALL, tool_name="search")
    for event in (
        start,
        started("a", "search", {"query": "x"}),
        gave("a", "found"),
        started("b", "agent", {"task": "t"}),
        nested("b", started("c", "deep\x1b[2J", {})),
        SegmentEvent(EventType.START, "t", segment_type=SegmentType.TEXT),
        SegmentEvent(EventType.CONTENT, "t", "I look\nat it"),
        RunFailed(ErrorInfo("X", "it broke"), 1),
    ):
        inner.take(nested("1", event))
    shown = [f"{line.gutter}{line.text}".strip() for line in inner.lines(6)]
    assert shown == [
        '✓ search {"query":"x"}',
        '▶ agent {"task":"t"}',
        "▶ deep\u241b[2J",
        "failed: it broke",
        "› I look at it",
    ]


@pytest.mark.parametrize(("outcome", "mark"), [("denied", "⊘"), ("cancelled", "■"), ("error", "✗"), ("timeout", "✗")])
def test_inner_calls_that_did_not_run_are_marked_as_such(outcome: str, mark: str) -> None:
    inner = Inner()
    inner.take(nested("1", gave("a", "Error: no", outcome=outcome, error=True)))
    assert inner.plain().startswith(mark)


def test_ids_that_come_again_are_other_calls() -> None:
    inner = Inner()
    for _ in range(3):
        inner.take(nested("1", started("0", "search", {})))
        inner.take(nested("1", gave("0", "x")))
    assert inner.count == 3
    assert len(inner.lines(6)) == 3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("abcdefgh"), max_size=600))
def test_inner_calls_are_bounded(ids: list[str]) -> None:
    inner = Inner()
    for id in ids:
        inner.take(nested("1", ToolStarted(1, id, started(id, "x", {}).invocation)))
        inner.take(nested("1", ToolFinished(1, id, gave(id, "y").result)))
    assert inner.count == len(ids)
    assert len(inner.lines(6)) <= 7
