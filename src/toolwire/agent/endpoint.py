"""What the agent talks to: an `Endpoint` that is ready, whether a service or the embedded model in a child process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..messages import Message
from ..providers.catalog import split_model
from ..providers.endpoint import NO_KEY, Endpoint, resolve
from ..transport import HttpRequest

if TYPE_CHECKING:
    from ..local.engine import LocalModel
    from ..signing import Signer


class Connection:
    """Opens an endpoint on first use, makes its requests, and closes what it started."""

    def __init__(self, name: str, *, base_url: str | None = None, api_key: str | None = None) -> None:
        self._named = resolve(name, environment(name), base_url=base_url, api_key=api_key)
        self._endpoint = self._named
        self._local: LocalModel | None = None
        self._signer: Signer | None = _signer(self._named) if self._named.credentials else None
        self._shape: Callable[[dict[str, Any]], dict[str, Any]] = lambda body: body
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

    async def open(self) -> None:
        """Starts the embedded model, or finds the credentials, if that is what is needed. Safe to call again."""
        endpoint = self._endpoint
        if self._signer is not None:
            await self._signer.prepare()
        if endpoint.provider.name != "local" or endpoint.base_url:
            return
        from ..local.engine import LocalModel
        from ..local.shaping import shape_request

        weights = None if endpoint.model == endpoint.provider.default_model else Path(endpoint.model)
        model = LocalModel(weights)
        await model.start()
        self._local = model
        if model.needs_shaping:
            self._shape = shape_request
        self._endpoint = msgspec.structs.replace(endpoint, model=model.model, base_url=model.base_url, key=NO_KEY)

    def request(self, *, messages: Iterable[Message], **conversation: Any) -> HttpRequest:
        """The HTTP request for a conversation (`messages`, `tools`, `tool_choice`). Its URL or headers hold the key."""
        endpoint = self._endpoint
        messages, self.notes = list(messages), []
        body = self._shape(endpoint.encode(messages=messages, notes=self.notes, **conversation))
        request = HttpRequest(
            url=endpoint.keyed_url,
            headers=endpoint.headers_for(messages),
            body=msgspec.json.encode(body),
            provider=endpoint.provider.name,
            model=endpoint.model,
        )
        return request if self._signer is None else self._signer.sign(request)

    async def close(self) -> None:
        """Ends the child process, if one was started."""
        if self._local is not None:
            await self._local.stop()
            self._local = None
            self._endpoint = self._named


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
