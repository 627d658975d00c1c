"""The git repository that a command would use, and whether git would run a program that the repository names.

`git status` only reads, and yet a configuration that came with a download can name programs for it: to watch files, to
show a difference, to check a file in. Here that is seen without running git. A key that is not known to be plain counts
as one that names a program.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from .commands.found import upwards
from .contents import plain_content
from .git_config import settings
from .git_keys import key_of_a_program

MOST_BYTES = 1 << 18
"""Of one configuration file."""
MOST_INDEX = 1 << 26
MOST_FILES = 64
"""Files of configuration, and repositories within one, that are looked at."""
LONGEST = 4096


class Repository(msgspec.Struct, frozen=True):
    """Where a repository lies."""

    folder: str
    """The folder that its `.git` lies in."""
    git: str
    """Its own git folder: `.git`, or where a file of that name leads."""
    common: str
    """The folder that it shares with others: of a linked worktree that of the repository itself."""

    @property
    def configs(self) -> tuple[str, ...]:
        """The files in which git looks for its configuration first."""
        return tuple(dict.fromkeys((os.path.join(self.common, "config"), os.path.join(self.git, "config.worktree"))))


class Configured(msgspec.Struct, frozen=True):
    """What the configuration of a repository says."""

    settings: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    """Every file that it is read from, also those that are not there."""
    problem: str = ""
    """Why it cannot be read, in a few words."""


def repository_in(folder: str) -> Repository | None:
    """The repository whose `.git` lies in this very folder, valid or not."""
    git = os.path.join(folder, ".git")
    if not os.path.lexists(git):
        return None
    if not os.path.isdir(git):
        led = plain_content(git, LONGEST)
        words = b"" if led is None else led.rstrip(b"\r\n")
        if not words.startswith(b"gitdir: "):
            return Repository(folder, git, git)
        git = os.path.normpath(os.path.join(folder, os.fsdecode(words.removeprefix(b"gitdir: "))))
    shared = plain_content(os.path.join(git, "commondir"), LONGEST)
    common = git if shared is None else os.path.normpath(os.path.join(git, os.fsdecode(shared.rstrip(b"\r\n"))))
    return Repository(folder, git, common)


def repositories_above(folder: str) -> Iterator[Repository]:
    """The repositories of a folder and of those above it, nearest first: which one git finds valid is git's matter."""
    return (found for each in upwards(folder) if (found := repository_in(each)) is not None)


def configured(repository: Repository) -> Configured:
    """The configuration of a repository, with all the files that it includes, whatever the condition."""
    found: list[tuple[str, str]] = []
    files: list[str] = []
    waiting = list(reversed(repository.configs))
    while waiting:
        path = waiting.pop()
        if path in files:
            continue
        if len(files) >= MOST_FILES:
            return Configured(tuple(found), tuple(files), "it includes too many files")
        files.append(path)
        if not os.path.exists(path):
            continue
        content = plain_content(path, MOST_BYTES)
        if content is None:
            return Configured(tuple(found), tuple(files), f"{path} is not a regular file, or too large")
        try:
            here = list(settings(os.fsdecode(content)))
        except (ValueError, IndexError):
            return Configured(tuple(found), tuple(files), f"{path} is not understood")
        for key, value in here:
            if key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
                if value.startswith(("%", ":")) or "\0" in value:
                    return Configured(tuple(found), tuple(files), f"what {path} includes is not known")
                waiting.append(os.path.normpath(os.path.join(os.path.dirname(path), os.path.expanduser(value))))
        found += here
    return Configured(tuple(found), tuple(files))


def hooks_folder(repository: Repository, values: Iterable[tuple[str, str]]) -> str:
    """Where git looks for its hooks."""
    chosen = [value for key, value in values if key == "core.hookspath" and value]
    if chosen:
        return os.path.normpath(os.path.join(repository.folder, os.path.expanduser(chosen[-1])))
    return os.path.join(repository.common, "hooks")


class Reading(msgspec.Struct, frozen=True):
    """What git runs when it only reads somewhere."""

    program: str = ""
    """Why it may run a program that is named there, in a sentence; empty where it runs none."""
    files: tuple[str, ...] = ()
    """The files that this was seen in, and those that would change it if they came to be."""


def read_by_git(folder: str) -> Reading:
    """What git would run if it read in this folder: in its repository and in the submodules of that."""
    # A repository that comes to be nearer would be read instead.
    files = dict.fromkeys(os.path.join(each, ".git") for each in upwards(folder))
    waiting = list(repositories_above(folder))
    seen: set[str] = set()
    while waiting:
        repository = waiting.pop()
        if repository.git in seen:
            continue
        seen.add(repository.git)
        if len(seen) > MOST_FILES:
            return Reading("git would read more repositories than can be checked", tuple(files))
        held = configured(repository)
        hook = os.path.join(hooks_folder(repository, held.settings), _HOOK)
        files.update(dict.fromkeys((*held.files, hook, os.path.join(repository.git, "commondir"))))
        if held.problem:
            return Reading(f"the configuration of git cannot be checked: {held.problem}", tuple(files))
        strange = key_of_a_program(held.settings, folder=repository.folder, git=repository.git)
        if strange:
            words = f"{strange} in the configuration of the repository {repository.folder} may name a program"
            return Reading(f"{words}; if you trust it, set it in your own ~/.gitconfig instead", tuple(files))
        if os.path.lexists(hook):
            return Reading(f"git would run the hook {hook}", tuple(files))
        inner = _submodules(repository, held)
        if inner is None:
            return Reading("git would read submodules that cannot be listed", tuple(files))
        waiting += inner
    return Reading("", tuple(files))


_HOOK = "post-index-change"
"""The one hook that commands which only read can run: they may refresh the index."""


_GITLINK = b"\x00\x00\xe0\x00"
"""The mode of a submodule in an index."""
_MOST_LINKS = 4096


def _submodules(repository: Repository, held: Configured) -> list[Repository] | None:
    """The repositories of checked-out submodules; None where they cannot be determined.

    Where git looks into one, it obeys its configuration.
    """
    digest = 32 if ("extensions.objectformat", "sha256") in held.settings else 20
    found: list[Repository] = []
    for path in _indexes(repository.git):
        index = plain_content(path, MOST_INDEX)
        if index is None:
            return None
        place = index.find(_GITLINK)
        for _ in range(_MOST_LINKS):
            if place < 0:
                break
            # From the mode on: owner, group, size, digest, flags, where some entries have more of them, and the name.
            start = place + 4 + 12 + digest + 2
            start += 2 * bool(index[start - 2 : start - 1] and index[start - 2] & 0x40)
            name = index[start : index.find(b"\0", start, start + LONGEST)]
            if name and index[4:8] not in _WHOLE_NAMES:
                return None
            folder = os.path.normpath(os.path.join(repository.folder, os.fsdecode(name)))
            inner = repository_in(folder) if name and folder.startswith(repository.folder + os.sep) else None
            found += [] if inner is None else [inner]
            place = index.find(_GITLINK, place + 1)
        else:
            return None
    return found


_WHOLE_NAMES = (b"\0\0\0\2", b"\0\0\0\3")
"""The versions of an index whose names can be read one by one."""


def _indexes(git: str) -> list[str]:
    try:
        names = os.listdir(git)
    except OSError:
        return []
    return [os.path.join(git, name) for name in names if name == "index" or name.startswith("sharedindex.")]
