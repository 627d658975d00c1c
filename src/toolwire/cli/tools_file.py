"""tools.json, as the commands take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConfigError
from .inputs import as_text, read_whole

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition


def load_tools_file(name: str) -> list[ToolDefinition]:
    """The tools of a file, their schemas tried; the error names the file."""
    from ..tools.definition import load_tools

    data = read_whole(name)
    try:
        tools = load_tools(data)
        for tool in tools:
            # Schemas are compiled at their first use: here, so that a wrong one is told before any stream is read.
            tool.problem({})
    except ConfigError as error:
        raise ConfigError(f"{as_text(name)}: {error.message}", hint=error.hint) from None
    return tools
