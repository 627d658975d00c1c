from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from toolwire import ToolDefinition
from toolwire.cli import ask
from toolwire.cli.console import PlainConsole
from toolwire.cli.screen import Screen
from toolwire.stream.invocation import ToolInvocation


async def test_a_repaired_call_is_told_to_be_a_guess(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def yes(_: int) -> str:
        return "y\n"

    monkeypatch.setattr(ask, "read_line", yes)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: 0))
    console = PlainConsole()
    question = ask.TerminalQuestion(console, Screen(console))
    repaired = ToolInvocation("c1", "add", {"a": 1}, repairs=("a comma was \x1b[2J left out (at character 5)",))
    assert await question(repaired, ToolDefinition("add", "Adds.", {"type": "object"}))
    shown = capsys.readouterr().out
    assert "The call was malformed and is a guess: a comma was" in shown
    assert "\x1b" not in shown
    assert await question(ToolInvocation("c1", "add", {"a": 1}), ToolDefinition("add", "Adds.", {"type": "object"}))
    assert "guess" not in capsys.readouterr().out
