"""A `Rule`: one line of a policy, and whether a part of a call fits it.

Deny and ask rules fit generously, allow rules narrowly: where it is not known before the call runs whether a rule
fits, a deny or ask rule asks and an allow rule does not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import IntEnum, StrEnum
from itertools import takewhile
from typing import Any

import msgspec

from ..tools.definition import Risk, ToolDefinition
from .commands.command_line import Command, Word
from .commands.programs import kept_prefix, plain_words, program, sets_harmless
from .commands.readers import files_read, is_meant_by_name, only_reads
from .parts import Part, argument
from .path_patterns import may_hold, path_fits
from .patterns import command_matches, glob_matches, is_literal, pattern_words, plain
from .places import Place, Workspace


class Decision(IntEnum):
    """What becomes of a call. The larger is the stricter, and the strictest wins."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    def __str__(self) -> str:
        return self.name.lower()


class Where(StrEnum):
    """Where a path leads."""

    INSIDE = "inside"
    OUTSIDE = "outside"


class Fit(IntEnum):
    """Whether a rule fits."""

    NO = 0
    MAYBE = 1
    YES = 2


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Decides the calls that fit every condition it has; a condition with several values is met by any of them."""

    decision: Decision
    tool: tuple[str, ...] = ()
    """Names of tools; `*` and `?` stand for anything."""
    risk: tuple[str, ...] = ()
    """`read`, `write`, `execute`, `network`, `dangerous`, `unknown`."""
    command: tuple[str, ...] = ()
    """Patterns of words: see `patterns.command_matches`."""
    path: tuple[str, ...] = ()
    """Patterns of paths: from the workspace's root, from `/` or from `~/`. Without a slash: a name in any folder."""
    where: Where | None = None
    plain: bool = False
    """Only commands that do the same kind of thing whatever their words are: see `prefixes`. For rules that allow."""
    changes: bool = False
    """Only what does more than read, by the paths that it names. Not for rules that allow."""
    arguments: dict[str, tuple[Any, ...]] = {}
    """Values by argument; in a text, `*` and `?` stand for anything."""
    exact_arguments: str = ""
    """All arguments, as JSON: these and no others."""
    reason: str = ""
    """Told to the person and the model."""
    source: str = ""
    """Where the rule comes from: a file and its line, the session, the program."""

    def fit(self, tool: ToolDefinition, arguments: dict[str, Any], part: Part, workspace: Workspace) -> Fit:
        """Whether this rule decides this part of a call."""
        found = Fit.YES
        for fit in self._fits(tool, arguments, part, workspace):
            found = min(found, fit)
            if found is Fit.NO:
                break
        return found

    def _fits(self, tool: ToolDefinition, arguments: dict[str, Any], part: Part, workspace: Workspace) -> Iterator[Fit]:
        """Each condition's answer."""
        if self.tool:
            yield _any(glob_matches(name, tool.name) for name in self.tool)
        if self.risk:
            yield _any(risk in self.risk for risk in self._risks(tool, part))
        if self.changes:
            yield Fit.NO if part.risk is Risk.READ else Fit.YES
        for name, wanted in self.arguments.items():
            value = argument(tool, arguments, name)
            yield _any(self._fits_value(want, value) for want in wanted)
        if self.exact_arguments:
            yield Fit.YES if self.exact_arguments == exact_text(arguments) else Fit.NO
        if self.command:
            yield self._fits_command(part)
        if self.path or self.where is not None:
            yield self._fits_place(part, workspace)

    def _risks(self, tool: ToolDefinition, part: Part) -> set[str]:
        """The part's own risk, and the tool's: to allow only where the part does less than that."""
        own = part.risk or "unknown"
        is_narrow = self.decision is Decision.ALLOW and part.risk is not Risk.READ
        return {own} if is_narrow else {own, tool.risk or "unknown"}

    def _fits_value(self, want: Any, value: Any) -> bool:
        if self.decision is not Decision.ALLOW and isinstance(value, list) and not isinstance(want, list):
            return any(_same(want, each, globs=True) for each in value)
        return _same(want, value, globs=True)

    def _fits_command(self, part: Part) -> Fit:
        if part.command is None:
            return Fit.MAYBE if part.unsure else Fit.NO
        forms = [part.command.words]
        if self.decision is not Decision.ALLOW:
            forms += [program(part.command), plain_words(part.command)]
            # Some disks find a program by its name in other letters, too.
            forms += [(Word(first.text.lower(), first.kind), *rest) for first, *rest in filter(None, forms)]
        elif not sets_harmless(part.command) or (self.plain and not kept_prefix(part.command)):
            return Fit.NO
        elif part.program and is_meant_by_name(part.command):
            # Whoever allows `git add *` means git, and not what somebody put into the workspace by that name.
            forms = [(Word(part.program), *part.command.words[1:])]
        patterns = self.command
        if self.decision is Decision.ALLOW:
            patterns = tuple(pattern for pattern in patterns if _covers(pattern, part.command))
        return max((_fit(command_matches(pattern, words)) for pattern in patterns for words in forms), default=Fit.NO)

    def _fits_place(self, part: Part, workspace: Workspace) -> Fit:
        if self.decision is Decision.ALLOW:
            return self._allows_place(part, workspace)
        if any(self._is_at(place, workspace) for place in part.places):
            return Fit.YES
        if part.unsure:
            return Fit.MAYBE
        if part.command is not None and self.changes:
            return Fit.NO
        if any(may_hold(root, pattern, workspace) for root in part.roots for pattern in self.path):
            return Fit.MAYBE
        if part.command is not None and not all(word.is_literal for word in part.command.words):
            return Fit.MAYBE
        return Fit.NO

    def _allows_place(self, part: Part, workspace: Workspace) -> Fit:
        """A path rule allows paths. A command does more than touch the paths that it names: they only narrow it."""
        if part.command is None:
            is_there = bool(part.places) and all(self._is_at(place, workspace) for place in part.places)
        else:
            is_there = (
                bool(self.command)
                and all(self._is_at(place, workspace) for place in part.places)
                and all(word.is_literal for word in part.command.words)
            )
        return Fit.YES if is_there else Fit.NO

    def _is_at(self, place: Place, workspace: Workspace) -> bool:
        if self.where is not None and place.inside is not (self.where is Where.INSIDE):
            return False
        is_narrow = self.decision is Decision.ALLOW
        return not self.path or any(path_fits(pattern, place, workspace, narrow=is_narrow) for pattern in self.path)


