from __future__ import annotations

import itertools

import pytest

from cli.command import toolwire_command
from toolwire.cli.app import run_command
from toolwire.cli.completion_tree import command_tree

PATHS = [command.path for command in command_tree().commands]


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("path", PATHS)
def test_help_fits_and_teaches(
    path: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run_command([*filter(None, path.split("/")), "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= columns
    assert f"Usage: toolwire {path.replace('/', ' ')}".rstrip() in out
    assert ("Try first:" if not path else f"Example: toolwire {path.replace('/', ' ')}") in out


def test_the_commands_stand_in_parts() -> None:
    ran = toolwire_command(env={"COLUMNS": "80"})
    lines = ran.out.splitlines()
    parts = [line.split()[1] for line in lines if line.startswith("╭─")]
    assert parts == ["Talk", "Work", "Look", "Set", "Options"]
    # Each command is one line, so that the list can be looked over.
    listed = [line.split()[1] for line in lines if line.startswith("│ ") and not line.startswith("│  ")]
    assert sorted(each for each in listed if not each.startswith("-")) == sorted(
        path for path in PATHS if path and "/" not in path
    )
    assert not [line for line in lines if line.startswith("│   ")]
    # So is each of those to try first.
    assert all(line.startswith("  toolwire ") for line in lines[lines.index("Try first:") + 1 :] if line)


def test_sentences_run_over_the_width() -> None:
    """Not as they were broken in the source: a line ends where there is no room for the next word."""
    ran = toolwire_command("run", "--help", env={"COLUMNS": "80"})
    rows = [line[1:-1] for line in ran.out.splitlines() if line.startswith("│")]
    for row, following in itertools.pairwise(rows):
        words = following.split()
        indent = len(following) - len(following.lstrip())
        if indent > 10 and words:
            assert len(row.rstrip()) + 1 + len(words[0]) > 76, row


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cofnig"], 'unknown command "cofnig". Did you mean "config"?'),
        (["config", "shwo"], 'unknown command "shwo". Did you mean "show"?'),
        (["run", "--retires", "1"], "unknown option: --retires. Did you mean --retries?"),
        (["completion", "tcsh"], "tcsh"),
    ],
)
def test_what_is_not_there_is_told_with_what_is_like_it(arguments: list[str], words: str) -> None:
    ran = toolwire_command(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "Available commands" not in ran.err


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    for env in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in toolwire_command("config", "show", env=env).out
