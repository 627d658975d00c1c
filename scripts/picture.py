"""Writes `docs/run.svg`, the picture of the README: a real run of the command with the embedded model, as it looks
in a terminal."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "run.svg"
QUESTION = "How many miles is 42 km?"
COLUMNS = 84
# Rich's own frame, without the fonts that it would fetch from the network.
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", ui-monospace, Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: arial; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


def terminal_output(command: list[str]) -> bytes:
    """What the command writes to a terminal."""
    written = bytearray()

    def keep(descriptor: int) -> bytes:
        data = os.read(descriptor, 65536)
        written.extend(data)
        return data

    os.environ |= {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "TOOLWIRE_DISCOVER": "0"}
    pty.spawn(command, keep)
    return bytes(written)


def last_lines(output: bytes) -> list[str]:
    """The lines as they stand at the end: what was overwritten or erased (a spinner) is gone."""
    lines: list[str] = []
    text = output.decode().replace("\r\n", "\n").replace("\x1b[?25l", "").replace("\x1b[?25h", "")
    for line in text.split("\n"):
        for _ in range(line.count("\x1b[1A\x1b[2K")):
            lines.pop()
        lines.append(line.rsplit("\x1b[2K", 1)[-1].rsplit("\r", 1)[-1])
    return lines


def main() -> None:
    command = [sys.executable, "-m", "toolwire", "run", QUESTION, "--model", "local"]
    lines = last_lines(terminal_output(command))
    console = Console(record=True, width=COLUMNS + 8, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(f"[bold green]$[/] toolwire run [yellow]{QUESTION!r}[/]")
    for line in lines:
        console.print(Text.from_ansi(line))
    PICTURE.write_text(console.export_svg(title="toolwire", code_format=FRAME, unique_id="run"))
    print(f"wrote docs/{PICTURE.name}")


if __name__ == "__main__":
    main()
