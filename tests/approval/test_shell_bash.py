"""The shell reader against a real bash: what bash starts and writes is among what was read."""

from __future__ import annotations

import pytest
from bench.trust.shell import BASH, Outcome, Run, bash_runs_nothing_unseen, run_in_bash, unseen
from bench.trust.shell_lines import ODD, is_harmless

from toolwire.approval.commands.dialects import Dialect
from toolwire.approval.commands.shell import read_command_line

pytestmark = pytest.mark.skipif(not BASH, reason="there is no bash on this machine to compare with")


@pytest.mark.thorough
def test_bash_runs_nothing_that_was_not_read() -> None:
    found = bash_runs_nothing_unseen(count=500, seed=7)
    assert not found.faults
    assert found.runs == 500


def test_the_odd_lines_cannot_leave_their_folder() -> None:
    assert [line for line in ODD if not is_harmless(line)] == []


def test_a_good_share_of_plain_lines_is_understood_and_runs() -> None:
    lines = ["aa 'b c' | bb", "(cd d && aa >r) ; bb", "for x in 1 2; do aa $x; done", 'aa "$(bb)"', "cat <<E\n$(aa)\nE"]
    outcomes = run_in_bash(lines)
    assert [len(outcome.runs) for outcome in outcomes] == [2, 2, 2, 2, 1 + 1]
    assert not [
        read_command_line(line, Dialect.BASH).problem for line in lines if read_command_line(line, Dialect.BASH).problem
    ]


@pytest.mark.parametrize(
    ("run", "file"),
    [(("aa", "b"), ""), (("bb",), ""), (("aa",), ""), (("aa", "b c", "d"), ""), (None, "other")],
)
def test_a_difference_would_be_seen(run: tuple[str, ...] | None, file: str) -> None:
    line = read_command_line("aa 'b c' > made", Dialect.BASH)
    runs = [Run("/w", run)] if run else []
    assert list(unseen(line, Outcome("/w", "/h", runs, [f"/w/{file}"] if file else [])))


def test_another_folder_would_be_seen() -> None:
    line = read_command_line("cd d && aa > made", Dialect.BASH)
    assert not list(unseen(line, Outcome("/w", "/h", [Run("/w/d", ("aa",))], ["/w/d/made"])))
    assert list(unseen(line, Outcome("/w", "/h", [Run("/w/e", ("aa",))], [])))
    assert list(unseen(line, Outcome("/w", "/h", [], ["/w/e/made"])))
