"""One agent and the event loop it lives in, over one question or many; and what Ctrl-C does to them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress

from ..agent.events import AgentEvent, RunEnd, RunFailed, RunFinished, RunInterrupted
from ..agent.loop import Agent
from ..errors import ErrorInfo, RunLimitReached
from ..messages import Message, Part, TextPart
from .faults import INTERRUPTED, say_error
from .screen import Screen

BOUND = 3
"""The exit code of a run that reached one of its bounds: nothing is wrong with it, and `--resume` goes on."""


class Conversation:
    """Asks an agent and hands every event to `show`; with a `screen`, keeps that in order around it.

    Ctrl-C ends the answer that is going on, whatever it waits for, and the conversation keeps what was said and done.
    A second one leaves. What `attach` gives goes along with the first question.
    """

    def __init__(
        self,
        agent: Agent,
        show: Callable[[AgentEvent], None],
        screen: Screen | None = None,
        *,
        attach: Callable[[], Awaitable[list[Part]]] | None = None,
    ) -> None:
        self._agent = agent
        self._show = show
        self._screen = screen
        self._attach = attach
        self._pressed = False
        """Ctrl-C was, and nothing was asked since."""

    def ask_once(self, question: str, *, at_end: Callable[[], None] = lambda: None) -> int:
        """Asks and gives the exit code. `at_end` is called before an error is told."""
        with asyncio.Runner() as runner:
            try:
                end = self._ask(runner, question)
            except KeyboardInterrupt:
                end = None
            finally:
                self._close(runner)
        at_end()
        return INTERRUPTED if end is None or isinstance(end, RunInterrupted) else _told(end)

    def chat(self, *, at_end: Callable[[], None] = lambda: None) -> int:
        """Questions at the terminal until Ctrl-D."""
        assert self._screen is not None
        with suppress(ImportError):
            import readline  # noqa: F401
        self._screen.header("Ctrl-C stops an answer, Ctrl-D ends.")
        with asyncio.Runner() as runner:
            try:
                code = self._questions(runner)
            finally:
                self._close(runner)
        at_end()
        return code

    def _questions(self, runner: asyncio.Runner) -> int:
        while True:
            try:
                question = input("\n> ")
            except EOFError:
                print()
                return 0
            except KeyboardInterrupt:
                if self._pressed:
                    print()
                    return INTERRUPTED
                self._pressed = True
                print("\n(Ctrl-C again, or Ctrl-D, ends)")
                continue
            if not question.strip():
                continue
            self._pressed = False
            try:
                end = self._ask(runner, question)
            except KeyboardInterrupt:
                return INTERRUPTED
            if end is not None:
                _told(end)

    def _ask(self, runner: asyncio.Runner, question: str) -> RunEnd | None:
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

    async def _message(self, question: str) -> str | Message:
        attach, self._attach = self._attach, None
        return question if attach is None else Message("user", [TextPart(question), *await attach()])

    async def _run(self, question: str) -> RunEnd | None:
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

        def pressed() -> None:
            if self._pressed:
                task.cancel()
            else:
                self._pressed = True
                self._agent.interrupt()

        try:
            loop.add_signal_handler(signal.SIGINT, pressed)
        except (NotImplementedError, ValueError, RuntimeError):
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

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
