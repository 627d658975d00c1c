"""Random rule sets: the strictest rule wins, and no rule that denies, asks or comes from a project ever widens.

The plan has 100,000 rule sets: about two minutes.
"""

from __future__ import annotations

import random
import re
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.rules import Decision, Rule, Where
from toolwire.tools.definition import Risk, ToolDefinition

from . import Found

TOOLS = ("read_file", "write_file", "shell", "send", "odd")
TOOL_PATTERNS = ("read_file", "*_file", "s*", "*", "?dd", "nothing", "sh?ll")
RISKS = (*Risk, None)
PATHS = ("a.md", "docs/a.md", "docs/deep/B.md", ".env", "src/.env", "../x", "/etc/hosts", "src", "Docs/A.md", "a*b", "")
PATH_PATTERNS = ("*.md", "docs/*", "docs/**", ".env", "**", "/etc/**", "/**", "src", "./a.md", "DOCS/*", "src/?env")
COMMANDS = {"ls": True, "cat a.md": True, "git push": False, "git push origin": False, "npm test": False, "rm x": False}
"""Whether a command only reads."""
COMMAND_PATTERNS = (
    "ls",
    "git *",
    "git push *",
    "git push",
    "g?t push",
    "rm *",
    "npm t*",
    "cat a.md",
    "*",
    "git push '*'",
)
ODD = ("$x", "bash -c 'rm x'", "ls $(git push)", "cat *.md", "grep -r x .", "X=1 git push", "(", "echo a > docs/a.md")
TEXTS = ("main", "mainly", "dev", "*", "")
TEXT_PATTERNS = ("main", "main*", "*", "d?v", "\\*", "")


Things = list[tuple[Risk | None, str | None, list[str] | None]]
"""What a call does: (risk, path, words) of each part."""


class Call(msgspec.Struct):
    """A call, and what it does, where that is plain."""

    tool: ToolDefinition
    arguments: dict[str, Any]
    things: Things | None


def rule_sets(count: int, seed: int) -> Found:
    """Each set against a naive reading of the same rules, and against itself with one rule more."""
    found = Found()
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "docs").mkdir()
        workspace = Workspace(folder)
        for number in range(count):
            found.runs += 1
            rules = [random_rule(dice) for _ in range(dice.randrange(6))]
            _try(found, dice, f"set {number}", rules, random_call(dice), workspace)
    return found


def _try(found: Found, dice: random.Random, name: str, rules: list[Rule], call: Call, workspace: Workspace) -> None:
    def judged(mode: Mode, rules: list[Rule]) -> Decision:
        return Policy(mode, rules).judge(call.tool, call.arguments, workspace).decision

    modes = list(Mode)
    try:
        by_mode = [judged(mode, rules) for mode in modes]
        place = dice.randrange(len(modes))
        mode, decision = modes[place], by_mode[place]
        more = judged(mode, [*rules, random_rule(dice, Decision.DENY)])
        tighter = judged(mode, [random_rule(dice, dice.choice((Decision.ASK, Decision.DENY))), *rules])
        wider = judged(mode, [*rules, random_rule(dice, Decision.ALLOW)])
        turned = judged(mode, rules[::-1])
    except Exception as error:
        found.fault(f"{name}: {type(error).__name__}: {error} for {call.arguments} with {rules}")
        return
    told = f"{name}: {call.tool.name} {call.arguments} with {rules} in {mode}"
    if by_mode != sorted(by_mode, reverse=True):
        found.fault(f"{told}: a wider mode is stricter: {by_mode}")
    if more < decision:
        found.fault(f"{told}: one more deny made {decision} {more}")
    if tighter < decision:
        found.fault(f"{told}: a rule of the project made {decision} {tighter}")
    if any(rule.decision is Decision.DENY for rule in rules) and decision is Decision.DENY and wider < decision:
        found.fault(f"{told}: one more allow made {decision} {wider}")
    if turned is not decision:
        found.fault(f"{told}: in another order it is {turned}, not {decision}")
    expected = naive(mode, rules, call, workspace.root)
    if expected is not None and expected is not decision:
        found.fault(f"{told}: {decision}, and not {expected}")


def random_call(dice: random.Random) -> Call:
    """A call of one of four kinds of tools."""
    risk = dice.choice(RISKS)
    name = dice.choice(TOOLS)
    kind = dice.randrange(4)
    text = dice.choice(TEXTS)
    if kind == 0:
        path = dice.choice(PATHS)
        # The empty path is the workspace itself: what is done to it may be done to all that it holds.
        things: Things | None = [(risk, path, None)] if path else None
        return Call(_tool(name, risk, paths=("path",)), {"path": path, "text": text}, things)
    if kind == 1:
        return Call(_tool(name, risk), {"text": text}, [(risk, None, None)])
    tool = _tool(name, Risk.EXECUTE, command="command")
    if kind == 2:
        return Call(tool, {"command": dice.choice(ODD), "text": text}, None)
    lines = dice.sample(list(COMMANDS), dice.randint(1, 3))
    parts: Things = [(Risk.READ if COMMANDS[line] else Risk.EXECUTE, None, line.split()) for line in lines]
    return Call(tool, {"command": dice.choice(("; ", " && ", " | ", "\n")).join(lines), "text": text}, parts)


