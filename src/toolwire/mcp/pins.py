"""`Pins`: the definitions that a person has looked at, kept whole, so that a later change is seen and can be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError, ToolDefinitionError
from ..folders import state_folder
from .definitions import canonical
from .kept import KeptFile

State = Literal["new", "same", "changed"]
"""What a listed definition is beside the pinned one of its name."""
WAITING_CHARACTERS = 65_536
"""Of the names of a server's tools that nobody has looked at. Of more, the first are kept: one is enough to ask."""


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
        self._others = KeptFile(None if path is None else path.with_name("waiting.json"), "which MCP tools were not")

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

    def waiting(self, identity: str) -> list[str] | None:
        """The tools that the server had beside the pinned ones when it was last asked; None where nobody knows."""
        with suppress(ConfigError):  # not known: then it is asked
            names = self._others.entries().get(identity, {}).get("names")
            if isinstance(names, list):
                return [name for name in names if isinstance(name, str)]
        return None

    def keep_waiting(self, identity: str, names: Iterable[str]) -> None:
        """Keeps what `waiting` tells. Never raises: without it a server is asked once more than it had to be."""
        kept: list[str] = []
        room = WAITING_CHARACTERS
        for name in names:
            room -= len(name)
            if room < 0:
                break
            kept.append(name)
        if kept != self.waiting(identity):
            with suppress(ConfigError), self._others.change() as entries:
                entries[identity] = {"names": kept}

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
        # What it has is not known any more: it is asked.
        if self.waiting(identity) is not None:
            with suppress(ConfigError), self._others.change() as entries:
                entries.pop(identity, None)


def _name(definition: dict[str, Any]) -> str:
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise ToolDefinitionError("a tool has no name", hint="The server has to name its tools.")
    return name
