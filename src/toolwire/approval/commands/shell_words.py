"""Reads the words and redirections of a shell command as bash does: quotes, backslashes, expansions.

The parser library says where a substitution begins and ends; everything else in a word is read here, character by
character, so that a word the library cut differently than bash would is seen. The text is held as one character per
byte, because the library counts bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from .command_line import Word, WordKind

BLANK = " \t"
ENDS = " \t\n;&|()<>"
"""What ends a word where it is not quoted."""
DIGITS = "0123456789"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_PARAMETERS = "*@#?-$!"
_ESCAPES = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, '"': 34, "?": 63}
_OPERATORS = ("&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">")
_SUMS = frozenset(DIGITS + " \t+-*/%<>=!&|^~?:,")


class NotUnderstood(Exception):
    """The line is not one whose commands are known before it runs. Its text says why."""


class Span(Protocol):
    """A node of the parser library, as far as words need it."""

    @property
    def type(self) -> str:
        """What it is."""
        ...

    @property
    def end_byte(self) -> int:
        """Where it ends."""
        ...


class Piece(NamedTuple):
    """A word, or a redirection with its target."""

    word: Word
    raw: str
    """As written."""
    splits: bool = False
    """It may become several words, or none."""
    operator: str = ""
    """Of a redirection; `<<` and `<<-` have the delimiter as target, with its quotes in `raw`."""


def name_at(source: str, at: int) -> int:
    """Where the variable name that begins here ends."""
    if at < len(source) and source[at] in LETTERS:
        while at < len(source) and (source[at] in LETTERS or source[at] in DIGITS):
            at += 1
    return at


def as_text(raw: str) -> str:
    """A piece of the source as text."""
    return raw.encode("latin-1").decode()


class WordReader:
    """Reads from one source. `substitutions` are the library's, by where they begin; `met` are those that words held,
    in order: what they run is to be looked at too.
    """

    __slots__ = ("_depth", "_substitutions", "met", "source")

    def __init__(self, source: str, substitutions: dict[int, Span]) -> None:
        self.source = source
        self.met: list[int] = []
        self._substitutions = substitutions
        self._depth = 0

    def gap(self, at: int, end: int, *, newlines: bool = False) -> int:
        """Where the blanks end that begin here. A backslash before a line's end counts after a blank only."""
        source = self.source
        while at < end:
            if source[at] in BLANK or (newlines and source[at] == "\n"):
                at += 1
            elif source.startswith("\\\n", at) and (at == 0 or source[at - 1] in " \t\n"):
                at += 2
            else:
                break
        return at

    def pieces(self, at: int, end: int) -> Iterator[Piece]:
        """The words and redirections that stand between two places, which nothing but blanks may part."""
        at = self.gap(at, end)
        while at < end:
            piece, at = self._redirection(at, end) or self.word(at, end)
            yield piece
            at = self.gap(at, end)
        self.ended(end)

    def ended(self, at: int) -> None:
        """Makes sure that no word goes on here."""
        if at < len(self.source) and self.source[at] not in ENDS and self.source[at] != "`":
            raise NotUnderstood("a word does not end where the parser says")

    def word(self, start: int, end: int) -> tuple[Piece, int]:
        """The word that begins here, and where it ends."""
        source, at = self.source, start
        parts: list[str] = []
        dynamic = pattern = splits = False
        if source[at] == "#":
            raise NotUnderstood("a comment stands inside a command")
        home = source[at : at + 1] == "~" and (at + 1 >= end or source[at + 1] in ENDS or source[at + 1] == "/")
        brackets = braces = -1
        while at < end and (source[at] not in ENDS or source.startswith(("<(", ">("), at)):
            char = source[at]
            if char in "<>":
                at = self._substitution(at, end, "process_substitution")
                dynamic = True
            elif char == "\\":
                parts.append(self._escaped(at, end))
                at += 2
            elif char == "'":
                parts.append(source[at + 1 : self._closing(at + 1, end)])
                at += len(parts[-1]) + 2
            elif char == '"':
                text, at, known = self._double(at + 1, end)
                parts.append(text)
                dynamic, splits = dynamic or not known, splits or "$@" in text or "${@" in text
            elif source.startswith("$'", at):
                text, at = self._ansi(at + 2, end)
                parts.append(text)
            elif char in "$`":
                after, known = self._expansion(at, end, quoted=False)
                parts.append(source[at:after])
                dynamic, splits, at = dynamic or not known, splits or not known, after
            else:
                pattern = pattern or char in "*?"
                if char == "[" and brackets < 0:
                    brackets = at
                if char == "{" and braces < 0:
                    braces = at
                if char == "~" and (not home if at == start else source[at - 1] in "=:"):
                    dynamic = True
                parts.append(char)
                at += 1
        if at == start:
            raise NotUnderstood(f"{source[at]!r} stands where a word should")
        raw = source[start:at]
        if at == end and source[at : at + 1] in ("<", ">") and (raw[0] == "{" or raw.isdecimal()):
            raise NotUnderstood("a word may be the descriptor of the redirection behind it")
        pattern = pattern or (brackets >= 0 and "]" in source[brackets:at])
        pattern = pattern or (braces >= 0 and ("," in source[braces:at] or ".." in source[braces:at]))
        if dynamic or pattern:
            kind = WordKind.DYNAMIC if dynamic else WordKind.PATTERN
            return Piece(Word(as_text(raw), kind, home), raw, splits or pattern), at
        return Piece(Word(as_text("".join(parts)), home=home), raw), at

    def document(self, at: int, end: int) -> None:
        """Reads the text of a here-document whose delimiter is not quoted, for what it runs."""
        source = self.source
        while at < end:
            if source[at] == "\\":
                if source.startswith("\\\n", at):
                    raise NotUnderstood("a here-document has a backslash at the end of a line")
                at += 2
            elif source[at] in "$`":
                at, _ = self._expansion(at, end, quoted=True)
            else:
                at += 1

    def _redirection(self, at: int, end: int) -> tuple[Piece, int] | None:
        source, start = self.source, at
        while at < end and source[at] in DIGITS:
            at += 1
        if source.startswith(("<(", ">("), at):
            return None
        operator = next((sign for sign in _OPERATORS if source.startswith(sign, at)), "")
        if not operator or (at > start and operator[0] == "&"):
            if source[start] == "{" and source[source.find("}", start) + 1 : end].startswith(("<", ">")):
                raise NotUnderstood("a redirection has a variable for its descriptor")
            return None
        at = self.gap(at + len(operator), end)
        if at >= end:
            raise NotUnderstood("a redirection has no target")
        if operator in ("<&", ">&") and source[at] == "-":
            # It closes a descriptor, and what follows is a word of its own even without a blank between.
            return Piece(Word("-"), "-", operator=operator), at + 1
        target, at = self.word(at, end)
        return target._replace(operator=operator), at

    def _closing(self, at: int, end: int) -> int:
        found = self.source.find("'", at, end)
        if found < 0:
            raise NotUnderstood("a quote is not closed where the parser says")
        return found

    def _escaped(self, at: int, end: int) -> str:
        if at + 1 >= end:
            raise NotUnderstood("a command ends with a backslash")
        if self.source[at + 1] == "\n":
            raise NotUnderstood("a line goes on with a backslash inside a word")
        return self.source[at + 1]

    def _double(self, at: int, end: int) -> tuple[str, int, bool]:
        """The text in double quotes, where they end, and whether it is literal."""
        source = self.source
        parts: list[str] = []
        literal = True
        while at < end:
            char = source[at]
            if char == '"':
                return "".join(parts), at + 1, literal
            if char == "\\":
                escaped = self._escaped(at, end)
                parts.append(escaped if escaped in '$`"\\' else char + escaped)
                at += 2
            elif char in "$`":
                after, known = self._expansion(at, end, quoted=True)
                parts.append(source[at:after])
                literal, at = literal and known, after
            else:
                parts.append(char)
                at += 1
        raise NotUnderstood("a quote is not closed where the parser says")

    def _ansi(self, at: int, end: int) -> tuple[str, int]:
        source = self.source
        parts: list[str] = []
        while at < end and source[at] != "'":
            if source[at] != "\\":
                parts.append(source[at])
                at += 1
                continue
            char = source[at + 1] if at + 1 < end else "'"
            if char in "'c\n":
                # Other shells see the quote end here; control characters are nothing that a person could read.
                raise NotUnderstood(f"$'…' holds {'a quote' if char == chr(39) else 'an odd escape'}")
            if char in "xuU01234567":
                code, at = self._coded(at + 1, end)
            elif char in _ESCAPES:
                code, at = _ESCAPES[char], at + 2
            else:
                parts.append("\\")
                code, at = ord(char), at + 2
            parts.append(chr(code))
        if at >= end:
            raise NotUnderstood("a quote is not closed where the parser says")
        return "".join(parts), at + 1

    def _coded(self, at: int, end: int) -> tuple[int, int]:
        base, most = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}.get(self.source[at], (8, 3))
        start = at + 1 if base == 16 else at
        at = start
        while at < min(end, start + most) and self.source[at] in "0123456789abcdefABCDEF"[: 8 if base == 8 else None]:
            at += 1
        code = int(self.source[start:at], base) if at > start else 0
        if not 0 < code < 128:
            raise NotUnderstood("$'…' holds a code that is no ASCII character")
        return code, at

    def _expansion(self, at: int, end: int, *, quoted: bool) -> tuple[int, bool]:
        """Where an expansion ends, and whether it is none: a mere dollar sign."""
        source = self.source
        if source[at] == "`":
            after = self._substitution(at, end, "command_substitution")
            if source.find("`", at + 1) != after - 1 or "\\" in source[at:after]:
                raise NotUnderstood("a substitution in back quotes holds a backslash or another one")
            return after, False
        following = source[at + 1] if at + 1 < end else ""
        if following == "(":
            if not source.startswith("$((", at):
                return self._substitution(at, end, "command_substitution"), False
            after = self._substitution(at, end, "arithmetic_expansion")
            if not _SUMS.issuperset(source[at + 3 : after - 2]) or not source.endswith("))", at, after):
                # A variable in a sum is itself evaluated, and may hold a command.
                raise NotUnderstood("a sum holds more than numbers")
            return after, False
        if following == "{":
            return self._braces(at, end), False
        if following == "[" or (following == '"' and not quoted):
            raise NotUnderstood(f"'${following}' is not understood")
        if following and following in LETTERS:
            return name_at(source, at + 1), False
        if following and (following in DIGITS or following in _PARAMETERS):
            return at + 2, False
        return at + 1, True

    def _substitution(self, at: int, end: int, kind: str) -> int:
        node = self._substitutions.get(at)
        if node is None or node.type != kind or node.end_byte > end:
            raise NotUnderstood("a substitution is not where the parser says")
        self.met.append(at)
        return node.end_byte

    def _braces(self, at: int, end: int) -> int:
        """`${…}`, of the kinds that do nothing but give text."""
        source = self.source
        after = self._substitution(at, end, "expansion")
        self._depth += 1
        close, at = after - 1, at + 2
        if self._depth > 20 or source[close] != "}":
            raise NotUnderstood("'${' is not closed where the parser says")
        if source[at] == "#" and source[at + 1] != "}":
            at += 1
        name = name_at(source, at)
        while name < close and source[name] in DIGITS:
            name += 1
        at = max(name, at + 1 if source[at] in "*@#?-$" else at)
        sign = source[at:close][:2]
        if sign and not (sign[0] in "-+?#%/^," or sign in (":-", ":+", ":?")):
            raise NotUnderstood("a '${…}' does more than give the text of a variable")
        while at < close:
            if source[at] in "'\"\\{}()<>":
                raise NotUnderstood("a '${…}' holds quotes or brackets")
            at = self._expansion(at, close, quoted=True)[0] if source[at] in "$`" else at + 1
        self._depth -= 1
        return after
