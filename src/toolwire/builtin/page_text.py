"""HTML as text that a model can read: headings, paragraphs, lists, tables, code, and links with whole addresses.

Tags are read as browsers read them, in one pass without going back and without a tree: building the tree that HTML
asks for takes quadratic time on hostile pages, where this takes time in proportion to the page. Scripts, styles,
navigation and what the page itself hides are left out.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urljoin

TEXT_CHARACTERS = 2_000_000
"""How much text a page may give: as many characters as it may have bytes. Links written out could grow it further."""
TITLE_CHARACTERS = 300
LINK_CHARACTERS = 2_000
"""A longer address of a link is left out; what the link says stays."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SPACE = " \t\n\r\f"
_BETWEEN = _SPACE + "/"
_NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_RAW = frozenset(("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"))
"""Elements without tags inside: all up to their own end tag is text."""
_VOID = _names("area base br col embed hr img input link meta param source track wbr")
_LEFT_OUT = _names("nav template svg math object canvas audio video select datalist dialog head")
_BLOCKS = _names(
    "address article aside blockquote body center details dd div dl dt fieldset figcaption figure footer form h1 h2 h3 "
    "h4 h5 h6 header hr html legend li main menu ol p pre search section summary table tr ul"
)
_IN_HEAD = _names("base link meta noscript template")
_LISTS = ("ul", "ol", "menu")
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_CLOSE = _names("li dt dd tr")
"""Blocks that follow each other line by line, without an empty line between them."""
_DEEPEST_LIST = 8
_FENCE = "```\n"


class PageText(NamedTuple):
    """What a page says. `cut`: there was more."""

    title: str
    text: str
    cut: bool = False


class _Tag(NamedTuple):
    name: str
    ends: bool
    inside: str
    """The tag after its name, as it was written."""


def page_text(source: str, base: str = "") -> PageText:
    """The text of an HTML page; `base` is its address, which its links start from."""
    writer = _Writer(base)
    for piece in _pieces(source):
        if isinstance(piece, str):
            writer.text(piece)
        elif piece.ends:
            writer.end(piece.name)
        else:
            writer.start(piece)
        if writer.full:
            break
    return writer.page()


def _pieces(source: str) -> Iterator[_Tag | str]:
    """Tags and the text between them, in their order. Characters are still written as `&…;`."""
    at, length = 0, len(source)
    while at < length:
        sign = source.find("<", at)
        if sign < 0 or sign + 1 == length:
            yield source[at:]
            return
        following = source[sign + 1]
        ends = following == "/"
        name_at = sign + 1 + ends
        if following in "!?" or (ends and source[name_at : name_at + 1] not in _NAME_START and name_at < length):
            if sign > at:
                yield source[at:sign]
            at = _after_comment(source, sign)
        elif source[name_at : name_at + 1] in _NAME_START:
            if sign > at:
                yield source[at:sign]
            tag, at = _read_tag(source, name_at, ends)
            if tag is None:
                return
            yield tag
            if tag.name in _RAW and not ends:
                stop = _raw_end(source, at, tag.name)
                yield source[at:stop]
                at = stop
        else:
            yield source[at : sign + 1]
            at = sign + 1


def _after_comment(source: str, at: int) -> int:
    """Where what begins with `<!`, `<?` or a broken end tag is over; a comment without an end has none."""
    if source.startswith("<!--", at):
        if source.startswith(">", at + 4) or source.startswith("->", at + 4):
            return source.index(">", at) + 1
        close = source.find("--", at + 4)
        while close >= 0:
            for end in ("-->", "--!>"):
                if source.startswith(end, close):
                    return close + len(end)
            close = source.find("--", close + 1)
        return len(source)
    close = source.find(">", at)
    return len(source) if close < 0 else close + 1


def _read_tag(source: str, at: int, ends: bool) -> tuple[_Tag | None, int]:
    """The tag whose name begins here, and where the text goes on; None for one that never closes."""
    close = source.find(">", at)
    if close < 0:
        return None, len(source)
    head = source[at:close]
    if '"' in head or "'" in head:
        close = _tag_end(source, at)
        if close < 0:
            return None, len(source)
        head = source[at:close]
    name_end = len(head)
    for char in _BETWEEN:
        found = head.find(char, 0, name_end)
        name_end = name_end if found < 0 else found
    return _Tag(head[:name_end].lower()[:40], ends, head[name_end:]), close + 1


def _tag_end(source: str, at: int) -> int:
    """Where the tag ends, past the values in quotes, -1 for nowhere."""
    length = len(source)
    while at < length:
        char = source[at]
        if char == ">":
            return at
        at += 1
        if char == "=":
            while at < length and source[at] in _SPACE:
                at += 1
            if at < length and source[at] in "\"'":
                at = source.find(source[at], at + 1) + 1
                if not at:
                    return -1
    return -1


