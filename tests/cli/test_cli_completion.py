from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from toolwire.agent.sessions.store import SessionStore, sessions_path
from toolwire.cli import completion
from toolwire.cli.completion_names import is_plain, print_names
from toolwire.cli.completion_scripts import Shell, script
from toolwire.cli.completion_tree import FILES, FOLDERS, NAMED, Tree, command_tree
from toolwire.cli.faults import guarded
from toolwire.messages import Message, TextPart


@cache
def tree() -> Tree:
    return command_tree()


@pytest.fixture
def shells(tmp_path: Path) -> Callable[..., list[str]]:
    """Gives what a shell completes at the end of a line, in a folder with some files."""
    work = tmp_path / "work"
    (work / "some folder").mkdir(parents=True)
    (work / "some.json").write_text("")
    programs = tmp_path / "bin"
    programs.mkdir()
    fake = programs / "toolwire"
    fake.write_text(
        '#!/bin/sh\n[ "$1" = __names ] || exit 1\n'
        'case $2 in sessions) printf "261116-a3fk7q\\tWhat time is it?\\n261115-bbbbbb\\n" ;;'
        ' runs) printf "r-7k2m0c4vx1aa\\tTidy up\\n" ;;'
        " servers) printf 'time\\n$(touch oops)\\n' ;; esac\n"
    )
    fake.chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path), "LANG": "C.UTF-8"}

    def ask(shell: Shell, line: str) -> list[str]:
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        path = tmp_path / f"completion.{shell}"
        if not path.exists():
            path.write_text(script(shell, tree()))
        command = [shell, *_RUNNERS[shell], str(path), line]
        done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=30)
        assert done.stderr == ""
        assert not (work / "oops").exists()
        return sorted(each.rstrip("/") for each in done.stdout.splitlines() if each)

    return ask


