"""Markdown while it streams: what is shown depends on the text alone, not on its pieces, and nothing makes it hang."""

from __future__ import annotations

import random

import pytest
from textual.containers import VerticalScroll
from textual.geometry import Offset, Region
from textual.selection import Selection

from toolwire.agent.events import RunInterrupted
from toolwire.chunks import TokenUsage
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.tui.answer import LONGEST, Answer
from toolwire.tui.markdown.blocks import TABLE_ROWS, Blocks
from toolwire.tui.markdown.coloured import STRETCH, stretch
from toolwire.tui.markdown.cutting import WINDOW, Cutter
from toolwire.tui.markdown.document import Document
from toolwire.tui.markdown.grammar import parse
from toolwire.tui.markdown.laying import AnyLine, lay
from toolwire.tui.markdown.page import Page
from tui.screens import Host, pieces, text

DOCUMENT = """\
# A heading

Some *words* with `code` and a [link](https://example.org/x) and **bold**
text that goes on; <b>html</b> and <https://a.b>. 漢字は空白なしで書かれます。 שלום עולם

## Lists
1. first
2. second
   - nested one
   - nested two

     para in it

   ```python
   def f(x):
       return x
   ```
3. third
#hashtag
- [ ] todo
- [x] done
***bold*** line
---
> quote **a**
> more
>
> - q item

| Name | Value | Right |
|------|:-----:|------:|
| a | longer words in here | 1 |
| b | `x` | 22 |

```python
class A:
	x = 1
```
~~gone~~ Setext
===

    indented code

End [1]

[1]: https://example.org
"""

LONG = {
    "list": "".join(f"- item {number} of a list\n" for number in range(600)) + "\nafter",
    "numbers": "".join(f"{number}. item\n" for number in range(1, 400)) + "\nafter",
    "table": "| a | b |\n|---|---|\n" + "".join(f"| row {number} | x |\n" for number in range(500)) + "\nafter",
    "code": "```python\n" + "".join(f'    """Doc {number}\n    string."""\n' for number in range(400)) + "```\nafter",
    "paragraphs": "words of a paragraph\n\n" * 600 + "after",
}

