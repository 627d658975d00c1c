"""Runs the real command in a process of its own, with a clean environment.

The process is forked from one that has loaded the command already (`command_server.py`), since starting Python and
loading it would take most of the time of these tests.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import toolwire

_SOURCE = str(Path(toolwire.__file__).parent.parent)
_HOME = tempfile.mkdtemp(prefix="toolwire-home-")
"""An empty home: what the command keeps there is nobody's."""
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.split("\n") if line]


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": _HOME,
        "PYTHONPATH": _SOURCE,
        "PYTHONIOENCODING": "utf-8",
        "TOOLWIRE_DISCOVER": "0",
        "NO_COLOR": "1",
        "TERM": "xterm-256color",
        **(more or {}),
    }


def toolwire_command(
    *arguments: str | bytes,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Ran:
    if any(name.startswith("PYTHON") for name in env or ()):
        return _started(arguments, stdin, clean_environment(env), cwd)
    asked = {
        "words": [os.fsencode(word).hex() for word in arguments],
        "env": clean_environment(env),
        "cwd": os.fspath(cwd or os.getcwd()),
    }
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        code = _SERVER.run(asked, [given.fileno(), out.fileno(), err.fileno()])
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read().decode(), err.read().decode())


def _started(arguments: tuple[str | bytes, ...], stdin: bytes, env: Mapping[str, str], cwd: Path | None) -> Ran:
    """For what only a new interpreter takes in: how its own streams are to be."""
    command = [sys.executable, "-m", "toolwire", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, env=env, cwd=cwd, timeout=60)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


class _Server:
    """The process that commands are forked from, started with the first of them."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._socket: socket.socket | None = None

    def run(self, asked: dict[str, Any], streams: list[int]) -> int:
        """The exit code."""
        with self._turn:
            if self._socket is None:
                self._socket = self._start()
            socket.send_fds(self._socket, [json.dumps(asked).encode()], streams)
            code: int = json.loads(self._socket.recv(64))
            return code

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(90)
        program = str(Path(__file__).with_name("command_server.py"))
        subprocess.run(
            [sys.executable, program, str(theirs.fileno())],
            env=clean_environment(),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        theirs.close()
        atexit.register(ours.close)  # which is how it knows
        return ours


_SERVER = _Server()


def assert_sentence(ran: Ran, code: int, *words: str) -> None:
    """The exit code, one sentence and one line of what to do, and never a traceback."""
    assert ran.code == code, ran.err
    assert "Traceback" not in ran.err + ran.out
    sentence, hint = [line for line in ran.err.split("\n") if line][-2:]
    assert sentence.startswith("toolwire: ")
    assert hint.startswith("  ")
    assert len(hint) > 10
    for word in words:
        assert word in ran.err, ran.err
