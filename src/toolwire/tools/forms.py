"""Which tools a screen shows in a way of their own, and which of their arguments it wants first.

A file that is being written, an edit, a command: such a call is a segment of its own type. Its `head` (the path, a
short command) is told when the segment starts, and its `body` is the long text that is shown while it arrives. Text
formats have a shorthand for the same tools, with the body as what stands between the tags.

The table is open: `register_form("create_note", ToolForm("write_file", head="title", body=("text",)))`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..errors import ConfigError
from .definition import is_tool_name

HEAD_LENGTH = 256
"""Characters of a head that a segment's start waits for: a path, a line of shell. Longer ones flow instead."""


class ToolForm(msgspec.Struct, frozen=True):
    """How calls of one tool are shown."""

    segment: Literal["tool_call", "write_file", "edit_file", "run_bash"] = "tool_call"
    head: str = ""
    """The argument that is told first; empty: none."""
    body: tuple[str, ...] = ()
    """The argument that holds the long text: the first of these that the tool has."""
    example: str = ""
    """Such a text, for the examples that a model is shown; empty: as for any argument."""

    def body_of(self, parameters: dict[str, Any]) -> str:
        """The name of this tool's body argument; empty if the form has none."""
        properties = parameters.get("properties", {})
        return next((name for name in self.body if name in properties), self.body[0] if self.body else "")


PLAIN = ToolForm()
"""Of tools that are not in the table."""

_PATCH = "@@ -1,2 +1,2 @@\n first line\n-second line\n+another line\n"

_FORMS: dict[str, ToolForm] = {
    "write_file": ToolForm("write_file", "path", ("content",), "first line\nsecond line\n"),
    "edit_file": ToolForm("edit_file", "path", ("patch", "content"), _PATCH),
    "patch_file": ToolForm("edit_file", "path", ("patch", "content"), _PATCH),
    "run_bash": ToolForm("run_bash", "command", ("command",), "ls -la"),
}


def form_of(tool_name: str) -> ToolForm:
    """How calls of this tool are shown."""
    return _FORMS.get(tool_name, PLAIN)


def shorthand_tools() -> list[str]:
    """The tools of the table that have a body, in the order they were registered."""
    return [name for name, form in _FORMS.items() if form.body]


def register_form(tool_name: str, form: ToolForm) -> None:
    """From now on calls of this tool are shown so. What is no form is a `ConfigError` here, not one in a stream."""
    if not is_tool_name(tool_name):
        raise ConfigError(f"{tool_name[:80]!r} is no tool name", hint="Give the name that the tool is called by.")
    try:
        msgspec.convert(msgspec.to_builtins(form), ToolForm)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"the form of {tool_name} is none: {error}",
            hint='Give one such as ToolForm("write_file", head="title", body=("text",)).',
        ) from None
    _FORMS[tool_name] = form
