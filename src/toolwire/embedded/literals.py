"""Python literals while they arrive, as JSON: `{'a': [True, None], "b": 'x'}`. JSON is among them.

Strings in single, double or triple quotes with the escapes of Python, numbers as both languages write them, the words
of both, lists, tuples (they become arrays) and dicts whose keys are strings, trailing commas. What is JSON already
comes out as it stands; `\\/` in double quotes is JSON's too. Everything is read once, and the inside of a string flows.

A single quote within a word (`'it's'`) ends no string that is a value as a whole: some models' chat templates put
single quotes around a text and escape nothing in it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from .json_source import as_it_is, quote
from .scanner import SPACE, Scanner, Wait, no_json

WORDS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-")
_CLOSES = {"[": "]", "{": "}", "(": ")"}
_KEPT_SPACE = 200
"""Characters of space after a comma that wait for what follows it; what is more is left out."""

_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")
_DIGITS = {"x": 2, "u": 4, "U": 8}
_JSON_ESCAPES = frozenset('"\\bfnrt')
_ESCAPES = {"'": "'", "a": "\\u0007", "v": "\\u000b", "\n": ""}
_LINE_ENDS = frozenset("\r\n")
_CONTROLS = frozenset(map(chr, range(0x20)))

UNFINISHED = "the call is not finished"
NO_COMMA = "a trailing comma was left out"
NO_SINGLE = "single quotes became double ones"
NO_RAW = "a line end or other raw character in a string was escaped"


class Next(Enum):
    """What must come next."""

    VALUE = "a value"
    ITEM = "a value or the end"
    KEY = "a key or the end"
    COLON = "a colon"
    AFTER = "a comma or the end"


class Literal:
    """One literal that is read into the open call.

    Where it is not one, `problem` says why, `depth` how many brackets are open at that place, and `in_string` whether
    it is inside a string, which happens only where the answer ends there.
    """

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._open: list[str] = []
        """What closes the brackets that are open."""
        self._comma = ""
        """A comma that was read, and space after it: in JSON it may stand only before another value."""
        self._listed: list[bool] = []
        """For each of them, whether there was a comma."""
        self.quotes = ""
        """The quotes of the string that was read last, if nothing came after it: one in it may have ended it early."""
        self.in_string = False
        self.problem = ""

    @property
    def depth(self) -> int:
        """How many brackets are open."""
        return len(self._open)

    def read(self) -> Wait[bool]:
        """Reads it, space before it too, and gives its JSON; False where it is none, with what was read given."""
        scanner = self._scanner
        state = Next.VALUE
        while True:
            yield from self._space()
            if not (yield from scanner.more()):
                return self._fail(UNFINISHED)
            mark = scanner.text[scanner.at]
            if self._open and mark == self._open[-1] and state not in (Next.VALUE, Next.COLON):
                if mark == ")" and state is Next.AFTER and not self._listed[-1]:
                    return self._fail("round brackets stand around one value")
                self._close()
                state = Next.AFTER
            elif state is Next.AFTER:
                if mark != ",":
                    return (yield from self._stop(state))
                scanner.read_to(scanner.at + 1)
                scanner.give_call()
                self._comma = ","
                self.quotes = ""
                self._listed[-1] = True
                state = Next.KEY if self._open[-1] == "}" else Next.ITEM
            elif state is Next.COLON:
                if mark != ":":
                    return (yield from self._stop(state))
                scanner.read_to(scanner.at + 1)
                self._give(":")
                state = Next.VALUE
            elif mark in "\"'":
                if not (yield from self._string()):
                    return False
                state = Next.COLON if state is Next.KEY else Next.AFTER
            elif state is Next.KEY:
                return (yield from self._stop(state))
            elif mark in _CLOSES:
                scanner.read_to(scanner.at + 1)
                self._open.append(_CLOSES[mark])
                self._listed.append(False)
                if len(self._open) > scanner.limits.depth:
                    return self._fail(f"nested deeper than {scanner.limits.depth} levels")
                if mark == "(":
                    self._mend("round brackets became square ones")
                self._give("{" if mark == "{" else "[")
                state = Next.KEY if mark == "{" else Next.ITEM
                continue
            elif mark in _WORD:
                if not (yield from self._scalar()):
                    return False
                state = Next.AFTER
            else:
                return (yield from self._stop(state))
            if not self._open:
                return True

    # What a stricter or more lenient reader does otherwise.

    def _mend(self, what: str) -> None:
        """Something is read that JSON does not have."""

    def _stop(self, state: Next) -> Wait[bool]:
        """What comes next cannot: whether the literal is to end here all the same."""
        yield from ()
        return self._fail(f"{state.value} is missing")

    def _raw_in_string(self, raw: frozenset[str]) -> bool:
        """These characters stood raw in a string that allows no line ends: whether that may be."""
        if not raw.isdisjoint(_LINE_ENDS):
            if not self._scanner.repair:
                return False
            self._scanner.note_repair(NO_RAW)
        return True

    # Parts.

    def _fail(self, problem: str) -> bool:
        self._scanner.give_call()
        self.problem = problem
        return False

    def _give(self, json: str) -> None:
        self.quotes = ""
        comma, self._comma = self._comma, ""
        self._scanner.give_call(comma + json)

    def _close(self) -> None:
        scanner = self._scanner
        closing = self._open.pop()
        self._listed.pop()
        if self._comma:
            self._mend(NO_COMMA)
        self._comma = self._comma[1:]
        scanner.read_to(scanner.at + 1)
        self._give("]" if closing == ")" else closing)

    def _space(self) -> Wait[None]:
        scanner = self._scanner
        while (yield from scanner.more()):
            text, at = scanner.text, scanner.at
            start, end = at, len(text)
            while at < end and text[at] in SPACE:
                at += 1
            if at > start:
                if self._comma:
                    self._comma += text[start : min(at, start + _KEPT_SPACE - len(self._comma))]
                    scanner.give_run(at)
                else:
                    scanner.give_run(at, as_it_is)
            if at < end:
                return

    def _scalar(self) -> Wait[bool]:
        longest = 16 * self._scanner.limits.name
        word = yield from self._scanner.read_word(_WORD, longest + 1)
        json = WORDS.get(word) or number(word)
        if not json or len(word) > longest:
            if not (yield from self._scanner.more()):
                return self._fail(UNFINISHED)
            self._scanner.unread()
            return self._fail(f"{word[:40]!r} is no value")
        if json != word:
            self._mend(f"{word[:40]} became {json[:40]}")
        self._give(json)
        return True

    def _string(self) -> Wait[bool]:
        scanner = self._scanner
        quotes = yield from read_quotes(scanner)
        if len(quotes) == 2:
            if quotes == "''":
                self._mend(NO_SINGLE)
            self._give('""')
            self.quotes = quotes[0]
            return True
        self._give('"')
        self.in_string = True
        said = Saying(is_json=quotes == '"')
        while True:
            if not (yield from give_string(scanner, quotes, said)):
                return self._fail(UNFINISHED)
            if quotes != "'" or self._open or not (yield from self._is_apostrophe(said)):
                break
            scanner.give_call(f"{said.rest()}'")
        self.in_string = False
        scanner.give_call(said.rest())
        if said.problem:
            return self._fail(said.problem)
        if quotes != '"':
            self._mend(NO_SINGLE if quotes == "'" else "triple quotes became double ones")
        if said.raw and len(quotes) == 1 and not self._raw_in_string(frozenset(said.raw)):
            return self._fail("a line end stands in a string")
        if said.is_mended and quotes == '"':
            self._mend("an escape that JSON does not have was rewritten")
        scanner.give_call('"')
        self.quotes = quotes
        return True

    def _is_apostrophe(self, said: Saying) -> Wait[bool]:
        """Whether the quote that is held stands within a word: no string of Python ends there."""
        return said.last.isalnum() and (yield from self._scanner.need(1)).isalnum()


def read_quotes(scanner: Scanner) -> Wait[str]:
    """Reads the quotes that begin the string that is next: one, or three; both of an empty string."""
    mark = scanner.text[scanner.at]
    quotes = mark
    if (yield from scanner.need(2)) == mark * 2:
        quotes = mark * (3 if (yield from scanner.need(3)) == mark * 3 else 2)
    scanner.read_to(scanner.at + len(quotes))
    return quotes


def give_string(scanner: Scanner, quotes: str, encode: Callable[[str], str] = no_json) -> Wait[bool]:
    """Gives the inside of a string and reads the quotes that end it; False if they never come."""
    while (yield from scanner.more()):
        text, at = scanner.text, scanner.at
        length = len(text)
        found = text.find(quotes, at)
        while (slash := text.find("\\", at, found if found >= 0 else length)) >= 0 and slash + 1 < length:
            at = slash + 2
            if 0 <= found < at:
                found = text.find(quotes, at)
        if slash < 0 and found >= 0:
            scanner.give_run(found, encode)
            scanner.read_to(found + len(quotes))
            return True
        end = slash if slash >= 0 else length
        while slash < 0 and end > at and length - end < len(quotes) - 1 and text[end - 1] == quotes[0]:
            end -= 1
        if end > scanner.at:
            scanner.give_run(end, encode)
            continue
        kept = length - end
        if len((yield from scanner.need(kept + 1))) == kept:
            scanner.give_run(scanner.at + kept)
    return False


class Saying:
    """What the inside of a Python string says, piece by piece, as the inside of a JSON string."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._waiting = ""
        self.problem = ""
        self.raw: set[str] = set()
        """The control characters that stood there as they are."""
        self.is_mended = False
        """Whether there was an escape that JSON does not have."""
        self.last = ""
        """The character that came last."""

    def __call__(self, text: str) -> str:
        """What the next piece adds; an escape that is not whole waits for the rest of it."""
        self.last = text[-1:] or self.last
        if self._waiting:
            text, self._waiting = self._waiting + text, ""
        said: list[str] = []
        at = 0
        while (slash := text.find("\\", at)) >= 0:
            self._say(text[at:slash], said)
            at = slash + 2
            kind = text[slash + 1 : at]
            if kind in _JSON_ESCAPES or (kind == "/" and self._is_json):
                said.append(text[slash:at])
                continue
            if not kind or not (at := self._whole(text, slash)):
                self._waiting = text[slash:]
                return "".join(said)
            said.append(self._escape(text[slash:at]))
        self._say(text[at:], said)
        return "".join(said)

    def rest(self) -> str:
        """The end of the string: what still waited."""
        waited, self._waiting = self._waiting, ""
        return self._escape(waited) if waited else ""

    def _say(self, text: str, said: list[str]) -> None:
        if not text:
            return
        json = quote(text)
        if len(json) != len(text) and not _CONTROLS.isdisjoint(text):
            self.raw |= _CONTROLS.intersection(text)
        said.append(json)

    def _whole(self, text: str, at: int) -> int:
        """Where the escape that begins here ends; 0 where more of it may come."""
        kind = text[at + 1]
        if kind == "\r":
            return 0 if len(text) == at + 2 else at + 2 + (text[at + 2] == "\n")
        if kind in _OCTAL:
            end = at + 2
            while end < at + 4 and text[end : end + 1] in _OCTAL:
                end += 1
            return 0 if end == len(text) and end < at + 4 else end
        end = at + 2 + _DIGITS.get(kind, 0)
        return end if end <= len(text) else 0

    def _escape(self, escape: str) -> str:
        """The JSON of a whole escape, or of what came of one."""
        kind, digits = escape[1:2], escape[2:]
        if kind == "u" and len(digits) == 4 and _HEX.issuperset(digits):
            return escape
        self.is_mended = True
        if kind in _ESCAPES:
            return _ESCAPES[kind]
        if kind == "\r":
            return ""
        if kind in _OCTAL and kind:
            return quote(chr(int(escape[1:], 8)))
        if kind not in _DIGITS:
            return quote(escape)
        code = int(digits, 16) if len(digits) == _DIGITS[kind] and _HEX.issuperset(digits) else 0x110000
        if code < 0x110000:
            return quote(chr(code))
        self.problem = f"{escape!r} is no escape"
        return quote(escape)


