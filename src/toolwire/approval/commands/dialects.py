"""Which rules a shell reads a command line by.

The reader follows bash, and was compared with the versions that are named here. Another shell, or another bash, takes
some of the same characters for something else: of a line for one of these, only what they all read alike is understood.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from enum import StrEnum
from functools import cache

KNOWN_VERSIONS = ("5.1", "5.2", "5.3")
"""Versions of bash whose rules the reader follows."""
_FOLDERS = (
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/opt/local/bin",
    "/run/current-system/sw/bin",
)
"""Where a system keeps its bash. One found elsewhere is not asked for its version: that would mean to run it."""
_SAYS = b"GNU bash, version "


class Dialect(StrEnum):
    """The rules that a line is read by."""

    BASH = "bash"
    """Those of a bash of a known version."""
    PLAIN = "plain"
    """Those that all shells share, for any other shell and for one that is not known (`plain_lines`)."""


def find_bash() -> tuple[str, str]:
    """The path and version of the system's bash, one of a known version before any other; empty without one."""
    found = [(path, _version(path)) for path in _candidates()]
    known = [each for each in found if each[1] in KNOWN_VERSIONS]
    return next(iter((*known, *found)), ("", ""))


def dialect_of(shell: str) -> Dialect:
    """The rules of the shell that a command starts by this name or path."""
    path = shutil.which(shell) if shell == "bash" else shell if os.path.basename(shell) == "bash" else None
    if not path or not os.path.isabs(path):
        return Dialect.PLAIN
    # A link by another name would start it as another shell: bash that is called sh.
    known = (os.path.realpath(each) for each in _candidates() if _version(each) in KNOWN_VERSIONS)
    return Dialect.BASH if os.path.realpath(path) in known else Dialect.PLAIN


def _candidates() -> list[str]:
    paths = (os.path.join(folder, "bash") for folder in _FOLDERS)
    return [path for path in paths if os.access(path, os.X_OK)]


@cache
def _version(path: str) -> str:
    """Major and minor version, by asking the program once; empty where it does not say."""
    try:
        said = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            timeout=10,
            check=False,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    if not said.startswith(_SAYS):
        return ""
    return b".".join(said.removeprefix(_SAYS).split(b".")[:2]).decode("ascii", "replace")
