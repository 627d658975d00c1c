"""The patterns of a search: one dialect, read here, that every engine then means the same by.

A pattern is read once and written anew for the engines in their common ground: literal characters, sets of characters
spelled out, groups, repeats, ends of a line. So nothing hangs on the tables of Unicode or the habits of one engine.
`\\d`, `\\w`, `\\s` and `\\b` know ASCII alone. A pattern is matched within one line. What only a backtracking engine
can do is refused, with what to write instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, NoReturn

from ..errors import ConfigError

MAX_PATTERN = 1_000
"""Characters of a pattern. Those that models write are under 200."""
MAX_REPEAT = 1_000
"""How often a repeat may be counted: what RE2 takes."""
MAX_DEPTH = 50
"""How deep groups may be nested."""

Ranges = list[tuple[int, int]]


class Written(NamedTuple):
    """A pattern for the engines."""

    re2: str
    """For RE2, over lines that end in a newline alone."""
    ripgrep: str
    """For ripgrep, over files as they are: fits at least every line that the other fits, with what lies around it in
    a file (a carriage return at the end, a byte order mark at the start). Empty for a pattern that it gets wrong."""


def read_pattern(pattern: str, *, regex: bool = True, ignore_case: bool = False) -> Written:
    """The pattern for the engines; a `ConfigError` tells a model what to write instead."""
    if not pattern:
        raise ConfigError("the pattern is empty; give the text to look for, or use list_directory to see files")
    if len(pattern) > MAX_PATTERN:
        raise ConfigError(f"the pattern has {len(pattern):,} characters; at most {MAX_PATTERN:,} are taken")
    return _Reader(pattern, ignore_case).read() if regex else _literal(pattern, ignore_case)


def _literal(text: str, ignore_case: bool) -> Written:
    reader = _Reader(text, ignore_case)
    for char in text:
        reader.character(char)
    return reader.written()


@dataclass
class _Group:
    """An open group: how things were where it began, and whether an alternative of it has the end of a line."""

    ignore_case: bool
    is_fresh: bool
    is_ended: bool
    line_ends: int
    ends: bool = False


@dataclass
class _Reader:
    """Reads a pattern from left to right; what is read is written at once."""

    text: str
    ignore_case: bool
    place: int = 0
    re2: list[str] = field(default_factory=list)
    ripgrep: list[str] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=list)
    is_fresh: bool = True
    """Nothing that could fit was read yet in this alternative."""
    is_ended: bool = False
    """The end of a line was read in it."""
    is_odd: bool = False
    """Something stands before the start of a line or after its end, such as `$^`: ripgrep may miss what that fits."""
    line_ends: int = 0
    """How many starts and ends of a line were read."""
    can_repeat: bool = False
    repeated: bool = False

    def written(self) -> Written:
        # ripgrep looks at each line by itself; RE2 is given many lines at once.
        return Written(f"(?m:{''.join(self.re2)})", "" if self.is_odd else "".join(self.ripgrep))

    def read(self) -> Written:
        while self.place < len(self.text):
            char = self.text[self.place]
            self.place += 1
            match char:
                case "\\":
                    self._escape()
                case "[":
                    self._set(self._class())
                case ".":
                    self._set(_without([], inverted=True))
                case "(":
                    self._open()
                case ")":
                    self._close()
                case "|":
                    self._alternative()
                    self._emit("|", can_repeat=False)
                case "^" | "$":
                    self._end(char)
                case "*" | "+" | "?":
                    self._repeat(char)
                case "{":
                    self._counted()
                case _:
                    self.character(char)
        if self.groups:
            self._wrong(r"a '(' is not closed; write \( for the character itself, or regex=false for plain text")
        return self.written()

    # ---- writing

    def _emit(self, re2: str, ripgrep: str | None = None, *, can_repeat: bool = True) -> None:
        self.re2.append(re2)
        self.ripgrep.append(re2 if ripgrep is None else ripgrep)
        self.can_repeat, self.repeated = can_repeat, False

    def character(self, char: str) -> None:
        """One character that stands for itself."""
        code = ord(char)
        if 0xD800 <= code <= 0xDFFF:
            self._wrong("it holds half of a surrogate pair, which no text has")
        if char == "\n":
            self._wrong("it holds a line break, and a search looks at one line at a time; search for one of the lines")
        self._set([(code, code)])

    def _set(self, ranges: Ranges) -> None:
        if self.ignore_case:
            ranges = _folded(ranges)
        self._fits()
        self._emit(_spelled(ranges))

    def _end(self, char: str) -> None:
        if char == "^":
            self.is_odd = self.is_odd or not self.is_fresh
            self._emit("^", r"(?:^\x{FEFF}?)", can_repeat=False)
        else:
            self._emit("$", r"(?:\r?$)", can_repeat=False)
            self.is_ended = True
        self.is_fresh = False
        self.line_ends += 1

    def _fits(self) -> None:
        """Something comes that may fit."""
        self.is_odd = self.is_odd or self.is_ended
        self.is_fresh = False

    # ---- groups

    def _alternative(self) -> None:
        """Another alternative begins, in the group that is open or on the outside."""
        if self.groups:
            group = self.groups[-1]
            group.ends = group.ends or self.is_ended
            self.is_fresh, self.is_ended = group.is_fresh, group.is_ended
        else:
            self.is_fresh, self.is_ended = True, False

    def _open(self) -> None:
        if len(self.groups) >= MAX_DEPTH:
            self._wrong(f"its groups are nested over {MAX_DEPTH} deep")
        before = self.ignore_case
        if self._takes("?") and not self._takes(":"):
            if self._ahead("=", "!", "<=", "<!"):
                self._wrong(
                    "it looks ahead or behind, which is not supported; match the text around it too, or search for the "
                    "part that is certain and read the lines that come"
                )
            if self._ahead("P=", "P>", "(", "R", "&"):
                self._wrong("it refers back to a group, which is not supported; write the text out")
            if self._takes("P<") or self._takes("<"):
                end = self.text.find(">", self.place)
                if end <= self.place:
                    self._wrong("the name of a group is not closed; write (...) without a name")
                self.place = end + 1
            elif self._flags():
                return
        self.groups.append(_Group(before, self.is_fresh, self.is_ended, self.line_ends))
        self._emit("(?:", can_repeat=False)

    def _flags(self) -> bool:
        """Reads `i)` or `i:`; whether it was the former, which opens no group."""
        value = True
        while self.place < len(self.text):
            char = self.text[self.place]
            self.place += 1
            if char == "-":
                value = False
            elif char == "i":
                self.ignore_case = value
            elif char in ":)":
                return char == ")"
            elif char not in "msu":
                break
        self._wrong("it has '(?' with something that is not supported; use (...), (?:...) or (?i)")

    def _close(self) -> None:
        if not self.groups:
            self._wrong(r"a ')' closes nothing; write \) for the character itself, or regex=false for plain text")
        group = self.groups.pop()
        self.ignore_case = group.ignore_case
        self.is_fresh, self.is_ended = False, group.ends or self.is_ended
        self._emit(")")
        if self.line_ends > group.line_ends and self._ahead("*", "+", "?", "{"):
            self.is_odd = True

    # ---- repeats

    def _repeat(self, sign: str) -> None:
        if self.repeated:
            if sign == "+":
                self._wrong("it has a possessive repeat, which is not supported; leave the last '+' out")
            self._wrong(f"'{sign}' follows another repeat; write (?:...){sign} around it")
        if not self.can_repeat:
            self._wrong(f"'{sign}' has nothing to repeat; write \\{sign} for the character itself, or regex=false")
        lazy = "?" if self._takes("?") else ""
        self._emit(sign + lazy)
        self.repeated = True

    def _counted(self) -> None:
        """A counted repeat; a brace that is none stands for itself, as in code."""
        end = self.text.find("}", self.place, self.place + 20)
        low, comma, high = self.text[self.place : max(end, 0)].partition(",")
        if not (_is_number(low) and (not high or _is_number(high))):
            if not low and comma and _is_number(high):
                self._wrong(f"write {{0,{high}}} in the place of {{,{high}}}")
            self.character("{")
            return
        if max(int(low), int(high or "0")) > MAX_REPEAT:
            self._wrong(f"a repeat counts to {MAX_REPEAT:,} at most; use * or +")
        if high and int(high) < int(low):
            self._wrong(f"a repeat of {low} to {high} times is none; write the smaller number first")
        self.place = end + 1
        self._repeat(f"{{{int(low)}{comma}{int(high) if high else ''}}}")

    # ---- escapes and classes

    def _escape(self) -> None:
        char = self._next("a '\\' stands at its end; write \\\\ for the character itself")
        match char:
            case "b" | "B":
                self._fits()
                self._emit(f"\\{char}", f"(?-u:\\{char})", can_repeat=False)
            case "A":
                self._end("^")
            case "z" | "Z":
                self._end("$")
            case _ if char in "123456789" or char in "kg":
                self._wrong("it refers back to a group, which is not supported; write the text out")
            case _:
                self._set(_class_of(char) or self._one(char))

    def _one(self, char: str) -> Ranges:
        """The character that an escape means."""
        if char in _NAMED:
            code = ord(_NAMED[char])
        elif char in "xu":
            code = self._number(char)
        elif char == "n":
            self._wrong("it holds a line break, and a search looks at one line at a time; search for one of the lines")
        elif char in "pP":
            self._wrong(r"\p is not supported; write the characters as a set, such as [A-Za-zÀ-ÿ]")
        elif char.isascii() and char.isalnum():
            self._wrong(f"\\{char} is not supported; write \\\\ for a backslash itself, or regex=false for plain text")
        else:
            code = ord(char)
        if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
            self._wrong("it names a character that does not exist")
        return [(code, code)]

    def _number(self, kind: str) -> int:
        digits = ""
        if self._takes("{"):
            end = self.text.find("}", self.place, self.place + 9)
            digits = self.text[self.place : max(end, 0)]
            self.place = end + 1
        else:
            width = 2 if kind == "x" else 4
            digits = self.text[self.place : self.place + width]
            self.place += width
            if len(digits) < width:
                digits = ""
        if not digits or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
            self._wrong(f"\\{kind} needs digits, such as \\x41 or \\u0041")
        return int(digits, 16)

    def _class(self) -> Ranges:
        unclosed = r"a '[' is not closed; write \[ for the character itself, or regex=false for plain text"
        inverted = self._takes("^")
        found: Ranges = []
        first = True
        while first or not self._takes("]"):
            first = False
            char = self._next(unclosed)
            if char == "[" and self._ahead(":"):
                found += self._posix()
                continue
            item, is_one = self._member(char)
            if is_one and self._ahead("-") and not self._ahead("-]"):
                self.place += 1
                last, is_one = self._member(self._next(unclosed))
                if not is_one or last[0][0] < item[0][0]:
                    self._wrong(r"a range of characters goes the wrong way; write \- for a hyphen itself")
                item = [(item[0][0], last[0][0])]
            found += item
        if self.ignore_case:
            found = _folded(found)
        return _without(found, inverted=inverted)

    def _member(self, char: str) -> tuple[Ranges, bool]:
        """What stands in a class at this place, and whether it is one character."""
        if char != "\\":
            if 0xD800 <= ord(char) <= 0xDFFF:
                self._wrong("it holds half of a surrogate pair, which no text has")
            return [(ord(char), ord(char))], True
        char = self._next("a '\\' stands at its end; write \\\\ for the character itself")
        if char == "n":
            return [(10, 10)], True
        if char == "b":
            return [(8, 8)], True
        known = _class_of(char)
        return (known, False) if known else (self._one(char), True)

    def _posix(self) -> Ranges:
        end = self.text.find(":]", self.place)
        name = self.text[self.place + 1 : max(end, 0)]
        inverted = name.startswith("^")
        if name.removeprefix("^") not in _POSIX:
            self._wrong(rf"it has no set such as [:alpha:] where it says so; the names are {', '.join(_POSIX)}")
        self.place = end + 2
        return _without(_POSIX[name.removeprefix("^")], inverted=inverted)

    # ---- reading

    def _ahead(self, *texts: str) -> bool:
        return self.text.startswith(texts, self.place)

    def _takes(self, text: str) -> bool:
        taken = self.text.startswith(text, self.place)
        self.place += len(text) if taken else 0
        return taken

    def _next(self, problem: str) -> str:
        if self.place >= len(self.text):
            self._wrong(problem)
        self.place += 1
        return self.text[self.place - 1]

    def _wrong(self, problem: str) -> NoReturn:
        raise ConfigError(f"the pattern cannot be used: {problem}")


def _is_number(text: str) -> bool:
    return 0 < len(text) <= 9 and text.isascii() and text.isdigit()


# ---- sets of characters

_NAMED = {"t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b", "0": "\0"}

_DIGITS: Ranges = [(0x30, 0x39)]
_UPPER: Ranges = [(0x41, 0x5A)]
_LOWER: Ranges = [(0x61, 0x7A)]
_WORD: Ranges = [*_DIGITS, *_UPPER, (0x5F, 0x5F), *_LOWER]
_SPACE: Ranges = [(9, 13), (0x20, 0x20)]
_POSIX: dict[str, Ranges] = {
    "alnum": [*_DIGITS, *_UPPER, *_LOWER],
    "alpha": [*_UPPER, *_LOWER],
    "ascii": [(0, 0x7F)],
    "blank": [(9, 9), (0x20, 0x20)],
    "cntrl": [(0, 0x1F), (0x7F, 0x7F)],
    "digit": _DIGITS,
    "graph": [(0x21, 0x7E)],
    "lower": _LOWER,
    "print": [(0x20, 0x7E)],
    "punct": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
    "space": _SPACE,
    "upper": _UPPER,
    "word": _WORD,
    "xdigit": [*_DIGITS, (0x41, 0x46), (0x61, 0x66)],
}

_NEVER: Ranges = [(10, 10), (0xD800, 0xDFFF)]
"""What no line holds: a line break, and what is no character. Without the latter RE2 would spell its widest set more
loosely than ripgrep does, and take bytes that are no text for characters."""


def _class_of(char: str) -> Ranges:
    """The set that an escape means; none for other characters."""
    known = {"d": _DIGITS, "w": _WORD, "s": _SPACE}.get(char.lower(), [])
    return _without(known, inverted=char.isupper()) if known else []


def _without(ranges: Ranges, *, inverted: bool) -> Ranges:
    """The set, or all but it, without what no line holds."""
    if not inverted:
        return _inverted([*_inverted(ranges), *_NEVER])
    return _inverted([*ranges, *_NEVER])


def _inverted(ranges: Ranges) -> Ranges:
    found: Ranges = []
    start = 0
    for low, high in sorted(ranges):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    if start <= 0x10FFFF:
        found.append((start, 0x10FFFF))
    return found


def _folded(ranges: Ranges) -> Ranges:
    """The set with the other cases of its letters."""
    found = list(ranges)
    for low, high in ranges:
        for upper, lower in ((_UPPER, _LOWER), (_LOWER, _UPPER)):
            first, last = max(low, upper[0][0]), min(high, upper[0][1])
            if first <= last:
                shift = lower[0][0] - upper[0][0]
                found.append((first + shift, last + shift))
        if high > 0x7F:
            others = _cases()
            if high - low < len(others):
                inside = (code for code in range(max(low, 0x80), high + 1) if code in others)
            else:
                inside = (code for code in others if low <= code <= high)
            found += [(other, other) for code in inside for other in others[code]]
    return _inverted(_inverted(found))


@lru_cache(maxsize=1)
def _cases() -> dict[int, list[int]]:
    """The letters beyond ASCII, each with all those that differ from it in case alone."""
    groups: dict[str, list[int]] = {}
    for code in range(0x80, 0x1EA00):  # there are no cases above
        folded = chr(code).casefold()
        if len(folded) == 1 and (ord(folded) != code or chr(code).upper() != folded):
            groups.setdefault(folded, []).append(code)
    return {code: codes for codes in groups.values() for code in codes if len(codes) > 1}


_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _,;:!'\"<>=@%")


def _spelled(ranges: Ranges) -> str:
    """The set as both engines read it; one of nothing fits nothing."""
    if not ranges:
        return r"[^\x{0}-\x{10FFFF}]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _escaped(ranges[0][0])
    return "[" + "".join(_hex(low) if low == high else f"{_hex(low)}-{_hex(high)}" for low, high in ranges) + "]"


def _escaped(code: int) -> str:
    return chr(code) if chr(code) in _PLAIN else _hex(code)


def _hex(code: int) -> str:
    return f"\\x{{{code:X}}}"
