"""The tools of an agent: those that it was given, and those of sources, which come and go while it works.

A source is anything that offers tools of its own accord: MCP servers. What it offers is looked at before each request,
so that one request and the calls of its answer see the same tools. A tool of a source never takes the place of one that
is there already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from ..errors import ToolDefinitionError
from ..mcp.host import Host
from ..tools.definition import ToolDefinition
from ..tools.registry import ToolRegistry
from .events import OfferedTool, ToolsChanged


@runtime_checkable
class ToolSource(Protocol):
    """Where tools come from that are not there from the start. `toolwire.McpServers` is one."""

    def bind(self, host: Host) -> None:
        """From now on its servers may ask this agent, through its gate."""
        ...

    async def tools(self) -> Sequence[ToolDefinition]:
        """What it offers now; waits a moment at most for what is on its way. The same objects while nothing changes."""
        ...

    def notes(self) -> list[str]:
        """What a person should know and was not told yet, a sentence each."""
        ...

    async def close(self) -> None:
        """Lets go of everything. Asked for tools again, it begins anew."""
        ...


class Toolbox:
    """What can be called. `registry` is a new one after each change, and never changes itself."""

    def __init__(self, given: Iterable[Any]) -> None:
        everything = list(given)
        self._sources = [each for each in everything if isinstance(each, ToolSource)]
        self._own = ToolRegistry(each for each in everything if not isinstance(each, ToolSource))
        self.registry = self._own
        self._left_out: set[ToolDefinition] = set()
        """Told of already."""

    def bind(self, host: Host) -> None:
        """Tells the sources whom their servers may ask."""
        for source in self._sources:
            source.bind(host)

    async def refresh(self, turn: int) -> ToolsChanged | None:
        """Looks at what the sources offer; what became different, if anything did."""
        if not self._sources:
            return None
        registry, notes = ToolRegistry(self._own), list[str]()
        for source in self._sources:
            for tool in await source.tools():
                try:
                    registry.add(tool)
                except ToolDefinitionError as error:
                    if tool not in self._left_out:
                        self._left_out.add(tool)
                        notes.append(f"{error.message}; the later one is left out")
            notes += source.notes()
        before, now = set(self.registry), set(registry)
        if before == now and not notes:
            return None
        self.registry = registry
        added = [
            OfferedTool(each.name, each.description, each.parameters, each.risk)
            for each in registry
            if each not in before
        ]
        removed = sorted({tool.name for tool in before - now} - {tool.name for tool in now})
        return ToolsChanged(turn, added, removed, notes)

    async def close(self) -> None:
        """Lets go of the sources."""
        for source in self._sources:
            await source.close()
