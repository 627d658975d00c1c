from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cli.chat_bytes import ANSWER, CALCULATE, call_deltas, sse
from cli.command import Ran, assert_sentence, clean_environment, toolwire_command
from cli.model_server import ModelServer
from cli.terminal import CTRL_D, Terminal
from toolwire.agent.bounds import Bounds
from toolwire.cli.conversation import BOUND

KEY = "sk-loopback-0123456789abcdef"
MODEL = ("--model", "openai-compatible:test", "--tools", "demo")
ONCE = ("--retries", "0")
GO_ON = "; go on with: toolwire run --resume "
"""What stands behind the session's id on standard error."""


def ask(server: ModelServer, *arguments: str, cwd: Path | None = None, **env: str) -> Ran:
    return toolwire_command("run", *MODEL, *ONCE, "--base-url", server.url, *arguments, cwd=cwd, env=env)


def test_json_prints_every_event() -> None:
    with ModelServer([CALCULATE, ANSWER]) as server:
        ran = ask(server, "What is 17 * 23?", "--json")
    assert (ran.code, ran.err) == (0, "")
    types = [event["type"] for event in ran.lines]
    assert types[:2] == ["run_started", "turn_started"]
    assert types[-1] == "run_finished"
    assert types.index("tool_started") < types.index("tool_finished")
    assert ran.lines[types.index("tool_finished")]["result"]["content"].endswith("391")
    assert ran.lines[-1]["text"] == "It is 391."
    assert ran.lines[-1]["turns"] == 2
    first, second = server.requests
    assert first["messages"] == [{"role": "user", "content": "What is 17 * 23?"}]
    assert "calculate" in [tool["function"]["name"] for tool in first["tools"]]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool"]


def test_the_screen_tells_it_in_order() -> None:
    with ModelServer([CALCULATE, ANSWER]) as server:
        ran = ask(server, "What is 17 * 23?")
    assert ran.code == 0
    assert ran.out == "It is 391.\n", "the answer alone"
    told, _, sessions = ran.err.rpartition("toolwire: session ")
    session, again = sessions.rstrip("\n").split(GO_ON)
    assert session == again
    expected = [
        f"test, at {server.url}\n",
        "Tools: current_time, calculate",
        "Let me see… né 🦜.\n\n",
        "● calculate  expression: 17 * 23\n",
        "391",
        "Easy.\n\n",
        "2 turns · 20 tokens in, 10 out · ",
    ]
    at = 0
    for words in expected:
        # Each behind the one before: the number of the server's port may hold any of them.
        at = told.find(words, at) + len(words)
        assert at >= len(words), (words, told)
    assert "It is 391." not in told


def test_calls_that_stream_side_by_side_are_shown_one_after_the_other() -> None:
    one = call_deltas("calculate", '{"expression": ', '"1 + 1"}', call_id="a")
    two = call_deltas("current_time", '{"zone": ', '"Europe/Paris"}', index=1, call_id="b")
    mixed = [delta for pair in zip(one, two, strict=True) for delta in pair]
    with ModelServer([sse(*mixed, stop="tool_calls"), ANSWER]) as server:
        ran = ask(server, "Two things")
    assert "● calculate  expression: 1 + 1\n● current_time  zone: Europe/Paris\n  → " in ran.err
    assert all(f"  → {name}: " in ran.err for name in ("calculate", "current_time")), "the results come in either order"


def test_calls_in_text() -> None:
    call = '<tool name="calculate">\n<arg name="expression">17 * 23</arg>\n</tool>'
    time = '<tool name="current_time"><arg name="zone">Europe/Paris</arg></tool>'
    deltas = [{"content": piece} for piece in (f"Let me see. {call[:3]}", call[3:20], f"{call[20:]}\n\n{time}\n")]
    with ModelServer([sse(*deltas), ANSWER]) as server:
        ran = ask(server, "What is 17 * 23?", "--stream-parser", "xml")
    assert ran.code == 0
    assert "Let me see." in ran.err
    assert "● calculate  expression: 17 * 23\n● current_time  zone: Europe/Paris\n  → " in ran.err
    assert all(f"  → {name}: " in ran.err for name in ("calculate", "current_time")), "the results come in either order"
    assert "<" not in ran.err + ran.out, "a call is shown as one, not as it was written"
    first, second = server.requests
    assert "tools" not in first
    assert "Accessible Tools" in first["messages"][0]["content"]
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "user"]


