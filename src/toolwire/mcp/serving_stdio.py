"""A `ToolServer` over the standard input and output of its process, for the client that started it.

Standard input and output are the protocol and nothing else: while a server runs, whatever prints, a tool or a program
that it starts, prints to standard error, and whoever reads standard input finds it empty. A message is bounded, and
so is the number of requests that wait; a client that sends faster than it reads is read no faster.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Queue
from typing import NamedTuple

import anyio
import mcp_types as types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from ..strict_json import NotStrict, parse
from .limits import MESSAGE_BYTES
from .serving import ToolServer

REQUESTS_WAITING = 64
"""Requests of the client that have no answer yet; one more is refused at once."""
LINES_WAITING = 2
"""Lines that were read and not looked at: each may be as long as a message."""
LEAVE_SECONDS = 2.0
"""How long the last words may take to a client that does not read."""


class Pipes(NamedTuple):
    """Descriptors of the protocol: nobody else knows them."""

    reading: int
    writing: int


@contextmanager
def own_pipes() -> Iterator[Pipes]:
    """Takes standard input and output for the protocol; what is printed meanwhile goes to standard error."""
    sys.stdout.flush()
    pipes = Pipes(os.dup(0), os.dup(1))
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:
            os.dup2(nothing, 1)
        os.close(nothing)
        yield pipes
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        # The duplicates stay open: a thread may still wait on them, and no other file may get their numbers.
        os.dup2(pipes.reading, 0)
        os.dup2(pipes.writing, 1)


async def serve_stdio(server: ToolServer, pipes: Pipes) -> None:
    """Serves the one client at the other end until it closes its side, or this is cancelled."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    lines, words = _Lines(pipes.reading), _Words(pipes.writing)
    flow = _Flow(lines, words)
    writing = asyncio.create_task(flow.write(from_server))
    reading = asyncio.create_task(flow.read(to_server))
    options = server.protocol.create_initialization_options()
    serving = asyncio.create_task(server.protocol.run(from_client, to_client, options))
    try:
        await asyncio.wait({serving})
    finally:
        # Never cancelled, since the SDK does not always take that well: to it, the client has left.
        reading.cancel()
        await server.close()
        await asyncio.wait({serving, writing}, timeout=LEAVE_SECONDS)
        writing.cancel()
        await asyncio.wait({reading, writing, serving}, timeout=LEAVE_SECONDS)
        serving.cancel()
        lines.close()
        words.close()
    if serving.done():
        serving.result()


class _Flow:
    """Messages both ways, and how many requests are between."""

    def __init__(self, lines: _Lines, words: _Words) -> None:
        self._lines = lines
        self._words = words
        self._unanswered = 0

    async def read(self, to_server: anyio.abc.ObjectSendStream[SessionMessage | Exception]) -> None:
        async with to_server:
            while (line := await self._lines.next()) is not None:
                try:
                    message = _message(line)
                except _NoMessage as refused:
                    await self._words.say(_as_line(_error(None, refused.code, str(refused))))
                    continue
                if not isinstance(message, types.JSONRPCRequest):
                    await to_server.send(SessionMessage(message))
                elif self._unanswered >= REQUESTS_WAITING:
                    words = f"{REQUESTS_WAITING} requests wait for their answers; this one was not looked at"
                    await self._words.say(_as_line(_error(message.id, types.INVALID_REQUEST, words)))
                else:
                    self._unanswered += 1
                    metadata = ServerMessageMetadata(on_request_unanswered=self._settled)
                    await to_server.send(SessionMessage(message, metadata=metadata))

    async def write(self, from_server: anyio.abc.ObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for session_message in from_server:
                message = session_message.message
                if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                    await self._settled()
                try:
                    line = _as_line(message)
                except ValueError:  # half of a surrogate pair, or what else no JSON holds: this answer fails alone
                    if not isinstance(message, types.JSONRPCResponse):
                        continue
                    line = _as_line(_error(message.id, types.INTERNAL_ERROR, "the answer cannot be written as JSON"))
                await self._words.say(line)

    async def _settled(self) -> None:
        self._unanswered -= 1


class _NoMessage(Exception):
    """A line that says nothing, and why."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


def _message(line: bytes) -> types.JSONRPCMessage:
    """What the client says; raises `_NoMessage` otherwise."""
    if not line:
        raise _NoMessage(types.INVALID_REQUEST, f"a message has at most {MESSAGE_BYTES:,} bytes")
    try:
        value = parse(line.decode())
        message: types.JSONRPCMessage | None = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except (NotStrict, UnicodeDecodeError):
        raise _NoMessage(types.PARSE_ERROR, "this line is no strict JSON") from None
    except ValidationError:
        message = None
    # What has an id that is none is owed an answer, and no notification.
    if message is None or (isinstance(message, types.JSONRPCNotification) and "id" in value):
        raise _NoMessage(types.INVALID_REQUEST, "this line is no JSON-RPC message")
    return message


def _error(id: types.RequestId | None, code: int, words: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=id, error=types.ErrorData(code=code, message=words))


def _as_line(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


class _Lines:
    """The lines of a descriptor, read in a thread of its own, which the end of the program does not wait for."""

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._come: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(LINES_WAITING)
        self._closed = False
        _start(lambda: self._read(descriptor), "toolwire-mcp reading")

    async def next(self) -> bytes | None:
        """A line, empty for one that is too long; None when there are no more."""
        line = await self._come.get()
        self._room.release()
        return line

    def close(self) -> None:
        """No more is taken."""
        self._closed = True
        self._room.release()

    def _read(self, descriptor: int) -> None:
        with suppress(OSError), open(descriptor, "rb", closefd=False) as stream:
            while line := stream.readline(MESSAGE_BYTES + 1):
                if len(line) > MESSAGE_BYTES:
                    while line and not line.endswith(b"\n"):
                        line = stream.readline(1 << 16)
                    line = b""
                elif not line.strip():
                    continue
                if not self._hand_over(line):
                    return
        self._hand_over(None)

    def _hand_over(self, line: bytes | None) -> bool:
        """Whether somebody is there to take it."""
        self._room.acquire()
        if self._closed:
            return False
        try:
            self._loop.call_soon_threadsafe(self._come.put_nowait, line)
        except RuntimeError:
            return False
        return True


class _Words:
    """Writes to a descriptor in a thread of its own: a client that does not read holds up whoever has words for it,
    and nothing else."""

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._one_at_a_time = asyncio.Lock()
        self._given: Queue[tuple[bytes, asyncio.Event] | None] = Queue()
        _start(lambda: self._write(descriptor), "toolwire-mcp writing")

    async def say(self, line: bytes) -> None:
        """Comes back when it is written, or cannot be."""
        async with self._one_at_a_time:
            written = asyncio.Event()
            self._given.put((line, written))
            await written.wait()

    def close(self) -> None:
        """No more is said."""
        self._given.put(None)

    def _write(self, descriptor: int) -> None:
        while given := self._given.get():
            line, written = given
            with suppress(OSError):  # the client is gone, which reading will tell
                while line:
                    line = line[os.write(descriptor, line) :]
            try:
                self._loop.call_soon_threadsafe(written.set)
            except RuntimeError:
                return


def _start(body: Callable[[], None], name: str) -> None:
    threading.Thread(target=body, daemon=True, name=name).start()
