"""What holds: the file, over it the environment, over that the command line; and of each value where it is from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec
from msgspec import inspect

from ..errors import ConfigError
from ..folders import config_folder, home_folder
from .checking import FIELDS, Unfit, checked, kind_of, nearest
from .model import TABLES, ChatSettings, Price, Service, Settings
from .reading import Content, Fault, Place, read_file, shown

FILE = "config.toml"
DEFAULT = "default"
"""Where a value is from that nobody has set."""

_ANY_SERVER = "openai-compatible"
_ITS_ADDRESS = "TOOLWIRE_BASE_URL"
"""The address of `openai-compatible`, as the catalog has it, and of no other: a key must not go where it is not for."""
_PARSERS = ("TOOLWIRE_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER")
_EMPTY = {
    "model": "openai:gpt-4.1-mini",
    "base_url": "http://127.0.0.1:1234/v1",
    "mode": "read-only",
    "stream_parser": "xml",
    "database": "sqlite:////home/me/runs.db",
    "theme": "dark",
}
"""Options that an empty text says nothing about, and an example for each."""
_YES = frozenset(("1", "true", "yes", "on"))
_NO = frozenset(("0", "false", "no", "off"))


class Flags(TypedDict, total=False):
    """What the command line may say. None, like a name that is left out: nothing."""

    model: str | None
    base_url: str | None
    system: str | None
    tools: str | None
    sandbox: bool | None
    use_mcp: bool | None
    stream_parser: str | None
    repair: bool | None
    mode: str | None
    audit: bool | None
    sessions: bool | None
    database: str | None
    max_turns: int | None
    max_tokens: int | None
    max_seconds: float | None
    retries: int | None
    timeout: float | None
    context_tokens: int | None
    theme: str | None
    plain: bool | None
    reasoning: str | None
    notify: bool | None


class Loaded(msgspec.Struct, frozen=True):
    """The settings that hold, and where each is from."""

    settings: Settings
    source: dict[str, str]
    """By name (`model`, `chat.theme`, `providers.work.base_url`): `config.toml:12`, `TOOLWIRE_MODEL`, `--model`,
    `default`. Tables that have names are there with those that stand in the file."""
    path: Path
    """The file, whether there is one or not."""
    notes: tuple[str, ...] = ()
    """What is no fault but worth a word, one sentence each."""

    def is_set(self, name: str) -> bool:
        """Whether anybody said anything about it."""
        return self.source.get(name, DEFAULT) != DEFAULT

    def with_flags(self, **flags: Unpack[Flags]) -> Loaded:
        """What the command line says, over all else. A `ConfigError` names the option.

        A model that is named there leaves the `base_url` of the settings behind, which is that of another model.
        """
        for name, example in _EMPTY.items():
            if flags.get(name) == "":
                # A variable that was not set, say: not another server, model or mode than the one that was meant.
                option = f"--{name.replace('_', '-')}"
                raise ConfigError(f"{option} is empty", hint=f"Write it as {example}, or leave it out.", option=option)
        values: dict[Place, Any] = {}
        source = dict(self.source)
        for name, value in flags.items():
            if value is None:
                continue
            struct, place = (Settings, (name,)) if name in FIELDS[Settings] else (ChatSettings, ("chat", name))
            option = f"--{'no-' if value is False else ''}{name.replace('_', '-')}"
            try:
                values[place] = checked(struct, name, value)
            except Unfit as unfit:
                raise ConfigError(f"{option} {unfit.words}", hint=unfit.hint, option=option) from None
            source[".".join(place)] = option
        if ("model",) in values and ("base_url",) not in values:
            values["base_url",] = ""
            source["base_url"] = DEFAULT
        return msgspec.structs.replace(self, settings=_replaced(self.settings, values), source=source)

    def error(self, name: str, words: str, hint: str) -> ConfigError:
        """A `ConfigError` about a value that does not fit for a reason that only its user knows; names its place."""
        origin = self.source.get(name, DEFAULT)
        file, _, line = origin.partition(":")
        where = f"{self.path}, line {line}" if file == FILE else origin
        return ConfigError(f"{where}: `{name}` {words}", hint=hint, setting=name)


def settings_path(env: Mapping[str, str]) -> Path:
    """The person's own file. A project has none: a folder must not choose the model or the tools."""
    return config_folder(env) / FILE


def project_note(folder: Path) -> str:
    """What to say of a project that has settings in its own file, where servers may stand; empty where it has none."""
    path = folder / ".toolwire" / FILE
    names = [shown(place) for place in read_file(path).values]
    if not names:
        return ""
    return f"{path} has {', '.join(names[:3])}, and is not asked: a project cannot choose for you"


def load_settings(env: Mapping[str, str]) -> Loaded:
    """The settings that the file and the environment make. A `ConfigError` tells the first fault and how many more.

    Its facts hold all of them: `faults`, one sentence each.
    """
    loaded, faults = look_at_settings(env)
    if faults:
        first, *others = faults
        more = f" (and {len(others)} more fault{'s' * (len(others) != 1)})" if others else ""
        hint = f"{first.hint} All of them: toolwire config check" if others else first.hint
        raise ConfigError(
            first.sentence + more, hint=hint, file=str(loaded.path), faults=[each.sentence for each in faults]
        )
    return loaded


