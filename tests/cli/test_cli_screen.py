from __future__ import annotations

from contextlib import suppress

import pytest

from cli.chat_bytes import call_deltas, sse
from feeding import read, typed_sse, whole
from toolwire.agent.events import (
    AgentEvent,
    HistoryCompacted,
    HistoryMoved,
    HookFailed,
    NestedEvent,
    ParserChanged,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from toolwire.chunks import StopReason, TokenUsage
from toolwire.cli.console import PlainConsole
from toolwire.cli.screen import SERVER_TOOL_SHOWN, Screen
from toolwire.cli.telling import ARGUMENTS_SHOWN
from toolwire.errors import ErrorInfo
from toolwire.execution.executor import ToolResult
from toolwire.stream.invocation import ToolInvocation
from toolwire.stream.pipeline import Stream
from toolwire.stream.segments import SegmentEvent

ASKED = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
GAVE = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"title": "x" * 5000}]}
QUERY = {"type": "input_json_delta", "partial_json": '{"query":"a\x1b[2Jb"}'.replace("\x1b", "\\u001b")}


def test_a_tool_at_the_provider_is_told_in_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    body = typed_sse(
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": ASKED},
        {"type": "content_block_delta", "index": 0, "delta": QUERY},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": GAVE},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "Found."}},
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )
    stream, events = read(whole(body), "anthropic")
    screen = Screen(PlainConsole())
    for event in events:
        screen.show(event)
    screen.settle()
    lines = capsys.readouterr().out.split("\n")
    asked, gave, found = (line for line in lines if line)
    assert asked.startswith('○ web_search (at the provider) {"query":"a')
    assert gave.startswith("○ web_search_tool_result (at the provider) gave [")
    assert gave.endswith("…")
    assert len(gave) < SERVER_TOOL_SHOWN + 80
    assert found == "Found."
    assert stream.invocations == []


def test_what_a_moved_history_lost_is_told_in_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(PlainConsole())
    screen.show(HistoryMoved(1, ["1 part of reasoning left out", "media mentioned in words: [a\x1b[2J\nb]"]))
    screen.settle()
    out = capsys.readouterr().out
    assert "\x1b[2J" not in out
    assert [line.partition(":")[0] for line in out.splitlines()] == [
        "1 part of reasoning left out",
        "media mentioned in words",
    ]


def streamed(name: str, *pieces: str) -> list[SegmentEvent]:
    """The events of a call whose arguments come in these pieces."""
    stream = Stream("openai-chat", live_arguments=True)
    return [*stream.feed(sse(*call_deltas(name, *pieces), stop="tool_calls")), *stream.close()]


# Calls that run side by side.


def invocation(id: str, name: str, **arguments: str) -> ToolInvocation:
    return ToolInvocation(id, name, arguments, 1)


def finished(id: str, name: str, content: str) -> ToolFinished:
    return ToolFinished(1, id, ToolResult(id, name, content))


def begin(screen: Screen, *calls: ToolInvocation) -> None:
    for call in calls:
        screen.show(ToolStarted(1, call.id, call))


def test_lines_of_a_result_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(PlainConsole())
    begin(screen, invocation("a", "read_file", path="a"), invocation("b", "shell", command="ls"))
    screen.show(finished("a", "read_file", "   1 one\n   2 two"))
    screen.show(finished("b", "shell", "one line"))
    assert capsys.readouterr().out == "  → read_file:\n       1 one\n       2 two\n  → shell: one line\n"


def test_results_of_several_calls_say_whose_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(PlainConsole())
    long = "x\x1b[2J" * 100
    begin(
        screen,
        invocation("a", "read_file", path="a.txt"),
        invocation("b", "read_file", path=long),
        invocation("c", "now"),
    )
    screen.show(finished("c", "now", "12:30"))
    screen.show(finished("b", "read_file", "two"))
    screen.show(finished("a", "read_file", "one"))
    now, two, one = capsys.readouterr().out.splitlines()
    assert now == "  → now: 12:30"
    assert two.startswith('  → read_file {"path":"x\\u001b[2Jx')
    assert two.endswith("…: two")
    assert len(two) < ARGUMENTS_SHOWN + 40
    assert one == '  → read_file {"path":"a.txt"}: one'


def test_a_single_call_needs_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(PlainConsole())
    begin(screen, invocation("a", "now"))
    screen.show(finished("a", "now", "12:30"))
    assert capsys.readouterr().out == "  → 12:30\n"


class Waiting(Screen):
    """Remembers what it says while it waits."""

    def __init__(self) -> None:
        super().__init__(PlainConsole())
        self.said: list[str] = []

    def wait(self, what: str) -> None:
        self.said.append(what)
        super().wait(what)


def test_what_runs_is_said_with_how_far_it_has_come() -> None:
    screen = Waiting()
    begin(screen, invocation("a", "build"), invocation("b", "now"))
    screen.show(ToolProgress(1, "a", "step 1\n" * 200 + "step 2\n"))
    screen.show(finished("b", "now", "12:30"))
    screen.show(finished("a", "build", "done"))
    assert screen.said[:2] == ["running build", "running build, now"]
    assert screen.said[2:] == ["running build (step 2), now", "running build (step 2)"]
    begin(screen, invocation("c", "long"))
    screen.show(ToolProgress(1, "c", "first\n" + "x" * 1000))
    assert screen.said[-1] == f"running long ({'x' * 100})"


def test_the_last_line_end_of_an_argument_makes_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(PlainConsole())
    for event in streamed("write_file", '{"path":"a","content":"x\\n', "\\n", 'y\\n","more":"z\\n"}'):
        screen.show(event)
    screen.settle()
    assert capsys.readouterr().out == "● write_file  path: a  content: x\n    \n    y  more: z\n"


