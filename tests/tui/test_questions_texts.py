"""What is shown of a call: all of it, exactly, whatever it holds; its head and its keys are always in sight."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from counted_work import Work
from toolwire.approval.request import ApprovalRequest
from toolwire.tui.questions.call_rows import Reading, argument_rows, call_rows
from toolwire.tui.questions.rows import BAR, GO_ON, Piece, Row, Rows, quoted, said
from toolwire.tui.questions.shell_colours import coloured
from tui.asking import Asking, asking, cancel, offers, request
from tui.gallery import keep

DIFF = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n first\n-second\n+another"
CHANGE = """@@ -1,4 +1,4 @@
 def greet(name: str) -> str:
-    return 'Hello ' + name
+    return f'Hello {name}!'
"""
NASTY = [
    "[bold red]not markup[/] [@click=app.quit]x[/]",
    "a\x1b[2Jb\x9b1mc",
    "user\u202egnp.exe",
    "zero\u200bwidth",
    "one\n y  once   n  no\nQuestion 1 of 9\n│ run_bash wants to run",
    "\\[/] {} %s $(x) `y`",
    "漢字かな" * 40,
    "e\u0301" * 90,
    "👩‍👩‍👧" * 30,
]


def plain(row: Row) -> str:
    return "".join(piece.text for piece in row)


def texts(asked: ApprovalRequest, width: int = 78, **more: Any) -> list[str]:
    return [plain(row) for row in call_rows(Reading(asked, **more), width)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"why": "the mode is ask"}, " Asked because the mode is ask"),
        ({"source": "toolwire.toml, line 3"}, " Asked because the mode is ask (toolwire.toml, line 3)"),
        ({"cwd": "/home/me/" + "x" * 60}, f" In /home/me/{'x' * 60}"),
        ({"parts": ("the command 'make'",)}, " • the command 'make'"),
        ({"parts": tuple(map(str, range(25)))}, " • and 5 more"),
        ({"warnings": ("command holds 1 hidden character",)}, " Look out: command holds 1 hidden character"),
        ({"preview": DIFF}, " │ +another"),
        ({"preview": DIFF}, " The arguments:"),
        ({"preview": "It would fail: no such file"}, " It would fail: no such file"),
        ({"fully_shown": False}, " Not all of the arguments is shown: v shows everything. It can only be"),
        ({}, " │ command: make test"),
    ],
)
def test_everything_is_said(fields: dict[str, Any], expected: str) -> None:
    assert expected in texts(request(**fields))


def test_warnings_stand_before_all_else() -> None:
    assert texts(request(warnings=("w",), preview=DIFF, arguments={"a": "\u202e"}))[0] == " Look out: w"


def test_a_new_file_is_not_shown_twice() -> None:
    arguments = {"path": "a.md", "content": "one\ntwo"}
    rows = texts(
        request(tool="write_file", arguments=arguments, preview="--- /dev/null\n+++ a.md\n@@ -0,0 +1,2 @@\n+one\n+two")
    )
    assert " It would make a new file." in rows
    assert " │ | one" in rows
    assert " │ +one" not in rows


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("width", [20, 33, 80])
def test_no_text_stands_at_the_start_of_a_row_or_outside_of_it(text: str, width: int) -> None:
    arguments = {"command": text, "path": "x", "[b]": [text]}
    asked = request(
        arguments=arguments,
        why=text.replace("\n", " "),
        parts=(text,),
        preview=f"--- a\n+++ b\n+{text!r}",
        source=text,
        cwd=text,
    )
    for row in call_rows(Reading(asked), width):
        assert plain(row).startswith(" ")
        assert cell_len(plain(row)) <= width
        assert all(char.isprintable() for char in plain(row))
    whole = "".join(plain(row)[3:] for row in argument_rows(asked.shown, width))
    assert whole == asked.shown.replace("\n", "")


def test_rows_are_the_line_again() -> None:
    pieces = [Piece("name:", "name"), Piece(" 漢字かな" * 9, "string"), Piece("x" * 70)]
    rows = list(quoted(pieces, 30))
    assert [plain(row)[:3] for row in rows] == [BAR] + [GO_ON] * (len(rows) - 1)
    assert "".join(plain(row)[3:] for row in rows) == "".join(piece.text for piece in pieces)
    assert all(cell_len(plain(row)) <= 30 for row in rows)
    kinds = [piece for row in rows for piece in row[1:]]
    assert "".join(piece.text for piece in kinds if piece.kind == "name") == "name:"
    assert plain(next(said("", 30))) == " "


@pytest.mark.parametrize(
    "line", ["", ' git log && rm -rf "$HOME" # x', "if [ -f x ]; then 'y' | z; fi", "((" * 400, "$" * 2000, "\\", "'"]
)
def test_colours_change_no_letter(line: str) -> None:
    assert "".join(piece.text for piece in coloured(line)) == line


async def check_frame(screen: Asking) -> None:
    """The head and the keys are in sight, and so are the prompt and the status line; nothing else has a key's look."""
    await screen.still()
    lines = screen.lines()
    assert len(lines) == 24
    assert lines[-1] == "the status line"
    assert any(line.startswith("│ run_bash wants to run (risk: execute)") for line in lines)
    assert sum("y  once" in line and not line.startswith(("│ │", "│ ┊")) for line in lines) == 1
    assert any("e  edit" in line for line in lines)


