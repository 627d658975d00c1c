"""Recorded conversations of all wires, walked to their end by the real agent over real HTTP; and the embedded model."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import cache

import pytest
from bench.trust.embedded_runs import embedded_runs
from bench.trust.walks import Chain, chains, walk_all, why_not

from corpus import needs_corpus
from recorded_requests import CLIENTS
from toolwire import Agent
from toolwire.agent.events import RunInterrupted
from toolwire.local.weights import install_weights

WALKED = {
    "openai-chat": 94,
    "openai-responses": 82,
    "anthropic": 53,
    "gemini": 25,
    "ollama": 4,
    "bedrock": 5,
    "cohere": 1,
}
CORE = 49
"""Those with an answer in the core set."""

_CODEX = "rig/chatgpt-codex-responses/chatgpt-codex_sessions"
_PICTURES = "rig/gemini-generatecontent/gemini-streaming_multimodal_tool_results"
NOT_WALKED = {
    "weave/openai-chat/llamaindex-llamaindex_test-test_llamaindex_quick_start__00": (
        "not every call was answered, or in another order"
    ),
    "pydantic-ai/openai-responses/test_tool_search-test_openai_client_tool_search_streaming__00": (
        "the client sent more than results and words of the user"
    ),
    f"{_CODEX}-long_history_replay_nonstreaming__00": "the client sent more than results and words of the user",
    f"{_PICTURES}-streaming_history_preserves_hybrid_tool_result_image_parts__00": "a result that is no text",
}


@cache
def every() -> list[Chain]:
    return list(chains(core=False))


@pytest.mark.thorough
@needs_corpus
def test_every_recorded_chain_is_walked_to_its_end() -> None:
    walked: Counter[str] = Counter()
    core = 0
    for chain, faults in walk_all([chain for chain in every() if not why_not(chain)]):
        assert faults == [], chain.case
        walked[chain.wire] += 1
        core += chain.is_core
    assert walked == WALKED
    assert core == CORE


@needs_corpus
def test_what_is_not_walked_has_a_reason() -> None:
    assert {chain.case: why_not(chain) for chain in every() if why_not(chain)} == NOT_WALKED


@needs_corpus
@pytest.mark.parametrize("wire", CLIENTS)
def test_a_walk_can_fail(wire: str) -> None:
    """Of a result that is another than the recorded one, the next request tells."""
    chain = next(chain for chain in every() if chain.wire == wire and not why_not(chain))
    turn = chain.turns[0]
    (part, *_) = turn.added[0].parts
    kept = part.content  # type: ignore[union-attr]
    part.content = "something else"  # type: ignore[union-attr]
    try:
        ((_, faults),) = walk_all([chain])
    finally:
        part.content = kept  # type: ignore[union-attr]
    assert any("something else" in words for words in faults)


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
def test_the_embedded_model_with_a_built_in_tool() -> None:
    found = embedded_runs(1, 3)
    assert found.faults == []


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
async def test_an_interrupt_while_the_embedded_model_starts() -> None:
    install_weights()
    agent = Agent("local")
    asyncio.get_running_loop().call_later(0.25, agent.interrupt)
    begun = time.monotonic()
    events = [event async for event in agent.run("Hello")]
    assert isinstance(events[-1], RunInterrupted)
    assert time.monotonic() - begun < 20
    await agent.close()
