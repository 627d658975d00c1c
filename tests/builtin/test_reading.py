"""`read_file` and `list_directory` as an agent calls them."""

from __future__ import annotations

import codecs
import gzip
import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.trust.paths import large_file, paths, races

from builtin_calls import call_tool
from toolwire.approval.rules import Decision, Rule
from toolwire.builtin import listing, reading
from toolwire.builtin.paths import real_path, shown
from toolwire.builtin.reading import list_directory, read_file, reading_tools
from toolwire.errors import FileRefused
from toolwire.files import excerpt
from toolwire.files.contents import HEAD, recognise
from toolwire.tools.definition import Risk
from toolwire.tools.running import CURRENT, RunningCall

READ, LIST = reading_tools()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


async def read(root: Path, path: str, **arguments: Any) -> str:
    """What the model is given."""
    return (await call_tool(READ, {"path": path, **arguments}, root)).content


async def listed(root: Path, **arguments: Any) -> list[str]:
    return (await call_tool(LIST, arguments, root)).content.splitlines()


def numbered(*lines: str, first: int = 1) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))


def test_the_tools_only_read_and_only_inside() -> None:
    assert [each.name for each in (READ, LIST)] == ["read_file", "list_directory"]
    for each in (READ, LIST):
        assert each.risk is Risk.READ
        assert each.confined
        assert each.paths == ("path",)
        assert all(value.get("description") for value in each.parameters["properties"].values())


# ---- read_file


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"one\ntwo\n", numbered("one", "two")),
        (b"one\ntwo", numbered("one", "two")),
        (b"\n", numbered("")),
        (b"\n\n\nx", numbered("", "", "", "x")),
        (b"", "'f' is empty."),
        ("grüße 😀\n".encode(), numbered("grüße 😀")),
        (b"a\r\nb\r\n", numbered("a", "b") + "\n[lines end with CR LF]"),
        (b"a\r\nb", numbered("a", "b") + "\n[lines end with CR LF]"),
        (b"a\r\nb\nc\r\n", numbered("a", "b", "c") + "\n[some lines end with CR LF, some with LF]"),
        (b"a\rb\rc", numbered("a", "b", "c") + "\n[lines end with CR alone]"),
        (b"a\tb\x0cc\xc2\x85d\xe2\x80\xa8e\n", numbered("a\tb\x0cc\x85d\u2028e")),
        (codecs.BOM_UTF8 + b"one\n", numbered("one") + "\n[encoding: UTF-8 with a byte order mark]"),
        (codecs.BOM_UTF8, "'f' is empty."),
        (
            codecs.BOM_UTF16_LE + "grüße 😀\n\u0a0a\n".encode("utf-16-le"),
            numbered("grüße 😀", "\u0a0a") + "\n[encoding: UTF-16, little-endian, with a byte order mark]",
        ),
        (
            codecs.BOM_UTF16_BE + "a\r\nb\r\n".encode("utf-16-be"),
            numbered("a", "b") + "\n[encoding: UTF-16, big-endian, with a byte order mark]\n[lines end with CR LF]",
        ),
        (
            codecs.BOM_UTF32_LE + "é\n".encode("utf-32-le"),
            numbered("é") + "\n[encoding: UTF-32, little-endian, with a byte order mark]",
        ),
        (
            codecs.BOM_UTF32_BE + "é\n".encode("utf-32-be"),
            numbered("é") + "\n[encoding: UTF-32, big-endian, with a byte order mark]",
        ),
        (
            "grüße “quoted”\n".encode("cp1252"),
            numbered("grüße “quoted”") + "\n[this is not UTF-8; it looks like cp1252 and is shown as that]",
        ),
        (
            b"gr\xfc\xdfe \x81\n",
            numbered("grüße \x81") + "\n[this is not UTF-8; it looks like latin-1 and is shown as that]",
        ),
        (b"MZ is text too\n", numbered("MZ is text too")),
        (b"BM GIF RIFF\n", numbered("BM GIF RIFF")),
    ],
    ids=range(21),
)
async def test_texts(root: Path, data: bytes, expected: str) -> None:
    (root / "f").write_bytes(data)
    assert await read(root, "f") == expected


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image (16 B)"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"%PDF-1.7\n% all of it is text\n", "a PDF document"),
        (b"PK\x03\x04\x14\0\0\0", "a ZIP archive"),
        (gzip.compress(b"hello" * 100), "gzip data"),
        (b"\x7fELF\x02\x01\x01\0", "an ELF program or library"),
        (b"MZ\x90\0\x03", "a Windows program or library"),
        (b"SQLite format 3\0\x10\0", "an SQLite database"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "WAV sound"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "a WebP image"),
        (b"\0\0\0\x20ftypisom", "an MP4 video"),
        (bytes(257) + b"ustar\0", "a tar archive"),
        (bytes(range(256)), "binary data"),
        (b"text\0text", "binary data"),
        (b"\xff\x01\x02\x03" * 50, "binary data"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8\x00\xd8\x00\x00", "binary data"),
        ("text".encode("utf-16-le"), "probably UTF-16 text without a byte order mark"),
        ("text".encode("utf-16-be"), "probably UTF-16 text without a byte order mark"),
    ],
    ids=range(18),
)
async def test_what_is_no_text_is_named_and_not_shown(root: Path, data: bytes, kind: str) -> None:
    (root / "f").write_bytes(data)
    said = await read(root, "f")
    assert said.startswith(f"'f' is no text but {kind}")
    assert said.endswith("; it is not shown.")
    assert len(said) < 150


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_character_across_the_end_of_the_look_is_no_fault(cut: int) -> None:
    data = ("x" * (HEAD - cut) + "😀" * 10).encode()
    assert recognise(data[:HEAD], is_whole=False).encoding == "utf-8"
    assert recognise(data[:HEAD], is_whole=True).encoding != "utf-8"


