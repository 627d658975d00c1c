"""Rules as text: a TOML file of `[[rule]]` tables, read strictly and written so that it reads back the same.

Whatever is wrong with a file is a `ConfigError` that names the file, the rule and its line: a rule that is not
understood must not be left out, since it may be one that denies.
"""

from __future__ import annotations

import json
import math
import os
import stat
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ConfigError
from ..limits import KIB
from ..tools.definition import NAME_LENGTH, Risk, is_tool_name
from .patterns import is_literal, pattern_words
from .policy import Mode, as_mode
from .rules import Decision, Rule, Where, exact_text

MAX_FILE = 256 * KIB
MAX_RULES = 1000
MAX_TEXT = 1000
"""Characters of one pattern or reason."""
MAX_DOTS = 500
"""Dots in one line: the time that a key takes to read grows with the square of them."""
RISKS = (*Risk, "unknown")


class FiledRule(msgspec.Struct, frozen=True):
    """A rule as it stands in a file, with the examples that it must fit and those that it must not."""

    rule: Rule
    number: int
    workspace: str = ""
    """The only folder that the rule holds in; empty for all."""
    match: tuple[Any, ...] = ()
    not_match: tuple[Any, ...] = ()


class RuleFile(msgspec.Struct, frozen=True):
    """What a file says."""

    name: str
    mode: Mode | None = None
    roots: tuple[str, ...] = ()
    """Further folders that calls may work in, as they are written: absolute, or from `~/`."""
    rules: tuple[FiledRule, ...] = ()
    lines: tuple[int, ...] = ()

    def error(self, number: int, words: str, hint: str) -> ConfigError:
        """What is wrong with one of its rules, by number."""
        line = f" (line {self.lines[number - 1]})" if self.lines else ""
        return ConfigError(f"{self.name}, rule {number}{line}: {words}", hint=hint, file=self.name, rule=number)


def read_rule_file(path: Path) -> RuleFile | None:
    """The rules in a file; None where there is no such file."""
    try:
        data = _read(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        words = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(f"{path} cannot be read: {words}", hint=_NOTHING_RUNS) from None
    if len(data) > MAX_FILE:
        raise ConfigError(f"{path} holds more than {MAX_FILE // KIB} KiB", hint=_NOTHING_RUNS)
    return parse_rules(data, str(path))


def _read(path: Path) -> bytes:
    # A pipe that nobody writes to must not hold everything up.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a file")
        return file.read(MAX_FILE + 1)


def parse_rules(data: bytes, name: str) -> RuleFile:
    """The rules in the text of a file."""
    if any(line.count(b".") > MAX_DOTS for line in data.splitlines()):
        raise ConfigError(f"{name} has a line of more than {MAX_DOTS} dots", hint=_NOTHING_RUNS, file=name)
    try:
        text = data.decode("utf-8-sig")
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        words = str(error) or type(error).__name__
        raise ConfigError(f"{name} is not TOML: {words}", hint=_NOTHING_RUNS, file=name) from None
    tables = found.pop("rule", [])
    mode = found.pop("mode", None)
    roots = found.pop("roots", [])
    if found:
        raise ConfigError(f"{name} has {_names(found)}, which is not known", hint=_FORM, file=name)
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"in {name} `rule` is not a list of tables", hint=_FORM, file=name)
    if len(tables) > MAX_RULES:
        raise ConfigError(f"{name} has more than {MAX_RULES} rules", hint="Make one rule of several.", file=name)
    if mode is not None and not isinstance(mode, str):
        raise ConfigError(f"in {name} `mode` is not a text", hint=f"The modes are {', '.join(Mode)}.", file=name)
    try:
        as_read = None if mode is None else as_mode(mode)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error.message}", hint=error.hint, file=name) from None
    if not isinstance(roots, list) or not all(isinstance(each, str) and each.startswith(("/", "~/")) for each in roots):
        raise ConfigError(
            f"in {name} `roots` is not a list of folders",
            hint='Write absolute folders, or from your own: roots = ["~/notes"].',
            file=name,
        )
    file = RuleFile(name, as_read, tuple(roots), lines=_lines(text, len(tables)))
    return msgspec.structs.replace(
        file, rules=tuple(_filed(file, number, table) for number, table in enumerate(tables, 1))
    )


def _lines(text: str, count: int) -> tuple[int, ...]:
    """Where the rules begin; empty where they are written in another way than as `[[rule]]`."""
    found = [number for number, line in enumerate(text.split("\n"), 1) if "".join(line.split()).startswith("[[rule]]")]
    return tuple(found) if len(found) == count else ()


