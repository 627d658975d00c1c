"""The limit of open files: ten thousand connections need more than most systems give at first."""

from __future__ import annotations

import resource


def raise_file_limit() -> int:
    """As many open files as the system allows this process."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
