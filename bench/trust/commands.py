"""Command lines put together from known ones: nothing that carries an attack runs without a question."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolwire import Risk, ToolDefinition
from toolwire.approval.commands.git import FORMS
from toolwire.approval.commands.readers import READERS
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Policy
from toolwire.approval.rules import Decision

from . import Found

DATA = Path(__file__).parents[2] / "tests" / "data" / "approval"
SHELL = ToolDefinition(
    "shell",
    "Runs a command.",
    {"type": "object", "properties": {"command": {}}},
    Risk.EXECUTE,
    command="command",
    shell="bash",
)


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a data file about commands."""
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def make_workspace(folder: Path) -> Workspace:
    """A workspace that the rows speak of: some files, and links that lead out of it."""
    root = folder / "workspace"
    (root / "src").mkdir(parents=True)
    for name in ("README.md", "a.txt", "b.txt", "x.log", "x.csv", "package.json", "src/a.py"):
        (root / name).write_text("text\n", "utf-8")
    (root / "link").symlink_to("/etc")
    (root / "secret-link").symlink_to("/etc/passwd")
    return Workspace(root)


def verdict(command: str, workspace: Workspace, policy: Policy) -> Decision:
    """What becomes of a command."""
    return policy.judge(SHELL, {"command": command}, workspace).decision


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_JOINTS = (" ; ", ";", " && ", "&&", " || ", " | ", "|", " & ", "&", "\n", " |& ", "\n\n", " ; # x\n", " \\\n; ")
_AROUND: tuple[Callable[[str], str], ...] = (
    lambda line: f"({line}\n)",
    lambda line: f"{{ {line}\n}}",
    lambda line: f"echo $({line}\n)",
    lambda line: f'echo "$({line}\n)"',
    lambda line: f"cat <({line}\n)",
    lambda line: f"if true; then {line}\nfi",
    lambda line: f"while true; do {line}\ndone",
    lambda line: f"for f in a; do {line}\ndone",
    lambda line: f"! {{ {line}\n}}",
    lambda line: f"bash -c {_quoted(line)}",
    lambda line: f"env LC_ALL=C sh -c {_quoted(line)}",
    lambda line: f"timeout 5 bash -lc {_quoted(line)}",
    lambda line: f"time ( {line}\n)",
    lambda line: f"cat <<EOF\n$({line}\n)\nEOF",
    lambda line: f"LC_ALL=$({line}\n) ls",
    lambda line: f"case a in *) {line}\n;; esac",
    lambda line: f"  {line}  ",
    lambda line: f"{line} > /dev/null",
    lambda line: f"{line} 2>&1",
)
_MAX_LENGTH = 4000


def mixed_commands(count: int, seed: int) -> Found:
    """Attacks between, behind and inside of commands that read: none is allowed in mode `ask`.

    Each line holds one attack whole, joined to commands that are allowed and wrapped at random, several times over.
    The plan's count is 100,000, which takes some 90 seconds.
    """
    with TemporaryDirectory() as folder:
        return _mixed(count, seed, make_workspace(Path(folder)))


