from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.command import Ran, assert_sentence, toolwire_command
from toolwire.cli.app import run_command

Run = Callable[..., Ran]

USER = """mode = "auto-edit"

[[rule]]
decision = "allow"
command = "npm test"
match = "npm test"

[[rule]]
decision = "deny"
command = "git push *"
reason = "I push myself"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "toolwire").mkdir()
    (tmp_path / "w" / ".toolwire").mkdir(parents=True)
    (tmp_path / "toolwire" / "policy.toml").write_text(USER)
    return tmp_path


@pytest.fixture
def policy(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process: it is many calls, and a process for each takes long."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.chdir(home / "w")

    def run(*arguments: str) -> Ran:
        code = run_command(["policy", *arguments])
        return Ran(code, *capsys.readouterr())

    return run


def test_the_real_command(home: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(home)}
    ran = toolwire_command("policy", "explain", "--command", "git push", env=env, cwd=home / "w")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("deny: I push myself\n")


def test_check_says_what_holds_here(home: Path, policy: Run) -> None:
    (home / "toolwire" / "always.toml").write_text('[[rule]]\ndecision = "deny"\nworkspace = "/other"\n')
    (home / "w" / ".toolwire" / "policy.toml").write_text('mode = "ask"\n')
    ran = policy("check")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"user     {home}/toolwire/policy.toml: 2 rules, 1 example right, mode auto-edit",
        f"always   {home}/toolwire/always.toml: 0 rules, 1 for other workspaces",
        f"project  {home}/w/.toolwire/policy.toml: 0 rules, mode ask",
        f"mode     ask, from {home}/w/.toolwire/policy.toml",
    ]


def test_check_without_files(home: Path, policy: Run) -> None:
    (home / "toolwire" / "policy.toml").unlink()
    ran = policy("check")
    assert ran.code == 0
    assert ran.out.count("there is no such file") == 3
    assert ran.out.endswith("mode     ask, from the default\n")


def test_check_of_named_files(home: Path, policy: Run) -> None:
    mine = home / "mine.toml"
    mine.write_text('[[rule]]\ndecision = "allow"\ntool = "f"\n')
    ran = policy("check", str(mine))
    assert (ran.code, ran.out) == (0, f"user     {mine}: 1 rule\n")
    theirs = home / "w" / ".toolwire" / "policy.toml"
    theirs.write_text(mine.read_text())
    assert_sentence(policy("check", str(mine), str(theirs)), 2, "rule 1 (line 1): a project's file cannot allow")
    assert_sentence(policy("check", "nothing.toml"), 2, "there is no file nothing.toml")
    assert_sentence(policy("check", "-"), 2, "rules are read from files")


def test_check_says_what_is_wrong_in_one_sentence(home: Path, policy: Run) -> None:
    (home / "toolwire" / "policy.toml").write_text('\n[[rule]]\ndecision = "deny"\ncommand = "rm *"\nmatch = "ls"\n')
    for arguments in (["check"], ["explain", "--command", "ls"]):
        ran = policy(*arguments)
        assert_sentence(ran, 2, "policy.toml, rule 1 (line 2): its example 'ls' does not fit")
        assert ran.out == ""


EXPLAINED = [
    (["--command", "ls"], "allow", "mode"),
    (["--command", "npm test"], "allow", "policy.toml:3"),
    (["--command", "ls | npm test"], "allow", "mode"),
    (["--command", "npm test; git push"], "deny", "policy.toml:8"),
    (["--command", "npm install"], "ask", "mode"),
    (["--command", "npm install", "--headless"], "deny", "mode"),
    (["--command", "npm install", "--mode", "full"], "allow", "mode"),
    (["--command", "npm test", "--mode", "read-only"], "deny", "mode"),
    (["--command", "$x", "--mode", "full"], "ask", "not understood"),
    (["--path", "a"], "allow", "mode"),
    (["--path", "../a"], "ask", "mode"),
    (["--path", ".toolwire/policy.toml"], "deny", "built in"),
    (["--path", ".toolwire/policy.toml", "--risk", "read"], "allow", "mode"),
    (["--tool", "send", "--risk", "network", "--arguments", '{"to": "x"}'], "ask", "mode"),
    (["--tool", "send"], "ask", "mode"),
]


@pytest.mark.parametrize(("arguments", "decision", "source"), EXPLAINED, ids=[" ".join(row[0]) for row in EXPLAINED])
def test_explain(arguments: list[str], decision: str, source: str, policy: Run) -> None:
    ran = policy("explain", *arguments, "--json")
    assert (ran.code, ran.err) == (0, "")
    (explained,) = ran.lines
    assert explained["decision"] == decision
    assert explained["source"].endswith(source)
    assert bool(explained["offers"]) is (decision == "ask" and source == "mode")


def test_explain_knows_the_settings(home: Path, policy: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says is what a run would do."""
    (home / "notes").mkdir()
    (home / "toolwire" / "config.toml").write_text(f'mode = "full"\nroots = ["{home / "notes"}", "/nowhere/here"]\n')
    (explained,) = policy("explain", "--command", "npm install", "--json").lines
    assert (explained["decision"], explained["mode"], explained["mode_source"]) == ("allow", "full", "config.toml:1")
    assert "mode     full, from config.toml:1" in policy("check").out
    monkeypatch.setenv("TOOLWIRE_MODE", "ask")
    (explained,) = policy("explain", "--command", "npm install", "--json").lines
    assert (explained["decision"], explained["mode_source"]) == ("ask", "TOOLWIRE_MODE")
    (explained,) = policy("explain", "--path", str(home / "notes" / "a"), "--mode", "auto-edit", "--json").lines
    assert explained["decision"] == "allow"


