"""One request to the model: sent, and sent again where that is safe; its answer as events while it comes.

Safe is what cannot have done anything: nothing of an answer has come, and the failure is one that passes (a full
server, a lost connection). An answer that broke off later is not asked for again: what it said was seen. Calls run
after the end of their answer, so that no request is sent again whose answer made one run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import msgspec

from ..errors import IncompleteStream, ProviderError, RateLimited, ToolwireError, TransportError
from ..redaction import Redactor
from ..refusals import hide_secrets, what_is_refused
from ..stream.pipeline import Stream
from ..stream.segments import EventType, SegmentEvent
from ..transport import HttpRequest, Transport
from .events import RequestRetried
from .mistakes import Mistakes
from .steps import ModelAnswer

PASSING_STATUSES = frozenset({408, 409, 424, 425, 429, *range(500, 600)} - {501, 505})
"""HTTP statuses of what may be over in a moment. 409 is a lock at OpenAI and Anthropic, 424 a model's stream that broke
at Bedrock, 529 a full service at Anthropic."""

PASSING_CODES = frozenset(
    {
        *("overloaded_error", "api_error", "timeout_error"),
        *("server_error", "internal_error", "internal_server_error", "internalservererror", "service_unavailable"),
        *("server_is_overloaded", "slow_down", "overloaded", "engine_overloaded_error", "timeout"),
        *("internalserverexception", "serviceunavailableexception", "modelstreamerrorexception"),
        *("modeltimeoutexception", "modelnotreadyexception", "modelerrorexception"),
        *("unavailable", "internal", "deadline_exceeded", "aborted"),
    }
)
"""The same as words, in small letters: what providers call an error inside an answer that began with 200."""

SPENT_CODES = frozenset(
    {
        *("insufficient_quota", "insufficient_user_quota", "insufficient_balance", "quota_exceeded"),
        *("exceeded_current_quota_error", "billing_hard_limit_reached", "billing_not_active", "billing_error"),
        *("enforced_spend_limit_reached", "usage_limit_reached", "servicequotaexceededexception"),
    }
)
"""Codes that come as "slow down" and do not pass: what was paid for is used up."""


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a request is sent, and how long is waited in between.

    All in all no longer than `attempts` answers (see `toolwire.transport.Timeouts`) and the pauses between them take.
    """

    attempts: int = 4
    """1: never again."""
    first_pause: float = 0.5
    """Seconds; each further pause is twice as long, and up to this much is added by chance, so that many who were
    refused together do not come back together."""
    longest_pause: float = 60.0
    """Seconds. Where the provider asks for more (`Retry-After`), the request fails at once and says so."""


class Asking:
    """One request. After its `events`, `stream` knows how the answer ended.

    `make_request` and `make_stream` are called for each attempt: a signature is good for a few minutes only. `mend`
    says of a refusal whether the next request is another one, so that it may be sent. `mistakes` looks at the events.
    """

    def __init__(
        self,
        transport: Transport,
        make_request: Callable[[], HttpRequest],
        make_stream: Callable[[HttpRequest], Stream],
        *,
        turn: int,
        retries: Retries,
        redactor: Redactor,
        mend: Callable[[ToolwireError], bool] = lambda _: False,
        mistakes: Mistakes | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._transport = transport
        self._make_request = make_request
        self._make_stream = make_stream
        self._turn = turn
        self._retries = retries
        self._redactor = redactor
        self._mend = mend
        self._mended = False
        self._mistakes = mistakes
        self._sleep = sleep
        self.stream: Stream | None = None

    async def events(self) -> AsyncGenerator[SegmentEvent | RequestRetried, None]:
        """The events of the answer; before them one for each attempt that failed and is made again."""
        attempt = 0
        while True:
            attempt += 1
            request = self._make_request()
            stream = self.stream = self._make_stream(request)
            failed: SegmentEvent | None = None
            begun = False
            async with aclosing(self._attempt(stream, request)) as events:
                async for event in events:
                    if self._mistakes is not None:
                        self._mistakes.note(event)
                    if event.type is EventType.ERROR and not begun:
                        failed = event
                    else:
                        begun = True
                        yield event
            error = stream.error
            if failed is None or error is None:
                return
            _note_refusal(error)
            pause = self._pause(attempt, error)
            if pause is None:
                yield msgspec.structs.replace(failed, error=error.info())
                return
            yield RequestRetried(self._turn, attempt, round(pause, 3), error.info())
            await self._sleep(pause)

    @property
    def answer(self) -> ModelAnswer:
        """What came of it, once its events have ended."""
        stream = self.stream
        assert stream is not None, "an answer that ended was read"
        mistakes = self._mistakes
        return ModelAnswer(
            message=stream.message,
            usage=stream.usage,
            stop_reason=stream.stop_reason,
            invocations=stream.invocations,
            problems=stream.problems,
            mistake=mistakes.words(stream) if mistakes is not None and mistakes.made(stream) else "",
            error=None if stream.error is None else stream.error.info(),
            mended=self._mended,
        )

    async def _attempt(self, stream: Stream, request: HttpRequest) -> AsyncGenerator[SegmentEvent, None]:
        try:
            async with aclosing(self._transport.stream(request)) as body:
                async for data in body:
                    for event in stream.feed(data):
                        yield event
                    if stream.complete or stream.error is not None:
                        break
            for event in stream.close():
                yield event
        except ToolwireError as error:
            hide_secrets(error, request, self._redactor)
            for event in stream.fail(error):
                yield event

    def _pause(self, attempt: int, error: ToolwireError) -> float | None:
        """Seconds before the next attempt: as the provider asks, else longer each time. None where there is none."""
        retries = self._retries
        if self._mend(error):
            self._mended = True
            return 0.0
        if attempt >= retries.attempts or not passes(error):
            return None
        asked = error.facts.get("retry_after")
        if asked and asked > retries.longest_pause:
            error.hint = (
                f"The provider asks for a pause of {asked:g} s, which is longer than is waited here "
                f"(Retries.longest_pause: {retries.longest_pause:g} s). Try again then."
            )
            return None
        return float(asked) if asked else _back_off(attempt, retries)


def passes(error: ToolwireError) -> bool:
    """Whether the same request may do better in a moment. Decided by types, statuses and codes; never by words."""
    facts = error.facts
    if facts.get("refused"):
        return False
    if isinstance(error, TransportError):
        return facts.get("which") != "total" and not facts.get("lasting")
    if not isinstance(error, ProviderError):
        return isinstance(error, IncompleteStream)
    code = str(facts.get("code", "")).lower()
    if code in SPENT_CODES:
        return False
    status = facts.get("status", int(code) if code.isdecimal() and len(code) == 3 else None)
    if status is not None:
        return status in PASSING_STATUSES
    # Inside of an answer: without a code, the request was taken and then something failed.
    return isinstance(error, RateLimited) or not code or code in PASSING_CODES


def _note_refusal(error: ToolwireError) -> None:
    """Says what is refused also where a provider says so inside of an answer that began with 200."""
    if isinstance(error, ProviderError) and "status" not in error.facts:
        status = 429 if isinstance(error, RateLimited) else None
        refused = what_is_refused(error.message, status=status, codes=(str(error.facts.get("code", "")),))
        if refused is not None:
            error.facts["refused"] = refused


def _back_off(attempt: int, retries: Retries) -> float:
    from tenacity import RetryCallState, Retrying, wait_exponential_jitter

    wait = wait_exponential_jitter(initial=retries.first_pause, max=retries.longest_pause, jitter=retries.first_pause)
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = attempt
    return wait(state)
