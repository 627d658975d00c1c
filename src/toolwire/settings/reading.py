"""What the file says: every value with the line that it stands on, and everything that is wrong with it at once."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ConfigError
from .checking import FIELDS, Unfit, checked, nearest
from .lines import key_lines, line_of
from .model import OF_MCP, TABLES, ChatSettings, Price, Service, Settings

MAX_BYTES = 1024 * 1024
"""As for the MCP servers of the same file."""
MAX_DOTS = 500
"""Dots in one line: the time that a key takes to read grows with the square of them."""
MAX_FAULTS = 20
"""What is told of a file at once."""
MAX_NAMES = 200
"""Services, and prices."""

Place = tuple[str, ...]


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong, and what to do about it."""

    where: str
    """`/home/me/.config/toolwire/config.toml, line 12`, or a variable, or an option."""
    words: str
    hint: str

    @property
    def sentence(self) -> str:
        """All of it but the hint."""
        return f"{self.where}: {self.words}"


class Content(msgspec.Struct, frozen=True):
    """What a file says."""

    values: dict[Place, Any] = {}
    """By place: `("model",)`, `("chat", "theme")`, `("providers", "work", "base_url")`."""
    lines: dict[Place, int] = {}
    faults: list[Fault] = []
    notes: list[str] = []

    def line(self, place: Place) -> int:
        """Where it stands; 0 where that is not known."""
        return line_of(self.lines, place)


def read_file(path: Path) -> Content:
    """The content of the file; nothing where there is none. What cannot be read at all is a fault too."""
    try:
        # A pipe that nobody writes to must not hold everything up.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return Content(faults=[Fault(str(path), "it is not a file", _MOVE_AWAY)])
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Content()
    except IsADirectoryError:
        return Content(faults=[Fault(str(path), "it is a folder", _MOVE_AWAY)])
    except (OSError, ValueError) as error:
        words = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return Content(faults=[Fault(str(path), f"it cannot be read: {words}", "Look at its permissions.")])
    content = parse_settings(data, str(path))
    content.notes.extend(_notes(path, status))
    return content


def parse_settings(data: bytes, name: str) -> Content:
    """What the text of a file says, all faults at once, up to `MAX_FAULTS`."""
    try:
        text, found = toml_of(data, name)
    except ConfigError as error:
        return Content(faults=[Fault(name, error.message.removeprefix(f"{name}: "), error.hint)])
    reading = _Reading(name, text)
    reading.take(found)
    if len(reading.faults) > MAX_FAULTS:
        more = len(reading.faults) - MAX_FAULTS
        reading.faults[MAX_FAULTS:] = [Fault(name, f"{more:,} more faults are not told", "Correct these first.")]
    return Content(reading.values, reading.lines, reading.faults, [])


def toml_of(data: bytes, name: str) -> tuple[str, dict[str, Any]]:
    """A file's text and what it means as TOML. Raises a `ConfigError` that names the line."""
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{name}: it holds more than {MAX_BYTES:,} bytes", hint=_MOVE_AWAY, file=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{name}: line {line} is not UTF-8", hint="Save it as UTF-8.", file=name) from None
    for number, line_text in enumerate(text.split("\n"), 1):
        if line_text.count(".") > MAX_DOTS:
            raise ConfigError(f"{name}: line {number} has more than {MAX_DOTS} dots", hint=_MOVE_AWAY, file=name)
    try:
        return text.replace("\r\n", "\n"), tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        words = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        words = words.replace("Cannot overwrite a value", "a key stands there twice")
        words = words.replace("(at end of document)", f"(at line {text.rstrip().count(chr(10)) + 1}, the last)")
        hint = "Delete one of the two." if "twice" in words else _QUOTES
        raise ConfigError(f"{name}: it is not TOML: {words}", hint=hint, file=name) from None


