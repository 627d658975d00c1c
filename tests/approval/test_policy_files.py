"""Rules as files: what is read, what is refused and how it is told, and which file may say what."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from toolwire import Risk, ToolDefinition
from toolwire.approval.files import (
    PolicyPaths,
    built_in_rules,
    further_roots,
    load_layer,
    load_layers,
    load_policy,
    policy_paths,
)
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.rule_file import MAX_FILE, MAX_RULES, parse_rules, read_rule_file, rule_text
from toolwire.approval.rules import Decision, Rule, Where
from toolwire.errors import ConfigError, ToolwireError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "w" / ".toolwire").mkdir(parents=True)
    (tmp_path / "config").mkdir()
    return tmp_path


def paths_in(home: Path) -> PolicyPaths:
    config = home / "config"
    return PolicyPaths(config / "policy.toml", config / "always.toml", (config, home / "state"))


def load(home: Path, *, user: str = "", project: str = "", always: str = "", mode: str | None = None) -> Policy:
    for path, text in (
        (home / "config" / "policy.toml", user),
        (home / "config" / "always.toml", always),
        (home / "w" / ".toolwire" / "policy.toml", project),
    ):
        if text:
            path.write_text(text)
    return load_policy(Workspace(home / "w"), mode=mode, paths=paths_in(home))


WHOLE = """
# comment
mode = "auto-edit"

[[rule]]
decision = "allow"
tool = ["run_*", "shell"]
risk = "execute"
command = ["git log *", 'git commit -m "a b"']
where = "inside"
match = ["git log", { tool = "run_it", command = "git log -p" }]
not_match = ["git push", "git log; rm x", "git logs"]

[[rule]]
decision = "deny"
path = [".env", "~/.ssh"]
reason = "secrets"
match = [".env", "sub/.env", "~/.ssh/key"]
not_match = "env"

[[rule]]
decision = "ask"
arguments = { branch = ["main", "release-*"], force = true, depth = 3 }
match = [{ arguments = { branch = "release-1", force = true, depth = 3 } }]
not_match = [{ arguments = { branch = "dev", force = true, depth = 3 } }]

