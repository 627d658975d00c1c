"""`Approvals`: calls that wait for an answer from elsewhere, as many as there are, answered in any order.

For a screen, a server or a test that sees the questions as events and answers them when it likes. A closed desk
answers no to everything that waits and to everything that comes.
"""

from __future__ import annotations

import asyncio

from ..errors import ConfigError
from .request import Answer, ApprovalRequest

_CLOSED = Answer(allowed=False, reason="whoever was asked has gone", who="closed")


class Approvals:
    """An `Ask` for the gate: holds every question until `answer` is called with its id, from any thread."""

    __slots__ = ("_closed", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[ApprovalRequest, asyncio.Future[Answer | bool]]] = {}
        self._closed = False

    async def __call__(self, request: ApprovalRequest) -> Answer | bool:
        """Waits for the answer to this request."""
        if self._closed:
            return _CLOSED
        if request.id in self._waiting:
            return Answer(allowed=False, reason="a call of the same id waits already", who="desk")
        answered: asyncio.Future[Answer | bool] = asyncio.get_running_loop().create_future()
        waiting = self._waiting[request.id] = request, answered
        try:
            return await answered
        finally:
            if self._waiting.get(request.id) is waiting:
                del self._waiting[request.id]

    @property
    def pending(self) -> tuple[ApprovalRequest, ...]:
        """What waits, the oldest first."""
        # Copied in one step: another thread may look while the loop takes one out.
        return tuple(request for request, _ in list(self._waiting.values()))

    def answer(self, id: str, answer: Answer | bool) -> None:
        """Answers one request, once; a `ConfigError` says that nothing of this id waits."""
        waiting = self._waiting.pop(id, None)
        if waiting is None:
            raise ConfigError(f"no call {id[:80]!r} waits for an answer", hint="It was answered, or given up.")
        _settle(waiting[1], answer)

    def close(self) -> None:
        """No to everything, from now on."""
        self._closed = True
        for request in self.pending:
            self.answer(request.id, _CLOSED)


def _settle(answered: asyncio.Future[Answer | bool], answer: Answer | bool) -> None:
    def set_result() -> None:
        if not answered.done():
            answered.set_result(answer)

    answered.get_loop().call_soon_threadsafe(set_result)
