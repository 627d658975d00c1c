"""Tool names as a provider takes them, and back.

A name that a provider's rule forbids (`files.read`, one that is too long, one that a model made up) goes out under a
name that it allows. The mapping is a function of the name alone, so that every request of a conversation says the
same, and `known_names` leads back from what the model writes to the tool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_WORD = _LETTERS | frozenset("0123456789_")
_DIGEST = 6


class NameRule(msgspec.Struct, frozen=True):
    """Which tool names a provider takes."""

    characters: frozenset[str] = _WORD | {"-"}
    longest: int = 64
    first: frozenset[str] = _WORD | {"-"}

    def allows(self, name: str) -> bool:
        """Whether the name can go out as it is."""
        return 0 < len(name) <= self.longest and name[0] in self.first and self.characters.issuperset(name)

    def wire_name(self, name: str) -> str:
        """The name itself if the provider takes it, else one it takes: readable, and ended by a mark of the name, so
        that two names never become one.
        """
        if self.allows(name):
            return name
        room = self.longest - _DIGEST - 1
        kept = "".join(char if char in self.characters else "_" for char in name[:room])
        if not kept or kept[0] not in self.first:
            kept = f"_{kept}"[:room]
        mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
        return f"{kept}_{mark}"

    def known_names(self, names: Iterable[str]) -> dict[str, str]:
        """From the names on the wire to the tools' own, for those that differ."""
        return {self.wire_name(name): name for name in names if not self.allows(name)}


COMMON_RULE = NameRule()
"""OpenAI, Anthropic and nearly everyone: letters, digits, `_` and `-`, up to 64."""

GEMINI_RULE = NameRule(_WORD | {"-", "."}, 64, _LETTERS | {"_"})
"""Gemini takes dots too, and wants a letter or `_` first."""

COHERE_RULE = NameRule(_WORD, 64, _LETTERS | {"_"})
"""Cohere names letters, digits and `_` alone, with no digit first."""
