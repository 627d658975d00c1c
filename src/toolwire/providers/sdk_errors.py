"""What an SDK raises while its stream is read → one of our errors. No SDK is imported: errors are known by what they
carry (a status, a body) and by the names of their classes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import (
    AuthenticationFailed,
    ConfigError,
    IncompleteStream,
    ProviderError,
    RateLimited,
    TimedOut,
    ToolwireError,
    TransportError,
)
from .decoder import error_type, shown

_NETWORK = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "aiohttp", "requests", "urllib3"})
"""The HTTP clients under the SDKs: what they raise is the network's fault."""

_CONNECTION = frozenset({"APIConnectionError", "HTTPClientError"})
"""What SDKs call the same in their own words: openai and anthropic, botocore."""

_LONGEST = 1000


def sdk_error(raised: Exception, wire: str | None = None) -> ToolwireError:
    """The error that stands for an exception of an SDK, which is its `__cause__`; unless that shows the key."""
    if _shows_header(raised):
        return ConfigError(
            f"the SDK cannot send a header ({type(raised).__name__})",
            hint="A key that was read from a file may end with a line break: strip it.",
            provider=wire,
        )
    error = _translated(raised, wire)
    if error is not raised:
        error.__cause__ = raised
    return error


def _shows_header(raised: Exception) -> bool:
    """Whether this is an HTTP client's refusal of a header, which repeats what stands in it: the key, most often."""
    if isinstance(raised, ToolwireError) or _status(raised) is not None or _said(raised):
        return False
    return isinstance(raised, UnicodeEncodeError) or "header value" in str(raised)[:_LONGEST].lower()


def _translated(raised: Exception, wire: str | None) -> ToolwireError:
    if isinstance(raised, ToolwireError):
        return raised
    status, said = _status(raised), _said(raised)
    if status is not None or said:
        return _provider_error(raised, status, said, wire)
    names = [base.__name__ for base in type(raised).__mro__]
    words = str(raised).partition("?")[0]  # some clients show the URL, and some keys are in its query
    what = f"{type(raised).__name__}: {words[:_LONGEST]}".rstrip(": ")
    if any("Timeout" in name for name in names):
        return TimedOut(f"nothing came in time ({what})", hint="Nothing of this answer was run. Try again.")
    homes = {base.__module__.partition(".")[0] for base in type(raised).__mro__}
    if isinstance(raised, OSError) or _CONNECTION.intersection(names) or _NETWORK & homes:
        return TransportError(f"the connection broke ({what})", hint="Nothing of this answer was run. Try again.")
    return IncompleteStream(f"the SDK broke off the stream ({what})", provider=wire)


def _provider_error(raised: Exception, status: int | None, said: dict[str, Any], wire: str | None) -> ProviderError:
    """The provider's words, but not where it refuses a key: providers repeat that, half starred or not."""
    code, kind = said.get("code") or said.get("Code"), said.get("type") or said.get("status")
    words = said.get("message") or said.get("Message") or said.get("detail") or said or str(raised)
    named = error_type(code, kind)
    if status == 429:
        named = RateLimited
    elif status in (401, 403):
        named = AuthenticationFailed
    told = "" if named is AuthenticationFailed else f": {shown(words)[:_LONGEST]}"
    number = "" if status is None else f" ({status})"
    return named(
        f"the provider reported an error{number}{told}",
        hint="Nothing of this answer was run. "
        + ("Check the key." if named is AuthenticationFailed else "If the provider is overloaded, try again later."),
        provider=wire,
        status=status,
        code=next((word for word in (code, kind) if isinstance(word, (str, int)) and word != ""), None),
    )


def _status(raised: Exception) -> int | None:
    """The HTTP status of a refusal. An error in the middle of an answer has the status that the answer began with."""
    for name in ("status_code", "code"):
        value = getattr(raised, name, None)
        if type(value) is int and 400 <= value < 600:
            return value
    return None


def _said(raised: Exception) -> dict[str, Any]:
    """The error object of the provider, wherever the SDK keeps it."""
    response = getattr(raised, "response", None)
    for held in (getattr(raised, "body", None), getattr(raised, "details", None), response):
        if isinstance(held, (str, bytes)) and held[:1] in ("{", b"{"):
            try:
                held = msgspec.json.decode(held)
            except (msgspec.MsgspecError, RecursionError):
                continue
        if isinstance(held, dict) and held:
            inner = held.get("error") or held.get("Error")
            return inner if isinstance(inner, dict) else {"message": inner} if isinstance(inner, str) else held
    told = getattr(raised, "error", None)  # ollama
    return {"message": told} if isinstance(told, str) and told else {}
