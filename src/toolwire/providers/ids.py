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
        """The id itself if the provider takes it, else one that it takes, made of a digest of the id."""
        if self.allows(call_id):
            return call_id
        number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest())
        digits = []
        for _ in range(self.exactly or 24):
            number, digit = divmod(number, len(_BASE))
            digits.append(_BASE[digit])
        return "".join(digits)


class CallIds:
    """The ids of one conversation, in order: each as the provider takes it, none twice.

    The first call of an id keeps it. What a later one gets depends only on the ids before it.
    """

    def __init__(self, rule: IdRule) -> None:
        self._rule = rule
        self._used: set[str] = set()
        self._times: dict[str, int] = {}

    def unused(self, call_id: str) -> str:
        """The id for the next call: its own where that can be, else one like it; one is made where there is none."""
        wanted = call_id or "call"
        times = self._times.get(wanted, 0)
        while True:
            times += 1
            made = self._rule.fit(wanted if times == 1 else f"{wanted}_{times}")
            if made not in self._used:
                break
        self._times[wanted] = times
        self._used.add(made)
        return made


ANY_ID = IdRule()
"""Text of a reasonable length."""

OPENAI_IDS = IdRule(longest=40)
"""Chat Completions refuses longer ones; compatible services follow it or take more."""

RESPONSES_IDS = IdRule(longest=64)

ANTHROPIC_IDS = IdRule(_LETTERS_AND_DIGITS | {"_", "-"})

BEDROCK_IDS = IdRule(_LETTERS_AND_DIGITS | {"_", "-", ".", ":"}, 64)

MISTRAL_IDS = IdRule(_LETTERS_AND_DIGITS, exactly=9)