_BASH = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
# As readline does it: words are parted at = and : too.
read -r -a COMP_WORDS <<<"${2//[:=]/ & }"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_toolwire
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
"""
_ZSH = """
compdef() { }
_describe() { [[ $1 == -o ]] && shift; local -a all=("${(@P)2}"); print -l -- ${(M)${all%%:*}:#$prefix*} }
compadd() { local -a all=("${(@P)@[-1]}"); print -l -- ${(M)all:#$prefix*} }
_files() { if [[ $1 == -/ ]] { print -l -- $prefix*(N/) } else { print -l -- $prefix*(N) } }
compset() { prefix=${prefix#$~2} }
line=$2
source "$1"
words=(${(s: :)line}) && [[ $line == *' ' ]] && words+=('')
CURRENT=$#words prefix=$words[-1]
_toolwire
"""
_FISH = 'source $argv[1]; complete -C $argv[2] | string replace -r "\\t.*" ""'
_RUNNERS = {
    "bash": ["--norc", "--noprofile", "-c", _BASH, "bash"],
    "zsh": ["-f", "-c", _ZSH, "zsh"],
    "fish": ["--no-config", "-c", _FISH],
}

LINES = [
    ("toolwire ru", ["run", "runs"]),
    ("toolwire mcp tr", ["trust"]),
    ("toolwire sessions ", ["delete", "export", "list", "show"]),
    ("toolwire --vers", ["--version"]),
    ("toolwire run --max-t", ["--max-tokens", "--max-turns"]),
    ("toolwire run --json --max-tu", ["--max-turns"]),
    ("toolwire run --mode ", ["ask", "auto-edit", "full", "read-only"]),
    ("toolwire run --model claude --mode f", ["full"]),
    ("toolwire policy explain --mode r", ["read-only"]),
    ("toolwire decode --wire openai", ["openai-chat", "openai-responses"]),
    ("toolwire decode some.json --wire gem", ["gemini"]),
    ("toolwire sessions export --format j", ["json"]),
    ("toolwire formats qwen3-c", ["qwen3-coder"]),
    ("toolwire sessions show 2611", ["261115-bbbbbb", "261116-a3fk7q"]),
    ("toolwire runs approve r-", ["r-7k2m0c4vx1aa"]),
    ("toolwire runs cancel r-7k2m0c4vx1aa r", ["r-7k2m0c4vx1aa"]),
    ("toolwire sessions delete 261115-bbbbbb 261116", ["261116-a3fk7q"]),
    ("toolwire run --resume 261116", ["261116-a3fk7q"]),
    ("toolwire mcp test ti", ["time"]),
    ("toolwire run --mcp t", ["time"]),
    ("toolwire decode some", ["some folder", "some.json"]),
    ("toolwire decode other.sse some.j", ["some.json"]),
    ("toolwire run --root some", ["some folder"]),
    ("toolwire run --tools d", ["demo"]),
    ("toolwire chat --theme nor", ["nord"]),
    ("toolwire completion z", ["zsh"]),
    ("toolwire doctor groq:x anthropi", ["anthropic:claude-sonnet-5"]),
    ("toolwire request --tools some.j", ["some.json"]),
    # Nobody can foresee these, and a wrong guess is worse than none.
    ("toolwire run --system ", []),
    ("toolwire run --max-turns ", []),
    ("toolwire nothing ", None),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes(shell: Shell, shells: Callable[..., list[str]]) -> None:
    for line, wanted in LINES:
        found = shells(shell, line)
        assert wanted is None or found == wanted, line


@pytest.mark.parametrize(
    ("line", "bash", "others"),
    [
        # What bash has parted it does not replace.
        ("toolwire run --model anthropic:cl", ["claude-sonnet-5"], ["anthropic:claude-sonnet-5"]),
        ("toolwire run --model anthropi", ["anthropic:claude-sonnet-5"], ["anthropic:claude-sonnet-5"]),
        ("toolwire run --model=anthropic:cl", ["claude-sonnet-5"], ["anthropic:claude-sonnet-5"]),
        ("toolwire run --mode=fu", ["full"], ["full"]),
        ("toolwire run --model openai-compatibl", ["openai-compatible:"], ["openai-compatible:"]),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_values_with_colons_and_equals(
    shell: Shell, shells: Callable[..., list[str]], line: str, bash: list[str], others: list[str]
) -> None:
    found = [each.rpartition("=")[2] for each in shells(shell, line)]
    assert found == (bash if shell == "bash" else others)


def test_a_command_behind_two_dashes_is_files_in_bash(shells: Callable[..., list[str]]) -> None:
    assert shells("bash", "toolwire mcp add x -- some.j") == ["some.json"]


def test_the_tree_is_all_that_can_be_typed() -> None:
    by_path = {command.path: command for command in tree().commands}
    assert {"", "run", "mcp/add", "sessions/export", "policy/explain"} <= set(by_path)
    known = {"", FILES, FOLDERS, *NAMED, *tree().values}
    for path, name, kind in tree().kinds_of_options():
        assert kind in known, (path, name)
    run = {name: option for option in by_path["run"].options for name in option.names}
    assert run["--model"].kind == "models"
    assert not run["--no-sandbox"].takes_value
    assert by_path["sessions/delete"].many
    assert by_path["mcp/add"].places == ("",)
    assert "anthropic:claude-sonnet-5" in tree().values["models"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed_or_put_where_the_shell_looks(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(completion, "command_tree", tree)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert completion.completion() == 0
    printed = capsys.readouterr().out
    assert completion.completion(shell, install=True) == 0
    told = capsys.readouterr().out
    path = completion.script_path(shell, os.environ)
    assert path.is_relative_to(tmp_path)
    assert path.read_text() == printed
    assert str(path) in told
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert guarded(completion.completion) == 2
    assert "which shell?" in capsys.readouterr().err


# ---- names that only this machine knows


def names(capsys: pytest.CaptureFixture[str], kind: str) -> list[str]:
    assert print_names([kind]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def test_sessions_are_those_of_the_store(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert names(capsys, "sessions") == []
    path = sessions_path(os.environ)
    path.parent.mkdir(parents=True)
    with SessionStore(path) as store:
        for question in ("What time is it?", "Evil\x1b[31m\tname\n$(touch oops) " + "x" * 200):
            session = store.create(model="a:b", cwd="/home/me/project")
            session.said(Message("user", [TextPart(question)]))
            session.close()
        listed = {info.id for info in store.list()}
    rows = dict(line.split("\t") for line in names(capsys, "sessions"))
    assert set(rows) == listed
    assert "What time is it?" in rows.values()
    assert all(words.isprintable() and len(words) <= 50 for words in rows.values())
    path.write_bytes(b"no database")
    assert names(capsys, "sessions") == []


def test_runs_are_those_of_a_file(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names(capsys, "runs") == []

    def make(path: Path, *rows: tuple[str, str, float]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE toolwire_runs (id TEXT, title TEXT, created FLOAT)")
            connection.executemany("INSERT INTO toolwire_runs VALUES (?, ?, ?)", rows)
        connection.close()

    make(
        here / "state" / "toolwire" / "runs.db", ("r-1", "Tidy\x1b[31m up\n", 1.0), ("r-2", "", 2.0), ("$(x)", "", 3.0)
    )
    assert names(capsys, "runs") == ["r-2\t", "r-1\tTidy [31m up"]
    make(here / "other.db", ("r-3", "Other", 1.0))
    (here / "config" / "toolwire").mkdir(parents=True)
    (here / "config" / "toolwire" / "config.toml").write_text(f'database = "sqlite:///{here}/other.db"')
    assert names(capsys, "runs") == ["r-3\tOther"]
    monkeypatch.setenv("TOOLWIRE_DATABASE", "postgresql://me@db.example/runs")
    assert names(capsys, "runs") == []


def test_servers_are_those_of_the_files_and_no_others(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert names(capsys, "servers") == []
    config = here / "config" / "toolwire"
    config.mkdir(parents=True)
    (config / "mcp.json").write_text(json.dumps({"mcpServers": {"time": {"command": "a"}, "-rf": {"command": "a"}}}))
    (config / "config.toml").write_text('model = "a:b"\n[mcp.servers.git]\ncommand = "a"\n')
    project = {"$(touch oops)": {"command": "a"}, "time": {"command": "b"}, "docs": {"url": "https://x.example"}}
    (here / "project" / ".mcp.json").write_text(json.dumps({"mcpServers": project}))
    assert names(capsys, "servers") == ["time", "git", "docs"]
    (config / "mcp.json").write_text("{")
    assert names(capsys, "servers") == ["git", "time", "docs"]
    assert names(capsys, "nothing") == []


@pytest.mark.parametrize("name", ["", "-x", "a b", "a;b", "$x", "a\nb", "`x`", "é", "x" * 101, "a/b"])
def test_what_a_shell_may_misread_is_no_name(name: str) -> None:
    assert not is_plain(name)
    assert is_plain("my-server_2.x")


def test_names_come_quickly_since_next_to_nothing_is_loaded(here: Path) -> None:
    program = (
        "import sys; from toolwire.cli.completion_names import print_names; print_names(['sessions', 'servers']);"
        "print([name for name in ('cyclopts', 'rich', 'asyncio', 'aiohttp', 'textual') if name in sys.modules])"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"
    assert time.perf_counter() - started < 30
