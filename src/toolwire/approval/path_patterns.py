"""Patterns of paths, and whether a place fits one: narrowly for what is allowed, widely for what is not."""

from __future__ import annotations

import os
from functools import lru_cache

from .patterns import folded, is_below, is_literal, literal, path_matches, plain
from .places import Place, Workspace


def path_fits(pattern: str, place: Place, workspace: Workspace, *, narrow: bool) -> bool:
    """Whether a place fits a pattern.

    Narrowly: as it is written and with links followed, and outside the workspace only for a pattern that says so
    itself. Widely: either way, also where only letters' case differs, as some disks have it, through links in the
    pattern, and what lies below.
    """
    absolute = absolute_pattern(pattern, workspace)
    if narrow:
        if not place.inside and not says_where(pattern):
            return False
        return path_matches(absolute, place.written) and path_matches(absolute, place.real)
    paths = [folded(path) for path in dict.fromkeys((place.written, place.real))]
    return any(
        is_below(path, sure) and path_matches(f"{form}/**", path)
        for form, sure in _wide_forms(absolute)
        for path in paths
    )


def may_hold(root: Place, pattern: str, workspace: Workspace) -> bool:
    """Whether what a pattern means may lie below a folder, or the folder below that."""
    return any(
        is_below(sure, folder) or is_below(folder, sure)
        for _, sure in _wide_forms(absolute_pattern(pattern, workspace))
        for folder in (folded(root.written), folded(root.real))
    )


def says_where(pattern: str) -> bool:
    """Whether a path pattern says itself where it begins."""
    return pattern.startswith("/") or pattern == "~" or pattern.startswith("~/")


def absolute_pattern(pattern: str, workspace: Workspace) -> str:
    """A path pattern as one over absolute paths. A slash at its end says nothing."""
    return _absolute(pattern, workspace.root, workspace.home)


@lru_cache(maxsize=4096)
def _absolute(pattern: str, root: str, home: str) -> str:
    pattern = pattern.rstrip("/") or "/"
    if pattern.startswith("/"):
        return pattern
    if pattern == "~" or pattern.startswith("~/"):
        return literal(home) + pattern[1:]
    if "/" not in pattern:
        return f"/**/{pattern}"
    return f"{literal(root.rstrip('/'))}/{pattern.removeprefix('./')}"


@lru_cache(maxsize=4096)
def _wide_forms(absolute: str) -> tuple[tuple[str, str], ...]:
    """A pattern without its last `/**`, and its sure part: as it is, and with the links in that followed.

    Links are followed once: what a pattern meant when it was first used, it goes on to mean.
    """
    absolute = absolute.removesuffix("/**").rstrip("/")
    sure, rest = _sure_part(absolute)
    real = os.path.realpath(sure) if sure else sure
    return tuple((folded(literal(path) + rest), folded(path)) for path in dict.fromkeys((sure, real)))


def _sure_part(absolute: str) -> tuple[str, str]:
    """The leading folders of an absolute pattern in which nothing is open, as a path; and the pattern from there."""
    parts = absolute.split("/")
    count = next((n for n, part in enumerate(parts) if not is_literal(part)), len(parts))
    return plain("/".join(parts[:count])), "".join(f"/{part}" for part in parts[count:])
