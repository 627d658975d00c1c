"""`Pins`: the definitions that a person has looked at, kept whole, so that a later change is seen and can be shown."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

from ..errors import ToolDefinitionError
from ..folders import state_folder
from .definitions import canonical
from .kept import KeptFile

State = Literal["new", "same", "changed"]
"""What a listed definition is beside the pinned one of its name."""


def pins_path(env: Mapping[str, str]) -> Path:
    """Where pins are kept unless told otherwise."""
    return state_folder(env) / "mcp" / "pins.json"


class Pins:
    """Pinned definitions, by the identity of a server (`ServerConfig.identity`) and the name of a tool.

    In the file at `path`, or in memory where it is None. A file that cannot be used is a `ConfigError`, at every use:
    a server whose tools nobody can compare is not taken for one that nobody has seen.
    """

    def __init__(self, path: Path | None) -> None:
        self._file = KeptFile(path, "which MCP tools were looked at")

    def known(self, identity: str) -> dict[str, dict[str, Any]]:
        """The pinned definitions of a server, by the names of its tools."""
        known = self._file.entries().get(identity, {})
        if not all(isinstance(definition, dict) for definition in known.values()):
            raise self._file.unusable("is damaged (a definition in it is none)")
        return dict(known)

    def state(self, identity: str, definition: dict[str, Any]) -> State:
        """Whether this definition is pinned, byte for byte in its canonical form; a `ToolDefinitionError` where it
        has none.
        """
        listed = canonical(definition)
        pinned = self.known(identity).get(_name(definition))
        if pinned is None:
            return "new"
        return "same" if canonical(pinned) == listed else "changed"

    def pin(self, identity: str, *definitions: dict[str, Any]) -> None:
        """Keeps definitions, whole, each in place of an earlier one of its name; all of them, or none."""
        others = [deepcopy(each) for each in definitions if self.state(identity, each) != "same"]
        if others:
            with self._file.change() as entries:
                entries.setdefault(identity, {}).update((_name(each), each) for each in others)

    def forget(self, identity: str, tool: str | None = None) -> None:
        """Takes back one pin, or all of a server: its tools are new again."""
        with self._file.change() as entries:
            if tool is None:
                entries.pop(identity, None)
            else:
                pinned = entries.get(identity, {})
                pinned.pop(tool, None)
                if not pinned:
                    entries.pop(identity, None)


def _name(definition: dict[str, Any]) -> str:
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise ToolDefinitionError("a tool has no name", hint="The server has to name its tools.")
    return name
