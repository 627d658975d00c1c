"""`docs/gallery/index.md`: the pictures that the tests make, one after the other, with their captions."""

from __future__ import annotations

from html import unescape
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "gallery"
HEAD = """# Gallery

Pictures of the chat and of the commands. The tests make them from what is really on the screen, so that they are never
older than the code. This page is written by `make docs` from the files beside it.
"""
NONE = "There are no pictures here yet: the tests of the screen make them.\n"


def caption(picture: Path) -> str:
    """What stands above the picture in its frame; else what its name says: `02-parallel-calls` is Parallel calls."""
    title = picture.read_text().partition('-title"')[2].partition(">")[2].partition("<")[0]
    if title := unescape(title).replace("\xa0", " ").strip():
        return title
    stem = picture.stem
    number, _, rest = stem.partition("-")
    words = (rest if number.isdecimal() else stem).replace("-", " ").replace("_", " ")
    return words[:1].upper() + words[1:]


def gallery_page(folder: Path = FOLDER) -> str:
    """A heading and a picture for each file, in the order of their names."""
    parts = [HEAD]
    for picture in sorted(folder.glob("*.svg")) if folder.is_dir() else []:
        words = picture.with_suffix(".txt")
        said = words.read_text().strip() + "\n" if words.exists() else ""
        parts += [f"## {caption(picture)}\n", said, f"![{caption(picture)}]({picture.name})\n"]
    return "\n".join(part for part in parts if part) if parts[1:] else f"{HEAD}\n{NONE}"
