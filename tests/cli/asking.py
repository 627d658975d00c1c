"""Approval questions for tests: requests, a person at a real pty, and a program that asks twice."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from rich.console import Console

from toolwire.approval.misreading import warnings
from toolwire.approval.request import Answer, ApprovalRequest, Offer
from toolwire.approval.rules import Decision, Rule
from toolwire.approval.shown import show_arguments
from toolwire.cli.ask import TerminalQuestion
from toolwire.cli.console import PlainConsole
from toolwire.cli.screen import Screen
from toolwire.stream.invocation import ToolInvocation

PROMPT = "Run it? ["


def request(
    arguments: dict[str, Any],
    *,
    name: str = "shell",
    parts: Sequence[str] = ("the call",),
    offers: Sequence[str] = (),
    refusals: Sequence[str] | None = None,
    repairs: Sequence[str] = (),
    why: str = "the mode is ask",
    source: str = "mode",
    preview: str = "",
) -> ApprovalRequest:
    shown = show_arguments(arguments)
    rule = Rule(decision=Decision.ALLOW, tool=(name,))
    return ApprovalRequest(
        id="c1",
        invocation=ToolInvocation("c1", name, arguments, repairs=tuple(repairs)),
        risk="execute",
        why=why,
        source=source,
        shown=shown.text,
        fully_shown=shown.complete,
        preview=preview,
        parts=tuple(parts),
        warnings=tuple(warnings(arguments)),
        offers=tuple(Offer(rule, words) for words in offers),
        refusals=tuple(Offer(rule, words) for words in (offers if refusals is None else refusals)),
        cwd="/project",
        digest="",
    )


class Person:
    """Somebody at a terminal of 80 columns: `ask` puts a question to them."""

    def __init__(self, width: int = 80) -> None:
        self._master, self._slave = pty.openpty()
        self.name = os.ttyname(self._slave)
        self._output = io.TextIOWrapper(io.FileIO(self._slave, "w", closefd=False), encoding="utf-8")
        console = Console(
            file=self._output, width=width, height=24, markup=False, emoji=False, highlight=False, color_system=None
        )
        self.ask = TerminalQuestion(console, Screen(console), kept_in="/home/me/always.toml")
        self.unseen = ""
        self.shown = ""

    def fileno(self) -> int:
        return self._slave

    def types(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def sees(self, text: str) -> str:
        """What came until `text` was there."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(20):
            while text not in self.unseen:
                came = loop.create_future()
                loop.add_reader(self._master, came.set_result, None)
                try:
                    await came
                finally:
                    loop.remove_reader(self._master)
                data = os.read(self._master, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
                self.unseen += data
                self.shown += data
        before, _, self.unseen = self.unseen.partition(text)
        return before + text

    async def says(self, asked: ApprovalRequest, *typed: str) -> Answer:
        """The answer when each of these is typed after a prompt."""
        answer = asyncio.create_task(self.ask(asked))
        for text in typed:
            await self.sees(PROMPT)
            await self.sees("] ")
            self.types(text)
        async with asyncio.timeout(20):
            return await answer

    def leaves(self) -> None:
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        with suppress(OSError):
            self._output.close()
        for descriptor in (self._master, self._slave):
            if descriptor >= 0:
                os.close(descriptor)


@contextmanager
def person_at_terminal(monkeypatch: pytest.MonkeyPatch, width: int = 80) -> Iterator[Person]:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    person = Person(width)
    monkeypatch.setattr(sys, "stdin", person)
    try:
        yield person
    finally:
        person.close()


async def _ask(name: str) -> None:
    console = PlainConsole()
    answer = await TerminalQuestion(console, Screen(console))(request({"a": 1}, name=name))
    print(f"allowed: {answer.allowed}", flush=True)


def main() -> None:
    modes = termios.tcgetattr(0)
    try:
        asyncio.run(_ask("first"))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    asyncio.run(_ask("second"))
    print(f"modes are the same: {termios.tcgetattr(0) == modes}", flush=True)


if __name__ == "__main__":
    main()
