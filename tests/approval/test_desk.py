"""The desk: many questions at once, answered in any order; closed means no."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest

from toolwire import Risk, ToolDefinition, ToolInvocation, ToolwireError
from toolwire.approval.desk import Approvals
from toolwire.approval.gate import Denial, Gate, Ticket
from toolwire.approval.request import Answer, deny

TOOL = ToolDefinition("f", "does", {}, Risk.WRITE, lambda _: "ok")


async def waiting(desk: Approvals, count: int) -> list[asyncio.Task[Ticket | Denial]]:
    gate = Gate(desk)
    tasks = [asyncio.create_task(gate.decide(ToolInvocation(f"c{n}", "f", {"n": n}), TOOL)) for n in range(count)]
    for _ in range(10 * count):
        await asyncio.sleep(0)
    assert len(desk.pending) == count
    return tasks


async def test_many_wait_and_are_answered_in_any_order() -> None:
    desk = Approvals()
    tasks = await waiting(desk, 20)
    assert [request.id for request in desk.pending] == [f"c{n}" for n in range(20)]
    order = random.Random(7).sample(range(20), 20)
    for place, n in enumerate(order):
        desk.answer(f"c{n}", n % 2 == 0)
        await tasks[n]
        assert len(desk.pending) == 19 - place
    for n, task in enumerate(tasks):
        decision = task.result()
        assert isinstance(decision, Ticket) is (n % 2 == 0)
        if isinstance(decision, Ticket):
            assert decision.invocation.arguments == {"n": n}


async def test_an_answer_counts_once() -> None:
    desk = Approvals()
    (task,) = await waiting(desk, 1)
    desk.answer("c0", deny("not now"))
    with pytest.raises(ToolwireError, match="waits for an answer"):
        desk.answer("c0", True)
    assert await task == Denial("the person said no: not now")
    with pytest.raises(ToolwireError, match="waits for an answer"):
        desk.answer("c0", True)
    with pytest.raises(ToolwireError, match="waits for an answer"):
        desk.answer("never", True)


async def test_a_closed_desk_says_no_to_all() -> None:
    desk = Approvals()
    tasks = await waiting(desk, 3)
    desk.close()
    assert await asyncio.gather(*tasks) == [Denial("whoever was asked has gone")] * 3
    assert await Gate(desk).decide(ToolInvocation("late", "f", {}), TOOL) == Denial("whoever was asked has gone")
    assert desk.pending == ()


async def test_answers_come_from_other_threads() -> None:
    desk = Approvals()
    tasks = await waiting(desk, 5)

    def answer() -> None:
        for request in desk.pending:
            desk.answer(request.id, Answer(allowed=True, who="somebody"))

    thread = threading.Thread(target=answer)
    thread.start()
    decisions = await asyncio.gather(*tasks)
    thread.join()
    assert all(isinstance(decision, Ticket) for decision in decisions)


async def test_a_question_that_was_given_up_waits_no_more() -> None:
    desk = Approvals()
    (task,) = await waiting(desk, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.pending == ()


async def test_the_same_id_cannot_wait_twice() -> None:
    desk = Approvals()
    (task,) = await waiting(desk, 1)
    again = await Gate(desk).decide(ToolInvocation("c0", "f", {"other": 1}), TOOL)
    assert again == Denial("a call of the same id waits already")
    desk.answer("c0", True)
    assert isinstance(await task, Ticket)
