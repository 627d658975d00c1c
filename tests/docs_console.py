"""Runs the ```console blocks of a page as a reader would, in a home of its own, and compares what is printed.

A page is one session: its blocks run one after the other in one home (`/home/me`) and one folder (`/home/me/project`).
What a block needs stands in comments right before it, which no reader sees:

    <!-- file: weather.py -->           the block is the content of this file (any language)
    <!-- model: ["It is 18 °C."] -->    what a scripted model on loopback answers, one answer a request: a text, or a
                                        list of texts and {"call": NAME, "arguments": {...}}; in a Python block
                                        {PROVIDER: [ANSWER, …]} for openai and anthropic
    <!-- model: local -->               the embedded model answers
    <!-- typed: ["y"] -->               the block runs at a terminal, and each is typed when the next question stands
                                        there; ["You: ", "y"] in place of "y" says
                                        what that question ends with; [] types nothing
    <!-- not run: why -->               it is not run

In the output `…` stands for anything within a line, and on a line of its own for any number of lines.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.command import _SERVER, clean_environment
from cli.terminal import Terminal
from toolwire.local.weights import cache_folder
from toolwire.testing import ScriptedModel, call, say

SHELL_CHARACTERS = set("|&;<>()$`*?[]#~!")
"""With any of these outside of quotes a line goes to a real shell."""
PROGRAMS = {
    "toolwire": '-m toolwire "$@"',
    "python": '"$@"',
    "uvx": "-m mcp_server_time",
}
"""What the commands of a page find. `uvx` would fetch what it runs: here it runs the one server that pages have."""
PROMPT = "$ "
MOST = "…"


@dataclass
class Block:
    """One fence of a page, with what the comments before it say."""

    line: int
    language: str
    text: str
    notes: dict[str, str] = field(default_factory=dict)


def fences(text: str) -> list[Block]:
    """All fences of a page, in order."""
    found: list[Block] = []
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        if not lines[number].startswith("```"):
            number += 1
            continue
        ticks = len(lines[number]) - len(lines[number].lstrip("`"))
        end = next(at for at in range(number + 1, len(lines)) if lines[at] == "`" * ticks)
        block = Block(number + 1, lines[number][ticks:].strip(), "\n".join(lines[number + 1 : end]))
        before = number - 1
        while before >= 0 and lines[before].startswith("<!--") and lines[before].endswith("-->"):
            name, _, value = lines[before][4:-3].strip().partition(":")
            block.notes[name] = value.strip()
            before -= 1
        found.append(block)
        number = end + 1
    return found


def exchanges(block: Block) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith(PROMPT):
            found.append((line.removeprefix(PROMPT), []))
        elif line.startswith("> ") and found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (f"{found[-1][0][:-1].rstrip()} {line[2:].strip()}", [])
        else:
            assert found, f"line {block.line}: output before any command"
            found[-1][1].append(line)
    return found


def fits(expected: Sequence[str], printed: str) -> bool:
    """Whether this is what was printed, `…` standing for anything."""
    pattern = ""
    for line in "\n".join(expected).strip("\n").split("\n") if any(expected) else []:
        if line.strip() == MOST:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(piece) for piece in line.rstrip().split(MOST)) + r"\n"
    lines = [line.rstrip() for line in printed.strip("\n").split("\n")] if printed.strip() else []
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def scripted(words: str) -> ScriptedModel:
    """The model of a `model:` comment."""
    return scripted_answers(json.loads(words))


def scripted_answers(answers: list[Any], wire: str | None = None) -> ScriptedModel:
    """A model that says this; a server of it speaks `wire`, or else OpenAI's chat completions."""

    def said(piece: Any) -> Any:
        return say(piece) if isinstance(piece, str) else call(piece["call"], piece.get("arguments", {}))

    return ScriptedModel(
        [said(one) if isinstance(one, str) else [said(piece) for piece in one] for one in answers], wire=wire
    )


