"""`ToolRegistry`: the tools of one agent, found by exactly the name that the model wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..errors import ConfigError, ToolDefinitionError
from .definition import NAME_LENGTH, ToolDefinition
from .function import as_definition

NEAR_LENGTH = 64
"""Characters of a name up to which near ones are looked for: the search costs the square of it."""


class ToolRegistry:
    """Tools by name, in the order they were added.

    Names are compared by code points: no folding of case, no Unicode normalisation. A name that only looks like
    that of a tool is unknown. Anything that `as_definition` takes can be added.
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[ToolDefinition | Callable[..., Any] | dict[str, Any]] = ()) -> None:
        self._tools: dict[str, ToolDefinition] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: ToolDefinition | Callable[..., Any] | dict[str, Any]) -> None:
        """Add a tool; adding the same one again changes nothing, another one of its name is an error."""
        tool = as_definition(tool)
        if self._tools.setdefault(tool.name, tool) is not tool:
            raise ToolDefinitionError(
                f"there is already another tool {tool.name!r}",
                hint="Give one of them another name: @tool(name=...).",
                tool=tool.name,
            )

    def get(self, name: str) -> ToolDefinition | None:
        """The tool of exactly this name."""
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        """All names, in order."""
        return list(self._tools)

    def nearest(self, name: str) -> list[str]:
        """Up to three names that are close, for the sentence that tells a model its tool is unknown."""
        if len(name) > NEAR_LENGTH:
            return []
        from difflib import get_close_matches

        return get_close_matches(name, self._tools, n=3)

    def __getitem__(self, name: str) -> ToolDefinition:
        tool = self._tools.get(name)
        if tool is None:
            raise ConfigError(f"there is no tool {name[:NAME_LENGTH]!r}", hint=f"There are {', '.join(self._tools)}.")
        return tool

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)
