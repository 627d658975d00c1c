"""`SdkStream`: the objects of an official SDK's stream in, the same events out as `Stream` gives for the bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..embedded.choosing import NATIVE, StreamParser, as_parser
from ..errors import ConfigError, ToolwireError
from ..limits import DEFAULT_LIMITS, Limits
from ..providers.converters import SdkDecoder, sdk_wire
from ..providers.sdk_errors import sdk_error
from ..providers.wires import wire_format
from .reading import AnswerStream
from .segments import SegmentEvent

if TYPE_CHECKING:
    from ..tools.registry import ToolRegistry


class SdkStream(AnswerStream):
    """One answer that an SDK reads: `events(its stream)`, or `feed` each object and `close` at the end.

    Everything else is as with `Stream`, the laws too: an answer whose stream just stops is incomplete, and an error
    that the SDK raises in the middle becomes the last event. `wire` is None for the SDKs that are known.
    """

    def __init__(
        self,
        tools: Iterable[Any] | ToolRegistry | None = None,
        wire: str | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        turn: int = 0,
        segment_id_prefix: str = "",
        live_arguments: bool = False,
        strict: bool = False,
        stream_parser: str | StreamParser = NATIVE,
    ) -> None:
        parser = as_parser(stream_parser)
        super().__init__(tools, limits, turn, segment_id_prefix, live_arguments, strict, parser)
        self.wire = wire
        self._is_taken = False
        self._begin(SdkDecoder(wire, limits), wire_format(wire or "openai-chat").names)

    def feed(self, sent: Any) -> list[SegmentEvent]:
        """The events that one object of the SDK's stream leads to. An object of no known kind is a `ConfigError`."""
        events: list[SegmentEvent] = []
        if self.wire is None:
            self.wire = sdk_wire(sent)
            self._begin(SdkDecoder(self.wire, self._limits), wire_format(self.wire).names)
        if self._handler.error is None:
            try:
                self._decode(sent, events)
            except ConfigError:
                raise
            except ToolwireError as error:
                self._handler.finalize_into(error, events)
        return events

    def close(self) -> list[SegmentEvent]:
        """The end of the SDK's stream: DONE or ERROR, if it has not come yet."""
        self._is_taken = True
        events: list[SegmentEvent] = []
        if self._handler.error is None:
            try:
                self._end(events)
            except ToolwireError as error:
                self._handler.finalize_into(error, events)
        return events

    def events(self, sdk_stream: Iterable[Any]) -> Iterator[SegmentEvent]:
        """All events of a stream of the SDK's synchronous client. Nothing that the SDK raises gets through: it is the
        `error`, with the exception as its `__cause__`.
        """
        objects = self._take(sdk_stream, "__iter__", "events", "aevents")
        while True:
            try:
                sent = next(objects)
            except StopIteration:
                break
            except Exception as raised:
                yield from self.fail(sdk_error(raised, self.wire))
                return
            yield from self.feed(sent)
        yield from self.close()

    async def aevents(self, sdk_stream: Any) -> AsyncIterator[SegmentEvent]:
        """As `events`, for the SDK's asynchronous client."""
        objects = self._take(sdk_stream, "__aiter__", "aevents", "events")
        while True:
            try:
                sent = await anext(objects)
            except StopAsyncIteration:
                break
            except Exception as raised:
                for event in self.fail(sdk_error(raised, self.wire)):
                    yield event
                return
            for event in self.feed(sent):
                yield event
        for event in self.close():
            yield event

    def _take(self, sdk_stream: Any, *ways: str) -> Any:
        """The objects of the one answer: after a second one, the calls of the first would be there to be run again."""
        if self._is_taken:
            raise ConfigError("this SdkStream has had its answer", hint="Use a new SdkStream for each answer.")
        objects = _objects(sdk_stream, *ways)
        self._is_taken = True
        return objects


def _objects(sdk_stream: Any, way: str, here: str, there: str) -> Any:
    """The iterator of an SDK's stream; a `ConfigError` for what is none says what to do instead."""
    begin = getattr(sdk_stream, way, None)
    if hasattr(sdk_stream, "model_dump") or isinstance(sdk_stream, (dict, str, bytes)):
        hint = "It is a whole answer or a part of one: ask for a stream (`stream=True`; boto3: `answer['stream']`)."
    elif begin is not None:
        return begin()
    elif hasattr(sdk_stream, "__await__"):
        hint = "It has to be awaited first: `await client…(…, stream=True)`."
    elif hasattr(sdk_stream, "__iter__") or hasattr(sdk_stream, "__aiter__"):
        hint = f"Use `{there}` for it."  # it may be a context manager too
    elif hasattr(sdk_stream, "__enter__") or hasattr(sdk_stream, "__aenter__"):
        hint = "It has to be opened first: `with client…stream(…) as sdk_stream`."
    else:
        hint = "Give it what the SDK's streaming call returned."
    of = type(sdk_stream)
    raise ConfigError(f"`{here}` cannot read a {of.__module__}.{of.__qualname__} as a stream", hint=hint)
