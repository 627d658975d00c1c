"""Arguments that come as a JSON string which itself holds JSON: what the string says, while it arrives."""

from __future__ import annotations

from .json_source import decoded

_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n", "\\t": "\t"}
"""Those that are frequent; `decoded` knows all."""


class Unquoting:
    """What the inside of a JSON string says, piece by piece.

    Halves of surrogate pairs stay escapes: they mean the same in the JSON that the string holds.
    """

    def __init__(self) -> None:
        self._rest = ""

    def __call__(self, text: str) -> str:
        """What the next piece adds; an escape that is not whole waits for the rest of it."""
        text = self._rest + text
        self._rest = ""
        said: list[str] = []
        at = 0
        while (slash := text.find("\\", at)) >= 0:
            said.append(text[at:slash])
            at = slash + (6 if text[slash + 1 : slash + 2] == "u" else 2)
            if at > len(text):
                self._rest = text[slash:]
                return "".join(said)
            escape = text[slash:at]
            said.append(_ESCAPES.get(escape) or decoded(f'"{escape}"') or escape)
        said.append(text[at:])
        return "".join(said)
