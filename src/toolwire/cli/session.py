"""One agent and the event loop it lives in, over one question or many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress

from ..agent.events import AgentEvent, RunFailed
from ..agent.loop import Agent
from .faults import say_error
from .screen import Screen


class Session:
    """Asks an agent and hands every event to `show`; with a `screen`, keeps that in order around it."""

    def __init__(self, agent: Agent, show: Callable[[AgentEvent], None], screen: Screen | None = None) -> None:
        self._agent = agent
        self._show = show
        self._screen = screen

    def ask_once(self, question: str) -> int:
        """Asks and gives the exit code."""
        with asyncio.Runner() as runner:
            try:
                return self._ask(runner, question)
            except KeyboardInterrupt:
                if self._screen is not None:
                    self._screen.header("(interrupted)")
                raise
            finally:
                runner.run(self._agent.close())

    def chat(self) -> int:
        """Questions at the terminal until Ctrl-D; Ctrl-C ends an answer, not the conversation."""
        assert self._screen is not None
        with suppress(ImportError):
            import readline  # noqa: F401
        self._screen.header("Ctrl-C stops an answer, Ctrl-D ends.")
        with asyncio.Runner() as runner:
            try:
                while True:
                    try:
                        question = input("\n> ")
                        if question.strip():
                            self._ask(runner, question)
                    except KeyboardInterrupt:
                        print("\n(interrupted; Ctrl-D ends)")
                    except EOFError:
                        print()
                        return 0
            finally:
                runner.run(self._agent.close())

    def _ask(self, runner: asyncio.Runner, question: str) -> int:
        screen = self._screen
        try:
            if screen is not None:
                screen.begin()
                screen.wait("getting ready")
            failure = runner.run(self._run(question))
        finally:
            if screen is not None:
                screen.settle()
        return 0 if failure is None else say_error(failure.error)

    async def _run(self, question: str) -> RunFailed | None:
        failure: RunFailed | None = None
        async with aclosing(self._agent.run(question)) as events:
            async for event in events:
                self._show(event)
                if isinstance(event, RunFailed):
                    failure = event
        return failure
