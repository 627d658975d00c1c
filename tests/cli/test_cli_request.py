from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.command import assert_sentence, toolwire_command

CONVERSATION = [
    {"role": "user", "content": "Weather in Paris? \u202e"},
    {
        "role": "assistant",
        "content": [{"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Paris"}}],
    },
    {"role": "tool", "content": [{"type": "tool_result", "id": "c1", "name": "get_weather", "content": "18 °C"}]},
]
TOOLS = [{"name": "get_weather", "description": "Weather", "parameters": {"type": "object", "properties": {}}}]


@pytest.fixture
def conversation(tmp_path: Path) -> str:
    path = tmp_path / "conversation.json"
    path.write_text(json.dumps(CONVERSATION))
    return str(path)


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS))
    return str(path)


def body(*arguments: str, stdin: bytes = b"") -> dict[str, Any]:
    ran = toolwire_command("request", *arguments, stdin=stdin)
    assert (ran.code, ran.err) == (0, "")
    made: dict[str, Any] = json.loads(ran.out)
    return made


def test_the_body_that_would_be_sent(conversation: str, tools: str) -> None:
    made = body("--wire", "openai-chat", "--tools", tools, "--tool-choice", "get_weather", conversation)
    assert made["model"] == "gpt-4.1-mini"
    assert [message["role"] for message in made["messages"]] == ["user", "assistant", "tool"]
    assert made["tools"][0]["function"]["name"] == "get_weather"
    assert made["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    assert made["stream"] is True


@pytest.mark.parametrize(
    ("wire", "model", "place"),
    [
        ("openai-responses", "gpt-4.1-mini", "input"),
        ("anthropic", "claude-sonnet-5", "messages"),
        ("gemini", None, "contents"),
        ("ollama", "llama3.2", "messages"),
        ("cohere", "command-a-03-2025", "messages"),
    ],
)
def test_every_wire(wire: str, model: str | None, place: str, conversation: str, tools: str) -> None:
    made = body("--wire", wire, "--tools", tools, conversation)
    assert made.get("model") == model
    assert len(made[place]) == 3
    assert "get_weather" in json.dumps(made["toolConfig" if wire == "bedrock" else "tools"])


def test_the_wire_of_the_models_provider(conversation: str) -> None:
    assert "input_schema" not in body("--model", "anthropic:claude-x", conversation)
    assert body("--model", "anthropic:claude-x", conversation)["model"] == "claude-x"
    assert "contents" in body("--model", "gemini:gemini-x", conversation)
    assert "messages" in body("--model", "gemini:gemini-x", "--wire", "openai-chat", conversation)


def test_a_provider_that_wants_it_otherwise(conversation: str, tools: str) -> None:
    made = body("--model", "bedrock-anthropic:anthropic.claude-x", "--tools", tools, conversation)
    assert made["anthropic_version"] == "bedrock-2023-05-31"
    assert not {"model", "stream"} & set(made)
    assert body("--model", "vertex-anthropic:claude-x", conversation)["anthropic_version"] == "vertex-2023-10-16"
    assert body("--model", "kimi:kimi-x", conversation)["model"] == "kimi-x"
    made = body("--model", "mistral:m", conversation)
    assert len(made["messages"][1]["tool_calls"][0]["id"]) == 9
    native = ("--model", "perplexity", "--stream-parser", "api_tool_call", "--tools", tools, conversation)
    assert_sentence(toolwire_command("request", *native), 2, "no tool")


@pytest.mark.parametrize("parser", ["xml", "json", "sentinel"])
@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "gemini"])
def test_calls_in_text(wire: str, parser: str, conversation: str, tools: str) -> None:
    made = body("--wire", wire, "--stream-parser", parser, "--tools", tools, conversation)
    assert not {"tools", "tool_choice"} & made.keys()
    messages = made["contents" if wire == "gemini" else "messages"]
    roles = [message["role"] for message in messages if message["role"] != "system"]
    assert roles == ["user", "model" if wire == "gemini" else "assistant", "user"]
    assert "Accessible Tools" in json.dumps(made)
    assert "18 °C" in json.dumps(messages[-1], ensure_ascii=False)


def test_a_provider_without_tools_is_told_of_them(conversation: str, tools: str) -> None:
    made = body("--model", "perplexity", "--tools", tools, "--tool-choice", "get_weather", conversation)
    assert "tools" not in made
    told = made["messages"][0]
    assert told["role"] == "system"
    assert told["content"].rstrip().endswith("must hold a call of the tool get_weather.")


def test_the_stream_parser_of_the_environment(conversation: str, tools: str) -> None:
    ran = toolwire_command("request", "--tools", tools, conversation, env={"TOOLWIRE_STREAM_PARSER": "xml"})
    assert ran.code == 0
    assert "Accessible Tools" in ran.out
    ran = toolwire_command("request", "--tools", tools, conversation, env={"TOOLWIRE_STREAM_PARSER": "native"})
    assert_sentence(ran, 2, "TOOLWIRE_STREAM_PARSER: there is no stream parser 'native'")


