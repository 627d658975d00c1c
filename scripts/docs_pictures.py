"""Pictures of what commands print that need no model, made anew with the pages that show them."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from rich.text import Text

COLUMNS = 80
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
"""A frame that loads nothing from elsewhere."""
CUT = b"""\
data: {"choices":[{"delta":{"role":"assistant","content":"Let me "}}]}

data: {"choices":[{"delta":{"content":"see."}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"calculate","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\\"expression\\": "}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\"17 * "}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"in"""
"""An answer whose connection broke in the middle of a call."""


def inspect_picture() -> str:
    """`toolwire inspect` on a stream that was cut, as a terminal of 80 columns shows it."""
    from toolwire.cli.app import run_command

    printed = io.StringIO()
    coloured = {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("cut.sse").write_bytes(CUT)
        with patch.dict(os.environ, coloured), redirect_stdout(printed), patch.object(sys, "argv", ["toolwire"]):
            os.environ.pop("NO_COLOR", None)
            run_command(["inspect", "cut.sse"])
    return framed(printed.getvalue(), "toolwire inspect cut.sse", "inspect")


def framed(printed: str, command: str, name: str) -> str:
    """What a terminal shows, in a frame."""
    console = Console(record=True, width=COLUMNS + 2, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ ", "bold green"), command))
    for line in printed.rstrip("\n").split("\n"):
        console.print(Text.from_ansi(line), soft_wrap=True)
    return console.export_svg(title="toolwire", code_format=FRAME, unique_id=name)
