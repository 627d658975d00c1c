"""Histories move: a conversation begun on one provider goes on at another."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..messages import Message
from .ids import IdRule


class Moved(msgspec.Struct):
    """A history as another provider takes it, and what was lost or changed on the way, in sentences."""

    messages: list[Message]
    notes: list[str] = []


def move_history(messages: Iterable[Message], *, wire: str, provider: str = "", ids: IdRule | None = None) -> Moved:
    """The history as this wire (and provider, where it is known) takes it."""
    return Moved(list(messages))
