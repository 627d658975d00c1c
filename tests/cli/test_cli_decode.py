from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.chat_bytes import ANSWER, CALCULATE, call_deltas, sse
from cli.command import assert_sentence, clean_environment, toolwire_command
from wire_bodies import WIRES, Call, End, Text, body

TOOLS = [{"name": "calculate", "description": "", "parameters": {"type": "object", "required": ["sum"]}}]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "recording.sse"
    path.write_bytes(CALCULATE)
    return path


def test_events_are_json_lines(recording: Path) -> None:
    ran = toolwire_command("decode", str(recording))
    assert (ran.code, ran.err) == (0, "")
    assert [event["type"] for event in ran.lines][-2:] == ["end", "done"]
    assert all("file" not in event for event in ran.lines)
    assert ran.lines[-2]["metadata"] == {"arguments": {"expression": "17 * 23"}}


def test_summary_has_its_keys_in_order(recording: Path) -> None:
    ran = toolwire_command("decode", "--summary", str(recording))
    (summary,) = ran.lines
    assert list(summary) == ["file", "text", "reasoning", "calls", "stop_reason", "usage", "complete", "error"]
    assert summary["file"] == str(recording)
    assert summary["text"] == "Let me see… né 🦜."
    assert summary["calls"] == [
        {
            "id": "call_1",
            "name": "calculate",
            "arguments": {"expression": "17 * 23"},
            "complete": True,
            "problem": None,
        }
    ]
    assert summary["complete"] is True
    assert ran.code == 0


def test_refusal_comes_last(tmp_path: Path) -> None:
    path = tmp_path / "refusal.sse"
    path.write_bytes(sse({"refusal": "I would rather not."}))
    (summary,) = toolwire_command("decode", "--summary", str(path)).lines
    assert list(summary)[-1] == "refusal"


@pytest.mark.parametrize("cut", ["1", "7", "random:7", "random:0", "99999999999999"])
def test_cuts_make_no_difference(recording: Path, cut: str) -> None:
    whole = toolwire_command("decode", "--summary", str(recording))
    assert toolwire_command("decode", "--summary", "--cut", cut, str(recording)).out == whole.out


def test_standard_input_is_the_default_and_can_be_named() -> None:
    unnamed = toolwire_command("decode", "--summary", stdin=ANSWER)
    named = toolwire_command("decode", "--summary", "-", stdin=ANSWER)
    assert unnamed.out == named.out
    assert unnamed.lines[0]["file"] == "-"
    assert unnamed.lines[0]["reasoning"] == "Easy."


