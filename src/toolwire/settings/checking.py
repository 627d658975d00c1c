"""Whether a value fits a setting, in words for whoever wrote it. The value itself is never in them: it may be a secret.

The same for a file, the environment and the command line, so that a setting means the same wherever it stands.
"""

from __future__ import annotations

import math
import os
from typing import Any, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import inspect
from msgspec.structs import FieldInfo

from .model import ChatSettings, Price, Service, Settings

MAX_TEXT = 500
"""Characters of a text of one line."""
MAX_SYSTEM = 100_000
MAX_NUMBER = 10**12
"""Of tokens, seconds and all else: beyond it a number is a slip."""
DATABASES = ("sqlite:///", "postgresql://", "postgresql+psycopg://", "postgres://")
"""How the address of a database begins that durable runs can be kept in."""

Path = tuple[str, ...]


class Unfit(Exception):
    """What is wrong with a value, as words that follow its name, and what to write."""

    def __init__(self, words: str, hint: str) -> None:
        super().__init__(words)
        self.words = words
        self.hint = hint


def _of_one_kind(kind: inspect.Type) -> inspect.Type:
    """The kind of a value that may also be left out."""
    if isinstance(kind, inspect.UnionType):
        return next(each for each in kind.types if not isinstance(each, inspect.NoneType))
    return kind


FIELDS: dict[type, dict[str, FieldInfo]] = {
    struct: {field.name: field for field in msgspec.structs.fields(struct)}
    for struct in (Settings, ChatSettings, Service, Price)
}
_KINDS: dict[type, dict[str, inspect.Type]] = {
    struct: {
        name: _of_one_kind(inspect.type_info(hint))
        for name, hint in get_type_hints(struct, include_extras=True).items()
        if name in FIELDS[struct]
    }
    for struct in FIELDS
}


def kind_of(struct: type, name: str) -> inspect.Type:
    """The kind of a setting, without what is said about it."""
    kind = _KINDS[struct][name]
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def meaning_of(struct: type, name: str) -> tuple[str, Any]:
    """What a setting means, and an example of a value."""
    kind = _KINDS[struct][name]
    said = (kind.extra_json_schema or {}) if isinstance(kind, inspect.Metadata) else {}
    return str(said.get("description", "")), next(iter(said.get("examples", ())), None)


def checked(struct: type, name: str, value: Any) -> Any:
    """The value as the setting holds it. Raises `Unfit`."""
    kind = kind_of(struct, name)
    match kind:
        case inspect.BoolType():
            if not isinstance(value, bool):
                raise _another(value, "true or false")
            return value
        case inspect.LiteralType():
            choices = [str(each) for each in kind.values if each]
            if not isinstance(value, str):
                raise _another(value, "a text", f"Write {_listed(choices)}.")
            if value not in kind.values:
                raise Unfit(f"is none of {_listed(choices)}", _nearest(value, choices) or f"Write {_listed(choices)}.")
            return value
        case inspect.StrType():
            if not isinstance(value, str):
                raise _another(value, "a text", 'Write it in quotes: "…".')
            return _checked_text(name, value)
        case inspect.VarTupleType():
            if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
                raise _another(value, "a list of texts", 'Write ["~/notes"].')
            return tuple(_checked_folder(each) for each in value)
        case inspect.IntType() | inspect.FloatType():
            return _checked_number(kind, value)
    raise AssertionError(f"a setting of a kind that nobody checks: {name}")


def _checked_number(kind: inspect.IntType | inspect.FloatType, value: Any) -> int | float:
    whole = isinstance(kind, inspect.IntType)
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise _another(value, "a whole number" if whole else "a number")
    if kind.ge is not None and not value >= kind.ge:
        raise Unfit(f"is less than {kind.ge:g}", f"Write {kind.ge:g} or more.")
    if kind.gt is not None and not value > kind.gt:
        raise Unfit(f"is not more than {kind.gt:g}", f"Write more than {kind.gt:g}.")
    if not math.isfinite(value) or value > MAX_NUMBER:
        raise Unfit("is more than anything can be", "Write an ordinary number.")
    return value if whole else float(value)


def _checked_text(name: str, value: str) -> str:
    if name == "system":
        if len(value) > MAX_SYSTEM:
            raise Unfit(f"has more than {MAX_SYSTEM:,} characters", "Write less, or attach a file to the question.")
        return value
    if not value.isprintable() or len(value) > MAX_TEXT or value != value.strip():
        raise Unfit("is no plain text of one line", f"Write up to {MAX_TEXT} characters without blanks around them.")
    if name == "base_url" and value:
        _check_address(value)
    if name == "database" and value and not value.startswith(DATABASES):
        raise Unfit(
            "is no address of a database",
            'Write "sqlite:////home/me/runs.db" or "postgresql://user@host:5432/name".',
        )
    if name == "model" and (value.startswith(":") or (" " in value and not value.lower().endswith(".gguf"))):
        raise Unfit("names no model", 'Write "provider:model"; toolwire providers lists the providers.')
    if name == "key_variable" and value and not is_variable(value):
        raise Unfit(
            "is no name of an environment variable",
            "Write the name that the key has in the environment, such as WORK_API_KEY; the key itself never stands "
            "in this file.",
        )
    return value


def _check_address(value: str) -> None:
    try:
        parts = urlsplit(value)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in value
        parts.port  # noqa: B018 - says so itself if it is none
    except ValueError:
        right = False
    if not right and not value.startswith(("https://{", "{")):
        raise Unfit("is no address of HTTP", 'Write it whole: "https://models.example.com/v1".')


def _checked_folder(value: str) -> str:
    if not (os.path.isabs(value) or value.startswith("~/")) or "\0" in value:
        raise Unfit("has a folder that begins nowhere", 'Write absolute folders, or from your own: ["~/notes"].')
    return value


def is_variable(name: str) -> bool:
    """Whether this can be the name of an environment variable. In capitals: so it is never taken for a key."""
    return name.isascii() and name.isidentifier() and name == name.upper()


def nearest(name: str, known: list[str]) -> str:
    """What somebody may have meant; empty where nothing is like it."""
    import difflib

    meant = name.lower()[:100]
    near = difflib.get_close_matches(meant, known, 3, 0.6)
    # `modle` is `model` with two letters turned around before it is `mode` with one too many.
    return next((each for each in near if sorted(each) == sorted(meant)), near[0] if near else "")


def _nearest(value: str, choices: list[str]) -> str:
    near = nearest(value, choices)
    return f'Did you mean "{near}"?' if near else ""


def _another(value: Any, wanted: str, hint: str = "") -> Unfit:
    return Unfit(f"is {_kind_words(value)}, and wants to be {wanted}", hint or f"Write {wanted}.")


def _kind_words(value: Any) -> str:
    for kinds, words in _WORDS:
        if isinstance(value, kinds):
            return words
    return "a time"


def _listed(choices: list[str]) -> str:
    quoted = [f'"{each}"' for each in choices]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


_WORDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "a text"),
    ((list, tuple), "a list"),
    (dict, "a table"),
)
