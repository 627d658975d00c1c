"""What a conversation cost, where that is known: by the prices of the person's config file; models here are free."""

from __future__ import annotations

from collections.abc import Mapping

from ..chunks import TokenUsage
from ..providers.catalog import find_provider
from ..settings.model import Price
from .talk import Talk

_MILLION = 1_000_000
_FREE = Price()


def conversation_cost(talk: Talk, usage: Mapping[str, TokenUsage]) -> float | None:
    """What these tokens cost, by model; None where the price of one of them is not known."""
    total = 0.0
    for model, used in usage.items():
        price = price_of(talk.prices, model)
        if price is None:
            return None
        total += cost(price, used)
    return total


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    """The price of a model: that of its whole name, else of the longest beginning of it that has one."""
    provider = find_provider(model.partition(":")[0])
    if provider is not None and provider.is_local:
        return prices.get(model, _FREE)
    named = [name for name in prices if model.startswith(name)]
    return prices[max(named, key=len)] if named else None


def cost(price: Price, usage: TokenUsage) -> float:
    """What the tokens of one model cost. What came from a cache has a price of its own, where that is said."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    cached_price = price.input if price.cached is None else price.cached
    sent = (usage.input_tokens - cached) * price.input + cached * cached_price
    return (sent + usage.output_tokens * price.output) / _MILLION


def money(amount: float | None) -> str:
    """An amount, in whatever the prices are in; empty where it is not known."""
    if amount is None:
        return ""
    return "0" if amount == 0 else f"{amount:.4f}" if amount < 0.1 else f"{amount:,.2f}"
