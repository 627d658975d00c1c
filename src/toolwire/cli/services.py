"""The providers of the settings as rows of the catalog: those that are used otherwise here, and the person's own."""

from __future__ import annotations

import msgspec

from ..providers.catalog import PROVIDERS, find_provider, near_names
from ..providers.provider import Provider
from ..settings.loading import Loaded
from ..settings.model import Service
from ..settings.reading import shown

LIKE = "openai-compatible"
"""What a service of the person's own speaks where nothing else is said."""


def use_services(loaded: Loaded) -> None:
    """Puts them into the catalog, so that they are found wherever a provider is named. Once, when a command starts."""
    PROVIDERS.update(services(loaded))


def services(loaded: Loaded) -> dict[str, Provider]:
    """The rows by their names. What does not fit is a `ConfigError` that names file and line."""
    rows: dict[str, Provider] = {}
    for name, service in loaded.settings.providers.items():
        row = find_provider(name)
        made = _own(loaded, name, service) if row is None else _changed(loaded, name, row, service)
        rows[made.name] = made
    return rows


def _changed(loaded: Loaded, name: str, row: Provider, service: Service) -> Provider:
    """A provider of the catalog with what the person says of it. A variable of its own goes before the address."""
    if service.like:
        raise loaded.error(
            shown(("providers", name, "like")),
            f"is for services of your own, and {name} is in the catalog",
            "Leave it out, or give the service another name.",
        )
    if row.name == "local" and (service.base_url or service.key_variable):
        raise loaded.error(
            shown(("providers", name)),
            "has an address or a key, and the embedded model runs on this machine",
            "Give the service another name.",
        )
    return msgspec.structs.replace(
        row,
        base_url=service.base_url or row.base_url,
        default_model=service.model or row.default_model,
        # The usual key must not go where another is meant to.
        keys=(service.key_variable,) if service.key_variable else row.keys,
    )


def _own(loaded: Loaded, name: str, service: Service) -> Provider:
    """A service that the catalog does not know: the wire of one that it does, and nothing of that one's keys."""
    place = shown(("providers", name))
    if not service.base_url:
        near = near_names(name, 0.7)
        hint = "A service of your own needs its address: base_url."
        raise loaded.error(
            place,
            "is no provider that is known, and has no address",
            f"Did you mean {near[0]}? {hint}" if near else hint,
        )
    like = find_provider(service.like or LIKE)
    if like is None or like.name == "local":
        near = near_names(service.like)
        raise loaded.error(
            f"{place}.like",
            "is no provider of the catalog",
            f"Did you mean {near[0]}?" if near else "toolwire providers lists them.",
        )
    return Provider(
        name=name,
        title=name,
        wire=like.wire,
        request_wire=like.request_wire,
        shape=like.shape,
        dialect=like.dialect,
        native_tools=like.native_tools,
        base_url=service.base_url,
        path=like.path,
        blanks=like.blanks,
        keys=(service.key_variable,) if service.key_variable else (),
        auth=like.auth,
        key_needed=bool(service.key_variable),
        headers=like.headers,
        headers_for=like.headers_for,
        default_model=service.model,
    )
