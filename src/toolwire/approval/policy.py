"""Policy: what may run, what is asked about, what is denied. Pure; no file is read and nobody is asked here.

A call is judged part by part (`parts.parts_of`), each by the strictest rule that fits it, or by the mode where none
does; the strictest part decides the call. What is not understood is asked about, whatever allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from ..errors import ConfigError
from ..tools.definition import Risk, ToolDefinition
from .parts import Part, parts_of, written_in_place
from .places import Workspace
from .rules import Decision, Fit, Rule
from .run_later import runs_later


class Mode(StrEnum):
    """What happens to calls that no rule decides. From the strictest to the widest."""

    READ_ONLY = "read-only"
    """Reads inside the workspace run; what does more is denied, also where a rule allows it; unknown risk is asked."""
    ASK = "ask"
    """Reads inside the workspace run; everything else is asked about."""
    AUTO_EDIT = "auto-edit"
    """As `ask`, and writes to paths inside the workspace run."""
    FULL = "full"
    """Everything runs but what a rule asks about or denies, and what is dangerous, unknown or not understood."""

    @property
    def width(self) -> int:
        """How much it lets run: 0 is the strictest."""
        return list(Mode).index(self)


def as_mode(name: str) -> Mode:
    """The mode of this name."""
    try:
        return Mode(name)
    except ValueError:
        raise ConfigError(f"there is no mode {name[:40]!r}", hint=f"The modes are {', '.join(Mode)}.") from None


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of a call, and why: by which rule, or by the mode where `rule` is None."""

    decision: Decision
    why: str
    """One sentence for the person and the model."""
    rule: Rule | None = None
    part: Part | None = None
    fixed: bool = False
    """No further rule that allows it would change this."""
    cause: str = ""
    """What decided in a word or two, where it is neither a rule nor the mode."""

    @property
    def source(self) -> str:
        """What decided: where the rule comes from, the mode, or what lies in the call itself."""
        if self.rule is not None:
            return self.rule.source
        return self.cause or "mode"


