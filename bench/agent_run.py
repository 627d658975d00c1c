"""What `Agent.run` adds to each event of a long answer, against the bare stream of the same bytes and a JSON parse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from toolwire import Agent, Stream
from toolwire.agent.events import RunFinished
from toolwire.agent.hooks import Hooks
from toolwire.agent.sessions.store import SessionStore
from toolwire.transport import HttpRequest

from .loopback.answers import frames
from .payloads import payloads
from .report import Verdict, table
from .sans_io import FLOOR as FLOOR
from .sans_io import in_turn, parse_all
from .wires import SUBJECTS

MODELS = {"openai-chat": "openai:m", "anthropic": "anthropic:m"}
DELTAS = 20_000
ROUNDS = 5
BARE = "`Stream.feed`"
RUN = "`Agent.run`"
RUN_HOOK = "`Agent.run`, a hook that hears every event"
RUN_SESSION = "`Agent.run`, in a session"
TARGETS = {RUN: 2.5, RUN_SESSION: 3.0}
"""Times the bare stream."""

WORDS = f"""
A run adds to the stream what makes it one: it can be interrupted at every event, hooks hear it, a session keeps what
matters. An answer of {DELTAS:,} deltas of text, each a read of its own as a model sends it, from memory; all in turn in
one process, {ROUNDS} rounds, the least processor time of each in microseconds per event.
"""


class AgentTiming(msgspec.Struct):
    """One format: the least microseconds per event of each contender."""

    wire: str
    per_event: dict[str, float]

    def ratio(self, contender: str, to: str = BARE) -> float:
        """Times another."""
        return self.per_event[contender] / self.per_event[to]


class _Memory:
    """A transport that has the answer already."""

    def __init__(self, reads: Sequence[bytes]) -> None:
        self._reads = reads

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        for data in self._reads:
            yield data

    async def aclose(self) -> None:
        pass


def bare(wire: str, reads: Sequence[bytes]) -> int:
    """The stream as a run makes it, its events dropped; how many there were."""
    stream = Stream(wire, [], live_arguments=True)
    count = 0
    for data in reads:
        for _ in stream.feed(data):
            count += 1
    count += len(stream.close())
    if not stream.complete or not stream.message.parts:
        raise AssertionError(f"the answer was not read: {stream.error}")
    return count


def run(model: str, reads: Sequence[bytes], hooks: Sequence[Hooks] = (), store: SessionStore | None = None) -> int:
    """A run from its question to its end, agent and all; how many events there were."""
    session = store.create(model=model, cwd="/") if store is not None else None

    async def events() -> int:
        agent = Agent(model, transport=_Memory(reads), api_key="none-is-needed", hooks=hooks, session=session)
        count, ended = 0, False
        async for event in agent.run("Tell me all."):
            count += 1
            ended = type(event) is RunFinished
        if not ended:
            raise AssertionError("the run did not come to its end")
        return count

    try:
        return asyncio.run(events())
    finally:
        if session is not None:
            session.close()


def time_runs(wires: Sequence[str], deltas: int = DELTAS, rounds: int = ROUNDS) -> list[AgentTiming]:
    """Those of these formats that are measured."""
    return [_time(wire, MODELS[wire], deltas, rounds) for wire in wires if wire in MODELS]


def _time(wire: str, model: str, deltas: int, rounds: int) -> AgentTiming:
    import orjson

    make = SUBJECTS[wire].text_answer
    assert make is not None
    body = make(deltas)
    reads, parts = frames(wire, body), payloads(body)
    with TemporaryDirectory() as folder, SessionStore(Path(folder, "sessions.db")) as store:
        work: dict[str, Callable[[], object]] = {
            FLOOR: partial(parse_all, orjson.loads, parts),
            BARE: partial(bare, wire, reads),
            RUN: partial(run, model, reads),
            RUN_HOOK: partial(run, model, reads, [Hooks()]),
            RUN_SESSION: partial(run, model, reads, store=store),
        }
        least = in_turn(work, rounds)
    return AgentTiming(wire, {name: 1e6 * seconds / len(reads) for name, seconds in least.items()})


def agent_table(timings: Sequence[AgentTiming]) -> str:
    """Microseconds per event, as a multiple of the bare stream and of the floor."""
    head = [""]
    for timing in timings:
        head += [f"{timing.wire}: µs per event", "× stream", "× floor"]
    rows = []
    for name in timings[0].per_event:
        row = [name]
        for timing in timings:
            row += [
                f"{timing.per_event[name]:.2f}",
                f"{timing.ratio(name):.2f}",
                f"{timing.ratio(name, FLOOR):.1f}",
            ]
        rows.append(row)
    return table(head, rows)


def agent_verdicts(timings: Sequence[AgentTiming]) -> list[Verdict]:
    """What a run may cost."""
    return [
        Verdict(
            f"{timing.wire}, {name}: {timing.ratio(name):.2f} × the bare stream, target at most {target:g} ×",
            timing.ratio(name) <= target,
        )
        for timing in timings
        for name, target in TARGETS.items()
    ]
