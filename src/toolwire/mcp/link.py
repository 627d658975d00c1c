"""`Link`: a session with one server while it lives. Raw questions and raw answers, on the SDK's own machinery.

Answers are taken as they came. The SDK would check each against the protocol's own schema and throw a whole list of
tools away for one that is wrong; and what it does not know it would leave out, where a pin must see everything.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import mcp_types as types
import msgspec
from mcp.client._probe import negotiate_auto
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.client.subscriptions import listen
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from .. import __version__
from ..errors import McpFailed
from ..tools.check import cut
from .guard import Guard, GuardedReading, GuardedWriting

if TYPE_CHECKING:
    from .requests import ServerRequests

ROUNDS = 10
"""How often a server may ask for more before it answers one call."""
WORDS = 500
"""Characters of a report, and of an error in a server's words."""

Report = Callable[[str], None]
"""Is told how far a call has come, in words."""

for _name in ("mcp", "client"):
    # Else what a server does wrong would be printed over the person's screen, where the program configures no logging.
    logging.getLogger(_name).addHandler(logging.NullHandler())


class ServerFacts(msgspec.Struct, frozen=True):
    """What a server says of itself. None of it is believed."""

    name: str
    version: str
    protocol: str
    instructions: str
    capabilities: dict[str, Any]


class Link:
    """One live session."""

    def __init__(self, server: str, session: ClientSession, dispatcher: JSONRPCDispatcher) -> None:
        self._server = server
        self._session = session
        self._dispatcher = dispatcher

    def facts(self) -> ServerFacts:
        """What the server said of itself when it was greeted."""
        session = self._session
        info = session.server_info
        capabilities = session.server_capabilities
        return ServerFacts(
            name="" if info is None else info.name,
            version="" if info is None else info.version,
            protocol=session.protocol_version or "",
            instructions=session.instructions or "",
            capabilities={} if capabilities is None else capabilities.model_dump(by_alias=True, exclude_none=True),
        )

    async def ask(self, method: str, params: dict[str, Any], report: Report | None = None) -> dict[str, Any]:
        """The raw answer to one request. What the server wants to know before it answers is asked of `requests`."""
        further: dict[str, Any] = {}
        for _ in range(ROUNDS):
            answer = await self._send(method, {**params, **further}, report)
            if answer.get("resultType") != "input_required":
                return answer
            further = await self._given(answer)
        raise McpFailed(
            f"the MCP server {self._server!r} asked for more {ROUNDS} times; what the call did is not known",
            server=self._server,
            why="limit",
        )

    async def _send(self, method: str, params: dict[str, Any], report: Report | None) -> dict[str, Any]:
        data = {"method": method, "params": params}
        options: CallOptions = {}
        self._session._stamp(data, options)
        if report is not None:
            options["on_progress"] = _telling(report)
        return await self._dispatcher.send_raw_request(method, params, options)

    async def _given(self, answer: dict[str, Any]) -> dict[str, Any]:
        required = types.InputRequiredResult.model_validate(answer, by_name=False)
        given: dict[str, Any] = {}
        for key, request in (required.input_requests or {}).items():
            meta = request.params.meta if request.params else None
            context = ClientRequestContext(session=self._session, request_id=key, meta=meta)
            response = await self._session.dispatch_input_request(context, request)
            if isinstance(response, types.ErrorData):
                raise MCPError.from_error_data(response)
            given[key] = response.model_dump(by_alias=True, mode="json", exclude_none=True)
        state = {} if required.request_state is None else {"requestState": required.request_state}
        return {"inputResponses": given, **state} if given else state

    def listed(self, definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The tools of a listing that may be called; the session learns which headers their calls carry.

        By the protocol a client leaves out those whose headers are not well formed.
        """
        if self._session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return definitions
        typed: list[types.Tool] = []
        for definition in definitions:
            with suppress(ValidationError):
                typed.append(types.Tool.model_validate(definition, by_name=False))
        before = {tool.name for tool in typed}
        listing = types.ListToolsResult(tools=typed, ttl_ms=0, cache_scope="private")
        kept = {tool.name for tool in self._session._absorb_tool_listing(listing, complete=True).tools}
        dropped = list(before - kept)  # a list: a name that is no text may have no hash
        return [definition for definition in definitions if definition.get("name") not in dropped]

    async def follow(self) -> None:
        """Keeps the stream of changes open that a server of the newest protocol has; ends where there is none."""
        tools = (self.facts().capabilities.get("tools") or {}).get("listChanged")
        if self._session.protocol_version in MODERN_PROTOCOL_VERSIONS and tools:
            async with listen(self._session, tools_list_changed=True) as changes:
                async for _ in changes:
                    pass  # each of them comes to the session's handler as well


@asynccontextmanager
async def linked(
    streams: TransportStreams,
    guard: Guard,
    *,
    server: str,
    probe: bool,
    requests: ServerRequests | None,
    on_change: Callable[[], None],
) -> AsyncIterator[Link]:
    """A session over these streams, greeted. Entered and left by one task.

    `probe`: the newest protocol is tried before the older greeting. Over pipes it is the other way round: programs of
    before do not have to answer a question that they do not know, some end at it, and all take the older greeting.
    """
    reading, writing = streams

    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            on_change()

    dispatcher: JSONRPCDispatcher = JSONRPCDispatcher(GuardedReading(guard, reading), GuardedWriting(guard, writing))
    async with ClientSession(
        dispatcher=dispatcher,
        sampling_callback=requests.sampling if requests is not None and requests.has_host else None,
        elicitation_callback=requests.elicitation if requests is not None and requests.has_form else None,
        message_handler=heard,
        client_info=types.Implementation(name="toolwire", version=__version__),
    ) as session:
        await (negotiate_auto(session) if probe else _greet(session))
        yield Link(server, session, dispatcher)


async def _greet(session: ClientSession) -> None:
    try:
        await session.initialize()
    except MCPError as error:
        if error.code not in (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND):
            raise
        await session.discover()


def _telling(report: Report) -> ProgressFnT:
    async def tell(progress: float, total: float | None, message: str | None) -> None:
        count = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        report(f"{count}: {cut(message, WORDS)}" if message else count)

    return tell
