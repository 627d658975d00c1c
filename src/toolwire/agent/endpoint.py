"""What the agent talks to: an `Endpoint` that is ready, whether a service or the embedded model in a child process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from ..embedded.choosing import NATIVE, StreamParser, as_parser
from ..embedded.history import as_text_conversation
from ..embedded.registry import AUTO
from ..errors import ConfigError
from ..messages import Message
from ..providers.catalog import split_model
from ..providers.endpoint import Endpoint, resolve
from ..providers.media import media_rule
from ..redaction import PIECE, Secret
from ..refusals import secrets_of_user
from ..transport import HttpRequest

if TYPE_CHECKING:
    from ..embedded.format import Format
    from ..local.engine import LocalModel
    from ..signing import Signer
    from ..tools.registry import ToolRegistry

PARSER_VARIABLES = ("TOOLWIRE_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER")
"""What says how answers are read, where the caller does not: the first that is set."""


class Connection:
    """Opens an endpoint on first use, makes its requests, and closes what it started."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        context_tokens: int | None = None,
    ) -> None:
        self.options = dict(options or {})
        """What goes to the encoder with every request."""
        self._named = resolve(name, environment(name), base_url=base_url, api_key=api_key)
        if context_tokens is not None and self._named.provider.asks_in == "ollama":
            self.options.setdefault("num_ctx", context_tokens)
        self._endpoint = self._named
        self._local: LocalModel | None = None
        self._signer: Signer | None = _signer(self._named) if self._named.credentials else None
        self._is_tiny = False
        self.notes: list[str] = []
        """What the last request's history lost on its way to this provider, in sentences."""

    @property
    def wire(self) -> str:
        """The wire format that answers come in."""
        return self._endpoint.provider.wire

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._endpoint.provider.name

    @property
    def model(self) -> str:
        """The model's name."""
        return self._endpoint.model

    @property
    def server(self) -> tuple[str, int]:
        """The host and port that requests go to; nothing for the embedded model, whose port is another each time."""
        url = urlsplit(self._named.base_url)
        return url.hostname or "", (url.port or (80 if url.scheme == "http" else 443)) if url.hostname else 0

    @property
    def key(self) -> Secret:
        """The key that requests carry; it goes nowhere else."""
        return self._endpoint.key

    @property
    def secrets(self) -> list[Secret]:
        """The key, and the password in the server's address. One so short that it may be any word is left out."""
        words = (word for word in secrets_of_user(self._named.base_url) if len(word) >= PIECE)
        return [self.key, *map(Secret, words)]

    def parser(self, given: str | StreamParser | None, tools: ToolRegistry) -> StreamParser:
        """How answers of this model are read (see `choose_parser`)."""
        provider = self._named.provider
        return choose_parser(
            given, provider=provider.name, model=self._named.model, tools=tools, native_tools=provider.native_tools
        )

    def text_parser(self, given: str | StreamParser | None, tools: ToolRegistry) -> StreamParser | None:
        """How answers are read if it turns out that there are no native tools; None where the caller has said how."""
        if not self._named.provider.native_tools or given_parser(given)[0] != AUTO:
            return None
        provider = self._named.provider
        return as_parser(AUTO, provider=provider.name, model=self._named.model, tools=tools, native_tools=False)

    async def open(self) -> None:
        """Starts the embedded model, or finds the credentials, if that is what is needed. Safe to call again."""
        endpoint = self._endpoint
        if self._signer is not None:
            await self._signer.prepare()
        if endpoint.provider.name != "local" or endpoint.base_url:
            return
        from ..local.engine import LocalModel

        weights = None if endpoint.model == endpoint.provider.default_model else Path(endpoint.model)
        model = LocalModel(weights)
        await model.start()
        self._local = model
        self._is_tiny = model.needs_shaping
        self._endpoint = msgspec.structs.replace(endpoint, model=model.model, base_url=model.base_url, key=model.key)

    def request(
        self,
        *,
        messages: Iterable[Message],
        tools: Iterable[Any] = (),
        parser: StreamParser = NATIVE,
        tool_choice: str = "auto",
        options: Mapping[str, Any] | None = None,
    ) -> HttpRequest:
        """The HTTP request for a conversation. Its URL or headers hold the key.

        Where calls are read in text alone, no tools are offered: the model is told of them in words. `options` go
        before those of every request.
        """
        endpoint = self._endpoint
        messages, self.notes = list(messages), []
        encode = partial(self._endpoint.encode, notes=self.notes, **{**self.options, **(options or {})})
        body = self._body(encode, messages, tools, None if parser.native else parser.format, tool_choice)
        request = HttpRequest(
            url=endpoint.keyed_url,
            headers=endpoint.headers_for(messages),
            body=msgspec.json.encode(body),
            provider=endpoint.provider.name,
            model=endpoint.model,
        )
        return request if self._signer is None else self._signer.sign(request)

    def _body(
        self,
        encode: Callable[..., dict[str, Any]],
        messages: list[Message],
        tools: Iterable[Any],
        told_in: Format | None,
        tool_choice: str,
    ) -> dict[str, Any]:
        """The request body, with the tools offered or, where there is a format to tell them in, described."""
        if self._is_tiny:
            from ..local.shaping import shape_request

            return shape_request(encode(messages=messages, tools=tools, tool_choice=tool_choice), told_in)
        if told_in is None:
            return encode(messages=messages, tools=tools, tool_choice=tool_choice)
        provider = self._endpoint.provider
        rule = media_rule(provider.asks_in, provider.name)
        return encode(
            messages=as_text_conversation(messages, tools, told_in, tool_choice=tool_choice, takes=rule.takes)
        )

    async def close(self) -> None:
        """Ends the child process, if one was started."""
        if self._local is not None:
            await self._local.stop()
            self._local = None
            self._endpoint = self._named


def choose_parser(
    given: str | StreamParser | None,
    *,
    provider: str,
    model: str,
    tools: ToolRegistry | Iterable[str],
    native_tools: bool,
) -> StreamParser:
    """How answers are read: as the caller says, else as the environment says (`PARSER_VARIABLES`), else `auto`.

    A value that there is not is a `ConfigError` that lists those there are, and names the variable it came from.
    """
    value, variable = given_parser(given)
    try:
        return as_parser(value, provider=provider, model=model, tools=tools, native_tools=native_tools)
    except ConfigError as error:
        if not variable:
            raise
        raise ConfigError(f"{variable}: {error.message}", hint=error.hint, variable=variable) from None


def given_parser(given: str | StreamParser | None) -> tuple[str | StreamParser, str]:
    """How answers are to be read, and the variable that says so, if it is one."""
    if given is not None:
        return given.strip().lower() if isinstance(given, str) else given, ""
    variable = next((name for name in PARSER_VARIABLES if os.environ.get(name, "").strip()), "")
    return (os.environ[variable].strip().lower() if variable else AUTO), variable


def environment(name: str) -> Mapping[str, str]:
    """The environment, with the region of AWS's own configuration where none is set."""
    provider, _ = split_model(name)
    if provider.credentials == "aws" and not (os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")):
        from ..signing import aws_region

        return {**os.environ, "AWS_REGION": aws_region()}
    return os.environ


def _signer(endpoint: Endpoint) -> Signer:
    from ..signing import AwsSigner, GoogleSigner

    if endpoint.credentials == "google":
        return GoogleSigner(endpoint.provider.name)
    return AwsSigner(endpoint.region, endpoint.provider.name)
