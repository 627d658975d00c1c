from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.chat_bytes import call_deltas, sse
from cli.command import assert_sentence, clean_environment, toolwire_command

SEARCH = {
    "name": "search",
    "description": "Finds things.",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
    },
}
WRITE_FILE = {
    "name": "write_file",
    "description": "",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
}
QUERY = "né 🦜 <b>"
CALLS = {
    "xml": f'<tool name="search"><arg name="query">{QUERY}</arg><arg name="limit">3</arg></tool>',
    "json": json.dumps({"tool": {"function": "search", "parameters": {"query": QUERY, "limit": 3}}}),
    "json-openai": json.dumps({"tool_calls": [{"name": "search", "arguments": {"query": QUERY, "limit": 3}}]}),
    "json-gemini": json.dumps({"name": "search", "args": {"query": QUERY, "limit": 3}}),
    "sentinel": "[[SEG_START "
    + json.dumps({"type": "tool", "tool_name": "search", "arguments": {"query": QUERY, "limit": 3}})
    + "]][[SEG_END]]",
}
"""The same call in every format."""


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([SEARCH, WRITE_FILE]))
    return str(path)


def summary_of(answer: str | bytes, *options: str) -> dict[str, Any]:
    """The one summary of a text that is a proper answer."""
    data = answer.encode() if isinstance(answer, str) else answer
    ran = toolwire_command("parse", "--summary", *options, stdin=data)
    assert (ran.code, ran.err) == (0, "")
    (summary,) = ran.lines
    return summary


@pytest.mark.parametrize("format_", CALLS)
def test_summary_of_every_format(tools: str, format_: str) -> None:
    summary = summary_of(f"Let me see… {CALLS[format_]} Done.", "--format", format_, "--tools", tools)
    assert list(summary) == ["file", "text", "reasoning", "calls", "stop_reason", "usage", "complete", "error"]
    assert summary["file"] == "-"
    assert summary["text"] == "Let me see…  Done."
    (call,) = summary["calls"]
    assert list(call) == ["id", "name", "arguments", "complete", "problem"]
    assert (call["name"], call["arguments"]) == ("search", {"query": QUERY, "limit": 3})
    assert (call["complete"], call["problem"]) == (True, None)
    assert (summary["stop_reason"], summary["complete"], summary["error"]) == ("stop", True, None)


@pytest.mark.parametrize("format_", CALLS)
def test_the_deltas_are_the_text(tools: str, format_: str) -> None:
    answer = f"Let me see…\n```json\n{CALLS[format_]}\n```\nDone. 🦜"
    ran = toolwire_command("parse", "--format", format_, "--tools", tools, "--cut", "5", stdin=answer.encode())
    assert "".join(event.get("delta", "") for event in ran.lines) == answer
    assert [event["type"] for event in ran.lines][-1] == "done"
    assert all("file" not in event for event in ran.lines)


@pytest.mark.parametrize("cut", ["1", "2", "7", "random:7", "random:0", "99999999999999"])
def test_cuts_make_no_difference(tmp_path: Path, tools: str, cut: str) -> None:
    path = tmp_path / "answer.txt"
    path.write_text(f"é🦜 {CALLS['sentinel']} 漢字")
    options = ("--format", "sentinel", "--tools", tools, str(path))
    whole = toolwire_command("parse", "--summary", *options)
    assert whole.lines[0]["text"] == "é🦜  漢字"
    assert toolwire_command("parse", "--summary", "--cut", cut, *options).out == whole.out


def test_several_files_name_themselves_and_a_bad_one_does_not_stop_the_others(tmp_path: Path, tools: str) -> None:
    bad, good = tmp_path / "bad.txt", tmp_path / "good.txt"
    bad.write_bytes(b"caf\xe9")
    good.write_text(CALLS["sentinel"])
    ran = toolwire_command("parse", "--format", "sentinel", "--tools", tools, str(bad), str(good))
    assert_sentence(ran, 1, "bad.txt: it ends in the middle of a character, at byte 3")
    assert [line["file"] for line in ran.lines if line["type"] in ("done", "error")] == [str(bad), str(good)]
    assert all(next(iter(line)) == "file" for line in ran.lines)