def look_at_settings(env: Mapping[str, str]) -> tuple[Loaded, list[Fault]]:
    """The same with every fault, and the settings as far as they are right."""
    path = settings_path(env)
    content = read_file(path)
    values = dict(content.values)
    source = dict.fromkeys(scalar_names(), DEFAULT)
    for place in values:
        source[shown(place)] = _origin(content, place)
    for table in ("providers", "prices"):
        for place in [key for key in content.lines if key[:1] == (table,) and len(key) == 2]:
            source[shown(place)] = _origin(content, place)
    faults = [*content.faults, *_from_environment(env, values, source)]
    values["roots",] = tuple(_whole(folder, env) for folder in values.get(("roots",), ()))
    # A disk that is not plugged in keeps nobody from working.
    missing = [folder for folder in values["roots",] if not os.path.isdir(folder)]
    notes = [
        *content.notes,
        *_without_model(path, values, source),
        *(f"there is no folder {folder}, which {source['roots']} names in `roots`" for folder in missing),
        *_likely_slips(env),
    ]
    loaded = Loaded(_replaced(Settings(), values), source, path, tuple(notes))
    return loaded, faults


def scalar_names() -> list[str]:
    """Every setting that is one value, in the order of the file."""
    names = [name for name in FIELDS[Settings] if name not in TABLES]
    return [*names, *(f"chat.{name}" for name in FIELDS[ChatSettings])]


def variables_of(name: str) -> tuple[str, ...]:
    """The environment variables of a setting: the first that is set goes before the file."""
    if name == "stream_parser":
        return _PARSERS
    return (f"TOOLWIRE_{name.upper().replace('.', '_')}",)


def _from_environment(env: Mapping[str, str], values: dict[Place, Any], source: dict[str, str]) -> list[Fault]:
    faults: list[Fault] = []
    of_file = values.get(("model",), "")
    for name in scalar_names():
        variable = next((each for each in variables_of(name) if env.get(each, "").strip()), "")
        if not variable or name == "base_url":
            continue
        *tables, key = name.split(".")
        struct = ChatSettings if tables else Settings
        try:
            values[*tables, key] = checked(struct, key, _as_value(struct, key, env[variable].strip()))
        except Unfit as unfit:
            faults.append(Fault(variable, f"it {unfit.words}", unfit.hint))
            continue
        source[name] = variable
    _pair_address(env, of_file, values, source)
    return faults


def _pair_address(env: Mapping[str, str], of_file: str, values: dict[Place, Any], source: dict[str, str]) -> None:
    """The address of the file is for the file's model alone, and that of the environment for `openai-compatible`."""
    model = values.get(("model",), "")
    if model != of_file:
        values.pop(("base_url",), None)
        source["base_url"] = DEFAULT
    if model.partition(":")[0] == _ANY_SERVER and (address := env.get(_ITS_ADDRESS, "").strip()):
        values["base_url",] = address
        source["base_url"] = _ITS_ADDRESS


def _without_model(path: Path, values: dict[Place, Any], source: dict[str, str]) -> list[str]:
    """An address without a model is left out: it would be that of whichever model is found here, and take its key."""
    if values.get(("model",)) or not values.pop(("base_url",), ""):
        return []
    line = source["base_url"].rpartition(":")[2]
    source["base_url"] = DEFAULT
    return [
        f"{path}, line {line}: `base_url` is for `model`, and there is none, so that it is not used; the address of a "
        "provider stands below its name, such as [providers.openai]"
    ]


def _as_value(struct: type, key: str, text: str) -> Any:
    """What a variable says, as a file would: variables hold text alone. Lists are parted as PATH is."""
    kind = kind_of(struct, key)
    if isinstance(kind, inspect.BoolType):
        plain = text.lower()
        if plain not in _YES | _NO:
            raise Unfit("wants to be 1 or 0", "Write 1 or 0, true or false, yes or no.")
        return plain in _YES
    if isinstance(kind, inspect.VarTupleType):
        return [part for part in text.split(os.pathsep) if part]
    if isinstance(kind, (inspect.IntType, inspect.FloatType)):
        whole = isinstance(kind, inspect.IntType)
        try:
            return int(text) if whole else float(text)
        except ValueError:
            words = "a whole number" if whole else "a number"
            raise Unfit(f"wants to be {words}", f"Write {words}.") from None
    return text


def _replaced(settings: Settings, values: Mapping[Place, Any]) -> Settings:
    """The settings with these values in their places."""
    tops: dict[str, Any] = {}
    chat: dict[str, Any] = {}
    named: dict[str, dict[str, dict[str, Any]]] = {"providers": {}, "prices": {}}
    for place, value in values.items():
        match place:
            case (name,):
                tops[name] = value
            case ("chat", name):
                chat[name] = value
            case (table, entry, name):
                named[table].setdefault(entry, {})[name] = value
    if named["providers"]:
        tops["providers"] = {name: Service(**each) for name, each in named["providers"].items()}
    if named["prices"]:
        tops["prices"] = {name: Price(**each) for name, each in named["prices"].items()}
    if chat:
        tops["chat"] = msgspec.structs.replace(settings.chat, **chat)
    return msgspec.structs.replace(settings, **tops)


def _whole(folder: str, env: Mapping[str, str]) -> str:
    return os.path.join(home_folder(env), folder[2:]) if folder.startswith("~/") else folder


def _origin(content: Content, place: Place) -> str:
    line = content.line(place)
    return f"{FILE}:{line}" if line else FILE


def _likely_slips(env: Mapping[str, str]) -> list[str]:
    """Variables that look like one of ours and are none."""
    known = [variable for name in scalar_names() for variable in variables_of(name)]
    notes: list[str] = []
    for variable in sorted(env):
        if variable.startswith("TOOLWIRE_") and variable not in known and variable not in _OTHERS:
            near = nearest(variable, [each.lower() for each in known]).upper()
            if near:
                notes.append(f"the variable {variable[:60]} is not known; did you mean {near}?")
    return notes[:5]


_OTHERS = frozenset(
    f"TOOLWIRE_{name}" for name in ("API_KEY", "CACHE", "CALL", "DEBUG", "DISCOVER", "MCP_TOKEN", "BASE_URL")
)
"""Variables of other parts."""
