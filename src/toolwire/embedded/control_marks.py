"""Control marks in text that others wrote: what begins and ends turns, calls and reasoning for a model.

A tokenizer reads a mark wherever it is whole. So a prompt has no mark that its layout did not put there:
not inside of anybody's words, and not across the border between such words and the text beside them. A mark that
words would make gets a space after its first character, or at that border: a person reads the same, a model no mark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

_EVERYWHERE = ("<s>", "</s>", "<think>", "</think>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>")
"""Marks of tokenizers that models prompted in any layout may have: a fine-tuned model keeps those it was made of."""
_BARS = ("|", "｜")
_SHAPED = 60
"""Characters between the bars of `<|…|>`: what most families' marks look like, those too that nobody has seen yet."""
_NOT_SHAPED = frozenset("<> \t\r\n")
_IN_TAGS = frozenset("_:|.-")


class ControlMarks:
    """The marks that text must not hold for the models of one format."""

    def __init__(self, marks: Iterable[str]) -> None:
        self._known = tuple({*marks, *_EVERYWHERE})
        self._starts = tuple({mark[:end] for mark in self._known for end in range(1, len(mark))})
        self._ends = tuple({mark[start:] for mark in self._known for start in range(1, len(mark))})
        self._longest = max(*map(len, self._known), _SHAPED + 4)

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the marks in a text begin and end, those within others too."""
        for mark in self._known:
            at = text.find(mark)
            while at >= 0:
                yield at, at + len(mark)
                at = text.find(mark, at + 1)
        for bar in _BARS:
            at = text.find(f"<{bar}")
            while at >= 0:
                end = text.find(">", at + 4, at + _SHAPED + 4)
                if end >= 0 and text[end - 1] in _BARS and _NOT_SHAPED.isdisjoint(text[at + 1 : end]):
                    yield at, end + 1
                at = text.find(f"<{bar}", at + 1)

    def harmless(self, text: str) -> str:
        """The text with no mark whole in it."""
        pieces: list[str] = []
        end = 0
        for start in sorted({start for start, _ in self._found(text)}):
            pieces.append(text[end : start + 1])
            end = start + 1
        return " ".join((*pieces, text[end:]))

    def clean(self, value: Any) -> Any:
        """The value with no mark in any string of it: arguments may quote what a page said."""
        return _of_strings(value, self.harmless)

    def apart(self, value: Any) -> Any:
        """The value with a space wherever a string of it begins or ends as a part of a mark would."""
        return _of_strings(value, self._apart)

    def _apart(self, text: str) -> str:
        closing = text.find(">", 0, _SHAPED + 3)
        ends_one = closing >= 0 and _NOT_SHAPED.isdisjoint(text[:closing])
        before = " " if ends_one or text.startswith(self._ends) else ""
        return f"{before}{text}{' ' if self._may_begin(text) else ''}"

    def _may_begin(self, text: str) -> bool:
        """Whether the end of a text may be the beginning of a mark."""
        opening = text.rfind("<", max(len(text) - _SHAPED - 3, 0))
        begins_one = opening >= 0 and text[opening + 1 : opening + 2] in ("", *_BARS)
        return (begins_one and _NOT_SHAPED.isdisjoint(text[opening + 1 :])) or text.endswith(self._starts)

    def write(self, values: list[Any], write: Callable[[list[Any]], str]) -> str:
        """What `write` makes of values without marks, where they make none together with what it writes around them."""
        values = self.clean(values)
        text = write(values)
        apart = self.apart(values)
        if apart == values:
            return text
        safe = write(apart)
        return text if self.count(text) == self.count(safe) else safe

    def count(self, text: str) -> Counter[str]:
        """How often each mark occurs in a text."""
        return Counter(text[start:end] for start, end in self._found(text))

    def join(self, pieces: Iterable[tuple[str, bool]]) -> str:
        """Pieces of a prompt as one text; True says that a piece is the layout's own, so that two may make a mark."""
        texts = [piece for piece in pieces if piece[0]]
        joined: list[str] = []
        before, was_own = "", True
        for at, (text, is_own) in enumerate(texts):
            if not (was_own and is_own) and self._makes_mark(before, texts, at):
                joined.append(" ")
                before += " "
            joined.append(text)
            before = (before + text)[-self._longest :]
            was_own = is_own
        return "".join(joined)

    def _makes_mark(self, before: str, texts: list[tuple[str, bool]], at: int) -> bool:
        """Whether a mark begins before this piece and ends in or after it."""
        if not self._may_begin(before):
            return False
        after = ""
        while at < len(texts) and len(after) < self._longest:
            after += texts[at][0][: self._longest]
            at += 1
        found = self._found(before + after[: self._longest])
        return any(start < len(before) < end for start, end in found)


def tags(text: str) -> tuple[str, ...]:
    """Every tag in a text, such as `<tools>` and `</tools>`, once."""
    found: dict[str, None] = {}
    for piece in text.split("<")[1:]:
        tag, closing, _ = piece.partition(">")
        name = tag.removeprefix("/")
        if closing and name[:1].isalpha() and all(char.isalnum() or char in _IN_TAGS for char in name):
            found[f"<{tag}>"] = None
    return tuple(found)


@cache
def control_marks(marks: tuple[str, ...]) -> ControlMarks:
    """The control marks of a format that names these."""
    return ControlMarks(marks)


def _of_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _of_strings(item, change) for key, item in value.items()}
    return [_of_strings(item, change) for item in value] if isinstance(value, list) else value
