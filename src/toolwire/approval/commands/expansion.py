"""What a word of a command line stands for in the file system: what a pattern may match, as a shell would expand it or
more, and the links below a folder.
"""

from __future__ import annotations

import os
import re

from ..patterns import glob_matches

MAX_SPELLINGS = 257
"""Patterns made of one that has alternatives: one more than a call may have."""
MAX_NAMES = 2000
"""Names looked at for one pattern or folder: what holds more is not looked through."""
_SIGNS = frozenset("*?[")


def links_below(folder: str) -> list[str] | None:
    """Absolute paths of the links below a folder; None if it holds too much."""
    found: list[str] = []
    looked = 0
    for above, folders, files in os.walk(folder):
        looked += len(folders) + len(files)
        if looked > MAX_NAMES:
            return None
        paths = (os.path.join(above, name) for name in (*folders, *files))
        found += filter(os.path.islink, paths)
    return found


def spellings(pattern: str) -> list[str]:
    """The patterns that one as it is written may stand for: without quotes, with each of the alternatives in braces.

    At most `MAX_SPELLINGS`.
    """
    found: list[str] = []
    waiting = [pattern.translate(_QUOTES)]
    while waiting and len(found) < MAX_SPELLINGS:
        text = waiting.pop()
        braces = _BRACES.search(text)
        if braces is None:
            found.append(text)
            continue
        inner = braces[1].split(",") if "," in braces[1] else ["*"]
        waiting += [text[: braces.start()] + each + text[braces.end() :] for each in inner[:MAX_SPELLINGS]]
    return found


_QUOTES = str.maketrans(dict.fromkeys("'\"\\", ""))
_BRACES = re.compile(r"\{([^{},.]*(?:,|\.)[^{}]*)\}")
"""The innermost ones: `{a,b}`, `{1..9}`."""


def names_matching(pattern: str, start: str) -> list[str] | None:
    """Absolute paths that the pattern may match, at least all that a shell would find; None if there are too many.

    Brackets count as any text. Nothing is matched where the pattern has no sign.
    """
    found = ["/" if pattern.startswith("/") else start]
    looked = 0
    for part in pattern.split("/"):
        if not part:
            continue
        if _SIGNS.isdisjoint(part):
            found = [os.path.join(folder, part) for folder in found]
            continue
        loose = part.partition("[")[0] + "*" if "[" in part else part
        matched: list[str] = []
        for folder in found:
            try:
                names = os.listdir(folder)
            except OSError:
                continue
            looked += len(names)
            if looked > MAX_NAMES:
                return None
            matched += [os.path.join(folder, name) for name in names if glob_matches(loose, name)]
        found = matched
    return found
