"""`/tools`, `/mcp`, `/mode`, `/approvals`: what the model can do, and what of it runs without a question."""

from __future__ import annotations

from collections.abc import Sequence

from ...approval.files import load_layers
from ...approval.hidden import marked
from ...approval.policy import Mode
from ...approval.request import Scope
from ...approval.rules import Rule
from ...errors import ConfigError
from ..desk import Desk, Row
from ..talk import Talk
from .command import Command, Suggestion
from .layout import cells, code, listed

MODES = {
    Mode.READ_ONLY: "reading inside the workspace runs; what does more is denied",
    Mode.ASK: "reading inside the workspace runs; everything else is asked about",
    Mode.AUTO_EDIT: "as ask, and changes to files inside the workspace run",
    Mode.FULL: "all runs but what is dangerous or not understood, and what a rule asks about or denies",
}
_SETS = {"builtin": "files, search, commands, pages", "demo": "a few harmless ones", "none": "no tools"}
_SHOWN_RULES = 40
_RULES = ("decision", "what", "rule")
_WORDS = 2_000
FORGET = "forget"
_DECISIONS = frozenset(f"{scope} decision" for scope in Scope)
"""The sources of rules that were made of answers."""
_IN_FILES = "What holds always is kept in a file: delete it there to be asked again."


async def _tools(talk: Talk, desk: Desk, typed: str) -> None:
    if typed in _SETS:
        if talk.running:
            raise ConfigError(
                "another set of tools waits for the end of the answer", hint="Stop it first, with Esc or Ctrl-C."
            )
        if typed == "none":
            await talk.change(no_tools=True)
        else:
            await talk.change(tools=typed, no_tools=False)
        words = (cells(each, _WORDS) for each in talk.made.tool_words)
        desk.say("  \n".join(["From the next question on:", *words]))
        return
    if typed:
        raise ConfigError(f"there is no set of tools {typed[:40]!r}", hint=f"There are: {', '.join(_SETS)}.")
    rows = [
        (cells(tool.name), str(tool.risk or "unknown"), cells(_first_sentence(tool.description)))
        for tool in talk.agent.tools
    ]
    if not rows:
        desk.say("The model has no tools. Give it some: `/tools builtin`")
        return
    desk.say(listed(("tool", "risk", "what it does"), rows))


async def _mcp(talk: Talk, desk: Desk, typed: str) -> None:
    servers = talk.made.servers
    if servers is None:
        who = "The embedded model is given" if talk.made.is_embedded else "The model has"
        desk.say(f"{who} no MCP servers. `toolwire mcp list` shows those that are set up, `toolwire mcp add` adds one.")
        return
    statuses = servers.statuses()
    if typed:
        chosen = [status for status in statuses if status.name == typed]
        if not chosen:
            names = ", ".join(marked(status.name) for status in statuses)
            raise ConfigError(f"there is no MCP server {typed[:40]!r} here", hint=f"There are: {names}.")
        status = chosen[0]
        lines = [f"**{cells(status.name)}** ({status.state}): {cells(status.transport)}"]
        lines += [f"- {cells(name)}" for name in status.offered]
        lines += [f"- {cells(name)}: changed since you looked at it, and not offered" for name in status.disabled]
        desk.say("\n".join([*lines, *([f"\n{cells(status.problem)}"] if status.problem else [])]))
        return
    rows = [
        (cells(status.name), status.state, str(len(status.offered)), cells(status.problem or status.transport))
        for status in statuses
    ]
    desk.say(listed(("server", "state", "tools", ""), rows))


async def _mode(talk: Talk, desk: Desk, typed: str) -> None:
    if not typed:
        rows = [Row(str(mode), str(mode), words) for mode, words in MODES.items()]
        typed = await desk.choose("What runs without a question?", rows, current=str(talk.mode)) or ""
    if not typed:
        return
    if (
        typed == Mode.FULL
        and talk.mode is not Mode.FULL
        and not await desk.confirm(
            "In the mode full, commands and changes run without a question, dangerous ones aside. Do you want that?"
        )
    ):
        desk.say(f"The mode is still {talk.mode}.")
        return
    holds = talk.set_mode(typed)
    narrowed = "" if holds == typed else f" This project's file does not let it be {typed}."
    desk.say(f"Mode {holds}: {MODES[holds]}.{narrowed}")


