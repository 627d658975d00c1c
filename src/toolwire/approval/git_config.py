"""What a git configuration file says, read without running git: the file may name programs that git would run.

It is read as git reads it: sections, subsections, values over several lines, quotes, comments. A file that git itself
would refuse raises `ValueError`. The time is linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterator

_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_BLANK = frozenset(" \t\v\f\r\n")
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}


def settings(text: str) -> Iterator[tuple[str, str]]:
    """Each key of the file with its value: `section.subsection.key`, section and key in small letters.

    A key without a value is `true`, as to git.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n") + "\n"
    place, section = 0, ""
    while place < len(text):
        char = text[place]
        if char in "#;":
            place = text.index("\n", place)
        elif char in _BLANK:
            place += 1
        elif char == "[":
            section, place = _section(text, place + 1)
        elif char.isascii() and char.isalpha() and section:
            end = place
            while text[end] in _KEY:
                end += 1
            key = f"{section}.{text[place:end].lower()}"
            while text[end] in " \t":
                end += 1
            if text[end] == "=":
                value, place = _value(text, end + 1)
            elif text[end] == "\n":
                value, place = "true", end
            else:
                raise ValueError(f"{key} is followed by {text[end]!r}")
            yield key, value
        else:
            raise ValueError(f"{char!r} begins neither a section nor a key")


def _section(text: str, place: int) -> tuple[str, int]:
    end = place
    while text[end] in _KEY or text[end] == ".":
        end += 1
    name = text[place:end].lower()
    if text[end] == "]":
        return name, end + 1
    while text[end] in " \t":
        end += 1
    if text[end] != '"':
        raise ValueError("a section is not closed")
    pieces: list[str] = []
    end += 1
    while text[end] != '"':
        if text[end] == "\\":
            end += 1
        if text[end] == "\n":
            raise ValueError("a section is not closed")
        pieces.append(text[end])
        end += 1
    if text[end + 1] != "]":
        raise ValueError("a section is not closed")
    return f"{name}.{''.join(pieces)}", end + 2


def _value(text: str, place: int) -> tuple[str, int]:
    """The value that begins here, and where its line ends."""
    pieces: list[str] = []
    quoted = False
    kept = 0
    """How many pieces there were after the last that is no blank: blanks at the end do not count."""
    while True:
        char = text[place]
        if char == "\n":
            if quoted:
                raise ValueError("a quote is not closed")
            return "".join(pieces[:kept]), place
        if char in "#;" and not quoted:
            place = text.index("\n", place)
            continue
        place += 1
        if char in _BLANK and not quoted:
            if kept:
                pieces.append(char)
            continue
        if char == "\\":
            escaped = text[place] if place < len(text) else ""
            place += 1
            if escaped == "\n":
                if place >= len(text):
                    raise ValueError("the last line goes on")
                continue
            if escaped not in _ESCAPES:
                raise ValueError(f"\\{escaped} means nothing")
            pieces.append(_ESCAPES[escaped])
        elif char == '"':
            quoted = not quoted
            continue
        else:
            pieces.append(char)
        kept = len(pieces)
