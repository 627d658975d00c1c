"""The shell reader, line by line: tests/data/approval/shell.jsonl says what each runs, or why it is not understood."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolwire.approval.commands.command_line import Command, Word, WordKind
from toolwire.approval.commands.dialects import Dialect
from toolwire.approval.commands.shell import MAX_COMMANDS, MAX_DEPTH, MAX_LENGTH, read_command_line

ROWS: list[dict[str, Any]] = [
    msgspec.json.decode(line)
    for line in (Path(__file__).parents[1] / "data" / "approval" / "shell.jsonl").read_bytes().splitlines()
]


def as_word(given: str | list[str]) -> Word:
    if isinstance(given, str):
        return Word(given)
    text, kind = given
    return Word(text, WordKind(kind.removesuffix("home").strip() or "literal"), kind.endswith("home"))


def as_rows(commands: tuple[Command, ...]) -> list[dict[str, Any]]:
    return [
        {
            "words": list(command.words),
            "redirects": [(one.operator, one.target, "writes" if one.writes else "reads") for one in command.redirects],
            "assignments": [each.name for each in command.assignments],
            "folders": list(command.folders),
        }
        for command in commands
    ]


def expected(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "words": [as_word(word) for word in command["words"]],
            "redirects": [(sign, as_word(target), how) for sign, target, how in command.get("redirects", [])],
            "assignments": command.get("assignments", []),
            "folders": [as_word(word) for word in command.get("folders", [])],
        }
        for command in row["commands"]
    ]


@pytest.mark.parametrize("row", ROWS, ids=[f"{n}-{row['line'][:30]!a}" for n, row in enumerate(ROWS)])
def test_a_line_is_read_as_the_table_says(row: dict[str, Any]) -> None:
    line = read_command_line(row["line"], Dialect.BASH)
    assert line.problem == row.get("problem", "")
    if not line.problem:
        assert as_rows(line.commands) == expected(row)


def test_the_table_holds_both_kinds() -> None:
    problems = sum("problem" in row for row in ROWS)
    assert len(ROWS) - problems >= 120
    assert problems >= 120


def test_a_text_that_is_not_unicode_is_not_understood() -> None:
    assert "U+D800" in read_command_line("a \ud800b", Dialect.BASH).problem


def test_limits_are_exact() -> None:
    assert not read_command_line("a" * MAX_LENGTH, Dialect.BASH).problem
    assert read_command_line("a" * (MAX_LENGTH + 1), Dialect.BASH).problem
    assert len(read_command_line("a;" * MAX_COMMANDS, Dialect.BASH).commands) == MAX_COMMANDS
    assert not read_command_line("a;" * MAX_COMMANDS, Dialect.BASH).problem
    assert read_command_line("a;" * (MAX_COMMANDS + 1), Dialect.BASH).problem
    # The line itself is one level, and the command in the innermost brackets another.
    deep = MAX_DEPTH - 2
    assert not read_command_line("( " * deep + "a" + " )" * deep, Dialect.BASH).problem
    assert "deep" in read_command_line("( " * (deep + 1) + "a" + " )" * (deep + 1), Dialect.BASH).problem


def test_a_line_that_is_not_understood_still_names_what_was_found() -> None:
    line = read_command_line("rm -rf x; eval y", Dialect.BASH)
    assert line.problem
    assert line.commands[0].words == (Word("rm"), Word("-rf"), Word("x"))


def test_a_loop_that_changes_folders_has_no_known_folder() -> None:
    line = read_command_line("while a; do b; cd x; done; c", Dialect.BASH)
    assert not line.problem
    assert all(any(word.kind is WordKind.DYNAMIC for word in command.folders) for command in line.commands)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "$(",
        "${x:-",
        "`",
        "a&&",
        "a|",
        "$(cat <<E\n",
        "case a in a) ",
        ">",
        "*[{",
        "a {",
        "$",
        "a=b ",
        "@|",
        " >f",
        "\\",
    ],
)
def test_odd_lines_of_full_length_are_read_in_bounded_time(piece: str) -> None:
    start = time.perf_counter()
    read_command_line((piece * MAX_LENGTH)[:MAX_LENGTH], Dialect.BASH)
    assert time.perf_counter() - start < 30


def test_the_parser_is_loaded_only_when_a_line_is_read() -> None:
    code = "import sys, toolwire.approval.commands.shell; print('tree_sitter' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "False"
