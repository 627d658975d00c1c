"""A home and a project of their own for tests of `toolwire mcp`, and the command run in this process."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import shlex
import sys
import threading
from pathlib import Path
from typing import Any, Self

import pytest

from cli.command import Ran
from cli.terminal import CTRL_D
from toolwire.cli.app import run_command
from toolwire.mcp.consent import Consents, consents_path
from toolwire.mcp.pins import Pins, pins_path

LINE_SERVER = Path(__file__).parent.parent / "over_mcp" / "line_server.py"


class Home:
    """Where a person's and a project's files are."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.env = {
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        for name, value in self.env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.chdir(self.project)

    @property
    def own_file(self) -> Path:
        return self.folder / "config" / "toolwire" / "mcp.json"

    @property
    def pins(self) -> Pins:
        return Pins(pins_path(self.env))

    @property
    def consents(self) -> Consents:
        return Consents(consents_path(self.env))

    @property
    def lives(self) -> list[str]:
        """The process ids of the servers that were started with `lives`."""
        file = self.folder / "lives"
        return file.read_text().split() if file.exists() else []

    def words(self, *options: str) -> list[str]:
        """The command of a server that tells of its life."""
        return [sys.executable, "-I", "-S", str(LINE_SERVER), f"lives={self.folder / 'lives'}", *options]

    def entry(self, *options: str, **more: Any) -> dict[str, Any]:
        command, *args = self.words(*options)
        return {"command": command, "args": args, **more}

    def write_own(self, **servers: dict[str, Any]) -> None:
        self.own_file.parent.mkdir(parents=True, exist_ok=True)
        self.own_file.write_text(json.dumps({"mcpServers": servers}))

    def write_project(self, **servers: dict[str, Any]) -> None:
        (self.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))

    def run(self, *tokens: str) -> Ran:
        self._capfd.readouterr()
        code = run_command(tokens)
        out, err = self._capfd.readouterr()
        return Ran(code, out, err)


def joined(lines: str) -> str:
    """What stands behind the bars of a screen, with lines that go on put together again."""
    made: list[str] = []
    for line in lines.replace("\r\n", "\n").split("\n"):
        if line.startswith("    │ "):
            made.append(line[6:])
        elif line.startswith("    ┊ "):
            made[-1] += line[6:]
    return "\n".join(made)


def shown_words(lines: str) -> list[str]:
    """The words of the command that a question of consent shows."""
    _, _, after = joined(lines).partition("runs the program:\n")
    words = []
    for line in after.split("\n"):
        if not line.startswith("  "):
            break
        words += shlex.split(line)
    return words


class Seat:
    """A person at a terminal of this process, who gives the next answer to each question of yes or no.

    What is longer than the screen goes on with `on_page`.
    """

    def __init__(self, *answers: str, on_page: str = "") -> None:
        self._on_page = [on_page]
        self._answers = list(answers)
        self._master, self._slave = pty.openpty()
        self._output = io.TextIOWrapper(io.FileIO(self._slave, "w", closefd=False), encoding="utf-8")
        self._input = io.TextIOWrapper(io.FileIO(self._slave, closefd=False), encoding="utf-8")
        self._ends, self._end = os.pipe()
        self._thread = threading.Thread(target=self._sit)
        self._patch = pytest.MonkeyPatch()
        self._written = ""

    def __enter__(self) -> Self:
        self._patch.setattr(sys, "stdin", self._input)
        self._patch.setattr(sys, "stdout", self._output)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()
        self._output.flush()
        os.close(self._end)
        self._thread.join()
        self._output.close()
        self._input.close()
        for descriptor in (self._master, self._slave, self._ends):
            os.close(descriptor)

    def on_pages(self, *answers: str) -> None:
        """What is typed at the end of each screen, one after the other; the last also at all that follow."""
        self._on_page = list(answers)

    @property
    def screen(self) -> str:
        """All that was on it, without styles."""
        first, *rest = self._written.split("\x1b[")
        return first + "".join(piece.partition("m")[2] for piece in rest)

    @property
    def unanswered(self) -> list[str]:
        return self._answers

    def _sit(self) -> None:
        unread = ""
        while True:
            ready, _, _ = select.select([self._master, self._ends], [], [], 5)
            if not ready:
                os.write(self._master, CTRL_D.encode())  # nothing came: whoever asks is not kept waiting
                continue
            if self._master not in ready:
                break
            text = os.read(self._master, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
            self._written += text
            unread += text
            while (at := unread.find("/n] ")) >= 0:
                is_page, unread = unread[:at].endswith("[Enter"), unread[at + 4 :]
                if is_page:
                    answer = self._on_page.pop(0) if self._on_page[1:] else self._on_page[0]
                else:
                    answer = self._answers.pop(0) if self._answers else CTRL_D
                os.write(self._master, answer.encode() if answer == CTRL_D else f"{answer}\n".encode())
