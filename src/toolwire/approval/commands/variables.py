"""Environment variables, by what they change: how a program prints, or how a shell reads.

A value matters as much as a name: many of those that change how something is printed can also name a file, a module or
a set of characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .command_line import Assignment

_OF_READING = frozenset(
    (
        "BASH_ENV",
        "ENV",
        "CDPATH",
        "IFS",
        "SHELLOPTS",
        "BASHOPTS",
        "BASH_COMPAT",
        "BASH_LOADABLES_PATH",
        "BASH_XTRACEFD",
        "POSIXLY_CORRECT",
        "PS0",
        "PS4",
        "GLOBIGNORE",
        "EXECIGNORE",
        "PROMPT_COMMAND",
        "OLDPWD",
        "PWD",
    )
)
_OF_CHARACTERS = frozenset(("LANG", "LC_ALL", "LC_CTYPE"))
"""What says which bytes are a character: in some sets one may end in a byte that is a sign of the shell in ASCII."""
_CHARACTERS = frozenset(("UTF-8", "UTF8", "utf-8", "utf8"))
_NAMED = frozenset(("", "C", "POSIX", "UTF-8"))


def are_harmless(given: Iterable[Assignment]) -> bool:
    """Whether none of these changes what a program runs or where it looks."""
    return all(
        each.name in _HARMLESS and each.value is not None and each.value.isascii() and _HARMLESS[each.name](each.value)
        for each in given
    )


def changes_reading(given: Assignment) -> bool:
    """Whether a shell obeys it before or while it reads a line: then the line may not do what it says."""
    if given.name in _OF_CHARACTERS:
        return given.value is None or not _is_plain_locale(given.value)
    is_function = given.name.startswith("BASH_FUNC_") or (given.value or "").lstrip().startswith("()")
    return given.name in _OF_READING or is_function


def _is_plain_locale(value: str) -> bool:
    """Whether a locale is one of ASCII or UTF-8: other characters may hold bytes that a shell takes for signs."""
    place, _, rest = value.partition(".")
    characters, _, variant = rest.partition("@")
    return value in _NAMED or (characters in _CHARACTERS and _is_place(place) and (not variant or variant.isalnum()))


def _is_place(text: str) -> bool:
    """A language, maybe with its script and country: `zh_Hant_TW`."""
    return text.isascii() and text.replace("_", "").isalnum()


def _is_language(value: str) -> bool:
    """A path in it would lead to a catalogue of messages."""
    return all(_is_plain_locale(each) or _is_place(each) for each in value.split(":"))


def _is_zone(value: str) -> bool:
    """A path, also behind a colon, would be read."""
    parts = value.split("/")
    return not value or all(part[:1].isalpha() and part.translate(_JOINS).isalnum() for part in parts)


_JOINS = str.maketrans(dict.fromkeys("_+-", ""))


def _is_number(value: str) -> bool:
    """Some shells calculate with it."""
    return not value or (value.isdecimal() and len(value) < 6)


def _is_flag(value: str) -> bool:
    return not value or (value.isalnum() and len(value) < 16)


def _is_environment(value: str) -> bool:
    """Any other name could choose a file of settings."""
    return value in ("", "production", "development", "test")


def _is_codec(value: str) -> bool:
    """Python imports the codec that is named."""
    codec, _, errors = value.partition(":")
    return codec in (*_CHARACTERS, "", "ascii") and errors in ("", "strict", "ignore", "replace", "backslashreplace")


_HARMLESS: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(
        ("LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME"), _is_plain_locale
    ),
    "LANGUAGE": _is_language,
    "TZ": _is_zone,
    **dict.fromkeys(("COLUMNS", "LINES"), _is_number),
    **dict.fromkeys(("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "RUST_BACKTRACE"), _is_flag),
    **dict.fromkeys(("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONUTF8"), _is_flag),
    "NODE_ENV": _is_environment,
    "PYTHONIOENCODING": _is_codec,
}
"""By name, which values are harmless."""
