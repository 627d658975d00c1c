"""Which format there is, which one is chosen, and what a value of `stream_parser` means."""

from __future__ import annotations

import copy

import pytest

from embedded.text_tools import TOOLS
from toolwire.embedded import registry
from toolwire.embedded.choosing import NATIVE, StreamParser, as_parser
from toolwire.embedded.registry import choose_format, format_names, prefer_format, register_format, text_format
from toolwire.errors import ConfigError

BUILT_IN = ["xml", "json", "json-openai", "json-gemini", "sentinel"]


@pytest.fixture(autouse=True)
def _unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_formats", "_by_provider", "_by_model", "_by_tool"):
        monkeypatch.setattr(registry, name, copy.copy(getattr(registry, name)))


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_format_is_found_by_its_name(name: str) -> None:
    assert name in format_names()
    assert text_format(name).name == name
    assert text_format(name) is text_format(name)


@pytest.mark.parametrize("name", ["", "XML", "hermes-9", "native", "json ", "\x00" * 1000])
def test_an_unknown_format_is_an_error_that_lists_them(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        text_format(name)
    assert all(known in caught.value.hint for known in BUILT_IN)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("", "json"),
        ("openai", "json-openai"),
        ("azure", "json-openai"),
        ("gemini", "json-gemini"),
        ("vertex", "json-gemini"),
        ("mistral", "json"),
        ("somebody-new", "json"),
    ],
)
def test_json_is_the_envelope_of_the_provider(provider: str, name: str) -> None:
    assert text_format("json", provider=provider).name == name
    assert text_format("xml", provider=provider).name == "xml"


@pytest.mark.parametrize(
    ("provider", "model", "name"),
    [
        ("anthropic", "claude-sonnet-4-5", "xml"),
        ("anthropic", "", "xml"),
        ("openrouter", "anthropic/Claude-3.5", "xml"),
        ("openai", "gpt-4o", "json-openai"),
        ("gemini", "gemini-2.5-pro", "json-gemini"),
        ("perplexity", "sonar", "json"),
        ("", "", "json"),
    ],
)
def test_the_format_for_a_provider_and_a_model(provider: str, model: str, name: str) -> None:
    assert choose_format(provider=provider, model=model).name == name


def test_preferences_tool_before_model_before_provider() -> None:
    prefer_format("sentinel", provider="acme")
    assert choose_format(provider="acme", model="m-1").name == "sentinel"
    prefer_format("xml", model="M-*")
    assert choose_format(provider="acme", model="m-1").name == "xml"
    prefer_format("json", model="m-1*")
    assert choose_format(provider="acme", model="m-1").name == "json", "the longest pattern is the most exact"
    prefer_format("sentinel", tool="search")
    assert choose_format(provider="acme", model="m-1", tools=TOOLS).name == "sentinel"
    assert choose_format(provider="acme", model="m-1", tools=["other"]).name == "json"


def test_two_tools_that_want_different_formats() -> None:
    prefer_format("sentinel", tool="search")
    prefer_format("xml", tool="ping")
    assert choose_format(tools=["search"]).name == "sentinel"
    with pytest.raises(ConfigError, match="search wants sentinel"):
        choose_format(tools=TOOLS)


def test_a_preference_is_for_one_thing_and_for_a_format_that_there_is() -> None:
    for wrong in ({}, {"provider": "a", "model": "b"}, {"model": "b", "tool": "c"}):
        with pytest.raises(ConfigError):
            prefer_format("xml", **wrong)
    with pytest.raises(ConfigError):
        prefer_format("no-such", provider="a")
    assert "a" not in registry._by_provider


def test_a_format_can_be_registered() -> None:
    mine = text_format("xml")._replace(name="mine")
    register_format(mine)
    assert format_names()[-1] == "mine"
    assert text_format("mine") is mine
    assert as_parser("mine") == StreamParser(False, mine)
    assert as_parser("api_tool_call+mine") == StreamParser(True, mine)
    other = text_format("xml")._replace(title="another")
    register_format(other)
    assert text_format("xml") is other


def test_values_of_stream_parser() -> None:
    assert as_parser("auto") == as_parser("api_tool_call") == as_parser(" API_TOOL_CALL ") == NATIVE
    assert as_parser(NATIVE) is NATIVE
    for name in BUILT_IN:
        assert as_parser(name) == StreamParser(False, text_format(name))
        assert as_parser(f"api_tool_call+{name}") == StreamParser(True, text_format(name))
    assert as_parser("json", provider="gemini").format is text_format("json-gemini")
    assert as_parser("XML").format is text_format("xml")


@pytest.mark.parametrize("name", ["", "Mine", "my format", "xml+json", "x_y", "é"])
def test_a_name_that_no_stream_parser_could_say(name: str) -> None:
    with pytest.raises(ConfigError, match="no name for a text format"):
        register_format(text_format("xml")._replace(name=name))
    assert name not in format_names()


def test_auto_takes_the_best_text_format_where_there_are_no_native_tools() -> None:
    for provider, name in (("perplexity", "json"), ("anthropic", "xml"), ("openai", "json-openai")):
        parser = as_parser("auto", provider=provider, native_tools=False)
        assert parser == StreamParser(False, text_format(name))
    prefer_format("sentinel", tool="search")
    assert as_parser("auto", tools=TOOLS, native_tools=False).format is text_format("sentinel")
    assert as_parser("api_tool_call", native_tools=False) == NATIVE, "what is asked for by name is done"


@pytest.mark.parametrize(
    "value", ["native", "", "xml+json", "xml+", "api_tool_call+", "api_tool_call+native", "auto+xml", "x" * 500]
)
def test_other_values_are_errors_that_list_the_right_ones(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        as_parser(value)
    for known in ("auto", "api_tool_call", *BUILT_IN, "api_tool_call+"):
        assert known in caught.value.hint
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("hermez", "hermes"),
        ("API_TOOL_CALL+hermez", "api_tool_call+hermes"),
        ("mistral", "mistral-v3, mistral-v11"),
        ("gptoss", "gpt-oss"),
        ("Qwen/Qwen2.5-7B-Instruct", "hermes"),
    ],
)
def test_what_may_have_been_meant_is_said(value: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        as_parser(value)
    assert caught.value.hint.startswith(f"Did you mean {meant}? Known: xml, json, ")
    if "+" not in value:
        with pytest.raises(ConfigError) as caught:
            text_format(value)
        assert caught.value.hint.startswith(f"Did you mean {meant}? Known: xml, json, ")
