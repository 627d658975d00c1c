"""A thin slice of `bench.durable`: workers killed, frozen and replaced, and runs that end as if nothing had been.

The whole of it is in `make figures`. What looks at the runs is tried here, too: it must see what is wrong.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from bench.durable import answers, frozen, kills
from bench.durable.checks import faults, of_reader
from bench.durable.crew import end_forks
from bench.durable.places import KINDS, Places
from bench.durable.subject import Effect, Records, Request
from bench.durable.trials import trial
from bench.trust import Found

from durable.databases import why_no_postgres
from toolwire.agent.events import RunFinished, ToolFinished
from toolwire.durable.records import AttemptWithdrawn, RunEvent, RunInfo
from toolwire.stream.segments import SegmentEvent

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left() -> Iterator[None]:
    yield
    end_forks()


@pytest.fixture(autouse=True)
def postgres_is_there(request: pytest.FixtureRequest) -> None:
    if "kind" in request.fixturenames and request.getfixturevalue("kind") != "sqlite" and (why := why_no_postgres()):
        pytest.skip(why)


def _holds(found: Found, tries: int) -> None:
    assert found.faults == []
    assert found.runs >= tries


@pytest.mark.parametrize("kind", KINDS[-1:])
def test_a_run_whose_worker_is_killed_is_ended_by_another(kind: str) -> None:
    _holds(kills.every_moment(kind, 45, seed=1), 2)


@pytest.mark.parametrize("kind", KINDS[:1])
def test_an_answer_holds_that_came_when_nobody_worked(kind: str) -> None:
    _holds(answers.answered(kind, 2, seed=1), 2)


def test_a_worker_that_was_frozen_does_nothing_more_and_works_again() -> None:
    _holds(frozen.every_moment("sqlite", 55, seed=3), 1)


class _Seen:
    """A run that went well, with everything that was seen of it."""

    def __init__(self, info: RunInfo, log: list[RunEvent], folder: Path) -> None:
        self.info = info
        self.log = log
        self.folder = folder


@pytest.fixture(scope="module")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> _Seen:
    async def run(places: Places) -> _Seen:
        with places.new() as place:
            async with trial(place) as made:
                info = await made.submit("all")
                await made.over(keep=1)
                assert await made.faults() == []
                folder = tmp_path_factory.mktemp("records")
                for name in ("effects", "requests"):
                    shutil.copy(place.folder / name, folder)
                log = [event async for event in made.runs.follow(info.id)]
                return _Seen(await made.runs.get(info.id), log, folder)

    with Places("sqlite") as places:
        return asyncio.run(run(places))


def _effect_twice(seen: _Seen, records: Records) -> None:
    records.add(next(each for each in records.effects() if each.tool == "save"))


def _answer_of_another(seen: _Seen, records: Records) -> None:
    seen.info = msgspec.structs.replace(seen.info, text="answer 3 00000000")


def _request_sent_again(seen: _Seen, records: Records) -> None:
    records.add(records.requests()[0])


def _request_changed(seen: _Seen, records: Records) -> None:
    last = records.requests()[-1]
    records.add(msgspec.structs.replace(last, messages=[*last.messages, {"role": "user", "content": "more"}]))


def _result_lost(seen: _Seen, records: Records) -> None:
    _rewrite(records, lambda messages: [each for each in messages if each.get("tool_call_id") is None])


def _result_of_something_else(seen: _Seen, records: Records) -> None:
    _rewrite(
        records,
        lambda messages: [{**each, "content": "saved"} if "tool_call_id" in each else each for each in messages],
    )


def _effect_unseen(seen: _Seen, records: Records) -> None:
    kept = [each for each in records.effects() if each.tool != "save"]
    _write(records.folder / "effects", kept)


def _event_lost(seen: _Seen, records: Records) -> None:
    at = next(number for number, each in enumerate(seen.log) if isinstance(each.event, ToolFinished))
    del seen.log[at]


def _words_lost(seen: _Seen, records: Records) -> None:
    at = next(
        number for number, each in enumerate(seen.log) if isinstance(each.event, SegmentEvent) and each.event.delta
    )
    del seen.log[at]


def _event_twice(seen: _Seen, records: Records) -> None:
    seen.log.append(seen.log[-1])


def _no_end(seen: _Seen, records: Records) -> None:
    assert isinstance(seen.log.pop().event, RunFinished)


def _withdrawn(seen: _Seen, records: Records) -> None:
    last = seen.log[-1]
    seen.log.insert(-1, msgspec.structs.replace(last, event=AttemptWithdrawn(4, "", 1, 3)))


def _rewrite(records: Records, change: Callable[[list[dict[str, object]]], list[dict[str, object]]]) -> None:
    changed = [msgspec.structs.replace(each, messages=change(each.messages)) for each in records.requests()]
    _write(records.folder / "requests", changed)


def _write(path: Path, lines: list[Effect] | list[Request]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


WRONGS = [
    _effect_twice,
    _answer_of_another,
    _request_sent_again,
    _request_changed,
    _result_lost,
    _result_of_something_else,
    _effect_unseen,
    _event_lost,
    _words_lost,
    _event_twice,
    _no_end,
    _withdrawn,
]


@pytest.mark.xdist_group("good run")
@pytest.mark.parametrize("wrong", WRONGS, ids=lambda wrong: wrong.__name__[1:])
def test_what_is_wrong_with_a_run_is_seen(
    wrong: Callable[[_Seen, Records], None], good_run: _Seen, tmp_path: Path
) -> None:
    shutil.copytree(good_run.folder, tmp_path, dirs_exist_ok=True)
    seen = _Seen(good_run.info, list(good_run.log), tmp_path)
    records = Records(tmp_path)
    assert list(faults(seen.info, "all", records, seen.log)) == []
    wrong(seen, records)
    assert list(faults(seen.info, "all", records, seen.log)) != []


@pytest.mark.xdist_group("good run")
def test_a_reader_is_left_with_the_log(good_run: _Seen) -> None:
    log = good_run.log
    at = next(number for number, each in enumerate(log) if isinstance(each.event, SegmentEvent))
    void = msgspec.structs.replace(log[at], attempt=0)
    withdrawn = msgspec.structs.replace(log[at], event=AttemptWithdrawn(log[at].turn, "", 0, log[at].position))
    moved = [msgspec.structs.replace(each, position=each.position + 2) for each in log[at:]]
    log = [*log[:at], *moved]
    seen = [*log[:at], void, msgspec.structs.replace(withdrawn, position=void.position + 1), *moved]
    assert list(of_reader(seen, log)) == []
    assert list(of_reader(seen[:at] + seen[at + 1 :], log)) == []
    for wrong in ([*seen[: at + 1], *moved], seen[:-1], [*seen, seen[-1]], [seen[1], seen[0], *seen[2:]]):
        assert list(of_reader(wrong, log)) != []
