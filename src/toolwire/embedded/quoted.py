"""Arguments that come as a JSON string which itself holds JSON: what the string says, while it arrives."""

from __future__ import annotations

from .json_source import decoded

_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n", "\\t": "\t"}
"""Those that are frequent; `decoded` knows all."""

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_HIGH_HALVES = ("d8", "d9", "da", "db")


class Unquoting:
    """What the inside of a JSON string says, piece by piece. Half of a character stays half, and is refused later."""

    def __init__(self) -> None:
        self._rest = ""

    def __call__(self, text: str) -> str:
        """What the next piece adds; an escape, or a pair of them, that is not whole waits for the rest of it."""
        text = self._rest + text
        self._rest = ""
        said: list[str] = []
        at = 0
        while (slash := text.find("\\", at)) >= 0:
            said.append(text[at:slash])
            at = slash + (6 if text[slash + 1 : slash + 2] == "u" else 2)
            second = text[at : at + 6]
            is_high = text[slash + 2 : slash + 4].lower() in _HIGH_HALVES and at == slash + 6
            if at > len(text) or (is_high and len(second) < 6 and "\\u".startswith(second[:2])):
                self._rest = text[slash:]
                return "".join(said)
            escape = text[slash:at]
            whole = decoded(f'"{escape}{second}"') if is_high and second.startswith("\\u") else None
            if whole is not None:
                said.append(whole)
                at += 6
            else:
                said.append(_said(escape))
        said.append(text[at:])
        return "".join(said)


def _said(escape: str) -> str:
    """What one escape says: half of a character too; one that JSON does not have, nothing but itself."""
    known = _ESCAPES.get(escape) or decoded(f'"{escape}"')
    if known is not None:
        return known
    return chr(int(escape[2:], 16)) if _HEX_DIGITS.issuperset(escape[2:]) and len(escape) == 6 else escape
