"""How results are written down: Markdown tables, the machine in general words, files under docs/."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .payloads import ROOT


class Verdict(NamedTuple):
    """A target in words, and whether it holds."""

    words: str
    holds: bool


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others may be numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """Python and processor, and nothing that names the machine."""
    cpu = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = f"{len(names)} × {names[0]}" if names else cpu
    return f"{platform.python_implementation()} {platform.python_version()}, {platform.system()}, {cpu}"


def write_document(name: str, parts: Sequence[str]) -> None:
    """Print the parts and write them to docs/`name`."""
    text = "\n\n".join(part.strip() for part in parts) + "\n"
    print(text)
    target = ROOT / "docs" / name
    target.parent.mkdir(exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(f"written to docs/{name}")
