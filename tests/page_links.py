"""The links and headings of a Markdown page."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token


def links(page: str) -> list[str]:
    """Targets of links and images, those in HTML too, in order."""
    return list(_targets(MarkdownIt().enable("table").parse(page)))


def anchors(page: str) -> set[str]:
    """What `#…` can name: the headings as GitHub writes them, and ids in HTML."""
    made: set[str] = set()
    tokens = MarkdownIt().parse(page)
    for heading, text in pairwise(tokens):
        if heading.type == "heading_open":
            plain = "".join(each.content for each in text.children or () if each.type in ("text", "code_inline"))
            kept = "".join(char for char in plain.lower() if char.isalnum() or char in " -_")
            made.add(kept.replace(" ", "-"))
    return made | {value for name, value in _attributes(tokens) if name in ("id", "name")}


def _targets(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("link_open", "image"):
            yield str(token.attrs["href" if token.type == "link_open" else "src"])
        elif token.type in ("html_block", "html_inline"):
            yield from (value for name, value in _attributes([token]) if name in ("href", "src", "srcset"))
        yield from _targets(token.children or [])


def _attributes(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    """Of all HTML elements."""
    for token in tokens:
        if token.type in ("html_block", "html_inline"):
            parser = _Attributes()
            parser.feed(token.content)
            yield from parser.found
        yield from _attributes(token.children or [])


class _Attributes(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(name, value or "") for name, value in attrs]
