"""`SdkStream` itself, with plain dicts in the place of an SDK's objects; `test_sdk_objects.py` has the real ones."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import toolwire
from feeding import call, check_shape, delta
from toolwire import EventType, SdkStream, Stream
from toolwire.errors import (
    AuthenticationFailed,
    ConfigError,
    IncompleteStream,
    ProtocolError,
    ProviderError,
    RateLimited,
    TimedOut,
    ToolwireError,
    TransportError,
)
from toolwire.providers.sdk_errors import sdk_error


@toolwire.tool(risk="read")
def get_weather(city: str) -> str:
    """Weather for a city."""
    return city


ANSWER = [
    delta(content="Let me "),
    delta(content="look."),
    delta(tool_calls=[call('{"city":', id="c1", name="get_weather")]),
    delta(tool_calls=[call('"Paris"}')]),
    delta(finish="tool_calls"),
]


def broken(*sent: Any, error: BaseException) -> Iterator[Any]:
    yield from sent
    raise error


async def asynchronous(sent: Iterator[Any] | list[Any]) -> AsyncIterator[Any]:
    for one in sent:
        await asyncio.sleep(0)
        yield one


def test_three_lines() -> None:
    stream = SdkStream(tools=[get_weather], wire="openai-chat")
    events = list(stream.events(ANSWER))
    check_shape(events)
    assert [(one.tool_name, one.arguments) for one in stream.invocations] == [("get_weather", {"city": "Paris"})]
    assert stream.summary()["text"] == "Let me look."


async def test_three_lines_asynchronously() -> None:
    stream = SdkStream(tools=[get_weather], wire="openai-chat")
    events = [event async for event in stream.aevents(asynchronous(ANSWER))]
    again = SdkStream(tools=[get_weather], wire="openai-chat")
    assert events == list(again.events(ANSWER))
    assert stream.invocations == again.invocations != []


async def test_a_second_answer_is_refused() -> None:
    """It would give no events, and leave the calls of the first to be run again."""
    stream = SdkStream(tools=[get_weather], wire="openai-chat")
    list(stream.events(ANSWER))
    with pytest.raises(ConfigError) as caught:
        list(stream.events(ANSWER))
    assert "new SdkStream" in caught.value.hint
    with pytest.raises(ConfigError):
        [event async for event in stream.aevents(asynchronous(ANSWER))]


def test_a_second_answer_is_refused_after_half_of_one_too() -> None:
    stream = SdkStream(tools=[get_weather], wire="openai-chat")
    next(stream.events(ANSWER))
    with pytest.raises(ConfigError):
        list(stream.events(ANSWER))
    fed = SdkStream(wire="openai-chat")
    fed.feed(ANSWER[0])
    assert next(fed.events([ANSWER[1]])).delta == "look."
    closed = SdkStream(wire="openai-chat")
    closed.close()
    with pytest.raises(ConfigError):
        list(closed.events(ANSWER))


def test_a_wrong_stream_does_not_use_it_up() -> None:
    stream = SdkStream(wire="openai-chat")
    with pytest.raises(ConfigError):
        list(stream.events({"choices": []}))
    assert list(stream.events(ANSWER))[-1].type is EventType.DONE


def test_the_face_is_that_of_a_stream() -> None:
    face = {name for name in dir(Stream) if not name.startswith("_")}
    assert face <= {name for name in dir(SdkStream) if not name.startswith("_")}


def test_events_come_as_they_are_made() -> None:
    """Nothing is held back until the SDK's stream ends."""
    stream = SdkStream(wire="openai-chat")
    fed: list[int] = []

    def objects() -> Iterator[Any]:
        for number, sent in enumerate(ANSWER):
            fed.append(number)
            yield sent

    assert next(stream.events(objects())).type is EventType.START
    assert fed == [0]


def test_before_the_first_object_everything_can_be_asked() -> None:
    stream = SdkStream(tools=[get_weather])
    assert (stream.wire, stream.complete, stream.error, stream.invocations, stream.quirks) == (
        None,
        False,
        None,
        [],
        {},
    )
    assert stream.summary()["calls"] == []
    assert stream.message.content == []


def test_no_object_at_all_is_an_answer_that_was_cut() -> None:
    stream = SdkStream()
    (event,) = stream.events([])
    assert event.type is EventType.ERROR
    assert isinstance(stream.error, IncompleteStream)


def test_tool_names_go_by_the_rule_of_the_wire_that_is_found() -> None:
    """Which wire it is turns out with the first object; until then any other rule would do."""
    module = {"__module__": "google.genai.types"}

    class Content(BaseModel):
        candidates: list[Any]

    def sent(name: str) -> Any:
        part = {"functionCall": {"name": name, "args": {}}}
        of = type("GenerateContentResponse", (Content,), module)
        return of(candidates=[{"content": {"parts": [part]}, "finishReason": "STOP"}])

    tool = {"name": "1st", "description": "x", "parameters": {"type": "object"}}
    asked = toolwire.encode_request(wire="gemini", model="m", messages=[{"role": "user", "content": "x"}], tools=[tool])
    (declared,) = asked["tools"][0]["functionDeclarations"]
    assert declared["name"] != "1st"
    for name in ("1st", declared["name"]):
        stream = SdkStream(tools=[tool])
        list(stream.events([sent(name)]))
        assert stream.wire == "gemini"
        assert [one.tool_name for one in stream.invocations] == ["1st"]


