"""`write_file`: a file with exactly this content, made or replaced whole."""

from __future__ import annotations

import codecs
from dataclasses import replace
from typing import Any

from ..errors import FileRefused
from ..files.differences import count_changed, count_lines, encoding_of, unified
from ..files.journal import Journal, digest_of
from ..files.replacing import read_content, replace_file
from ..tools.definition import ToolDefinition
from ..tools.function import as_definition, tool
from ..tools.running import Preview, this_call
from .paths import named, real_path, roots, shown


def writing_tools(journal: Journal | None = None) -> list[ToolDefinition]:
    """`write_file`. With a journal, what it replaces can be put back."""

    @tool(risk="write", paths=["path"])
    def write_file(path: str, content: str) -> str:
        """Write a text file: makes it, and the folders it lies in, or replaces all that it holds.

        To change some lines of a file that is there, use edit_file instead.

        Args:
            path: The file, from the working folder or absolute.
            content: All of the text, as it is to be in the file. Line ends are kept as given.
        """
        real = _target(path)
        seen = this_call().seen

        def change(before: bytes | None) -> bytes:
            check_seen(before, seen, path)
            return _encoded(content, before)

        done = replace_file(roots(), real, change, journal, tool="write_file")
        return _told(named(real), done.before, done.after)

    return [replace(as_definition(write_file), confined=True, preview=_preview)]


def state_of(content: bytes | None) -> str:
    """The mark of what a preview was worked out from."""
    return digest_of(content) or "no file"


def check_seen(now: bytes | None, seen: str, path: str) -> None:
    """Refuses where a person was shown the change of something else than what the file holds now."""
    if seen and seen != state_of(now):
        raise FileRefused(
            f"{path!r} was not changed: it is not any more what the person was shown the change of; read it again with "
            "read_file, then call again",
            path=path,
            why="changed",
        )


def _preview(arguments: dict[str, Any]) -> Preview:
    real = _target(arguments["path"])
    before = read_content(roots(), real)
    after = _encoded(arguments["content"], before)
    if before == after:
        return Preview(f"{named(real)} holds exactly this already.", state_of(before))
    return Preview(unified(before, after, shown(real)), state_of(before))


def _target(path: str) -> str:
    if not path or path.endswith("/"):
        raise FileRefused(f"{path!r} names no file; write its name too, such as 'notes.md'", path=path, why="name")
    return real_path(path)


def _encoded(content: str, before: bytes | None) -> bytes:
    """UTF-8, with the mark at the beginning where the file had it."""
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise FileRefused(
            f"the content cannot be written: character {error.start + 1:,} is half of a pair (a lone surrogate); write "
            "the whole character",
            why="content",
        ) from None
    marked = encoding_of(before) == "UTF-8 with BOM" and not data.startswith(codecs.BOM_UTF8)
    return codecs.BOM_UTF8 + data if marked else data


def _told(name: str, before: bytes | None, after: bytes) -> str:
    lines = count_lines(after)
    size = f"{lines:,} line{'' if lines == 1 else 's'}, {len(after):,} byte{'' if len(after) == 1 else 's'}"
    if before is None:
        return f"Wrote {name}: {size} (new file)."
    if before == after:
        return f"{name} held exactly this already: nothing was changed."
    changed = count_changed(before, after)
    words = f"Wrote {name}: {size} (replaced: +{changed.added:,} −{changed.removed:,} lines)."
    if encoding_of(before) in ("UTF-16", "UTF-32"):
        words += f" It was {encoding_of(before)} and is UTF-8 now."
    return words