async def _approvals(talk: Talk, desk: Desk, typed: str) -> None:
    if typed == FORGET:
        if not _decided(talk):
            desk.say("Nothing was decided in this session.")
            return
        await talk.forget()
        desk.say(f"What you decided for this session is forgotten. {_IN_FILES}")
        return
    if typed:
        raise ConfigError(f"/approvals does not know {typed[:40]!r}", hint=f"There is: /approvals {FORGET}")
    layers = load_layers(talk.assembly.workspace, mode=talk.options.mode, paths=talk.assembly.files)
    decided = _decided(talk)
    parts = [f"Mode **{talk.mode}**: {MODES[talk.mode]}."]
    if decided:
        parts.append("Decided in this session:\n\n" + _rules(decided[-_SHOWN_RULES:]))
        parts.append(f"`/approvals {FORGET}` takes these back. {_IN_FILES}")
    for layer in layers.files:
        if layer.rules:
            rows = [
                (rule.decision.name.lower(), cells(rule_words(rule)), cells(rule.source))
                for rule in layer.rules[:_SHOWN_RULES]
            ]
            more = len(layer.rules) - len(rows)
            left = f"\n\n… and {more:,} more rules." if more > 0 else ""
            parts.append(f"{code(str(layer.path))}:\n\n{listed(_RULES, rows)}{left}")
    if not decided and not any(layer.rules for layer in layers.files):
        parts.append("No rules of yours yet. Answering a question with `s` or `a` makes one.")
    parts.append("To see what would happen to a call: `toolwire policy explain`.")
    desk.say("\n\n".join(parts))


def _decided(talk: Talk) -> list[Rule]:
    """What the person decided on the way, also what is kept in a file since."""
    return [rule for rule in talk.agent.policy.rules if rule.source in _DECISIONS]


def _first_sentence(text: str) -> str:
    words = " ".join(text.split())
    sentence, stop, _ = words.partition(". ")
    return sentence + stop.strip() if len(sentence) < len(words) else words


def _rules(rules: Sequence[Rule]) -> str:
    rows = [(rule.decision.name.lower(), cells(rule_words(rule)), cells(rule.source)) for rule in rules]
    return listed(_RULES, rows)


def rule_words(rule: Rule) -> str:
    """What a rule is about, in a line."""
    conditions = {
        "tool": rule.tool,
        "risk": rule.risk,
        "command": rule.command,
        "path": rule.path,
        "argument": tuple(f"{name}={value}" for name, values in rule.arguments.items() for value in values),
        "with exactly": (rule.exact_arguments,) if rule.exact_arguments else (),
        "where": (str(rule.where),) if rule.where else (),
    }
    words = [f"{name} {' or '.join(map(str, values))}" for name, values in conditions.items() if values]
    return ", ".join(words + ["only what changes something"] * rule.changes) or "everything"


def _set_names(talk: Talk, typed: str) -> Sequence[Suggestion]:
    return [Suggestion(name, words) for name, words in _SETS.items() if name.startswith(typed)]


def _server_names(talk: Talk, typed: str) -> Sequence[Suggestion]:
    servers = talk.made.servers
    statuses = [] if servers is None else servers.statuses()
    return [Suggestion(each.name, each.state) for each in statuses if each.name.startswith(typed)]


def _mode_names(talk: Talk, typed: str) -> Sequence[Suggestion]:
    return [Suggestion(str(mode), words) for mode, words in MODES.items() if mode.startswith(typed)]


def _forget_word(talk: Talk, typed: str) -> Sequence[Suggestion]:
    return [Suggestion(FORGET, "takes back what was decided in this session")] if FORGET.startswith(typed) else []


COMMANDS = (
    Command("tools", "Lists the tools, or gives another set.", _tools, "[SET]", _set_names, True),
    Command("mcp", "Says how the MCP servers are.", _mcp, "[SERVER]", _server_names, True),
    Command("mode", "Says what runs without a question.", _mode, "[MODE]", _mode_names, True),
    Command(
        "approvals",
        "Shows the rules, and what you decided.",
        _approvals,
        f"[{FORGET}]",
        _forget_word,
        at_once=True,
        aliases=("permissions", "rules"),
    ),
)
