"""Small, safe tools that really do something: what a first chat with a local model can call.

They read and compute, and change nothing. Their texts are short on purpose: small models must manage them. What a
model gets wrong comes back as a `ConfigError` whose message tells it what to write instead.
"""

from __future__ import annotations

import ast
import codecs
import math
import operator
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePath

from ..errors import ConfigError
from .definition import ToolDefinition
from .function import as_definition, tool

MAX_ENTRIES = 200
MAX_CHARACTERS = 20_000


def demo_tools(root: Path) -> list[ToolDefinition]:
    """The demo tools; those for files see only what lies inside `root`."""
    root = root.resolve()

    @tool(risk="read")
    def list_files(folder: str = ".") -> str:
        """List the files in a folder."""
        return list_folder(root, folder)

    @tool(risk="read")
    def read_file(path: str) -> str:
        """Read a text file."""
        return read_text(root, path)

    plain = [tool(risk="read")(each) for each in (current_time, calculate, convert_units)]
    return [as_definition(each) for each in (*plain, list_files, read_file)]


def current_time(zone: str) -> str:
    """Tell the time in a city.

    Args:
        zone: City or time zone, like Tokyo
    """
    from zoneinfo import ZoneInfo

    return time_in(ZoneInfo(find_zone(zone)), datetime.now(UTC))


def time_in(zone: tzinfo, now: datetime) -> str:
