"""What a command of a model may do: the one place that says so, for running it and for telling of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import msgspec

from ..approval.patterns import is_below
from ..errors import ConfigError
from ..execution.sandbox.confine import outermost
from ..execution.sandbox.sandbox import Profile, Sandbox
from ..folders import OWN
from ..hidden_paths import default_hidden
from .guarded import Guarded, guarded_paths


def command_profile(
    sandbox: Sandbox | None,
    folders: Sequence[str],
    hidden: Iterable[str],
    *,
    network: bool = False,
    guarded: Sequence[Guarded] | None = None,
) -> Profile:
    """The profile of commands that may write in these folders and read what is not hidden, here or usually.

    `guarded` is what they may not change in them, if it is not all that is usual. What of it is not there is protected
    too, and must be put there first.

    A folder that lies in another is left out: one command could swap it for a link before the next is confined. Raises
    a `ConfigError`, in words for a model, where the sandbox cannot keep what it must.
    """
    usual = default_hidden(os.path.expanduser("~"), env=os.environ)
    outer = set(outermost(folders))
    writable = tuple(folder for folder in dict.fromkeys(folders) if folder in outer)
    profile = Profile(writable=writable, hidden=tuple(dict.fromkeys((*hidden, *usual))), network=network)
    if sandbox is None:
        return profile
    profile = _with_protected(sandbox, profile, guarded_paths(writable) if guarded is None else guarded)
    _check_hidden(sandbox, profile)
    return profile


def _with_protected(sandbox: Sandbox, profile: Profile, guarded: Sequence[Guarded]) -> Profile:
    """The same with such paths closed to writing, where the sandbox can do that.

    Toolwire itself must be closed: where it cannot be, no command runs.
    """
    there = [each.path for each in guarded if _is_itself(each.path)]
    own = [path for path in OWN if any(is_below(path, root) for root in profile.writable)]
    protecting = msgspec.structs.replace(profile, protected=(*there, *own, *profile.writable))
    open_ = {*sandbox.unenforced(protecting)}
    for path in own:
        if path in open_ or path in profile.writable:
            raise ConfigError(
                f"commands cannot run here: Toolwire itself ({path}) lies inside the workspace, where the sandbox of "
                "this machine cannot keep commands from changing it; tell the user to install it elsewhere, or to "
                "choose another workspace"
            )
    # A sandbox that can close the whole folder can close what is put into it.
    missing = [
        each.path
        for each in guarded
        if each.missing and not os.path.lexists(each.path) and open_.isdisjoint(profile.writable)
    ]
    closed = dict.fromkeys(path for path in (*there, *own, *missing) if path not in {*open_, *profile.writable})
    return msgspec.structs.replace(profile, protected=tuple(closed))


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
