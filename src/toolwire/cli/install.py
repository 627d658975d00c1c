"""The weights of the embedded model, downloaded in front of the person."""

from __future__ import annotations

from pathlib import Path

from .console import PlainConsole

NAME = "SmolLM2-135M"


def install_with_progress() -> Path:
    """Downloads and checks the weights, with a bar on a terminal and a line every 10 % elsewhere. On stderr."""
    from ..local.weights import install_weights

    console = PlainConsole(stderr=True)
    console.out(f"Downloading the weights of {NAME} (about 93 MB, once).")
    if not console.is_terminal:
        lines = _Lines(console)
        return install_weights(lines.progress)

    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
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
            self._console.out(f"{tenth * 10} % of {(total or 0) / 1e6:.0f} MB")
