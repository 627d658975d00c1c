"""The brackets of JSON text, followed without parsing it: when it has closed, and how deep it is nested.

Depth matters because a parser's own bound is what is left of the interpreter's stack, which depends on who calls: near
it the same bytes would be read by one caller and refused for another. So text that is too deep is refused before it is
parsed.
"""

from __future__ import annotations


def is_deeper(text: str, limit: int) -> bool:
    """Whether brackets outside strings are nested deeper than `limit`. Linear, and nearly free for short text."""
    if len(text) <= limit or text.count("[") + text.count("{") <= limit:
        return False
    depth = at = 0
    while at < len(text):
        quote = text.find('"', at)
        for char in text[at:quote] if quote >= 0 else text[at:]:
            if char in "[{":
                depth += 1
                if depth > limit:
                    return True
            elif char in "]}":
                depth -= 1
        if quote < 0:
            return False
        at = _end_of_string(text, quote + 1)
    return False


def _end_of_string(text: str, at: int) -> int:
    """Where the text goes on after the string whose content starts at `at`."""
    while True:
        quote = text.find('"', at)
        if quote < 0:
            return len(text)
        backslashes = 0
        while text[quote - 1 - backslashes] == "\\" and quote - 1 - backslashes >= at:
            backslashes += 1
        if backslashes % 2 == 0:
            return quote + 1
        at = quote + 1


class Nesting:
    """Follows the brackets of JSON text that comes in pieces, just far enough to know when the outermost has closed."""

    __slots__ = ("closed", "depth", "escaped", "in_string")

    def __init__(self) -> None:
        self.depth = 0
        self.closed = False
        self.in_string = False
        self.escaped = False

    def read(self, text: str) -> None:
        """Takes the next piece."""
        for char in text:
            if self.in_string:
                if self.escaped:
                    self.escaped = False
                elif char == "\\":
                    self.escaped = True
                elif char == '"':
                    self.in_string = False
            elif char == '"':
                self.in_string = True
            elif char in "{[":
                self.depth += 1
                self.closed = False
            elif char in "}]":
                self.depth -= 1
                self.closed = self.depth <= 0
