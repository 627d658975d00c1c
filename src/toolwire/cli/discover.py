"""What this machine could use without being told: keys, credentials of a cloud's own tools, model servers on loopback.

Nothing leaves the machine: servers are looked for on loopback addresses alone, without any key.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..errors import ToolwireError
from ..limits import KIB, Limits
from ..providers.catalog import PROVIDERS
from ..providers.endpoint import base_url_of, key_variable, missing
from ..providers.provider import Provider
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
        why = "" if missing(row, env) else key_words(row, env)
        if row.default_model and why and why not in taken:
            taken.add(why)
            found.append(Found(f"{row.name}:{row.default_model}", why))
    return found


def key_words(provider: Provider, env: Mapping[str, str]) -> str:
    """What a provider would be asked with: `GROQ_API_KEY is set`, `AWS credentials`; empty where there is nothing."""
    if variable := key_variable(provider, env):
        return f"{variable} is set"
    return credentials_words(provider.credentials, env) if provider.credentials else ""


def credentials_words(whose: str, env: Mapping[str, str]) -> str:
    """Whether a cloud's own tools left credentials here. A look at names alone: nothing is read, run or asked."""
    package, variables, file = _CREDENTIALS[whose]
    home = Path(env.get("HOME") or "/nonexistent")
    if any(env.get(variable) for variable in variables) or (home / file).exists():
        return f"{OWNERS[whose]} credentials" if _is_installed(package) else ""
    return ""


OWNERS = {"aws": "AWS", "google": "Google"}
_CREDENTIALS = {
    "aws": (
        "botocore",
        ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
        ".aws/credentials",
    ),
    "google": (
        "google.auth",
        ("GOOGLE_APPLICATION_CREDENTIALS",),
        ".config/gcloud/application_default_credentials.json",
    ),
}
"""The package that finds them, the variables and the file that say that there are some."""


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


async def running_servers(env: Mapping[str, str]) -> dict[str, list[str]]:
    """The model servers that answer on this machine, by provider, with some of their models."""
    if not is_allowed(env):
        return {}
    # Before the clock runs: importing it takes longer than the wait.
    import aiohttp  # noqa: F401

    rows = [row for row in PROVIDERS.values() if row.is_local and is_loopback(base_url_of(row, env))]
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


def _models_url(provider: Provider, env: Mapping[str, str]) -> str:
    """Where a server lists its models as OpenAI does; Ollama keeps that beside its own interface."""
    return f"{base_url_of(provider, env).rstrip('/')}{'/v1' if provider.wire == 'ollama' else ''}/models"


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
