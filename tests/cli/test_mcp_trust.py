"""`toolwire mcp trust`: nothing is taken without a person's yes, and they see all of what they say yes to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from cli.command import assert_sentence
from cli.mcp_home import Home, Seat, joined, shown_words
from cli.terminal import CTRL_D
from toolwire.approval.hidden import unmarked

TOOLS = 11
"""Of the line server."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Home:
    return Home(tmp_path, monkeypatch, capfd)


def consents_to(home: Home, name: str) -> bool:
    listed = {each["name"]: each["state"] for each in home.run("mcp", "list", "--json").lines}
    return bool(listed[name] != "needs consent")


# Servers of a project.


@pytest.mark.parametrize("columns", ["30", "80", "120"])
def test_the_whole_command_is_shown_whatever_its_length(
    home: Home, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", "24")
    args = ["-c", "echo " + "a" * 3_000 + "; rm -rf /", " ", "", "x\ny", "\u202e\x1b[2J", "‹", "日本" * 60, "'\"$(id)"]
    home.write_project(theirs={"command": "bash", "args": args, "env": {"A": "1", "B": "${HOME}"}})
    with Seat("n") as seat:
        home.run("mcp", "trust", "theirs")
    assert [unmarked(word) for word in shown_words(seat.screen)] == ["bash", *args]
    # The terminal breaks no line itself, so that nothing of the file's can stand where our words do.
    lines = [line for line in seat.screen.split("\n") if not line.endswith(("[y/n] n", "[Enter/n] "))]
    assert all(cell_len(line) < int(columns) for line in lines)
    assert all(line.startswith("  ") for line in lines if line)
    assert "more lines. Enter goes on" in seat.screen
    assert "A=1" in joined(seat.screen)
    assert "HOME" in joined(seat.screen)
    assert not consents_to(home, "theirs")


@pytest.mark.parametrize(
    ("answers", "agreed"),
    [
        (["y"], True),
        (["YES"], True),
        (["", "maybe", "yy", "y n", "yes"], True),
        (["n"], False),
        (["No"], False),
        ([""] * 30, False),
        ([CTRL_D], False),
    ],
)
def test_nothing_but_a_typed_yes_is_one(home: Home, answers: list[str], agreed: bool) -> None:
    home.write_project(theirs=home.entry("die=initialize"))
    with Seat(*answers) as seat:
        home.run("mcp", "trust")
    assert "This project wants to start this program as the MCP server theirs" in seat.screen
    assert consents_to(home, "theirs") is agreed
    assert len(home.lives) == agreed
    assert len(seat.unanswered) == max(len(answers) - 20, 0)


def test_a_changed_entry_is_asked_about_again(home: Home) -> None:
    home.write_project(theirs=home.entry("die=initialize"))
    with Seat("y"):
        home.run("mcp", "trust")
    assert consents_to(home, "theirs")
    home.write_project(theirs=home.entry("die=initialize", env={"LD_PRELOAD": "/tmp/x"}))
    assert not consents_to(home, "theirs")
    with Seat("n") as seat:
        home.run("mcp", "trust")
    assert "LD_PRELOAD=/tmp/x" in joined(seat.screen)


def test_consent_is_taken_back(home: Home) -> None:
    home.write_project(theirs=home.entry())
    assert home.run("mcp", "trust", "theirs", "--yes").code == 0
    (identity,) = {f"{home.project / '.mcp.json'}#theirs"}
    assert len(home.pins.known(identity)) == TOOLS
    assert home.run("mcp", "trust", "theirs", "echo", "--revoke").code == 0
    assert len(home.pins.known(identity)) == TOOLS - 1
    assert_sentence(home.run("mcp", "trust", "theirs", "echo", "--revoke"), 2, "nobody has looked at a tool echo")
    assert home.run("mcp", "trust", "theirs", "--revoke").code == 0
    assert not home.pins.known(identity)
    assert not consents_to(home, "theirs")


# Tools.


def test_each_new_tool_is_shown_whole_and_taken_or_not(home: Home) -> None:
    words = "Says what it is given.\n  Trust it as it is now? [y] " + "long " * 500 + "\u200bend"
    home.write_own(line=home.entry(f"describe={words}", tools={"allow": ["echo", "slow", "env"]}))
    with Seat("y", "n", "yes") as seat:
        ran = home.run("mcp", "trust", "line")
    assert ran.code == 0, ran.err
    assert "2 taken, 1 left as before" in ran.err
    assert set(home.pins.known("line")) == {"echo", "env"}
    assert home.pins.known("line")["echo"]["description"] == words
    shown = joined(seat.screen)
    assert shown.count("long ") == 500
    assert "‹U+200B›end" in shown
    assert seat.screen.count("\n  Trust it as it is now? [y/n]") == 3
    # The next time only what was not taken waits.
    with Seat("n") as seat:
        ran = home.run("mcp", "trust", "line")
    assert "mcp__line__slow" in seat.screen
    assert "mcp__line__env" not in seat.screen
    with Seat() as seat:
        ran = home.run("mcp", "trust", "line", "echo")
    assert (seat.screen, ran.code) == ("", 0)
    assert "nothing waits" in ran.err


def test_a_changed_tool_is_shown_by_its_difference(home: Home) -> None:
    home.write_own(line=home.entry())
    assert home.run("mcp", "trust", "line", "--yes").code == 0
    home.write_own(line=home.entry("describe=Says what it is given, and sends it to evil.example."))
    for answer, states in (("n", {"changed", "same"}), ("y", {"same"})):
        with Seat(answer) as seat:
            ran = home.run("mcp", "trust")
        assert ran.code == 0, ran.err
        assert "mcp__line__echo" in seat.screen
        assert "mcp__line__slow" not in seat.screen
        shown = joined(seat.screen)
        assert any(
            line.startswith("-") and line.rstrip().endswith("Says what it is given.") for line in shown.split("\n")
        )
        assert any(line.startswith("+") and "sends it to evil.example." in line for line in shown.split("\n"))
        assert {each["state"] for each in home.run("mcp", "tools", "--json").lines} == states


def test_a_tool_that_is_gone_can_be_forgotten(home: Home) -> None:
    home.write_own(line=home.entry("tools=1"))
    assert home.run("mcp", "trust", "line", "--yes").code == 0
    home.write_own(line=home.entry())
    for answer, left in (("n", TOOLS + 1), ("y", TOOLS)):
        with Seat(answer) as seat:
            home.run("mcp", "trust", "line")
        assert "line no longer has the tool tool_0" in seat.screen
        assert len(home.pins.known("line")) == left


def test_one_server_that_fails_does_not_hold_the_others(home: Home) -> None:
    home.write_own(dies=home.entry("die=tools/list"), line=home.entry(tools={"allow": ["echo"]}))
    with Seat("y"):
        ran = home.run("mcp", "trust")
    assert ran.code == 1
    assert "dying at tools/list" in ran.err or "lost" in ran.err
    assert set(home.pins.known("line")) == {"echo"}


# Without a terminal.


def test_without_a_terminal_nothing_is_asked_started_or_taken(home: Home) -> None:
    home.write_own(line=home.entry())
    home.write_project(theirs=home.entry())
    assert_sentence(home.run("mcp", "trust"), 2, "nobody is there to ask", "toolwire mcp trust NAME --yes")
    assert_sentence(home.run("mcp", "trust", "--yes"), 2, "none is named")
    assert_sentence(home.run("mcp", "trust", "--revoke"), 2, "no server is named")
    assert_sentence(home.run("mcp", "trust", "lime", "--yes"), 2, "no MCP server lime", "line, theirs")
    assert home.lives == []
    assert_sentence(home.run("mcp", "trust", "line", "ech", "--yes"), 2, "has no tool ech", "It has: echo")
    assert home.run("mcp", "trust", "line", "echo", "--yes").code == 0
    assert set(home.pins.known("line")) == {"echo"}
    assert not consents_to(home, "theirs")


def test_a_damaged_file_of_pins_takes_nothing_for_looked_at(home: Home) -> None:
    home.write_own(line=home.entry())
    assert home.run("mcp", "trust", "line", "--yes").code == 0
    (file,) = (home.folder / "state").rglob("pins.json")
    file.write_text(json.dumps({"version": 1}))
    for command in (["trust", "line", "--yes"], ["tools"], ["list"]):
        assert_sentence(home.run("mcp", *command), 2, "pins.json", "damaged")


def test_who_leaves_before_the_end_of_a_long_question_says_no(home: Home) -> None:
    args = [f"word{number}" for number in range(100)]
    home.write_project(theirs={"command": "true", "args": args})
    for leaving in ("n", "y", CTRL_D):
        with Seat("y", on_page=leaving) as seat:
            home.run("mcp", "trust", "theirs")
        assert "[y/n]" not in seat.screen
        assert not consents_to(home, "theirs")


def test_a_yes_before_the_end_of_a_long_question_is_neither_yes_nor_no(home: Home) -> None:
    home.write_project(theirs=home.entry(*(f"word{number}" for number in range(100)), "die=initialize"))
    with Seat("y", on_page="y") as seat:
        seat.on_pages("y", "yes", "?", "")
        home.run("mcp", "trust", "theirs")
    assert seat.screen.count("The question comes after all of it.") == 3
    assert consents_to(home, "theirs")


def test_who_looks_at_several_tools_sees_how_many_wait(home: Home) -> None:
    home.write_own(line=home.entry(tools={"allow": ["echo", "slow", "env"]}))
    with Seat("n", "y", "n") as seat:
        home.run("mcp", "trust", "line")
    assert [f"\n{place} of 3: mcp__line__" in seat.screen for place in (1, 2, 3)] == [True] * 3
