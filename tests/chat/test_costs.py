"""What a conversation cost: exact by the person's own prices, about by list prices, or not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chat.talking import MODEL, talking, told
from toolwire.chat.costs import FREE, Cost, conversation_cost, cost, model_cost, usage_so_far
from toolwire.chunks import TokenUsage
from toolwire.providers.catalog import PROVIDERS
from toolwire.providers.prices import PRICES, list_price
from toolwire.settings.model import Price

MAKER = "https://api.anthropic.com"
USED = TokenUsage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=400_000)


@pytest.mark.parametrize(
    ("price", "usage", "amount"),
    [
        (Price(input=2.0, output=8.0), TokenUsage(500_000, 250_000), 3.0),
        (Price(input=2.0, output=8.0), USED, 2.8),
        (Price(input=2.0, output=8.0, cached=0.5), USED, 2.2),
        (Price(input=2.0, output=8.0, cached=0.0), USED, 2.0),
        (Price(input=1.0), TokenUsage(input_tokens=10, cached_tokens=50), 0.00001),
        (Price(), USED, 0.0),
    ],
)
def test_own_prices(price: Price, usage: TokenUsage, amount: float) -> None:
    assert cost(price, usage) == pytest.approx(amount)


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (Cost(0), "0"),
        (FREE, "free"),
        (Cost(0.00004), "0.0000"),
        (Cost(0.0123), "0.0123"),
        (Cost(1234.567), "1,234.57"),
        (Cost(0.5, is_about=True), "about $0.50"),
    ],
)
def test_words(amount: Cost, words: str) -> None:
    assert amount.words == words


@pytest.mark.parametrize(
    ("address", "model", "known"),
    [
        (MAKER, "claude-sonnet-5", True),
        (f"{MAKER}/", "Claude-Haiku-4-5-20251001", True),
        (MAKER, "claude-opus-5-2026-05-01", True),
        (MAKER, "claude-sonnet-5-5", False),
        (MAKER, "claude-sonnet-5-tuned", False),
        (MAKER, "claude-sonnet", False),
        ("https://api.openai.com/v1", "gpt-4.1-mini", False),
        ("https://proxy.example.com/v1", "claude-sonnet-5", False),
        (MAKER, "", False),
        (MAKER, "-2025-04-14", False),
    ],
)
def test_list_prices_are_for_whole_names_at_the_makers_own_address(address: str, model: str, known: bool) -> None:
    assert (list_price(address, model) is not None) is known


def test_every_list_price_is_one() -> None:
    addresses = {provider.base_url for provider in PROVIDERS.values()}
    for address, models in PRICES.items():
        assert address in addresses
        for price in models.values():
            assert 0 < price.cached < price.input < price.output


ALIKE: dict[str, tuple[str, Cost | None]] = {
    "own": ("work:large", Cost(2.8)),
    "own before the list": ("anthropic:claude-opus-5", Cost(2.8)),
    "list": ("anthropic:claude-haiku-4-5", Cost(1.165, is_about=True)),
    "the usual model": ("anthropic", Cost(2.33, is_about=True)),
    "embedded": ("local", FREE),
    "here": ("ollama:qwen3", FREE),
    "passed on": ("ollama:gpt-oss:120b-cloud", None),
    "not in the list": ("openai:gpt-4.1-mini", None),
    "somebody's server": ("openai-compatible:claude-sonnet-5", None),
    "no such provider": ("nosuch:x", None),
}


@pytest.mark.parametrize("name", ALIKE)
async def test_each_model_costs_what_is_known_of_it(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, expected = ALIKE[name]
    used = TokenUsage(1_000_000, 100_000, 400_000, cache_write_tokens=100_000)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    async with talking(root) as talk:
        talk.prices = {"work:large": Price(input=2, output=8), "anthropic:claude-opus-5": Price(input=2, output=8)}
        found = model_cost(talk, model, used)
        if expected is None or found is None:
            assert found is expected
        else:
            assert found.is_about == expected.is_about
            assert found.amount == pytest.approx(expected.amount)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
        if name in ("list", "the usual model"):
            assert model_cost(talk, model, used) is None


TOGETHER: list[tuple[dict[str, Any], Cost | None]] = [
    ({}, Cost(0)),
    ({"local": USED}, Cost(0)),
    ({"local": USED, "work:a": USED}, Cost(2.8)),
    ({"work:a": USED, "work:b": USED}, Cost(3.8)),
    ({"anthropic:claude-haiku-4-5": USED, "local": USED}, Cost(1.14, is_about=True)),
    ({"anthropic:claude-haiku-4-5": USED, "work:a": USED}, None),
    ({"work:a": USED, "nosuch:x": USED}, None),
]


@pytest.mark.parametrize(("usage", "expected"), TOGETHER)
async def test_currencies_are_never_added(root: Path, usage: dict[str, TokenUsage], expected: Cost | None) -> None:
    async with talking(root) as talk:
        talk.prices = {"work:a": Price(input=2, output=8), "work:b": Price(input=1)}
        found = conversation_cost(talk, usage)
        assert (found is None) is (expected is None)
        if found is not None and expected is not None:
            assert found.is_about == expected.is_about
            assert found.amount == pytest.approx(expected.amount)


async def test_tokens_of_the_answer_that_goes_on_count(root: Path) -> None:
    async with talking(root, ["Hello.", "More."]) as talk:
        assert usage_so_far(talk) == {}
        await told(talk, "Hi")
        ended = usage_so_far(talk)
        assert ended == talk.usage
        async for _ in talk.run("And?"):
            assert usage_so_far(talk)[MODEL].input_tokens >= ended[MODEL].input_tokens
        assert usage_so_far(talk) == talk.usage