def test_several_files_name_themselves(recording: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sse"
    other.write_bytes(ANSWER)
    ran = toolwire_command("decode", str(recording), str(other))
    assert ran.code == 0
    assert {event["file"] for event in ran.lines} == {str(recording), str(other)}
    assert all(next(iter(event)) == "file" for event in ran.lines)


def test_one_bad_file_does_not_stop_the_others(recording: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.sse"
    cut.write_bytes(CALCULATE[: CALCULATE.index(b"* 23")])
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html><title>502</title>")
    ran = toolwire_command("decode", "--summary", str(cut), str(page), str(recording))
    assert ran.code == 1
    assert [line["complete"] for line in ran.lines] == [False, False, True]
    assert [line["error"] and line["error"]["type"] for line in ran.lines] == [
        "IncompleteStream",
        "ProtocolError",
        None,
    ]
    assert "cut.sse: the stream broke off before its end: 1 call is incomplete and would not run\n" in ran.err
    assert "page.html: it is an HTML page" in ran.err
    assert ran.err.count("toolwire: ") == 2


@pytest.mark.parametrize("end", [b"* 23", b"data: [DONE]", b': [{"index": 0, "delta": {}'])
def test_a_cut_file(tmp_path: Path, end: bytes) -> None:
    """In the middle of an event, between two, after the name of a field: the person reads the same sentence."""
    path = tmp_path / "cut.sse"
    path.write_bytes(CALCULATE[: CALCULATE.index(end)].replace(b'"finish_reason": "tool_calls"', b'"x": 0'))
    ran = toolwire_command("decode", str(path))
    assert_sentence(ran, 1, "cut.sse: the stream broke off before its end: 1 call is incomplete and would not run")
    assert ran.lines[-1]["type"] == "error"


def test_fields_are_decoded_while_they_arrive(recording: Path) -> None:
    plain = toolwire_command("decode", str(recording)).lines
    assert not any("fields" in event for event in plain)
    live = toolwire_command("decode", "--fields", str(recording)).lines
    texts = [field.get("text", "") for event in live for field in event.get("fields", ())]
    assert "".join(texts) == "17 * 23"


def test_tools_are_held_against_the_calls(recording: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS))
    ran = toolwire_command("decode", "--summary", "--tools", str(tools), str(recording))
    (call,) = ran.lines[0]["calls"]
    assert ran.code == 0
    assert call["complete"] is False
    assert "sum" in call["problem"]
    assert call["arguments"] == '{"expression": "17 * 23"}'


NO_STREAMS = [
    (b"", "empty"),
    (b" \r\n\n", "empty"),
    (b"Dear diary, nothing streamed today.\n", "no recorded stream"),
    (b"<html><body>502 Bad Gateway</body></html>", "HTML page"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "PNG image"),
    (bytes(range(256)), "binary"),
    (b'data: {"error": {"message": "overloaded"}}\n\n', "event stream"),
    (b'{"model": "llama3.2", "message": {"content": "Hi"}}\n', "JSON, but not a stream"),
    (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "headers"),
    (b"\xff\xfe\xfd\x80", "no recorded stream"),
]


@pytest.mark.parametrize(("data", "words"), NO_STREAMS)
def test_what_is_no_stream_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "thing"
    path.write_bytes(data)
    ran = toolwire_command("decode", "--summary", str(path))
    assert_sentence(ran, 1, "thing: it is", words)
    (summary,) = ran.lines
    assert summary["complete"] is False
    assert words in summary["error"]["message"]


@pytest.mark.parametrize(("data", "words"), NO_STREAMS)
def test_what_is_no_stream_fails_with_a_named_wire_too(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "thing"
    path.write_bytes(data)
    ran = toolwire_command("decode", "--wire", "openai-chat", str(path))
    assert ran.code == 1
    assert ran.err.startswith(f"toolwire: {path}: ")
    assert "Traceback" not in ran.err
    assert ran.lines[-1]["type"] == "error"


WRONG_USAGE = [
    (["--cut", "sideways"], "--cut sideways"),
    (["--cut", "0"], "--cut 0"),
    (["--cut", "-3"], "--cut"),
    (["--cut", "random:"], "random:SEED"),
    (["--cut", "7:7"], "--cut 7:7"),
    (["--wire", "telegraph"], "openai-chat"),
    (["--nonsense"], "--nonsense"),
]


@pytest.mark.parametrize(("options", "words"), WRONG_USAGE)
def test_wrong_options(recording: Path, options: list[str], words: str) -> None:
    ran = toolwire_command("decode", *options, str(recording))
    assert_sentence(ran, 2, words)
    assert ran.out == ""


def test_no_such_file_is_told_before_anything_is_printed(recording: Path, tmp_path: Path) -> None:
    ran = toolwire_command("decode", str(recording), str(tmp_path / "missing.sse"))
    assert_sentence(ran, 2, "there is no file", "missing.sse")
    assert ran.out == ""


def test_a_directory(tmp_path: Path) -> None:
    assert_sentence(toolwire_command("decode", str(tmp_path)), 2, "is a directory", "/*")


TOOLS_FILES = [
    ('{"name": "x"}', "not a list"),
    ("[1]", "entry 1"),
    ('[{"name": "no spaces allowed"}]', "tool name"),
    ('[{"name": "x", "parameters": {"type": "object", "properties": {"a": {"type": "strnig"}}}}]', "x"),
    ("[", "not JSON"),
    ("", "not JSON"),
]


@pytest.mark.parametrize(("text", "words"), TOOLS_FILES)
def test_a_tools_file_that_is_none(recording: Path, tmp_path: Path, text: str, words: str) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(text)
    ran = toolwire_command("decode", "--tools", str(tools), str(recording))
    assert_sentence(ran, 2, "tools.json: ", words)
    assert ran.out == ""


def test_a_tools_file_that_is_not_there(recording: Path) -> None:
    assert_sentence(toolwire_command("decode", "--tools", "nope.json", str(recording)), 2, "nope.json")


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    name = bytes(tmp_path) + b"/\xff\x1b[31m.sse"
    with open(name, "wb") as file:
        file.write(CALCULATE[:-20])
    ran = toolwire_command("decode", "--summary", name)
    assert ran.code == 1
    assert ran.lines[0]["file"].endswith("/\ufffd\x1b[31m.sse")
    assert "\x1b" not in ran.out + ran.err


def test_json_lines_hold_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    hostile = "a\x1b[2Jb\x9b31mc\u202ed\u200be\x7ff\u2028g\U000e0041h"
    path = tmp_path / "hostile.sse"
    path.write_bytes(sse({"content": hostile}, *call_deltas("read_file", json.dumps({"path": hostile}))))
    for options in ([], ["--fields"], ["--summary"]):
        ran = toolwire_command("decode", *options, str(path))
        assert not any(char in ran.out for char in hostile if not char.isascii() or char < " ")
        assert "\x7f" not in ran.out
    assert ran.lines[0]["text"] == hostile
    assert ran.lines[0]["calls"][0]["arguments"] == {"path": hostile}


def test_a_reader_that_leaves_ends_it_quietly(tmp_path: Path) -> None:
    path = tmp_path / "long.sse"
    path.write_bytes(sse(*({"content": f"word {number} "} for number in range(20_000))))
    child = subprocess.Popen(
        [sys.executable, "-m", "toolwire", "decode", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
    )
    assert child.stdout is not None
    assert child.stderr is not None
    with child:
        assert child.stdout.readline().startswith(b'{"type":"start"')
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141


def test_a_full_disk_is_a_sentence(recording: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolwire", "decode", str(recording)],
            stdout=full,
            stderr=subprocess.PIPE,
            env=clean_environment(),
            timeout=60,
        )
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("source", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize("wire", ["auto", "openai-chat"])
def test_a_file_that_never_ends(source: str, wire: str) -> None:
    ran = toolwire_command("decode", "--summary", "--wire", wire, source)
    assert_sentence(ran, 1, f"{source}: ")


def test_nothing_is_read_after_the_end() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "toolwire", "decode", "--summary"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        child.stdin.write(ANSWER)
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["complete"] is True
    assert child.returncode == 0


def test_a_live_pipe_is_shown_as_it_comes() -> None:
    """The first line that tells the format is enough: nobody waits for 64 KiB."""
    child = subprocess.Popen(
        [sys.executable, "-m", "toolwire", "decode"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        first, rest = ANSWER[:100], ANSWER[100:]
        half = rest.index(b"\n\n") + 2
        child.stdin.write(b": hello\n\n" + first + rest[:half])
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["type"] == "start"
        child.stdin.write(rest[half:])
        child.stdin.close()
        assert child.stdout.read().endswith(b"}\n")
    assert child.returncode == 0


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("named", ["auto", "by name"])
def test_every_wire_is_decoded_and_recognised(wire: str, named: str) -> None:
    recorded = body(wire, Text("Let me see."), Call("c1", "look", '{"city":"Paris"}'), End())
    options = [] if named == "auto" else ["--wire", wire]
    ran = toolwire_command("decode", "--summary", *options, "--cut", "7", stdin=recorded)
    (summary,) = ran.lines
    assert (ran.code, ran.err) == (0, "")
    assert summary["text"] == "Let me see."
    assert [(made["name"], made["arguments"]) for made in summary["calls"]] == [("look", {"city": "Paris"})]
    assert (summary["stop_reason"], summary["complete"]) == ("tool_calls", True)


def test_a_json_array_is_recognised() -> None:
    chunk = {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}
    ran = toolwire_command("decode", "--summary", stdin=json.dumps([chunk], indent=2).encode())
    assert [(line["text"], line["stop_reason"]) for line in ran.lines] == [("Hi", "stop")]


@pytest.mark.parametrize("cut", [[], ["--cut", "5"]])
def test_an_aws_body_under_another_name(tmp_path: Path, cut: list[str]) -> None:
    path = tmp_path / "answer.eventstream"
    path.write_bytes(body("bedrock", Text("Hello"), End()))
    assert_sentence(
        toolwire_command("decode", "--wire", "anthropic", *cut, str(path)), 1, "AWS event stream", "--wire bedrock"
    )
    assert toolwire_command("decode", *cut, str(path)).code == 0