@pytest.mark.parametrize(
    ("start", "lines", "first", "last", "note"),
    [
        (1, 3, 1, 3, "[lines 1-3 of 10; read on with start_line=4]"),
        (0, 3, 1, 3, "[lines 1-3 of 10; read on with start_line=4]"),
        (4, 3, 4, 6, "[lines 4-6 of 10; read on with start_line=7]"),
        (8, 3, 8, 10, "[lines 8-10 of 10: the end of the file]"),
        (8, 99_999, 8, 10, "[lines 8-10 of 10: the end of the file]"),
        (10, 1, 10, 10, "[line 10 of 10: the end of the file]"),
        (-3, 2000, 8, 10, "[lines 8-10 of 10: the end of the file]"),
        (-3, 1, 8, 8, "[line 8 of 10; read on with start_line=9]"),
        (-10, 2000, 1, 10, ""),
        (-99, 2000, 1, 10, ""),
        (1, 10, 1, 10, ""),
    ],
)
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_ranges(
    root: Path, start: int, lines: int, first: int, last: int, note: str, end: str, encoding: str
) -> None:
    (root / "f").write_bytes(("\n".join(f"l{n}" for n in range(1, 11)) + end).encode(encoding))
    said = await read(root, "f", start_line=start, lines=lines)
    shown = [line for line in said.splitlines() if not line.startswith("[")]
    assert "\n".join(shown) == numbered(*(f"l{n}" for n in range(first, last + 1)), first=first)
    assert [line for line in said.splitlines() if line.startswith("[line")] == ([note] if note else [])


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
async def test_the_pieces_it_is_read_in_do_not_matter(
    root: Path, piece: int, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "grüße\r\n\r\nzwei\n\ndrei und vier\r\nfünf"
    (root / "f").write_bytes(text.encode(encoding))
    starts = [*range(1, 7), *range(-7, 0)]
    whole = [await read(root, "f", start_line=start, lines=2) for start in starts]
    assert numbered("grüße", "") in whole[0]
    monkeypatch.setattr(excerpt, "PIECE", piece)
    assert [await read(root, "f", start_line=start, lines=2) for start in starts] == whole


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
async def test_the_end_of_a_large_file_is_found_without_counting(
    root: Path, piece: int, end: str, line_end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "first\n\nsecond\nthird line\nlast" + end
    (root / "f").write_text(text.replace("\n", line_end), newline="")
    lines = text.split("\n")[: -1 if end else None]
    monkeypatch.setattr(excerpt, "PIECE", piece)
    monkeypatch.setattr(excerpt, "COUNTED", 1)
    for back in range(1, len(lines)):
        said = await read(root, "f", start_line=-back)
        assert said.startswith(numbered(*lines[-back:], first=-back) + "\n[numbered from the end: ")
        assert "read on" not in said
    said = await read(root, "f", start_line=-3, lines=1)
    assert said.startswith(numbered(lines[-3], first=-3))
    assert "; read on with start_line=-2]" in said
    for back in (len(lines), len(lines) + 1, 99):
        assert (await read(root, "f", start_line=-back)).startswith(numbered(*lines))


async def test_past_the_end(root: Path) -> None:
    (root / "f").write_text("a\nb\n")
    assert await read(root, "f", start_line=3) == "Error: 'f' has 2 lines; line 3 is past its end"
    (root / "one").write_text("a")
    assert await read(root, "one", start_line=2) == "Error: 'one' has 1 line; line 2 is past its end"


@pytest.mark.parametrize("lines", [0, -1])
async def test_no_lines(root: Path, lines: int) -> None:
    (root / "f").write_text("a")
    assert await read(root, "f", lines=lines) == f"Error: lines is {lines}; give a number from 1 to 2,000"


async def test_long_lines_are_cut_between_characters(root: Path) -> None:
    (root / "f").write_text("x" * 2_000 + "\n" + "x" * 2_001 + "\n" + "😀" * 5_000 + "\n" + "x" * 300_000 + "\nend")
    lines = (await read(root, "f")).splitlines()
    assert lines[0] == "     1\t" + "x" * 2_000
    assert lines[1] == "     2\t" + "x" * 2_000 + " [cut: this line has 2,001 bytes]"
    assert lines[2] == "     3\t" + "😀" * 2_000 + " [cut: this line has 20,000 bytes]"
    assert lines[3] == "     4\t" + "x" * 2_000 + " [cut: this line has 300,000 bytes]"
    assert lines[4] == "     5\tend"


async def test_an_answer_is_bounded_and_says_how_to_go_on(root: Path) -> None:
    (root / "many").write_text("x\n" * 5_000)
    said = await read(root, "many")
    assert said.splitlines()[-2:] == ["  2000\tx", "[lines 1-2,000 of 5,000; read on with start_line=2001]"]
    (root / "wide").write_text(("y" * 1_000 + "\n") * 500)
    start, seen = 1, 0
    while True:
        said = await read(root, "wide", start_line=start)
        assert len(said) < 100_000
        seen += said.count("\ty")
        if "read on" not in said:
            break
        start = int(said.rpartition("start_line=")[2].rstrip("]"))
        assert start == seen + 1
    assert seen == 500


async def test_bytes_that_break_the_encoding_later_on(root: Path) -> None:
    (root / "f").write_bytes(b"fine\n" * 20_000 + b"gr\xfc\xdfe\nbin\0ary\n")
    said = (await read(root, "f", start_line=20_000)).splitlines()
    assert said[1:3] == [" 20001\tgr\ufffd\ufffde", " 20002\t[binary data: 7 bytes]"]
    assert said[-1] == "[some bytes are not UTF-8; each is shown as \ufffd]"


async def test_a_file_that_takes_too_long(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "f").write_text("a\n")
    monkeypatch.setattr(excerpt, "SECONDS", -1.0)
    assert "was not reached in" in await read(root, "f")


async def test_of_a_large_file_the_lines_behind_are_not_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpt, "COUNTED", 1_000_000)
    (root / "f").write_text("line\n" * 1_000_000)
    said = (await read(root, "f", lines=1)).splitlines()
    assert said == ["     1\tline", "[line 1 of many more in 5.0 MB; read on with start_line=2]"]


async def test_memory_is_bounded(root: Path) -> None:
    (root / "f").write_bytes((b"x" * 99 + b"\n") * 200_000 + b"y" * 10_000_000)
    await read(root, "f", lines=1)
    tracemalloc.start()
    try:
        for start in (1, 150_000, 200_001, -1):
            assert "\t" in await read(root, "f", start_line=start)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


# ---- what cannot be read


async def test_folders_links_and_special_files(root: Path, tmp_path: Path) -> None:
    (root / "sub").mkdir()
    (root / "a.txt").write_text("inside")
    (tmp_path / "secret").write_text("secret")
    (root / "in").symlink_to("a.txt")
    (root / "out").symlink_to("../secret")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    assert await read(root, "sub") == "Error: 'sub' is a folder; look into it with list_directory"
    assert await read(root, "in") == numbered("inside")
    assert await read(root, "sub/../a.txt") == numbered("inside")
    assert await read(root, str(root / "a.txt")) == numbered("inside")
    assert "is a device, pipe or socket" in await read(root, "pipe")
    assert "links are not followed" in await read(root, "loop")
    for path in ("out", "../secret", str(tmp_path / "secret"), "/etc/passwd", "sub/../../secret", "/proc/self/environ"):
        said = await read(root, path)
        assert said.startswith("Denied:")
        assert "give a path inside" in said


async def test_near_names_are_told(root: Path) -> None:
    (root / "src").mkdir()
    for name in ("README.md", "config.yaml", "src/main.py", "src/tail.py"):
        (root / name).write_text("x")
    assert await read(root, "readme.md") == "Error: there is no 'readme.md'; names like it: 'README.md'"
    assert await read(root, "config.yml") == "Error: there is no 'config.yml'; names like it: 'config.yaml'"
    assert await read(root, "src/mian.py") == "Error: there is no 'src/mian.py'; names like it: 'src/main.py'"
    assert await read(root, "scr/main.py") == "Error: there is no 'scr/main.py'; names like it: 'src'"
    assert await read(root, "nothing") == "Error: there is no 'nothing'; see what there is with list_directory"
    assert await listed(root, path="srx") == ["Error: there is no 'srx'; names like it: 'src'"]


async def test_paths_are_from_the_working_folder_and_so_are_the_answers(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "empty").touch()
    result = await call_tool(READ, {"path": "empty"}, root, cwd=root / "sub")
    assert result.content == "'empty' is empty."
    result = await call_tool(READ, {"path": "../nothing"}, root, cwd=root / "sub")
    assert result.content == f"Error: there is no '{root}/nothing'; see what there is with list_directory"


async def test_further_roots(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "f").write_text("other")
    path = str(tmp_path / "other" / "f")
    assert (await call_tool(READ, {"path": path}, root)).content.startswith("Denied:")
    assert (await call_tool(READ, {"path": path}, root, further=[tmp_path / "other"])).content == numbered("other")


@pytest.fixture
def running(root: Path) -> Iterator[Callable[[dict[str, str]], None]]:
    """Says that a call runs in `root`, of which the gate found that its paths lead there."""
    tokens = []

    def begin(real: dict[str, str]) -> None:
        call = RunningCall("c", "read_file", str(root), {}, lambda _: None, roots=(str(root),), real=real)
        tokens.append(CURRENT.set(call))

    yield begin
    for token in reversed(tokens):
        CURRENT.reset(token)


def test_a_path_leads_where_it_led_when_the_call_was_approved(
    root: Path, tmp_path: Path, running: Callable[[dict[str, str]], None]
) -> None:
    (tmp_path / "secret").write_text("secret")
    (root / "notes.txt").write_text("inside")
    (root / "link").symlink_to("../secret")
    running({"link": str(root / "notes.txt"), "bad": str(root / "link")})
    assert read_file("link") == numbered("inside")
    with pytest.raises(FileRefused, match="links are not followed"):
        read_file("bad")
    running({})
    with pytest.raises(FileRefused, match="outside of the folders that may be used"):
        read_file("link")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("a\0b", "is no file name"),
        ("\ud800", "is no file name"),
        ("x" * 4_001, "is too long: a path has at most 4,000 bytes"),
        ("é" * 2_001, "is too long: a path has at most 4,000 bytes"),
        ("~/notes.txt", "there is no '~/notes.txt'"),
        ("", "is a folder"),
        ("a/" * 200_000, "is too long"),
    ],
    ids=range(7),
)
def test_paths_that_the_gate_did_not_see(
    root: Path, running: Callable[[dict[str, str]], None], path: str, words: str
) -> None:
    running({})
    with pytest.raises(FileRefused) as caught:
        read_file(path)
    assert words in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 300


