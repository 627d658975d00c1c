"""The steps of an agent (`toolwire.agent.steps`), recorded by the engine: what was done is told again, not done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing, suppress
from typing import TYPE_CHECKING

import msgspec

from ..agent.asking import Asking
from ..agent.events import RequestRetried
from ..agent.steps import ModelAnswer
from ..execution.executor import ToolResult
from ..stream.invocation import ToolInvocation
from ..stream.segments import SegmentEvent
from ..tools.definition import ToolDefinition
from .records import to_json, to_text

if TYPE_CHECKING:
    from ..stream.pipeline import Stream
    from .workplace import Workplace

UNKNOWN = "unknown"
"""The outcome of a call that was about to run when its worker was lost, and may not be run again."""
_UNKNOWN_WORDS = (
    "Error: unknown: it was started, and the worker was lost before its outcome was written down; it was not "
    "repeated. Check before you call it again."
)
_EVENTS_WAITING = 256


def _unit(call: ToolInvocation) -> tuple[int, str]:
    """The call as a column can hold it: its id is the provider's, and may be anything."""
    return call.turn, to_text(call.id)


class KeptSteps:
    """`toolwire.agent.steps.Steps` of one attempt."""

    def __init__(self, place: Workplace) -> None:
        self._place = place

    def asking(self, turn: int, asking: Asking) -> KeptAsking:
        """The request of this turn: sent, or told again."""
        self._place.begins(turn)
        return KeptAsking(self._place, turn, asking)

    async def call(
        self, call: ToolInvocation, tool: ToolDefinition, do: Callable[[], Awaitable[ToolResult]]
    ) -> ToolResult:
        """The result of a call, recorded or come by now."""
        place, unit = self._place, _unit(call)

        async def made() -> str:
            await place.go_on(unit)
            place.begun(unit)
            if unit in place.effects and not tool.is_repeatable:
                result = ToolResult(call.id, call.tool_name, _UNKNOWN_WORDS, is_error=True, outcome=UNKNOWN)
            else:
                place.log.again(call.turn, call.id)
                result = await do()
                await place.all_told(unit)
            await place.flush()
            return to_json(result)

        try:
            record = await place.step(f"call {call.turn} {call.tool_name} {unit[1]}", made)
            await place.settled(unit)
        finally:
            place.ended(unit)
        return msgspec.json.decode(record, type=ToolResult)

    def in_line(self, call: ToolInvocation) -> AbstractContextManager[None]:
        """The call stands behind others meanwhile, and may be left there."""
        return self._place.in_line(_unit(call))

    async def starting(self, call: ToolInvocation, tool: ToolDefinition) -> None:
        """The call is about to run."""
        await self._place.starting(_unit(call), tool.name, has_effects=not tool.is_repeatable)


class KeptAsking:
    """One request and its answer (`toolwire.agent.steps.Asked`), which is recorded before anything follows on it."""

    stream: Stream | None = None

    def __init__(self, place: Workplace, turn: int, asking: Asking) -> None:
        self._place = place
        self._turn = turn
        self._asking = asking
        self._record = ""
        self._events: asyncio.Queue[SegmentEvent | RequestRetried | None] = asyncio.Queue(_EVENTS_WAITING)

    async def events(self) -> AsyncGenerator[SegmentEvent | RequestRetried, None]:
        """What the answer tells, while it comes; nothing, where it came before."""
        step = asyncio.create_task(self._place.step(f"answer {self._turn}", self._ask))
        step.add_done_callback(self._end)
        try:
            while not (step.done() and self._events.empty()):
                event = await self._events.get()
                if event is not None:
                    yield event
                self._events.task_done()
            self._record = await step
            self._place.answered(self.answer.usage)
        finally:
            if not step.done():
                step.cancel()
                with suppress(asyncio.CancelledError):
                    await step
            self._place.ended((self._turn, ""))

    @property
    def answer(self) -> ModelAnswer:
        """What came of it, as it was recorded."""
        return msgspec.json.decode(self._record, type=ModelAnswer)

    async def _ask(self) -> str:
        place, unit = self._place, (self._turn, "")
        await place.go_on(unit)
        # Until it is recorded (`events`): an answer that is left before is asked for, and paid for, again.
        place.begun(unit)
        place.log.again(self._turn, "")
        async with aclosing(self._asking.events()) as events:
            async for event in events:
                await self._events.put(event)
        await self._events.join()
        await place.flush()
        return to_json(self._asking.answer)

    def _end(self, _: object) -> None:
        """Wakes whoever waits for an event that does not come; one who has events to take sees it by itself."""
        with suppress(asyncio.QueueFull):
            self._events.put_nowait(None)
