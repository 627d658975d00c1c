"""The tools of an agent: those that it was given, and those of sources, which come and go while it works.

A source is anything that offers tools of its own accord: MCP servers. What it offers is looked at before each request,
so that one request and the calls of its answer see the same tools. A tool of a source never takes the place of one that
is there already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from threading import Lock
from typing import Any, Protocol, runtime_checkable
from weakref import WeakSet

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
    """What can be called. `registry` is a new one after each change, and never changes itself.

    Agents may share a source: it is let go of when the last of them that has used it is closed.
    """

    def __init__(self, given: Iterable[Any]) -> None:
        everything = list(given)
        self._sources = [each for each in everything if isinstance(each, ToolSource)]
        self._own = ToolRegistry(each for each in everything if not isinstance(each, ToolSource))
        self.registry = self._own
        self._left_out: set[ToolDefinition] = set()
        """Told of already."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """Where the sources were last used; none since they were let go of."""

    def bind(self, host: Host) -> None:
        """Tells the sources whom their servers may ask."""
        for source in self._sources:
            source.bind(host)

    async def refresh(self, turn: int) -> ToolsChanged | None:
        """Looks at what the sources offer; what became different, if anything did."""
        if not self._sources:
            return None
        with _LOCK:
            self._loop = asyncio.get_running_loop()
            _IN_USE.add(self)
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
        """Lets go of the sources that nobody else uses: all of them, also where one fails at it."""
        with _LOCK:
            self._loop = None
            _IN_USE.discard(self)
            used = {id(source) for box in _IN_USE if box._is_in_use() for source in box._sources}
        async with AsyncExitStack() as closing:
            for source in self._sources:
                if id(source) not in used:
                    closing.push_async_callback(source.close)

    def _is_in_use(self) -> bool:
        """Whoever was left with their event loop, without a word, uses nothing any more."""
        return self._loop is not None and not self._loop.is_closed()


_IN_USE: WeakSet[Toolbox] = WeakSet()
_LOCK = Lock()
"""Runs may be in several threads, each on a loop of its own."""
