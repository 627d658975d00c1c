"""Which text format a command means: the one that was named, or what is chosen for a provider and a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..embedded.choosing import named_format as meant_format
from ..embedded.registry import choose_format
from ..errors import ConfigError
from ..providers.catalog import find_provider, near_names
from .inputs import as_text

if TYPE_CHECKING:
    from ..embedded.format import Format
    from ..tools.definition import ToolDefinition


def named_format(
    format: str | None, provider: str | None, model: str | None, tools: Sequence[ToolDefinition] | None
) -> Format:
    """What `--format`, `--provider` and `--model` say together; the provider may stand in the model's name.

    A `ConfigError` lists what there is, where a name is none.
    """
    model = "" if model is None else as_text(model)
    before, colon, after = model.partition(":")
    if provider is None and colon and find_provider(before):
        provider, model = before, after
    service = "" if provider is None else _provider_name(as_text(provider))
    if format is not None:
        return known_format(as_text(format), provider=service, model=model)
    return choose_format(provider=service, model=model, tools=[tool.name for tool in tools or ()])


def known_format(name: str, *, provider: str = "", model: str = "") -> Format:
    """The format of this name, or one of its others, in any case."""
    return meant_format(name.strip().lower(), provider=provider, model=model)


def _provider_name(name: str) -> str:
    found = find_provider(name)
    if found is None:
        near = near_names(name[:64])
        hint = f"Did you mean {', '.join(near)}?" if near else "All of them: toolwire providers"
        raise ConfigError(f"there is no provider {name[:64]!r}", hint=hint)
    return found.name
