"""The arguments of a call by their paths (`files[0].name`): while they grow, and whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...cli.visible import json_bytes
from ...json_reader import FieldDelta
from .growing import KEPT, GrowingText

MOST_FIELDS = 400
"""Fields that are kept for showing; more are counted only."""

_NAME = 80
"""Characters of the name of an argument."""
_TOLD = 1_000
"""Characters of an argument that stands for the call."""

Path = tuple[str | int, ...]

_TELLING = (
    "path",
    "file_path",
    "filename",
    "file",
    "command",
    "cmd",
    "query",
    "pattern",
    "url",
    "uri",
    "name",
    "title",
    "question",
    "prompt",
    "task",
    "city",
    "id",
)
"""Names of arguments that say best what a call is about, the best first."""


class Fields:
    """What is known of a call's arguments, for a screen: each value as text that may still grow."""

    def __init__(self) -> None:
        self.texts: dict[Path, GrowingText] = {}
        self.left_out = 0
        """Values beyond those that are kept."""
        self._room = KEPT
        self._over: Path | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Fields:
        """Those of whole arguments."""
        fields = cls()
        for path, text in _leaves(arguments):
            fields.take(FieldDelta(path, text, True))
            if fields.left_out:
                break
        if fields.left_out:
            fields.left_out = _count(arguments) - len(fields.texts)
        return fields

    def take(self, delta: FieldDelta) -> None:
        """More of one value. Cheap: it is read when it is painted."""
        text = self.texts.get(delta.path)
        if text is None or (text.done and delta.text):
            if text is None and len(self.texts) >= MOST_FIELDS:
                self.left_out += delta.path != self._over
                self._over = None if delta.done else delta.path
                return
            text = self.texts[delta.path] = GrowingText(room=self._room)
        text.add(delta.text)
        self._room = max(self._room - len(delta.text), 0)
        text.done = text.done or delta.done

    def get(self, *names: str) -> GrowingText | None:
        """The first of these arguments that is there."""
        return next((self.texts[(name,)] for name in names if (name,) in self.texts), None)

    def telling(self) -> tuple[Path, str]:
        """The argument that says best what the call is about, by its path, and its text; empty if there is none."""
        for name in _TELLING:
            text = self.texts.get((name,))
            if text is not None and text.size:
                return (name,), text.beginning(_TOLD)
        for path, text in self.texts.items():
            if text.size:
                return path, text.beginning(_TOLD)
        return (), ""


def spelled(path: Path) -> str:
    """`("files", 0, "name")` as `files[0].name`. A name that could be taken for something else stands in quotes."""
    words = ""
    for step in path:
        if isinstance(step, int):
            words += f"[{step}]"
        elif step.isascii() and step.replace("-", "_").replace("$", "_").isidentifier() and len(step) <= _NAME:
            words += f".{step}"
        else:
            short = json_bytes(step[:_NAME]).decode()
            words += f"[{short}{'…' if len(step) > _NAME else ''}]"
    return words.removeprefix(".")


def _count(arguments: Mapping[str, Any]) -> int:
    """How many values there are that hold no others."""
    count = 0
    waiting: list[Any] = [arguments]
    while waiting:
        value = waiting.pop()
        if value and isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)
        else:
            count += 1
    return count


def _leaves(arguments: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Every value that holds no others, in order, with its path."""
    waiting: list[Iterator[tuple[Path, Any]]] = [iter([((name,), value) for name, value in arguments.items()])]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
            continue
        path, value = step
        if isinstance(value, dict) and value:
            waiting.append(iter([((*path, str(name)), each) for name, each in value.items()]))
        elif isinstance(value, list) and value:
            waiting.append(iter([((*path, index), each) for index, each in enumerate(value)]))
        else:
            yield path, value if isinstance(value, str) else json_bytes(value).decode()
