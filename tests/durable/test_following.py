from __future__ import annotations

import asyncio
import random
import tracemalloc
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from durable.told_runs import EVERY_KIND, batches, change, delta, is_over, new_run
from toolwire.agent.events import (
    AgentEvent,
    ApprovalAsked,
    RequestRetried,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from toolwire.chunks import StopReason, TokenUsage
from toolwire.durable import following, log
from toolwire.durable.database import Database
from toolwire.durable.event_json import is_voidable, kind_of
from toolwire.durable.following import follow
from toolwire.durable.log import EventLog
from toolwire.durable.records import AttemptWithdrawn, RunEvent
from toolwire.errors import DurableFailed, ErrorInfo
from toolwire.execution.executor import ToolResult
from toolwire.stream.invocation import ToolInvocation
from toolwire.stream.segments import EventType, SegmentEvent


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    database.prepare()
    yield database
    database.close()


@pytest.fixture
def on_sqlite(sqlite_url: str) -> Iterator[Database]:
    database = Database(sqlite_url)
    database.prepare()
    yield database
    database.close()


def applied(seen: Sequence[RunEvent]) -> list[RunEvent]:
    """What a reader has before him who takes back what is withdrawn."""
    stands: list[RunEvent] = []
    for each in seen:
        void = each.event
        if not isinstance(void, AttemptWithdrawn):
            stands.append(each)
            continue
        stands = [
            other
            for other in stands
            if (other.turn, other.id, other.attempt) != (void.turn, void.id, void.attempt)
            or other.position < void.first
            or not is_voidable(kind_of(other.event), other.id)
        ]
    return stands


class Reader:
    """Follows a run in a task of its own. `catch_up` returns when it has seen all there is."""

    of: dict[asyncio.Task[Any], Reader] = {}  # noqa: RUF012 - one test at a time

    def __init__(self, database: Database, run: str, after: int = 0) -> None:
        self._database, self._run = database, run
        self.after = after
        self.seen: list[RunEvent] = []
        self._idle, self._go = asyncio.Event(), asyncio.Event()
        self._begin()

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._read())
        Reader.of[self._task] = self

    async def _read(self) -> None:
        async with aclosing(follow(self._database, self._run, after=self.after, until_over=False)) as told:
            async for each in told:
                assert each.position > self.after, "told twice, or out of order"
                self.after = each.position
                self.seen.append(each)

    async def catch_up(self) -> None:
        await self._idle.wait()
        self._idle.clear()
        self._go.set()
        waiting = asyncio.create_task(self._idle.wait())
        await asyncio.wait([waiting, self._task], return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            waiting.cancel()
            self._task.result()

    async def end(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        del Reader.of[self._task]

    async def begin_anew(self) -> None:
        """As a program that is started again and knows what it saw last."""
        await self.end()
        self._idle.clear()
        self._go.clear()
        self._begin()

    @staticmethod
    async def sleep(_: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self = Reader.of[task]
        self._idle.set()
        await self._go.wait()
        self._go.clear()


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Followers wait for `catch_up` in place of a clock."""

    class Asyncio:
        sleep = staticmethod(Reader.sleep)

    monkeypatch.setattr(following, "asyncio", Asyncio)


async def all_of(told: AsyncGenerator[RunEvent, None]) -> list[RunEvent]:
    async with aclosing(told):
        return [each async for each in told]


# By hand.


async def test_a_run_that_is_over_is_told_from_any_position(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_PAGE", 2)
    run = new_run(database)
    log = await EventLog.open(database, run, 1)
    for number in range(1, 21):
        log.tell(1, "", delta(str(number)))
        if number % 3 == 0:
            await log.flush()
    await log.close()
    is_over(database, run)
    for after in (0, 1, 2, 3, 4, 18, 19, 20, 21, 1000):
        told = await all_of(follow(database, run, after=after))
        assert [each.position for each in told] == list(range(after + 1, 21))
        assert [each.event for each in told] == [delta(str(number)) for number in range(after + 1, 21)]
        assert all((each.turn, each.id, each.attempt) == (1, "", 1) and each.at > 0 for each in told)


async def test_what_comes_is_told_as_it_comes_until_the_run_is_over(database: Database) -> None:
    run = new_run(database)
    log = await EventLog.open(database, run, 1)
    heard: asyncio.Queue[RunEvent] = asyncio.Queue()

    async def listen() -> None:
        async for each in follow(database, run, poll=0.02):
            heard.put_nowait(each)

    listening = asyncio.create_task(listen())
    async with asyncio.timeout(20):
        for number in range(3):
            log.tell(1, "", delta(str(number)))
            assert (await heard.get()).event == delta(str(number))
        log.tell(1, "", delta("last"))
        await log.close()
        is_over(database, run)
        await listening
    assert heard.get_nowait().event == delta("last")
    assert heard.empty()


async def test_an_unknown_run_and_one_that_is_forgotten(on_sqlite: Database) -> None:
    with pytest.raises(DurableFailed, match="there is no run nobody"):
        await all_of(follow(on_sqlite, "nobody"))


@pytest.mark.parametrize("page", [1, 2, 16])
@pytest.mark.usefixtures("by_hand")
async def test_who_has_seen_what_is_withdrawn_is_told_so_and_nobody_else(
    database: Database, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(following, "_PAGE", page)
    run = new_run(database)
    log = await EventLog.open(database, run, 1)
    early = Reader(database, run)
    log.tell(1, "", TurnStarted(1))
    for number in range(4):
        log.tell(1, "", delta(str(number)))
        await log.flush()
    await early.catch_up()
    middle = Reader(database, run, after=3)
    beside = Reader(database, run, after=1)
    await log.close()
    assert len(batches(database, run)) == 4

    change(database, run, attempt=2)
    log = await EventLog.open(database, run, 2)
    log.again(1, "")
    log.tell(1, "", delta("new"))
    await log.flush()
    late = Reader(database, run)
    for reader in (early, middle, beside, late):
        await reader.catch_up()
    # Who asks for what is behind the third saw that one, and whatever he gets of the rest, he is told that it is void.
    told = AttemptWithdrawn(1, "", 1, 2)
    assert [each.event for each in early.seen][5:] == [told, delta("new")]
    assert [each.event for each in middle.seen][-2:] == [told, delta("new")]
    assert applied(beside.seen) == applied(late.seen)[1:]
    assert [each.event for each in late.seen] == [TurnStarted(1), delta("new")]
    assert applied(early.seen) == late.seen
    for reader in (early, middle, beside, late):
        await reader.end()
    log.drop()


@pytest.mark.parametrize("page", [1, 2, 16])
@pytest.mark.usefixtures("by_hand")
async def test_what_came_and_went_while_a_reader_did_not_look_he_never_sees(
    on_sqlite: Database, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(following, "_PAGE", page)
    run = new_run(on_sqlite, attempt=0)
    for attempt in (1, 2, 3):
        change(on_sqlite, run, attempt=attempt)
        told = await EventLog.open(on_sqlite, run, attempt)
        told.again(1, "")
        for number in range(4):
            told.tell(1, "", delta(f"{attempt}.{number}"))
            await told.flush()
        await told.close()
        if attempt == 1:
            reader = Reader(on_sqlite, run)
            await reader.catch_up()
    await reader.catch_up()
    first, last = ([delta(f"{attempt}.{number}") for number in range(4)] for attempt in (1, 3))
    assert [each.event for each in reader.seen] == [*first, AttemptWithdrawn(1, "", 1, 1), *last]
    await reader.end()


async def test_of_a_long_run_little_is_held_at_a_time(on_sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_PAGE", 2)
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    for _ in range(8_000):
        log.tell(1, "", delta("x" * 300))
    await log.close()
    size = sum(len(row.body) for row in batches(on_sqlite, run))
    is_over(on_sqlite, run)
    tracemalloc.start()
    count = 0
    async with aclosing(follow(on_sqlite, run)) as told:
        async for _ in told:
            count += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 8_000
    assert peak < size / 3


async def test_the_pauses_are_short_while_events_come_and_long_when_none_do(
    on_sqlite: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 30:
            log.tell(1, "", delta("at last"))
            await log.flush()
        if len(pauses) == 40:
            await log.close()
            is_over(on_sqlite, run)

    class Asyncio:
        pass

    Asyncio.sleep = staticmethod(sleep)  # type: ignore[attr-defined]
    monkeypatch.setattr(following, "asyncio", Asyncio)
    assert len(await all_of(follow(on_sqlite, run))) == 1
    assert pauses[0] == pauses[30] == 0.025
    assert pauses[:30] == sorted(pauses[:30])
    assert pauses[29] == 0.5


# Attempts that are cut anywhere, and readers that come and go.


class Op(NamedTuple):
    """One thing that a worker does for a run: it begins a unit, tells something, or records that the unit is done."""

    what: str
    turn: int
    id: str
    make: Callable[[int], AgentEvent] | None = None


REQUEST = next(event.request for event in EVERY_KIND if isinstance(event, ApprovalAsked))


def script(turns: int, calls: int, deltas: int) -> list[Op]:
    """What an attempt goes through. Events that are told live carry the attempt, so that two cannot be mixed up."""
    ops = [Op("tell", 0, "", lambda _: RunStarted("openai", "gpt", "xml"))]
    for turn in range(1, turns + 1):
        ops += of_answer(turn, deltas)
        for number in range(calls):
            ops += of_call(turn, f"t{turn}-{number}", deltas)
    ops.append(Op("tell", turns, "", lambda _: RunFinished("done", StopReason.STOP, turns, TokenUsage())))
    return ops


def of_answer(turn: int, deltas: int) -> list[Op]:
    return [
        Op("tell", turn, "", lambda _: TurnStarted(turn)),
        Op("begin", turn, ""),
        Op("live", turn, "", lambda attempt: RequestRetried(turn, attempt, 0.5, ErrorInfo("RateLimited", "later"))),
        Op("live", turn, "", lambda attempt: SegmentEvent(EventType.START, f"s{attempt}")),
        *[Op("live", turn, "", lambda attempt: delta(f"from {attempt}"))] * deltas,
        Op("live", turn, "", lambda attempt: SegmentEvent(EventType.DONE, f"s{attempt}")),
        Op("record", turn, ""),
    ]


def of_call(turn: int, id: str, deltas: int) -> list[Op]:
    return [
        Op("begin", turn, id),
        Op("asked", turn, id, lambda _: ApprovalAsked(turn, id, REQUEST)),
        Op("live", turn, id, lambda attempt: ToolStarted(turn, id, ToolInvocation(id, f"tool {attempt}", {}))),
        *[Op("live", turn, id, lambda attempt: ToolProgress(turn, id, f"from {attempt}"))] * deltas,
        Op("record", turn, id),
        Op("tell", turn, id, lambda _: ToolFinished(turn, id, ToolResult(id, "write", "done"))),
    ]


async def simulate(database: Database, choose: random.Random) -> None:
    ops = script(choose.randint(1, 3), choose.randint(0, 2), choose.randint(0, 4))
    run = new_run(database, attempt=0)
    recorded: set[tuple[int, str]] = set()
    readers = [Reader(database, run)]
    attempt, over = 0, False
    while not over:
        attempt += 1
        change(database, run, attempt=attempt)
        log = await EventLog.open(database, run, attempt)
        cut = choose.randint(0, len(ops) * 2) if attempt < 6 else len(ops)
        for number, op in enumerate(ops):
            if number == cut:
                break
            unit = op.turn, op.id
            if op.what == "record":
                if unit not in recorded:
                    await log.flush()
                    # The worker may be lost right here, with everything told and nothing recorded.
                    if number + 1 == cut and choose.random() < 0.5:
                        break
                    recorded.add(unit)
            elif op.what != "tell" and unit in recorded:
                continue
            elif op.what == "begin":
                log.again(*unit)
            else:
                assert op.make is not None
                log.tell(*unit, op.make(attempt))
            if choose.random() < 0.15:
                await log.flush()
            if choose.random() < 0.1:
                reader = choose.choice(readers)
                await reader.catch_up()
                if choose.random() < 0.5:
                    await reader.begin_anew()
            if choose.random() < 0.05 and len(readers) < 4:
                readers.append(Reader(database, run))
        else:
            over = True
        if over or choose.random() < 0.5:
            await log.flush()
        log.drop()
    is_over(database, run)
    at_last = await all_of(follow(database, run))
    for reader in readers:
        await reader.catch_up()
        await reader.end()
        assert applied(reader.seen) == at_last

    made = [op.make for op in ops if op.make is not None]
    assert [each.event for each in at_last] == [make(each.attempt) for make, each in zip(made, at_last, strict=True)]
    for unit in recorded:
        live = [each for each in at_last if (each.turn, each.id) == unit and is_voidable(kind_of(each.event), unit[1])]
        assert len({each.attempt for each in live}) == 1


def simulated(url: str, choices: Sequence[random.Random]) -> None:
    database = Database(url)
    database.prepare()

    async def each() -> None:
        for choose in choices:
            await simulate(database, choose)

    try:
        asyncio.run(each())
    finally:
        database.close()


@pytest.mark.thorough
@settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(choose=st.randoms(use_true_random=False), page=st.sampled_from([1, 2, 16]))
@pytest.mark.usefixtures("by_hand")
def test_whatever_is_cut_and_whoever_reads_the_run_is_told_as_if_nothing_had_been(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, choose: random.Random, page: int
) -> None:
    monkeypatch.setattr(following, "_PAGE", page)
    monkeypatch.setattr(log, "_PAGE", page)
    simulated(sqlite_url, [choose])


@pytest.mark.usefixtures("by_hand")
def test_in_postgresql_too(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_PAGE", 2)
    simulated(postgres_url, [random.Random(seed) for seed in range(12)])
