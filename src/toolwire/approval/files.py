"""Where policy comes from: built-in rules, the user's file, decisions that were kept, the project's file.

The project's file comes with code that somebody else wrote, so it can only tighten. A file that cannot be read, or
says something that is not understood, is a `ConfigError`, and nothing runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ..errors import ConfigError
from ..folders import config_folder, state_folder
from .examples import check_examples
from .patterns import literal
from .places import Workspace
from .policy import Mode, Policy, as_mode
from .rule_file import RuleFile, read_rule_file
from .rules import Decision, Rule

PROJECT_FOLDER = ".toolwire"


class PolicyPaths(msgspec.Struct, frozen=True):
    """The files of the person who runs it."""

    user: Path
    always: Path
    protected: tuple[Path, ...] = ()
    """Folders that no tool may change: those files, and what is written down about calls."""


def policy_paths(env: Mapping[str, str]) -> PolicyPaths:
    """The files as the environment says."""
    config = config_folder(env)
    # These say which programs start, and may be links to where a person keeps all such files.
    linked = (Path(os.path.realpath(config / name)) for name in ("mcp.json", "config.toml"))
    return PolicyPaths(config / "policy.toml", config / "always.toml", (config, state_folder(env), *linked))


class Layer(msgspec.Struct, frozen=True):
    """One file that has a say, and the rules of it that hold in this workspace."""

    kind: str
    """`user`, `always` or `project`."""
    path: Path
    file: RuleFile | None
    """None where there is no such file."""
    rules: tuple[Rule, ...] = ()
    examples: int = 0
    """How many were checked."""


class Layers(msgspec.Struct, frozen=True):
    """Everything that policy is made of here."""

    mode: Mode
    mode_source: str
    built_in: tuple[Rule, ...]
    files: tuple[Layer, ...]

    def policy(self) -> Policy:
        """The policy that they make together."""
        return Policy(self.mode, [*self.built_in, *(rule for layer in self.files for rule in layer.rules)])


def load_policy(
    workspace: Workspace | None = None, *, mode: Mode | str | None = None, paths: PolicyPaths | None = None
) -> Policy:
    """The policy for a workspace, else for the folder that the program was started in.

    `mode` goes before what the user's file says. `paths` are those of the environment unless given.
    """
    return load_layers(workspace or Workspace.here(), mode=mode, paths=paths).policy()


def further_roots(paths: PolicyPaths) -> tuple[str, ...]:
    """The folders beside the workspace that the user's file lets calls work in."""
    file = read_rule_file(paths.user)
    return () if file is None else tuple(map(os.path.expanduser, file.roots))


def load_layers(workspace: Workspace, *, mode: Mode | str | None = None, paths: PolicyPaths | None = None) -> Layers:
    """The same with everything that it comes from."""
    paths = policy_paths(os.environ) if paths is None else paths
    user = load_layer("user", paths.user, workspace)
    always = load_layer("always", paths.always, workspace)
    project = load_layer("project", Path(workspace.root, PROJECT_FOLDER, "policy.toml"), workspace)
    chosen, source = _mode(None if mode is None else as_mode(mode), user, project)
    return Layers(chosen, source, built_in_rules(paths), (user, always, project))


def load_layer(kind: str, path: Path, workspace: Workspace) -> Layer:
    """One file, checked: its rules, its examples, and that it says nothing that its kind may not say."""
    file = read_rule_file(path)
    if file is None:
        return Layer(kind, path, None)
    if kind == "project":
        _check_project(file)
    if kind == "always" and (file.mode is not None or file.roots):
        more = "roots" if file.mode is None else "a mode"
        raise ConfigError(f"{path} has {more}", hint="Decisions are kept there; the rest belongs into policy.toml.")
    examples = check_examples(file, workspace)
    rules = tuple(filed.rule for filed in file.rules if filed.workspace in ("", workspace.root))
    return Layer(kind, path, file, rules, examples)


def _check_project(file: RuleFile) -> None:
    if file.roots:
        raise ConfigError(f"{file.name} has roots, and a project's file cannot widen where calls work", hint=_USER_FILE)
    for filed in file.rules:
        if filed.rule.decision is Decision.ALLOW:
            raise file.error(filed.number, "a project's file cannot allow", _USER_FILE)
        if filed.workspace:
            raise file.error(filed.number, "a project's file holds in its project", "Leave `workspace` out.")


def _mode(given: Mode | None, user: Layer, project: Layer) -> tuple[Mode, str]:
    """The mode and who says so. The project's is the widest that it wants: it can only narrow."""
    mode, source = Mode.ASK, "the default"
    if user.file is not None and user.file.mode is not None:
        mode, source = user.file.mode, str(user.path)
    widest = max(mode, given or mode, key=lambda each: each.width)
    if given is not None:
        mode, source = given, "given"
    wanted = project.file.mode if project.file is not None else None
    if wanted is None:
        return mode, source
    if wanted.width > widest.width:
        raise ConfigError(f"{project.path} widens the mode from {widest} to {wanted}", hint=_USER_FILE)
    return (wanted, str(project.path)) if wanted.width < mode.width else (mode, source)


def built_in_rules(paths: PolicyPaths) -> tuple[Rule, ...]:
    """What holds whatever files say: no tool changes what decides about tools, nor what is written down about them."""
    # The files may be links to where a person keeps all such files.
    kept = map(os.path.realpath, (paths.user, paths.always))
    return (
        Rule(
            decision=Decision.DENY,
            path=(PROJECT_FOLDER, *(literal(str(path)) for path in (*paths.protected, *kept))),
            changes=True,
            reason="it would change the files that decide what may run",
            source="built in",
        ),
    )


_USER_FILE = "Put it into your own file (toolwire policy check says where that is), if you want it."
