"""The commented file: every setting with its meaning, its default, its variable and an example, all of it commented
out. Made of what `model` says, so that it cannot tell of a setting that there is not.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from .checking import FIELDS, meaning_of
from .loading import variables_of
from .model import TABLES, ChatSettings, Price, Service, Settings
from .reading import toml_of

WIDTH = 79
HEAD = "# Settings of Toolwire."
"""How a file begins that has the comments."""
_INTRODUCTION = """\
Each line that begins with # and no blank is a setting: take the # away, and
change it. Each stands on its own. Environment variables go before this file,
and options of the command line before both.

toolwire config check looks for mistakes here; toolwire config show tells what
holds, and where it is from. Keys of providers never stand in this file: they
are read from environment variables."""
_CHAT = "How toolwire chat looks."
_PROVIDERS = """\
A provider as you use it. A name that `toolwire providers` does not list is a service of your own, here one that is
called work: its models are asked as work:MODEL. Further ones are written in the same way."""
_PRICES = """\
What a model costs for a million tokens, in your currency, so that the chat can tell what a conversation cost."""


def settings_text() -> str:
    """The comments. They go to the top of a file: below a table they would be part of it."""
    lines = [HEAD, "#", *(f"# {line}".rstrip() for line in _INTRODUCTION.split("\n")), ""]
    for name in FIELDS[Settings]:
        if name not in TABLES:
            lines += _setting(Settings, name, name, variables_of(name))
    lines += _part(_CHAT)
    for name in FIELDS[ChatSettings]:
        lines += _setting(ChatSettings, name, f"chat.{name}", variables_of(f"chat.{name}"))
    lines += _part(_PROVIDERS)
    for name in FIELDS[Service]:
        lines += _setting(Service, name, f"providers.work.{name}")
    lines += _part(_PRICES)
    for name in FIELDS[Price]:
        lines += _setting(Price, name, f'prices."openai:gpt-4.1".{name}')
    return "\n".join(lines)


def with_settings(before: bytes, name: str) -> bytes:
    """The content of a file with the comments above it; a `ConfigError` where it is no TOML. It says what it said."""
    toml_of(before, name)
    text = before.decode("utf-8-sig")
    rest = "\n" + text.lstrip("\r\n") if text.strip() else ""
    return (settings_text() + rest).encode()


def has_comments(data: bytes) -> bool:
    """Whether a file has them already."""
    return HEAD.encode() in data.split(b"\n")


def toml_value(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    # JSON escapes are TOML escapes; only DEL is one that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def plain_number(value: Any) -> Any:
    """300 in place of 300.0; all else as it is."""
    return int(value) if isinstance(value, float) and value == int(value) else value


def _setting(struct: type, name: str, written: str, variables: Sequence[str] = ()) -> list[str]:
    """What it means, its default and variable, and the setting itself."""
    meaning, example = meaning_of(struct, name)
    default = FIELDS[struct][name].default
    facts = []
    if default not in ("", (), None) and struct is not Price:
        facts.append(f"Default: {toml_value(plain_number(default))}.")
    if variables:
        facts.append(f"Variable: {' or '.join(variables)}{_NOT_ALONE.get(name, '')}.")
    return [*_words(meaning), *_words(" ".join(facts)), f"#{written} = {toml_value(example)}", ""]


def _part(words: str) -> list[str]:
    """The head of a part."""
    return ["", f"# {'-' * (WIDTH - 2)}", *_words(words), ""]


def _words(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


_NOT_ALONE = {"base_url": " (for openai-compatible alone)"}
