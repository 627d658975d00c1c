"""A model on loopback that gives the answers it was given, one for each request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class ModelServer:
    """`answers` are bodies (200, an event stream), (status, object), or None: no answer before the server ends.

    The last one is given again and again. With `stalls`, the first one is followed by silence.
    """

    def __init__(
        self,
        answers: Sequence[bytes | tuple[int, Any] | None],
        *,
        models: Sequence[str] = (),
        stalls: bool = False,
    ) -> None:
        self._closing = threading.Event()
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner.paths.append(self.path)
                owner.headers.append(dict(self.headers))
                self._send(200, "application/json", json.dumps({"data": [{"id": name} for name in models]}).encode())

            def do_POST(self) -> None:
                owner.paths.append(self.path)
                owner.headers.append(dict(self.headers))
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = answers[min(len(owner.requests), len(answers) - 1)]
                owner.requests.append(json.loads(body))
                if answer is None:
                    owner._closing.wait(30)
                elif isinstance(answer, bytes):
                    stays_open = stalls and len(owner.requests) == 1
                    self._send(200, "text/event-stream", answer, more=stays_open)
                    if stays_open:
                        owner._closing.wait(30)
                else:
                    self._send(answer[0], "application/json", json.dumps(answer[1]).encode())

            def _send(self, status: int, kind: str, body: bytes, *, more: bool = False) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body) + more))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def wait_for_requests(self, count: int) -> None:
        end = time.monotonic() + 20
        while len(self.requests) < count:
            assert time.monotonic() < end, "the request did not come"
            time.sleep(0.01)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
