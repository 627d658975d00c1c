"""Gemini's streamed arguments: values addressed by path, written as the JSON text that every other wire sends.

A model that streams its arguments sends `{"jsonPath": "$.recipe.steps[0]", "stringValue": "Boil", "willContinue":
true}`, then more of that value, then the next path. Models write arguments from left to right, so each value can be
written the moment it comes: containers open and close as the path moves on, nothing is kept but the path, and the cost
is that of the bytes that came.

What cannot be written in order is a fault: a list whose indexes jump or go back, a string that is left half way, a
value of no kind. A member that comes twice is written twice, and the strict reader of the arguments refuses it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..limits import DEFAULT_LIMITS, KIB, Limits

Step = str | int
"""The name of a member, or the index of an item."""

_BRACKETS = {str: "{}", int: "[]"}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HIGH = ("d8", "d9", "da", "db")  # how the first half of a surrogate pair begins
_LONGEST_INDEX = 9
_LONGEST_PATH = 16 * KIB


class NotInOrder(ValueError):
    """Why pieces of arguments make no JSON text, in words. Internal: the decoder makes it a `ProtocolError`."""


class PartialArg(msgspec.Struct, gc=False):
    """One piece, as it is sent."""

    json_path: Any = msgspec.field(default=None, name="jsonPath")
    string: Any = msgspec.field(default=None, name="stringValue")
    number: Any = msgspec.field(default=None, name="numberValue")
    boolean: Any = msgspec.field(default=None, name="boolValue")
    null: Any = msgspec.field(default=msgspec.UNSET, name="nullValue")
    will_continue: Any = msgspec.field(default=None, name="willContinue")


class ArgumentWriter:
    """The arguments of one call: `add` each piece, `close` at the end of the call; both give the text to append."""

    __slots__ = ("_deepest", "_open", "_path", "_steps")

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._deepest = limits.depth
        self._steps: tuple[Step, ...] = ()
        self._path = ""
        self._open = False  # a string that goes on

    @property
    def begun(self) -> bool:
        """Whether anything was written."""
        return bool(self._steps)

    def add(self, piece: PartialArg) -> str:
        """The text that this piece adds."""
        path = piece.json_path
        if self._open:
            if path != self._path:
                raise NotInOrder(f"a string goes on, and {_shown(path)} comes")
            return self._more(piece)
        if type(path) is not str:
            raise NotInOrder(f"a piece of the arguments has no path but {_shown(path)}")
        steps = parse_path(path)
        if len(steps) > self._deepest:
            raise NotInOrder(f"the arguments are nested deeper than {self._deepest} levels")
        value = self._value(piece)
        text = self._move(steps) + value
        self._steps, self._path = steps, path
        return text

    def more(self, piece: PartialArg) -> str | None:
        """As `add`, for a piece that only continues the string that is open, and is not its last; None for others."""
        text = piece.string
        if (
            self._open
            and piece.json_path == self._path
            and piece.will_continue is True
            and type(text) is str
            and piece.number is None
            and piece.boolean is None
            and piece.null is msgspec.UNSET
        ):
            return _encode(text)[1:-1].decode()
        return None

    def close(self) -> str:
        """The text that ends the arguments; nothing when there were none."""
        if self._open:
            raise NotInOrder(f"the call ended inside the string at {_shown(self._path)}")
        return self._closing(0)

    def _more(self, piece: PartialArg) -> str:
        sent = "" if piece.string is None else piece.string
        if type(sent) is not str or not _is_only_text(piece):
            raise NotInOrder(f"a string at {_shown(self._path)} goes on as something else")
        text = _quoted(sent)[1:-1]
        if piece.will_continue is True:
            return text
        self._open = False
        return text + '"'

    def _value(self, piece: PartialArg) -> str:
        goes_on = piece.will_continue is True
        if type(piece.string) is str and _is_only_text(piece):
            self._open = goes_on
            quoted = _quoted(piece.string)
            return quoted[:-1] if goes_on else quoted
        texts = []
        if piece.string is not None:
            texts.append("")
        if piece.number is not None:
            texts.append(_number(piece.number))
        if piece.boolean is not None:
            texts.append({True: "true", False: "false"}[piece.boolean] if type(piece.boolean) is bool else "")
        if piece.null is not msgspec.UNSET:
            texts.append("null" if piece.null in (None, "NULL_VALUE") or type(piece.null) is int else "")
        if len(texts) != 1 or not texts[0] or goes_on:
            raise NotInOrder(f"the piece at {_shown(piece.json_path)} holds no value that can be written")
        return texts[0]

    def _move(self, steps: tuple[Step, ...]) -> str:
        """Closes what the path leaves and opens what it enters, up to the place of the value."""
        last = self._steps
        if not last:
            return _opening(steps, 0)
        shared = 0
        most = min(len(last), len(steps)) - 1
        while shared < most and last[shared] == steps[shared] and type(last[shared]) is type(steps[shared]):
            shared += 1
        before, step = last[shared], steps[shared]
        if type(before) is not type(step):
            raise NotInOrder("the arguments hold a list and an object in one place")
        if isinstance(step, str):
            member = _quoted(step) + ":"
        elif isinstance(before, int) and step == before + 1:
            member = ""
        else:
            raise NotInOrder(f"item {step} of a list comes after item {before}")
        return f"{self._closing(shared + 1)},{member}{_opening(steps, shared + 1)}"

    def _closing(self, level: int) -> str:
        """Ends every container that is open from this level on, the innermost first."""
        return "".join(_BRACKETS[type(step)][1] for step in reversed(self._steps[level:]))


def _opening(steps: tuple[Step, ...], level: int) -> str:
    """Begins the containers from this level down to the value's place."""
    made = []
    for step in steps[level:]:
        if isinstance(step, str):
            made.append(f"{{{_quoted(step)}:")
        elif step == 0:
            made.append("[")
        else:
            raise NotInOrder(f"a list begins with item {step}")
    return "".join(made)


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path such as `$.a['b c'][0]`: the part of RFC 9535 that names exactly one place.

    The first names a member of the arguments themselves. `NotInOrder` for everything else.
    """
    if path[:1] != "$" or len(path) > _LONGEST_PATH:
        raise NotInOrder(f"{_shown(path)} is no path from the root")
    steps: list[Step] = []
    at, end = 1, len(path)
    while at < end:
        if path[at] == ".":
            start = at + 1
            at = min(where if where >= 0 else end for where in (path.find(".", start), path.find("[", start)))
            name = path[start:at]
            if not name or name == "*":
                raise NotInOrder(f"{_shown(path)} does not name one place")
            steps.append(name)
        elif path[at] == "[":
            step, at = _bracketed(path, at + 1)
            steps.append(step)
        else:
            raise NotInOrder(f"{_shown(path)} is no path")
    if not steps or not isinstance(steps[0], str):
        raise NotInOrder(f"{_shown(path)} is no member of the arguments")
    return tuple(steps)


def _bracketed(path: str, at: int) -> tuple[Step, int]:
    """The step whose bracket opened before `at`, and where the path goes on."""
    quote = path[at : at + 1]
    if quote == "'" or quote == '"':
        name, at = _quoted_name(path, at + 1, quote)
        if path[at : at + 1] != "]":
            raise NotInOrder(f"{_shown(path)} is no path")
        return name, at + 1
    close = path.find("]", at)
    digits = path[at:close] if close >= 0 else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_INDEX):
        raise NotInOrder(f"{_shown(path)} does not name one place")
    return int(digits), close + 1


def _quoted_name(path: str, at: int, quote: str) -> tuple[str, int]:
    made: list[str] = []
    end = -1
    while True:
        if end < at:
            end = path.find(quote, at)
            if end < 0:
                raise NotInOrder(f"{_shown(path)} has no end")
        slash = path.find("\\", at, end)
        if slash < 0:
            made.append(path[at:end])
            return "".join(made), end + 1
        made.append(path[at:slash])
        char = path[slash + 1]
        at = slash + 2
        if char == "u":
            paired = path[at : at + 2].lower() in _HIGH and path[at + 4 : at + 6] == "\\u"
            length = 10 if paired else 4
            try:
                made.append(msgspec.json.decode(f'"\\u{path[at : at + length]}"', type=str))
            except (msgspec.MsgspecError, UnicodeError):
                raise NotInOrder(f"{_shown(path)} holds an escape that is none") from None
            at += length
        else:
            made.append(_ESCAPES.get(char, char))


def _is_only_text(piece: PartialArg) -> bool:
    return piece.number is None and piece.boolean is None and piece.null is msgspec.UNSET


_encode = msgspec.json.Encoder().encode


def _quoted(text: str) -> str:
    return _encode(text).decode()


def _number(value: Any) -> str:
    """The number as JSON text; empty for what is none."""
    return _encode(value).decode() if type(value) in (int, float) else ""


def _shown(value: Any) -> str:
    return repr(value)[:80] if isinstance(value, (str, int, float)) or value is None else "something else"
