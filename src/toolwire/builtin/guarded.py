"""What a confined command may not change inside the workspace, because it runs later, outside of the sandbox.

Git reads where its programs are named from `.git/config` and runs the hooks beside it; shells run their start files;
`.toolwire` says what may run. Ordinary work with git (`add`, `commit`, `stash`, `rebase`) writes none of that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from ..approval.patterns import is_below
from ..approval.repository import Repository, configured, hooks_folder, repository_in

MOST_FOLDERS = 200
"""That are looked through for repositories, nearest first, and the git folders of submodules as many again."""
MOST_ENTRIES = 20_000
DEEPEST = 3

_STARTS = (".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin")
_NOT_SEARCHED = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__"))

Missing = Literal["", "folder", "empty", "here"]
"""The placeholder for a path that does not exist while a command runs; `here` is a file that says `.`."""


class Guarded(msgspec.Struct, frozen=True):
    """A path that is closed, and what is put there meanwhile if nothing is."""

    path: str
    missing: Missing = ""


def guarded_paths(roots: Sequence[str]) -> tuple[Guarded, ...]:
    """Everything that is closed in these folders, each path once."""
    found: dict[str, Guarded] = {}
    home = os.path.realpath(os.path.expanduser("~"))
    for root in roots:
        here = [Guarded(os.path.join(root, ".toolwire"), "folder")]
        starts = [os.path.join(root, name) for name in _STARTS]
        here += [Guarded(path) for path in starts if root == home or os.path.lexists(path)]
        if not _is_folder(os.path.join(root, ".git")) or not os.listdir(os.path.join(root, ".git")):
            here.append(Guarded(os.path.join(root, ".git"), "folder"))
        for folder in _folders(root, MOST_FOLDERS, DEEPEST):
            repository = repository_in(folder)
            here += [] if repository is None else _of_repository(repository, roots)
        found |= {each.path: each for each in here if each.path not in found}
    return tuple(found.values())


def _of_repository(repository: Repository, roots: Sequence[str]) -> Iterator[Guarded]:
    git = os.path.join(repository.folder, ".git")
    if not _is_folder(git):
        yield Guarded(git)
        return
    if not os.listdir(git):
        return
    yield from _of_git_folder(git)
    held = configured(repository)
    own = os.path.join(git, "config.worktree")
    if ("extensions.worktreeconfig", "true") in held.settings or os.path.lexists(own):
        yield Guarded(own, "empty")
    further = [path for path in held.files if path not in repository.configs]
    further.append(hooks_folder(repository, held.settings))
    yield from (Guarded(path) for path in further if _is_in(path, roots))
    for folder in _folders(os.path.join(git, "modules"), MOST_FOLDERS, DEEPEST):
        if os.path.lexists(os.path.join(folder, "HEAD")):
            yield from _of_git_folder(folder)
    for folder in _folders(os.path.join(git, "worktrees"), MOST_FOLDERS, 1):
        paths = [os.path.join(folder, name) for name in ("commondir", "gitdir", "config.worktree")]
        yield from (Guarded(path) for path in paths if os.path.lexists(path))


def _of_git_folder(git: str) -> Iterator[Guarded]:
    yield Guarded(os.path.join(git, "config"), "empty")
    yield Guarded(os.path.join(git, "hooks"), "folder")
    # It would lead git to another configuration.
    yield Guarded(os.path.join(git, "commondir"), "here")


def _folders(top: str, most: int, deepest: int) -> Iterator[str]:
    """A folder and those below it, nearest first, as far as the bounds go. No link is followed."""
    level = [top]
    seen = entries = 0
    for _ in range(deepest + 1):
        below: list[str] = []
        for folder in level:
            seen += 1
            if seen > most or entries > MOST_ENTRIES:
                return
            yield folder
            try:
                with os.scandir(folder) as listed:
                    for entry in listed:
                        entries += 1
                        if entry.name not in _NOT_SEARCHED and entry.is_dir(follow_symlinks=False):
                            below.append(entry.path)
            except OSError:
                continue
        level = sorted(below)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _is_in(path: str, roots: Iterable[str]) -> bool:
    return any(is_below(path, root) and path != root for root in roots)
