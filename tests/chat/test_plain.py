"""The chat as plain lines: at a real terminal, and what its lines say."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.model_server import ModelServer
from cli.terminal import CTRL_C, CTRL_D, Terminal
from toolwire.agent.events import AgentEvent, NestedEvent, RunFinished, RunInterrupted, ToolFinished, ToolStarted
from toolwire.approval.request import Answer, ApprovalRequest, Scope
from toolwire.chat.commands.layout import cells, code, code_cell, listed, unmarked
from toolwire.chat.lines import LineScreen
from toolwire.chat.plain import PlainPerson
from toolwire.chunks import StopReason, TokenUsage
from toolwire.cli.ask import TerminalQuestion
from toolwire.cli.console import PlainConsole
from toolwire.execution.executor import ToolResult
from toolwire.stream.invocation import requested
from toolwire.stream.segments import EventType, SegmentEvent, SegmentType
from toolwire.testing.bodies import body
from toolwire.testing.pieces import Call, End, Piece, Text, Thought
from tui.asking import offers
from tui.asking import request as asked_about

YOU = "\nYou: "
RUN_IT = "Run it?"


def answer(*pieces: Piece) -> bytes:
    return body("openai-chat", *pieces, End())


def writes(id: str, path: str) -> Call:
    return Call(id, "write_file", json.dumps({"path": path, "content": "one\ntwo\n"}))


@contextmanager
def plain_chat(
    root: Path, *answers: bytes | None, term: str = "dumb", first: str = ""
) -> Iterator[tuple[Terminal, ModelServer]]:
    env = {"XDG_STATE_HOME": str(root / "state"), "XDG_CONFIG_HOME": str(root / "config"), "TERM": term}
    words = ["chat", *([first] if first else []), *([] if term == "dumb" else ["--plain"])]
    address = ("--model", "openai-compatible:test", "--base-url")
    with (
        ModelServer(answers) as server,
        Terminal(*words, *address, server.url, env=env) as terminal,
    ):
        terminal.wait_for(YOU)
        yield terminal, server


def said(terminal: Terminal, line: str, until: str = YOU) -> str:
    terminal.type(f"{line}\n")
    return terminal.wait_for(until).replace("\r", "")


@pytest.mark.usefixtures("root")
def test_answers_calls_and_questions_are_lines_with_words(tmp_path: Path) -> None:
    (Path.cwd() / "notes.txt").write_text("from the notes")
    answers = [
        answer(Thought("hm"), Text("Hello you.\nQuestion 1 of 2 for you.")),
        answer(writes("a", "a.txt"), writes("b", "b.txt")),
        answer(Text("Both tried.")),
    ]
    with plain_chat(tmp_path, *answers) as (terminal, server):
        first = said(terminal, "Hi, see @notes.txt")
        assert "Reasoning:\n  hm\nAnswer:\n  Hello you.\n  Question 1 of 2 for you.\nDone: 1 turn" in first
        assert "notes.txt" in first
        assert "from the notes" in json.dumps(server.requests[0])
        asked = said(terminal, "write", RUN_IT)
        assert "Tool call 1: write_file\n  path: a.txt\n  content:\n    one\n    two\nTool call 2: write_file" in asked
        # Which of the two comes first is open.
        yes, no = (1, 2) if "\nQuestion 1 of 2 for you, about call 1.\n" in asked else (2, 1)
        assert f"\nQuestion 1 of 2 for you, about call {yes}.\n" in asked
        assert f"\nQuestion 2 of 2 for you, about call {no}.\n" in said(terminal, "y", RUN_IT)
        ended = said(terminal, "n because I say so")
        assert f"Not run: call {no}, write_file:\n  the person said no: I say so\n" in ended
        assert "Answer:\n  Both tried.\nDone: 2 turns" in ended
        written = "ab"[yes - 1]
        assert f"{written}.txt (+2 −0)" in said(terminal, "/diff")
        assert "\n  +one\n" not in said(terminal, "/undo", "is no: ")
        assert f"Taken back: {written}.txt" in said(terminal, "y")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
        assert "\x1b" not in terminal.screen
    assert not list(Path.cwd().glob("?.txt"))


@pytest.mark.usefixtures("root")
def test_commands_lists_and_the_persons_own_shell(tmp_path: Path) -> None:
    with plain_chat(tmp_path, answer(Text("Hello.")), term="xterm-256color") as (terminal, server):
        assert "/model [PROVIDER:MODEL]: Goes on with another model." in said(terminal, "/help")
        listing = said(terminal, "/model", "go back: ")
        assert "Asked now:\n1. openai-compatible:test" in listing
        assert "On this machine:\n2. SmolLM2-135M" in listing
        found = said(terminal, "groq", "go back: ")
        assert "1. groq:openai/gpt-oss-120b, needs GROQ_API_KEY\nA number" in found
        assert "There is no such number." in said(terminal, "2", "go back: ")
        assert "Nothing was chosen." in said(terminal, "")
        assert "From now on: other" in said(terminal, "/model other")
        assert "There is no earlier session." in said(terminal, "/sessions")
        ran = said(terminal, "!echo one; echo two; exit 3")
        assert "  one\n  two\nCommand ended: exit code 3" in ran
        said(terminal, "Hi")
        assert "exit code 3" in json.dumps(server.requests[0])
        assert server.requests[0]["model"] == "other"
        said(terminal, "/new")
        sessions = said(terminal, "/chats", "go back: ")
        assert "This folder:\n1. Hi" in sessions
        assert "just now, 1 turn, openai-compatible:test" in sessions.replace("\n  ", " ")
        assert "Going on with: Hi" in said(terminal, "1")
        wrong = said(terminal, "/nosuch")
        assert "toolwire: there is no command /nosuch\n  " in wrong
        terminal.type("/exit\n")
        assert terminal.end() == 0


@pytest.mark.usefixtures("root")
def test_ctrl_c_stops_what_goes_on_and_nothing_else(tmp_path: Path) -> None:
    with plain_chat(tmp_path, answer(writes("a", "a.txt")), None, first="write it") as (terminal, server):
        assert terminal.wait_for(RUN_IT).startswith("write it")
        terminal.type(CTRL_C)
        assert "Interrupted." in terminal.wait_for(YOU)
        terminal.type("!echo begun; sleep 40\n")
        terminal.wait_for("\n  begun")
        terminal.type(CTRL_C)
        assert "Stopped." in terminal.wait_for(YOU)
        said(terminal, "/mode", "go back: ")
        terminal.type(CTRL_C)
        terminal.wait_for(YOU)
        terminal.type("again\n")
        server.wait_for_requests(2)
        terminal.type(CTRL_C)
        assert "Interrupted." in terminal.wait_for(YOU)
        assert "mode: ask" in said(terminal, "/status")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    assert not Path("a.txt").exists()


async def test_a_rule_that_was_made_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    console = PlainConsole()
    person = PlainPerson(console, LineScreen(console), kept_in="/home/me/always.toml")
    answers = [
        Answer(allowed=True),
        Answer(allowed=True, scope=Scope.SESSION),
        Answer(allowed=False, scope=Scope.ALWAYS, offer=1),
    ]

    async def asked(self: TerminalQuestion, request: ApprovalRequest) -> Answer:
        return answers.pop(0)

    monkeypatch.setattr(TerminalQuestion, "__call__", asked)
    request = asked_about(refusals=offers("exactly make test", f"make\u202e {'x' * 900}"))
    for _ in range(3):
        await person(request)
    told = [line for line in capsys.readouterr().out.replace("\n  ", "").split("\n") if line.startswith("You ")]
    told = [line.replace(" ", "") for line in told]
    rule = f"make‹U+202E› {'x' * 487}…"
    words = [
        "You allow for this session: exactly make test."
        " /approvals forget takes back what you decided for this session.",
        f"You deny always in this workspace: {rule}."
        " It is kept in /home/me/always.toml: delete it there to be asked again.",
    ]
    assert told == [each.replace(" ", "") for each in words]


def shown(*events: AgentEvent, width: int = 60) -> str:
    file = io.StringIO()
    screen = LineScreen(Console(file=file, width=width))
    screen.begin()
    for event in events:
        screen.show(event)
    return file.getvalue()


def segment(kind: SegmentType, id: str, *deltas: str, end: bool = True, **end_facts: Any) -> list[AgentEvent]:
    events: list[AgentEvent] = [SegmentEvent(EventType.START, id, segment_type=kind, tool_name="f")]
    events += [SegmentEvent(EventType.CONTENT, id, delta=delta) for delta in deltas]
    return events + ([SegmentEvent(EventType.END, id, metadata=end_facts)] if end else [])


def started(id: str, tool: str) -> ToolStarted:
    return ToolStarted(1, id, requested(id, tool, {}, 1))


LINES: dict[str, tuple[list[AgentEvent], str]] = {
    "only whole lines": (segment(SegmentType.TEXT, "t", "one\ntw", "o", end=False), "Answer:\n  one\n"),
    "all of it at the end": (segment(SegmentType.TEXT, "t", "one\ntw", "o"), "Answer:\n  one\n  two\n"),
    "no heading for blanks": (segment(SegmentType.TEXT, "t", "\n\n"), ""),
    "escapes are shown": (segment(SegmentType.TEXT, "t", "\x1b[2Jx\r"), "Answer:\n  ␛[2Jx␍\n"),
    "broken between words": (
        segment(SegmentType.TEXT, "t", "word " * 14),
        f"Answer:\n  {'word ' * 10}word\n  word word word\n",
    ),
    "a call that cannot be used": (
        [
            *segment(SegmentType.TOOL_CALL, "c", problem="no JSON"),
            ToolFinished(1, "c", ToolResult("c", "f", "Error: no JSON", True)),
        ],
        "Tool call 1: f\nNot run: call 1, f:\n  no JSON\n",
    ),
    "arguments of any kind": (
        segment(SegmentType.TOOL_CALL, "c", arguments={"a": "x", "b": [1, {"c": None}], "d": "1\n\n2\n"}),
        'Tool call 1: f\n  a: x\n  b: [1,{"c":null}]\n  d:\n    1\n\n    2\n',
    ),
    "interrupted": (
        [*segment(SegmentType.TEXT, "t", "half", end=False), RunInterrupted(1, TokenUsage())],
        "Answer:\n  half\n\nInterrupted.\n",
    ),
    "a result": (
        [ToolFinished(1, "c", ToolResult("c", "f", "x\ny", False, 2.0, "ok"))],
        "Result of call 1, f, after 2.0 s:\n  x\n  y\n",
    ),
    "nothing came": ([ToolFinished(1, "c", ToolResult("c", "f", "", False))], "Result of call 1, f:\n  (nothing)\n"),
    "a long result": (
        [ToolFinished(1, "c", ToolResult("c", "f", "x\n" * 30, True, outcome="failed"))],
        "Error of call 1, f:\n" + "  x\n" * 10 + "  and 40 more characters, which the model gets\n",
    ),
    "not run": (
        [ToolFinished(1, "c", ToolResult("c", "f", "Error: not run: no", True, outcome="denied"))],
        "Not run: call 1, f:\n  no\n",
    ),
    "an agent as a tool": (
        [started("c", "helper"), NestedEvent(1, "c", started("i", "g"))],
        "  helper calls g\n",
    ),
    "the end": (
        [RunFinished("x", StopReason.LENGTH, 2, TokenUsage(10, 5, total_tokens=15))],
        "Done: 2 turns, 10 tokens in, 5 out, 0 ms, cut by the\n  token limit.\n",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_lines(name: str) -> None:
    events, lines = LINES[name]
    assert shown(*events) == lines


def test_segments_side_by_side_come_one_after_the_other() -> None:
    first, second = segment(SegmentType.TEXT, "a", "one\n", "two\n"), segment(SegmentType.TEXT, "b", "three\n")
    mixed = [first[0], second[0], second[1], first[1], second[2], first[2], first[3]]
    assert shown(*mixed) == "Answer:\n  one\n  two\nAnswer:\n  three\n"


def test_nothing_is_written_while_a_question_stands() -> None:
    file = io.StringIO()
    screen = LineScreen(Console(file=file, width=60))
    with screen.held():
        screen.show(ToolFinished(1, "c", ToolResult("c", "f", "x", False)))
        assert not file.getvalue()
    assert file.getvalue() == "Result of call 1, f:\n  x\n"


@pytest.mark.parametrize("text", ["a|b", "`x`", "**b**", "a\\", "1. x", "- y", "# z", "a_b [c](d) <e> &amp;", "``"])
def test_markdown_of_ours_reads_as_the_words_that_are_in_it(text: str) -> None:
    table = listed(("name", "", "x"), [(cells(text), code_cell(text), "")])
    assert unmarked(table) == [f"name: {text}; {text}"]
    assert unmarked(listed(("name", "x"), [(code_cell(text), cells(text))])) == [f"{text}: {text}"]
    assert unmarked(f"**See** {code(text)}: {cells(text)}") == [f"See {text}: {text}"]
    assert unmarked(f"```diff\n{text}\n```") == [f"  {text}"]
