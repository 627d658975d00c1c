"""The call that a tool is running: what a tool can ask of it and tell it while it works.

Held in a context variable, so that any function that a tool calls finds it, in threads of the executor too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigError


@dataclass(frozen=True, slots=True)
class RunningCall:
    """One call while it runs."""

    id: str
    """The id of the invocation; the same when it is tried again, so that it can serve as a key."""
    tool: str
    cwd: str
    environment: Mapping[str, str]
    """What children may see of the environment."""
    report: Callable[[Any], None]
    """Tells progress; from any thread."""
    roots: tuple[str, ...] = ()
    """The folders that calls may work in, the workspace first: absolute, links followed."""
    real: Mapping[str, str] = field(default_factory=dict)
    """Where the paths among the arguments led, links followed, when the call was approved: what it may open."""
    is_closed: Callable[[str], bool] = lambda path: False
    """Whether a rule keeps a file from being read unasked: a tool that looks through folders leaves such out."""
    hidden: tuple[str, ...] = ()
    """Files and folders that no program which the call starts may read."""
    seen: str = ""
    """What the person was shown the change of (`Preview.state`); empty where nobody was shown any."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a call would change, for a person to see before they say yes."""

    text: str
    """A unified diff, or a sentence where there is none."""
    state: str = ""
    """A mark of what the change was worked out from; the call is given it back as `this_call().seen`."""


CURRENT: ContextVar[RunningCall | None] = ContextVar("toolwire-call", default=None)


def this_call() -> RunningCall:
    """The call that the current tool is running."""
    call = CURRENT.get()
    if call is None:
        raise ConfigError("no tool runs here", hint="Call this from inside a tool that an agent runs.")
    return call


def progress(message: str) -> None:
    """Tells whoever watches how far the current tool has come; does nothing where no tool runs."""
    call = CURRENT.get()
    if call is not None:
        call.report(message)
