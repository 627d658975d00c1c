"""The agent loop against a transport that plays recorded turns: requests out, events in, the history right."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec
import pytest

import toolwire
from agent.scripted import ADD, FIVE, SAVE, Script, agent, collect, last, ran
from feeding import call, delta, sse
from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.bounds import Bounds
from toolwire.agent.events import ApprovalAsked, RunFailed, ToolFinished, ToolStarted
from toolwire.agent.hooks import Hooks
from toolwire.approval.request import Answer, ApprovalRequest, deny
from toolwire.errors import ConfigError, ToolwireError, TransportError
from toolwire.messages import Message
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.testing import ScriptedModel, say


async def test_a_call_is_run_and_answered() -> None:
    script = Script(ADD, FIVE)
    it = agent(script)
    events = await collect(it)
    assert str(last(events)) == "It is 5."
    assert last(events).turns == 2
    assert last(events).usage.output_tokens == 2
    assert ran == [("add", (2, 3))]
    first, second = script.requests
    assert first["messages"] == [{"role": "user", "content": "2 + 3?"}]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["add", "save"]
    assert second["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":2,"b":3}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "5"},
    ]
    assert [message.role for message in it.messages] == ["user", "assistant", "tool", "assistant"]
    assert script.closed == 2


async def test_segment_invocation_and_result_have_one_id() -> None:
    events = await collect(agent(Script(ADD, FIVE)))
    started = [event.invocation.id for event in events if isinstance(event, ToolStarted)]
    finished = [event.result.id for event in events if isinstance(event, ToolFinished)]
    shown = [event.segment_id for event in events if isinstance(event, toolwire.SegmentEvent) and event.tool_name]
    assert started == finished == shown == ["c1"]


async def test_every_event_goes_to_json() -> None:
    async def approve(_: ApprovalRequest) -> bool:
        return True

    for answer in (ADD, SAVE):
        for event in await collect(agent(Script(answer, FIVE), approve=approve)):
            assert msgspec.json.decode(msgspec.json.encode(event))["type"]


async def test_a_changed_call_is_told_to_the_model_and_its_own_stays_in_the_history() -> None:
    async def change(_: ApprovalRequest) -> Answer:
        return Answer(allowed=True, arguments={"text": "y"})

    script = Script(SAVE, FIVE)
    await collect(agent(script, approve=change))
    assert ran == [("save", "y")]
    made, result = script.requests[1]["messages"][-2:]
    assert made["tool_calls"][0]["function"]["arguments"] == '{"text":"x"}'
    assert result["content"] == '[The person changed the arguments. It ran with: {"text":"y"}]\nsaved'


async def test_the_reason_of_a_no_reaches_the_model() -> None:
    async def no(_: ApprovalRequest) -> Answer:
        return deny("not on Sundays")

    script = Script(SAVE, FIVE)
    await collect(agent(script, approve=no))
    assert ran == []
    assert script.requests[1]["messages"][-1]["content"] == "Error: not run: the person said no: not on Sundays"


async def test_every_decision_goes_to_the_audit_trail(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    await collect(agent(Script(ADD, SAVE, FIVE), audit=path, api_key="sk-a-key-of-its-own-0123456789"))
    records = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert [(record["tool"], record["event"]) for record in records] == [
        ("add", "allowed"),
        ("add", "started"),
        ("add", "finished"),
        ("save", "denied"),
    ]


async def test_a_key_that_a_tool_was_given_is_not_written_down(tmp_path: Path) -> None:
    key = "a-key-of-its-own-0123456789"
    told = sse(delta(tool_calls=[call(f'{{"text":"{key}"}}', id="c1", name="save")]), delta(finish="tool_calls"))
    await collect(agent(Script(told, FIVE), policy="full", audit=tmp_path / "audit.jsonl", api_key=key))
    assert ran == [("save", key)]
    assert key.encode() not in (tmp_path / "audit.jsonl").read_bytes()


async def test_the_workspace_is_where_paths_are_judged(tmp_path: Path) -> None:
    @toolwire.tool(risk="read", paths=["path"])
    def look(path: str) -> str:
        """Looks."""
        return f"saw {path}"

    for path, seen in ((tmp_path / "x", True), (tmp_path.parent / "x", False)):
        made = call(msgspec.json.encode({"path": str(path)}).decode(), id="c1", name="look")
        script = Script(sse(delta(tool_calls=[made]), delta(finish="tool_calls")), FIVE)
        it = Agent("openai-compatible:m", [look], base_url="http://127.0.0.1:1", transport=script, workspace=tmp_path)
        await collect(it)
        assert script.requests[1]["messages"][-1]["content"].startswith("saw ") is seen


def test_a_folder_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ConfigError, match="not there any more"):
        agent(Script())
    assert agent(Script(), workspace=tmp_path)


async def test_a_mode_is_given_by_its_name() -> None:
    await collect(agent(Script(SAVE, FIVE), policy="full"))
    assert ran == [("save", "x")]
    script = Script(SAVE, FIVE)
    await collect(agent(script, policy="read-only"))
    assert ran == []
    assert "the mode is read-only" in script.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(("options", "words"), [({"policy": "yolo"}, "no mode 'yolo'"), ({"parallel": 0}, "0 calls")])
def test_options_that_make_no_sense(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        agent(Script(), **options)
    assert caught.value.hint


async def test_tools_that_are_not_read_are_asked_about() -> None:
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    events = await collect(agent(Script(SAVE, FIVE), approve=approve))
    assert ran == [("save", "x")]
    (event,) = [event for event in events if isinstance(event, ApprovalAsked)]
    assert [event.request] == asked
    assert (event.turn, event.id, event.request.risk) == (1, "c1", "write")
    assert asked[0].invocation.arguments == {"text": "x"}


async def test_nobody_to_ask_means_no_and_the_model_is_told() -> None:
    script = Script(SAVE, FIVE)
    events = await collect(agent(script))
    assert ran == []
    assert last(events)
    assert script.requests[1]["messages"][-1]["content"] == (
        "Error: not run: it needs approval, and nobody is there to ask: the call is of risk write, and the mode is ask"
    )


BAD_CALLS = {
    "unknown tool": ([call("{}", id="c1", name="subtract")], "there is no tool 'subtract'"),
    "wrong arguments": ([call('{"a":1}', id="c1", name="add")], "b: required, but missing"),
    "broken JSON": ([call('{"a":1,', id="c1", name="add")], "not valid JSON"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
async def test_a_call_that_cannot_run_goes_back_with_what_was_wrong(name: str) -> None:
    calls, words = BAD_CALLS[name]
    script = Script(sse(delta(tool_calls=calls), delta(finish="tool_calls")), FIVE)
    events = await collect(agent(script))
    assert last(events)
    assert ran == []
    result = script.requests[1]["messages"][-1]
    assert result["tool_call_id"] == "c1"
    assert words in result["content"]


async def test_a_call_cut_by_the_token_limit_does_not_run() -> None:
    script = Script(sse(delta(tool_calls=[call('{"a":2,"b":3}', id="c1", name="add")]), delta(finish="length")), FIVE)
    await collect(agent(script))
    assert ran == []
    assert "token limit" in script.requests[1]["messages"][-1]["content"]


async def test_results_are_in_the_order_of_the_calls() -> None:
    calls = [
        call('{"a":1,"b":1}', index=1, id="second", name="add"),
        call("{}", index=0, id="first", name="nobody"),
        call('{"a":2,"b":2}', index=2, id="third", name="add"),
    ]
    script = Script(sse(delta(tool_calls=calls), delta(finish="stop")), FIVE)
    await collect(agent(script))
    sent = script.requests[1]["messages"]
    assert [c["id"] for c in sent[1]["tool_calls"]] == [m["tool_call_id"] for m in sent[2:]]
    assert [m["content"] for m in sent[2:] if m["tool_call_id"] != "first"] == ["2", "4"]


async def test_a_model_that_never_makes_a_good_call_is_stopped() -> None:
    bad = sse(delta(tool_calls=[call("{", id="c1", name="add")]), delta(finish="tool_calls"))
    events = await collect(agent(Script(bad, bad, bad, bad)))
    assert isinstance(events[-1], RunFailed)
    assert events[-1].error.type == "RunLimitReached"
    assert events[-1].turns == 3


async def test_a_model_that_never_stops_calling_is_stopped() -> None:
    script = Script(*[ADD] * 10)
    events = await collect(agent(script, bounds=Bounds(turns=4)))
    assert isinstance(events[-1], RunFailed)
    assert events[-1].error.facts == {"what": "turns", "limit": 4}
    assert len(script.requests) == 4


@pytest.mark.parametrize(
    ("answer", "roles"),
    [
        (TransportError("connection reset"), ["user", "user"]),
        (sse(delta(content="Hal"), done=False), ["user", "assistant", "user"]),
        (sse({"error": "overloaded"}), ["user", "user"]),
    ],
)
async def test_a_broken_answer_fails_the_run_and_the_conversation_can_go_on(
    answer: bytes | ToolwireError, roles: list[str]
) -> None:
    script = Script(answer, FIVE)
    it = agent(script, retries=Retries(attempts=1))
    events = await collect(it)
    assert isinstance(events[-1], RunFailed)
    assert last(await collect(it, "again?"))
    assert [message["role"] for message in script.requests[1]["messages"]] == roles


async def test_tool_calls_without_calls_end_the_turn() -> None:
    events = await collect(agent(Script(sse(delta(content="Done."), delta(finish="tool_calls")))))
    assert last(events).text == "Done."


async def test_stopping_in_the_middle_leaves_every_call_answered() -> None:
    two = [call('{"a":1,"b":1}', index=0, id="one", name="add"), call('{"a":2,"b":2}', index=1, id="two", name="add")]
    script = Script(sse(delta(tool_calls=two), delta(finish="tool_calls")), FIVE)
    it = agent(script, parallel=1)
    run = it.run("go")
    async for event in run:
        if isinstance(event, ToolFinished):
            break
    await run.aclose()
    assert last(await collect(it, "and?"))
    sent = script.requests[1]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert sent[2]["content"] == "2"
    assert "cancelled" in sent[3]["content"]


async def test_the_conversation_goes_on_over_runs() -> None:
    script = Script(FIVE, FIVE)
    it = agent(script, system_prompt="Be brief.")
    await collect(it, "one")
    await collect(it, "two")
    assert [m["role"] for m in script.requests[1]["messages"]] == ["system", "user", "assistant", "user"]


def test_run_sync() -> None:
    assert str(agent(Script(ADD, FIVE)).run_sync("2 + 3?")) == "It is 5."
    with pytest.raises(TransportError, match="connection reset") as caught:
        agent(Script(TransportError("connection reset")), retries=Retries(attempts=1)).run_sync("2 + 3?")
    assert caught.value.__context__ is None, "it says nothing of loops"


async def test_run_sync_where_a_loop_runs_already() -> None:
    """As in a notebook."""
    assert str(agent(Script(ADD, FIVE)).run_sync("2 + 3?")) == "It is 5."
    assert asyncio.get_running_loop().is_running()


async def test_run_sync_after_a_run_on_the_loop_that_runs_already() -> None:
    """As in a notebook that uses both. The server has a loop of its own: this one is blocked meanwhile."""
    model = ScriptedModel([say("one"), say("two"), say("three")])
    ready, done = threading.Event(), threading.Event()
    urls: list[str] = []

    async def serve() -> None:
        async with model.serve() as url:
            urls.append(url)
            ready.set()
            await asyncio.to_thread(done.wait)

    server = threading.Thread(target=asyncio.run, args=(serve(),))
    server.start()
    try:
        assert ready.wait(10)
        async with Agent("openai:any", base_url=urls[0], api_key="none") as it:
            assert [str(event) for event in await collect(it, "1")][-1] == "one"
            assert str(it.run_sync("2")) == "two"
            assert [str(event) for event in await collect(it, "3")][-1] == "three"
    finally:
        done.set()
        server.join()


def test_run_sync_that_a_hook_interrupts() -> None:
    class Stop(Hooks):
        async def on_run(self, agent: Agent, prompt: Message, tool_choice: str) -> None:
            agent.interrupt()

    it = agent(Script(FIVE), hooks=[Stop()])
    with pytest.raises(ToolwireError, match="the run was interrupted"):
        it.run_sync("2 + 3?")
    it._hooks = ()
    assert str(it.run_sync("2 + 3?")) == "It is 5."


async def test_run_sync_keeps_what_is_set_where_it_is_called() -> None:
    """A span, or the call that a tool is in."""
    setting = ContextVar("setting", default="lost")
    seen: list[str] = []

    @toolwire.tool(risk="read", name="add")
    def look(a: int, b: int) -> None:
        """Looks."""
        seen.append(setting.get())

    setting.set("kept")
    options: dict[str, Any] = {"base_url": "http://127.0.0.1:1/v1", "transport": Script(ADD, FIVE)}
    Agent("openai-compatible:m", [look], **options).run_sync("2 + 3?")
    assert seen == ["kept"]


async def test_a_run_that_ends_well_forgets_the_failure_of_the_one_before() -> None:
    it = agent(Script(TransportError("gone", lasting=True), FIVE))
    assert isinstance((await collect(it))[-1], RunFailed)
    assert it.failure is not None
    assert last(await collect(it))
    assert it.failure is None


async def test_no_two_texts_of_a_conversation_have_one_id() -> None:
    it = agent(Script(FIVE, FIVE))
    events = [*await collect(it), *await collect(it)]
    begun = [event for event in events if isinstance(event, SegmentEvent) and event.type is EventType.START]
    assert len({event.segment_id for event in begun}) == len(begun) == 2
