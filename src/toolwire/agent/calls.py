"""The calls of one answer: asked about at once, run side by side, each answered exactly once.

Every call is put to the gate at the same time, so that several may wait for a person and be answered in any order.
What was approved runs as soon as its turn comes: an exclusive tool runs alone, calls that touch the same path keep
their order, what runs unasked and does more than read waits for earlier calls that a person decides on, and no more
than a number of them run at a time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..approval.gate import Denial, Gate, Ticket
from ..approval.parts import only_reads, parts_of
from ..approval.patterns import folded
from ..approval.places import Workspace
from ..approval.request import Answer, ApprovalRequest
from ..approval.run_files import files_run
from ..errors import SessionFailed, ToolwireError
from ..execution.executor import CANCELLED, DENIED, Executor, ToolResult
from ..execution.results import bounded, expected_arguments
from ..mcp.host import HOST, Host
from ..messages import Message, ToolCallPart, tool_results
from ..stream.invocation import ToolInvocation
from ..tools.definition import Risk, ToolDefinition
from ..tools.registry import ToolRegistry
from ..tools.running import CURRENT
from .delegating import NESTING, Nesting
from .events import ApprovalAnswered, ApprovalAsked, CallEvent, NestedEvent, ToolFinished, ToolProgress, ToolStarted
from .hooks import RunHooks, as_copy
from .steps import Steps

if TYPE_CHECKING:
    from .bounds import Spent
    from .sessions.store import Session

STOP_SECONDS = 0.8
"""How long calls that were cancelled are waited for. What takes longer to die goes on dying unwatched (`leaving`)."""
PROGRESS_WAITING = 32
"""What a tool has told and nobody has taken yet: of more, the newest are kept."""
NO_CALLS = "no tool may be called now; answer in words"
"""What is wrong with every call of an answer that was to hold none (`tool_choice="none"`)."""
CHANGED_CHARACTERS = 10_000
"""How much of changed arguments the model is told."""


class Workbench(NamedTuple):
    """What the calls of every answer of an agent have in common."""

    tools: ToolRegistry
    gate: Gate
    executor: Executor
    parallel: int = 8
    """Calls that run at a time."""
    limit: int = 32
    """Calls of one answer that are looked at."""
    hooks: RunHooks = RunHooks()
    session: Session | None = None
    """What starts is written there before it does, what ended before anyone is told."""
    host: Host | None = None
    """Whom the servers of its tools may ask while a call runs."""
    steps: Steps | None = None
    """Who sees to it that what was done is not done again."""


class _Call:
    """One call on its way to its result."""

    __slots__ = (
        "asked",
        "changes",
        "done",
        "invocation",
        "judged",
        "missed",
        "nesting",
        "paths",
        "progress",
        "runs",
        "started",
        "tool",
    )

    def __init__(
        self, invocation: ToolInvocation, tool: ToolDefinition, workspace: Workspace, nesting: Nesting
    ) -> None:
        self.invocation = invocation
        self.tool = tool
        self.touch(invocation.arguments, workspace)
        self.started = False
        self.asked = False
        """A person decides, or has decided, on it."""
        self.judged = asyncio.Event()
        """Set when it is known whether a person is asked."""
        self.done = asyncio.Event()
        self.progress: deque[str] = deque(maxlen=PROGRESS_WAITING)
        self.missed = 0
        self.nesting = nesting

    def touch(self, arguments: dict[str, Any], workspace: Workspace) -> None:
        """Notes which paths a call with these arguments has to do with."""
        self.paths = touched_paths(self.tool, arguments, workspace)
        self.runs, self.changes = frozenset[str](), self.paths if self.tool.risk is not Risk.READ else frozenset[str]()
        with suppress(Exception):  # what cannot be read is for the gate to say
            self.runs = frozenset(folded(path) for path in files_run(self.tool, arguments, workspace))
            named = (
                folded(place.real)
                for part in parts_of(self.tool, arguments, workspace)
                for place in part.places
                if part.risk is not Risk.READ and self.tool.command
            )
            self.changes = self.changes.union(named) - self.runs

    def needs(self, earlier: _Call) -> bool:
        """Whether it runs a file that the earlier one may change: then it cannot be judged before that is done."""
        return not self.runs.isdisjoint(earlier.changes)

    def follows(self, earlier: _Call) -> bool:
        """Whether it may not run before the earlier one is done."""
        if self.tool.exclusive or earlier.tool.exclusive or self.needs(earlier):
            return True
        if not self.changes.isdisjoint(earlier.runs):
            return True
        if self.tool.risk is Risk.READ and earlier.tool.risk is Risk.READ:
            return False
        return not self.paths.isdisjoint(earlier.paths)


class Calls:
    """The calls of one answer. `run` gives what happens to them; afterwards, `results` is their message.

    `invocations` are those that may run; `problems` says by id what is wrong with the others.
    """

    def __init__(
        self,
        bench: Workbench,
        calls: Sequence[ToolCallPart],
        invocations: Sequence[ToolInvocation],
        problems: Mapping[str, str],
        *,
        turn: int,
    ) -> None:
        self._bench = bench
        self._parts = calls
        self.turn = self._turn = turn
        self._slots = asyncio.Semaphore(bench.parallel)
        self._stopped = self._left = False
        # Bounded by itself: a few events for each call and for each agent that runs in one (`EVENTS_WAITING`), and one
        # mark for all the progress of a call that waits.
        self._events: asyncio.Queue[CallEvent | _Call | None] = asyncio.Queue()
        self.nested: list[Spent] = []
        """What agents that ran as tools have used up."""
        self._calls = {
            each.id: _Call(
                each,
                bench.tools.get(each.tool_name) or _gone(each.tool_name),
                bench.gate.workspace,
                Nesting(turn, each.id, self._events.put_nowait, self.nested),
            )
            for each in invocations[: bench.limit]
        }
        surplus = f"only {bench.limit} calls of one answer run; make it again in your next"
        wrong = {**problems, **{each.id: surplus for each in invocations[bench.limit :]}}
        self._results = {part.id: self._refused(part, wrong) for part in calls if part.id not in self._calls}
        self.leaving: list[asyncio.Task[None]] = []
        """Calls that were cancelled and had not ended when `run` was left."""

    def _refused(self, part: ToolCallPart, wrong: Mapping[str, str]) -> ToolResult:
        """The result of a call that may not run: what was wrong with it, and the form that was expected."""
        tool = self._bench.tools.get(part.name)
        expected = "" if tool is None else f". {expected_arguments(tool.parameters)}"
        return _error(part.id, part.name, f"not run: {wrong.get(part.id, 'the call was not finished')}{expected}")

    async def run(self) -> AsyncGenerator[CallEvent, None]:
        """Everything that happens to the calls, until each has its result.

        Whoever closes it early, or is cancelled in it, has every tool cancelled and waited for.
        """
        for result in list(self._results.values()):
            self._ended(result)
            yield ToolFinished(self._turn, result.id, result)
        tasks = [asyncio.create_task(self._settle(call)) for call in self._calls.values()]
        try:
            left = len(tasks)
            while left:
                event = await self._events.get()
                if event is None:
                    left -= 1
                elif isinstance(event, _Call):
                    # What comes meanwhile waits its turn behind the other calls: a chatty tool hides no question.
                    texts, missed = list(event.progress), event.missed
                    event.progress.clear()
                    event.missed = 0
                    for text in texts:
                        yield ToolProgress(self._turn, event.invocation.id, text, missed)
                        missed = 0
                else:
                    if isinstance(event, NestedEvent):
                        self._calls[event.id].nesting.taken()
                    yield event
        finally:
            self._stopped = True
            try:
                await _stop(tasks)
            finally:
                self._left = True
                self.leaving = [task for task in tasks if not task.done()]

    def tell(self, event: CallEvent) -> None:
        """Puts an event among those of the calls: a question that a tool's server asks while it works."""
        self._events.put_nowait(event)

    def results(self) -> Message:
        """One result for each call, in the order of the calls; what has none was cancelled."""
        results = (self._results.get(part.id) or _cancelled(self._calls[part.id]) for part in self._parts)
        return tool_results(result.part() for result in results)

    def _ended(self, result: ToolResult) -> None:
        if self._bench.session is not None:
            self._bench.session.finished(self._turn, result)

    async def _settle(self, call: _Call) -> None:
        """Sees to it that the call gets its result; whatever goes wrong is one."""
        id = call.invocation.id
        try:
            do, steps = partial(self._outcome, call), self._bench.steps
            result = await (do() if steps is None else steps.call(call.invocation, call.tool, do))
            if self._left:
                return  # the model has been told that it was cancelled, and is told nothing else
            self._results[id] = result
            with suppress(SessionFailed):  # then nobody is told of it, and the run ends when the results are written
                self._ended(result)
                self._events.put_nowait(ToolFinished(self._turn, id, result))
        finally:
            call.judged.set()
            call.done.set()
            self._events.put_nowait(None)

    async def _outcome(self, call: _Call) -> ToolResult:
        """What came of the call; whatever went wrong is told in words."""
        id, name = call.invocation.id, call.tool.name
        try:
            return await self._result(call)
        except asyncio.CancelledError:
            if self._stopped:
                raise
            return self._results.get(id) or _cancelled(call)
        except ToolwireError as error:
            return _error(id, name, f"not run: {error}")
        except Exception as error:
            return _error(id, name, f"it failed ({type(error).__name__})")

    async def _result(self, call: _Call) -> ToolResult:
        bench, id, loop = self._bench, call.invocation.id, asyncio.get_running_loop()

        def asked(request: ApprovalRequest) -> None:
            call.asked = True
            call.judged.set()
            # Told when the question stands, so that whoever sees the event can answer it at once.
            loop.call_soon(self._events.put_nowait, ApprovalAsked(self._turn, id, request))

        def answered(_: ApprovalRequest, answer: Answer) -> None:
            self._events.put_nowait(
                ApprovalAnswered(self._turn, id, answer.allowed, answer.who, answer.scope, answer.reason)
            )

        def told(text: str) -> None:
            if not call.progress:
                self._events.put_nowait(call)
            call.missed += len(call.progress) == PROGRESS_WAITING
            call.progress.append(text)

        if call.tool.name not in bench.tools:
            return _error(id, call.tool.name, "not run: there is no such tool any more")
        veto = await bench.hooks.before_call(call.invocation, call.tool)
        if veto:
            return _error(id, call.tool.name, f"not run: {veto}", DENIED)
        for earlier in self._before(call):
            if call.needs(earlier):
                await earlier.done.wait()
        decision = await bench.gate.decide(_named(call), call.tool, on_asked=asked, on_answered=answered)
        call.judged.set()
        if isinstance(decision, Denial):
            return _error(id, call.tool.name, f"not run: {decision.reason}", DENIED)
        try:
            if decision.edited:
                call.touch(decision.invocation.arguments, bench.gate.workspace)
            ran = msgspec.structs.replace(decision.invocation, id=id)

            async def run() -> ToolResult:
                self._check_not_stopped()
                if bench.session is not None:
                    bench.session.starting(self._turn, ran, call.tool)
                if bench.steps is not None:
                    await bench.steps.starting(ran, call.tool)
                call.started = True
                self._events.put_nowait(ToolStarted(self._turn, id, as_copy(ran)))
                NESTING.set(call.nesting)
                HOST.set(bench.host)
                try:
                    result = await bench.executor.run(decision, on_progress=told)
                finally:
                    call.nesting.over = True
                result = msgspec.structs.replace(result, id=id)
                result = _with_changes(result, decision) if decision.edited else result
                if not self._left:
                    self._results[id] = result  # no hook that is cancelled on leaving loses it
                return result

            with nullcontext() if bench.steps is None else bench.steps.in_line(call.invocation):
                await self._turn_of(call)
                await self._slots.acquire()
            try:
                self._check_not_stopped()
                return await bench.hooks.around_call(ran, call.tool, run)
            finally:
                self._slots.release()
        finally:
            bench.gate.give_back(decision)

    def _check_not_stopped(self) -> None:
        """Ends a call of which something on its way, a hook for one, took the cancellation for its own."""
        if self._stopped:
            raise asyncio.CancelledError

    async def _turn_of(self, call: _Call) -> None:
        """Waits for the earlier calls that this one must follow.

        What nobody was asked about, and does more than read, also waits for those that a person decides on: what they
        were shown stays as it was until their call is done.
        """
        waits = not call.asked and not only_reads(call.tool, call.invocation.arguments, self._bench.gate.workspace)
        for earlier in self._before(call):
            if waits:
                await earlier.judged.wait()
            if call.follows(earlier) or (waits and earlier.asked):
                await earlier.done.wait()

    def _before(self, call: _Call) -> Iterator[_Call]:
        return takewhile(lambda earlier: earlier is not call, self._calls.values())


