"""`todo`: what a model has set itself to do, kept outside of its memory and shown to whoever watches."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..errors import ConfigError
from ..tools.definition import Risk, ToolDefinition

ITEMS = 100
ITEM_CHARACTERS = 500

_MARKS = {"pending": "[ ]", "doing": "[>]", "done": "[x]"}

_DESCRIPTION = (
    "Keep a list of the steps of a longer task. A call with items replaces the whole list: give every item, also "
    "those that are done, and keep exactly one on doing while you work. A call without items shows the list. Not for "
    "tasks of one or two steps."
)
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "description": f"The whole list, up to {ITEMS} items in their order; [] empties it. Leave out to see it.",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": f"One line, up to {ITEM_CHARACTERS} characters."},
                    "status": {"type": "string", "enum": list(_MARKS)},
                },
                "required": ["text", "status"],
                "additionalProperties": False,
            },
        }
    },
    "additionalProperties": False,
}


class _Item(msgspec.Struct, frozen=True):
    text: str
    status: Literal["pending", "doing", "done"]


class _Call(msgspec.Struct):
    items: list[_Item] | None = None


def todo_tools() -> list[ToolDefinition]:
    """`todo`, with a list of its own. A call that is refused leaves the list as it was."""
    items: list[_Item] = []

    async def todo(arguments: dict[str, Any]) -> str:
        nonlocal items
        given = _checked(arguments)
        if given is not None:
            items = given
        return _shown(items)

    return [ToolDefinition("todo", _DESCRIPTION, _PARAMETERS, Risk.READ, todo)]


def _checked(arguments: dict[str, Any]) -> list[_Item] | None:
    try:
        given = msgspec.convert(arguments, _Call).items
    except msgspec.ValidationError as error:
        raise ConfigError(f"this is no list of things to do: {error}") from None
    if given is None:
        return None
    if len(given) > ITEMS:
        raise ConfigError(f"the list has {len(given):,} items; keep at most {ITEMS}, leave out old ones that are done")
    items = [_Item(" ".join(part.strip() for part in each.text.splitlines()).strip(), each.status) for each in given]
    for number, item in enumerate(items, 1):
        if not item.text or len(item.text) > ITEM_CHARACTERS:
            raise ConfigError(
                f"item {number} has {len(item.text):,} characters; write 1 to {ITEM_CHARACTERS}. The list is unchanged"
            )
    return items


def _shown(items: list[_Item]) -> str:
    if not items:
        return "The list is empty."
    lines = [f"{number}. {_MARKS[item.status]} {item.text}" for number, item in enumerate(items, 1)]
    done = sum(item.status == "done" for item in items)
    doing = sum(item.status == "doing" for item in items)
    lines.append(f"{done} of {len(items)} done.")
    if doing > 1:
        lines.append(f"{doing} items are on doing: keep one at a time.")
    return "\n".join(lines)
