"""A JSON value while its text still arrives: where it ends, and its decoded fields.

A screen wants to show `path = notes.md` and then the growing `content` long before the call has ended; a reader of
text wants to know which character ends a value. This gives both, for display and for finding the end only: what is
executed is always the strict parse of the whole text, never what is read here.

It reads each character once and keeps no text that it has given. Where the text was cut makes no difference:
with adjacent deltas of one value merged, the same input gives the same deltas, `broken` and `complete`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json import decoder
from typing import Final

import msgspec

from .limits import DEFAULT_LIMITS, Limits
from .strict_json import BLANKS

_HEX_DIGITS: Final = "0123456789abcdefABCDEF"
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LONE_SURROGATE: Final = "\ufffd"
_scan: Callable[[str, int, bool], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]
"""A JSON string from the character after its opening quote: decoded, and where it ends."""
_BULK: Final = 64
"""Characters of a text from which on a string with escapes is decoded at once: below, the try costs more."""

# States: what the next character must be. Up to _END one character is a move, looked up in _MOVES below.
_VALUE: Final = 0  # the start of a value
_FIRST_ITEM: Final = 1  # the start of a value, or "]"
_FIRST_KEY: Final = 2  # the start of a key, or "}"
_KEY: Final = 3  # the start of a key
_COLON: Final = 4  # ":"
_AFTER_ITEM: Final = 5  # "," or "]"
_AFTER_PAIR: Final = 6  # "," or "}"
_END: Final = 7  # nothing more
# From here on characters are read in runs, see _RUNS.
_STRING: Final = 8  # inside a string, a key or a value
_ESCAPE: Final = 9  # after a backslash
_HEX: Final = 10  # one of the four digits after \u
_SCALAR: Final = 11  # inside a number or literal


class FieldDelta(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Decoded text of one argument while it arrives: for a screen, never for execution.

    `path` leads to the value (`("files", 0, "content")`); `text` is what was added to it, with escapes decoded for
    strings and as written for numbers and literals; `done` says that the value has ended.
    """

    path: tuple[str | int, ...]
    text: str = ""
    done: bool = False