def _mixed(count: int, seed: int, workspace: Workspace) -> Found:
    chance = random.Random(seed)
    policy = Policy("ask")
    attacks = [row["command"] for row in rows("attacks.jsonl") if row["why"] != "a line that is not whole"]
    benign = [row["command"] for row in rows("benign.jsonl") if row["reads"]]
    found = Found()
    control = 0
    for number in range(count):
        attack = attacks[number % len(attacks)]
        line, harmless = attack, chance.choice(benign)
        for _ in range(chance.randrange(1, 5)):
            other, joint = chance.choice(benign), chance.choice(_JOINTS)
            change = chance.randrange(3)
            if change == 0:
                line, harmless = other + joint + line, other + joint + harmless
            elif change == 1:
                line, harmless = line + joint + other, harmless + joint + other
            else:
                around = chance.choice(_AROUND)
                line, harmless = around(line), around(harmless)
        if len(line) > _MAX_LENGTH:
            continue
        found.runs += 1
        if verdict(line, workspace, policy) is Decision.ALLOW:
            found.fault(f"{attack!r} runs without a question in {line!r}")
        control += verdict(harmless, workspace, policy) is Decision.ALLOW
    found.words = f"of the same lines with a harmless command in its place {control / max(found.runs, 1):.0%} run"
    return found


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123"
_OPERANDS = ("a.txt", "b.txt", "new", "src", "1", "-", "--", "a*", "src/*", "x.csv", ".", "HEAD", "text", "+1")
_SCRIPTS = {
    "sed": ("p", "1d", "w new", "s/t/x/", "s/t/x/w new", "1e touch new", "$p;q", "/t/,$p", "/[]/]/w new", "-i", "-n"),
    "find": ("-delete", "-name", "-print", "-fprint", "-newer", "-type", "f", "-exec", "touch", "{}", "+", "-o"),
    "jq": (".", "-n", "1", "input"),
    "xxd": ("-r", "-p", "-ps", "-c", "8", "-s", "-l"),
    "test": ("-f", "-e", "=", "!"),
    "echo": ("-n", "x"),
    "printf": ("%s", "x"),
}


def allowed_commands_change_nothing(count: int, seed: int) -> Found:
    """Programs with random options and operands: whatever is allowed is run, and no file is another than before.

    The judge is the file system. The plan's count is 20,000, which takes some two minutes.
    """
    with TemporaryDirectory() as folder:
        return _tried(count, seed, make_workspace(Path(folder)))


def _tried(count: int, seed: int, workspace: Workspace) -> Found:
    chance = random.Random(seed)
    policy = Policy("ask")
    found = Found()
    # Not those that could set the clock or the machine's name if the table were wrong, nor one that only waits.
    programs = sorted((set(READERS) | set(_SCRIPTS)) - {"hostname", "date", "sleep", "exit"})
    _run("git init -q . && git add README.md && git -c user.name=x -c user.email=x commit -qm x", workspace.root)
    before = _contents(workspace.root)
    for _ in range(count):
        if chance.random() < 0.25:
            form = chance.choice(sorted(FORMS))
            line = f"git {form} {_words(chance, sorted(FORMS[form].options.long), ())}"
        else:
            name = chance.choice(programs)
            long = sorted(READERS[name].options.long) if name in READERS else []
            line = f"{name} {_words(chance, long, _SCRIPTS.get(name, ()))}"
        if verdict(line, workspace, policy) is not Decision.ALLOW:
            continue
        found.runs += 1
        _run(line, workspace.root)
        after = _contents(workspace.root)
        if after != before:
            found.fault(f"{line!r} changed {sorted(set(after.items()) ^ set(before.items()))}")
            before = after
    found.words = f"{found.runs / count:.0%} of the lines were allowed"
    return found


def _words(chance: random.Random, long: list[str], scripts: tuple[str, ...]) -> str:
    words = []
    for _ in range(chance.randrange(5)):
        kind = chance.randrange(5)
        if kind == 0:
            words.append("-" + "".join(chance.choices(_LETTERS, k=chance.randrange(1, 4))))
        elif kind == 1 and long:
            words.append("--" + chance.choice(long) + chance.choice(("", "=1", "=new", "=a.txt")))
        elif kind == 2 and scripts:
            words.append(shlex.quote(chance.choice(scripts)))
        else:
            words.append(chance.choice(_OPERANDS))
    return " ".join(words)


def _run(line: str, root: str) -> None:
    environment = {"PATH": os.defpath, "HOME": root, "LC_ALL": "C"}
    try:
        subprocess.run(
            ["bash", "-c", line],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return


def _contents(root: str) -> dict[str, str]:
    """Every file outside of git's own folder, with what it holds."""
    found: dict[str, str] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in files:
            path = os.path.join(folder, name)
            found[path] = os.readlink(path) if os.path.islink(path) else Path(path).read_text("utf-8", "replace")
    return found
