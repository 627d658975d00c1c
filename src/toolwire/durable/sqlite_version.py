"""Which versions of SQLite durable runs work with, and what an older one is given."""

from __future__ import annotations

import sqlite3
import sys
import time
from typing import Any

OLDEST = (3, 38) if sys.version_info >= (3, 12) else (3, 35)
"""`RETURNING` came with 3.35. On Python 3.12 and later DBOS makes its tables with `unixepoch`, which came with 3.38."""
_SUBSEC = (3, 42)
"""First version with `unixepoch('subsec')`. DBOS fills NOT NULL columns with it on Python 3.12 and later."""
HINT = (
    "Use a Python that has a newer one (uv python install brings its own), or PostgreSQL: postgresql://user@host/name"
)


def problem() -> str:
    """Why durable runs do not work with the SQLite of this Python; empty where they do."""
    if sqlite3.sqlite_version_info >= OLDEST:
        return ""
    oldest = ".".join(map(str, OLDEST))
    return f"{sqlite3.sqlite_version} is too old: durable runs in a file need {oldest} or newer"


def add_functions(connection: Any) -> None:
    """Gives the connection what its version of SQLite lacks."""
    if sqlite3.sqlite_version_info < _SUBSEC:
        connection.create_function("unixepoch", 1, _unixepoch)


def _unixepoch(time_value: object) -> float | None:
    """The `unixepoch('subsec')` of newer versions of SQLite; NULL for every other argument."""
    return round(time.time(), 3) if time_value == "subsec" else None
