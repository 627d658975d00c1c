"""Which text formats there are, and which one a model is told: by tool, by model, by provider.

Everything here is open to registration:

    register_format(my_format)                          # a new syntax
    prefer_format("xml", provider="my-service")         # what a provider's models write best
    prefer_format("sentinel", model="tiny-*")           # or a model, by a pattern of its name
    prefer_format("xml", tool="draw_svg")               # or a tool, whatever the model
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib import import_module

from ..errors import ConfigError
from ..tools.registry import ToolRegistry
from .format import Format

_BUILT_IN = {
    "xml": ("xml", "XML"),
    "json": ("json_envelopes", "JSON"),
    "json-openai": ("json_envelopes", "JSON_OPENAI"),
    "json-gemini": ("json_envelopes", "JSON_GEMINI"),
    "sentinel": ("sentinel", "SENTINEL"),
}
"""Where each is: its module in `formats/`, imported when the format is first asked for, and the name in it."""

_formats: dict[str, Format] = {}
_by_provider: dict[str, str] = {"anthropic": "xml", "bedrock-anthropic": "xml", "vertex-anthropic": "xml"}
_by_model: dict[str, str] = {"*claude*": "xml"}
_by_tool: dict[str, str] = {}
_json_envelopes: dict[str, str] = {
    "openai": "json-openai",
    "openai-responses": "json-openai",
    "azure": "json-openai",
    "azure-responses": "json-openai",
    "gemini": "json-gemini",
    "vertex": "json-gemini",
    "vertex-express": "json-gemini",
}
"""The envelope that `json` means, by provider; the default one for all others."""

DEFAULT = "json"
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
"""What the names of formats are made of: people write them in any case, and `+` joins them."""


def format_names() -> list[str]:
    """All names, those built in first."""
    return list(dict.fromkeys([*_BUILT_IN, *_formats]))


def text_format(name: str, *, provider: str = "") -> Format:
    """The format of this name. `json` is the envelope that the provider's models know; without a provider it reads
    every envelope and teaches the default one.
    """
    if name == "json" and provider:
        name = _json_envelopes.get(provider, name)
    if name not in _formats:
        if name not in _BUILT_IN:
            raise ConfigError(f"there is no text format {name[:80]!r}", hint=f"Known: {', '.join(format_names())}.")
        module, variable = _BUILT_IN[name]
        _formats[name] = getattr(import_module(f".formats.{module}", __package__), variable)
    return _formats[name]


def register_format(format_: Format) -> None:
    """From now on there is this format, also under a name that there was before."""
    if not format_.name or not _NAME.issuperset(format_.name):
        raise ConfigError(
            f"{format_.name[:80]!r} is no name for a text format", hint="Use small letters, digits and hyphens."
        )
    _formats[format_.name] = format_


def prefer_format(name: str, *, provider: str = "", model: str = "", tool: str = "") -> None:
    """From now on this format is chosen for the provider, the model (a pattern such as `qwen*`) or the tool named."""
    text_format(name)
    if sum(map(bool, (provider, model, tool))) != 1:
        raise ConfigError("a format is preferred for one thing", hint="Give one of provider, model and tool.")
    if provider:
        _by_provider[provider] = name
    elif model:
        _by_model[model.lower()] = name
    else:
        _by_tool[tool] = name


def choose_format(*, provider: str = "", model: str = "", tools: ToolRegistry | Iterable[str] = ()) -> Format:
    """The format for an answer: that of a tool if one has its own, else the model's, else the provider's, else `json`.

    Two tools that want different formats cannot be offered in one answer: a `ConfigError` says so.
    """
    names = tools.names if isinstance(tools, ToolRegistry) else list(tools)
    wanted = {_by_tool[tool]: tool for tool in names if tool in _by_tool}
    if len(wanted) > 1:
        clash = " and ".join(f"{tool} wants {name}" for name, tool in wanted.items())
        raise ConfigError(f"{clash}: an answer has one format", hint="Give a format, or offer them apart.")
    for name in wanted:
        return text_format(name, provider=provider)
    written = model.lower()
    # The longest pattern is the most exact.
    for pattern in sorted(_by_model, key=len, reverse=True):
        if fnmatchcase(written, pattern):
            return text_format(_by_model[pattern], provider=provider)
    return text_format(_by_provider.get(provider, DEFAULT), provider=provider)
