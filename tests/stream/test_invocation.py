"""The one adapter: the table of what becomes an invocation and what does not."""

from __future__ import annotations

import itertools

import pytest

from feeding import call, delta, read, sse, whole
from toolwire import EventType, StopReason, ToolDefinition
from toolwire.chunks import RUNNABLE_STOPS
from toolwire.stream.invocation import ArrivedCall, ToolInvocationAdapter, stop_problem
from toolwire.tools.registry import ToolRegistry

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = ToolRegistry([ToolDefinition("get_weather", "", CITY), ToolDefinition("get_time", "", {})])


def arrived(
    name: str = "get_weather", raw: str = '{"city":"Paris"}', call_id: str = "c1", choice: int = 0
) -> ArrivedCall:
    call = ArrivedCall(choice)
    call.segment_id = f"segment-{call_id}"
    call.call_id = call_id
    call.name = name
    call.raw = raw
    call.ended = True
    return call


def test_a_good_call_is_admitted_with_the_id_of_its_segment() -> None:
    adapter = ToolInvocationAdapter(TOOLS, turn=3)
    call = arrived()
    adapter.read(call)
    invocation = adapter.admit(call, StopReason.TOOL_CALLS)
    assert invocation is not None
    assert (invocation.id, invocation.call_id, invocation.turn) == ("segment-c1", "c1", 3)
    assert (invocation.tool_name, invocation.arguments) == ("get_weather", {"city": "Paris"})
    assert invocation.raw_arguments == '{"city":"Paris"}'
    assert call.problem == ""


@pytest.mark.parametrize(
    ("name", "raw", "problem"),
    [
        ("get_weather", "{}", "city: required, but missing"),
        ("get_weather", '{"city":5}', "city"),
        ("get_weather", '{"city":"Paris"', "not valid JSON"),
        ("get_weather", '{"city":"a","city":"b"}', "twice"),
        ("get_weather", "[]", "a list"),
        ("get_wether", '{"city":"Paris"}', "close to it: get_weather"),
        ("Get_Weather", '{"city":"Paris"}', "there is no tool 'Get_Weather'"),
        ("get_ｗeather", '{"city":"Paris"}', "there is no tool"),
        ("rm", "{}", "known tools: get_weather, get_time"),
        ("", "{}", "names no tool"),
    ],
)
def test_a_bad_call_has_a_problem_and_no_invocation(name: str, raw: str, problem: str) -> None:
    adapter = ToolInvocationAdapter(TOOLS)
    call = arrived(name, raw)
    adapter.read(call)
    assert adapter.admit(call, StopReason.TOOL_CALLS) is None
    assert problem in call.problem
    assert call.arguments is None


@pytest.mark.parametrize(
    ("stop_reason", "ended", "choice"), list(itertools.product([None, *StopReason], [True, False], [0, 1]))
)
def test_only_one_cell_of_the_table_admits(stop_reason: StopReason | None, ended: bool, choice: int) -> None:
    adapter = ToolInvocationAdapter(TOOLS)
    call = arrived(choice=choice)
    call.ended = ended
    adapter.read(call)
    admitted = adapter.admit(call, stop_reason)
    assert (admitted is not None) is (stop_reason in RUNNABLE_STOPS and ended and choice == 0)
    assert (call.problem == "") is (admitted is not None)


def test_a_call_that_was_not_read_is_not_admitted() -> None:
    assert ToolInvocationAdapter(TOOLS).admit(arrived(), StopReason.TOOL_CALLS) is None


def test_without_tools_names_and_schemas_are_not_checked() -> None:
    adapter = ToolInvocationAdapter()
    call = arrived("anything", '{"a":1}')
    adapter.read(call)
    assert adapter.admit(call, StopReason.STOP) is not None


def test_every_stop_reason_that_refuses_says_why() -> None:
    for reason in StopReason:
        assert bool(stop_problem(reason)) is (reason not in RUNNABLE_STOPS)


def test_near_names_are_looked_for_once_an_answer() -> None:
    """A hundred unknown calls among a hundred similar tools took half a second."""
    adapter = ToolInvocationAdapter(TOOLS)
    first, second = arrived("get_wether"), arrived("get_tim")
    adapter.read(first)
    adapter.read(second)
    assert "close to it: get_weather" in first.problem
    assert second.problem == "there is no tool 'get_tim'"


def test_reset_forgets_the_ids_of_the_last_answer() -> None:
    adapter = ToolInvocationAdapter(TOOLS)
    for _ in range(2):
        call = arrived()
        adapter.read(call)
        assert adapter.admit(call, StopReason.TOOL_CALLS) is not None
        adapter.reset()


OPTIONAL = {
    "name": "look",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string"}, "note": {"type": ["string", "null"]}},
        "required": ["city"],
    },
}


def test_nulls_that_strict_mode_wrote_for_arguments_left_out_are_left_out() -> None:
    body = sse(
        delta(tool_calls=[call('{"city":"Paris","unit":null,"note":null}', id="c1", name="look")]),
        delta(finish="tool_calls"),
    )
    stream, events = read(whole(body), tools=[OPTIONAL], strict=True)
    (invocation,) = stream.invocations
    assert invocation.arguments == {"city": "Paris", "note": None}
    assert [event.metadata for event in events if event.type is EventType.END] == [{"arguments": invocation.arguments}]
    plain, _ = read(whole(body), tools=[OPTIONAL])
    assert plain.invocations == []


def test_strict_mode_never_leaves_out_a_required_null() -> None:
    body = sse(delta(tool_calls=[call('{"city":null}', id="c1", name="look")]), delta(finish="tool_calls"))
    stream, _ = read(whole(body), tools=[OPTIONAL], strict=True)
    assert stream.invocations == []
