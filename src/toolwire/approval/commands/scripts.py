"""Little languages that are arguments of commands: whether a script of theirs can do nothing but show.

Strict readers of the plain forms alone; every other form is one that is asked about.
"""

from __future__ import annotations

_DELIMITERS = frozenset("/|#,@:%!")
_SUBSTITUTE_FLAGS = frozenset("gpIi0123456789")
_COMMANDS = frozenset("pdqQ=lGhHgxnND")


def is_plain_sed(script: str) -> bool:
    """Whether every command only prints, deletes from what is printed, substitutes text, or quits.

    Commands that read and write files, or run programs (`e`, `r`, `w`, flags of `s`), are none of these.
    """
    if "\\c" in script or not script.isprintable():
        return False
    place = 0
    while place < len(script):
        if script[place] in "; ":
            place += 1
            continue
        after = _addresses(script, place)
        if after is None or after >= len(script):
            return False
        if script[after] == "s":
            end = _substitution(script, after + 1)
        elif script[after] in _COMMANDS:
            end = after + 1
            while script[after] in "qQ" and end < len(script) and script[end].isdecimal():
                end += 1
        else:
            return False
        if end is None:
            return False
        while end < len(script) and script[end] == " ":
            end += 1
        if end < len(script) and script[end] != ";":
            return False
        place = end
    return bool(script.strip())


def _addresses(script: str, place: int) -> int | None:
    """Where the addresses before a command end, if they are plain: `3`, `$`, `/x/`, two of them, `!`."""
    after = _address(script, place)
    if after is None:
        return None
    if after > place and script[after : after + 1] == ",":
        start = after + 1
        if script[start : start + 1] in ("+", "~"):
            start += 1
        after = _address(script, start)
        if after is None or after == start:
            return None
    while script[after : after + 1] in ("!", " "):
        after += 1
    return after


def _address(script: str, place: int) -> int | None:
    char = script[place : place + 1]
    if char == "$":
        return place + 1
    if char == "/":
        end = _pattern_end(script, place + 1, "/")
        if end is None:
            return None
        return end + 1 if script[end : end + 1] == "I" else end
    while script[place : place + 1].isdecimal():
        place += 1
    if script[place : place + 1] == "~" and script[place + 1 : place + 2].isdecimal():
        place += 1
        while script[place : place + 1].isdecimal():
            place += 1
    return place


def _substitution(script: str, place: int) -> int | None:
    delimiter = script[place : place + 1]
    if delimiter not in _DELIMITERS:
        return None
    middle = _pattern_end(script, place + 1, delimiter)
    end = None if middle is None else _pattern_end(script, middle, delimiter, brackets=False)
    while end is not None and end < len(script) and script[end] in _SUBSTITUTE_FLAGS:
        end += 1
    return end


def _pattern_end(script: str, place: int, delimiter: str, *, brackets: bool = True) -> int | None:
    """Behind the delimiter that ends a pattern; None where programs may differ about which one does."""
    start = place
    while place < len(script) and script[place] != delimiter:
        place += 2 if script[place] == "\\" else 1
    if place >= len(script):
        return None
    if brackets and not _brackets_close(script[start:place]):
        return None
    return place + 1


def _brackets_close(pattern: str) -> bool:
    """Whether every bracket of a pattern is closed in it: in an open one, only some programs see a delimiter."""
    place = 0
    while place < len(pattern):
        char = pattern[place]
        place += 2 if char == "\\" else 1
        if char != "[":
            continue
        place += pattern.startswith("^", place)
        if pattern.startswith("]", place):
            return False
        while place < len(pattern) and pattern[place] != "]":
            if pattern.startswith(("[:", "[.", "[="), place):
                close = pattern.find(f"{pattern[place + 1]}]", place + 2)
                if close < 0:
                    return False
                place = close + 1
            place += 1
        if place >= len(pattern):
            return False
        place += 1
    return True


def is_plain_jq(script: str) -> bool:
    """Whether the filter names no module: that is a file which is not among the operands."""
    return not any(word in script for word in ("import", "include", "modulemeta"))
