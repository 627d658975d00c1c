"""Which shell reads a line, what all of them read alike, and which variables change nothing with which values."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench.trust.shells import SHELLS, compare, plain_lines

from toolwire import Risk, ToolDefinition, tool
from toolwire.approval.commands import dialects, starters
from toolwire.approval.commands.command_line import Assignment
from toolwire.approval.commands.dialects import KNOWN_VERSIONS, Dialect, dialect_of, find_bash
from toolwire.approval.commands.plain_lines import why_not_plain
from toolwire.approval.commands.shell import read_command_line
from toolwire.approval.commands.starters import started_by
from toolwire.approval.commands.variables import are_harmless
from toolwire.approval.parts import parts_of
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.rules import Decision
from toolwire.errors import ToolDefinitionError


class Machine:
    """A machine with these programs called bash, each in a folder of its own, the first of them on the search path."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._folders: list[str] = []
        dialects._version.cache_clear()
        self._changed()

    def add(self, name: str, said: str) -> str:
        path = self.folder / name / "bash"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\necho ran >>{self.folder}/ran-{name}\necho '{said}'\n")
        path.chmod(0o755)
        self._folders.append(str(path.parent))
        self._changed()
        return str(path)

    def ran(self, name: str) -> int:
        """How often it was started."""
        path = self.folder / f"ran-{name}"
        return path.read_text().count("ran") if path.exists() else 0

    def search(self, *names: str) -> None:
        """Makes the folders of these the search path."""
        self._monkeypatch.setenv("PATH", os.pathsep.join(str(self.folder / name) for name in names))

    def _changed(self) -> None:
        self._monkeypatch.setattr(dialects, "_FOLDERS", tuple(self._folders))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    yield Machine(tmp_path, monkeypatch)
    dialects._version.cache_clear()


def said(version: str) -> str:
    return f"GNU bash, version {version}(1)-release (x86_64-pc-linux-gnu)"


# ---- which shell it is


@pytest.mark.parametrize(
    ("words", "dialect"),
    [
        *((said(f"{version}.15"), Dialect.BASH) for version in KNOWN_VERSIONS),
        (said("3.2.57"), Dialect.PLAIN),
        (said("4.4.20"), Dialect.PLAIN),
        (said("5.0.17"), Dialect.PLAIN),
        (said("5.9.1"), Dialect.PLAIN),
        (said("5.20.1"), Dialect.PLAIN),
        (said("15.2.1"), Dialect.PLAIN),
        ("BusyBox v1.35.0 multi-call binary", Dialect.PLAIN),
        ("not GNU bash, version 5.2.15", Dialect.PLAIN),
        ("", Dialect.PLAIN),
    ],
)
def test_only_a_bash_of_a_known_version_is_read_by_the_rules_of_bash(
    words: str, dialect: Dialect, machine: Machine
) -> None:
    path = machine.add("bin", words)
    machine.search("bin")
    assert dialect_of("bash") is dialect
    assert dialect_of(path) is dialect
    assert find_bash()[0] == path


def test_a_bash_is_asked_for_its_version_once(machine: Machine) -> None:
    machine.add("bin", said("5.2.15"))
    machine.search("bin")
    for _ in range(3):
        assert dialect_of("bash") is Dialect.BASH
    assert machine.ran("bin") == 1


def test_a_bash_of_a_known_version_is_taken_before_any_other(machine: Machine) -> None:
    machine.add("old", said("3.2.57"))
    path = machine.add("new", said("5.3.0"))
    assert find_bash() == (path, "5.3")


def test_a_bash_that_no_system_keeps_is_never_started_to_find_out(machine: Machine, tmp_path: Path) -> None:
    machine.add("bin", said("5.2.15"))
    other = tmp_path / "project" / "bash"
    other.parent.mkdir()
    other.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\necho '{said('5.2.15')}'\n")
    other.chmod(0o755)
    machine.search("project", "bin")
    assert dialect_of("bash") is Dialect.PLAIN
    assert dialect_of(str(other)) is Dialect.PLAIN
    assert not (tmp_path / "pwned").exists()


