"""What others say of the same recordings: the recording clients, the index, the official SDK."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from toolwire import SegmentEvent, SegmentType, Stream
from toolwire.errors import ProviderError

from .checks import decode
from .payloads import corpus_body, corpus_rows, expected_calls
from .peers import SDK as SDK
from .peers import SdkAnswer, sdk_accumulate


class Agreement(msgspec.Struct):
    """How many bodies agree, why some are known not to, and which differ for no known reason."""

    bodies: int = 0
    equal: int = 0
    known: Counter[str] = msgspec.field(default_factory=Counter)
    differ: list[str] = []
    refused: int = 0
    read_here: int = 0

    @property
    def holds(self) -> bool:
        """Every difference is understood."""
        return self.bodies > 0 and not self.differ and self.equal + sum(self.known.values()) == self.bodies

    def note(self, case: str, differences: list[str], reason: str) -> None:
        """Count one body."""
        self.bodies += 1
        if not differences:
            self.equal += 1
        elif reason:
            self.known[reason] += 1
        else:
            self.differ.append(case)
            print(f"DIFFERS {case}: {differences}")

    def apart(self) -> str:
        """The known differences in words."""
        made = [f"; {count} differ because {reason}" for reason, count in self.known.items()]
        if self.differ:
            made.append(f"; {len(self.differ)} differ")
        return "".join(made)


def with_clients() -> Agreement:
    """The calls that the recording client sent back in its next request."""
    found = Agreement()
    expected = expected_calls()
    for row in corpus_rows(core=False):
        if row["case"] in expected:
            invocations = decode([corpus_body(row)])[1].invocations
            ours = [{"id": one.call_id or one.id, "name": one.tool_name, "args": one.arguments} for one in invocations]
            found.note(row["case"], _differences(ours=(ours, expected[row["case"]])), "")
    return found


def with_index() -> Agreement:
    """The index: calls, names, ids, order, text length, finish reason."""
    found = Agreement()
    for row in corpus_rows(core=False):
        stream = decode([corpus_body(row)])[1]
        summary = stream.summary()
        calls = summary["calls"]
        pairs: dict[str, tuple[Any, Any]] = {
            "calls": (len(calls), row["tool_calls"]),
            "names": ([call["name"] for call in calls], row["tool_names"]),
            "ids": (
                [call["id"] if known else None for call, known in _beside(calls, row["tool_ids"])],
                row["tool_ids"],
            ),
            "text": (len(summary["text"]), row["text_chars"]),
            "finish": (stream.raw_stop_reason, row["finish"][-1] if row["finish"] else None),
        }
        reason = ""
        if "events-not-separated" in stream.quirks:
            reason = "the index could not read events that no blank line separates"
        elif isinstance(stream.error, ProviderError):
            reason = "the provider reported an error after the finish reason, so that there is no proper end"
        found.note(row["case"], _differences(**pairs), reason)
    return found


def with_sdk() -> Agreement:
    """The official SDK's accumulation of the first choice."""
    found = Agreement()
    for row in corpus_rows(core=False):
        body = corpus_body(row)
        events, stream = decode([body])
        try:
            theirs = sdk_accumulate([body])
        except Exception:
            found.refused += 1
            found.read_here += stream.complete
            continue
        ours = _first_choice(events, stream)
        pairs = {
            "text": (ours.text, theirs.text),
            "calls": (ours.calls, theirs.calls),
            "finish": (ours.finish, theirs.finish),
        }
        found.note(row["case"], _differences(**pairs), _sdk_fault(ours, theirs))
    return found


def _beside(calls: list[dict[str, Any]], ids: list[Any]) -> list[tuple[dict[str, Any], Any]]:
    """Each call with the id that the index knows; a call without one has an id of ours, which nobody can compare."""
    return [(call, ids[number] if number < len(ids) else "") for number, call in enumerate(calls)]


def _differences(**pairs: tuple[Any, Any]) -> list[str]:
    return [
        f"{what}: {str(ours)[:200]} / {str(theirs)[:200]}" for what, (ours, theirs) in pairs.items() if ours != theirs
    ]


def _first_choice(events: list[SegmentEvent], stream: Stream) -> SdkAnswer:
    starts = {event.segment_id: event for event in events if event.segment_type is not None and event.type == "start"}
    text = ""
    arguments: dict[str, str] = {}
    for event in events:
        start = starts.get(event.segment_id)
        if event.type != "content" or start is None or (start.metadata or {}).get("choice"):
            continue
        if start.segment_type is SegmentType.TEXT and not start.metadata:
            text += event.delta
        elif start.tool_name is not None:
            arguments[event.segment_id] = arguments.get(event.segment_id, "") + event.delta
    made = [call for call in stream._handler.calls if not call.choice]
    calls = [(call.arrived.call_id, call.arrived.name, arguments.get(call.segment_id, "")) for call in made]
    return SdkAnswer(text, calls, stream.raw_stop_reason)


def _sdk_fault(ours: SdkAnswer, theirs: SdkAnswer) -> str:
    """Why the SDK is known to be wrong here, or nothing."""
    repeated = len(ours.calls) == len(theirs.calls) and all(
        mine[2] == other[2] and all(_repeats(one, two) for one, two in zip(mine[:2], other[:2], strict=True))
        for mine, other in zip(ours.calls, theirs.calls, strict=True)
    )
    if repeated and ours.calls != theirs.calls and (ours.text, ours.finish) == (theirs.text, theirs.finish):
        return "the SDK joins an id or name that is sent again on every delta"
    return ""


def _repeats(one: str, many: str) -> bool:
    return one == many or (bool(one) and many == one * (len(many) // len(one)))