class _Reading:
    """One look through what a file says."""

    def __init__(self, name: str, text: str) -> None:
        self.values: dict[Place, Any] = {}
        self.faults: list[Fault] = []
        self.lines = key_lines(text)
        self._name = name

    def take(self, found: dict[str, Any]) -> None:
        """The whole file."""
        for key, value in found.items():
            if key in OF_MCP:
                if not isinstance(value, dict):
                    self._fault((key,), "is for the tables of MCP servers", "To use none, write use_mcp = false.")
            elif key == "chat":
                self._table((key,), value, ChatSettings)
            elif key == "providers":
                self._named((key,), value, Service, "[providers.work]")
            elif key == "prices":
                self._named((key,), value, Price, '[prices."openai:gpt-4.1"]')
            elif key in FIELDS[Settings]:
                self._value((key,), value, Settings)
            else:
                self._unknown((key,), value, Settings)

    def _named(self, place: Place, value: Any, struct: type, example: str) -> None:
        if not isinstance(value, dict):
            self._fault(place, "is no table", f"Write {example} and the settings below it.")
            return
        if len(value) > MAX_NAMES:
            self._fault(place, f"has more than {MAX_NAMES} tables", "Delete those that are not used.")
            return
        for name, table in value.items():
            inner = (*place, name)
            if struct is Service and not _is_service_name(name):
                self._fault(
                    inner, "is no name of a service", "Write letters, digits, - and _, such as [providers.work]."
                )
            elif struct is Price and not all(name.partition(":")):
                self._fault(inner, "is no model", f"Write provider:model in quotes: {example}.")
            elif not isinstance(table, dict):
                self._fault(inner, "is no table", f"Write {example} and the settings below it.")
            elif not table:
                self._fault(inner, "says nothing", f"It may have {', '.join(FIELDS[struct])}.")
            else:
                self._table(inner, table, struct)

    def _table(self, place: Place, value: Any, struct: type) -> None:
        if not isinstance(value, dict):
            self._fault(place, "is no table", f"Write [{shown(place)}] and the settings below it.")
            return
        for key, each in value.items():
            inner = (*place, key)
            if key in FIELDS[struct]:
                self._value(inner, each, struct)
            else:
                self._unknown(inner, each, struct)

    def _value(self, place: Place, value: Any, struct: type) -> None:
        try:
            self.values[place] = checked(struct, place[-1], value)
        except Unfit as unfit:
            self._fault(place, unfit.words, unfit.hint)

    def _unknown(self, place: Place, value: Any, struct: type) -> None:
        if isinstance(value, str) and _is_key_name(place[-1]):
            self._fault(place, "would hold a key, and keys never stand in this file", _KEY_HINTS[struct is Service])
            return
        known = list(FIELDS[struct])
        near = nearest(place[-1], known)
        hint = f"Did you mean `{near}`?" if near else f"There are {', '.join(known)}."
        if struct is Settings and not near and place[-1] in FIELDS[ChatSettings]:
            hint = f"Write it as chat.{place[-1]} = …, above the first line in square brackets."
        elif struct is not Settings and place[-1] in FIELDS[Settings] and place[-1] not in TABLES:
            hint = "It belongs to the top of the file, above the first line in square brackets."
        kind = "is no table that is known" if isinstance(value, dict) else "is not known"
        self._fault(place, kind, hint)

    def _fault(self, place: Place, words: str, hint: str) -> None:
        line = line_of(self.lines, place)
        where = f"{self._name}, line {line}" if line else self._name
        self.faults.append(Fault(where, f"`{shown(place)}` {words}", hint))


def shown(place: Place) -> str:
    """A place as it is written: `prices."openai:gpt-4.1".input`."""
    return ".".join(key if _is_bare(key) else f'"{key[:80]}"' for key in place)


def _is_bare(key: str) -> bool:
    return bool(key) and len(key) <= 80 and all(char.isascii() and (char.isalnum() or char in "-_") for char in key)


def _is_service_name(name: str) -> bool:
    return len(name) <= 40 and _is_bare(name.replace(".", "-"))


def _is_key_name(key: str) -> bool:
    plain = "".join(char for char in key.lower() if char.isalnum())
    return plain in _KEY_NAMES or plain.endswith("apikey")


_KEY_HINTS = (
    "Put the key into the environment variable of its provider, such as OPENAI_API_KEY; toolwire providers lists them.",
    'Put the key into an environment variable, and write its name: key_variable = "WORK_API_KEY".',
)
"""At the top of the file, and in the table of a service."""
_KEY_NAMES = frozenset(("key", "apikey", "apitoken", "token", "accesstoken", "secret", "secretkey", "password", "auth"))


def _notes(path: Path, status: os.stat_result) -> Iterator[str]:
    """Who else can change the file. No fault, as for policy.toml, since groups are one person's on many machines."""
    if not hasattr(os, "geteuid"):
        return  # a system where neither says who can change a file
    if status.st_uid not in (os.geteuid(), 0):
        yield f"{path} belongs to another user, who can change what holds for you"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield f"{path} may be written by others: chmod 600 {path}"


_MOVE_AWAY = "Correct the file, or move it away."
_QUOTES = 'Texts stand in quotes: model = "openai:gpt-4.1-mini". toolwire config init shows every setting.'
