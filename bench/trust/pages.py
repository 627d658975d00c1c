"""E5: a page made to be slow takes time in proportion to its size, and gives no more text than is allowed."""

from __future__ import annotations

import sys
import time

from toolwire.builtin.page_text import TEXT_CHARACTERS, page_text

from . import Found

HOSTILE = [
    *("<div>", "<b><p>", "<a href=x>y</a>", "<![", "<!--", "<!---", "<!---->", "<a ", '<a b="', '<a b=">"', "<", "</"),
    *("</x", "<table><tr><td>", "<ul><li>", "<script>", "</script ", "<pre>", "<pre>\n", "&#9", "&a", "<div hidden>"),
    *("<blockquote><br>x", "<head>", "<svg><title>", "<b></i>", "<a href=y>z", "<textarea></textare", "<a a='", "<p ="),
    *("\0", "<title></", "<td>", "<p>x", "<li>x", "<br>x", "<a b=c'", "</p", "<!x", "<?", "--!>", "<img alt=x>", "a "),
]
BASE = "https://example.com/" + "p" * 1500 + "/"

PARTS = 8
SLACK = 0.1
"""Seconds that a busy machine may add."""


def hostile_pages(count: int, seed: int) -> Found:
    """Each piece repeated to `count` bytes, against an eighth of it: what is quadratic takes 64 times as long.

    The plan: 2,000,000, the largest page that is read, some 30 seconds.
    """
    found = Found()
    slowest = 0.0
    for piece in HOSTILE:
        small, _ = _seconds(piece, count // PARTS)
        large, characters = _seconds(piece, count)
        found.runs += 1
        slowest = max(slowest, large)
        if large > 3 * PARTS * small + SLACK:
            found.fault(f"{piece!r}: {large:.2f} s for {count:,} bytes, {small:.2f} s for {count // PARTS:,}")
        if characters > TEXT_CHARACTERS:
            found.fault(f"{piece!r} gave {characters:,} characters")
    found.words = f"{slowest:.1f} s at most for {count:,} bytes"
    return found


def _seconds(piece: str, size: int) -> tuple[float, int]:
    source = (piece * (size // len(piece) + 1))[:size]
    start = time.process_time()
    page = page_text(source, BASE)
    return time.process_time() - start, len(page.text)


if __name__ == "__main__":
    result = hostile_pages(int(sys.argv[1]), 1)
    print(result.runs, result.words, *result.faults, sep="\n")
