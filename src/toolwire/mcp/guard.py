"""Between a transport and the SDK: what a server may send, how much of it, and what of it anybody needs.

The SDK starts a task for each message that nobody asked for. A server that floods would keep the process busy with
them, and everybody else waiting. So what nobody needs is dropped before it costs anything, what an honest server never
does (answers to questions that nobody asked, one line of nonsense after the other, more questions than a person could
answer) ends the connection, and with it nothing but that server's own calls.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.client._transport import ReadStream, WriteStream
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId

from ..errors import McpFailed

REQUESTS = 16
"""What a server may have asked of us and be waiting for at one time."""
STRANGE = 100
"""Answers that belong to no question, and messages that cannot be read."""
UNASKED = 10_000
"""Notifications and requests that may come at once; so many a second for long: `UNASKED_EACH_SECOND`."""
UNASKED_EACH_SECOND = 1_000
REQUEST_WEIGHT = 20
"""A request costs more to answer than a notification to read."""
LEFT = 1_000
"""Cancelled calls whose late answers are expected."""
PROGRESS_AT_ONCE = 100
PROGRESS_PAUSE = 0.02
"""Seconds between two reports of one call, after the first `PROGRESS_AT_ONCE`."""

_NEEDED = frozenset(
    (
        "notifications/cancelled",
        "notifications/progress",
        "notifications/tools/list_changed",
        "notifications/subscriptions/acknowledged",
    )
)


class Guard:
    """The bounds of one connection. `fault` says why it ended; `ended` is told that nothing more comes."""

    def __init__(self, server: str, ended: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.fault: McpFailed | None = None
        self._server = server
        self._ended = ended
        self._clock = clock
        self._open: dict[RequestId, list[float]] = {}
        self._left: OrderedDict[RequestId, None] = OrderedDict()
        self._asked: set[RequestId] = set()
        self._strange = 0
        self._budget = float(UNASKED)
        self._filled = clock()

    def end(self) -> None:
        """The transport has nothing more."""
        self._ended()

    def passes(self, item: SessionMessage | Exception) -> bool:
        """Whether this message goes on to the SDK. Where it is one too many, `fault` is set."""
        if isinstance(item, McpFailed):
            self.fault = item  # a transport's last words
            return False
        message = None if isinstance(item, Exception) else item.message
        match message:
            case JSONRPCResponse() | JSONRPCError():
                return self._is_awaited(message.id)
            case JSONRPCRequest():
                return self._may_ask(message)
            case JSONRPCNotification():
                return self._is_needed(message)
        return self._is_strange("messages that cannot be read")

    def sends(self, item: SessionMessage) -> None:
        """Takes note of what goes out: its answers are expected, its questions are answered."""
        match item.message:
            case JSONRPCRequest(id=id):
                self._open[coerce_request_id(id)] = [0.0, 0.0]
            case JSONRPCResponse(id=id) | JSONRPCError(id=id) if id is not None:
                self._asked.discard(coerce_request_id(id))
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                id = cancelled_request_id_from_params(params)
                if id is not None and self._open.pop(coerce_request_id(id), None) is not None:
                    self._left[coerce_request_id(id)] = None
                    if len(self._left) > LEFT:
                        self._left.popitem(last=False)

    def _is_awaited(self, id: RequestId | None) -> bool:
        if id is not None:
            key = coerce_request_id(id)
            if self._open.pop(key, None) is not None:
                return True
            if key in self._left:
                del self._left[key]
                return False
        return self._is_strange("answers to what nobody asked")

    def _is_strange(self, what: str) -> bool:
        self._strange += 1
        if self._strange > STRANGE:
            self._fail(f"it sent over {STRANGE} {what}")
        return False

    def _may_ask(self, request: JSONRPCRequest) -> bool:
        if not self._pays(REQUEST_WEIGHT):
            return False
        key = coerce_request_id(request.id)
        if key in self._asked:
            self._fail("it asked twice under one id")
            return False
        if len(self._asked) >= REQUESTS:
            self._fail(f"it asks for more than {REQUESTS} things at one time")
            return False
        self._asked.add(key)
        return True

    def _is_needed(self, message: JSONRPCNotification) -> bool:
        if not self._pays(1) or message.method not in _NEEDED:
            return False
        params: dict[str, Any] = message.params or {}
        if message.method == "notifications/cancelled":
            id = cancelled_request_id_from_params(params)
            if id is None:
                return False
            self._asked.discard(coerce_request_id(id))
        elif message.method == "notifications/progress":
            return self._is_news(params.get("progressToken"))
        return True

    def _is_news(self, token: Any) -> bool:
        if type(token) not in (int, str):
            return False
        reports = self._open.get(coerce_request_id(token))
        if reports is None:
            return False
        now = self._clock()
        if reports[0] >= PROGRESS_AT_ONCE and now - reports[1] < PROGRESS_PAUSE:
            return False
        reports[0] += 1
        reports[1] = now
        return True

    def _pays(self, weight: int) -> bool:
        now = self._clock()
        self._budget = min(float(UNASKED), self._budget + (now - self._filled) * UNASKED_EACH_SECOND)
        self._filled = now
        self._budget -= weight
        if self._budget < 0:
            self._fail("it floods us with messages")
            return False
        return True

    def _fail(self, what: str) -> None:
        self.fault = McpFailed(
            f"the MCP server {self._server!r} was cut off: {what}",
            hint="This is no honest mistake of a server's. Look at it before it is used again.",
            server=self._server,
            why="limit",
        )


class GuardedReading:
    """The stream that the SDK reads from. It ends where the transport's does, and where the guard has had enough."""

    def __init__(self, guard: Guard, stream: ReadStream[SessionMessage | Exception]) -> None:
        self._guard = guard
        self._stream = stream

    async def receive(self) -> SessionMessage | Exception:
        """The next message that goes on; `anyio.EndOfStream` after the last."""
        while self._guard.fault is None:
            try:
                item = await self._stream.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                break
            if self._guard.passes(item):
                return item
        self._guard.end()
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Closes the transport's."""
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class GuardedWriting:
    """The stream that the SDK writes to."""

    def __init__(self, guard: Guard, stream: WriteStream[SessionMessage]) -> None:
        self._guard = guard
        self._stream = stream

    async def send(self, item: SessionMessage, /) -> None:
        """Sends it; what it asks for is known before it can be answered."""
        self._guard.sends(item)
        await self._stream.send(item)

    async def aclose(self) -> None:
        """Closes the transport's."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
