"""Calls that cannot run: nothing runs, the model is told what was wrong and the form that is expected, boundedly."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent.scripted import ADD, FIVE, Script, agent, collect, last, ran
from feeding import call, delta, sse, whole
from feeding import read as read_stream
from toolwire import Agent
from toolwire.agent.bounds import Bounds
from toolwire.agent.events import AgentEvent, RunFailed, RunFinished, ToolFinished
from toolwire.agent.history import all_refused, broken_answer
from toolwire.errors import ProviderError, TransportError
from toolwire.messages import MediaPart, Message, OpaquePart, Part, TextPart, ThinkingPart, ToolCallPart
from toolwire.stream.segments import EventType, SegmentEvent
from wire_bodies import End, Text, body

Json = dict[str, Any]
FORM = "It takes a (integer, required), b (integer, required)."


def calls(*pieces: Any, finish: str | None = "tool_calls", done: bool = True, text: str = "") -> bytes:
    said = [delta(content=text)] if text else []
    ends = [delta(finish=finish)] if finish else []
    return sse(*said, delta(tool_calls=[*pieces]), *ends, done=done)


def results(script: Script) -> list[str]:
    return [message["content"] for message in script.requests[-1]["messages"] if message["role"] == "tool"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (calls(call('{"a":2,"b"', id="c1", name="add")), FORM),
        (calls(call('{"a":"two","b":3}', id="c1", name="add")), FORM),
        (calls(call('{"a":2}', id="c1", name="add")), FORM),
        (calls(call('{"a":2,"b":NaN}', id="c1", name="add")), FORM),
        (calls(call("{}", id="c1", name="ad")), "there is no tool 'ad'; close to it: add"),
        (calls(call("{}", id="c1", name="fly")), "there is no tool 'fly'; known tools: add, save"),
        (calls(call('{"a":2,"b":3}', id="c1", name="add"), finish="length"), "cut by the token limit"),
        (calls(call('{"a":2,"b":3}', id="c1", name="add"), finish="content_filter"), "content filter"),
        (calls(call('{"a":2,"b":3}', id="c1", name="add"), finish=None, done=False), "the stream broke off"),
        (calls(call('{"a":2,', id="c1", name="add"), finish=None, done=False), "the stream broke off"),
    ],
    ids=["json", "type", "missing", "NaN", "like", "unknown", "length", "filter", "no end", "cut"],
)
async def test_the_model_is_told_and_tries_again(answer: bytes, words: str) -> None:
    script = Script(answer, ADD, FIVE)
    events = await collect(agent(script))
    assert last(events).turns == 3
    assert ran == [("add", (2, 3))], "what was wrong did not run, what came then did"
    (first, second) = results(script)
    assert first.startswith("Error: not run: ")
    assert words in first
    assert second == "5"
    finished = [event for event in events if isinstance(event, ToolFinished)]
    assert [event.result.content for event in finished] == [first, second]


async def test_a_connection_that_breaks_in_a_call() -> None:
    class Broken(Script):
        async def stream(self, request: Any) -> Any:
            async for data in super().stream(request):
                yield data
            if len(self.requests) == 1:
                raise TransportError("connection reset")

    script = Broken(calls(call('{"a":2,', id="c1", name="add"), finish=None, done=False, text="I add."), ADD, FIVE)
    events = await collect(agent(script))
    assert last(events)
    assert [event.error.message for event in events if isinstance(event, SegmentEvent) and event.error] == [
        "connection reset"
    ]
    sent = script.requests[1]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[1]["content"] == "I add."
    assert sent[1]["tool_calls"][0]["function"] == {"name": "add", "arguments": "{}"}, "its half is not sent back"


async def test_answers_that_break_again_and_again_end_the_run() -> None:
    script = Script(*[calls(call('{"a":2,', id="c1", name="add"), finish=None, done=False)] * 9)
    end = (await collect(agent(script, bounds=Bounds(failed_turns=2))))[-1]
    assert isinstance(end, RunFailed)
    assert (end.error.type, end.error.facts["what"]) == ("RunLimitReached", "failed turns")
    assert len(script.requests) == 2


async def test_one_call_that_can_run_beside_one_that_cannot() -> None:
    both = calls(call('{"a":2,"b":3}', index=0, id="c1", name="add"), call('{"a":', index=1, id="c2", name="add"))
    script = Script(*[both] * 4, FIVE)
    assert last(await collect(agent(script, bounds=Bounds(failed_turns=1)))), "a turn in which something ran"
    assert results(script)[0] == "5"
    assert FORM in results(script)[1]


async def test_text_before_a_call_is_not_the_answer() -> None:
    script = Script(calls(call('{"a":2,"b":3}', id="c1", name="add"), text="Let me see. It may be 6."), FIVE)
    assert last(await collect(agent(script))).text == "It is 5."
    assert ran == [("add", (2, 3))]


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call"])
async def test_calls_run_whichever_end_the_provider_gives_them(finish: str) -> None:
    script = Script(calls(call('{"a":2,"b":3}', id="c1", name="add"), finish=finish), FIVE)
    assert last(await collect(agent(script))).turns == 2
    assert ran == [("add", (2, 3))]


MALFORMED = sse({"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]}, done=False)
GEMINI_FIVE = sse(
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "It is 5."}]}, "finishReason": "STOP"}]},
    done=False,
)


async def test_a_malformed_call_that_leaves_an_empty_turn() -> None:
    script = Script(MALFORMED, GEMINI_FIVE)
    it = Agent("gemini:gemini-3", [], base_url="http://127.0.0.1:1", api_key="x", transport=script)
    assert last(await collect(it)).text == "It is 5."
    assert [each["role"] for each in script.requests[1]["contents"]] == ["user"]
    assert "malformed" in str(script.requests[1])
    assert [message.role for message in it.messages] == ["user", "user", "assistant"]


async def test_it_is_not_asked_for_ever() -> None:
    script = Script(*[MALFORMED] * 9)
    it = Agent("gemini:gemini-3", [], base_url="http://127.0.0.1:1", api_key="x", transport=script)
    end = (await collect(it))[-1]
    assert isinstance(end, RunFailed)
    assert len(script.requests) == Bounds().failed_turns


async def test_an_empty_answer_ends_the_run_and_leaves_nothing() -> None:
    it = agent(Script(sse(delta(finish="stop")), FIVE))
    events: list[AgentEvent] = await collect(it)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].text == ""
    assert [message.role for message in it.messages] == ["user"]
    assert last(await collect(it, "and?"))


async def test_media_that_the_provider_does_not_take_stand_in_nobodys_way() -> None:
    script = Script(body("anthropic", Text("It is 5."), End()))
    it = Agent("anthropic:claude", [], base_url="http://127.0.0.1:1", api_key="x", transport=script)
    sound: list[Part] = [TextPart("What is it?"), MediaPart("audio/wav", data="AAAA")]
    end = [event async for event in it.run(sound)][-1]
    assert isinstance(end, RunFailed)
    assert end.error.type == "ConfigError"
    assert script.requests == []
    assert last(await collect(it)).text == "It is 5."
    assert [message["role"] for message in script.requests[0]["messages"]] == ["user"]


@pytest.mark.parametrize("choice", ["required", "add", "none", "auto"])
async def test_a_tool_is_chosen_for_the_first_request_alone(choice: str) -> None:
    script = Script(ADD, FIVE) if choice != "none" else Script(FIVE)
    it = agent(script, tool_choice="auto")
    assert isinstance([event async for event in it.run("2 + 3?", tool_choice=choice)][-1], RunFinished)
    named = {"type": "function", "function": {"name": "add"}}
    expected = {"add": named, "auto": None}.get(choice, choice)
    assert script.requests[0].get("tool_choice") in ((expected, "auto") if choice == "auto" else (expected,))
    if choice != "none":
        assert script.requests[1].get("tool_choice") in (None, "auto")


async def test_options_go_to_the_request() -> None:
    script = Script(FIVE)
    assert last(await collect(agent(script, options={"temperature": 0.5, "max_tokens": 7})))
    assert script.requests[0]["temperature"] == 0.5
    assert 7 in script.requests[0].values()


# What stays of an answer.

SIGNED = {"wire": "anthropic", "signature": "s"}
ITEM = {"wire": "openai-responses", "id": "rs_1"}


@pytest.mark.parametrize(
    ("wire", "parts", "kept"),
    [
        ("anthropic", [ThinkingPart("hm")], []),
        ("anthropic", [ThinkingPart("hm", SIGNED)], []),
        ("anthropic", [ThinkingPart("hm", SIGNED), TextPart("So")], ["thinking", "text"]),
        ("anthropic", [ThinkingPart("hm"), TextPart("So")], ["text"]),
        ("anthropic", [OpaquePart({"wire": "anthropic"}, "web_search"), TextPart("So")], ["text"]),
        ("anthropic", [TextPart("")], []),
        ("openai-chat", [ThinkingPart("hm"), TextPart("So")], ["thinking", "text"]),
        ("openai-chat", [ThinkingPart("hm")], []),
        ("openai-responses", [ThinkingPart("hm", ITEM), ToolCallPart("c", "add", provider_data=ITEM)], ["tool_call"]),
        ("gemini", [ToolCallPart("c", "add", provider_data={"wire": "gemini"})], ["tool_call"]),
    ],
)
def test_what_of_a_broken_answer_stays(wire: str, parts: list[Any], kept: list[str]) -> None:
    answer = broken_answer(Message("assistant", parts, origin="somewhere"), wire)
    assert answer.origin == "somewhere"
    assert [msgspec.to_builtins(part)["type"] for part in answer.parts] == kept
    if wire == "openai-responses":
        assert all(getattr(part, "provider_data", None) is None for part in answer.parts)


def test_each_call_of_it_is_answered() -> None:
    parts = all_refused([ToolCallPart("a", "x"), ToolCallPart("b", "y")], "why").parts
    assert [msgspec.to_builtins(part) for part in parts] == [
        {"type": "tool_result", "id": id, "name": name, "content": "Error: not run: why", "is_error": True}
        for id, name in (("a", "x"), ("b", "y"))
    ]


def test_an_answer_cut_at_any_byte_leaves_no_half_arguments() -> None:
    answer = calls(call('{"a":2,"b":3}', id="c1", name="add"), text="So")
    for end in range(len(answer)):
        stream, events = read_stream(whole(answer[:end]), "openai-chat")
        kept = broken_answer(stream.message, "openai-chat")
        if events[-1].type is EventType.ERROR:
            assert all(made.arguments in ({}, {"a": 2, "b": 3}) for made in kept.tool_calls)


async def test_media_that_the_service_refuses_stand_in_nobodys_way() -> None:
    refused = ProviderError("the image is broken", status=400)
    script = Script(refused, FIVE)
    it = agent(script)
    picture: list[Part] = [TextPart("What is it?"), MediaPart("image/png", data="AAAA", name="a.png")]
    end = [event async for event in it.run(picture)][-1]
    assert isinstance(end, RunFailed)
    assert last(await collect(it)).text == "It is 5."
    first, second = script.requests[1]["messages"]
    assert "image_url" not in str(first)
    assert "a.png" in str(first)
    assert second["content"] == "2 + 3?"


async def test_ollama_is_told_how_much_it_shall_read() -> None:
    script = Script(body("ollama", Text("It is 5."), End()))
    it = Agent("ollama:qwen3", [], base_url="http://127.0.0.1:1", transport=script, context_tokens=9000)
    assert last(await collect(it))
    assert script.requests[0]["options"] == {"num_ctx": 9000}


@pytest.mark.parametrize("parser", ["api_tool_call", "xml", "api_tool_call+hermes"])
async def test_no_call_runs_where_none_was_to_be_made(parser: str) -> None:
    written = '<tool name="add"><arguments><arg name="a">2</arg><arg name="b">3</arg></arguments></tool>'
    script = Script(ADD if parser != "xml" else sse(delta(content=written), delta(finish="stop")), FIVE)
    it = agent(script, stream_parser=parser, tool_choice="none")
    assert last(await collect(it)).turns == 2
    assert ran == []
    assert "no tool may be called now" in str(script.requests[1])


async def test_a_model_that_does_not_stop_calling_then_is_stopped() -> None:
    end = (await collect(agent(Script(*[ADD] * 9), tool_choice="none")))[-1]
    assert isinstance(end, RunFailed)
    assert end.error.facts["what"] == "failed turns"
    assert ran == []


async def test_a_call_where_there_are_no_tools_is_not_asked_for_again() -> None:
    unexpected = MALFORMED.replace(b"MALFORMED_FUNCTION_CALL", b"UNEXPECTED_TOOL_CALL")
    script = Script(unexpected, GEMINI_FIVE)
    it = Agent("gemini:gemini-3", [], base_url="http://127.0.0.1:1", api_key="x", transport=script)
    assert last(await collect(it)).text == "It is 5."
    assert "there are no tools to call" in str(script.requests[1])


@pytest.mark.parametrize(("wire", "kept"), [("openai-responses", []), ("anthropic", [{"id": "x"}])])
def test_what_a_server_keeps_of_whole_answers_alone_does_not_go_back(wire: str, kept: list[dict[str, str]]) -> None:
    answer = Message("assistant", [TextPart("So.")], [{"id": "x"}])
    assert broken_answer(answer, wire).provider_data == kept


@pytest.mark.parametrize(("wire", "stays"), [("openai-chat", True), ("ollama", True), ("anthropic", False)])
def test_reasoning_that_is_words_stays(wire: str, stays: bool) -> None:
    answer = broken_answer(Message("assistant", [ThinkingPart("hm"), TextPart("So.")]), wire)
    assert any(isinstance(part, ThinkingPart) for part in answer.parts) is stays
