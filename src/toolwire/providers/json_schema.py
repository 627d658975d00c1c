"""What the schema transforms of all wires share: where a reference leads, and keywords said in words."""

from __future__ import annotations

from typing import Any

import msgspec


def referenced(root: dict[str, Any], reference: Any) -> dict[str, Any] | None:
    """The schema that a `$ref` within `root` means; None where it is no such reference or leads nowhere."""
    if not isinstance(reference, str) or reference[:1] != "#":
        return None
    found: Any = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and step.isascii() and step.isdigit() and int(step[:6]) < len(found):
            found = found[int(step[:6])]
        elif isinstance(found, dict) and step in found:
            found = found[step]
        else:
            return None
    return found if isinstance(found, dict) else None


def in_words(keywords: dict[str, Any]) -> str:
    """Keywords that a wire has no place for, as a description can say them: `minimum: 1, format: "date"`."""
    return ", ".join(f"{name}: {msgspec.json.encode(value).decode()}" for name, value in keywords.items())
