"""Call ids: what each provider takes, and what becomes of the others."""

from __future__ import annotations

import pytest

from toolwire.providers.ids import (
    ANTHROPIC_IDS,
    ANY_ID,
    BEDROCK_IDS,
    MISTRAL_IDS,
    OPENAI_IDS,
    RESPONSES_IDS,
    CallIds,
    IdRule,
)

RULES = {
    "any": ANY_ID,
    "openai": OPENAI_IDS,
    "responses": RESPONSES_IDS,
    "anthropic": ANTHROPIC_IDS,
    "bedrock": BEDROCK_IDS,
    "mistral": MISTRAL_IDS,
}
TAKEN = {
    "any": ("c", "functions.f:0", "a/b c", "é", "x" * 512),
    "openai": ("call_abc", "x" * 40, "functions.f:0"),
    "responses": ("call_abc", "x" * 64),
    "anthropic": ("toolu_01", "a-b", "x" * 512),
    "bedrock": ("tooluse_x", "functions.f:0", "x" * 64),
    "mistral": ("abcDEF123",),
}
NOT_TAKEN = {
    "any": ("", "x" * 513),
    "openai": ("", "x" * 41),
    "responses": ("", "x" * 65),
    "anthropic": ("", "functions.f:0", "a b", "é", "x" * 513),
    "bedrock": ("", "a/b", "é", "x" * 65),
    "mistral": ("", "call_0", "abcDEF12", "abcDEF1234", "abcDEF12_"),
}


@pytest.mark.parametrize("name", RULES)
def test_what_is_taken(name: str) -> None:
    rule = RULES[name]
    for call_id in TAKEN[name]:
        assert rule.allows(call_id)
        assert rule.fit(call_id) == call_id
    made = [rule.fit(call_id) for call_id in NOT_TAKEN[name]]
    assert all(rule.allows(call_id) for call_id in made)
    assert len({*made}) == len(made)
    assert made == [rule.fit(call_id) for call_id in NOT_TAKEN[name]], "always the same"


def names(rule: IdRule, *wanted: str) -> list[str]:
    ids = CallIds(rule)
    return [ids.unused(call_id) for call_id in wanted]


@pytest.mark.parametrize("rule", RULES.values(), ids=[*RULES])
def test_no_id_twice(rule: IdRule) -> None:
    """Not for ids that come again, for those that are missing, nor for those that look like what is made of others."""
    made_of_c = CallIds(rule)
    first = [made_of_c.unused("c") for _ in range(3)]
    wanted = ["c", "c_2", "", "", "call", "call_2", "c", "c", "c_2", rule.fit("a b"), "a b", "a b", *first]
    made = names(rule, *wanted)
    assert len({*made}) == len(made)
    assert all(rule.allows(call_id) for call_id in made)


def test_the_first_keeps_its_id() -> None:
    assert names(ANTHROPIC_IDS, "c", "d", "c", "c", "d") == ["c", "d", "c_2", "c_3", "d_2"]
    assert names(ANTHROPIC_IDS, "c", "c_2", "c") == ["c", "c_2", "c_3"]
    assert names(ANTHROPIC_IDS, "", "") == ["call", "call_2"]


def test_a_longer_conversation_changes_no_earlier_id() -> None:
    wanted = ["call_0", "call_0", "a.b", "", "call_0_2", "a.b", "call_0"]
    whole = names(MISTRAL_IDS, *wanted)
    assert [names(MISTRAL_IDS, *wanted[:end]) for end in range(len(wanted))] == [
        whole[:end] for end in range(len(wanted))
    ]


def test_a_digest_that_somebody_wrote_before() -> None:
    literal = MISTRAL_IDS.fit("call_0")
    made = names(MISTRAL_IDS, literal, "call_0")
    assert made[0] == literal != made[1]


def test_an_id_used_in_every_answer_costs_no_more_each_time() -> None:
    ids = CallIds(ANTHROPIC_IDS)
    asked = 0

    class Counting(set[str]):
        def __contains__(self, item: object) -> bool:
            nonlocal asked
            asked += 1
            return super().__contains__(item)

    ids._used = Counting()
    for _ in range(1000):
        ids.unused("call_0")
    assert asked == 1000
