"""What a command of a model may do: the one place that says so, for running it and for telling of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import msgspec

from ..approval.path_patterns import is_below
from ..errors import ConfigError
from ..execution.sandbox.confine import outermost
from ..execution.sandbox.sandbox import Profile, Sandbox
from ..folders import OWN
from ..hidden_paths import default_hidden

_PROTECTED = (
    os.path.join(".git", "hooks"),
    ".toolwire",
    *(".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin"),
)
"""What runs later, or decides what may run, and no ordinary command changes."""


def command_profile(
    sandbox: Sandbox | None, folders: Sequence[str], hidden: Iterable[str], *, network: bool = False
) -> Profile:
    """The profile of commands that may write in these folders and read what is not hidden, here or usually.

    A folder that lies in another is left out: one command could swap it for a link before the next is confined. Raises
    a `ConfigError`, in words for a model, where the sandbox cannot keep what it must.
    """
    usual = default_hidden(os.path.expanduser("~"), env=os.environ)
    outer = set(outermost(folders))
    writable = tuple(folder for folder in dict.fromkeys(folders) if folder in outer)
    profile = Profile(writable=writable, hidden=tuple(dict.fromkeys((*hidden, *usual))), network=network)
    if sandbox is None:
        return profile
    profile = _with_protected(sandbox, profile)
    _check_hidden(sandbox, profile)
    return profile


def _with_protected(sandbox: Sandbox, profile: Profile) -> Profile:
    """The same with such paths closed to writing, where they are there and the sandbox can do that.

    Toolwire itself must be closed: where it cannot be, no command runs.
    """
    there = [path for root in profile.writable for name in _PROTECTED if _is_itself(path := os.path.join(root, name))]
    own = [path for path in OWN if any(is_below(path, root) for root in profile.writable)]
    protecting = msgspec.structs.replace(profile, protected=(*there, *own))
    open_ = {*sandbox.unenforced(protecting), *profile.writable}
    for path in own:
        if path in open_:
            raise ConfigError(
                f"commands cannot run here: Toolwire itself ({path}) lies inside the workspace, where the sandbox of "
                "this machine cannot keep commands from changing it; tell the user to install it elsewhere, or to "
                "choose another workspace"
            )
    return msgspec.structs.replace(profile, protected=tuple(path for path in (*there, *own) if path not in open_))


def _is_itself(path: str) -> bool:
    """Whether something is there, and not by a link: that would lead to what has another path."""
    return os.path.lexists(path) and os.path.realpath(path) == path


def _check_hidden(sandbox: Sandbox, profile: Profile) -> None:
    """No command runs that could read what is hidden and there."""
    there = [path for path in sandbox.unenforced(profile) if os.path.lexists(path)]
    if there:
        raise ConfigError(
            f"commands cannot run here: {there[0]} must stay unread and lies inside the workspace, where the sandbox "
            "of this machine cannot hide it; tell the user to choose another workspace"
        )
