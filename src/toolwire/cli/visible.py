"""Text of models, tools and servers made fit for a terminal: nothing in it is obeyed, nothing in it is hidden.

Escape sequences can clear a screen, forge an approval question or set a clipboard; bidirectional and zero-width
characters make a command read differently from what it is. All of them are shown, none is sent. Made for reading: what
a call would run is shown exactly, by `approval.shown`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..approval.hidden import is_hidden


class _Pictures(dict[int, str]):
    """For `str.translate`: what each character is shown as, worked out once for each."""

    def __missing__(self, code: int) -> str:
        if code in (0x09, 0x0A) or not is_hidden(chr(code)):
            shown = chr(code)
        elif code < 0x20:
            shown = chr(0x2400 + code)
        elif code == 0x7F:
            shown = "\u2421"
        else:
            shown = f"<U+{code:04X}>"
        self[code] = shown
        return shown


class _Escapes(dict[int, str]):
    """The same for JSON, where a character and its escape mean the same."""

    def __missing__(self, code: int) -> str:
        if code == 0x0A or not is_hidden(chr(code)):
            shown = chr(code)
        elif code < 0x10000:
            shown = f"\\u{code:04x}"
        else:
            high, low = divmod(code - 0x10000, 0x400)
            shown = f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
        self[code] = shown
        return shown


_PICTURES = _Pictures()
_ESCAPES = _Escapes()


def visible(text: str) -> str:
    """The text with every control, bidirectional and zero-width character shown; line ends and tabs stay."""
    if text.isprintable() and text.isascii():
        return text
    return text.replace("\r\n", "\n").translate(_PICTURES)


def one_line(text: str) -> str:
    """As `visible`, on one line."""
    return " ".join(visible(text).split())


def json_bytes(value: Any, *, indent: int = 0) -> bytes:
    """The value as JSON that means the same and holds no character a terminal would obey or hide."""
    data = msgspec.json.encode(value)
    if indent:
        data = msgspec.json.format(data, indent=indent)
    if data.isascii() and b"\x7f" not in data:
        return data
    return data.decode().translate(_ESCAPES).encode()
