"""Decisions that hold for longer than once: what can be offered, and the file that keeps what was chosen."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from ..errors import ConfigError
from ..files.whole import put_in_place
from ..stream.invocation import ToolInvocation
from ..tools.definition import Risk, ToolDefinition
from .commands.command_line import Command, Word
from .commands.programs import can_be_kept, kept_prefix
from .parts import Part
from .patterns import is_below, is_literal, literal, literal_words, pattern_words, plain
from .places import Place, Workspace
from .policy import Verdict
from .request import Offer
from .rule_file import MAX_FILE, parse_rules, read_rule_file, rule_text
from .rules import Decision, Fit, Rule, Where, exact_text

EXACT_CHARACTERS = 4000
"""Arguments that are longer are not kept: nobody reads them again in a file of rules."""


class Memory(Protocol):
    """Where "always" decisions are kept."""

    def save(self, rule: Rule, workspace: Workspace) -> None:
        """Keeps a rule for this workspace; raises if it cannot."""


def offers_for(
    invocation: ToolInvocation, tool: ToolDefinition, verdicts: Sequence[Verdict], workspace: Workspace
) -> tuple[Offer, ...]:
    """What the person may allow for longer than once, from the narrowest to the widest.

    Nothing for what is dangerous, repaired or not understood, and nothing where a rule asks: it would ask again. With
    any of the offers this very call would not be asked about.
    """
    return () if invocation.repairs else offers_of(tool, invocation.arguments, verdicts, workspace)


def offers_of(
    tool: ToolDefinition, arguments: dict[str, Any], verdicts: Sequence[Verdict], workspace: Workspace
) -> tuple[Offer, ...]:
    """The same for a call that nobody made yet."""
    asked = [verdict for verdict in verdicts if verdict.decision is not Decision.ALLOW]
    parts = [verdict.part for verdict in asked if verdict.part is not None]
    if not parts or Risk.DANGEROUS in (tool.risk, *(part.risk for part in parts)):
        return ()
    if any(verdict.decision is Decision.DENY or verdict.fixed for verdict in asked):
        return ()
    return tuple(
        offer
        for offer in _candidates(tool, arguments, parts, workspace)
        if offer.words.isprintable()
        and all(offer.rule.fit(tool, arguments, part, workspace) is Fit.YES for part in parts)
    )


def refusals_for(
    tool: ToolDefinition,
    arguments: dict[str, Any],
    verdicts: Sequence[Verdict],
    workspace: Workspace,
    offers: Sequence[Offer],
) -> tuple[Offer, ...]:
    """What the person may deny for longer than once: what could be allowed, or else exactly this call.

    An offer about several commands or paths allows them together, and would deny each of them alone: it is no refusal.
    """
    single = (offer for offer in offers if len(offer.rule.command) < 2 and len(offer.rule.path) < 2)
    denying = [
        Offer(msgspec.structs.replace(offer.rule, decision=Decision.DENY, plain=False), offer.words) for offer in single
    ]
    parts = [verdict.part for verdict in verdicts if verdict.part is not None]
    found = [
        offer for offer in denying if any(offer.rule.fit(tool, arguments, part, workspace) is Fit.YES for part in parts)
    ]
    return tuple(found or _exact_offer(Rule(decision=Decision.DENY, tool=(tool.name,)), arguments))


def _candidates(
    tool: ToolDefinition, arguments: dict[str, Any], parts: list[Part], workspace: Workspace
) -> Iterator[Offer]:
    risks = dict.fromkeys(str(part.risk or "unknown") for part in parts)
    rule = Rule(decision=Decision.ALLOW, tool=(tool.name,), risk=tuple(risks))
    if tool.command:
        if all(_can_be_kept(part) for part in parts):
            yield from _command_offers(rule, arguments, parts)
    elif tool.paths and tool.risk is not None and all(part.places for part in parts):
        yield from _path_offers(rule, [part.places[0] for part in parts], workspace)
    else:
        yield from _exact_offer(rule, arguments)
        if tool.risk is not None and not tool.paths:
            yield Offer(rule, f"{tool.name} with any arguments")


def _exact_offer(rule: Rule, arguments: dict[str, Any]) -> Iterator[Offer]:
    exact = exact_text(arguments)
    if len(exact) <= EXACT_CHARACTERS:
        words = f"{rule.tool[0]} with exactly these arguments"
        yield Offer(msgspec.structs.replace(rule, exact_arguments=exact), words)


def _can_be_kept(part: Part) -> bool:
    """Whether a command or a redirection may be allowed for longer."""
    if part.command is None:
        return all(place.inside for place in part.places)
    return bool(part.command.words) and can_be_kept(part.command)


def _command_offers(rule: Rule, arguments: dict[str, Any], parts: list[Part]) -> Iterator[Offer]:
    commands = [part.command for part in parts if part.command is not None]
    if len(commands) < len(parts):
        # Commands and the files of redirections are of two kinds, and a rule is of one.
        yield from _exact_offer(rule, arguments)
        return
    exact = dict.fromkeys(literal_words([word.text for word in command.words]) for command in commands)
    yield Offer(msgspec.structs.replace(rule, command=tuple(exact)), f"exactly {_joined(exact)}")
    if all(kept_prefix(command) for command in commands):
        prefixes = dict.fromkeys(
            literal_words([word.text for word in command.words[: kept_prefix(command)]]) + " *" for command in commands
        )
        widened = msgspec.structs.replace(rule, command=tuple(prefixes), where=Where.INSIDE, plain=True)
        yield Offer(widened, f"{_joined(prefixes)} with paths inside the workspace")


def _path_offers(rule: Rule, places: list[Place], workspace: Workspace) -> Iterator[Offer]:
    exact = dict.fromkeys(_pattern(place.written, place, workspace) for place in places)
    name = rule.tool[0]
    yield Offer(msgspec.structs.replace(rule, path=tuple(exact)), f"{name}: {_joined(exact)}")
    if all(place.inside and place.written not in workspace.roots for place in places):
        folders = dict.fromkeys(_pattern(os.path.dirname(place.written), place, workspace) + "/*" for place in places)
        yield Offer(msgspec.structs.replace(rule, path=tuple(folders)), f"{name}: {_joined(folders)}")


def _pattern(path: str, place: Place, workspace: Workspace) -> str:
    """The pattern of one path: from the workspace's root where it lies inside."""
    if not place.inside or path == workspace.root == place.written or not is_below(path, workspace.root):
        return literal(path)
    return "." if path == workspace.root else f"./{literal(os.path.relpath(path, workspace.root))}"