def test_options_are_those_of_a_stream() -> None:
    stream = SdkStream(
        tools=[get_weather], wire="openai-chat", turn=3, segment_id_prefix="p-", live_arguments=True, strict=True
    )
    events = list(stream.events(ANSWER))
    assert events[0].segment_id.startswith("p-")
    assert any(event.fields for event in events)
    assert stream.invocations[0].turn == 3


def test_without_tools_the_answer_passes_through() -> None:
    stream = SdkStream(tools=[], wire="openai-chat")
    (*_, last) = stream.events(ANSWER)
    assert last.metadata == {"ignored_calls": 1}
    assert stream.invocations == []


@pytest.mark.parametrize("cut", range(len(ANSWER)))
def test_a_stream_that_just_stops_runs_nothing(cut: int) -> None:
    stream = SdkStream(tools=[get_weather], wire="openai-chat")
    events = list(stream.events(ANSWER[:cut]))
    check_shape(events)
    assert isinstance(stream.error, IncompleteStream)
    assert stream.invocations == []


@pytest.mark.parametrize("cut", range(len(ANSWER) + 1))
async def test_what_the_sdk_raises_is_the_last_event(cut: int) -> None:
    """Even after the finish reason: what would have come can no longer be known."""
    for way in ("sync", "async"):
        raised = RuntimeError("boom")
        stream = SdkStream(tools=[get_weather], wire="openai-chat")
        sdk_stream = broken(*ANSWER[:cut], error=raised)
        if way == "sync":
            events = list(stream.events(sdk_stream))
        else:
            events = [event async for event in stream.aevents(asynchronous(sdk_stream))]
        check_shape(events)
        assert events[-1].type is EventType.ERROR
        assert stream.error is not None
        assert stream.error.__cause__ is raised
        assert "boom" in stream.error.message
        assert stream.invocations == []


def test_an_error_after_the_proper_end_changes_nothing() -> None:
    answer = [{"message": {"content": "Hi"}, "done": True, "done_reason": "stop"}]
    stream = SdkStream(wire="ollama")
    events = list(stream.events(broken(*answer, error=ConnectionError("late"))))
    check_shape(events)
    assert stream.complete
    assert stream.error is None


def test_a_fault_in_an_object_is_the_last_event_and_no_more_is_read() -> None:
    stream = SdkStream(wire="openai-chat")
    events = list(stream.events([ANSWER[0], {"choices": 1}, *ANSWER]))
    check_shape(events)
    assert isinstance(stream.error, ProtocolError)
    assert stream.summary()["text"] == "Let me "
    assert stream.close() == []


def test_fail_is_as_with_a_stream() -> None:
    stream = SdkStream(tools=[get_weather], wire="openai-chat")
    events = [event for sent in ANSWER[:3] for event in stream.feed(sent)]
    events += stream.fail(TransportError("gone"))
    check_shape(events)
    assert stream.summary()["calls"][0]["complete"] is False


def test_an_unknown_object_is_the_callers_fault_and_raised() -> None:
    stream = SdkStream()
    with pytest.raises(ConfigError, match="cannot tell which SDK"):
        list(stream.events([object()]))
    assert stream.invocations == []


def test_who_leaves_early_is_let_go() -> None:
    stream = SdkStream(wire="openai-chat")
    reading = stream.events(ANSWER)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert stream.invocations == []
    assert not stream.complete


async def test_a_cancelled_task_stays_cancelled() -> None:
    """Cancellation is no error of the SDK: it goes through, and nothing may run."""
    stream = SdkStream(wire="openai-chat")

    async def endless() -> AsyncIterator[Any]:
        yield ANSWER[0]
        await asyncio.Event().wait()

    async def consume() -> None:
        async for _ in stream.aevents(endless()):
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stream.invocations == []


class Whole(BaseModel):
    """An answer that was not streamed; a model can be iterated over, which gives its members."""

    choices: list[Any] = []


