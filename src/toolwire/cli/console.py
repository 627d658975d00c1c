"""The terminal as the commands use it: plain `rich` consoles that print what they are given and nothing else."""

from __future__ import annotations

import sys

from rich.console import Console


class PlainConsole(Console):
    """No markup, no emoji codes, no highlighting: what is printed may come from a model."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        """Whoever read the output left; `faults` knows what to do."""
        raise BrokenPipeError


def has_person() -> bool:
    """Whether somebody is there: input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()
