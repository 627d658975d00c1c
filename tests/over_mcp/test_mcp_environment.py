"""What a server sees of the environment: what every child may, what its entry gives, and nothing else."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pytest
from bench.trust import mcp_environment

from over_mcp.real_servers import everything_server
from toolwire.errors import McpFailed
from toolwire.execution.environment import ALLOWED, CALL_MARK, CAREFUL_GIT
from toolwire.mcp import stdio
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.pins import Pins
from toolwire.mcp.servers import McpServers

LINE_SERVER = Path(__file__).with_name("line_server.py")


def test_no_canary_reaches_a_server() -> None:
    found = mcp_environment.canaries(1_000, random.randrange(2**31))
    assert found.faults == []
    assert found.runs == 1_000


def test_it_is_seen_when_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "child_environment", lambda env, extra: {**env, **extra})
    assert any("the server sees" in fault for fault in mcp_environment.canaries(20, 1).faults)


async def test_a_real_server_sees_the_few_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    config = everything_server(trusted=True, env={"GIVEN": "${OPENAI_API_KEY}", "PLAIN": "x"})
    async with McpServers([config], pins=Pins(None), patience=20) as servers:
        told = await servers.connection("everything").call("get-env", {})
    seen = json.loads(told["content"][0]["text"])
    assert (seen.pop("GIVEN"), seen.pop("PLAIN")) == ("sk-canary", "x")
    assert set(seen) <= ALLOWED | {CALL_MARK, *CAREFUL_GIT}
    assert "sk-canary" not in seen.values()


async def test_a_variable_that_is_missing_starts_nothing(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    args = ("-I", "-S", str(LINE_SERVER), f"lives={lives}")
    config = ServerConfig(name="line", command=sys.executable, args=args, env={"KEY": "${TOOLWIRE_NOT_THERE}"})
    assert "TOOLWIRE_NOT_THERE" not in os.environ
    async with McpServers([config], pins=Pins(None), patience=20) as servers:
        with pytest.raises(McpFailed) as refused:
            await servers.connection("line").open()
    assert refused.value.why == "start"
    assert "TOOLWIRE_NOT_THERE" in refused.value.message
    assert not lives.exists()
