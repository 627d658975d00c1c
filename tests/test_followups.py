"""What Toolwire sends beside what recording clients sent: follow-ups with results, and whole requests.

Exactly counted: how many are equal as they are, how many under the rules of `followup_rules.py`, and which differ.
`docs/encoding.md` shows the same figures and the same rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import toolwire
from corpus import needs_corpus
from followup_rules import RULES
from followups import KNOWN_DIFFERENT, Conversation, Pair, conversations, followup_pair, request_pairs
from harmless import Rule
from recorded_requests import CLIENTS, Unread
from toolwire.messages import Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

DOC = (Path(__file__).parents[1] / "docs" / "encoding.md").read_text(encoding="utf-8")


class Counts(msgspec.Struct):
    """How many requests are equal, equal under the rules, known to differ, and not to be read as a conversation."""

    equal: int = 0
    ruled: int = 0
    different: int = 0
    unread: int = 0


FOLLOWUPS = {
    "openai-chat": Counts(36, 75, 1),
    "openai-responses": Counts(38, 49, 4),
    "anthropic": Counts(5, 54),
    "gemini": Counts(0, 29, 5),
    "ollama": Counts(0, 4),
    "bedrock": Counts(0, 5),
    "cohere": Counts(0, 1),
}
REQUESTS = {
    "openai-chat": Counts(458, 474, 4, 2),
    "openai-responses": Counts(118, 373, 4, 2),
    "anthropic": Counts(69, 520, 4, 4),
    "gemini": Counts(137, 221, 5),
    "ollama": Counts(14, 6),
    "bedrock": Counts(53, 16),
    "cohere": Counts(2, 13),
}


@cache
def compared(wire: str, kind: str) -> tuple[list[Pair], list[Unread]]:
    """The pairs, and the requests that are no conversation of ours with the reason."""
    found: Iterable[Pair | Unread] = request_pairs(wire)
    if kind == "followups":
        found = (followup_pair(told, [told.answer, *told.added]) for told in conversations(wire))
    pairs: list[Pair] = []
    unread: list[Unread] = []
    for each in found:
        if isinstance(each, Unread):
            unread.append(each)
        else:
            pairs.append(each)
    return pairs, unread


def counted(wire: str, kind: str) -> tuple[Counts, list[str]]:
    pairs, unread = compared(wire, kind)
    verdicts = {pair.case: pair.verdict(RULES) for pair in pairs}
    tally = Counter(verdicts.values())
    different = [case for case, verdict in verdicts.items() if verdict == "different"]
    return Counts(tally["equal"], tally["ruled"], tally["different"], len(unread)), different


@needs_corpus
@pytest.mark.parametrize(("kind", "expected"), [("followups", FOLLOWUPS), ("requests", REQUESTS)])
@pytest.mark.parametrize("wire", CLIENTS)
def test_requests_are_those_of_the_recording_clients(wire: str, kind: str, expected: dict[str, Counts]) -> None:
    counts, different = counted(wire, kind)
    print(f"{kind} on {wire}: {counts}")
    cases = {pair.case for pair in compared(wire, kind)[0]}
    assert sorted(different) == sorted(case for case in KNOWN_DIFFERENT[kind] if case in cases)
    assert counts == expected[wire]


@needs_corpus
def test_every_known_difference_is_of_a_recording() -> None:
    for kind, known in KNOWN_DIFFERENT.items():
        assert known.keys() <= {pair.case for wire in CLIENTS for pair in compared(wire, kind)[0]}


@needs_corpus
@pytest.mark.parametrize("wire", CLIENTS)
def test_every_rule_is_needed(wire: str) -> None:
    """Without any one rule, some recording differs: no rule hides more than it says."""
    waiting = [rule for rule in RULES if wire in rule.wires]
    for pair in (pair for kind in KNOWN_DIFFERENT for pair in compared(wire, kind)[0]):
        if pair.verdict(RULES) == "ruled":
            waiting = [rule for rule in waiting if pair.agrees(each for each in RULES if each is not rule)]
    assert [rule.name for rule in waiting] == []


def changed(told: Conversation) -> Iterator[tuple[str, list[Message]]]:
    """The conversation with one thing in it said otherwise."""
    for number, part in enumerate(told.answer.parts):
        other: Part | None = None
        if isinstance(part, ToolCallPart):
            other = ToolCallPart(part.id, f"{part.name}x", part.arguments, part.raw_arguments, part.provider_data)
            yield "another tool", [with_part(told.answer, number, other), *told.added]
            arguments = {**part.arguments, "x": None}
            other = ToolCallPart(part.id, part.name, arguments, None, part.provider_data)
            yield "another argument", [with_part(told.answer, number, other), *told.added]
        elif isinstance(part, TextPart) and part.text:
            other = TextPart(f"{part.text}x", part.refusal, part.provider_data)
            yield "other words", [with_part(told.answer, number, other), *told.added]
        if isinstance(part, (ToolCallPart, TextPart)) and other is not None:
            yield "a part less", [with_part(told.answer, number), *told.added]
    for at, message in enumerate(told.added):
        before, after = told.added[:at], told.added[at + 1 :]
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolResultPart):
                result = ToolResultPart(part.id, part.name, "x", part.is_error)
                yield "another result", [told.answer, *before, with_part(message, number, result), *after]
                yield "a result less", [told.answer, *before, with_part(message, number), *after]


def with_part(message: Message, number: int, *instead: Part) -> Message:
    parts = message.parts
    return Message(message.role, [*parts[:number], *instead, *parts[number + 1 :]], message.provider_data)


@needs_corpus
@pytest.mark.parametrize("wire", CLIENTS)
def test_no_rule_hides_what_was_said(wire: str) -> None:
    """A conversation that differs in one call, argument, result or word never passes for the recorded one."""
    hidden = []
    for told in conversations(wire):
        if followup_pair(told, [told.answer, *told.added]).agrees(RULES):
            for change, conversation in changed(told):
                if followup_pair(told, conversation).agrees(RULES):
                    hidden.append((told.row["case"], change))
    assert hidden == []


def long_texts(value: Any) -> Iterator[str]:
    """Signatures, encrypted reasoning and the like: every long text in opaque data."""
    if isinstance(value, str) and len(value) > 40:
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from long_texts(item)


@needs_corpus
@pytest.mark.parametrize("other", CLIENTS)
@pytest.mark.parametrize("wire", CLIENTS)
def test_an_answer_goes_to_every_other_provider(wire: str, other: str) -> None:
    """The calls and results are there, and nothing opaque of the provider that it came from."""
    if wire == other:
        return
    client = CLIENTS[other]
    for told in conversations(wire):
        body = toolwire.encode_request(wire=other, model="gemini-3", messages=[told.answer, *told.added])
        read_back = client.read_items(body[client.items])
        calls = [call for message in read_back for call in message.tool_calls]
        assert [(call.name, call.arguments) for call in calls] == [
            (call.name, call.arguments) for call in told.answer.tool_calls
        ], told.row["case"]
        results = [part for message in read_back for part in message.parts if isinstance(part, ToolResultPart)]
        if told.added:
            assert {call.id for call in calls} == {result.id for result in results}, told.row["case"]
        said = "".join(part.text for part in told.answer.parts if isinstance(part, (TextPart, ThinkingPart)))
        opaque = [part.provider_data for part in told.answer.parts if not isinstance(part, ToolResultPart)]
        sent = msgspec.json.encode(body).decode()
        for text in long_texts([*opaque, *told.answer.provider_data]):
            assert text in said or text not in sent, told.row["case"]


def table(heading: str) -> dict[str, list[int]]:
    """The figures of one table of the document, by wire."""
    _, _, after = DOC.partition(f"### {heading}\n")
    rows = [line.split("|")[1:-1] for line in after.partition("\n#")[0].splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): [int(cell) for cell in row[1:]] for row in rows}


@pytest.mark.parametrize(
    ("heading", "expected"), [("Follow-ups with tool results", FOLLOWUPS), ("Whole requests", REQUESTS)]
)
def test_the_document_has_these_figures(heading: str, expected: dict[str, Counts]) -> None:
    assert table(heading) == {wire: list(msgspec.structs.astuple(counts)) for wire, counts in expected.items()}


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_the_document_names_every_rule(rule: Rule) -> None:
    wires = ", ".join(rule.wires) if len(rule.wires) < len(CLIENTS) else "all"
    assert f"| {rule.name} | {wires} | {rule.reason} |" in DOC
