"""What `make run` starts, and what it says where nothing can be installed."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parent.parent
MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(MAKE is None, reason="make is not installed")


def make(*arguments: str, terminal: bool = False, env: Mapping[str, str] = MappingProxyType({})) -> tuple[int, str]:
    """Exit code and output. Standard input and output are a terminal, or neither is."""
    assert MAKE is not None
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            [MAKE, f"PYTHON={sys.executable}", *arguments],
            cwd=ROOT,
            stdin=follower if terminal else subprocess.DEVNULL,
            stdout=follower if terminal else subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], **env},
            timeout=60,
        )
        output = os.read(leader, 65536) if terminal else done.stdout
    finally:
        os.close(leader)
        os.close(follower)
    return done.returncode, output.decode()


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment that is already installed, with a command that prints how it was called."""
    command = tmp_path / "bin" / "toolwire"
    command.parent.mkdir()
    command.write_text('#!/bin/sh\necho "toolwire $*"\n')
    command.chmod(0o755)
    (command.parent / "python").symlink_to(sys.executable)
    for stamp in (".made", ".run"):
        (tmp_path / stamp).touch()
    return tmp_path


def test_run_starts_the_chat_in_a_terminal(venv: Path) -> None:
    code, output = make("run", f"VENV={venv}", terminal=True)
    assert (code, output) == (0, "toolwire local install\r\ntoolwire chat\r\n")


def test_run_shows_the_demo_without_a_terminal(venv: Path) -> None:
    code, output = make("run", f"VENV={venv}")
    assert code == 0
    assert output.endswith("there is none here. Showing a demo instead.\ntoolwire demo\n")


def test_the_model_is_kept_beside_the_environment_where_no_home_can_be_written(venv: Path, tmp_path: Path) -> None:
    command = venv / "bin" / "toolwire"
    command.write_text('#!/bin/sh\necho "cache: ${TOOLWIRE_CACHE-usual}"\n')
    home = tmp_path / "home"
    home.mkdir()
    environments: list[tuple[dict[str, str], str]] = [
        ({}, f"{venv}/cache"),
        ({"HOME": "/dev/null"}, f"{venv}/cache"),
        ({"HOME": "/dev/null", "TOOLWIRE_CACHE": "/elsewhere"}, "/elsewhere"),
        ({"HOME": "/dev/null", "XDG_CACHE_HOME": "/elsewhere"}, "usual"),
        ({"HOME": str(home)}, "usual"),
    ]
    for env, cache in environments:
        code, output = make("run", f"VENV={venv}", env=env)
        assert (code, output.count(f"cache: {cache}\n")) == (0, 2), output
    assert not list(home.iterdir())


@pytest.mark.parametrize("target", ["run", "test"])
def test_a_checkout_that_cannot_be_written(target: str) -> None:
    code, output = make(target, "VENV=/dev/null/venv")
    assert code == 2
    assert "Cannot write to /dev/null/venv. Put the environment elsewhere: make VENV=" in output


def test_leaving_the_chat_starts_no_demo_with_the_make_of_macos(venv: Path, tmp_path: Path) -> None:
    """GNU make 3.81 ignores `.ONESHELL` and `.SHELLFLAGS`: without them, `make run` does the same."""
    makefile = tmp_path / "Makefile"
    lines = (ROOT / "Makefile").read_text().splitlines(keepends=True)
    makefile.write_text("".join(line for line in lines if not line.startswith((".ONESHELL", ".SHELLFLAGS"))))
    code, output = make("-f", str(makefile), "run", f"VENV={venv}", terminal=True)
    assert (code, output) == (0, "toolwire local install\r\ntoolwire chat\r\n")
    code, output = make("-f", str(makefile), "run", f"VENV={venv}")
    assert (code, output.splitlines()[-1]) == (0, "toolwire demo")
