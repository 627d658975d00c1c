"""ripgrep, where it is installed: it says quickly in which of many files a search is worth while.

It is given the very files that would be searched, in the sandbox, where it can read the roots and nothing else. What it
says is only a choice: those files are then opened beneath the roots and searched as if there were no ripgrep. So the
answer is the same, and no link that is put in the way meanwhile leads it outside. It must not miss a file that fits,
nor one that is binary and would be counted; a file too many costs time alone. Where it fails, all files are searched.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import ToolwireError
from ..execution.process import Ceiling, run_process
from ..execution.program import installed
from ..execution.sandbox.sandbox import Profile, Sandbox
from .search_pattern import Written

WORTH_FILES = 1_000
WORTH_BYTES = 16 << 20
"""With fewer files and fewer bytes than these a search is over before a program in a sandbox has started."""

MEMORY = 1 << 30
"""Bytes that it may take: it reads files of ten megabytes, some at a time."""

PROCESSES = 64
"""It has a thread for each processor, twelve at most, and these count."""

_OPTIONS = (
    "--no-config",
    "--no-messages",
    "--color=never",
    "--files-with-matches",
    "--null",
    "--text",
    "--no-mmap",
    "--no-ignore",
    "--hidden",
)
_BINARY = (r"--regexp=\x00", r"--regexp=\x{FFFD}")
"""Finds what may be binary: a NUL, or what it makes of UTF-16 that is broken."""

Run = Callable[[Sequence[str], float], Awaitable[str | None]]
"""Runs a program for so many seconds: what it wrote, or None if it failed. To find nothing is no failure."""


@dataclass
class Ripgrep:
    """One search with it."""

    run: Run
    program: str
    works: bool = True

    async def chosen(self, files: Sequence[str], pattern: Written, seconds: float) -> set[str] | None:
        """Those of the files, as `key` writes them, that are to be searched; None if all are."""
        argv = [self.program, *_OPTIONS, f"--regexp={pattern.ripgrep}", *_BINARY, "--", *files]
        output = await self.run(argv, seconds)
        if output is None:
            self.works = False
            return None
        return set(output.split("\0"))


def key(real: str) -> str:
    """A path as it can be told from the output of a program, which is text; two that are not may have one key."""
    return os.fsencode(real).decode("utf-8", "replace")


def find_ripgrep(sandbox: Sandbox | None, roots: tuple[str, ...], environment: Mapping[str, str]) -> Ripgrep | None:
    """ripgrep, if it is installed and can be confined. One inside the roots may be anything, and is not run."""
    if sandbox is None or not sandbox.holds:
        return None
    found = installed("rg", environment.get("PATH"), roots)
    if not found:
        return None
    program = os.path.realpath(found)
    profile = Profile(readable=(*roots, program), memory=MEMORY, processes=PROCESSES)
    ceiling = Ceiling(memory=MEMORY, processes=PROCESSES)

    async def run(argv: Sequence[str], seconds: float) -> str | None:
        limit = sum(len(word) + 1 for word in argv)
        try:
            confined = sandbox.command(argv, profile)
            result = await run_process(
                confined, cwd="/", environment=environment, timeout=seconds, limit=limit, ceiling=ceiling
            )
        except (ToolwireError, OSError):
            return None
        # Found, or not found; and whole.
        return result.output if result.code in (0, 1) and not result.cut else None

    return Ripgrep(run, program)
