"""Call ids as a provider takes them.

An id is unique only within one answer: some servers number the calls of each answer from nought, some send none. A
provider that a history goes to may want other characters, another length, and no id twice. `fit` makes an id that it
takes of one that it does not: a function of the id alone, so that every request of a conversation says the same.
"""

from __future__ import annotations

import hashlib

import msgspec

_LETTERS_AND_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_BASE = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class IdRule(msgspec.Struct, frozen=True):
    """Which call ids a provider takes."""

    characters: frozenset[str] | None = None
    """None: any."""
    longest: int = 512
    exactly: int | None = None
    """The only length there is."""

    def allows(self, call_id: str) -> bool:
        """Whether the id can go out as it is."""
        if self.exactly is not None and len(call_id) != self.exactly:
            return False
        return 0 < len(call_id) <= self.longest and (self.characters is None or self.characters.issuperset(call_id))

    def fit(self, call_id: str) -> str:
        """The id itself if the provider takes it, else one that it takes and that no other id becomes."""
        if self.allows(call_id):
            return call_id
        number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest())
        digits = []
        for _ in range(self.exactly or 24):
            number, digit = divmod(number, len(_BASE))
            digits.append(_BASE[digit])
        return "".join(digits)


ANY_ID = IdRule()
"""Text of a reasonable length."""

OPENAI_IDS = IdRule(longest=40)
"""Chat Completions refuses longer ones; compatible services follow it or take more."""

RESPONSES_IDS = IdRule(longest=64)

ANTHROPIC_IDS = IdRule(_LETTERS_AND_DIGITS | {"_", "-"})

BEDROCK_IDS = IdRule(_LETTERS_AND_DIGITS | {"_", "-", ".", ":"}, 64)

MISTRAL_IDS = IdRule(_LETTERS_AND_DIGITS, exactly=9)
