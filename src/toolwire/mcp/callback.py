"""Where a browser comes back to after a login: one address on this machine, for one answer."""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import suppress
from hmac import compare_digest
from urllib.parse import parse_qsl

PATH = "/callback"
_HOST = "127.0.0.1"
_REQUEST_BYTES = 32 * 1024
_REQUEST_SECONDS = 5.0
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>Toolwire</title><p style='font:16px sans-serif;margin:3em'>{words}</p>"
)


class Callback:
    """A port of this machine alone that is held until `close`. Nothing is answered before `answer` waits."""

    def __init__(self, port: int = 0) -> None:
        """Raises `OSError` where this port is taken; 0 takes any."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if sys.platform != "win32":
                # Else the connection of the last login would keep its port for a minute.
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((_HOST, port))
            self._socket.listen()
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://{_HOST}:{self.port}{PATH}"

    async def answer(self, state: str, seconds: float) -> dict[str, str]:
        """What the login's server sent along with the browser. Raises `TimeoutError`.

        Only a request with this `state`, which nobody else knows, is the answer: any web page can have a browser call
        this address, and shall not even be able to spoil a login.
        """
        found: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
                async with asyncio.timeout(_REQUEST_SECONDS):
                    head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
                    answer = self._read(head)
                    ours = answer is not None and compare_digest(answer.get("state", "").encode(), state.encode())
                    if ours and "error" in (answer or {}):
                        words = "The login was refused. You can close this page."
                    elif ours:
                        words = "You are logged in. You can close this page."
                    else:
                        words = "This is not the answer to a login that is going on."
                    writer.write(_page(words, ours))
                    await writer.drain()
                    if ours and answer is not None and not found.done():
                        found.set_result(answer)
            writer.close()

        server = await asyncio.start_server(serve, sock=self._socket, limit=_REQUEST_BYTES)
        try:
            async with asyncio.timeout(seconds):
                return await found
        finally:
            server.close()

    def close(self) -> None:
        """Gives the port back."""
        self._socket.close()

    def _read(self, head: list[str]) -> dict[str, str] | None:
        """The query of a request to this address, None for any other."""
        method, _, rest = head[0].partition(" ")
        target, _, _ = rest.partition(" ")
        path, _, query = target.partition("?")
        hosts = [line[5:].strip() for line in head[1:] if line[:5].lower() == "host:"]
        if method != "GET" or path != PATH or hosts != [f"{_HOST}:{self.port}"]:
            return None
        return dict(parse_qsl(query, keep_blank_values=True, max_num_fields=100))


def _page(words: str, ok: bool) -> bytes:
    body = _PAGE.format(words=words).encode()
    head = (
        f"HTTP/1.1 {'200 OK' if ok else '404 Not Found'}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