class _Wrong(Exception):
    """What is wrong with a rule, and what to do."""

    def __init__(self, words: str, hint: str = "") -> None:
        super().__init__(words)
        self.words = words
        self.hint = hint


def _filed(file: RuleFile, number: int, table: dict[str, Any]) -> FiledRule:
    source = f"{file.name}:{file.lines[number - 1]}" if file.lines else f"{file.name}, rule {number}"
    try:
        rule = _rule(table, source)
        return FiledRule(
            rule,
            number,
            _workspace(table.get("workspace", "")),
            tuple(_examples(table.get("match", []), "match")),
            tuple(_examples(table.get("not_match", []), "not_match")),
        )
    except _Wrong as wrong:
        raise file.error(number, wrong.words, wrong.hint or _NOTHING_RUNS) from None
    except RecursionError:
        raise file.error(number, "it is nested too deep", _NOTHING_RUNS) from None
    except ConfigError as error:
        raise file.error(number, error.message, error.hint) from None


def _rule(table: dict[str, Any], source: str) -> Rule:
    unknown = table.keys() - set(_KEYS)
    if unknown:
        raise _Wrong(f"it has {_names(unknown)}, which is not known", f"A rule may have {', '.join(_KEYS)}.")
    decision = _decision(table.get("decision"))
    rule = Rule(
        decision=decision,
        tool=_texts(table, "tool", _check_tool),
        risk=_texts(table, "risk", _check_risk),
        command=_texts(table, "command", pattern_words),
        path=_texts(table, "path", _check_path),
        where=_where(table.get("where")),
        plain=_yes_or_no(table, "plain"),
        changes=_yes_or_no(table, "changes"),
        arguments=_arguments(table.get("arguments", {})),
        exact_arguments=_exact(table.get("exact_arguments")),
        reason=_reason(table.get("reason", "")),
        source=source,
    )
    if decision is Decision.ALLOW:
        _check_allow(rule)
    elif rule.plain:
        raise _Wrong("`plain` is for rules that allow", "Leave it out: what is denied is denied with any options.")
    return rule


def _check_allow(rule: Rule) -> None:
    """What allows must say what: a slip here lets everything run."""
    if not (rule.tool or rule.risk or rule.command or rule.path or rule.where or rule.arguments):
        raise _Wrong(
            "it allows everything" if not rule.exact_arguments else "it allows these arguments to every tool",
            'Say what it allows: tool, risk, command, path, where or arguments. For everything, use mode = "full".',
        )
    for pattern in rule.command:
        if not is_literal(pattern_words(pattern)[0]):
            raise _Wrong(f"the command {pattern!r} allows any program", "Write the program's name without * and ?.")
    for value in (each for values in rule.arguments.values() for each in values if isinstance(each, str)):
        scheme, parted, rest = value.partition("://")
        if parted and set("*?") & set(scheme + rest.partition("/")[0]):
            raise _Wrong(
                f"the address {value!r} does not say which host",
                "Spell the host out: * stands for any text, also for another host with the rest in its path.",
            )
    if rule.changes:
        raise _Wrong("`changes` is for rules that ask or deny", "Use risk or where to say what is allowed.")


def _decision(value: Any) -> Decision:
    for decision in Decision:
        if value == str(decision):
            return decision
    if value is None:
        raise _Wrong("it has no decision", 'Write decision = "allow", "ask" or "deny".')
    raise _Wrong(f"its decision is {_shown(value)}", 'Write "allow", "ask" or "deny".')


def _texts(table: dict[str, Any], name: str, check: Callable[[str], Any]) -> tuple[str, ...]:
    """One text or a list of them."""
    if name not in table:
        return ()
    value = table[name]
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise _Wrong(f"`{name}` is {_shown(value)}", "Write a text or a list of texts; leave it out for any.")
    for text in texts:
        if len(text) > MAX_TEXT:
            raise _Wrong(f"`{name}` has a text of more than {MAX_TEXT} characters", "Use * for the rest of it.")
        check(text)
    return tuple(texts)


def _check_tool(pattern: str) -> None:
    if not is_tool_name(pattern.replace("*", "x").replace("?", "x")[:NAME_LENGTH]):
        raise _Wrong(f"no tool can be called {_shown(pattern)}", "Names are of the characters A-Z a-z 0-9 _ - and dot.")


