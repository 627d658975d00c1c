"""Calls while they arrive, however they are written: from their pieces to segments, and at the end invocations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..chunks import ChunkResponse, StopReason, ToolCallDelta
from ..json_reader import JsonReader
from ..limits import DEFAULT_LIMITS, Limits
from ..tools.forms import PLAIN, form_of
from .answering import AnswerHandler
from .collected import CallSegment, Head
from .invocation import ToolInvocation, ToolInvocationAdapter, stop_problem
from .segments import EventType, SegmentEvent, SegmentType

_CONTENT = EventType.CONTENT


class CallHandler(AnswerHandler):
    """What handlers with calls share. `tool_names` maps names as the provider knows them to the tools' own."""

    def __init__(
        self,
        adapter: ToolInvocationAdapter | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        segment_id_prefix: str = "",
        live_arguments: bool = False,
        tool_names: Mapping[str, str] | None = None,
        on_segment_event: Callable[[SegmentEvent], None] | None = None,
    ) -> None:
        self._tool_names = tool_names or {}
        self._adapter = adapter if adapter is not None else ToolInvocationAdapter(limits=limits)
        self._live = live_arguments
        super().__init__(limits=limits, segment_id_prefix=segment_id_prefix, on_segment_event=on_segment_event)

    def reset(self) -> None:
        """Back to the start, for the next answer."""
        super().reset()
        self._adapter.reset()
        self._calls: dict[int | tuple[int, int], CallSegment] = {}
        self._invocations: list[ToolInvocation] = []

    @property
    def calls(self) -> list[CallSegment]:
        """Every call that was begun, in the model's order: by choice, then by canonical index."""
        return self._native_calls()

    def _native_calls(self) -> list[CallSegment]:
        return sorted(self._calls.values(), key=lambda call: (call.choice, call.index))

    def get_all_invocations(self) -> list[ToolInvocation]:
        """The calls that may be put before the gate, in the model's order: none before the stream's proper end."""
        return list(self._invocations)

    def _calls_in(self, chunk: ChunkResponse, events: list[SegmentEvent]) -> None:
        for delta in chunk.tool_calls:
            key = (chunk.choice, delta.index) if chunk.choice else delta.index
            call = self._calls.get(key)
            if call is None:
                call = self._calls[key] = CallSegment(chunk.choice, delta.index)
            elif call.closed:
                continue
            elif (
                delta.name is None
                and delta.call_id is None
                and not delta.done
                and delta.provider_data is None
                and call.segment_id
            ):
                # Nearly every delta: `_take` does the same, slower.
                text = delta.arguments_delta
                call.pieces.append(text)
                fields = None if call.reader is None else call.reader.feed(text)
                events.append(SegmentEvent(_CONTENT, call.segment_id, text, None, None, fields))
                continue
            self._take(call, delta, events)

    def _take(self, call: CallSegment, delta: ToolCallDelta, events: list[SegmentEvent]) -> None:
        arrived = call.arrived
        if delta.call_id:
            arrived.call_id = delta.call_id
        if delta.name:
            arrived.name += delta.name
        if delta.provider_data:
            call.provider_data = {**(call.provider_data or {}), **delta.provider_data}
        text = delta.arguments_delta
        if text:
            call.pieces.append(text)
            self._more(call, text, text, events)
        if delta.done:
            self._end_call(call, events, ended=True)

    def _more(self, call: CallSegment, text: str, arguments: str, events: list[SegmentEvent]) -> None:
        """More of a call has arrived and been kept: shows it, unless its start still waits for the name or the head."""
        if call.segment_id:
            fields = call.reader.feed(arguments) if call.reader is not None else None
            events.append(SegmentEvent(_CONTENT, call.segment_id, text, fields=fields))
        elif not call.arrived.name:
            return
        elif call.head is None:
            self._recognise(call, events)
        elif call.reader is not None and (call.head.take(call.reader.feed(arguments)) or call.reader.broken):
            self._start_call(call, events)

    def _recognise(self, call: CallSegment, events: list[SegmentEvent]) -> None:
        """The name is whole: what kind of segment this is, and whether its start waits for a head."""
        arrived = call.arrived
        arrived.name = self._tool_names.get(arrived.name, arrived.name)
        form = form_of(arrived.name)
        call.segment_type = SegmentType(form.segment)
        call.head = Head(form)
        if not self._live and form is PLAIN:
            self._start_call(call, events)
            return
        call.reader = JsonReader(self._limits)
        if call.head.take(call.reader.feed("".join(call.arguments))) or call.reader.broken:
            self._start_call(call, events)

    def _start_call(self, call: CallSegment, events: list[SegmentEvent]) -> None:
        self._close_open(call.choice, events)
        head, call.head = call.head, None
        if head is not None and head.known:
            call.metadata = {**(call.metadata or {}), **head.known}
        arrived = call.arrived
        self._start(call, events, arrived.call_id, arrived.name)
        arrived.segment_id = call.segment_id
        if call.pieces:
            fields = head.fields if head is not None and call.reader is not None else None
            events.append(SegmentEvent(_CONTENT, call.segment_id, call.text, fields=fields))

    def _end_call(self, call: CallSegment, events: list[SegmentEvent], *, ended: bool) -> None:
        if not call.segment_id and call.head is None:
            self._recognise(call, events)
        if not call.segment_id:
            self._start_call(call, events)
        arrived = call.arrived
        arrived.raw = "".join(call.arguments)
        arrived.ended = ended
        if not ended:
            # `admit` knows why: the stream broke, or this is an alternative.
            self._adapter.admit(arrived, self.stop_reason)
        elif self.stop_reason is not None:
            arrived.problem = arrived.problem or stop_problem(self.stop_reason)
        self._adapter.read(arrived)
        told: dict[str, Any] = {"problem": arrived.problem} if arrived.problem else {"arguments": arrived.arguments}
        if arrived.repairs and not arrived.problem:
            told["repairs"] = list(arrived.repairs)
        self._end(call, events, told)

    def _settle(self, stop_reason: StopReason | None, events: list[SegmentEvent]) -> dict[str, Any] | None:
        """Ends the calls that are still open and admits those that may run.

        The result names the calls that had ended well and still may not run.
        """
        calls = self.calls
        if not calls:
            return None
        late: dict[str, str] = {}
        for call in calls:
            if not call.closed:
                self._end_call(call, events, ended=False)
            told = call.arrived.problem
            invocation = self._adapter.admit(call.arrived, stop_reason)
            if invocation is not None:
                self._invocations.append(invocation)
            elif not told:
                late[call.segment_id] = call.arrived.problem
        return {"problems": late} if late else None
