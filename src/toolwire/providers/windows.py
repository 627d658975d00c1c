"""How much a model can read, by its name, as far as that is known.

A number here is what makes an agent shorten a conversation in time. One that is too small takes from the model what it
could still have read; one that is too large costs a request that is refused, after which the agent knows better. So the
tables hold what the services themselves document, of a family whose versions differ the smallest, and nothing that had
to be guessed: without a number a conversation is shortened when the provider refuses it.

The number is what may be sent, where a service bounds that by itself: GPT-5 has 400,000 tokens for both sides, of which
it reads 272,000.
"""

from __future__ import annotations

from collections.abc import Mapping

_K128 = 131_072
_M = 1_000_000

MODELS: Mapping[str, int] = {
    "claude-3": 200_000,
    "claude-haiku-4": 200_000,
    "claude-opus-4": 200_000,
    "claude-sonnet-4": 200_000,
    **dict.fromkeys(("claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-4-6"), _M),
    **dict.fromkeys(("claude-opus-5", "claude-sonnet-5", "claude-fable-5", "claude-mythos-5"), _M),
    "gpt-3.5-turbo": 16_385,
    "gpt-4-turbo": 128_000,
    "gpt-4o": 128_000,
    "chatgpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 272_000,
    **dict.fromkeys(("gpt-5-chat", "gpt-5.1-chat", "gpt-5.2-chat", "gpt-5.3-chat"), 128_000),
    **dict.fromkeys(("gpt-5.4", "gpt-5.5"), 922_000),
    **dict.fromkeys(("gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.5-mini", "gpt-5.5-nano"), 272_000),
    **dict.fromkeys(("o1", "o3", "o4-mini"), 200_000),
    **dict.fromkeys(("o1-mini", "o1-preview"), 128_000),
    **dict.fromkeys(("gemini-1.5", "gemini-2.0", "gemini-2.5", "gemini-3"), 1_048_576),
    **dict.fromkeys(("gemini-2.5-flash-image", "gemini-3-pro-image"), 32_768),
    "grok-3": _K128,
    "grok-4": 256_000,
    "grok-4.3": _M,
    "grok-4.5": 500_000,
    "command-a": 128_000,
    "command-a-03-2025": 256_000,
    "command-r": 128_000,
    "nova-micro": 128_000,
    **dict.fromkeys(("nova-lite", "nova-pro"), 300_000),
    "nova-premier": _M,
}
"""By the beginnings of names, the longest counting: models that are the same wherever they are offered."""

OF_PROVIDERS: Mapping[str, Mapping[str, int]] = {
    "deepseek": {"deepseek-flash": _M, "deepseek-v4": _M, "deepseek-chat": _K128, "deepseek-reasoner": _K128},
    "mistral": dict.fromkeys(("mistral-large", "mistral-medium", "mistral-small", "magistral-medium"), 128_000),
    "groq": {**dict.fromkeys(("llama-3.1", "llama-3.3", "gpt-oss"), _K128), "kimi-k2-instruct-0905": 262_144},
    "moonshot": {"kimi-k2": _K128, "kimi-k2.5": 262_144, "kimi-k2.6": 262_144},
    "zai": {"glm-4.5": 128_000, "glm-4.6": 200_000, "glm-4.7": 200_000},
    "minimax": {"minimax-m2": 200_000},
    "alibaba": {"qwen-plus": _K128},
    "bedrock": dict.fromkeys(("llama3-1", "llama3-2", "llama3-3", "mistral-large-2407"), 128_000),
    "ollama": {"": 4_096},
    "local": {"": 4_096},
}
"""Open models, by who offers them, since everyone gives them as much room as they like; and those that run here.

Ollama gives 4,096 tokens on most machines, whatever the model could read, and of a longer conversation it drops the
beginning without a word. So that is taken to hold: to be told of what is left out is better than not to be. Who has set
more (`OLLAMA_CONTEXT_LENGTH`, `num_ctx`) says so (`context_tokens`). The embedded model is started with as much.
"""

NAMED_BY_PEOPLE = frozenset({"copilot", "cerebras", "lmstudio", "vllm", "llama.cpp", "openai-compatible", "databricks"})
"""Providers where a name says little: anyone may give it to any model, or the service has less room than its maker."""

_MAKERS = ("anthropic.", "amazon.", "cohere.", "meta.", "mistral.")


def window_of(provider: str, model: str) -> int | None:
    """How many tokens this model of this provider can read; None where that is not known."""
    name = _plain(model)
    if provider == "ollama" and name.endswith("cloud"):
        return None  # not on this machine, and with all the room that the model has
    known: dict[str, int] = dict(OF_PROVIDERS.get(provider, {}))
    if provider not in NAMED_BY_PEOPLE and provider not in ("ollama", "local"):
        known |= MODELS
    fitting = [start for start in known if name.startswith(start)]
    return known[max(fitting, key=len)] if fitting else None


def _plain(model: str) -> str:
    """The name without whose it is and where it runs: `openai/gpt-4o`, `us.anthropic.claude-sonnet-4-5-…`."""
    name = model.lower().rpartition("/")[2]
    for maker in _MAKERS:
        name = name.rpartition(maker)[2]
    return name.replace(".", "-") if name.startswith("claude") else name
