from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
import sqlalchemy as sa

from durable.told_runs import EVERY_KIND, batches, change, delta, new_run, position, written
from toolwire.agent.events import (
    AgentEvent,
    ApprovalAsked,
    HookFailed,
    NestedEvent,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from toolwire.chunks import StopReason, TokenUsage
from toolwire.durable.database import Database
from toolwire.durable.event_json import decode_events, encode_event, is_voidable, kind_of
from toolwire.durable.ledger import RunLost
from toolwire.durable.log import BATCH_BYTES, BATCH_EVENTS, EventLog
from toolwire.durable.records import AttemptWithdrawn
from toolwire.errors import DurableFailed, ErrorInfo
from toolwire.execution.executor import ToolResult
from toolwire.stream.segments import EventType, SegmentEvent
from waiting import until

Change = Callable[[sa.Connection], Any]


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


async def next_attempt(database: Database, run: str, attempt: int, **options: Any) -> EventLog:
    change(database, run, attempt=attempt)
    return await EventLog.open(database, run, attempt, **options)


def kinds(database: Database, run: str) -> list[str]:
    return [kind_of(each.event) for each in written(database, run)]


# As JSON.


def test_every_kind_of_event_is_among_the_samples() -> None:
    """A new kind is to be read again too."""
    assert {type(event) for event in EVERY_KIND} == set(get_args(AgentEvent))
    assert {event.type for event in EVERY_KIND if isinstance(event, SegmentEvent)} == set(EventType)


@pytest.mark.parametrize("event", [*EVERY_KIND, AttemptWithdrawn(1, "t1-1", 2, 7)], ids=kind_of)
def test_what_was_written_is_read_the_same(event: AgentEvent) -> None:
    (entry,) = decode_events(f"[{encode_event(7, 1, 't1-1', event)}]")
    assert entry == (7, 1, "t1-1", event)


@pytest.mark.parametrize(
    ("event", "read"),
    [
        (delta("a\ud800b"), delta("a\\ud800b")),
        (ToolProgress(1, "i\udfff", "\udc80"), ToolProgress(1, "i\\udfff", "\\udc80")),
        (NestedEvent(1, "i", delta("\ud83d")), NestedEvent(1, "i", delta("\\ud83d"))),
        (
            SegmentEvent(EventType.END, "s", metadata={"arguments": {"\ud800": ["\ud800"]}}),
            SegmentEvent(EventType.END, "s", metadata={"arguments": {"\\ud800": ["\\ud800"]}}),
        ),
        (
            HookFailed("H", ErrorInfo("X", "x", facts={"a": 3j})),
            HookFailed("H", ErrorInfo("X", "x", facts={"a": "3j"})),
        ),
        (delta("\x00\x1b\u2028"), delta("\x00\x1b\u2028")),
    ],
)
def test_what_is_no_json_is_spelled_out(event: AgentEvent, read: AgentEvent) -> None:
    (entry,) = decode_events(f"[{encode_event(1, 1, 'i', event)}]")
    assert entry.event == read


@pytest.mark.parametrize("body", ["", "{}", "[[1,1]]", '[[1,1,"",{"type":"of tomorrow"}]]', '[[1,1,"",{"type":3}]]'])
def test_what_cannot_be_read_says_so(body: str) -> None:
    with pytest.raises(DurableFailed, match="cannot be read"):
        list(decode_events(body))


def test_what_can_be_withdrawn() -> None:
    every = {kind_of(event) for event in EVERY_KIND}
    of_answers = {"start", "content", "end", "done", "error", "request_retried", "history_moved"}
    of_calls = {"tool_started", "tool_progress", "nested"}
    assert {kind for kind in every if is_voidable(kind, "")} == of_answers
    assert {kind for kind in every if is_voidable(kind, "id")} == of_calls


# One attempt.


async def test_all_that_is_told_is_there_after_a_flush(database: Database) -> None:
    run = new_run(database)
    log = await EventLog.open(database, run, 1)
    for event in EVERY_KIND:
        log.tell(1, "t1-1", event)
    await log.flush()
    assert [each.event for each in written(database, run)] == EVERY_KIND
    assert position(database, run) == log.position == len(EVERY_KIND)
    log.tell(2, "", delta("\ud800\x00"))
    await log.close()
    assert written(database, run)[-1].event == delta("\\ud800\x00")
    (row,) = database.do(lambda connection: connection.execute(sa.text("SELECT * FROM toolwire_runs")).all())
    assert abs(row.updated - time.time()) < 60
    assert {each.attempt for each in batches(database, run)} == {1}


async def test_events_come_to_the_database_by_themselves_and_many_at_a_time(on_sqlite: Database) -> None:
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    for number in range(40):
        log.tell(1, "", delta(str(number)))
        await asyncio.sleep(0.005)
    assert await asyncio.to_thread(until, lambda: position(on_sqlite, run) == 40)
    assert len(batches(on_sqlite, run)) <= 6
    log.drop()


@pytest.mark.parametrize(
    ("count", "size", "least"), [(1000, 1, 1000 // BATCH_EVENTS), (50, 30_000, 24), (3, 3 * BATCH_BYTES, 2)]
)
async def test_a_flood_is_cut_into_batches_of_a_bounded_size(
    on_sqlite: Database, count: int, size: int, least: int
) -> None:
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    for number in range(count):
        log.tell(1, "", delta(f"{number} {'x' * size}"))
    await log.close()
    assert len(written(on_sqlite, run)) == count
    rows = batches(on_sqlite, run)
    assert least < len(rows) <= least + 2
    assert all(row.last - row.first < BATCH_EVENTS for row in rows)
    assert all(len(row.body) < BATCH_BYTES + 1000 for row in rows if row.last > row.first)


async def test_what_is_told_during_a_write_waits_for_it(on_sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    use, writing, go = on_sqlite.use, asyncio.Event(), asyncio.Event()
    at_once = most = 0

    async def slow(work: Change) -> Any:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        writing.set()
        await go.wait()
        try:
            return await use(work)
        finally:
            at_once -= 1

    monkeypatch.setattr(on_sqlite, "use", slow)
    log.tell(1, "", delta("1"))
    first = asyncio.create_task(log.flush())
    await writing.wait()
    log.tell(1, "", delta("2"))
    second, third = asyncio.create_task(log.flush()), asyncio.create_task(log.flush())
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    log.tell(1, "", delta("3"))
    go.set()
    await third
    assert [each.event for each in written(on_sqlite, run)][:2] == [delta("1"), delta("2")]
    await log.close()
    assert len(written(on_sqlite, run)) == 3
    assert most == 1


async def test_a_batch_whose_commit_got_lost_on_the_way_back_is_there_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(database)
    log = await EventLog.open(database, run, 1)
    do, lost = database.do, []

    def twice(work: Change, **options: Any) -> Any:
        lost.append(do(work, **options))
        return do(work, **options)

    monkeypatch.setattr(database, "do", twice)
    for number in range(600):
        log.tell(1, "", delta(str(number)))
    await log.flush()
    log.tell(1, "", delta("600"))
    await log.close()
    assert lost
    monkeypatch.undo()
    assert [each.event for each in written(database, run)] == [delta(str(number)) for number in range(601)]


# Who has lost the run.


async def test_a_run_that_someone_else_has_is_not_written_to(database: Database) -> None:
    run = new_run(database)
    called: list[int] = []
    log = await EventLog.open(database, run, 1, on_lost=lambda: called.append(1))
    log.tell(1, "", delta("mine"))
    await log.flush()
    change(database, run, attempt=2)
    log.tell(1, "", delta("late"))
    with pytest.raises(RunLost):
        await log.flush()
    log.tell(1, "", delta("later"))
    for _ in range(2):
        with pytest.raises(RunLost):
            await log.flush()
    with pytest.raises(RunLost):
        await log.close()
    assert called == [1]
    assert [each.event for each in written(database, run)] == [delta("mine")]
    assert position(database, run) == 1


async def test_it_is_told_without_a_flush_too(on_sqlite: Database) -> None:
    run = new_run(on_sqlite)
    called = asyncio.Event()
    log = await EventLog.open(on_sqlite, run, 1, on_lost=called.set)
    change(on_sqlite, run, attempt=2)
    log.tell(1, "", delta("late"))
    async with asyncio.timeout(10):
        await called.wait()
    with pytest.raises(RunLost):
        await log.flush()
    assert written(on_sqlite, run) == []


@pytest.mark.parametrize("attempt", [0, 2, 3])
async def test_the_log_of_another_attempt_is_not_opened(on_sqlite: Database, attempt: int) -> None:
    with pytest.raises(RunLost):
        await EventLog.open(on_sqlite, new_run(on_sqlite), attempt)
    with pytest.raises(RunLost):
        await EventLog.open(on_sqlite, "unknown", attempt)


async def test_whoever_waits_when_it_is_dropped_waits_no_more(on_sqlite: Database) -> None:
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    log.tell(1, "", delta("1"))
    waiting = asyncio.create_task(log.flush())
    await asyncio.sleep(0)
    log.drop()
    with pytest.raises(RunLost):
        await waiting
    log.drop()


async def test_a_database_that_fails_for_good_is_no_lost_run(on_sqlite: Database) -> None:
    run = new_run(on_sqlite)
    called: list[int] = []
    log = await EventLog.open(on_sqlite, run, 1, on_lost=lambda: called.append(1))
    on_sqlite.do(lambda connection: connection.execute(sa.text("DROP TABLE toolwire_events")))
    log.tell(1, "", delta("1"))
    with pytest.raises(DurableFailed):
        await log.flush()
    assert called == []


# One attempt after the other.

REQUEST = next(event.request for event in EVERY_KIND if isinstance(event, ApprovalAsked))
STARTED = next(event for event in EVERY_KIND if isinstance(event, ToolStarted))
RESULT = ToolResult("c", "write", "done")
DONE = RunFinished("done", StopReason.STOP, 1, TokenUsage())
FAILED = RunFailed(ErrorInfo("X", "x"), 1)


async def test_what_was_told_is_not_told_again(database: Database) -> None:
    run = new_run(database)
    log = await EventLog.open(database, run, 1)
    begun: list[tuple[int, str, AgentEvent]] = [
        (0, "", RunStarted("openai", "gpt", "xml")),
        (1, "", TurnStarted(1)),
        (1, "c", ApprovalAsked(1, "c", REQUEST)),
        (1, "c", ApprovalAsked(1, "c", REQUEST)),
    ]
    for turn, id, event in begun:
        log.tell(turn, id, event)
    await log.close()
    log = await next_attempt(database, run, 2)
    more: list[tuple[int, str, AgentEvent]] = [
        (1, "c", ApprovalAsked(1, "c", REQUEST)),
        (1, "d", ApprovalAsked(1, "d", REQUEST)),
        (1, "c", ToolFinished(1, "c", RESULT)),
        (2, "", TurnStarted(2)),
        (2, "", DONE),
    ]
    for turn, id, event in (*begun, *more):
        log.tell(turn, id, event)
    await log.close()
    assert [(each.turn, each.id, each.event) for each in written(database, run)] == [*begun, *more]
    log = await next_attempt(database, run, 3)
    for turn, id, event in (*begun, *more):
        log.tell(turn, id, event)
    log.again(1, "c")
    assert log.position == len(begun) + len(more)
    await log.close()


async def test_what_is_done_again_withdraws_what_was_told_of_it_and_nothing_else(database: Database) -> None:
    run = new_run(database)
    log = await EventLog.open(database, run, 1)
    log.again(1, "")
    log.tell(1, "", TurnStarted(1))
    log.tell(1, "", delta("one"))
    log.tell(1, "c", ApprovalAsked(1, "c", REQUEST))
    log.tell(1, "c", STARTED)
    log.tell(1, "d", STARTED)
    log.tell(1, "c", ToolProgress(1, "c", "half"))
    await log.close()

    log = await next_attempt(database, run, 2)
    log.again(1, "c")
    log.again(1, "c")
    log.tell(1, "c", ApprovalAsked(1, "c", REQUEST))
    log.tell(1, "c", STARTED)
    log.again(1, "e")
    await log.close()
    told = [each.event for each in written(database, run)]
    assert told[6:] == [AttemptWithdrawn(1, "c", 1, 4), STARTED]
    assert [row.withdraws for row in batches(database, run)] == [False, True]

    log = await next_attempt(database, run, 3)
    log.tell(1, "d", STARTED)
    log.again(1, "c")
    log.again(1, "")
    log.tell(1, "", delta("two"))
    await log.close()
    told = [each.event for each in written(database, run)]
    assert told[8:] == [AttemptWithdrawn(1, "c", 2, 8), AttemptWithdrawn(1, "", 1, 2), delta("two")]

    log = await next_attempt(database, run, 4)
    log.again(1, "c")
    log.again(1, "")
    await log.close()
    assert [each.event for each in written(database, run)][11:] == [AttemptWithdrawn(1, "", 3, 11)]


async def test_a_withdrawal_that_was_not_written_is_made_by_the_next(on_sqlite: Database) -> None:
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    log.tell(1, "", delta("one"))
    await log.close()
    log = await next_attempt(on_sqlite, run, 2)
    log.again(1, "")
    log.drop()
    log = await next_attempt(on_sqlite, run, 3)
    log.again(1, "")
    await log.close()
    assert [each.event for each in written(on_sqlite, run)] == [delta("one"), AttemptWithdrawn(1, "", 1, 1)]


async def test_a_unit_that_is_done_twice_in_one_attempt_withdraws_its_own(on_sqlite: Database) -> None:
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    log.tell(1, "", delta("one"))
    log.again(1, "")
    log.tell(1, "", delta("two"))
    await log.close()
    told = [each.event for each in written(on_sqlite, run)]
    assert told == [delta("one"), AttemptWithdrawn(1, "", 1, 1), delta("two")]


async def test_an_answer_told_from_its_record_is_told_as_far_as_it_was_not(on_sqlite: Database) -> None:
    """Its error comes after its step: whoever was lost in between has told all but that."""
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    log.tell(1, "", delta("one"))
    await log.close()
    failed = SegmentEvent(EventType.ERROR, error=ErrorInfo("X", "x"))
    for attempt in (2, 3):
        log = await next_attempt(on_sqlite, run, attempt)
        log.tell(1, "", failed)
        await log.close()
    assert [each.event for each in written(on_sqlite, run)] == [delta("one"), failed]


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        ([DONE], [DONE], ["run_finished"]),
        ([RunInterrupted(1, TokenUsage())], [DONE], ["run_interrupted", "run_finished"]),
        ([FAILED], [TurnStarted(2), FAILED], ["run_failed", "turn_started", "run_failed"]),
        ([TurnStarted(2), FAILED], [TurnStarted(2), FAILED], ["turn_started", "run_failed"]),
    ],
)
async def test_a_run_that_goes_on_after_its_end_has_another(
    on_sqlite: Database, first: list[AgentEvent], then: list[AgentEvent], told: list[str]
) -> None:
    run = new_run(on_sqlite)
    for attempt, events in enumerate((first, then), 1):
        log = await next_attempt(on_sqlite, run, attempt)
        for event in events:
            log.tell(2, "", event)
        await log.close()
    assert kinds(on_sqlite, run) == told


async def test_a_long_log_is_opened_in_little_time(on_sqlite: Database) -> None:
    run = new_run(on_sqlite)
    log = await EventLog.open(on_sqlite, run, 1)
    for number in range(10_000):
        log.tell(number // 100, "", delta(str(number)))
    await log.close()
    change(on_sqlite, run, attempt=2)
    begun = time.process_time()
    log = await EventLog.open(on_sqlite, run, 2)
    assert time.process_time() - begun < 0.5
    assert log.position == 10_000
    log.drop()
