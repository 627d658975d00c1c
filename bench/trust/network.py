"""G6: a network that fails at each frame of an answer, on every wire, under the real agent with a real connection.

A server on loopback plays a short conversation (two calls, then words) and spoils one of its answers: it resets, goes
quiet, hangs up, ends the body too early, sends noise, or refuses with a status. What is promised then: the right answer
or an error of the right type; nothing asked for again of which something had come; no tool run twice; a pause kept that
the provider asked for; and a history that goes on, by each provider's own rules.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec

from toolwire.agent.asking import Retries
from toolwire.agent.events import AgentEvent, RequestRetried, RunFailed, RunFinished, TurnStarted
from toolwire.agent.loop import Agent
from toolwire.messages import Message, ToolCallPart, ToolResultPart
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.transport import AiohttpTransport, Timeouts

from . import Found

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from format_rules import broken
from rawserver import receive, reset, serving, until_gone, whole
from wire_bodies import WIRES, Call, End, Piece, Text, events

CUTS = ("reset", "stall", "close", "end", "noise")
"""What happens after a part of an answer: `close` hangs up, `end` ends the body as HTTP asks, only too early."""
STATUSES = ("429", "500", "503", "529", "no http")
"""What comes instead of an answer; 429 and 503 ask for a pause."""
ANSWERS = ("calls", "words and call", "last words")
"""Which answer is spoiled: one of the first two, of calls, or the one after their results."""

IDLE = 1.0
"""Seconds of silence after which an answer that stalls is given up."""
ASKED = 0.04
"""Seconds of the pauses that are asked for: longer than those that are made unasked."""
AT_A_TIME = 24
LAST = "All done."

BROKEN_OFF = frozenset({"TransportError", "IncompleteStream"})
TYPES = {
    "reset": BROKEN_OFF,
    "close": BROKEN_OFF,
    "end": BROKEN_OFF,
    "stall": frozenset({"TimedOut"}),
    "noise": BROKEN_OFF | {"ProtocolError"},
    "no http": frozenset({"TransportError"}),
}
"""Which error a run may end with, after which fault; after a status it may not end with one."""

MODELS = {wire: f"{wire}:m" for wire in WIRES} | {"openai-chat": "openai:m", "gemini": "gemini:gemini-2.5-flash"}
RULES = {wire: wire for wire in WIRES} | {"openai-chat": "openai", "gemini": "gemini-2.5"}


class Case(NamedTuple):
    """One conversation: which of its answers is spoiled, how, and after which part of it."""

    wire: str
    answer: str
    fault: str
    cut: int | None = None
    """After how many events; None: at a random byte."""
    chunked: bool = True


def network_faults(count: int, seed: int) -> Found:
    """Every fault at every event of every wire's answers (some 1,100), the rest of `count` at random bytes; if there
    are fewer, some of all. The plan's count is 3,000; that takes about a minute.
    """
    rng = random.Random(seed)
    cases = [Case(*given) for given in product(WIRES, ANSWERS, STATUSES)]
    for wire, answer, fault in product(WIRES, ANSWERS, CUTS):
        cases += [
            Case(wire, answer, fault, cut, rng.random() < 0.5) for cut in range(len(_frames(wire, answer, 0)) + 1)
        ]
    at_events = len(cases)
    while len(cases) < max(count, at_events + at_events // 2):
        given = rng.choice(WIRES), rng.choice(ANSWERS), rng.choice(CUTS)
        cases.append(Case(*given, None, rng.random() < 0.5))
    if count < len(cases):
        cases = rng.sample(cases, count) if count < at_events else cases[:count]
    found = Found()
    ends: Counter[str] = Counter()
    with patch.dict(os.environ, AWS_REGION="eu-central-1"):
        asyncio.run(_all(cases, seed, found, ends))
    words = (f"{times:,} {end}" for end, times in sorted(ends.items()))
    found.words = f"{min(count, at_events):,} of them at the bounds of events; " + ", ".join(words)
    return found


def _frames(wire: str, answer: str, number: int) -> list[bytes]:
    """An answer, event by event; ids are new with each number."""
    calls = [Call(f"call{number}{place:05}", "f", f'{{"x":{place}}}') for place in (1, 2)]
    pieces: dict[str, list[Piece]] = {
        "calls": [*calls, End()],
        "words and call": [Text("Let me look."), *calls, End()],
        "last words": [Text(LAST), End()],
    }
    return events(wire, *pieces[answer])


async def _all(cases: Sequence[Case], seed: int, found: Found, ends: Counter[str]) -> None:
    tries = [_Try(case, random.Random(f"{seed}-{number}")) for number, case in enumerate(cases)]
    places = asyncio.Semaphore(AT_A_TIME)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, body = await receive(reader)
        await tries[int(head.split("/")[1])].serve(body, reader, writer)

    async def run(number: int) -> None:
        async with places:
            try:
                await tries[number].run(f"{url}/{number}")
            except Exception as error:
                tries[number].wrongs.append(f"{type(error).__name__}: {error}")
            found.runs += 1
            for words in tries[number].wrongs:
                found.fault(f"{cases[number]}: {words}")
            ends[tries[number].end] += 1

    async with serving(handle) as url, asyncio.TaskGroup() as group:
        for number in range(len(tries)):
            group.create_task(run(number))


class _Try:
    """One conversation, from both sides."""

    def __init__(self, case: Case, rng: random.Random) -> None:
        self.case = case
        self.rng = rng
        self.requests: list[bytes] = []
        self.times: list[float] = []
        self.spoiled: int | None = None
        """Which request's answer was."""
        self.effects: Counter[int] = Counter()
        self.wrongs: list[str] = []
        self.end = ""

    # ---- the server

    async def serve(self, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self.requests)
        self.requests.append(body)
        self.times.append(asyncio.get_running_loop().time())
        has_results = b"did 2" in body
        last = self.case.answer == "last words"
        answer = "last words" if has_results else "calls" if last else self.case.answer
        frames = _frames(self.case.wire, answer, number)
        if self.spoiled is None and has_results == last:
            self.spoiled = number
            await self._spoil(frames, reader, writer)
        else:
            writer.write(whole("200 OK", b"".join(frames), "Content-Type: application/octet-stream"))

    async def _spoil(self, frames: list[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fault = self.case.fault
        if fault == "no http":
            writer.write(b"\x16\x03\x01" + self.rng.randbytes(40) + b"\r\n\r\n")
            return
        if fault in STATUSES:
            asked = [f"Retry-After: {ASKED}"] if fault in ("429", "503") else []
            writer.write(whole(f"{fault} No", b'{"error": {"message": "not now"}}', *asked))
            return
        sent = b"".join(frames[: self.case.cut])
        if self.case.cut is None:
            sent = sent[: self.rng.randrange(len(sent))]
        if fault == "noise":
            sent += self.rng.randbytes(self.rng.randint(1, 30))
        framing = b"Transfer-Encoding: chunked\r\n" if self.case.chunked else b""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n%b\r\n" % framing)
        while sent:
            at = self.rng.randint(1, len(sent))
            piece, sent = sent[:at], sent[at:]
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self.case.chunked else piece)
            await writer.drain()
        if fault == "stall":
            await until_gone(reader)
        elif fault == "reset":
            await asyncio.sleep(0.002)
            reset(writer)
        elif fault in ("end", "noise") and self.case.chunked:
            writer.write(b"0\r\n\r\n")

    # ---- the agent

    async def run(self, url: str) -> None:
        stalls = self.case.fault == "stall"
        timeouts = Timeouts(connect=30, idle=IDLE if stalls else 30, total=60)
        transport = AiohttpTransport(timeouts=timeouts)
        schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
        agent = Agent(
            MODELS[self.case.wire],
            [ToolDefinition("f", "Does.", schema, Risk.READ, self._do)],
            base_url=url,
            api_key="k",
            transport=transport,
            retries=Retries(first_pause=0.005, longest_pause=1),
        )
        async with agent:
            made = await self._collect(agent, "go")
            self._check(made, agent.messages)
            asked = len(self.requests)
            again = await self._collect(agent, "and?")
            if not isinstance(again[-1], RunFinished):
                self.wrongs.append(f"the conversation does not go on: {again[-1]}")
            if max(self.effects.values(), default=0) > 1:
                self.wrongs.append(f"the next run repeats an effect: {dict(self.effects)}")
            for body in self.requests[asked:]:
                self._check_rules(body)

    async def _collect(self, agent: Agent, prompt: str) -> list[AgentEvent]:
        async with asyncio.timeout(60):
            return [event async for event in agent.run(prompt)]

    def _do(self, arguments: dict[str, Any]) -> str:
        self.effects[arguments["x"]] += 1
        return f"did {arguments['x']}"

    # ---- what must hold

    def _check(self, made: list[AgentEvent], messages: list[Message]) -> None:
        wrong, case, last = self.wrongs.append, self.case, made[-1]
        retries = [event for event in made if isinstance(event, RequestRetried)]
        finished = isinstance(last, RunFinished)
        self.end = "right answers" if finished else last.error.type if isinstance(last, RunFailed) else "no end"
        if isinstance(last, RunFinished) and last.text != LAST:
            wrong(f"the answer is {last.text!r}")
        if not finished and self.end not in TYPES.get(case.fault, ()):
            wrong(f"it ended with {last}")
        if isinstance(last, RunFailed) and self.end == "TimedOut" and last.error.facts.get("which") != "idle":
            wrong(f"the time-out is {last.error.facts}")

        expected = {1: 1, 2: 1} if finished or case.answer == "last words" else {}
        if dict(self.effects) != expected:
            wrong(f"effects {dict(self.effects)}")

        if self.spoiled is None:
            wrong("it ended before there was a fault")
            return
        same = self.requests.count(self.requests[self.spoiled])
        came = _came(made, self.spoiled + 1)
        if came and same > 1:
            wrong("what something had come of was asked for again")
        if len(retries) != same - 1:
            wrong(f"{len(retries)} retries are told, {same - 1} were made")
        passes = case.fault not in ("noise", "no http")
        if not came and passes and not (finished and same == 2):
            wrong(f"nothing had come, and it was asked for {same} times")
        if case.fault == "no http" and same > 1:
            wrong("a server of another kind was asked again")
        if case.fault in ("429", "503") and same == 2:
            paused = self.times[self.spoiled + 1] - self.times[self.spoiled]
            if paused < ASKED or [event.seconds for event in retries] != [ASKED]:
                wrong(f"a pause of {ASKED} s was asked for, {paused:.3f} s were made")

        for place, message in enumerate(messages):
            calls = [part.id for part in message.parts if isinstance(part, ToolCallPart)]
            after = messages[place + 1].parts if calls and place + 1 < len(messages) else ()
            if calls != [part.id for part in after if isinstance(part, ToolResultPart)]:
                wrong("a call has not one result")
        for body in self.requests:
            self._check_rules(body)

    def _check_rules(self, body: bytes) -> None:
        rules = broken(RULES[self.case.wire], msgspec.json.decode(body))
        self.wrongs += [f"a request is refused: {words}" for words in rules]


def _came(made: list[AgentEvent], turn: int) -> bool:
    """Whether something of this turn's first answer was told."""
    place = next(place for place, event in enumerate(made) if isinstance(event, TurnStarted) and event.turn == turn)
    for event in made[place + 1 :]:
        if isinstance(event, (TurnStarted, RequestRetried)):
            return False
        if isinstance(event, SegmentEvent) and event.type is EventType.START:
            return True
    return False
