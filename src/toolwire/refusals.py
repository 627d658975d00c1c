"""An HTTP answer that is no stream becomes one typed error, in the provider's own words and without the key.

Pure, so that a transport of the user's own can raise the same errors: `refusal(request, status, headers,
body)`. Providers repeat what they were sent, keys included, whole or half starred: everything that came from
a header or a query that may hold a secret is masked before it goes into an error; also into one that an answer
holds which had begun well (`hide_secrets`).
"""

from __future__ import annotations

import math
import time
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, unquote_plus, urljoin, urlsplit

import msgspec

from .errors import AuthenticationFailed, ModelNotFound, ProviderError, RateLimited, ToolwireError
from .redaction import STARS, Redactor

if TYPE_CHECKING:
    from .transport import HttpRequest

_WORDS = 1000
_TEXT_WORDS = 300
_SECRET_NAMES = ("auth", "key", "token", "secret", "password", "cookie", "signature", "credential")
_PLAIN_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "anthropic-beta",
        "anthropic-version",
        "content-type",
        "copilot-integration-id",
        "copilot-vision-request",
        "editor-plugin-version",
        "editor-version",
        "http-referer",
        "openai-beta",
        "openai-intent",
        "referer",
        "user-agent",
        "x-amz-date",
        "x-github-api-version",
        "x-initiator",
        "x-title",
    }
)
"""Headers that hold no secret and whose values are words that an error may need ("application/json")."""

_SCHEMES = frozenset({"bearer", "basic", "token"})
_AWS_SIGNATURE = "AWS4-HMAC-SHA256 "
_NO_MODEL_CODES = frozenset({"model_not_found", "model_not_available", "invalid_model"})

_TOO_LONG_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded", "request_too_large"}
)
_TOO_LONG = (
    "maximum context length",  # OpenAI, vLLM, SGLang, DeepSeek, OpenRouter, Mistral, Fireworks
    "context length is only",  # vLLM since 0.16
    "exceeds the context window",  # OpenAI's Responses
    "reduce the length of the messages",  # Groq, Cerebras
    "prompt is too long",  # Anthropic, Fireworks
    "exceed context limit",  # Anthropic, where the room for the answer is counted in
    "exceeds the maximum number of tokens",  # Gemini
    "input is too long",  # Bedrock
    "input tokens exceeded",  # Bedrock
    "too many tokens",  # Cohere
    "prompt too long",  # Ollama
    "exceeds the available context size",  # llama.cpp
    "exceed context window",  # llama-cpp-python
    "greater than the context length",  # LM Studio
    "longer than the models context length",  # Together, SGLang
    "maximum prompt length",  # xAI
    "prompt token count",  # Copilot
    "context window exceeds limit",  # MiniMax
    "exceeded model token limit",  # Moonshot
    "range of input length should be",  # Alibaba
    "maximum allowed input length",  # Poolside
    "tokens + max_new_tokens must be",  # Hugging Face TGI
)
"""What services say where a conversation is longer than the model can read. Quotation marks are left out."""

_REASONING = (
    "invalid signature in thinking block",  # Anthropic, on every platform
    "thinking.signature: field required",  # Anthropic
    "blocks in the latest assistant message cannot be modified",  # Anthropic: "thinking or redacted_thinking …"
    "corrupted thought signature",  # Gemini
    "thought signature is not valid",  # Gemini
    "was provided without its required",  # OpenAI's Responses: a reasoning item without its call, or the other way
    "items are not persisted when store is set to false",  # OpenAI's Responses
)
"""What services say of reasoning that they gave themselves and do not take back. Quotation marks are left out."""

_ENCRYPTED = ("the encrypted content", "could not be verified")
"""Both are in what OpenAI's Responses says of it; what it is about stands between."""

_TOO_LARGE_AT_ONCE = "request too large for"
"""OpenAI and Groq: the request alone is over what may be sent in a minute, so that no pause would help."""

