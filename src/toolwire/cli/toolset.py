"""Which tools `toolwire run` gives a model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..approval.places import Workspace
from ..tools.definition import ToolDefinition
from .inputs import as_text

if TYPE_CHECKING:
    from .assembly import Person

ToolSet = Literal["builtin", "demo"]


def tools_of(name: ToolSet, workspace: Workspace, person: Person | None, *, sandbox: bool) -> list[ToolDefinition]:
    """The tools of a set, for this workspace and whoever can be asked."""
    if name == "demo":
        from ..tools.demo import demo_tools

        return demo_tools(Path(workspace.root))
    from ..builtin.tools import builtin_tools
    from ..files.journal import Journal, undo_path

    journal = Journal(undo_path(os.environ), workspace.root)
    return builtin_tools(sandbox=sandbox, journal=journal, answer=None if person is None else person.ask_person)


def set_words(tools: list[ToolDefinition], workspace: Workspace, missing: list[str]) -> list[str]:
    """What a person should know of the tools before they begin: which, where they work, and what holds commands."""
    if not tools:
        return ["No tools."]
    words = [f"Tools: {', '.join(tool.name for tool in tools)}"]
    if any(tool.confined for tool in tools) and workspace.roots[1:]:
        words.append(f"They work here and in {', '.join(map(as_text, workspace.roots[1:]))}.")
    words += [f"There is no folder {folder}, which your policy file names." for folder in missing]
    for tool in tools:
        if tool.asks:
            words.append(f"Look out: {tool.asks}.")
        elif tool.command and tool.network:
            words.append("Commands run in a sandbox, without network (see toolwire sandbox show).")
    return words
