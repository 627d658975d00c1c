"""Requests that fail: which are sent again, after which pause, and what is told of it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest
from bench.trust.network import network_faults

import aws_frames
import toolwire
from feeding import read, sse, typed_sse
from rawserver import CHUNKED, QUICK, serving, until_gone, whole
from rawserver import receive as receive_request
from toolwire import Agent
from toolwire.agent.asking import Retries, _back_off, passes
from toolwire.agent.events import AgentEvent, RequestRetried, RunFailed, RunFinished, RunInterrupted
from toolwire.errors import (
    AuthenticationFailed,
    ConfigError,
    IncompleteStream,
    LimitExceeded,
    ModelNotFound,
    ProtocolError,
    ProviderError,
    RateLimited,
    TimedOut,
    ToolwireError,
    TransportError,
)
from toolwire.messages import ToolCallPart, ToolResultPart
from toolwire.refusals import refusal
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.transport import AiohttpTransport, HttpRequest, Timeouts
from waiting import leap
from wire_bodies import WIRES, Call, End, Error, HalfCall, Piece, Raw, Text, body, events, payload

AT_ONCE = Retries(first_pause=0)
SENT = HttpRequest(url="http://127.0.0.1:1/v1", headers={}, body=b"{}", provider="acme", model="m-1")
NAMES = {"openai-chat": "openai"}
"""A provider of each wire, where its name is not the wire's."""

ran: list[int] = []


@toolwire.tool(risk="read")
def f(x: int) -> str:
    """Counts."""
    ran.append(x)
    return f"did {x}"


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


class Script:
    """A transport that answers each request with the next of these: bytes, an error, or some of both."""

    def __init__(self, *answers: bytes | ToolwireError | list[bytes | ToolwireError]) -> None:
        self.answers = list(answers)
        self.bodies: list[bytes] = []

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        self.bodies.append(request.body)
        answer = self.answers.pop(0)
        for piece in answer if isinstance(answer, list) else [answer]:
            await asyncio.sleep(0)
            if isinstance(piece, ToolwireError):
                raise piece
            yield piece

    async def aclose(self) -> None:
        pass


def agent(transport: Any, wire: str = "openai-chat", **options: Any) -> Agent:
    provider = NAMES.get(wire, wire)
    given: dict[str, Any] = {"retries": AT_ONCE, "base_url": "http://127.0.0.1:1", "api_key": "k", **options}
    return Agent(f"{provider}:m", [f], transport=transport, **given)


async def collect(it: Agent, prompt: str = "go") -> list[AgentEvent]:
    async with asyncio.timeout(20):
        return [event async for event in it.run(prompt)]


def retried(made: list[AgentEvent]) -> list[RequestRetried]:
    return [event for event in made if isinstance(event, RequestRetried)]


def check_answered(it: Agent) -> None:
    """Every call of the history has exactly one result, in the message after it."""
    for place, message in enumerate(it.messages):
        calls = [part.id for part in message.parts if isinstance(part, ToolCallPart)]
        after = it.messages[place + 1].parts if calls else ()
        assert calls == [part.id for part in after if isinstance(part, ToolResultPart)]


def http(status: int, code: str = "", words: str = "x", **headers: str) -> ProviderError:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return refusal(SENT, status, sent, msgspec.json.encode({"error": {"message": words, "code": code or None}}))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        *((http(status), True) for status in (408, 409, 424, 425, 429, 500, 502, 503, 504, 520, 529)),
        *((http(status), False) for status in (200, 302, 400, 401, 402, 403, 404, 405, 407, 410, 413, 422, 451, 501)),
        (http(429, "rate_limit_exceeded"), True),
        (http(429, "insufficient_quota"), False),
        (http(429, "enforced_spend_limit_reached"), False),
        (http(429, "exceeded_current_quota_error"), False),
        (http(429, words="Request too large for m on tokens per min (TPM): Limit 1, Requested 2"), False),
        (http(403, "billing_not_active"), False),
        (http(404, "model_not_found"), False),
        (http(400, "server_error"), False),
        (http(500, words="tools param requires --jinja flag"), False),
        (http(500, words="the request exceeds the available context size"), False),
        (TransportError("reset"), True),
        (TransportError("not trusted", lasting=True), False),
        (TimedOut("x", which="connect", seconds=1), True),
        (TimedOut("x", which="idle", seconds=1), True),
        (TimedOut("x", which="total", seconds=1), False),
        (IncompleteStream(), True),
        (ProtocolError("x"), False),
        (LimitExceeded("stream", 1), False),
        (ConfigError("x"), False),
        (AuthenticationFailed("x", code="permission_error"), False),
        (ModelNotFound("x", code="not_found_error"), False),
        (ToolwireError("x"), False),
    ],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'facts', value)}"[:90],
)
def test_what_passes(error: ToolwireError, expected: bool) -> None:
    assert passes(error) is expected