def number(word: str) -> str:
    """A number as JSON writes it, unchanged where it is so already; empty where the word is none."""
    sign, digits = ("-" if word[:1] == "-" else "", word[1:]) if word[:1] in ("-", "+") else ("", word)
    mantissa, mark, exponent = digits.partition("E" if "E" in digits else "e")
    whole, point, part = mantissa.partition(".")
    groups = [_digits(whole), _digits(part), _digits(exponent[1:] if exponent[:1] in ("+", "-") else exponent)]
    if None in groups or not (whole or part) or bool(mark) != bool(groups[2]):
        return ""
    if len(whole) > 1 and whole[0] == "0":
        return ""
    signed = exponent[:1] if exponent[:1] in ("+", "-") else ""
    return f"{sign}{groups[0] or '0'}{point}{groups[1] or ('0' if point else '')}{mark}{signed}{groups[2]}"


def _digits(group: str) -> str | None:
    """Digits without the underscores between them; None where something else is there."""
    if "_" in group and (group[0] == "_" or group[-1] == "_" or "__" in group):
        return None
    bare = group.replace("_", "")
    return bare if not bare or (bare.isascii() and bare.isdigit()) else None


def read_literal(scanner: Scanner) -> Wait[bool]:
    """Reads the literal that is next, space before it aside, and gives its JSON into the open call.

    False where it is none: what was read up to the fault stays read.
    """
    return (yield from Literal(scanner).read())
