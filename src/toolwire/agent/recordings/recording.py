"""`Recorder`: writes a run down as the bytes that the provider sent and the events that came of them.

What is promised: the file is new and for this user alone; every line is in it, whole, before what it tells of goes on,
but for the answer that is coming in, which is written when it has ended, since a secret that a model says word by word
can only be seen then. No key is in it: headers and queries are not written, and all else goes through `Mask`. A
recording that cannot be written ends the run with a `RecordingFailed`: whoever asked for one does not find half of it
later.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ...errors import ConfigError, ErrorInfo, RecordingFailed, ToolwireError
from ...limits import MIB
from ...messages import Message
from ...redaction import Redactor
from ...refusals import hide_secrets, secrets_of, shown_url
from ...stream.segments import SegmentEvent
from ...transport import HttpRequest, Transport
from ..events import AgentEvent, RunStarted
from ..hooks import Hooks
from ..hosting import BESIDE
from .masking import Mask
from .recorded import (
    LARGEST,
    VERSION,
    EndLine,
    EventLine,
    Header,
    Line,
    RecordedTool,
    RequestLine,
    RunLine,
    chunk_line,
)

if TYPE_CHECKING:
    from ..loop import Agent

HELD = 64 * MIB
"""Bytes of one answer that are held until it has ended. The longest recorded is under 1 MiB."""


class Recorder(Hooks):
    """Records one agent: give it to the agent as a hook, and let it stand between the agent and its transport.

        recorder = Recorder("run.jsonl")
        agent = Agent(..., transport=recorder.transport(AiohttpTransport()), hooks=[recorder])

    The path must be that of no file. `redactor` knows what else is secret, beside the agent's key and the environment.
    Agents that run as tools are recorded by their events alone, as the tools they are. What the servers of tools ask
    the model while they work is not recorded; the results of their calls are.
    """

    def __init__(self, path: str | os.PathLike[str], *, redactor: Redactor | None = None) -> None:
        self.path = os.fspath(path)
        self._given = redactor
        self._mask = Mask(*([redactor] if redactor is not None else []), Redactor(environment=os.environ))
        self._agent: Agent | None = None
        self._inner: Transport | None = None
        self._began = time.monotonic()
        self._requests = 0
        self._size = 0
        self._held: list[tuple[float, bytes | dict[str, Any] | Line]] = []
        self._held_bytes = 0
        self._is_streaming = False
        self._is_begun = False
        self.failure: RecordingFailed | None = None
        """Why nothing more is written, if that is so."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._file: int | None = os.open(path, flags, 0o600)
        except OSError as error:
            raise RecordingFailed(
                f"cannot record to {self.path}: {error.strerror or error}",
                hint="Give the path of a file that does not exist yet, in a folder that does.",
                path=self.path,
            ) from None

    def transport(self, inner: Transport) -> Transport:
        """The agent's way to its provider, with the recorder in it."""
        if self._inner is not None:
            raise ConfigError(
                "a recorder records one agent", hint="Make a Recorder for each agent, with a file of its own."
            )
        self._inner = inner
        return _Recorded(self, inner)

    async def on_run(self, agent: Agent, prompt: Message, tool_choice: str) -> None:
        """Writes down what the run begins with."""
        self.check()
        if self._agent is None:
            self._agent = agent
            known = [redactor for redactor in (self._given, agent._redactor) if redactor is not None]
            self._mask = Mask(*known)
            self._write(header_of(agent, self._mask))
        elif self._agent is not agent:
            raise ConfigError("a recorder records one agent", hint="Make a Recorder for each agent.")
        line = RunLine(self._now(), prompt, tool_choice, agent._kept.turn, agent.messages)
        self._write(msgspec.convert(self._mask.value(line), RunLine))
        self._is_begun = True
        self._flush()
        self.check()

    async def on_event(self, event: AgentEvent) -> None:
        """Writes an event down, or holds it until the answer that it belongs to has ended."""
        if self.failure is not None or self._file is None:
            return
        try:
            if isinstance(event, SegmentEvent) and event.fields is not None:
                event = msgspec.structs.replace(event, fields=None)
            value = msgspec.json.decode(msgspec.json.encode(event))
            if isinstance(event, RunStarted):
                self._flush()
                self._is_begun = False
            self._held.append((self._now(), value))
            if not self._is_begun:
                # Held until it is known what the run begins with; one that never began is none.
                self._held = self._held[-1:] if isinstance(event, RunStarted) else []
            elif not (isinstance(event, SegmentEvent) or self._is_streaming):
                self._flush()
        except (UnicodeError, TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            self._fail(f"an event cannot be written ({type(error).__name__})")

    def close(self) -> None:
        """Writes what is held and closes the file; raises the `RecordingFailed` of a recording that is not whole."""
        if self._file is not None:
            self._flush()
            os.close(self._file)
            self._file = None
        if self.failure is not None:
            raise self.failure

    def check(self) -> None:
        """Raises why nothing more can be written, if that is so."""
        if self.failure is not None:
            raise self.failure
        if self._file is None:
            raise RecordingFailed("this recording is closed", path=self.path)

    def asked(self, request: HttpRequest) -> None:
        """A request is about to be sent. Raises unless that is written down."""
        self.check()
        self._flush()
        if self._agent is None:
            self._fail("nobody told what is recorded", "Give the recorder to the agent: hooks=[recorder].")
        self._mask = self._mask_for(request)
        self._requests += 1
        body = self._mask.value(msgspec.json.decode(request.body))
        shaped = self._agent is not None and self._agent._connection._is_tiny
        url = self._mask.text(shown_url(request.url))
        self._write(RequestLine(self._now(), self._requests, url, body, request.model, shaped))
        self._is_streaming = True
        self.check()

    def came(self, data: bytes) -> None:
        """Bytes of its answer came. Raises where they are more than can be held."""
        self._held.append((self._now(), data))
        self._held_bytes += len(data)
        if self._held_bytes > HELD:
            self._fail(f"an answer is larger than {HELD:,} bytes")
            self.check()

    def ended(self, how: str, error: ErrorInfo | None) -> None:
        """The answer has ended."""
        self._is_streaming = False
        # An error may repeat any part of what was sent, and more than the secrets of the request are in that.
        masked = None if error is None else msgspec.convert(self._mask.value(error), ErrorInfo)
        self._held.append((0.0, EndLine(self._now(), how, masked)))

    def _mask_for(self, request: HttpRequest) -> Mask:
        known = [] if self._agent is None else [self._agent._redactor]
        given = [] if self._given is None else [self._given]
        return Mask(*given, *known, Redactor(secrets_of(request)))

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _flush(self) -> None:
        """Writes what was held, in its order, without the secrets in it."""
        held, self._held, self._held_bytes = self._held, [], 0
        if self.failure is not None:
            return
        chunks = iter(self._mask.body([each for _, each in held if isinstance(each, bytes)]))
        events = iter(self._mask.values([each for _, each in held if isinstance(each, dict)]))
        for at, each in held:
            if isinstance(each, bytes):
                self._write(chunk_line(at, next(chunks)))
            elif isinstance(each, dict):
                self._write(EventLine(at, next(events)))
            else:
                self._write(each)

    def _write(self, line: Line) -> None:
        if self.failure is not None or self._file is None:
            return
        data = memoryview(msgspec.json.encode(line) + b"\n")
        self._size += len(data)
        if self._size > LARGEST:
            return self._fail(f"it would be larger than {LARGEST:,} bytes")
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._fail(str(error.strerror or error))

    def _fail(self, why: str, hint: str = "Check the disk, or run without a recording.") -> None:
        if self.failure is None:
            self.failure = RecordingFailed(f"cannot record to {self.path}: {why}", hint=hint, path=self.path)


class _Recorded:
    """A transport that tells a recorder what goes through it."""

    def __init__(self, recorder: Recorder, inner: Transport) -> None:
        self._recorder = recorder
        self._inner = inner

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """As `Transport.stream`."""
        recorder = self._recorder
        if BESIDE.get():
            async with aclosing(self._inner.stream(request)) as body:
                async for data in body:
                    yield data
            return
        recorder.asked(request)
        how, told = "closed", None
        try:
            async with aclosing(self._inner.stream(request)) as body:
                async for data in body:
                    recorder.came(data)
                    yield data
            how = "end"
        except ToolwireError as error:
            hide_secrets(error, request)
            how, told = "error", error.info()
            raise
        finally:
            recorder.ended(how, told)

    async def aclose(self) -> None:
        """As `Transport.aclose`. The recording stays open, since an agent that was closed can run again."""
        await self._inner.aclose()


def header_of(agent: Agent, mask: Mask) -> Header:
    """What a replay needs to know of an agent."""
    from ... import __version__

    connection = agent._connection
    endpoint = connection._named
    header = Header(
        version=VERSION,
        toolwire=__version__,
        started=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        provider=endpoint.provider.name,
        model=endpoint.model,
        wire=endpoint.provider.wire,
        base_url=shown_url(endpoint.base_url),
        path=shown_url(endpoint.path),
        parser=agent._parser.name,
        repair=agent._parser.repair,
        fallback="" if agent._text_parser is None else agent._text_parser.name,
        tools=[
            RecordedTool(name=tool.name, description=tool.description, parameters=tool.parameters, risk=tool.risk)
            for tool in agent._tools
        ],
        system_prompt=next((message.text for message in agent.messages if message.role == "system"), ""),
        options=connection.options,
        bounds=agent._bounds,
        retries=agent._retries,
        context_tokens=agent._context.window,
    )
    return msgspec.convert(mask.value(header), Header)
