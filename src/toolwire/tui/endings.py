"""How a run ended, in a line."""

from ..cli.telling import duration, end_words

__all__ = ["duration", "end_words"]