_TOOLS = ("tools", "tool use", "tool calling", "tool calls", "function calling", "function calls", "function call")
_NO_TOOLS = (
    *(f"{verb} {tools}" for tools in _TOOLS for verb in ("not support", "doesnt support", "dont support")),
    *(f"{tools} {verb} not {word}" for tools in _TOOLS for verb in ("is", "are") for word in ("supported", "enabled")),
    "function calling is unsupported",  # Gemini
    "function calling not support",  # Novita
    "that support tool use",  # OpenRouter: "No endpoints found …"
    "unsupported param: tools",  # llama.cpp without templates
    "tools param ",  # llama.cpp: "… requires --jinja flag", "… is not fully supported yet"
    "--tool-call-parser",  # vLLM and SGLang that were started without one
)
"""What a service says that takes no tools, or not for this model."""

_SOME_TOOLS = tuple(
    f"{kind} {what}"
    for kind in ("parallel", "strict", "custom", "built-in", "server", "server-side", "hosted")
    for what in ("tool", "function")
)
"""Where these are among the words, it is not tools as such that are refused."""

_QUOTES = str.maketrans("", "", "`'\"‘’“”*")
_NEITHER = frozenset({401, 403})


class _Said(msgspec.Struct):
    """What a provider says about an error."""

    words: str = ""
    code: str = ""
    type: str = ""
    delay: str = ""


