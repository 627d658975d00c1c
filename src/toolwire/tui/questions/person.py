"""`ScreenPerson`: whoever sits at the screen. Questions wait here, shown or not, until each is answered once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ...approval.request import Answer, ApprovalRequest
from ...mcp.form import Form, read_form

T = TypeVar("T")

_GONE = Answer(allowed=False, reason="whoever was asked has gone", who="closed")


class Waiting(Generic[T]):
    """A question that waits. It takes one answer, and none after it was taken back."""

    def __init__(self, words: str, when_gone: T) -> None:
        self.words = words
        """What it is about, for a status line. Somebody else's words: show them marked."""
        self.when_gone = when_gone
        """The answer of somebody who is no longer there."""
        self._answered: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    @property
    def is_open(self) -> bool:
        """Whether an answer is still wanted."""
        return not self._answered.done()

    def settle(self, answer: T) -> None:
        """The answer. Every one but the first is nothing."""
        if self.is_open:
            self._answered.set_result(answer)

    async def answer(self) -> T:
        """What was answered, when it is."""
        return await self._answered


class WaitingCall(Waiting[Answer]):
    """A call that would run; `of_run`: in a durable run, where its worker is."""

    def __init__(self, request: ApprovalRequest, *, of_run: bool = False) -> None:
        super().__init__(request.invocation.tool_name, _GONE)
        self.request = request
        self.of_run = of_run


class WaitingQuestion(Waiting[str]):
    """A question of the model's, with the answers that it proposes."""

    def __init__(self, question: str, options: Sequence[str]) -> None:
        super().__init__("a question", "")
        self.question = question
        self.options = tuple(options)


class WaitingForm(Waiting[dict[str, Any] | None]):
    """A form of an MCP server's."""

    def __init__(self, server: str, message: str, form: Form) -> None:
        super().__init__(f"a form of {server}", None)
        self.server = server
        self.message = message
        self.form = form


class RunPerson:
    """The same person, asked what a durable run asks: what they decide holds where its worker is."""

    def __init__(self, person: ScreenPerson) -> None:
        self._person = person
        self.ask_person = person.ask_person

    async def __call__(self, request: ApprovalRequest) -> Answer:
        """What they say to a call."""
        return await self._person.ask_for_run(request)


class ScreenPerson:
    """Asks whoever sits at the screen: an `Ask` for the gate, a `Person` for the tools, a `FillIn` for MCP servers.

    Made before there is a screen: what comes early waits. As many as there are wait side by side, in the order they
    came. Who is cancelled while they wait takes their question back. After `close` everything is answered no.
    """

    def __init__(self, *, kept_in: str = "") -> None:
        self.kept_in = kept_in
        """The file that keeps what is allowed or denied always; without it nothing can be."""
        self._waiting: list[Waiting[Any]] = []
        self._watchers: list[Callable[[], None]] = []
        self._gone = False

    @property
    def waiting(self) -> list[Waiting[Any]]:
        """What waits for an answer, the oldest first."""
        return [each for each in self._waiting if each.is_open]

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Has `changed` called whenever something begins or ceases to wait; gives what ends that."""
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed) if changed in self._watchers else None

    async def __call__(self, request: ApprovalRequest) -> Answer:
        """What they say to a call."""
        return await self._wait(WaitingCall(request))

    async def ask_person(self, question: str, options: Sequence[str]) -> str:
        """What they answer to a question of the model's: one of the options, or words of their own."""
        return await self._wait(WaitingQuestion(question, options))

    async def ask_for_run(self, request: ApprovalRequest) -> Answer:
        """What they say to a call of a durable run."""
        return await self._wait(WaitingCall(request, of_run=True))

    async def fill_in(self, server: str, message: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        """What they fill in; None where they decline. `McpFailed` where nobody could be asked that."""
        return await self._wait(WaitingForm(server, message, read_form(server, schema)))

    def answered(self) -> None:
        """Told by whoever settled a question: what waits behind it is shown at once."""
        for watcher in list(self._watchers):
            watcher()

    def close(self) -> None:
        """The screen has gone: no to everything, from now on."""
        self._gone = True
        for waiting in self._waiting:
            waiting.settle(waiting.when_gone)
        self.answered()

    async def _wait(self, waiting: Waiting[T]) -> T:
        if self._gone:
            return waiting.when_gone
        self._waiting.append(waiting)
        self.answered()
        try:
            return await waiting.answer()
        finally:
            self._waiting.remove(waiting)
            self.answered()