def test_fences_around_calls_in_text_are_not_shown() -> None:
    call = '{"tool": {"function": "calculate", "parameters": {"expression": "17 * 23"}}}'
    with ModelServer([sse({"content": f"So:\n```json\n{call}\n```\n"}), ANSWER]) as server:
        ran = ask(server, "What is 17 * 23?", "--stream-parser", "json")
    assert ran.code == 0
    assert "● calculate  expression: 17 * 23\n  → " in ran.err
    assert "```" not in ran.err + ran.out


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_one_empty_line_before_a_call_in_text(between: str) -> None:
    call = '<tool name="calculate"><arg name="expression">17 * 23</arg></tool>'
    deltas = [{"content": "So:"}, *({"content": end} for end in between), {"content": f"{call}{between}{call}"}]
    with ModelServer([sse(*deltas), ANSWER]) as server:
        ran = ask(server, "What is 17 * 23?", "--stream-parser", "xml")
    assert "\n\nSo:\n\n● calculate  expression: 17 * 23\n● calculate  expression: 17 * 23\n  → " in ran.err


@pytest.mark.parametrize("variable", ["TOOLWIRE_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER"])
def test_the_environment_names_the_stream_parser(variable: str) -> None:
    with ModelServer([ANSWER]) as server:
        ran = ask(server, "Hi", cwd=None, **{variable: "xml"})
    assert ran.code == 0
    assert "tools" not in server.requests[0]
    assert "Accessible Tools" in server.requests[0]["messages"][0]["content"]


def test_a_stream_parser_that_there_is_not() -> None:
    ran = toolwire_command("run", *MODEL, "--base-url", "http://127.0.0.1:1", "--stream-parser", "native", "Hi")
    assert_sentence(ran, 2, "no stream parser 'native'")


def test_options_reach_the_request() -> None:
    with ModelServer([ANSWER]) as server:
        ran = ask(server, "--no-tools", "--system", "Be brief.", "--", "Hello")
    assert ran.code == 0
    assert "No tools." in ran.err
    assert "tools" not in server.requests[0]
    assert server.requests[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
    ]


@pytest.mark.parametrize("stdin", [b"", b" \n"])
def test_without_question_and_terminal_nobody_is_asked(stdin: bytes) -> None:
    with ModelServer([ANSWER]) as server:
        env = {"TOOLWIRE_MODEL": "openai-compatible:test", "TOOLWIRE_BASE_URL": server.url}
        ran = toolwire_command("run", env=env, stdin=stdin)
    assert_sentence(ran, 2, "there is no question")
    assert server.requests == []


def test_a_question_from_standard_input() -> None:
    with ModelServer([ANSWER]) as server:
        ran = toolwire_command("run", *MODEL, "--base-url", server.url, "-", stdin="Où est-ce ?\n".encode() + b"\xff")
    assert ran.code == 0
    assert server.requests[0]["messages"][0]["content"] == "Où est-ce ?\n\ufffd"


def test_a_question_that_is_no_text() -> None:
    with ModelServer([ANSWER]) as server:
        ran = toolwire_command("run", *MODEL, "--base-url", server.url, b"caf\xe9")
    assert ran.code == 0
    assert server.requests[0]["messages"][0]["content"] == "caf\ufffd"


HOSTILE = "\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\x7f\u202ereversed\u2066\u200bhidden\rback\x08\ufeff"


