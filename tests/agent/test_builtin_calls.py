"""A model's WRITE_FILE, EDIT_FILE and RUN_BASH segments, native and written, lead to the built-in tools."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from builtin_calls import call_tool
from feeding import delta, sse
from toolwire import Agent, SegmentEvent, SegmentType, builtin_tools
from toolwire.agent.events import AgentEvent, ApprovalAsked, RunFinished, ToolFinished
from toolwire.approval.request import ApprovalRequest
from toolwire.embedded.registry import text_format
from toolwire.execution.sandbox.sandbox import find_sandbox
from toolwire.files.journal import Journal
from toolwire.tools.registry import ToolRegistry
from toolwire.transport import HttpRequest
from wire_bodies import WIRES, Call, End, Text, body

PROVIDER_OF = {wire: wire for wire in WIRES} | {"openai-chat": "openai"}
EDIT = "@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
CALLS: list[tuple[str, dict[str, Any], SegmentType]] = [
    ("write_file", {"path": "notes/a.txt", "content": "one\ntwo\n"}, SegmentType.WRITE_FILE),
    ("edit_file", {"path": "notes/a.txt", "patch": EDIT}, SegmentType.EDIT_FILE),
    ("run_bash", {"command": "wc -l notes/a.txt && cat notes/a.txt"}, SegmentType.RUN_BASH),
]


class Script:
    """A transport that answers each request with the next body."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        yield self.answers.pop(0)

    async def aclose(self) -> None:
        pass


async def run(agent: Agent) -> list[AgentEvent]:
    return [event async for event in agent.run("Write it.")]


def check(events: list[AgentEvent], asked: list[ApprovalRequest], root: Path) -> None:
    assert isinstance(events[-1], RunFinished), events[-1]
    segments = [event.segment_type for event in events if isinstance(event, SegmentEvent) and event.tool_name]
    assert segments == [kind for *_, kind in CALLS]
    heads = [event.metadata for event in events if isinstance(event, SegmentEvent) and event.tool_name]
    assert [head and (head.get("path") or head.get("command")) for head in heads][:2] == ["notes/a.txt"] * 2
    results = [event.result for event in events if isinstance(event, ToolFinished)]
    assert [result.is_error for result in results] == [False] * 3, [result.content for result in results]
    assert (root / "notes" / "a.txt").read_text() == "one\nthree\n"
    assert "2 notes/a.txt\none\nthree" in results[2].content
    assert [request.invocation.tool_name for request in asked][:2] == ["write_file", "edit_file"]
    assert "-two\n+three" in asked[1].preview


def agent(model: str, root: Path, asked: list[ApprovalRequest], *answers: bytes, **options: Any) -> Agent:
    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    root.mkdir()
    tools = builtin_tools(journal=Journal(root.parent / "undo", str(root)))
    where = {"base_url": "http://127.0.0.1:1/v1", "api_key": "none", **options}
    return Agent(model, tools, workspace=root, approve=approve, transport=Script(*answers), **where)


@pytest.mark.parametrize("wire", WIRES)
async def test_native(wire: str, tmp_path: Path) -> None:
    asked: list[ApprovalRequest] = []
    answers = [
        body(wire, Call(f"c{number}", name, json.dumps(arguments)), End())
        for number, (name, arguments, _) in enumerate(CALLS)
    ]
    root = tmp_path / "w"
    async with agent(f"{PROVIDER_OF[wire]}:m", root, asked, *answers, body(wire, Text("Done."), End())) as it:
        check(await run(it), asked, root)


@pytest.mark.parametrize("parser", ["xml", "json", "sentinel", "hermes", "qwen3-coder"])
async def test_written(parser: str, tmp_path: Path) -> None:
    asked: list[ApprovalRequest] = []
    tools = ToolRegistry(builtin_tools())
    texts = [text_format(parser).write_call(name, arguments, tools[name]) for name, arguments, _ in CALLS]
    answers = [sse(delta(content=text), delta(finish="stop")) for text in (*texts, "Done.")]
    root = tmp_path / "w"
    async with agent("openai-compatible:m", root, asked, *answers, stream_parser=parser) as it:
        check(await run(it), asked, root)


async def test_the_shorthand_of_xml(tmp_path: Path) -> None:
    asked: list[ApprovalRequest] = []
    texts = [
        '<write_file path="notes/a.txt">one\ntwo\n</write_file>',
        f'<edit_file path="notes/a.txt">{EDIT}</edit_file>',
        "<run_bash>wc -l notes/a.txt && cat notes/a.txt</run_bash>",
        "Done.",
    ]
    answers = [sse(delta(content=text), delta(finish="stop")) for text in texts]
    root = tmp_path / "w"
    async with agent("openai-compatible:m", root, asked, *answers, stream_parser="xml") as it:
        check(await run(it), asked, root)


async def test_side_by_side_edits_of_one_file_are_all_there(tmp_path: Path) -> None:
    asked: list[ApprovalRequest] = []
    lines = [f"line {number}" for number in range(8)]
    calls = [
        Call(
            f"c{number}",
            "edit_file",
            json.dumps({"path": "a.txt", "old_text": f"line {number}\n", "new_text": f"LINE {number}\n"}),
        )
        for number in range(8)
    ]
    root = tmp_path / "w"
    answers = [body("anthropic", *calls, End()), body("anthropic", Text("Done."), End())]
    async with agent("anthropic:m", root, asked, *answers, policy="auto-edit") as it:
        (root / "a.txt").write_text("\n".join(lines) + "\n")
        events = await run(it)
    assert (root / "a.txt").read_text() == "\n".join(lines).upper() + "\n"
    assert not [event for event in events if isinstance(event, ApprovalAsked)]


def test_every_tool_says_what_it_is() -> None:
    tools = builtin_tools()
    assert {"read_file", "list_directory", "search_files", "write_file", "edit_file", "run_bash", "fetch_url"} < {
        tool.name for tool in tools
    }
    for tool in tools:
        assert tool.risk is not None, tool.name
        assert 30 < len(tool.description) < 1_500, (tool.name, len(tool.description))
        for name, schema in tool.parameters["properties"].items():
            assert schema.get("description"), (tool.name, name)


@pytest.mark.skipif(not find_sandbox().holds, reason=f"nothing confines commands here: {find_sandbox().words}")
async def test_commands_read_neither_keys_nor_toolwires_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, state, home = tmp_path / "w", tmp_path / "state", tmp_path / "home"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.setenv("HOME", str(home))
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("a key")
    (state / "toolwire" / "undo").mkdir(parents=True)
    (state / "toolwire" / "undo" / "old").write_text("what a file held")
    (state / "other").write_text("of another program")
    root.mkdir()
    bash = ToolRegistry(builtin_tools())["run_bash"]
    files = f"{state}/other {state}/toolwire/undo/old {home}/.ssh/id"
    said = (await call_tool(bash, {"command": f"cat {files}"}, root)).content
    assert "of another program" in said
    assert "what a file held" not in said
    assert "a key" not in said
