"""The agent: one loop, readable top to bottom.

request → stream → invocations → approvals → execution → results → request, until the model ends its turn
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..approval.audit import Audit, AuditTrail
from ..approval.gate import ANSWER_SECONDS, Gate
from ..approval.memory import Memory
from ..approval.places import Workspace
from ..approval.policy import Mode, Policy
from ..approval.request import Ask
from ..chunks import StopReason, TokenUsage
from ..embedded.choosing import NATIVE, StreamParser
from ..errors import ConfigError, SessionFailed, ToolwireError, revived
from ..execution.environment import child_environment
from ..execution.executor import Executor
from ..messages import Message, Part, ToolResultPart, system, user
from ..providers.windows import window_of
from ..redaction import Redactor
from ..refusals import hide_secrets
from ..stream.pipeline import Stream
from ..stream.segments import EventType, SegmentEvent
from ..transport import AiohttpTransport, HttpRequest, Transport
from .asking import Asking, Retries
from .blocking import run_to_end
from .bounds import Bounds, Spent, out_of_time
from .calls import NO_CALLS, Calls, Workbench
from .context import Compacted, Context
from .endpoint import Connection
from .events import (
    AgentEvent,
    HistoryCompacted,
    HistoryMoved,
    ParserChanged,
    RunEnd,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    TurnStarted,
)
from .history import REFUSED_MEDIA, all_refused, as_foreign, as_message, broken_answer, has_media, without_unread_media
from .hooks import Hooks, RunFacts, RunHooks
from .hosting import AgentHost
from .interruption import Interruption
from .kept import Kept
from .mistakes import Mistakes
from .steps import Asked, ModelAnswer, Steps
from .toolbox import Toolbox

if TYPE_CHECKING:
    from ..tools.registry import ToolRegistry
    from .sessions.store import Session


PARALLEL = 8
"""Calls of one answer that run at a time: as many as models make, and few enough for any machine or service."""

_LEAVING_SECONDS, _LEAVING_CHECKS = 2.0, 200
"""How long a new run waits for the end of one that nobody reads any more: its tools are being stopped."""


class Agent:
    """A conversation with one model that may call tools.

    `model` is `"provider:model"`. `run` yields everything as it happens; the history is in `messages` and goes on with
    the next run. Use it as an async context manager, or call `close`, when the embedded model or many agents are used.

    `policy` says which calls run, which are asked about and which are denied: a `Policy`, the name of a mode, or
    without it the mode `ask`, in which reads inside the `workspace` (else the current folder) run. `approve` is who is
    asked; without it, what would be asked is denied. `memory` keeps what is answered with "always", `audit` is told of
    every decision and every run: a function, or the path of a file. No file is read or written unless given here. Up
    to `parallel` calls of one answer run side by side.

    `stream_parser` says how the model calls tools (see `as_parser`): by its provider's interface, or in its text, for
    which it is told how. Without it `TOOLWIRE_STREAM_PARSER` in the environment says so, and else it is `auto`. With
    `repair`, malformed calls in text are mended where that can be done; such a call is a guess, so that `approve` is
    asked about it whatever its tool's risk. `tool_choice` is `auto`, `none`, `required` or the name of a tool; the last
    two hold for the first request of a run, since no run would end otherwise.

    `bounds` end a run that goes on too long, `retries` say how often a request is sent that failed before its answer
    began, `context_tokens` is how much the model can read where that is not known or wrong. `options` go to the encoder
    of the provider's wire (`max_tokens`, `temperature` …). `hooks` watch and veto; `session` is where all is written.
    `steps` is who does what must not be done twice (`toolwire.durable`); a person is then waited for without end.
    """

    def __init__(
        self,
        model: str,
        tools: Iterable[Any] = (),
        *,
        system_prompt: str = "",
        approve: Ask | None = None,
        policy: Policy | str | None = None,
        workspace: Workspace | str | os.PathLike[str] | None = None,
        memory: Memory | None = None,
        audit: Audit | str | os.PathLike[str] | None = None,
        parallel: int = PARALLEL,
        base_url: str | None = None,
        api_key: str | None = None,
        transport: Transport | None = None,
        stream_parser: str | StreamParser | None = None,
        repair: bool = False,
        tool_choice: str = "auto",
        options: Mapping[str, Any] | None = None,
        bounds: Bounds | None = None,
        retries: Retries | None = None,
        context_tokens: int | None = None,
        hooks: Sequence[Hooks] = (),
        session: Session | None = None,
        steps: Steps | None = None,
    ) -> None:
        if parallel < 1:
            raise ConfigError(f"{parallel} calls at a time are none", hint="Give parallel as 1 or more.")
        self._bounds = bounds or Bounds()
        self._bounds.check()
        self._retries = retries or Retries()
        self._sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
        self._toolbox = Toolbox(tools)
        self._tools = self._toolbox.registry
        self._tool_choice = tool_choice
        self._connection = Connection(
            model, base_url=base_url, api_key=api_key, options=options, context_tokens=context_tokens
        )
        self._parser = self._connection.parser(stream_parser, self._tools)
        self._text_parser = self._connection.text_parser(stream_parser, self._tools)
        if repair:
            self._parser = self._parser._replace(repair=True)
            self._text_parser = self._text_parser and self._text_parser._replace(repair=True)
        self._transport: Transport = transport if transport is not None else AiohttpTransport()
        self._redactor = Redactor(self._connection.secrets, os.environ)
        rules = policy if isinstance(policy, Policy) else Policy(policy or Mode.ASK)
        gate = Gate(
            approve,
            # A copy: what is decided "for this session" holds in this agent and in none that was given the same rules.
            policy=Policy(rules.mode, [*rules.rules, *(() if session is None else session.closes)]),
            workspace=Workspace(workspace) if isinstance(workspace, (str, os.PathLike)) else workspace,
            memory=memory,
            environment=child_environment(os.environ),
            audit=audit if not isinstance(audit, (str, os.PathLike)) else AuditTrail(audit, self._redactor),
            answer_seconds=ANSWER_SECONDS if steps is None else None,
        )
        executor = Executor(gate, redactor=Redactor(self._connection.secrets))
        self._hooks = tuple(hooks)
        self._steps = steps
        self._kept = Kept(session)
        if session is not None:
            session.hide(self._redactor)
        self._host = AgentHost(gate, self._connection, self._sending, self._count)
        self._toolbox.bind(self._host)
        self._bench = Workbench(
            self._tools, gate, executor, parallel, self._bounds.calls, session=session, host=self._host, steps=steps
        )
        self._context = Context(context_tokens or window_of(self._connection.provider, self._connection.model))
        self._context.offers(self._tools)
        self._notes: list[str] = []
        self.failure: ToolwireError | None = None
        """Why the last run failed, if it did."""
        self.spent = Spent(self._bounds)
        """What the last run, or the one that goes on, has used up."""
        self._running: Interruption | None = None
        self._leaving: list[asyncio.Task[None]] = []
        if system_prompt and not self.messages:
            self._kept.said(system(system_prompt))

    @property
    def messages(self) -> list[Message]:
        """The conversation so far."""
        return self._kept.messages

    @messages.setter
    def messages(self, messages: list[Message]) -> None:
        self._kept.messages[:] = messages

    @property
    def tools(self) -> ToolRegistry:
        """What the model can call now."""
        return self._tools

    @property
    def parser(self) -> str:
        """How calls are read, as in `RunStarted`."""
        return self._parser.name

    @property
    def policy(self) -> Policy:
        """The rules that hold now, with what was decided on the way. Its mode may be set between two calls."""
        return self._bench.gate.policy

    @property
    def window(self) -> int | None:
        """How many tokens the model can read, where that is known."""
        return self._context.window

    def tokens(self) -> int:
        """How many the conversation takes, as far as is known."""
        return self._context.tokens(self.messages)

    def compact(self) -> HistoryCompacted | None:
        """Makes the conversation shorter now, between two runs; None where nothing is left that may be left out."""
        compacted = self._context.make_room(self.messages, wanted=True)
        return None if compacted is None else self._take_over(compacted)

    def follow(self, other: Agent) -> None:
        """Goes on with the conversation of another agent, which asks nothing more: another model, other tools."""
        self._kept.follow(other._kept)

    def take_up(self, messages: Sequence[Message], turn: int) -> None:
        """Goes on with a conversation that was kept elsewhere, after `turn` requests. Its own system prompt stays."""
        if not (messages and messages[0].role == "system"):
            messages = [*(each for each in self.messages if each.role == "system"), *messages]
        self._kept.messages[:] = messages
        self._kept.turn = turn

    async def __aenter__(self) -> Agent:
        await self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes connections, waits for calls that were interrupted, and ends the embedded model if it was started."""
        await self.settle()
        await self._toolbox.close()
        await self._transport.aclose()
        await self._connection.close()

    async def settle(self) -> None:
        """Waits for calls that were interrupted and had not ended when their run was left: a few seconds at most."""
        here = asyncio.get_running_loop()
        if leaving := [task for task in self._leaving if task.get_loop() is here and not task.done()]:
            await asyncio.wait(leaving)
        self._leaving.clear()

    def interrupt(self) -> None:
        """Ends the run that is going on, whatever it waits for: within a second its last event is `RunInterrupted`.

        What runs is stopped; the history says so, and takes the next question. To be called on the event loop of the
        run. To cancel the task that reads the run, or to close its generator, leaves the same history.
        """
        if self._running is not None:
            self._running.ask()

    def run_sync(self, prompt: str | Message | Sequence[Part]) -> RunFinished:
        """Runs to the end and returns it; raises the error of a run that failed. For scripts and notebooks.

        Where a loop runs already, as in a notebook, it has a thread and a loop of its own.
        """
        return run_to_end(self, prompt)

    async def run(
        self, prompt: str | Message | Sequence[Part], *, tool_choice: str | None = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Everything that happens until the model has ended its turn; the last event is a `RunEnd`.

        The question is a text, a message of the user, or its parts (`MediaPart` for pictures, sound and files).
        """
        await self._no_other_run()
        interruption = self._running = Interruption()
        self.failure = None
        self._host.run += 1
        spent = self.spent = Spent(self._bounds)
        seconds, timer = self._bounds.seconds, None
        if seconds is not None:
            timer = asyncio.get_running_loop().call_later(seconds, partial(interruption.ask, late=True))
        facts = RunFacts(*self._connection.server, self._connection.options, self._redactor)
        hooks = RunHooks(self._hooks, facts)
        self._bench = self._bench._replace(hooks=hooks)
        end: RunEnd | None = None
        try:
            try:
                events = self._run(as_message(prompt), tool_choice or self._tool_choice, spent)
                async with aclosing(interruption.until_asked(events)) as heard:
                    async for event in heard:
                        if isinstance(event, (RunFinished, RunFailed)):
                            end = event
                        for told in await self._tell(event):
                            yield told
                if end is None:
                    end = self._out_of_time() if interruption.late else RunInterrupted(spent.turns, spent.usage)
                    for told in await self._tell(end):
                        yield told
            except SessionFailed as error:
                self.failure = error
                end = RunFailed(error.info(), spent.turns, spent.usage)
                for failed in await hooks.tell(end):
                    yield failed
                yield end
        finally:
            self._running = None
            if timer is not None:
                timer.cancel()
            if end is None:
                end = RunInterrupted(spent.turns, spent.usage)
                with suppress(SessionFailed):
                    self._kept.noted(end)
            await hooks.leave(end)

    async def _run(self, prompt: Message, tool_choice: str, spent: Spent) -> AsyncGenerator[AgentEvent, None]:
        """The loop itself. Cancelled or closed at any place, it leaves a history in which every call has a result."""
        yield RunStarted(
            self._connection.provider,
            self._connection.model,
            self._parser.name,
            "" if self._kept.session is None else self._kept.session.id,
        )
        try:
            await self._bench.hooks.on_run(self, prompt, tool_choice)
            await self._connection.open()
            if has_media(prompt):
                # What this provider does not take would stand in the way of every later question.
                self._connection.request(messages=[*self.messages, prompt])
            self._kept.said(prompt)
            while True:
                spent.next_turn()
                self._kept.turn += 1
                yield TurnStarted(self._kept.turn)
                if changed := await self._toolbox.refresh(self._kept.turn):
                    self._tools = self._toolbox.registry
                    self._bench = self._bench._replace(tools=self._tools)
                    self._context.offers(self._tools)
                    yield changed
                if compacted := self._context.make_room(self.messages):
                    yield self._take_over(compacted)
                await self._bench.hooks.before_request(self._kept.turn, tuple(self.messages))

                asking = self._asking(tool_choice)
                failed: SegmentEvent | None = None
                try:
                    async with aclosing(asking.events()) as events:
                        async for event in events:
                            if moved := self._moved():
                                yield moved
                            if isinstance(event, SegmentEvent) and event.type is EventType.ERROR:
                                failed = event
                                continue
                            yield event
                    answered, error = self._answered(asking)
                    change = None if error is None else self._change_for(error)
                    if change is not None:
                        yield change
                        continue
                    if failed is not None:
                        yield failed
                except BaseException:
                    with suppress(SessionFailed):
                        self._keep_interrupted(asking.stream)
                    raise

                answer = answered.message
                answer.origin = self._connection.provider
                if error is not None:
                    answer = broken_answer(answer, self._connection.wire)
                    said = self._context.tokens([*self.messages, answer]) if answer.parts else 0
                    spent.answered(answered.usage, said)
                    if not answer.tool_calls:
                        self._kept.answered(answer)
                        self._mention_media(error)
                        raise error
                else:
                    spent.answered(answered.usage, self._context.answered([*self.messages, answer], answered.usage))
                may_call = tool_choice != "none"
                if may_call:
                    tool_choice = "auto"  # what was asked for has been done; asked for again, no run would end
                if answer.tool_calls:
                    async with aclosing(self._answer_calls(answer, answered, may_call)) as call_events:
                        async for call_event in call_events:
                            yield call_event
                    results = [part for part in self.messages[-1].parts if isinstance(part, ToolResultPart)]
                    spent.made_calls(answer.tool_calls, results, ran=may_call and bool(answered.invocations))
                else:
                    self._kept.answered(answer)
                    if answered.stop_reason is StopReason.PAUSE:
                        continue  # the provider wants the turn as it stands sent back, and goes on
                    if not answered.mistake:
                        reason = answered.stop_reason or StopReason.STOP
                        yield RunFinished(answer.text, reason, spent.turns, spent.usage)
                        return
                    spent.made_calls((), (), ran=False)
                if answered.mistake:
                    self._kept.said(user(answered.mistake))
        except ToolwireError as error:
            self.failure = error
            yield RunFailed(error.info(), spent.turns, spent.usage)

    def _asking(self, tool_choice: str) -> Asked:
        """The next request, with the conversation as it stands."""

        def make_request() -> HttpRequest:
            return self._connection.request(
                messages=self.messages, tools=self._tools, parser=self._parser, tool_choice=tool_choice
            )

        mistakes = Mistakes(self._tools, self._parser)
        asking = self._sending(make_request, self._tools, self._parser, self._mend, mistakes)
        return asking if self._steps is None else self._steps.asking(self._kept.turn, asking)

    def _answered(self, asking: Asked) -> tuple[ModelAnswer, ToolwireError | None]:
        """What came of a request, and its error: of one that was told again, both are as they were written down."""
        answered = asking.answer
        if asking.stream is not None:
            return answered, asking.stream.error
        if answered.mended:
            self._leave_out_refused()
        return answered, None if answered.error is None else revived(answered.error)

    def _sending(
        self,
        make_request: Callable[[], HttpRequest],
        tools: ToolRegistry | None = None,
        parser: StreamParser = NATIVE,
        mend: Callable[[ToolwireError], bool] = lambda _: False,
        mistakes: Mistakes | None = None,
    ) -> Asking:
        def make_stream(request: HttpRequest) -> Stream:
            return Stream(
                self._connection.wire,
                tools or (),
                turn=self._kept.turn,
                segment_id_prefix=f"t{self._kept.turn}-",
                live_arguments=True,
                stream_parser=parser,
                on_error=partial(hide_secrets, request=request, redactor=self._redactor),
            )

        return Asking(
            self._transport,
            make_request,
            make_stream,
            turn=self._kept.turn,
            retries=self._retries,
            redactor=self._redactor,
            mend=mend,
            mistakes=mistakes,
            sleep=self._sleep,
        )

    def _count(self, messages: list[Message], usage: TokenUsage | None) -> None:
        """What an answer beside the conversation used up."""
        self.spent.answered(usage, self._context.tokens(messages))

    async def _answer_calls(
        self, answer: Message, answered: ModelAnswer, may_call: bool
    ) -> AsyncGenerator[AgentEvent, None]:
        """Runs what may run; the history gets the answer with one result for each of its calls, in their order.

        Also when it is cancelled in between: the history never holds a call without a result.
        """
        invocations, problems = answered.invocations, answered.problems
        if not may_call:  # some services do not know `none`, and a model may write a call that it was not told of
            invocations, problems = [], dict.fromkeys([part.id for part in answer.tool_calls], NO_CALLS)
        calls = self._host.calls = Calls(self._bench, answer.tool_calls, invocations, problems, turn=self._kept.turn)
        self._kept.answered(answer)
        try:
            async with aclosing(calls.run()) as events:
                async for event in events:
                    yield event
        except BaseException:
            with suppress(SessionFailed):  # whoever left is told with the next thing that is to be written
                self._end_calls(calls)
            raise
        self._end_calls(calls)

    def _end_calls(self, calls: Calls) -> None:
        self._host.calls = None
        self._leaving += calls.leaving
        self.spent.add_nested(calls.nested)
        self._kept.settled(calls.results())

    async def _no_other_run(self) -> None:
        """Waits for the end of a run that was left without a word; one that someone still reads is an error."""
        for _ in range(_LEAVING_CHECKS):
            if self._running is None:
                return
            await asyncio.sleep(_LEAVING_SECONDS / _LEAVING_CHECKS)
        raise ConfigError("this agent runs already", hint="Wait for the end of its run, or make another agent.")

    def _out_of_time(self) -> RunFailed:
        self.failure = out_of_time(self._bounds.seconds or 0)
        return RunFailed(self.failure.info(), self.spent.turns, self.spent.usage)

    def _keep_interrupted(self, stream: Stream | None) -> None:
        """Puts what may stay of an answer that was interrupted into the history."""
        if stream is None:
            return
        answer = stream.message
        answer.origin = self._connection.provider
        kept = broken_answer(answer, self._connection.wire)
        self._kept.answered(kept)
        if kept.tool_calls:
            self._kept.settled(all_refused(kept.tool_calls, "cancelled: the answer was interrupted before it ran"))

    def _moved(self) -> HistoryMoved | None:
        """What the history lost on its way to this provider, where that is news."""
        if self._connection.notes == self._notes:
            return None
        self._notes = self._connection.notes
        return HistoryMoved(self._kept.turn, self._notes) if self._notes else None

    def _mention_media(self, error: ToolwireError) -> None:
        """Puts words in the place of media that the service itself has refused: every later request would hold them."""
        if error.facts.get("status") in REFUSED_MEDIA and (mentioned := without_unread_media(self.messages)):
            self._kept.rewritten(mentioned)

    def _mend(self, error: ToolwireError) -> bool:
        """Leaves out what this provider gave to go back with its answers, where it refuses that; nothing else would."""
        return error.facts.get("refused") == "reasoning" and self._leave_out_refused()

    def _leave_out_refused(self) -> bool:
        foreign = as_foreign(self.messages, self._connection.provider, self._connection.wire)
        if foreign is not None:
            self._kept.rewritten(foreign)
        return foreign is not None

    def _change_for(self, error: ToolwireError | None) -> HistoryCompacted | ParserChanged | None:
        """What is done otherwise after a request that was refused, where there is something to do; once each."""
        if error is None:
            return None
        refused = error.facts.get("refused")
        if refused == "tools" and self._text_parser is not None:
            self._parser, self._text_parser = self._text_parser, None
            return ParserChanged(self._kept.turn, self._parser.name, error.message)
        if refused == "length" and (compacted := self._context.make_room(self.messages, force=True)):
            return self._take_over(compacted)
        return None

    def _take_over(self, compacted: Compacted) -> HistoryCompacted:
        """From now on the conversation is the shorter one."""
        self._kept.rewritten(compacted.messages)
        before, after = compacted.tokens_before, compacted.tokens_after
        return HistoryCompacted(self._kept.turn, compacted.notes, before, after, self._context.window or before)

    async def _tell(self, event: AgentEvent) -> list[AgentEvent]:
        """Writes the event down and tells it to the hooks; gives it, after those that failed at it."""
        self._kept.noted(event)
        failed = await self._bench.hooks.tell(event)
        for each in failed:
            self._kept.noted(each)
        return [*failed, event]