def test_a_byte_order_mark_is_dropped_once() -> None:
    assert summary_of("\ufeffHi \ufeff", "--format", "sentinel", "--cut", "1")["text"] == "Hi \ufeff"
    assert summary_of("\ufeff", "--format", "sentinel")["text"] == ""


def test_no_text_is_an_answer_without_text() -> None:
    summary = summary_of("", "--format", "sentinel")
    assert (summary["text"], summary["calls"], summary["complete"]) == ("", [], True)


NOT_UTF8 = [
    (b"ok \xff more", "ok ", 3, "ProtocolError"),
    (b"ok \xe2\x82A", "ok ", 3, "ProtocolError"),
    ("né ".encode() + b"\xed\xa0\x80", "né ", 4, "ProtocolError"),
    (b"ok [[SEG_ST\xc3", "ok [[SEG_ST", 11, "IncompleteStream"),
    ("🦜".encode()[:3], "", 0, "IncompleteStream"),
]


@pytest.mark.parametrize("cut", [[], ["--cut", "1"], ["--cut", "random:4"]])
@pytest.mark.parametrize(("data", "text", "position", "kind"), NOT_UTF8)
def test_bytes_that_are_no_text(cut: list[str], data: bytes, text: str, position: int, kind: str) -> None:
    ran = toolwire_command("parse", "--format", "sentinel", "--summary", *cut, stdin=data)
    assert_sentence(ran, 1, "standard input: ", f"byte {position}")
    (summary,) = ran.lines
    assert (summary["text"], summary["complete"]) == (text, False)
    assert (summary["error"]["type"], summary["error"]["facts"]) == (kind, {"position": position})


def test_a_call_in_bytes_that_are_no_text_does_not_run(tools: str) -> None:
    answer = CALLS["sentinel"].encode() + b"\xff"
    ran = toolwire_command("parse", "--format", "sentinel", "--tools", tools, "--summary", stdin=answer)
    assert_sentence(ran, 1, "1 call is incomplete and would not run")
    assert ran.lines[0]["calls"][0]["complete"] is False


def test_a_half_call_is_shown_and_does_not_run(tools: str) -> None:
    answer = '[[SEG_START {"type":"write_file","path":"/a.txt"}]]hello wor'
    summary = summary_of(answer, "--format", "sentinel", "--tools", tools)
    (call,) = summary["calls"]
    assert (call["complete"], call["arguments"]) == (False, answer)
    assert "[[SEG_END]] is missing" in call["problem"]


def test_calls_are_held_against_the_tools(tools: str) -> None:
    answer = CALLS["sentinel"].replace('"limit": 3', '"limit": "three"')
    (call,) = summary_of(answer, "--format", "sentinel", "--tools", tools)["calls"]
    assert (call["complete"], call["arguments"]) == (False, answer)
    assert "limit" in call["problem"]


def test_other_names_stay_text_if_there_are_tools(tmp_path: Path) -> None:
    none = tmp_path / "tools.json"
    none.write_text(json.dumps([WRITE_FILE]))
    answer = CALLS["sentinel"]
    summary = summary_of(answer, "--format", "sentinel", "--tools", str(none))
    assert (summary["text"], summary["calls"]) == (answer, [])
    assert [call["name"] for call in summary_of(answer, "--format", "sentinel")["calls"]] == ["search"]


def test_without_any_tool_everything_is_text(tmp_path: Path) -> None:
    none = tmp_path / "tools.json"
    none.write_text("[]")
    answer = f"Well: {CALLS['sentinel']}"
    summary = summary_of(answer, "--format", "sentinel", "--tools", str(none))
    assert (summary["text"], summary["calls"]) == (answer, [])


