"""A conversation against a scripted model on loopback, and a desk that keeps what it is told."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolwire.agent.events import AgentEvent
from toolwire.agent.sessions.store import SessionStore, sessions_path
from toolwire.approval.files import policy_paths
from toolwire.approval.places import Workspace
from toolwire.approval.request import Answer, ApprovalRequest
from toolwire.chat.desk import Panel, Row
from toolwire.chat.talk import Talk
from toolwire.cli.assembly import Assembly, Options
from toolwire.testing import ScriptedModel

if TYPE_CHECKING:
    from toolwire.cli.assembly import Person
    from toolwire.durable.client import Runs

MODEL = "openai-compatible:test"


class Yes:
    """A person who says yes to everything, and keeps what they were asked."""

    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> Answer:
        self.asked.append(request)
        return Answer(allowed=True)

    async def ask_person(self, question: str, options: Sequence[str]) -> str:
        return "yes"


class KeptDesk:
    """Keeps what it is told, and answers as it was told to: the next of `answers` for each question."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.said: list[str] = []
        self.problems: list[tuple[str, str]] = []
        self.rows: list[Row] = []
        self.asked: list[str] = []
        self.panels: list[str] = []
        self.copied = ""
        self.reloads = 0
        self.is_left = False
        self.run_person: Person = Yes()
        self.withdrawn: list[tuple[int, str]] = []
        self.lefts: list[str] = []

    def say(self, words: str) -> None:
        self.said.append(words)

    def problem(self, words: str, hint: str = "") -> None:
        self.problems.append((words, hint))

    async def choose(self, title: str, rows: Sequence[Row], *, current: str = "") -> str | None:
        self.asked.append(title)
        self.rows = list(rows)
        return self.answers.pop(0) if self.answers else None

    async def confirm(self, words: str) -> bool:
        self.asked.append(words)
        return bool(self.answers.pop(0)) if self.answers else False

    def toggle(self, panel: Panel) -> None:
        self.panels.append(panel)

    async def reload(self) -> None:
        self.reloads += 1

    def copy(self, text: str) -> None:
        self.copied = text

    def leave(self) -> None:
        self.is_left = True

    def withdraw(self, turn: int, id: str) -> None:
        self.withdrawn.append((turn, id))

    async def left(self, words: str) -> None:
        self.lefts.append(words)


@asynccontextmanager
async def talking(
    root: Path,
    answers: Sequence[Any] = (),
    *,
    options: Options | None = None,
    keep: bool = True,
    runs: Callable[[], Runs] | None = None,
) -> AsyncIterator[Talk]:
    """A talk in this folder; everything of it lies below the person's home, which a test has set."""
    async with ScriptedModel(list(answers)).serve() as url:
        with SessionStore(sessions_path(os.environ)) as store:
            session = store.create(model=MODEL, cwd=str(root), base_url=url) if keep else None
            assembly = Assembly(Workspace(str(root)), policy_paths(os.environ), person=Yes())
            async with Talk(
                assembly,
                options or Options(no_mcp=True, tools="demo"),
                MODEL,
                url,
                store=store if keep else None,
                session=session,
                runs=runs,
            ) as talk:
                yield talk


async def told(talk: Talk, question: str) -> list[AgentEvent]:
    """All events of one question."""
    return [event async for event in talk.run(question)]
