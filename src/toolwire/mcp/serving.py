"""Tools as an MCP server: any client may list and call them, and each call passes the same gate as a model's.

    tools/call ─strict arguments→ ToolInvocation ─Gate→ Ticket ─Executor→ ToolResult ─serving_forms→ the client

What a client sends is never believed to be more than a wish: a call that policy does not allow is asked about through
the client, and where that cannot be, it does not run. A call ends with its client: cancelled, left or cut off, its
tool is stopped and the processes of that tool with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..approval.audit import Audit, AuditTrail
from ..approval.gate import Denial, Gate
from ..approval.places import Workspace
from ..approval.policy import Mode, Policy
from ..errors import ConfigError, ToolwireError
from ..execution.environment import child_environment
from ..execution.executor import GRACE, Executor, ToolResult
from ..execution.results import expected_arguments
from ..redaction import Redactor
from ..stream.invocation import requested
from ..strict_json import NotStrict, parse_arguments
from ..tasks import create_lazy_task
from ..tools.check import cut
from ..tools.registry import ToolRegistry
from .serving_forms import refusal, result_form, tool_form
from .serving_questions import Questions
from .serving_turns import Turns

PARALLEL = 8
"""Calls of one client that run at a time."""
ANSWER_SECONDS = 600.0
"""How long a person at a client is waited for: clients give up sooner."""
PROGRESS_WAITING = 32
"""Reports of one call that its client has not taken yet: of more, the newest are kept."""
LAST_SECONDS = 1.0
"""How long the last of them may take before the result goes out without them."""
GONE = "toolwire.gone"
"""Where a transport that can tell puts an `asyncio.Event` into the scope of a request: set when nobody waits for it."""

Context = ServerRequestContext[Any, Any]


class ToolServer:
    """Some tools, offered to MCP clients. `serve_stdio` and `serve_http` bring it to them.

    `policy`, `workspace` and `audit` are as an `Agent` has them: without them the mode is `ask`, the folder is the
    current one and nothing is written. What would be asked is asked through the client, where its person can be shown
    a form, and else denied. Up to `parallel` calls of one client run side by side.
    """

    def __init__(
        self,
        tools: Iterable[Any],
        *,
        policy: Policy | str | None = None,
        workspace: Workspace | str | os.PathLike[str] | None = None,
        audit: Audit | str | os.PathLike[str] | None = None,
        parallel: int = PARALLEL,
        redactor: Redactor | None = None,
    ) -> None:
        from .. import __version__

        if parallel < 1:
            raise ConfigError(f"{parallel} calls at a time are none", hint="Give parallel as 1 or more.")
        self.tools = ToolRegistry(tools)
        self._questions = Questions()
        rules = policy if isinstance(policy, Policy) else Policy(policy or Mode.ASK)
        trail = Redactor((), os.environ)
        self._gate = Gate(
            self._questions.ask,
            policy=Policy(rules.mode, rules.rules),
            workspace=Workspace(workspace) if isinstance(workspace, (str, os.PathLike)) else workspace,
            environment=child_environment(os.environ),
            audit=audit if not isinstance(audit, (str, os.PathLike)) else AuditTrail(audit, trail),
            answer_seconds=ANSWER_SECONDS,
        )
        self._executor = Executor(self._gate, redactor=redactor)
        self._turns = Turns(self._gate.workspace, parallel)
        self._calls: set[asyncio.Task[Any]] = set()
        self._count = 0
        self._forms = [tool_form(tool) for tool in self.tools if tool.can_run]
        self.protocol: Server[Any] = Server(
            "toolwire",
            version=__version__,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            get_tool_input_schema=self._schema,
        )
        """The same as the SDK knows it, for a transport or a test of its own: `mcp.Client(tool_server.protocol)`."""

    async def close(self) -> None:
        """Ends every call and every question, and waits for that: a few seconds at most."""
        for call in (calls := list(self._calls)):
            _stop(call)
        if calls:
            await asyncio.wait(calls, timeout=GRACE + 1)
        await self._questions.close()

    async def _list_tools(self, context: Context, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._forms)

    def _schema(self, name: str) -> dict[str, Any] | None:
        tool = self.tools.get(name)
        return None if tool is None else tool.parameters

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Does the work in a task of its own, which is cancelled once: whoever is cancelled again and again, as the
        SDK has it, has no time to tidy up."""
        gone: asyncio.Event | None = None if context.request is None else context.request.scope.get(GONE)
        call = asyncio.create_task(self._answer(context, params))
        self._calls.add(call)
        call.add_done_callback(self._ended)
        leaving = None if gone is None else asyncio.create_task(gone.wait())
        try:
            await asyncio.wait({call} if leaving is None else {call, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if leaving is not None:
                leaving.cancel()
            if not call.done():
                _stop(call)
                with anyio.CancelScope(shield=True):
                    await asyncio.wait({call}, timeout=GRACE + 1)
        if not call.done() or call.cancelled():
            raise MCPError(types.CONNECTION_CLOSED, "the call was cancelled")
        return call.result()

    def _ended(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()

    async def _answer(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = self.tools.get(params.name)
        if tool is None or not tool.can_run:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {cut(repr(params.name))}")
        try:
            arguments = _strict(params.arguments)
            problem = tool.problem(arguments)
        except (NotStrict, ToolwireError) as error:
            return refusal(str(error))
        if problem is not None:
            return refusal(f"{problem}. {expected_arguments(tool.parameters)}")
        if params.request_state is not None:
            decision = await self._questions.answered(params, arguments)
        else:
            self._count += 1
            id = f"mcp_{secrets.token_hex(8)}"
            invocation = requested(id, tool.name, arguments, self._count)
            asked = await self._questions.decide(self._gate, invocation, tool, context)
            if isinstance(asked, types.InputRequiredResult):
                return asked
            decision = asked
        if isinstance(decision, Denial):
            return refusal(decision.reason)
        try:
            async with self._turns.turn(_client(context), decision.invocation, tool), _Progress(context) as progress:
                result: ToolResult = await self._executor.run(decision, on_progress=progress.tell)
        except ToolwireError as error:
            return refusal(str(error))
        finally:
            self._gate.give_back(decision)
        return result_form(result)


def _stop(call: asyncio.Task[Any]) -> None:
    """Tells a call to end, once: told twice, it does not wait for its tool."""
    if not call.cancelling():
        call.cancel()


class _Progress:
    """What a call tells, on its way to a client that asked for it. A client that does not read holds up no call."""

    def __init__(self, context: Context) -> None:
        self._session = context.session
        self._texts: deque[str] = deque(maxlen=PROGRESS_WAITING)
        self._come = asyncio.Event()
        self._over = False

    def tell(self, text: str) -> None:
        self._texts.append(text)
        self._come.set()

    async def _send(self) -> None:
        number = 0
        while self._texts or not self._over:
            if not self._texts:
                self._come.clear()
                await self._come.wait()
                continue
            number += 1
            await self._session.report_progress(number, None, self._texts.popleft())

    async def __aenter__(self) -> _Progress:
        self._sending = create_lazy_task(self._send())
        return self

    async def __aexit__(self, *failed: object) -> None:
        self._over = True
        self._come.set()
        try:
            if failed[0] is None:
                await asyncio.wait({self._sending}, timeout=LAST_SECONDS)
        finally:
            self._sending.cancel()
            self._sending.add_done_callback(_unheard)


def _unheard(sending: asyncio.Task[None]) -> None:
    """A client that is gone is told nothing, and that is no fault of ours."""
    with suppress(asyncio.CancelledError):
        sending.exception()


def _client(context: Context) -> str:
    """Who calls: a session over HTTP; over pipes, and where there are no sessions, all are one.

    Newer protocols have none, and nobody looks there at what a client writes into that header.
    """
    if context.request is None or context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ""
    session: str = context.request.headers.get("mcp-session-id", "")
    return session


def _strict(arguments: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments as strict JSON; `NotStrict` otherwise."""
    try:
        raw = json.dumps(arguments or {}, allow_nan=False, ensure_ascii=False)
    except (ValueError, RecursionError):
        raise NotStrict("the arguments hold a number that JSON does not have, or are nested too deep") from None
    return parse_arguments(raw)