def test_nothing_hostile_reaches_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(f"from the file: {HOSTILE}")
    (tmp_path / "name\x1b[31m\u202e.txt").write_text("x")
    answers = [
        sse(
            {"reasoning_content": HOSTILE},
            {"content": HOSTILE},
            *call_deltas("read_file", '{"path": "notes.txt"}', call_id=HOSTILE),
            *call_deltas("list_files", "{}", index=1, call_id="list"),
            *call_deltas(f"read{HOSTILE}", json.dumps({HOSTILE: HOSTILE}), index=2, call_id="odd"),
            stop="tool_calls",
        ),
        sse({"content": f"The answer {HOSTILE}"}),
    ]
    with ModelServer(answers) as server:
        plain = ask(server, "Read", cwd=tmp_path)
    with ModelServer(answers) as server:
        events = ask(server, "Read", "--json", cwd=tmp_path)
    with ModelServer([(400, {"error": {"message": HOSTILE}})]) as server:
        failed = ask(server, "Read", cwd=tmp_path)
    assert (plain.code, events.code, failed.code) == (0, 0, 1)
    for ran in (plain, events, failed):
        for char in set(HOSTILE) - set("[2J]52;c;aGk=31mreversedhiddenback"):
            assert char not in ran.out + ran.err, repr(char)
    assert "␛[2J␛]52;c;aGk=␇<U+009B>31m␡<U+202E>reversed" in plain.out
    assert "␛[2J␛]52;c;aGk=␇<U+009B>31m␡<U+202E>reversed" in plain.err
    assert events.lines[-1]["text"] == f"The answer {HOSTILE}"


def test_a_flood_of_arguments_and_a_long_result_are_cut_on_the_screen(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"line {number}\n" for number in range(500)))
    answers = [
        sse(
            *call_deltas("read_file", json.dumps({"path": "long.txt"})),
            *call_deltas("calculate", json.dumps({"expression": "1+" * 20_000 + "1"}), index=1, call_id="b"),
            stop="tool_calls",
        ),
        ANSWER,
    ]
    with ModelServer(answers) as server:
        ran = ask(server, "Read", cwd=tmp_path)
    assert ran.code == 0
    assert "more than is shown here" in ran.err
    assert "more characters" in ran.err
    assert "line 5" in ran.err
    assert "line 400" not in ran.err + ran.out
    assert len(ran.err) < 8_000
    assert "line 400" in json.dumps(server.requests[1])


