"""What of Markdown is read, and how words within a block look.

Nothing in a text is left out: HTML is text, the address of a link stands behind its words and is never opened from
here, what a reference means stays where it was written.
"""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.content import Content, Span

from ...cli.visible import one_line, visible

DEEPEST = 20
"""Lists and quotes within each other. What is deeper is shown as it was written."""
_ADDRESS = 500
"""Characters of an address that are shown."""

INLINE_CODE = "$text-accent on $foreground 8%"
_STYLES = {"em": "italic", "strong": "bold", "s": "strike", "link": "underline"}
_FAINT = "$foreground 55%"

_PARSER = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    .enable(["table", "strikethrough"])
    .disable(["reference", "html_block", "html_inline"])
)


def parse(source: str) -> list[Token]:
    """The blocks of a text, as tokens; their lines count from its beginning."""
    return _PARSER.parse(source)


def words(token: Token | None) -> Content:
    """What stands within a block."""
    made: list[str] = []
    spans: list[Span] = []
    open_: list[tuple[str, int, str]] = []
    at = 0

    def add(text: str, style: str = "") -> None:
        nonlocal at
        # Entities and addresses hold what the text itself did not: `&#27;` is an escape.
        text = visible(text)
        if style and text:
            spans.append(Span(at, at + len(text), style))
        made.append(text)
        at += len(text)

    for child in (token.children or ()) if token is not None else ():
        kind = child.type
        if kind.endswith("_open"):
            open_.append((kind.removesuffix("_open"), at, str(child.attrs.get("href", ""))))
        elif kind.endswith("_close") and open_:
            name, start, address = open_.pop()
            if at > start and name in _STYLES:
                spans.append(Span(start, at, _STYLES[name]))
            if name == "link":
                add(_address(address, "".join(made)[start:]), _FAINT)
        elif kind == "softbreak":
            add(" ")
        elif kind == "hardbreak":
            add("\n")
        elif kind == "code_inline":
            add(child.content, INLINE_CODE)
        elif kind == "image":
            add(f"[picture: {child.content}]" if child.content else "[picture]")
            add(_address(str(child.attrs.get("src", "")), ""), _FAINT)
        else:
            add(child.content.replace("\t", " "))
    return Content("".join(made), spans)


def _address(address: str, shown: str) -> str:
    """The address of a link, where its words do not say it."""
    address = one_line(address)
    if not address or address in (shown, f"mailto:{shown}", f"http://{shown}"):
        return ""
    return f" ({address[:_ADDRESS]}{'…' * (len(address) > _ADDRESS)})"
