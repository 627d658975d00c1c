"""Where and how one model is asked: a row of the catalog, filled with what the environment or the caller adds.

Pure: the environment is handed in, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import AuthenticationFailed, ConfigError
from ..messages import MediaPart, Message
from ..redaction import NO_SECRET, Secret
from ..tools.function import as_definition
from .catalog import split_model
from .media import STRICTER
from .moving import move_history
from .openai_chat_request import WIRE as CHAT
from .provider import Auth, Blank, Provider
from .wires import wire_format


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how one model is asked."""

    provider: Provider
    model: str
    base_url: str
    """The start of the URL; may hold a user and a password, so that it is not shown."""
    path: str
    """The rest of it, with the model in it where the service wants it there."""
    key: Secret = NO_SECRET
    auth: Auth
    """How the key is sent."""
    region: str = ""
    """Where AWS's signature is for; empty where none is made."""

    def __repr__(self) -> str:
        return f"Endpoint({self.provider.name}:{self.model})"

    def __rich_repr__(self) -> Iterator[str]:  # type: ignore[override]
        yield f"{self.provider.name}:{self.model}"

    @property
    def url(self) -> str:
        """Where requests go, without the key."""
        return joined(self.base_url, self.path)

    @property
    def keyed_url(self) -> str:
        """Where requests go, with the key where it belongs there; made on demand and kept nowhere."""
        url = self.url
        if not (self.key and self.auth.query):
            return url
        return f"{url}{'&' if '?' in url else '?'}{self.auth.query}={quoted(self.key.reveal())}"

    @property
    def headers(self) -> dict[str, str]:
        """What goes with each request; holds the key, so it is made on demand and kept nowhere."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", **self.provider.headers}
        if self.key and self.auth.header:
            headers[self.auth.header] = self.auth.value(self.key.reveal())
        return headers

    def headers_for(self, messages: Sequence[Message]) -> dict[str, str]:
        """The headers for a request with this conversation."""
        more = self.provider.headers_for
        return self.headers if more is None else {**self.headers, **more(messages)}

    @property
    def credentials(self) -> str:
        """Whose credentials of this machine sign the request (`aws`, `google`); none where there is a key."""
        return "" if self.key else self.provider.credentials

    def encode(
        self,
        *,
        messages: Iterable[Message],
        tools: Iterable[Any] = (),
        tool_choice: str = "auto",
        notes: list[str] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """The request body for a conversation, whichever provider it began on. Options go to the wire's encoder.

        Tools are what `@tool`, `ToolDefinition` or a `{"name", "description", "parameters"}` dict gives. `notes` gets a
        sentence for everything that the history lost on its way to this provider.
        """
        return encode_for(
            self.provider,
            model=self.model,
            messages=messages,
            tools=tools,
            tool_choice=tool_choice,
            notes=notes,
            **options,
        )


def encode_for(
    provider: Provider,
    *,
    model: str,
    messages: Iterable[Message],
    tools: Iterable[Any] = (),
    tool_choice: str = "auto",
    notes: list[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """`Endpoint.encode` for a provider that need not be set up: the history moved there, its wire's encoder, its own
    departures.
    """
    offered = [as_definition(tool) for tool in tools]
    if offered and not provider.native_tools:
        raise ConfigError(
            f"{provider.title} has no tool calls",
            hint="Let it call them in text (--stream-parser auto), or ask it without tools (--no-tools).",
            provider=provider.name,
        )
    dialect = provider.dialect if provider.asks_in == CHAT else None
    if dialect is not None:
        options["dialect"] = dialect
    moved = move_history(messages, wire=provider.asks_in, provider=provider.name, dialect=dialect)
    if notes is not None:
        notes += moved.notes
    _check_media(provider, moved.messages)
    body = wire_format(provider.asks_in).encode(
        model=model, messages=moved.messages, tools=offered, tool_choice=tool_choice, **options
    )
    return body if provider.shape is None else provider.shape(body)


def _check_media(provider: Provider, messages: Iterable[Message]) -> None:
    """Raises a `ConfigError` for media in the last question that the service refuses though its wire could carry them.

    Those before it have become mentions.
    """
    rule = STRICTER.get(provider.name)
    if rule is None:
        return
    for message in messages:
        for part in message.parts if message.role == "user" else ():
            if isinstance(part, MediaPart) and not rule.takes(part, "user"):
                raise ConfigError(
                    f"{provider.title} takes no {part.media_type or 'media'} in this way",
                    hint="Give its words as text, or ask a provider that takes it.",
                    provider=provider.name,
                )


_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def quoted(text: str) -> str:
    """A text as one part of a URL: nothing in it can change where the request goes or what it asks for."""
    parts = (chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
    made = "".join(parts)
    return made.replace(".", "%2E") if made in (".", "..") else made


def joined(base_url: str, path: str) -> str:
    """A base URL and the path after it. A version that stands in both, as people write it, stands there once."""
    base_url = base_url.rstrip("/")
    first = "/" + path[1:].partition("/")[0]
    return base_url + (path.removeprefix(first) if base_url.endswith(first) else path)


def resolve(name: str, env: Mapping[str, str], *, base_url: str | None = None, api_key: str | None = None) -> Endpoint:
    """The endpoint that `"provider:model"` names, with what the environment or the caller adds."""
    provider, model = split_model(name)
    if base_url is not None and not base_url.strip():
        # A variable that was not set, say: the key must not go to another server than the one that was meant.
        raise ConfigError(
            "the base URL is empty",
            hint="Write it as http://127.0.0.1:1234/v1, or leave it out for the provider's own address.",
            provider=provider.name,
        )
    url = (base_url or "").strip() or base_url_of(provider, env)
    if not url and provider.name != "local":
        raise ConfigError(
            f"{provider.name} has no address of its own",
            hint=f"Give a base URL (--base-url, or {provider.base_url_variables[0]} in the environment).",
            provider=provider.name,
        )
    path = provider.path or wire_format(provider.wire).path
    variable, key = _key(provider, env)
    if given := (api_key or "").strip():
        variable, key = "", given
    if provider.key_needed and not key and base_url is None and not provider.credentials:
        raise AuthenticationFailed(
            f"no key for {provider.title}",
            hint=f"Set {' or '.join(provider.keys)} in the environment, or pass api_key.",
            provider=provider.name,
        )
    return Endpoint(
        provider=provider,
        model=model,
        base_url=_filled(provider, url, env),
        path=_filled(provider, path, env).replace("{model}", quoted(model)),
        key=Secret(key),
        auth=provider.auth_of.get(variable, provider.auth),
        region=_filled(provider, "{region}", env) if provider.credentials == "aws" and not key else "",
    )


def missing(provider: Provider, env: Mapping[str, str]) -> list[tuple[str, ...]]:
    """What an environment lacks for a provider: each a choice of variables, of which one must be set.

    A key that credentials of the machine may stand in for is not missed.
    """
    base_url = base_url_of(provider, env)
    lacks = [] if base_url or provider.name == "local" else [provider.base_url_variables]
    asked = [blank for name, blank in provider.blanks.items() if f"{{{name}}}" in base_url + provider.path]
    lacks += [blank.variables for blank in asked if not _value(blank, env)]
    if provider.key_needed and not provider.credentials and not key_variable(provider, env):
        lacks.append(provider.keys)
    return lacks


def key_variable(provider: Provider, env: Mapping[str, str]) -> str:
    """The variable that holds the provider's key; empty if none is set."""
    return _key(provider, env)[0]