def _named(call: _Call) -> ToolInvocation:
    """The call as the gate knows it. Inside another call its id is told apart by that one's: several agents may share
    a desk or an audit trail, and providers count their calls from 0."""
    outer = CURRENT.get()
    if outer is None:
        return call.invocation
    return msgspec.structs.replace(call.invocation, id=f"{outer.id}/{call.invocation.id}")


async def _stop(tasks: list[asyncio.Task[None]]) -> None:
    """Cancels what still runs and waits for it, for a time, also when it is itself cancelled again."""
    loop = asyncio.get_running_loop()
    until = loop.time() + STOP_SECONDS
    again = False
    for task in tasks:
        task.cancel()
    while (left := [task for task in tasks if not task.done()]) and loop.time() < until:
        try:
            await asyncio.wait(left, timeout=until - loop.time())
        except asyncio.CancelledError:
            again = True
    if again:
        raise asyncio.CancelledError


def touched_paths(tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> frozenset[str]:
    """The paths that a tool says it touches, with links followed. One that cannot be one is left to the gate."""
    found: set[str] = set()
    for name in tool.paths:
        value = arguments.get(name)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str):
                with suppress(OSError, ValueError):
                    found.add(folded(workspace.place(path).real))
    return frozenset(found)


def _gone(name: str) -> ToolDefinition:
    """In the place of a tool that is not offered any more, of an answer that was written down when it was."""
    return ToolDefinition(name)


def _error(id: str, name: str, words: str, outcome: str = "") -> ToolResult:
    return ToolResult(id, name, f"Error: {words}", is_error=True, outcome=outcome)


def _cancelled(call: _Call) -> ToolResult:
    words = (
        "cancelled while it ran; a part of its work may be done" if call.started else "not run: cancelled before it ran"
    )
    return _error(call.invocation.id, call.tool.name, words, CANCELLED)


def _with_changes(result: ToolResult, ticket: Ticket) -> ToolResult:
    """The result, with the arguments that ran instead of the model's own said before it."""
    ran = bounded(msgspec.json.encode(ticket.invocation.arguments).decode(), CHANGED_CHARACTERS)
    note = f"[The person changed the arguments. It ran with: {ran}]"
    return msgspec.structs.replace(result, content=f"{note}\n{result.content}")
