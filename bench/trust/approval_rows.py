"""What is promised of approval and execution: each promise with how it is tried, and how often."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import Found, audit, calls, children, commands, execution, gate, policy, reach, secrets, shell, shells, shown

Try = Callable[[int, int], Found]


class Row(NamedTuple):
    """One promise: what it says, how it is tried, and how often (in a quick run a fiftieth)."""

    title: str
    how: str
    tries: int
    run: Try


ROWS = (
    Row(
        "C2, C4 the strictest rule wins",
        "random rule sets and calls against an evaluation written apart: adding a deny never widens, nor does any rule "
        "of a project's file, nor a stricter mode",
        100_000,
        policy.rule_sets,
    ),
    Row(
        "C3 a fault anywhere in policy denies",
        "an error raised at every entry into a function of the approval folder, one at a time, for calls that would "
        "run: 0 may run",
        0,
        gate.faults_everywhere,
    ),
    Row(
        "C5 a ticket is for the exact call",
        "one thing changed after approval (ids, name, arguments, folder, environment, definition, function, digest): "
        "all refused",
        100_000,
        gate.changed_calls,
    ),
    Row(
        "C6 what is shown is what runs",
        "random arguments with control, bidirectional, zero-width characters, escape sequences, up to 1 MB: the text "
        "that is shown decodes back to them, and a terminal obeys nothing in it",
        100_000,
        shown.shown_and_read_back,
    ),
    Row(
        "C7 a line runs nothing that was not seen",
        "random and mangled command lines in real bash: every program that it started, where, with which words, and "
        "every file that it wrote is among what was understood, or the line was not",
        30_000,
        shell.bash_runs_nothing_unseen,
    ),
    Row(
        "C7 what is plain is read alike by every shell",
        "random and mangled command lines in real dash, busybox ash, ksh93, mksh, zsh and bash, also as `sh` and "
        "with `compat32`: every program that they started, where, with which words, and every file that they wrote "
        "is among what was understood, or the line was not",
        30_000,
        shells.shells_agree,
    ),
    Row(
        "C7 attacks stay attacks",
        "attack commands mixed with everyday ones, wrapped and mangled: none is allowed in mode ask",
        100_000,
        commands.mixed_commands,
    ),
    Row(
        "C7 what runs unasked changes nothing",
        "mixed commands that mode ask lets run, run in real bash: no file differs afterwards",
        20_000,
        commands.allowed_commands_change_nothing,
    ),
    Row(
        "C7 what runs unasked shows nothing denied",
        "git and programs that read, with random options, in a repository that holds a denied file in commits, in the "
        "index, stashed, tagged: what is let run, run in real bash, shows nothing of the file",
        30_000,
        reach.shows_nothing_denied,
    ),
    Row(
        "D2 stopped answers",
        "answers with several calls, stopped at a random moment: one result each, nothing runs on, no task is left",
        1_000,
        calls.stopped_answers,
    ),
    Row(
        "D2 cancelled calls",
        "tools of every kind (threads, coroutines, generators, some that do not let themselves be stopped), cancelled "
        "at a random moment",
        1_000,
        execution.cancels,
    ),
    Row(
        "D2 cancelled children",
        "programs that fork twice, leave their session, ignore signals, stop or kill their supervisor, cancelled at a "
        "random moment: no descendant lives 5 s later, one outcome each",
        1_000,
        children.cancels,
    ),
    Row("D3 floods of a tool", "gigabytes from a generator, of text, bytes and progress", 10, execution.flood),
    Row("D3 floods of a child", "bytes from a program", 10**10, children.flood),
    Row(
        "F1 the environment of children",
        "canary variables in ours: 0 in any child, seen by the child itself and by the kernel",
        1_000,
        children.canaries,
    ),
    Row(
        "F2 secrets in what is written",
        "canary keys in texts of many shapes and encodings: 0 left after redaction",
        1_000,
        secrets.hidden,
    ),
    Row("F2 redaction takes time in proportion", "characters, with 1,000 secrets", 1_000_000, secrets.linear),
    Row(
        "The trail survives kill -9",
        "writers killed at random moments: every record that was acknowledged is there, and the trail reads on",
        1_000,
        audit.killed,
    ),
)
