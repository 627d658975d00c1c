"""Where a reference within a JSON Schema leads: one rule for all that look into the schemas of tools."""

from __future__ import annotations

from typing import Any

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def target(root: dict[str, Any], reference: Any) -> Any:
    """What a `$ref` within `root` points to; None where it is no such reference or leads nowhere."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    if reference[1:2] not in ("", "/"):
        return _anchored(root, reference[1:])
    found: Any = root
    for step in _unescaped(reference[1:]).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isascii() and key.isdigit() and len(key) < 9 and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _anchored(root: dict[str, Any], name: str) -> Any:
    """The schema that calls itself so."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if name in (node.get("$anchor"), node.get("$dynamicAnchor")):
                return node
            waiting += reversed(node.values())
        elif isinstance(node, list):
            waiting += reversed(node)
    return None


def _unescaped(reference: str) -> str:
    """A reference is the end of a URL: `%20` in it is a space."""
    plain, *escaped = reference.split("%")
    data = bytearray(plain.encode(errors="replace"))
    for part in escaped:
        digits, rest = part[:2], part[2:]
        if len(digits) == 2 and _HEX_DIGITS.issuperset(digits):
            data.append(int(digits, 16))
        else:
            rest = f"%{part}"
        data += rest.encode(errors="replace")
    return data.decode(errors="replace")
