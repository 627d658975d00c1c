"""Why a server could not be asked: at which step the way to it ends, which models it has instead, and what to do."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import msgspec

from ..agent.asking import SPENT_CODES
from ..errors import (
    AuthenticationFailed,
    ConfigError,
    IncompleteStream,
    ModelNotFound,
    ProtocolError,
    ProviderError,
    RateLimited,
    TimedOut,
    ToolwireError,
    TransportError,
)
from ..limits import MIB, Limits
from ..providers.endpoint import Endpoint, joined, key_variable
from ..refusals import shown_url
from ..transport import AiohttpTransport, HttpRequest, Timeouts
from .discover import is_loopback

Step = Literal["name", "port", "security", "proxy", "answer"]
"""Where the way ends: its name is unknown, nothing listens, TLS fails, a proxy stands between, or later than that."""

SECONDS = 5.0
"""For each step, and for a list of models: the person has waited for the request itself already."""
LISTED = 4 * MIB
NEAR = 3


async def where_it_ends(url: str) -> Step:
    """Goes the way to a server step by step, without sending anything."""
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    proxied = getproxies_environment().get(parts.scheme)
    if proxied and not is_loopback(url) and not proxy_bypass(f"{host}:{port}"):
        return "proxy"
    try:
        async with asyncio.timeout(SECONDS):
            await asyncio.get_running_loop().getaddrinfo(host, port)
    except (OSError, UnicodeError):
        return "name"
    for step, context in (("port", None), ("security", ssl.create_default_context() if secure else None)):
        try:
            async with asyncio.timeout(SECONDS):
                _, writer = await asyncio.open_connection(host, port, ssl=context)
                writer.transport.abort()
        except (OSError, ValueError):
            return "port" if step == "port" else "security"
        if not secure:
            break
    return "answer"


async def list_models(endpoint: Endpoint) -> list[str]:
    """The models that a service says it has; asks no model and costs nothing. Raises a `ToolwireError`."""
    path = _listing_path(endpoint)
    if not path:
        raise ConfigError(f"{endpoint.provider.title} has no list of models that can be asked for here")
    headers = {**endpoint.headers, "Accept": "application/json"}
    url = joined(endpoint.base_url, path)
    request = HttpRequest(url=url, headers=headers, body=b"", method="GET", provider=endpoint.provider.name)
    timeouts = Timeouts(connect=SECONDS, idle=SECONDS, total=2 * SECONDS)
    async with AiohttpTransport(timeouts=timeouts, limits=Limits(stream=LISTED)) as transport:
        data = b"".join([data async for data in transport.stream(request)])
    try:
        listed: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        listed = None
    entries = (listed.get("data") or listed.get("models")) if isinstance(listed, dict) else listed
    if not isinstance(entries, list):
        raise ProtocolError(f"what {shown_url(url)} gives is no list of models")
    names = [entry.get("id") or entry.get("name") for entry in entries if isinstance(entry, dict)]
    return [name.removeprefix("models/") for name in names if isinstance(name, str) and 0 < len(name) <= 200]


def _listing_path(endpoint: Endpoint) -> str:
    """Where a service lists its models, as far as that is the same for many; empty where it is not."""
    provider = endpoint.provider
    if provider.blanks or provider.credentials or endpoint.auth.query or provider.path.startswith("/publishers"):
        return ""
    version = provider.asks_in in ("ollama", "cohere") or provider.path.startswith("/v1/")
    return "/v1/models" if version else "/models"


async def near_models(endpoint: Endpoint) -> list[str]:
    """Models of the service whose names are like the one that it does not have; none where it cannot be asked."""
    try:
        names = await list_models(endpoint)
    except ToolwireError:
        return []
    wanted = endpoint.model.lower()
    by_small = {name.lower(): name for name in names if name.isprintable()}
    found = [by_small[small] for small in get_close_matches(wanted, by_small, NEAR, 0.6)]
    found += [name for small, name in by_small.items() if wanted in small or small in wanted]
    return list(dict.fromkeys(found))[:NEAR]


async def what_to_do(error: ToolwireError, endpoint: Endpoint, env: Mapping[str, str]) -> str:
    """One sentence for the person who has this error in front of them."""
    variable = key_variable(endpoint.provider, env)
    code, status = str(error.facts.get("code", "")).lower(), error.facts.get("status")
    if code in SPENT_CODES or status == 402:
        return f"Add credit to the account at {endpoint.provider.title}, or raise its limit."
    if isinstance(error, AuthenticationFailed):
        return _about_the_key(endpoint, variable, status)
    if isinstance(error, ModelNotFound):
        near = await near_models(endpoint)
        if near:
            return f"It has: {', '.join(f'{endpoint.provider.name}:{name}' for name in near)}."
        return "Check the model's name, and that the key may use it."
    if isinstance(error, RateLimited):
        wait = error.facts.get("retry_after")
        return f"Try again in {wait:g} s." if wait else "Try again in a minute; if it stays so, look at the quota."
    if isinstance(error, TimedOut) and error.facts.get("which") != "connect":
        loads = (
            "A server on this machine may still be loading the model: wait"
            if is_loopback(endpoint.base_url)
            else ("Try again")
        )
        return f"{loads}, or give it more time: --timeout 120"
    if isinstance(error, TransportError):
        return _about_the_way(await where_it_ends(endpoint.url), endpoint)
    if isinstance(error, (ProtocolError, IncompleteStream)):
        return (
            f"What answers at {shown_url(endpoint.base_url)} does not speak {endpoint.provider.wire}: "
            f"check the address{_where_set(endpoint)}."
        )
    if error.facts.get("refused") == "tools":
        return "It takes no tools; let the model call in text: --stream-parser xml"
    if isinstance(error, ProviderError) and status == 404:
        return f"Check the address {shown_url(endpoint.base_url)}{_where_set(endpoint)}."
    return error.hint or "Try again later; the provider's status page may say more."


def _about_the_key(endpoint: Endpoint, variable: str, status: object) -> str:
    if not variable:
        names = " or ".join(endpoint.provider.keys)
        return f"Set {names}." if names else "It wants a key: ask whoever runs it."
    if status == 403:
        return f"The key in {variable} is known, but may not do this: look at its rights at {endpoint.provider.title}."
    return f"Make a new key at {endpoint.provider.title} and put it into {variable}; without quotation marks."


def _about_the_way(step: Step, endpoint: Endpoint) -> str:
    parts = urlsplit(endpoint.base_url)
    host, where = parts.hostname or "", _where_set(endpoint)
    if step == "name":
        return f"The name {host} is not known here: check the address{where}, and that this machine is online (DNS)."
    if step == "port" and is_loopback(endpoint.base_url):
        return f"Nothing listens there: start the server, or check the address{where}."
    if step == "port":
        return f"{host} lets nobody in: check the network, a firewall, and HTTPS_PROXY if you are behind a proxy."
    if step == "security":
        return (
            f"The certificate of {host} is not trusted: check this machine's clock; where a company's proxy or a "
            "server of your own has its own certificate, name its CA file in SSL_CERT_FILE."
        )
    if step == "proxy":
        return "A proxy stands between: check HTTPS_PROXY and NO_PROXY, and that it may reach this host."
    return "The server can be reached now: try again; its log may say what happened."


def _where_set(endpoint: Endpoint) -> str:
    """Which variable the address may come from."""
    variables = endpoint.provider.base_url_variables
    return f" ({' or '.join(variables)})" if variables else ""
