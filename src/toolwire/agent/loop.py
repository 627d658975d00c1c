"""The agent: one loop, readable top to bottom.

request → stream → invocations → approvals → execution → results → request, until the model ends its turn
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

from ..approval.audit import Audit, AuditTrail
from ..approval.gate import Gate
from ..approval.memory import Memory
from ..approval.places import Workspace
from ..approval.policy import Policy
from ..approval.request import Ask
from ..chunks import RUNNABLE_STOPS, StopReason, TokenUsage
from ..embedded.choosing import StreamParser
from ..errors import ConfigError, RunLimitReached, ToolwireError
from ..execution.environment import child_environment
from ..execution.executor import Executor
from ..messages import Message, system, user
from ..redaction import Redactor
from ..refusals import hide_secrets
from ..stream.pipeline import Stream
from ..stream.segments import CALL_SEGMENTS, EventType, SegmentEvent
from ..tools.registry import ToolRegistry
from ..transport import AiohttpTransport, HttpRequest, Transport
from .calls import Calls
from .endpoint import Connection
from .events import AgentEvent, HistoryMoved, RunFailed, RunFinished, TurnStarted

MAX_TURNS = 25
"""Requests in one run: more than any ordinary task takes, and an end to a model that never stops calling."""

MAX_FAILED_TURNS = 3
"""Answers in a row of which no call could run: a model that has not found the form by then will not."""

PARALLEL = 8
"""Calls of one answer that run at a time: as many as models make, and few enough for any machine or service."""


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
    asked about it whatever its tool's risk.
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
        max_turns: int = MAX_TURNS,
        stream_parser: str | StreamParser | None = None,
        repair: bool = False,
    ) -> None:
        if parallel < 1:
            raise ConfigError(f"{parallel} calls at a time are none", hint="Give parallel as 1 or more.")
        self.messages: list[Message] = [system(system_prompt)] if system_prompt else []
        self._tools = ToolRegistry(tools)
        self._connection = Connection(model, base_url=base_url, api_key=api_key)
        self._parser = self._connection.parser(stream_parser, self._tools)
        if repair:
            self._parser = self._parser._replace(repair=True)
        self._transport: Transport = transport if transport is not None else AiohttpTransport()
        self._redactor = Redactor([self._connection.key], os.environ)
        self._gate = Gate(
            approve,
            policy=Policy(policy) if isinstance(policy, str) else policy,
            workspace=Workspace(workspace) if isinstance(workspace, (str, os.PathLike)) else workspace,
            memory=memory,
            environment=child_environment(os.environ),
            audit=audit if not isinstance(audit, (str, os.PathLike)) else AuditTrail(audit, self._redactor),
        )
        self._executor = Executor(self._gate, redactor=Redactor([self._connection.key]))
        self._parallel = parallel
        self._max_turns = max_turns
        self._turn = 0
        self._notes: list[str] = []
        self._failure: ToolwireError | None = None

    async def __aenter__(self) -> Agent:
        await self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes connections and ends the embedded model, if it was started."""
        await self._transport.aclose()
        await self._connection.close()

    def run_sync(self, prompt: str) -> RunFinished:
        """Runs to the end and returns it; raises the error of a run that failed. For scripts and notebooks.

        Where a loop runs already, as in a notebook, it has a thread and a loop of its own.
        """
        if not _is_loop_running():
            return asyncio.run(self._run_to_end(prompt))
        left: Future[None] = Future()

        async def run() -> RunFinished:
            loop, task = asyncio.get_running_loop(), asyncio.create_task(self._run_to_end(prompt))

            def stop(_: object) -> None:
                with suppress(RuntimeError):  # the loop is closed when the run has ended
                    loop.call_soon_threadsafe(task.cancel)

            left.add_done_callback(stop)
            return await task

        with ThreadPoolExecutor(1, "toolwire-run") as thread:
            try:
                return thread.submit(asyncio.run, run()).result()
            finally:
                # Interrupted at the keyboard, the run does not go on unseen.
                left.set_result(None)

    async def _run_to_end(self, prompt: str) -> RunFinished:
        try:
            end = [event async for event in self.run(prompt)][-1]
        finally:
            await self.close()
        if isinstance(end, RunFailed) and self._failure is not None:
            raise self._failure
        assert isinstance(end, RunFinished), "a run ends with RunFinished or RunFailed"
        return end

    async def run(self, prompt: str) -> AsyncGenerator[AgentEvent, None]:
        """Everything that happens until the model has ended its turn; the last event says how it ended."""
        first = self._turn + 1
        self.messages.append(user(prompt))
        usage = TokenUsage()
        failed_turns = 0
        try:
            await self._connection.open()
            while self._turn < first + self._max_turns - 1:
                self._turn += 1
                yield TurnStarted(self._turn)

                request = self._connection.request(messages=self.messages, tools=self._tools, parser=self._parser)
                if self._connection.notes != self._notes:
                    self._notes = self._connection.notes
                    if self._notes:
                        yield HistoryMoved(self._turn, self._notes)
                stream = Stream(
                    self._connection.wire,
                    self._tools,
                    turn=self._turn,
                    segment_id_prefix=f"t{self._turn}-",
                    live_arguments=True,
                    stream_parser=self._parser,
                    on_error=partial(hide_secrets, request=request, redactor=self._redactor),
                )
                unknown: list[str] = []
                nameless: list[str] = []
                async with aclosing(self._ask_model(stream, request)) as segment_events:
                    async for segment_event in segment_events:
                        if segment_event.type is EventType.DONE and segment_event.metadata:
                            unknown = segment_event.metadata.get("unknown_tools", unknown)
                        elif _is_nameless(segment_event):
                            nameless.append(segment_event.segment_id)
                        yield segment_event
                usage = _sum(usage, stream.usage)
                if stream.error is not None:
                    raise stream.error

                answer = stream.message
                answer.origin = self._connection.provider
                mistaken = bool(unknown or nameless) and self._may_mean_calls(stream)
                if answer.tool_calls:
                    async with aclosing(self._answer_calls(answer, stream)) as call_events:
                        async for event in call_events:
                            yield event
                else:
                    self.messages.append(answer)
                    if stream.stop_reason is StopReason.PAUSE:
                        continue  # the provider wants the turn as it stands sent back, and goes on
                    if not mistaken:
                        stop_reason = stream.stop_reason or StopReason.STOP
                        yield RunFinished(answer.text, stop_reason, self._turn - first + 1, usage)
                        return
                if mistaken:
                    broken = [stream.problems[segment_id] for segment_id in nameless]
                    self.messages.append(user(_mistakes(broken, unknown, self._tools.names)))
                failed_turns = 0 if stream.invocations else failed_turns + 1
                if failed_turns >= MAX_FAILED_TURNS:
                    raise RunLimitReached(
                        f"the model made calls that cannot run {failed_turns} times in a row",
                        hint="Try a more capable model or fewer tools; each result told it what was wrong.",
                        what="failed turns",
                        limit=MAX_FAILED_TURNS,
                    )
            raise RunLimitReached(
                f"the model has not ended its turn after {self._max_turns} requests",
                hint="Raise max_turns if the task needs more.",
                what="turns",
                limit=self._max_turns,
            )
        except ToolwireError as error:
            self._failure = error
            yield RunFailed(error.info(), self._turn - first + 1)

    async def _ask_model(self, stream: Stream, request: HttpRequest) -> AsyncGenerator[SegmentEvent, None]:
        """Sends the conversation and gives the events of the answer; afterwards `stream` knows how it ended."""
        try:
            async with aclosing(self._transport.stream(request)) as body:
                async for data in body:
                    for event in stream.feed(data):
                        yield event
                    if stream.complete or stream.error is not None:
                        break
            for event in stream.close():
                yield event
        except ToolwireError as error:
            hide_secrets(error, request, self._redactor)
            for event in stream.fail(error):
                yield event

    def _may_mean_calls(self, stream: Stream) -> bool:
        """Whether words in the form of a call were meant as one: where a model has no other way to make it."""
        return not self._parser.native and stream.stop_reason in RUNNABLE_STOPS

    async def _answer_calls(self, answer: Message, stream: Stream) -> AsyncGenerator[AgentEvent, None]:
        """Runs what may run and appends the answer with one result for each of its calls, in their order.

        Also when it is cancelled in between: the history never holds a call without a result.
        """
        calls = Calls(
            answer.tool_calls,
            stream.invocations,
            stream.problems,
            tools=self._tools,
            gate=self._gate,
            executor=self._executor,
            parallel=self._parallel,
            turn=self._turn,
        )
        try:
            async with aclosing(calls.run()) as events:
                async for event in events:
                    yield event
        finally:
            self.messages += [answer, calls.results()]


def _is_nameless(event: SegmentEvent) -> bool:
    """Whether this begins a call that names no tool: it is broken."""
    return event.type is EventType.START and event.segment_type in CALL_SEGMENTS and not event.tool_name


def _mistakes(broken: list[str], unknown: list[str], known: list[str]) -> str:
    """What a model is told whose text held calls that name no tool, or none that there is: they have no result to say
    it.
    """
    sentences = [f"Error: not run: {problem}." for problem in dict.fromkeys(broken)]
    if unknown:
        wrong = ", ".join(repr(name[:64]) for name in unknown)
        sentences.append(f"Error: not run: there is no tool {wrong}. The tools are: {', '.join(known)}.")
    return "\n".join(sentences)


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _sum(total: TokenUsage, more: TokenUsage | None) -> TokenUsage:
    if more is None:
        return total
    return TokenUsage(*(getattr(total, name) + getattr(more, name) for name in TokenUsage.__struct_fields__))
