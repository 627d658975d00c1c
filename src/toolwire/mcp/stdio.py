"""A server as a program: started with its few variables, spoken to in lines over its pipes, ended with its whole tree.

The streams are as the SDK's transports give them. When the server is lost, the last that comes on the read stream is
the `McpFailed` that says why, with the end of what it wrote to its standard error; then the stream ends.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
)

from ..errors import LimitExceeded, McpFailed, ToolwireError
from ..execution.attached import Attached
from ..execution.environment import child_environment
from ..tasks import create_lazy_task
from .config import ServerConfig
from .limits import BLANK_LINES, JUNK_LINES, MESSAGE_BYTES, MESSAGE_VALUES
from .lines import Lines, is_heavy, message_of
from .log import ServerLog

FLUSH_SECONDS = 0.5
"""How long the last message may take to be written when the connection is closed."""

_TOLD_SECONDS = 1.0
"""How long the system has to tell how a server ended that closed its output."""
_SHOWN_BYTES = 2_000
"""How much of a line that is no message goes to the log."""

_NODE = "npx and node come with Node.js: install it from https://nodejs.org or by the system's package manager."
_UV = "uvx comes with uv: `pip install uv`, or see https://docs.astral.sh/uv/."
_DOCKER = "Install Docker, or use another way to run this server."
_MISSING = {"npx": _NODE, "node": _NODE, "npm": _NODE, "uvx": _UV, "uv": _UV, "docker": _DOCKER}

Inward = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Inward], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def stdio_transport(
    config: ServerConfig, *, cwd: str, environment: Mapping[str, str], log: ServerLog
) -> AsyncIterator[Streams]:
    """Starts the server and gives the streams; at the end of the block nothing of it lives, cancelled or not.

    It sees `child_environment` of the environment and what its entry gives, and runs in its entry's folder or else in
    `cwd`. Raises `McpFailed` where it cannot be started at all.
    """
    try:
        seen = child_environment(environment, config.env)
        log.begin(f"{config.name} is started")
        child = Attached(
            _words(config, seen),
            cwd=config.cwd or cwd,
            environment=seen,
            on_error_output=lambda text: log.write(text.encode()),
        )
    except ToolwireError as error:
        raise _not_started(config, error) from error
    conversation = _Conversation(config, child, log)
    try:
        yield conversation.read_stream, conversation.write_stream
    finally:
        await conversation.close()


class _Conversation:
    """Both directions of one running server: a task for each."""

    def __init__(self, config: ServerConfig, child: Attached, log: ServerLog) -> None:
        self._config = config
        self._child = child
        self._log = log
        self._why: McpFailed | None = None
        self._answered = False
        self._junk = self._blank = 0
        self._inward, self.read_stream = anyio.create_memory_object_stream[Inward](0)
        self.write_stream, self._outward = anyio.create_memory_object_stream[SessionMessage](0)
        self._tasks = create_lazy_task(self._read()), create_lazy_task(self._write())

    async def close(self) -> None:
        """Lets the last message go, closes the server's input, and sees to its end."""
        with anyio.CancelScope(shield=True):
            reader, writer = self._tasks
            try:
                self.read_stream.close()
                self.write_stream.close()
                # A server that waits for its output to be read does not read its input.
                self._child.drop_output()
                await asyncio.wait((writer,), timeout=FLUSH_SECONDS)
            finally:
                reader.cancel()
                writer.cancel()
                await self._child.close()
            for done in await asyncio.gather(reader, writer, return_exceptions=True):
                if isinstance(done, Exception):
                    raise done

    async def _read(self) -> None:
        async with self._inward:
            with suppress(anyio.BrokenResourceError):
                await self._inward.send(await self._hear())

    async def _hear(self) -> McpFailed:
        """Gives on what the server says, until it is over, and why that is."""
        lines = Lines()
        over = False
        while not over and (data := await self._child.read()):
            try:
                found = lines.feed(data)
            except LimitExceeded as error:
                found, over = list(error.before), True
            for line in found:
                if is_heavy(line):
                    return self._failed(f"sent a message of more than {MESSAGE_VALUES:,} values", "limit", _LESS)
                if (message := self._message(line)) is not None:
                    self._answered = True
                    await self._inward.send(SessionMessage(message))
                elif self._junk > JUNK_LINES or self._blank > BLANK_LINES:
                    return self._failed("sent only lines that are no messages", "limit", _SPEAKS)
        if over:
            return self._failed(f"sent a message of more than {MESSAGE_BYTES:,} bytes", "limit", _LESS)
        return await self._ended()

    def _message(self, line: bytes) -> JSONRPCMessage | None:
        """The message that a line is; None for all else, which is counted and goes to the log."""
        if not line:
            self._blank += 1
            return None
        message = message_of(line)
        if message is None:
            self._junk += 1
            self._log.write(line[:_SHOWN_BYTES] + b"\n")
        else:
            self._junk = self._blank = 0
        return message

    async def _ended(self) -> McpFailed:
        """What to say of a server whose output has ended."""
        if self._why is None:
            await asyncio.wait((self._child.gone,), timeout=_TOLD_SECONDS)
        if self._why is not None:
            return self._why
        if (refused := self._child.refused) is not None:
            return _not_started(self._config, refused)
        how = f"ended ({self._child.ending})" if self._child.ending else "closed its output"
        if self._answered:
            return self._failed(how, "lost", "It is started again when it is next used.")
        return self._failed(f"{how} before it said anything", "start", _SPEAKS)

    def _failed(self, what: str, why: str, hint: str) -> McpFailed:
        if tail := self._log.tail():
            hint = f"{hint} It wrote:\n{tail}"
        return McpFailed(f"the MCP server {self._config.name!r} {what}", hint=hint, server=self._config.name, why=why)

    async def _write(self) -> None:
        async with self._outward:
            async for item in self._outward:
                data = _encoded(item.message)
                if len(data) > MESSAGE_BYTES:
                    await self._refuse(item.message)
                    continue
                if not await self._give(data):
                    return

    async def _give(self, data: bytes) -> bool:
        """Writes one message; False when the server takes none any more, which is then its end."""
        seconds = self._config.timeout
        try:
            async with asyncio.timeout(seconds):
                await self._child.write(data)
        except TimeoutError:
            self._why = self._failed(f"took no message for {seconds:g} seconds", "timeout", "It may hang.")
        except OSError:
            if not self._child.ending:
                await asyncio.wait((self._child.gone,), timeout=_TOLD_SECONDS)
            if not self._child.ending:
                self._why = self._failed("closed its input", "lost" if self._answered else "start", _SPEAKS)
        else:
            return True
        if self._why is not None:
            self._child.drop_output()
            self._child.end()
        return False

    async def _refuse(self, message: JSONRPCMessage) -> None:
        """Answers a request that is too large in the server's place, and the server where our answer is."""
        if isinstance(message, JSONRPCNotification):
            return
        fault = ErrorData(code=INVALID_REQUEST, message=f"the message is larger than {MESSAGE_BYTES:,} bytes")
        answer = JSONRPCError(jsonrpc="2.0", id=message.id, error=fault)
        if not isinstance(message, JSONRPCRequest):
            await self._give(_encoded(answer))
            return
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._inward.send(SessionMessage(answer))


_LESS = "Ask it for less."
_SPEAKS = "Is it an MCP server that speaks over its standard input and output?"


def _encoded(message: JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:
        # Half of a surrogate pair has no UTF-8, but JSON can say it.
        return json.dumps(message.model_dump(by_alias=True, exclude_unset=True)).encode() + b"\n"


def _words(config: ServerConfig, environment: Mapping[str, str]) -> list[str]:
    command = config.command
    if sys.platform == "win32":
        # npx and its like are batch files there, which are found by their whole name alone.
        command = shutil.which(command, path=environment.get("PATH")) or command
    return [command, *config.args]


def _not_started(config: ServerConfig, error: ToolwireError) -> McpFailed:
    hint = error.hint
    if error.message.startswith("there is no program"):
        hint = " ".join(filter(None, (_MISSING.get(config.command, ""), hint)))
    words = f"the MCP server {config.name!r} cannot be started: {error.message}"
    return McpFailed(words, hint=hint, server=config.name, why="start")
