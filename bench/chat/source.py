"""What a busy model says: paragraphs, lists, tables, code, and now and then a call with a long argument."""

from __future__ import annotations

from collections.abc import Iterator

from toolwire.agent.events import (
    AgentEvent,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from toolwire.chunks import StopReason, TokenUsage
from toolwire.execution.executor import ToolResult
from toolwire.json_reader import FieldDelta
from toolwire.stream.invocation import requested
from toolwire.stream.segments import EventType, SegmentEvent, SegmentType

DELTA = 4
"""Characters of a delta: about a token."""
CALL = 5_000
"""Characters of the argument of a call."""

_PARAGRAPH = (
    "The *build* takes long because every `target` is made **one after the other**; see "
    "[the manual](https://example.org/manual) for what can be done about that. It helps to look at what is slow first. "
)
_LIST = "".join(
    f"{number}. step {number} of the way, with `make -j{number}` and some words\n" for number in range(1, 9)
)
_TABLE = "| target | before | after |\n|:--|--:|--:|\n" + "".join(
    f"| part {number} | {number * 13} s | {number * 2} s |\n" for number in range(1, 13)
)
_CODE = (
    "```python\ndef total(numbers: list[int]) -> int:\n"
    + "".join(f'    """Line {n}."""\n    value_{n} = sum(numbers[{n}:])  # a comment\n' for n in range(8))
    + "    return value_0\n```\n"
)
BLOCKS = (
    f"## What was found\n\n{_PARAGRAPH * 3}\n\n",
    f"{_LIST}\n",
    f"{_CODE}\n",
    f"{_PARAGRAPH}\n\n{_TABLE}\n",
    "> as was said\n\n",
)
_FILE = "def function(argument: int) -> int:\n    return argument + 1\n\n\n"


def answer(turn: int, characters: int) -> Iterator[AgentEvent]:
    """A text of about this length, and at its end a call with its result."""
    yield TurnStarted(turn)
    id = f"text-{turn}"
    yield SegmentEvent(EventType.START, id, segment_type=SegmentType.TEXT)
    said = 0
    while said < characters:
        text = BLOCKS[turn % len(BLOCKS)] + "".join(BLOCKS)
        for at in range(0, len(text), DELTA):
            yield SegmentEvent(EventType.CONTENT, id, delta=text[at : at + DELTA])
        said += len(text)
    yield SegmentEvent(EventType.END, id)
    yield from _call(turn)


def _call(turn: int) -> Iterator[AgentEvent]:
    id = f"call-{turn}"
    path = f"src/part_{turn}.py"
    content = (_FILE * (CALL // len(_FILE) + 1))[:CALL]
    yield SegmentEvent(
        EventType.START, id, segment_type=SegmentType.WRITE_FILE, tool_name="write_file", metadata={"path": path}
    )
    for at in range(0, len(content), 5 * DELTA):
        piece = content[at : at + 5 * DELTA]
        done = at + 5 * DELTA >= len(content)
        yield SegmentEvent(EventType.CONTENT, id, delta=piece, fields=[FieldDelta(("content",), piece, done)])
    arguments = {"path": path, "content": content}
    yield SegmentEvent(EventType.END, id, metadata={"arguments": arguments})
    yield SegmentEvent(EventType.DONE, stop_reason=StopReason.TOOL_CALLS, usage=TokenUsage(1_000, 500))
    yield ToolStarted(turn, id, requested(id, "write_file", arguments, turn))
    for number in range(20):
        yield ToolProgress(turn, id, f"line {number} of what it tells\n")
    yield ToolFinished(turn, id, ToolResult(id, "write_file", f"wrote {CALL} characters", seconds=0.4))


def run(number: int, characters: int, turns: int = 3) -> Iterator[AgentEvent]:
    """A whole run."""
    yield RunStarted("loopback", "busy", "api_tool_call")
    for turn in range(turns):
        yield from answer(number * turns + turn, characters)
    yield RunFinished("", StopReason.STOP, turns, TokenUsage(12_345, 6_789))
