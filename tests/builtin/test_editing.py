"""`edit_file` as an agent calls it: through the gate, on real files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from builtin_calls import call_tool
from toolwire import Risk
from toolwire.approval.request import ApprovalRequest
from toolwire.approval.rules import Decision, Rule
from toolwire.builtin.editing import editing_tools
from toolwire.files.journal import Journal
from toolwire.files.undoing import Undoing
from toolwire.tools.definition import ToolDefinition

SOURCE = "def f(a):\n    if a:\n        return 'x'\n    return a + 1\n\n\ndef g(b):\n    return b * 2\n"


@pytest.fixture
def tool() -> ToolDefinition:
    return editing_tools(None)[0]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_text(SOURCE)
    return root


async def edit(tool: ToolDefinition, root: Path, path: str = "a.py", **arguments: Any) -> str:
    return (await call_tool(tool, {"path": path, **arguments}, root)).content


def test_what_it_says_of_itself(tool: ToolDefinition) -> None:
    assert (tool.name, tool.risk, tool.paths, tool.confined) == ("edit_file", Risk.WRITE, ("path",), True)
    assert set(tool.parameters["properties"]) == {"path", "old_text", "new_text", "replace_all", "patch"}
    assert tool.parameters["required"] == ["path"]
    assert all(each["description"] for each in tool.parameters["properties"].values())


async def test_a_replacement_shows_what_is_there_now(tool: ToolDefinition, root: Path) -> None:
    told = await edit(tool, root, old_text="return a + 1", new_text="a += 1\n    return a")
    assert told == (
        "Edited a.py: 1 replacement at line 4 (+2 −1). Now:\n"
        "     2\t    if a:\n     3\t        return 'x'\n     4\t    a += 1\n     5\t    return a\n     6\t\n     7\t"
    )
    assert (root / "a.py").read_text() == SOURCE.replace("return a + 1", "a += 1\n    return a")


async def test_a_patch_that_names_another_line_says_where_it_went(tool: ToolDefinition, root: Path) -> None:
    patch = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n def g(b):\n-    return b * 2\n+    b *= 2\n+    return b\n"
    told = await edit(tool, root, patch=patch)
    assert told.startswith("Edited a.py: 1 hunk, new at line 8 (+2 −1). Now:\n")
    assert told.endswith("     9\t    return b\n[hunk 1 was placed at line 7, its header said 1]")
    assert (root / "a.py").read_text().endswith("def g(b):\n    b *= 2\n    return b\n")


async def test_everywhere(tool: ToolDefinition, root: Path) -> None:
    told = await edit(tool, root, old_text="return", new_text="yield", replace_all=True)
    assert told.startswith("Edited a.py: 3 replacements at lines 3, 4, 8 (+3 −3). Now:\n")
    assert told.count("\n   ...\n") == 0
    assert told.count("yield") == 3
    assert "return" not in (root / "a.py").read_text()


async def test_what_is_shown_is_bounded(tool: ToolDefinition, root: Path) -> None:
    (root / "long.txt").write_text("".join(f"{number} x\n" for number in range(2_000)))
    told = await edit(tool, root, "long.txt", old_text="x", new_text="y" * 500, replace_all=True)
    assert len(told) < 12_000
    assert "2,000 replacements at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …" in told
    assert told.endswith("[more changes are not shown]")
    told = await edit(tool, root, "long.txt", old_text="7 " + "y" * 500 + "\n8 ", new_text="z\n" * 400 + "8 ")
    assert "more lines" in told
    assert len(told) < 8_000


async def test_only_the_end_of_an_empty_file_is_told(tool: ToolDefinition, root: Path) -> None:
    told = await edit(tool, root, old_text=SOURCE, new_text="")
    assert told == "Edited a.py: 1 replacement at line 1 (+0 −8). Now:\n[the file is empty]"


async def test_line_ends_and_mark_stay(tool: ToolDefinition, root: Path) -> None:
    (root / "dos.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    await edit(tool, root, "dos.txt", old_text="two\nthree", new_text="2\n2b\nthree")
    assert (root / "dos.txt").read_bytes() == b"\xef\xbb\xbfone\r\n2\r\n2b\r\nthree"
    (root / "mixed.txt").write_bytes(b"one\r\ntwo\nthree\n")
    told = await edit(tool, root, "mixed.txt", old_text="three", new_text="four")
    assert told.endswith("[the file has mixed line ends (1 CRLF, 2 LF); new lines have that of their place]")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "give old_text and new_text (an empty new_text removes old_text), or a patch"),
        ({"old_text": "a"}, "give old_text and new_text"),
        ({"new_text": "a"}, "give old_text and new_text"),
        ({"old_text": "a", "new_text": "b", "patch": "@@"}, "not both"),
        ({"replace_all": True, "patch": "@@"}, "not both"),
        ({"old_text": "", "new_text": "b", "patch": ""}, "old_text is empty"),
        ({"old_text": "b * 3", "new_text": "c"}, "Near: line 8. Line 8 is '    return b * 2', old_text has 'b * 3'"),
        ({"patch": "@@ -1 +1 @@\n-def h(a):\n+x\n"}, "Line 1 is 'def f(a):', hunk 1 has 'def h(a):'"),
    ],
)
async def test_wrong_use_is_told(tool: ToolDefinition, root: Path, arguments: dict[str, Any], words: str) -> None:
    result = await call_tool(tool, {"path": "a.py", **arguments}, root)
    assert result.is_error
    assert words in result.content
    assert (root / "a.py").read_text() == SOURCE


async def test_unused_arguments_may_be_empty(tool: ToolDefinition, root: Path) -> None:
    patch = "@@ -1 +1 @@\n-def f(a):\n+def f(c):\n"
    assert "Edited" in await edit(tool, root, old_text="", new_text="", replace_all=False, patch=patch)
    assert "Edited" in await edit(tool, root, old_text="f(c)", new_text="f(a)", patch="")
    assert (root / "a.py").read_text() == SOURCE


async def test_a_file_that_is_not_there(tool: ToolDefinition, root: Path) -> None:
    told = await edit(tool, root, "b.py", old_text="a", new_text="b")
    assert "there is no 'b.py'; names like it: 'a.py'; write_file makes new files" in told
    told = await edit(tool, root, "sub/nothing.txt", old_text="a", new_text="b")
    assert "there is no 'sub/nothing.txt'" in told
    assert "write_file" in told
    assert sorted(os.listdir(root)) == ["a.py"]


async def test_what_is_no_text_stays(tool: ToolDefinition, root: Path) -> None:
    for content, words in ((b"a\0b", "binary"), (b"caf\xe9", "not UTF-8")):
        (root / "data").write_bytes(content)
        assert words in await edit(tool, root, "data", old_text="a", new_text="b")
        assert (root / "data").read_bytes() == content
    (root / "folder").mkdir()
    assert "folder" in await edit(tool, root, "folder", old_text="a", new_text="b")


async def test_nothing_outside_is_edited(tool: ToolDefinition, root: Path) -> None:
    outside = root.parent / "outside.txt"
    outside.write_text("secret\n")
    (root / "link").symlink_to(outside)
    for path in ("../outside.txt", str(outside), "link", "sub/../../outside.txt"):
        result = await call_tool(tool, {"path": path, "old_text": "secret", "new_text": "x"}, root)
        assert result.is_error
        assert "secret" not in result.content
    assert outside.read_text() == "secret\n"


async def test_lines_of_a_closed_file_are_not_told(tool: ToolDefinition, root: Path) -> None:
    (root / "keys.env").write_text("TOKEN = canary\nNAME = x\n")
    rules = [Rule(decision=Decision.ASK, path=("keys.env",))]
    for old, new in (("TOKEN = secret", "x"), ("TOKEN  =", "x"), ("NAME = x", "NAME = y")):
        result = await call_tool(tool, {"path": "keys.env", "old_text": old, "new_text": new}, root, rules=rules)
        assert "canary" not in result.content
    assert result.content == "Edited keys.env: 1 replacement at line 2 (+1 −1)."


async def test_a_person_sees_the_diff_or_why_there_is_none(tool: ToolDefinition, root: Path) -> None:
    asked: list[ApprovalRequest] = []
    for arguments in (
        {"path": "a.py", "old_text": "b * 2", "new_text": "b * 3"},
        {"path": "a.py", "old_text": "b * 9", "new_text": "b * 3"},
        {"path": "b.py", "old_text": "b * 9", "new_text": "b * 3"},
    ):
        await call_tool(tool, arguments, root, approve=False, on_asked=asked.append)
    diff, misfit, missing = (request.preview for request in asked)
    assert diff.startswith("--- a.py\n+++ a.py\n@@ -5,4 +5,4 @@\n")
    assert "\n-    return b * 2\n+    return b * 3\n" in diff
    assert misfit.startswith("As the file is now, this would change nothing: old_text is not in the file")
    assert "     8\t    return b * 2" in misfit.replace("‹TAB›", "\t")
    assert "there is no 'b.py'" in missing
    assert (root / "a.py").read_text() == SOURCE


async def test_a_file_that_changed_since_it_was_shown_is_edited_if_it_fits(tool: ToolDefinition, root: Path) -> None:
    def change(request: ApprovalRequest) -> None:
        (root / "a.py").write_text("# new\n" + SOURCE)

    arguments = {"path": "a.py", "old_text": "b * 2", "new_text": "b * 3"}
    told = (await call_tool(tool, arguments, root, on_asked=change)).content
    assert told.startswith("Edited a.py: 1 replacement at line 9 ")
    assert (root / "a.py").read_text() == "# new\n" + SOURCE.replace("b * 2", "b * 3")


async def test_edits_of_one_file_at_the_same_time_all_count(tool: ToolDefinition, root: Path) -> None:
    (root / "list.txt").write_text("".join(f"item {number:02}\n" for number in range(20)))
    calls = [
        {"old_text": f"item {number:02}\n", "new_text": f"done {number:02}\nand more\n"}
        if number % 2
        else {"patch": f"@@ -{number + 1} +{number + 1} @@\n-item {number:02}\n+done {number:02}\n+and more\n"}
        for number in range(20)
    ]
    told = await asyncio.gather(*(edit(tool, root, "list.txt", **arguments) for arguments in calls))
    assert all(words.startswith("Edited list.txt: 1 ") for words in told)
    assert (root / "list.txt").read_text() == "".join(f"done {number:02}\nand more\n" for number in range(20))


async def test_the_mode_stays_and_an_edit_can_be_undone(root: Path, tmp_path: Path) -> None:
    os.chmod(root / "a.py", 0o750)
    journal = Journal(tmp_path / "undo", str(root))
    tool = editing_tools(journal)[0]
    assert "Edited" in await edit(tool, root, old_text="b * 2", new_text="b * 3")
    assert (root / "a.py").stat().st_mode & 0o777 == 0o750
    change = journal.changes()[-1]
    assert change.tool == "edit_file"
    Undoing(journal).take_back(change)
    assert (root / "a.py").read_text() == SOURCE


async def test_a_failed_edit_is_not_in_the_journal(root: Path, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "undo", str(root))
    assert "not in the file" in await edit(editing_tools(journal)[0], root, old_text="nothing of it", new_text="b")
    assert not journal.changes()


@pytest.mark.parametrize("everywhere", [True, False])
async def test_replacing_everywhere_replaces_no_more_than_the_person_saw(
    tool: ToolDefinition, root: Path, everywhere: bool
) -> None:
    def meanwhile(_: ApprovalRequest) -> None:
        (root / "a.py").write_text(SOURCE + "x = b * 2\n" * everywhere + "# more\n")

    call = {"path": "a.py", "old_text": "b * 2", "new_text": "b", "replace_all": everywhere}
    said = (await call_tool(tool, call, root, on_asked=meanwhile)).content
    assert ("not any more what the person was shown" in said) is everywhere
    assert ("b * 2" in (root / "a.py").read_text()) is everywhere
