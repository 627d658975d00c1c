"""Writes `docs/command.md`: the help text of every command, as the command itself prints it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

COMMANDS = ("", "run", "decode", "request", "providers", "local", "local install", "local status", "local path")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "command.md"
HEAD = """# The command

Written by `make docs` from the command's own help texts; a test keeps it so.
"""


def help_text(command: str) -> str:
    """What `toolwire COMMAND --help` prints, at a width of 100 and without colours."""
    plain = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    line = [sys.executable, "-m", "toolwire", *command.split(), "--help"]
    return subprocess.run(line, capture_output=True, text=True, check=True, env=plain).stdout.strip()


def command_page() -> str:
    """The whole page."""
    page = io.StringIO()
    page.write(HEAD)
    for command in COMMANDS:
        lines = [text.rstrip() for text in help_text(command).splitlines()]
        page.write(f"\n## toolwire {command}".rstrip() + "\n\n```text\n" + "\n".join(lines) + "\n```\n")
    return page.getvalue()


if __name__ == "__main__":
    PAGE.write_text(command_page())
    print(f"wrote docs/{PAGE.name}")