def base_url_of(provider: Provider, env: Mapping[str, str]) -> str:
    """The base URL as a variable gives it, or else the provider's own, its blanks not yet filled."""
    for variable in provider.base_url_variables:
        if value := env.get(variable, "").strip():
            return value if provider.base_url_form is None else provider.base_url_form(value)
    return provider.base_url


def _key(provider: Provider, env: Mapping[str, str]) -> tuple[str, str]:
    """The first variable with a key, and the key; without the line break that a file may have left at its end."""
    for variable in provider.keys:
        if value := env.get(variable, "").strip():
            return variable, value
    return "", ""


def _value(blank: Blank, env: Mapping[str, str]) -> str:
    values = (env.get(variable, "").strip() for variable in blank.variables)
    return next(filter(None, values), blank.default)


def _filled(provider: Provider, text: str, env: Mapping[str, str]) -> str:
    """A URL of a row with its blanks filled; an error names the variable that is not set."""
    for name, blank in provider.blanks.items():
        mark = f"{{{name}}}"
        if mark not in text:
            continue
        value = _value(blank, env)
        if not value:
            raise ConfigError(
                f"{provider.title} needs {blank.variables[0]}",
                hint=f"Set {' or '.join(blank.variables)} in the environment: it is the {name} in the address.",
                provider=provider.name,
                variable=blank.variables[0],
            )
        text = text.replace(mark, quoted(value) if blank.form is None else blank.form(value))
    return text