def _joined(patterns: Sequence[str] | dict[str, None]) -> str:
    return " and ".join(patterns)


class FileMemory:
    """Keeps "always" decisions in a file of rules, each for its workspace.

    A decision is on the disk when `save` returns; the file is whole at every moment, and several programs may save at
    the same time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, rule: Rule, workspace: Workspace) -> None:
        """Keeps a rule for this workspace; a `ConfigError` or `OSError` where it cannot be kept as it is."""
        _check_kept(rule)
        path = Path(os.path.realpath(self.path))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path.parent):
            file = read_rule_file(path)
            kept = [] if file is None else [(filed.rule, filed.workspace) for filed in file.rules]
            if any(_is_same(each, rule) and where == workspace.root for each, where in kept):
                return
            before = _HEAD if file is None else path.read_text("utf-8-sig").rstrip("\n") + "\n"
            data = f"{before}\n{rule_text(rule, workspace.root)}".encode()
            read_back = parse_rules(data, str(path)).rules
            if len(data) > MAX_FILE or len(read_back) != len(kept) + 1:
                raise ConfigError(f"{path} cannot take one more rule", hint="Delete decisions that you do not need.")
            if not _is_same(read_back[-1].rule, rule) or read_back[-1].workspace != workspace.root:
                raise ConfigError("this decision cannot be kept in a file", hint="Answer for this session instead.")
            put_in_place(path, data)


def _is_same(one: Rule, other: Rule) -> bool:
    return msgspec.structs.replace(one, source="") == msgspec.structs.replace(other, source="")


def _check_kept(rule: Rule) -> None:
    """That an allowed command is one that may be kept, whoever asks for it."""
    if rule.decision is not Decision.ALLOW:
        return
    for pattern in rule.command:
        wanted = pattern_words(pattern)
        is_prefix = wanted[-1] == "*"
        words = wanted[:-1] if is_prefix else wanted
        command = Command(tuple(Word(plain(word)) for word in words) + ((Word("x"),) if is_prefix else ()))
        may = rule.plain and 0 < kept_prefix(command) <= len(words) if is_prefix else can_be_kept(command)
        if not may or not all(is_literal(word) for word in words):
            raise ConfigError(f"{pattern!r} cannot be allowed for always", hint="It runs whatever it is told to run.")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One program at a time. The lock is on the folder: the file itself is replaced."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


_HEAD = """# What was allowed or denied for always, each rule in its workspace. Delete what should be asked again.
"""