def _check_risk(risk: str) -> None:
    if risk not in RISKS:
        raise _Wrong(f"there is no risk {_shown(risk)}", f"The risks are {', '.join(RISKS)}.")


def _check_path(pattern: str) -> None:
    parts = pattern.removeprefix("./").rstrip("/").split("/")
    if pattern.startswith("/"):
        del parts[0]
    if "\0" in pattern or any(part in (".", "..") for part in parts) or ("" in parts and pattern != "/"):
        raise _Wrong(f"no path is like {_shown(pattern)}", "Write it without . and .. and double slashes.")
    if pattern.startswith("~") and pattern != "~" and not pattern.startswith("~/"):
        raise _Wrong(f"whose home {_shown(pattern)} is, is not known", "Write the folder out, or ~/ for your own.")


def _where(value: Any) -> Where | None:
    if value is None:
        return None
    if value not in list(Where):
        raise _Wrong(f"`where` is {_shown(value)}", 'Write "inside" or "outside" (of the workspace).')
    return Where(value)


def _yes_or_no(table: dict[str, Any], name: str) -> bool:
    value = table.get(name, False)
    if not isinstance(value, bool):
        raise _Wrong(f"`{name}` is {_shown(value)}", "Write true or false.")
    return value


def _arguments(value: Any) -> dict[str, tuple[Any, ...]]:
    if not isinstance(value, dict):
        raise _Wrong(f"`arguments` is {_shown(value)}", 'Write a table, such as arguments = { branch = "main" }.')
    found: dict[str, tuple[Any, ...]] = {}
    for name, wanted in value.items():
        values = wanted if isinstance(wanted, list) else [wanted]
        if not values:
            raise _Wrong(f"the argument {_shown(name)} may have no value at all", "List the values that are meant.")
        for each in values:
            _check_value(name, each)
        found[name] = tuple(values)
    return found


def _check_value(name: str, value: Any) -> None:
    if isinstance(value, list):
        for each in value:
            _check_value(name, each)
    elif isinstance(value, dict):
        for each in value.values():
            _check_value(name, each)
    elif not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
        raise _Wrong(f"the argument {_shown(name)} cannot be {_shown(value)}", "Use texts, numbers, true and false.")


def _exact(value: Any) -> str:
    if value is None:
        return ""
    try:
        arguments = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise _Wrong("`exact_arguments` is no JSON object in a text", """Write it as '{"name": "value"}'.""")
    return exact_text(arguments)


def _reason(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
        raise _Wrong("`reason` is no text of one line", "Write one sentence for the person and the model.")
    return value


def _workspace(value: Any) -> str:
    if not isinstance(value, str) or (value and not os.path.isabs(value)):
        raise _Wrong(f"`workspace` is {_shown(value)}", "Write the whole path of a folder.")
    return value


def _examples(value: Any, name: str) -> Iterator[Any]:
    for example in value if isinstance(value, list) else [value]:
        if not isinstance(example, (str, dict)) or not example:
            raise _Wrong(f"`{name}` has {_shown(example)}", "An example is a text, or a table of tool, command, path …")
        yield example


def rule_text(rule: Rule, workspace: str) -> str:
    """A rule as it stands in a file."""
    lines = ["[[rule]]", f"decision = {_toml(str(rule.decision))}"]
    if workspace:
        lines.append(f"workspace = {_toml(workspace)}")
    for name in ("tool", "risk", "command", "path"):
        values: tuple[str, ...] = getattr(rule, name)
        if values:
            lines.append(f"{name} = [{', '.join(_toml(value) for value in values)}]")
    if rule.where is not None:
        lines.append(f"where = {_toml(rule.where)}")
    if rule.plain:
        lines.append("plain = true")
    if rule.exact_arguments:
        lines.append(f"exact_arguments = {_toml(rule.exact_arguments)}")
    return "\n".join(lines) + "\n"


def _toml(text: str) -> str:
    # JSON escapes are TOML escapes; only DEL is one that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _names(names: Any) -> str:
    return ", ".join(f"`{name[:40]}`" for name in sorted(names)[:5])


def _shown(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= 80 else f"{words[:80]}…"


_KEYS = (
    "decision",
    "tool",
    "risk",
    "command",
    "path",
    "where",
    "plain",
    "changes",
    "arguments",
    "exact_arguments",
    "reason",
    "workspace",
    "match",
    "not_match",
)
_FORM = 'A file has mode = "ask", roots = ["~/notes"] and tables [[rule]]; see docs/approval.md.'
_NOTHING_RUNS = "Correct the file, or move it away; until then nothing runs."