@contextmanager
def served(model: ScriptedModel) -> Iterator[str]:
    """The address where it answers, on a loop of its own."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    address: list[str] = []
    done = asyncio.Event()

    async def serve() -> None:
        async with model.serve() as url:
            address.append(url)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert ready.wait(10)
        yield address[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)
        loop.close()


class Reader:
    """Somebody who follows a page, command by command."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "me"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        programs = folder / "programs"
        programs.mkdir()
        for name, words in PROGRAMS.items():
            program = programs / name
            program.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {words}\n")
            program.chmod(0o755)
        self.env = {
            "HOME": str(self.home),
            "COLUMNS": "100",
            "LINES": "200",  # no page by page
            "PATH": f"{programs}:{os.environ.get('PATH', '')}",
        }

    def follow(self, text: str) -> None:
        """Does all that the page says, and fails at the first thing that is not as it says."""
        for block in fences(text):
            if "file" in block.notes:
                path = self.path(block.notes["file"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text + "\n")
            elif block.language == "console" and "not run" not in block.notes:
                if block.notes.get("model") == "local":
                    self.env["TOOLWIRE_CACHE"] = str(cache_folder())
                    self._block(block)
                elif "model" in block.notes:
                    model = scripted(block.notes["model"])
                    with served(model) as url:
                        self._block(block, url)
                    assert not model.left, f"line {block.line}: {model.left} answers of the model were not asked for"
                else:
                    self._block(block)

    def path(self, name: str) -> Path:
        """Where a file of the page is."""
        return self.home / name[2:] if name.startswith("~/") else self.project / name

    def _block(self, block: Block, url: str = "") -> None:
        typed = json.loads(block.notes["typed"]) if "typed" in block.notes else None
        for command, expected in exchanges(block):
            printed = self._shown(self._run(command, url, typed), url)
            if not fits(expected, printed):
                wanted = "\n".join(expected)
                raise AssertionError(f"line {block.line}: $ {command}\n--- the page\n{wanted}\n--- printed\n{printed}")

    def _shown(self, printed: str, url: str) -> str:
        if url:
            printed = printed.replace(url, "https://api.example.com")
        return printed.replace(str(self.home), "/home/me")

    def _run(self, command: str, url: str, typed: list[Any] | None) -> str:
        env = dict(self.env)
        if url:
            env |= {"OPENAI_BASE_URL": url, "ANTHROPIC_BASE_URL": url}
        words = shlex.split(command)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.env[name] = value.replace(MOST, "abcdefghijklmnop1234")  # a key, say, that no page shows
            return ""
        if typed is not None:
            return self._at_terminal(words[1:], env, typed)
        plain = command.replace(" 2>/dev/null", "").replace(" </dev/null", "")
        if words[0] == "toolwire" and not SHELL_CHARACTERS.intersection(unquoted(plain)):
            return self._forked(shlex.split(plain)[1:], env, answer_alone=" 2>/dev/null" in command)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.project,
            env=clean_environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return done.stdout.decode()

    def _at_terminal(self, words: list[str], env: dict[str, str], typed: list[Any]) -> str:
        printed = ""
        with chdir(self.project), Terminal(*words, env=env) as terminal:
            for answer in typed:
                waited, said = ("] ", answer) if isinstance(answer, str) else answer
                printed += terminal.wait_for(waited)
                terminal.type(f"{said}\n")
            stuck = threading.Timer(20, os.kill, (terminal.process, signal.SIGKILL))
            stuck.start()
            try:
                terminal.end()
            finally:
                stuck.cancel()
            return without_styles(printed + terminal.screen)

    def _forked(self, words: list[str], env: dict[str, str], *, answer_alone: bool) -> str:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as unread:
            asked = {
                "words": [os.fsencode(word).hex() for word in words],
                "env": clean_environment(env),
                "cwd": str(self.project),
            }
            _SERVER.run(asked, [given.fileno(), out.fileno(), (unread if answer_alone else out).fileno()])
            out.seek(0)
            return out.read().decode()


def unquoted(command: str) -> str:
    """The characters of a line that stand in no quotes."""
    pieces, quote = [], ""
    for char in command:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            pieces.append(char)
    return "".join(pieces)


def without_styles(printed: str) -> str:
    """What a terminal shows at the end, without colours and without the lines that say that something goes on."""
    first, *rest = printed.replace("\r\n", "\n").split("\x1b[")
    text = first + "".join(piece[next(at for at, char in enumerate(piece) if char.isalpha()) + 1 :] for piece in rest)
    lines = [line.rpartition("\r")[2] for line in text.split("\n")]
    return "\n".join(line for line in lines if not "\u2800" <= line[:1] <= "\u28ff")