[[rule]]
decision = "deny"
changes = true
"""


def test_a_whole_file(home: Path) -> None:
    policy = load(home, user=WHOLE)
    name = str(home / "config" / "policy.toml")
    assert policy.mode is Mode.AUTO_EDIT
    assert policy.rules[1:] == (
        Rule(
            decision=Decision.ALLOW,
            tool=("run_*", "shell"),
            risk=("execute",),
            command=("git log *", 'git commit -m "a b"'),
            where=Where.INSIDE,
            source=f"{name}:5",
        ),
        Rule(decision=Decision.DENY, path=(".env", "~/.ssh"), reason="secrets", source=f"{name}:14"),
        Rule(
            decision=Decision.ASK,
            arguments={"branch": ("main", "release-*"), "force": (True,), "depth": (3,)},
            source=f"{name}:21",
        ),
        Rule(decision=Decision.DENY, changes=True, source=f"{name}:27"),
    )


def test_without_files_there_is_the_default(home: Path) -> None:
    policy = load(home)
    assert policy.mode is Mode.ASK
    assert policy.rules == built_in_rules(paths_in(home))


RULES_REFUSED = [
    ('tool = "x"', "it has no decision"),
    ('decision = "maybe"', "its decision is 'maybe'"),
    ('decision = "Deny"', "its decision is 'Deny'"),
    ("decision = 1", "its decision is 1"),
    ("decision = true", "its decision is True"),
    ('decision = "deny"\ntols = "x"', "`tols`, which is not known"),
    ('decision = "deny"\nsource = "x"', "`source`, which is not known"),
    ('decision = "deny"\ntool = 5', "`tool` is 5"),
    ('decision = "deny"\ntool = []', "`tool` is []"),
    ('decision = "deny"\ntool = ""', "`tool` is ''"),
    ('decision = "deny"\ntool = ["x", 5]', "`tool` is ['x', 5]"),
    ('decision = "deny"\ntool = "rm -rf"', "no tool can be called 'rm -rf'"),
    ('decision = "deny"\nrisk = "reed"', "there is no risk 'reed'"),
    ('decision = "deny"\ncommand = "git \'x"', "a quote is not closed"),
    ('decision = "deny"\ncommand = "  "', "has no word"),
    (f'decision = "deny"\ncommand = "{"x" * 1001}"', "more than 1000 characters"),
    ('decision = "deny"\npath = "a/../b"', "no path is like"),
    ('decision = "deny"\npath = "a//b"', "no path is like"),
    ('decision = "deny"\npath = "//a"', "no path is like"),
    ('decision = "deny"\npath = ".."', "no path is like"),
    ('decision = "deny"\npath = "a\\u0000b"', "no path is like"),
    ('decision = "deny"\npath = "~root/x"', "whose home"),
    ('decision = "deny"\nwhere = "within"', "`where` is 'within'"),
    ('decision = "deny"\nwhere = ["inside"]', "`where` is ['inside']"),
    ('decision = "deny"\nchanges = "yes"', "`changes` is 'yes'"),
    ('decision = "deny"\narguments = "x"', "`arguments` is 'x'"),
    ('decision = "deny"\narguments = { a = [] }', "the argument 'a' may have no value"),
    ('decision = "deny"\narguments = { a = 2020-01-01 }', "the argument 'a' cannot be"),
    ('decision = "deny"\narguments = { a = [[nan]] }', "the argument 'a' cannot be nan"),
    ('decision = "deny"\nexact_arguments = "[]"', "no JSON object"),
    ('decision = "deny"\nexact_arguments = { a = 1 }', "no JSON object"),
    ('decision = "deny"\nreason = 5', "`reason` is no text of one line"),
    ('decision = "deny"\nreason = "a\\u001b[2J"', "`reason` is no text of one line"),
    ('decision = "deny"\nworkspace = "w"', "`workspace` is 'w'"),
    ('decision = "deny"\nmatch = [5]', "`match` has 5"),
    ('decision = "allow"', "it allows everything"),
    ('decision = "allow"\nexact_arguments = "{}"', "it allows these arguments to every tool"),
    ('decision = "allow"\ncommand = "*"', "allows any program"),
    ('decision = "allow"\narguments = { url = "https://*.example.com/*" }', "does not say which host"),
    (
        'decision = "allow"\narguments = { url = ["https://a.b/*", "?ttps://c.d/"] }',
        "does not say which host",
    ),
    ('decision = "allow"\ncommand = ["git *", "?it x"]', "allows any program"),
    ('decision = "allow"\ntool = "f"\nchanges = true', "is for rules that ask or deny"),
    # examples
    ('decision = "deny"\ncommand = "rm *"\nmatch = "ls"', "example 'ls' does not fit, but stands under match"),
    ('decision = "deny"\ncommand = "rm *"\nmatch = "rm $("', "may fit and may not"),
    ('decision = "deny"\ncommand = "rm *"\nmatch = "$x"', "may fit and may not"),
    ('decision = "deny"\ncommand = "rm *"\nnot_match = "ls; rm x"', "fits, but stands under not_match"),
    ('decision = "deny"\ncommand = "rm *"\nnot_match = "$x y"', "may fit, but stands under not_match"),
    ('decision = "allow"\ncommand = "ls *"\nmatch = "ls; rm x"', "does not fit"),
    ('decision = "allow"\npath = "docs/**"\nmatch = "../x"', "does not fit"),
    ('decision = "allow"\ntool = "f*"\nmatch = "g"', "does not fit"),
    ('decision = "allow"\ntool = "f*"\nmatch = "no name"', "is no call"),
    ('decision = "deny"\narguments = { a = 1 }\nmatch = "x"', "the rule is about arguments"),
    ('decision = "deny"\ntool = "f"\nmatch = { name = "f" }', "it has 'name'"),
    ('decision = "deny"\ntool = "f"\nmatch = { risk = "none" }', "there is no risk 'none'"),
    ('decision = "deny"\ntool = "f"\nmatch = { command = 5 }', "of the wrong kind"),
    ('decision = "deny"\ntool = "f"\nmatch = { arguments = 5 }', "of the wrong kind"),
    ('decision = "deny"\npath = "x"\nmatch = "a\\u0000b"', "may fit and may not"),
]


@pytest.mark.parametrize(("rule", "words"), RULES_REFUSED, ids=[words for _, words in RULES_REFUSED])
def test_a_wrong_rule_is_told_with_its_line(rule: str, words: str, home: Path) -> None:
    text = f'\n[[rule]]\ndecision = "deny"\ntool = "first"\n\n  [[ rule ]]  # here\n{rule}\n'
    tomllib.loads(text)
    with pytest.raises(ConfigError) as caught:
        load(home, user=text)
    assert "policy.toml, rule 2 (line 6): " in caught.value.message
    assert words in caught.value.message
    assert len(caught.value.hint) > 10
    assert len(caught.value.message) < 600


FILES_REFUSED = [
    (b"[[rule]\n", "is not TOML"),
    (b'mode = "ask"\nmode = "full"\n', "is not TOML"),
    (b"\xff\xfe", "is not TOML"),
    (b"x = " + b"[" * 20_000, "is not TOML"),
    (b"a" + b".a" * 60_000 + b" = 1", "a line of more than 500 dots"),
    (b'[[rule]]\ndecision = "deny"\nplain = true\n', "`plain` is for rules that allow"),
    (
        b'[[rule]]\ndecision = "deny"\n[rule.arguments' + b".a" * 495 + b"]\nb" + b".b" * 495 + b" = 1",
        "nested too deep",
    ),
    (b'mode = "yolo"', "there is no mode 'yolo'"),
    (b"mode = 5", "`mode` is not a text"),
    (b"rules = []", "`rules`, which is not known"),
    (b'[rule]\ndecision = "deny"', "`rule` is not a list of tables"),
    (b"rule = [5]", "`rule` is not a list of tables"),
    (b'[[rule]]\ndecision = "deny"\n' * (MAX_RULES + 1), f"more than {MAX_RULES} rules"),
    (b"#" * (MAX_FILE + 1), "more than 256 KiB"),
]


@pytest.mark.parametrize(("data", "words"), FILES_REFUSED, ids=[words for _, words in FILES_REFUSED])
@pytest.mark.parametrize("which", ["config/policy.toml", "config/always.toml", "w/.toolwire/policy.toml"])
def test_a_file_that_is_not_understood_stops_everything(data: bytes, words: str, which: str, home: Path) -> None:
    (home / which).write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load(home)
    assert words in caught.value.message
    assert Path(which).name in caught.value.message
    assert caught.value.hint


def test_what_cannot_be_read_stops_everything(home: Path) -> None:
    path = home / "config" / "policy.toml"
    path.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load(home)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="it is not a file"):
        load(home)
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(home)


def test_every_cut_of_a_file_is_refused_or_read(home: Path) -> None:
    """A file that was cut never raises anything but a sentence."""
    data = WHOLE.encode()
    read = refused = 0
    for end in range(0, len(data), 3):
        try:
            parse_rules(data[:end], "x")
            read += 1
        except ToolwireError as error:
            refused += bool(error.hint)
    assert read > 10
    assert refused > 100
    assert read + refused == len(range(0, len(data), 3))


def test_rules_written_in_another_way_are_told_by_number(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"policy.toml, rule 2: its decision"):
        load(home, user='rule = [{ decision = "deny" }, { decision = "x" }]')
    with pytest.raises(ConfigError, match=r"policy.toml, rule 1: its decision"):
        load(home, user="[[rule]]\ndecision = '''\n[[rule]]\n'''")


@pytest.mark.parametrize(
    ("user", "given", "project", "mode"),
    [
        (None, None, None, "ask"),
        ("full", None, None, "full"),
        ("full", "read-only", None, "read-only"),
        ("read-only", "full", None, "full"),
        (None, None, "read-only", "read-only"),
        ("full", None, "ask", "ask"),
        (None, "full", "auto-edit", "auto-edit"),
        ("full", "read-only", "ask", "read-only"),
        (None, "read-only", "ask", "read-only"),
        (None, None, "full", None),
        (None, None, "auto-edit", None),
        ("read-only", None, "ask", None),
        ("ask", "auto-edit", "full", None),
    ],
)
def test_the_mode_and_who_says_so(
    user: str | None, given: str | None, project: str | None, mode: str | None, home: Path
) -> None:
    texts = {"user": user and f'mode = "{user}"', "project": project and f'mode = "{project}"'}
    texts = {name: text for name, text in texts.items() if text}
    if mode is None:
        with pytest.raises(ConfigError, match="widens the mode") as caught:
            load(home, mode=given, **texts)  # type: ignore[arg-type]
        assert "your own file" in caught.value.hint
    else:
        assert load(home, mode=given, **texts).mode == mode  # type: ignore[arg-type]


def test_a_mode_that_is_given_wrongly_is_refused(home: Path) -> None:
    with pytest.raises(ConfigError, match="there is no mode 'everything'"):
        load(home, mode="everything")


def test_a_project_can_only_tighten(home: Path) -> None:
    deny = '[[rule]]\ndecision = "deny"\ntool = "f"\n'
    policy = load(home, user='[[rule]]\ndecision = "allow"\ntool = "*"\n', project=deny)
    tool = ToolDefinition("f", "", {}, Risk.READ)
    assert policy.judge(tool, {}, Workspace(home / "w")).decision is Decision.DENY
    with pytest.raises(ConfigError, match=r"rule 2 \(line 4\): a project's file cannot allow") as caught:
        load(home, project=deny + deny.replace("deny", "allow"))
    assert "your own file" in caught.value.hint
    with pytest.raises(ConfigError, match="a project's file holds in its project"):
        load(home, project=f'{deny}workspace = "/x"\n')


def test_kept_decisions_hold_in_their_workspace_alone(home: Path) -> None:
    text = "".join(
        f'[[rule]]\ndecision = "allow"\ntool = "{name}"\nworkspace = "{where}"\n'
        for name, where in (("here", home / "w"), ("there", home / "x"), ("above", home))
    )
    assert [rule.tool for rule in load(home, always=text).rules[1:]] == [("here",)]
    with pytest.raises(ConfigError, match="has a mode"):
        load(home, always='mode = "full"')


@pytest.mark.parametrize(
    ("env", "config", "state"),
    [
        ({"HOME": "/h"}, "/h/.config", "/h/.local/state"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, "/c", "/s"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": ""}, "/h/.config", "/h/.local/state"),
    ],
)
def test_where_the_files_are(env: dict[str, str], config: str, state: str) -> None:
    paths = policy_paths(env)
    assert (str(paths.user), str(paths.always)) == (f"{config}/toolwire/policy.toml", f"{config}/toolwire/always.toml")
    assert [str(folder) for folder in paths.protected] == [
        f"{config}/toolwire",
        f"{state}/toolwire",
        f"{config}/toolwire/mcp.json",
        f"{config}/toolwire/config.toml",
    ]


def test_files_that_are_links_are_protected_where_they_really_are(home: Path) -> None:
    real = home / "w" / "dotfiles" / "always.toml"
    real.parent.mkdir(parents=True)
    real.touch()
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "always.toml").symlink_to(real)
    tool = ToolDefinition("write", "", {"properties": {"path": {}}}, Risk.WRITE, paths=("path",))
    judged = load(home, mode="full").judge(tool, {"path": "dotfiles/always.toml"}, Workspace(home / "w"))
    assert (judged.decision, judged.source) == (Decision.DENY, "built in")


PROTECTED = [
    "w/.toolwire/policy.toml",
    "w/.toolwire/new",
    "w/.toolwire",
    "w/sub/.toolwire/policy.toml",
    "w/.TOOLWIRE/policy.toml",
    "config/policy.toml",
    "config/always.toml",
    "config",
    "state/audit.jsonl",
    "link/policy.toml",
    "w/link/always.toml",
]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("given", PROTECTED)
def test_no_tool_writes_what_decides_about_tools(given: str, mode: Mode, home: Path) -> None:
    """Whatever is allowed."""
    for link in (home / "link", home / "w" / "link"):
        link.symlink_to(home / "config")
    policy = load(home, user='[[rule]]\ndecision = "allow"\ntool = "*"\n', mode=mode)
    workspace = Workspace(home / "w")
    path = str(home / given)
    properties: dict[str, Any] = {"path": {}, "command": {}}
    for risk in (Risk.WRITE, Risk.EXECUTE, Risk.NETWORK, Risk.DANGEROUS, None):
        tool = ToolDefinition("f", "", {"properties": properties}, risk, paths=("path",))
        for arguments in ({"path": path}, {"path": ["a", path]}, {"path": os.path.relpath(path, home / "w")}):
            assert policy.judge(tool, arguments, workspace).decision is Decision.DENY, (risk, arguments)
    shell = ToolDefinition("f", "", {"properties": properties}, Risk.EXECUTE, command="command", shell="bash")
    for line in (f"echo x > {path}", f"ls; rm -r {path}", f"cp a {path}", f"tee -a {path}", f"dd of={path}"):
        assert policy.judge(shell, {"command": line}, workspace).decision is Decision.DENY, line


def test_reading_what_decides_is_no_change(home: Path) -> None:
    policy = load(home)
    workspace = Workspace(home / "w")
    reader = ToolDefinition("f", "", {"properties": {"path": {}}}, Risk.READ, paths=("path",))
    shell = ToolDefinition("f", "", {"properties": {"command": {}}}, Risk.EXECUTE, command="command", shell="bash")
    allowed = Decision.ALLOW
    assert policy.judge(reader, {"path": ".toolwire/policy.toml"}, workspace).decision is allowed
    for line in ("cat .toolwire/policy.toml", "grep -r x .", "ls"):
        assert policy.judge(shell, {"command": line}, workspace).decision is allowed
    full = load(home, mode="full")
    for line in ("npm test", "black *.py", "for f in a b; do touch $f; done", "ruff check ."):
        assert full.judge(shell, {"command": line}, workspace).decision is allowed


def test_a_rule_reads_back_as_it_was_written() -> None:
    texts = ("a", 'quote"back\\slash', "tab\tline\nend", "\x7f\x00\x1b", "ünï 😀 \u202e", "'''", '"""', "# no comment")
    for text in texts:
        rule = Rule(
            decision=Decision.DENY,
            tool=("f", "g_*"),
            risk=("read", "unknown"),
            command=(f"x {text.replace(chr(39), '').replace(chr(34), '')}",),
            where=Where.OUTSIDE,
            exact_arguments='{"a":"\\u202e"}',
        )
        ((filed),) = parse_rules(rule_text(rule, f"/w/{text}").encode(), "x").rules
        assert filed.workspace == f"/w/{text}"
        assert filed.rule == Rule(**{name: getattr(rule, name) for name in rule.__struct_fields__} | {"source": "x:1"})