def _covers(pattern: str, command: Command) -> bool:
    """Whether a pattern that allows means what a command does: one for a program that reads leaves no room for options
    that write or start something, unless it names them.
    """
    if is_literal(pattern):
        return True
    wanted = pattern_words(pattern)
    fixed = tuple(Word(plain(word)) for word in takewhile(is_literal, wanted))
    if not only_reads(program(Command(fixed))):
        return True
    named = {place for place, word in enumerate(wanted) if word.startswith("-") and is_literal(word.partition("=")[0])}
    rest = tuple(word for place, word in enumerate(program(command)) if place not in named)
    return files_read(msgspec.structs.replace(command, words=rest)) is not None


def exact_text(arguments: dict[str, Any]) -> str:
    """Arguments as JSON that is equal for equal arguments alone: true is not 1, and 1 is not 1.0."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"))


def _any(found: Iterable[bool]) -> Fit:
    return Fit.YES if any(found) else Fit.NO


def _fit(answer: bool | None) -> Fit:
    return Fit.MAYBE if answer is None else Fit.YES if answer else Fit.NO


def _same(want: Any, value: Any, *, globs: bool = False) -> bool:
    """Whether a value is the one that is meant. 1 and 1.0 are the same number to a schema; true is no number."""
    if isinstance(want, str) and isinstance(value, str):
        return glob_matches(want, value) if globs else want == value
    if isinstance(want, list) and isinstance(value, list):
        return len(want) == len(value) and all(map(_same, want, value))
    if isinstance(want, dict) and isinstance(value, dict):
        return want.keys() == value.keys() and all(_same(want[name], value[name]) for name in want)
    if isinstance(want, bool) or isinstance(value, bool):
        return want is value
    return isinstance(want, (int, float)) and isinstance(value, (int, float)) and want == value
