"""Providers as data. A row says where a service is, which wire it speaks, which key it wants and how it departs.

`"provider:model"` names a model everywhere; `resolve` turns it into an `Endpoint`. Pure: the environment is handed in.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import msgspec

from ..errors import AuthenticationFailed, ConfigError
from .dialects import DEEPSEEK, MISTRAL, OPENAI, OPENROUTER, ChatDialect
from .openai_chat_request import WIRE as CHAT
from .wires import wire_format


class Auth(msgspec.Struct, frozen=True):
    """How a key is sent: in which header, and after which word."""

    header: str
    scheme: str = ""

    def value(self, key: str) -> str:
        """The header's value."""
        return f"{self.scheme} {key}" if self.scheme else key


BEARER = Auth("Authorization", "Bearer")


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One service."""

    name: str
    title: str
    base_url: str = ""
    """Empty: the person must give one."""
    key_variable: str = ""
    """The environment variable with the key; empty where none is needed."""
    base_url_variable: str = ""
    """An environment variable that overrides the base URL."""
    wire: str = "openai-chat"
    auth: Auth = BEARER
    headers: dict[str, str] = {}
    """What goes with every request besides the key."""
    dialect: ChatDialect = ChatDialect()
    """How its chat completions depart from OpenAI's; other wires have none."""
    default_model: str = ""
    is_local: bool = False
    """Runs on this machine: no key, found by looking at its port."""


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="openai",
            title="OpenAI",
            base_url="https://api.openai.com/v1",
            base_url_variable="OPENAI_BASE_URL",
            key_variable="OPENAI_API_KEY",
            dialect=OPENAI,
            default_model="gpt-4.1-mini",
        ),
        Provider(
            name="openai-responses",
            title="OpenAI, Responses API",
            base_url="https://api.openai.com/v1",
            base_url_variable="OPENAI_BASE_URL",
            key_variable="OPENAI_API_KEY",
            wire="openai-responses",
            default_model="gpt-4.1-mini",
        ),
        Provider(
            name="anthropic",
            title="Anthropic",
            base_url="https://api.anthropic.com/v1",
            base_url_variable="ANTHROPIC_BASE_URL",
            key_variable="ANTHROPIC_API_KEY",
            wire="anthropic",
            auth=Auth("x-api-key"),
            headers={"anthropic-version": "2023-06-01"},
            default_model="claude-sonnet-4-5",
        ),
        Provider(
            name="gemini",
            title="Google Gemini",
            base_url="https://generativelanguage.googleapis.com/v1beta",
            key_variable="GEMINI_API_KEY",
            wire="gemini",
            auth=Auth("x-goog-api-key"),
            default_model="gemini-2.5-flash",
        ),
        Provider(
            name="openrouter",
            title="OpenRouter",
            base_url="https://openrouter.ai/api/v1",
            key_variable="OPENROUTER_API_KEY",
            dialect=OPENROUTER,
            default_model="openai/gpt-4.1-mini",
        ),
        Provider(
            name="deepseek",
            title="DeepSeek",
            base_url="https://api.deepseek.com",
            key_variable="DEEPSEEK_API_KEY",
            dialect=DEEPSEEK,
            default_model="deepseek-chat",
        ),
        Provider(
            name="groq",
            title="Groq",
            base_url="https://api.groq.com/openai/v1",
            key_variable="GROQ_API_KEY",
            default_model="llama-3.3-70b-versatile",
        ),
        Provider(
            name="mistral",
            title="Mistral",
            base_url="https://api.mistral.ai/v1",
            key_variable="MISTRAL_API_KEY",
            dialect=MISTRAL,
            default_model="mistral-small-latest",
        ),
        Provider(
            name="together",
            title="Together",
            base_url="https://api.together.xyz/v1",
            key_variable="TOGETHER_API_KEY",
        ),
        Provider(
            name="xai",
            title="xAI",
            base_url="https://api.x.ai/v1",
            key_variable="XAI_API_KEY",
            default_model="grok-4-fast",
        ),
        Provider(
            name="ollama",
            title="Ollama",
            base_url="http://127.0.0.1:11434",
            base_url_variable="OLLAMA_BASE_URL",
            wire="ollama",
            is_local=True,
        ),
        Provider(name="lmstudio", title="LM Studio", base_url="http://127.0.0.1:1234/v1", is_local=True),
        Provider(name="vllm", title="vLLM", base_url="http://127.0.0.1:8000/v1", is_local=True),
        Provider(name="llama.cpp", title="llama.cpp server", base_url="http://127.0.0.1:8080/v1", is_local=True),
        Provider(
            name="openai-compatible",
            title="Any OpenAI-compatible server",
            base_url_variable="TOOLWIRE_BASE_URL",
            key_variable="TOOLWIRE_API_KEY",
        ),
        Provider(name="local", title="The embedded model", default_model="smollm2-135m"),
    )
}
"""Every provider of this version, by name."""


