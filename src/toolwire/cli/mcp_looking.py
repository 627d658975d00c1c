"""Connects to servers side by side and asks what they have, for the commands that show it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console

from ..approval.hidden import marked
from ..errors import ErrorInfo, McpFailed, ToolwireError
from ..mcp.config import ServerConfig
from .console import PlainConsole, has_person
from .faults import say_error
from .mcp_consent import room, show, words
from .mcp_servers import TRUST, McpHere, for_shell, logs_folder
from .question import Line, argument_lines

if TYPE_CHECKING:
    from ..mcp.connection import Connection

WROTE_LINES = 12
"""How much of what a server wrote is shown where it failed."""
Look = Callable[["Connection"], Awaitable[Any]]


class Seen(msgspec.Struct, frozen=True):
    """What came of one server."""

    config: ServerConfig
    found: Any
    """What was asked for; None where it failed."""
    error: ToolwireError | None
    seconds: float


def look(
    here: McpHere, configs: Sequence[ServerConfig], ask: Look, done: Callable[[Seen], None] = lambda _: None
) -> list[Seen]:
    """Asks each server, all at the same time, and gives what came in the order of `configs`.

    `done` is told of each as it comes. What may not be started is not, and says so; a server that fails holds none of
    the others. On a terminal a line says who is waited for, and is gone at the end.
    """
    return asyncio.run(_looked(here, configs, ask, done))


async def _looked(
    here: McpHere, configs: Sequence[ServerConfig], ask: Look, done: Callable[[Seen], None]
) -> list[Seen]:
    seen: dict[str, Seen] = {}
    waiting = [config for config in configs if here.may_start(config)]
    for config in configs:
        if config not in waiting:
            seen[config.name] = Seen(config, None, _needs_consent(config), 0.0)
            done(seen[config.name])
    console = PlainConsole(stderr=True)
    async with here.open(waiting, person=has_person()) as servers:

        async def one(config: ServerConfig) -> Seen:
            started = time.monotonic()
            try:
                connection = await asyncio.to_thread(servers.connection, config.name)  # the SDK takes long to import
                started = time.monotonic()
                await connection.open()
                return Seen(config, await ask(connection), None, time.monotonic() - started)
            except ToolwireError as error:
                return Seen(config, None, error, time.monotonic() - started)

        tasks = {asyncio.create_task(one(config)) for config in waiting}
        try:
            while tasks:
                with _Waiting(console, [config for config in waiting if config.name not in seen]):
                    came, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in came:
                    each = task.result()
                    seen[each.config.name] = each
                    done(each)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return [seen[config.name] for config in configs]


def failure_lines(problem: str, hint: str, width: int) -> Iterator[Line]:
    """A failure for people. What the server wrote itself, which ends the hint, stands behind a bar."""
    yield from words(marked(problem[:1].upper() + problem[1:]), width)
    first, _, wrote = hint.partition("\n")
    if first:
        yield from words(marked(first), width)
    if wrote:
        yield from _wrote_lines(wrote, width)


def say_failed(error: ToolwireError, hint: str = "") -> int:
    """The same on standard error, for a command that could not do what it is for; the exit code.

    `hint` is for errors that come without one.
    """
    first, _, wrote = error.hint.partition("\n")
    if not first and "server" in error.facts:
        first = hint or f"Whether it works: toolwire mcp test {for_shell(str(error.facts['server']))}"
    code = say_error(ErrorInfo(type(error).__name__, error.message, first, error.facts))
    if wrote:
        console = PlainConsole(stderr=True)
        show(console, _wrote_lines(wrote, room(console)))
    return code


def _wrote_lines(wrote: str, width: int) -> Iterator[Line]:
    """The end of what a server wrote. Short, so that the sentence above it stays on the screen."""
    lines = list(argument_lines("\n".join(map(marked, wrote.split("\n"))), width))
    if len(lines) > WROTE_LINES:
        yield from words(f"(its last {WROTE_LINES} lines; more is in {logs_folder()})", width, "dim")
    yield from lines[-WROTE_LINES:]


class _Waiting:
    """A line that moves on a terminal while something is waited for."""

    def __init__(self, console: Console, configs: Sequence[ServerConfig]) -> None:
        names = ", ".join(marked(config.name) for config in configs)
        self._status = console.status(f"waiting for {names}"[: console.width - 4], spinner_style="dim")
        self._moves = console.is_terminal

    def __enter__(self) -> None:
        if self._moves:
            self._status.start()

    def __exit__(self, *_: object) -> None:
        if self._moves:
            self._status.stop()


def _needs_consent(config: ServerConfig) -> McpFailed:
    return McpFailed(
        f"the MCP server {config.name} of this project is not started without your consent",
        hint=f"Look at what it would start: {TRUST} {for_shell(config.name)}",
        server=config.name,
        why="consent",
    )
