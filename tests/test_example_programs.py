"""Every program in examples/ runs, as a process of its own, with a scripted model on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from cli.command import clean_environment
from toolwire.testing import ScriptedModel, call, say

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
MODEL = "openai:any"
SECONDS = 60


def environment(url: str, **more: str) -> dict[str, str]:
    return clean_environment(
        {
            "OPENAI_BASE_URL": url,
            "OPENAI_API_KEY": "none",
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": "*",
            **more,
        }
    )


async def python(*words: str, typed: str = "", env: Mapping[str, str], cwd: Path) -> str:
    """What a program prints; it must end with 0."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(env),
        cwd=cwd,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(typed.encode()), SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, out.decode()
    return out.decode()


async def run(name: str, script: Sequence[Any], *words: str, typed: str = "", cwd: Path, **env: str) -> str:
    """What an example prints when the model says this, all of which it must have asked for."""
    model = ScriptedModel(script)
    async with model.serve() as url:
        out = await python(str(EXAMPLES / name), *words, typed=typed, env=environment(url, **env), cwd=cwd)
    assert model.left == 0, f"{model.left} answers of the model are left\n{out}"
    return out


async def test_chat_app(tmp_path: Path) -> None:
    script = [
        [say("Let me look."), call("current_time", timezone="Asia/Tokyo")],
        say("Almost midnight."),
        say("You are welcome."),
    ]
    out = await run("chat_app.py", script, MODEL, typed="What time is it in Tokyo?\nThanks\n", cwd=tmp_path)
    assert "Let me look.\n[current_time {'timezone': 'Asia/Tokyo'}] → " in out
    assert "Almost midnight.\n> You are welcome.\n> " in out
    assert '{"timezone"' not in out


async def test_approvals(tmp_path: Path) -> None:
    script = [
        [call("save", path="notes/a.md", text="a"), call("save", path=".env", text="b")],
        call("send", to="ana@example.com", text="Buy milk"),
        call("send", to="bob@example.com", text="Buy milk"),
        say("One mail is sent."),
    ]
    out = await run("approvals.py", script, MODEL, typed="y\nwrong person\n", cwd=tmp_path)
    assert out.count("Run it?") == 2
    assert "send (risk: network)\nto: ana@example.com\ntext: Buy milk\n" in out
    assert out.endswith("One mail is sent.\n")
    assert os.listdir(tmp_path) == []


async def test_approvals_tell_the_model_why_not(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            [call("save", path=".env", text="b"), call("send", to="bob@example.com", text="Hi")],
            say("Nothing is sent."),
        ]
    )
    async with model.serve() as url:
        example = str(EXAMPLES / "approvals.py")
        await python(example, MODEL, typed="wrong person\n", env=environment(url), cwd=tmp_path)
    results = [message["content"] for message in model.requests[1]["messages"] if message["role"] == "tool"]
    assert "secrets stay here" in results[0]
    assert "wrong person" in results[1]


async def test_mcp_tools(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    uvx = programs / "uvx"
    uvx.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m mcp_server_time\n")  # uvx itself would fetch it
    uvx.chmod(0o755)
    path = f"{programs}:{clean_environment()['PATH']}"
    script = [call("mcp__time__get_current_time", timezone="America/Lima"), say("It is noon.")]
    out = await run("mcp_tools.py", script, MODEL, "And in Lima?", typed="y\n", cwd=tmp_path, PATH=path)
    assert "Tools: mcp__time__get_current_time" in out
    assert "convert_time" not in out
    assert '"timezone": "America/Lima"' in out
    assert "It is noon." in out


def invoice(total: float, **changed: Any) -> dict[str, Any]:
    lamps = {"name": "lamp", "count": 2, "price": 40}
    desk = {"name": "desk", "count": 1, "price": 120}
    return {"number": 17, "day": "2026-03-03", "items": [lamps, desk], "total": total, **changed}


async def test_structured_loop(tmp_path: Path) -> None:
    script = [
        call("record", invoice=invoice(200, day="yesterday")),  # does not fit the schema
        call("record", invoice=invoice(180)),  # does not add up
        call("record", invoice=invoice(200)),
        say("I see no invoice."),
    ]
    out = await run("structured_loop.py", script, MODEL, cwd=tmp_path)
    first, second = out.splitlines()
    assert json.loads(first) == {
        "number": 17,
        "day": "2026-03-03",
        "items": [{"name": "lamp", "count": 2, "price": 40.0}, {"name": "desk", "count": 1, "price": 120.0}],
        "total": 200.0,
    }
    assert second.startswith("nothing found in: Hi, here is no. 18")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "xml",
            '<tool name="convert_temperature">\n<arguments>\n<arg name="celsius">20</arg>\n</arguments>\n</tool>',
        ),
        (
            "hermes",
            '<tool_call>\n{"name": "convert_temperature", "arguments": {"celsius": 20}}\n</tool_call>',
        ),
    ],
)
async def test_text_format_model(tmp_path: Path, name: str, said: str) -> None:
    out = await run("text_format_model.py", [f"I convert it.\n{said}", "It is 68 °F."], MODEL, name, cwd=tmp_path)
    assert out.startswith(f"Calls are read as: {name}\nI convert it.\n")
    assert "Arguments: {'celsius': 20}" in out
    assert "Result: 20.0 °C = 68 °F\n" in out
    assert out.endswith("Answer: It is 68 °F.\n")


