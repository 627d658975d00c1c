"""Text that was pasted: made harmless, put behind a label where it is long, and read as paths where files were dropped.

What is pasted may come from anywhere. Characters that a terminal obeys or that hide a message are shown; those that
letters of many languages are written with stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Container
from urllib.parse import unquote, urlsplit

MOST_CHARACTERS = 2_000
MOST_LINES = 20
"""What is longer goes behind a label."""
_MOST_PATHS = 20
_PATH_CHARACTERS = 4_096

_SHOWN: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **{code: f"<U+{code:04X}>" for code in range(0x80, 0xA0)},
    # What turns the order of letters round, and tags, which only machines read.
    **{code: f"<U+{code:04X}>" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080))},
    **{code: f"<U+{code:04X}>" for code in range(0xD800, 0xE000)},
    0x2028: "\n",
    0x2029: "\n",
    0x85: "\n",
    0xFEFF: "",
}


def harmless(text: str) -> str:
    """The text with plain line ends, and with everything shown that would be obeyed or is hidden."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_SHOWN)


def is_long(text: str) -> bool:
    """Whether it would fill the prompt."""
    return len(text) > MOST_CHARACTERS or text.count("\n") >= MOST_LINES


def label(text: str, taken: Container[str], number: int = 1) -> str:
    """What stands for it in the prompt: `[pasted 134 lines #1]`; with the next higher number where it is taken."""
    lines = text.count("\n") + (not text.endswith("\n"))
    size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
    while (made := f"[pasted {size} #{number}]") in taken:
        number += 1
    return made


def dropped_files(text: str, root: str) -> str:
    """The mentions for a text that is nothing but paths of files that are there; empty for any other text.

    Terminals paste what is dropped on them in quotes, with backslashes before spaces, or as a `file:` address.
    """
    text = text.strip()
    if not text or len(text) > _PATH_CHARACTERS or "\n" in text:
        return ""
    if not text.startswith(("/", "'/", '"/', "file://", "~/")):
        return ""
    words = [text] if os.path.exists(text) else _words(text)
    paths = [_path(word) for word in words]
    if not paths or len(paths) > _MOST_PATHS or not all(path and os.path.exists(path) for path in paths):
        return ""
    return " ".join(_mention(path, root) for path in paths)


def _words(text: str) -> list[str]:
    """The words of a line as a shell reads them; none where a quote is open."""
    words: list[str] = []
    word, quote, begun = "", "", False
    at = 0
    while at < len(text):
        char = text[at]
        if quote:
            if char == quote:
                quote = ""
            else:
                word += char
        elif char in "'\"":
            quote, begun = char, True
        elif char == "\\" and os.sep == "/":
            at += 1
            word += text[at : at + 1]
        elif char.isspace():
            if word or begun:
                words.append(word)
            word, begun = "", False
        else:
            word += char
        at += 1
    if quote:
        return []
    return [*words, word] if word or begun else words


def _path(word: str) -> str:
    if word.startswith("file://"):
        try:
            address = urlsplit(word)
        except ValueError:
            return ""
        return unquote(address.path) if address.netloc in ("", "localhost") else ""
    path = os.path.expanduser(word)
    return path if os.path.isabs(path) else ""


def _mention(path: str, root: str) -> str:
    base = os.path.join(root, "")
    path = path[len(base) :] if root and path.startswith(base) and path != base else path
    return f'@"{path}"' if any(char.isspace() for char in path) else f"@{path}"