def told(wire: str, error: Any) -> Raw:
    """An error as one event of this wire."""
    return Raw(payload(wire, error))


def aws(name: str) -> Raw:
    return Raw(aws_frames.exception(name, {"message": "x"}))


INSIDE: list[tuple[str, Piece, type[ProviderError], bool]] = [
    ("anthropic", Error(), ProviderError, True),
    ("anthropic", told("anthropic", {"type": "error", "error": {"type": "api_error"}}), ProviderError, True),
    ("anthropic", told("anthropic", {"type": "error", "error": {"type": "rate_limit_error"}}), RateLimited, True),
    (
        "anthropic",
        told("anthropic", {"type": "error", "error": {"type": "invalid_request_error", "message": "x"}}),
        ProviderError,
        False,
    ),
    (
        "anthropic",
        told("anthropic", {"type": "error", "error": {"type": "authentication_error"}}),
        AuthenticationFailed,
        False,
    ),
    ("openai-chat", told("openai-chat", {"error": {"message": "x", "type": "server_error"}}), ProviderError, True),
    ("openai-chat", told("openai-chat", {"error": {"message": "x", "code": 502}}), ProviderError, True),
    ("openai-chat", told("openai-chat", {"error": {"message": "x", "code": 400}}), ProviderError, False),
    ("openai-chat", told("openai-chat", {"error": {"code": "rate_limit_exceeded"}}), RateLimited, True),
    ("openai-chat", told("openai-chat", {"error": {"code": "insufficient_quota"}}), RateLimited, False),
    ("openai-chat", told("openai-chat", {"error": {"message": "x", "code": "content_filter"}}), ProviderError, False),
    ("openai-chat", Error(), ProviderError, True),
    ("openai-responses", Error(), ProviderError, True),
    ("openai-responses", End("failed"), ProviderError, True),
    ("gemini", Error(), ProviderError, True),
    ("gemini", told("gemini", {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}), RateLimited, True),
    ("gemini", told("gemini", {"error": {"status": "INTERNAL", "message": "x"}}), ProviderError, True),
    ("gemini", told("gemini", {"error": {"code": 400, "status": "INVALID_ARGUMENT"}}), ProviderError, False),
    ("ollama", Error(), ProviderError, True),
    ("cohere", Error(), ProviderError, True),
    ("bedrock", Error(), ProviderError, True),
    ("bedrock", aws("throttlingException"), RateLimited, True),
    ("bedrock", aws("internalServerException"), ProviderError, True),
    ("bedrock", aws("serviceUnavailableException"), ProviderError, True),
    ("bedrock", aws("modelTimeoutException"), ProviderError, True),
    ("bedrock", aws("validationException"), ProviderError, False),
    ("bedrock", aws("serviceQuotaExceededException"), RateLimited, False),
    ("bedrock", aws("accessDeniedException"), AuthenticationFailed, False),
]
"""Errors inside of an answer that began with 200, as the providers write them."""


