"""One agent and the event loop it lives in, over one question or many; and what Ctrl-C does to them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any, Protocol

from ..agent.events import AgentEvent, RunEnd, RunFailed, RunFinished, RunInterrupted
from ..errors import ErrorInfo, RunLimitReached
from ..messages import Message, Part, TextPart
from .faults import INTERRUPTED, TERMINATED, say_error

BOUND = 3
"""The exit code of a run that reached one of its bounds: nothing is wrong with it, and `--resume` goes on."""


class Answering(Protocol):
    """Whoever is asked: an agent, or what stands around one."""

    def run(self, question: str | Message, /) -> AsyncGenerator[AgentEvent, None]:
        """Everything that happens until the answer has ended; the last event is a `RunEnd`."""
        ...

    def interrupt(self) -> None:
        """Ends the answer that is going on."""
        ...

    async def settle(self) -> None:
        """Waits for what was interrupted and had not ended."""
        ...

    async def close(self) -> None:
        """Ends everything."""
        ...


class Surface(Protocol):
    """Where it is shown."""

    def header(self, *lines: str) -> None:
        """Words of ours."""
        ...

    def begin(self) -> None:
        """A run begins."""
        ...

    def wait(self, what: str) -> None:
        """Something takes a moment."""
        ...

    def settle(self) -> None:
        """Nothing moves any more and the cursor is at the start of a line."""
        ...


async def _as_typed(text: str) -> str | Message | None:
    return text


class Conversation:
    """Asks an agent and hands every event to `show`; with a `screen`, keeps that in order around it.

    Ctrl-C ends the answer that is going on, whatever it waits for, and the conversation keeps what was said and done.
    A second one leaves. What `attach` gives goes along with the first question.
    """

    def __init__(
        self,
        agent: Answering,
        show: Callable[[AgentEvent], None],
        screen: Surface | None = None,
        *,
        attach: Callable[[], Awaitable[list[Part]]] | None = None,
    ) -> None:
        self._agent = agent
        self._show = show
        self._screen = screen
        self._attach = attach
        self._pressed = False
        """Ctrl-C was, and nothing was asked since."""
        self._signals = [signal.SIGINT]
        """What interrupts an answer."""
        self._terminated = False

    def ask_once(self, question: str, *, at_end: Callable[[], None] = lambda: None) -> int:
        """Asks and gives the exit code. `at_end` is called before an error is told.

        A SIGTERM, as of `timeout`, is taken as Ctrl-C is: what was said and done is written down and told.
        """
        self._signals.append(signal.SIGTERM)
        with asyncio.Runner() as runner:
            try:
                end = self._ask(runner, question)
            except KeyboardInterrupt:
                end = None
            finally:
                self._close(runner)
        at_end()
        if end is None or isinstance(end, RunInterrupted):
            return TERMINATED if self._terminated else INTERRUPTED
        return _told(end)

    def chat(
        self,
        *,
        first: str | None = None,
        typed: Callable[[str], Coroutine[Any, Any, str | Message | None]] = _as_typed,
        begin: Callable[[], Coroutine[Any, Any, None]] | None = None,
        prompt: str = "> ",
        at_end: Callable[[], None] = lambda: None,
    ) -> int:
        """Questions at the terminal until Ctrl-D, after the `first` one.

        `typed` says what to ask for a line, None where it was something else; its `EOFError` ends the chat, and Ctrl-C
        ends what it does. `begin` is awaited before anything is asked.
        """
        assert self._screen is not None
        with suppress(ImportError):
            import readline  # noqa: F401
        self._screen.header("Ctrl-C stops an answer, Ctrl-D ends.")
        with asyncio.Runner() as runner:
            try:
                if begin is not None:
                    runner.run(begin())
                if first:
                    self._screen.header("", f"{prompt}{first}")
                code = self._questions(runner, typed, prompt, first or "")
            finally:
                self._close(runner)
        at_end()
        return code

    def _questions(
        self,
        runner: asyncio.Runner,
        typed: Callable[[str], Coroutine[Any, Any, str | Message | None]],
        prompt: str,
        line: str,
    ) -> int:
        while True:
            try:
                line = line or input(f"\n{prompt}")
                if line.strip():
                    self._pressed = False
                    question = runner.run(typed(line))
                    end = None if question is None else self._ask(runner, question)
                    if end is not None:
                        _told(end)
            except EOFError:
                print()
                return 0
            except (KeyboardInterrupt, asyncio.CancelledError):
                if self._pressed:
                    print()
                    return INTERRUPTED
                self._pressed = True
                print("\n(Ctrl-C again, or Ctrl-D, ends)")
            line = ""

    def _ask(self, runner: asyncio.Runner, question: str | Message) -> RunEnd | None:
        """How the run ended; None for one that was cut. Raises `KeyboardInterrupt` where the person does not wait."""
        screen = self._screen
        try:
            if screen is not None:
                screen.begin()
                screen.wait("getting ready")
            return runner.run(self._run(question))
        except (asyncio.CancelledError, KeyboardInterrupt):
            if self._pressed:
                raise KeyboardInterrupt from None
            # Where the loop takes no signals, the run was cancelled: the same, but for its last event.
            self._pressed = True
            if screen is not None:
                screen.header("(interrupted)")
            runner.run(self._agent.settle())
            return None
        finally:
            if screen is not None:
                screen.settle()

    async def _message(self, question: str | Message) -> str | Message:
        attach, self._attach = self._attach, None
        if attach is None:
            return question
        parts = [TextPart(question)] if isinstance(question, str) else question.parts
        return Message("user", [*parts, *await attach()])

    async def _run(self, question: str | Message) -> RunEnd | None:
        end: RunEnd | None = None
        message = await self._message(question)
        with self._interruptible():
            async with aclosing(self._agent.run(message)) as events:
                async for event in events:
                    self._show(event)
                    if isinstance(event, (RunFinished, RunInterrupted, RunFailed)):
                        end = event
            if isinstance(end, RunInterrupted):
                # What takes longer than a moment to die has its end seen to now: at the prompt the loop stands still.
                if self._screen is not None:
                    self._screen.wait("ending what still runs")
                await self._agent.settle()
        return end

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """The first Ctrl-C interrupts the run, the next one cancels whoever waits for that.

        Where the loop takes no signals (Windows), the runner's own handling stands: the first one cancels.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def pressed(number: int) -> None:
            self._terminated = self._terminated or number == signal.SIGTERM
            if self._pressed:
                task.cancel()
            else:
                self._pressed = True
                self._agent.interrupt()

        try:
            for number in self._signals:
                loop.add_signal_handler(number, pressed, number)
        except (NotImplementedError, ValueError, RuntimeError):
            yield
            return
        try:
            yield
        finally:
            for number in self._signals:
                loop.remove_signal_handler(number)

    def _close(self, runner: asyncio.Runner) -> None:
        """Ends what still runs. Ctrl-C then is for those who do not want to wait for it."""
        if self._screen is not None:
            self._screen.wait("ending")
        try:
            runner.run(self._agent.close())
        finally:
            if self._screen is not None:
                self._screen.settle()


def _told(end: RunEnd) -> int:
    """Says what went wrong, if anything did; the exit code."""
    error: ErrorInfo | None = end.error if isinstance(end, RunFailed) else None
    if error is None:
        return 0
    code = say_error(error)
    return BOUND if error.type == RunLimitReached.__name__ else code
