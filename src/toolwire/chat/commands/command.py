"""`Command`: something that is typed with a slash, and what it can be completed with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from ..desk import Desk
from ..talk import Talk


class Suggestion(NamedTuple):
    """What may be typed at a place: the text that is put there, and words about it."""

    text: str
    words: str = ""


def no_suggestions(talk: Talk, typed: str) -> Sequence[Suggestion]:
    """For commands that take nothing, or anything."""
    return ()


class Command(NamedTuple):
    """One slash command. `run` gets what stands behind its name, stripped. Its errors are told to the person."""

    name: str
    summary: str
    run: Callable[[Talk, Desk, str], Awaitable[None]]
    usage: str = ""
    """What stands behind the name, as in help texts: `[PROVIDER:MODEL]`."""
    complete: Callable[[Talk, str], Sequence[Suggestion]] = no_suggestions
    """What may follow, for what is typed of it so far. Quick: called at each key."""
    at_once: bool = False
    """May be used while an answer goes on."""
    aliases: tuple[str, ...] = ()
    """Names that people know it by from elsewhere. They work, and are not listed."""
    more: str = ""
    """What help says beside the summary when it is asked for this command."""

    @property
    def line(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.usage}".rstrip()
