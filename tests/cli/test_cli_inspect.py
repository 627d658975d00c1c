from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

import corpus
import toolwire
from cli.chat_bytes import ANSWER, CALCULATE, call_deltas, sse
from cli.command import Ran, assert_sentence, toolwire_command
from toolwire import Agent
from toolwire.agent.recordings.recording import Recorder
from toolwire.cli.inspect_shown import InspectScreen
from toolwire.inspection.trace import Trace, TracedAnswer, TracedCall
from toolwire.testing import ScriptedModel, approve_all, call, events_of, say, think
from wire_bodies import WIRES, Call, End, Text, body, good_end

CUT = CALCULATE[: CALCULATE.index(b"* 23")]
TEXT = b'Hi there\n<tool name="look"><arguments><what>x</what></arguments></tool>\nbye'


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "answer.sse"
    path.write_bytes(CALCULATE)
    return path


def inspected(*arguments: str, stdin: bytes = b"") -> str:
    ran = toolwire_command("inspect", *arguments, stdin=stdin)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def widest(text: str) -> int:
    return max(len(line) for line in text.split("\n"))


def test_a_recorded_stream(recording: Path) -> None:
    out = inspected(str(recording), "--width", "80")
    for words in (
        f"openai-chat · 9 frames · {len(CALCULATE):,} B",
        "tool_calls",
        "10 in, 5 out tokens",
        "none in this file: places are bytes",
        "problems   none",
        "expression: 17 * 23",
        "→ start   call_1 tool_call calculate",
        '→ content call_1 "* 23\\"}" (expression += "* 23")',
        "→ done    tool_calls · 10 in, 5 out tokens",
    ):
        assert words in out, out
    assert widest(out) <= 80
    assert "█" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("width", ["80", "130"])
def test_colours_change_nothing_else(tmp_path: Path, width: str) -> None:
    path = tmp_path / "cut.sse"
    path.write_bytes(CUT)
    coloured = toolwire_command("inspect", str(path), "--width", width, env={"NO_COLOR": "", "FORCE_COLOR": "1"}).out
    pieces = coloured.split("\x1b[")
    assert len(pieces) > 50
    assert pieces[0] + "".join(piece.partition("m")[2] for piece in pieces[1:]) == inspected(
        str(path), "--width", width
    )


def test_side_by_side_where_there_is_room(recording: Path) -> None:
    out = inspected(str(recording), "--width", "130", "--frames", "1")
    assert any(line.startswith("  data: {") and "│ → start   s0 text" in line for line in out.split("\n"))
    assert widest(out) <= 130


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_is_recognised(tmp_path: Path, wire: str) -> None:
    path = tmp_path / "answer"
    path.write_bytes(body(wire, Text("Hello"), Call("c1", "look", '{"what":"x"}'), End(good_end(wire, calls=True))))
    out = inspected(str(path))
    assert f"{wire} · " in out
    assert "what: x" in out
    assert "problems   none" in out


def test_problems_stand_out(tmp_path: Path) -> None:
    path = tmp_path / "cut.sse"
    path.write_bytes(CUT)
    out = inspected(str(path), "--width", "80")
    assert "! 1 frame: --problems shows them" in out
    assert "! calculate call_1" in out
    assert "calculate (call_1) will not run: the stream broke off before its end" in out
    alone = inspected(str(path), "--problems")
    assert alone.startswith("#6 ")
    assert "#5" not in alone
    assert "the body ends within it" in alone
    assert inspected("--problems", stdin=ANSWER) == "no such frames\n"


@pytest.mark.parametrize(("chosen", "numbers"), [("2", [2]), ("2-4", [2, 3, 4]), ("7-", [7, 8, 9]), ("10-", [])])
def test_frames_can_be_chosen(recording: Path, chosen: str, numbers: list[int]) -> None:
    out = inspected(str(recording), "--frames", chosen, "--json")
    frames = [json.loads(line) for line in out.split("\n") if line]
    assert [frame["frame"] for frame in frames] == numbers
    assert all(set(frame) >= {"at", "offset", "size", "name", "raw", "events", "findings"} for frame in frames)


def test_json_gives_every_byte_of_the_frames(recording: Path) -> None:
    frames = [json.loads(line) for line in inspected(str(recording), "--json").split("\n") if line]
    assert "".join(frame["raw"] + "\n\n" for frame in frames).encode() == CALCULATE
    assert [event["type"] for frame in frames for event in frame["events"]][-1] == "done"


def test_many_frames_are_not_all_printed() -> None:
    data = sse(*({"content": f"word {number} "} for number in range(400)))
    out = inspected(stdin=data)
    assert "… 203 more frames: --frames 201-400, or all: --frames 1-" in out
    assert "#403" in inspected("--frames", "1-", stdin=data)


def test_long_frames_are_cut_unless_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "long.sse"
    path.write_bytes(sse({"content": "x" * 5000}))
    assert "in all: --pretty --frames 1" in inspected(str(path))
    whole = inspected(str(path), "--pretty", "--frames", "1")
    assert whole.count("x") >= 10_000
    assert '"choices": [' in whole


def test_calls_in_text(tmp_path: Path) -> None:
    plain = inspected("--format", "xml", stdin=TEXT)
    assert "the text of an answer" in plain
    assert "what: x" in plain
    streamed = sse({"content": TEXT.decode()})
    assert "complete" not in inspected(stdin=streamed)
    assert "what: x" in inspected("--format", "xml", stdin=streamed)
    assert "what: x" in inspected("--format", "api_tool_call+xml", stdin=streamed)
    assert "the text of an answer" in inspected("--wire", "text", "--format", "xml", stdin=streamed)


