"""A profile as arguments of bubblewrap (`bwrap`), for kernels that have no Landlock or give us no namespaces.

It gives a program a view of the files, processes, network and shared memory of its own. What is asked of the kernel
beyond that (the filter of system calls, limits) is done inside, by `confine`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from .confine import guardable, pinned


def bubblewrap(
    program: str,
    writable: Iterable[str],
    protected: Iterable[str],
    hidden: Iterable[str],
    *,
    network: bool,
    inside: Sequence[str],
) -> list[str]:
    """The argv that runs `inside` in bubblewrap. Only protected and hidden paths that are there can be held."""
    argv = [program, "--unshare-all", *(["--share-net"] if network else []), "--die-with-parent"]
    # A session of its own has no terminal that it could open by the name /dev/tty.
    argv += ["--new-session", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        # For `confine`, which makes more read-only than can be asked for here, and then drops them.
        argv += ["--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]
    argv += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    folders = sorted(writable)
    for path in folders:
        argv += ["--bind", path, path]
    guarded = guardable(protected)
    covering = sorted({os.path.realpath(path) for path in hidden})
    # What lies over a folder keeps it from being renamed, and so another from taking its place.
    for path in sorted(pinned([*guarded, *filter(os.path.lexists, covering)], folders)):
        argv += ["--bind", path, path]
    for path in guarded:
        argv += ["--ro-bind", path, path]
    covered: list[str] = []
    for path in covering:
        if any(path.startswith(f"{other}/") for other in covered):
            continue
        if os.path.isdir(path):
            argv += ["--perms", "0000", "--tmpfs", path, "--remount-ro", path]
            covered.append(path)
        elif os.path.lexists(path):
            # A device on a mount that allows none: nobody can open it.
            argv += ["--ro-bind", "/dev/null", path]
    return [*argv, "--", *inside]
