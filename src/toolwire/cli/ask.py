"""The question before a call with effects: shows exactly what would run, and takes only a typed yes for yes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import Any, Protocol

from rich.console import Console

from ..approval.request import Answer, ApprovalRequest, Scope, deny
from ..approval.shown import read_arguments, whole_text
from ..strict_json import NotStrict, parse_arguments
from .editing import NotEdited, chosen_editor, in_editor
from .question import (
    Line,
    argument_lines,
    changed_lines,
    difference_lines,
    is_long_preview,
    model_question_lines,
    question_lines,
    sentence,
)

TYPED_LINE = 4_000
"""What can be typed on one line: the terminal itself takes some 4,095 bytes and drops the rest."""
MAX_REASON = 1_000
_LASTING = {
    "s": (True, Scope.SESSION),
    "a": (True, Scope.ALWAYS),
    "ns": (False, Scope.SESSION),
    "na": (False, Scope.ALWAYS),
}
"""Answers for longer than once."""


class Held(Protocol):
    """A screen that keeps still while a question stands on it."""

    def held(self) -> AbstractContextManager[None]:
        """Nothing is written to it meanwhile."""
        ...


class TerminalQuestion:
    """Asks the person at the terminal; an `Ask` for the gate. Calls that wait side by side are asked one by one.

    `kept_in` is the file that keeps what is allowed or denied always; without it nothing can be.
    """

    def __init__(self, console: Console, screen: Held, *, kept_in: str = "") -> None:
        self._console = console
        self._screen = screen
        self._kept_in = kept_in
        self._terminal = asyncio.Lock()

    async def __call__(self, request: ApprovalRequest) -> Answer:
        """What the person says. The end of input is a no."""
        async with self.held():
            return await _Question(self._console, request, self._kept_in).answer()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """The terminal for one question: others wait, and nothing else is written to the screen."""
        async with self._terminal:
            with self._screen.held():
                yield

    async def ask_person(self, question: str, options: Sequence[str]) -> str:
        """What the person answers to a question of the model's: their words, or the option whose number they type."""
        async with self.held():
            for line in model_question_lines(question, options, self._console.width):
                self._console.out(line.text, style=line.style or None)
            try:
                typed = await read_typed(self._console, "Your answer: ")
            except _Ended:
                typed = ""
        words = typed.strip()
        chosen = dict(zip(map(str, range(1, len(options) + 1)), options, strict=True))
        return chosen.get(words, words)


class _Ended(Exception):
    """The person is gone, or typed Ctrl-D."""


