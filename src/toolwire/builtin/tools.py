"""The built-in tools together: what `toolwire run` gives a model, and `Agent(tools=builtin_tools())` a program's."""

from __future__ import annotations

import os

from ..approval.files import policy_paths
from ..execution.sandbox.sandbox import find_sandbox
from ..files.journal import Journal
from ..tools.definition import ToolDefinition
from .asking import AskPerson, asking_tools
from .editing import editing_tools
from .reading import reading_tools
from .searching import searching_tools
from .shell import shell_tools
from .todo import todo_tools
from .web import web_tools
from .writing import writing_tools


def builtin_tools(
    *, sandbox: bool = True, journal: Journal | None = None, answer: AskPerson | None = None
) -> list[ToolDefinition]:
    """New tools for one agent, which share what they remember: jobs in the background, what is to do.

    They work in the workspace of the agent. Commands run in a `sandbox` where the machine can hold one; without it,
    each that does more than read is asked about. `journal` keeps what files were before they were written, so that it
    can be undone. `answer` asks the person what a model wants to know; without it the model is told that nobody is
    there.
    """
    held = find_sandbox() if sandbox else None
    return [
        *reading_tools(),
        *searching_tools(held),
        *writing_tools(journal),
        *editing_tools(journal),
        *shell_tools(held, tuple(map(str, policy_paths(os.environ).protected))),
        *web_tools(),
        *asking_tools(answer),
        *todo_tools(),
    ]
