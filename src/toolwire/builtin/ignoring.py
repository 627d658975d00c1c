"""What `.gitignore` files leave out, and globs: their patterns by git's rules, matched in linear time.

Git matches bytes, and so is done here. A pattern becomes an expression of RE2, those of a file one set of them, so
that a name is matched against all at once. The files come with what is searched and may be written by anybody: a
pattern cannot cost more than its length, and one that is broken fits nothing, as with git.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]

from ..errors import ConfigError

MAX_FILE = 256 * 1024
"""Bytes of one `.gitignore` that are read: the longest of known projects have some 20,000."""
MAX_RULE = 1_000
"""Bytes of one pattern; git's own are paths, and one that is longer is left out."""
MAX_RULES = 5_000
"""Patterns of one file."""
MAX_GLOBS = 100
"""What the braces of one glob may make."""

_SET_MEMORY = 32 << 20


class _Rule(NamedTuple):
    expression: str
    kept: bool
    """It began with `!`: what it fits is not left out."""
    folders_only: bool


class IgnoreFile:
    """The patterns of one `.gitignore`, for what lies in its folder and below."""

    def __init__(self, data: bytes) -> None:
        lines = data[:MAX_FILE].removeprefix(b"\xef\xbb\xbf").split(b"\n")
        rules = [rule for line in lines[: 4 * MAX_RULES] if (rule := _rule(line.removesuffix(b"\r"))) is not None]
        self._rules = rules[:MAX_RULES]
        self._set = _set([rule.expression for rule in self._rules])

    def leaves_out(self, path: bytes, is_folder: bool) -> bool | None:
        """Whether a path, relative to the file's folder, is left out; None if it says nothing of it.

        The last pattern that fits decides.
        """
        if not self._rules:
            return None
        for number in sorted(self._set.Match(path) or (), reverse=True):
            rule = self._rules[number]
            if is_folder or not rule.folders_only:
                return not rule.kept
        return None


class Glob:
    """Which files are searched: a pattern as in `.gitignore`, with `{a,b}`, and with `!` for all others."""

    def __init__(self, glob: str) -> None:
        self._inverted = glob.startswith("!")
        glob = glob.removeprefix("!").removeprefix("./")
        if glob.endswith("/"):
            glob += "**"
        expressions = []
        for each in _braces(glob):
            try:
                pattern = each.encode()
            except UnicodeEncodeError:
                pattern = b""
            expression = _expression(pattern, characters=True) if 0 < len(pattern) <= MAX_RULE else None
            if expression is None:
                raise ConfigError(f"{glob[:100]!r} is no glob; write one such as *.py, src/**/*.ts or *.{{js,ts}}")
            expressions.append(expression)
        self._set = _set(expressions)

    def fits(self, path: bytes) -> bool:
        """Whether a file is to be searched; the path is relative to the folder that is searched."""
        return bool(self._set.Match(path)) is not self._inverted


def _set(expressions: Sequence[str]) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = _SET_MEMORY
    found = re2.Set.FullMatchSet(options)
    for expression in expressions:
        found.Add(expression)
    found.Compile()
    return found


def _rule(line: bytes) -> _Rule | None:
    """One line of a file; None for a comment and for what fits nothing."""
    if line.startswith(b"#") or len(line) > MAX_RULE or b"\0" in line:
        return None
    line = _trimmed(line)
    kept = line.startswith(b"!")
    line = line[kept:]
    folders_only = line.endswith(b"/")
    line = line[:-1] if folders_only else line
    expression = _expression(line) if line else None
    return None if expression is None else _Rule(expression, kept, folders_only)


def _trimmed(line: bytes) -> bytes:
    """Without the spaces at its end, unless a backslash keeps them."""
    end = place = 0
    while place < len(line):
        if line[place] == 0x5C:
            place += 1
            if place == len(line):
                return line
            end = place + 1
        elif line[place] != 0x20:
            end = place + 1
        place += 1
    return line[:end]


def _expression(pattern: bytes, *, characters: bool = False) -> str | None:
    """The expression over the whole path; None for a pattern that fits nothing.

    With `characters` a `?` is one character of UTF-8, not one byte.
    """
    anywhere = b"/" not in pattern
    pattern = pattern.removeprefix(b"/")
    found = ["(?s)", "(?:.*/)?" if anywhere else ""]
    plain = 0 if anywhere else next((n for n, byte in enumerate(pattern) if byte in b"*?[\\"), len(pattern))
    place = 0
    while place < len(pattern):
        byte = pattern[place : place + 1]
        if byte == b"*":
            text, place = _stars(pattern, place, 0 if characters else plain)
        elif byte == b"?":
            text, place = r"(?:[\x00-\x2e\x30-\x7f]|[\xc0-\xff][\x80-\xbf]*)" if characters else "[^/]", place + 1
        elif byte == b"[":
            members, place = _members(pattern, place + 1)
            if not members or (characters and not pattern.isascii()):
                return None
            text = "[" + "".join(f"\\x{each:02x}" for each in sorted(members)) + "]"
        else:
            if byte == b"\\":
                place += 1
                if place == len(pattern):
                    return None
            text, place = f"\\x{pattern[place]:02x}", place + 1
        found.append(text)
    return "".join(found)


