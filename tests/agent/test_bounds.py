"""Every bound of a run is met exactly, says which it was, and leaves a conversation that can go on."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

import toolwire
from agent.scripted import ADD, FIVE, SAVE, Script, agent, collect, last, ran
from feeding import call, delta, sse
from toolwire import Agent
from toolwire.agent.bounds import Bounds
from toolwire.agent.events import AgentEvent, RunFailed, RunInterrupted, ToolFinished
from toolwire.errors import ConfigError
from waiting import leap

counter = itertools.count()


@toolwire.tool(risk="read")
def tick() -> int:
    """Gives another number each time."""
    return next(counter)


@toolwire.tool(risk="read")
async def dawdle() -> str:
    """Takes its time: five seconds are over at once, and then half a minute."""
    asyncio.get_running_loop().call_soon(leap, 5)
    await asyncio.sleep(35)
    return "late"


def stopped(events: list[AgentEvent]) -> RunFailed:
    end = events[-1]
    assert isinstance(end, RunFailed), end
    assert end.error.type == "RunLimitReached"
    assert end.error.hint
    return end


def calls(*made: tuple[str, str], **usage: int) -> bytes:
    pieces = [call(given, index=at, id=f"c{at}", name=name) for at, (name, given) in enumerate(made)]
    counted = [{"usage": usage}] if usage else []
    return sse(delta(tool_calls=pieces), delta(finish="tool_calls"), *counted)


def with_tools(script: Script, *tools: Any, **options: Any) -> Agent:
    return Agent("openai-compatible:m", tools, base_url="http://127.0.0.1:1/v1", transport=script, **options)


USED = {"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100}


@pytest.mark.parametrize(
    ("bounds", "answer", "what", "requests"),
    [
        (Bounds(turns=4, repeats=100), calls(("tick", "{}")), "turns", 4),
        (Bounds(tokens=250), calls(("tick", "{}"), **USED), "tokens", 3),
        (Bounds(tokens=300), calls(("tick", "{}"), **USED), "tokens", 3),
        (Bounds(tokens=301), calls(("tick", "{}"), **USED), "tokens", 4),
        (Bounds(failed_turns=2), calls(("gone", "{}")), "failed turns", 2),
        (Bounds(failed_turns=3), calls(("tick", '{"a":')), "failed turns", 3),
        (Bounds(repeats=3), calls(("add", '{"a":2,"b":3}')), "repeated calls", 3),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_bound_is_met_exactly(bounds: Bounds, answer: bytes, what: str, requests: int) -> None:
    script = Script(*[answer] * 9)
    it = with_tools(script, tick, add_numbers, bounds=bounds)
    end = stopped(await collect(it))
    assert end.error.facts["what"] == what
    assert len(script.requests) == requests
    assert end.turns == requests
    script.answers = [FIVE]
    assert last(await collect(it, "and now?")).text == "It is 5.", "the conversation goes on"
    sent = script.requests[-1]["messages"]
    made = [each["id"] for message in sent for each in message.get("tool_calls") or ()]
    assert [message["tool_call_id"] for message in sent if message["role"] == "tool"] == made


@toolwire.tool(risk="read", name="add")
def add_numbers(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def test_the_same_call_with_other_results_is_no_repetition() -> None:
    script = Script(*[calls(("tick", "{}"))] * 8, FIVE)
    assert last(await collect(with_tools(script, tick, bounds=Bounds(repeats=2)))).turns == 9


async def test_the_same_result_of_other_calls_is_no_repetition() -> None:
    sums = [calls(("add", f'{{"a":{a},"b":{5 - a}}}')) for a in range(5)]
    script = Script(*sums, FIVE)
    assert last(await collect(with_tools(script, add_numbers, bounds=Bounds(repeats=2)))).turns == 6


async def test_surplus_calls_are_answered_and_not_run() -> None:
    ran.clear()
    script = Script(calls(*[("add", f'{{"a":{a},"b":0}}') for a in range(5)]), FIVE)
    it = agent(script, bounds=Bounds(calls=2))
    events = await collect(it)
    assert sorted(given for _, given in ran) == [(0, 0), (1, 0)]
    results = [each["content"] for each in script.requests[1]["messages"] if each["role"] == "tool"]
    assert results[:2] == ["0", "1"]
    assert all("only 2 calls of one answer run" in each for each in results[2:])
    assert len(results) == len([each for each in events if isinstance(each, ToolFinished)]) == 5


async def test_a_run_out_of_time_stops_within_a_second_with_what_ran_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.execution.executor.GRACE", 60.0)
    script = Script(calls(("dawdle", "{}")), FIVE)
    it = with_tools(script, dawdle, bounds=Bounds(seconds=5))
    async with asyncio.timeout(10):
        end = stopped(await collect(it))
    assert end.error.facts == {"what": "seconds", "limit": 5}
    it._bounds = Bounds()
    assert last(await collect(it, "and?"))
    (result,) = [each for each in script.requests[1]["messages"] if each["role"] == "tool"]
    assert "cancelled while it ran" in result["content"]


async def test_a_run_in_time_is_not_out_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, timers = asyncio.get_running_loop(), []
    call_later = loop.call_later

    def noted(seconds: float, *arguments: Any) -> asyncio.TimerHandle:
        timers.append(call_later(seconds, *arguments))
        return timers[-1]

    monkeypatch.setattr(loop, "call_later", noted)
    it = agent(Script(ADD, FIVE), bounds=Bounds(seconds=500))
    assert last(await collect(it))
    assert not [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
    left = [each for each in timers if each.when() > loop.time() + 400]
    assert [each.cancelled() for each in left] == [True], (
        "it would keep the agent for as long as the run might have taken"
    )


async def test_the_tools_of_the_last_turn_within_the_bound_have_run() -> None:
    script = Script(*[calls(("tick", "{}"))] * 3)
    before = next(counter)
    stopped(await collect(with_tools(script, tick, bounds=Bounds(turns=2))))
    assert next(counter) == before + 3


@pytest.mark.parametrize(
    "make", [lambda: Bounds(turns=0), lambda: Bounds(seconds=-1.0), lambda: Bounds(tokens=0), lambda: Bounds(calls=0)]
)
def test_a_bound_that_leaves_nothing_is_refused(make: Callable[[], Bounds]) -> None:
    with pytest.raises(ConfigError, match="leaves nothing to do"):
        agent(Script(), bounds=make())


NOTHING = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


async def test_a_provider_that_counts_nothing_is_estimated() -> None:
    it = with_tools(Script(*[calls(("tick", "{}"), **NOTHING)] * 20), tick, bounds=Bounds(tokens=100))
    assert stopped(await collect(it)).error.facts["what"] == "tokens"
    assert it.spent.tokens >= 100


async def test_answers_that_broke_off_count() -> None:
    begun = delta(tool_calls=[call("{", id="c1", name="tick")])
    script = Script(*[sse({**begun, "usage": USED}, done=False)] * 9)
    it = with_tools(script, tick, bounds=Bounds(tokens=200, failed_turns=9))
    assert stopped(await collect(it)).error.facts["what"] == "tokens"
    assert len(script.requests) == 2


async def test_the_same_calls_in_another_order_are_the_same() -> None:
    one, two = ("add", '{"a":2,"b":3}'), ("add", '{"b":9,"a":1}')
    script = Script(*[calls(one, two), calls(two, one)] * 4)
    it = with_tools(script, add_numbers, bounds=Bounds(repeats=3))
    assert stopped(await collect(it)).error.facts["what"] == "repeated calls"
    assert len(script.requests) == 3


async def test_who_interrupts_before_the_time_is_over_has_interrupted() -> None:
    @toolwire.tool(risk="read")
    async def slow() -> None:
        """Takes its time, to stop too."""
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.1)

    it = with_tools(Script(calls(("slow", "{}"))), slow, bounds=Bounds(seconds=0.1))
    asyncio.get_running_loop().call_later(0.05, it.interrupt)
    assert isinstance((await collect(it))[-1], RunInterrupted)


async def test_time_runs_while_a_person_is_asked() -> None:
    async def never(_: object) -> bool:
        await asyncio.sleep(30)
        return True

    it = agent(Script(SAVE, FIVE), approve=never, bounds=Bounds(seconds=0.05))
    assert stopped(await collect(it)).error.facts["what"] == "seconds"
    assert ran == []
    assert "cancelled before it ran" in str(it.messages[-1])


async def test_failed_turns_count_in_a_row_alone() -> None:
    wrong, right = calls(("gone", "{}")), calls(("tick", "{}"))
    script = Script(wrong, wrong, right, wrong, wrong, FIVE)
    assert last(await collect(with_tools(script, tick, bounds=Bounds(failed_turns=3)))).turns == 6