class Manager:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class AsyncStream:
    """As openai's and anthropic's: it can be iterated over, and opened too."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...

    def __aiter__(self) -> AsyncIterator[Any]:
        return asynchronous([])


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (Whole(), "stream=True"),
        ({"stream": [], "ResponseMetadata": {}}, "answer['stream']"),
        (b"data: {}", "ask for a stream"),
        (Manager(), "opened first"),
        (asynchronous([]), "`aevents`"),
        (AsyncStream(), "`aevents`"),
        (None, "streaming call"),
    ],
    ids=["whole", "boto3", "bytes", "manager", "async", "async stream", "none"],
)
def test_what_is_no_stream_is_refused_with_the_way_out(wrong: Any, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        list(SdkStream().events(wrong))
    assert hint in caught.value.hint


async def test_what_has_to_be_awaited_is_refused_with_the_way_out() -> None:
    waiting = coroutine()
    with pytest.raises(ConfigError) as caught:
        [event async for event in SdkStream().aevents(waiting)]
    assert "awaited first" in caught.value.hint
    await waiting
    with pytest.raises(ConfigError) as caught:
        [event async for event in SdkStream().aevents([])]
    assert "`events`" in caught.value.hint


def raises(name: str, *bases: type, module: str = "sdk", **members: Any) -> Exception:
    """An exception such as an SDK's, told by what it carries and is called."""
    of = type(name, bases or (Exception,), {"__module__": module, **members})
    made = of("words")
    assert isinstance(made, Exception)
    return made


@pytest.mark.parametrize(
    ("raised", "kind", "facts"),
    [
        (raises("APIError", body={"message": "m", "code": "rate_limit_exceeded"}), RateLimited, {"code"}),
        (
            raises("APIStatusError", body={"error": {"type": "overloaded_error", "message": "m"}}),
            ProviderError,
            {"code"},
        ),
        (raises("APIStatusError", status_code=429, body=None), RateLimited, {"status"}),
        (raises("APIStatusError", status_code=403, body={"message": "m"}), AuthenticationFailed, {"status"}),
        (raises("APIStatusError", status_code=200, body={"error": {"message": "m"}}), ProviderError, set()),
        (raises("APIError", code=503, details={"error": {"message": "m", "status": "X"}}), ProviderError, {"status"}),
        (raises("ResponseError", status_code=-1, error="m"), ProviderError, set()),
        (raises("SDKError", status_code=500, body='{"detail": "m"}'), ProviderError, {"status"}),
        (raises("EventStreamError", response={"Error": {"Code": "x", "Message": "m"}}), ProviderError, {"code"}),
        (raises("EventStreamError", response={"Error": {"Code": "throttlingException"}}), RateLimited, {"code"}),
        (raises("ReadTimeout", module="httpx"), TimedOut, set()),
        (raises("APITimeoutError"), TimedOut, set()),
        (raises("APIConnectionError"), TransportError, set()),
        (raises("RemoteProtocolError", module="httpx2._exceptions"), TransportError, set()),
        (raises("Odd", ConnectionError), TransportError, set()),
        (raises("ValidationError", ValueError), IncompleteStream, set()),
        (raises("Odd", body="<html>"), IncompleteStream, set()),
        (raises("Odd", body="{half"), IncompleteStream, set()),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__ if isinstance(value, Exception) else "",
)
def test_exceptions_are_known_by_what_they_carry(raised: Exception, kind: type[ToolwireError], facts: set[str]) -> None:
    error = sdk_error(raised)
    assert type(error) is kind
    assert error.__cause__ is raised
    assert facts <= set(error.facts)
    assert error.hint


def test_a_refused_key_is_never_repeated() -> None:
    raised = raises("AuthenticationError", status_code=401, body={"message": "Incorrect API key: sk-abc*****wxyz"})
    error = sdk_error(raised)
    assert "sk-" not in str(error.info())


def test_the_query_of_a_url_is_never_shown() -> None:
    error = sdk_error(ConnectionError("Max retries exceeded with url: /v1/models?key=sk-secret"))
    assert "/v1/models" in error.message
    assert "sk-secret" not in str(error.info())


@pytest.mark.parametrize(
    "raised",
    [
        raises("LocalProtocolError", module="httpx"),
        ValueError(),
        UnicodeEncodeError("ascii", "Bearer sk-secret-é", 17, 18, "ordinal not in range(128)"),
    ],
    ids=["httpx", "http.client", "not ascii"],
)
def test_a_key_that_cannot_be_sent_is_never_shown(raised: Exception) -> None:
    """HTTP clients repeat a header that they refuse; what they raise must not hang on our error either."""
    if not isinstance(raised, UnicodeEncodeError):
        raised.args = ("Illegal header value b'Bearer sk-secret\\n'",)
    stream = SdkStream(wire="openai-chat")
    events = list(stream.events(broken(error=raised)))
    assert isinstance(stream.error, ConfigError)
    assert "strip it" in stream.error.hint
    assert "sk-secret" not in repr(events) + "".join(traceback.format_exception(stream.error))
    assert stream.error.__cause__ is None


def test_what_a_provider_says_of_a_header_is_told() -> None:
    raised = raises("APIStatusError", status_code=400, body={"message": "unknown header value 'x'"})
    raised.args = ("unknown header value 'x'",)
    assert "unknown header value" in sdk_error(raised).message
