"""One tiny streamed call: the smallest request that shows whether a model can be reached and calls tools as it should.

Nothing is run: the tool that is offered exists nowhere else. One request is sent; a second one only where the first was
refused because the service takes no tools, in which case the model is told of the tool in words, as in any run.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Literal

import msgspec

from ..agent.asking import Asking, Retries
from ..agent.endpoint import Connection
from ..chunks import StopReason, TokenUsage
from ..embedded.choosing import StreamParser
from ..errors import TimedOut, ToolwireError
from ..limits import KIB, Limits
from ..messages import user
from ..redaction import Redactor
from ..refusals import hide_secrets
from ..stream.pipeline import Stream
from ..tools.registry import ToolRegistry
from ..transport import AiohttpTransport, HttpRequest, Timeouts, Transport

QUESTION = 'Call the tool "report" with the word "ready". Say nothing else.'
TOKENS = 1024
"""For the answer, at most: most need thirty, but some models think before they call."""
BYTES = 512 * KIB
"""Of the answer, at most."""
CONNECT = 15.0
LATER = 1.0
"""Seconds more than a request has: what ends it by itself says better why."""

_REPORT = {
    "name": "report",
    "description": "Reports one word.",
    "parameters": {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "The word."}},
        "required": ["word"],
        "additionalProperties": False,
    },
}

Calls = Literal["native", "text", "leaked", "none"]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    seconds: float
    first: float | None = None
    """Seconds until the first bytes of the answer."""
    calls: Calls = "none"
    """A well-formed call came as data, in the text as it was told to, in the text though it should not, or not."""
    parser: str = ""
    """How the answer was read, or would have to be for its calls to be found."""
    problem: str = ""
    """What is wrong with the call that came."""
    stop: StopReason | None = None
    usage: TokenUsage | None = None
    error: ToolwireError | None = None


class _Watched:
    """A transport that notes when the first bytes came, and keeps them all: they are few."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.first: float | None = None
        self.data: list[bytes] = []

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """As `Transport.stream`."""
        self.data.clear()
        async with aclosing(self._transport.stream(request)) as body:
            async for data in body:
                if self.first is None:
                    self.first = time.monotonic()
                self.data.append(data)
                yield data

    async def aclose(self) -> None:
        """Nothing of its own is open."""
        await self._transport.aclose()


async def try_model(name: str, *, seconds: float, start: float = 0.0, base_url: str | None = None) -> Trial:
    """Asks the model of this name once; gives up after `seconds`, and `start` for what must be started first.

    Raises what makes it impossible to ask at all: a name or a key that is not there.
    """
    connection = Connection(name, base_url=base_url)
    transport = _Watched(
        AiohttpTransport(
            timeouts=Timeouts(connect=min(CONNECT, seconds), idle=seconds, total=seconds), limits=Limits(stream=BYTES)
        )
    )
    started = time.monotonic()
    try:
        async with asyncio.timeout(seconds + start + LATER):
            await connection.open()
            # Before the clock runs: importing it takes a while.
            import aiohttp  # noqa: F401

            started = time.monotonic()
            return await _asked(connection, transport, started)
    except ToolwireError as error:
        return Trial(seconds=time.monotonic() - started, error=error)
    except TimeoutError:
        late = TimedOut(f"no whole answer came within {seconds:g} s", which="total", seconds=seconds)
        return Trial(seconds=time.monotonic() - started, first=_since(started, transport), error=late)
    finally:
        await transport.aclose()
        await connection.close()


async def _asked(connection: Connection, transport: _Watched, started: float) -> Trial:
    tools = ToolRegistry([_REPORT])
    parser = connection.parser(None, tools)
    stream = await _answer(connection, transport, tools, parser)
    in_words = connection.text_parser(None, tools)
    if stream.error is not None and stream.error.facts.get("refused") == "tools" and in_words is not None:
        parser = in_words
        stream = await _answer(connection, transport, tools, parser)
    calls: Calls = "none"
    found = parser.name
    if stream.invocations:
        calls = "native" if parser.native else "text"
    elif stream.error is None and parser.native and parser.format is None:
        both = Stream(connection.wire, tools, stream_parser="api_tool_call+auto")
        for data in transport.data:
            both.feed(data)
        both.close()
        if both.invocations:
            calls, found = "leaked", "api_tool_call+auto"
    return Trial(
        seconds=time.monotonic() - started,
        first=_since(started, transport),
        calls=calls,
        parser=found,
        problem=next(iter(stream.problems.values()), ""),
        stop=stream.stop_reason,
        usage=stream.usage,
        error=stream.error,
    )


async def _answer(connection: Connection, transport: _Watched, tools: ToolRegistry, parser: StreamParser) -> Stream:
    redactor = Redactor(connection.secrets, os.environ)
    # The embedded model's requests are made to its measure, and it says little by itself.
    options = {} if connection.provider == "local" else {"max_tokens": TOKENS}

    def make_request() -> HttpRequest:
        return connection.request(messages=[user(QUESTION)], tools=tools, parser=parser, options=options)

    def make_stream(request: HttpRequest) -> Stream:
        hide = partial(hide_secrets, request=request, redactor=redactor)
        return Stream(connection.wire, tools, stream_parser=parser, on_error=hide)

    asking = Asking(transport, make_request, make_stream, turn=1, retries=Retries(attempts=1), redactor=redactor)
    async with aclosing(asking.events()) as events:
        async for _ in events:
            pass
    assert asking.stream is not None, "an answer that ended was read"
    return asking.stream


def _since(started: float, transport: _Watched) -> float | None:
    return None if transport.first is None else transport.first - started