@pytest.mark.parametrize(("wire", "piece", "kind", "expected"), INSIDE)
async def test_an_error_inside_of_an_answer(
    monkeypatch: pytest.MonkeyPatch, wire: str, piece: Piece, kind: type[ProviderError], expected: bool
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    stream, _ = read([body(wire, piece)], wire)
    assert type(stream.error) is kind
    script = Script(body(wire, piece), body(wire, Text("It is."), End()))
    made = await collect(agent(script, wire))
    assert len(script.bodies) == 1 + expected
    if expected:
        assert isinstance(made[-1], RunFinished)
        assert [event.error.type for event in retried(made)] == [kind.__name__]
        assert not [event for event in made if isinstance(event, SegmentEvent) and event.type is EventType.ERROR]
    else:
        assert isinstance(made[-1], RunFailed)
        assert made[-1].error.type == kind.__name__


BROKEN: list[ToolwireError] = [
    http(429),
    http(503),
    TransportError("reset"),
    TimedOut("quiet", which="idle", seconds=1),
]


@pytest.mark.parametrize("wire", WIRES)
async def test_nothing_is_sent_again_once_something_of_the_answer_came(
    monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    for pieces in (events(wire, Text("Hal")), [body(wire, Text("Half"), Error())]):
        for error in BROKEN:
            it = agent(script := Script([*pieces, error]), wire)
            made = await collect(it)
            assert isinstance(made[-1], RunFailed)
            assert len(script.bodies) == 1
            assert retried(made) == []


@pytest.mark.parametrize("wire", WIRES)
async def test_a_call_that_was_cut_is_answered_not_run_and_not_sent_again(
    monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    half = Call() if wire == "ollama" else HalfCall()
    for error in BROKEN:
        it = agent(script := Script([*events(wire, half), error], body(wire, Text("Oh."), End())), wire)
        made = await collect(it)
        assert isinstance(made[-1], RunFinished)
        assert ran == []
        assert retried(made) == []
        assert len(set(script.bodies)) == 2, "the second request holds the call and its result"
        check_answered(it)


@pytest.mark.parametrize("wire", WIRES)
async def test_after_a_tool_ran_only_the_request_with_its_result_is_sent_again(
    monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    it = agent(script := Script(body(wire, Call(), End()), *BROKEN[1:], body(wire, Text("Done."), End())), wire)
    made = await collect(it)
    assert isinstance(made[-1], RunFinished)
    assert made[-1].text == "Done."
    assert ran == [1]
    assert len(set(script.bodies[1:])) == 1
    assert all(b"did 1" in sent for sent in script.bodies[1:])
    assert [event.attempt for event in retried(made)] == [1, 2, 3]


async def test_attempts_are_bounded_and_the_last_error_is_the_end() -> None:
    it = agent(script := Script(*[http(503, words=f"number {n}") for n in range(9)]))
    made = await collect(it)
    assert len(script.bodies) == 4
    assert isinstance(made[-1], RunFailed)
    assert "number 3" in made[-1].error.message
    assert [(event.attempt, event.error.facts["status"]) for event in retried(made)] == [(1, 503), (2, 503), (3, 503)]


async def test_one_attempt_is_never_again() -> None:
    it = agent(script := Script(http(503)), retries=Retries(attempts=1))
    assert isinstance((await collect(it))[-1], RunFailed)
    assert len(script.bodies) == 1


async def test_a_pause_that_the_provider_asks_for_is_kept() -> None:
    it = agent(Script(http(429, retry_after="0.15"), http(503, retry_after_ms="60"), body("openai-chat", End())))
    began = time.monotonic()
    made = await collect(it)
    assert time.monotonic() - began >= 0.21
    assert [event.seconds for event in retried(made)] == [0.15, 0.06]


@pytest.mark.parametrize("status", [429, 503])
async def test_a_pause_that_is_too_long_fails_at_once_and_says_how_long(status: int) -> None:
    it = agent(script := Script(http(status, retry_after="3600")))
    made = await collect(it)
    assert len(script.bodies) == 1
    assert isinstance(made[-1], RunFailed)
    assert "a pause of 3600 s" in made[-1].error.hint
    failed = next(event for event in made if isinstance(event, SegmentEvent))
    assert failed.error == made[-1].error


def test_pauses_grow_with_chance_in_them_and_are_bounded() -> None:
    retries = Retries(first_pause=0.5, longest_pause=3)
    for attempt, least in ((1, 0.5), (2, 1), (3, 2)):
        pauses = {_back_off(attempt, retries) for _ in range(50)}
        assert least <= min(pauses) < max(pauses) <= least + 0.5
    assert _back_off(2000, retries) == 3
    assert _back_off(1, AT_ONCE) == 0


async def test_no_pause_asked_is_no_reason_to_hurry() -> None:
    it = agent(Script(http(503, retry_after="0"), body("openai-chat", End())), retries=Retries(first_pause=0.05))
    (event,) = retried(await collect(it))
    assert event.seconds >= 0.05


async def test_a_request_without_a_fault_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)
    assert isinstance((await collect(agent(Script(body("openai-chat", Text(), End())))))[-1], RunFinished)


async def test_an_interrupt_ends_the_pause() -> None:
    it = agent(script := Script(http(503, retry_after="50"), body("openai-chat", End())))
    began = time.monotonic()
    made: list[AgentEvent] = []
    async for event in it.run("go"):
        made.append(event)
        if isinstance(event, RequestRetried):
            asyncio.get_running_loop().call_later(0.05, it.interrupt)
    assert time.monotonic() - began < 10
    assert isinstance(made[-1], RunInterrupted)
    assert len(script.bodies) == 1


@pytest.mark.parametrize(
    ("code", "words", "refused"),
    [
        ("context_length_exceeded", "x", "length"),
        (None, "This model's maximum context length is 8192 tokens", "length"),
        (400, "the request exceeds the available context size", "length"),
        ("rate_limit_exceeded", "Too many tokens, please wait", None),
        (None, "registry.ollama.ai/library/m does not support tools", "tools"),
    ],
)
async def test_what_is_refused_inside_of_an_answer_is_a_fact(code: Any, words: str, refused: str | None) -> None:
    it = agent(
        Script(sse({"error": {"message": words, "code": code}})),
        stream_parser="api_tool_call",
        retries=Retries(attempts=1),
    )
    made = await collect(it)
    assert isinstance(made[-1], RunFailed)
    assert made[-1].error.facts.get("refused") == refused
    assert [event.error for event in made if isinstance(event, SegmentEvent)] == [made[-1].error]


async def test_each_attempt_is_a_request_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature is good for a few minutes only."""
    it = agent(Script(http(503), http(503), body("openai-chat", End())))
    made: list[HttpRequest] = []
    request = it._connection.request

    def signed(**given: Any) -> HttpRequest:
        made.append(request(**given))
        return made[-1]

    monkeypatch.setattr(it._connection, "request", signed)
    await collect(it)
    assert len(made) == 3


# ---- on a real connection


async def over(handler: Any, timeouts: Timeouts = QUICK, **options: Any) -> tuple[Agent, list[AgentEvent]]:
    async with serving(handler) as url, AiohttpTransport(timeouts=timeouts) as transport:
        it = agent(transport, base_url=url, **options)
        return it, await collect(it)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


IDLE = Timeouts(connect=8, idle=8, total=100)


def stalling(*pieces: bytes, then: bytes = b"") -> tuple[Any, list[bytes]]:
    """A server whose first answer stops after these pieces and stays open, until `IDLE` seems to be over;
    further requests get the other one."""
    asked: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, sent = await receive_request(reader)
        asked.append(sent)
        if len(asked) > 1:
            writer.write(whole("200 OK", then, "Content-Type: text/event-stream"))
            return
        writer.write(CHUNKED + b"".join(map(chunk, pieces)))
        await writer.drain()
        for _ in range(20):
            await asyncio.sleep(0.01)
        leap(IDLE.idle)
        await until_gone(reader)

    return handle, asked


async def test_silence_before_the_answer_is_asked_again() -> None:
    handler, asked = stalling(then=body("openai-chat", Text("Here."), End()))
    _, made = await over(handler, IDLE)
    assert isinstance(made[-1], RunFinished)
    assert [event.error.facts["which"] for event in retried(made)] == ["idle"]
    assert len(asked) == 2


async def test_silence_in_the_middle_of_an_answer_ends_the_run() -> None:
    handler, asked = stalling(*events("openai-chat", Text("Half a")), then=body("openai-chat", Text("On."), End()))
    it, made = await over(handler, IDLE)
    assert isinstance(made[-1], RunFailed)
    assert (made[-1].error.type, made[-1].error.facts["which"]) == ("TimedOut", "idle")
    assert len(asked) == 1
    assert [message.text for message in it.messages] == ["go", "Half a"]


async def test_silence_in_the_middle_of_a_call_runs_nothing() -> None:
    handler, asked = stalling(*events("openai-chat", HalfCall()), then=body("openai-chat", Text("On."), End()))
    it, made = await over(handler, IDLE)
    assert isinstance(made[-1], RunFinished)
    assert ran == []
    assert retried(made) == []
    assert len(asked) == 2
    check_answered(it)


async def test_the_total_time_of_an_answer_is_not_spent_twice() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive_request(reader)
        writer.write(CHUNKED)
        for _ in range(100):
            writer.write(chunk(b": still here\n\n"))
            await writer.drain()
            await asyncio.sleep(0.02)

    _, made = await over(trickle, Timeouts(connect=20, idle=20, total=0.3))
    assert isinstance(made[-1], RunFailed)
    assert (made[-1].error.type, made[-1].error.facts["which"]) == ("TimedOut", "total")
    assert retried(made) == []


async def test_a_server_that_is_not_there_is_tried_again() -> None:
    async with AiohttpTransport(timeouts=QUICK) as transport:
        made = await collect(agent(transport))
    assert [event.error.type for event in retried(made)] == ["TransportError"] * 3
    assert isinstance(made[-1], RunFailed)
    assert "connection refused" in made[-1].error.message


async def test_a_connection_that_closes_before_the_answer_is_tried_again() -> None:
    asked: list[bytes] = []
    answers = [b"", CHUNKED, CHUNKED + b"0\r\n\r\n", whole("200 OK", body("openai-chat", Text("Here."), End()))]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, sent = await receive_request(reader)
        writer.write(answers[len(asked)])
        asked.append(sent)

    _, made = await over(handle)
    assert isinstance(made[-1], RunFinished)
    assert [event.error.type for event in retried(made)] == ["TransportError", "TransportError", "IncompleteStream"]


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)


async def is_no_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write(b"220 mail.example.org ready\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize(
    ("handler", "scheme", "attempts"),
    [(hangs_up, "http", 4), (hangs_up, "https", 4), (is_no_http, "http", 1), (is_no_http, "https", 1)],
    ids=["cut", "TLS cut", "another kind of server", "no TLS"],
)
async def test_a_wrong_address_is_not_tried_again_and_a_cut_is(handler: Any, scheme: str, attempts: int) -> None:
    tried = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal tried
        tried += 1
        await handler(reader, writer)

    async with serving(handle) as url, AiohttpTransport(timeouts=QUICK) as transport:
        made = await collect(agent(transport, base_url=url.replace("http", scheme, 1)))
    assert isinstance(made[-1], RunFailed)
    assert made[-1].error.type == "TransportError"
    assert tried == attempts == len(retried(made)) + 1


def test_a_network_that_fails_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is not idle may wait for the machine.
    monkeypatch.setattr("bench.trust.network.IDLE", 2.5)
    found = network_faults(80, seed=7)
    assert found.faults == []
    assert found.runs == 80


def test_the_bodies_here_are_what_they_seem() -> None:
    """An event without content, as answers begin, is nothing of an answer."""
    stream, made = read([typed_sse({"type": "message_start", "message": {"id": "m"}})], "anthropic")
    assert [event.type for event in made] == [EventType.ERROR]
    assert type(stream.error) is IncompleteStream
