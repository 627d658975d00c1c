"""Several servers side by side: what is offered, what is compared, and who waits for whom."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolwire.errors import ConfigError, McpFailed
from toolwire.mcp import connection as connections
from toolwire.mcp import stdio
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.pins import Pins
from toolwire.mcp.servers import McpServers
from toolwire.messages import TextPart
from toolwire.tools.definition import ToolDefinition
from toolwire.tools.output import ToolOutput
from waiting import leap, until

SERVER = Path(__file__).parent / "line_server.py"
Make = Callable[..., McpServers]


def config(name: str, *words: str, **fields: Any) -> ServerConfig:
    return ServerConfig(name=name, command=sys.executable, args=("-I", "-S", str(SERVER), *words), **fields)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(stdio, "_TOLD_SECONDS", 20.0)
    monkeypatch.setattr("toolwire.mcp.servers.CHANGE_PATIENCE", 20.0)


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    made: list[McpServers] = []

    def make(*configs: ServerConfig, pins: Path | None = None, **options: Any) -> McpServers:
        given = {"pins": Pins(pins or tmp_path / "pins.json"), "workspace": tmp_path, "patience": 20.0, **options}
        made.append(McpServers(configs, **given))
        return made[-1]

    yield make
    for servers in made:
        await servers.close()


async def run(tool: ToolDefinition, **arguments: Any) -> ToolOutput:
    assert tool.call is not None
    output = await tool.call(arguments)
    assert isinstance(output, ToolOutput)
    return output


async def offered(servers: McpServers) -> dict[str, ToolDefinition]:
    return {tool.name: tool for tool in await servers.tools()}


async def failure(asked: Any) -> McpFailed:
    with pytest.raises(McpFailed) as caught:
        await asked
    return caught.value


async def test_a_new_server_is_connected_and_its_tools_are_asked_about(make: Make) -> None:
    servers = make(config("a"), config("b", deny=("s*",), allow=("echo", "slow")))
    tools = await offered(servers)
    assert {name for name in tools if "__b__" in name} == {"mcp__b__echo"}
    assert len(tools) == 12
    assert all(tool.asks for tool in tools.values())
    assert (await run(tools["mcp__a__echo"], text="hi")).text == "hi"
    assert sorted(servers.notes()) == [
        "a: connected, 11 tools, 11 not looked at yet",
        "b: connected, 1 tool, 1 not looked at yet",
    ]
    assert servers.notes() == []
    statuses = servers.statuses()
    assert [(status.name, status.state, status.problem) for status in statuses] == [
        ("a", "ready", ""),
        ("b", "ready", ""),
    ]
    assert statuses[1].offered == ["echo"]


async def test_what_ran_was_looked_at_and_is_not_asked_about_again(make: Make) -> None:
    servers = make(config("a"))
    before = await offered(servers)
    assert await servers.tools() == list(before.values())
    await run(before["mcp__a__echo"], text="hi")
    after = await offered(servers)
    assert after["mcp__a__echo"].asks == ""
    assert after["mcp__a__slow"] is before["mcp__a__slow"]
    assert after["mcp__a__slow"].asks


async def test_what_was_looked_at_is_offered_without_a_start(make: Make, tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    first = make(config("a", allow=("echo",)))
    await run((await offered(first))["mcp__a__echo"], text="hi")
    second = make(config("a", f"lives={lives}", allow=("echo",)))
    tools = await offered(second)
    assert list(tools) == ["mcp__a__echo"]
    assert tools["mcp__a__echo"].asks == ""
    assert second.statuses()[0].state == "idle"
    assert second.statuses()[0].offered == ["echo"]
    assert not lives.exists()
    assert (await run(tools["mcp__a__echo"], text="now")).text == "now"
    assert lives.exists()
    later = await offered(second)
    assert later["mcp__a__echo"] is tools["mcp__a__echo"]
    # What the person lets be offered now nobody has looked at.
    assert len(await offered(make(config("a")))) == 11


async def test_a_yes_to_one_tool_hides_no_other_in_the_next_program(make: Make, tmp_path: Path) -> None:
    first = make(config("a"))
    await run((await offered(first))["mcp__a__echo"], text="hi")
    tools = await offered(make(config("a")))
    assert len(tools) == 11
    assert [name for name, tool in tools.items() if not tool.asks] == ["mcp__a__echo"]
    # Once all of them were looked at, and that is known, it is not asked for them.
    await offered(make(config("a", trusted=True)))
    idle = make(config("a"))
    assert len(await offered(idle)) == 11
    assert idle.statuses()[0].state == "idle"
    # One look is taken back: it is asked again, and not only until then.
    Pins(tmp_path / "pins.json").forget("a", "slow")
    assert (await offered(make(config("a"))))["mcp__a__slow"].asks
    assert (await offered(make(config("a"))))["mcp__a__slow"].asks


async def test_a_note_of_what_waits_that_cannot_be_used_harms_nobody(make: Make, tmp_path: Path) -> None:
    await offered(make(config("a", trusted=True)))
    (tmp_path / "waiting.json").write_text("{")
    servers = make(config("a"))
    assert len(await offered(servers)) == 11
    assert servers.statuses()[0].state == "ready"
    pins = Pins(tmp_path / "more" / "pins.json")
    pins.keep_waiting("b", ["x" * 40_000, "y" * 40_000])
    assert pins.waiting("b") == ["x" * 40_000]
    assert pins.waiting("c") is None


async def test_a_change_disables_the_tool_and_nothing_else(make: Make, tmp_path: Path) -> None:
    calls, allow = tmp_path / "calls", ("echo", "env")
    first = make(config("a", allow=allow))
    tools = await offered(first)
    await run(tools["mcp__a__echo"], text="hi")
    await run(tools["mcp__a__env"])
    # The same server at the next start, with another description.
    second = make(config("a", "describe=Sends all to the moon.", f"calls={calls}", allow=allow))
    tools = await offered(second)
    assert list(tools) == ["mcp__a__echo", "mcp__a__env"]
    error = await failure(run(tools["mcp__a__echo"], text="hi"))
    assert error.why == "changed"
    assert "toolwire mcp trust a" in error.hint
    assert not calls.exists()
    assert (await run(tools["mcp__a__env"])).text
    tools = await offered(second)
    assert "mcp__a__echo" not in tools
    assert "mcp__a__env" in tools
    assert second.statuses()[0].disabled == ["echo"]
    notes = second.notes()
    assert [note for note in notes if "echo" in note and "toolwire mcp trust a" in note]
    assert await offered(second)
    assert second.notes() == []


async def test_a_change_while_it_runs_is_seen_before_the_next_call(make: Make, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    servers = make(config("a", f"calls={calls}"))
    tools = await offered(servers)
    await run(tools["mcp__a__echo"], text="1")
    await run(tools["mcp__a__change"])
    assert (await failure(run(tools["mcp__a__echo"], text="2"))).why == "changed"
    assert calls.read_text().count("call echo") == 1
    tools = await offered(servers)
    assert "mcp__a__echo" not in tools
    # A person looks at it again.
    definition = next(each for each in await servers.connection("a").list_tools() if each["name"] == "echo")
    Pins(tmp_path / "pins.json").pin("a", definition)
    tools = await offered(servers)
    assert (await run(tools["mcp__a__echo"], text="3")).text == "3"


async def test_no_call_goes_out_while_an_announced_change_is_being_listed(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    servers = make(config("a", f"calls={calls}"))
    tools = await offered(servers)
    await run(tools["mcp__a__echo"], text="1")
    await run(tools["mcp__a__change"])
    connection = servers.connection("a")
    may_list, list_tools = asyncio.Event(), connection.list_tools

    async def late() -> Any:
        await may_list.wait()
        return await list_tools()

    monkeypatch.setattr(connection, "list_tools", late)
    monkeypatch.setattr("toolwire.mcp.servers.CHANGE_PATIENCE", 0.05)
    assert "mcp__a__echo" in await offered(servers)
    monkeypatch.setattr("toolwire.mcp.servers.CHANGE_PATIENCE", 30.0)
    async with asyncio.timeout(15):
        await servers.tools()  # it was waited for once
    call = asyncio.create_task(failure(run(tools["mcp__a__echo"], text="2")))
    await asyncio.sleep(0.05)
    may_list.set()
    assert (await call).why == "changed"
    assert calls.read_text().count("call echo") == 1


@pytest.mark.parametrize("how", ["change", "crash"])
async def test_a_change_during_the_look_is_seen_before_the_call(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    calls, script = tmp_path / "calls", tmp_path / "server.py"
    source = SERVER.read_text()
    script.write_text(source)
    args = ("-I", "-S", str(script), f"calls={calls}")
    servers = make(ServerConfig(name="a", command=sys.executable, args=args))
    tools = await offered(servers)
    loop, pin = asyncio.get_running_loop(), Pins.pin

    async def elsewhere() -> None:
        script.write_text(source.replace("Says what it is given.", "Keeps what it is given."))
        with suppress(McpFailed):
            await servers.connection("a").call(how, {})
        if how == "crash":
            await servers._servers["a"].listed()

    def slowly(pins: Pins, *given: Any) -> None:
        pin(pins, *given)
        asyncio.run_coroutine_threadsafe(elsewhere(), loop).result(10)

    monkeypatch.setattr(Pins, "pin", slowly)
    assert (await failure(run(tools["mcp__a__echo"], text="1"))).why == "changed"
    assert "call echo" not in calls.read_text()


async def test_a_server_that_always_says_that_it_changed_can_be_used(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = make(config("a"))
    tools = await offered(servers)
    connection = servers.connection("a")
    list_tools, listings = connection.list_tools, list[int]()

    async def restless() -> Any:
        listings.append(1)
        servers._servers["a"].changed()
        return await list_tools()

    monkeypatch.setattr(connection, "list_tools", restless)
    servers._servers["a"].changed()
    assert (await run(tools["mcp__a__echo"], text="all the same")).text == "all the same"
    assert len(listings) <= 6


async def test_a_look_that_was_taken_back_is_not_given_again_by_a_call(make: Make, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    servers = make(config("a", f"calls={calls}"))
    new = (await offered(servers))["mcp__a__echo"]
    await run(new, text="1")
    seen = (await offered(servers))["mcp__a__echo"]
    await run(seen, text="2")
    # In another terminal: toolwire mcp trust a --revoke, while the model's answer is on its way.
    others = Pins(tmp_path / "pins.json")
    others.forget("a")
    error = await failure(run(seen, text="3"))
    assert (error.why, error.tool) == ("changed", "echo")
    assert "the look at this tool of the MCP server 'a' was taken back" in error.message
    assert others.known("a") == {}
    # One that the person is asked about is looked at by that.
    assert (await offered(servers))["mcp__a__echo"].asks
    await run(new, text="4")
    assert list(others.known("a")) == ["echo"]
    # In another terminal, other words were looked at.
    others.pin("a", {"name": "echo", "description": "Other."})
    for tool in (seen, new):
        error = await failure(run(tool, text="5"))
        assert "other words of the MCP server 'a' about it were looked at since" in error.message
    assert others.known("a")["echo"]["description"] == "Other."
    assert calls.read_text().count("call echo") == 3


async def test_each_change_is_told_also_of_a_tool_that_changed_before(make: Make, tmp_path: Path) -> None:
    servers = make(config("a"))
    tools = await offered(servers)
    await run(tools["mcp__a__echo"], text="hi")
    for _ in range(2):
        servers.notes()
        await run(tools["mcp__a__change"])
        assert "mcp__a__echo" not in await offered(servers)
        assert [note for note in servers.notes() if "not offered: echo" in note]
        await offered(servers)
        assert servers.notes() == []
        definition = next(each for each in await servers.connection("a").list_tools() if each["name"] == "echo")
        Pins(tmp_path / "pins.json").pin("a", definition)
        assert "mcp__a__echo" in await offered(servers)


async def test_a_server_that_is_given_time_to_recover_is_told_of_once(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "FIRST_PAUSE", 28.0)
    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=lambda: 1_000.0))
    servers = make(config("dead", "die=initialize"), config("well"))
    tools = await offered(servers)
    for _ in range(3):
        began = time.monotonic()
        await servers.tools()
        assert time.monotonic() - began < 10
        await asyncio.sleep(0.01)
    assert sum(note.startswith("dead:") for note in servers.notes()) == 1
    await failure(run(tools["mcp__well__crash"]))
    statuses = {status.name: status for status in servers.statuses()}
    assert [statuses[name].state for name in ("dead", "well")] == ["failed", "failed"]
    assert "exit code 4" in statuses["dead"].problem
    assert "exit code 3" in statuses["well"].problem
    error = await failure(run(tools["mcp__well__echo"], text="hi"))
    assert "tried again in 28 seconds" in error.message


async def test_a_change_at_a_new_start_is_seen_before_the_next_call(make: Make, tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    script = tmp_path / "server.py"
    source = SERVER.read_text()
    script.write_text(source)
    settings = ServerConfig(name="a", command=sys.executable, args=("-I", "-S", str(script), f"lives={lives}"))
    servers = make(settings)
    tools = await offered(servers)
    await run(tools["mcp__a__echo"], text="1")
    script.write_text(source.replace("Says what it is given.", "Keeps what it is given."))
    await failure(run(tools["mcp__a__crash"]))
    assert (await failure(run(tools["mcp__a__echo"], text="2"))).why == "changed"
    assert len(lives.read_text().split()) == 2


async def test_a_tool_that_is_gone(make: Make, tmp_path: Path) -> None:
    first = make(config("a", "tools=1", allow=("tool_0",)))
    await run((await offered(first))["mcp__a__tool_0"])
    second = make(config("a", allow=("tool_0",)))
    error = await failure(run((await offered(second))["mcp__a__tool_0"]))
    assert error.why == "changed"
    assert "does not have it any more" in error.message
    assert "mcp__a__tool_0" not in await offered(second)
    assert any("no longer has tool_0" in note for note in second.notes())


async def test_new_tools_join_at_the_next_turn(make: Make) -> None:
    servers = make(config("a"))
    tools = await offered(servers)
    await run(tools["mcp__a__grow"])
    servers.notes()
    assert "mcp__a__more_0" in await offered(servers)
    assert servers.notes() == ["a: has new tools: more_0"]


async def test_a_trusted_server_is_taken_as_it_is_first_seen(make: Make, tmp_path: Path) -> None:
    servers = make(config("a", trusted=True))
    assert all(tool.asks == "" for tool in await servers.tools())
    assert len(Pins(tmp_path / "pins.json").known("a")) == 11
    changed = make(config("a", "describe=Other.", trusted=True))
    await changed.connection("a").open()
    assert (await failure(run((await offered(changed))["mcp__a__echo"], text=""))).why == "changed"


async def test_slow_and_broken_servers_hold_nobody(make: Make) -> None:
    servers = make(
        config("mute", "mute", start_timeout=200),
        config("dead", "die=initialize"),
        ServerConfig(name="none", command="no-such-program-anywhere"),
        config("unset", env={"KEY": "${SURELY_NOT_SET_ANYWHERE}"}),
        config("well"),
        patience=50.0,
    )
    began = time.monotonic()
    first = asyncio.create_task(offered(servers))
    async with asyncio.timeout(15):
        while not all(each.offered or each.problem for each in servers.statuses()[1:]):  # noqa: ASYNC110 - as below
            await asyncio.sleep(0.01)
    assert not first.done()
    leap(50)
    assert {name.split("__")[1] for name in await first} == {"well"}
    assert time.monotonic() - began < 20
    began = time.monotonic()
    tools = await offered(servers)
    assert time.monotonic() - began < 10
    assert (await run(tools["mcp__well__echo"], text="hi")).text == "hi"
    statuses = {status.name: status for status in servers.statuses()}
    assert statuses["mute"].state == "connecting"
    assert "exit code 4" in statuses["dead"].problem
    assert "no-such-program-anywhere" in statuses["none"].problem
    assert "SURELY_NOT_SET_ANYWHERE" in statuses["unset"].problem
    assert sum(note.startswith("dead:") for note in servers.notes()) == 1


async def test_a_late_server_joins_at_a_later_turn(make: Make, tmp_path: Path) -> None:
    servers = make(config("late", f"waits={tmp_path / 'go'}"), patience=0.05)
    assert await servers.tools() == []
    (tmp_path / "go").touch()
    for _ in range(100):
        await asyncio.sleep(0.05)
        if await servers.tools():
            break
    assert len(await servers.tools()) == 11


async def test_it_is_used_again_after_it_was_closed(make: Make, tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    servers = make(config("a", f"lives={lives}"))
    tools = await offered(servers)
    await servers.close()
    assert servers.statuses()[0].state == "closed"
    assert (await run(tools["mcp__a__echo"], text="again")).text == "again"
    assert len(lives.read_text().split()) == 2


def test_one_loop_after_the_other(tmp_path: Path) -> None:
    servers = McpServers([config("a")], workspace=tmp_path)

    async def turn() -> str:
        return (await run((await offered(servers))["mcp__a__echo"], text="hi")).text

    assert [asyncio.run(turn()) for _ in range(2)] == ["hi", "hi"]
    asyncio.run(servers.close())


async def test_another_thread_may_close_it_while_it_connects(make: Make) -> None:
    servers = make(config("a", "mute"), patience=60)
    asking = asyncio.create_task(servers.tools())
    while servers.statuses()[0].state != "connecting":  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)
    await asyncio.to_thread(asyncio.run, servers.close())
    async with asyncio.timeout(15):
        assert await asking == []


async def test_a_server_sees_only_what_it_is_given(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "s3cr3t")
    monkeypatch.setenv("MY_KEY", "k3y")
    servers = make(config("a", env={"GIVEN": "${MY_KEY}"}))
    seen = (await run((await offered(servers))["mcp__a__env"])).text
    assert "s3cr3t" not in seen
    assert '"GIVEN": "k3y"' in seen


@pytest.mark.parametrize(
    ("fields", "folder"), [({}, "workspace"), ({"scope": "user"}, "home"), ({"cwd": ""}, "workspace")]
)
async def test_a_persons_own_server_does_not_run_in_the_workspace(
    make: Make, tmp_path: Path, fields: dict[str, Any], folder: str
) -> None:
    (tmp_path / "home").mkdir()
    servers = make(config("a", **fields), environment={**os.environ, "HOME": str(tmp_path / "home")})
    seen = json.loads((await run((await offered(servers))["mcp__a__env"])).text)
    wanted = tmp_path / "home" if folder == "home" else tmp_path
    assert await asyncio.to_thread(os.path.samefile, seen["PWD_NOW"], wanted)


async def test_a_yes_to_a_call_pins_only_what_the_question_could_show(make: Make, tmp_path: Path) -> None:
    servers = make(config("a", "describe=" + "x" * 19_900))
    tools = await offered(servers)
    assert (await run(tools["mcp__a__echo"], text="hi")).text == "hi"
    assert (await offered(servers))["mcp__a__echo"].asks
    await run(tools["mcp__a__env"])
    assert not (await offered(servers))["mcp__a__env"].asks


async def test_servers_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(
        json.dumps({"mcpServers": {"a": {"command": sys.executable, "args": ["-I", "-S", str(SERVER)], "odd": 1}}})
    )
    async with McpServers.from_file(tmp_path / "mcp.json", workspace=tmp_path) as servers:
        assert "mcp__a__echo" in await offered(servers)
        assert any("odd" in note for note in servers.notes())
    with pytest.raises(ConfigError, match="cannot be read"):
        McpServers.from_file(tmp_path / "none.json")


async def test_an_error_is_an_error_result_or_is_raised(make: Make) -> None:
    tools = await offered(make(config("a")))
    assert (await run(tools["mcp__a__fail"])).is_error
    assert (await failure(run(tools["mcp__a__refuse"]))).why == "refused"
    assert (await failure(run(tools["mcp__a__crash"]))).why == "lost"


async def test_resources_and_prompts(make: Make) -> None:
    servers = make(config("a"), config("off", enabled=False))
    [part] = await servers.read_resource("a", "note://1")
    assert isinstance(part, TextPart)
    assert "at note://1" in part.text
    [message] = await servers.prompt("a", "greet", {"who": "Ada"})
    assert message.role == "user"
    with pytest.raises(ConfigError, match="not enabled"):
        await servers.prompt("off", "greet")
    with pytest.raises(ConfigError, match="not there"):
        servers.connection("other")
    assert [status.state for status in servers.statuses()] == ["ready", "off"]


async def test_tools_that_cannot_be_used_are_left_out_with_a_note(make: Make, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    odd = """
ODD = [{"inputSchema": {}}, {"name": 5}, {"name": "bad", "inputSchema": {"type": "string"}},
       {"name": "long", "description": "x" * 30_000, "inputSchema": {"type": "object"}},
       {"name": "twin", "inputSchema": {"type": "object"}},
       {"name": "twin", "description": "other", "inputSchema": {"type": "object"}},
       {"name": "same", "inputSchema": {"type": "object"}}, {"name": "same", "inputSchema": {"type": "object"}}]