def test_fields_are_decoded_while_they_arrive(tools: str) -> None:
    options = ("--format", "sentinel", "--tools", tools, "--cut", "1")
    answer = CALLS["sentinel"].encode()
    assert not any("fields" in event for event in toolwire_command("parse", *options, stdin=answer).lines)
    live = toolwire_command("parse", "--fields", *options, stdin=answer).lines
    fields = [field for event in live for field in event.get("fields", ())]
    assert "".join(field.get("text", "") for field in fields if field["path"] == ["query"]) == QUERY


CHOSEN = [
    ([], "json"),
    (["--provider", "openai"], "json-openai"),
    (["--provider", "gemini"], "json-gemini"),
    (["--format", "json", "--provider", "gemini"], "json-gemini"),
    (["--provider", "anthropic"], "xml"),
    (["--model", "anthropic:claude-sonnet-4-5"], "xml"),
    (["--provider", "openrouter", "--model", "anthropic/claude-sonnet-4.5"], "xml"),
    (["--provider", "anthropic", "--format", "sentinel"], "sentinel"),
]


@pytest.mark.parametrize(("options", "format_"), CHOSEN)
def test_the_format_is_that_of_the_provider_or_model(tools: str, options: list[str], format_: str) -> None:
    (call,) = summary_of(CALLS[format_], "--tools", tools, *options)["calls"]
    assert call["arguments"] == {"query": QUERY, "limit": 3}


def test_a_providers_envelope_is_its_own(tools: str) -> None:
    assert summary_of(CALLS["json-gemini"], "--tools", tools, "--provider", "openai")["calls"] == []


WRONG_USAGE = [
    (["--format", "sentinal"], "no text format 'sentinal'", "sentinel"),
    (["--provider", "opnai"], "no provider 'opnai'", "openai"),
    (["--provider", "\x1b[2J"], "no provider", "toolwire providers"),
    (["--cut", "sideways"], "--cut sideways", "random:SEED"),
    (["--tools", "nope.json"], "nope.json", "Check"),
    (["--nonsense"], "--nonsense", "toolwire parse --help"),
    (["missing.txt"], "there is no file missing.txt", "Check"),
]


@pytest.mark.parametrize(("options", "words", "hint"), WRONG_USAGE)
def test_wrong_options(options: list[str], words: str, hint: str) -> None:
    ran = toolwire_command("parse", *options)
    assert_sentence(ran, 2, words, hint)
    assert ran.out == ""
    assert "\x1b" not in ran.err


def test_a_live_pipe_is_shown_as_it_comes() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "toolwire", "parse", "--format", "sentinel"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        child.stdin.write(b"Hello")
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["type"] == "start"
        assert json.loads(child.stdout.readline())["delta"] == "Hello"
        child.stdin.close()
        assert child.stdout.read().endswith(b'{"type":"done","stop_reason":"stop"}\n')
    assert child.returncode == 0


def test_a_file_that_never_ends() -> None:
    ran = toolwire_command("parse", "--format", "sentinel", "/dev/zero", "--cut", "16777216")
    assert_sentence(ran, 1, "/dev/zero: the text of one answer is over its limit")


def test_json_lines_hold_nothing_that_a_terminal_obeys() -> None:
    hostile = "a\x1b[2Jb\x9b31mc\u202ed\u200be\x7ff\u2028g"
    for options in ([], ["--summary"]):
        ran = toolwire_command("parse", "--format", "sentinel", *options, stdin=hostile.encode())
        assert not any(char in ran.out for char in hostile if not char.isascii() or char < " " or char == "\x7f")
    assert ran.lines[0]["text"] == hostile


# The same calls in the text of recorded streams: `decode --stream-parser`.

LEAKED = sse({"reasoning_content": CALLS["sentinel"]}, {"content": "Hm. "}, {"content": CALLS["sentinel"]})
BOTH = sse(
    {"content": CALLS["sentinel"]},
    *call_deltas("write_file", '{"path": "a", "content": ', '"b"}'),
    stop="tool_calls",
)


