"""`toolwire run` and MCP servers: which it has, what it asks before it starts one, and a call through to the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.chat_bytes import ANSWER, call_deltas, sse
from cli.command import assert_sentence
from cli.mcp_home import Home, Seat, shown_words
from cli.model_server import ModelServer
from toolwire.cli.console import PlainConsole
from toolwire.cli.mcp_servers import RunServers, servers_for_run
from toolwire.errors import ConfigError

MODEL = ("--model", "openai-compatible:test", "--tools", "demo", "--no-session", "--no-audit")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Home:
    return Home(tmp_path, monkeypatch, capfd)


def for_run(home: Home, *only: str, person: bool = False, config: tuple[str, ...] = ()) -> RunServers:
    root = str(home.project)
    return servers_for_run(root, PlainConsole(), person=person, wanted=True, only=only or None, config=config)


def names(found: RunServers) -> list[str]:
    return [] if found.servers is None else [status.name for status in found.servers.statuses()]


def test_a_run_has_all_servers_that_may_be_started_and_starts_none_yet(home: Home) -> None:
    home.write_own(line=home.entry(), other=home.entry(), off=home.entry(enabled=False))
    home.write_project(theirs=home.entry(), line=home.entry("tools=3"))
    home.pins.pin("line", {"name": "echo", "inputSchema": {}})
    home.pins.pin("line", {"name": "env", "inputSchema": {}})
    found = for_run(home)
    assert names(found) == ["line", "other"]
    assert found.words[0] == "MCP: line (2 tools), other"
    assert found.words[1:] == found.problems
    assert any(
        "theirs of this project needs your consent: toolwire mcp trust theirs" in each for each in found.problems
    )
    assert any("'line' is left out" in each for each in found.problems)
    assert home.lives == []


def test_a_run_has_only_the_servers_that_are_named(home: Home) -> None:
    home.write_own(line=home.entry(), other=home.entry(), off=home.entry(enabled=False))
    (home.project / "more.json").write_text(json.dumps({"mcpServers": {"more": home.entry()}}))
    assert names(for_run(home, "off", "other")) == ["off", "other"]
    assert names(for_run(home, config=("more.json",))) == ["line", "more", "other"]
    assert names(for_run(home, "more", config=("more.json",))) == ["more"]
    with pytest.raises(ConfigError, match="no MCP server lime here") as raised:
        for_run(home, "lime")
    assert "There are: line, off, other." in raised.value.hint
    with pytest.raises(ConfigError, match=r"no file none\.json"):
        for_run(home, config=("none.json",))


def test_no_server_is_wanted_and_no_file_is_read(home: Home) -> None:
    home.own_file.parent.mkdir(parents=True)
    home.own_file.write_text("no JSON")
    found = servers_for_run(".", PlainConsole(), person=True, wanted=False, only=None, config=())
    assert found == RunServers(None, [], [])
    with pytest.raises(ConfigError, match="--no-mcp"):
        servers_for_run(".", PlainConsole(), person=True, wanted=False, only=["line"], config=())
    with pytest.raises(ConfigError, match="not JSON"):
        for_run(home)


def test_without_servers_there_is_nothing_to_say(home: Home) -> None:
    assert for_run(home) == RunServers(None, [], [])


def test_a_person_is_asked_about_a_server_of_the_project_once(home: Home) -> None:
    home.write_project(one=home.entry("one"), two=home.entry("two"))
    with Seat("n", "y") as seat:
        found = for_run(home, person=True)
    assert names(found) == ["two"]
    assert found.words[0] == "MCP: two"
    assert "one of this project needs your consent" in found.problems[0]
    first, _, second = seat.screen.partition("[y/n]")
    assert (shown_words(first), shown_words(second)) == (home.words("one"), home.words("two"))
    with Seat("n") as seat:
        for_run(home, person=True)
    assert "MCP server two" not in seat.screen
    assert home.lives == []


CALL = sse(*call_deltas("mcp__line__echo", '{"text": "hello from afar"}'))


def test_a_model_calls_a_tool_that_was_looked_at(home: Home) -> None:
    home.write_own(line=home.entry(risk="read"))
    assert home.run("mcp", "trust", "line", "--yes").code == 0
    with ModelServer([CALL, ANSWER]) as server:
        ran = home.run("run", "Say it", *MODEL, "--base-url", server.url)
    assert ran.code == 0, ran.err
    assert "MCP: line (11 tools)" in ran.err
    assert "→ hello from afar" in ran.err
    assert ran.out == "It is 391.\n"
    assert "mcp__line__echo" in [tool["function"]["name"] for tool in server.requests[0]["tools"]]


def test_a_new_tool_is_offered_and_not_run_where_nobody_is_asked(home: Home) -> None:
    home.write_own(line=home.entry(f"calls={home.folder / 'calls'}", risk="read"))
    with ModelServer([CALL, ANSWER]) as server:
        ran = home.run("run", "Say it", *MODEL, "--base-url", server.url, "--mode", "full")
    assert "mcp__line__echo" in [tool["function"]["name"] for tool in server.requests[0]["tools"]]
    assert "nobody has looked at this tool" in ran.err
    assert not (home.folder / "calls").exists()
    assert not home.pins.known("line")


def test_a_server_without_consent_is_left_out_and_told_of(home: Home) -> None:
    home.write_project(theirs=home.entry())
    with ModelServer([ANSWER, ANSWER, ANSWER]) as server:
        ran = home.run("run", "Hello", *MODEL, "--base-url", server.url)
        assert "MCP server theirs of this project needs your consent: toolwire mcp trust theirs" in ran.err
        ran = home.run("run", "Hello", *MODEL, "--base-url", server.url, "--json")
        assert ran.code == 0
        assert "needs your consent" in ran.err
        ran = home.run("run", "Hello", *MODEL, "--base-url", server.url, "--no-mcp")
        assert "MCP" not in ran.out + ran.err
    assert home.lives == []
    ran = home.run("run", "Hello", *MODEL, "--base-url", server.url, "--no-mcp", "--mcp", "theirs")
    assert_sentence(ran, 2, "--no-mcp")
