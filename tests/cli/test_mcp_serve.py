"""`toolwire mcp serve` as a program, and the official clients at its other end."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from cli.command import Ran, assert_sentence, clean_environment
from over_mcp.serving_ways import with_token
from toolwire.cli import mcp_serve
from toolwire.cli.app import run_command
from toolwire.cli.mcp_serve import TOKEN_VARIABLE
from toolwire.mcp import serving_http
from toolwire.mcp.serving_http import Door
from waiting import sleeping, until

TOOLS = '''
from __future__ import annotations
import subprocess
import toolwire
from beside import EMPTY

print("loading is loud")

@toolwire.tool(risk="read")
def loud(words: str) -> str:
    """Says it aloud."""
    print(words)
    subprocess.run(["echo", words])
    try:
        input()
    except EOFError:
        return f"{words}, and nobody answered"
    return "somebody answered" + EMPTY

@toolwire.tool(risk="read")
async def sleep(token: str) -> str:
    """Sleeps."""
    import asyncio
    from toolwire.execution.process import run_process
    from toolwire.tools.running import this_call
    here = this_call()
    await run_process(["sleep", token], cwd=here.cwd, environment=here.environment, timeout=50)
    return "slept"
'''


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "my_tools.py").write_text(TOOLS)
    (tmp_path / "project" / "beside.py").write_text("EMPTY = ''")
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    names = ("CONFIG", "STATE")
    return clean_environment({f"XDG_{name}_HOME": str(home / name.lower()) for name in names} | {"HOME": str(home)})


Command = Callable[..., Ran]


@pytest.fixture
def here(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """The command, run in this process: it has loaded the SDK already."""
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home / "project")

    def run(*options: str) -> Ran:
        code = run_command(["mcp", "serve", *options])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return run


def started(home: Path, *options: str) -> StdioServerParameters:
    words = ["-m", "toolwire", "mcp", "serve", *options]
    return StdioServerParameters(command=sys.executable, args=words, env=environment(home), cwd=home / "project")


def asking(asked: list[str]) -> Callable[..., Any]:
    async def ask(context: object, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"run": True})

    return ask


def text_of(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_over_pipes(mode: str, home: Path) -> None:
    """What a tool prints disturbs nothing, a file is read unasked and written when the person says yes."""
    asked: list[str] = []
    server = started(home, "--file", "my_tools.py", "--tools", "builtin")
    async with Client(server, mode=mode, elicitation_callback=asking(asked)) as client:
        names = [each.name for each in (await client.list_tools()).tools]
        assert names[:2] == ["loud", "sleep"]
        assert {"read_file", "write_file"} <= set(names)
        assert "ask_user" not in names
        results = await asyncio.gather(*(client.call_tool("loud", {"words": f"word {n}"}) for n in range(10)))
        assert [text_of(each) for each in results] == [f"word {n}, and nobody answered" for n in range(10)]
        assert "loading is loud" in text_of(await client.call_tool("read_file", {"path": "my_tools.py"}))
        assert asked == []
        outside = await client.call_tool("read_file", {"path": str(home / "outside")})
        assert outside.is_error
        await client.call_tool("write_file", {"path": "new.txt", "content": "kept\n"})
        assert (home / "project" / "new.txt").read_text() == "kept\n"
        assert len(asked) == 1
        assert "new.txt" in asked[0]
    trail = (home / "state" / "toolwire" / "audit.jsonl").read_text()
    assert '"approved"' in trail
    assert '"who":"client"' in trail


@contextmanager
def over_http(home: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process, its address and its token."""
    words = [sys.executable, "-m", "toolwire", "mcp", "serve", "--http", "0", *options]
    process = subprocess.Popen(
        words, env=environment(home), cwd=home / "project", stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline() + process.stderr.readline()
        assert " until Ctrl-C" in said, said
        yield process, said.partition(" at ")[2].partition(" ")[0], said.rpartition("Bearer ")[2].strip()
    finally:
        process.kill()
        process.communicate(timeout=10)


def said_to_nonsense(address: str) -> str:
    """What the server answers to whom it does not understand."""
    host, port = address.removeprefix("http://").partition("/")[0].split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        return connection.recv(1000).decode()


async def test_a_server_over_http_until_ctrl_c(home: Path) -> None:
    token = f"62.{os.getpid()}"
    with over_http(home, "--file", "my_tools.py", "--no-audit") as (process, address, secret):
        assert address.startswith("http://127.0.0.1:")
        assert len(secret) >= 40
        async with Client(with_token(address, secret)) as client:
            assert text_of(await client.call_tool("loud", {"words": "hm"})) == "hm, and nobody answered"
            assert "400" in said_to_nonsense(address)
            call = asyncio.create_task(client.call_tool("sleep", {"token": token}))
            assert await asyncio.to_thread(until, lambda: sleeping(token))
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert await asyncio.to_thread(process.wait, 50) == 130
            assert time.monotonic() - began < 30
            assert not sleeping(token)
            assert process.stdout is not None
            assert process.stderr is not None
            printed = process.stdout.read() + process.stderr.read()
            assert "Traceback" not in printed
            assert "Invalid HTTP request" not in printed, "anyone could fill the log"
            call.cancel()
            await asyncio.wait({call})
    assert not (home / "state").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--http", "somewhere"], "is no place to listen"),
        (["--http", "127.0.0.1:99999"], "is no place to listen"),
        (["--http", "0.0.0.0:0"], "reached from other machines"),
        (["--http", "example.org:80"], "reached from other machines"),
        (["--http", "0", "--token-file", "short"], "the token in short is none"),
        (["--expose"], "are about --http"),
        (["--file", "none.py"], "there is no Python file none.py"),
        (["--file", "empty.py"], "there is no tool in empty.py"),
        (["--file", "broken.py"], "broken.py cannot be run: ZeroDivisionError"),
        (["--mode", "bold"], "bold"),
        (["--root", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_what_is_asked_for_wrongly_is_a_sentence(here: Command, options: list[str], words: str) -> None:
    for name, text in (("short", "secret"), ("empty.py", "x = 1"), ("broken.py", "1 / 0")):
        Path(name).write_text(text)
    assert_sentence(here(*options), 2, words)


def test_a_client_that_leaves_at_once_ends_it(here: Command) -> None:
    ran = here("--tools", "demo")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_what_others_should_not_reach_is_said(here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that was given is not shown, and an address that others reach is told of."""
    monkeypatch.setenv(TOKEN_VARIABLE, "a-token-that-nobody-guesses")
    monkeypatch.setattr(serving_http, "Door", ending_door)
    monkeypatch.setattr(mcp_serve, "_listening", lambda host, port: socket.create_server(("127.0.0.1", port)))
    ran = here("--http", "0.0.0.0:0", "--expose", "--tools", "demo")
    assert ran.code == 143
    assert "at http://0.0.0.0:" in ran.err
    assert "other machines reach this address" in ran.err
    assert "a-token-that-nobody-guesses" not in ran.err


def ending_door(inside: Any, *, token: str, hosts: frozenset[str] | None) -> Door:
    """A door that is told to end as soon as it opens: by the system, as a program is."""
    assert token == "a-token-that-nobody-guesses"
    assert hosts is None
    asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGTERM)
    return Door(inside, token=token, hosts=hosts)


NODE = """
import { Client } from "%s/client/index.js";
import { StdioClientTransport } from "%s/client/stdio.js";
const [command, ...args] = JSON.parse(process.argv[2]);
const client = new Client({ name: "node", version: "1" }, { capabilities: { elicitation: {} } });
const { ElicitRequestSchema } = await import("%s/types.js");
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { run: true } }));
await client.connect(new StdioClientTransport({ command, args, env: JSON.parse(process.argv[3]), stderr: "ignore" }));
const { tools } = await client.listTools();
const loud = await client.callTool({ name: "loud", arguments: { words: "hello" } });
const wrote = await client.callTool({ name: "write_file", arguments: { path: "node.txt", content: "node" } });
console.log(JSON.stringify({ tools: tools.map((each) => each.name), loud, wrote }));
await client.close();
"""


@pytest.mark.thorough
def test_the_official_client_for_node(home: Path) -> None:
    folders = [Path(sys.prefix) / "node" / "node_modules"]
    sdk = next(
        (each for each in (folder / "@modelcontextprotocol/sdk/dist/esm" for folder in folders) if each.exists()), None
    )
    node = shutil.which("node")
    if node is None or sdk is None:
        pytest.skip("there is no Node.js, or no MCP SDK for it")
    program = home / "client.mjs"
    program.write_text(NODE.replace("%s", str(sdk)))
    words = [sys.executable, "-m", "toolwire", "mcp", "serve", "--file", "my_tools.py", "--tools", "builtin"]
    done = subprocess.run(
        [node, str(program), json.dumps(words), json.dumps(environment(home))],
        cwd=home / "project",
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = json.loads(done.stdout)
    assert "loud" in said["tools"]
    assert said["loud"]["content"][0]["text"] == "hello, and nobody answered"
    assert not said["wrote"].get("isError")
    assert (home / "project" / "node.txt").read_text() == "node"
