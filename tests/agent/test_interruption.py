"""To interrupt ends the one wait that it is meant for, at any moment, and nothing of the reader's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from toolwire.agent.interruption import Interruption


async def numbers(log: list[str], *, pause: float = 0.0) -> AsyncGenerator[int, None]:
    try:
        for number in range(1000):
            await asyncio.sleep(pause)
            yield number
    except BaseException as end:
        log.append(type(end).__name__)
        raise
    finally:
        log.append("tidied")


async def test_without_a_word_everything_comes() -> None:
    async def three() -> AsyncGenerator[int, None]:
        for number in range(3):
            yield number

    assert [number async for number in Interruption().until_asked(three())] == [0, 1, 2]


async def test_a_wait_is_ended_and_the_reader_lives_on() -> None:
    log: list[str] = []
    it = Interruption()
    asyncio.get_running_loop().call_later(0.02, it.ask)
    async with asyncio.timeout(10):
        assert [number async for number in it.until_asked(numbers(log, pause=60))] == []
    assert log == ["CancelledError", "tidied"]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_what_the_reader_waits_for_is_left_alone() -> None:
    log: list[str] = []
    it = Interruption()
    got = []
    async for number in it.until_asked(numbers(log)):
        got.append(number)
        if number == 2:
            asyncio.get_running_loop().call_soon(it.ask)
            await asyncio.sleep(0.02)
    assert got == [0, 1, 2]
    assert log == ["GeneratorExit", "tidied"]


async def test_asked_from_inside_without_a_wait_after_it() -> None:
    it = Interruption()

    async def inside() -> AsyncGenerator[int, None]:
        it.ask()
        yield 1
        yield 2

    assert [number async for number in it.until_asked(inside())] in ([1], [])
    await asyncio.sleep(0.01)


async def test_asked_from_inside_with_a_wait_after_it() -> None:
    it = Interruption()

    async def inside() -> AsyncGenerator[int, None]:
        yield 1
        it.ask()
        it.ask()
        await asyncio.sleep(60)
        yield 2

    async with asyncio.timeout(10):
        assert [number async for number in it.until_asked(inside())] == [1]
    await asyncio.sleep(0.01)


async def test_a_source_that_swallows_the_cancellation_is_closed() -> None:
    it = Interruption()
    log = []

    async def stubborn() -> AsyncGenerator[int, None]:
        try:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                log.append("swallowed")
            yield 1
            yield 2
        finally:
            log.append("closed")

    asyncio.get_running_loop().call_later(0.01, it.ask)
    assert [number async for number in it.until_asked(stubborn())] == [1]
    assert log == ["swallowed", "closed"]
    await asyncio.sleep(0.01)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("also_asked", [False, True])
async def test_another_cancellation_passes(also_asked: bool) -> None:
    log: list[str] = []
    it = Interruption()
    reached = []

    async def read() -> None:
        async with aclosing(it.until_asked(numbers(log, pause=60))) as events:
            async for _ in events:
                pass
        reached.append(True)
        await asyncio.sleep(60)

    task = asyncio.create_task(read())
    await asyncio.sleep(0.01)
    if also_asked:
        it.ask()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(10):
            await task
    assert reached == []
    assert log[-1] == "tidied"


async def test_asked_before_it_begins() -> None:
    it = Interruption()
    it.ask()
    assert [number async for number in it.until_asked(numbers([]))] == []


async def test_asked_at_the_moment_of_the_last_event() -> None:
    for delay in range(6):
        it = Interruption()

        async def few() -> AsyncGenerator[int, None]:
            for number in range(3):
                await asyncio.sleep(0)
                yield number

        loop = asyncio.get_running_loop()

        def later(left: int, it: Interruption = it, loop: asyncio.AbstractEventLoop = loop) -> None:
            if left:
                loop.call_soon(later, left - 1)
            else:
                it.ask()

        later(delay)
        got = [number async for number in it.until_asked(few())]
        assert got == [0, 1, 2][: len(got)]
        await asyncio.sleep(0.001)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