async def test_hostile_calls_on_the_screen() -> None:
    async with asking() as screen:
        for text in NASTY[:5]:
            (answer,) = await screen.ask(request(arguments={"command": text}))
            await check_frame(screen)
            assert not any(char in screen.text() for char in "\x1b\u202e\u200b\x9b")
            await screen.press("v")
            await check_frame(screen)
            await cancel(answer)
            await screen.painted()


async def test_much_to_read() -> None:
    async with asking() as screen:
        long = "".join(f"line {number}\n" for number in range(9_000))
        change = "\n".join(["--- a", "+++ b", *(f"+new {number}" for number in range(5_000)), "-the last row"])
        (answer,) = await screen.ask(request(arguments={"command": long, "n": 7}, preview=change, offers=offers("x")))
        await check_frame(screen)
        assert "Not all of the arguments is shown" in screen.text()
        assert "s  session" not in screen.text()
        rows = screen.pane.middle
        assert isinstance(rows, Rows)
        before = len(rows.rows)
        assert before > 5_000
        await screen.press("pagedown", "down")
        assert rows.scroll_offset.y > 1
        assert await screen.shows("more rows")
        await screen.press("v")
        for _ in range(100):
            if len(rows.rows) > before:
                break
            await screen.pilot.pause(0.02)
        assert len(rows.rows) > 14_000
        await check_frame(screen)
        await screen.press("end")
        assert await screen.shows("n: 7")
        assert not answer.done()
        await screen.press("home", "v")
        assert await screen.shows("Not all of the arguments is shown")
        await cancel(answer)


def test_rows_cost_as_much_as_they_are() -> None:
    took = {}
    for count in (1_000, 5_000):
        change = "\n".join(["--- a", "+++ b", *(f"+{'x' * 90} {number}" for number in range(count))])
        asked = request(preview=change)
        with Work() as work:
            rows = call_rows(Reading(asked), 80)
        assert len(rows) > 2 * count
        took[count] = work.count
    assert took[5_000] < 6 * took[1_000]


async def test_another_size() -> None:
    async with asking(size=(120, 40)) as screen:
        (answer,) = await screen.ask(request(arguments={"command": "x" * 300}, preview=DIFF))
        assert "The arguments:" in screen.text()
        for size in ((80, 24), (40, 16), (200, 50), (80, 24)):
            await screen.pilot.resize_terminal(*size)
            await screen.questions._look_around()
            await screen.painted()
            lines = screen.lines()
            assert lines[-1] == "the status line", size
            assert any("y  once" in line for line in lines), size
            assert any("run_bash" in line and "isk" in line and "execute" in line for line in lines), size
        await check_frame(screen)
        await cancel(answer)


@pytest.mark.parametrize("light", [False, True])
async def test_pictures(light: bool) -> None:
    async with asking(light=light) as screen:
        command = 'git status && rm -rf build | tee "$HOME/раypal.log"'
        parts = (
            "the command 'git status'",
            "the command 'rm -rf build'",
            "the path '~/раypal.log', outside the workspace",
        )
        dangerous = request(
            "1", arguments={"command": command}, parts=parts, offers=(), risk="dangerous", why="rm deletes files"
        )
        change = f"--- app.py\n+++ app.py\n{CHANGE}"
        edit = request(
            "2",
            tool="edit_file",
            arguments={"path": "app.py", "patch": "…"},
            preview=change,
            risk="write",
            offers=offers("edit_file: ./app.py", "edit_file: ./*"),
        )
        answers = await screen.ask(dangerous, edit, request("3"))
        assert await screen.shows("Look out: command mixes Cyrillic and Latin")
        if not light:
            keep(
                screen.app,
                "31-before-a-command-runs",
                "Before a command runs",
                "What it does, part by part; what you may misread stands first.",
            )
        await screen.press("tab")
        assert await screen.shows("Question 2 of 3")
        assert await screen.shows("+    return f'Hello {name}!'")
        if light:
            words = "Several questions wait; they are answered in any order."
            keep(screen.app, "32-before-a-file-changes", "Before a file changes", words)
        await cancel(*answers)
