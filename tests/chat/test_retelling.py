"""A session that was kept is told as it happened: whoever listens hears the same as they did then."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from chat.talking import talking
from toolwire.agent.events import AgentEvent, RunFailed, RunFinished, RunInterrupted, ToolFinished
from toolwire.agent.sessions.entries import Answered, Entry, Finished, Mended, Noted, Said, Settled, Starting, Written
from toolwire.chat.lines import LineScreen
from toolwire.chat.retelling import retold
from toolwire.cli.assembly import Options
from toolwire.errors import ProviderError
from toolwire.execution.executor import ToolResult
from toolwire.messages import MediaPart, Message, OpaquePart, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from toolwire.stream.segments import EventType, SegmentEvent, SegmentType
from toolwire.testing import call, cut_off, say, think, token_limit
from toolwire.tui.cards.call import Call


def heard(events: Iterable[Message | AgentEvent]) -> str:
    """What the plain chat says of it, without times."""
    file = io.StringIO()
    screen = LineScreen(Console(file=file, width=100))
    for event in events:
        if isinstance(event, Message):
            screen.begin()
            screen.header(f"You: {event.text}")
        else:
            screen.show(event)
    return re.sub(r"[\d.]+ m?s\b", "a while", file.getvalue())


STORIES: dict[str, list[Any]] = {
    "words": ["Hello\nyou."],
    "reasoning": [[think("hm"), say("So.")]],
    "calls side by side": [
        [say("Look:"), call("calculate", expression="1+1"), call("calculate", expression="2+2")],
        "4",
    ],
    "calls that fail": [
        [call("calculate", expression="1/0")],
        [call("nosuch", x=1)],
        [call("calculate", y=2)],
        "Well.",
    ],
    "an answer that is cut": [[say("So lo"), token_limit()]],
    "two questions": ["One.", "Two."],
}


@pytest.mark.parametrize("name", STORIES)
async def test_what_is_told_again_is_what_was_told(root: Path, name: str) -> None:
    questions = ["First", "Second"] if name == "two questions" else ["First"]
    async with talking(root, STORIES[name]) as talk:
        live: list[Message | AgentEvent] = []
        for question in questions:
            live.append(Message("user", question))
            live += [event async for event in talk.run(question)]
        record = talk.record()
        assert record is not None
        again = list(retold(record.entries))
    assert heard(again) == heard(live)
    assert "Done:" in heard(again)


@pytest.mark.parametrize("is_known", [True, False])
def test_what_ran_is_told_and_not_what_the_model_wanted(is_known: bool) -> None:
    """A person changed the arguments; also where nobody knows what came of it."""
    wanted, ran = {"command": "rm -r ."}, {"command": "ls"}
    answered = Message("assistant", [ToolCallPart("c", "run_bash", wanted)])
    kept: list[Written] = [Answered(1, answered), Starting(1, "c", "run_bash", ran, False)]
    result = ToolResult("c", "run_bash", "a.txt", False)
    left = Message("tool", [ToolResultPart("c", "run_bash", "nobody knows", True)])
    kept.append(Finished(1, result) if is_known else Mended(left))
    told = Call("c", "run_bash", SegmentType.RUN_BASH)
    for event in retold(Entry("", each) for each in kept):
        assert not isinstance(event, Message)
        told.take(event)
    assert (told.arguments, told.edited, told.ran) == (ran, True, True)
    assert told.state.is_final


async def test_what_was_denied_and_what_broke_are_told_too(root: Path) -> None:
    answers = [[call("write_file", path="a", content="x")], [say("half"), cut_off()]]
    async with talking(root, answers, options=Options(no_mcp=True, tools="builtin", mode="read-only")) as talk:
        live = [event async for event in talk.run("Write")]
        assert isinstance(live[-1], (RunFailed, RunFinished, RunInterrupted))
        record = talk.record()
        assert record is not None
        again = heard(retold(record.entries))
    assert "Not run: call 1, write_file:" in again
    assert again.count("Tool call 1: write_file") == 1


def entries(*written: Written) -> list[Entry]:
    return [Entry("2026-11-16T15:00:00.000Z", what) for what in written]


def results(*parts: ToolResultPart) -> Message:
    return Message("tool", list(parts))


CALLS = Answered(1, Message("assistant", [ToolCallPart("a", "f", {}), ToolCallPart("b", "g", {})]))


def test_each_call_has_its_one_result() -> None:
    told = retold(
        entries(
            CALLS,
            Finished(1, ToolResult("a", "f", "ran", outcome="ok")),
            Settled(1, results(ToolResultPart("a", "f", "ran"), ToolResultPart("b", "g", "no", is_error=True))),
            Finished(1, ToolResult("b", "g", "late")),
        )
    )
    found = [(event.id, event.result.content) for event in told if isinstance(event, ToolFinished)]
    assert found == [("a", "ran"), ("b", "no")]


def test_calls_that_were_left_open_have_what_was_said_of_them() -> None:
    content: list[TextPart | MediaPart] = [TextPart("nobody knows"), MediaPart("image/png", data="eA==")]
    told = list(retold(entries(CALLS, Mended(results(ToolResultPart("b", "g", content))), Mended())))
    (finished,) = (event for event in told if isinstance(event, ToolFinished))
    assert finished.result.content == "nobody knows"
    assert len(finished.result.media) == 1


def test_what_nobody_was_shown_is_not_told() -> None:
    parts: list[Part] = [ThinkingPart(""), OpaquePart({}), OpaquePart({}, "web_search"), TextPart("")]
    told = list(
        retold(
            entries(
                Said(Message("system", "Be good.")),
                Answered(1, Message("assistant", parts)),
                Noted({"type": "approval_asked", "turn": 1}),
                Noted({"type": "from a later version"}),
                Noted({"no": "type"}),
            )
        )
    )
    assert [(event.type, event.segment_type) for event in told if isinstance(event, SegmentEvent)] == [
        (EventType.START, SegmentType.SERVER_TOOL),
        (EventType.END, None),
    ]
    assert len(told) == 2


def test_a_failed_run_keeps_its_words() -> None:
    failed = RunFailed(ProviderError("overloaded", hint="Wait.").info(), 2)
    assert list(retold(entries(Noted(msgspec.to_builtins(failed))))) == [failed]