def listing(params):
    return {"tools": tools()[:1] + ODD}
"""
    script.write_text(SERVER.read_text().replace("def words(", odd + "\n\ndef words("))
    servers = make(ServerConfig(name="a", command=sys.executable, args=("-I", "-S", str(script))))
    assert set(await offered(servers)) == {"mcp__a__echo", "mcp__a__same"}
    notes = "\n".join(servers.notes())
    for word in ("without a name", "bad", "long", "twin"):
        assert word in notes
    await offered(servers)
    assert servers.notes() == []


async def test_a_file_of_pins_that_cannot_be_used_offers_nothing(make: Make, tmp_path: Path) -> None:
    (tmp_path / "pins.json").write_text("{")
    (tmp_path / "pins.json").chmod(0o600)
    with pytest.raises(ConfigError, match="damaged"):
        await make(config("a")).tools()


def test_what_cannot_be_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="one name"):
        McpServers([config("a b"), config("a b")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError) as caught:
        McpServers([config("a")])
    assert "toolwire[mcp]" in caught.value.hint
    McpServers([config("a", enabled=False)])


async def test_a_log_in_the_folder_for_logs(make: Make, tmp_path: Path) -> None:
    servers = make(config("a", "die=initialize"), logs=tmp_path / "logs", environment=dict(os.environ))
    await servers.tools()
    [log] = (tmp_path / "logs").iterdir()
    assert await asyncio.to_thread(until, lambda: "dying at initialize" in log.read_text())
