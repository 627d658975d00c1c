"""The environment of a command: without the variables that make a shell or a loader run something else."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..approval.commands.command_line import Assignment
from ..approval.commands.variables import changes_reading
from ..errors import ConfigError
from ..tools.check import quote

MOST_CHARACTERS = 30_000
"""Of all variables that a call asks for: the system takes some 128 KB, and a longer text belongs in a file."""

_LOADER = ("LD_", "DYLD_", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH")
_OURS = frozenset(("TOOLWIRE_CALL", "TMPDIR"))


def command_environment(given: Mapping[str, str], temp: str, cache: str) -> dict[str, str]:
    """What children may see, and a folder for temporary files.

    `cache` is where programs keep what they can make again, if the person does not say so; empty: their usual place.
    """
    environment = {name: value for name, value in given.items() if not _leads_astray(name, value)}
    environment["TMPDIR"] = temp
    # A shell without one looks where it was built to, and in some that is the folder it runs in.
    environment["PATH"] = environment.get("PATH") or os.defpath
    if cache:
        environment.setdefault("XDG_CACHE_HOME", cache)
    return environment


def assignments(asked: Mapping[str, str]) -> list[str]:
    """The variables that a call asks for, as words for `env`; one that may not be set is a `ConfigError`."""
    if sum(len(name) + len(value) for name, value in asked.items()) > MOST_CHARACTERS:
        raise ConfigError(f"the environment variables are over {MOST_CHARACTERS:,} characters long; put it into a file")
    for name, value in asked.items():
        _check(name, value)
    return [f"{name}={value}" for name, value in asked.items()]


def _leads_astray(name: str, value: str) -> bool:
    return name.startswith(_LOADER) or changes_reading(Assignment(name, value))


def _check(name: str, value: str) -> None:
    if not _is_name(name):
        raise ConfigError(f"{quote(name)} is no name of an environment variable; use letters, digits and _")
    if _leads_astray(name, value):
        raise ConfigError(
            f"the environment variable {name} may not be set: it changes how the command itself is read or loaded; "
            "leave it out, or set it inside the command for the one program that needs it"
        )
    if name in _OURS:
        raise ConfigError(f"the environment variable {name} is set already and may not be changed; leave it out")
    if "\0" in value:
        raise ConfigError(f"the value of {name} has a NUL character; put it into a file")
    if name == "PATH":
        wrong = [folder for folder in value.split(os.pathsep) if not os.path.isabs(folder)]
        if wrong:
            raise ConfigError(f"PATH may hold absolute folders only, not {quote(wrong[0])}")


def _is_name(name: str) -> bool:
    return name.isascii() and name.isidentifier()
