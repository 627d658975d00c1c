"""What must hold for every body whatever its bytes, and for every way to cut it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import msgspec

from toolwire import EventType, Message, SegmentEvent, Stream, TextStream, ToolwireError, encode_request, errors
from toolwire.errors import ConfigError, LimitExceeded
from toolwire.limits import DEFAULT_LIMITS
from toolwire.messages import ToolResultPart, tool_results, user
from toolwire.providers.wires import WIRES
from toolwire.stream.segments import CALL_SEGMENTS, FieldDelta
from toolwire.tools.registry import ToolRegistry
from toolwire.wire.lines import Run

from .wires import SUBJECTS

ERROR_NAMES = frozenset(
    name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, ToolwireError)
)


MAY_RUN = frozenset({"stop", "tool_calls"})
"""The stop reasons after which a call may run: said here again, so that a slip in the library shows."""

_QUESTION = user("Weather in Paris?")


_MORE = {name: subject.samples["text"]()[:400] for name, subject in SUBJECTS.items()}


class Fault(Exception):
    """A promise that did not hold, in words."""


def decode(
    wire: str, pieces: Iterable[bytes], *, tools: ToolRegistry | None = None, live: bool = False
) -> tuple[list[SegmentEvent], Stream]:
    """All events of a body that comes in these pieces, and the stream that made them."""
    stream = Stream(wire, tools, live_arguments=live)
    events: list[SegmentEvent] = []
    for piece in pieces:
        events += stream.feed(piece)
    events += stream.close()
    return events, stream


def random_cut(body: bytes, rng: random.Random, *, bytewise: float = 0.05) -> list[bytes]:
    """The body in two to thirteen pieces, one cut near a line end, some empty; now and then byte by byte."""
    if rng.random() < bytewise:
        return [body[at : at + 1] for at in range(len(body))]
    places = [rng.randint(0, len(body)) for _ in range(rng.randint(1, 11))]
    near = body.find(b"\n", places[0])
    if near >= 0:
        places.append(near + rng.randint(0, 2))
    bounds = [0, *sorted(places), len(body)]
    return [body[start:end] for start, end in pairwise(bounds)]


def merged(events: Iterable[SegmentEvent]) -> list[SegmentEvent]:
    """Adjacent content of one segment joined: what may differ between two cuts of the same bytes."""
    made: list[SegmentEvent] = []
    for event in events:
        last = made[-1] if made else None
        if (
            last is None
            or event.type is not EventType.CONTENT
            or last.type is not EventType.CONTENT
            or last.segment_id != event.segment_id
        ):
            if event.fields is not None:  # a start that waited for the head has several of one value
                event = msgspec.structs.replace(event, fields=_joined_fields(event.fields))
            made.append(event)
            continue
        fields = None
        if last.fields is not None or event.fields is not None:
            fields = _joined_fields([*(last.fields or ()), *(event.fields or ())])
        made[-1] = msgspec.structs.replace(last, delta=last.delta + event.delta, fields=fields)
    return made


def same_events(left: list[SegmentEvent], right: list[SegmentEvent]) -> bool:
    """Whether two runs over the same bytes said the same."""
    return left == right or merged(left) == merged(right)


def check_end(events: list[SegmentEvent], stream: Stream | TextStream) -> None:
    """Exactly one DONE or ERROR, the last event, and it says what the stream says. After it nothing is read."""
    ends = [event for event in events if event.type in (EventType.DONE, EventType.ERROR)]
    if len(ends) != 1 or ends[0] is not events[-1]:
        raise Fault(f"the ends are {[event.type.value for event in ends]} among {len(events)} events")
    if ends[0].type is EventType.DONE:
        if not stream.complete or stream.error is not None or ends[0].stop_reason is None:
            raise Fault("DONE from a stream that is not complete")
    elif stream.complete or stream.error is None or ends[0].error is None:
        raise Fault("ERROR from a stream that is complete or has no error")
    elif ends[0].error.type not in ERROR_NAMES:
        raise Fault(f"an error of the unknown type {ends[0].error.type}")
    more = stream.feed(_MORE[stream.wire]) if isinstance(stream, Stream) else stream.feed("more")
    if more or stream.close():
        raise Fault("events after the end")


def check_segments(events: list[SegmentEvent]) -> None:
    """Each START has its one END, content only between them, no id twice."""
    state: dict[str, str] = {}
    for event in events[:-1]:
        now = state.get(event.segment_id, "new")
        step = (now, event.type.value)
        if step not in (("new", "start"), ("open", "content"), ("open", "end")):
            raise Fault(f"{event.type.value} of the segment {event.segment_id!r}, which is {now}")
        state[event.segment_id] = "closed" if event.type is EventType.END else "open"
    left = [name for name, now in state.items() if now == "open"]
    if left:
        raise Fault(f"no END for {left}")


def check_invocations(events: list[SegmentEvent], stream: Stream | TextStream, tools: ToolRegistry | None) -> None:
    """Invocations only from complete streams, each of them exactly what its segment showed."""
    if stream.invocations and (not stream.complete or stream.stop_reason not in MAY_RUN):
        raise Fault(f"an invocation from a stream that ended with {stream.stop_reason}, error {stream.error!r}")
    starts = {event.segment_id: event for event in events if event.type is EventType.START}
    ends = {event.segment_id: event for event in events if event.type is EventType.END}
    shown: dict[str, str] = {}
    fields: dict[str, list[FieldDelta]] = {}
    for event in events:
        if event.type is EventType.CONTENT:
            shown[event.segment_id] = shown.get(event.segment_id, "") + event.delta
            fields.setdefault(event.segment_id, []).extend(event.fields or ())
    seen: set[str] = set()
    for invocation in stream.invocations:
        start, end = starts.get(invocation.id), ends.get(invocation.id)
        if start is None or end is None or start.segment_type not in CALL_SEGMENTS or invocation.id in seen:
            raise Fault(f"the invocation {invocation.id!r} has no call segment of its own")
        seen.add(invocation.id)
        if start.tool_name != invocation.tool_name or (start.metadata or {}).get("choice"):
            raise Fault(f"the invocation of {invocation.tool_name!r} has a segment of {start.tool_name!r}")
        if (end.metadata or {}).get("arguments") != invocation.arguments:
            raise Fault(f"END and invocation differ in their arguments: {end.metadata}, {invocation.arguments}")
        if isinstance(stream, Stream) and shown.get(invocation.id, "") != invocation.raw_arguments:
            raise Fault("the invocation's text is not the text that was shown")
        _check_fields(fields.get(invocation.id, []), invocation.arguments)
        if tools is not None:
            tool = tools.get(invocation.tool_name)
            if tool is None or tool.problem(invocation.arguments) is not None:
                raise Fault(f"an invocation that no tool accepts: {invocation.tool_name}")


def check_stream(events: list[SegmentEvent], stream: Stream, tools: ToolRegistry | None = None) -> None:
    """All of the above, and that the whole answer can be written down as JSON."""
    check_end(events, stream)
    check_segments(events)
    check_invocations(events, stream, tools)
    message = stream.message
    msgspec.json.encode([events, stream.summary(), message, stream.problems, stream.quirks])
    check_encoding(stream.wire, message)


def check_text(text: str, events: list[SegmentEvent], stream: TextStream, tools: ToolRegistry | None = None) -> None:
    """The same for text that was fed: besides, no character is lost, and a call runs or says why it does not."""
    check_end(events, stream)
    check_segments(events)
    check_invocations(events, stream, tools)
    shown = "".join(event.delta for event in events if event.type is EventType.CONTENT)
    if shown != text and not (stream.error is not None and text.startswith(shown)):
        raise Fault("the content is not the text that was fed")
    if stream.error is not None and not isinstance(stream.error, LimitExceeded):
        raise Fault(f"text that breaks the stream: {stream.error!r}")
    runs = {invocation.id for invocation in stream.invocations}
    begun = {event.segment_id for event in events if event.type is EventType.START and event.tool_name is not None}
    silent = [one for one in begun if (one in runs) is (one in stream.problems)]
    if silent:
        raise Fault(f"calls that neither run nor say why, or both: {silent}")
    message = stream.message
    msgspec.json.encode([events, stream.summary(), message, stream.problems])
    check_encoding("openai-chat", message)


def check_encoding(wire: str, message: Message) -> None:
    """What was read can be sent back, with an answer to each of its calls, or the refusal is one for the user."""
    results = [ToolResultPart(call.id, call.name, "18 °C") for call in message.tool_calls]
    messages = [_QUESTION, message, *([tool_results(results)] if results else ())]
    try:
        request = encode_request(wire=wire, model="m", messages=messages)
    except ConfigError:
        return
    msgspec.json.encode(request)


def frames_of(wire: str, pieces: Iterable[bytes]) -> tuple[list[Any], Any]:
    """The framing alone: its frames one by one, and its error, which is one of ours or goes through."""
    decoder = WIRES[wire].framer(DEFAULT_LIMITS)
    frames: list[Any] = []
    said = None
    try:
        for piece in pieces:
            frames += decoder.feed(piece)
        frames += decoder.close()
    except ToolwireError as error:
        frames += error.before
        said = error.info()
    return [one for frame in frames for one in (frame.frames() if isinstance(frame, Run) else (frame,))], said


def _joined_fields(fields: Iterable[FieldDelta]) -> list[FieldDelta]:
    made: list[FieldDelta] = []
    for field in fields:
        last = made[-1] if made else None
        if last is not None and last.path == field.path and not last.done:
            made[-1] = FieldDelta(field.path, last.text + field.text, field.done)
        else:
            made.append(field)
    return made


def _check_fields(fields: list[FieldDelta], arguments: dict[str, Any]) -> None:
    """What the screen was shown of an argument is what will be executed."""
    for field in _joined_fields(fields):
        if not (field.done and field.path):
            continue
        value: Any = arguments
        for key in field.path:
            value = value[key]
        text = value if isinstance(value, str) else None
        if text is None and msgspec.json.decode(field.text) == value:
            continue
        if text != field.text:
            raise Fault(f"shown {field.text!r} for {field.path}, executed {value!r}")
