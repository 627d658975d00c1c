"""How an answer is read: where its calls are looked for, by the name that people set (`stream_parser`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..errors import ConfigError
from ..tools.registry import ToolRegistry
from .format import Format
from .registry import AUTO, choose_format, format_of_model, is_format, known_formats, text_format

API_TOOL_CALL = "api_tool_call"
_BOTH = f"{API_TOOL_CALL}+"


class StreamParser(NamedTuple):
    """Where calls are looked for: as structured data (`native`), in text written in `format`, or both."""

    native: bool = True
    format: Format | None = None
    reasoning: bool = False
    """The text begins within reasoning: its prompt opened it."""
    repair: bool = False
    """Malformed calls in text are mended where that can be done, and what was done is told."""

    @property
    def name(self) -> str:
        """As `as_parser` takes it: `api_tool_call`, a text format, or both joined by `+`."""
        names = ["api_tool_call"] if self.native else []
        return "+".join([*names, self.format.name] if self.format is not None else names)


NATIVE = StreamParser()


def named_format(name: str, *, provider: str = "", model: str = "") -> Format:
    """The format of this name; `auto` is the one that the model was trained on, or else what the answer shows."""
    if name == AUTO and model:
        found = format_of_model(model)
        if found is not None:
            return found
    return text_format(name, provider=provider)


def as_parser(
    value: str | StreamParser,
    *,
    provider: str = "",
    model: str = "",
    tools: ToolRegistry | Iterable[str] = (),
    native_tools: bool = True,
) -> StreamParser:
    """What a value of `stream_parser` means for a provider and a model.

    - `api_tool_call`: calls as the provider's interface gives them, and nothing in the text
    - a text format (`xml`, `hermes`: `toolwire formats` lists them): calls in the text; the model is told how by a
      manifest
    - `api_tool_call+xml` (any format, or `api_tool_call+auto` for what the answer shows): both, for models that leak
      calls into their text
    - `auto`: `api_tool_call`, or the best text format where there are no native tools

    Any other value is a `ConfigError` that names what is like it or lists these; `native`, the old name of
    `api_tool_call`, too.
    """
    if isinstance(value, StreamParser):
        return value
    name = value.strip().lower()
    if name == AUTO:
        if native_tools:
            return NATIVE
        return StreamParser(False, choose_format(provider=provider, model=model, tools=tools))
    if name == API_TOOL_CALL:
        return NATIVE
    leaked = name.removeprefix(_BOTH)
    if is_format(leaked):
        return StreamParser(leaked != name, named_format(leaked, provider=provider, model=model))
    raise ConfigError(
        f"there is no stream parser {value[:80]!r}",
        hint=f"{known_formats(leaked, before=_BOTH if leaked != name else '')} "
        f"Besides formats: {AUTO}, {API_TOOL_CALL}, and {_BOTH}FORMAT for both in one answer.",
    )
