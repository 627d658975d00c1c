"""What makers of models ask for a million tokens, as their own price pages said it on one day.

Prices change without notice, and a person may have another contract: whatever is reckoned with these is to be told as
"about", with the day. So the table is small. It holds models whose price is one number at every hour and every length,
by their whole names, and nothing that had to be guessed: for all others the person says what they pay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

AS_OF = "2026-11"
"""The month in which the pages were read."""


class ListPrice(NamedTuple):
    """US dollars for a million tokens."""

    input: float
    output: float
    cached: float
    """For what is sent and was there already."""
    cache_write: float | None = None
    """For what is sent and kept for the next time; None: as much as anything else that is sent."""


def _claude(input: float, output: float, cached: float) -> ListPrice:
    return ListPrice(input, output, cached, input * 1.25)


_GPT: Mapping[str, ListPrice] = {
    "gpt-4.1": ListPrice(2.0, 8.0, 0.5),
    "gpt-4.1-mini": ListPrice(0.4, 1.6, 0.1),
    "gpt-4.1-nano": ListPrice(0.1, 0.4, 0.025),
    "gpt-4o": ListPrice(2.5, 10.0, 1.25),
    "gpt-4o-mini": ListPrice(0.15, 0.6, 0.075),
    "gpt-5": ListPrice(1.25, 10.0, 0.125),
    "gpt-5-mini": ListPrice(0.25, 2.0, 0.025),
    "gpt-5-nano": ListPrice(0.05, 0.4, 0.005),
}
_CLAUDE: Mapping[str, ListPrice] = {
    **dict.fromkeys((f"claude-opus-{each}" for each in ("4-5", "4-6", "4-7", "4-8", "5")), _claude(5.0, 25.0, 0.5)),
    **dict.fromkeys(("claude-sonnet-4-5", "claude-sonnet-4-6"), _claude(3.0, 15.0, 0.3)),
    "claude-sonnet-5": _claude(2.0, 10.0, 0.2),
    "claude-haiku-4-5": _claude(1.0, 5.0, 0.1),
    "claude-fable-5": _claude(10.0, 50.0, 1.0),
    "claude-fable-5-1": _claude(10.0, 50.0, 0.25),
}
PRICES: Mapping[str, Mapping[str, ListPrice]] = {
    "https://api.openai.com/v1": _GPT,
    "https://api.anthropic.com": _CLAUDE,
}
"""By the maker's own address, and by model: others who offer the same models ask what they like."""


def list_price(address: str, model: str) -> ListPrice | None:
    """The price of this model at this address; None where it is not known."""
    return PRICES.get(address.rstrip("/"), {}).get(_undated(model.lower()))


def _undated(model: str) -> str:
    """The name without the day of a snapshot, which costs the same: `…-2025-04-14`, `…-20250929`."""
    for form in ("-dddd-dd-dd", "-dddddddd"):
        end = model[-len(form) :]
        if len(model) > len(form) and _form(end) == form:
            return model[: -len(form)]
    return model


def _form(text: str) -> str:
    return "".join("d" if char in "0123456789" else char for char in text)
