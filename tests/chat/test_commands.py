"""The slash commands, on a desk that keeps what it is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chat.talking import MODEL, KeptDesk, talking, told
from toolwire.chat.commands import COMMANDS, find_command, run_command
from toolwire.chat.commands.layout import cells
from toolwire.chat.talk import Talk
from toolwire.cli.assembly import Options
from toolwire.errors import ConfigError
from toolwire.testing import call

NAMED = frozenset(
    {
        *("model", "provider", "tools", "mcp", "mode", "approvals", "parser", "sessions", "resume", "export"),
        *("compact", "usage", "record", "help", "quit", "wire"),
    }
)


async def ran(talk: Talk, line: str, *answers: object) -> KeptDesk:
    desk = KeptDesk(*answers)
    name, _, rest = line.partition(" ")
    await run_command(talk, desk, name, rest)
    return desk


def test_every_command_that_people_are_promised_is_there() -> None:
    assert set(COMMANDS) >= NAMED
    assert all(command.summary.endswith(".") for command in COMMANDS.values())


@pytest.mark.parametrize(
    ("typed", "hint"), [("modle", "/model"), ("mo", "/model, /mode"), ("", "/help"), ("zzzzzz", "/help")]
)
def test_a_command_that_there_is_not_is_told_with_the_nearest(typed: str, hint: str) -> None:
    with pytest.raises(ConfigError) as failed:
        find_command(typed)
    assert hint in failed.value.hint


def test_an_unmistakable_beginning_is_enough() -> None:
    assert find_command("appr").name == "approvals"


async def test_another_model_is_chosen_from_a_list_or_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "canary-of-the-key")
    async with talking(root, ["Hello."]) as talk:
        desk = await ran(talk, "model", None)
        assert talk.model == MODEL
        rows = {row.value: row for row in desk.rows}
        assert "local" in rows
        assert any(value.startswith("anthropic:") and "ANTHROPIC_API_KEY" in row.words for value, row in rows.items())
        assert "canary" not in str(desk.rows)
        groq = next(value for value in rows if value.startswith("groq:"))
        await ran(talk, "model", groq)
        assert talk.model == groq
        desk = await ran(talk, "model other-model")
        assert talk.model == "groq:other-model"
        assert "other-model" in desk.said[0]
        desk = await ran(talk, "model groq:other-model")
        assert "already" in desk.said[0]


async def test_a_provider_without_its_key_says_what_is_missing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    async with talking(root) as talk:
        with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
            await ran(talk, "provider anthropic")
        with pytest.raises(ConfigError, match="no provider 'nosuch'"):
            await ran(talk, "provider nosuch")
        desk = await ran(talk, "provider")
        assert {row.group for row in desk.rows} == {"Ready to be asked", "Not set up"}
        assert talk.model == MODEL


async def test_the_parser_is_another_from_now_on(root: Path) -> None:
    async with talking(root) as talk:
        desk = await ran(talk, "parser", "xml")
        assert talk.agent.parser == "xml"
        assert "xml" in desk.said[0]
        with pytest.raises(ConfigError):
            await ran(talk, "parser nosuch")
        assert talk.agent.parser == "xml"


async def test_tools_are_listed_and_changed(root: Path) -> None:
    async with talking(root) as talk:
        listed = (await ran(talk, "tools")).said[0]
        assert all(cells(tool.name) in listed for tool in talk.agent.tools)
        await ran(talk, "tools none")
        assert not list(talk.agent.tools)
        assert "no tools" in (await ran(talk, "tools")).said[0]
        await ran(talk, "tools builtin")
        assert "write_file" in [tool.name for tool in talk.agent.tools]
        with pytest.raises(ConfigError, match="no set of tools"):
            await ran(talk, "tools all")


async def test_the_widest_mode_needs_a_yes(root: Path) -> None:
    async with talking(root) as talk:
        desk = await ran(talk, "mode full", False)
        assert str(talk.mode) == "ask"
        assert "still ask" in desk.said[0]
        await ran(talk, "mode full", True)
        assert str(talk.mode) == "full"
        desk = await ran(talk, "mode", "read-only")
        assert str(talk.mode) == "read-only"
        assert desk.asked == ["What runs without a question?"]


@pytest.fixture
def own_rules(root: Path) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"], "toolwire", "policy.toml")
    path.parent.mkdir(parents=True)
    path.write_text('[[rule]]\ndecision = "deny"\npath = "secrets/**"\n')


@pytest.mark.usefixtures("own_rules")
async def test_rules_are_shown_with_where_they_stand(root: Path) -> None:
    async with talking(root) as talk:
        words = (await ran(talk, "approvals")).said[0]
    assert "secrets/" in words
    assert "deny" in words
    assert "built in" not in words


async def test_mcp_says_that_there_are_no_servers(root: Path) -> None:
    async with talking(root) as talk:
        assert "no MCP servers" in (await ran(talk, "mcp")).said[0]


async def test_a_conversation_is_exported_and_another_resumed(root: Path) -> None:
    async with talking(root, ["Hello **you**.", "Other."]) as talk:
        with pytest.raises(ConfigError, match="nothing to export"):
            await ran(talk, "export")
        await told(talk, "Hi")
        assert talk.session is not None
        first = talk.session.id
        await ran(talk, "export talk.md")
        assert "Hello **you**." in (root / "talk.md").read_text()
        desk = await ran(talk, "export talk.md", False)
        assert "Replace it?" in desk.asked[0]
        await ran(talk, "export talk.json")
        assert (root / "talk.json").read_text().startswith("{")
        desk = await ran(talk, "new")
        assert desk.reloads == 1
        await told(talk, "Something else")
        desk = await ran(talk, "sessions", first)
        assert [row.name for row in desk.rows] == ["Hi"]
        assert talk.session.id == first
        await ran(talk, "resume")
        assert talk.session.id != first
        assert find_command("resume").complete(talk, first[:4])[0].text == first


async def test_usage_tells_tokens_and_room(root: Path) -> None:
    async with talking(root, ["Hello."], options=Options(no_mcp=True, tools="demo", context_tokens=10_000)) as talk:
        assert "Nothing was asked" in (await ran(talk, "usage")).said[0]
        await told(talk, "Hi")
        words = (await ran(talk, "usage")).said[0]
    assert "openai\\-compatible:test" in words
    assert "of the 10,000" in words
    assert "[prices." in words


async def test_the_newest_change_of_a_tool_is_taken_back(root: Path) -> None:
    options = Options(no_mcp=True, tools="builtin")
    answers = [call("write_file", path="a.txt", content="new\n"), "Done."]
    (root / "a.txt").write_text("old\n")
    async with talking(root, answers, options=options) as talk:
        assert "No tool" in (await ran(talk, "undo")).said[0]
        await told(talk, "Write")
        assert (root / "a.txt").read_text() == "new\n"
        await ran(talk, "undo", False)
        assert (root / "a.txt").read_text() == "new\n"
        desk = await ran(talk, "undo", True)
        assert (root / "a.txt").read_text() == "old\n"
        assert "a.txt" in desk.said[0]


async def test_some_commands_wait_for_the_end_of_an_answer(root: Path) -> None:
    async with talking(root, ["Hello."]) as talk:
        async for _ in talk.run("Hi"):
            with pytest.raises(ConfigError, match="/model waits"):
                await ran(talk, "model local")
            assert (await ran(talk, "help")).said
        assert (await ran(talk, "quit")).left
        assert (await ran(talk, "wire")).panels == ["wire"]
        assert (await ran(talk, "copy")).copied == "Hello."
        assert "Lists the commands" in (await ran(talk, "help help")).said[0]


def test_a_cell_obeys_nothing() -> None:
    assert cells("a|b `c` [x](y)\n\x1b[2J") == "a\\|b \\`c\\` \\[x\\]\\(y\\) ␛\\[2J"
    assert len(cells("x" * 1_000)) < 220
