"""What is promised of the built-in tools and the sandbox: each promise with how it is tried, and how often."""

from __future__ import annotations

from . import edits, escapes, pages, paths, run_later, searches, shell_tool, urls, writes
from .approval_rows import Row

ROWS = (
    Row(
        "E1 no path leads outside",
        "paths of every odd kind (traversal, links, `/proc`, devices, Unicode, case, dots, NUL, length) through each "
        "tool for files: nothing outside is read or changed, nothing hangs, one result each",
        2_000,
        paths.paths,
    ),
    Row(
        "E2 no race leads outside",
        "folders and files swapped for links to the outside while they are opened for reading, listing and writing",
        100_000,
        paths.races,
    ),
    Row("E2 a large file takes little memory", "megabytes of a file, lines of it read", 10_000, paths.large_file),
    Row(
        "E3 what runs later is asked about",
        "every name of the list × exists, missing, link, other case, below, linked folder × write and edit × every "
        "mode × with and without a rule that allows it, nobody there to ask: 0 written",
        0,
        run_later.unasked_writes,
    ),
    Row(
        "E4 no command gets out",
        "real programs that try, each first without the sandbox (it must get out), then inside, seen from outside; "
        "every kind of sandbox that this machine has",
        0,
        escapes.escapes,
    ),
    Row("E4 bombs end at the ceiling", "fork bombs and memory bombs under the supervisor", 30, escapes.ceilings),
    Row(
        "E5 no URL reaches this machine or a private network",
        "URLs written in every odd way, redirects, DNS answers that mix, change and lie, with listeners on all "
        "addresses of this machine",
        30_000,
        urls.urls,
    ),
    Row("E5 hostile pages", "bytes of hostile HTML of each kind: time in proportion", 2_000_000, pages.hostile_pages),
    Row(
        "A write survives kill -9",
        "killed before, after and inside every system call of a write, its journal and its undo: the old file or the "
        "new one, the journal tells which, the next write and undo work",
        0,
        writes.killed,
    ),
    Row(
        "No update is lost",
        "edits of one file by four processes while another appends without a lock: every edit is there once",
        5_000,
        writes.concurrent,
    ),
    Row(
        "Replacements are exact",
        "random texts against Python's own replace: the same, or refused where it is not there once",
        200_000,
        edits.exact,
    ),
    Row(
        "Mixed line ends stay", "random texts: no line end is changed but in what is replaced", 20_000, edits.mixed_ends
    ),
    Row("Patches do what git does", "random patches against `git apply`: the same bytes", 20_000, edits.patches),
    Row(
        "Damaged patches are refused",
        "patches with a changed line: refused, unless they fit at exactly one place as they are",
        3_000,
        edits.damaged_patches,
    ),
    Row(
        "The same answers with and without ripgrep",
        "random trees, patterns and options: the same text",
        2_000,
        searches.same_answers,
    ),
    Row(".gitignore as git has it", "random rules and trees against `git ls-files`", 1_000, searches.ignored_like_git),
    Row("D3 a flood through run_bash", "bytes from a command, in the sandbox", 10**10, shell_tool.flood),
    Row(
        "D2 jobs in the background",
        "jobs that fork, leave their session, ignore signals, stopped or dropped at a random moment: nothing lives on",
        200,
        shell_tool.background,
    ),
)