async def test_custom_tool(tmp_path: Path) -> None:
    script = [
        [call("in_stock", article="lamp"), call("price", article="lamp")],
        call("order", article="lamp", pieces=500),
        call("order", article="lamp", pieces=5),
        say("Five more are ordered."),
    ]
    out = (await run("custom_tool.py", script, MODEL, cwd=tmp_path)).splitlines()
    assert sorted(out[:2]) == ["in_stock: 3", "price: 40 euros"]  # in the order in which they end
    assert out[2].startswith("order: Error: not run")
    assert "… ordering 5" in out[3:]
    assert out[-2:] == ["order: 8 in stock now", "Five more are ordered."]


async def test_durable_run(tmp_path: Path) -> None:
    """The first process ends before the answer; the second does not ask the model again for what is recorded."""
    first = [call("publish", title="Notes")]
    out = await run("durable_run.py", first, cwd=tmp_path, TOOLWIRE_MODEL=MODEL)
    assert out == "Waiting for approval of: title: Notes\n"
    out = await run("durable_run.py", [say("It is out.")], "yes", cwd=tmp_path, TOOLWIRE_MODEL=MODEL)
    assert out == "publishing Notes\nfinished: It is out.\n"
    assert await run("durable_run.py", [], cwd=tmp_path, TOOLWIRE_MODEL=MODEL) == "finished: It is out.\n"


async def test_sdk_stream(tmp_path: Path) -> None:
    script = [[say("Let me look."), call("get_weather", city="Paris")], say("It is 18 °C and sunny.")]
    out = await run("sdk_stream.py", script, "any", cwd=tmp_path)
    assert 'content {"city":\ncontent "Paris"}\nend' in out
    assert out.count("done ") == 2
    assert out.endswith("\nIt is 18 °C and sunny.\n")


async def test_replay_test(tmp_path: Path) -> None:
    script = [call("get_weather", city="Paris"), say("It is 18 °C.")]
    out = await run("replay_test.py", script, MODEL, cwd=tmp_path)
    assert out == "recorded in weather.jsonl: It is 18 °C.\n"
    pytest_words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "replay_test.py"))
    assert "1 passed" in await python(*pytest_words, env=environment("http://127.0.0.1:9"), cwd=tmp_path)
    recording = tmp_path / "weather.jsonl"
    recording.write_text(recording.read_text().replace("18 °C", "99 °C"))
    with pytest.raises(AssertionError, match="1 failed"):
        await python(*pytest_words, env=environment("http://127.0.0.1:9"), cwd=tmp_path)


async def test_web_stream(tmp_path: Path) -> None:
    script = [[say("Let me look."), call("get_weather", city="Paris")], say("It is 18 °C.")]
    model = ScriptedModel(script)
    async with model.serve() as url:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(EXAMPLES / "web_stream.py"),
            MODEL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment(url, PORT="0"),
            cwd=tmp_path,
        )
        try:
            assert process.stdout is not None
            line = await asyncio.wait_for(process.stdout.readline(), SECONDS)
            address = next(word for word in line.decode().split() if word.startswith("http://127.0.0.1:"))
            async with aiohttp.ClientSession() as client:
                async with client.get(address) as page:
                    assert 'new EventSource("/run?"' in await page.text()
                async with client.get(f"{address}/run", params={"prompt": "Weather in Paris?"}) as response:
                    assert response.content_type == "text/event-stream"
                    body = await response.text()
            process.terminate()
            assert await asyncio.wait_for(process.wait(), SECONDS) == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    events = [json.loads(frame.removeprefix("data: ")) for frame in body.split("\n\n") if frame]
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-1]) == ("run_started", "run_finished")
    (finished,) = [event for event in events if event["type"] == "tool_finished"]
    assert finished["result"]["content"] == "18 °C and sunny in Paris"
    assert model.requests[0]["messages"][-1]["content"] == "Weather in Paris?"


def test_every_example_is_listed_and_tested() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    assert len(programs) >= 10
    index, tests = (EXAMPLES / "README.md").read_text(), Path(__file__).read_text()
    for name in programs:
        assert index.count(f"]({name})") == 1, name
        assert f'"{name}"' in tests, name
        text = (EXAMPLES / name).read_text()
        assert text.startswith('"""'), name
        assert f"examples/{name}" in text.split('"""')[1], f"{name}: its docstring does not say how to run it"
