"""F1 for MCP servers: what lies in Toolwire's environment does not reach a server unless its entry gives it.

Secrets are planted in this process's own environment, under names that look allowed too. A server is started as a
person would have it, tells its environment, and every process that belongs to it is looked at from outside. A server at
an address is asked as well: nothing of them is in any byte that it gets.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from pathlib import Path

from toolwire.execution.supervisor import descendants
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.pins import Pins
from toolwire.mcp.servers import McpServers
from toolwire.tools.definition import Risk

from . import Found
from .children import new_token, planted
from .http_place import Asked, place, server

LINE_SERVER = Path(__file__).parents[2] / "tests" / "over_mcp" / "line_server.py"
GIVEN = "the one that is given"


def canaries(count: int, seed: int) -> Found:
    """So many secrets in the environment; plan: 1,000, a second."""
    found = Found(runs=count)
    with planted(count, random.Random(seed)) as secret:
        os.environ["TOOLWIRE_GIVEN"] = GIVEN
        try:
            asyncio.run(_looked_for(secret, found))
        finally:
            del os.environ["TOOLWIRE_GIVEN"]
    return found


async def _looked_for(secret: str, found: Found) -> None:
    token = new_token()
    line = ServerConfig(
        name="line",
        command=sys.executable,
        args=("-I", "-S", str(LINE_SERVER)),
        env={"TOKEN": token, "WANTED": "${TOOLWIRE_GIVEN}", "ELSE": "${TOOLWIRE_NOT_THERE:-else}"},
        risk=Risk.READ,
        trusted=True,
    )
    async with place(_answered) as far:
        address = ServerConfig(name="far", url=f"{far.url}/mcp", headers={"X-Given": "${TOOLWIRE_GIVEN}"}, trusted=True)
        async with McpServers([line, address], pins=Pins(None), workspace="/") as servers:
            told = await servers.connection("line").call("env", {})
            seen: dict[str, str] = json.loads(told["content"][0]["text"])
            await servers.connection("far").call("say", {})
            outside = _environments()
        asked = b"".join(each.raw for each in far.asked)
    if (seen.get("WANTED"), seen.get("ELSE")) != (GIVEN, "else") or GIVEN.encode() not in asked:
        found.fault("what the entries give did not arrive")
    if "TOOLWIRE_GIVEN" in seen:
        found.fault("a variable that an entry takes its value from was handed on by its own name")
    if not any(token.encode() in data for data in outside.values()):
        found.fault("no process of the server was found")
    for name, value in seen.items():
        if secret in name or secret in value:
            found.fault(f"the server sees {name}")
    for process, data in outside.items():
        if secret.encode() in data:
            found.fault(f"a process of the server was started with a secret: {process}")
    if secret.encode() in asked:
        found.fault("a secret was sent over HTTP")
    found.words = f"{len(seen)} variables in the server, {len(outside)} processes looked at"


def _environments() -> dict[int, bytes]:
    """What every process that this one started was given, supervisors too."""
    return {process: Path(f"/proc/{process}/environ").read_bytes() for process in descendants(os.getpid())}


async def _answered(asked: Asked, writer: asyncio.StreamWriter) -> bytes:
    return server(asked)