HOSTILE = {
    "one line": "word " * 40_000,
    "one word": "x" * 200_000,
    "one line of code": "```python\n" + "x" * 200_000,
    "list levels": "".join("  " * level + "- a\n" for level in range(10_000 // 20)) + "- " * 10_000,
    "quotes": ">" * 20_000 + " end",
    "brackets": "[" * 100_000,
    "pictures": "![" * 50_000,
    "stars": "*a _b " * 20_000,
    "wide table": "|a" * 3_000 + "\n" + "|-" * 3_000 + "\n" + "|b" * 3_000,
    "control": "\x1b[31mred\x1b[0m " * 5_000,
    "wide letters": "漢" * 60_000,
    "line ends": "\n" * 100_000 + "end",
    "fences": "```\n" * 10_000,
    "fences and words": "a\n```\nx\n```\n" * 4_000,
    "quoted lines": "> a\n" * 20_000,
}


def cut(source: str, step: int | None = None) -> list[AnyLine]:
    """All lines of a text that comes in pieces."""
    cutter = Cutter()
    made: list[AnyLine] = []
    for piece in [source] if step is None else pieces(source, step):
        cutter.feed(piece)
        made += cutter.settled()
        cutter.open()
    return made + cutter.settled(end=True)


def rows(lines: list[AnyLine], width: int = 70) -> list[str]:
    return [row.content.plain for line in lines for row in lay(line, width)]


def whole(source: str) -> list[str]:
    """What the text shows where it is read at once."""
    blocks = Blocks()
    blocks.add(parse(source))
    return rows(blocks.take())


@pytest.mark.parametrize("step", [1, 2, 3, 7, 50, None])
def test_the_pieces_make_no_difference(step: int | None) -> None:
    assert rows(cut(DOCUMENT, step)) == whole(DOCUMENT)


_FRAGMENTS = [
    "# h\n",
    "text ",
    "**b** ",
    "- item\n",
    "  - nested\n",
    "1. one\n",
    "2) two\n",
    "\n",
    "\n\n",
    "```\n",
    "```py\n",
    "x = 1\n",
    "    ind\n",
    "> q\n",
    ">> qq\n",
    "---\n",
    "===\n",
    "-",
    "*",
    "#",
    "`",
    "~~~\n",
    "[a](b) ",
    "<i>",
    "\t",
    "***\n",
    "1.",
    "漢字 ",
    "&#10;",
    "   ",
    "+ p\n",
    "  cont\n",
    "word\n",
    "\\\n",
    "![i](u) ",
    "| a | b |\n",
    "|---|---|\n",
    "| 1 | 2 |\n",
    "|",
]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_nor_in_any_text(seed: int) -> None:
    chance = random.Random(seed)
    source = "".join(chance.choice(_FRAGMENTS) for _ in range(chance.randint(3, 60)))
    shown = rows(cut(source))
    assert shown == whole(source)
    assert rows(cut(source, 1)) == shown
    assert rows(cut(source, chance.randint(2, 9))) == shown


@pytest.mark.parametrize("name", LONG)
def test_long_blocks_are_settled_on_the_way(name: str) -> None:
    source = LONG[name]
    cutter = Cutter()
    made: list[AnyLine] = []
    most = 0
    for piece in pieces(source, 500):
        cutter.feed(piece)
        made += cutter.settled()
        most = max(most, len(cutter.open()))
    assert most < 110
    made += cutter.settled(end=True)
    shown = rows(made)
    assert shown == rows(cut(source))
    assert shown[-1] == "after"
    assert not any("as it was written" in row for row in shown)
    if name == "numbers":
        assert "399. item" in shown
    if name == "table":
        assert sum(row.startswith("┌") for row in shown) == sum(row.startswith("└") for row in shown) == 1
        assert len({len(row) for row in shown if row.startswith("│")}) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_makes_it_hang_or_hides_anything(name: str) -> None:
    source = HOSTILE[name]
    cutter = Cutter()
    made: list[AnyLine] = []
    for piece in pieces(source, 4_000):
        cutter.feed(piece)
        made += cutter.settled()
        assert len(cutter._tail) < WINDOW + 4_000
        assert sum(len(row) for row in rows(cutter.open())) < 12 * WINDOW
    made += cutter.settled(end=True)
    shown = rows(made)
    assert all(len(row) <= 70 for row in shown)
    if name in ("one line", "one word", "quotes", "list levels", "wide letters"):
        assert any("as it was written" in row for row in shown)
        letters = [char for char in source if char.isalnum() or char == ">"]
        assert sum(map(len, shown)) >= len(letters)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("[words](https://example.org/a)", "words (https://example.org/a)"),
        ("<https://example.org>", "https://example.org"),
        ("![a cat](cat.png)", "[picture: a cat] (cat.png)"),
        ("[1]: https://example.org", "[1]: https://example.org"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("<!-- hidden -->", "<!-- hidden -->"),
        ("a &#27;[31m &#x202E; b", "a �[31m <U+202E> b"),
        ("[red]x[/red] [@click=app.quit]y[/]", "[red]x[/red] [@click=app.quit]y[/]"),
        ("<https://a.b/%E2%80%AE>", "https://a.b/<U+202E> (https://a.b/%E2%80%AE)"),
    ],
)
def test_what_is_written_is_seen(source: str, shown: str) -> None:
    assert rows(cut(source), 120) == [shown]


@pytest.mark.parametrize("width", [5, 9, 20, 33, 80])
def test_no_row_is_wider_than_the_screen(width: int) -> None:
    from rich.cells import cell_len

    for line in cut(DOCUMENT + "\n\n" + "漢字" * 40 + "\n\n" + "x" * 300):
        for row in lay(line, width):
            assert cell_len(row.content.plain) <= width


def test_a_table_without_room_becomes_records() -> None:
    source = "| name | value |\n|---|---|\n| a long name | a long value |\n"
    assert "name: a long name" in " ".join(rows(cut(source), 14))
    assert "value: a long" in " ".join(rows(cut(source), 14))


def test_the_parts_of_a_table_have_the_same_columns() -> None:
    source = "|a|b|\n|-|-|\n" + "|short|x|\n" * (TABLE_ROWS + 5) + "|much longer than all|x|\n" * 3
    shown = rows(cut(source))
    assert len({len(row) for row in shown}) == 1


def test_a_last_line_that_may_become_anything_waits() -> None:
    cutter = Cutter()
    cutter.feed("words\n-")
    assert rows(cutter.open()) == ["words"]
    cutter.feed(" item\n")
    assert rows(cutter.open()) == ["words", "", "• item"]


def test_an_open_fence_is_code_already() -> None:
    cutter = Cutter()
    cutter.feed("```python\nx = 1\n``")
    cutter.settled()
    assert rows(cutter.open()) == [" python", " x = 1"]


def test_code_is_cut_where_its_colours_can_begin_anew() -> None:
    code = [f"x{number} = 1" for number in range(STRETCH - 4)] + [
        'text = """one',
        "two",
        "three",
        "four",
        '"""',
        "y = 2",
    ]
    made, count = stretch(code, "python")
    assert len(made) == count < STRETCH
    assert code[count].startswith("text")


async def test_a_page_keeps_what_is_painted() -> None:
    page = Page()
    async with Host(VerticalScroll(page)).run_test(size=(40, 12)) as pilot:
        page.put(cut("first\n\nsecond"), cut("open"))
        await pilot.pause()
        before = page.render_lines(Region(0, 0, 40, 4))
        page.put((), cut("open and longer"))
        await pilot.pause()
        after = page.render_lines(Region(0, 0, 40, 4))
        assert [one is other for one, other in zip(before, after, strict=True)] == [True, True, True, False]
        page.put(cut("third"), ())
        await pilot.pause()
        assert page.height == 4
        assert "third" in text(pilot.app)


async def test_selected_text_is_what_was_written() -> None:
    source = f"{'some words ' * 8}\n\n- {'an item ' * 6}\n\n```python\ndef f():\n    return 1\n```\n"
    page = Page()
    async with Host(VerticalScroll(page)).run_test(size=(30, 30)) as pilot:
        page.put(cut(source))
        await pilot.pause()
        assert page.height > 8
        chosen = page.get_selection(Selection(None, None))
        assert chosen is not None
        assert chosen[0].split("\n") == [
            ("some words " * 8).strip(),
            "",
            f"• {'an item ' * 6}".strip(),
            "",
            "python",
            "def f():",
            "    return 1",
        ]
        part = page.get_selection(Selection(Offset(2, 0), Offset(4, 0)))
        assert part is not None
        assert part[0] == "me"


async def test_an_answer_is_drawn_in_time_and_whole() -> None:
    answer = Answer()
    async with Host(VerticalScroll(answer)).run_test(size=(80, 24)) as pilot:
        for piece in pieces("A *line* that ends so:\r\n\r\nnext\x1b[2J", 3):
            answer.take(SegmentEvent(EventType.CONTENT, "t", delta=piece))
        await answer.draw(now=True)
        await pilot.pause()
        shown = text(pilot.app)
        assert "A line that ends so:" in shown
        assert "next␛[2J" in shown
        answer.take(RunInterrupted(1, TokenUsage()))
        await answer.draw()
        assert not answer.live
        assert answer.plain() == "A *line* that ends so:\n\nnext␛[2J"


async def test_much_at_once_is_drawn_in_slices() -> None:
    answer = Answer("a paragraph of words\n\n" * 20_000, ended=True)
    async with Host(VerticalScroll(answer)).run_test(size=(80, 24)):
        await answer.draw()
        first = answer.lines
        await answer.draw()
        assert 0 < first < answer.lines < 20_000


async def test_a_long_answer_goes_on_in_another_item() -> None:
    source = "".join(f"paragraph {number}\n\n" for number in range(LONGEST))
    first = Answer()
    async with Host(VerticalScroll(first)).run_test(size=(80, 24)) as pilot:
        first.take(SegmentEvent(EventType.CONTENT, "t", delta=f"{source}near "))
        assert first.next_part() is None
        await first.draw(now=True)
        second = first.next_part()
        assert second is not None
        assert not first.live
        await pilot.app.query_one(VerticalScroll).mount(second)
        await second.draw()
        await pilot.pause()
        assert second.query_one(Page).text() == f"paragraph {LONGEST - 1}\n\nnear"
        second.take(SegmentEvent(EventType.CONTENT, "t", delta="the end"))
        second.take(SegmentEvent(EventType.END, "t"))
        await second.draw(now=True)
        assert second.plain() == f"{source}near the end"
        assert first.text + second.text == f"{source}near the end"
        again = first.again()()
        assert again.text == first.text


async def test_no_link_can_be_clicked_and_no_markup_is_obeyed() -> None:
    document = Document("[words](https://example.org) [bold]x[/bold] `[red]`", ended=True)
    async with Host(VerticalScroll(document)).run_test(size=(80, 10)) as pilot:
        await document.draw(now=True)
        await pilot.pause()
        assert "words (https://example.org) [bold]x[/bold] [red]" in text(pilot.app)
        page = pilot.app.query_one(Page)
        assert not any("@click" in (segment.style.meta if segment.style else {}) for segment in page.render_line(0))


async def test_colours_follow_the_theme() -> None:
    document = Document("some `code`", ended=True)
    app = Host(VerticalScroll(document))
    async with app.run_test(size=(40, 6)) as pilot:
        await document.draw(now=True)
        await pilot.pause()
        dark = app.query_one(Page).render_line(0)
        app.theme = "textual-light"
        await pilot.pause()
        light = app.query_one(Page).render_line(0)
        assert [segment.text for segment in dark] == [segment.text for segment in light]
        assert [segment.style for segment in dark] != [segment.style for segment in light]
