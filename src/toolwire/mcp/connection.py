"""`Connection`: one server, from its first use to its end, and again after it was lost.

The SDK's sessions are bound to the task that opened them. So each attempt has an owner: a task that opens the transport
and the session, waits until it is to end, and closes them in order. Everybody else only asks, each question in a task
of its own: a caller who gives up, or whose time is over, leaves at once, and the session and the other calls stay as
they are. The late answer goes nowhere.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Literal

from mcp.client._transport import TransportStreams
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from ..approval.hidden import marked
from ..errors import McpFailed
from ..tasks import create_lazy_task
from ..tools.check import cut
from .config import ServerConfig
from .guard import Guard
from .limits import MESSAGE_BYTES
from .link import WORDS, Link, Report, ServerFacts, linked
from .log import ServerLog
from .reading import filled

if TYPE_CHECKING:
    from .login import Login
    from .requests import ServerRequests

__all__ = ["Connection", "Report", "ServerFacts", "State"]

PAGES = 50
ITEMS = 1_000
"""The most pages, and entries in all of them, that a list of tools, prompts or resources may have. All pages together
are no larger than a message may be: `MESSAGE_BYTES`."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
HEALTHY = 60.0
"""After a start that failed, or a server that was lost, the next attempt waits `FIRST_PAUSE`, twice that after the
next, and so on. A connection that held for so many seconds makes it begin anew."""
PATIENT = 3.0
"""Whoever needs it meanwhile waits so many seconds at most. Where the next attempt is further off, they are told so at
once: a model can do something else, and a person should not wonder."""
CLOSING = 20.0
"""Seconds that an end may take, which every transport keeps to by itself. Nobody waits longer."""
WAKING = 0.25
"""Seconds within which an answer that came just before the end is handed over."""

State = Literal["idle", "connecting", "ready", "waiting", "failed", "closed"]


class _Attempt:
    """One life of the session: `settled` once it is ready or has failed, `over` once it is to end or has ended."""

    def __init__(self, server: str) -> None:
        self.loop = asyncio.get_running_loop()
        self.guard = Guard(server, self.end)
        self.settled = asyncio.Event()
        self.over: asyncio.Future[Any] = self.loop.create_future()
        self.owner: asyncio.Task[None]
        self.link: Link | None = None
        self.error: McpFailed | None = None
        self.is_closing = False
        self.asking: set[asyncio.Task[Any]] = set()

    def end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)

    def ended(self, owner: asyncio.Task[None]) -> None:
        """Nobody waits for it any more."""
        self.end()
        self.settled.set()


