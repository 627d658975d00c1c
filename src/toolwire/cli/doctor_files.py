"""What `toolwire doctor` says of files that a person or a project has written: understood, and safe from others."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..approval.files import PROJECT_FOLDER, load_layer, policy_paths
from ..approval.places import Workspace
from ..errors import ConfigError
from ..mcp.consent import Consents, consents_path
from ..mcp.files import load_servers, mcp_paths
from ..mcp.pins import Pins, pins_path
from ..settings.loading import look_at_settings
from .config import further_faults
from .doctor_findings import Finding, odd, unused, well, wrong

_FAULTS = 10
"""Of one file that are told: more are seen when these are mended."""


def files(env: Mapping[str, str], workspace: Workspace) -> Iterator[Finding]:
    """Settings, rules and MCP servers: each file that is there."""
    paths = policy_paths(env)
    yield from _settings(env)
    if not os.path.lexists(paths.user):
        yield unused("policy.toml", "there is none: reads in this folder run, all else is asked about")
    project = Path(workspace.root, PROJECT_FOLDER, "policy.toml")
    for kind, path in (("user", paths.user), ("always", paths.always), ("project", project)):
        if os.path.lexists(path):
            yield from _rules(kind, path, workspace)
    yield from _servers(env, workspace)


def _settings(env: Mapping[str, str]) -> Iterator[Finding]:
    loaded, faults = look_at_settings(env)
    faults += further_faults(loaded)
    for fault in faults[:_FAULTS]:
        yield wrong("config.toml", fault.sentence, fault.hint, path=str(loaded.path))
    for note in loaded.notes:
        yield odd("config.toml", note)
    if not os.path.lexists(loaded.path):
        yield unused("config.toml", "there is none, and all is as usual", "Write one: toolwire config init")
    elif not faults:
        yield well("config.toml", str(loaded.path), path=str(loaded.path))


def others_write(name: str, path: Path) -> Iterator[Finding]:
    """Says who else may write what decides about what runs here. For systems that have such permissions."""
    if os.name != "posix":
        return
    real = os.path.realpath(path)
    try:
        status = os.stat(real)
    except OSError:
        return
    todo = f"chmod go-w {shlex.quote(real)}"
    if status.st_uid not in (os.getuid(), 0):
        yield wrong(name, f"{real} belongs to another user, who may change what runs here", "Make it your own.")
    elif status.st_mode & stat.S_IWOTH:
        yield wrong(name, f"anyone on this machine may write {real}, and so decide what runs here", todo)
    elif status.st_mode & stat.S_IWGRP:
        yield odd(name, f"the group may write {real}, and so decide what runs here", todo)


def _rules(kind: str, path: Path, workspace: Workspace) -> Iterator[Finding]:
    """One file of rules."""
    name = f"{PROJECT_FOLDER}/{path.name}" if kind == "project" else path.name
    try:
        layer = load_layer(kind, path, workspace)
    except ConfigError as error:
        yield wrong(name, error.message, error.hint, path=str(path))
    else:
        count = len(layer.rules)
        mode = layer.file.mode if layer.file is not None else None
        said = f"{count} rule{'' if count == 1 else 's'} that hold{'s' * (count == 1)} here"
        yield well(name, f"{path} ({said if mode is None else f'mode {mode}, {said}'})", path=str(path), rules=count)
    if kind != "project":
        yield from others_write(name, path)


def _servers(env: Mapping[str, str], workspace: Workspace) -> Iterator[Finding]:
    """The files of MCP servers all together, since one may hide another's; what may be used is told elsewhere."""
    path = mcp_paths(env, workspace.root).user
    try:
        loaded = load_servers(mcp_paths(env, workspace.root), consents=Consents(consents_path(env)))
        Pins(pins_path(env)).known("")
    except ConfigError as error:
        yield wrong("MCP files", error.message, error.hint)
        return
    if os.path.lexists(path):
        yield well(path.name, str(path), path=str(path))
        yield from others_write(path.name, path)
    for note in loaded.notes:
        yield odd("MCP files", note)
