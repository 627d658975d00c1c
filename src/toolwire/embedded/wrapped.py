"""Marks around the words of an answer, where a family has them: `<answer>…</answer>` and the like.

They are neither text nor calls, and a prompt's layout writes them by itself (`Chat.words`).
"""

from __future__ import annotations

from collections.abc import Mapping

from .prose import Begin
from .scanner import PieceKind, Scanner, Wait


def wrappers(scanner: Scanner, pairs: Mapping[str, str]) -> dict[str, Begin]:
    """What reads these marks, each pair what opens and what closes.

    One opens where nothing was said yet, since the answer, its reasoning or a call, and takes a line end with it; one
    closes what was opened. All others are text.
    """
    closing = ""

    def opens(mark: str) -> Begin:
        def begin() -> Wait[bool]:
            nonlocal closing
            if scanner.said or scanner.plain is PieceKind.REASONING:
                return False
            closing = pairs[mark]
            yield from scanner.read_literal("\n")
            scanner.give_mark()
            return True

        return begin

    def closes(mark: str) -> Begin:
        def end() -> Wait[bool]:
            nonlocal closing
            yield from ()
            if mark != closing:
                return False
            closing = ""
            scanner.give_mark()
            return True

        return end

    return {mark: opens(mark) for mark in pairs} | {mark: closes(mark) for mark in pairs.values()}
