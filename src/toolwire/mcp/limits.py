"""How much a server may send before its connection ends: the bounds that all transports share, with their reasons."""

from __future__ import annotations

MESSAGE_BYTES = 8 << 20
"""One message. The largest honest ones hold an image or a file of some megabytes; as the arguments of a call."""

MESSAGE_VALUES = 300_000
"""Values in one message: numbers, texts, lists, objects. Lists of a thousand tools have fewer, and as many are read in
a third of a second; in so many bytes there could be ten times more.
"""

JUNK_LINES = 1_000
"""Lines in a row that are no message. Many servers print what they do to their standard output, against the rule."""

BLANK_LINES = 100_000
"""Empty lines in a row. They cost next to nothing, but one who sends nothing else is no server."""

LOG_BYTES = 1 << 20
"""What a log grows to before it is put aside for a new one; one older is kept."""

LOG_BYTES_A_SECOND = 64 << 10
"""What is written of a log in the long run: a server that repeats itself without end shall not wear a disk out."""
