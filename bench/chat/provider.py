"""A provider on loopback that never stops: text at a steady pace, and behind each text a call with a long argument."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import suppress
from typing import Any, Self

from aiohttp import web

from .source import BLOCKS, CALL, DELTA

_STEP = 0.01
_FILE = "def function(argument: int) -> int:\n    return argument + 1\n\n\n"


class Provider:
    """Serves in a thread of its own, as long as it is entered."""

    def __init__(self, rate: int, characters: int) -> None:
        self._rate = rate
        self._characters = characters
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=1 << 28)
        app.router.add_post("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        self._loop.run_until_complete(self._runner.setup())
        self._loop.run_until_complete(web.TCPSite(self._runner, "127.0.0.1", 0).start())
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        self._ready.set()
        self._loop.run_forever()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        self._turn += 1
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        with suppress(ConnectionError):
            await self._stream(response)
        return response

    async def _stream(self, response: web.StreamResponse) -> None:
        began = time.monotonic()
        batch: list[bytes] = []
        for sent, delta in enumerate(self._deltas(self._turn), 1):
            batch.append(_event({"index": 0, "delta": delta}))
            ahead = sent / self._rate - (time.monotonic() - began)
            if ahead > 0:
                await response.write(b"".join(batch))
                batch.clear()
                await asyncio.sleep(max(ahead, _STEP))
        batch.append(_event({"index": 0, "delta": {}, "finish_reason": "tool_calls"}))
        await response.write(b"".join(batch) + b"data: [DONE]\n\n")

    def _deltas(self, turn: int) -> list[dict[str, Any]]:
        text = ""
        while len(text) < self._characters:
            text += BLOCKS[turn % len(BLOCKS)] + "".join(BLOCKS)
        made: list[dict[str, Any]] = [{"content": text[at : at + DELTA]} for at in range(0, len(text), DELTA)]
        content = (_FILE * (CALL // len(_FILE) + 1))[:CALL]
        arguments = json.dumps({"path": f"part_{turn}.py", "content": content})
        function = {"name": "write_file", "arguments": ""}
        made.append({"tool_calls": [{"index": 0, "id": f"call_{turn}", "type": "function", "function": function}]})
        pieces = (arguments[at : at + 5 * DELTA] for at in range(0, len(arguments), 5 * DELTA))
        made += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
        return made


def _event(choice: dict[str, Any]) -> bytes:
    return (
        b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"
    )
