"""Runs the real command in a process of its own, with a clean environment."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
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
    done = subprocess.run(
        [sys.executable, "-m", "toolwire", *arguments],
        input=stdin,
        capture_output=True,
        env=clean_environment(env),
        cwd=cwd,
        timeout=60,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


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
