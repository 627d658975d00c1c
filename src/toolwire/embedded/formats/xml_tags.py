"""The tags of the `xml` format: names, attributes, and how text stands in an attribute."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ..scanner import Scanner, Wait

NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")
"""Characters of a tag's name."""
_ATTRIBUTE = NAME | {":"}
_ENTITIES = {"quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&"}
_ENTITY_LENGTH = 10
"""Characters of the longest entity between `&` and `;`: `#x0010FFFF`."""


class Tag(NamedTuple):
    """What follows the name in an opening tag."""

    attributes: dict[str, str]
    closed: bool
    """It ends with `/>`: nothing is in it."""


def peek_name(scanner: Scanner, among: Collection[str] = ()) -> Wait[tuple[str, str]]:
    """The name after the `<` that is next and the character after it, nothing of which is read.

    Both are empty where the name is longer than any that there is and, with `among` (in small letters), as soon as it
    can be none of these; the character is empty at the end of the answer.
    """
    longest = scanner.limits.name
    size = 1
    while size <= longest:
        text, start = scanner.text, scanner.at
        end = min(len(text), start + longest + 1)
        at = start + size
        while at < end and text[at] in NAME:
            at += 1
        word = text[start + 1 : at]
        if at < end:
            return word, text[at]
        size = at - start
        if size > longest or (among and not any(name.startswith(word.lower()) for name in among)):
            break
        if len((yield from scanner.need(size + 1))) <= size:
            return word, ""
    return "", ""


def read_attributes(scanner: Scanner) -> Wait[Tag | None]:
    """Reads a tag from the end of its name to its own end; None if it is malformed, unfinished or too long.

    Too long is more than `limits.held` since the last piece was given. How much was read of a tag that is none does not
    depend on where the text was cut.
    """
    attributes: dict[str, str] = {}
    while True:
        before = scanner.held_length
        yield from scanner.read_space()
        apart = scanner.held_length > before
        for end in (">", "/>"):
            if (yield from scanner.read_literal(end)):
                return None if scanner.over_held() else Tag(attributes, end == "/>")
        name = (yield from scanner.read_word(_ATTRIBUTE, scanner.limits.name)) if apart else ""
        if not name or name in attributes:
            return None
        yield from scanner.read_space()
        if not (yield from scanner.read_literal("=")):
            return None
        yield from scanner.read_space()
        quote = yield from scanner.need(1)
        if quote not in ('"', "'"):
            return None
        scanner.read_to(scanner.at + 1)
        value = yield from _read_quoted(scanner, quote)
        if value is None:
            return None
        attributes[name] = _decoded(value)


def _read_quoted(scanner: Scanner, quote: str) -> Wait[str | None]:
    """Reads on to this quote, and that; None if it does not come, or not within the bound."""
    pieces: list[str] = []
    while not scanner.over_held() and (yield from scanner.more()):
        end = min(scanner.find(quote), scanner.at + scanner.limits.held + 1 - scanner.held_length)
        pieces.append(scanner.read_to(end))
        if end < len(scanner.text) and not scanner.over_held():
            scanner.read_to(end + 1)
            return "".join(pieces)
    return None


def _decoded(value: str) -> str:
    """An attribute's text. What only looks like an entity stays as it is."""
    if "&" not in value:
        return value
    first, *rest = value.split("&")
    made = [first]
    for part in rest:
        end = part.find(";", 0, _ENTITY_LENGTH + 1)
        meant = _entity(part[:end]) if end > 0 else ""
        made.append(meant + part[end + 1 :] if meant else "&" + part)
    return "".join(made)


def _entity(name: str) -> str:
    """What an entity stands for; empty if there is none of this name."""
    if not name.startswith("#"):
        return _ENTITIES.get(name, "")
    digits, base = (name[2:], 16) if name[1:2] in ("x", "X") else (name[1:], 10)
    if not digits.isascii() or not digits.isalnum():
        return ""
    try:
        code = int(digits, base)
    except ValueError:
        return ""
    return "" if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)


def quoted(value: str) -> str:
    """An attribute's value with the quotes around it: what `read_attributes` reads as exactly this text."""
    for char, entity in (
        ("&", "&amp;"),
        ('"', "&quot;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\n", "&#10;"),
        ("\r", "&#13;"),
    ):
        value = value.replace(char, entity)
    return f'"{value}"'


def ends_name(after: str) -> bool:
    """Whether an opening tag's name can end before this character."""
    return after in (" ", "\t", "\r", "\n", ">", "/")
