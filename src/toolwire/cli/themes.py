"""The names that `theme` can have."""

from __future__ import annotations

SHORT = ("dark", "light")
"""Names of our own, for whoever knows none of Textual's."""


def theme_names() -> tuple[str, ...]:
    """Those and all of Textual's; nothing where Textual is not installed, since then nobody can say."""
    try:
        from textual.theme import BUILTIN_THEMES
    except ImportError:
        return ()
    return (*SHORT, *sorted(BUILTIN_THEMES))
