"""Which tools `toolwire run` gives a model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from ..approval.places import Workspace
from ..errors import ConfigError
from ..tools.definition import ToolDefinition
from .ask import TerminalQuestion
from .inputs import as_text

ToolSet = Literal["builtin", "demo"]


def tools_of(
    name: ToolSet, workspace: Workspace, person: TerminalQuestion | None, *, sandbox: bool
) -> list[ToolDefinition]:
    """The tools of a set, for this workspace and whoever is at the terminal."""
    if name == "demo":
        from ..tools.demo import demo_tools

        return demo_tools(Path(workspace.root))
    from ..builtin.tools import builtin_tools
    from ..files.journal import Journal, undo_path

    journal = Journal(undo_path(os.environ), workspace.root)
    return builtin_tools(sandbox=sandbox, journal=journal, answer=None if person is None else person.ask_person)


def folders(given: list[str]) -> list[str]:
    """Further folders for tools to work in, each of which must be there."""
    for folder in given:
        if not os.path.isdir(folder):
            raise ConfigError(f"there is no folder {folder}", hint="Give --root a folder that is there.")
    return [os.path.realpath(folder) for folder in given]


def set_words(tools: list[ToolDefinition], workspace: Workspace) -> list[str]:
    """What a person should know of the tools before they begin: which, where they work, and what holds commands."""
    if not tools:
        return ["No tools."]
    words = [f"Tools: {', '.join(tool.name for tool in tools)}"]
    if any(tool.confined for tool in tools) and workspace.roots[1:]:
        words.append(f"They work here and in {', '.join(map(as_text, workspace.roots[1:]))}.")
    for tool in tools:
        if tool.asks:
            words.append(f"Look out: {tool.asks}.")
        elif tool.command and tool.network:
            words.append("Commands run in a sandbox, without network (see toolwire sandbox show).")
    return words
