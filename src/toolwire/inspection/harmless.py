"""Text of models, tools and servers as part of a page: nothing in it is markup, nothing in it is hidden."""

from __future__ import annotations

from html import escape

from ..approval.hidden import is_hidden, mark


class _Marks(dict[int, str]):
    """For `str.translate`: what each character is shown as, worked out once for each."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        shown = mark(char) if code not in (0x09, 0x0A) and is_hidden(char) else char
        self[code] = shown
        return shown


_MARKS = _Marks()


def harmless(text: str) -> str:
    """The text for any place in a page, in an attribute too. Line ends and tabs stay; what nobody would see, or what
    turns the reading direction around, is a mark.
    """
    if not (text.isascii() and text.isprintable()):
        text = text.replace("\r\n", "\n").translate(_MARKS)
    return escape(text)
