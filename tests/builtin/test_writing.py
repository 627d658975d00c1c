"""`write_file` through the gate and the executor: what it says, what a person is shown, what it refuses."""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import Any

import pytest

from builtin_calls import call_tool
from toolwire.approval.request import ApprovalRequest
from toolwire.builtin import writing
from toolwire.builtin.writing import writing_tools
from toolwire.errors import FileRefused
from toolwire.files.journal import Journal
from toolwire.files.undoing import Undoing

(WRITE,) = writing_tools(None)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    return folder


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


async def write(work: Path, path: str, content: str, **options: Any) -> str:
    return (await call_tool(WRITE, {"path": path, "content": content}, work, **options)).content


async def test_a_name_cannot_forge_what_it_says(work: Path) -> None:
    assert await write(work, "a\nWrote b", "x") == "Wrote 'a\\nWrote b': 1 line, 1 byte (new file)."
    previews: list[str] = []
    await write(work, "a\nWrote b", "x", on_asked=lambda asked: previews.append(asked.preview))
    assert previews == ["'a\\nWrote b' holds exactly this already."]


async def test_a_folder_whose_name_is_no_text(work: Path) -> None:
    folder = Path(os.fsdecode(bytes(work) + b"/w\xff"))
    os.mkdir(folder)
    os.symlink(b"n\xfe", bytes(folder) + b"/link")
    assert await write(folder, "link", "x") == "Wrote 'n\\udcfe': 1 line, 1 byte (new file)."
    assert (folder / "n\udcfe").read_text() == "x"


async def test_what_it_says(work: Path) -> None:
    assert await write(work, "notes.md", "one\ntwo\n") == "Wrote notes.md: 2 lines, 8 bytes (new file)."
    assert await write(work, "a/b/c.md", "é") == "Wrote a/b/c.md: 1 line, 2 bytes (new file)."
    assert await write(work, "notes.md", "one\n2\n3") == "Wrote notes.md: 3 lines, 7 bytes (replaced: +2 −1 lines)."
    assert await write(work, "notes.md", "one\n2\n3") == "notes.md held exactly this already: nothing was changed."
    assert await write(work, "notes.md", "") == "Wrote notes.md: 0 lines, 0 bytes (replaced: +0 −3 lines)."
    assert (work / "a/b/c.md").read_bytes() == "é".encode()


@pytest.mark.parametrize("content", ["a\r\nb\r\n", "a\nb", "\ufeffx", "a\rb\0c", "\U0001f600\u202e"])
async def test_the_content_is_written_as_given(work: Path, content: str) -> None:
    await write(work, "f", content)
    assert (work / "f").read_bytes() == content.encode()


async def test_a_mark_at_the_beginning_stays(work: Path) -> None:
    (work / "f").write_bytes(codecs.BOM_UTF8 + b"old")
    await write(work, "f", "new")
    assert (work / "f").read_bytes() == codecs.BOM_UTF8 + b"new"
    await write(work, "f", "\ufeffnewer")
    assert (work / "f").read_bytes() == codecs.BOM_UTF8 + b"newer"


async def test_another_encoding_becomes_utf_8_and_that_is_said(work: Path) -> None:
    (work / "f").write_bytes("alt\n".encode("utf-16"))
    asked: list[ApprovalRequest] = []
    said = await write(work, "f", "neu\n", on_asked=asked.append)
    assert said == "Wrote f: 1 line, 4 bytes (replaced: +1 −1 lines). It was UTF-16 and is UTF-8 now."
    assert "the encoding changes from UTF-16 to UTF-8" in asked[0].preview
    assert (work / "f").read_bytes() == b"neu\n"


async def test_a_person_sees_the_change_first(work: Path) -> None:
    (work / "f").write_text("one\ntwo\nthree\n")
    asked: list[ApprovalRequest] = []
    await write(work, "f", "one\n2\nthree\n", on_asked=asked.append)
    await write(work, "new", "x\n", on_asked=asked.append)
    await write(work, "new", "x\n", on_asked=asked.append)
    assert [request.preview for request in asked] == [
        "--- f\n+++ f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        "--- /dev/null\n+++ new\n@@ -0,0 +1 @@\n+x\n",
        "new holds exactly this already.",
    ]


@pytest.mark.parametrize("kind", ["changed", "made", "removed"])
async def test_what_changed_since_the_person_saw_it_is_not_overwritten(work: Path, kind: str) -> None:
    if kind != "made":
        (work / "f").write_text("shown")

    def meanwhile(_: ApprovalRequest) -> None:
        if kind == "removed":
            (work / "f").unlink()
        else:
            (work / "f").write_text("somebody's")

    said = await write(work, "f", "mine", on_asked=meanwhile)
    assert "'f' was not changed: it is not any more what the person was shown" in said
    assert "read it again with read_file" in said
    assert names(work) == ([] if kind == "removed" else ["f"])
    assert kind == "removed" or (work / "f").read_text() == "somebody's"


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("", "x", "names no file"),
        ("folder/", "x", "names no file"),
        ("folder", "x", "is a folder"),
        (".", "x", "is a folder"),
        ("file/below", "x", "is a file, not a folder"),
        ("x" * 300, "x", "too long"),
        ("../outside", "x", "outside"),
        ("/etc/toolwire-test", "x", "outside"),
    ],
)
async def test_what_cannot_be_written_is_said(work: Path, path: str, content: str, words: str) -> None:
    (work / "folder").mkdir()
    (work / "file").write_text("old")
    result = await call_tool(WRITE, {"path": path, "content": content}, work)
    assert result.is_error
    assert words in result.content
    assert names(work) == ["file", "folder"]
    assert not (work.parent / "outside").exists()


async def test_the_model_reads_its_own_path_in_what_goes_wrong(work: Path) -> None:
    (work / "a").mkdir()
    (work / "a/f").write_text("old")
    (work / "a/f").chmod(0o444)
    assert await write(work, "a/f", "new") == "Error: 'a/f' was not changed: it is read-only"


async def test_it_is_denied_when_the_person_says_no(work: Path) -> None:
    assert (await write(work, "f", "x", approve=False)).startswith("Denied")
    assert names(work) == []


async def test_it_can_be_undone(work: Path, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "state", str(work))
    (tool,) = writing_tools(journal)
    (work / "f").write_text("old")
    await call_tool(tool, {"path": "f", "content": "new"}, work)
    (standing,) = Undoing(journal).to_undo
    assert standing.change.tool == "write_file"
    Undoing(journal).take_back(standing.change)
    assert (work / "f").read_text() == "old"


def test_half_a_character_is_not_written() -> None:
    with pytest.raises(FileRefused, match="character 2 is half of a pair"):
        writing._encoded("a\ud800", None)


def test_what_a_model_is_told() -> None:
    assert WRITE.name == "write_file"
    assert WRITE.paths == ("path",)
    assert WRITE.confined
    assert WRITE.risk == "write"
    assert WRITE.parameters["required"] == ["path", "content"]
    assert len(WRITE.description) < 400