def decoded(body: bytes, *options: str) -> dict[str, Any]:
    ran = toolwire_command("decode", "--summary", "--cut", "7", *options, stdin=body)
    assert (ran.code, ran.err) == (0, "")
    return ran.lines[0]


def test_calls_in_recorded_text_are_found_when_asked_for(tools: str) -> None:
    assert decoded(LEAKED, "--tools", tools)["calls"] == []
    summary = decoded(LEAKED, "--tools", tools, "--stream-parser", "sentinel")
    assert summary["text"] == "Hm. "
    assert summary["reasoning"] == CALLS["sentinel"]
    assert [call["arguments"] for call in summary["calls"]] == [{"query": QUERY, "limit": 3}]


PARSERS = [
    ("auto", ["write_file"]),
    ("api_tool_call", ["write_file"]),
    ("sentinel", ["search"]),
    ("api_tool_call+sentinel", ["search", "write_file"]),
]


@pytest.mark.parametrize(("parser", "names"), PARSERS)
def test_every_way_to_read_a_recording(tools: str, parser: str, names: list[str]) -> None:
    summary = decoded(BOTH, "--tools", tools, "--stream-parser", parser)
    assert [call["name"] for call in summary["calls"] if call["complete"]] == names


@pytest.mark.parametrize(
    ("parser", "hint"),
    [
        ("native", "  Known: xml, json, "),
        ("telegraph", "hermes (toolwire formats lists them)"),
        ("api_tool_call+", "Besides formats: auto, api_tool_call, "),
        ("xml+json", "api_tool_call+FORMAT for both"),
        ("hermez", "Did you mean hermes? Known: xml, "),
        ("api_tool_call+hermez", "Did you mean api_tool_call+hermes?"),
        ("qwen2.5-7b", "Did you mean qwen25"),
    ],
)
def test_a_stream_parser_that_is_none(parser: str, hint: str) -> None:
    ran = toolwire_command("decode", "--stream-parser", parser, stdin=LEAKED)
    assert_sentence(ran, 2, f"no stream parser '{parser}'", hint)
    assert ran.out == ""


# The syntaxes that models were trained on.

TRAINED = '<tool_call>\n{"name": "search", "arguments": {"query": "x", "limit": 3}}\n</tool_call>'


def test_a_family_named_or_found(tools: str) -> None:
    for options in (["--format", "hermes"], ["--format", "auto"], ["--format", "auto", "--model", "qwen3:8b"]):
        (call,) = summary_of(f"So: {TRAINED}", "--tools", tools, *options)["calls"]
        assert call["arguments"] == {"query": "x", "limit": 3}


def test_reasoning_that_the_prompt_opened(tools: str) -> None:
    text = f"I look.\n</think>\n\n{TRAINED}"
    summary = summary_of(text, "--tools", tools, "--format", "hermes", "--reasoning")
    assert summary["reasoning"] == "I look.\n"
    assert len(summary["calls"]) == 1


def test_repairs_are_asked_for_and_told(tools: str) -> None:
    malformed = TRAINED.replace("3}", "3,}")
    (call,) = summary_of(malformed, "--tools", tools, "--format", "hermes")["calls"]
    assert not call["complete"]
    ran = toolwire_command("parse", "--tools", tools, "--format", "hermes", "--repair", stdin=malformed.encode())
    (end,) = [line for line in ran.lines if line["type"] == "end" and "arguments" in line.get("metadata", {})]
    assert "comma" in end["metadata"]["repairs"][0]
    (call,) = summary_of(malformed, "--tools", tools, "--format", "hermes", "--repair")["calls"]
    assert call["repairs"] == end["metadata"]["repairs"]
    assert "repairs" not in summary_of(TRAINED, "--tools", tools, "--format", "hermes", "--repair")["calls"][0]