def test_tools_are_held_against_the_calls(recording: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "look", "description": "", "parameters": {"type": "object"}}]))
    assert "there is no tool 'calculate'" in inspected(str(recording), "--tools", str(tools))


@toolwire.tool(risk="read")
def look(what: str) -> str:
    """Looks it up."""
    return f"{what} is fine"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.jsonl"

    async def record() -> None:
        recorder = Recorder(path)
        script = ScriptedModel([[think("Hm."), call("look", what="x")], say("It is fine.")], chop=40)
        agent = Agent(
            "anthropic:m",
            [look],
            transport=recorder.transport(script),
            hooks=[recorder],
            approve=approve_all,
            api_key="k",
            base_url="http://127.0.0.1:1",
        )
        await events_of(agent, "How is it?")
        recorder.close()

    asyncio.run(record())
    return path


def test_a_recording(run: Path) -> None:
    out = inspected(str(run), "--width", "90")
    for words in (
        "a recording of Toolwire",
        "anthropic:m",
        "answer 2",
        "Segments over time",
        "look runs",
        "x is fine",
        "question: How is it?",
        "the run finished after 2 turns",
        "Answer 2\n#",
        "first after ",
    ):
        assert words in out, out
    assert widest(out) <= 90
    assert inspected(stdin=run.read_bytes()).split("\n")[1:] == inspected(str(run)).split("\n")[1:]


@pytest.mark.parametrize("outcome", ["denied", "cancelled", "error"])
def test_a_call_that_was_not_answered_well_is_not_called_complete(
    outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = TracedCall(id="c1", name="look", kind="tool_call", first=1, last=2, arguments={"what": "x"})
    made.outcome, made.result, made.is_error = outcome, "Error: no", True
    trace = Trace(name="r", what="a recording", answers=[TracedAnswer(number=1, wire="anthropic", calls=[made])])
    InspectScreen(trace, 80).show([], is_choice=False)
    shown = capsys.readouterr().out
    assert f"look  c1  frames 1-2  ! {outcome}" in shown
    assert "complete" not in shown


def test_a_recording_knows_its_own_format(run: Path) -> None:
    assert_sentence(toolwire_command("inspect", "--format", "xml", str(run)), 2, "--format")


def test_a_page(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert inspected(str(run), "--html", str(out)) == ""
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    assert "x is fine" in page
    assert os.stat(out).st_mode & 0o777 == 0o600
    again = toolwire_command("inspect", str(run), "--html", str(out))
    assert_sentence(again, 2, "is there already", "--force")
    assert inspected(str(run), "--html", str(out), "--force") == ""
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--wire", "telegraph"], "openai-chat"),
        (["--frames", "x"], "--frames x"),
        (["--frames", "9-3"], "--frames 9-3"),
        (["--frames", "-3"], "--frames"),
        (["--width", "5"], "--width 5"),
        (["--format", "no-such"], "no-such"),
        (["--json", "--html", "x"], "--html"),
    ],
)
def test_wrong_options(recording: Path, options: list[str], words: str) -> None:
    ran = toolwire_command("inspect", *options, str(recording))
    assert_sentence(ran, 2, words)
    assert ran.out == ""


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"<html><body>502</body></html>", "HTML page"),
        (b"Dear diary\n", "no recorded stream"),
        (b'{"record":"toolwire-recording","version":1}\n', "is no recording: line 1"),
    ],
)
def test_what_is_no_stream_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "thing"
    path.write_bytes(data)
    ran = toolwire_command("inspect", str(path))
    assert_sentence(ran, 1, "thing", words)
    assert ran.out == ""


def test_help_is_text() -> None:
    out = inspected("--help")
    assert "--FILE" not in out
    assert all(char.isprintable() or char == "\n" for char in out)


def test_no_such_file() -> None:
    assert_sentence(toolwire_command("inspect", "missing.sse"), 2, "there is no file missing.sse")


@pytest.mark.parametrize(
    ("source", "error"),
    [("/dev/zero", "! error   LimitExceeded: line"), ("/dev/urandom", "! error   ProtocolError: invalid UTF-8")],
)
def test_a_file_that_never_ends(source: str, error: str) -> None:
    """How many frames noise has before its first broken character is chance."""
    ran = toolwire_command("inspect", "--wire", "openai-chat", source)
    assert ran.code == 0
    assert ran.out.count(error) == 1


def hostile(ran: Ran) -> bool:
    return any(char in ran.out + ran.err for char in "\x1b\x9b\u202e\u200b\x7f\u2028\x07")


def test_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    evil = "a\x1b[2Jb\x9b31mc\u202ed\u200be\x7ff\u2028g\x07"
    data = f": {evil}\n\nevent: {evil}\ndata: {{}}\n\n{evil}\n\n".encode() + sse(
        {"content": evil}, *call_deltas(evil, json.dumps({evil: evil}), call_id=evil), stop="tool_calls"
    )
    path = tmp_path / "evil.sse"
    path.write_bytes(data)
    for options in ([], ["--json"], ["--pretty", "--frames", "1-"], ["--width", "140"], ["--problems"]):
        ran = toolwire_command("inspect", "--wire", "openai-chat", *options, str(path))
        assert ran.code == 0
        assert not hostile(ran), options


@corpus.needs_corpus
@pytest.mark.parametrize("shape", corpus.WIRES)
def test_recorded_streams_fit_into_80_columns(shape: str) -> None:
    row = min(corpus.rows(shape, core=False), key=lambda row: (not row["tool_calls"], row["bytes"]))
    path = corpus.ROOT / "streams" / f"{row['case']}.{row['kind']}"
    out = inspected("--wire", corpus.WIRES[shape], "--width", "80", str(path))
    assert widest(out) <= 80
    assert "→ done" in out or "! error" in out or "more frames: --frames" in out
