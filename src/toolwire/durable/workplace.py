"""Where one attempt at a run is made: what it may still do, whom it asks, when nobody need hold it any more."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

from ..approval.request import Answer, ApprovalRequest
from ..approval.rules import Rule
from ..chunks import TokenUsage
from ..errors import DurableFailed, ErrorInfo
from ..tools.running import this_call
from ..transport import Transport
from .asked import Questions
from .engine import Engine, Lost, WorkingEngine
from .fanout import child_ids
from .intents import Intents
from .ledger import Ledger, Parent, RunLost
from .log import EventLog
from .records import Question, RunInfo, RunSpec, RunState, to_json, to_text
from .steering import put

_T = TypeVar("_T")

Unit = tuple[int, str]
"""A call, by its turn and its id; without one, the answer of the turn."""


class Leaving(NamedTuple):
    """How a run is left that is not over."""

    state: RunState
    seen: int | None = None
    """Of the signals, for one that waits."""
    error: ErrorInfo | None = None


class Workplace:
    """One attempt at one run, by one worker.

    `steps` and `person` are for the agent that is made here; what carries its requests goes through `transport`.
    Once the run is lost, nothing that goes through here does anything more.
    """

    def __init__(
        self,
        run: str,
        attempt: int,
        *,
        ledger: Ledger,
        engine: WorkingEngine,
        control: Engine,
        queue: str,
        log: EventLog,
        effects: set[Unit],
        holds: Callable[[], bool],
        around: Callable[[Transport], Transport],
        signals: int,
    ) -> None:
        from .steps import KeptSteps

        self.run = run
        self.attempt = attempt
        self.log = log
        self.transport = around
        """Puts the limits of the workers around what carries requests."""
        self.effects = effects
        """The calls that earlier attempts were about to run."""
        self.turn = 0
        self.steps = KeptSteps(self)
        self.person = DurablePerson(self)
        self.leaving: Leaving | None = None
        self.is_lost = False
        self.is_over = False
        """It ends, or has: whoever looks for its row need not find it."""
        self.turns, self.usage = 0, TokenUsage()
        self._rules: list[tuple[int, Rule]] = []
        self._asked: set[Unit] = set()
        """Calls about which earlier attempts asked, and this one has not."""
        self._remember: Callable[[Rule], None] = lambda _: None
        self._ledger = ledger
        self._questions = Questions(ledger.database)
        self._intents = Intents(ledger.database)
        self._engine = engine
        self._control = control
        self._queue = queue
        self._holds = holds
        self._task = asyncio.current_task()
        self._busy: set[Unit] = set()
        """The calls that are asked about or run, and the answer that comes."""
        self._in_line: set[Unit] = set()
        self._waiting: dict[Unit, int] = {}
        """The calls that wait, and the signals that there were when they last looked."""
        self._still_since: float | None = None
        self._pausing: RunState | None = None
        self._signals = signals
        self._signalled = asyncio.Event()
        self._started: set[Unit] = set()
        self._told: set[Unit] = set()
        self._stalled = True
        """Nothing was done in this attempt yet."""

    # What the worker does with it.

    def lose(self) -> None:
        """Someone else has the run, or may have it: everything here ends at once."""
        if not self.is_lost:
            self.is_lost = True
            self.log.drop()
            self._cancel()

    def leave(self, leaving: Leaving) -> None:
        """Lets go of the run where it stands, unless it is over."""
        if self.leaving is None and not self.is_lost and not self.is_over:
            self.leaving = leaving
            self._cancel()

    def pause(self, state: RunState) -> None:
        """Leaves the run in this state when what runs now has ended."""
        self._pausing = state

    def signal(self, signals: int) -> None:
        """How many signals there are; where it is news, whoever waits looks again."""
        if signals != self._signals:
            self._signals = signals
            signalled, self._signalled = self._signalled, asyncio.Event()
            signalled.set()

    def look(self, patience: float) -> None:
        """Leaves the run when all of it has waited for some time, or it is to be paused."""
        if self._busy - self._waiting.keys() - self._in_line or not (self._waiting or self._pausing):
            self._still_since = None
            return
        now = time.monotonic()
        if self._still_since is None:
            self._still_since = now
        if self._pausing is not None:
            self.leave(Leaving(self._pausing))
        elif now - self._still_since >= patience:
            self.leave(Leaving(RunState.WAITING, min(self._waiting.values())))

    # What the steps do with it.

    def check(self) -> None:
        """Raises the cancellation of a run that is lost, or of a worker who may have lost all."""
        if not self.is_lost and not self._holds():
            self.lose()
        if self.is_lost or self.leaving is not None:
            raise asyncio.CancelledError

    async def step(self, name: str, do: Callable[[], Awaitable[str]]) -> str:
        """What a step gives, recorded or done now."""
        self.check()

        async def done() -> str:
            record = await do()
            if self._stalled:
                self._stalled = False
                await self.write(lambda: self._ledger.mark(self.run, self.attempt, stalled=0))
            return record

        try:
            return await self._engine.step(name, done)
        except (Lost, RunLost, DurableFailed):
            self.lose()
            raise asyncio.CancelledError from None

    async def write(self, work: Callable[[], _T]) -> _T:
        """Writes to the database as long as the run is ours."""
        self.check()
        try:
            return await self._ledger.database.thread(work)
        except (RunLost, DurableFailed):
            self.lose()
            raise asyncio.CancelledError from None

    async def flush(self) -> None:
        """Everything that was told is in the database."""
        try:
            await self.log.flush()
        except (RunLost, DurableFailed):
            self.lose()
            raise asyncio.CancelledError from None
        self.check()

    def remembers(self, rules: Sequence[tuple[int, Rule]], asked: set[Unit], remember: Callable[[Rule], None]) -> None:
        """What people decided for longer than one call in earlier attempts, what they were asked, and who is to know.

        It holds from the turn after theirs on: all calls of one answer are judged before any of them is answered.
        """
        self._rules, self._asked, self._remember = list(rules), asked, remember

    def begins(self, turn: int) -> None:
        """The next request comes."""
        self.turn = turn
        for _, rule in [each for each in self._rules if each[0] < turn]:
            self._remember(rule)
        self._rules = [each for each in self._rules if each[0] >= turn]

    def answered(self, usage: TokenUsage | None) -> None:
        """It was answered."""
        self.turns += 1
        if usage is not None:
            names = TokenUsage.__struct_fields__
            self.usage = TokenUsage(*(getattr(self.usage, name) + getattr(usage, name) for name in names))
        self.log.beside.update(turns=self.turns, usage=to_json(self.usage))

    async def go_on(self, unit: Unit) -> None:
        """Where the run is to be left, this waits for that, and holds nobody up."""
        self.check()
        if self._pausing is not None:
            self.ended(unit)
            await asyncio.Event().wait()

    def begun(self, unit: Unit) -> None:
        """From now on it is at work, and cannot be left, save while it waits (`until`) or stands in line."""
        self._busy.add(unit)

    def ended(self, unit: Unit) -> None:
        """It is over."""
        self._busy.discard(unit)

    async def settled(self, unit: Unit) -> None:
        """The call has its result: what was asked about it, and is not any more, is taken back."""
        if unit in self._asked:
            self._asked.discard(unit)
            await self.write(lambda: self._questions.withdraw(self.run, self.attempt, *unit))

    @contextmanager
    def in_line(self, unit: Unit) -> Iterator[None]:
        """It stands behind others meanwhile."""
        self._in_line.add(unit)
        try:
            yield
        finally:
            self._in_line.discard(unit)

    async def starting(self, unit: Unit, tool: str, *, has_effects: bool) -> None:
        """A tool is about to run."""
        await self.go_on(unit)
        self.begun(unit)
        if has_effects:
            turn, id = unit
            await self.write(lambda: self._intents.add(self.run, self.attempt, turn, id, tool))
        self.check()
        self._started.add(unit)

    def told_start(self, unit: Unit) -> None:
        """The event that says so was told."""
        self._told.add(unit)

    async def all_told(self, unit: Unit) -> None:
        """Waits until the start of a tool that ran is told, so that it is not told after its end was recorded."""
        for _ in range(1000):
            if unit not in self._started or unit in self._told:
                return
            await asyncio.sleep(0.001)

    async def until(self, id: str, look: Callable[[], Awaitable[tuple[_T | None, int]]]) -> _T:
        """Waits for what `look` gives a call, as long as it takes: the run may be left meanwhile, and the call made
        again. `look` gives the signals of the run as of when it looked, too.
        """
        unit = self.turn, to_text(id)
        try:
            while True:
                signalled = self._signalled
                found, signals = await look()
                if found is not None:
                    return found
                self._waiting[unit] = signals
                await signalled.wait()
        finally:
            self._waiting.pop(unit, None)

    async def gather(self, id: str, specs: Sequence[RunSpec], *, queue: str | None = None) -> list[RunInfo]:
        """Starts runs for a call, once, and waits until all are over; how they stand, in the order of the specs."""
        children = child_ids(self.run, self.turn, id, len(specs))
        parent = Parent(self.run, self.attempt)
        for child, spec in zip(children, specs, strict=True):
            start = partial(put, self._ledger, self._control, child, spec, queue=queue or self._queue, parent=parent)
            await self.write(start)

        async def look() -> tuple[list[RunInfo] | None, int]:
            found, signals = await self.write(lambda: self._ledger.children(self.run, self.attempt, children))
            return (found if all(info.state.is_over for info in found) else None), signals

        return await self.until(id, look)

    async def answer(self, question: Question) -> Question:
        """The question with its answer."""

        self._asked.discard((question.turn, question.id))

        async def look() -> tuple[Question | None, int]:
            asked, signals = await self.write(lambda: self._questions.ask(question, self.attempt))
            return (asked if asked.answered is not None else None), signals

        return await self.until(question.id, look)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


class DurablePerson:
    """Whoever answers, from wherever: their answers are written into the database. An `Ask` for the gate."""

    def __init__(self, place: Workplace) -> None:
        self._place = place

    async def __call__(self, request: ApprovalRequest) -> Answer:
        """What they say to a call."""
        question = Question(
            run=self._place.run,
            id=to_text(request.id),
            turn=self._place.turn,
            digest=request.digest,
            asked=time.time(),
            request=request,
        )
        answer = (await self._place.answer(question)).answer
        return answer or Answer(allowed=False, reason="the answer was none", who="fault")

    async def ask_person(self, question: str, options: Sequence[str]) -> str:
        """What they answer to a question of the model's."""
        id, turn = to_text(this_call().id), self._place.turn
        asked = Question(
            run=self._place.run,
            id=id,
            turn=turn,
            digest=hashlib.sha256(to_json([turn, id, question, list(options)]).encode()).hexdigest(),
            asked=time.time(),
            question=question,
            options=list(options),
        )
        return (await self._place.answer(asked)).reply or ""

    ask_person.overlaps = True  # type: ignore[attr-defined]
