"""The question before a call with effects: shows exactly what would run, and takes only a typed yes for yes."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

from rich.console import Console

from ..stream.invocation import ToolInvocation
from ..tools.definition import ToolDefinition
from .screen import Screen
from .visible import json_bytes, one_line


class TerminalQuestion:
    """Asks the person at the terminal; an `Ask` for the gate."""

    def __init__(self, console: Console, screen: Screen) -> None:
        self._console = console
        self._screen = screen

    async def __call__(self, invocation: ToolInvocation, tool: ToolDefinition) -> bool:
        """True for yes."""
        self._screen.settle()
        out = self._console.out
        out(f"  {one_line(tool.name)} wants to run (risk: {tool.risk or 'unknown'}) with exactly:", style="yellow")
        for line in json_bytes(invocation.arguments, indent=2).decode().split("\n"):
            out(f"    {line}")
        for repair in invocation.repairs:
            out(f"  The call was malformed and is a guess: {one_line(repair)}", style="yellow")
        out("  Run it? [y/N] ", end="", style="bold yellow")
        answer = await read_line(sys.stdin.fileno())
        return answer.strip().lower() in ("y", "yes")


async def read_line(terminal: int) -> str:
    """One line typed from now on; empty at the end of input.

    Read through the loop and not in a thread, so that Ctrl-C ends the wait and nothing keeps reading behind it.
    What was typed before the question was there is no answer to it, and is dropped.
    """
    with suppress(ImportError):
        import termios

        with suppress(termios.error):
            termios.tcflush(terminal, termios.TCIFLUSH)
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(terminal, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(terminal)
    return os.read(terminal, 4096).decode("utf-8", "replace")