class Policy:
    """Rules and a mode. `remember` adds what the person decides on the way; nothing is ever taken out."""

    __slots__ = ("_rules", "mode")

    def __init__(self, mode: Mode | str = Mode.ASK, rules: Iterable[Rule] = ()) -> None:
        self.mode = as_mode(mode)
        self._rules = list(rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules, also those that were remembered."""
        return tuple(self._rules)

    def remember(self, rule: Rule) -> None:
        """Adds a rule from now on."""
        self._rules.append(rule)

    def judge(self, tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> Verdict:
        """The verdict on a call. May raise whatever is wrong with it: the gate makes a denial of that."""
        verdicts = self.judge_parts(tool, arguments, workspace)
        # Of several that ask, what no answer can change says most.
        return max(verdicts, key=lambda verdict: (verdict.decision, verdict.fixed))

    def judge_parts(self, tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> list[Verdict]:
        """The verdict on each part of a call."""
        return [self._judge_part(tool, arguments, part, workspace) for part in parts_of(tool, arguments, workspace)]

    def closes(self, tool: ToolDefinition, path: str, workspace: Workspace) -> bool:
        """Whether a rule keeps the tool from reading this file unasked."""
        if all(rule.decision is Decision.ALLOW or rule.changes for rule in self._rules):
            return False
        # What is hidden is not asked about here.
        place = msgspec.structs.replace(workspace.place(path), hidden=False)
        verdict = self._judge_part(tool, {}, Part(Risk.READ, places=(place,)), workspace)
        return verdict.rule is not None and verdict.decision is not Decision.ALLOW

    def _judge_part(self, tool: ToolDefinition, arguments: dict[str, Any], part: Part, workspace: Workspace) -> Verdict:
        found = list(self._fixed(tool, part, workspace))
        allowed: Verdict | None = None
        for rule in self._rules:
            fit = rule.fit(tool, arguments, part, workspace)
            if fit is Fit.NO:
                continue
            if rule.decision is Decision.ALLOW:
                if fit is Fit.YES and allowed is None:
                    allowed = Verdict(Decision.ALLOW, rule.reason or f"a rule allows {_short(part)}", rule, part)
            elif fit is Fit.YES:
                why = rule.reason or f"a rule says {rule.decision} for {_short(part)}"
                found.append(Verdict(rule.decision, why, rule, part, fixed=True))
            else:
                why = f"a rule that says {rule.decision} may fit {_short(part)}, which is known only when it runs"
                found.append(Verdict(Decision.ASK, why, rule, part, fixed=True))
        if found:
            return max(found, key=lambda verdict: verdict.decision)
        return allowed or self._default(part)

    def _fixed(self, tool: ToolDefinition, part: Part, workspace: Workspace) -> Iterator[Verdict]:
        """What holds whatever rules allow."""
        if why := _why_hidden(tool, part, workspace):
            yield Verdict(Decision.ASK, why, None, part, True, "hidden")
        linked = next((place for place in written_in_place(tool, part) if place.linked), None)
        if linked is not None:
            words = f"{linked.given[:_SHORT]!r} has other names (hard links), and writing to it changes the file of all"
            yield Verdict(Decision.ASK, words, None, part, True, "hard links")
        if part.risk is not Risk.READ:
            if tool.asks:
                yield Verdict(Decision.ASK, tool.asks, None, part, True, "the tool")
            # A command may name a program to run it.
            search = workspace.search if part.command is None else ()
            for place in part.places:
                why = runs_later(place, search)
                if why:
                    words = f"{_short(part)} may write {place.given[:_SHORT]!r}, and {why}"
                    yield Verdict(Decision.ASK, words, None, part, True, "runs later")
                    break
        if part.refused:
            yield Verdict(Decision.DENY, part.refused, None, part, True, "the call")
        if self.mode is Mode.READ_ONLY and part.risk is None:
            yield Verdict(
                Decision.ASK, f"the mode is read-only, and {_short(part)} is of unknown risk", None, part, True
            )
        elif self.mode is Mode.READ_ONLY and part.risk is not Risk.READ:
            yield Verdict(
                Decision.DENY, f"the mode is read-only, and {_short(part)} does more than read", None, part, True
            )
        if part.beside:
            words = f"{_short(part)} may run more than it says: {part.beside}"
            yield Verdict(Decision.ASK, words, None, part, True, "the repository")
        if part.unsure:
            words = f"{_short(part)} is not understood: {part.unsure}"
            yield Verdict(Decision.ASK, words, None, part, True, "not understood")

    def _default(self, part: Part) -> Verdict:
        decision = _DEFAULTS[part.risk][self.mode.width]
        outside = next((place for place in part.places if not place.inside), None)
        if decision is Decision.ALLOW and self.mode is not Mode.FULL and outside is not None:
            why = f"{outside.given[:_SHORT]!r} is outside the workspace"
            return Verdict(Decision.ASK, why, None, part)
        if part.risk is Risk.WRITE and self.mode is Mode.AUTO_EDIT and not part.places:
            return Verdict(Decision.ASK, f"where {_short(part)} writes is not known", None, part)
        if decision is Decision.ALLOW:
            return Verdict(decision, f"the mode {self.mode} lets it run", None, part)
        words = f"is of risk {part.risk}" if part.risk is not None else "is of unknown risk"
        return Verdict(decision, f"{_short(part)} {words}, and the mode is {self.mode}", None, part)


_SHORT = 200
"""Characters of a call in a sentence about it."""


def _why_hidden(tool: ToolDefinition, part: Part, workspace: Workspace) -> str:
    """Why a part may tell what is hidden; empty where it cannot.

    Our own tools leave out what is hidden below the folder that they look through, and the sandbox keeps what it is
    that a program does by itself. So it is other tools, and commands known to read, that are asked about for a folder.
    """
    hidden = next((place for place in part.places if place.hidden), None)
    if hidden is not None:
        return f"{hidden.given[:_SHORT]!r} is hidden from models: keys and other secrets usually lie there"
    folders = part.searched
    if part.command is None and part.places and not tool.confined and not tool.command:
        folders = part.places
    for folder in folders:
        if below := workspace.hidden.below(folder.real):
            where = f"below {folder.given[:_SHORT]!r}: {below[:_SHORT]!r}"
            return f"{_short(part)} may read what is hidden from models {where}"
    return ""


def _short(part: Part) -> str:
    words = str(part)
    return words if len(words) <= _SHORT else f"{words[:_SHORT]}…"


_A, _K, _D = Decision.ALLOW, Decision.ASK, Decision.DENY
_DEFAULTS: dict[Risk | None, tuple[Decision, ...]] = {
    Risk.READ: (_A, _A, _A, _A),
    Risk.WRITE: (_D, _K, _A, _A),
    Risk.EXECUTE: (_D, _K, _K, _A),
    Risk.NETWORK: (_D, _K, _K, _A),
    Risk.DANGEROUS: (_D, _K, _K, _K),
    None: (_K, _K, _K, _K),
}
"""By risk, then by mode from `read-only` to `full`. Unknown is asked about in every mode."""
