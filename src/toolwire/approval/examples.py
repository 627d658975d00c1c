"""Examples in a rule file: calls that a rule must fit, and calls that it must not. Checked when the file is loaded.

An allow rule fits a call when it fits every part of it, since each must be allowed; another rule when it fits one.
"""

from __future__ import annotations

import os
from typing import Any

from ..errors import ConfigError
from ..tools.definition import Risk, ToolDefinition
from .parts import parts_of
from .places import Workspace
from .rule_file import RISKS, FiledRule, RuleFile
from .rules import Decision, Fit, Rule

_KEYS = ("tool", "risk", "command", "path", "arguments")


def check_examples(file: RuleFile, workspace: Workspace) -> int:
    """How many examples there are; a `ConfigError` names the first that does not behave."""
    count = 0
    for filed in file.rules:
        for wanted, examples in ((True, filed.match), (False, filed.not_match)):
            for example in examples:
                count += 1
                _check(file, filed, example, wanted, workspace)
    return count


def _check(file: RuleFile, filed: FiledRule, example: Any, wanted: bool, workspace: Workspace) -> None:
    words = f"its example {str(example)[:200]!r}"
    try:
        tool, arguments = example_call(filed.rule, example)
        fit = call_fit(filed.rule, tool, arguments, workspace)
    except (ConfigError, ValueError) as error:
        message, hint = (error.message, error.hint) if isinstance(error, ConfigError) else (str(error), "")
        raise file.error(filed.number, f"{words} is no call: {message}", hint or _TABLE) from None
    if wanted and fit is not Fit.YES:
        told = "may fit and may not" if fit is Fit.MAYBE else "does not fit"
        raise file.error(filed.number, f"{words} {told}, but stands under match", _CORRECT)
    if not wanted and fit is not Fit.NO:
        told = "may fit" if fit is Fit.MAYBE else "fits"
        raise file.error(filed.number, f"{words} {told}, but stands under not_match", _CORRECT)


def call_fit(rule: Rule, tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> Fit:
    """Whether a rule fits a whole call."""
    parts = parts_of(tool, arguments, workspace)
    fits = [rule.fit(tool, arguments, part, workspace) for part in parts]
    if rule.decision is Decision.ALLOW:
        return Fit.YES if min(fits) is Fit.YES and not any(part.unsure or part.beside for part in parts) else Fit.NO
    return max(fits)


def example_call(rule: Rule, example: Any) -> tuple[ToolDefinition, dict[str, Any]]:
    """The call that an example stands for.

    A text is a command line if the rule is about commands, a path if it is about paths, else the name of a tool; what
    it does not say is as the rule has it.
    """
    if isinstance(example, str):
        if rule.arguments or rule.exact_arguments:
            raise ConfigError("the rule is about arguments, and it has none", hint=_TABLE)
        name = "command" if rule.command else "path" if rule.path or rule.where else "tool"
        example = {name: example}
    unknown = sorted(example.keys() - set(_KEYS))
    if unknown:
        raise ConfigError(f"it has {unknown[0]!r}, which is not known", hint=_TABLE)
    given = {name: example[name] for name in ("command", "path") if name in example}
    arguments = example.get("arguments", {})
    if not isinstance(arguments, dict) or not all(isinstance(text, str) for text in given.values()):
        raise ConfigError("its members are of the wrong kind", hint=_TABLE)
    if "path" in given:
        given["path"] = os.path.expanduser(given["path"])
    tool = call_tool(
        example.get("tool", _some_name(rule)),
        example.get("risk", rule.risk[0] if rule.risk else ("execute" if "command" in given else "write")),
        {**arguments, **given},
        paths=("path",) if "path" in given else (),
        command="command" if "command" in given else "",
    )
    return tool, {**arguments, **given}


def call_tool(
    name: Any, risk: Any, arguments: dict[str, Any], *, paths: tuple[str, ...] = (), command: str = ""
) -> ToolDefinition:
    """A tool that such a call could be of; a command line is one for bash, as for `run_bash`."""
    if risk not in RISKS:
        raise ConfigError(f"there is no risk {str(risk)[:40]!r}", hint=f"The risks are {', '.join(RISKS)}.")
    return ToolDefinition(
        name,
        "",
        {"type": "object", "properties": {name: {} for name in arguments}},
        None if risk == "unknown" else Risk(risk),
        paths=paths,
        command=command,
        shell="bash" if command else "",
    )


def _some_name(rule: Rule) -> str:
    """A name that the rule's tools can have."""
    return rule.tool[0].replace("*", "x").replace("?", "x") if rule.tool else "tool"


_TABLE = 'Write it as a table: { tool = "git_push", risk = "network", arguments = { branch = "main" } }.'
_CORRECT = "Correct the rule or the example; until then nothing runs."