@pytest.mark.parametrize("format_", ["events", "text"])
def test_a_reader_that_leaves_ends_it_quietly(format_: str) -> None:
    options = ("--quiet", "--output-format", format_)
    with ModelServer([sse(*({"content": f"word {number} "} for number in range(20_000)))]) as server:
        child = subprocess.Popen(
            [sys.executable, "-m", "toolwire", "run", "Hi", *MODEL, *options, "--base-url", server.url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(),
        )
        assert child.stdout is not None
        assert child.stderr is not None
        with child:
            if format_ == "events":
                child.stdout.readline()
            child.stdout.close()
            assert child.stderr.read() == b""
        assert child.returncode == 141


def test_a_model_that_never_stops_calling() -> None:
    with ModelServer([CALCULATE]) as server:
        ran = ask(server, "Go on", "--max-turns", "3")
    assert_sentence(ran, BOUND, "3 requests", "--max-turns")
    assert len(server.requests) == 3


def test_a_bound_ends_a_run_and_says_which_option_it_was() -> None:
    with ModelServer([CALCULATE]) as server:
        tokens = ask(server, "Go on", "--max-tokens", "40")
    assert_sentence(tokens, BOUND, "45 of its 40 tokens", "--max-tokens")
    assert len(server.requests) == 3
    with ModelServer([None]) as server:
        seconds = ask(server, "Go on", "--max-seconds", "0.4")
    assert_sentence(seconds, BOUND, "not over after 0.4 seconds", "--max-seconds")
    with ModelServer([CALCULATE]) as server:
        repeated = ask(server, "Go on")
    assert_sentence(
        repeated, BOUND, f"the same calls {Bounds().repeats} times in a row", "Say what it should do otherwise."
    )
    assert "Bounds" not in tokens.err + seconds.err + repeated.err


def test_a_request_that_failed_goes_out_again_and_the_person_is_told() -> None:
    busy = (429, {"error": {"message": "slow down", "code": "rate_limit"}})
    with ModelServer([busy, ANSWER]) as server:
        ran = toolwire_command("run", "Hi", *MODEL, "--base-url", server.url, "--retries", "1")
    assert ran.code == 0
    assert len(server.requests) == 2
    (told,) = [line for line in ran.err.splitlines() if "trying again in " in line]
    assert "slow down" in told


def test_the_tool_choice_reaches_the_first_request() -> None:
    with ModelServer([CALCULATE, ANSWER]) as server:
        ran = ask(server, "Go", "--tool-choice", "calculate")
    assert ran.code == 0
    first, second = server.requests
    assert first["tool_choice"] == {"type": "function", "function": {"name": "calculate"}}
    assert second.get("tool_choice", "auto") == "auto"


PICTURE = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


def test_what_is_attached_goes_along_with_the_question(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PICTURE)
    with ModelServer([ANSWER]) as server:
        ran = ask(server, "What is this?", "--attach", str(tmp_path / "a.png"), "--attach", "https://x.test/b.png")
    assert ran.code == 0, ran.err
    text, *pictures = server.requests[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert [each["type"] for each in pictures] == ["image_url", "image_url"]
    assert pictures[0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert pictures[1]["image_url"]["url"] == "https://x.test/b.png"


def test_a_key_that_is_refused_is_not_shown() -> None:
    refused = {"error": {"message": f"Incorrect API key provided: {KEY}.", "code": "invalid_api_key"}}
    with ModelServer([(401, refused)]) as server:
        ran = toolwire_command(
            "run", "Hi", "--model", "openai:gpt-4.1", "--base-url", server.url, env={"OPENAI_API_KEY": KEY}
        )
    assert_sentence(ran, 1, "openai refused the key (401)", "Check the key")
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in ran.out + ran.err


def test_a_password_in_the_address_is_not_shown() -> None:
    ran = toolwire_command("run", "Hi", *MODEL, *ONCE, "--base-url", "http://me:hunter22@127.0.0.1:9/v1")
    assert_sentence(ran, 1, "127.0.0.1")
    assert "hunter22" not in ran.out + ran.err


def test_a_model_that_does_not_exist() -> None:
    body = {"error": {"message": "The model `gpt-9` does not exist", "type": "x", "code": "model_not_found"}}
    with ModelServer([(404, body)]) as server:
        ran = ask(server, "Hi")
    assert_sentence(ran, 1, 'has no model "test"', "does not exist", "Check the model's name")


def test_the_failure_is_an_event_too() -> None:
    with ModelServer([(500, {"error": {"message": "boom"}})]) as server:
        ran = ask(server, "Hi", "--json")
    assert_sentence(ran, 1, "boom")
    assert ran.lines[-1]["type"] == "run_failed"


def test_a_server_that_is_down() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    ran = toolwire_command("run", "Hi", *MODEL, *ONCE, "--base-url", url)
    assert_sentence(ran, 1, "cannot reach", "connection refused", "Is the server running?")


def test_a_server_that_stays_silent() -> None:
    with ModelServer([None]) as server:
        ran = ask(server, "Hi", "--timeout", "0.3")
    assert_sentence(ran, 1, "sent nothing for 0.3 s", "--timeout")


def test_an_answer_that_breaks_off_runs_nothing() -> None:
    with ModelServer([CALCULATE[: CALCULATE.index(b'"finish_reason"')]]) as server:
        ran = ask(server, "Hi", "--json")
    assert_sentence(ran, BOUND, "cannot run 3 times in a row")
    assert "tool_started" not in [event["type"] for event in ran.lines]


WRONG_USAGE = [
    (["Hi", "--model", "opnai:gpt-4.1"], 2, ["no provider 'opnai'", "Did you mean openai"]),
    (["Hi", "--model", "gpt-4.1"], 2, ["provider:model"]),
    (["Hi", "--model", "ollama"], 2, ["which model of ollama?", "ollama:MODEL"]),
    (["Hi", "--model", "openai:gpt-4.1"], 1, ["no key for OpenAI", "Set OPENAI_API_KEY", "toolwire providers"]),
    (["Hi", "--model", "openai-compatible:x"], 2, ["--base-url"]),
    (["Hi", "--base-url", "http://127.0.0.1:9"], 2, ["--model openai-compatible:NAME"]),
    (["Hi", *MODEL, "--base-url", "not a url"], 2, ["--base-url is no address", "https://models.example.com/v1"]),
    (["Hi", "--model", "missing.gguf"], 1, ["missing.gguf"]),
    (["Hi", *MODEL, "--timeout", "0"], 2, ["--timeout 0"]),
    (["Hi", *MODEL, "--timeout", "nan"], 2, ["--timeout nan"]),
    (["Hi", *MODEL, "--timeout", "soon"], 2, ["soon"]),
    (["Hi", *MODEL, "--max-turns", "0"], 2, ["--max-turns 0"]),
    (["Hi", *MODEL, "--max-tokens", "0"], 2, ["--max-tokens 0"]),
    (["Hi", *MODEL, "--max-seconds", "nan"], 2, ["--max-seconds nan"]),
    (["Hi", *MODEL, "--retries", "-1"], 2, ["--retries -1"]),
    (["Hi", *MODEL, "--base-url", "http://127.0.0.1:9", "--tool-choice", "x"], 2, ["'x'", "auto, none, required"]),
    (["Hi", *MODEL, "--attach", "missing.png"], 2, ["missing.png"]),
    (["Hi", *MODEL, "--replay", "x"], 2, ["--replay", "QUESTION", "--json"]),
    (["Hi", *MODEL, "--base-url", "http://127.0.0.1:9", "--record", "/no/such/x"], 1, ["/no/such/x"]),
    (["  ", *MODEL], 2, ["the question is empty"]),
    (["Hi", "there", *MODEL], 2, ["there"]),
    (["Hi", "--modell", "x:y"], 2, ["--modell", "--model"]),
    (["Hi", *MODEL, "--base-url", "http://127.0.0.1:9", "--mode", "yolo"], 2, ["--mode", "auto-edit", "read-only"]),
]


@pytest.mark.parametrize(("arguments", "code", "words"), WRONG_USAGE)
def test_wrong_usage(arguments: list[str], code: int, words: list[str]) -> None:
    ran = toolwire_command("run", *arguments)
    assert_sentence(ran, code, *words)
    assert "api_key" not in ran.err


def test_questions_at_a_terminal_are_one_conversation() -> None:
    with (
        ModelServer([CALCULATE, ANSWER]) as server,
        Terminal("run", *MODEL, "--base-url", server.url) as terminal,
    ):
        terminal.wait_for("Ctrl-D ends.")
        terminal.wait_for("> ")
        terminal.type("What is 17 * 23?\n")
        shown = terminal.wait_for("2 turns")
        assert "calculate" in shown
        assert "It is 391." in shown
        terminal.wait_for("> ")
        terminal.type("\nAnd again?\n")
        terminal.wait_for("1 turn ")
        terminal.wait_for("> ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    roles = [message["role"] for message in server.requests[-1]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_a_failed_answer_does_not_end_the_conversation() -> None:
    with (
        ModelServer([(500, {"error": {"message": "boom"}}), ANSWER]) as server,
        Terminal("run", *MODEL, *ONCE, "--base-url", server.url) as terminal,
    ):
        terminal.wait_for("> ")
        terminal.type("First\n")
        terminal.wait_for("boom")
        terminal.wait_for("> ")
        terminal.type("Second\n")
        terminal.wait_for("It is 391.")
        terminal.wait_for("> ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
