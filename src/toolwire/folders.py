"""Where Toolwire itself lies, and where it keeps what belongs to the person who runs it, by the XDG specification."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

OWN = tuple({os.path.realpath(path) for path in (Path(__file__).parent, sys.prefix, sys.base_prefix)})
"""Toolwire and the Python that it runs in: they hold all else, so whoever changes them is not held."""


def config_folder(env: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/toolwire`, else `~/.config/toolwire`: what the person says."""
    return _folder(env, "XDG_CONFIG_HOME", ".config")


def state_folder(env: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/toolwire`, else `~/.local/state/toolwire`: what is written down about calls."""
    return _folder(env, "XDG_STATE_HOME", ".local/state")


def home_folder(env: Mapping[str, str]) -> Path:
    """`$HOME`, or the home folder in the user database; a path that nobody can make if neither is set.

    Containers run as user ids that the database does not know. A relative path would then lead into the current folder.
    """
    home = env.get("HOME") or os.path.expanduser("~")
    return Path(os.devnull if home == "~" else home)


def _folder(env: Mapping[str, str], variable: str, otherwise: str) -> Path:
    given = env.get(variable, "")
    # A relative path there is invalid and is to be ignored, as the specification has it.
    base = Path(given) if os.path.isabs(given) else home_folder(env) / otherwise
    return base / "toolwire"
