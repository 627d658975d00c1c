"""The slash commands, on a desk that keeps what it is told."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chat.talking import MODEL, KeptDesk, talking, told
from toolwire.agent.sessions.store import SessionInfo
from toolwire.approval.rules import Decision, Rule
from toolwire.chat.commands import ALIASES, COMMANDS, NAMES, find_command, run_command
from toolwire.chat.commands.layout import cells, code
from toolwire.chat.commands.sessions import ago, session_words
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
    assert all(len(command.summary) <= 47 for command in COMMANDS.values()), "one line in a table at 80 columns"


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
        assert (desk.rows[0].value, desk.rows[0].group) == (MODEL, "Asked now")
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


async def test_what_was_decided_in_the_session_is_forgotten(root: Path) -> None:
    async with talking(root) as talk:
        assert "Nothing was decided" in (await ran(talk, "approvals forget")).said[0]
        with pytest.raises(ConfigError, match="does not know 'forgte'"):
            await ran(talk, "approvals forgte")
        talk.set_mode("auto-edit")
        allowed = Rule(decision=Decision.ALLOW, tool=("run_bash",), command=("make *",), source="session decision")
        talk.agent.policy.remember(allowed)
        words = (await ran(talk, "approvals")).said[0]
        assert "make \\*" in words
        assert "`/approvals forget` takes these back" in words
        assert "is forgotten" in (await ran(talk, "approvals forget")).said[0]
        assert allowed not in talk.agent.policy.rules
        assert talk.mode == "auto-edit"
        assert "No rules of yours yet" in (await ran(talk, "approvals")).said[0]
        assert [each.text for each in COMMANDS["approvals"].complete(talk, "fo")] == ["forget"]
        assert not COMMANDS["approvals"].complete(talk, "x")


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
    assert "openai-compatible:test" in words
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
        assert (await ran(talk, "quit")).is_left
        assert (await ran(talk, "wire")).panels == ["wire"]
        assert (await ran(talk, "copy")).copied == "Hello."
        assert "Lists the commands" in (await ran(talk, "help help")).said[0]


@pytest.mark.parametrize("alias", ALIASES)
def test_another_name_is_the_same_command(alias: str) -> None:
    assert alias not in COMMANDS
    assert find_command(alias.upper()) is ALIASES[alias]
    assert alias in ALIASES[alias].aliases


def test_no_name_is_there_twice() -> None:
    assert len(set(NAMES)) == len(NAMES) == len(COMMANDS) + sum(len(each.aliases) for each in COMMANDS.values())
    assert find_command("cle").name == "new"
    assert find_command("EXIT").name == "quit"


async def test_help_lists_everything_and_says_what_else_a_command_is_called(root: Path) -> None:
    async with talking(root) as talk:
        words = (await ran(talk, "help")).said[0]
        assert all(f"/{name}" in words for name in COMMANDS)
        assert "[FILE \\| off]" in words
        assert "/clear" in (await ran(talk, "? /new")).said[0]
        with pytest.raises(ConfigError, match="no command /nosuch"):
            await ran(talk, "help nosuch")


async def test_status_tells_how_the_chat_is_set_up(root: Path) -> None:
    async with talking(root) as talk:
        words = (await ran(talk, "status")).said[0]
        assert talk.session is not None
        assert cells(str(root), 500) in words
        assert talk.session.id in words
        assert "test, at http://127" in words
        assert "ask: reading" in words
        assert "no tool runs commands" in words
    async with talking(root, options=Options(no_mcp=True, tools="builtin", sandbox=False)) as talk:
        words = (await ran(talk, "status")).said[0]
        (asks,) = {tool.asks for tool in talk.agent.tools if tool.command and tool.asks}
        assert cells(asks) in words


async def test_a_server_of_the_persons_own_stays_when_only_the_model_is_another(root: Path) -> None:
    async with talking(root, ["Hello."]) as talk:
        url = talk.made.base_url
        await ran(talk, "model other")
        assert (talk.model, talk.made.base_url) == ("openai-compatible:other", url)
        assert "already" in (await ran(talk, "provider openai-compatible")).said[0]


@pytest.mark.parametrize(
    "line", ["model a b", "provider \x1b[2J", "parser ../x", "tools \u202e", "mode FULL", "resume x\ny"]
)
async def test_what_makes_no_sense_changes_nothing(root: Path, line: str) -> None:
    async with talking(root, ["Hello."]) as talk:
        before = talk.agent
        with pytest.raises(ConfigError):
            await ran(talk, line)
        assert talk.agent is before
        assert str(talk.mode) == "ask"


async def test_the_embedded_model_must_be_there_before_it_is_asked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.local.weights.installed_weights", lambda: None)
    async with talking(root) as talk:
        with pytest.raises(ConfigError, match="not installed"):
            await ran(talk, "model local")
        assert talk.model == MODEL


async def test_tools_cannot_be_others_in_the_middle_of_an_answer(root: Path) -> None:
    async with talking(root, ["Hello."]) as talk:
        async for _ in talk.run("Hi"):
            with pytest.raises(ConfigError, match="waits for the end"):
                await ran(talk, "tools none")
            assert "calculate" in (await ran(talk, "tools")).said[0]


async def test_what_tools_changed_is_shown(root: Path) -> None:
    answers = [
        call("write_file", path="new.md", content="```\n**x**\n"),
        call("write_file", path="new.md", content="```\n**y**\n"),
        "Done.",
    ]
    async with talking(root, answers, options=Options(no_mcp=True, tools="builtin")) as talk:
        assert "No tool has changed" in (await ran(talk, "diff")).said[0]
        await told(talk, "Write")
        words = (await ran(talk, "diff")).said[0]
        assert "new.md (+2 −0)" in words
        assert "\n````diff\n--- /dev/null\n" in words
        assert words.count("+**y**") == 1
        assert "**x**" not in words
        (root / "new.md").unlink()
        assert "No tool has changed" in (await ran(talk, "diff")).said[0]


async def test_a_change_is_seen_before_it_is_taken_back_and_only_where_the_file_is_as_it_was_left(root: Path) -> None:
    answers = [call("write_file", path="a.txt", content="new\n"), "Done."]
    async with talking(root, answers, options=Options(no_mcp=True, tools="builtin")) as talk:
        await told(talk, "Write")
        (root / "a.txt").write_text("by hand\n")
        desk = await ran(talk, "undo", True)
        assert "-by hand" in desk.said[0]
        assert "was not taken back" in desk.problems[0][0]
        assert (root / "a.txt").read_text() == "by hand\n"


async def test_a_recording_is_begun_and_ended(root: Path) -> None:
    async with talking(root, ["Hello."]) as talk:
        desk = await ran(talk, "record my `file`.jsonl")
        assert f"``{root}/my `file`.jsonl``" in desk.said[0]
        assert "is being written" in (await ran(talk, "record")).said[0]
        assert [each.text for each in find_command("record").complete(talk, "o")] == ["off"]
        await told(talk, "Hi")
        desk = await ran(talk, "record off")
        assert "toolwire inspect '" in desk.said[0]
        assert (root / "my `file`.jsonl").stat().st_size > 100
        with pytest.raises(ConfigError, match="nothing is being recorded"):
            await ran(talk, "record off")


async def test_a_session_is_found_by_its_words_and_the_store_asked_once(root: Path) -> None:
    async with talking(root, ["Hello.", "Other."]) as talk:
        await told(talk, "Count the [bold]apples[/]")
        await ran(talk, "new")
        complete = find_command("resume").complete
        (found,) = complete(talk, "APPLES")
        assert found.words.startswith("Count the [bold]apples[/] · just now")
        assert talk.store is not None
        listed = talk.store.list
        talk.store.list = lambda: pytest.fail("asked again")  # type: ignore[method-assign]
        assert complete(talk, "apples") == [found]
        talk.store.list = listed  # type: ignore[method-assign]


async def test_all_completions_are_quick(root: Path) -> None:
    async with talking(root) as talk:
        for command in COMMANDS.values():
            command.complete(talk, "")
            took = []
            for _ in range(3):
                began = time.perf_counter()
                found = command.complete(talk, "a")
                took.append(time.perf_counter() - began)
            assert min(took) < 0.25, f"{command.name} looks for something on a disk or a network"
            assert all(each.text for each in found)


NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
TIMES = {
    "2026-11-16T11:59:30.000Z": "just now",
    "2026-11-16T12:10:00.000Z": "just now",
    "2026-11-16T11:59:00.000Z": "1 minute ago",
    "2026-11-16T11:01:00.000Z": "59 minutes ago",
    "2026-11-16T10:59:00.000Z": "1 hour ago",
    "2026-11-15T12:30:00.000Z": "23 hours ago",
    "2026-11-15T11:00:00.000Z": "yesterday",
    "2026-11-13T12:00:00.000Z": "3 days ago",
    "2026-10-12T12:00:00.000Z": "12 Oct",
    "2024-10-12T12:00:00.000Z": "12 Oct 2024",
    "": "",
    "\x1b[2J": "␛[2J",
    "2026-11-16": "2026-11-16",
}


@pytest.mark.parametrize("time", TIMES)
def test_times_are_told_as_people_say_them(time: str) -> None:
    assert ago(time, NOW) == TIMES[time]


@pytest.mark.parametrize(("state", "words"), [("finished", "1 turn"), ("", "1 turn"), ("cut off", "1 turn · cut off")])
def test_a_session_says_how_it_ended_where_that_matters(state: str, words: str) -> None:
    info = SessionInfo(id="x", title="t", model="m\n", cwd="/", created="", updated="", turns=1, state=state, entries=2)
    assert session_words(info).removeprefix(" · ").removesuffix(" ") == f"{words} · m"


@pytest.mark.parametrize("text", ["x", "`", "``a`", "", " ", "a|b"])
def test_nothing_ends_a_span_of_code(text: str) -> None:
    span = code(text)
    fence = span[: len(span) - len(span.lstrip("`"))]
    inside = span.removeprefix(fence).removesuffix(fence)
    assert fence not in inside.strip("`") or not text
    assert not inside.startswith("`")
    assert not inside.endswith("`")
    assert text in inside


def test_a_cell_obeys_nothing() -> None:
    assert cells("a|b `c` [x](y)\n\x1b[2J") == "a\\|b \\`c\\` \\[x\\](y) ␛\\[2J"
    assert len(cells("x" * 1_000)) < 220
