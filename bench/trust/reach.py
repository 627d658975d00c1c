"""Commands that are let run although a rule keeps a file from being read: none of them shows what that file holds.

The judge is the output of the program itself, run in a repository that holds the file in every way a repository can: in
commits, changed, in the index, stashed, as what a tag is to; and in folders that can be compared.
"""

from __future__ import annotations

import os
import random
import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from toolwire import Risk, ToolDefinition
from toolwire.approval.commands.git import FORMS
from toolwire.approval.commands.options import Options, Value, names
from toolwire.approval.commands.readers import READERS
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.rules import Decision, Rule

from . import Found

CANARY = "canaryq7"
_SHELL = ToolDefinition(
    "shell",
    "",
    {"type": "object", "properties": {"command": {}, "cwd": {}}},
    Risk.EXECUTE,
    command="command",
    folder="cwd",
)
_GIT = "git -c user.name=x -c user.email=x"
_LAID_OUT = f"""
git init -q . && mkdir secret docs one two
echo text > a.txt; echo text > docs/b.txt; echo text > one/b.txt; echo other > two/b.txt
echo {CANARY}1 > secret/key.txt; echo {CANARY}2 > one/key.txt; echo {CANARY}3 > two/key.txt
git add . && {_GIT} commit -qm first
echo {CANARY}4 >> secret/key.txt; echo more >> a.txt; {_GIT} commit -qam second
git branch -q side HEAD~1 && git switch -q side && echo {CANARY}5 > secret/key.txt && {_GIT} commit -qam third
git switch -q - && {_GIT} merge -q -X ours -m fourth side
echo {CANARY}6 >> secret/key.txt && {_GIT} stash -q
echo {CANARY}7 >> secret/key.txt && git add secret; echo {CANARY}8 >> secret/key.txt
git tag blob $(git rev-parse :secret/key.txt) && {_GIT} tag -am note noted blob && git tag tree HEAD:secret
"""
_OPERANDS = sorted(
    names(
        "HEAD HEAD~1 HEAD^2 side blob noted tree blob^{} noted^{} stash@{0} stash HEAD:secret HEAD..side "
        "side...HEAD :/first -- a.txt HEAD:a.txt docs secret one two . * s* o*/* */b.txt one/b.txt b.txt .. "
        "../secret x text - 1 :/ :(top)one :(top)secret/k* refs/tags canary* tag commit"
    )
)
_VALUES = sorted(
    names(
        "1 HEAD a.txt %H %B %(raw) %(contents) %(*contents) %(*raw) raw email canary secret 1,3 diff "
        "porcelain always all x log color recurse on"
    )
)
_OTHERS = sorted(
    names(
        "--ext-diff --textconv --binary --patch-with-raw --remerge-diff --diff-merges=on --dd -u --batch "
        "--buffer --contents --ignore-submodules --break-rewrites --irreversible-delete --anchored=x "
        "--ita-visible-in-index --indent-heuristic --inter-hunk-context=3 --patch-i --pat --verb "
        "--word-diff=color --filters -R -N --null-data --dereference-recursive --new-file "
        "--unidirectional-new-file --from-file=one --to-file=two --files0-from=x --follow=name"
    )
)
"""Options that no table holds: with them a command runs where a rule allows it."""
_ALLOWED = ("git", "diff", "grep", "egrep", "rg", "cmp", "cat", "head", "sort", "wc")


def shows_nothing_denied(count: int, seed: int) -> Found:
    """Readers and forms of git with random options and operands; the file system and git say what is in the output."""
    with TemporaryDirectory() as folder:
        root = os.path.realpath(folder)
        _run(_LAID_OUT, root)
        return _tried(count, seed, Workspace(root))


def _tried(count: int, seed: int, workspace: Workspace) -> Found:
    chance = random.Random(seed)
    deny = Rule(decision=Decision.DENY, path=("key.txt",))
    # What reads alone; and what a person lets run by its name, whatever its options are.
    policies = (
        Policy("ask", [deny]),
        Policy("ask", [deny, Rule(decision=Decision.ALLOW, command=tuple(f"{name} *" for name in _ALLOWED))]),
    )
    readers = sorted(set(READERS) - {"sleep", "hostname", "exit"})
    found = Found()
    shown = 0
    for _ in range(count):
        policy = chance.choice(policies)
        is_git = chance.random() < 0.6
        name = chance.choice(sorted(FORMS)) if is_git else chance.choice((*readers, *_ALLOWED[1:], "diff", "diff"))
        if is_git and policy is policies[1] and not FORMS[name].below:
            # It may change the repository, as `git branch x` does, or does not even understand its options.
            continue
        options = FORMS[name].options if is_git else READERS[name].options
        words = [_word(options, chance, policy is policies[1]) for _ in range(chance.randrange(5))]
        line = " ".join((f"git {name}" if is_git else name, *words))
        cwd = chance.choice(("", "", "docs", "one"))
        decision = policy.judge(_SHELL, {"command": line, "cwd": cwd or "."}, workspace).decision
        if decision is not Decision.ALLOW and chance.random() > 0.1:
            continue
        output = _run(line, os.path.join(workspace.root, cwd))
        if decision is not Decision.ALLOW:
            shown += CANARY in output
            continue
        found.runs += 1
        if CANARY in output:
            found.fault(f"{line!r} in {cwd or 'the root'!r} shows {output[:200]!r}")
    found.words = f"{found.runs / count:.0%} of the lines were let run; of a tenth of the others {shown:,} showed it"
    return found


def _word(options: Options, chance: random.Random, others: bool) -> str:
    kind = chance.randrange(6 if others else 5)
    if kind == 0 and options.short:
        char = chance.choice(sorted(options.short))
        takes = options.short[char] in (Value.TEXT, Value.FILE)
        return f"-{char}{shlex.quote(chance.choice(_VALUES)) if takes else ''}"
    if kind in (1, 2) and options.long:
        name = chance.choice(sorted(options.long))
        takes = options.long[name] is not Value.NONE and (
            options.long[name] is not Value.MAYBE or chance.random() < 0.5
        )
        return f"--{name}" + (f"={shlex.quote(chance.choice(_VALUES))}" if takes else "")
    if kind == 5:
        return chance.choice(_OTHERS)
    operand = chance.choice(_OPERANDS)
    return operand if "*" in operand and "(" not in operand else shlex.quote(operand)


def _run(line: str, folder: str) -> str:
    environment = {"PATH": os.defpath, "HOME": folder, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def laid_out(folder: Path) -> Workspace:
    """A workspace with that repository."""
    _run(_LAID_OUT, os.path.realpath(folder))
    return Workspace(folder)
