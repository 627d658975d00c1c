"""A conversation made shorter is one that every provider still takes, and of what matters nothing is lost.

The rules are `tests/format_rules.py`, written from the providers' documentation.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from toolwire.agent.compaction import KEPT_TURNS, NOTE_START
from toolwire.agent.context import FULL, Compacted, Context
from toolwire.chunks import TokenUsage
from toolwire.messages import MediaPart, Message, Part, TextPart, ToolCallPart, ToolResultPart, system, user
from toolwire.providers.endpoint import Endpoint, resolve
from toolwire.tools.function import as_definition

from . import Found

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from foreign_answers import PNG, answers
from format_rules import broken
from wire_bodies import WIRES

ENDPOINTS: dict[str, Endpoint] = {
    rules: resolve(name, {"AWS_REGION": "eu-central-1"}, api_key="none")
    for rules, name in {
        "openai": "openai:m",
        "openai-responses": "openai-responses:m",
        "anthropic": "anthropic:m",
        "gemini": "gemini:gemini-3-pro",
        "ollama": "ollama:m",
        "bedrock": "bedrock:m",
        "cohere": "cohere:m",
    }.items()
}
"""One of each wire, by the name of its rules."""

TOOLS = [
    as_definition({"name": name, "description": "A tool.", "parameters": {"type": "object", "properties": {"x": {}}}})
    for name in ("f", "g", "files.read")
]
MEDIA = (
    MediaPart("image/png", data=PNG, name="a.png"),
    MediaPart("image/png", url="https://a.example/b.png"),
    MediaPart("application/pdf", data=PNG, name="a.pdf"),
    MediaPart("audio/wav", data=PNG),
)
WINDOWS = (500, 2_000, 4_096, 8_000, 16_000)
LONGEST = 12
"""How often a conversation can be refused again: each time half of it goes, or what can go has gone."""


def conversations_shortened(count: int, seed: int) -> Found:
    """Random conversations of up to six questions with up to eight turns each, in windows that are too small for them.

    The plan's count is 20,000; that takes some three minutes.
    """
    found = Found()
    rng = random.Random(seed)
    told: Counter[str] = Counter()
    for number in range(count):
        messages = conversation(rng)
        window = rng.choice((None, *WINDOWS))
        force = window is None or rng.random() < 0.3
        for words in wrongs(messages, window, force=force, rng=rng, told=told):
            found.fault(f"conversation {number} of seed {seed}, window {window}, force {force}: {words}")
        found.runs += 1
    if told["shortened"] < count // 3:
        found.fault(f"of {count:,} conversations {told['shortened']:,} were shortened, which says little")
    found.words = ", ".join(f"{times:,} {words}" for words, times in sorted(told.items()))
    return found


def conversation(rng: random.Random) -> list[Message]:
    """As an agent leads it: every call has its result, mostly at once, and the last word is not the model's."""
    messages = [system("Be brief.")] if rng.random() < 0.5 else []
    wires = rng.choices(WIRES, k=rng.choice((1, 1, 2)))
    for _ in range(rng.randint(1, 6)):
        messages.append(_question(rng))
        for _ in range(rng.randint(0, 8)):
            wire = rng.choice(wires)
            origin = rng.choice(("", wire if wire != "openai-chat" else "openai"))
            answer = msgspec.structs.replace(rng.choice(answers(wire)), origin=origin)
            messages.append(answer)
            if not answer.tool_calls:
                break
            results: list[Part] = [
                ToolResultPart(call.id, call.name, _content(rng), rng.random() < 0.1) for call in answer.tool_calls
            ]
            if rng.random() < 0.03:
                messages.append(user(f"Wait: {_words(rng)}"))
            messages.append(Message("tool", results))
        if rng.random() < 0.05:
            messages.append(system("One thing more."))
    if next(message for message in reversed(messages) if message.role != "system").role == "assistant":
        messages.append(user("Go on."))
    return messages