def _attributes(inside: str) -> dict[str, str]:
    """The attributes of a tag; the first of those with one name counts."""
    found: dict[str, str] = {}
    at, length = 0, len(inside)
    while at < length:
        while at < length and inside[at] in _BETWEEN:
            at += 1
        begin = at
        while at < length and inside[at] not in _BETWEEN and (inside[at] != "=" or at == begin):
            at += 1
        name = inside[begin:at].lower()
        while at < length and inside[at] in _SPACE:
            at += 1
        value = ""
        if at < length and inside[at] == "=":
            at += 1
            while at < length and inside[at] in _SPACE:
                at += 1
            begin = at
            if at < length and inside[at] in "\"'":
                at = inside.find(inside[at], at + 1)
                at = length if at < 0 else at
                value = inside[begin + 1 : at]
                at += 1
            else:
                while at < length and inside[at] not in _SPACE:
                    at += 1
                value = inside[begin:at]
        if name:
            found.setdefault(name, value)
    return found


def _raw_end(source: str, at: int, name: str) -> int:
    """Where the end tag of an element without tags inside begins."""
    place = source.find("</", at)
    while place >= 0:
        after = place + 2 + len(name)
        if source[place + 2 : after].lower() == name and source[after : after + 1] in (*_SPACE, "/", ">"):
            return place
        place = source.find("</", place + 2)
    return len(source)


def _plain(text: str) -> str:
    """The text with its `&…;` read."""
    if "&" not in text:
        return text
    try:
        return html.unescape(text)
    except ValueError:  # a number of thousands of digits
        return text


