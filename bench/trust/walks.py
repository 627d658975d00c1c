"""Recorded conversations walked to their end: a server gives the recorded answers one after the other, and the agent,
with the recorded tools, calls what was called, sends what was sent and says what was said.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.bounds import Bounds
from toolwire.agent.events import AgentEvent, RunFailed, RunFinished, ToolStarted, TurnStarted
from toolwire.messages import Message, ToolResultPart, user
from toolwire.providers.catalog import PROVIDERS
from toolwire.tools.definition import Risk, ToolDefinition, tool_from_json

from . import Found
from .model_server import Answer, ModelServer

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from corpus import body, expected_calls, index
from followup_rules import RULES
from followups import KNOWN_DIFFERENT, Conversation, Pair, conversations
from recorded_requests import CLIENTS

Json = dict[str, Any]
PIECE = 1_000
"""Bytes of an answer that are sent at a time."""


class Chain(NamedTuple):
    """A recorded conversation from its first answer with calls to where the recording ends."""

    wire: str
    turns: list[Conversation]
    last: Json
    """The index row of the answer after the last results."""

    @property
    def case(self) -> str:
        return str(self.turns[0].row["case"])

    @property
    def is_core(self) -> bool:
        """Whether an answer of it is in the core set."""
        return any(row["core"] for row in (*(turn.row for turn in self.turns), self.last))


def chains(*, core: bool) -> Iterator[Chain]:
    """Every recorded chain, or those with an answer in the core set."""
    every = {row["case"]: row for row in index()}
    for wire in CLIENTS:
        turns = {turn.row["case"]: turn for turn in conversations(wire)}
        later = {turn.followup_case for turn in turns.values()}
        for case, turn in turns.items():
            if case in later:
                continue
            walked = [turn]
            while walked[-1].followup_case in turns:
                walked.append(turns[walked[-1].followup_case])
            chain = Chain(wire, walked, every[walked[-1].followup_case])
            if chain.is_core or not core:
                yield chain


def walks(count: int, seed: int) -> Found:
    """Up to `count` recorded chains, all of them if there are no more; those of the core set in any case."""
    found = Found()
    every = list(chains(core=False))
    rest = [chain for chain in every if not chain.is_core]
    random.Random(seed).shuffle(rest)
    chosen = [chain for chain in every if chain.is_core]
    chosen += rest[: max(0, count - len(chosen))]
    walked: Counter[str] = Counter()
    steps = open_ends = core = 0
    passed_over: list[str] = []
    for chain, faults in walk_all(chosen):
        if reason := why_not(chain):
            passed_over.append(f"{chain.case.rpartition('/')[2]} ({reason})")
            continue
        walked[chain.wire] += 1
        core += chain.is_core
        steps += len(chain.turns)
        open_ends += bool(chain.last["tool_calls"])
        found.runs += 1
        for words in faults:
            found.fault(f"{chain.case}: {words}")
    wires = ", ".join(f"{wire} {walked[wire]}" for wire in CLIENTS)
    found.words = (
        f"{wires}; {core} of {sum(chain.is_core for chain in chosen)} chains of the core set; "
        f"{steps} follow-up requests; {open_ends} recordings end in calls; "
        f"not walked: {', '.join(passed_over) or 'none'}"
    )
    return found


def walk_all(chosen: list[Chain]) -> Iterator[tuple[Chain, list[str]]]:
    """Each chain, and what was wrong on the way. Those that cannot be walked come with nothing."""
    with ModelServer() as server:
        expected = expected_calls()
        for number, chain in enumerate(chosen):
            if why_not(chain):
                yield chain, []
            else:
                yield chain, asyncio.run(_Walk(chain, server, str(number), expected).faults())


def why_not(chain: Chain) -> str:
    """Why an agent cannot walk this; empty where it can."""
    for turn in chain.turns:
        answers, calls = _results(turn), turn.answer.tool_calls
        if [message.role for message in turn.added] not in (["tool"], ["tool", "user"]):
            return "the client sent more than results and words of the user"
        if [part.id for part in answers] != [part.id for part in calls]:
            return "not every call was answered, or in another order"
        if any(part.is_error for part in answers):
            return "a result that the client itself marked as an error"
        if not all(isinstance(part.content, str) for part in answers):
            return "a result that is no text"
        declared = {entry["name"] for entry in CLIENTS[turn.wire].read(turn.request).tools}
        if not {call.name for call in calls} <= declared:
            return "calls of tools that the request does not declare"
    return ""


def _results(turn: Conversation) -> list[ToolResultPart]:
    return [part for message in turn.added for part in message.parts if isinstance(part, ToolResultPart)]


class _Walk:
    """One chain, walked."""

    def __init__(self, chain: Chain, server: ModelServer, name: str, expected: dict[str, list[Json]]) -> None:
        self._chain = chain
        self._expected = expected
        self._requests: list[Json] = []
        self._waiting = [part for turn in chain.turns for part in _results(turn)]
        self._given: list[tuple[str, Json]] = []
        self._answers = [*(body(turn.row) for turn in chain.turns), body(chain.last)]
        server.plans[name] = self._answer
        self._options: Json = {
            "base_url": server.url(name, chain.wire),
            "api_key": "x",
            "parallel": 1,
            "retries": Retries(attempts=1),
            # Where a recording ends in calls, so does the walk: their results are sent to nobody.
            "bounds": Bounds(turns=len(self._answers), failed_turns=100, repeats=100),
        }

    def _answer(self, request: bytes) -> Answer:
        self._requests.append(msgspec.json.decode(request))
        data = self._answers[len(self._requests) - 1]
        return Answer([data[at : at + PIECE] for at in range(0, len(data), PIECE)])

    def _tools(self) -> list[ToolDefinition]:
        """The recorded tools: each notes its arguments and gives the recorded results, in their order."""

        def tool(entry: Json) -> ToolDefinition:
            declared = tool_from_json(entry)

            def play(arguments: Json) -> Any:
                self._given.append((declared.name, arguments))
                return self._waiting.pop(0).content if self._waiting else "nothing was recorded"

            return ToolDefinition(declared.name, declared.description, declared.parameters, Risk.READ, play)

        entries: dict[str, Json] = {}
        for turn in self._chain.turns:
            for entry in CLIENTS[turn.wire].read(turn.request).tools:
                entries.setdefault(entry["name"], entry)
        return [tool(entry) for entry in entries.values()]

    async def faults(self) -> list[str]:
        """Everything that was not as recorded."""
        chain = self._chain
        events: list[AgentEvent] = []
        words: list[Message | None] = [turn.added[1] if len(turn.added) > 1 else None for turn in chain.turns]
        prompt: Message | None = user("What led here.")
        model = f"{provider_of(chain)}:{chain.turns[0].row['model'] or 'm'}"
        async with Agent(model, self._tools(), **self._options) as agent:
            while prompt is not None:
                said, prompt = prompt, None
                async with aclosing(agent.run(said)) as run:
                    async for event in run:
                        events.append(event)
                        at = len(self._requests) - 1
                        if isinstance(event, TurnStarted) and 0 <= at < len(words) and words[at] is not None:
                            # Here the person spoke before the model did: they interrupt, and say it.
                            prompt, words[at] = words[at], None
                            agent.interrupt()
        return [*self._wrong_end(events[-1]), *self._wrong_calls(events), *self._wrong_requests()]

    def _wrong_end(self, end: AgentEvent) -> Iterator[str]:
        last = self._chain.last
        if last["tool_calls"]:
            if not isinstance(end, RunFailed) or end.error.facts.get("what") != "turns":
                yield f"the recording ends in calls, and the run with {end}"
        elif not isinstance(end, RunFinished):
            yield f"ended with {end}"
        elif len(end.text) != last["text_chars"]:
            yield f"the last answer has {len(end.text)} characters, not {last['text_chars']}"
        if len(self._requests) != len(self._answers):
            yield f"{len(self._requests)} requests for {len(self._answers)} answers"

    def _wrong_calls(self, events: list[AgentEvent]) -> Iterator[str]:
        """What really ran, against what the recording client echoed; where it did not, against our reading."""
        made = []
        for turn in self._chain.turns:
            echoed = self._expected.get(turn.row["case"])
            if echoed is not None:
                made += [(call["name"], call["args"]) for call in echoed]
            else:
                made += [(call.name, call.arguments) for call in turn.answer.tool_calls]
        if self._given[: len(made)] != made:
            yield f"ran {self._given}, and recorded are {made}"
        if len(self._given) != sum(isinstance(event, ToolStarted) for event in events):
            yield "what ran was not told, or the other way round"

    def _wrong_requests(self) -> Iterator[str]:
        member = CLIENTS[self._chain.wire].items
        sent = [request[member] for request in self._requests]
        for turn, before, after in zip(self._chain.turns, sent, sent[1:], strict=False):
            case = turn.row["case"]
            pair = Pair(turn.wire, case, {member: turn.tail}, {member: after[len(before) :]})
            if after[: len(before)] != before:
                yield f"{case}: the next request does not begin with the one before"
            elif not pair.agrees(RULES) and case not in KNOWN_DIFFERENT["followups"]:
                yield f"{case}: sent {pair.ours}, and recorded is {pair.theirs}"


def provider_of(chain: Chain) -> str:
    """The recorded provider, or one of our catalog that wants reasoning back as its client sent it.

    What stands in the place of scrubbed ids is not the service's, which may not take it: any that does is asked then.
    """
    if chain.wire != "openai-chat":
        return chain.wire
    tail = [item for turn in chain.turns for item in turn.tail]
    for field, provider in (("reasoning_content", "deepseek"), ("reasoning_details", "openrouter")):
        if any(field in item for item in tail):
            return provider
    row = chain.turns[0].row
    own = row["api"].removesuffix("-chat").replace("llamacpp", "llama.cpp")
    chosen = own in PROVIDERS and own not in ("deepseek", "openrouter") and row["origin"] != "recorded-scrubbed"
    return own if chosen else "openai"