def test_a_shell_is_known_by_the_name_that_it_is_started_by(machine: Machine, tmp_path: Path) -> None:
    path = machine.add("bin", said("5.2.15"))
    links = tmp_path / "links"
    links.mkdir()
    for name in ("sh", "ksh", "bash"):
        (links / name).symlink_to(path)
    machine.search("links")
    assert dialect_of(str(links / "bash")) is Dialect.BASH
    assert {dialect_of(name) for name in ("sh", "ksh", "./bash", "", str(links / "sh"))} == {Dialect.PLAIN}


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("bash -c 'ls $x'", True),
        ("env LC_ALL=C timeout 5 bash -lc 'ls $x'", True),
        ("bash -c 'bash -c \"ls \\$x\"'", True),
        ("sh -c \"bash -c 'ls [ab]'\"", True),
        ("bash --posix -c 'ls $x'", False),
        ("bash -o posix -c 'ls $x'", False),
        ("bash -ic 'ls $x'", False),
        ("POSIXLY_CORRECT=1 bash -c 'ls $x'", False),
        ("env BASHOPTS=extglob bash -c 'ls [ab]'", False),
        ("SHELLOPTS=posix timeout 5 bash -c 'ls $x'", False),
        ("LC_ALL=ja_JP.SJIS bash -c ls", False),
        ("LANG=$x bash -c ls", False),
        ("X='() { :; }' bash -c ls", False),
        ("ENV=x sh -c ls", False),
        ("A=1 LC_ALL=C bash -c 'ls $A'", True),
        ("sh -c 'ls $x'", False),
        ("bash -c \"sh -c 'ls {a,b}'\"", False),
        ("watch 'ls $x'", False),
        ("git submodule foreach 'ls $x'", False),
        ("ssh host 'ls $x'", False),
        ("ssh host \"bash -c 'ls [ab]'\"", False),
        ("docker exec box bash -c 'ls $x'", False),
        ("kubectl exec box -- bash -c 'ls $x'", False),
        ("busybox bash -c 'ls $x'", False),
    ],
)
def test_a_script_is_read_by_the_rules_of_the_shell_that_runs_it(line: str, known: bool, machine: Machine) -> None:
    machine.add("bin", said("5.2.15"))
    machine.search("bin")
    waiting = list(read_command_line(line, Dialect.BASH).commands)
    assert waiting
    understood = True
    while waiting:
        inner = started_by(waiting.pop())
        understood &= inner is not None
        waiting += inner or ()
    assert understood is known


def test_a_script_for_bash_is_read_as_for_any_shell_where_no_bash_is_known(machine: Machine) -> None:
    machine.add("bin", said("3.2.57"))
    machine.search("bin")
    for text, understood in (("bash -c 'ls $x'", False), ("bash -c 'ls x'", True)):
        (command,) = read_command_line(text, Dialect.BASH).commands
        assert (started_by(command) is not None) is understood


def test_a_line_for_an_unknown_shell_starts_no_known_bash(machine: Machine) -> None:
    machine.add("bin", said("5.2.15"))
    machine.search("bin")
    (command,) = read_command_line("bash -c 'ls $x'", Dialect.PLAIN).commands
    assert started_by(command) is None


# ---- what a tool says of its shell


def test_a_tool_that_does_not_say_its_shell_is_asked_about_more_than_plain_words(tmp_path: Path) -> None:
    schema: dict[str, Any] = {"properties": {"command": {}}}
    quiet = ToolDefinition("f", "", schema, Risk.EXECUTE, command="command")
    known = ToolDefinition("f", "", schema, Risk.EXECUTE, command="command", shell="bash")
    policy, workspace = Policy(Mode.READ_ONLY), Workspace(tmp_path)
    line = r"sed -n $'s|a\x7cb|;s|;e touch pwned #|c|' a.txt"
    for text, decisions in (
        ("ls | head -5", (Decision.ALLOW, Decision.ALLOW)),
        (line, (Decision.DENY, Decision.ALLOW)),
        (f'sh -c "{line.replace("$", chr(92) + "$")}"', (Decision.DENY, Decision.DENY)),
    ):
        assert tuple(policy.judge(each, {"command": text}, workspace).decision for each in (quiet, known)) == decisions
    assert any("shells differ" in part.unsure for part in parts_of(quiet, {"command": line}, workspace))


def test_a_shell_other_than_bash_is_said_by_saying_nothing() -> None:
    with pytest.raises(ToolDefinitionError, match="its shell is 'zsh'"):
        ToolDefinition("f", shell="zsh")

    @tool(risk="execute", command="line", shell="bash")
    def run(line: str) -> str:
        return line

    from toolwire.tools.function import as_definition

    said, unsaid = as_definition(run), as_definition(tool(risk="execute", command="line")(run))
    assert said.shell == "bash"
    assert said.digest() != unsaid.digest()


# ---- what all shells read alike


