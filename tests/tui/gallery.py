"""Pictures of the screen, made in every run of the tests; TOOLWIRE_GALLERY=1 puts them into docs/gallery."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from textual.app import App

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
_FONTS = re.compile(r"@font-face\s*\{[^}]*\}\s*")
_TIMES = re.compile(r"(?<![\w.])(\d+)(?=&#160;ms\b)|(?<![\w.])(\d+\.\d)(?=&#160;s\b)")
_TEXT = re.compile(r' textLength="[\d.]+"([^>]*>)([^<]*)(?=</text>)')
_FOLDERS = re.compile(r"/tmp/pytest-of-[^<&\s]*")
_UNIQUE = re.compile(r"terminal-\d+")


PROJECT = "/home/me/project"
"""The folder that pictures show."""


def keep(app: App[Any], name: str, title: str, words: str = "", *, folder: str = "") -> str:
    """The screen of `app` as SVG, kept as `NN-some-words` where pictures are wanted.

    `title` stands above the picture; `words`, a sentence or two, beside it. Times and ids are the same in every run,
    and nothing is loaded from elsewhere. With `folder`, whose name is as long as that of `PROJECT` and is shown as it,
    every run makes the same picture, which must be the one that is kept.
    """
    app.refresh()
    picture = app.export_screenshot(title=title)
    picture = stable(picture.replace(folder, PROJECT) if folder else picture)
    assert "</svg>" in picture
    if os.environ.get("TOOLWIRE_GALLERY") == "1":
        GALLERY.mkdir(parents=True, exist_ok=True)
        (GALLERY / f"{name}.svg").write_text(picture, encoding="utf-8")
        if words:
            (GALLERY / f"{name}.txt").write_text(f"{words}\n", encoding="utf-8")
    elif folder and len(folder) == len(PROJECT):
        is_same = picture == (GALLERY / f"{name}.svg").read_text(encoding="utf-8")
        assert is_same, f"docs/gallery/{name}.svg is outdated: run this test with TOOLWIRE_GALLERY=1"
    return picture


def stable(picture: str) -> str:
    """The same picture whenever it is taken: no times of this run, no ids of it, no fonts from elsewhere."""
    picture = _FONTS.sub("", picture)
    picture = _TEXT.sub(_timeless, picture)
    # A line keeps its length: a picture gives the width of each.
    picture = _FOLDERS.sub(lambda found: PROJECT.ljust(len(found[0]), "\N{NO-BREAK SPACE}"), picture)
    return _UNIQUE.sub("terminal", picture)


def _timeless(found: re.Match[str]) -> str:
    """A piece of text with the same times in each run, and then without the width that it had in this one."""
    words = _TIMES.sub(lambda time: "12" if time[1] else "1.2", found[2])
    return found[0] if words == found[2] else found[1] + words
