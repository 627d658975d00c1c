"""What must hold of a run, whatever happened to its workers: looked at from outside, when it is over."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from toolwire.agent.events import (
    ApprovalAsked,
    HistoryMoved,
    NestedEvent,
    RequestRetried,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from toolwire.durable.records import AttemptWithdrawn, RunEvent, RunInfo, RunState
from toolwire.stream.segments import EventType, SegmentEvent

from .subject import EFFECTS, PLANS, Effect, Records, Request

_VOID_OF_ANSWER = (SegmentEvent, RequestRetried, HistoryMoved)
_VOID_OF_CALL = (ToolStarted, ToolProgress, NestedEvent)
UNKNOWN = "Error: unknown"
"""How the result of a call begins that may have been done, and was not done again."""


def faults(info: RunInfo, plan: str, records: Records, log: Sequence[RunEvent]) -> Iterator[str]:
    """What is not as it must be of a run that is over: of its effects, its conversation, and its events."""
    effects = [each for each in records.effects() if each.run == info.id]
    requests = [each for each in records.requests() if each.run == info.id]
    if info.state is not RunState.FINISHED:
        yield f"the run is {info.state}: {info.error and info.error.message}"
        return
    yield from _twice(effects)
    yield from _conversation(info, plan, requests, effects)
    yield from of_log(log)
    yield from _told(info, plan, requests, log)


def _twice(effects: Sequence[Effect]) -> Iterator[str]:
    done = Counter((each.tool, each.name) for each in effects if each.tool in EFFECTS)
    yield from (f"{tool} {name} was done {times} times" for (tool, name), times in done.items() if times > 1)


def _conversation(info: RunInfo, plan: str, requests: Sequence[Request], effects: Sequence[Effect]) -> Iterator[str]:
    """Every answer that was gone on from stays, and so does every result; the end is the last answer."""
    calls = PLANS[plan]
    told: dict[int, str] = {}
    furthest = 0
    for request in requests:
        if request.turn < furthest:
            yield f"request {request.turn} was sent again after request {furthest}"
        furthest = max(furthest, request.turn)
        body = msgspec.json.encode(request.messages, order="deterministic").decode()
        if told.setdefault(request.turn, body) != body:
            yield f"request {request.turn} was sent again as another one"
    if furthest != len(calls):
        yield f"the last request was {furthest}, of {len(calls)}"
        return
    last = [each for each in requests if each.turn == furthest]
    if not any(each.mark in info.text for each in last):
        yield f"the end is no answer to the last request: {info.text!r}"
    marks: dict[int, set[str]] = defaultdict(set)
    for request in requests:
        marks[request.turn].add(request.mark)
    answers = [message for message in last[0].messages if message["role"] == "assistant"]
    results = {
        message["tool_call_id"]: str(message["content"]) for message in last[0].messages if "tool_call_id" in message
    }
    if len(answers) != len(calls):
        yield f"{len(answers)} answers of {len(calls)} are in the conversation"
        return
    for turn, message in enumerate(answers):
        ids = [call["id"] for call in message["tool_calls"]]
        mark = ids[0].partition("-")[0]
        if mark not in marks[turn] or ids != [f"{mark}-{index}" for index in range(len(calls[turn]))]:
            yield f"answer {turn} holds the calls {ids}"
        if mark not in str(message.get("content")):
            yield f"answer {turn} is mixed from two: {message}"
        for id, (tool, arguments) in zip(ids, calls[turn], strict=True):
            yield from _result(tool, str(arguments.get("name", "")), results.get(id), effects)


def _result(tool: str, name: str, content: str | None, effects: Sequence[Effect]) -> Iterator[str]:
    """What the model is told of a call is what came of it."""
    done = [each for each in effects if (each.tool, each.name) == (tool, name)]
    if content is None:
        yield f"{tool} {name} has no result"
    elif not name:
        if "not run" not in content:
            yield f"a call that could not run has the result {content!r}"
    elif any(f"{each.tool} {each.name} {each.mark}" in content for each in done):
        return
    elif tool not in EFFECTS:
        yield f"{tool} {name} may be done again, and has the result {content!r}"
    elif UNKNOWN not in content:
        yield f"{tool} {name} was done {len(done)} times, and the model is told {content!r}"


def of_log(log: Sequence[RunEvent]) -> Iterator[str]:
    """What must hold of all events of a run that has finished, as someone reads them who comes late."""
    positions = [each.position for each in log]
    if positions != sorted(set(positions)):
        yield f"events out of order: {positions}"
    if not log:
        yield "no events"
        return
    if any(isinstance(each.event, AttemptWithdrawn) for each in log):
        yield "a reader who came late is told of what was withdrawn"
    kinds = Counter(type(each.event) for each in log)
    if kinds[RunStarted] != 1 or kinds[RunFinished] != 1 or not isinstance(log[-1].event, RunFinished):
        last = type(log[-1].event).__name__
        yield f"begun {kinds[RunStarted]} times, ended {kinds[RunFinished]} times, at last {last}"
    for each in (TurnStarted, ToolFinished, ToolStarted, ApprovalAsked):
        told = Counter((getattr(one.event, "turn", 0), one.id) for one in log if isinstance(one.event, each))
        yield from (f"{each.__name__} of {unit} was told {times} times" for unit, times in told.items() if times > 1)
    ends = Counter(one.turn for one in log if isinstance(one.event, SegmentEvent) and one.event.type is EventType.DONE)
    yield from (f"answer {turn} ended {times} times" for turn, times in ends.items() if times != 1)


def _told(info: RunInfo, plan: str, requests: Sequence[Request], log: Sequence[RunEvent]) -> Iterator[str]:
    """What was told is what the model was told, and what the run ended with."""
    last = next((each for each in requests if each.turn == len(PLANS[plan])), None)
    if last is None:
        return
    results = {
        message["tool_call_id"]: str(message["content"]) for message in last.messages if "tool_call_id" in message
    }
    words: dict[int, str] = defaultdict(str)
    given: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for each in log:
        event = each.event
        if isinstance(event, ToolFinished):
            given[event.id] = event.result.content
        elif isinstance(event, SegmentEvent) and event.type is EventType.START:
            kinds[event.segment_id] = str(event.segment_type)
        elif isinstance(event, SegmentEvent) and event.delta and kinds.get(event.segment_id) == "text":
            words[each.turn] += event.delta
    said = [str(message.get("content") or "") for message in last.messages if message["role"] == "assistant"]
    told = [words[turn] for turn in sorted(words)]
    if told != [*said, info.text]:
        yield f"the words that were told are others: {told} and {[*said, info.text]}"
    if sorted(given.values()) != sorted(results.values()):
        yield f"the results that were told are others: {given} and {results}"


def kept(seen: Sequence[RunEvent]) -> list[RunEvent]:
    """What is left of what a reader has seen, with all that was withdrawn taken out."""
    left: list[RunEvent] = []
    for each in seen:
        void = each.event
        if isinstance(void, AttemptWithdrawn):
            kinds: Any = _VOID_OF_CALL if void.id else _VOID_OF_ANSWER
            left = [
                one
                for one in left
                if one.position < void.first
                or (one.turn, one.id) != (void.turn, void.id)
                or not isinstance(one.event, kinds)
            ]
        else:
            left.append(each)
    return left


def of_reader(seen: Sequence[RunEvent], log: Sequence[RunEvent], who: str = "the reader") -> Iterator[str]:
    """What a reader saw who was there all the time: each event once, in order, and in the end what everyone sees."""
    positions = [each.position for each in seen]
    if positions != sorted(set(positions)):
        twice = [position for position, times in Counter(positions).items() if times > 1]
        yield f"{who} saw events twice or out of order: {twice or positions}"
    left, right = [_shown(each) for each in kept(seen)], [_shown(each) for each in log]
    if left != right:
        more, less = [each for each in left if each not in right], [each for each in right if each not in left]
        yield f"{who} is left with another log: too much {more[:5]}, missing {less[:5]}"


def _shown(each: RunEvent) -> str:
    return msgspec.json.encode(each).decode()
