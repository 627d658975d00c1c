"""What a child sees of the environment: a short list of names, and what is given on purpose.

Keys and tokens live in environment variables, under names that nobody can list. So the list here is of what programs
need to work at all, and everything else stays with Toolwire.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from ..errors import ConfigError

CALL_MARK = "TOOLWIRE_CALL"
"""The variable that every child carries; its value is of one call only, by which what is left of it can be found."""

ALLOWED = frozenset(
    (
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "LANG",
        "LANGUAGE",
        # The categories of POSIX and of glibc by name: any name could begin with LC_.
        "LC_ALL",
        "LC_ADDRESS",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_IDENTIFICATION",
        "LC_MEASUREMENT",
        "LC_MESSAGES",
        "LC_MONETARY",
        "LC_NAME",
        "LC_NUMERIC",
        "LC_PAPER",
        "LC_TELEPHONE",
        "LC_TIME",
    )
)

ALLOWED_ON_WINDOWS = frozenset(
    (
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATHEXT",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    )
)


CAREFUL_GIT = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
    "GIT_OPTIONAL_LOCKS": "0",
}
"""Keeps git from taking any folder that looks like a repository for one, from running a program that watches files
for it, and from writing to the index, where a hook would run, only because it has read."""


def child_environment(env: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: what is allow-listed in `env`, a careful git, and all of `extra`, which wins.

    Functions that a shell exported never come through, because shells run what they hold. PATH keeps its absolute
    folders alone, given in `extra` or not: a relative one would mean whatever lies in the folder of the call. Without
    any, it is the system's default.
    """
    allowed = ALLOWED | ALLOWED_ON_WINDOWS if sys.platform == "win32" else ALLOWED
    child = {name: value for name, value in env.items() if _known(name) in allowed and not _is_function(name, value)}
    if "GIT_CONFIG_COUNT" not in (extra or {}):
        child |= CAREFUL_GIT
    for name, value in (extra or {}).items():
        _check(name, value)
        child[name] = value
    for name in [name for name in child if _known(name) == "PATH"] or ["PATH"]:
        child[name] = _absolute(child.get(name, ""))
    return child


def _known(name: str) -> str:
    return name.upper() if sys.platform == "win32" else name


def _absolute(path: str) -> str:
    folders = [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]
    return os.pathsep.join(folders) or os.defpath


def _is_function(name: str, value: str) -> bool:
    return name.startswith("BASH_FUNC_") or value.lstrip().startswith("()")


def _check(name: str, value: str) -> None:
    if not name or "=" in name or "\0" in name or "\0" in value:
        raise ConfigError(
            f"{name!r} cannot be an environment variable",
            hint="A name is not empty and has no '='; neither name nor value has a NUL character.",
            name=name,
        )
    if _is_function(name, value):
        raise ConfigError(
            f"the environment variable {name!r} holds a shell function",
            hint="Functions are not handed to children; put it into a script and run that.",
            name=name,
        )
