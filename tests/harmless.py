"""What a rule about harmless differences is, and what the rules of all wires use. The rules: `followup_rules.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

Json = dict[str, Any]
CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA = "openai-chat", "openai-responses", "anthropic", "gemini", "ollama"
BEDROCK, COHERE = "bedrock", "cohere"


class Rule(msgspec.Struct, frozen=True):
    """One harmless difference: its name, on which wires, why it is harmless, and how a side is made alike, in place."""

    name: str
    wires: tuple[str, ...]
    reason: str
    apply: Callable[[Json], None]


Apply = Callable[[Json], None]


def declaring(rules: list[Rule]) -> Callable[..., Callable[[Apply], Apply]]:
    """A decorator that adds to this list; rules are applied in the order in which they stand."""

    def rule(name: str, *wires: str, reason: str) -> Callable[[Apply], Apply]:
        def declare(apply: Apply) -> Apply:
            rules.append(Rule(name, wires, reason, apply))
            return apply

        return declare

    return rule


def messages(body: Json, *roles: str) -> Iterator[Json]:
    """The messages of these roles (of all, without)."""
    for message in body.get("messages", ()):
        if not roles or message["role"] in roles:
            yield message


def members(value: Any) -> Iterator[Json]:
    """Every object in a request, at any depth."""
    if isinstance(value, dict):
        yield value
        for item in list(value.values()):
            yield from members(item)
    elif isinstance(value, list):
        for item in value:
            yield from members(item)


def keep(items: list[Any], wanted: Callable[[Any], bool]) -> None:
    items[:] = [item for item in items if wanted(item)]


def drop(member: Json, name: str, *values: Any) -> None:
    """Takes a member away where it has one of these values."""
    if name in member and any(member[name] == value and type(member[name]) is type(value) for value in values):
        del member[name]


def plain_json(text: str) -> str:
    """JSON text without what its writer chose: spaces, order of members, escapes."""
    return msgspec.json.encode(msgspec.json.decode(text), order="sorted").decode()