def test_links_that_may_not_be_read(
    root: Path, running: Callable[[dict[str, str]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "link").symlink_to("somewhere")

    def refuse(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    running({})
    monkeypatch.setattr(os.path, "realpath", refuse)
    with pytest.raises(FileRefused, match="'link' cannot be opened: Permission denied"):
        read_file("link")
    running({".": str(root)})
    assert list_directory() == "link -> somewhere (cannot be followed)"


def test_paths_as_a_model_sees_them(root: Path, running: Callable[[dict[str, str]], None]) -> None:
    running({})
    assert shown(str(root)) == "."
    assert shown(f"{root}/sub/a") == "sub/a"
    assert shown(f"{root}x/a") == f"{root}x/a"
    assert shown("/etc") == "/etc"
    assert real_path("") == real_path(".") == real_path("sub/..") == str(root)
    assert real_path("/etc/../tmp") == os.path.realpath("/tmp")


# ---- list_directory


async def test_a_listing(root: Path, tmp_path: Path) -> None:
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "deep" / "x.py").write_text("1")
    (root / ".git" / "objects").mkdir(parents=True)
    (root / "B.txt").write_text("x" * 4_200)
    (root / "a.txt").touch()
    (root / ".hidden").write_text("x")
    (root / "in").symlink_to("a.txt")
    (root / "folder").symlink_to("src")
    (root / "out").symlink_to("/etc/passwd")
    (root / "gone-out").symlink_to("/nowhere/at/all")
    (root / "gone").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    (root / "a\nb\x1b[31m").touch()
    (root / os.fsdecode(b"bad\xff")).touch()
    files = [
        ".hidden  1 B",
        "B.txt  4.2 KB",
        "a\\nb\\x1b[31m  0 B",
        "a.txt  0 B",
        "bad\\udcff  0 B",
        "folder -> src/",
        "gone -> nowhere (leads nowhere)",
        "gone-out -> /nowhere/at/all (leads outside)",
        "in -> a.txt",
        "loop -> loop (leads nowhere)",
        "out -> /etc/passwd (leads outside)",
        "pipe (pipe)",
    ]
    assert await listed(root) == [".git/", "src/", *files]
    assert await listed(root, path=".", depth=2) == [".git/ (not opened: list it by itself)", "src/", "  deep/", *files]
    assert (await listed(root, depth=5))[1:4] == ["src/", "  deep/", "    x.py  1 B"]
    assert await listed(root, path="folder") == ["deep/"]
    assert await listed(root, path="src/") == ["deep/"]
    assert await listed(root, path=".git") == ["objects/"]
    assert await listed(root, path="src/deep/x.py") == [
        "Error: 'src/deep/x.py' is a file, not a folder; read it with read_file"
    ]


async def test_an_empty_folder(root: Path) -> None:
    (root / "sub").mkdir()
    assert await listed(root, path="sub") == ["sub is empty."]
    assert await listed(root, depth=2) == ["sub/"]


@pytest.mark.parametrize("depth", [0, 6, -1])
async def test_depths(root: Path, depth: int) -> None:
    assert await listed(root, depth=depth) == [f"Error: depth is {depth}; give a number from 1 to 5"]


async def test_what_is_cut_is_the_deepest(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_ENTRIES", 6)
    for folder in ("a", "b", "c"):
        (root / folder).mkdir()
        for name in ("1", "2"):
            (root / folder / name).touch()
    assert await listed(root, depth=2) == [
        "a/",
        "  1  0 B",
        "  2  0 B",
        "b/",
        "  1  0 B",
        "  [1 more are not shown]",
        "c/",
        "  [not listed: too much to show]",
        "[cut at 6 entries; list a folder by itself, or find files with search_files]",
    ]


async def test_folders_with_very_many_names(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (root / f"{number:02}").touch()
    assert len(await listed(root)) == 30
    monkeypatch.setattr(listing, "MAX_ENTRIES", 10)
    assert (await listed(root))[-2] == "[20 more are not shown]"
    monkeypatch.setattr(listing, "_SCANNED", 20)
    assert (await listed(root))[-2] == "[at least 10 more are not shown]"
    monkeypatch.setattr(listing, "MAX_ENTRIES", 25)
    assert (await listed(root))[-1] == "[more are not shown]"


async def test_what_a_rule_closes_is_named_only(root: Path) -> None:
    (root / "keys").mkdir()
    (root / "keys" / "inner").write_text("x")
    (root / "secret.pem").write_text("x" * 100)
    (root / "open.txt").touch()
    rules = [Rule(decision=Decision.DENY, path=("*.pem", "keys", "keys/**"))]
    result = await call_tool(LIST, {"depth": 2}, root, rules=rules)
    assert result.content.splitlines() == [
        "keys/ (closed by a rule, or hidden)",
        "open.txt  0 B",
        "secret.pem (closed by a rule, or hidden)",
    ]
    assert (await call_tool(READ, {"path": "secret.pem"}, root, rules=rules)).content.startswith("Denied:")


async def test_a_folder_that_vanishes_on_the_way(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").mkdir()
    (root / "b").mkdir()
    fill = listing._fill

    def remove(folder: Any, *args: Any) -> int:
        found = fill(folder, *args)
        if folder.level == 1:
            (root / "a").rmdir()
            (root / "b").rmdir()
            (root / "b").symlink_to("/etc")
        return found

    monkeypatch.setattr(listing, "_fill", remove)
    assert await listed(root, depth=2) == ["a/", "  [it is gone]", "b/", "  [it cannot be opened]"]


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (999_949, "999.9 KB"), (999_950, "1.0 MB"), (10**12, "1.0 TB")],
)
def test_sizes(size: int, words: str) -> None:
    assert listing.size_words(size) == words


def test_an_answer_stays_below_what_a_result_may_have() -> None:
    from toolwire.execution.results import RESULT_CHARACTERS

    assert reading.MAX_CHARACTERS + 1_000 < RESULT_CHARACTERS


# ---- the proofs, at small counts


def test_no_path_leads_outside() -> None:
    found = paths(30, seed=4)
    assert found.faults == []
    assert found.runs >= 30 * 9


def test_no_swap_leads_outside() -> None:
    found = races(1_000, seed=1)
    assert found.faults == []
    assert found.runs >= 1_000


def test_large_files() -> None:
    found = large_file(50, seed=1)
    assert found.faults == []
