"""What can be typed behind `toolwire`: commands, their options, and what the values of these can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import msgspec

FILES = "files"
FOLDERS = "folders"
NAMED = ("sessions", "runs", "servers")
"""Kinds of values that only the machine knows (`completion_names`)."""
_WORDS = 70
"""Characters of what stands beside a name."""


class Choice(msgspec.Struct, frozen=True):
    """An option, and the kind of its value; empty: it has none, or one that nobody can foresee."""

    names: tuple[str, ...]
    words: str
    takes_value: bool
    kind: str = ""


class Command(msgspec.Struct, frozen=True):
    """A command, by its path: `mcp/add`; the program itself has an empty one."""

    path: str
    words: str
    options: tuple[Choice, ...]
    commands: tuple[tuple[str, str], ...] = ()
    """Those below it, with their words."""
    places: tuple[str, ...] = ()
    """The kinds of what stands in its places, the last for all that follow where it takes many."""
    many: bool = False


class Tree(msgspec.Struct, frozen=True):
    """All of it."""

    commands: tuple[Command, ...]
    values: dict[str, tuple[str, ...]]
    """The values of each kind that is the same on every machine."""

    def kinds_of_options(self) -> Iterator[tuple[str, str, str]]:
        """Path, option and kind of every option that takes a value."""
        for command in self.commands:
            for option in command.options:
                for name in option.names if option.takes_value else ():
                    yield command.path, name, option.kind


def command_tree() -> Tree:
    """The commands as they are in this version. Loads all of them, so that it takes a second."""
    from .app import make_app

    app = make_app()
    values = _values()
    commands = tuple(_walked(app, "", values))
    return Tree(commands, values)


def _walked(app: Any, path: str, values: dict[str, tuple[str, ...]]) -> Iterator[Command]:
    """A command and all below it."""
    below = [(name, app[name]) for name in app if not name.startswith("-")]
    below = [(name, each) for name, each in below if each.show]
    options: list[Choice] = []
    places: list[str] = []
    many = False
    if app.default_command is not None:
        for argument in app.assemble_argument_collection(parse_docstring=True):
            kind = _kind(path, argument, values)
            if argument.index is not None:
                places.append(kind)
                many = many or "tuple" in str(argument.hint) or "list" in str(argument.hint)
            else:
                takes = not (argument.is_flag() or bool in (argument.hint, *get_args(argument.hint)))
                options.append(Choice(argument.names, _short(argument.parameter.help), takes, kind))
    flags = [("--help", "Says what it does and how.")]
    if not path:
        flags.append(("--version", "Prints the version."))
    options += [Choice((name,), words, takes_value=False) for name, words in flags]
    commands = tuple((name, _short(each.help)) for name, each in below)
    yield Command(path, _short(app.help), tuple(options), commands, tuple(places), many)
    for name, each in below:
        yield from _walked(each, f"{path}/{name}".lstrip("/"), values)


def _kind(path: str, argument: Any, values: dict[str, tuple[str, ...]]) -> str:
    """The kind of an argument's value: by its choices, or else by what it is called."""
    if choices := argument.get_choices(force=True):
        name = f"one of {'|'.join(choices)}"
        values[name] = tuple(choices)
        return name
    option = argument.names[0]
    if option == "NAME":
        return _NAMES.get(path, "servers" if path.startswith("mcp/") else "")
    return _KINDS.get(option) or _KINDS.get(argument.parameter.metavar or "", "")


def _values() -> dict[str, tuple[str, ...]]:
    """The values that are the same on every machine."""
    from ..approval.policy import Mode
    from ..approval.rule_file import RISKS
    from ..embedded.registry import format_names
    from ..providers.catalog import PROVIDERS
    from ..providers.wires import WIRES
    from .themes import theme_names

    formats = tuple(format_names())
    return {
        "models": tuple(f"{row.name}:{row.default_model}" for row in PROVIDERS.values()),
        "providers": tuple(PROVIDERS),
        "modes": tuple(map(str, Mode)),
        "wires": ("auto", *WIRES),
        "formats": formats,
        "parsers": ("auto", "api_tool_call", "api_tool_call+auto", *formats),
        "choices": ("auto", "none", "required"),
        "themes": theme_names(),
        "risks": tuple(map(str, RISKS)),
    }


_KINDS = {
    "--mcp": "servers",
    "--theme": "themes",
    "FILE": FILES,
    "OUT": FILES,
    "FILE.PY": FILES,
    "TOOLS.JSON": FILES,
    "CONVERSATION": FILES,
    "--path": FILES,
    "FOLDER": FOLDERS,
    "--workspace": FOLDERS,
    "PROVIDER:MODEL": "models",
    "MODEL": "models",
    "PROVIDER": "providers",
    "MODE": "modes",
    "--mode": "modes",
    "WIRE": "wires",
    "FORMAT": "formats",
    "PARSER": "parsers",
    "CHOICE": "choices",
    "--risk": "risks",
    "[TOOL=]RISK": "risks",
    "ID": "sessions",
    "[ID]": "sessions",
    "RUN": "runs",
}
"""The kinds by the option or the word for a place, or else by the word that help writes for the value."""
_NAMES = {"formats": "formats", "mcp/add": ""}
"""What is called NAME in a place, where it is not a server that is there already."""


def _short(words: str | None) -> str:
    """The beginning of what help says, up to the end of its first sentence."""
    line = " ".join((words or "").split())
    sentence = line.partition(". ")[0].removesuffix(".")
    return sentence if len(sentence) <= _WORDS else f"{sentence[: _WORDS - 1].rstrip()}…"
