"""`TypedLines`: lines are read one after another, whenever their task starts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from eager import eager_tasks
from toolwire.chat.talk import Talk
from toolwire.chat.typed import SlashLine
from toolwire.errors import ConfigError
from toolwire.tui import typed_lines
from toolwire.tui.typed_lines import TypedLines


class Lines:
    """`TypedLines` in a directory without servers, and what came of each line."""

    def __init__(self, root: Path) -> None:
        assembly = SimpleNamespace(workspace=SimpleNamespace(root=str(root)))
        self.done: list[str] = []
        self.refused: list[str] = []
        self.typed = TypedLines(
            cast(Talk, SimpleNamespace(assembly=assembly, made=SimpleNamespace(servers=None))),
            lambda line, sent: self.done.append(sent[0]),
            lambda error, sent: self.refused.append(sent[0]),
        )

    async def until_idle(self) -> None:
        """Wait for all lines; fails, rather than hangs, if their task was lost."""
        for _ in range(100):
            if not self.typed.busy:
                return
            await asyncio.sleep(0)
        raise AssertionError("still busy")


async def test_every_line_after_a_slash_command_is_read(tmp_path: Path) -> None:
    lines = Lines(tmp_path)
    with eager_tasks():
        for text in ("/help", "/cost", "hello", "/help"):
            lines.typed.add(text)
            await lines.until_idle()
    assert lines.done == ["/help", "/cost", "hello", "/help"]


async def test_a_line_after_a_refused_one_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(text: str, **_: Any) -> SlashLine:
        if text == "bad":
            raise ConfigError("not understood")
        return SlashLine("help", "")

    monkeypatch.setattr(typed_lines, "read_typed", read)
    lines = Lines(tmp_path)
    with eager_tasks():
        for text in ("bad", "/help"):
            lines.typed.add(text)
            await lines.until_idle()
    assert (lines.refused, lines.done) == (["bad"], ["/help"])


async def test_a_line_typed_while_another_is_read_is_not_read_twice(tmp_path: Path) -> None:
    lines = Lines(tmp_path)
    with eager_tasks():
        lines.typed.add("/help")
        lines.typed.add("/cost")
        assert lines.typed.busy
        await lines.until_idle()
    assert lines.done == ["/help", "/cost"]
