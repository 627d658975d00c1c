"""What is offered of one server, and what is compared before a call: with a server that is only played."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any, cast

import pytest

from toolwire.errors import McpFailed
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.connection import Connection
from toolwire.mcp.offered import NAMED, OfferedServer
from toolwire.mcp.pins import Pins
from toolwire.tools.definition import ToolDefinition


def described(name: str, words: str = "Says it.", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": words, "inputSchema": {"type": "object"}, **more}


class Played:
    """A connection: what it lists, how its lists end, and in which life each call was to be sent."""

    def __init__(self, *tools: dict[str, Any]) -> None:
        self.tools = list(tools)
        self.state = "idle"
        self.life = 0
        self.faults: list[McpFailed] = []
        self.listing = asyncio.Event()
        self.going_on = asyncio.Event()
        self.going_on.set()
        self.sent: list[tuple[str, int]] = []

    async def open(self) -> None:
        if self.faults:
            raise self.faults.pop(0)
        self.life = self.life or 1
        self.state = "ready"

    async def list_tools(self) -> list[dict[str, Any]]:
        self.listing.set()
        if self.faults:
            raise self.faults.pop(0)
        listed = deepcopy(self.tools)
        await self.going_on.wait()
        return listed

    async def call(self, name: str, arguments: dict[str, Any], report: Any = None, *, life: int = 0) -> dict[str, Any]:
        self.sent.append((name, life))
        return {"content": [{"type": "text", "text": "done"}]}


class Offered:
    """The server under test, its notes, and its tools by their own names."""

    def __init__(self, played: Played, pins: Pins | None = None, **fields: Any) -> None:
        self.notes: list[str] = []
        self.pins = Pins(None) if pins is None else pins
        config = ServerConfig(name="a", command="any", **fields)
        self.server = OfferedServer(config, self.pins, lambda: cast(Connection, played), self.notes.append)

    async def tools(self) -> dict[str, ToolDefinition]:
        await self.server.listed()
        return {tool.name.removeprefix("mcp__a__"): tool for tool in self.server.tools()}


async def run(tool: ToolDefinition) -> None:
    assert tool.call is not None
    await tool.call({})


async def why(tool: ToolDefinition) -> str:
    with pytest.raises(McpFailed) as caught:
        await run(tool)
    return str(caught.value.why)


@pytest.mark.parametrize("changes", [False, True])
async def test_a_call_is_sent_in_the_life_that_was_compared(changes: bool) -> None:
    played = Played(described("echo"))

    class Slow(Pins):
        def pin(self, identity: str, *definitions: dict[str, Any]) -> None:
            played.life += 1
            if changes:
                played.tools = [described("echo", "Keeps it.")]

    tools = await Offered(played, Slow(None)).tools()
    if changes:
        assert await why(tools["echo"]) == "changed"
        assert played.sent == []
    else:
        await run(tools["echo"])
        assert played.sent == [("echo", 2)]


async def test_a_change_is_not_forgotten_when_the_list_cannot_be_had() -> None:
    played = Played(described("echo"))
    offered = Offered(played)
    tools = await offered.tools()
    await run(tools["echo"])
    played.tools = [described("echo", "Keeps it.")]
    offered.server.changed()
    played.faults = [McpFailed("no list", why="timeout")]
    played.state = "ready"
    played.open = _nothing  # type: ignore[method-assign]
    assert [await why(tools["echo"]) for _ in range(3)] == ["timeout", "changed", "changed"]
    assert len(played.sent) == 1


async def _nothing() -> None:
    pass


async def test_a_change_that_is_announced_while_it_is_listed_is_listed_again() -> None:
    played = Played(described("echo"))
    offered = Offered(played)
    tools = await offered.tools()
    offered.server.changed()
    played.going_on.clear()
    played.listing.clear()
    refreshing = offered.server.refresh()
    await played.listing.wait()
    played.tools = [described("echo", "Keeps it.")]
    offered.server.changed()
    played.going_on.set()
    await refreshing
    assert offered.server.is_wanted()
    assert await why(tools["echo"]) == "changed"
    assert played.sent == []


async def test_a_tool_that_nobody_looked_at_is_offered_as_it_is_now() -> None:
    played = Played(described("echo"))
    offered = Offered(played)
    before = await offered.tools()
    played.tools = [described("echo", "Keeps it.")]
    offered.server.changed()
    after = await offered.tools()
    assert (before["echo"].description, after["echo"].description) == ("Says it.", "Keeps it.")
    assert await why(before["echo"]) == "changed"
    await run(after["echo"])
    assert offered.pins.known("a")["echo"]["description"] == "Keeps it."


async def test_of_a_trusted_server_nothing_is_taken_as_looked_at_that_is_not_offered() -> None:
    played = Played(described("echo"), described("remove"))
    offered = Offered(played, trusted=True, deny=("rem*",))
    assert list(await offered.tools()) == ["echo"]
    assert list(offered.pins.known("a")) == ["echo"]


async def test_what_is_left_out_is_told_once_and_so_many_times() -> None:
    played = Played(described("echo"), described("odd", x=float("nan")))
    offered = Offered(played)
    for _ in range(3):
        await offered.tools()
        offered.server.changed()
    assert sum("odd" in note for note in offered.notes) == 1
    played.tools = [described(f"odd{at}", x=float("nan")) for at in range(1_200)]
    offered.server.changed()
    await offered.tools()
    assert sum("plain JSON" in note for note in offered.notes) == 1_000


async def test_a_fault_is_told_once_until_it_is_over() -> None:
    played = Played(described("echo"))
    offered = Offered(played)
    for fault in ("gone", "gone", "lost", ""):
        if fault:
            played.faults = [McpFailed(fault, why="lost")]
            with pytest.raises(McpFailed, match=fault):
                await offered.tools()
            assert offered.server.problem == fault
    await offered.tools()
    assert offered.server.problem == ""
    assert offered.notes == ["a: gone", "a: lost", "a: connected, 1 tool, 1 not looked at yet"]


@pytest.mark.parametrize(("more", "end"), [(0, ""), (3, " and 3 more")])
async def test_so_many_tools_are_named(more: int, end: str) -> None:
    played = Played()
    offered = Offered(played)
    await offered.tools()
    played.tools = [described(f"t{at}") for at in range(NAMED + more)]
    offered.server.changed()
    await offered.tools()
    assert offered.notes[-1] == "a: has new tools: " + ", ".join(f"t{at}" for at in range(NAMED)) + end
