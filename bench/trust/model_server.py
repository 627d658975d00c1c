"""A model's server on loopback, in a thread of its own, that answers each conversation as was planned for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Self

from aiohttp import web

BASES = {"openai-chat": "/v1", "openai-responses": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
"""What stands between a server's address and the paths of a wire, where anything does."""


class Answer(NamedTuple):
    """One answer: its pieces with a pause before each, after which it may hang for ever."""

    pieces: list[bytes]
    pause: float = 0.0
    status: int = 200
    hangs: bool = False


class ModelServer:
    """Conversations are told apart by the first part of their path (see `url`)."""

    def __init__(self) -> None:
        self.plans: dict[str, Callable[[bytes], Answer]] = {}
        """How each conversation's requests are answered."""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="model-server")
        self._address = ""

    def url(self, conversation: str, wire: str) -> str:
        """What a conversation's agent is given as its base URL."""
        return f"{self._address}/{conversation}{BASES.get(wire, '')}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def open_connections(self) -> int:
        """Connections that clients have not closed."""
        server = self._runner.server
        assert server is not None
        return len(server.connections)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._runner.cleanup())
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/{conversation}/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, backlog=4096).start()
        self._address = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        conversation = request.match_info["conversation"]
        plan = self.plans.get(conversation)
        if plan is None:
            return web.Response(status=410)  # who asked has gone
        answer = plan(await request.read())
        response = web.StreamResponse(status=answer.status)
        if not answer.pieces and answer.hangs:
            await asyncio.Event().wait()
        with suppress(ConnectionError):
            await response.prepare(request)
            for piece in answer.pieces:
                if answer.pause:
                    await asyncio.sleep(answer.pause)
                await response.write(piece)
            if answer.hangs:
                await asyncio.Event().wait()
        return response
