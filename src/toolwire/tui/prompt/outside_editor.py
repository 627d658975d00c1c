"""What is being typed, in the person's own editor. Answers go on streaming meanwhile; nothing is painted."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from textual.app import App, SuspendNotSupported

from ...cli.editing import NotEdited, chosen_editor

_OTHERWISE = ("nano", "vim", "vi")
MOST_CHARACTERS = 1_000_000


async def edited_outside(app: App[Any], text: str, environ: Mapping[str, str] | None = None) -> str:
    """What the person made of the text; `NotEdited` says why there is none."""
    editor = _editor(os.environ if environ is None else environ)
    with TemporaryDirectory(prefix="toolwire-") as folder:
        path = Path(folder, "message.md")
        _write(path, text)
        try:
            with app.suspend(), app.batch_update(), _breaks_are_the_editors():
                code = await _run([*editor, str(path)])
        except SuspendNotSupported:
            raise NotEdited("the screen cannot be left for an editor here") from None
        finally:
            app.refresh(layout=True)
        if code:
            raise NotEdited(f"the editor ended with code {code}, and nothing is changed")
        return _read(path)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace")


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            made = file.read(MOST_CHARACTERS + 1)
    except OSError as error:
        raise NotEdited(f"what the editor left cannot be read ({type(error).__name__})") from None
    if len(made) > MOST_CHARACTERS:
        raise NotEdited(f"what the editor left has over {MOST_CHARACTERS:,} characters: attach it as a file, with @")
    return made.removesuffix("\n")


def _editor(environ: Mapping[str, str]) -> list[str]:
    try:
        words = shlex.split(chosen_editor(environ))
    except ValueError:
        words = []
    if words:
        return words
    for name in _OTHERWISE:
        if shutil.which(name, path=environ.get("PATH")):
            return [name]
    raise NotEdited("no editor is set: put its command into $EDITOR")


async def _run(words: list[str]) -> int:
    try:
        process = await asyncio.create_subprocess_exec(*words)
    except (OSError, ValueError) as error:
        raise NotEdited(f"the editor {words[0][:80]!r} cannot be started ({type(error).__name__})") from None
    try:
        return await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@contextmanager
def _breaks_are_the_editors() -> Iterator[None]:
    """Ctrl-C reaches all programs at the terminal: while an editor has it, it means nothing to the chat."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
