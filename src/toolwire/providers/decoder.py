"""What the decoders of all wire formats share: frames in, their JSON read, what is no regular frame sorted out.

A format's decoder is a child of `FrameDecoder` that says what one event means (`_take`) and what the end of the body
means (`_finish`). Here is the rest: nesting that is too deep, several payloads that nobody separated, errors that stand
outside the events, bodies that are no stream at all, and where in the stream a fault was.

Two things are done at once for speed. Frames that are alike come as a `Run` and are read together. And pieces of one
stretch of words, or of one call's arguments, that come in one `feed` are joined: they would be handed on together
anyway, and most of the cost of an event is what is made of it, not what it says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from operator import length_hint
from typing import Any, ClassVar, Generic, TypeVar, cast

import msgspec

from ..chunks import ChunkResponse
from ..errors import (
    AuthenticationFailed,
    IncompleteStream,
    ModelNotFound,
    ProtocolError,
    ProviderError,
    RateLimited,
    ToolwireError,
)
from ..limits import DEFAULT_LIMITS, Limits
from ..wire.lines import Run
from ..wire.sse import SseEvent
from .nesting import is_deeper

Event = TypeVar("Event")

_ERROR_TYPES: dict[str, type[ProviderError]] = {
    "rate_limit_error": RateLimited,
    "rate_limit_exceeded": RateLimited,
    "insufficient_quota": RateLimited,
    "RESOURCE_EXHAUSTED": RateLimited,
    "throttlingException": RateLimited,
    "authentication_error": AuthenticationFailed,
    "permission_error": AuthenticationFailed,
    "invalid_api_key": AuthenticationFailed,
    "UNAUTHENTICATED": AuthenticationFailed,
    "PERMISSION_DENIED": AuthenticationFailed,
    "not_found_error": ModelNotFound,
    "model_not_found": ModelNotFound,
}
"""Words of providers for errors that have a type of their own here."""


_FIELDS = ("data:", "event:", "id:", "retry:")
"""A line that is the start of one of these, at the end of a body, was cut."""


AFTER_THE_END = "data-after-the-end"
LINE_COST = 64
"""What a held line costs beside its characters, so that a body of short lines is bounded too."""


class FrameDecoder(ABC, Generic[Event]):
    """Frames in, `ChunkResponse`s out; one decoder for one answer.

    `feed` and `close` raise a `ToolwireError` when the provider reports an error or breaks the format; the chunks
    that the same call made before the fault are in the error's `before`. After the proper end nothing more is
    decoded, only counted.
    """

    wire: ClassVar[str]
    """The name of the wire format."""
    _read: ClassVar[Any]
    """The payload of a frame → its event, a struct: `staticmethod(msgspec.json.Decoder(_Event).decode)`."""
    _read_lines: ClassVar[Any]
    """The same for the payloads of a `Run`."""
    _kind: ClassVar[str]
    """What a body is called in words: `a chat completion`."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._done = False
        self._events = 0
        self._stray: list[str] = []
        self._stray_size = 0
        self._pieces: list[str] = []
        self._join = self._pieces.append
        self.quirks: dict[str, int] = {}

    @abstractmethod
    def _take(self, event: Event, made: list[ChunkResponse]) -> None:
        """Appends the chunks of one event. At the proper end it sets `_done` and appends the last chunk.

        A piece that only continues what the one before it was part of may go to `_pieces` instead (`_join`); any other
        event ends those first.
        """

    def _take_all(self, events: Iterator[Event], made: list[ChunkResponse]) -> None:
        """Takes events until there are no more or the answer has ended. What `_take` does for each; a decoder whose
        events are many and small has its short way here.
        """
        take = self._take
        for event in events:
            take(event, made)
            if self._done:
                return

    def _end_pieces(self, made: list[ChunkResponse]) -> None:
        """Empties `_pieces` into one chunk. For decoders that join."""

    def _finish(self) -> list[ChunkResponse]:
        """The end of the body, before the format's own end mark: the last chunk if that is a proper end too."""
        return []

    def _end_mark(self) -> list[ChunkResponse]:
        """`[DONE]`. Formats that have an end of their own only count it."""
        self._count("done-mark")
        return []

    def feed(self, frames: Iterable[Any]) -> list[ChunkResponse]:
        """The chunks that these frames hold."""
        made: list[ChunkResponse] = []
        frame, count, deepest = None, self._events, self._limits.chunk_depth
        read, take = type(self)._read, self._take
        try:
            for frame in frames:
                if type(frame) is Run:
                    self._events = count
                    self._feed_run(frame, made)
                    count = self._events
                    continue
                if frame.stray or self._done:
                    self._events = count
                    self._end_open_pieces(made)
                    made += self._feed_outside(frame)
                    count = self._events
                    continue
                count += 1
                data = frame.data
                if len(data) > deepest and is_deeper(data, deepest):
                    raise self._fault("an event is nested too deeply")
                try:
                    event = read(data)
                except RecursionError:
                    raise self._fault("an event is nested too deeply") from None
                except msgspec.MsgspecError as error:
                    self._events = count
                    self._end_open_pieces(made)
                    made += self._feed_irregular(frame, error)
                    count = self._events
                    continue
                take(event, made)
            self._end_open_pieces(made)
        except ToolwireError as error:
            self._end_open_pieces(made)
            if frame is not None and type(frame) is not Run:
                error.facts.setdefault("position", frame.position)
                error.facts.setdefault("event", count)
            error.before = [*made, *error.before]
            raise
        finally:
            self._events = count
        return made

    def close(self) -> list[ChunkResponse]:
        """The end of the body: the last chunk if the answer is complete, else nothing."""
        if self._done:
            return []
        text = "\n".join(self._stray)
        if is_deeper(text, self._limits.chunk_depth):
            raise self._fault("the body is nested too deeply")
        words = error_words(text) if text else None
        if words is not None:
            raise self._provider_error(words)
        made = self._finish()
        if text and not self._events and not self._done:
            made += self._feed_body(text)
        return made

    def _feed_run(self, run: Run, made: list[ChunkResponse]) -> None:
        """Appends the chunks of many frames that are read at once; one by one, where that does not go well."""
        events = None if self._done or self._may_be_deep(run) else self._read_run(run)
        if events is None or len(events) != run.count:
            self._end_open_pieces(made)
            made += self.feed(run.frames())
            return
        rest = iter(events)
        try:
            self._take_all(rest, made)
        except ToolwireError as error:
            taken = run.count - length_hint(rest)
            error.facts.setdefault("position", run.frames()[taken - 1].position)
            error.facts.setdefault("event", self._events + taken)
            raise
        left = length_hint(rest)
        self._events += run.count - left
        if left:
            self.quirks[AFTER_THE_END] = self.quirks.get(AFTER_THE_END, 0) + left

    def _may_be_deep(self, run: Run) -> bool:
        deepest = self._limits.chunk_depth
        if run.longest <= deepest:
            return False
        long = [one for one in run.text.split(b"}" + run.mark + b"{") if len(one) > deepest - 2]
        return any(one.count(b"[") + one.count(b"{") >= deepest for one in long)

    def _read_run(self, run: Run) -> list[Event] | None:
        """The events of a run; None where one of them is not of this format."""
        try:
            return cast("list[Event]", type(self)._read_lines(run.text))
        except (msgspec.MsgspecError, RecursionError):
            return None

    def _end_open_pieces(self, made: list[ChunkResponse]) -> None:
        if self._pieces:
            self._end_pieces(made)

    def _feed_outside(self, frame: Any) -> list[ChunkResponse]:
        if frame.stray:
            return self._feed_stray(frame)
        self._count(AFTER_THE_END)
        return []

    def _feed_irregular(self, frame: Any, error: msgspec.MsgspecError) -> list[ChunkResponse]:
        """A frame that is no event: the end mark, an empty one, or several events that nobody separated."""
        data = frame.data.strip()
        if data == "[DONE]":
            return self._end_mark()
        if not data and not frame.cut:
            self._count("empty-data")
            return []
        if "\n" in data:
            self._count("events-not-separated")
            return self._feed_lines(frame)
        if frame.cut:
            raise IncompleteStream(provider=self.wire, position=frame.position)
        raise self._fault(f"an event is not of this format: {error}")

    def _feed_lines(self, frame: Any) -> list[ChunkResponse]:
        made: list[ChunkResponse] = []
        lines = frame.data.split("\n")
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                cut = frame.cut and number == len(lines)
                made += self.feed([SseEvent(line, position=frame.position, cut=cut)])
            except ToolwireError as error:
                error.before = [*made, *error.before]
                raise
        return made

    def _feed_stray(self, frame: Any) -> list[ChunkResponse]:
        """A line that is no SSE field: an indented `data:`, an error of its own, or another kind of body."""
        line = frame.data.strip()
        if line.startswith("data:"):
            self._count("indented-data")
            return self.feed([SseEvent(line[5:].lstrip(" "), position=frame.position, cut=frame.cut)])
        if frame.cut and not self._done and any(field.startswith(line) for field in _FIELDS):
            raise IncompleteStream(provider=self.wire, position=frame.position)
        text = line[6:].strip() if line.startswith("error:") else line
        words = None
        if text.startswith("{") and not is_deeper(text, self._limits.chunk_depth):
            words = error_words(text)
        if words is None and line.startswith("error:"):
            words = text
        if words is not None and not self._done:
            raise self._provider_error(words)
        self._stray_size += len(frame.data) + LINE_COST
        if self._stray_size <= self._limits.event:
            self._stray.append(frame.data)
        return []

    def _feed_body(self, text: str) -> list[ChunkResponse]:
        """What a body without any event is: a whole answer that was not streamed, or no answer of a model."""
        try:
            event = type(self)._read(text)
        except (msgspec.MsgspecError, RecursionError):
            event = None
        if event is not None:
            self._count("not-streamed")
            made: list[ChunkResponse] = []
            self._take_whole(event, made)
            if made:
                return made
        shown = text.lstrip()[:60]
        raise ProtocolError(
            f"this is no event stream: it begins with {shown!r}",
            hint=f"Check that the URL or file is the streamed answer of {self._kind}.",
            provider=self.wire,
            position=0,
        )

    def _take_whole(self, event: Event, made: list[ChunkResponse]) -> None:
        """Appends the chunks of an answer that was not streamed, if the format's decoder can read one."""

    def _provider_error(self, error: Any) -> ProviderError:
        """The provider's own words as an error, with its code."""
        code, kind, words = None, None, error
        if isinstance(error, dict):
            words = error.get("message") or error.get("detail") or error
            kind = error.get("type") or error.get("status")
            code = error.get("code") or kind
        return error_type(code, kind)(
            f"the provider reported an error in the stream: {shown(words)[:2000]}",
            hint="Nothing of this answer was run. If the provider is overloaded, try again later.",
            provider=self.wire,
            code=code if isinstance(code, (str, int)) else None,
        )

    def _fault(self, message: str) -> ProtocolError:
        return ProtocolError(
            message,
            hint=f"Check that this is the streamed answer of {self._kind}, whole and unchanged.",
            provider=self.wire,
        )

    def _count(self, quirk: str) -> None:
        self.quirks[quirk] = self.quirks.get(quirk, 0) + 1


def error_type(code: Any, kind: Any) -> type[ProviderError]:
    """The type of an error that a provider gave this code and kind."""
    for word in (code, kind):
        if isinstance(word, str) and word in _ERROR_TYPES:
            return _ERROR_TYPES[word]
    return RateLimited if code in (429, "429") else ProviderError


def token_count(value: Any) -> int:
    """A count of tokens as sent; what is no count is 0."""
    if value is None:
        return 0
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 2**53 else 0


def json_text(value: Any) -> str:
    """A value as JSON text; text stands for itself, and None for nothing said."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def shown(words: Any) -> str:
    """Whatever a provider put where its words should be, as text."""
    if isinstance(words, str):
        return words
    try:
        return msgspec.json.encode(words).decode()
    except RecursionError:
        return "(words nested too deeply to show)"


def error_words(text: str) -> Any:
    """What an error object says, or None when `text` is no error object."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    if value.get("error") is not None:
        return value["error"]
    if value.get("object") == "error" or set(value) <= {"detail", "message", "code", "type", "param"}:
        return value if value.get("message") or value.get("detail") else None
    return None
