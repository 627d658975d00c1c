"""Providers as data: names, addresses, keys that nobody sees."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from toolwire.errors import AuthenticationFailed, ConfigError
from toolwire.providers.catalog import PROVIDERS, Secret, resolve, split_model
from toolwire.providers.wires import WIRES, detect_wire, wire_format

KEY = "sk-canary-123"


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=list(PROVIDERS))
def test_every_row_is_whole(provider: object) -> None:
    row = PROVIDERS[provider.name]  # type: ignore[attr-defined]
    assert row.wire in WIRES
    assert row.title
    assert row.base_url or row.name in ("openai-compatible", "local")
    assert not row.is_local or row.base_url.startswith("http://127.0.0.1:")
    assert row.key_variable or row.is_local or row.name == "local"


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai:gpt-4.1", "openai", "gpt-4.1"),
        ("openai", "openai", "gpt-4.1-mini"),
        ("openrouter:openai/gpt-4.1:free", "openrouter", "openai/gpt-4.1:free"),
        ("ollama:qwen3:0.6b", "ollama", "qwen3:0.6b"),
        ("local", "local", "smollm2-135m"),
        ("local:/a/b.gguf", "local", "/a/b.gguf"),
    ],
)
def test_names(name: str, provider: str, model: str) -> None:
    found, found_model = split_model(name)
    assert (found.name, found_model) == (provider, model)


@pytest.mark.parametrize(
    ("name", "words", "hint"),
    [
        ("opnai:x", "no provider 'opnai'", "openai"),
        ("gpt-4.1", "no provider 'gpt-4.1'", "provider:model"),
        ("", "no provider", "Known: openai"),
        ("ollama", "which model of ollama", "ollama:MODEL"),
        ("x" * 10_000, "no provider", "provider:model"),
    ],
)
def test_wrong_names(name: str, words: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        split_model(name)
    assert hint in error.value.hint
    assert len(str(error.value)) < 200


def test_the_key_comes_from_the_environment_or_the_caller() -> None:
    assert resolve("openai:x", {"OPENAI_API_KEY": KEY}).headers["Authorization"] == f"Bearer {KEY}"
    assert resolve("openai:x", {}, api_key=KEY).headers["Authorization"] == f"Bearer {KEY}"
    assert "Authorization" not in resolve("ollama:x", {"OPENAI_API_KEY": KEY}).headers


def test_no_key_is_told_before_anything_is_sent() -> None:
    with pytest.raises(AuthenticationFailed, match="no key for OpenAI") as error:
        resolve("openai:x", {})
    assert "OPENAI_API_KEY" in error.value.hint


def test_a_key_of_one_provider_never_goes_to_another_address() -> None:
    endpoint = resolve("openai-compatible:x", {"OPENAI_API_KEY": KEY}, base_url="http://127.0.0.1:9/v1")
    assert KEY not in str(endpoint.headers)


def test_addresses() -> None:
    assert resolve("openai:x", {}, api_key=KEY).url == "https://api.openai.com/v1/chat/completions"
    assert resolve("openai:x", {}, api_key=KEY, base_url="http://h/v1/").url == "http://h/v1/chat/completions"
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://proxy/v1"}
    assert resolve("openai:x", env).url == "http://proxy/v1/chat/completions"
    assert resolve("anthropic:x", {}, api_key=KEY).url == "https://api.anthropic.com/v1/messages"
    assert resolve("openai-responses:x", {}, api_key=KEY).url == "https://api.openai.com/v1/responses"
    assert resolve("ollama:x", {}).url == "http://127.0.0.1:11434/api/chat"
    gemini = "https://generativelanguage.googleapis.com/v1beta/models/{}:streamGenerateContent?alt=sse"
    assert resolve("gemini:gemini-x", {}, api_key=KEY).url == gemini.format("gemini-x")
    with pytest.raises(ConfigError, match="no address") as error:
        resolve("openai-compatible:x", {})
    assert "--base-url" in error.value.hint


@pytest.mark.parametrize("model", ["../../evil", "x?key=y", "x#y", "x y", "é", "a:b", "x/../../../y"])
def test_a_models_name_cannot_change_the_address(model: str) -> None:
    parts = urlsplit(resolve(f"gemini:{model}", {}, api_key=KEY).url)
    assert parts.netloc == "generativelanguage.googleapis.com"
    assert parts.query == "alt=sse"
    assert parts.path.startswith("/v1beta/models/")
    assert parts.path.endswith(":streamGenerateContent")
    assert "/.." not in parts.path


def test_each_provider_gets_its_key_in_its_own_way() -> None:
    assert resolve("anthropic:x", {}, api_key=KEY).headers["x-api-key"] == KEY
    assert resolve("anthropic:x", {}, api_key=KEY).headers["anthropic-version"] == "2023-06-01"
    assert resolve("gemini:x", {}, api_key=KEY).headers["x-goog-api-key"] == KEY
    for name in ("anthropic", "gemini"):
        assert "Authorization" not in resolve(f"{name}:x", {}, api_key=KEY).headers
        assert KEY not in resolve(f"{name}:x", {}, api_key=KEY).url


def test_keys_are_not_shown() -> None:
    endpoint = resolve("openai:x", {}, api_key=KEY)
    assert KEY not in repr(endpoint)
    assert KEY not in str(endpoint)
    assert KEY not in f"{Secret(KEY)}{Secret(KEY)!r}"
    assert Secret(KEY)
    assert not Secret("")


def test_wires_by_name_and_by_look() -> None:
    assert wire_format("openai-chat").name == "openai-chat"
    with pytest.raises(ConfigError, match="'nonsense'") as error:
        wire_format("nonsense")
    assert "openai-chat" in error.value.hint
    assert detect_wire(b'data: {"id":"x","object":"chat.completion.chunk"}') == "openai-chat"
    with pytest.raises(ConfigError, match="cannot tell"):
        detect_wire(b"<html>")
