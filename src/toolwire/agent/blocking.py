"""A run for code that does not await: to its end, on an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING

from ..errors import ToolwireError
from ..messages import Message, Part
from .events import RunFailed, RunFinished

if TYPE_CHECKING:
    from .loop import Agent


def run_to_end(agent: Agent, prompt: str | Message | Sequence[Part]) -> RunFinished:
    """As `Agent.run_sync`."""
    if not _is_loop_running():
        return asyncio.run(_run(agent, prompt))
    left: Future[None] = Future()

    async def run() -> RunFinished:
        loop, task = asyncio.get_running_loop(), asyncio.create_task(_run(agent, prompt))

        def stop(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed when the run has ended
                loop.call_soon_threadsafe(task.cancel)

        left.add_done_callback(stop)
        return await task

    with ThreadPoolExecutor(1, "toolwire-run") as thread:
        try:
            # What is set where it is called (a span, the call of a tool) holds for the run too.
            return thread.submit(copy_context().run, asyncio.run, run()).result()
        finally:
            # Interrupted at the keyboard, the run does not go on unseen.
            left.set_result(None)


async def _run(agent: Agent, prompt: str | Message | Sequence[Part]) -> RunFinished:
    try:
        end = [event async for event in agent.run(prompt)][-1]
    finally:
        await agent.close()
    if isinstance(end, RunFailed) and agent.failure is not None:
        raise agent.failure
    if not isinstance(end, RunFinished):
        raise ToolwireError(
            "the run was interrupted", hint="What was said and done is in the history: ask again to go on."
        )
    return end


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
