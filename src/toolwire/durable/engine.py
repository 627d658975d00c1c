"""The border to the engine: all that Toolwire needs of one. DBOS is behind it; another could be put there.

What is asked of an engine: to keep runs in queues and hand each to one worker, to record a step once and give it back
when the run is worked on again, to move a run to another queue, and to copy the beginning of one. It need not know what
a run or a step does, who lives, or what was told: that is kept beside it, in tables of the same database. Who does
what, and why, is in `docs/engines.md`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .records import StepInfo

if TYPE_CHECKING:
    import sqlalchemy as sa

WAITING_QUEUE = "toolwire-waiting"
"""Where runs lie that nobody is to be given: no worker listens to it."""

Body = Callable[[str], Awaitable[None]]
"""Works on the run of this id until it is over. Cancelled, it leaves the run as it stands."""


class QueueLimits(NamedTuple):
    """One queue that a worker listens to."""

    name: str
    here: int
    """Runs of it that one worker works on at a time."""
    everywhere: int | None = None
    """That all workers together do."""


class Lost(Exception):
    """The engine has given the run to someone else, or it was cancelled: nothing of it may be recorded any more."""


class Engine(Protocol):
    """What any process may do with runs. Every method talks to the database and is called in a thread."""

    def prepare(self) -> None:
        """Makes what the engine needs in the database, unless this was done here before."""

    def submit(self, connection: sa.Connection, run: str, queue: str, priority: int) -> None:
        """Puts a new run into a queue, in the transaction that writes it down: it is there in both, or in neither.

        One that is there already stays as it is. Needs `prepare` before the transaction.
        """

    def move(self, run: str, queue: str) -> None:
        """Takes the run from whoever has it and puts it into a queue, unless it is over; its steps stay."""

    def cancel(self, run: str) -> None:
        """Nobody is given the run any more until it is moved."""

    def fork(self, run: str, new: str, step: int, priority: int) -> None:
        """A new run that has the steps of another one before this one, where nobody is given it until it is moved."""

    def limit(self, queue: QueueLimits, *, poll: float) -> None:
        """From now on what a queue may do everywhere holds, and workers look into it every `poll` seconds."""

    def steps(self, run: str) -> list[StepInfo]:
        """What is recorded."""

    def records(self, run: str) -> dict[str, str]:
        """What each step recorded, by its name, in their order."""

    def held(self, worker: str | None = None) -> dict[str, str]:
        """All runs that some worker has, or this one: who has each."""

    def astray(self, runs: Sequence[str]) -> tuple[list[str], list[str]]:
        """Those of these runs that no worker has or will be given, and those that the engine has ended or has not."""

    def forget(self, runs: Sequence[str]) -> None:
        """Deletes runs that are over, with all that is recorded of them."""

    def close(self) -> None:
        """Lets go of everything."""


class WorkingEngine(Protocol):
    """What a worker does with an engine: one in a process."""

    async def start(self, worker: str, queues: Sequence[QueueLimits], body: Body) -> None:
        """From now on runs of these queues are given to `body`, each to one worker."""

    async def step(self, name: str, do: Callable[[], Awaitable[str]]) -> str:
        """What a step of the run at hand gives: recorded, or else done now and recorded; raises `Lost`.

        Steps are told apart by the order in which they are begun, which must be the same each time. What is cancelled
        is not recorded.
        """

    async def stop(self) -> None:
        """Nothing more is given out; what is worked on must have ended."""
