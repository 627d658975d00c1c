"""Decisions that hold for longer than once: what is offered, what is kept, and for whom it holds."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolwire import Risk, ToolDefinition, ToolInvocation
from toolwire.approval.files import PolicyPaths, load_policy
from toolwire.approval.gate import Denial, Gate
from toolwire.approval.memory import FileMemory, offers_for
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.request import Answer, ApprovalRequest, Offer, Scope
from toolwire.approval.rule_file import MAX_RULES, read_rule_file
from toolwire.approval.rules import Decision, Rule
from toolwire.errors import ConfigError

ALLOW, DENY = Decision.ALLOW, Decision.DENY


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "w" / "docs").mkdir(parents=True)
    (tmp_path / "w" / "link").symlink_to(tmp_path)
    return Workspace(tmp_path / "w")


def tool_of(risk: Risk | None, arguments: dict[str, Any]) -> ToolDefinition:
    return ToolDefinition(
        "f",
        "",
        {"properties": {key: {} for key in arguments}},
        risk,
        paths=("path",) if "path" in arguments else (),
        command="command" if "command" in arguments else "",
        shell="bash",
    )


def offered(
    risk: Risk | None,
    arguments: dict[str, Any],
    workspace: Workspace,
    *,
    policy: Policy | None = None,
    repairs: tuple[str, ...] = (),
) -> tuple[Offer, ...]:
    policy = policy or Policy()
    tool = tool_of(risk, arguments)
    invocation = ToolInvocation("c", "f", arguments, repairs=repairs)
    return offers_for(invocation, tool, policy.judge_parts(tool, arguments, workspace), workspace)


COMMANDS: list[tuple[str, list[tuple[str, ...]]]] = [
    ("npm test", [("npm test",)]),
    ("git add a", [("git add a",), ("git add *",)]),
    ("git add a; git commit -m 'b c'", [("git add a", "git commit -m b\\ c"), ("git add *", "git commit *")]),
    ("ls; git add '*'", [("git add \\*",), ("git add *",)]),
    ("git add a && npm test", [("git add a", "npm test")]),
    ("git add /etc/x", [("git add /etc/x",)]),
    ("npm test; npm test", [("npm test",)]),
    ("bash x.sh", []),
    ("python x.py", []),
    ("npm test; python x.py", []),
    ("env npm test", [("npm test",)]),
    ("env -S 'npm test'", []),
    ("sudo npm test", []),
    ("npx x", []),
    ("find . -exec rm {} +", []),
    ("npm $x", []),
    ("$x", []),
    ("npm test > ../out", []),
    ("PATH=. npm test", []),
    ("npm 'a\u202eb'", []),
]


@pytest.mark.parametrize(("line", "expected"), COMMANDS, ids=[line for line, _ in COMMANDS])
def test_offers_for_commands(line: str, expected: list[tuple[str, ...]], workspace: Workspace) -> None:
    found = offered(Risk.EXECUTE, {"command": line}, workspace)
    assert [offer.rule.command for offer in found] == expected


def test_a_command_that_writes_a_file_is_offered_as_it_stands(workspace: Workspace) -> None:
    (offer,) = offered(Risk.EXECUTE, {"command": "npm test > out.txt"}, workspace)
    assert offer.rule.exact_arguments == '{"command":"npm test > out.txt"}'


PATHS: list[tuple[str, list[tuple[str, ...]]]] = [
    ("docs/a.md", [("./docs/a.md",), ("./docs/*",)]),
    ("a.md", [("./a.md",), ("./*",)]),
    ("docs/../a.md", [("./a.md",), ("./*",)]),
    ("a*[b]?", [("./a\\*[b]\\?",), ("./*",)]),
    ("../a", [("{parent}/a",)]),
    ("link/a", []),
    ("~/a", []),
    ("a\u200bb", [("./*",)]),
]


@pytest.mark.parametrize(("path", "expected"), PATHS, ids=[path for path, _ in PATHS])
def test_offers_for_paths(path: str, expected: list[tuple[str, ...]], workspace: Workspace) -> None:
    found = offered(Risk.WRITE, {"path": path, "text": "x"}, workspace)
    parent = os.path.dirname(workspace.root)
    assert [offer.rule.path for offer in found] == [
        tuple(each.format(parent=parent) for each in patterns) for patterns in expected
    ]


def test_offers_for_several_paths(workspace: Workspace) -> None:
    exact, folders = offered(Risk.WRITE, {"path": ["a", "docs/b"]}, workspace)
    assert exact.rule.path == ("./a", "./docs/b")
    assert folders.rule.path == ("./*", "./docs/*")


def test_offers_for_other_tools(workspace: Workspace) -> None:
    arguments = {"to": "*", "copies": [1, None]}
    exact, every = offered(Risk.NETWORK, arguments, workspace)
    assert exact.rule.exact_arguments == '{"copies":[1,null],"to":"*"}'
    assert every.rule == Rule(decision=ALLOW, tool=("f",), risk=("network",))
    (only,) = offered(None, arguments, workspace)
    assert only.rule == Rule(decision=ALLOW, tool=("f",), risk=("unknown",), exact_arguments=exact.rule.exact_arguments)
    (only,) = offered(None, {"path": "docs/a"}, workspace)
    assert only.rule.exact_arguments == '{"path":"docs/a"}'
    (every,) = offered(Risk.NETWORK, {"to": "x" * 5000}, workspace)
    assert not every.rule.exact_arguments


def test_nothing_is_offered_where_it_would_be_asked_again(workspace: Workspace) -> None:
    arguments = {"to": "x"}
    assert offered(Risk.NETWORK, arguments, workspace)
    assert offered(Risk.NETWORK, arguments, workspace, repairs=("a brace was added",)) == ()
    assert offered(Risk.DANGEROUS, arguments, workspace) == ()
    ask = Rule(decision=Decision.ASK, tool=("f",))
    assert offered(Risk.NETWORK, arguments, workspace, policy=Policy("full", [ask])) == ()
    assert offered(None, arguments, workspace, policy=Policy("read-only")) == ()
    maybe = Rule(decision=DENY, path=("secret",))
    assert offered(Risk.EXECUTE, {"command": "prettier ."}, workspace)
    assert offered(Risk.EXECUTE, {"command": "prettier ."}, workspace, policy=Policy("ask", [maybe])) == ()


CALLS: list[tuple[Risk | None, dict[str, Any]]] = [
    *[(Risk.EXECUTE, {"command": line}) for line, _ in COMMANDS],
    (Risk.EXECUTE, {"command": "npm test > out.txt"}),
    *[(Risk.WRITE, {"path": path, "text": "x"}) for path, _ in PATHS],
    (Risk.READ, {"path": "../a"}),
    (Risk.NETWORK, {"to": "*", "n": 1}),
    (None, {"to": "*?\\"}),
]


@pytest.mark.parametrize(("risk", "arguments"), CALLS, ids=[str(arguments) for _, arguments in CALLS])
def test_every_offer_is_kept_and_then_nobody_is_asked(
    risk: Risk | None, arguments: dict[str, Any], workspace: Workspace, tmp_path: Path
) -> None:
    """And "always deny" denies, from the same file."""
    tool = tool_of(risk, arguments)
    for number, offer in enumerate(offered(risk, arguments, workspace)):
        for decision in (ALLOW, DENY):
            paths = PolicyPaths(tmp_path / "none", tmp_path / f"{number}{decision}" / "always.toml")
            plain = offer.rule.plain and decision is ALLOW
            FileMemory(paths.always).save(
                msgspec.structs.replace(offer.rule, decision=decision, plain=plain), workspace
            )
            judged = load_policy(workspace, paths=paths).judge_parts(tool, arguments, workspace)
            assert max(verdict.decision for verdict in judged) is decision
            assert any(verdict.source.startswith(str(paths.always)) for verdict in judged)


@pytest.mark.parametrize(
    ("kept", "others"),
    [
        (
            {"command": "git add a"},
            ["git add b", "git add a b", "git add", "git add a; rm b", "git add $x", "X=1 git add a"],
        ),
        ({"command": "git add '*'"}, ["git add a", "git add *"]),
        ({"path": "a*"}, ["ab", "docs/a*", "a"]),
        ({"path": "docs/a"}, ["docs/b", "a", "docs/a/b", "../docs/a", "DOCS/a"]),
        ({"to": "*"}, ["x", ""]),
    ],
)
def test_an_exact_offer_allows_nothing_else(kept: dict[str, Any], others: list[str], workspace: Workspace) -> None:
    ((name, _),) = kept.items()
    risk = Risk.EXECUTE if name == "command" else Risk.WRITE
    policy = Policy("ask", [offered(risk, kept, workspace)[0].rule])
    tool = tool_of(risk, kept)
    assert policy.judge(tool, kept, workspace).decision is ALLOW
    for other in others:
        assert policy.judge(tool, {name: other}, workspace).decision is Decision.ASK, other
    assert policy.judge(tool_of(Risk.DANGEROUS, kept), kept, workspace).decision is Decision.ASK


async def ask_again(policy: Policy, workspace: Workspace, memory: FileMemory, answer: Answer) -> tuple[bool, bool]:
    """Whether a person was asked, and whether it may run."""
    asked: list[ApprovalRequest] = []

    async def ask(request: ApprovalRequest) -> Answer:
        asked.append(request)
        return answer

    gate = Gate(ask, policy=policy, workspace=workspace, memory=memory)
    decided = await gate.decide(
        ToolInvocation("c", "f", {"command": "npm test"}), tool_of(Risk.EXECUTE, {"command": ""})
    )
    return bool(asked), not isinstance(decided, Denial)


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize(
    ("scope", "same", "later", "elsewhere"),
    [
        # who is asked again: a helper with the same policy, the next run, another workspace
        (Scope.ONCE, True, True, True),
        (Scope.SESSION, False, True, True),
        (Scope.ALWAYS, False, False, True),
    ],
)
async def test_how_far_an_answer_goes(
    scope: Scope, same: bool, later: bool, elsewhere: bool, allowed: bool, workspace: Workspace, tmp_path: Path
) -> None:
    paths = PolicyPaths(tmp_path / "policy.toml", tmp_path / "always.toml")
    memory = FileMemory(paths.always)
    policy = load_policy(workspace, paths=paths)
    answer = Answer(allowed=allowed, scope=scope)
    assert await ask_again(policy, workspace, memory, answer) == (True, allowed)
    # Whoever is asked again says the opposite, once: so it is seen who decided.
    other = Answer(allowed=not allowed)
    assert await ask_again(policy, workspace, memory, other) == (same, allowed is not same)
    fresh = load_policy(workspace, paths=paths)
    assert await ask_again(fresh, workspace, memory, other) == (later, allowed is not later)
    (tmp_path / "x").mkdir()
    away = Workspace(tmp_path / "x")
    assert await ask_again(load_policy(away, paths=paths), away, memory, other) == (elsewhere, allowed is not elsewhere)


async def test_what_cannot_be_kept_does_not_run(workspace: Workspace, tmp_path: Path) -> None:
    memory = FileMemory(tmp_path / "always.toml")
    memory.path.write_text("this is not TOML")
    answer = Answer(allowed=True, scope=Scope.ALWAYS)
    assert await ask_again(Policy(), workspace, memory, answer) == (True, False)
    assert memory.path.read_text() == "this is not TOML"


@pytest.mark.parametrize(
    "pattern",
    [
        "python *",
        "python x.py",
        "bash -c x",
        "sh *",
        "env *",
        "sudo *",
        "xargs *",
        "node x",
        "npx *",
        "git *",
        "make *",
        "pytest *",
        "g?t x",
    ],
)
def test_interpreters_and_the_like_can_never_be_kept(pattern: str, workspace: Workspace, tmp_path: Path) -> None:
    memory = FileMemory(tmp_path / "always.toml")
    with pytest.raises(ConfigError, match="cannot be allowed for always"):
        memory.save(Rule(decision=ALLOW, tool=("f",), command=("npm test", pattern)), workspace)
    assert not memory.path.exists()
    memory.save(Rule(decision=DENY, tool=("f",), command=(pattern,)), workspace)
    assert memory.path.exists()


def test_the_file_is_for_the_person_alone_and_for_people_to_read(workspace: Workspace, tmp_path: Path) -> None:
    memory = FileMemory(tmp_path / "config" / "toolwire" / "always.toml")
    rule = Rule(decision=ALLOW, tool=("f",), command=("npm test",))
    for _ in range(2):
        memory.save(rule, workspace)
    memory.save(msgspec.structs.replace(rule, decision=DENY), workspace)
    assert stat.S_IMODE(memory.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(memory.path.parent.stat().st_mode) == 0o700
    assert memory.path.read_text() == (
        "# What was allowed or denied for always, each rule in its workspace. Delete what should be asked again.\n"
        f'\n[[rule]]\ndecision = "allow"\nworkspace = "{workspace.root}"\ntool = ["f"]\ncommand = ["npm test"]\n'
        f'\n[[rule]]\ndecision = "deny"\nworkspace = "{workspace.root}"\ntool = ["f"]\ncommand = ["npm test"]\n'
    )
    assert [entry.name for entry in memory.path.parent.iterdir()] == ["always.toml"]


def test_what_a_person_wrote_into_the_file_stays(workspace: Workspace, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    text = '# mine\n[[rule]]\ndecision = "deny"\ntool = "g"\nmatch = "g"'
    real.write_text(text)
    link = tmp_path / "always.toml"
    link.symlink_to(real)
    FileMemory(link).save(Rule(decision=ALLOW, tool=("f",)), workspace)
    assert link.is_symlink()
    assert real.read_text().startswith(f"{text}\n\n[[rule]]\n")


def test_what_does_not_read_back_is_not_kept(workspace: Workspace, tmp_path: Path) -> None:
    memory = FileMemory(tmp_path / "always.toml")
    for rule in (
        Rule(decision=ALLOW),
        Rule(decision=ALLOW, tool=("no name",)),
        Rule(decision=ALLOW, tool=("f",), arguments={"a": (1,)}),
        Rule(decision=DENY, path=("a",), changes=True),
        Rule(decision=DENY, path=("\ud800",)),
    ):
        with pytest.raises((ConfigError, UnicodeEncodeError)):
            memory.save(rule, workspace)
    assert not memory.path.exists()


def test_a_full_file_takes_no_more(workspace: Workspace, tmp_path: Path) -> None:
    memory = FileMemory(tmp_path / "always.toml")
    memory.path.write_text('[[rule]]\ndecision = "deny"\n' * MAX_RULES)
    with pytest.raises(ConfigError, match="more than"):
        memory.save(Rule(decision=ALLOW, tool=("f",)), workspace)
    memory.path.write_text("rule = []\n")
    with pytest.raises(ConfigError, match="not TOML"):
        memory.save(Rule(decision=ALLOW, tool=("f",)), workspace)


def test_a_disk_that_fails_leaves_the_file_as_it_was(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = FileMemory(tmp_path / "c" / "always.toml")
    memory.save(Rule(decision=ALLOW, tool=("f",)), workspace)
    before = memory.path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="No space"):
                memory.save(Rule(decision=ALLOW, tool=("g",)), workspace)
        assert memory.path.read_bytes() == before
        assert [entry.name for entry in memory.path.parent.iterdir()] == ["always.toml"]


def _save_some(path: Path, root: str, name: str) -> None:
    for number in range(20):
        FileMemory(path).save(Rule(decision=ALLOW, tool=(f"{name}{number}",)), Workspace(root))


def test_several_programs_save_at_the_same_time(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "always.toml"
    context = multiprocessing.get_context("fork")
    running = [context.Process(target=_save_some, args=(path, workspace.root, name)) for name in "abc"]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    assert [process.exitcode for process in running] == [0, 0, 0]
    file = read_rule_file(path)
    assert file is not None
    assert sorted(filed.rule.tool[0] for filed in file.rules) == sorted(f"{a}{n}" for a in "abc" for n in range(20))


def test_modes_do_not_change_what_is_kept(workspace: Workspace) -> None:
    """What was allowed for always is denied in read-only all the same."""
    rule = offered(Risk.WRITE, {"path": "a"}, workspace)[0].rule
    tool = tool_of(Risk.WRITE, {"path": "a"})
    judged = {mode: Policy(mode, [rule]).judge(tool, {"path": "a"}, workspace).decision for mode in Mode}
    assert judged == {Mode.READ_ONLY: DENY, Mode.ASK: ALLOW, Mode.AUTO_EDIT: ALLOW, Mode.FULL: ALLOW}
