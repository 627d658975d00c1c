"""Which tools a model is given: sets of our own, and those of a person's Python files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..approval.places import Workspace
from ..errors import ConfigError
from ..tools.definition import ToolDefinition
from ..tools.function import as_definition
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


def tools_in(path: Path) -> list[ToolDefinition]:
    """The tools that stand in a Python file, in their order: what `@tool` made, and definitions.

    The file is run as Python runs one: it finds the modules beside it.
    """
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ConfigError(f"there is no Python file {as_text(str(path))}", hint="Give --file a file such as tools.py.")
    module = module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{as_text(str(path))} cannot be run: {words}", hint="Try it with python first.") from None
    found = [tool for value in vars(module).values() if (tool := _as_tool(value)) is not None]
    if not found:
        raise ConfigError(f"there is no tool in {as_text(str(path))}", hint="Mark functions with @toolwire.tool.")
    return list(dict.fromkeys(found))


def _as_tool(value: Any) -> ToolDefinition | None:
    if isinstance(value, ToolDefinition):
        return value
    return as_definition(value) if isinstance(getattr(value, "__toolwire__", None), ToolDefinition) else None