def _words(rng: random.Random) -> str:
    size = rng.choice((5, 50, 700, 3_000, 12_000))
    return rng.choice(("all is well ", "日本語の文", '{"a": [1, 2]}\n'))[:size] * (size // 10)


def _question(rng: random.Random) -> Message:
    parts: list[Part] = [TextPart(f"Question {rng.random()}: {_words(rng)}")]
    return Message("user", parts + rng.sample(MEDIA[:1], rng.choice((0, 0, 0, 1))))


def _content(rng: random.Random) -> str | list[TextPart | MediaPart]:
    if rng.random() < 0.8:
        return _words(rng)
    return [TextPart(_words(rng)), rng.choice(MEDIA)]


def wrongs(
    messages: list[Message], window: int | None, *, force: bool, rng: random.Random, told: Counter[str]
) -> Iterator[str]:
    """What is wrong with what becomes of this conversation, once and over again."""
    given = msgspec.json.encode(messages)
    context = Context(window)
    if rng.random() < 0.5:
        answered = next((end for end in range(len(messages), 0, -1) if messages[end - 1].role == "assistant"), 0)
        counted = round(context.tokens(messages[:answered]) * rng.uniform(0.5, 2)) + rng.choice((0, 0, 400))
        context.answered(messages[:answered], TokenUsage(counted, 1) if counted else None)
    before = context.tokens(messages)
    compacted = context.make_room(messages, force=force)
    if compacted is None:
        told["fit as they are" if window and before < FULL * window else "had nothing to leave out"] += 1
        return
    if not force and window is not None and before < FULL * window:
        yield "it had room"
    told["shortened"] += 1
    yield from _wrong_step(messages, compacted, force=force)
    if not force and context.make_room(compacted.messages) is not None:
        yield "shortened again at once"
    for _ in range(LONGEST if force else 0):
        earlier, compacted = compacted, context.make_room(compacted.messages, force=True)
        if compacted is None:
            break
        told["shortened again, refused again"] += 1
        yield from _wrong_step(earlier.messages, compacted, force=True)
    if force and compacted is not None:
        yield "there is no end to it"
    if msgspec.json.encode(messages) != given:
        yield "what was given was changed"


def _wrong_step(messages: Sequence[Message], compacted: Compacted, *, force: bool) -> Iterator[str]:
    shorter = compacted.messages
    if not compacted.tokens_after < compacted.tokens_before:
        yield f"{compacted.tokens_before} tokens became {compacted.tokens_after}"
    if not compacted.notes:
        yield "the person is not told"
    for rules, endpoint in ENDPOINTS.items():
        for words in broken(rules, endpoint.encode(messages=shorter, tools=TOOLS)):
            yield f"{rules}: {words}"
    if _gone(shorter) + _spoken(shorter) != _gone(messages) + _spoken(messages):
        yield "the note does not count what has gone"
    known = {id(message) for message in messages}
    if [message for message in messages if message.role == "system"] != [m for m in shorter if m.role == "system"]:
        yield "a system message is another"
    if any(message.role == "assistant" and id(message) not in known for message in shorter):
        yield "an answer was changed"
    if _called(shorter) != _answered(shorter):
        yield "calls and results do not go together"
    question, same = _last_question(messages), _last_question(shorter)
    if [part for part in same if not _is_note(part)] != [part for part in question if not _is_note(part)]:
        yield "the last question is another"
    if not force and any(all(result is not other for other in shorter) for result in _recent_results(messages)):
        yield "a result of the last turns was touched"


def _recent_results(messages: Sequence[Message]) -> list[Message]:
    """Those of the last turns, as far as they belong to the last question."""
    since = [message for message in messages if message.role != "system"]
    last = max(number for number, message in enumerate(since) if message.role == "user")
    return [message for message in since[last:] if message.role == "tool"][-KEPT_TURNS:]


def _is_note(part: Part) -> bool:
    return isinstance(part, TextPart) and part.text.startswith(NOTE_START)


def _last_question(messages: Sequence[Message]) -> list[Part]:
    return next((message.parts for message in reversed(messages) if message.role == "user"), [])


def _spoken(messages: Sequence[Message]) -> int:
    return sum(message.role != "system" for message in messages)


def _gone(messages: Sequence[Message]) -> int:
    notes = [part for message in messages for part in message.parts if isinstance(part, TextPart) and _is_note(part)]
    if len(notes) > 1:
        return -1
    return sum(int(part.text.removeprefix(NOTE_START).partition(" ")[0]) for part in notes)


def _called(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(part.id, part.name) for message in messages for part in message.parts if isinstance(part, ToolCallPart)]


def _answered(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(part.id, part.name) for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
