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
from .models import trained_format

_BUILT_IN = {
    "xml": "xml",
    "json": "json_envelopes",
    "json-openai": "json_envelopes",
    "json-gemini": "json_envelopes",
    "sentinel": "sentinel",
    # JSON between marks
    "hermes": "hermes",
    "longcat": "hermes",
    "ernie45": "hermes",
    "llama3-json": "llama3",
    "mistral-v3": "mistral",
    "mistral-v11": "mistral",
    "deepseek-v3": "deepseek_v3",
    "deepseek-v31": "deepseek_v3",
    "kimi-k2": "kimi_k2",
    "harmony": "harmony",
    "granite": "granite",
    "granite-20b-fc": "granite",
    "granite4": "granite",
    "phi4-mini": "phi4_mini",
    "jamba": "jamba",
    "hunyuan-a13b": "hunyuan_a13b",
    "apriel": "hunyuan_a13b",
    "minimax-m1": "minimax_m1",
    "nemotron": "nemotron",
    "xlam": "xlam",
    "internlm2": "internlm",
    "interns1": "internlm",
    "cohere3": "cohere",
    "cohere4": "cohere",
    "command-r": "command_r",
    "apertus": "apertus",
    "gigachat3": "gigachat3",
    "functionary": "functionary",
    "solar": "solar",
    "inkling": "inkling",
    "plamo3": "plamo3",
    # tags around each argument
    "qwen3-coder": "qwen3_coder",
    "seed-oss": "seed_oss",
    "deepseek-v32": "dsml",
    "deepseek-v4": "dsml",
    "glm45": "glm",
    "glm47": "glm",
    "poolside-v1": "glm",
    "hy-v3": "hy_v3",
    "minimax-m2": "minimax_m2",
    "minimax-m3": "minimax_m3",
    "step3": "step3",
    "kimi-k3": "kimi_k3",
    "muse-glimmer": "muse_glimmer",
    "dots": "dots",
    "minicpm5": "minicpm5",
    "k2-horizon": "k2_horizon",
    # call expressions
    "pythonic": "pythonic",
    "gemma3": "pythonic",
    "olmo3": "olmo3",
    "lfm2": "lfm2",
    "functiongemma": "functiongemma",
    "gemma4": "gemma4",
}
"""The module in `formats/` of each, imported when the format is first asked for; the variable in it has its name."""

_ALIASES = {
    "qwen25": "hermes",
    "qwen3": "hermes",
    "trinity": "hermes",
    "smollm3": "hermes",
    "nemotron3": "qwen3-coder",
    "mimo": "qwen3-coder",
    "step3p5": "qwen3-coder",
    "llama4-pythonic": "pythonic",
    "toolace": "pythonic",
    "firefunction-v2": "phi4-mini",
    "deepseek-r1": "deepseek-v3",
    "deepseek-v41": "deepseek-v4",
    "kimi-k25": "kimi-k2",
    "gpt-oss": "harmony",
    "glm5": "glm47",
    "laguna": "poolside-v1",
}
"""Other names: of models that write a family's syntax."""

_formats: dict[str, Format] = {}
_by_provider: dict[str, str] = {"anthropic": "xml", "bedrock-anthropic": "xml", "vertex-anthropic": "xml"}
_by_model: dict[str, str] = {}
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
AUTO = "auto"
"""What the answer itself shows: no format of its own, and not among their names."""
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
"""What the names of formats are made of: people write them in any case, and `+` joins them."""


def format_names() -> list[str]:
    """All names, those built in first."""
    return [name for name in dict.fromkeys([*_BUILT_IN, *_formats]) if name != AUTO]


def text_format(name: str, *, provider: str = "") -> Format:
    """The format of this name. `json` is the envelope that the provider's models know; without a provider it reads
    every envelope and teaches the default one.
    """
    if name == "json" and provider:
        name = _json_envelopes.get(provider, name)
    if name == AUTO and name not in _formats:
        _formats[name] = import_module(".detecting", __package__).AUTO
    if name not in _formats:
        name = _ALIASES.get(name, name)
    if name not in _formats:
        if name not in _BUILT_IN:
            raise ConfigError(f"there is no text format {name[:80]!r}", hint=known_formats(name))
        module = import_module(f".formats.{_BUILT_IN[name]}", __package__)
        _formats[name] = getattr(module, name.upper().replace("-", "_"))
    return _formats[name]


def format_of_model(model: str, *, provider: str = "") -> Format | None:
    """The format that was preferred for this model, or else that it was trained on; None if its name says nothing."""
    # The longest pattern is the most exact.
    for pattern in sorted(_by_model, key=len, reverse=True):
        if fnmatchcase(model.lower(), pattern):
            return text_format(_by_model[pattern], provider=provider)
    name = trained_format(model)
    return text_format(name, provider=provider) if name else None


def is_format(name: str) -> bool:
    """Whether there is a format of this name."""
    return name in _BUILT_IN or name in _formats or name in _ALIASES or name == AUTO


def known_formats(name: str, *, before: str = "") -> str:
    """For somebody who wrote a name that is none: which formats are like it or are that model's, and what there is.

    `before` stands before each name that may have been meant.
    """
    import difflib

    name = name[:64].lower()
    names = [*format_names(), *_ALIASES]
    near = [each for each in names if name and each.startswith(name)][:3]
    near = near or difflib.get_close_matches(name, names, 3, 0.65) or list(filter(None, [trained_format(name)]))
    meant = f"Did you mean {', '.join(before + each for each in near)}? " if near else ""
    taught = [each for each in format_names() if not text_format(each).models]
    return f"{meant}Known: {', '.join(taught)}, and families such as hermes (toolwire formats lists them)."


def other_names(name: str) -> list[str]:
    """What else the format of this name is called."""
    return [other for other, meant in _ALIASES.items() if meant == name]


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
    found = format_of_model(model, provider=provider)
    if found is not None:
        return found
    return text_format(_by_provider.get(provider, DEFAULT), provider=provider)
