"""Results that are given again, for tools that declare for how long theirs stay true."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from ..tools.definition import ToolDefinition

ENTRIES = 64
"""Results held at once, each of at most 100,000 characters."""

Key = tuple[ToolDefinition, str, str, str]


def kept_key(tool: ToolDefinition, arguments: dict[str, Any], cwd: str) -> Key:
    """What must be the same: the tool itself, all that its definition says, where it runs, the exact arguments."""
    return tool, tool.digest(), cwd, json.dumps(arguments, sort_keys=True)


class KeptResults:
    """The newest results of tools whose results are kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[Key, tuple[float, str]] = {}

    def get(self, key: Key) -> str | None:
        """The result, while it is fresh."""
        expires, text = self._entries.get(key, (float("-inf"), ""))
        return text if self._clock() < expires else None

    def keep(self, key: Key, text: str) -> None:
        """Keeps a result for as long as its tool says; the oldest goes when there are too many."""
        self._entries.pop(key, None)
        self._entries[key] = self._clock() + key[0].cache, text
        if len(self._entries) > ENTRIES:
            del self._entries[next(iter(self._entries))]
