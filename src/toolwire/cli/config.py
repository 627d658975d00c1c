"""`toolwire config`: the file with the settings, what holds here and where each value is from. Never shows a key."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from ..errors import ConfigError, FileRefused, ToolwireError
from ..files.beneath import Roots
from ..files.replacing import Note, change_file
from ..refusals import shown_url
from ..settings.loading import DEFAULT, Loaded, look_at_settings, project_note, scalar_names, settings_path
from ..settings.reading import Fault, parse_settings, shown
from ..settings.template import has_comments, plain_number, toml_value, with_settings
from .console import PlainConsole
from .editing import chosen_editor
from .faults import FAILED, USAGE, say
from .inputs import as_text
from .visible import json_bytes, one_line

_SHOWN = 60
"""Characters of a value in the table."""


class Value(msgspec.Struct, frozen=True):
    """A setting as it holds."""

    name: str
    value: Any
    source: str
    """`config.toml:12`, `TOOLWIRE_MODEL` or `default`."""


class Key(msgspec.Struct, frozen=True):
    """Where the key of a provider that the settings name is looked for."""

    provider: str
    variables: tuple[str, ...]
    set: bool


class Shown(msgspec.Struct, frozen=True):
    """All that `config show` says."""

    file: str
    there: bool
    settings: list[Value]
    keys: list[Key]
    notes: list[str]


def init(*, force: Annotated[bool, Parameter(negative="", show_default=False)] = False) -> int:
    """Writes the commented file: every setting, what it means, its default and an example, all commented out.

    Parameters
    ----------
    force
        Put the comments above a file that has settings or comments already. What it says stays as it is.
    """
    path = settings_path(os.environ)
    _add_comments(path, force=force)
    print(f"The settings are in {one_line(as_text(str(path)))}, all commented out: nothing has changed.")
    print("Take the # away from what you want to set: toolwire config edit")
    return 0


def show(*, json: Annotated[bool, Parameter(negative="", show_default=False)] = False) -> int:
    """Shows every setting that holds here, and where it is from. A key is never shown, only whether there is one.

    Parameters
    ----------
    json
        Print one JSON object.
    """
    loaded, faults = look_at_settings(os.environ)
    _say_all(faults)
    made = Shown(str(loaded.path), loaded.path.exists(), list(_values(loaded)), list(_keys(loaded)), list(loaded.notes))
    if json:
        sys.stdout.buffer.write(json_bytes(made) + b"\n")
    else:
        _print(made)
    return USAGE if faults else 0


def path() -> int:
    """Prints the path of the file with the settings, whether there is one or not."""
    print(one_line(as_text(str(settings_path(os.environ)))))
    return 0


def check() -> int:
    """Looks for mistakes in the file and in the environment, and names the line of each."""
    return _checked()


def edit() -> int:
    """Opens the file in your editor ($VISUAL or $EDITOR), with the comments where it is new, and checks it after."""
    editor = chosen_editor(os.environ)
    place = settings_path(os.environ)
    if not editor:
        raise ConfigError(
            "no editor is set", hint=f"Set EDITOR, such as export EDITOR=nano; or open {as_text(str(place))} yourself."
        )
    if not place.exists():
        _add_comments(place, force=False)
    try:
        code = subprocess.run([*shlex.split(editor), str(place)]).returncode
    except (OSError, ValueError) as error:
        words = f"the editor {editor[:80]!r} cannot be started ({type(error).__name__})"
        raise ConfigError(words, hint="Look at VISUAL and EDITOR in the environment.") from None
    if code:
        say(f"the editor ended with code {code}", "Look at the file: toolwire config check")
        return FAILED
    return _checked()


def _checked() -> int:
    loaded, faults = look_at_settings(os.environ)
    faults += further_faults(loaded)
    _say_all(faults)
    for note in (*loaded.notes, *filter(None, [project_note(Path.cwd())])):
        say(note)
    if faults:
        return USAGE
    count = sum(1 for each in _values(loaded) if each.source != DEFAULT)
    there = one_line(as_text(str(loaded.path))) if loaded.path.exists() else "no file"
    print(f"{there}: {count} setting{'' if count == 1 else 's'} in force, nothing wrong")
    return 0


def further_faults(loaded: Loaded) -> list[Fault]:
    """What only the parts that use a setting can say: names of providers, formats, themes."""
    from ..embedded.choosing import as_parser
    from ..providers.catalog import PROVIDERS, split_model
    from .services import services
    from .themes import theme_names

    settings = loaded.settings
    found: list[Fault] = []
    try:
        rows = services(loaded)
    except ConfigError as error:
        found.append(_as_fault(error))
        rows = {}
    if settings.model and settings.model.partition(":")[0] not in {**PROVIDERS, **rows}:
        try:
            split_model(settings.model)
        except ConfigError as error:
            if not settings.model.lower().endswith(".gguf"):
                found.append(_as_fault(loaded.error("model", f"cannot be asked: {error.message}", error.hint)))
    if settings.stream_parser:
        try:
            as_parser(settings.stream_parser.lower(), provider="", model="", tools=(), native_tools=True)
        except ConfigError as error:
            found.append(_as_fault(loaded.error("stream_parser", f"cannot be used: {error.message}", error.hint)))
    if (theme := settings.chat.theme) and (known := theme_names()) and theme not in known:
        hint = f"There are {', '.join(known)}."
        found.append(_as_fault(loaded.error("chat.theme", "is no theme that is known", hint)))
    return found


def _as_fault(error: ToolwireError) -> Fault:
    where, _, words = error.message.partition(": ")
    return Fault(where, words, error.hint)


def _say_all(faults: list[Fault]) -> None:
    for fault in faults:
        say(fault.sentence, fault.hint)


def _values(loaded: Loaded) -> Iterator[Value]:
    """Every setting that is one value, then those of the tables with names."""
    settings = loaded.settings
    for name in scalar_names():
        holder: Any = settings.chat if name.startswith("chat.") else settings
        value = getattr(holder, name.removeprefix("chat."))
        yield Value(name, _unsecret(name, value), loaded.source[name])
    for table, named in (("providers", settings.providers), ("prices", settings.prices)):
        for entry, each in named.items():
            for key in each.__struct_fields__:
                name = shown((table, entry, key))
                if name in loaded.source:
                    yield Value(name, _unsecret(key, getattr(each, key)), loaded.source[name])


def _unsecret(name: str, value: Any) -> Any:
    """An address may hold a user and a password."""
    return shown_url(value) if name in ("base_url", "database") and value else value


def _keys(loaded: Loaded) -> Iterator[Key]:
    """The providers that the settings name, and whether their keys are set."""
    from ..providers.catalog import find_provider
    from ..providers.endpoint import key_variable
    from .services import services

    try:
        rows = services(loaded)
    except ConfigError:
        return
    named = dict.fromkeys([loaded.settings.model.partition(":")[0], *rows])
    for name in filter(None, named):
        row = rows.get(name) or find_provider(name)
        if row is not None and row.keys:
            yield Key(row.name, row.keys, bool(key_variable(row, os.environ)))


def _print(made: Shown) -> None:
    where = one_line(as_text(made.file))
    print(where if made.there else f"{where} (there is no such file: toolwire config init)")
    print()
    rows = [(each.name, _written(each.value), each.source) for each in made.settings]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    console = PlainConsole()
    for name, value, source in rows:
        line = f"{name:{widths[0]}}  {value:{widths[1]}}  {source}"
        console.out(line, style="dim" if source == DEFAULT else "bold")
    if made.keys:
        print()
    for key in made.keys:
        print(f"key of {key.provider}: {' or '.join(key.variables)} is {'set' if key.set else 'not set'}")
    for note in made.notes:
        say(note)


def _written(value: Any) -> str:
    text = "-" if value is None or value in ("", ()) else one_line(toml_value(plain_number(value)))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _add_comments(path: Path, *, force: bool) -> None:
    """Writes the file, for its owner alone, or puts the comments above what it says."""
    real = os.path.realpath(path)
    shown_path = as_text(str(path))

    def changed(before: bytes | None) -> bytes:
        data = before or b""
        if not force:
            if has_comments(data):
                raise ConfigError(f"{shown_path} has the comments already", hint="Open it: toolwire config edit")
            content = parse_settings(data, shown_path)
            if content.values or content.faults:
                raise ConfigError(
                    f"{shown_path} has settings already",
                    hint="Open it: toolwire config edit. To put the comments above them: toolwire config init --force",
                )
        return with_settings(data, shown_path)

    try:
        os.makedirs(os.path.dirname(real), mode=0o700, exist_ok=True)
        change_file(Roots([os.path.dirname(real)]), real, changed, note=Note(mode=0o600))
    except FileRefused as error:
        raise ConfigError(error.message, hint=error.hint or "Look at the folder's permissions.") from None
    except OSError as error:
        words = f"{shown_path} cannot be written: {error.strerror or error}"
        raise ConfigError(words, hint="Look at its folder.") from None
