"""The question that a person is asked about one call, and the answer to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any

import msgspec

from ..stream.invocation import ToolInvocation
from .rules import Rule


class Scope(StrEnum):
    """How long an answer holds."""

    ONCE = "once"
    SESSION = "session"
    """For calls that fit the chosen offer, while this gate lives."""
    ALWAYS = "always"
    """For calls that fit the chosen offer, from now on, kept in a file."""


class Offer(msgspec.Struct, frozen=True):
    """A rule that the person can make of their answer, and what it means in words."""

    rule: Rule
    words: str


class ApprovalRequest(msgspec.Struct, frozen=True):
    """One call that waits for a person. Nothing in the texts is hidden; a terminal obeys nothing in them."""

    id: str
    """The id of the invocation and its segment: what the answer is given to."""
    invocation: ToolInvocation
    risk: str
    why: str
    """Why it is asked: what the rule or the mode says."""
    source: str
    """The rule that asked, by where it stands, or `mode`."""
    shown: str
    """The exact arguments, readable; where it is all of them, `shown.read_arguments` gives them back."""
    fully_shown: bool
    """Whether `shown` is all of them. If not, a yes holds for this call alone."""
    preview: str
    """What it would change, as a unified diff or in a sentence; empty for tools that cannot tell."""
    warnings: tuple[str, ...]
    """What a person may misread in them, a sentence each: hidden characters, letters that look like others."""
    parts: tuple[str, ...]
    """What the call does: its commands and paths, one line each."""
    offers: tuple[Offer, ...]
    """What can be allowed for longer than once; empty where nothing can."""
    refusals: tuple[Offer, ...]
    """What can be denied for longer than once: the same, or this very call where nothing can be allowed."""
    cwd: str
    digest: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the person says. `True` and `False` are answers too: once, and no."""

    allowed: bool
    scope: Scope = Scope.ONCE
    offer: int = 0
    """Which of the request's offers, or of its refusals for a no, where the scope is longer than once."""
    arguments: dict[str, Any] | None = None
    """The arguments to run with instead."""
    reason: str = ""
    """Why not, for the model."""
    who: str = "person"
    """Who answered, for the audit trail."""


Ask = Callable[[ApprovalRequest], Awaitable[Answer | bool]]
"""Asks a person about one call. Several may wait at the same time."""


def deny(reason: str = "") -> Answer:
    """No, and why."""
    return Answer(allowed=False, reason=reason)