def test_a_stream_parser_that_there_is_not(conversation: str) -> None:
    assert_sentence(toolwire_command("request", "--stream-parser", "yaml", conversation), 2, "api_tool_call")


def test_what_a_history_loses_is_said() -> None:
    thought = {"type": "thinking", "text": "hm", "provider_data": {"wire": "anthropic", "signature": "s"}}
    told = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Hello"}], "origin": "anthropic"},
        {"role": "user", "content": "Well?"},
    ]
    ran = toolwire_command("request", "--model", "gemini", stdin=json.dumps(told).encode())
    assert ran.code == 0
    assert json.loads(ran.out)["contents"]
    assert ran.err.startswith("toolwire: ")


def test_it_is_indented_and_safe_to_look_at(conversation: str) -> None:
    ran = toolwire_command("request", conversation)
    assert ran.out.startswith('{\n  "model"')
    assert "\u202e" not in ran.out
    assert json.loads(ran.out)["messages"][0]["content"].endswith("\u202e")


def test_numbers_go_under_the_providers_own_names(conversation: str) -> None:
    numbers = ("--max-tokens", "50", "--temperature", "0.5", conversation)
    assert body("--model", "openai:gpt-x", *numbers)["max_completion_tokens"] == 50
    made = body("--model", "deepseek:deepseek-chat", *numbers)
    assert (made["model"], made["max_tokens"], made["temperature"]) == ("deepseek-chat", 50, 0.5)


def test_a_plain_model_name_with_a_colon_stays_whole(conversation: str) -> None:
    assert body("--model", "llama3.2:3b", conversation)["model"] == "llama3.2:3b"


def test_a_misspelt_provider_is_told(conversation: str) -> None:
    ran = toolwire_command("request", "--model", "antropic:claude-x", conversation)
    assert ran.code == 0
    assert json.loads(ran.out)["model"] == "antropic:claude-x"
    assert "no provider 'antropic'" in ran.err
    assert "anthropic:claude-x" in ran.err
    assert body("--model", "antropic:claude-x", "--wire", "openai-chat", conversation)["model"] == "antropic:claude-x"


@pytest.mark.parametrize("target", [["--wire", "gemini"], ["--model", "gemini"], ["--model", "mistral"]])
def test_what_a_moved_history_loses_is_told(target: list[str]) -> None:
    thought = {"type": "thinking", "text": "hm", "provider_data": {"wire": "anthropic", "signature": "x"}}
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [thought]}]
    ran = toolwire_command("request", *target, stdin=json.dumps([*said, said[0]]).encode())
    assert ran.code == 0
    assert json.loads(ran.out)
    assert ran.err.startswith("toolwire: 1 part of ")
    assert "reasoning" in ran.err


@pytest.mark.parametrize("name", [[], ["-"]])
def test_standard_input(name: list[str]) -> None:
    assert body(*name, stdin=b'[{"role": "user", "content": "Hi"}]')["messages"] == [{"role": "user", "content": "Hi"}]


WRONG = [
    (b'{"role": "user"}', [], "no conversation"),
    (b'[{"role": "pilot", "content": "Hi"}]', [], "no conversation"),
    (b"", [], "no conversation"),
    (b"\xff\xfe", [], "no conversation"),
    (b"[" * 100_000, [], "no conversation"),
    (b'[{"role": "user", "content": [{"type": "thinking", "text": "x"}]}]', [], "role 'user'"),
    (b"[]", ["--wire", "morse"], "no wire format 'morse'"),
    (b"[]", ["--tool-choice", "fly"], "'fly'"),
    (b"[]", ["--tool-choice", "required"], "at least one tool"),
    (b"[]", ["--max-tokens", "0"], "--max-tokens 0"),
    (b"[]", ["--max-tokens", "many"], "many"),
    (b"[]", ["--temperature", "nan"], "--temperature nan"),
    (b"[]", ["--temperature", "-1"], "--temperature -1"),
    (b"[]", ["--model", "ollama"], "which model of ollama?"),
    (b"[]", ["--model", "gogle:x", "--wire", "morse"], "no wire format 'morse'"),
    (b"[]", ["--tools", "/"], "is a directory"),
]


@pytest.mark.parametrize(("data", "options", "words"), WRONG)
def test_what_cannot_be_a_request(data: bytes, options: list[str], words: str) -> None:
    ran = toolwire_command("request", *options, stdin=data)
    assert_sentence(ran, 2, words)
    assert ran.out == ""


def test_the_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text("{}")
    assert_sentence(toolwire_command("request", str(path)), 2, "talk.json: this is no conversation")
    assert_sentence(toolwire_command("request", str(tmp_path / "gone.json")), 2, "there is no file", "gone.json")
