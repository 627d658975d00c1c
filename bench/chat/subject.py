"""The program under test: the conversation and an input on a real terminal, told events at a steady pace."""

from __future__ import annotations

import asyncio
import sys
import time

from textual.app import App, ComposeResult
from textual.widgets import Input

from toolwire.tui.collecting import collect_quietly
from toolwire.tui.conversation import Conversation

from .source import run

CHARACTERS = 38_000
"""Of the text between two calls: about twenty seconds of it."""
_STEP = 0.01


class Subject(App[None]):
    """Streams until it is ended."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "Conversation { height: 1fr; } Input { dock: bottom; }"

    def __init__(self, rate: int) -> None:
        super().__init__()
        self._rate = rate
        self.told = 0

    def compose(self) -> ComposeResult:
        yield Conversation()
        yield Input()

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self.call_after_refresh(collect_quietly)
        self.run_worker(self._stream())

    async def _stream(self) -> None:
        conversation = self.query_one(Conversation)
        began = time.perf_counter()
        number = 0
        while True:
            conversation.ask(f"Question number {number}")
            for event in run(number, CHARACTERS):
                conversation.take(event)
                self.told += 1
                ahead = self.told / self._rate - (time.perf_counter() - began)
                if ahead > 0:
                    await asyncio.sleep(max(ahead, _STEP))
            number += 1


if __name__ == "__main__":
    Subject(int(sys.argv[1])).run()