def refusal(request: HttpRequest, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """The error for an answer with this status, these headers and this beginning of a body."""
    headers = {name.lower(): value for name, value in headers.items()}
    said = _read(body, headers)
    words = mask(said.words, request)[:_WORDS]
    code = mask(clean(said.code), request)[:100]
    delay = _retry_after(headers, said.delay)
    refused = what_is_refused(said.words, status=status, codes=(said.code, said.type))
    kind, sentence, hint = _verdict(request, status, headers, said, delay, refused)
    return kind(
        f"{sentence} ({status})" + (f": {words}" if words else ""),
        hint=hint,
        provider=request.provider or None,
        status=status,
        code=code or None,
        retry_after=delay,
        refused=refused,
        model=(request.model or None) if kind is ModelNotFound else None,
    )


def what_is_refused(words: str, *, status: int | None = None, codes: Iterable[str] = ()) -> str | None:
    """What of a request a provider does not take, where something else can be sent instead: `tools`, where the service
    or this model has none, `length`, where the conversation is longer than the model can read, or `reasoning`, where it
    does not take back what it gave itself to go back with an answer.

    By code where there is one; most have words alone. What passes with time (`RateLimited`) is neither, nor is a fault
    in one tool, one call or the choice between tools.
    """
    if status in _NEITHER:
        return None
    words = clean(words).lower().translate(_QUOTES)
    if _TOO_LARGE_AT_ONCE in words:
        return "length"
    if status == 429:
        return None
    if status == 413 or not _TOO_LONG_CODES.isdisjoint(codes) or any(sign in words for sign in _TOO_LONG):
        return "length"
    if any(sign in words for sign in _REASONING) or all(sign in words for sign in _ENCRYPTED):
        return "reasoning"
    if any(sign in words for sign in _NO_TOOLS) and not any(sign in words for sign in _SOME_TOOLS):
        return "tools"
    return None


def clean(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would obey."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def shown_url(url: str) -> str:
    """A URL fit to be shown: without user, password, query and fragment, where keys are."""
    scheme, mark, rest = url.partition("?")[0].partition("#")[0].rpartition("://")
    host, slash, path = rest.partition("/")
    return clean(f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}")


def mask(text: str, request: HttpRequest) -> str:
    """The first 2,000 characters, with stars where they repeat a secret of the request, part of one, or another key."""
    secrets = secrets_of(request)
    text = Redactor(secrets).text(text[: 2 * _WORDS])
    return " ".join(STARS if _is_starred(word, secrets) else word for word in text.split(" "))


def hide_secrets(error: ToolwireError, request: HttpRequest, redactor: Redactor | None = None) -> None:
    """Takes the secrets of a request out of an error that was made of its answer, and what led to it along; those that
    another redactor knows too, since an answer may repeat any part of the conversation.
    """

    def hidden(text: str) -> str:
        masked = mask(text, request)
        return masked if redactor is None else redactor.text(masked)

    error.message = hidden(error.message)
    error.hint = hidden(error.hint)
    error.args = (error.message,)
    error.facts = {name: hidden(value) if isinstance(value, str) else value for name, value in error.facts.items()}
    error.__cause__ = error.__context__ = None


def _is_starred(word: str, secrets: set[str]) -> bool:
    """Is this a secret in the way some providers show it, such as `sk-abc***wxyz`?"""
    bare = word.strip(".,:;!?\"'`()[]{}<>").replace("...", "**").replace("…", "**")
    shown = [part for part in bare.split("*") if part]
    return "**" in bare and shown != [] and any(all(part in secret for part in shown) for secret in secrets)


def secrets_of(request: HttpRequest) -> set[str]:
    """Everything in the headers and the URL of a request that may be a secret, as it is sent and as it is meant."""
    found: set[str] = set()
    for name, value in request.headers.items():
        if name.lower() not in _PLAIN_HEADERS:
            found |= set(_secret_words(value))
    for _, value in _secret_queries(request.url):
        found |= {value, unquote_plus(value)}
    found |= secrets_of_user(request.url)
    return {secret for secret in found if len(secret) >= 4}


def secrets_of_user(url: str) -> set[str]:
    """The password in a URL, or the user where there is none, since that is the key then; and both as they are sent."""
    with suppress(ValueError):
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
        sent = b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
        return {password or user, unquote(password or user), sent} if user or password else set()
    return set()


def _secret_words(value: str) -> list[str]:
    """The words of a header's value that are secret: of AWS's signature only the key's id and the signature, since the
    rest is what an error talks about (a region, the names of headers).
    """
    if not value.startswith(_AWS_SIGNATURE):
        return [word for word in value.split() if word.lower() not in _SCHEMES]
    parts = dict(part.strip().split("=", 1) for part in value.removeprefix(_AWS_SIGNATURE).split(",") if "=" in part)
    return [parts.get("Credential", "").partition("/")[0], parts.get("Signature", "")]


def _secret_queries(url: str) -> list[tuple[str, str]]:
    """The members of a URL's query that may hold a secret, as they are written."""
    query = url.partition("#")[0].partition("?")[2]
    members = (member.partition("=") for member in query.split("&"))
    return [(name, value) for name, _, value in members if value and _may_hold_secret(name)]


def _may_hold_secret(name: str) -> bool:
    return any(part in name.lower() for part in _SECRET_NAMES)


def _verdict(
    request: HttpRequest,
    status: int,
    headers: Mapping[str, str],
    said: _Said,
    delay: float | None,
    refused: str | None,
) -> tuple[type[ProviderError], str, str]:
    """Which error it is, its sentence, and what to do."""
    who = request.provider or shown_url(urljoin(request.url, "/")).rstrip("/")
    lower, model = said.words.lower(), request.model
    about_model = refused is None and ("model" in lower or (model != "" and model.lower() in lower))
    if {said.code, said.type} & _NO_MODEL_CODES or (status == 404 and about_model):
        named = f' "{model}"' if model else ""
        hint = "Check the model's name, and that the key may use it."
        return ModelNotFound, f"{who} has no model{named}", hint
    if status in (401, 403):
        sent = ", ".join(
            [name for name in request.headers if _may_hold_secret(name)]
            + [f"{name}= in the URL" for name, _ in _secret_queries(request.url)]
        )
        hint = f"Check the key for {who}, sent as {sent}." if sent else f"Set a key for {who}: none was sent."
        return AuthenticationFailed, f"{who} refused {'the key' if status == 401 else 'access'}", hint
    if status == 429:
        when = "Wait before trying again" if delay is None else f"Try again in {delay:g} s"
        return RateLimited, f"{who} asks to slow down", f"{when}; if that does not help, check the quota."
    if 200 <= status < 300:
        return ProviderError, f"{who} answered with a web page, not a stream", "Check the base URL."
    if 300 <= status < 400:
        target = _redirect_target(request, headers)
        hint = "It was not followed, since the key would go along: set the base URL to the right address."
        return ProviderError, f"{who} redirects" + (f" to {target}" if target else ""), hint
    if refused == "tools":
        hint = 'If it has no tool calls, let the model call in text: stream_parser="xml" (--stream-parser xml).'
        return ProviderError, f"{who} refused the request", hint
    if refused == "length":
        return ProviderError, f"{who} refused the request", "Shorten the conversation, or take a model that reads more."
    if refused == "reasoning":
        hint = "It does not take its own earlier reasoning back: leave that out, or begin a new conversation."
        return ProviderError, f"{who} refused the request", hint
    if status == 404:
        return ProviderError, f"{who} knows no such address", f"Check the base URL: {shown_url(request.url)}"
    if status == 407:
        return ProviderError, "the proxy refused", "Check the user and the password in the proxy's URL."
    if status >= 500:
        return ProviderError, f"{who} failed", "Try again later." if delay is None else f"Try again in {delay:g} s."
    hint = "Change the request: the same one would be refused again."
    return ProviderError, f"{who} refused the request", hint


def _redirect_target(request: HttpRequest, headers: Mapping[str, str]) -> str:
    with suppress(ValueError, KeyError):
        return mask(shown_url(urljoin(request.url, headers["location"])), request)[:_TEXT_WORDS]
    return ""


def _retry_after(headers: Mapping[str, str], delay: str) -> float | None:
    """Seconds to wait: a number, an HTTP date, OpenAI's `retry-after-ms`, or Gemini's `retryDelay` ("34s")."""
    if (exact := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return exact / 1000
    value = headers.get("retry-after") or delay.removesuffix("s")
    if (seconds := _seconds(value)) is not None:
        return seconds
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, round(parsedate_to_datetime(value).timestamp() - time.time(), 3))
    return None


def _seconds(number: str) -> float | None:
    with suppress(ValueError):
        seconds = float(number)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    return None


def _read(body: bytes, headers: Mapping[str, str]) -> _Said:
    """The provider's own words in the body, whatever shape they have; else the beginning of the text."""
    text = body.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if "html" in headers.get("content-type", "") or text[:64].lower().startswith(("<!doctype html", "<html")):
        return _Said("an HTML page" if text else "")
    said = _Said()
    with suppress(msgspec.DecodeError, RecursionError):
        said = _find(msgspec.json.decode(text), 0)
    said.words = clean(said.words[: 8 * _WORDS]) or clean(text[:_TEXT_WORDS])
    said.code = said.code or headers.get("x-amzn-errortype", "").partition(":")[0]
    return said


def _find(value: Any, depth: int) -> _Said:
    if isinstance(value, str):
        return _Said(value)
    if isinstance(value, list) and depth < 5:
        found = [_find(item, depth + 1) for item in value[:5]] or [_Said()]
        found[0].words = "; ".join(said.words for said in found if said.words)
        return found[0]
    if not isinstance(value, dict) or depth >= 5:
        return _Said()
    keys = ["message", "msg", "detail", "errors"]
    keys.insert(4 if isinstance(value.get("error"), str) else 0, "error")
    inner = (_find(value.get(key), depth + 1) for key in keys)
    said = next((said for said in inner if said.words or said.code or said.delay), _Said())
    if isinstance(where := value.get("loc"), list):
        said.words = f"{'.'.join(map(str, where[:8]))}: {said.words}"
    names = [name for key in ("code", "status", "type") if isinstance(name := value.get(key), str)]
    said.code = said.code or next(filter(None, names), "") or str(value.get("code") or "")
    said.type = said.type or str(value.get("type") or "")
    details = value.get("details")
    if isinstance(details, dict) and isinstance(name := details.get("error_code"), str):
        said.code = name
    if isinstance(details, list):
        delays = (str(item.get("retryDelay") or "") for item in details if isinstance(item, dict))
        said.delay = said.delay or next(filter(None, delays), "")
    return said
