"""Keeping count of a conversation, and what the agent does when it comes near to what the model can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.scripted import ADD, FIVE, Script, add, agent, collect, last
from feeding import call, delta, sse
from toolwire import Agent
from toolwire.agent import sizes
from toolwire.agent.compaction import NOTE_START
from toolwire.agent.context import FULL, GOAL, Context
from toolwire.agent.events import AgentEvent, HistoryCompacted, RunFailed, RunFinished
from toolwire.agent.sessions.store import SessionStore
from toolwire.agent.sizes import size_of, size_of_tools
from toolwire.chunks import TokenUsage
from toolwire.errors import ProviderError
from toolwire.messages import Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, system, user
from toolwire.tools.definition import ToolDefinition


def talk(count: int, words: int = 400) -> list[Message]:
    """Questions and answers of so many tokens each, by estimate; the last is a question."""
    messages = [user("x" * 4 * (words - 4))]
    for _ in range(count):
        messages += [Message("assistant", "y" * 4 * (words - 4)), user("x" * 4 * (words - 4))]
    return messages


def estimate(messages: list[Message]) -> int:
    return sum(map(size_of, messages))


def test_without_numbers_all_is_estimated() -> None:
    messages = talk(3)
    assert Context(None).tokens(messages) == estimate(messages) == 2_800
    assert Context(None).answered(messages, None) == 2_800
    assert Context(None).tokens([]) == 0


def test_the_provider_s_number_holds_for_all_up_to_its_answer() -> None:
    """What it counted beyond the messages, such as tools, is counted along."""
    context, messages = Context(None), talk(2)
    assert context.answered(messages[:2], TokenUsage(5_000, 300)) == 5_300
    assert context.tokens(messages[:2]) == 5_300
    assert context.tokens(messages) == 5_300 + 3 * 400
    assert context.tokens(messages[:1]) == 5_300 - 400
    assert context.answered(messages[:4], TokenUsage(6_000, 0)) == 6_400, "where nothing is said of the answer"
    assert context.answered(messages[:4], TokenUsage(0, 10)) == 6_400, "where nothing is said of the question"
    assert context.answered(messages[:4], None) == 6_400


def test_a_number_that_cannot_be_of_the_whole_conversation_is_not_believed() -> None:
    """Ollama has counted only what was not in its cache."""
    context, messages = Context(None), talk(10)
    assert context.answered(messages, TokenUsage(300, 100)) == estimate(messages)
    assert context.answered(messages, TokenUsage(900, 100)) == 1_000


@pytest.mark.parametrize(
    ("part", "tokens"),
    [(TextPart("So."), 1_050), (ThinkingPart("hm"), 1_450)],
    ids=["never shown", "shown"],
)
def test_reasoning_counts_where_it_goes_back(part: Any, tokens: int) -> None:
    usage = TokenUsage(1_000, 450, reasoning_tokens=400)
    assert Context(None).answered([user("So?"), Message("assistant", [part])], usage) == tokens


@pytest.mark.parametrize(("real", "learnt"), [(2.0, 2.0), (0.7, 0.7), (100.0, 3.0), (0.01, 0.5)])
def test_the_estimate_learns_from_the_provider(real: float, learnt: float) -> None:
    """What each answer adds is compared; the tools, which are in every number, say nothing of the estimate."""
    context, messages, tools = Context(None), talk(6), 3_000
    context.answered(messages[:2], TokenUsage(tools + round(400 * real), round(400 * real)))
    assert context.tokens(messages[:3]) - context.tokens(messages[:2]) == 400
    context.answered(messages[:6], TokenUsage(tools + round(2_000 * real), round(400 * real)))
    assert context.tokens(messages[:7]) - context.tokens(messages[:6]) == round(400 * learnt)
    assert context.tokens(messages[:5]) - context.tokens(messages[:6]) == round(-400 * learnt)


def test_a_message_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Message] = []

    def measuring(message: Message) -> int:
        measured.append(message)
        return sizes.size_of(message)

    monkeypatch.setattr("toolwire.agent.context.size_of", measuring)
    context, messages = Context(10**9), talk(50)
    for end in range(1, len(messages) + 1):
        context.make_room(messages[:end])
        context.answered(messages[:end], None)
    assert len(measured) == len(messages)


def test_room_is_made_from_80_percent_on_and_to_50() -> None:
    messages = talk(10)
    taken = estimate(messages)
    assert Context(None).make_room(messages) is None
    assert Context(int(taken / FULL) + 2).make_room(messages) is None
    context = Context(int(taken / FULL))
    compacted = context.make_room(messages)
    assert compacted is not None
    assert compacted.tokens_before == taken
    assert compacted.tokens_after == context.tokens(compacted.messages)
    assert 0.4 * taken / FULL < compacted.tokens_after <= GOAL * taken / FULL
    assert context.make_room(compacted.messages) is None


def test_what_the_provider_counts_is_what_decides() -> None:
    context, messages = Context(10_000), talk(6)
    assert context.make_room(messages) is None
    context.answered(messages[:-1], TokenUsage(8_500, 100))
    compacted = context.make_room(messages)
    assert compacted is not None
    assert compacted.tokens_before == 9_000
    assert compacted.tokens_after <= 5_000


def test_no_more_goes_than_must_where_the_estimate_is_off() -> None:
    context, messages = Context(25_000), talk(25)
    context.answered(messages[:2], TokenUsage(800, 800))
    context.answered(messages[:-1], TokenUsage(39_200, 800))
    compacted = context.make_room(messages)
    assert compacted is not None
    assert compacted.tokens_before == 40_800
    assert 11_000 < compacted.tokens_after <= 12_500


def test_little_is_not_worth_the_cache() -> None:
    messages = [user("Hi there, this is all that was said before."), Message("assistant", "x" * 2_000), *talk(0, 9_000)]
    assert Context(10_000).make_room(messages) is None
    assert Context(10_000).make_room(messages, force=True) is not None


def test_a_refusal_shows_how_much_the_model_can_read() -> None:
    messages = talk(10)
    taken = estimate(messages)
    context = Context(None)
    compacted = context.make_room(messages, force=True)
    assert compacted is not None
    assert context.window == taken
    assert compacted.tokens_after <= taken / 2
    again = context.make_room(compacted.messages, force=True)
    assert again is not None
    assert context.window == compacted.tokens_after
    assert again.tokens_after <= compacted.tokens_after / 2
    grown = [*again.messages, Message("assistant", "x" * 16_000), user("So?")]
    assert context.make_room(grown) is not None, "it does not come to a refusal again"
    large = Context(10**6)
    large.make_room(messages, force=True)
    assert large.window == taken


def test_nothing_left_to_shorten() -> None:
    context = Context(100)
    messages = [system("Be brief." * 100), user("Read this: " + "x" * 10_000)]
    assert context.make_room(messages) is None
    assert context.make_room(messages, force=True) is None


def compactions(events: list[AgentEvent]) -> list[HistoryCompacted]:
    return [event for event in events if isinstance(event, HistoryCompacted)]


def calls(messages: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    made = [each["id"] for message in messages for each in message.get("tool_calls") or ()]
    return made, [message["tool_call_id"] for message in messages if message["role"] == "tool"]


async def test_the_agent_makes_room_before_it_asks() -> None:
    script = Script(*[sse(delta(content="It is 5."), delta(finish="stop"))] * 12)
    it = agent(script, context_tokens=1_200, system_prompt="Be brief.")
    heard = []
    for number in range(12):
        events = await collect(it, f"Question {number}: {'word ' * 120}")
        assert last(events)
        heard += compactions(events)
    assert heard
    assert all(event.window == 1_200 and event.tokens_after <= 600 < 960 <= event.tokens_before for event in heard)
    assert heard[0].notes == ["8 old messages are no longer sent"]
    for request in script.requests:
        assert len(msgspec.json.encode(request)) < 7_000
        assert request["messages"][0] == {"role": "system", "content": "Be brief."}
    assert NOTE_START in msgspec.json.encode(script.requests[-1]).decode()
    assert "Question 0:" in msgspec.json.encode(script.requests[-1]).decode()


async def test_a_run_that_goes_on_long_keeps_calls_with_their_results() -> None:
    def look(number: int) -> bytes:
        made = call(f'{{"a":{number},"b":1}}', id=f"c{number}", name="add")
        return sse(delta(content="word " * 200), delta(tool_calls=[made]), delta(finish="tool_calls"))

    script = Script(*[look(number) for number in range(14)], FIVE)
    events = await collect(agent(script, context_tokens=2_000))
    assert last(events).turns == 15
    assert compactions(events)
    for request in script.requests:
        made, answered = calls(request["messages"])
        assert made == answered
        assert request["messages"][0]["role"] == "user"
        assert str(request["messages"][0]["content"]).endswith(("2 + 3?", "2 + 3?'}]"))
    assert calls(script.requests[-1]["messages"])[0][-1] == "c13"
    assert "c0" not in calls(script.requests[-1]["messages"])[0]


REFUSED = ProviderError("this is too long", status=400, refused="length")


async def test_a_refused_conversation_is_shortened_and_sent_again() -> None:
    script = Script(REFUSED, FIVE)
    it = agent(script)
    it.messages = [user("Look."), *looked("x" * 50_000)]
    events = await collect(it)
    assert last(events)
    (compacted,) = compactions(events)
    assert compacted.tokens_after < compacted.tokens_before / 2
    assert len(msgspec.json.encode(script.requests[1])) < len(msgspec.json.encode(script.requests[0])) / 2
    made, answered = calls(script.requests[1]["messages"])
    assert made == answered


async def test_a_refusal_that_cannot_be_helped_is_told() -> None:
    script = Script(REFUSED, REFUSED, REFUSED)
    events = await collect(agent(script), "word " * 1_000)
    assert isinstance(events[-1], RunFailed)
    assert events[-1].error.message == "this is too long"
    assert len(script.requests) == 1


def looked(result: str) -> list[Message]:
    return [
        Message("assistant", [ToolCallPart("c1", "add", {"a": 1, "b": 2})]),
        Message("tool", [ToolResultPart("c1", "add", result)]),
        Message("assistant", "Well."),
    ]


@pytest.mark.parametrize(
    ("model", "options", "window"),
    [
        ("anthropic:claude-sonnet-4-5", {}, 200_000),
        ("anthropic:claude-sonnet-4-5", {"context_tokens": 1_000_000}, 1_000_000),
        ("openai-compatible:m", {"base_url": "http://127.0.0.1:1/v1"}, None),
        ("local", {}, 4_096),
        ("ollama:llama3.2", {"context_tokens": 65_536}, 65_536),
    ],
)
def test_how_much_a_model_can_read(model: str, options: dict[str, Any], window: int | None) -> None:
    made = Agent(model, [add], api_key="none", transport=Script(), **options)
    assert made._context.window == window


async def test_what_was_estimated_counts_where_the_provider_says_nothing() -> None:
    script = Script(ADD, sse(delta(content="5"), delta(finish="stop")))
    it = agent(script)
    events = await collect(it, "word " * 400)
    assert isinstance(events[-1], RunFinished)
    assert it._context.tokens(it.messages) == estimate(it.messages) + size_of_tools(it._tools) > 500


def test_tools_take_room_too() -> None:
    context, messages = Context(100_000), talk(3)
    many = [ToolDefinition(f"tool_{number}", "word " * 100) for number in range(8)]
    context.offers(many)
    assert context.tokens(messages) == estimate(messages) + size_of_tools(many) > 1_000
    context.offers([])
    assert context.tokens(messages) == estimate(messages)


async def test_what_was_left_out_is_left_out_of_the_session_too(tmp_path: Path) -> None:
    script = Script(*[sse(delta(content="It is 5."), delta(finish="stop"))] * 12)
    with SessionStore(tmp_path / "sessions.db") as store:
        session = store.create(model="m", cwd="/")
        it = agent(script, context_tokens=1_000, session=session)
        heard = [await collect(it, f"Question {number}: {'word ' * 120}") for number in range(8)]
        assert any(map(compactions, heard))
        assert store.read(session.id).messages == it.messages
