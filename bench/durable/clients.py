"""Other processes that do something with a run, once, and may be killed while they do."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import msgspec

from toolwire.approval.request import Answer
from toolwire.durable.client import Runs
from toolwire.errors import ToolwireError

from .moments import Moments, watch_commits
from .subject import AGENT


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that a process of its own gives to the first question that waits."""

    url: str
    folder: str
    run: str
    allowed: bool = True
    digest: str = ""
    """For which call it holds; empty: for the one that is asked about."""
    at: int = 0
    """Of all its moments, the one at which it is killed."""


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a process of its own submits."""

    url: str
    folder: str
    plan: str
    at: int
    """Of all its moments, the one at which it is killed."""


def submit(encoded: bytes) -> None:
    """Submits the run."""
    told = msgspec.json.decode(encoded, type=Submission)
    signal.alarm(60)
    watch_commits(Moments(Path(told.folder) / f"{os.getpid()}.moments", at=told.at))

    async def main() -> None:
        async with Runs(told.url) as runs:
            await runs.submit("Go on", agent=AGENT, options={"plan": told.plan})

    asyncio.run(main())


def reply(encoded: bytes) -> None:
    """Gives the answer; exits with 3 where it is refused, which is written to a file."""
    told = msgspec.json.decode(encoded, type=Reply)
    signal.alarm(60)
    folder = Path(told.folder)
    watch_commits(Moments(folder / f"{os.getpid()}.moments", at=told.at))

    async def main() -> None:
        async with Runs(told.url) as runs:
            for question in await runs.questions(told.run):
                digest = told.digest or question.digest
                await runs.answer(told.run, question.id, Answer(allowed=told.allowed, who="person"), digest=digest)
                return

    try:
        asyncio.run(main())
    except ToolwireError as error:
        (folder / f"{os.getpid()}.refused").write_text(str(error))
        os._exit(3)