def _tool(name: str, risk: Risk | None, paths: tuple[str, ...] = (), command: str = "") -> ToolDefinition:
    properties: dict[str, Any] = {"path": {}, "command": {}, "text": {}}
    shell = "bash" if command else ""
    return ToolDefinition(name, "", {"properties": properties}, risk, paths=paths, command=command, shell=shell)


def random_rule(dice: random.Random, decision: Decision | None = None) -> Rule:
    """A rule with any conditions, as a file could hold it."""

    def some(values: tuple[str, ...], share: float = 0.3) -> tuple[str, ...]:
        return tuple(dice.sample(values, dice.randint(1, 2))) if dice.random() < share else ()

    decision = dice.choice(list(Decision)) if decision is None else decision
    return Rule(
        decision=decision,
        tool=some(TOOL_PATTERNS),
        risk=some((*Risk, "unknown")),
        command=some(COMMAND_PATTERNS, 0.2),
        path=some(PATH_PATTERNS, 0.2),
        where=dice.choice(list(Where)) if dice.random() < 0.1 else None,
        changes=decision is not Decision.ALLOW and dice.random() < 0.1,
        arguments={"text": some(TEXT_PATTERNS, 1.0)} if dice.random() < 0.2 else {},
        source="random",
    )


def naive(mode: Mode, rules: list[Rule], call: Call, root: str) -> Decision | None:
    """What the rules say, read again in the simplest way; None for calls that take more than that to read."""
    if call.things is None or (call.tool.command and any(rule.path or rule.where for rule in rules)):
        return None
    decisions = []
    for risk, path, words in call.things:
        fitting = [rule.decision for rule in rules if _fits(rule, call, risk, path, words, root)]
        inside = path is None or _inside(path)
        if mode is Mode.READ_ONLY and risk is not Risk.READ:
            fitting.append(Decision.ASK if risk is None else Decision.DENY)
        decisions.append(max(fitting) if fitting else _by_mode(mode, risk, path, inside=inside))
    return max(decisions)


def _by_mode(mode: Mode, risk: Risk | None, path: str | None, *, inside: bool) -> Decision:
    if risk in (None, Risk.DANGEROUS):
        return Decision.ASK
    if mode is Mode.FULL or (risk is Risk.READ and inside):
        return Decision.ALLOW
    edits = mode is Mode.AUTO_EDIT and risk is Risk.WRITE and path is not None and inside
    return Decision.ALLOW if edits else Decision.ASK


def _inside(path: str) -> bool:
    return not path.startswith(("/", ".."))


def _fits(rule: Rule, call: Call, risk: Risk | None, path: str | None, words: list[str] | None, root: str) -> bool:
    allows = rule.decision is Decision.ALLOW
    risks = {risk or "unknown"} | (set() if allows and risk is not Risk.READ else {call.tool.risk or "unknown"})
    if rule.tool and not any(fnmatchcase(call.tool.name, name) for name in rule.tool):
        return False
    if rule.risk and not risks & set(rule.risk):
        return False
    if rule.changes and risk is Risk.READ:
        return False
    if rule.arguments and not any(_like(want, call.arguments["text"]) for want in rule.arguments["text"]):
        return False
    if rule.command and not (words and any(_command(pattern, words) for pattern in rule.command)):
        return False
    if rule.path or rule.where:
        if path is None or (rule.where and (rule.where is Where.INSIDE) is not _inside(path)):
            return False
        full = str(Path(root, path).resolve())
        if rule.path and not any(_path(pattern, full, root, allows=allows) for pattern in rule.path):
            return False
    return True


def _like(pattern: str, text: str) -> bool:
    return text == "*" if pattern == "\\*" else fnmatchcase(text, pattern)


def _command(pattern: str, words: list[str]) -> bool:
    wanted = pattern.split()
    if wanted[-1] == "*":
        wanted.pop()
        words = words[: len(wanted)]
    return len(words) == len(wanted) and all(map(_like, (want.replace("'*'", "\\*") for want in wanted), words))


def _path(pattern: str, full: str, root: str, *, allows: bool) -> bool:
    """With a regular expression: nothing here is a model's."""
    if allows and not pattern.startswith("/") and full != root and not full.startswith(f"{root}/"):
        return False
    if pattern.startswith("/"):
        text = re.escape(pattern)
    elif "/" not in pattern:
        text = "/(?:.*/)?" + re.escape(pattern)
    else:
        text = re.escape(root) + "/" + re.escape(pattern.removeprefix("./"))
    text = text.replace(r"/\*\*", "(?:/.*)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    below = "" if allows else "(?:/.*)?"
    return re.fullmatch(text + below, full, 0 if allows else re.IGNORECASE) is not None
