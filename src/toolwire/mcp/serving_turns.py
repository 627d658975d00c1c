"""When a call that a client made may run: beside which others, and how many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from ..approval.parts import path_arguments
from ..approval.patterns import folded
from ..approval.places import Workspace
from ..stream.invocation import ToolInvocation
from ..tools.definition import Risk, ToolDefinition


class Turns:
    """The calls of all clients, in the order in which they were approved.

    An exclusive tool runs alone, calls that touch the same path keep their order, and no more than `parallel` calls
    of one client run at a time: a busy client keeps no other waiting.
    """

    def __init__(self, workspace: Workspace, parallel: int) -> None:
        self._workspace = workspace
        self._parallel = parallel
        self._calls: list[_Turn] = []
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, client: str, invocation: ToolInvocation, tool: ToolDefinition) -> AsyncIterator[None]:
        """Waits until the call may run; it has its turn until this is left."""
        mine = _Turn(tool, self._paths(invocation, tool))
        earlier = [each for each in self._calls if mine.follows(each)]
        self._calls.append(mine)
        slots = self._slots.get(client)
        if slots is None:
            slots = self._slots[client] = asyncio.Semaphore(self._parallel)
        try:
            for each in earlier:
                await each.done.wait()
            async with slots:
                yield
        finally:
            self._calls.remove(mine)
            mine.done.set()

    def _paths(self, invocation: ToolInvocation, tool: ToolDefinition) -> frozenset[str]:
        given = path_arguments(tool, invocation.arguments)
        paths = [path for path in given if isinstance(path, str) and "\0" not in path]
        return frozenset(folded(self._workspace.place(path).real) for path in paths)


class _Turn:
    """One call that runs or waits."""

    __slots__ = ("done", "paths", "tool")

    def __init__(self, tool: ToolDefinition, paths: frozenset[str]) -> None:
        self.tool = tool
        self.paths = paths
        self.done = asyncio.Event()

    def follows(self, earlier: _Turn) -> bool:
        """Whether it may not run before the earlier one is done."""
        if self.tool.exclusive or earlier.tool.exclusive:
            return True
        if self.tool.risk is Risk.READ and earlier.tool.risk is Risk.READ:
            return False
        return not self.paths.isdisjoint(earlier.paths)
