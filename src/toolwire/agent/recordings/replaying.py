"""Plays a recording again, without network, person or tools: for bug reports, and to see that an upgrade changes
nothing.

The recorded bytes go through the real decoder, loop and encoder; decisions and results are those that were recorded.
What the run tells and what it would send can then be compared with what it told and sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any

import msgspec

from ...errors import RecordingFailed, ToolwireError, revived
from ...messages import Message
from ...providers.catalog import split_model
from ...providers.endpoint import Endpoint
from ...refusals import shown_url
from ...stream.segments import EventType, SegmentEvent
from ...transport import HttpRequest
from ..events import AgentEvent, RequestRetried, RunEnd, RunFailed, RunFinished, RunStarted, ToolProgress
from ..hooks import Hooks
from ..loop import Agent
from .masking import Mask
from .playing import Played, PlayedExecutor, PlayedGate, PlayedToolbox, Recut, as_played
from .recorded import Header, RecordedRun, Recording
from .recorded import load_recording as load_recording

_PARALLEL = 10_000
"""Calls that may run at a time: nothing runs, and whatever order was recorded must be possible."""
_NOWHERE = "http://127.0.0.1:1"
"""The address of a server that was started for the recorded run: nothing is sent, and nothing is started."""
_MASK = Mask()


class ReplayDiffers(ToolwireError):
    """A replay told or sent something else than was recorded. Facts: run, what (`event`, `request`), number, recorded,
    replayed.
    """


def replay_agent(recording: Recording, *, recut: Recut | None = None) -> Agent:
    """An agent that plays the recording: each `run` is the next recorded one, whatever it is asked.

    Its provider gives the recorded bytes, as they were cut then or as `recut` cuts them, without waiting; who is asked
    answers, and tools give, what they did then. Nothing is sent and nothing is run.
    """
    with _playable():
        return _Replay(recording, recut).agent


async def replay(recording: Recording, *, recut: Recut | None = None) -> AsyncGenerator[AgentEvent, None]:
    """Everything that the recorded runs tell when they are played, one after the other.

    Raises `ReplayDiffers` after a run that told or would have sent something else than was recorded. Not compared are
    times, ids of sessions, how words were cut into pieces, and what looks like a key. What no run can have left in a
    recording, wherever it shows, is a `RecordingFailed`.
    """
    with _playable():
        playing = _Replay(recording, recut)
        async with playing.agent as agent:
            for number, run in enumerate(recording.runs, 1):
                told: list[AgentEvent] = []
                async with aclosing(agent.run(run.begin.prompt, tool_choice=run.begin.tool_choice)) as events:
                    async for event in events:
                        if isinstance(event, RunEnd) and playing.played.was_stopped and playing.played.end is not None:
                            event = playing.played.end
                        elif isinstance(event, (RunFinished, RunFailed)) and playing.played.had_questions:
                            event = playing.played.with_usage(event)
                        told.append(event)
                        yield event
                compare(number, run, told, playing.played.requests)


@contextmanager
def _playable() -> Iterator[None]:
    """Whoever wrote the file may have written anything: what Toolwire stumbles over in it is told as such."""
    try:
        yield
    except ToolwireError:
        raise
    except Exception as error:
        raise RecordingFailed(
            f"the recording holds what no run leaves ({type(error).__name__}: {error})",
            hint="Make it again: `toolwire run --record FILE`.",
        ) from error


def compare(number: int, run: RecordedRun, told: Sequence[AgentEvent], sent: Sequence[HttpRequest]) -> None:
    """Raises `ReplayDiffers` where a run that was played is not the recorded one, as far as that goes."""
    events, recorded = list(comparable(told)), list(comparable(run.events, are_masked=True))
    requests = [
        _without_keys({"path": _path(request.url), "body": msgspec.json.decode(request.body)}) for request in sent
    ]
    asked = [_squeezed({"path": _path(each.request.url), "body": each.request.body}) for each in run.answers]
    if not (run.events and isinstance(run.events[-1], RunEnd)):
        # Whoever recorded it was killed: its last words may be half of what they were.
        recorded = recorded[:-1]
        events, requests = events[: len(recorded)], requests[: len(asked)]
    _same(number, "event", recorded, events)
    _same(number, "request", asked, requests)


def comparable(events: Iterable[AgentEvent], *, are_masked: bool = False) -> Iterator[dict[str, Any]]:
    """The events as JSON, words joined, without what no two runs have in common and what looks like a key."""
    for event in _joined(events):
        if isinstance(event, RequestRetried):
            event = msgspec.structs.replace(event, seconds=0.0)
        elif isinstance(event, ToolProgress):
            event = msgspec.structs.replace(event, missed=0)
        elif isinstance(event, RunStarted):
            event = msgspec.structs.replace(event, model="", session="")
        yield _squeezed(event) if are_masked else _without_keys(event)


def _without_keys(value: Any) -> Any:
    return _squeezed(_MASK.value(value))


def _squeezed(value: Any) -> Any:
    """As JSON; what was taken out is three stars, however long it was."""
    written = msgspec.json.encode(value)
    while b"****" in written:
        written = written.replace(b"****", b"***")
    return msgspec.json.decode(written)


def _joined(events: Iterable[AgentEvent]) -> Iterator[AgentEvent]:
    held: SegmentEvent | None = None
    for event in events:
        is_words = isinstance(event, SegmentEvent) and event.type is EventType.CONTENT
        if held is not None and isinstance(event, SegmentEvent) and is_words and event.segment_id == held.segment_id:
            held = msgspec.structs.replace(held, delta=held.delta + event.delta)
            continue
        if held is not None:
            yield held
            held = None
        if isinstance(event, SegmentEvent) and is_words:
            held = msgspec.structs.replace(event, fields=None)
        else:
            yield event
    if held is not None:
        yield held


def _path(url: str) -> str:
    """Where on the server; a server of this machine has another port each time."""
    return shown_url(url).partition("://")[2].partition("/")[2]


def _same(run: int, what: str, recorded: list[dict[str, Any]], replayed: list[dict[str, Any]]) -> None:
    for place in range(max(len(recorded), len(replayed))):
        old = recorded[place] if place < len(recorded) else None
        new = replayed[place] if place < len(replayed) else None
        if old != new:
            raise ReplayDiffers(
                f"run {run} is not as it was recorded: {what} {place + 1} differs",
                hint="The facts `recorded` and `replayed` hold the two.",
                run=run,
                what=what,
                number=place + 1,
                recorded=old,
                replayed=new,
            )


class _Replay(Hooks):
    """Makes the agent, stands between it and the recording, and is its transport."""

    def __init__(self, recording: Recording, recut: Recut | None) -> None:
        self._runs = iter(recording.runs)
        self._recut = recut
        self._base_url = recording.header.base_url
        self._played: Played | None = None
        self.agent = _agent(recording.header, self)

    @property
    def played(self) -> Played:
        """The run that is played."""
        if self._played is None:
            raise RecordingFailed("nothing is played yet")
        return self._played

    async def on_run(self, agent: Agent, prompt: Message, tool_choice: str) -> None:
        """Takes the next recorded run, and goes back to where it began."""
        run = next(self._runs, None)
        if run is None:
            raise RecordingFailed("the recording holds no more runs", hint="Make another replay to play it again.")
        self._played = Played(run, agent.interrupt)
        agent.messages[:] = run.begin.history
        agent._kept.turn = run.begin.turn
        if run.answers:
            first, connection = run.answers[0].request, agent._connection
            connection._is_tiny = first.shaped
            # Never empty: the embedded model is started where no address is known.
            base_url = self._base_url or first.url.removesuffix(connection._endpoint.path) or _NOWHERE
            connection._endpoint = msgspec.structs.replace(connection._endpoint, model=first.model, base_url=base_url)
        self._played.saw(RunStarted("", "", ""))
        if (error := self._played.failed_at_once()) is not None:
            raise revived(error)

    async def on_event(self, event: AgentEvent) -> None:
        """Sees how far the run has come. Its beginning is told before the run is known."""
        if self._played is not None and not isinstance(event, (RunStarted, RunEnd)):
            self._played.saw(event)

    async def before_request(self, turn: int, messages: Sequence[Message]) -> str | None:
        """Says no where it was said."""
        return self.played.veto()

    def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """As `Transport.stream`."""
        return self.played.answer(request, self._recut)

    async def aclose(self) -> None:
        """Nothing is open."""


def _agent(header: Header, replay: _Replay) -> Agent:
    """An agent as the recorded one was, whatever this machine's environment says, but with nothing to send or run."""
    tools = [as_played(tool) for tool in header.tools]
    agent = Agent(
        f"openai-compatible:{header.model}",
        tools,
        base_url=header.base_url or _NOWHERE,
        transport=replay,
        stream_parser="api_tool_call",
        options=header.options,
        bounds=msgspec.structs.replace(header.bounds, seconds=None),
        retries=header.retries,
        context_tokens=header.context_tokens,
        parallel=_PARALLEL,
        hooks=[replay],
    )
    provider, _ = split_model(f"{header.provider}:{header.model}")
    connection = agent._connection
    connection._named = connection._endpoint = Endpoint(
        provider=provider,
        model=header.model,
        base_url=header.base_url or _NOWHERE,
        path=header.path,
        auth=provider.auth,
    )
    agent._parser = connection.parser(header.parser, agent._tools)._replace(repair=header.repair)
    agent._text_parser = connection.text_parser("auto", agent._tools) if header.fallback else None
    agent._toolbox = PlayedToolbox(tools, lambda: replay.played)
    gate = PlayedGate(lambda: replay.played)
    executor = PlayedExecutor(gate, lambda: replay.played, agent._host.tell)
    agent._bench = agent._bench._replace(gate=gate, executor=executor)
    agent._sleep = _at_once
    return agent


async def _at_once(_: float) -> None:
    pass
