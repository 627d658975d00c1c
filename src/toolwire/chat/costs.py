"""What a conversation cost, where that is known: by the person's own prices, else by the list prices of the makers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from ..chunks import TokenUsage
from ..providers.catalog import find_provider
from ..providers.endpoint import base_url_of
from ..providers.prices import AS_OF, ListPrice, list_price
from ..settings.model import Price
from .talk import Talk

_MILLION = 1_000_000


class Cost(NamedTuple):
    """An amount: exact, in the person's own currency, by their own prices; or about, in US dollars, by list prices."""

    amount: float
    is_about: bool = False

    @property
    def words(self) -> str:
        """As a person reads it. What is about says so."""
        if self.amount == 0:
            return "free" if self is FREE else "0"
        digits = f"{self.amount:,.2f}" if self.amount >= 0.1 else f"{self.amount:.4f}"
        return f"about ${digits}" if self.is_about else digits


ABOUT = f"What is called about is reckoned with list prices of {AS_OF}, in US dollars; long prompts may cost more."
FREE = Cost(0.0)


def conversation_cost(talk: Talk, usage: Mapping[str, TokenUsage]) -> Cost | None:
    """What these tokens cost, by model; None where that of one is not known, or where two currencies would be added."""
    costs = [model_cost(talk, model, used) for model, used in usage.items()]
    known = [cost for cost in costs if cost is not None and cost.amount]
    if None in costs or len({cost.is_about for cost in known}) > 1:
        return None
    return Cost(sum(cost.amount for cost in known), any(cost.is_about for cost in known))


def model_cost(talk: Talk, model: str, used: TokenUsage) -> Cost | None:
    """What the tokens of one model cost; None where its price is not known."""
    if own := talk.prices.get(model):
        return Cost(cost(own, used))
    name, _, rest = model.partition(":")
    provider = find_provider(name)
    if provider is None:
        return None
    if provider.name == "local" or provider.is_local:
        return None if rest.endswith("cloud") else FREE  # Ollama passes these on to a service
    address = (talk.made.base_url if model == talk.model else None) or base_url_of(provider, os.environ)
    price = list_price(address, rest or provider.default_model)
    return None if price is None else Cost(_listed(price, used), is_about=True)


def cost(price: Price, usage: TokenUsage) -> float:
    """By the person's own prices. What came from a cache has a price of its own, where that is said."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    cached_price = price.input if price.cached is None else price.cached
    sent = (usage.input_tokens - cached) * price.input + cached * cached_price
    return (sent + usage.output_tokens * price.output) / _MILLION


def _listed(price: ListPrice, usage: TokenUsage) -> float:
    cached = min(usage.cached_tokens, usage.input_tokens)
    written = min(usage.cache_write_tokens, usage.input_tokens - cached)
    write_price = price.input if price.cache_write is None else price.cache_write
    sent = (usage.input_tokens - cached - written) * price.input + cached * price.cached + written * write_price
    return (sent + usage.output_tokens * price.output) / _MILLION


def usage_so_far(talk: Talk) -> dict[str, TokenUsage]:
    """Tokens by model, those of the answer that is going on included."""
    if talk.attached is not None:
        return {talk.attached.model or "its model": talk.attached.info.usage}
    if not talk.running:
        return dict(talk.usage)
    return {**talk.usage, talk.model: sum_of(talk.usage.get(talk.model, TokenUsage()), talk.agent.spent.usage)}


def sum_of(*usages: TokenUsage) -> TokenUsage:
    """All of them together."""
    return TokenUsage(*(sum(getattr(each, name) for each in usages) for name in TokenUsage.__struct_fields__))
