"""What a server asks of us: the model's answer (sampling) or a person's words (elicitation).

Both pass the gate, where a person is always asked, whatever the mode allows. A server asks only while something that
was asked of it goes on, so many times, and gets nothing that the person could not look at before. Everything else is
a decline, which the server can go on with.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4
from weakref import WeakKeyDictionary

import mcp_types

from ..approval.gate import Denial
from ..approval.hidden import marked
from ..errors import McpFailed
from ..stream.invocation import requested
from ..tools.definition import Risk, ToolDefinition
from .form import read_form, speaks_of_secret
from .host import HOST, FillIn, Host, Sampled, Sampling
from .names import request_name
from .sampling import wanted

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext

REQUESTS = 8
"""Of each kind in one run of the agent: a person is asked about every one of them."""
MESSAGE_CHARACTERS = 4_000
URL_CHARACTERS = 4_000
"""Shown to their end in any terminal."""
REJECTED = -1
"""What MCP has for "the user rejected it"."""

Given = TypeVar("Given")


class _Declined(Exception):
    """No: what the server is told."""


class ServerRequests:
    """The callbacks of one server's connection. They raise only when they are cancelled.

    The agent is asked whose call runs there (`HOST`), and `host` gives the one for what no call is for. Without one,
    without `fill_in` for a form, for all that comes while nothing of ours runs there (`answering`), and while two
    agents have calls there, of which nobody knows whose it is for, the answer is no.
    """

    def __init__(self, server: str, host: Callable[[], Host | None], fill_in: FillIn | None = None) -> None:
        self._server = server
        self._host = host
        self._fill_in = fill_in
        self._running: list[Host | None] = []
        self._made: WeakKeyDictionary[Host, tuple[int, Counter[str]]] = WeakKeyDictionary()
        self._waiting: dict[asyncio.Task[Any], Host | None] = {}
        self._asked = 0.0
        self._asked_since = 0.0

    @property
    def has_host(self) -> bool:
        """Whether there is an agent to ask: else a server is not told that it may ask for the model's answer."""
        return self._host() is not None

    @property
    def has_form(self) -> bool:
        """Whether somebody can fill in a form: else a server is not told that it may ask for one."""
        return self.has_host and self._fill_in is not None

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Around everything that is asked of the server for somebody: only meanwhile may it ask back.

        Questions that still wait when the last one of their agent has ended are taken back.
        """
        host = HOST.get() or self._host()
        self._running.append(host)
        try:
            yield
        finally:
            self._running.remove(host)
            for work, asked in list(self._waiting.items()):
                if asked not in self._running:
                    with suppress(RuntimeError):  # its loop is closed, and it with it
                        work.cancel()

    @property
    def asked_seconds(self) -> float:
        """How long, all in all, the server has waited for a person or the model: that is no fault of its own."""
        return self._asked + (time.monotonic() - self._asked_since if self._waiting else 0.0)

    async def sampling(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.ErrorData:
        """The model's answer, if the person lets the server have it; the SDK's `sampling_callback`."""
        try:
            return await self._while_answering(self._sample(params))
        except _Declined as no:
            return mcp_types.ErrorData(code=REJECTED, message=str(no))
        except McpFailed as error:
            return mcp_types.ErrorData(code=mcp_types.INVALID_PARAMS, message=error.message)
        except Exception:
            # What failed is ours, and its words may hold what the server must not see.
            return mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message="the model could not be asked")

    async def elicitation(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        """What the person fills in, or that they agree to open an address; the SDK's `elicitation_callback`."""
        work = self._open(params) if isinstance(params, mcp_types.ElicitRequestURLParams) else self._fill(params)
        try:
            return await self._while_answering(work)
        except _TakenBack:
            return mcp_types.ElicitResult(action="cancel")
        except _Declined:
            return mcp_types.ElicitResult(action="decline")
        except McpFailed as error:
            return mcp_types.ErrorData(code=mcp_types.INVALID_PARAMS, message=error.message)
        except Exception:
            return mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message="the person could not be asked")

    async def _sample(self, params: mcp_types.CreateMessageRequestParams) -> mcp_types.CreateMessageResult:
        host = self._ready("sampling")
        asked = wanted(self._server, params)
        tool = self._tool(
            "sampling", asked.parameters, "wants to ask your model this, and gets its answer", Risk.NETWORK
        )
        sampled = await self._approved(
            host, tool, asked.arguments, lambda arguments: _sampled(host, asked.sampling(arguments))
        )
        return mcp_types.CreateMessageResult(
            role="assistant",
            content=mcp_types.TextContent(type="text", text=sampled.text),
            model=sampled.model,
            stop_reason=sampled.stop_reason,
        )

    async def _fill(self, params: mcp_types.ElicitRequestFormParams) -> mcp_types.ElicitResult:
        host, fill_in = self._ready("elicitation"), self._fill_in
        if fill_in is None:
            raise _Declined("nobody is there to fill in a form")
        message, schema = self._message(params.message), params.requested_schema
        form = read_form(self._server, schema)
        arguments = {"message": message, "form": schema}
        secret = next((field.name for field in form.fields if field.looks_secret), "")
        warning = f"; LOOK OUT, {marked(secret)[:80]!r} looks like a password or a key" if secret else ""
        if not secret and speaks_of_secret(message):
            warning = "; LOOK OUT, it speaks of a password or a key"
        tool = self._tool(
            "elicitation", _exactly(arguments), f"wants you to fill in a form, and gets it{warning}", None
        )
        content = await self._approved(host, tool, arguments, lambda _: fill_in(self._server, message, schema))
        if content is None:
            raise _Declined("the person did not fill it in")
        if (problem := form.problem(content)) is not None:
            raise ValueError(f"the form was filled in wrongly: {problem}")
        return mcp_types.ElicitResult(action="accept", content=content)

    async def _open(self, params: mcp_types.ElicitRequestURLParams) -> mcp_types.ElicitResult:
        host = self._ready("elicitation")
        arguments = {"message": self._message(params.message), "host": self._host_of(params.url), "url": params.url}
        why = "asks you to open this address; nothing opens it for you, and a yes tells the server that you do"
        tool = self._tool("elicitation", _exactly(arguments), why, None)
        await self._approved(host, tool, arguments, _nothing)
        return mcp_types.ElicitResult(action="accept")

    def _ready(self, kind: str) -> Host:
        """The agent that is asked for; a decline where there is none, or where the server may not ask."""
        host = self._running[0] if self._running else self._host()
        if host is None:
            raise _Declined("nobody is there to ask")
        if not self._running:
            raise _Declined("nothing was asked of this server, so that it may not ask for anything")
        if any(other is not host for other in self._running):
            raise _Declined("several agents have calls at this server, and nobody knows for which of them it asks")
        run, made = self._made.get(host, (0, Counter[str]()))
        if run != host.run:
            made.clear()
        self._made[host] = host.run, made
        made[kind] += 1
        if made[kind] > REQUESTS:
            raise _Declined(f"it has asked {REQUESTS} times in this run already")
        return host

    def _message(self, message: str) -> str:
        if len(message) > MESSAGE_CHARACTERS:
            raise self._refused(f"its message has {len(message):,} characters, and {MESSAGE_CHARACTERS:,} are shown")
        return message

    def _host_of(self, url: str) -> str:
        """Where the address really leads: what a person must see of it, whatever stands around."""
        if len(url) > URL_CHARACTERS:
            raise self._refused(f"the address has {len(url):,} characters, and {URL_CHARACTERS:,} are shown")
        if not (url.isprintable() and url.isascii()) or " " in url or "\\" in url:
            raise self._refused("its address holds characters that an address has not")
        with suppress(ValueError):
            parts = urlsplit(url)
            if parts.scheme in ("https", "http") and parts.hostname and "@" not in parts.netloc:
                return parts.hostname
        raise self._refused("its address is no plain https: or http: one")

    def _tool(self, kind: str, parameters: dict[str, Any], wants: str, risk: Risk | None) -> ToolDefinition:
        """What the gate decides about. `asks`: no rule and no mode lets it run without a person."""
        name = request_name(self._server, kind)
        why = f"the MCP server {marked(self._server)} {wants}"
        return ToolDefinition(name, f"{kind} for an MCP server", parameters, risk, asks=why)

    async def _approved(
        self,
        host: Host,
        tool: ToolDefinition,
        arguments: dict[str, Any],
        do: Callable[[dict[str, Any]], Awaitable[Given]],
    ) -> Given:
        """What `do` gives for the arguments that were approved."""
        made = f"{tool.name}-{uuid4().hex[:12]}"
        invocation = requested(made, tool.name, arguments)
        decided = await host.gate.decide(invocation, tool, on_asked=host.asked, on_answered=host.answered)
        if isinstance(decided, Denial):
            # Why is between the person and the model.
            raise _Declined("it was not approved")
        host.gate.redeem(decided)
        try:
            given = await do(decided.invocation.arguments)
        except BaseException as error:
            with suppress(Exception):
                host.gate.finished(decided, "cancelled" if isinstance(error, asyncio.CancelledError) else "error")
            raise
        host.gate.finished(decided, "ok")
        return given

    async def _while_answering(self, work: Coroutine[Any, Any, Given]) -> Given:
        """What the work gives, unless whatever it is for ends before: then it is cancelled, and this is a decline."""
        task: asyncio.Task[Given] = asyncio.create_task(work)
        if not self._waiting:
            self._asked_since = time.monotonic()
        self._waiting[task] = self._running[0] if self._running else None
        try:
            await asyncio.wait({task})
        finally:
            if not task.done():
                task.cancel()
                task.add_done_callback(_forget)
            del self._waiting[task]
            if not self._waiting:
                self._asked += time.monotonic() - self._asked_since
        if task.cancelled():
            raise _TakenBack("what it was for has ended")
        return task.result()

    def _refused(self, reason: str) -> McpFailed:
        return McpFailed(
            f"what the MCP server {self._server!r} asks for cannot be asked: {reason}",
            hint="Nobody was asked. Tell the makers of the server.",
            server=self._server,
            why="protocol",
        )


async def _sampled(host: Host, request: Sampling) -> Sampled:
    """The model's answer up to the first text that it was to stop at: not every provider takes such."""
    sampled = await host.sample(request)
    text = sampled.text
    for stop in request.stop:
        text = text.partition(stop)[0]
    return sampled if text == sampled.text else Sampled(text, sampled.model, "stopSequence")


class _TakenBack(_Declined):
    """No, because nobody waits for it any more."""


async def _nothing(_: dict[str, Any]) -> None:
    """All there was to do was to ask."""


def _forget(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


def _exactly(arguments: dict[str, Any]) -> dict[str, Any]:
    """A schema that takes nothing else: what a server asks for cannot be edited, only answered."""
    schemas = {name: {"const": value} for name, value in arguments.items()}
    return {"type": "object", "properties": schemas, "required": list(schemas), "additionalProperties": False}
