"""`Format`: a syntax for calls in text, its two halves in one place so that they cannot drift apart.

The prompt half says what a model is told (`rules`, `declare`) and writes calls and results as that model would see them
(`write_call`, `write_result`); the parser half (`read`) reads what it writes. `grammar` holds a server that takes one
(llama.cpp) to the same syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..messages import ToolResultPart
from ..tools.definition import ToolDefinition
from ..tools.registry import ToolRegistry
from .scanner import Scanner, Wait

Read = Callable[[Scanner, ToolRegistry | None], Wait[None]]


class Format(NamedTuple):
    """One syntax. All functions are pure; none raises for arguments that are JSON."""

    name: str
    """Lower-case with hyphens."""
    title: str
    """For lists: a few words."""
    rules: Callable[[Sequence[ToolDefinition]], str]
    """What holds for every tool: how a call is written, arrays, nesting, quoting. Told once."""
    declare: Callable[[ToolDefinition], str]
    """One tool: its name, description and arguments."""
    write_call: Callable[[str, dict[str, Any], ToolDefinition | None], str]
    """A call as a model should write it. `read` gives back exactly this name and these arguments."""
    write_result: Callable[[ToolResultPart, str], str]
    """A result, with its content as text: nothing in it can be taken for a call or for the end of the result."""
    read: Read
    """The reader. Without tools (None) every name is a tool's."""
    grammar: Callable[[Sequence[ToolDefinition]], str] | None = None
    """GBNF for an answer that is one call of one of these tools and nothing else."""
