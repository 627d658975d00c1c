"""The arguments of a call in the person's hands: in their editor, or as one line of JSON."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from ..limits import DEFAULT_LIMITS

_HEAD = """\
# Change the arguments, save and leave. Lines that begin with # here are not read.
# A text of several lines is a block, each line behind "| ". Hidden characters are written ‹U+200B›, ‹TAB›.
"""


class NotEdited(Exception):
    """Why there is no edited text, in a sentence for the person. Never leaves the command."""


def chosen_editor(environ: Mapping[str, str]) -> str:
    """The command of the person's editor; empty where none is set."""
    return environ.get("VISUAL", "").strip() or environ.get("EDITOR", "").strip()


async def in_editor(editor: str, text: str) -> str:
    """What the person made of the text. A cancelled edit ends the editor and gives the terminal back as it was."""
    with TemporaryDirectory(prefix="toolwire-") as folder:
        path = Path(folder, "arguments.txt")
        _write(path, text)
        with _terminal_as_it_was():
            try:
                process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(path))
            except (OSError, ValueError) as error:
                raise NotEdited(f"the editor {editor[:80]!r} cannot be started ({type(error).__name__})") from None
            try:
                code = await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if code:
            raise NotEdited(f"the editor ended with code {code}, and nothing is changed")
        return _read(path)


def _write(path: Path, text: str) -> None:
    path.write_text(_HEAD + text.strip("\n") + "\n", encoding="utf-8")


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            made = file.read(2 * DEFAULT_LIMITS.arguments)
    except (OSError, UnicodeDecodeError) as error:
        raise NotEdited(f"what the editor left cannot be read ({type(error).__name__})") from None
    # Empty lines instead: the place of a mistake is told by its line in the file.
    return "\n".join("" if line.startswith("#") else line for line in made.split("\n"))


@contextmanager
def _terminal_as_it_was() -> Iterator[None]:
    try:
        import termios
    except ImportError:
        yield
        return
    terminal = sys.stdin.fileno()
    modes = termios.tcgetattr(terminal)
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
