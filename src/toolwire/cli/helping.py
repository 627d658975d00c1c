"""How help is printed: sentences run over the width of the terminal, not as they were broken in the source."""

from __future__ import annotations

from typing import Any

from cyclopts.help import DefaultFormatter


class FlowingHelp(DefaultFormatter):
    """Cyclopts' own layout, with each description as one paragraph."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Prints one panel."""
        from rich.text import Text

        for entry in panel.entries:
            said = getattr(entry.description, "primary_renderable", None)
            if isinstance(said, Text) and "\n" in said.plain:
                entry.description.primary_renderable = Text(" ".join(said.plain.split()), end=said.end)
        super().__call__(console, options, panel)