class _Question:
    """One request on the terminal, until it is answered."""

    def __init__(self, console: Console, request: ApprovalRequest, kept_in: str) -> None:
        self._console = console
        self._request = request
        self._kept_in = kept_in
        self._changed: dict[str, Any] | None = None
        self._draft: str | None = None
        """What was edited and could not be read: the next edit goes on with it."""

    async def answer(self) -> Answer:
        self._print(question_lines(self._request, self._console.width, self._kept_in))
        try:
            while True:
                typed = (await self._typed(f"Run it? [{'/'.join(self._keys())}] ")).strip()
                answer = await self._answered(typed)
                if answer is not None:
                    return answer
        except _Ended:
            return deny()

    def _keys(self) -> list[str]:
        keys = ["y", "n"]
        if self._can_last():
            keys += ["s", "a"] if self._kept_in else ["s"]
        if self._changed is not None or not self._request.fully_shown or self._long_change():
            keys.append("v")
        return [*keys, "e", "?"]

    def _can_last(self) -> bool:
        return self._changed is None and self._request.fully_shown and bool(self._request.offers)

    def _long_change(self) -> bool:
        return self._changed is None and is_long_preview(self._request, self._console.width)

    def _can_be_refused(self) -> bool:
        return self._changed is None and bool(self._request.refusals)

    async def _answered(self, typed: str) -> Answer | None:
        """The answer that was typed, or None: ask again."""
        word, _, rest = typed.partition(" ")
        word, rest = word.lower().rstrip(",:"), rest.strip()
        if word in ("y", "yes") and not rest:
            return Answer(allowed=True, arguments=self._changed)
        if word in ("n", "no"):
            return deny(rest.removeprefix("because ").strip()[:MAX_REASON])
        if word == "d" and not rest:
            return deny((await self._typed("Why not? The model is told: ")).strip()[:MAX_REASON])
        if word in _LASTING and (self._kept_in or not word.endswith("a")):
            return await self._lasting(word, rest)
        if word == "e" and not rest:
            await self._edit()
        elif word == "v" and not rest:
            await self._view()
        elif word == "?":
            self._print(self._help())
        else:
            self._say("y runs it, n does not, ? says what else there is." if typed else "Nothing was answered.")
        return None

    async def _lasting(self, word: str, number: str) -> Answer | None:
        allowed, scope = _LASTING[word]
        offers = self._request.offers if allowed else self._request.refusals
        if not (self._can_last() if allowed else self._can_be_refused()):
            self._say(f"This can only be {'allowed' if allowed else 'denied'} once.")
            return None
        if not number and len(offers) > 1:
            number = (await self._typed(f"Which, 1 to {len(offers)}? ")).strip()
        if number and number not in map(str, range(1, len(offers) + 1)):
            self._say("There is no such number, and nothing was answered.")
            return None
        return Answer(allowed=allowed, scope=scope, offer=int(number or "1") - 1)

    async def _edit(self) -> None:
        arguments = self._arguments()
        try:
            if editor := chosen_editor(os.environ):
                self._draft = await in_editor(editor, whole_text(arguments) if self._draft is None else self._draft)
                made = read_arguments(self._draft)
                self._draft = None
            else:
                made = await self._typed_arguments(arguments)
        except (NotEdited, NotStrict) as problem:
            self._say(f"That cannot be used: {problem}")
            return
        if json.dumps(made) == json.dumps(arguments):
            self._say("Nothing was changed.")
            return
        self._changed = None if json.dumps(made) == json.dumps(self._request.invocation.arguments) else made
        self._print(changed_lines(made, self._console.width))
        if self._request.preview and self._changed is not None:
            self._say("What that would change in the file is not shown.")

    async def _typed_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if len(json.dumps(arguments)) > TYPED_LINE:
            raise NotEdited("the arguments are too long to be typed; set $EDITOR to change them there")
        typed = await self._typed("All arguments as one line of JSON (nothing: leave them): ")
        return parse_arguments(typed) if typed.strip() else arguments

    async def _view(self) -> None:
        """Everything, a screen at a time."""
        lines = list(argument_lines(whole_text(self._arguments()), self._console.width))
        if self._long_change():
            lines += sentence("What it would change:", self._console.width)
            lines += difference_lines(self._request.preview, self._console.width)
        page = max(self._console.height - 2, 5)
        for start in range(0, len(lines), page):
            self._print(lines[start : start + page])
            left = len(lines) - start - page
            if left > 0 and (await self._typed(f"{left:,} more lines. Enter goes on, q is enough: ")).strip():
                return

    def _help(self) -> Iterator[Line]:
        lines = ["y: run it, this once."]
        if self._can_last():
            lines.append("s: run it, and all that fits the rule above until toolwire ends; s 2 takes the second.")
            if self._kept_in:
                lines.append("a: the same from now on, in this workspace.")
        lines.append("n: do not run it. With words behind it (n because …) the model is told why; d asks you for them.")
        if self._can_be_refused():
            lines.append(
                "ns: do not run it, nor all that fits the rule above until toolwire ends; ns 2 takes the second."
            )
            if self._kept_in:
                lines.append("na: the same from now on, in this workspace.")
        lines += [
            "e: change the arguments first, in $VISUAL or $EDITOR if set.",
            "v: show the arguments and the change to their end.",
            "Ctrl-D is no. Ctrl-C ends the whole answer.",
        ]
        for line in lines:
            yield from sentence(line, self._console.width)

    def _arguments(self) -> dict[str, Any]:
        return self._request.invocation.arguments if self._changed is None else self._changed

    async def _typed(self, prompt: str) -> str:
        return await read_typed(self._console, prompt)

    def _say(self, text: str) -> None:
        self._print(sentence(text, self._console.width, "yellow"))

    def _print(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._console.out(line.text, style=line.style or None)


async def read_typed(console: Console, prompt: str) -> str:
    """One line of the person's; raises `_Ended` where there is none any more. The cursor is at a line's start then."""
    try:
        typed = await read_line(sys.stdin.fileno(), lambda: console.out(f"  {prompt}", end="", style="bold yellow"))
    except asyncio.CancelledError:
        console.out("\n  (no longer asked)", style="dim")
        raise
    if typed is None:
        console.out("")
        raise _Ended
    return typed


async def read_line(terminal: int, ask: Callable[[], None]) -> str | None:
    """One whole line typed from when it was asked for; None at the end of input.

    Read through the loop and not in a thread, so that Ctrl-C ends the wait and nothing keeps reading behind it.
    What was typed before the question was there is no answer to it, and is dropped.
    """
    with suppress(ImportError):
        import termios

        with suppress(termios.error):
            termios.tcflush(terminal, termios.TCIFLUSH)
    ask()
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str | None] = loop.create_future()
    typed = b""

    def take() -> None:
        nonlocal typed
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            piece = b""
        typed += piece
        if not line.done() and (not piece or typed.endswith(b"\n")):
            line.set_result(typed.decode("utf-8", "replace") if piece else None)

    loop.add_reader(terminal, take)
    try:
        return await line
    finally:
        loop.remove_reader(terminal)