def test_the_example_in_the_documentation_is_right(home: Path) -> None:
    page = (ROOT / "docs" / "approval.md").read_text()
    blocks = [piece.split("\n```")[0] for piece in page.split("```toml\n")[1:]]
    assert len(blocks) >= 1
    for block in blocks:
        load(home, user=block)
        layers = load_layers(Workspace(home / "w"), paths=paths_in(home))
        assert layers.files[0].rules
        assert layers.files[0].examples >= 3


def test_no_file_is_no_rules(tmp_path: Path) -> None:
    assert read_rule_file(tmp_path / "nothing.toml") is None
    assert read_rule_file(tmp_path / "nowhere" / "nothing.toml") is None


def test_further_folders_come_from_the_persons_file_alone(tmp_path: Path) -> None:
    paths = PolicyPaths(tmp_path / "policy.toml", tmp_path / "always.toml")
    assert further_roots(paths) == ()
    paths.user.write_text('roots = ["/srv/shared", "~/notes"]\n')
    assert further_roots(paths) == ("/srv/shared", os.path.expanduser("~/notes"))
    for wrong in ('roots = "x"', 'roots = ["relative"]', "roots = [1]"):
        paths.user.write_text(wrong)
        with pytest.raises(ConfigError, match="`roots` is not a list of folders"):
            further_roots(paths)


@pytest.mark.parametrize(("kind", "words"), [("project", "cannot widen where calls work"), ("always", "has roots")])
def test_other_files_cannot_name_folders(tmp_path: Path, kind: str, words: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('roots = ["/"]\n')
    with pytest.raises(ConfigError, match=words):
        load_layer(kind, file, Workspace(tmp_path))
