"""Arguments that come as a JSON string which itself holds JSON: what the string says, while it arrives."""

from __future__ import annotations

from .json_source import decoded

_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n", "\\t": "\t"}
"""Those that are frequent; `decoded` knows all."""

_NEVER_ESCAPED = "\ufffd"
"""For half a character: after a backslash it makes the JSON as wrong as that."""


class Unquoting:
    """What the inside of a JSON string says, piece by piece.

    Halves of surrogate pairs stay escapes: they mean the same in the JSON that the string holds, except after a
    backslash there, where no character of theirs may stand.
    """

    def __init__(self) -> None:
        self._rest = ""
        self._escapes = False
        """What was said ends with a backslash that escapes what comes next."""

    def __call__(self, text: str) -> str:
        """What the next piece adds; an escape that is not whole waits for the rest of it."""
        text = self._rest + text
        self._rest = ""
        said: list[str] = []
        at = 0
        while (slash := text.find("\\", at)) >= 0:
            self._say(text[at:slash], said)
            at = slash + (6 if text[slash + 1 : slash + 2] == "u" else 2)
            if at > len(text):
                self._rest = text[slash:]
                return "".join(said)
            escape = text[slash:at]
            meant = _ESCAPES.get(escape) or decoded(f'"{escape}"')
            self._say(meant or (_NEVER_ESCAPED if self._escapes else escape), said)
        self._say(text[at:], said)
        return "".join(said)

    def _say(self, text: str, said: list[str]) -> None:
        if text:
            said.append(text)
            self._escapes = text == "\\" and not self._escapes