class Secret:
    """A key that no repr, log or error shows. `reveal` is called where a request is made, and nowhere else."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('…')"

    def __bool__(self) -> bool:
        return bool(self._value)


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how one model is asked."""

    provider: Provider
    model: str
    base_url: str
    key: Secret

    @property
    def url(self) -> str:
        """Where requests go."""
        path = wire_format(self.provider.wire).path
        return self.base_url.rstrip("/") + path.replace("{model}", quoted(self.model))

    @property
    def headers(self) -> dict[str, str]:
        """What goes with each request; holds the key, so it is made on demand and kept nowhere."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", **self.provider.headers}
        if self.key:
            headers[self.provider.auth.header] = self.provider.auth.value(self.key.reveal())
        return headers

    @property
    def options(self) -> dict[str, Any]:
        """Keywords for the wire's encoder."""
        return {"dialect": self.provider.dialect} if self.provider.wire == CHAT else {}


_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def quoted(model: str) -> str:
    """A model's name as part of a URL: nothing in it can change where the request goes or what it asks for."""
    parts = (chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in model.encode("utf-8", "surrogatepass"))
    return "".join(parts).replace("..", "%2E%2E")


def split_model(name: str) -> tuple[Provider, str]:
    """The provider and the model that `"provider:model"` names; without a model, the provider's default."""
    provider_name, _, model = name.partition(":")
    provider = PROVIDERS.get(provider_name)
    if provider is None:
        near = difflib.get_close_matches(provider_name[:64], PROVIDERS, 3, 0.5)
        known = f"Did you mean {', '.join(near)}?" if near else f"Known: {', '.join(PROVIDERS)}."
        raise ConfigError(
            f"there is no provider {provider_name[:64]!r}",
            hint=f"Models are named provider:model. {known}",
            provider=provider_name[:64],
        )
    model = model or provider.default_model
    if not model:
        raise ConfigError(
            f"which model of {provider.name}?",
            hint=f"Name it: {provider.name}:MODEL.",
            provider=provider.name,
        )
    return provider, model


def resolve(name: str, env: Mapping[str, str], *, base_url: str | None = None, api_key: str | None = None) -> Endpoint:
    """The endpoint that `"provider:model"` names, with what the environment or the caller adds."""
    provider, model = split_model(name)
    url = base_url or (env.get(provider.base_url_variable) if provider.base_url_variable else "") or provider.base_url
    if not url and provider.name != "local":
        raise ConfigError(
            f"{provider.name} has no address of its own",
            hint=f"Give a base URL (--base-url, or {provider.base_url_variable} in the environment).",
            provider=provider.name,
        )
    key = api_key or (env.get(provider.key_variable, "") if provider.key_variable else "")
    needs_key = bool(provider.key_variable) and base_url is None and provider.name != "openai-compatible"
    if needs_key and not key:
        raise AuthenticationFailed(
            f"no key for {provider.title}",
            hint=f"Set {provider.key_variable} in the environment, or pass api_key.",
            provider=provider.name,
        )
    return Endpoint(provider=provider, model=model, base_url=url, key=Secret(key))
