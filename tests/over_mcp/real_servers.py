"""MCP servers that others wrote, as the tests find them: two of Python in the tests' own environment, two of Node.js.

`None` where one is not there; a test that wants it says so and is skipped.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from toolwire.mcp.config import ServerConfig

ENVIRONMENT = Path(sys.prefix)
EVERYTHING = ENVIRONMENT / "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
FILESYSTEM = ENVIRONMENT / "node/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"

_ON_LOOPBACK = """import net from "node:net";
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, done) {
  return listen.call(this, Number(port), "127.0.0.1", () => { console.log("PORT", this.address().port); done?.(); });
};"""
"""It would listen on every address of the machine, and say only the number that it was given."""


def time_server(**more: Any) -> ServerConfig:
    """mcp-server-time."""
    return _python("time", "mcp-server-time", "--local-timezone=Europe/Berlin", **more)


def git_server(folder: Path, **more: Any) -> ServerConfig:
    """mcp-server-git, for one repository."""
    return _python("git", "mcp-server-git", "--repository", str(folder), **more)


def everything_server(**more: Any) -> ServerConfig:
    """server-everything over its pipes."""
    return _node("everything", EVERYTHING, "stdio", **more)


def filesystem_server(folder: Path, **more: Any) -> ServerConfig:
    """server-filesystem, for one folder."""
    return _node("files", FILESYSTEM, str(folder), **more)


@asynccontextmanager
async def everything_over_http(**more: Any) -> AsyncIterator[ServerConfig]:
    """server-everything, running, on a port of this machine."""
    config = _node("everything", EVERYTHING, "streamableHttp")
    child = await asyncio.create_subprocess_exec(
        config.command,
        *("--import", f"data:text/javascript,{quote(_ON_LOOPBACK)}", *config.args),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "PORT": "0"},
    )
    try:
        async with asyncio.timeout(20):
            port = await _port(child)
        reading = asyncio.create_task(_drained(child))
        yield ServerConfig(name="everything", url=f"http://127.0.0.1:{port}/mcp", **more)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
    await reading


async def _port(child: asyncio.subprocess.Process) -> int:
    assert child.stdout is not None
    while line := await child.stdout.readline():
        if line.startswith(b"PORT "):
            return int(line.split()[1])
    raise AssertionError("the server ended before it listened")


async def _drained(child: asyncio.subprocess.Process) -> None:
    assert child.stdout is not None
    while await child.stdout.read(65_536):
        pass


def _python(name: str, program: str, *words: str, **more: Any) -> ServerConfig:
    path = Path(sys.executable).with_name(program)
    if not path.exists():
        pytest.skip(f"{program} is not installed: make test does that")
    return ServerConfig(name=name, command=str(path), args=words, **more)


def _node(name: str, script: Path, *words: str, **more: Any) -> ServerConfig:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node.js here")
    if not script.exists():
        pytest.skip(f"{script.parents[1].name} is not installed: make test does that")
    return ServerConfig(name=name, command=node, args=(str(script), *words), **more)
