"""`Talk`: one conversation at a screen. Its agent is made anew when the person wants another model, other tools …"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from ..agent.events import AgentEvent, HistoryCompacted, RunEnd, RunFailed, RunFinished, RunInterrupted
from ..agent.loop import Agent
from ..agent.sessions.store import Session, SessionInfo, SessionRecord, SessionStore
from ..approval.files import load_layers
from ..approval.policy import Mode, Policy
from ..chunks import TokenUsage
from ..cli.assembly import Assembly, Made, Options
from ..errors import ConfigError
from ..inspection.tap import Reading, TappedTransport, WireLog
from ..messages import Message, Part
from ..settings.model import Price
from ..transport import Transport
from .retelling import retold

if TYPE_CHECKING:
    from ..agent.recordings.recording import Recorder
    from ..cli.console import PlainConsole
    from ..durable.client import Runs
    from .attached import AttachedRun
    from .desk import Desk


class Talk:
    """A conversation and all that may change about it between two questions.

    What was said goes over to the next agent, and so does what the person decided "for this session". A change that
    cannot be made raises, and leaves everything as it was. Use it as an async context manager.
    """

    def __init__(
        self,
        assembly: Assembly,
        options: Options,
        model: str,
        base_url: str | None = None,
        *,
        prices: Mapping[str, Price] | None = None,
        store: SessionStore | None = None,
        session: Session | None = None,
        console: PlainConsole | None = None,
        runs: Callable[[], Runs] | None = None,
    ) -> None:
        self.assembly = assembly
        self.options = options
        self.prices: Mapping[str, Price] = prices or {}
        self.store = store
        self.wire = WireLog()
        """What went over the wire last, for whoever wants to look."""
        self.usage: dict[str, TokenUsage] = {}
        """Tokens of the runs that have ended, by `provider:model`."""
        self.recording = ""
        """The file that is written of all that happens; empty: none is."""
        self.running = False
        self._still = asyncio.Event()
        """Nothing is running."""
        self.attached: AttachedRun | None = None
        """The durable run that is shown in place of the person's own conversation, if one is."""
        self._make_runs = runs
        self._runs: Runs | None = None
        self._open = AsyncExitStack()
        self._recorder: Recorder | None = None
        self._session = session
        self.made: Made = self._make(options, model, base_url, console=console)
        self.wire.reading = lambda: Reading(self.agent.parser, self.agent.tools)

    async def __aenter__(self) -> Talk:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def agent(self) -> Agent:
        """Who is asked now."""
        return self.made.agent

    @property
    def model(self) -> str:
        """As `--model` takes it."""
        return self.made.model

    @property
    def mode(self) -> Mode:
        """What runs without a question."""
        return self.agent.policy.mode

    @property
    def session(self) -> SessionInfo | None:
        """What is kept of it; None where nothing is."""
        return None if self._session is None else self._session.info

    @property
    def unknown(self) -> list[str]:
        """The tools that were running when the program ended in the middle of the session: nobody knows what came."""
        return [] if self._session is None else [call.name for call in self._session.unknown]

    async def run(self, question: str | Message | Sequence[Part]) -> AsyncGenerator[AgentEvent, None]:
        """Everything that happens until the model has ended its turn; the last event is a `RunEnd`."""
        if self.running:
            raise ConfigError("an answer is going on", hint="Wait for its end, or stop it first.")
        self.running = True
        self._still.clear()
        model, attached = self.model, self.attached
        try:
            async with aclosing((attached or self.agent).run(question)) as events:
                async for event in events:
                    if attached is None and isinstance(event, (RunFinished, RunInterrupted, RunFailed)):
                        self._count(model, event)
                    yield event
            if attached is not None and attached.left:
                await self.detach()
        finally:
            self.running = False
            self._still.set()

    def interrupt(self) -> None:
        """Ends the answer that is going on, whatever it waits for. A durable run is left, and goes on."""
        if self.attached is not None:
            self.attached.leave()
        else:
            self.agent.interrupt()

    async def runs(self) -> Runs:
        """The durable runs, of this machine and others."""
        if self._runs is None:
            if self._make_runs is None:
                raise ConfigError("no durable runs are known here", hint="See toolwire runs --help.")
            self._runs = await self._open.enter_async_context(self._make_runs())
        return self._runs

    async def attach(self, id: str, desk: Desk) -> AttachedRun:
        """Shows a durable run from now on; what it asks is asked at the desk. `run` with no words follows it."""
        from .attached import AttachedRun

        runs = await self.runs()
        info = await runs.get(id)
        spec = await runs.spec(info.id)
        if self.running and self.attached is not None:
            self.attached.leave()
            await self._still.wait()
        elif self.running:
            raise ConfigError("an answer is going on", hint="Stop it first, with Esc, or wait for its end.")
        self.attached = AttachedRun(runs, info, spec, desk)
        return self.attached

    async def detach(self) -> None:
        """Goes back to the person's own conversation."""
        left, self.attached = self.attached, None
        if left is not None:
            await left.desk.left(left.left_words)

    def past(self) -> Iterable[Message | AgentEvent] | AsyncIterable[Message | AgentEvent] | None:
        """What was said and done before now, to be shown; None where nothing was."""
        if self.attached is not None:
            return self.attached.past()
        record = self.record()
        return None if record is None else retold(record.entries)

    async def settle(self) -> None:
        """Waits for calls that were interrupted and had not ended: a few seconds at most."""
        await self.agent.settle()

    async def change(self, *, model: str | None = None, base_url: str | None = None, **options: Any) -> None:
        """Goes on with another model, or with other `Options`. An address goes with the model that is named with it."""
        self._check_still()
        changed = msgspec.structs.replace(self.options, **options)
        if model is None:
            model, base_url = self.made.model, base_url or self.made.base_url
        await self._go_on(changed, model, base_url)

    def set_mode(self, mode: str) -> Mode:
        """What runs without a question from now on, also for calls that come in the answer at hand.

        A project's file can narrow what was wanted: gives the mode that holds.
        """
        layers = load_layers(self.assembly.workspace, mode=mode, paths=self.assembly.files)
        self.options = msgspec.structs.replace(self.options, mode=mode)
        self.agent.policy.mode = layers.mode
        return layers.mode

    async def resume(self, id: str) -> None:
        """Goes on with an earlier session, with the model that it was begun with."""
        self._check_still()
        if self.store is None:
            raise ConfigError("no sessions are kept here", hint="Start without --no-session.")
        if self._session is not None and self.store.find(id) == self._session.id:
            raise ConfigError("this is that session", hint="/sessions lists the others.")
        session = self.store.open(id)
        if "***" in session.info.base_url:
            session.close()
            raise ConfigError(
                f"the address of the session's server held a secret, which was not kept: {session.info.base_url}",
                hint="Start with it: toolwire chat --resume ID --model MODEL --base-url URL",
            )
        await self._begin(session, session.info.model, session.info.base_url or None)

    async def new(self) -> None:
        """Begins a new conversation with the same model and options."""
        self._check_still()
        session = None
        if self.store is not None:
            cwd, url = self.assembly.workspace.root, self.made.base_url or ""
            session = self.store.create(model=self.model, cwd=cwd, base_url=url)
        await self._begin(session, self.model, self.made.base_url)

    def record(self) -> SessionRecord | None:
        """All that is written of this session so far; None where nothing is kept, or nothing was said yet."""
        if self.store is None or self._session is None or not self._session.info.title:
            return None
        return self.store.read(self._session.id)

    def compact(self) -> HistoryCompacted | None:
        """Makes the conversation shorter; None where nothing is left to leave out."""
        self._check_still()
        return self.agent.compact()

    async def forget(self) -> None:
        """What the person decided for this session holds no longer; what is kept in files does."""
        self._check_still()
        before, mode = self.agent, self.mode
        made = self._make(self.options, self.made.model, self.made.base_url)
        made.agent.follow(before)
        made.agent.policy.mode = mode
        self.made = made
        await before.close()

    async def start_recording(self, path: str) -> None:
        """Writes all that the provider sends and all that happens into a new file from the next question on."""
        self._check_still()
        from ..agent.recordings.recording import Recorder

        if self._recorder is not None:
            raise ConfigError(f"{self.recording} is being written", hint="End that first: /record off")
        recorder = self._recorder = Recorder(path)
        try:
            await self._go_on(self.options, self.made.model, self.made.base_url)
        except BaseException:
            self._recorder = None
            recorder.close()
            raise
        self.recording = path

    async def stop_recording(self) -> str:
        """Ends the file; gives its path."""
        self._check_still()
        recorder, path = self._recorder, self.recording
        if recorder is None:
            raise ConfigError("nothing is being recorded", hint="Begin: /record FILE")
        self._recorder = None
        try:
            await self._go_on(self.options, self.made.model, self.made.base_url)
        except BaseException:
            self._recorder = recorder
            raise
        self.recording = ""
        recorder.close()
        return path

    async def close(self) -> None:
        """Ends everything that was started, and lets others open the session."""
        try:
            await self.agent.close()
        finally:
            if self._recorder is not None:
                self._recorder.close()
            if self._session is not None:
                self._session.close()
            await self._open.aclose()

    def _make(
        self,
        options: Options,
        model: str,
        base_url: str | None,
        *,
        policy: Policy | None = None,
        console: PlainConsole | None = None,
    ) -> Made:
        recorder = self._recorder

        def around(transport: Transport) -> Transport:
            tapped = TappedTransport(transport, self.wire)
            return tapped if recorder is None else recorder.transport(tapped)

        return self.assembly.make(
            options,
            model,
            base_url,
            session=self._session,
            policy=policy,
            hooks=() if recorder is None else (recorder,),
            around=around,
            console=console,
        )

    async def _go_on(self, options: Options, model: str, base_url: str | None) -> None:
        """The same conversation with another agent."""
        before = self.agent
        policy = Policy(before.policy.mode, before.policy.rules)
        made = self._make(options, model, base_url, policy=policy)
        made.agent.follow(before)
        self.made, self.options = made, options
        await before.close()

    async def _begin(self, session: Session | None, model: str, base_url: str | None) -> None:
        """Another conversation. What was decided for the session that it leaves ends with it."""
        before, left = self.agent, self._session
        self._session = session
        try:
            made = self._make(self.options, model, base_url)
        except BaseException:
            self._session = left
            if session is not None:
                session.close()
            raise
        self.made = made
        try:
            await before.close()
        finally:
            if left is not None:
                left.close()

    def _check_still(self) -> None:
        if self.attached is not None:
            raise ConfigError(
                f"run {self.attached.id} is shown, and what it works with is not changed from here",
                hint="/detach goes back to your own conversation.",
            )
        if self.running:
            raise ConfigError("an answer is going on", hint="Stop it first, with Esc, or wait for its end.")

    def _count(self, model: str, end: RunEnd) -> None:
        spent = self.usage.get(model, TokenUsage())
        self.usage[model] = TokenUsage(
            *(getattr(spent, name) + getattr(end.usage, name) for name in TokenUsage.__struct_fields__)
        )
