"""What may be typed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from toolwire.chat.commands.command import Command, Suggestion
from toolwire.chat.completion import NOTHING, Completer, Completions
from toolwire.chat.desk import Desk
from toolwire.chat.talk import Talk
from toolwire.errors import ConfigError, McpFailed


async def nothing(talk: Talk, desk: Desk, typed: str) -> None:
    pass


def models(talk: Talk, typed: str) -> Sequence[Suggestion]:
    if typed == "broken":
        raise ConfigError("no models")
    known = ("openai:gpt-4.1", "anthropic:claude", "local:tiny")
    return [Suggestion(each, "a model") for each in known if typed in each]


COMMANDS = {
    each.name: each
    for each in (
        Command("model", "Another model.", nothing, "[PROVIDER:MODEL]", complete=models),
        Command("mode", "What runs.", nothing, "[MODE]"),
        Command("help", "Lists them.", nothing),
        Command("quit", "Ends.", nothing),
    )
}


class Servers:
    """Two servers, of which one is there."""

    def __init__(self) -> None:
        self.listed = 0

    def statuses(self) -> list[Any]:
        return [
            SimpleNamespace(name=name, state=state, transport="x")
            for name, state in (("notes", "ready"), ("idle", "idle"), ("dark", "off"))
        ]

    def connection(self, name: str) -> Servers:
        return self

    async def list_resources(self) -> list[dict[str, str]]:
        self.listed += 1
        if self.listed > 1:
            raise McpFailed("gone", why="lost")
        return [{"uri": "memo://1", "name": "first"}, {"uri": "memo://2"}, {"uri": "with space"}]


def completer(root: Path, servers: Servers | None = None) -> Completer:
    for name in ("src/app.py", "docs/my notes.md", "my folder/in it.txt", 'odd"name', "README.md", ".env", "new\nline"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    talk = SimpleNamespace(
        assembly=SimpleNamespace(workspace=SimpleNamespace(root=str(root))), made=SimpleNamespace(servers=servers)
    )
    return Completer(cast(Talk, talk), COMMANDS)


def taken(text: str, found: Completions, row: int = 0) -> str:
    return text[: found.start] + found.rows[row].put + text[found.end :]


ROWS = [
    ("/", ["/model ", "/mode ", "/help", "/quit"]),
    ("/mo", ["/model ", "/mode "]),
    ("/el", ["/model ", "/help"]),
    ("/ql", []),
    ("/qt", ["/quit"]),
    ("/QUI", ["/quit"]),
    ("/quit", []),
    ("/x", []),
    ("//m", []),
    ("/etc/ho", []),
    ("/model ", ["/model openai:gpt-4.1", "/model anthropic:claude", "/model local:tiny"]),
    ("/model   cl", ["/model   anthropic:claude"]),
    ("/model local:tiny", []),
    ("/model broken", []),
    ("/unknown x", []),
    ("/help x", []),
    ("!@READ", []),
    ("!ls /", []),
    ("hello", []),
    ("see @READ", ["see @README.md "]),
    ("see @README.md", []),
    ("@env", ["@.env "]),
    ("@src/", ["@src/", "@src/app.py "]),
    ("@notes", ['@"docs/my notes.md" ']),
    ('@"my no', ['@"docs/my notes.md" ']),
    ('@"my folder/', ['@"my folder/', '@"my folder/in it.txt" ']),
    ("@odd", []),
    ("@new", []),
    ("me@READ", []),
    ("@./s", ["@./src/"]),
    ("@./src/", ["@./src/app.py "]),
    ("@./nothing/", []),
    ("@mcp:", []),
]


@pytest.mark.parametrize(("text", "rows"), ROWS, ids=[repr(text) for text, _ in ROWS])
async def test_what_is_suggested(text: str, rows: list[str], tmp_path: Path) -> None:
    found = await completer(tmp_path)(text, len(text))
    assert [taken(text, found, row) for row in range(len(found.rows))] == rows


async def test_in_the_middle_of_a_text(tmp_path: Path) -> None:
    complete = completer(tmp_path)
    text = "see @REA and more"
    assert taken(text, await complete(text, 8)) == "see @README.md and more"
    assert taken("/mo gpt", await complete("/mo gpt", 3), 1) == "/mode gpt"


async def test_files_elsewhere_are_found_by_their_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = completer(tmp_path / "project")
    (tmp_path / "other.txt").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    for typed in ("@../oth", "@~/oth", f"@{tmp_path}/oth"):
        found = await complete(typed, len(typed))
        assert [row.put.strip() for row in found.rows] == [f"{typed}er.txt"]


async def test_what_is_named_is_told(tmp_path: Path) -> None:
    complete = completer(tmp_path)
    text = "@README.md and @nobody and @src/app.py."
    found = await complete(text, len(text))
    assert [text[start:end] for start, end in found.mentioned] == ["@README.md", "@src/app.py"]
    assert await complete("no names", 3) == NOTHING


async def test_rows_say_what_was_typed_and_what_they_are(tmp_path: Path) -> None:
    found = await completer(tmp_path)("/od", 3)
    row = found.rows[0]
    assert (row.shown, row.words, row.goes_on) == ("/model [PROVIDER:MODEL]", "Another model.", True)
    assert "".join(row.shown[place] for place in row.places) == "od"
    assert found.kind == "commands"


async def test_more_than_there_is_room_for_are_counted(tmp_path: Path) -> None:
    complete = completer(tmp_path)
    for number in range(80):
        (tmp_path / f"many{number}").touch()
    found = await complete("@many", 5)
    assert len(found.rows) == 50
    assert found.more == 30


async def test_what_servers_have(tmp_path: Path) -> None:
    servers = Servers()
    complete = completer(tmp_path, servers)
    assert "@mcp:" in [row.put for row in (await complete("@", 1)).rows]
    assert [row.put for row in (await complete("@mcp:", 5)).rows] == ["@mcp:notes:", "@mcp:idle:"]
    assert [row.put for row in (await complete("@mcp:id", 7)).rows] == ["@mcp:idle:"]
    text = "@mcp:notes:2"
    assert [row.put for row in (await complete(text, len(text))).rows] == ["@mcp:notes:memo://2 "]
    text = "@mcp:notes:"
    assert len((await complete(text, len(text))).rows) == 2
    assert servers.listed == 1
    assert not (await complete("@mcp:idle:", 10)).rows
