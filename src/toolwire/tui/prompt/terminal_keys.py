"""Keys for a new line, whatever a terminal sends for them.

Most terminals send Alt+Enter as an escape and a return. Textual takes that for Enter alone, which sends: so its table
is told better.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

NEW_LINE = frozenset(("shift+enter", "alt+enter", "ctrl+enter", "ctrl+j", "shift+\r", "alt+\r", "ctrl+\r"))
"""The last three are how Textual names what xterm sends with its modifyOtherKeys."""


class _Key(Enum):
    ALT_ENTER = "alt+enter"


def teach_alt_enter() -> None:
    """From now on Alt+Enter is a key of its own; more than once does no harm."""
    table = cast(dict[str, Any], ANSI_SEQUENCES_KEYS)
    table["\x1b\r"] = (_Key.ALT_ENTER,)
