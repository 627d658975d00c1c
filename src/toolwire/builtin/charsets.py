"""Bytes of the web as text, whatever encoding they are in: only of encodings that pages have."""

from __future__ import annotations

import codecs

_SPACE = " \t\n\r\f"


def decode_text(data: bytes, charset: str = "", *, markup: bool = False) -> str:
    """Bytes of the web as text: by their byte order mark, by what the server says, by what the markup says, else UTF-8.

    Whatever does not fit becomes U+FFFD.
    """
    for mark, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    codec = _codec(charset) or (_codec(_declared(data[:1024])) if markup else "")
    return data.decode(codec or "utf-8", "replace")


_AS_BROWSERS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
_NAMES = (
    "utf-8 utf-16-le utf-16-be cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp866 cp874 koi8-r "
    "koi8-u iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-11 iso8859-13 "
    "iso8859-14 iso8859-15 iso8859-16 mac-roman mac-cyrillic gb18030 big5 big5hkscs cp932 euc_jp iso2022_jp cp949"
)
_TAKEN = frozenset(_NAMES.split())
"""Encodings of pages. Python knows more, which a page could harm with: some take quadratic time, UTF-7 hides tags."""


def _codec(label: str) -> str:
    """Python's name for an encoding that pages may have, empty for any other."""
    label = label.strip(_SPACE + "\"'")
    if not label or len(label) > 40 or not label.isascii() or not label.isprintable():
        return ""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return ""
    name = _AS_BROWSERS.get(name, name)
    return name if name in _TAKEN else ""


def _declared(start: bytes) -> str:
    """What `<meta charset=…>` or an XML declaration at the start of a page says."""
    text = start.decode("latin-1").lower()
    for sign in ("charset", "encoding"):
        place = text.find(sign)
        while place >= 0:
            rest = text[place + len(sign) :].lstrip(_SPACE)
            if rest.startswith("="):
                value = rest[1:].lstrip(_SPACE + "\"'")
                end = next((at for at, char in enumerate(value) if char in _SPACE + "\"';?>/"), len(value))
                # Markup that could be read this far is not UTF-16, whatever it says.
                return "utf-8" if value.startswith("utf-16") else value[:end]
            place = text.find(sign, place + 1)
    return ""