def test_explain_in_words(home: Path, policy: Run) -> None:
    ran = policy("explain", "--command", "npm test; npm ci; git push")
    assert ran.out.splitlines() == [
        "deny: I push myself",
        f"  allow  the command 'npm test' (execute): {home}/toolwire/policy.toml:3",
        "  ask    the command 'npm ci' (execute): the mode auto-edit",
        f"  deny   the command 'git push' (execute): {home}/toolwire/policy.toml:8",
    ]
    ran = policy("explain", "--path", "../a\x1b[2J\u202eb", "--tool", "save")
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    ran = policy("explain", "--command", "ls; $x")
    assert ran.out.splitlines()[-1].startswith(
        "  ask    the command '$x' (execute): the command '$x' is not understood: "
    )
    ran = policy("explain", "--path", "docs/a", "--tool", "save", "--mode", "ask")
    assert ran.out.splitlines()[2:] == ["It could be allowed for longer:", "  save: ./docs/a", "  save: ./docs/*"]


@pytest.mark.parametrize(
    ("arguments", "decision"),
    [
        (["--tool", "read_file", "--path", "/etc/passwd"], "deny"),
        (["--tool", "read_file", "--path", "/etc/passwd", "--risk", "read"], "ask"),
        (["--tool", "read_file", "--path", "a.txt"], "allow"),
        (["--tool", "write_file", "--path", "a.txt"], "allow"),
        (["--tool", "write_file", "--path", ".git/hooks/x"], "ask"),
        (["--tool", "fetch_url", "--arguments", '{"url": "https://example.com"}'], "ask"),
        (["--tool", "run_bash", "--command", "ls"], "allow"),
        (["--tool", "run_bash", "--command", "ls", "--arguments", '{"network": true}'], "ask"),
        (["--tool", "run_bash", "--command", "ls", "--arguments", '{"cwd": ".."}'], "deny"),
        (["--tool", "todo", "--path", "a.txt"], "allow"),
    ],
)
def test_explain_knows_the_built_in_tools(arguments: list[str], decision: str, policy: Run) -> None:
    """As `toolwire run` would judge such a call; with a path that the tool does not take, any tool of that name."""
    assert policy("explain", *arguments, "--json").lines[0]["decision"] == decision


def test_explain_says_of_each_part_what_decides_it(policy: Run) -> None:
    """The mode only where it is the mode."""
    for arguments, words in (
        (["--tool", "write_file", "--path", ".git/hooks/x"], "version control runs what stands there"),
        (["--tool", "read_file", "--path", "/etc/passwd"], "where this tool works; give a path inside"),
    ):
        first, row = policy("explain", *arguments).out.splitlines()
        assert words in first
        assert words in row
    row = policy("explain", "--tool", "run_bash", "--command", "ls", "--arguments", '{"network": true}').out
    assert "  ask    access to the network (network): the mode auto-edit\n" in row


def test_explain_of_another_workspace(home: Path, policy: Run) -> None:
    (home / "v" / ".toolwire").mkdir(parents=True)
    (home / "v" / ".toolwire" / "policy.toml").write_text('[[rule]]\ndecision = "deny"\ntool = "f"\n')
    found = policy("explain", "--tool", "f", "--risk", "read", "--workspace", "../v", "--json").lines[0]
    assert (found["decision"], found["source"]) == ("deny", f"{home}/v/.toolwire/policy.toml:1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--arguments", "[]"], "--arguments is no JSON object"),
        (["--arguments", "{"], "--arguments is no JSON object"),
        (["--risk", "small"], "there is no risk 'small'"),
        (["--mode", "yolo"], "there is no mode 'yolo'"),
        (["--tool", "no name"], "is no tool name"),
        (["--workspace", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_what_was_asked_wrongly_is_told(arguments: list[str], words: str, policy: Run) -> None:
    assert_sentence(policy("explain", *arguments), 2, words)
