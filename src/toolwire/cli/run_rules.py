"""Rules for one run, from the command line: `--allow`, `--deny`, `--yes-read-only`.

They stand beside those of the files, and the strictest wins: nothing here opens what a file denies or asks about.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from ..approval.patterns import glob_matches, literal
from ..approval.policy import Policy
from ..approval.rule_file import parse_rules
from ..approval.rules import Decision, Rule
from ..errors import ConfigError
from ..execution.sandbox.sandbox import default_hidden
from ..tools.definition import Risk, ToolDefinition
from .inputs import as_text

READ_ONLY = "--yes-read-only"
_NAME = "option"
_URL = "url"
_FORM = "Write a tool's name, or TOOL(PATTERN) with a command, a path or an address: --allow 'run_bash(git status)'."


def add_rules(
    policy: Policy, *, allow: Sequence[str], deny: Sequence[str], yes_read_only: bool, env: Mapping[str, str]
) -> list[Rule]:
    """Puts the rules of the options into a policy; gives them."""
    made = [rule for text in allow for rule in _allowing(as_text(text))]
    made += [_rule("--deny", Decision.DENY, as_text(text)) for text in deny]
    if yes_read_only:
        made += read_only_rules(env)
    for rule in made:
        policy.remember(rule)
    return made


def read_only_rules(env: Mapping[str, str]) -> list[Rule]:
    """What only reads runs, also outside the workspace; what lies where secrets usually do is asked about.

    That is for commands, and for tools of others: our own file tools work in the workspace and nowhere else.
    """
    secret = default_hidden(env.get("HOME") or os.path.expanduser("~"), env=env)
    return [
        Rule(decision=Decision.ALLOW, risk=(Risk.READ,), source=READ_ONLY),
        Rule(
            decision=Decision.ASK,
            path=tuple(map(literal, secret)),
            reason="keys and other secrets usually lie there",
            source=READ_ONLY,
        ),
    ]


def check_names(rules: Iterable[Rule], tools: Iterable[ToolDefinition]) -> None:
    """A name that no tool has would do nothing, which is a trap where it is to deny. For runs without MCP servers."""
    names = [tool.name for tool in tools]
    for rule in rules:
        for pattern in rule.tool:
            if not any(glob_matches(pattern, name) for name in names):
                raise ConfigError(
                    f"{rule.source} names {pattern}, and there is no such tool here",
                    hint=f"There are: {', '.join(names)}." if names else "There are none: --no-tools.",
                )


def _allowing(text: str) -> list[Rule]:
    """The rule of an `--allow`; where it opens every command, what can break the machine is still asked about.

    So no name of a tool opens more than `--mode full` does. A pattern that names such a command opens it.
    """
    rule = _rule("--allow", Decision.ALLOW, text)
    if rule.command or rule.path or rule.arguments or not any(_takes_commands(name) for name in rule.tool):
        return [rule]
    reason = "it can break the machine, and --allow names no such command"
    dangerous = Rule(decision=Decision.ASK, tool=rule.tool, risk=(Risk.DANGEROUS,), reason=reason, source="--allow")
    return [rule, dangerous]


def _rule(option: str, decision: Decision, text: str) -> Rule:
    name, bracket, rest = text.strip().partition("(")
    if not name or (bracket and not rest.endswith(")")):
        raise ConfigError(f"{option} {text!r} is no rule", hint=_FORM)
    if decision is Decision.ALLOW and not name.strip("*?"):
        raise ConfigError(
            f"{option} {text!r} allows every tool", hint="For everything but what is dangerous: --mode full"
        )
    lines = [f"decision = {_toml(str(decision))}", f"tool = {_toml(name)}"]
    if bracket:
        kind, pattern = _kind(option, name), _toml(rest.removesuffix(")"))
        if kind == _URL and decision is Decision.ALLOW:
            _check_host(option, text, rest.removesuffix(")"))
        lines.append(f"{kind} = {pattern}" if kind != _URL else f"arguments = {{ {_URL} = {pattern} }}")
    try:
        [filed] = parse_rules("\n".join(["[[rule]]", *lines]).encode(), _NAME).rules
    except ConfigError as error:
        words = error.message.removeprefix(f"{_NAME}, rule 1 (line 1): ")
        raise ConfigError(f"{option} {text!r}: {words}", hint=error.hint.replace(_NOTHING, _FORM)) from None
    return msgspec.structs.replace(filed.rule, source=option)


_NOTHING = "Correct the file, or move it away; until then nothing runs."


def _check_host(option: str, text: str, address: str) -> None:
    """An address is allowed on hosts that are spelled out: `*` stands for any text, so that one before the path's
    begin would open every host that has the rest somewhere in its path.
    """
    scheme, parted, rest = address.partition("://")
    host = rest.partition("/")[0]
    if not (parted and host) or set(scheme + host) & set("*?\\@#"):
        raise ConfigError(
            f"{option} {text!r} does not say which host",
            hint="Spell it out: --allow 'fetch_url(https://docs.python.org/*)'. Each host has its own --allow.",
        )


def _takes_commands(name: str) -> bool:
    return any(tool.command and glob_matches(name, tool.name) for tool in _known_tools())


def _known_tools() -> list[ToolDefinition]:
    from ..builtin.tools import builtin_tools
    from ..tools.demo import demo_tools

    return [*builtin_tools(sandbox=False), *demo_tools(Path())]


def _kind(option: str, name: str) -> str:
    """What a pattern is for in this tool: a `command`, a `path`, or a `url`."""
    for tool in _known_tools():
        if glob_matches(name, tool.name) and (tool.command or tool.paths):
            return "command" if tool.command else "path"
        if glob_matches(name, tool.name) and _URL in tool.parameters.get("properties", {}):
            return _URL
    raise ConfigError(
        f"{option}: of {name} it is not known what a pattern would stand for",
        hint="Name the tool alone, or write a rule with its arguments into policy.toml (toolwire policy check).",
    )


def _toml(text: str) -> str:
    # JSON escapes are TOML escapes; only DEL is one that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
