"""How much models can read: the names that providers really have, and what is not known."""

from __future__ import annotations

import pytest

from toolwire.local.engine import CONTEXT
from toolwire.providers.catalog import PROVIDERS
from toolwire.providers.windows import MODELS, NAMED_BY_PEOPLE, OF_PROVIDERS, window_of

NAMES = {
    "anthropic:claude-sonnet-4-5": 200_000,
    "anthropic:claude-opus-4-20250514": 200_000,
    "anthropic:claude-3-5-haiku-latest": 200_000,
    "anthropic:claude-haiku-4-5-20251001": 200_000,
    "anthropic:claude-opus-4-6": 1_000_000,
    "anthropic:claude-sonnet-5-5": 1_000_000,
    "openrouter:anthropic/claude-sonnet-4.5": 200_000,
    "openrouter:anthropic/claude-opus-4.6": 1_000_000,
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0": 200_000,
    "bedrock:arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-4-6-v1": 1_000_000,
    "bedrock:amazon.nova-pro-v1:0": 300_000,
    "bedrock:us.meta.llama3-3-70b-instruct-v1:0": 128_000,
    "vertex-anthropic:claude-3-7-sonnet@20250219": 200_000,
    "openai:gpt-4.1-mini": 1_047_576,
    "openai:gpt-4o-2024-08-06": 128_000,
    "openai:gpt-4-turbo": 128_000,
    "openai:gpt-4-0613": None,
    "openai:gpt-4-1106-preview": None,
    "openai:gpt-5-mini": 272_000,
    "openai:gpt-5-chat-latest": 128_000,
    "openai-responses:gpt-5.4": 922_000,
    "openai-responses:gpt-5.4-mini": 272_000,
    "azure:gpt-4o": 128_000,
    "azure:our-own-deployment": None,
    "openai:o3": 200_000,
    "openai:o4-mini": 200_000,
    "openai:o1-mini": 128_000,
    "gemini:gemini-2.5-flash": 1_048_576,
    "gemini:gemini-3.5-flash": 1_048_576,
    "vertex:gemini-1.5-pro": 1_048_576,
    "gemini:gemini-2.5-flash-image": 32_768,
    "gemini:gemma-3-27b-it": None,
    "xai:grok-4-0709": 256_000,
    "xai:grok-4.3": 1_000_000,
    "cohere:command-a-03-2025": 256_000,
    "cohere:command-a-plus-05-2026": 128_000,
    "cohere:command-r-plus-08-2024": 128_000,
    "deepseek:deepseek-flash": 1_000_000,
    "deepseek:deepseek-chat": 131_072,
    "openrouter:deepseek/deepseek-chat": None,
    "groq:openai/gpt-oss-120b": 131_072,
    "groq:llama-3.3-70b-versatile": 131_072,
    "groq:moonshotai/kimi-k2-instruct-0905": 262_144,
    "together:meta-llama/Llama-3.3-70B-Instruct-Turbo": None,
    "mistral:mistral-large-latest": 128_000,
    "minimax:MiniMax-M2": 200_000,
    "zai:glm-4.6": 200_000,
    "moonshot:kimi-k2.6": 262_144,
    "copilot:gpt-4o": None,
    "cerebras:gpt-oss-120b": None,
    "openai-compatible:gpt-4o": None,
    "vllm:claude-3-opus": None,
    "ollama:llama3.2": 4_096,
    "ollama:gpt-oss:120b-cloud": None,
    "ollama:claude-3": 4_096,
    "local:smollm2-135m": CONTEXT,
    "": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_known_by_its_name(name: str) -> None:
    provider, _, model = name.partition(":")
    assert window_of(provider, model) == NAMES[name]


def test_the_tables_name_providers_that_there_are() -> None:
    assert OF_PROVIDERS.keys() <= PROVIDERS.keys()
    assert PROVIDERS.keys() >= NAMED_BY_PEOPLE
    names = [*MODELS, *(name for known in OF_PROVIDERS.values() for name in known)]
    assert all(name == name.lower() for name in names)


def test_most_providers_defaults_are_known() -> None:
    """They are what people try first."""
    unknown = {
        provider.name
        for provider in PROVIDERS.values()
        if provider.default_model and window_of(provider.name, provider.default_model) is None
    }
    assert unknown == {"copilot", "cerebras", "perplexity", "writer"}
