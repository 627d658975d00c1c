"""The weights of the embedded model, downloaded in front of the person."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ..errors import LocalModelError
from .console import PlainConsole

NAME = "SmolLM2-135M"


def ensure_weights() -> None:
    """What the embedded model needs before it can start; the engine is looked for before anything is downloaded."""
    from ..local.weights import installed_weights

    if not has_engine():
        raise LocalModelError(
            "the embedded model needs a package that is not installed (xllamacpp)",
            hint='Install it: pip install "toolwire[local]"',
        )
    if installed_weights() is None:
        install_with_progress()


def has_engine() -> bool:
    """Whether llama.cpp is there to run the weights."""
    return importlib.util.find_spec("xllamacpp") is not None


def install_with_progress() -> Path:
    """Downloads and checks the weights, with a bar on a terminal and a line every 10 % elsewhere. On stderr."""
    from ..local.weights import install_weights

    console = PlainConsole(stderr=True)
    console.out(f"Downloading the weights of {NAME} (about 93 MB, once).")
    if not console.is_terminal:
        lines = _Lines(console)
        return install_weights(lines.progress)

    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    # No byte counts: the job is the download and the unpacking together.
    with Progress(BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        return install_weights(lambda done, total: bar.update(task, completed=done, total=total))


class _Lines:
    """Progress for a log: each tenth once."""

    def __init__(self, console: PlainConsole) -> None:
        self._console = console
        self._told = 0

    def progress(self, done: int, total: int | None) -> None:
        """Some bytes more."""
        tenth = done * 10 // total if total else 0
        if tenth > self._told:
            self._told = tenth
            self._console.out(f"{tenth * 10} %")