class JsonReader:
    """Turns the pieces of one JSON value into `FieldDelta`s, one leaf after another, in linear time.

    A leaf is a string (given decoded; a lone surrogate becomes U+FFFD), a number or literal (as written), or
    an empty container below the top ("{}", "[]"). A number or literal is done when the character after it
    arrives, so one that stands alone at the top needs whitespace behind it. Duplicate keys come one after the
    other.

    Raw control characters in strings are let through, because models write them. Everything else that is not
    JSON sets `broken`, and so do nesting deeper than `limits.depth`, more values than `limits.fields`, and a key or
    number longer than 16 * `limits.name` characters (4096 by default: more than any real one, and little to keep).
    What was read before the fault is still given; after it `feed` gives nothing. `feed` raises nothing, whatever
    comes. With `fields=False` it only finds the end (`skip`): nothing is given, and any number of values may come.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, fields: bool = True) -> None:
        self.broken = False
        """What came is not JSON, or is over a bound."""
        self.complete = False
        """The top-level value has been closed. What follows may still break it, unless it is whitespace."""
        self._deepest = limits.depth
        self._gives = fields
        self._room = limits.fields if fields else -1  # values that may still be given; never 0 when none are
        self._longest = 16 * limits.name
        self._state: int = _VALUE
        self._keys: list[str | int] = []  # one for each open container: its current key or index
        self._path: tuple[str | int, ...] = ()  # of the value being read
        self._out: list[FieldDelta] = []  # of this feed
        self._pieces: list[str] = []  # of the string being read: a key so far, or the text not yet given
        self._in_key = False
        self._length = 0  # of the key or number so far
        self._quote = -1  # the next quote in the text of this feed: found once, not again at each backslash
        self._closed = ""  # the text of this feed with a quote behind it, see _decode
        self._in_bulk = False  # whether _decode may be tried
        self._high = 0  # a high surrogate that waits for its low one
        self._hex = ""  # digits of \u so far
        self._scalar = ""  # how far the number or literal is, see _SCALARS

    @property
    def depth(self) -> int:
        """How many objects and lists are open."""
        return len(self._keys)

    @property
    def in_string(self) -> bool:
        """Whether what comes next stands inside a string."""
        return self._state in (_STRING, _ESCAPE, _HEX)

    def feed(self, text: str) -> list[FieldDelta]:
        """Read the next piece; give what it adds to each value, in order."""
        if self.broken:
            return []
        if not text.isascii():
            text = _without_surrogates(text)
        # Nearly every feed is a piece from the middle of a long string.
        if self._state == _STRING and '"' not in text and "\\" not in text and not self._high and not self._in_key:
            return [FieldDelta(self._path, text)] if text else []
        at = self._read(text, 0)
        if at < len(text) and text[at:].strip(BLANKS):
            self.broken = True
        out, self._out = self._out, []
        return out

    def skip(self, text: str, at: int) -> int:
        """Read on from `at`, as far as the value goes: to its end, to what breaks it, or to the end of the text."""
        return self._read(text, at)

    def _read(self, text: str, at: int) -> int:
        self._quote = -1
        end = len(text)
        self._in_bulk = self._gives and end - at > _BULK
        while at < end and not self.broken and not self.complete:
            state = self._state
            if state >= _STRING:
                at = _RUNS[state](self, text, at)
                continue
            mark = text[at]
            if mark in BLANKS:
                at += 1
            elif move := _MOVES[state].get(mark):
                move(self)
                if self._state != _SCALAR:  # whose first character belongs to the run
                    at += 1
            else:
                self.broken = True
        if self._pieces and not self._in_key:
            self._give(self._take(), done=False)
        self._closed = ""
        return at

    def _give(self, text: str, *, done: bool) -> None:
        if self._gives:
            self._out.append(FieldDelta(self._path, text, done))

    def _take(self) -> str:
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    # Moves: one structural character.

    def _open_object(self) -> None:
        self._open("", _FIRST_KEY)

    def _open_array(self) -> None:
        self._open(0, _FIRST_ITEM)

    def _open(self, key: str | int, state: int) -> None:
        self._keys.append(key)
        self._state = state
        self.broken = len(self._keys) > self._deepest

    def _close_empty(self) -> None:
        empty = "{}" if self._state == _FIRST_KEY else "[]"
        self._keys.pop()
        if self._keys:
            self._path = tuple(self._keys)
            self._give(empty, done=True)
        self._value_ended()

    def _close(self) -> None:
        self._keys.pop()
        self._value_ended()

    def _value_ended(self) -> None:
        self._room -= 1
        if not self._keys:
            self._state = _END
            self.complete = True
        elif isinstance(self._keys[-1], int):
            self._state = _AFTER_ITEM
        else:
            self._state = _AFTER_PAIR
        if not self._room and self._keys:
            self.broken = True

    def _next_item(self) -> None:
        index = self._keys[-1]
        assert isinstance(index, int)
        self._keys[-1] = index + 1
        self._state = _VALUE

    def _next_key(self) -> None:
        self._state = _KEY

    def _next_value(self) -> None:
        self._state = _VALUE

    def _start_key(self) -> None:
        self._in_key = True
        self._length = 0
        self._state = _STRING

    def _start_string(self) -> None:
        self._path = tuple(self._keys)
        self._state = _STRING

    def _start_scalar(self) -> None:
        self._path = tuple(self._keys)
        self._length = 0
        self._scalar = ""
        self._state = _SCALAR

    # Runs: read on from `at`, say how far.

    def _read_string(self, text: str, at: int) -> int:
        if self._high and text[at] != "\\":
            self._end_high()
        if self._quote < at:
            quote = text.find('"', at)
            self._quote = quote if quote >= 0 else len(text)
        quote = self._quote
        slash = text.find("\\", at, quote)
        end = quote if slash < 0 else slash
        if self._in_key and end - at > self._longest - self._length:
            self.broken = True
            return at + self._longest - self._length
        if slash >= 0 and self._in_bulk and not self._in_key and not self._high:
            decoded = self._decode(text, at)
            if decoded >= 0:
                return decoded
        if at < end:
            self._keep(text[at:end])
        if slash >= 0:
            self._state = _ESCAPE
        elif quote == len(text):
            return end
        else:
            self._end_string()
        return end + 1

    def _decode(self, text: str, at: int) -> int:
        """Decodes the rest of a string at once, as far as it has come whole; -1, and nothing was done, where it must
        be read step by step: an escape that is wrong, half of a surrogate pair. Then it is not tried again for this
        text.
        """
        self._closed = self._closed or text[: _whole_escapes(text)] + '"'
        last = len(self._closed) - 1
        try:
            decoded, end = _scan(self._closed, at, False) if at < last else ("", at)
            if not decoded.isascii():
                decoded.encode()
        except ValueError:
            end = at
        if end == at:
            self._in_bulk = False
            return -1
        self._pieces.append(decoded)
        if end > last:
            return last
        self._end_string()
        return end

    def _end_string(self) -> None:
        if self._in_key:
            self._in_key = False
            self._keys[-1] = self._take()
            self._state = _COLON
        else:
            self._give(self._take(), done=True)
            self._value_ended()

    def _read_escape(self, text: str, at: int) -> int:
        mark = text[at]
        if mark == "u":
            self._hex = ""
            self._state = _HEX
        elif char := _ESCAPES.get(mark):
            self._end_high()
            self._keep(char)
            self._state = _STRING
        else:
            self.broken = True
        return at + 1

    def _read_hex(self, text: str, at: int) -> int:
        digits = text[at : at + 4 - len(self._hex)]
        other = digits.lstrip(_HEX_DIGITS)
        if other:
            self.broken = True
            return at + len(digits) - len(other)
        self._hex += digits
        if len(self._hex) == 4:
            self._keep_unit(int(self._hex, 16))
            self._state = _STRING
        return at + len(digits)

    def _keep_unit(self, unit: int) -> None:
        """Keep one UTF-16 unit; a pair of surrogates is one character."""
        if self._high and 0xDC00 <= unit <= 0xDFFF:
            self._keep(chr(0x10000 + (self._high - 0xD800) * 0x400 + (unit - 0xDC00)))
            self._high = 0
            return
        self._end_high()
        if 0xD800 <= unit <= 0xDBFF:
            self._high = unit
        else:
            self._keep(_LONE_SURROGATE if 0xDC00 <= unit <= 0xDFFF else chr(unit))

    def _end_high(self) -> None:
        """No low surrogate came to the high one, if there was one."""
        if self._high:
            self._high = 0
            self._keep(_LONE_SURROGATE)

    def _keep(self, text: str) -> None:
        if self._in_key:
            self._length += len(text)
            if self._length > self._longest:
                self.broken = True
                return
        self._pieces.append(text)

    def _read_scalar(self, text: str, at: int) -> int:
        start, end = at, min(len(text), at + self._longest - self._length)
        scalar = self._scalar
        while at < end and (longer := _SCALARS[scalar].get(text[at])):
            scalar = longer
            at += 1
        self._scalar = scalar
        self._length += at - start
        done = at < len(text) and scalar in _WHOLE_SCALARS and text[at] in _AFTER_SCALAR
        if done or at > start:
            self._give(text[start:at], done=done)
        if done:
            self._value_ended()
        elif at < len(text):
            self.broken = True
        return at


def _whole_escapes(text: str) -> int:
    """How much of a text does not belong to an escape that its end cuts."""
    slash = text.rfind("\\", max(0, len(text) - 5))
    if slash < 0 or (len(text) - slash > 1 and text[slash + 1] != "u"):
        return len(text)
    before = slash
    while before and text[before - 1] == "\\":
        before -= 1
    return len(text) if (slash - before) % 2 else slash


def _without_surrogates(text: str) -> str:
    """Raw surrogates, which no screen or file takes, become U+FFFD, one for one so that no cut matters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(_LONE_SURROGATE if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


_Move = Callable[[JsonReader], None]
_Run = Callable[[JsonReader, str, int], int]

_VALUE_STARTS: Final[Mapping[str, _Move]] = {
    '"': JsonReader._start_string,
    "{": JsonReader._open_object,
    "[": JsonReader._open_array,
    **dict.fromkeys("-0123456789tfn", JsonReader._start_scalar),
}
_MOVES: Final[Mapping[int, Mapping[str, _Move]]] = {
    _VALUE: _VALUE_STARTS,
    _FIRST_ITEM: {**_VALUE_STARTS, "]": JsonReader._close_empty},
    _FIRST_KEY: {'"': JsonReader._start_key, "}": JsonReader._close_empty},
    _KEY: {'"': JsonReader._start_key},
    _COLON: {":": JsonReader._next_value},
    _AFTER_ITEM: {",": JsonReader._next_item, "]": JsonReader._close},
    _AFTER_PAIR: {",": JsonReader._next_key, "}": JsonReader._close},
}
_RUNS: Final[Mapping[int, _Run]] = {
    _STRING: JsonReader._read_string,
    _ESCAPE: JsonReader._read_escape,
    _HEX: JsonReader._read_hex,
    _SCALAR: JsonReader._read_scalar,
}


def _steps(**steps: str) -> dict[str, str]:
    """A row of _SCALARS: which characters lead on to which step."""
    return {char: step for step, chars in steps.items() for char in chars}


_DIGITS: Final = "0123456789"
_SCALARS: Final[Mapping[str, Mapping[str, str]]] = {
    "": {**_steps(minus="-", zero="0", whole="123456789"), "t": "t", "f": "f", "n": "n"},
    "minus": _steps(zero="0", whole="123456789"),
    "zero": _steps(point=".", e="eE"),
    "whole": _steps(whole=_DIGITS, point=".", e="eE"),
    "point": _steps(fraction=_DIGITS),
    "fraction": _steps(fraction=_DIGITS, e="eE"),
    "e": _steps(sign="+-", exponent=_DIGITS),
    "sign": _steps(exponent=_DIGITS),
    "exponent": _steps(exponent=_DIGITS),
    **{word[:n]: {word[n]: word[: n + 1]} for word in ("true", "false", "null") for n in range(1, len(word))},
    **{word: {} for word in ("true", "false", "null")},
}
_WHOLE_SCALARS: Final = frozenset({"zero", "whole", "fraction", "exponent", "true", "false", "null"})
_AFTER_SCALAR: Final = BLANKS + ",]}"
