"""What a word of a command line stands for in the file system: what a pattern may match, as a shell would expand it or
more, and the links below a folder.
"""

from __future__ import annotations

import os

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
    waiting = [_with_paired_braces(pattern.translate(_QUOTES))]
    while waiting and len(found) < MAX_SPELLINGS:
        text = waiting.pop()
        end = text.find("}")
        if end < 0:
            found.append(text)
            continue
        start = text.rfind("{", 0, end)
        inner = text[start + 1 : end]
        each = inner.split(",") if "," in inner else ["*"]
        waiting += [f"{text[:start]}{one}{text[end + 1 :]}" for one in each[:MAX_SPELLINGS]]
    return found


_QUOTES = str.maketrans(dict.fromkeys("'\"\\", ""))


def _with_paired_braces(text: str) -> str:
    """The text in which braces that give no choice, as in `{}`, are `?`: those that are left hold a comma or a dot."""
    signs = list(text)
    opened: list[tuple[int, bool]] = []
    for at, sign in enumerate(text):
        if sign == "{":
            opened.append((at, False))
        elif sign in ",." and opened:
            opened[-1] = (opened[-1][0], True)
        elif sign == "}":
            start, is_choice = opened.pop() if opened else (at, False)
            if not is_choice:
                signs[start] = signs[at] = "?"
    for start, _ in opened:
        signs[start] = "?"
    return "".join(signs)


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
