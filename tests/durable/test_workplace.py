"""Where an attempt is made: what a worker may still do that has lost its lease, or is to leave the run."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from toolwire.durable.records import RunState
from toolwire.durable.workplace import Leaving, Workplace


class Written:
    """A ledger, intents and a log that note what they are told."""

    def __init__(self) -> None:
        self.effects: list[tuple[int, str]] = []
        self.dropped = 0
        self.beside: dict[str, Any] = {}
        self.database = SimpleNamespace(thread=self._thread)

    async def _thread(self, work: Any, *arguments: Any) -> Any:
        return work(*arguments)

    def add(self, run: str, attempt: int, turn: int, id: str, tool: str) -> None:
        self.effects.append((turn, id))

    def drop(self) -> None:
        self.dropped += 1


def place_of(written: Written, holds: list[bool]) -> Workplace:
    place = Workplace(
        "r-1",
        1,
        ledger=cast(Any, written),
        engine=cast(Any, None),
        control=cast(Any, None),
        queue="toolwire",
        log=cast(Any, written),
        effects=set(),
        holds=lambda: holds[0],
        around=lambda transport: transport,
        signals=0,
    )
    place._task = None
    place._intents = cast(Any, written)
    return place


async def test_who_may_have_lost_the_run_begins_nothing_that_has_effects() -> None:
    written, holds = Written(), [True]
    place = place_of(written, holds)
    await place.starting((1, "a"), "save", has_effects=True)
    holds[0] = False
    with pytest.raises(asyncio.CancelledError):
        await place.starting((1, "b"), "save", has_effects=True)
    with pytest.raises(asyncio.CancelledError):
        await place.starting((1, "c"), "look", has_effects=False)
    assert written.effects == [(1, "a")]
    assert (place.is_lost, written.dropped) == (True, 1)
    holds[0] = True
    with pytest.raises(asyncio.CancelledError):
        place.check()


async def test_who_loses_it_while_an_effect_is_written_down_does_not_begin_it(monkeypatch: pytest.MonkeyPatch) -> None:
    written, holds = Written(), [True]
    place = place_of(written, holds)
    taken = written.add

    def late(*arguments: Any) -> None:
        taken(*arguments)
        holds[0] = False

    monkeypatch.setattr(written, "add", late)
    with pytest.raises(asyncio.CancelledError):
        await place.starting((1, "a"), "save", has_effects=True)
    assert written.effects == [(1, "a")]


async def test_a_run_is_left_only_when_nothing_of_it_runs() -> None:
    place = place_of(Written(), [True])

    async def nothing() -> tuple[str | None, int]:
        return None, 7

    await place.starting((0, "tool"), "look", has_effects=False)
    waiting = asyncio.create_task(place.until("asks", nothing))
    await asyncio.sleep(0)
    place.look(patience=0)
    left = [place.leaving]
    place.ended((0, "tool"))
    place.look(patience=0)
    assert [*left, place.leaving] == [None, Leaving(RunState.WAITING, 7)], "as long as the tool runs, it is not left"
    waiting.cancel()
