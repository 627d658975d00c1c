"""The base prices of a few models for a million tokens, as copies of their maker's own pages have them.

Prices change without notice, a long prompt may cost more, and a person may have another contract: whatever is reckoned
with these is to be told as "about", with `AS_OF`. So the table is small. It holds models by their whole names whose
price stood on a page of the maker's own, and nothing from hearsay, by which prices differ by half. A maker whose price
depends on the hour is not in it. For all others the person says what they pay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

AS_OF = "the second half of 2026"
"""The time of the copies; their day is not known."""


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


_CLAUDE: Mapping[str, ListPrice] = {
    **dict.fromkeys((f"claude-opus-{each}" for each in ("4-5", "4-6", "4-7", "4-8", "5")), _claude(5.0, 25.0, 0.5)),
    "claude-sonnet-5": _claude(2.0, 10.0, 0.2),
    "claude-haiku-4-5": _claude(1.0, 5.0, 0.1),
    "claude-fable-5": _claude(10.0, 50.0, 1.0),
    "claude-fable-5-1": _claude(10.0, 50.0, 0.25),
}
PRICES: Mapping[str, Mapping[str, ListPrice]] = {"https://api.anthropic.com": _CLAUDE}
"""By the maker's own address, and by model: others who offer the same models ask what they like."""


def list_price(address: str, model: str) -> ListPrice | None:
    """The price of this model at this address; None where it is not known."""
    return PRICES.get(address.rstrip("/"), {}).get(_undated(model.lower()))


def _undated(model: str) -> str:
    """The name without the day of a snapshot, which costs the same: `…-2025-04-14`, `…-20251001`."""
    for form in ("-dddd-dd-dd", "-dddddddd"):
        end = model[-len(form) :]
        if len(model) > len(form) and _form(end) == form:
            return model[: -len(form)]
    return model


def _form(text: str) -> str:
    return "".join("d" if char in "0123456789" else char for char in text)
