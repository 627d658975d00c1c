"""`ScriptedModel`: a model that says what a test tells it to, in the bytes of any provider.

    model = ScriptedModel([call("add", a=2, b=3), say("It is 5.")])
    agent = toolwire.Agent("anthropic:any", [add], transport=model, api_key="test")

Everything between the bytes and the test is real: decoding, approval, execution, the next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..approval.request import ApprovalRequest
from ..errors import ConfigError, TransportError
from ..messages import Message, Part
from ..providers.catalog import split_model
from ..refusals import refusal, shown_url
from ..transport import HttpRequest
from .bodies import events as written
from .pieces import WIRES, Call, End, HalfCall, Piece, Text, Thought

if TYPE_CHECKING:
    from aiohttp import web

    from ..agent.events import AgentEvent
    from ..agent.loop import Agent

_LENGTH = {
    "openai-chat": "length",
    "openai-responses": "max_output_tokens",
    "anthropic": "max_tokens",
    "gemini": "MAX_TOKENS",
    "ollama": "length",
    "bedrock": "max_tokens",
    "cohere": "MAX_TOKENS",
}
_MEDIA_TYPES = {"ollama": "application/x-ndjson", "bedrock": "application/vnd.amazon.eventstream"}


class _TokenLimit(NamedTuple):
    """The model came to the end of what it may say."""


class _Failure(NamedTuple):
    """An answer that is none: an HTTP status."""

    status: int
    words: str
    retry_after: float | None


class _CutOff(NamedTuple):
    """An answer whose connection breaks after these pieces."""

    pieces: tuple[Piece, ...]


Said = Piece | _TokenLimit
Scripted = str | bytes | Said | Sequence[Said] | _Failure | _CutOff
"""One answer: words, bytes as they are, one thing that is said, several of them, or something that goes wrong."""


def say(words: str) -> Piece:
    """Words of the answer."""
    return Text(words)


def think(words: str) -> Piece:
    """Reasoning, as far as the wire has it."""
    return Thought(words)


def call(name: str, arguments: dict[str, Any] | None = None, /, **more: Any) -> Piece:
    """A call of a tool. Each gets an id of its own when it is sent."""
    return Call("", name, msgspec.json.encode({**(arguments or {}), **more}).decode())


def half_call(name: str, arguments: str = '{"x":') -> Piece:
    """A call that never ends: of its arguments, this much of their JSON. For `cut_off` and `token_limit`."""
    return HalfCall("", name, arguments)


def token_limit() -> _TokenLimit:
    """As the last of several things: the model had to stop there."""
    return _TokenLimit()


def fail(status: int, words: str = "", *, retry_after: float | None = None) -> _Failure:
    """The provider refuses: 429, 500, 400 …, with its words and the pause that it asks for."""
    return _Failure(status, words, retry_after)


def cut_off(*pieces: Piece) -> _CutOff:
    """The connection breaks, after these."""
    return _CutOff(pieces)


class ScriptedModel:
    """A `Transport` that gives each request the next answer of its script, and keeps what it was asked in `requests`.

    It speaks the wire of whoever is asked, or `wire`. `chop` cuts the bytes into pieces of that many; without it they
    come event by event. A request for which the script has no answer ends the run with a `ConfigError` that says so.
    """

    def __init__(self, answers: Iterable[Scripted], *, wire: str | None = None, chop: int = 0) -> None:
        if wire is not None and wire not in WIRES:
            raise ConfigError(f"there is no wire {wire[:80]!r}", hint=f"The wires are {', '.join(WIRES)}.")
        self._answers = list(answers)
        self._wire = wire
        self._chop = chop
        self._calls = 0
        self.requests: list[dict[str, Any]] = []
        """The bodies of all requests so far, read."""

    @property
    def left(self) -> int:
        """Answers that nobody has asked for yet."""
        return len(self._answers)

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """As `Transport.stream`."""
        wire = self._wire or split_model(f"{request.provider}:{request.model}")[0].wire
        answer = self._next(request.body)
        if isinstance(answer, _Failure):
            headers, words = _refused(answer)
            raise refusal(request, answer.status, headers, words)
        for data in self._bytes(wire, answer):
            await asyncio.sleep(0)
            yield data
        if isinstance(answer, _CutOff):
            raise TransportError("the connection broke", hint="Try again.", url=shown_url(request.url))

    async def aclose(self) -> None:
        """Nothing is open."""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """The same as a server on loopback, for clients that speak HTTP; gives its address. Any path is answered.

        It speaks `wire`, or else OpenAI's chat completions, since a server does not know who is asked.
        """
        from aiohttp import web

        app = web.Application(client_max_size=0)
        app.router.add_post("/{path:.*}", self._serve)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        wire = self._wire or "openai-chat"
        try:
            answer = self._next(await request.read())
        except ConfigError as error:
            answer = _Failure(400, str(error), None)
        if isinstance(answer, _Failure):
            headers, words = _refused(answer)
            return web.Response(status=answer.status, headers=headers, body=words)
        response = web.StreamResponse(headers={"Content-Type": _MEDIA_TYPES.get(wire, "text/event-stream")})
        await response.prepare(request)
        for data in self._bytes(wire, answer):
            await response.write(data)
        if isinstance(answer, _CutOff):
            if request.transport is not None:
                request.transport.abort()
        else:
            await response.write_eof()
        return response

    def _next(self, body: bytes) -> Scripted:
        self.requests.append(msgspec.json.decode(body))
        if not self._answers:
            raise ConfigError(
                f"the script has no answer to request {len(self.requests)}",
                hint="Give ScriptedModel one answer more, or see why it was asked again (its `requests`).",
            )
        return self._answers.pop(0)

    def _bytes(self, wire: str, answer: Scripted) -> list[bytes]:
        if isinstance(answer, bytes):
            made = [answer]
        elif isinstance(answer, _CutOff):
            made = written(wire, *map(self._with_id, answer.pieces))
        else:
            made = written(wire, *self._pieces(wire, answer))
        if not self._chop:
            return made
        whole = b"".join(made)
        return [whole[at : at + self._chop] for at in range(0, len(whole), self._chop)]

    def _pieces(self, wire: str, answer: Scripted) -> list[Piece]:
        """What is said, with its end."""
        said: Sequence[Any]
        if isinstance(answer, str):
            said = [Text(answer)]
        elif isinstance(answer, (list, tuple)) and not hasattr(answer, "_fields"):
            said = answer
        else:
            said = [answer]
        pieces = [
            End(_LENGTH[wire]) if isinstance(each, _TokenLimit) else self._with_id(_as_piece(each)) for each in said
        ]
        return pieces if any(isinstance(piece, End) for piece in pieces) else [*pieces, End()]

    def _with_id(self, piece: Piece) -> Piece:
        if isinstance(piece, (Call, HalfCall)) and not piece.id:
            self._calls += 1
            return piece._replace(id=f"call_{self._calls}")
        return piece


def _as_piece(said: Any) -> Piece:
    if isinstance(said, str):
        return Text(said)
    if not isinstance(said, Piece):
        raise ConfigError(
            f"a script holds a {type(said).__name__}", hint="Use say, think, call, token_limit, fail and cut_off."
        )
    return said


def _refused(failure: _Failure) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a refusal."""
    headers = {"Content-Type": "application/json"}
    if failure.retry_after is not None:
        headers["Retry-After"] = f"{failure.retry_after:g}"
    return headers, msgspec.json.encode({"error": {"message": failure.words or f"status {failure.status}"}})


async def approve_all(request: ApprovalRequest) -> bool:
    """For `Agent(approve=...)`: yes to everything that is asked. For tests of tools that do no harm."""
    return True


async def deny_all(request: ApprovalRequest) -> bool:
    """For `Agent(approve=...)`: no to everything that is asked."""
    return False


async def events_of(agent: Agent, prompt: str | Message | Sequence[Part]) -> list[AgentEvent]:
    """All that one run tells, to its end."""
    return [event async for event in agent.run(prompt)]