@pytest.mark.parametrize(
    "line",
    [
        "ls -la src | head -5",
        "grep -rn 'def main' src && cat \"a b\" || echo 'it is $not there'",
        "cat a.txt 2>/dev/null; ls >out 2>&1",
        "[ -f a.txt ] && cat a.txt",
        "[ 'x[$(touch y)]' = b ]",
        "test -n 'x[$(touch y)]'",
        "find . -name '*.py' -exec wc -l {} +",
        "cd src; ls *.py",
        "LC_ALL=C sort x.log",
        "git log --format='%h %s' -5",
        "printf '%s\\n' a 'x[$(touch y)]'",
        "command -v git",
        "nohup make &",
        "set -e\nmake\nexit 1",
        "cat ~/notes/*",
        "echo '日本'",
    ],
)
def test_plain_lines_are_understood_of_any_shell(line: str) -> None:
    assert why_not_plain(line) == ""
    assert read_command_line(line, Dialect.PLAIN).problem == ""


# What bash 3.2 does otherwise than bash 5, and what other shells do.
APART = [
    *("echo $'a\\'b'", "echo $'\\u0041'", 'echo $"a"', 'echo "${x/a/b}"', "echo \"${x:-'a'}\"", "echo ${x^^}"),
    *(
        "[[ a =~ 'a|b' ]]",
        "a |& b",
        "a &>>b",
        "a &> b",
        "case a in a) b ;& *) c;; esac",
        "echo $(case a in a) b;; esac)",
    ),
    *("coproc a", "echo {01..10}", "exec {fd}>a", "a[-1]=b", "declare -A a", "printf -v a b", "read -N 1 a", "a+=b c"),
    *(
        "a <<< b",
        "cat <<E\na\nE",
        "echo <(a)",
        "((a))",
        "$((a))",
        "`a`",
        "f() { a; }",
        "function f { a; }",
        "time a",
        "! a",
    ),
    *(
        "for a in b; do c; done",
        "if a; then b; fi",
        "{ a; }",
        "(a)",
        "a=b",
        ">a",
        "a # b",
        "a \\\nb",
        "a\\ b",
        "a !b",
        "~a",
    ),
    *(
        "[ 'x[$(a)]' -eq 1 ]",
        "[ a '-eq' 1 ]",
        "test -v 'x[$(a)]'",
        "test -t 'x[$(a)]'",
        "[ ! a ]",
        "[ a -o b ]",
        "[ -n * ]",
    ),
    *("printf %d 'x[$(a)]'", "printf '%*s' a b", "printf '-v' a b", "printf * a", "exit 'x[$(a)]'", "shift 'x[$(a)]'"),
    *(
        "COLUMNS='x[$(a)]' b",
        "SECONDS='x[$(a)]' b",
        "A=* b",
        "A=$b c",
        "A=b :",
        "A=b cd c",
        "nohup integer a",
        "command r",
    ),
    *(
        "export a=b",
        "unset a",
        "typeset a",
        "let a",
        "eval a",
        ". a",
        "source a",
        "exec a",
        "trap a 0",
        "r",
        "2d",
        "type a",
    ),
    *("cat =a", "ls **", "ls a?(b)", "ls [ab]", "cat a~b", "%1", "-a", "a;;b", "a &| b", "a >| b", "a >&- b", "a <> b"),
    *("a 3>b", "a 12>b", "a2>b", "cd -", "cd '-'", "cd a b", "cd", "cd *", "set -k", "set -- a", "pwd -P", "noglob a"),
]


@pytest.mark.parametrize("line", APART)
def test_what_shells_read_apart_is_not_understood_of_any_shell(line: str) -> None:
    assert read_command_line(line, Dialect.PLAIN).problem


@pytest.mark.parametrize("name", SHELLS)
def test_a_real_shell_runs_nothing_of_a_plain_line_that_was_not_read(name: str) -> None:
    path = shutil.which(SHELLS[name][0])
    if path is None:
        pytest.skip(f"{name} is not installed")
    lines = plain_lines(Random(7), 200)
    started, faults = compare(name, (path, *SHELLS[name][1:]), lines)
    assert faults == []
    assert len(lines) > 50
    assert started > 40


def test_a_difference_between_shells_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    path = shutil.which("dash")
    if path is None:
        pytest.skip("dash is not installed")
    monkeypatch.setattr("toolwire.approval.commands.shell.why_not_plain", lambda text: "")
    _, faults = compare("dash", (path, "-c"), plain_lines(Random(1), 100))
    assert faults


# ---- variables


