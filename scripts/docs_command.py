"""`docs/command.md`: what each command says of itself."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from unittest.mock import patch

from cyclopts import App

HEAD = """# The command

Written by `make docs` from the command's own help texts; a test keeps it so. `toolwire COMMAND --help` says the same.
"""
_PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def commands(app: App, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command that help shows, a group before what is in it."""
    yield words
    for name in app:
        if not name.startswith("-") and (found := app[name]).show:
            yield from commands(found, (*words, name))


def help_text(words: tuple[str, ...]) -> str:
    """What `toolwire WORDS --help` prints, at a width of 100 and without colours."""
    from toolwire.cli.app import run_command

    printed = io.StringIO()
    with patch.dict(os.environ, _PLAIN), redirect_stdout(printed), patch.object(sys, "argv", ["toolwire"]):
        code = run_command([*words, "--help"])
    if code:
        raise RuntimeError(f"toolwire {' '.join(words)} --help ended with {code}")
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


def command_page() -> str:
    """The whole page."""
    from toolwire.cli.app import make_app

    return HEAD + "".join(
        f"\n## {' '.join(('toolwire', *words))}\n\n```text\n{help_text(words)}\n```\n" for words in commands(make_app())
    )
