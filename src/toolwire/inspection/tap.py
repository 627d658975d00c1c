"""What goes over the wire while an agent works, kept for whoever wants to look: `WireLog`, and the transport that
fills it.

Bounded: of each answer the first `KEPT` bytes are kept, since nothing can be read from its middle, and of all answers
together no more than `KEPT_ALL`: the oldest are let go. Of a request its size is kept and nothing that is in it. A
secret of the request that the answer repeats is kept as stars.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Any, NamedTuple

from ..embedded.choosing import API_TOOL_CALL
from ..errors import ErrorInfo, ToolwireError
from ..limits import MIB
from ..providers.catalog import find_provider
from ..providers.wires import WIRES
from ..refusals import hide_secrets, secrets_of, shown_url
from ..transport import HttpRequest, Transport

KEPT = 2 * MIB
KEPT_ALL = 8 * MIB
KEPT_REQUESTS = 50
KEPT_CHUNKS = 40_000
"""Of each answer: as many as 2 MiB are in pieces of fifty bytes."""
_CHUNK_COST = 100
"""Bytes that a chunk costs beside what is in it, so that very small ones are bounded too."""


class Reading(NamedTuple):
    """How whoever asks reads the answers: whoever looks must read them in the same way to see the same events."""

    parser: str = API_TOOL_CALL
    tools: Iterable[Any] | None = None
    """None: calls are read, names and schemas not checked."""


class WireRequest:
    """One request and the bytes of its answer, as they came. Times are seconds since it was sent."""

    def __init__(self, number: int, request: HttpRequest, wire: str, reading: Reading) -> None:
        self.number = number
        self.reading = reading
        self.provider = request.provider
        self.model = request.model
        self.wire = wire
        """Empty where nobody knows: then the bytes tell."""
        self.url = shown_url(request.url)
        self.sent = len(request.body)
        self.chunks: list[tuple[float, bytes]] = []
        self.received = 0
        self.stored = 0
        """Bytes in the chunks."""
        self.kept = 0
        """What the chunks cost."""
        self.ended: float | None = None
        self.error: ErrorInfo | None = None
        self.failure: ToolwireError | None = None
        self.closed = False
        """Nobody read on: the answer was complete, or the run was interrupted."""

    @property
    def is_whole(self) -> bool:
        """Whether all that came is kept."""
        return self.received == self.stored


class WireLog:
    """The last requests with their answers. Cheap enough to be always on: a chunk is put into a list."""

    def __init__(self, *, kept: int = KEPT, kept_all: int = KEPT_ALL) -> None:
        self._most = kept
        self._most_all = kept_all
        self.reading: Callable[[], Reading] = Reading
        """How the answer to a request is read that is sent now."""
        self.requests: deque[WireRequest] = deque(maxlen=KEPT_REQUESTS)
        self.count = 0
        """All requests so far, also those that were let go."""
        self.version = 0
        """Grows with everything that is told, for a screen that asks whether there is something new."""

    def begin(self, request: HttpRequest, wire: str) -> WireRequest:
        """A request is being sent."""
        self.count += 1
        self.version += 1
        made = WireRequest(self.count, request, wire, self.reading())
        self.requests.append(made)
        self._make_room()
        return made

    def came(self, request: WireRequest, data: bytes, at: float) -> None:
        """Bytes of its answer came."""
        self.version += 1
        request.received += len(data)
        if request.stored < self._most and len(request.chunks) < KEPT_CHUNKS:
            kept = data[: self._most - request.stored]
            request.chunks.append((at, kept))
            request.stored += len(kept)
            request.kept += len(kept) + _CHUNK_COST
            self._make_room()

    def end(
        self, request: WireRequest, at: float, failure: ToolwireError | None = None, *, closed: bool = False
    ) -> None:
        """Its answer has ended."""
        self.version += 1
        request.ended, request.closed = at, closed
        request.failure, request.error = failure, None if failure is None else failure.info()

    def _make_room(self) -> None:
        while len(self.requests) > 1 and sum(each.kept for each in self.requests) > self._most_all:
            self.requests.popleft()


class TappedTransport:
    """A transport that tells a `WireLog` what goes through it, and changes nothing."""

    def __init__(self, inner: Transport, log: WireLog, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._log = log
        self._clock = clock

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """As `Transport.stream`."""
        log, began = self._log, self._clock()
        told = log.begin(request, wire_of(request))
        masked = _Stars(request)
        failure: ToolwireError | None = None
        closed = True
        try:
            async with aclosing(self._inner.stream(request)) as body:
                async for data in body:
                    log.came(told, masked(data, told), self._clock() - began)
                    yield data
            closed = False
        except ToolwireError as error:
            failure = _copied(error, request)
            closed = False
            raise
        finally:
            log.end(told, self._clock() - began, failure, closed=closed)

    async def aclose(self) -> None:
        """As `Transport.aclose`."""
        await self._inner.aclose()


def wire_of(request: HttpRequest) -> str:
    """The wire format that an answer to this request is in; empty if neither provider nor path say so."""
    provider = find_provider(request.provider) if request.provider else None
    if provider is not None and provider.wire in WIRES:
        return provider.wire
    path = shown_url(request.url)
    for wire in WIRES.values():
        if path.endswith(wire.path.partition("?")[0].rpartition("}")[2]):
            return wire.name
    return ""


def _copied(error: ToolwireError, request: HttpRequest) -> ToolwireError:
    """The error for the log: without the request's secrets, and without what hangs on the one that is raised."""
    kind = type(error)
    copy = kind.__new__(kind)
    ToolwireError.__init__(copy, error.message, hint=error.hint, **error.facts)
    hide_secrets(copy, request)
    return copy


class _Stars:
    """Puts stars where bytes repeat a secret of the request, also one that is cut in two."""

    def __init__(self, request: HttpRequest) -> None:
        self._secrets = [secret.encode() for secret in secrets_of(request)]
        self._longest = max(map(len, self._secrets), default=1) - 1
        self._tail = b""
        """The last bytes that came: a secret may have begun in them, however small the pieces are."""

    def __call__(self, data: bytes, told: WireRequest) -> bytes:
        """The bytes to keep. What was kept before is put right where it was the beginning of a secret."""
        tail = self._tail
        joined = masked = tail + data
        for secret in self._secrets:
            if secret in masked:
                masked = masked.replace(secret, b"*" * len(secret))
        self._tail = masked[-self._longest :] if self._longest else b""
        if masked is joined:
            return data
        self._put_right(told, masked[: len(tail)])
        return masked[len(tail) :]

    @staticmethod
    def _put_right(told: WireRequest, tail: bytes) -> None:
        """Lets the bytes that came last be these, as far as they were kept."""
        begins, end = told.received - len(tail), told.stored
        place = len(told.chunks)
        while place and end > begins:
            place -= 1
            at, kept = told.chunks[place]
            start = end - len(kept)
            first = max(start, begins)
            told.chunks[place] = at, kept[: first - start] + tail[first - begins : end - begins]
            end = start
