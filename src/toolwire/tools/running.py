"""The call that a tool is running: what a tool can ask of it and tell it while it works.

Held in a context variable, so that any function that a tool calls finds it, in threads of the executor too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
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
