"""`read_file` and `list_directory`: looking, and changing nothing.

Both open beneath the roots of their call (`files.beneath`), and say in their answers what they left out and how to get
at it.
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import ConfigError, FileRefused
from ..files.beneath import quoted
from ..files.excerpt import SECONDS, Excerpt, TooSlow, read_excerpt
from ..tools.definition import ToolDefinition
from ..tools.function import as_definition, tool
from .listing import MAX_DEPTH, list_folder, size_words
from .paths import real_path, roots, shown, with_near_names

MAX_LINES = 2_000
MAX_CHARACTERS = 98_000
"""What one answer holds: below what a result may have, so that it is never cut in its middle."""


def reading_tools() -> list[ToolDefinition]:
    """The tools that read files and list folders."""
    return [replace(as_definition(each), confined=True) for each in (read_file, list_directory)]


@tool(risk="read", paths=["path"])
def read_file(path: str, start_line: int = 1, lines: int = MAX_LINES) -> str:
    """Read a text file, whole or some lines of it. Each line comes as its number, a tab and its text.

    Args:
        path: The file, such as src/app.py
        start_line: The first line to read, from 1; below 0 it counts from the end (-20: the last 20 lines)
        lines: How many lines, at most 2000
    """
    if lines < 1:
        raise ConfigError(f"lines is {lines}; give a number from 1 to {MAX_LINES:,}")
    real = real_path(path)
    try:
        with roots().file(real) as descriptor:
            found = read_excerpt(descriptor, start_line, min(lines, MAX_LINES), MAX_CHARACTERS)
    except FileRefused as error:
        raise with_near_names(error) from None
    except TooSlow:
        raise ConfigError(
            f"line {start_line:,} of {quoted(shown(real))} was not reached in {SECONDS:.0f} seconds; find what you "
            "need with search_files, or read lines nearer to the start"
        ) from None
    except OSError as error:
        raise FileRefused(f"{quoted(shown(real))} cannot be read: {error.strerror}", path=real) from None
    return _told(found, quoted(shown(real)))


@tool(risk="read", paths=["path"])
def list_directory(path: str = ".", depth: int = 1) -> str:
    """List what is in a folder: folders first, then files with their sizes. Dotfiles are listed too.

    Args:
        path: The folder; without it the working folder
        depth: How many levels of folders to list, 1 to 5
    """
    if not 1 <= depth <= MAX_DEPTH:
        raise ConfigError(f"depth is {depth}; give a number from 1 to {MAX_DEPTH}")
    try:
        return list_folder(real_path(path), depth)
    except FileRefused as error:
        raise with_near_names(error) from None


def _told(found: Excerpt, name: str) -> str:
    if not found.contents.encoding:
        return f"{name} is no text but {found.contents.name} ({size_words(found.size)}); it is not shown."
    if found.total == 0:
        return f"{name} is empty."
    if not found.lines:
        raise ConfigError(f"{name} has {_lines(found.total or 0)}; line {found.first:,} is past its end")
    width = max(6, len(str(found.first + len(found.lines) - 1)))
    text = [f"{number:{width}}\t{line}" for number, line in enumerate(found.lines, found.first)]
    return "\n".join([*text, *(f"[{note}]" for note in _notes(found))])


def _notes(found: Excerpt) -> list[str]:
    last = found.first + len(found.lines) - 1
    span = f"lines {found.first:,}-{last:,}" if last > found.first else f"line {last:,}"
    notes = []
    if found.first < 0:
        more = f"; read on with start_line={last + 1}" if last < -1 else ""
        notes.append(f"numbered from the end: {size_words(found.size)} are too much to count lines in{more}")
    elif found.total is None or last < found.total:
        total = f"{found.total:,}" if found.total is not None else f"many more in {size_words(found.size)}"
        notes.append(f"{span} of {total}; read on with start_line={last + 1}")
    elif found.first > 1:
        notes.append(f"{span} of {found.total:,}: the end of the file")
    contents = found.contents
    if contents.is_guess:
        notes.append(f"this is not UTF-8; it looks like {contents.name} and is shown as that")
    elif contents.name != "UTF-8":
        notes.append(f"encoding: {contents.name}")
    if found.is_damaged:
        notes.append(f"some bytes are not {contents.encoding.upper()}; each is shown as \ufffd")
    if contents.bare_returns:
        notes.append("lines end with CR alone")
    elif found.returns:
        ended = len(found.lines) - (not found.is_ended)
        notes.append("lines end with CR LF" if found.returns >= ended else "some lines end with CR LF, some with LF")
    return notes


def _lines(count: int) -> str:
    return f"{count:,} lines" if count != 1 else "1 line"
