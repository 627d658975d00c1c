"""Control marks in text that others wrote: what begins and ends turns, calls and reasoning for a model.

A tokenizer takes a mark for one wherever it stands whole. So a prompt has no mark that its layout did not put there:
not inside of anybody's words, and not across the border between such words and what stands beside them. A mark that
words would make gets a space after its first character, or at that border: a person reads the same, a model no mark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

_EVERYWHERE = ("<s>", "</s>", "<think>", "</think>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>")
"""Marks of tokenizers that models prompted in any layout may have: a fine-tuned model keeps those it was made of."""
_SHAPE_LENGTH = 60
_SHAPES = rf"<[|｜][^<>\s]{{1,{_SHAPE_LENGTH}}}[|｜]>"
"""What most families' marks look like, theirs and those that nobody has seen yet."""
_SHAPE_STARTS = re.compile(rf"<(?:[|｜][^<>\s]{{0,{_SHAPE_LENGTH}}})?\Z")
_SHAPE_ENDS = re.compile(rf"[^<>\s]{{0,{_SHAPE_LENGTH}}}[|｜]?>")


class ControlMarks:
    """The marks that text must not hold for the models of one format."""

    def __init__(self, marks: Iterable[str]) -> None:
        known = sorted({*marks, *_EVERYWHERE}, key=len, reverse=True)
        any_mark = "|".join((*map(re.escape, known), _SHAPES))
        self._first = re.compile(rf"(?s)(?=(?:{any_mark})).")
        self._whole = re.compile(rf"(?s)(?=({any_mark}))")
        self._starts = tuple({mark[:end] for mark in known for end in range(1, len(mark))})
        self._ends = tuple({mark[start:] for mark in known for start in range(1, len(mark))})
        self._longest = max(len(known[0]), _SHAPE_LENGTH + 4)

    def harmless(self, text: str) -> str:
        """The text with no mark whole in it."""
        return self._first.sub(r"\g<0> ", text)

    def clean(self, value: Any) -> Any:
        """The value with no mark in any string of it: arguments may quote what a page said."""
        return _of_strings(value, self.harmless)

    def apart(self, value: Any) -> Any:
        """The value with a space wherever a string of it begins or ends as a part of a mark would."""
        return _of_strings(value, self._apart)

    def _apart(self, text: str) -> str:
        before = " " if text.startswith(self._ends) or _SHAPE_ENDS.match(text) else ""
        after = " " if text.endswith(self._starts) or _SHAPE_STARTS.search(text[-self._longest :]) else ""
        return f"{before}{text}{after}"

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
        """How often each mark stands in a text."""
        return Counter(found[1] for found in self._whole.finditer(text))

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
        if not before.endswith(self._starts) and not _SHAPE_STARTS.search(before):
            return False
        after = ""
        while at < len(texts) and len(after) < self._longest:
            after += texts[at][0][: self._longest]
            at += 1
        return any(
            found.start() < len(before) < found.end(1)
            for found in self._whole.finditer(before + after[: self._longest])
        )


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
