"""What is kept of the wire while an agent works: bounded, in order, and without a secret."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

import toolwire
from cli.chat_bytes import CALCULATE, sse
from toolwire import Agent
from toolwire.errors import ProviderError, TransportError
from toolwire.inspection.tap import KEPT_ALL, KEPT_CHUNKS, Reading, TappedTransport, WireLog, wire_of
from toolwire.inspection.watching import Watching
from toolwire.testing import ScriptedModel, call, events_of, fail, say
from toolwire.transport import HttpRequest
from wire_bodies import PROVIDERS

SECRET = "sk-live-0123456789abcdef"


def request(url: str = "https://h/v1/chat/completions", provider: str = "") -> HttpRequest:
    return HttpRequest(
        url=url, headers={"Authorization": f"Bearer {SECRET}"}, body=b"12345", provider=provider, model="m"
    )


class Pieces:
    """A transport that gives these bytes, and then fails if it is told to."""

    def __init__(self, *pieces: bytes, error: Exception | None = None) -> None:
        self._pieces = pieces
        self._error = error
        self.closed = False

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        try:
            for piece in self._pieces:
                yield piece
            if self._error is not None:
                raise self._error
        finally:
            self.closed = True

    async def aclose(self) -> None:
        self.closed = True


async def tapped(inner: Pieces, log: WireLog, take: int | None = None) -> list[bytes]:
    ticks = iter(range(1000))
    transport = TappedTransport(inner, log, clock=lambda: float(next(ticks)))
    got: list[bytes] = []
    async with aclosing(transport.stream(request())) as body:
        async for data in body:
            got.append(data)
            if len(got) == take:
                break
    return got


async def test_what_goes_through_is_told_and_unchanged() -> None:
    log = WireLog()
    assert await tapped(Pieces(b"one", b"two"), log) == [b"one", b"two"]
    (told,) = log.requests
    assert told.chunks == [(1.0, b"one"), (2.0, b"two")]
    assert (told.ended, told.error, told.closed, told.is_whole) == (3.0, None, False, True)
    assert (told.sent, told.received, told.model, told.url) == (5, 6, "m", "https://h/v1/chat/completions")


async def test_who_stops_reading_closes_the_answer() -> None:
    log, inner = WireLog(), Pieces(b"one", b"two")
    assert await tapped(inner, log, take=1) == [b"one"]
    assert inner.closed
    assert log.requests[0].closed
    assert log.requests[0].ended is not None


async def test_an_error_is_told_without_secrets_and_raised_as_it_was() -> None:
    log = WireLog()
    raised = TransportError(f"it broke with {SECRET}")
    with pytest.raises(TransportError) as caught:
        await tapped(Pieces(b"one", error=raised), log)
    assert caught.value is raised
    error = log.requests[0].error
    assert error is not None
    assert error.type == "TransportError"
    assert SECRET not in error.message
    assert SECRET in raised.message


@pytest.mark.parametrize("cut", range(1, len(SECRET)))
async def test_an_answer_that_repeats_the_key(cut: int) -> None:
    log = WireLog()
    key = SECRET.encode()
    data = b'data: {"error": "' + key + b'"} ' + key
    place = data.index(key) + cut
    got = await tapped(Pieces(data[:place], data[place:]), log)
    kept = b"".join(piece for _, piece in log.requests[0].chunks)
    assert b"".join(got) == data
    assert key not in kept
    assert len(kept) == len(data)
    assert kept.count(b"*" * len(key)) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 5])
async def test_the_key_in_small_pieces(size: int) -> None:
    log = WireLog()
    key = SECRET.encode()
    data = b"a" + key + b"b" + key + key + key[:-1] + b"c"
    await tapped(Pieces(*(data[at : at + size] for at in range(0, len(data), size))), log)
    kept = b"".join(piece for _, piece in log.requests[0].chunks)
    stars = b"*" * len(key)
    assert kept == b"a" + stars + b"b" + stars + stars + key[:-1] + b"c"


def test_nothing_of_the_request_is_kept() -> None:
    log = WireLog()
    log.begin(request(f"https://user:{SECRET}@h/v1/x?key={SECRET}"), "")
    kept = vars(log.requests[0])
    assert SECRET not in repr(kept)
    assert b"12345" not in repr(kept).encode()


def test_what_is_kept_is_bounded() -> None:
    log = WireLog(kept=10_000, kept_all=25_000)
    for _ in range(5):
        told = log.begin(request(), "")
        for at in range(100):
            log.came(told, b"x" * 500, float(at))
        assert told.received == 50_000
        assert told.stored == 10_000
        assert not told.is_whole
    assert log.count == 5
    assert [each.number for each in log.requests] == [4, 5]


def test_very_small_pieces_are_bounded_too() -> None:
    log = WireLog()
    told = log.begin(request(), "")
    for at in range(KEPT_CHUNKS + 10):
        log.came(told, b"x", float(at))
    assert len(told.chunks) == KEPT_CHUNKS
    assert not told.is_whole
    for _ in range(2):
        log.begin(request(), "").kept = KEPT_ALL // 2
    log.begin(request(), "")
    assert [each.number for each in log.requests] == [2, 3, 4]


@pytest.mark.parametrize(
    ("url", "provider", "wire"),
    [
        ("https://h/v1/chat/completions", "", "openai-chat"),
        ("https://h/v1/responses?x=1", "", "openai-responses"),
        ("https://h/v1/messages", "", "anthropic"),
        ("https://h/v1beta/models/g:streamGenerateContent?alt=sse", "", "gemini"),
        ("http://h:11434/api/chat", "", "ollama"),
        ("https://h/model/x/converse-stream", "", "bedrock"),
        ("https://h/v2/chat", "", "cohere"),
        ("https://h/elsewhere", "", ""),
        ("https://h/elsewhere", "anthropic", "anthropic"),
        ("https://h/elsewhere", "nobody", ""),
    ],
)
def test_which_wire_an_answer_is_in(url: str, provider: str, wire: str) -> None:
    assert wire_of(request(url, provider)) == wire


@toolwire.tool(risk="read")
def look(what: str) -> str:
    """Looks it up."""
    return what


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_agent_that_is_watched(provider: str) -> None:
    log = WireLog()
    script = ScriptedModel([fail(503, "busy", retry_after=0.01), [say("I look"), call("look", what="x")], say("Fine.")])
    agent = Agent(
        f"{provider}:m", [look], transport=TappedTransport(script, log), api_key=SECRET, base_url="http://127.0.0.1:1"
    )
    await events_of(agent, "How is it?")
    assert [told.wire for told in log.requests] == [PROVIDERS[provider]] * 3
    watched = [Watching(told) for told in log.requests]
    for each in watched:
        while each.behind:
            each.advance()
    failed, first, last = watched
    assert [frame.name for frame in failed.frames] == ["broke off"]
    assert isinstance(log.requests[0].failure, ProviderError)
    assert (failed.problems, first.problems, last.problems) == (1, 0, 0)
    assert first.tracer is not None
    assert first.tracer.complete
    assert any(event.tool_name == "look" for frame in first.frames for event in frame.events)


def is_behind(watching: Watching) -> bool:
    return watching.behind


def test_watching_goes_on_in_pieces() -> None:
    log = WireLog()
    told = log.begin(request(), "")
    watching = Watching(told)
    assert not is_behind(watching)
    data = sse(*({"content": f"word {number} "} for number in range(500)))
    log.came(told, data[:50], 0.5)
    assert not watching.advance()
    log.came(told, data[50:], 1.0)
    steps = 0
    while is_behind(watching):
        watching.advance(0.0)
        steps += 1
    assert steps == -(-len(data[50:]) // 4096)
    assert len(watching.frames) == 503
    assert watching.frames[0].at == 1.0
    log.end(told, 2.0)
    assert is_behind(watching)
    watching.advance()
    assert not is_behind(watching)
    assert watching.tracer is not None
    assert (watching.tracer.wire, watching.tracer.complete) == ("openai-chat", True)


@pytest.mark.parametrize(
    ("ending", "words"),
    [({"closed": True}, "closed on this side"), ({"failure": TransportError("reset")}, "reset"), ({}, "broke off")],
)
def test_an_answer_that_never_ends(ending: dict[str, object], words: str) -> None:
    log = WireLog()
    told = log.begin(request(), "openai-chat")
    log.came(told, CALCULATE[:400], 1.0)
    log.end(told, 2.0, **ending)  # type: ignore[arg-type]
    watching = Watching(told)
    watching.advance()
    assert words in " ".join(finding.words for finding in watching.frames[-1].findings)


def test_an_answer_is_read_as_whoever_asked_reads_it() -> None:
    log = WireLog()
    log.reading = lambda: Reading("xml", [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}])
    told = log.begin(request(), "openai-chat")
    log.came(told, sse({"content": '<tool name="look"></tool>'}), 1.0)
    log.end(told, 2.0)
    watching = Watching(told)
    watching.advance()
    assert [event.tool_name for frame in watching.frames for event in frame.events if event.tool_name] == ["look"]


def test_an_answer_of_which_not_all_is_kept() -> None:
    log = WireLog(kept=400)
    told = log.begin(request(), "openai-chat")
    log.came(told, CALCULATE, 1.0)
    log.end(told, 2.0)
    watching = Watching(told)
    watching.advance()
    assert "more came than is kept" in watching.frames[-1].findings[0].words
