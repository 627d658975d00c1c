"""The conversation of an agent as it grows, in memory and, where there is a session, in its file first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages import Message
from .events import AgentEvent

if TYPE_CHECKING:
    from .sessions.store import Session


class Kept:
    """`messages`, and whom they are written down for. `turn` counts the requests that were made."""

    def __init__(self, session: Session | None) -> None:
        self.session = session
        self.messages: list[Message] = list(session.messages) if session is not None else []
        self.turn = session.turn if session is not None else 0

    def follow(self, other: Kept) -> None:
        """Goes on where another one is; what it wrote down stays where it is."""
        self.messages[:] = other.messages
        self.turn = other.turn

    def said(self, message: Message) -> None:
        """The person, or the system, has said something."""
        if self.session is not None:
            self.session.said(message)
        self.messages.append(message)

    def answered(self, answer: Message) -> None:
        """The model's answer, or what is left of one, unless nothing is."""
        if not (answer.parts or answer.provider_data):
            return
        if self.session is not None:
            self.session.answered(self.turn, answer)
        self.messages.append(answer)

    def settled(self, results: Message) -> None:
        """Every call of the last answer has its result."""
        self.messages.append(results)
        if self.session is not None:
            self.session.settled(self.turn, results)

    def rewritten(self, messages: list[Message]) -> None:
        """From now on the conversation is this one."""
        self.messages[:] = messages
        if self.session is not None:
            self.session.compacted(messages)

    def noted(self, event: AgentEvent) -> None:
        """Something happened that may matter later."""
        if self.session is not None:
            self.session.noted(event)
