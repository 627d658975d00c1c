"""The executor: takes a `Ticket` and its call, gives exactly one `ToolResult`, whatever the tool does.

A tool may raise anything, return anything, hang or flood: the result then says so. Functions that are not async run
in a daemon thread of their own, so that one that hangs holds up neither the loop nor the end of the program.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from ..approval.gate import Gate, Ticket
from ..errors import TicketRefused, ToolwireError
from ..messages import ToolResultPart
from ..stream.invocation import ToolInvocation
from ..tools.definition import ToolDefinition

DEFAULT_TIMEOUT = 120.0
"""Seconds a call may take unless its tool says otherwise: longer than any ordinary read or request."""

RESULT_CHARACTERS = 100_000
"""How much of a result goes to the model: some 25,000 tokens, more than most contexts can spare."""


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The one result of one call; `id` is the id of its invocation and segment."""

    id: str
    name: str
    content: str
    is_error: bool = False
    seconds: float = 0.0

    def part(self) -> ToolResultPart:
        """The result as a part of the conversation."""
        return ToolResultPart(self.id, self.name, self.content, self.is_error)


class Executor:
    """Runs calls that hold a ticket of its gate."""

    def __init__(self, gate: Gate, *, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._gate = gate
        self._timeout = timeout

    async def run(self, ticket: Ticket, invocation: ToolInvocation, tool: ToolDefinition) -> ToolResult:
        """The result of the call. Raises only `TicketRefused`, and `CancelledError` when it is cancelled."""
        self._gate.redeem(ticket, invocation, tool)
        call = tool.call
        if call is None:
            raise TicketRefused(f"the tool {tool.name} is declared only and cannot run", call=invocation.id)
        limit = self._timeout if tool.timeout is None else tool.timeout
        started = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                value = await _call(call, invocation.arguments)
            content, is_error = result_text(value), False
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            content, is_error = "Error: the tool cancelled itself", True
        except TimeoutError:
            if time.monotonic() - started >= limit:
                content, is_error = f"Error: no result within {limit:g} seconds; it was given up", True
            else:
                content, is_error = "Error: TimeoutError", True
        except BaseException as error:
            content, is_error = f"Error: {_error_words(error)}", True
        return ToolResult(invocation.id, tool.name, bounded(content), is_error, round(time.monotonic() - started, 4))


async def _call(call: Callable[[dict[str, Any]], Any], arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(call):
        return await call(arguments)
    return await _in_daemon_thread(lambda: call(arguments))


async def _in_daemon_thread(work: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def deliver(value: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result((value, error))

    def body() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:
            error = raised
        # The loop may be gone when a tool that was given up comes back at last.
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, value, error)

    threading.Thread(target=body, daemon=True, name="toolwire-tool").start()
    value, error = await future
    if error is not None:
        raise error
    if inspect.isawaitable(value):
        return await value
    return value


def result_text(value: Any) -> str:
    """What a tool returned, as text for a model."""
    if value is None or value == "":
        return "Done; there is no output."
    if isinstance(value, str):
        text = value
    elif isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
    else:
        text = msgspec.json.encode(value, enc_hook=_plain).decode()
    return text.encode("utf-8", "replace").decode()


def bounded(text: str, limit: int = RESULT_CHARACTERS) -> str:
    """The text, or its start and end with a line between them that says how much was cut."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters cut …]\n{text[-tail:]}"


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    return str(value)


def _error_words(error: BaseException) -> str:
    words = str(error)
    if words and isinstance(error, (ToolwireError, ValueError, LookupError, OSError)):
        return words
    return f"{type(error).__name__}: {words}"