class Connection:
    """One server. Nothing happens until it is used; `McpFailed` says why it cannot be.

    `environment` is what `${NAME}` in the configuration, and what a child may see, is taken from. `on_change` is told
    on the event loop that the server has other tools now.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        cwd: str,
        environment: Mapping[str, str],
        log: ServerLog,
        login: Login | None = None,
        requests: ServerRequests | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.config = config
        self._state: State = "idle"
        self._error: McpFailed | None = None
        self.facts: ServerFacts | None = None
        self.life = 0
        """How often it was connected: what was heard in one life says nothing of the next."""
        self._cwd = cwd
        self._environment = environment
        self._log = log
        self._login = login
        self._requests = requests
        self._on_change = on_change
        self._attempt: _Attempt | None = None
        self._failures = 0
        self._not_before = 0.0

    # ---- its life

    @property
    def state(self) -> State:
        """How it is: `waiting` before another attempt, `failed` after one, or after it was lost, until the next use."""
        attempt = self._attempt
        is_over = attempt is None or attempt.over.done() or attempt.loop.is_closed()
        is_lost = is_over and self._state in ("connecting", "ready")
        return "failed" if is_lost else self._state

    @property
    def error(self) -> McpFailed | None:
        """Why it failed, or was lost, the last time; none where it is connected."""
        attempt = self._attempt
        fault = attempt.guard.fault if attempt is not None and attempt.over.done() else None
        return self._error or fault

    async def open(self) -> None:
        """Connects, or waits for an attempt that is under way. Does nothing where it is connected."""
        await self._opened()

    async def close(self) -> None:
        """Ends the session and the server's process, for all who close it at once. It can be used again: whoever does
        so meanwhile waits for the end."""
        attempt = self._attempt
        self._failures, self._not_before = 0, 0.0
        if attempt is not None and not attempt.loop.is_closed():
            attempt.is_closing = True
            if attempt.loop is asyncio.get_running_loop():
                self._leave(attempt)
                await asyncio.wait({attempt.owner}, timeout=CLOSING)
                attempt.owner.cancel()
            else:
                with suppress(RuntimeError):  # it was closed in between
                    attempt.loop.call_soon_threadsafe(self._leave, attempt)
        if self._attempt is attempt:
            self._attempt = None
            self._state = "closed"

    @staticmethod
    def _leave(attempt: _Attempt) -> None:
        attempt.end()
        if not attempt.settled.is_set():
            attempt.owner.cancel()

    async def _opened(self) -> _Attempt:
        loop = asyncio.get_running_loop()
        attempt = self._attempt
        while attempt is not None and attempt.loop is loop and attempt.over.done() and not attempt.owner.done():
            await asyncio.wait({attempt.owner})
            attempt = self._attempt
        if attempt is not None and attempt.loop is not loop:
            if attempt.loop.is_running():
                raise self._failed("is in use on another event loop", why="refused", hint="Give each its own.")
            attempt = None
        if attempt is None or attempt.owner.done():
            if (pause := self._not_before - time.monotonic()) > PATIENT:
                raise self._not_yet(pause)
            attempt = self._attempt = _Attempt(self.config.name)
            attempt.owner = create_lazy_task(self._own(attempt), name=f"mcp {self.config.name}")
            # An owner that is cancelled before its first step has no `finally`.
            attempt.owner.add_done_callback(attempt.ended)
        await attempt.settled.wait()
        if attempt.link is None or attempt.over.done():
            error = attempt.error or self._failed("was closed", why="lost")
            raise McpFailed(error.message, hint=error.hint, **error.facts)
        return attempt

    async def _own(self, attempt: _Attempt) -> None:
        ready = 0.0
        try:
            pause = self._not_before - time.monotonic()
            if pause > 0:
                self._state = "waiting"
                await asyncio.sleep(pause)
            self._state = "connecting"
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(self._start_seconds()) as limit:
                        link = await self._enter(stack, attempt.guard)
                except Exception as error:
                    # Not raised out of the stack: on its way, each task group would put it into another wrapping.
                    self._error = attempt.guard.fault or self._start_failed(error, is_late=limit.expired())
                    attempt.error = self._error
                    # Whoever waits is told now; the end of the program may take a moment.
                    attempt.end()
                    attempt.settled.set()
                else:
                    ready = time.monotonic()
                    self._is_ready(attempt, link)
                    await attempt.over
        except asyncio.CancelledError:
            attempt.is_closing = True
            raise
        except Exception as error:
            attempt.error = attempt.error or attempt.guard.fault or self._start_failed(error, was_ready=ready > 0)
        finally:
            self._is_over(attempt, ready)

    def _start_seconds(self) -> float:
        """A login takes a person's time; each answer on the way to it still has to come in the server's own."""
        if not (self.config.oauth and self._login is not None and self._login.interactive):
            return self.config.start_timeout
        from .login import LOGIN_SECONDS

        return self.config.start_timeout + LOGIN_SECONDS

    async def _enter(self, stack: AsyncExitStack, guard: Guard) -> Link:
        streams = await stack.enter_async_context(self._transport())
        session = linked(
            streams,
            guard,
            server=self.config.name,
            probe=bool(self.config.url),
            requests=self._requests,
            on_change=self._on_change,
        )
        return await stack.enter_async_context(session)

    def _transport(self) -> AbstractAsyncContextManager[TransportStreams]:
        config = filled(self.config, self._environment)
        if config.url:
            from .http import http_transport

            return http_transport(config, login=self._login)
        from .stdio import stdio_transport

        return stdio_transport(config, cwd=config.cwd or self._cwd, environment=self._environment, log=self._log)

    def _is_ready(self, attempt: _Attempt, link: Link) -> None:
        attempt.link = link
        self.facts = link.facts()
        self._error = None
        self.life += 1
        self._state = "ready"
        attempt.settled.set()
        self._ask_aside(attempt, link.follow())

    def _is_over(self, attempt: _Attempt, ready: float) -> None:
        attempt.end()
        for task in attempt.asking:
            task.cancel()
        now = time.monotonic()
        if self._attempt is not attempt:
            # On another event loop the next life has begun.
            pass
        elif attempt.is_closing or (attempt.error is None and not ready):
            self._state = "closed"
        else:
            if attempt.error is None:
                attempt.error = attempt.guard.fault or self._failed("ended", why="lost", hint=self._last_words())
            if ready and now - ready >= HEALTHY:
                self._failures = 0
            self._not_before = now + min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
            self._failures = min(self._failures + 1, 10)
            self._error = attempt.error
            self._state = "failed"
        attempt.settled.set()

    # ---- what is asked of it

    async def list_tools(self) -> list[dict[str, Any]]:
        """Its tools as it describes them, whole."""
        definitions = await self._list("tools", "tools/list", "tools")
        attempt = self._attempt
        return definitions if attempt is None or attempt.link is None else attempt.link.listed(definitions)

    async def call(
        self, name: str, arguments: dict[str, Any], report: Report | None = None, *, life: int = 0
    ) -> dict[str, Any]:
        """Has the tool run, once. The raw result; an error that the tool tells of is a result too.

        Where the server is lost in the middle, what the tool did is not known, and it is not run again. `life`: it is
        sent in that life of the connection or not at all.
        """
        with self._answering():
            params = {"name": name, "arguments": arguments}
            return await self._asked("tools/call", params, self.config.timeout, report=report, life=life)

    async def list_prompts(self) -> list[dict[str, Any]]:
        """Its prompts."""
        return await self._list("prompts", "prompts/list", "prompts")

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> dict[str, Any]:
        """One prompt, filled in."""
        params = {"name": name, **({"arguments": dict(arguments)} if arguments else {})}
        with self._answering():
            return await self._asked("prompts/get", params, self.config.timeout)

    async def list_resources(self) -> list[dict[str, Any]]:
        """Its resources."""
        return await self._list("resources", "resources/list", "resources")

    async def list_templates(self) -> list[dict[str, Any]]:
        """The forms of addresses under which it has more resources than it lists."""
        return await self._list("resources", "resources/templates/list", "resourceTemplates")

    async def read_resource(self, uri: str) -> dict[str, Any]:
        """What is under this address."""
        with self._answering():
            return await self._asked("resources/read", {"uri": uri}, self.config.timeout)

    def _answering(self) -> AbstractContextManager[None]:
        return nullcontext() if self._requests is None else self._requests.answering()

    async def _list(self, capability: str, method: str, key: str) -> list[dict[str, Any]]:
        await self._opened()
        if self.facts is None or self.facts.capabilities.get(capability) is None:
            return []
        found: list[dict[str, Any]] = []
        size = 0
        end = time.monotonic() + self.config.start_timeout
        async for page in self._pages(method, end):
            items = page.get(key)
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise self._failed(f"answered {method} with no list of {key}", why="protocol")
            found += items
            if len(found) > ITEMS:
                raise self._failed(f"lists over {ITEMS:,} {key}", why="limit")
            size += _length(items)
            if size > MESSAGE_BYTES:
                raise self._failed(f"lists {key} of over {MESSAGE_BYTES:,} bytes", why="limit")
        return found

    async def _pages(self, method: str, end: float) -> AsyncIterator[dict[str, Any]]:
        cursors: set[str] = set()
        cursor: Any = None
        life = 0
        for _ in range(PAGES):
            params = {} if cursor is None else {"cursor": cursor}
            page = await self._asked(method, params, end - time.monotonic(), life=life)
            life = self.life
            yield page
            cursor = page.get("nextCursor")
            if cursor is None:
                return
            if not isinstance(cursor, str) or cursor in cursors:
                raise self._failed(f"goes round in circles in its pages of {method}", why="protocol")
            cursors.add(cursor)
        raise self._failed(f"has over {PAGES} pages of {method}", why="limit")

    async def _asked(
        self, method: str, params: dict[str, Any], seconds: float, *, report: Report | None = None, life: int = 0
    ) -> dict[str, Any]:
        attempt = await self._opened()
        if life and life != self.life:
            raise self._failed("was started anew before this was sent: nothing was done", why="lost")
        assert attempt.link is not None
        asking = attempt.link.ask(method, params, report)
        task: asyncio.Task[dict[str, Any]] = self._ask_aside(attempt, asking)
        try:
            in_time = await self._wait(attempt, task, seconds)
        finally:
            # Its answer, should it still come, belongs to nobody. The server is told, and nobody waits for that.
            task.cancel()
        unknown = "; what the call did is not known" if method == "tools/call" else ""
        if not in_time:
            words = f"did not answer {method} within {max(seconds, 0.0):.3g} seconds{unknown}"
            raise self._failed(words, why="timeout", hint=f"Its {_setting(method)} says how long that may take.")
        if not task.done() or task.cancelled():
            raise self._lost(attempt, unknown)
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, McpFailed):
            raise error
        is_closed = isinstance(error, MCPError) and error.error.code == CONNECTION_CLOSED
        if attempt.over.done() or (is_closed and not self.config.url):
            raise self._lost(attempt, unknown) from None
        raise self._refused(method, error, unknown) from None

    async def _wait(self, attempt: _Attempt, task: asyncio.Task[Any], seconds: float) -> bool:
        """Whether the answer, or the end, came in time. What a person is asked meanwhile is not the server's time."""
        began, asked = time.monotonic(), self._asked_seconds()
        left = seconds
        while left > 0:
            await asyncio.wait({task, attempt.over}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if task.done() or attempt.over.done():
                # An answer that came just before the end is an answer.
                await asyncio.wait({task}, timeout=WAKING)
                return True
            left = seconds + self._asked_seconds() - asked - (time.monotonic() - began)
        return False

    def _asked_seconds(self) -> float:
        return 0.0 if self._requests is None else self._requests.asked_seconds

    def _ask_aside(self, attempt: _Attempt, asking: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = attempt.loop.create_task(asking)
        attempt.asking.add(task)
        task.add_done_callback(attempt.asking.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # else asyncio tells of it
        return task

    # ---- what went wrong, in words

    def _failed(self, what: str, *, why: str, hint: str = "", **facts: Any) -> McpFailed:
        message = f"the MCP server {self.config.name!r} {what}"
        return McpFailed(message, hint=hint, server=self.config.name, why=why, **facts)

    def _lost(self, attempt: _Attempt, unknown: str) -> McpFailed:
        reason = attempt.guard.fault or attempt.error or self._failed("was lost before it answered", why="lost")
        return McpFailed(reason.message + unknown, hint=reason.hint, **reason.facts)

    def _refused(self, method: str, error: BaseException, unknown: str) -> McpFailed:
        if isinstance(error, MCPError):
            words, code = _shown(error.error.message), error.error.code
            if code == CONNECTION_CLOSED:
                return self._failed(f"was lost before it answered: {words}{unknown}", why="lost")
            if code == REQUEST_TIMEOUT:
                return self._failed(f"did not answer {method} in time: {words}{unknown}", why="timeout")
            return self._failed(f"answered {method} with an error: {words}", why="refused", code=code)
        words = _shown(str(error))
        return self._failed(f"answered {method} with what cannot be read: {words}{unknown}", why="protocol")

    def _not_yet(self, pause: float) -> McpFailed:
        reason = self._error or self._failed("was lost", why="lost")
        again = math.ceil(pause)
        words = f"{reason.message}; nothing was sent to it now: it is tried again in {again} seconds at the earliest"
        # What was lost says of itself that the next use starts it.
        hint = self._last_words() if reason.facts.get("why") == "lost" else reason.hint
        return McpFailed(words, hint=hint, **{**reason.facts, "again": again})

    def _start_failed(self, error: Exception, *, is_late: bool = False, was_ready: bool = False) -> McpFailed:
        if is_late:
            words = f"did not introduce itself within {self._start_seconds():g} seconds"
            return self._failed(words, why="timeout", hint=f"{_LONGER} {self._last_words()}".strip())
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, McpFailed):
            return error
        words = error.error.message if isinstance(error, MCPError) else str(error) or type(error).__name__
        if isinstance(error, ValidationError):
            words = "its introduction cannot be read"
        what, why = ("ended", "lost") if was_ready else ("did not start", "start")
        return self._failed(f"{what}: {_shown(words)}", why=why, hint=self._last_words())

    def _last_words(self) -> str:
        tail = self._log.tail()
        return f"It wrote:\n{tail}" if tail else ""


_LONGER = "If it has to be fetched first, give it longer: `start_timeout`."


def _shown(words: str) -> str:
    """A server's words in an error: bounded, and with marks for what a terminal would obey."""
    return marked(cut(words, WORDS))


def _setting(method: str) -> str:
    return "`start_timeout`" if method.endswith("/list") else "`timeout`"


def _length(items: list[Any]) -> int:
    """Of them as JSON, about."""
    try:
        return len(json.dumps(items, ensure_ascii=False, separators=(",", ":")))
    except (ValueError, RecursionError):
        return MESSAGE_BYTES