def test_while_a_question_stands_nothing_else_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(PlainConsole())
    begin(screen, invocation("a", "read_file", path="a"), invocation("b", "now"))
    with suppress(KeyboardInterrupt), screen.held():
        for number in range(1000):
            screen.show(ToolProgress(1, "a", str(number)))
        screen.show(finished("b", "now", "12:30"))
        assert capsys.readouterr().out == ""
        raise KeyboardInterrupt
    assert capsys.readouterr().out == "  → now: 12:30\n"


# What happens beside the conversation, and what ends it.

BUSY = ErrorInfo("RateLimited", "openai asks to slow down (429): wait\x1b[2J", "", {"status": 429})


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (RunStarted("openai", "m", "xml"), ""),
        (
            RequestRetried(1, 2, 2.345, BUSY),
            "slow down (429): wait␛[2J; trying again in 2.3 s (attempt 3)\n",
        ),
        (RequestRetried(1, 1, 34.0, BUSY), "; trying again in 34 s (attempt 2)\n"),
        (ParserChanged(1, "xml", "it refused tools"), "it refused tools; from now on it is told of its tools in words"),
        (
            HistoryCompacted(1, ["2 old results"], 9000, 4000, 10000),
            "9,000 tokens are now about 4,000",
        ),
        (HistoryCompacted(1, ["2 old results\x1b[2J"], 9000, 4000, 10000), "\n2 old results␛[2J\n"),
        (HookFailed("Mine", ErrorInfo("X", "boom")), "The hook Mine failed"),
        (RunInterrupted(1, TokenUsage()), "(interrupted)\n"),
    ],
)
def test_what_happens_beside_the_conversation(
    capsys: pytest.CaptureFixture[str], event: AgentEvent, words: str
) -> None:
    screen = Screen(PlainConsole())
    screen.show(event)
    screen.settle()
    out = capsys.readouterr().out
    assert words in out
    assert bool(out) is bool(words)
    assert "\x1b[2J" not in out


def test_an_interrupt_shows_what_was_held_back(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the last word is written when it is known to be whole."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen(PlainConsole())
    stream = Stream("openai-chat")
    for event in stream.feed(sse({"content": "the last word"}).partition(b"\n\n")[0] + b"\n\n"):
        screen.show(event)
    assert "word" not in capsys.readouterr().out
    screen.show(RunInterrupted(1, TokenUsage()))
    assert "word\n\n" in capsys.readouterr().out


def nested(*path: str, event: AgentEvent) -> NestedEvent:
    """An event of an agent below agents; the path is the ids of their calls."""
    first, *rest = path
    return NestedEvent(1, first, nested(*rest, event=event) if rest else event)


def test_an_agent_below_is_told_by_its_calls_and_results(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(PlainConsole())
    begin(screen, invocation("a", "researcher", task="x"), invocation("b", "researcher", task="y"))
    inner = invocation("c1", "read_file", path="a\x1b[2J")
    for event in streamed("read_file", '{"path": "a"}'):
        screen.show(nested("a", event=event))
    screen.show(nested("a", event=ToolStarted(1, "c1", inner)))
    screen.show(nested("a", event=ToolProgress(1, "c1", "half")))
    screen.show(nested("a", event=finished("c1", "read_file", "one\ntwo " + "x" * 1000)))
    screen.show(nested("b", event=ToolStarted(1, "c1", invocation("c1", "helper", task="z"))))
    screen.show(nested("b", "c1", event=ToolStarted(1, "d", invocation("d", "now"))))
    screen.show(nested("b", "c1", event=ToolFinished(1, "d", ToolResult("d", "now", "Error: no", is_error=True))))
    screen.show(nested("b", event=RequestRetried(1, 1, 1.0, BUSY)))
    screen.show(nested("b", event=RunFailed(ErrorInfo("X", "gave up"), 1)))
    screen.show(nested("a", event=RunFinished("done", StopReason.STOP, 1, TokenUsage())))
    screen.settle()
    lines = capsys.readouterr().out.splitlines()
    one, two = '  researcher {"task":"x"}', '  researcher {"task":"y"}'
    assert lines[0] == f'{one} ● read_file {{"path":"a\\u001b[2J"}}'
    assert lines[1].startswith(f"{one} → read_file: one two xxx")
    assert lines[1].endswith("…")
    assert len(lines[1]) < 300
    assert lines[2] == f'{two} ● helper {{"task":"z"}}'
    assert lines[3] == f"{two} › helper ● now"
    assert lines[4] == f"{two} › helper ✗ now: Error: no"
    assert "trying again" in lines[5]
    assert lines[6] == f"{two} ✗ gave up"
    assert len(lines) == 7


def test_the_text_of_an_agent_below_does_not_pile_up_while_a_question_stands() -> None:
    screen = Screen(PlainConsole())
    begin(screen, invocation("a", "researcher"))
    with screen.held():
        for event in streamed("read_file", '{"path": "a"}'):
            screen.show(nested("a", event=event))
        screen.show(nested("a", event=ToolProgress(1, "c1", "half")))
        assert screen._held._held == []


def test_calls_of_a_model_without_tools_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    body = sse({"content": "I run it."}, *call_deltas("run_bash", '{"command": "ls"}'), stop="tool_calls")
    stream = Stream("openai-chat", tools=[])
    screen = Screen(PlainConsole())
    for event in [*stream.feed(body), *stream.close()]:
        screen.show(event)
    assert capsys.readouterr().out == ("I run it.\n\n(not run: 1 call of a kind that the model was not given)\n")