@pytest.mark.parametrize(
    ("given", "harmless"),
    [
        *(("LC_ALL=" + value, True) for value in ("", "C", "POSIX", "C.UTF-8", "en_US.utf8", "sr_RS.UTF-8@latin")),
        *(("LANG=" + value, True) for value in ("UTF-8", "zh_Hant_TW.UTF-8", "es_419.UTF-8")),
        *(("LC_ALL=" + value, False) for value in ("en_US", "ja_JP.SJIS", "zh_CN.GB18030", "../x", "/x", "a/b.UTF-8")),
        *(("LC_CTYPE=" + value, False) for value in ("zh_TW.BIG5", "C.UTF-8@a/b", ".UTF-8", "C.UTF-8/x", "ＵＴＦ-8")),
        *(("LANGUAGE=" + value, True) for value in ("", "de", "de:en_US", "de.UTF-8:C")),
        *(("LANGUAGE=" + value, False) for value in ("../../x", "de:../x", "/x", "de.x", "..")),
        *(
            ("TZ=" + value, True)
            for value in ("", "UTC", "Europe/Berlin", "America/Port-au-Prince", "Etc/GMT+3", "EST5EDT")
        ),
        *(
            ("TZ=" + value, False)
            for value in (":x", ":/x", "/x", "../x", "./x", "a/../x", "a//b", "<+03>-3", "a/", "~/x")
        ),
        *((name + "=80", True) for name in ("COLUMNS", "LINES")),
        *((name + "=x[1]", False) for name in ("COLUMNS", "LINES")),
        *((name + "=1", True) for name in ("CI", "NO_COLOR", "FORCE_COLOR", "PYTHONUNBUFFERED", "RUST_BACKTRACE")),
        *((name + "=../x", False) for name in ("CI", "NO_COLOR", "FORCE_COLOR", "PYTHONUNBUFFERED", "RUST_BACKTRACE")),
        *(("NODE_ENV=" + value, value != "x") for value in ("production", "development", "test", "x")),
        *(("PYTHONIOENCODING=" + value, True) for value in ("utf-8", "utf8:replace", "ascii")),
        *(("PYTHONIOENCODING=" + value, False) for value in ("x", "x.y", "utf-8:x", "idna")),
        *((given, False) for given in ("CI=１", "TZ=Éire", "COLUMNS=８０", "LANGUAGE=dé")),
        *((name + "=1", False) for name in ("PATH", "PAGER", "NLSPATH", "LOCPATH", "LC_x", "PYTHONPATH")),
    ],
)
def test_a_variable_is_harmless_with_some_values_alone(given: str, harmless: bool) -> None:
    name, _, value = given.partition("=")
    assert are_harmless([Assignment(name, value)]) is harmless


def test_a_value_that_is_not_known_is_not_harmless() -> None:
    assert not are_harmless([Assignment("LANG")])
    assert not are_harmless([Assignment("LANG", "C"), Assignment("LANG")])


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("LANG=C ls", ["C"]),
        ("LANG='a b' ls", ["a b"]),
        ("LANG+=x ls", [None]),
        ("LANG=$x ls", [None]),
        ("LANG=~/x ls", [None]),
        ("A=1 B=2 ls", ["1", "2"]),
        ("export A=x; ls", ["x"]),
        ("export A; ls", [None]),
        ("read A; ls", [None]),
        ("unset A; ls", [""]),
        ("A=1; A=2; ls", ["1", "2"]),
        ("for A in b; do ls; done", [None]),
    ],
)
def test_the_values_of_variables_are_read(line: str, values: list[str | None]) -> None:
    read = read_command_line(line, Dialect.BASH)
    assert read.problem == ""
    assert [given.value for given in read.commands[-1].assignments] == values


def test_variables_of_a_call_are_judged_by_their_values(tmp_path: Path) -> None:
    schema: dict[str, Any] = {"properties": {"command": {}, "variables": {}}}
    shell = ToolDefinition("f", "", schema, Risk.EXECUTE, command="command", shell="bash", variables="variables")
    workspace = Workspace(tmp_path)
    for given, asked in (({"TZ": "UTC"}, False), ({"TZ": ":/etc/passwd"}, True), ({"TZ": 1}, True), ({"X": "1"}, True)):
        parts = parts_of(shell, {"command": "date", "variables": given}, workspace)
        assert any("variables" in part.unsure for part in parts) is asked


def test_the_shells_of_the_table_are_known_to_be_shells() -> None:
    assert starters._POSIX_SHELLS <= starters.SHELLS
