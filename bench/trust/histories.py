"""D4: any history at all is made one that a provider takes: every call answered once, and each one's own rules kept.

The rules are `tests/format_rules.py`, written from the providers' documentation, and here those that need to know where
a history came from: what only one provider can read goes to no other, and nothing of an answer that broke off names
what its server has not kept.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolwire.agent.history import all_refused, broken_answer
from toolwire.messages import MediaPart, Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user
from toolwire.providers.endpoint import Endpoint, resolve
from toolwire.providers.moving import move_history
from toolwire.stream.pipeline import Stream
from toolwire.tools.function import as_definition

from . import Found

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from corpus import WIRES as SHAPES
from corpus import body as recorded_body
from corpus import every_row
from foreign_answers import _RICH, PLAIN, PNG, SECRET, answers
from format_rules import broken
from wire_bodies import WIRES, End
from wire_bodies import body as written

Json = dict[str, Any]


class Target(NamedTuple):
    """Where a history goes: a provider and a model of it, and the name of its rules."""

    rules: str
    wire: str
    endpoint: Endpoint


def _target(rules: str, wire: str, name: str) -> Target:
    return Target(rules, wire, resolve(name, {"AWS_REGION": "eu-central-1"}, api_key="none"))


TARGETS = (
    _target("openai", "openai-chat", "openai:m"),
    _target("openai-responses", "openai-responses", "openai-responses:m"),
    _target("anthropic", "anthropic", "anthropic:m"),
    _target("gemini", "gemini", "gemini:gemini-3-pro"),
    _target("ollama", "ollama", "ollama:m"),
    _target("bedrock", "bedrock", "bedrock:m"),
    _target("cohere", "cohere", "cohere:m"),
)
"""One of each wire: every history goes to all of them."""

STRICT = (
    _target("mistral", "openai-chat", "mistral:m"),
    _target("deepseek", "openai-chat", "deepseek:m"),
    _target("openrouter", "openai-chat", "openrouter:m"),
    _target("gemini-2.5", "gemini", "gemini:gemini-2.5-flash"),
)
"""Those that want something else of a history than their wire: every history goes to one of them."""

HOME = {target.wire: target.endpoint.provider.name for target in TARGETS}

TOOLS = [
    as_definition({"name": name, "description": "A tool.", "parameters": {"type": "object", "properties": {"x": {}}}})
    for name in ("f", "g", "files.read")
]
MEDIA = (
    MediaPart("image/png", data=PNG),
    MediaPart("image/png", url="https://a.example/b.png"),
    MediaPart("image/png", url=f"data:image/png;base64,{PNG}"),
    MediaPart("image/tiff", data=PNG),
    MediaPart("application/pdf", data=PNG, name="a.pdf"),
    MediaPart("audio/ogg", data=PNG),
    MediaPart("audio/wav", data=PNG),
    MediaPart("video/mp4", url="https://a.example/b.mp4"),
)
SHARE = 5_000
"""Histories that one process tries at a time."""
CUTS = 150
"""Broken answers of each wire that are drawn from, made up, and as many recorded where the recordings are here."""
LONGEST_RECORDED = 50_000
"""Bytes: what longer ones hold, shorter ones do too."""


def histories_repaired(count: int, seed: int) -> Found:
    """Random histories, each encoded for all seven wires and one stricter service.

    The plan's count is 100,000; that takes some two minutes on two processors.
    """
    found = Found()
    drawn: Counter[str] = Counter()
    for part, kinds in _parts(count, seed):
        found.runs += part.runs
        for words in part.faults:
            found.fault(words)
        drawn += kinds
    told = ", ".join(f"{times:,} {kind}" for kind, times in sorted(drawn.items()))
    found.words = f"{found.runs * (len(TARGETS) + 1):,} requests; with {told}"
    return found


def _parts(count: int, seed: int) -> Iterable[tuple[Found, Counter[str]]]:
    """The histories, many of them shared out among processes."""
    if count <= SHARE:
        return [_part(count, f"{seed}")]
    shares = [min(SHARE, count - at) for at in range(0, count, SHARE)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return list(pool.map(_part, shares, [f"{seed}-{number}" for number in range(len(shares))]))


def _part(count: int, seed: str) -> tuple[Found, Counter[str]]:
    found = Found()
    rng = random.Random(seed)
    drawing = _Drawing(rng, [*_broken_answers(rng, found)])
    for number in range(count):
        history, sources = drawing.history()
        for target in (*TARGETS, rng.choice(STRICT)):
            for words in wrongs(target, history, sources):
                found.fault(f"history {number} of seed {seed} at {target.rules}: {words}")
        found.runs += 1
    return found, drawing.drawn


def wrongs(target: Target, history: Sequence[Message], sources: frozenset[tuple[str, str]] = frozenset()) -> list[str]:
    """What the target would refuse of this history, or should not be shown; `sources` are wire and origin of what has
    a secret in it.
    """
    endpoint = target.endpoint
    before = msgspec.json.encode(history)
    options: Json = {"wire": target.wire, "provider": endpoint.provider.name}
    if target.wire == "openai-chat":
        options["dialect"] = endpoint.provider.dialect
    moved = move_history(history, **options).messages
    told = [] if moved == move_history(moved, **options).messages else ["repaired again, it is another"]
    body = endpoint.encode(messages=history, tools=TOOLS)
    if msgspec.json.encode(history) != before:
        told.append("what was given was changed")
    told += broken(target.rules, body)
    told += _EXTRA[target.rules](body) if target.rules in _EXTRA else ()
    sent = msgspec.json.encode(body).decode()
    own = {wire for wire, origin in sources if wire == target.wire and origin in ("", endpoint.provider.name)}
    for wire, origin in sources:
        if wire not in own and SECRET[wire] in sent:
            told.append(f"what only {origin or wire} can read")
    return told


def wrongs_anywhere(history: Sequence[Message]) -> list[str]:
    """What any provider would refuse of this history."""
    return [
        f"{target.rules}: {words}"
        for target in (*TARGETS, *STRICT)
        for words in wrongs(target, [*history, user("Go on.")])
    ]


class _Broken(NamedTuple):
    """What stays of an answer that broke off, as the agent keeps it."""

    wire: str
    answer: Message


def _broken_answers(rng: random.Random, found: Found) -> Iterator[_Broken]:
    """Answers of every wire, each cut at a random byte: the connection broke, or the person interrupted."""
    for target in TARGETS:
        bodies = [written(target.wire, *pieces, End()) for pieces in PLAIN]
        bodies += _RICH[target.wire]() if target.wire in _RICH else ()
        recorded = [row for row in every_row(core=True) if SHAPES[row["shape"]] == target.wire]
        recorded = [row for row in recorded if row["bytes"] < LONGEST_RECORDED]
        for number in range(2 * CUTS if recorded else CUTS):
            body = rng.choice(bodies) if number < CUTS else recorded_body(rng.choice(recorded))
            stream = Stream(target.wire, TOOLS)
            stream.feed(body[: rng.randrange(len(body))])
            if rng.random() < 0.5:
                stream.close()
            answer = stream.message
            answer.origin = HOME[target.wire]
            kept = broken_answer(answer, target.wire)
            if not kept.parts:
                continue
            if target.wire == "openai-responses":
                for words in _named_items(target, kept):
                    found.fault(f"a broken answer of {len(body)} bytes: {words}")
            yield _Broken(target.wire, kept)


def _named_items(target: Target, kept: Message) -> Iterator[str]:
    """The server keeps the items of a finished answer alone: to name one of another is refused."""
    history = [user("x"), kept, all_refused(kept.tool_calls, "cancelled"), user("y")]
    for item in target.endpoint.encode(messages=history, tools=TOOLS)["input"]:
        if "id" in item or item.get("type") == "reasoning":
            yield f"{item} names what the server has not kept"


class _Drawing:
    """Draws histories of any mix, and counts what was in them."""

    def __init__(self, rng: random.Random, cut: list[_Broken]) -> None:
        self._rng = rng
        self._cut = cut
        self.drawn: Counter[str] = Counter()

    def history(self) -> tuple[list[Message], frozenset[tuple[str, str]]]:
        """A history that may be sent next: it ends with words of the user, or with results."""
        rng = self._rng
        messages: list[Message] = [Message("system", "Be brief.")] if rng.random() < 0.3 else []
        sources: set[tuple[str, str]] = set()
        for _ in range(rng.randint(1, 5)):
            messages += self._said()
            answer, wire = self._answer()
            sources.add((wire, answer.origin))
            messages += self._answered(answer)
        if rng.random() < 0.3:
            wire, answer = rng.choice(_CALLING)
            answer = msgspec.structs.replace(answer, origin=rng.choice(["", "openai"]))
            sources.add((wire, answer.origin))
            results = self._results(answer)
            rng.shuffle(results)
            kept: list[Part] = [*results[: rng.randint(1, len(results))]]
            self.drawn["ended in results"] += 1
            return [*messages, user("Look."), answer, Message("tool", kept)], frozenset(sources)
        return [*messages, user("Go on.")], frozenset(sources)

    def _said(self) -> Iterator[Message]:
        rng = self._rng
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
            if rng.random() < 0.2:
                words: list[Part] = rng.choice([[], [TextPart("See:")], [TextPart("")]])
                self.drawn["media"] += 1
                yield Message("user", [*words, *rng.sample(MEDIA, rng.randint(1, 2))])
            else:
                yield user(rng.choice(["And then?", "And then?", "", "  ", "\n"]))

    def _answer(self) -> tuple[Message, str]:
        rng = self._rng
        chance = rng.random()
        if chance < 0.35 and self._cut:
            wire, answer = rng.choice(self._cut)
            self.drawn["broken answers"] += 1
        elif chance < 0.4:
            wire, answer = "openai-chat", Message("assistant", rng.choice(["", " ", "Yes."]))
        elif chance < 0.5:
            wire, thought = rng.choice(WIRES), ThinkingPart("hm")
            calls = [ToolCallPart(rng.choice(["", "c", "c/1", "x" * 70]), rng.choice("fg"), {}) for _ in range(2)]
            mixes: list[list[Part]] = [[thought], [thought, *calls], [*calls, TextPart("So.")]]
            answer = Message("assistant", rng.choice(mixes))
            self.drawn["written by hand"] += 1
        else:
            wire = rng.choice(WIRES)
            answer = rng.choice(answers(wire))
        return msgspec.structs.replace(answer, origin=rng.choice(["", HOME[wire], "elsewhere"])), wire

    def _results(self, answer: Message) -> list[ToolResultPart]:
        rng = self._rng

        def content() -> Any:
            if rng.random() < 0.8:
                return rng.choice(["18 °C", "18 °C", "", "   "])
            parts = [TextPart("seen"), TextPart(""), rng.choice(MEDIA)]
            return rng.sample(parts, rng.randint(0, 3))

        return [ToolResultPart(call.id, call.name, content(), rng.random() < 0.2) for call in answer.tool_calls]

    def _answered(self, answer: Message) -> list[Message]:
        """The answer, and its results in some manner."""
        rng = self._rng
        results: list[Part] = [*self._results(answer)]
        manner = rng.choice(_MANNERS)
        self.drawn[manner] += bool(results)
        stray = ToolResultPart(rng.choice(["nobody", "", "call_0"]), "f", "?")
        if manner == "refused" and results:
            return [answer, all_refused(answer.tool_calls, "cancelled")]
        if manner == "one by one":
            return [answer, *(Message("tool", [result]) for result in results)]
        if manner == "after words":
            return [answer, user("Wait."), Message("tool", results)] if results else [answer]
        if manner == "before the answer":
            return [Message("tool", results), answer] if results else [answer]
        if manner == "after another answer":
            return [answer, Message("assistant", "Well."), Message("tool", results)] if results else [answer]
        if manner == "not at all":
            return [answer]
        if manner == "compacted":
            return [Message("tool", results)] if results else []
        if manner == "out of order":
            rng.shuffle(results)
        elif manner == "not all":
            results = results[1:]
        elif manner == "twice":
            results += results
        elif manner == "with a stray":
            results.insert(rng.randint(0, len(results)), stray)
        return [answer, Message("tool", results)] if results else [answer]


_MANNERS = (
    *("in order", "refused", "one by one", "after words", "before the answer", "after another answer", "not at all"),
    *("compacted", "out of order", "not all", "twice", "with a stray"),
)
"""How the results of an answer come."""

_CALLING = [(wire, answer) for wire in WIRES for answer in answers(wire) if answer.tool_calls]


def _mistral(body: Json) -> Iterator[str]:
    """The order of roles that its own library takes."""
    follows = {
        "system": {"system", "user", "assistant"},
        "user": {"system", "user", "assistant"},
        "assistant": {"assistant", "user", "tool"},
        "tool": {"assistant", "tool"},
    }
    for before, after in pairwise(message["role"] for message in body["messages"]):
        if after not in follows[before]:
            yield f"{after} after {before}"


_EXTRA = {"mistral": _mistral}
"""Rules that are not among the formats'."""