def _stars(pattern: bytes, place: int, plain: int) -> tuple[str, int]:
    """One or more stars: `**` between slashes stands for any folders, none too; else it is one star.

    Git compares the plain beginning of a pattern by itself, and what is left then begins a pattern: `a**/b` has its
    stars between slashes.
    """
    end = place
    while pattern[end : end + 1] == b"*":
        end += 1
    after = pattern[end:]
    between = place in (0, plain) or pattern[place - 1 : place] == b"/"
    if end - place < 2 or not between or not (not after or after.startswith((b"/", b"\\/"))):
        return "[^/]*", end
    if after.startswith(b"/"):
        return "(?:.*/)?", end + 1
    return ".*", end


_POSIX: dict[bytes, Callable[[bytes], bool]] = {
    b"alnum": bytes.isalnum,
    b"alpha": bytes.isalpha,
    b"blank": lambda byte: byte in b" \t",
    b"cntrl": lambda byte: byte < b" " or byte == b"\x7f",
    b"digit": bytes.isdigit,
    b"graph": lambda byte: b"!" <= byte <= b"~",
    b"lower": bytes.islower,
    b"print": lambda byte: b" " <= byte <= b"~",
    b"punct": lambda byte: b"!" <= byte <= b"~" and not byte.isalnum(),
    b"space": bytes.isspace,
    b"upper": bytes.isupper,
    b"xdigit": lambda byte: byte in b"0123456789abcdefABCDEF",
}


def _members(pattern: bytes, place: int) -> tuple[set[int], int]:
    """The bytes of a set, from behind its bracket, and the place behind it; none for one that is broken.

    Step by step as git reads it, for the sake of the odd ones: `[]-a]`, `[[:x]`, `[a-]`.
    """
    inverted = pattern[place : place + 1] in (b"!", b"^")
    place += inverted
    found: set[int] = set()
    before = 0
    first = True
    while first or pattern[place : place + 1] != b"]":
        first = False
        byte = pattern[place : place + 1]
        if not byte:
            return set(), place
        if byte == b"\\":
            place += 1
            if place == len(pattern):
                return set(), place
            before = pattern[place]
            found.add(before)
        elif byte == b"-" and before and pattern[place + 1 : place + 2] not in (b"", b"]"):
            place += 1
            if pattern[place] == 0x5C:
                place += 1
                if place == len(pattern):
                    return set(), place
            found.update(range(before, pattern[place] + 1))
            before = 0
        elif byte == b"[" and pattern[place + 1 : place + 2] == b":":
            end = pattern.find(b"]", place + 2)
            if end < 0:
                return set(), place
            if end - place - 3 < 0 or pattern[end - 1 : end] != b":":
                before = byte[0]
                found.add(before)
            else:
                is_in = _POSIX.get(pattern[place + 2 : end - 1])
                if is_in is None:
                    return set(), place
                found.update(code for code in range(128) if is_in(bytes((code,))))
                before, place = 0, end
        else:
            before = byte[0]
            found.add(before)
        place += 1
    members = set(range(1, 256)) - found if inverted else found
    return members - {0x2F, 0}, place + 1


def _braces(glob: str) -> list[str]:
    """The globs that one with `{a,b}` stands for; a brace without a comma or an end is a character."""
    done: list[str] = []
    open_ones = [glob]
    while open_ones:
        if len(done) + len(open_ones) > MAX_GLOBS:
            raise ConfigError(f"the braces of the glob stand for over {MAX_GLOBS} globs; write a simpler one")
        each = open_ones.pop()
        choice = _choice(each)
        if choice is None:
            done.append(each)
        else:
            before, parts, after = choice
            open_ones += [before + part + after for part in parts]
    return done


def _choice(glob: str) -> tuple[str, list[str], str] | None:
    """The first `{a,b}`: what is before it, its parts, what is after it."""
    start = place = 0
    depth = 0
    commas: list[int] = []
    while place < len(glob):
        char = glob[place]
        if char == "\\":
            place += 1
        elif char == "{":
            if not depth:
                start, commas = place, []
            depth += 1
        elif char == "," and depth == 1:
            commas.append(place)
        elif char == "}" and depth:
            depth -= 1
            if not depth and commas:
                ends = [start, *commas, place]
                parts = [glob[a + 1 : b] for a, b in pairwise(ends)]
                return glob[:start], parts, glob[place + 1 :]
        place += 1
    return None
