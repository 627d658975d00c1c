"""What this machine could use without being told: keys in the environment, model servers on loopback.

Nothing leaves the machine: servers are looked for on loopback addresses alone, without any key.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..errors import ToolwireError
from ..limits import KIB, Limits
from ..providers.catalog import PROVIDERS, Provider
from ..transport import AiohttpTransport, HttpRequest, Timeouts

WAIT = 0.4
"""Seconds for a server on this machine to answer: a long time for one, a short one for the person."""

ANSWER = 256 * KIB
MODELS_SHOWN = 3


class Found(msgspec.Struct, frozen=True):
    """A model that can be used as it is."""

    model: str
    """As `--model` takes it."""
    why: str
    """How it was found, in a few words."""


def is_allowed(env: Mapping[str, str]) -> bool:
    """Whether to look at all."""
    return env.get("TOOLWIRE_DISCOVER", "1") != "0"


async def find_models(env: Mapping[str, str]) -> list[Found]:
    """Everything usable: models of running servers first, then services whose key is set."""
    found: list[Found] = []
    for provider, models in (await running_servers(env)).items():
        found += [Found(f"{provider}:{model}", "running here") for model in models]
    taken: set[str] = set()
    for row in PROVIDERS.values():
        if row.default_model and row.key_variable not in taken and env.get(row.key_variable):
            taken.add(row.key_variable)
            found.append(Found(f"{row.name}:{row.default_model}", f"{row.key_variable} is set"))
    return found


async def running_servers(env: Mapping[str, str]) -> dict[str, list[str]]:
    """The model servers that answer on this machine, by provider, with some of their models."""
    if not is_allowed(env):
        return {}
    # Before the clock runs: importing it takes longer than the wait.
    import aiohttp  # noqa: F401

    rows = [row for row in PROVIDERS.values() if row.is_local and is_loopback(_base_url(row, env))]
    timeouts = Timeouts(connect=WAIT, idle=WAIT, total=WAIT)
    async with AiohttpTransport(timeouts=timeouts, limits=Limits(stream=ANSWER)) as transport:
        answers = await asyncio.gather(*(_models(transport, _models_url(row, env)) for row in rows))
    return {row.name: models for row, models in zip(rows, answers, strict=True) if models is not None}


def is_loopback(url: str) -> bool:
    """Whether a URL stays on this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _base_url(provider: Provider, env: Mapping[str, str]) -> str:
    return (env.get(provider.base_url_variable) if provider.base_url_variable else "") or provider.base_url


def _models_url(provider: Provider, env: Mapping[str, str]) -> str:
    """Where a server lists its models as OpenAI does; Ollama keeps that beside its own interface."""
    return f"{_base_url(provider, env).rstrip('/')}{'/v1' if provider.wire == 'ollama' else ''}/models"


async def _models(transport: AiohttpTransport, url: str) -> list[str] | None:
    """The first chat models that a server lists; None if there is no such server."""
    request = HttpRequest(url=url, headers={"Accept": "application/json"}, body=b"", method="GET")
    try:
        listed: Any = msgspec.json.decode(b"".join([data async for data in transport.stream(request)]))
    except (ToolwireError, msgspec.DecodeError, RecursionError):
        return None
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return None
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    return [name for name in names if isinstance(name, str) and _is_chat_model(name)][:MODELS_SHOWN]


def _is_chat_model(name: str) -> bool:
    return 0 < len(name) <= 200 and name.isprintable() and name.isascii() and "embed" not in name.lower()
