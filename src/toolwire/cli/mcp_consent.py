"""The question before a server of a project is started for the first time, and other plain questions of yes or no."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console

from ..approval.hidden import marked
from ..mcp.config import ServerConfig
from ..mcp.consent import consent_lines
from .ask import read_line
from .question import Line, argument_lines, fitting_pieces

if TYPE_CHECKING:
    from .mcp_servers import McpHere

START = "Let it be started from now on?"
ASKED_AGAIN = 20
"""How often a question is put again where neither yes nor no is answered."""


def consented(here: McpHere, config: ServerConfig, console: Console) -> bool:
    """Shows exactly what would be started, asks, and keeps a yes."""
    agreed = is_agreed(console, consent_question(config, here.root, console.width), START)
    if agreed:
        here.agreed(config)
    return agreed


def consent_question(config: ServerConfig, root: str, width: int) -> Iterator[Line]:
    """Everything that a project's file says about a server. None of it is cut, whatever its length."""
    what = "start this program" if config.command else "connect to this address"
    yield from words(
        f"This project wants to {what} as the MCP server {marked(config.name)} ({marked(config.source)}):",
        width,
        "bold yellow",
    )
    for line in consent_lines(config, root):
        yield from argument_lines(line, width)
    if config.command:
        yield from words("It runs with all that you may do yourself, outside of any sandbox.", width, "yellow")


def is_agreed(console: Console, lines: Iterable[Line], question: str) -> bool:
    """Shows the lines and asks; whether the person types yes.

    Nothing but that is one: no key, no end of input, nothing typed before. What is longer than the screen is shown a
    screen at a time, and the question comes after all of it: no length makes the beginning of a command run off.
    """
    lines = list(lines)
    page = max(console.height - 2, 5)
    for start in range(0, len(lines), page):
        show(console, lines[start : start + page])
        left = len(lines) - start - page
        more = f"{left:,} more line{'' if left == 1 else 's'}. Enter goes on, n is no: [Enter/n] "
        if left > 0 and not _goes_on(console, more):
            return False
    for _ in range(ASKED_AGAIN):
        typed = _typed(console, f"{question} [y/n] ")
        if typed in ("y", "yes"):
            return True
        if typed in ("n", "no", None):
            return False
        show(console, words("Type y for yes or n for no. Ctrl-D is no.", console.width, "yellow"))
    return False


def _goes_on(console: Console, more: str) -> bool:
    """Whether the person wants to see the rest. A yes before all of it was seen is none, and no is not meant by it."""
    for _ in range(ASKED_AGAIN):
        typed = _typed(console, more)
        if typed == "":
            return True
        if typed in ("n", "no", None):
            return False
        show(console, words("The question comes after all of it. Enter shows what follows.", console.width, "yellow"))
    return False


def _typed(console: Console, prompt: str) -> str | None:
    """What the person types, in small letters; None at the end of input."""
    try:
        typed = asyncio.run(
            read_line(sys.stdin.fileno(), lambda: console.out(f"  {prompt}", end="", style="bold yellow"))
        )
    except KeyboardInterrupt:
        console.out("")
        raise
    if typed is None:
        console.out("")
        return None
    return typed.strip().lower()


def words(text: str, width: int, style: str = "") -> Iterator[Line]:
    """Words of ours over as many lines as they need. The text is marked already."""
    for place, piece in enumerate(fitting_pieces(text, width - 7, words=True)):
        yield Line(("    " if place else "  ") + piece.rstrip(), style)


def pointed(text: str, command: str, width: int, style: str = "") -> Iterator[Line]:
    """Words and the command that they are about, which is never broken: it is there to be copied."""
    whole = f"{text}: {command}"
    if cell_len(whole) <= width - 7:
        yield from words(whole, width, style)
        return
    yield from words(f"{text}:", width, style)
    yield Line(f"    {command}", style)


def show(console: Console, lines: Iterable[Line]) -> None:
    """Writes them, each as it is."""
    for line in lines:
        console.out(line.text, style=line.style or None)


def room(console: Console) -> int:
    """How wide a line may be: a pipe gets them as they are."""
    return console.width if console.is_terminal else 1 << 20
