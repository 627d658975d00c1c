"""What `toolwire doctor` says of what runs for a model: the sandbox of commands, and MCP servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing

from ..errors import ConfigError, McpFailed, ToolwireError
from ..execution.sandbox.escapes import ESCAPES, Escape
from ..execution.sandbox.sandbox import find_sandbox
from ..execution.sandbox.trials import try_escapes
from ..mcp.config import ServerConfig
from ..mcp.sdk import check_sdk
from .doctor_findings import Finding, odd, unused, well, wrong
from .mcp_servers import TRUST, McpHere, for_shell
from .sandbox import WHAT_TO_DO

_KINDS = ("network", "write", "read", "process", "privilege")
_OF_EACH = 2


def tried() -> list[Escape]:
    """Some of the ways out that `toolwire sandbox test` tries: two of each kind that are soon done."""
    quick = [escape for escape in ESCAPES if escape.quick and not escape.grows and not escape.needs]
    return [each for kind in _KINDS for each in [way for way in quick if way.kind == kind][:_OF_EACH]]


async def sandbox() -> list[Finding]:
    """What holds commands here, and whether it does."""
    found = await asyncio.to_thread(find_sandbox)
    if not found.holds:
        words = f"{found.words}; commands run without one, and each that does more than read is asked about"
        return [odd("sandbox", words, WHAT_TO_DO)]
    held, out = 0, []
    async with aclosing(try_escapes(found, tried())) as trials:
        async for trial in trials:
            if trial.state == "held":
                held += 1
            elif trial.state != "not tried":
                out.append(trial.name)
    if out:
        words = f"{found.words}; but {', '.join(out)} did not hold or did not start"
        return [wrong("sandbox", words, "All of it, with the reasons: toolwire sandbox test")]
    gaps = f"; not held: {', '.join(found.gaps)}" if found.gaps else ""
    words = f"{found.words}; {held} ways out were tried and held{gaps} (all of them: toolwire sandbox test)"
    return [well("sandbox", words, held=held, gaps=list(found.gaps))]


async def servers(root: str, seconds: float, *, connect: bool) -> list[Finding]:
    """Each MCP server that may be started, connected to and listed; all at the same time."""
    try:
        here = McpHere(root)
        configs = [config for config in here.servers if config.enabled]
        if not configs:
            return [unused("servers", "none is set up here", "Add one: toolwire mcp add time -- uvx mcp-server-time")]
        check_sdk()
    except ConfigError as error:
        return [wrong("servers", error.message, error.hint)]
    usable = [config for config in configs if here.may_start(config)]
    found = [
        odd(config.name, "of this project, not started without your consent", f"{TRUST} {for_shell(config.name)}")
        for config in configs
        if config not in usable
    ]
    if not connect:
        return [*found, *(unused(config.name, "not connected to (--offline)") for config in usable)]
    return [*found, *await _connected(here, usable, seconds)]


async def _connected(here: McpHere, configs: Sequence[ServerConfig], seconds: float) -> list[Finding]:
    async with here.open(configs, person=False, tell=lambda _: None) as opened:

        async def one(config: ServerConfig) -> Finding:
            started = time.monotonic()
            try:
                connection = await asyncio.to_thread(opened.connection, config.name)  # the SDK takes long to import
                started = time.monotonic()
                async with asyncio.timeout(seconds):
                    await connection.open()
                    tools = await connection.list_tools()
            except TimeoutError:
                words = f"no answer within {seconds:g} s"
                return wrong(config.name, words, f"toolwire mcp test {for_shell(config.name)} says more.")
            except ToolwireError as error:
                first = error.hint.partition("\n")[0]
                kind = odd if isinstance(error, McpFailed) and error.facts.get("why") == "login" else wrong
                return kind(
                    config.name, error.message, first or f"toolwire mcp test {for_shell(config.name)} says more."
                )
            took = time.monotonic() - started
            count = len(tools)
            words = f"connected and listed in {took:.1f} s, {count} tool{'' if count == 1 else 's'}"
            return well(config.name, words, seconds=round(took, 3), tools=count)

        return list(await asyncio.gather(*map(one, configs)))
