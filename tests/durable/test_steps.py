"""A run that is cut and taken over says, asks and tells what it would have: to the model, and to whoever follows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, NamedTuple

import msgspec
import pytest

from durable.working import Work, at_work, happens, quick
from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.events import HistoryCompacted, ParserChanged, RequestRetried, RunFinished
from toolwire.durable.attempt import DurableAgent
from toolwire.durable.event_json import is_voidable, kind_of
from toolwire.durable.records import AttemptWithdrawn, RunEvent, RunState
from toolwire.messages import Message, user
from toolwire.testing import ScriptedModel, call, fail, think
from toolwire.transport import HttpRequest

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick")

NO_SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"
TOO_LONG = "This model's maximum context length is 100 tokens"
HISTORY = [each for _ in range(12) for each in (user("word " * 200), Message(role="assistant", content="more " * 200))]
Cut = tuple[int, int, int]
"""In which turn, at which request of it, after how many pieces of the answer."""

STORIES: dict[str, dict[str, Any]] = {
    "calls": {
        "turns": [[[think("Hm."), call("look", text="a"), call("look", text="b")]], [call("save", text="c")], ["Done."]]
    },
    "a call that is wrong": {"turns": [[[call("look", what=1), call("look", text="b")]], ["Done."]]},
    "a request that is sent again": {"turns": [[fail(500), call("look", text="a")], [fail(503), fail(500), "Done."]]},
    "a conversation that is too long": {
        "turns": [[call("look", text="a")], [fail(400, TOO_LONG)], ["Done."]],
        "history": HISTORY,
        "sees": HistoryCompacted,
    },
    "a service without tools": {
        "model": "openai-compatible:m",
        "turns": [[fail(400, "this model does not support tools")], ["Hello."]],
        "sees": ParserChanged,
    },
    "a provider that refuses its own": {
        "turns": [
            [[think("Hm."), call("look", text="a")]],
            [fail(400, NO_SIGNATURE), call("look", text="b")],
            ["Done."],
        ],
        "sees": RequestRetried,
    },
    "an answer that is another one": {
        "model": "openai-compatible:m",
        "turns": [[call("look", text="a")], [("One, two, three, four.", "Five.")]],
    },
    "calls in words that nobody saw": {
        "model": "openai-compatible:m",
        "agent": {"stream_parser": "hermes"},
        "turns": [
            ['<tool_call>\n{"name": "lok", "arguments": {"text": "a"}}\n</tool_call>'],
            ['<tool_call>\n{"name": "look", "arguments": {"text": "a"}}\n</tool_call>'],
            ["Done."],
        ],
    },
}


class Given(NamedTuple):
    """Of one run: what was sent, what a follower has seen, and the cuts that are to be made."""

    sent: list[Any]
    live: list[RunEvent]
    cuts: list[Cut]


class Turns:
    """A transport that answers by the turn, so that what is asked again is answered the same; cut once, where told."""

    def __init__(self, work: Work, place: Any, story: dict[str, Any], given: Given) -> None:
        self._work, self._place, self._story = work, place, story
        self._sent, self._live, self._cuts = given
        self._counts: Counter[int] = Counter()

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        turn = self._place.turn
        number = self._counts[turn]
        self._counts[turn] += 1
        self._sent.append((turn, number, msgspec.json.decode(request.body)))
        answer = self._story["turns"][turn - 1][number]
        if type(answer) is tuple:
            answer = answer[not self._cuts]  # a model says it otherwise when it is asked again
        pieces = 0
        await self._cut(turn, number, pieces)
        async with aclosing(ScriptedModel([answer]).stream(request)) as body:
            async for data in body:
                yield data
                pieces += 1
                await self._cut(turn, number, pieces)

    async def _cut(self, *here: int) -> None:
        if here in self._cuts:
            self._cuts.remove(here)
            # Whoever follows has seen all that was told so far.
            assert await happens(lambda: self._live and self._live[-1].position == self._place.log.position)
            await self._work.take_over(self._place.run)
            await asyncio.sleep(30)

    async def aclose(self) -> None:
        pass


def settled(events: list[RunEvent]) -> list[RunEvent]:
    """What stands for one who saw everything live."""
    left: list[RunEvent] = []
    for each in events:
        void = each.event
        if isinstance(void, AttemptWithdrawn):
            left = [
                old
                for old in left
                if (old.turn, old.id, old.attempt) != (void.turn, void.id, void.attempt)
                or old.position < void.first
                or not is_voidable(kind_of(old.event), old.id)
            ]
        else:
            left.append(each)
    return left


def gist(events: list[RunEvent]) -> list[Any]:
    """What is the same however often it was tried; calls of one answer may overtake each other.

    What a history lost on its way is news again to one who takes the run up.
    """
    told = [(each.turn, each.id, kind_of(each.event), getattr(each.event, "delta", "")) for each in events]
    return sorted((each for each in told if each[2] != "history_moved"), key=lambda each: (each[0], each[1]))


async def played(url: str, name: str, *rounds: list[Cut]) -> list[tuple[list[Any], list[RunEvent], list[RunEvent]]]:
    """The story once for each list of cuts: what was sent, what was followed live, and what is told afterwards."""
    story = STORIES[name]
    given: dict[str, Given] = {}

    def offered(work: Work) -> list[DurableAgent]:
        def make(spec: Any, place: Any) -> Agent:
            return Agent(
                story.get("model", "anthropic:claude-sonnet-4-5"),
                work.deeds.tools(),
                api_key="key",
                base_url="http://127.0.0.1:1/v1",
                transport=Turns(work, place, story, given[spec.options["round"]]),
                approve=place.person,
                policy="full",
                steps=place.steps,
                retries=Retries(first_pause=0.001),
                **story.get("agent", {}),
            )

        return [DurableAgent("toolwire", make)]

    async with at_work(url, agents=offered) as work:

        async def one(number: int, cuts: list[Cut]) -> tuple[list[Any], list[RunEvent], list[RunEvent]]:
            sent, live, left = given[str(number)] = Given([], [], list(cuts))
            options = {"round": str(number)}
            run = (await work.runs.submit("Go.", options=options, history=story.get("history", []))).id
            async for each in work.runs.follow(run):
                live.append(each)
            info = await work.runs.get(run)
            assert info.state is RunState.FINISHED, info
            assert not left, "every cut was made"
            assert info.attempt >= 1 + 2 * len(cuts)
            assert work.deeds.done.count("c") <= len(rounds)
            return sent, live, await work.events(run)

        return list(await asyncio.gather(*(one(number, cuts) for number, cuts in enumerate(rounds))))


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in STORIES if name != "an answer that is another one"])
async def test_a_run_that_is_cut_goes_on_as_if_nothing_had_been(sqlite_url: str, name: str) -> None:
    turns = STORIES[name]["turns"]
    places = [(turn, number) for turn, tries in enumerate(turns, 1) for number in range(len(tries))]
    begun = [(turn, number, 0) for turn, number in places]
    midway = [(turn, len(tries) - 1, 2) for turn, tries in enumerate(turns, 1) if isinstance(tries[-1], (str, list))]
    whole, *others = await played(sqlite_url, name, [], *([each] for each in begun), *([each] for each in midway))
    expected = {(turn, number): body for turn, number, body in whole[0]}
    assert set(expected) == set(places)
    if sees := STORIES[name].get("sees"):
        assert any(isinstance(each.event, sees) for each in whole[2])
    for sent, live, late in [whole, *others]:
        for turn, number, body in sent:
            assert body == expected[turn, number], (turn, number)
        assert gist(late) == gist(whole[2])
        assert settled(live) == late
        assert isinstance(late[-1].event, RunFinished)
        assert [each.position for each in live] == sorted({each.position for each in live})


@pytest.mark.thorough
async def test_a_run_that_is_cut_again_and_again_comes_to_its_end(database_url: str) -> None:
    cuts = [(1, 0, 0), (1, 0, 3), (2, 0, 0), (2, 0, 2), (3, 0, 1)]
    whole, cut = await played(database_url, "calls", [], cuts)
    assert gist(cut[2]) == gist(whole[2])
    assert settled(cut[1]) == cut[2]
    half = cut[1][len(cut[1]) // 2].position
    assert [each for each in cut[2] if each.position > half][-1] == cut[2][-1]


async def test_words_that_were_cut_off_are_withdrawn_from_those_who_saw_them(sqlite_url: str) -> None:
    ((_, live, late),) = await played(sqlite_url, "an answer that is another one", [(2, 0, 2)])
    (withdrawn,) = [each for each in live if isinstance(each.event, AttemptWithdrawn)]
    assert isinstance(withdrawn.event, AttemptWithdrawn)
    assert (withdrawn.event.turn, withdrawn.event.id) == (2, "")
    assert said(live).startswith("One")
    assert said(settled(live)) == said(late) == "Five."
    assert settled(live) == late


def said(events: list[RunEvent]) -> str:
    return "".join(getattr(each.event, "delta", "") for each in events if (each.turn, each.id) == (2, ""))
