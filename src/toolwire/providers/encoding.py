"""What the request halves of all wire formats share: tool choice, names, opaque data, results, media."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import ConfigError
from ..messages import MediaPart, TextPart, ToolCallPart, ToolResultPart
from .names import NameRule

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

TOOL_CHOICES = ("auto", "none", "required")


def offered_names(tools: Iterable[ToolDefinition], rule: NameRule) -> list[str]:
    """The tools' names on the wire, in order; two tools that would have one name are an error."""
    names: dict[str, str] = {}
    for tool in tools:
        name = rule.wire_name(tool.name)
        if name in names:
            raise ConfigError(
                f"the tools {names[name]!r} and {tool.name!r} have one name on this wire: {name}",
                hint="Give one of them another name: @tool(name=...).",
            )
        names[name] = tool.name
    return list(names)


def check_tool_choice(choice: str, tools: Iterable[ToolDefinition]) -> None:
    """`auto`, `none`, `required`, or the name of a tool that is offered; a `ConfigError` says which there are."""
    names = [tool.name for tool in tools]
    if choice == "required" and not names:
        raise ConfigError("tool_choice 'required' needs at least one tool", hint="Give tools, or leave it out.")
    if choice not in TOOL_CHOICES and choice not in names:
        raise ConfigError(
            f"{choice!r} is none of the tools",
            hint=f"Use auto, none, required or one of: {', '.join(names) or '(no tools given)'}.",
        )


def own(provider_data: dict[str, Any] | None, wire: str) -> dict[str, Any]:
    """The opaque data of a part if it came from this wire, else nothing: no provider takes another's."""
    if provider_data is not None and provider_data.get("wire") == wire:
        return provider_data
    return {}


def arguments_text(call: ToolCallPart) -> str:
    """A call's arguments as JSON text: its own where it has it."""
    if call.raw_arguments is not None:
        return call.raw_arguments
    return msgspec.json.encode(call.arguments).decode()


def result_text(result: ToolResultPart, *, mark_errors: bool) -> str:
    """The words of a result; with `mark_errors`, for wires that have no other way to say it, an error says so."""
    text = result.content
    if not isinstance(text, str):
        text = "".join(item.text for item in text if isinstance(item, TextPart))
    if mark_errors and result.is_error and not text.lower().startswith("error"):
        return f"Error: {text}"
    return text


def result_media(result: ToolResultPart) -> list[MediaPart]:
    """The pictures and other media of a result."""
    if isinstance(result.content, str):
        return []
    return [item for item in result.content if isinstance(item, MediaPart)]


def inline_media(part: MediaPart) -> tuple[str, str] | None:
    """Media type and base64 data, from `data` or a `data:` URL; None where there is only an address."""
    if part.data is not None:
        return part.media_type, part.data
    if part.url is not None and part.url.startswith("data:"):
        head, comma, data = part.url[5:].partition(",")
        kind, _, coding = head.partition(";")
        if comma and coding.endswith("base64"):
            return kind or part.media_type, data
    return None


def media_url(part: MediaPart) -> str:
    """The address of media, a `data:` URL where they are held inline."""
    return part.url or f"data:{part.media_type};base64,{part.data or ''}"


def misplaced(part: Any, role: str) -> ConfigError:
    """A part that a message of this role cannot hold."""
    return ConfigError(
        f"a message of role {role!r} cannot hold a part of type {str(part.__struct_config__.tag)!r}",
        hint="Calls and thinking belong to assistant messages, results to tool messages.",
    )
