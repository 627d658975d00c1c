"""The examples in docs/sdks.md, with the real SDKs: their own environment variables lead them to a server here."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from feeding import call, sse
from test_docs import ROOT, blocks
from wire_bodies import Call, End, Text, body

pytestmark = pytest.mark.thorough

PAGE = ROOT / "docs" / "sdks.md"
EXAMPLES = [code for _, code, to_run in blocks(PAGE) if not to_run]
SETUP, *REST = EXAMPLES
NAMES = ("openai", "openai-async", "anthropic", "google-genai", "ollama", "mistralai", "cohere", "boto3")

ANSWER = (Text("Let me look."), Call("call_1", "get_weather", '{"city":"Paris"}'), End())

_WHOLE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def _chunk(finish: str | None = None, **delta: object) -> dict[str, object]:
    """With all members that SDKs ask for."""
    return {**_WHOLE, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}]}


CHAT = sse(
    _chunk(content="Let me look."),
    _chunk(tool_calls=[call('{"city":"Paris"}', id="call_1", name="get_weather")]),
    _chunk("tool_calls"),
)

PATHS = {
    "/chat/completions": ("openai-chat", "text/event-stream"),
    "/responses": ("openai-responses", "text/event-stream"),
    "/messages": ("anthropic", "text/event-stream"),
    ":streamGenerateContent": ("gemini", "text/event-stream"),
    "/api/chat": ("ollama", "application/x-ndjson"),
    "/v2/chat": ("cohere", "text/event-stream"),
    "/converse-stream": ("bedrock", "application/vnd.amazon.eventstream"),
}

CHECK = """
assert stream.error is None, stream.error
(found,) = stream.invocations
assert (found.tool_name, found.arguments) == ("get_weather", {"city": "Paris"}), stream.summary()
assert stream.summary()["text"] == "Let me look.", stream.summary()
"""

LEAD_MISTRAL = """
import mistralai.client.sdkconfiguration as configuration
configuration.SERVERS = dict.fromkeys(configuration.SERVERS, {url!r})
"""
"""It has no variable for its address."""


class StandIn(BaseHTTPRequestHandler):
    """Every provider at once: which one is told by the path."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        wire, kind = next(found for end, found in PATHS.items() if path.endswith(end))
        answer = CHAT if wire == "openai-chat" else body(wire, *ANSWER)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_every_example_has_a_name() -> None:
    assert len(REST) == len(NAMES)


@pytest.mark.parametrize(("name", "code"), list(zip(NAMES, REST, strict=True)), ids=NAMES)
def test_example(name: str, code: str, url: str) -> None:
    lead = LEAD_MISTRAL.format(url=url) if name == "mistralai" else ""
    environment = {
        **{known: value for known, value in os.environ.items() if not known.lower().endswith("_proxy")},
        "OPENAI_BASE_URL": f"{url}/v1",
        "ANTHROPIC_BASE_URL": url,
        "GOOGLE_GEMINI_BASE_URL": url,
        "OLLAMA_HOST": url,
        "CO_API_URL": url,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_EC2_METADATA_DISABLED": "true",
        **{f"{of}_API_KEY": "none" for of in ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL", "CO")},
    }
    script = "\n".join((SETUP, lead, code, CHECK))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "start" in done.stdout
