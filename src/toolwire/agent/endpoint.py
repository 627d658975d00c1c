"""What the agent talks to: an `Endpoint` that is ready, whether a service or the embedded model in a child process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..providers.catalog import Endpoint, Secret, resolve
from ..providers.wires import wire_format
from ..transport import HttpRequest

if TYPE_CHECKING:
    from ..local.engine import LocalModel


class Connection:
    """Opens an endpoint on first use, makes its requests, and closes what it started."""

    def __init__(self, name: str, *, base_url: str | None = None, api_key: str | None = None) -> None:
        self._named = resolve(name, os.environ, base_url=base_url, api_key=api_key)
        self._endpoint = self._named
        self._local: LocalModel | None = None
        self._shape: Callable[[dict[str, Any]], dict[str, Any]] = lambda body: body

    @property
    def wire(self) -> str:
        """The wire format that answers come in."""
        return self._endpoint.provider.wire

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._endpoint.provider.name

    async def open(self) -> None:
        """Starts the embedded model if that is what this is; nothing otherwise. Safe to call again."""
        endpoint = self._endpoint
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
        self._endpoint = Endpoint(
            provider=endpoint.provider, model=model.model, base_url=model.base_url, key=Secret("")
        )

    def request(self, **conversation: Any) -> HttpRequest:
        """The HTTP request for a conversation (`messages`, `tools`, `tool_choice`)."""
        endpoint = self._endpoint
        encode = wire_format(self.wire).encode
        body = self._shape(encode(model=endpoint.model, **conversation, **endpoint.options))
        return HttpRequest(
            url=endpoint.url,
            headers=endpoint.headers,
            body=msgspec.json.encode(body),
            provider=endpoint.provider.name,
            model=endpoint.model,
        )

    async def close(self) -> None:
        """Ends the child process, if one was started."""
        if self._local is not None:
            await self._local.stop()
            self._local = None
            self._endpoint = self._named
