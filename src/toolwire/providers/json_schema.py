"""What the schema transforms of all wires share: where a reference leads, and keywords said in words."""

from __future__ import annotations

from typing import Any

import msgspec

from ..tools.references import target


def referenced(root: dict[str, Any], reference: Any) -> dict[str, Any] | None:
    """The schema that a `$ref` within `root` means; None where it is no such reference or leads nowhere."""
    found = target(root, reference)
    return found if isinstance(found, dict) else None


def in_words(keywords: dict[str, Any]) -> str:
    """Keywords that a wire has no place for, as a description can say them: `minimum: 1, format: "date"`."""
    return ", ".join(f"{name}: {msgspec.json.encode(value).decode()}" for name, value in keywords.items())
