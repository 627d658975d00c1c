"""What users of other libraries reported, each as one small conversation through the whole agent.

The numbers are those of the collection of reports. Every request, that of the next question too, is held against the
rules of its provider and the types of its SDK. What is tested at length elsewhere has a case here too, and says where.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, Literal, NamedTuple

import msgspec
import pytest

import toolwire
from feeding import call as entry
from feeding import delta, sse, typed_sse
from format_rules import broken
from request_types import problems
from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.events import RequestRetried, RunFailed, RunFinished, RunInterrupted, ToolFinished
from toolwire.approval.request import ApprovalRequest
from toolwire.messages import ToolResultPart
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.testing import ScriptedModel, call, cut_off, fail, half_call, say, think, token_limit
from toolwire.testing.frames import converse
from wire_bodies import PROVIDERS, Call, End, Raw, Thought

Json = dict[str, Any]
ran: list[Any] = []


@toolwire.tool(risk="read")
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    await asyncio.sleep(0.001 * (a % 3))
    ran.append((a, b))
    return a + b


@toolwire.tool(risk="read")
def now() -> str:
    """Says what time it is."""
    ran.append("now")
    return "noon"


@toolwire.tool(risk="write")
def save(text: str) -> str:
    """Saves a text."""
    ran.append(text)
    return f"saved {text}"


class Case(NamedTuple):
    """One report. `results` is what the model is told of each call, or how it begins, in order."""

    number: str
    provider: str
    answers: Sequence[Any]
    results: Sequence[str] = ("5",)
    text: str | None = "Done."
    """The last words; None where the run fails."""
    sent: Callable[[list[Json]], Any] = lambda _: True
    """Looks at the requests."""
    choose: Callable[[ApprovalRequest], bool] = lambda _: True


ONE = '{"a":2,"b":3}'
TWO = '{"a":1,"b":7}'
FIRST, SECOND = Call("call_12345", "add", ONE), Call("call_67890", "add", TWO)
BOTH = ("5", "8")
DONE = say("Done.")
NOT_RUN = "Error: not run: "


def chat(*chunks: Any, finish: str = "tool_calls") -> bytes:
    """An answer of chat completions: each chunk is the entries of one delta."""
    return sse(
        *(delta(tool_calls=[*each] if isinstance(each, tuple) else [each]) for each in chunks), delta(finish=finish)
    )


def of(number: str, providers: Sequence[str] = tuple(PROVIDERS), **case: Any) -> list[Case]:
    """The same at several providers."""
    return [Case(number, provider, **case) for provider in providers]


def responses(*events: Json) -> bytes:
    """An answer of the Responses API, with its first event and its last."""
    output = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return typed_sse(
        {"type": "response.created", "response": {"id": "r1", "status": "in_progress", "output": []}},
        *events,
        {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": output}},
    )


def item(place: int, arguments: str, **members: Any) -> list[Json]:
    """A call of the Responses API in many deltas; `members` change those."""
    made = {
        "id": f"fc_{place}",
        "type": "function_call",
        "call_id": f"call_{place}",
        "name": "add",
        "status": "completed",
    }
    at = {"output_index": place, "item_id": made["id"], **members}
    return [
        {"type": "response.output_item.added", "output_index": place, "item": {**made, "arguments": ""}},
        *({"type": "response.function_call_arguments.delta", "delta": letter, **at} for letter in arguments),
        {"type": "response.function_call_arguments.done", "arguments": arguments, **at},
        {"type": "response.output_item.done", "output_index": place, "item": {**made, "arguments": arguments}},
    ]


def block(index: int, kind: str, **members: Any) -> bytes:
    return converse({kind: {"contentBlockIndex": index, **members}})


INTERLEAVED = b"".join(
    [
        converse({"messageStart": {"role": "assistant"}}),
        block(0, "contentBlockStart", start={"toolUse": {"toolUseId": "c0", "name": "add"}}),
        block(1, "contentBlockStart", start={"toolUse": {"toolUseId": "c1", "name": "add"}}),
        block(0, "contentBlockDelta", delta={"toolUse": {"input": ONE[:6]}}),
        block(1, "contentBlockDelta", delta={"toolUse": {"input": TWO[:6]}}),
        block(0, "contentBlockDelta", delta={"toolUse": {"input": ONE[6:]}}),
        block(1, "contentBlockDelta", delta={"toolUse": {"input": TWO[6:]}}),
        block(0, "contentBlockStop"),
        block(1, "contentBlockStop"),
        converse({"messageStop": {"stopReason": "tool_use"}}),
        converse({"metadata": {"usage": {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}}}),
    ]
)


def gemini(*parts: Json, finish: str | None = None) -> Json:
    ends = {} if finish is None else {"finishReason": finish}
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, "index": 0, **ends}]}


def signed(arguments: str, **members: Any) -> Json:
    return {"functionCall": {"name": "add", "args": msgspec.json.decode(arguments)}, **members}


def calls_at(request: Json) -> list[Json]:
    """The parts of the conversation at Gemini."""
    return [part for content in request["contents"] for part in content["parts"]]


def kinds(request: Json) -> list[str]:
    """The items of the conversation at the Responses API."""
    return [each.get("type", each.get("role")) for each in request["input"]]


def holds(words: str) -> Callable[[list[Json]], bool]:
    return lambda requests: all(words in msgspec.json.encode(request).decode() for request in requests[1:])


def lacks(words: str) -> Callable[[list[Json]], bool]:
    return lambda requests: not any(words in msgspec.json.encode(request).decode() for request in requests)


UNSIGNED = {
    "anthropic": typed_sse(
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "secret plan"}},
    ),
    "bedrock": converse({"messageStart": {"role": "assistant"}})
    + block(0, "contentBlockDelta", delta={"reasoningContent": {"text": "secret plan"}}),
}
"""Reasoning that was cut before its signature came."""

MALFORMED = {"gemini": "MALFORMED_FUNCTION_CALL", "bedrock": "malformed_tool_use"}
CALL_WORDS = {"openai": "tool_calls", "anthropic": "tool_use", "bedrock": "tool_use", "cohere": "TOOL_CALL"}

CASES = [
    # Lost, merged, mis-indexed: every way to name a call is in tests/test_wire_quirks.py; these were reported.
    Case("1", "openai-responses", [responses(*item(0, ONE), *item(1, TWO)), DONE], BOTH),
    Case("2", "openai-responses", [responses(*item(0, ONE, item_id=None)), DONE]),
    *of("3, 6, 20", answers=[[say("I add."), FIRST, SECOND], DONE], results=BOTH),
    Case("4", "openai", [chat(entry(ONE, id="c1", name="add"), ({"index": 1}, {"index": 0})), DONE]),
    Case(
        "5",
        "openai",
        [
            chat(
                (entry("", id="c1", name="add"), entry("", index=1, id="c2", name="add")),
                (entry(ONE[:4]), entry(TWO[:4], index=1)),
                (entry(TWO[4:], index=1), entry(ONE[4:])),
            ),
            DONE,
        ],
        BOTH,
    ),
    Case(
        "7",
        "openai",
        [
            chat(
                entry(ONE[:4], id="c1", name="add"),
                entry(ONE[4:], id="c1"),
                entry(msgspec.json.encode(ONE).decode(), id="c1"),
            ),
            DONE,
        ],
        (NOT_RUN,),
    ),
    Case(
        "8",
        "ollama",
        [
            b"".join(
                msgspec.json.encode(
                    {"model": "m", "message": {"role": "assistant", "content": "", **more}, "done": done, **end}
                )
                + b"\n"
                for done, more, end in (
                    (
                        False,
                        {"tool_calls": [{"function": {"index": 0, "name": "add", "arguments": {"a": 2, "b": 3}}}]},
                        {},
                    ),
                    (
                        False,
                        {"tool_calls": [{"function": {"index": 0, "name": "add", "arguments": {"a": 1, "b": 7}}}]},
                        {},
                    ),
                    (True, {}, {"done_reason": "stop"}),
                )
            ),
            DONE,
        ],
        BOTH,
    ),
    Case("9, 12", "openai", [chat(entry("", id="c1", name="add"), (entry(ONE[:4]), entry(ONE[4:]))), DONE]),
    Case("10", "openai-responses", [responses(*item(3, ONE)), DONE]),
    Case(
        "11",
        "openai",
        [
            sse(
                delta(choice=1, content="no"),
                delta(tool_calls=[entry(ONE, id="c1", name="add")]),
                delta(finish="tool_calls"),
            ),
            DONE,
        ],
    ),
    Case("13", "openai", [chat(entry(ONE[:4], index=None, id="c1", name="add"), entry(ONE[4:], index=None)), DONE]),
    Case("14", "openai", [chat(entry(ONE[:4], index="0", id="c1", name="add"), entry(ONE[4:])), DONE]),
    Case("15", "openai-responses", [[think("hm"), FIRST], DONE]),
    Case("16", "bedrock", [INTERLEAVED, DONE], BOTH),
    Case("17", "openai", [chat(entry(None, id="c1", name="now")), DONE], ("noon",)),
    Case("18", "openai", [chat(entry(ONE, id="c1", name="add"), entry("\n"), entry("")), DONE]),
    Case("19", "openai", [chat(entry(ONE, id="c1", name="add"), entry(TWO)), DONE], (NOT_RUN,)),
    Case("20b", "openai", [chat(entry(ONE, name="add")), DONE]),
    # The wrong end of a turn.
    *of("21", answers=[[say("It may be 6."), FIRST], DONE]),
    Case("22", "openai", [[FIRST, End("stop")], DONE]),
    Case("23", "gemini", [[FIRST, End("STOP")], DONE]),
    Case("24", "bedrock", [[FIRST, End("end_turn")], DONE]),
    *(Case("25", provider, [[DONE, End(word)]], ()) for provider, word in CALL_WORDS.items()),
    Case(
        "26",
        "gemini",
        [sse(gemini(signed(ONE), finish="STOP"), gemini(signed(TWO), finish="STOP"), done=False), DONE],
        BOTH,
    ),
    # Truncation: test_broken_answers.py, test_asking_again.py and test_wires.py have the other ways to be cut.
    *of(
        "27",
        providers=["anthropic", "openai", "bedrock", "cohere"],
        answers=[[Call("call_12345", "add", '{"a":expected ident')], FIRST, DONE],
        results=(NOT_RUN, "5"),
        sent=lacks("expected ident"),
    ),
    *of("28, 29", answers=[cut_off(say("I add."), half_call("add", '{"a":2,')), DONE], results=(NOT_RUN,)),
    *of(
        "30, 31",
        answers=[[half_call("add", '{"a":2,'), token_limit()], FIRST, DONE],
        results=(NOT_RUN, "5"),
        sent=lacks('{\\"a\\":2,"'),
    ),
    *(Case("32", provider, [[End(word)], FIRST, DONE]) for provider, word in MALFORMED.items()),
    # What is refused when it goes back: also tests/test_followups.py, test_moved_histories.py, test_moved_agent.py.
    Case(
        "33",
        "openai-responses",
        [[think("hm"), FIRST], DONE],
        sent=lambda sent: kinds(sent[1])[-3:] == ["reasoning", "function_call", "function_call_output"],
    ),
    Case(
        "33",
        "openai-responses",
        [cut_off(Thought("hm"), half_call("add")), DONE],
        (NOT_RUN,),
        sent=lambda sent: "reasoning" not in kinds(sent[1]),
    ),
    Case(
        "34",
        "openai-responses",
        [[think("hm"), DONE]],
        (),
        sent=lambda sent: kinds(sent[1]) == ["user", "reasoning", "message", "user"],
    ),
    *of(
        "35", providers=["anthropic", "bedrock"], answers=[[think("hm"), FIRST], DONE], sent=holds('"signature":"sig"')
    ),
    *(Case("36", provider, [cut_off(Raw(cut))], (), None, lacks("secret plan")) for provider, cut in UNSIGNED.items()),
    Case(
        "37",
        "gemini",
        [sse(gemini(signed(ONE, thoughtSignature="c2ln"), signed(TWO), finish="STOP"), done=False), DONE],
        BOTH,
        sent=lambda sent: (
            [part.get("thoughtSignature") for part in calls_at(sent[1]) if "functionCall" in part] == ["c2ln", None]
        ),
    ),
    # Approval: test_calls.py and test_loop.py have the rest; for cancelling and resuming see below.
    *of("41", answers=[call("save", text="x"), call("save", text="y"), DONE], results=("saved x", "saved y")),
    *of(
        "42",
        answers=[[call("save", text="x"), call("save", text="y")], DONE],
        results=(NOT_RUN, "saved y"),
        choose=lambda request: request.invocation.arguments["text"] == "y",
    ),
    *of(
        "43",
        answers=[
            [Call("call_12345", "add", '{"a":2,"b":0}'), call("now"), Call("call_67890", "add", '{"a":1,"b":0}')],
            DONE,
        ],
        results=("2", "noon", "1"),
    ),
]


def agent(case: Case, model: ScriptedModel) -> Agent:
    async def approve(request: ApprovalRequest) -> bool:
        return case.choose(request)

    ran.clear()
    options: Json = {"base_url": "http://127.0.0.1:1/v1", "api_key": "none", "retries": Retries(attempts=1)}
    return Agent(f"{case.provider}:gemini-3", [add, now, save], transport=model, approve=approve, **options)


def results_of(it: Agent) -> list[str]:
    """What the model was told of each call; every call has one result, in order."""
    results = [part for message in it.messages for part in message.parts if isinstance(part, ToolResultPart)]
    assert [part.id for part in results] == [made.id for message in it.messages for made in message.tool_calls]
    return [str(part.content) for part in results]


def check_requests(provider: str, model: ScriptedModel) -> None:
    target = provider if provider == "mistral" else PROVIDERS[provider]
    for request in model.requests:
        assert broken(target, request) == []
        assert problems(target, request) == []


@pytest.mark.parametrize("case", CASES, ids=[f"{case.number}-{case.provider}" for case in CASES])
async def test_a_report(case: Case) -> None:
    model = ScriptedModel([*case.answers, say("Again.")], chop=0 if case.provider == "bedrock" else 37)
    it = agent(case, model)
    async with asyncio.timeout(10):
        events = [event async for event in it.run("2 + 3?")]
        assert isinstance(events[-1], RunFinished if case.text is not None else RunFailed), events[-1]
        assert str(events[-1]) == case.text or case.text is None
        told = results_of(it)
        assert len(told) == len(case.results)
        assert all(given.startswith(wanted) for given, wanted in zip(told, case.results, strict=True)), told
        assert len(ran) == len([wanted for wanted in case.results if wanted != NOT_RUN]), "what ran, and once"
        assert len([event for event in events if isinstance(event, ToolFinished)]) == len(told)
        again = [event async for event in it.run("Again?")]
    assert str(again[-1]) == "Again."
    assert model.left == 0
    check_requests(case.provider, model)
    assert case.sent(model.requests)


# 35, 36: what a provider gave itself and does not take back.

NOT_TAKEN_BACK = {
    "anthropic": "messages.1.content.0: Invalid `signature` in `thinking` block",
    "bedrock": "The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block",
    "openai-responses": "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    "gemini": "Corrupted thought signature.",
}


@pytest.mark.parametrize("provider", NOT_TAKEN_BACK)
async def test_a_signature_that_is_refused_does_not_end_the_conversation(provider: str) -> None:
    first: Any = [think("secretplan"), FIRST]
    if provider == "gemini":
        first = sse(gemini(signed(ONE, thoughtSignature="secretplanxx"), finish="STOP"), done=False)
    model = ScriptedModel([first, fail(400, NOT_TAKEN_BACK[provider]), DONE, say("Again.")])
    it = agent(Case("35", provider, ()), model)
    events = [event async for event in it.run("2 + 3?")]
    assert str(events[-1]) == "Done."
    (retried,) = [event for event in events if isinstance(event, RequestRetried)]
    assert (retried.attempt, retried.seconds) == (1, 0.0)
    assert retried.error.facts["refused"] == "reasoning"
    assert ran == [(2, 3)]
    assert str([event async for event in it.run("Again?")][-1]) == "Again."
    check_requests(provider, model)
    assert ["secretplan" in str(request) for request in model.requests] == [False, True, False, False]
    assert results_of(it) == ["5"]


async def test_it_is_sent_again_once_and_only_where_there_is_something_to_leave_out() -> None:
    no = fail(400, NOT_TAKEN_BACK["anthropic"])
    model = ScriptedModel([no, [think("hm"), say("Well.")], no, no])
    it = agent(Case("35", "anthropic", ()), model)
    for left in (3, 2, 0):
        end = [event async for event in it.run("2 + 3?")][-1]
        assert isinstance(end, RunFinished if left == 2 else RunFailed)
        assert model.left == left


# 38: what one provider refuses in a schema is another's custom.


@toolwire.tool(risk="read")
def find(
    place: dict[str, int | str] | None = None, kind: Literal["a", "b"] = "a", pair: tuple[int, str] = (1, "x")
) -> str:
    """Finds a place."""
    ran.append("find")
    return "found"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_schemas_are_as_each_provider_takes_them(provider: str) -> None:
    model = ScriptedModel([call("find", kind="b"), DONE])
    ran.clear()
    options: Json = {"base_url": "http://127.0.0.1:1/v1", "api_key": "none", "transport": model}
    events = [event async for event in Agent(f"{provider}:gemini-3", [find], **options).run("Where?")]
    assert str(events[-1]) == "Done."
    assert ran == ["find"]
    check_requests(provider, model)


# 39, 40, 42: left in the middle. test_interrupted_runs.py and test_calls_stopped.py have every other moment.


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_reader_that_leaves_stops_the_answer_and_the_next_question_is_taken(provider: str) -> None:
    answer = [say("Let me see. " * 9), FIRST, call("save", text="x")]
    model = ScriptedModel([answer, say("Again.")], chop=0 if provider == "bedrock" else 37)
    it = agent(Case("40", provider, ()), model)
    async with aclosing(it.run("2 + 3?")) as events:
        async for event in events:
            if isinstance(event, SegmentEvent) and event.type is EventType.CONTENT:
                break
    assert ran == []
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert str([event async for event in it.run("Again?")][-1]) == "Again."
    check_requests(provider, model)
    assert ran == []


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_question_that_nobody_answered_is_no_yes_when_the_next_comes(provider: str) -> None:
    model = ScriptedModel([[call("save", text="x"), FIRST], say("Again.")])
    it = agent(Case("42", provider, (), choose=lambda _: it.interrupt() or True), model)  # type: ignore[func-returns-value]
    end = [event async for event in it.run("2 + 3?")][-1]
    assert isinstance(end, RunInterrupted)
    assert str([event async for event in it.run("Again?")][-1]) == "Again."
    assert "x" not in ran
    assert results_of(it)[0].startswith(NOT_RUN)
    check_requests(provider, model)