class _Writer:
    """Makes lines of tags and text.

    Elements that are open are a stack of names: an end tag closes the last of its name and all above it, one that
    closes nothing is passed over.
    """

    def __init__(self, base: str) -> None:
        self.full = False
        self._base = base
        self._title = ""
        self._done: list[str] = []
        self._size = 0
        self._line: list[str] = []
        self._begin = ""
        """What the current line begins with: the mark of a heading or a list."""
        self._gap = ""
        self._spaced = False
        """Whether white space came that the next word of the line must be kept apart with."""
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()
        self._hidden = 0
        """How many elements were open when one began that is left out; 0 while none is."""
        self._raw = ""
        self._lists: list[int] = []
        """The lists around, each with the number of its last item; -1 where they have no numbers."""
        self._pre = 0
        self._quotes = 0
        self._link = ""
        self._link_at = 0

    def page(self) -> PageText:
        """All that was written."""
        self._break()
        text = "".join(self._done).strip("\n")
        return PageText(self._title, text[:TEXT_CHARACTERS], self.full or len(text) > TEXT_CHARACTERS)

    def start(self, tag: _Tag) -> None:
        name = tag.name
        if name in _RAW:
            self._raw = name
            return
        void = name in _VOID
        if not void:
            # A paragraph ends where another block begins: it need not be closed.
            if name in _BLOCKS and self._open and self._open[-1] == "p":
                self.end("p")
            self._open.append(name)
            self._counts[name] += 1
        if name == "base" and not self._done and not self._line:
            self._base = self._whole(_attributes(tag.inside).get("href", "")) or self._base
        if self._hidden:
            # A head need not be closed: what cannot stand in it ends it.
            if name in _IN_HEAD or self._open[self._hidden - 1] != "head":
                return
            self._hidden = 0
        if not void and (name in _LEFT_OUT or _is_hidden(tag)):
            self._hidden = len(self._open)
            return
        self._begins(name, tag.inside)

    def end(self, name: str) -> None:
        if name in _RAW:
            self._raw = ""
            return
        if name == "br":
            self._newline()
            return
        if not self._counts[name]:
            return
        closed = ""
        while closed != name:
            closed = self._open.pop()
            self._counts[closed] -= 1
            if not self._hidden:
                self._ends(closed)
            elif len(self._open) < self._hidden:
                self._hidden = 0

    def text(self, text: str) -> None:
        if self._raw:
            if self._raw == "title" and not self._title and not self._counts["svg"]:
                self._title = " ".join(_plain(text[: 4 * TITLE_CHARACTERS]).split())[:TITLE_CHARACTERS]
            if self._raw not in ("textarea", "xmp"):
                return
        if self._hidden:
            return
        text = _plain(text)
        if self._pre:
            self._add(text.removeprefix("\n") if self._line[-1:] == [_FENCE] else text)
            return
        words = text.split()
        if not words:
            self._spaced = True
            return
        if (self._spaced or text[0].isspace()) and self._line and not self._line[-1].endswith(("\n", " ")):
            self._line.append(" ")
        self._spaced = text[-1].isspace()
        self._add(" ".join(words))

    def _begins(self, name: str, inside: str) -> None:
        if name in _BLOCKS:
            self._block(name)
        if name in _HEADINGS:
            self._begin = _HEADINGS[name]
        elif name in _LISTS:
            self._lists.append(0 if name == "ol" else -1)
        elif name == "li":
            self._begin = self._item()
        elif name == "dd":
            self._begin = "  "
        elif name == "blockquote":
            self._quotes += 1
        elif name == "pre":
            self._pre += 1
            if self._pre == 1:
                self._add(_FENCE)
        elif name == "code" and not self._pre:
            self._word("`")
        elif name in ("td", "th") and self._line:
            self._add(" | ")
            self._spaced = False
        elif name == "br":
            self._newline()
        elif name == "hr":
            self._add("---")
            self._block(name)
        elif name == "a" and "href" in inside.lower():
            self._close_link()
            self._link = self._whole(_attributes(inside).get("href", ""))
            self._link_at = len(self._line)
        elif name == "img" and "alt" in inside.lower():
            words = " ".join(_plain(_attributes(inside).get("alt", "")).split())
            if words:
                self._word(f"[image: {words[:LINK_CHARACTERS]}]")

    def _ends(self, name: str) -> None:
        if name in _LISTS and self._lists:
            self._lists.pop()
        if name == "pre":
            if self._pre == 1:
                self._add("\n```" if self._line and not self._line[-1].endswith("\n") else "```")
                self._block(name)
            self._pre -= 1
        elif name in _BLOCKS:
            self._block(name)
            if name in _HEADINGS or name in _CLOSE:
                self._begin = ""
        elif name == "a":
            self._close_link()
        elif name == "code" and not self._pre and self._line:
            self._line.append("`")
        if name == "blockquote":
            self._quotes -= 1

    def _item(self) -> str:
        if not self._lists:
            return "- "
        indent = "  " * min(len(self._lists) - 1, _DEEPEST_LIST)
        if self._lists[-1] < 0:
            return f"{indent}- "
        self._lists[-1] += 1
        return f"{indent}{self._lists[-1]}. "

    def _whole(self, href: str) -> str:
        """The whole address of a link to another page; empty for any other."""
        href = _plain(href[: 2 * LINK_CHARACTERS]).strip()
        if not href or href.startswith("#") or len(href) > LINK_CHARACTERS or not href.isprintable():
            return ""
        try:
            address = urljoin(self._base, href)
        except ValueError:
            return ""
        if not address.startswith(("http://", "https://")) or len(address) > LINK_CHARACTERS:
            return ""
        return address.replace(" ", "%20").replace("(", "%28").replace(")", "%29")

    def _close_link(self) -> bool:
        """Writes the link that is open; whether it said anything."""
        said = "".join(self._line[self._link_at :]).strip() if self._link else ""
        if said:
            space = " " if self._line[self._link_at] == " " else ""
            self._line[self._link_at :] = [f"{space}[{said}]({self._link})"]
            self._size += len(self._link) + 4
        self._link = ""
        return bool(said)

    def _word(self, word: str) -> None:
        if self._spaced and self._line and not self._line[-1].endswith(("\n", " ")):
            self._line.append(" ")
        self._spaced = False
        self._add(word)

    def _add(self, text: str) -> None:
        self._line.append(text)
        self._size += len(text)
        self.full = self._size > TEXT_CHARACTERS

    def _newline(self) -> None:
        if not self._hidden and self._line and self._line[-2:] != ["\n", "\n"]:
            self._line.append("\n")
            self._spaced = False

    def _block(self, name: str) -> None:
        if self._pre > 1 or (self._pre and name != "pre"):
            if self._line and not self._line[-1].endswith("\n"):
                self._line.append("\n")
            return
        self._break()
        if name not in _CLOSE and not (self._lists and name in _LISTS):
            self._gap = "\n\n"

    def _break(self) -> None:
        """Ends the line, if there is one."""
        link = self._link
        if not self._close_link():
            self._link, self._link_at = link, 0
        line = "".join(self._line)
        written = len(line)
        self._line.clear()
        self._spaced = False
        if not line.strip(" \n`|"):
            return
        line = self._begin + (line.rstrip() if self._pre else line.strip())
        if self._quotes:
            mark = "> " * min(self._quotes, _DEEPEST_LIST)
            line = mark + line.replace("\n", "\n" + mark)
        self._done.append((self._gap or "\n") + line if self._done else line)
        self._size += len(line) - written + 2
        self._gap = self._begin = ""


def _is_hidden(tag: _Tag) -> bool:
    """Whether a page says that this element is not to be seen. Whole pages say so until their scripts have run."""
    lowered = tag.inside.lower()
    if tag.name in ("html", "body") or ("hidden" not in lowered and "none" not in lowered):
        return False
    found = _attributes(tag.inside)
    if "hidden" in found and found["hidden"].lower() != "until-found":
        return True
    style = "".join(found.get("style", "").lower().split())
    return "display:none" in style or "visibility:hidden" in style
