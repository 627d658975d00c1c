"""The folder that calls work in, and those beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..approval.files import PolicyPaths, further_roots
from ..approval.places import Workspace
from ..errors import ConfigError
from .inputs import as_text


def find_workspace(paths: PolicyPaths, folder: str | None = None, further: Iterable[str] = ()) -> Workspace:
    """This folder, else the current one, with the further ones given and those of the user's file that are there."""
    for given in further:
        if not os.path.isdir(given):
            raise ConfigError(f"there is no folder {as_text(given)}", hint="Give --root a folder that is there.")
    here = Workspace.here().root if folder is None else folder
    return Workspace(here, further=[*filter(os.path.isdir, further_roots(paths)), *further])


def missing_folders(paths: PolicyPaths) -> list[str]:
    """Those of the user's file that are not there: a disk that is not plugged in keeps nobody from working."""
    return [as_text(folder) for folder in further_roots(paths) if not os.path.isdir(folder)]
