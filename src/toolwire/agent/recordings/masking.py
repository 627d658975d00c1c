"""Takes secrets out of what is recorded: out of JSON, out of words that came in pieces, and out of a provider's bytes.

A star stands for each character that was taken out, so that every length, place and cut stays as it was. A secret that
a model says word by word is spread over many events, in none of which it can be seen: the pieces of one text are looked
at as one.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from struct import pack, unpack_from
from typing import Any
from zlib import crc32

import msgspec

from ...key_shapes import Span, is_secret_member, key_spans
from ...redaction import STARS, Redactor
from ...wire.eventstream import begins_event_stream

_DEPTH = 600
"""Of JSON that is looked into, as `Limits.chunk_depth`. What lies deeper is taken out as a whole."""
_PLACES = frozenset(
    {"index", "output_index", "content_index", "summary_index", "contentBlockIndex", "item_id", "segment_id"}
)
"""Members that say to which of several texts of an answer a piece belongs."""


_SHORTEST = 8
"""Characters of a text in which something can look like a key."""
_HELD = 16
"""Characters of a secret in a row that are no accident, as in `toolwire.redaction`."""
_FORMAT_NAMES = frozenset(
    {"type", "record", "role", "object", "status", "finish_reason", "stop_reason", "segment_type"}
)
_FORMAT_WORDS = frozenset("abcdefghijklmnopqrstuvwxyz_.-")


class Mask:
    """Takes out what these redactors know, and whatever looks like a key."""

    def __init__(self, *redactors: Redactor) -> None:
        self._redactors = redactors

    def text(self, text: str) -> str:
        """The text with stars."""
        return _starred(text, self._spans(text))

    def pieces(self, pieces: Sequence[str]) -> list[str]:
        """The pieces of one text, each with stars where the whole has them."""
        whole = self.text("".join(pieces))
        made, at = [], 0
        for piece in pieces:
            made.append(whole[at : at + len(piece)])
            at += len(piece)
        return made

    def value(self, value: Any) -> Any:
        """What JSON can hold with stars: in every text and name, and in all that a name calls secret."""
        return self.values([value])[0]

    def values(self, values: Iterable[Any]) -> list[Any]:
        """The same for values that follow each other, such as events: a secret may be spread over them."""
        documents = [_Document(msgspec.json.decode(msgspec.json.encode([value]))) for value in values]
        self._mask(documents)
        return [self._without_names(document.value[0]) for document in documents]

    def _without_names(self, value: Any) -> Any:
        """The value, which is changed, with stars in the names too."""
        homes = [value]
        while homes:
            home = homes.pop()
            if isinstance(home, dict):
                members = [(_starred(name, self._long(name)), each) for name, each in home.items()]
                home.clear()
                home.update(members)
                homes += home.values()
            elif isinstance(home, list):
                homes += home
        return value

    def _long(self, text: str) -> list[Span]:
        """Where so much of a secret stands that it is no accident, for what must not be starred by one."""
        return [span for span in merged(self._spans(text, shapes=False)) if span[1] - span[0] >= _HELD]

    def body(self, chunks: Sequence[bytes]) -> list[bytes]:
        """The bytes of one answer with stars, cut where they were: SSE, lines of JSON, event stream or anything."""
        body = b"".join(chunks)
        parts = list(_messages(body) if begins_event_stream(body[:12]) else _lines(body))
        self._mask([part.document for part in parts if part.document is not None])
        made = [part.written() for part in parts]
        if not begins_event_stream(body[:12]):
            made = self._mask_bytes(parts, made)
        return _cut_as(chunks, [len(part.data) for part in parts], made)

    def _spans(self, text: str, *, shapes: bool = True) -> list[Span]:
        found = [span for redactor in self._redactors for span in redactor.spans(text)]
        return [*found, *key_spans(text)] if shapes and len(text) >= _SHORTEST else found

    def _mask(self, documents: Sequence[_Document]) -> None:
        """Texts that stand at the same place in documents that follow each other are one text: first those of one
        block, then all of a kind, since a text may go on in the next block.
        """
        for by_block in (True, False):
            texts: dict[tuple[Any, ...], list[_Leaf]] = {}
            for document in documents:
                for leaf in document.leaves(by_block=by_block):
                    texts.setdefault(leaf.path, []).append(leaf)
            for leaves in texts.values():
                self._mask_leaves(leaves)

    def _mask_leaves(self, leaves: Sequence[_Leaf]) -> None:
        leaves = [leaf for leaf in leaves if not leaf.is_word]
        before = [leaf.text for leaf in leaves]
        for leaf, old, new in zip(leaves, before, self.pieces(before), strict=True):
            if is_secret_member(leaf.name, old):
                new = "*" * len(old)
            if new != old:
                leaf.set(new)

    def _mask_bytes(self, parts: list[_Part], made: list[bytes]) -> list[bytes]:
        """What is left outside of JSON, or in two events in a row."""
        words = b"".join(made).decode("utf-8", "surrogateescape")
        is_json = any(part.document is not None for part in parts)
        spans = self._long(words) if is_json else self._spans(words)
        if not spans:
            return made
        data = b"".join(
            b"*" * len(_bytes(piece)) if is_secret else _bytes(piece) for piece, is_secret in _split(words, spans)
        )
        at, cut = 0, []
        for one in made:
            cut.append(data[at : at + len(one)])
            at += len(one)
        return cut


class _Leaf:
    """One text inside a document. Texts of one `path` belong together."""

    __slots__ = ("_document", "_home", "_key", "name", "path", "text")

    def __init__(self, document: _Document, home: Any, key: Any, name: str, path: tuple[Any, ...]) -> None:
        self._document, self._home, self._key = document, home, key
        self.name = name
        self.path = path
        self.text: str = home[key]

    @property
    def is_word(self) -> bool:
        """Whether it is a word of the format itself: it stands where one does, and no key looks like it."""
        return self.name in _FORMAT_NAMES and len(self.text) <= 48 and _FORMAT_WORDS.issuperset(self.text)

    def set(self, text: str) -> None:
        self._home[self._key] = text
        self._document.changed = True


class _Document:
    """One value of JSON."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.changed = False

    def leaves(self, *, by_block: bool) -> Iterator[_Leaf]:
        """Every text in it, in order. Without a call for each level: the stack is others' too."""
        inside = [_members(self.value, (), "", by_block)]
        while inside:
            found = next(inside[-1], None)
            if found is None:
                inside.pop()
                continue
            home, key, name, path = found
            value = home[key]
            if isinstance(value, str):
                yield _Leaf(self, home, key, name, path)
            elif isinstance(value, (dict, list)):
                if len(inside) <= _DEPTH:
                    inside.append(_members(value, path, name, by_block))
                else:
                    home[key], self.changed = STARS, True


def _members(
    home: Any, path: tuple[Any, ...], name: str, by_block: bool
) -> Iterator[tuple[Any, Any, str, tuple[Any, ...]]]:
    """What lies right inside a dict or a list: where, by which key, under which name, and the path of its text."""
    if isinstance(home, list):
        for key in range(len(home)):
            yield home, key, name, (*path, key) if by_block else path
        return
    if by_block:
        path = (*path, *(home[place] for place in _PLACES if isinstance(home.get(place), (int, str))))
    for key in list(home):
        yield home, key, key, (*path, key)


class _Part:
    """A stretch of a body, and the JSON in it, if that is what it is."""

    def __init__(self, data: bytes, before: bytes = b"", value: Any = None, after: bytes = b"") -> None:
        self.data = data
        self.document = None if value is None else _Document(value)
        self._before, self._after = before, after

    def written(self) -> bytes:
        """Its bytes: the same ones, unless the document was changed."""
        if self.document is None or not self.document.changed:
            return self.data
        return self._around(msgspec.json.encode(self.document.value))

    def _around(self, payload: bytes) -> bytes:
        return self._before + payload + self._after


class _Message(_Part):
    """A message of an event stream. What an invoked model says is JSON in Base64, in its member `bytes`."""

    def __init__(self, data: bytes) -> None:
        headers = 12 + int(unpack_from(">I", data, 4)[0])
        payload = data[headers:-4]
        value = _json(payload)
        self._inner = isinstance(value, dict) and isinstance(value.get("bytes"), str)
        if self._inner:
            value["bytes"] = _json(b64decode(value["bytes"])) or value["bytes"]
        self._is_text = value is None
        if self._is_text:
            value = [payload.decode("utf-8", "replace")]
        super().__init__(data, data[12:headers], value)

    def _around(self, payload: bytes) -> bytes:
        value: Any = self.document.value if self.document is not None else None
        if self._is_text:
            payload = value[0].encode()
        elif self._inner and not isinstance(value["bytes"], str):
            payload = msgspec.json.encode({**value, "bytes": b64encode(msgspec.json.encode(value["bytes"])).decode()})
        prelude = pack(">II", 16 + len(self._before) + len(payload), len(self._before))
        whole = prelude + pack(">I", crc32(prelude)) + self._before + payload
        return whole + pack(">I", crc32(whole))


def _messages(body: bytes) -> Iterator[_Part]:
    at = 0
    while at + 16 <= len(body):
        size, headers = unpack_from(">II", body, at)
        if size < 16 + headers or at + size > len(body):
            break
        yield _Message(body[at : at + size])
        at += size
    if at < len(body):
        yield _Part(body[at:])


def _lines(body: bytes) -> Iterator[_Part]:
    return map(_line, body.splitlines(keepends=True))


def _line(line: bytes) -> _Part:
    words = line.rstrip(b"\r\n")
    start = 0
    if words.startswith(b"data:"):
        start = 6 if words[5:6] == b" " else 5
    value = _json(words[start:]) if words[start : start + 1] in (b"{", b"[") else None
    return _Part(line, line[:start], value, line[len(words) :])


def _json(data: bytes) -> Any:
    """The value; None for what is no JSON with anything in it."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _cut_as(chunks: Sequence[bytes], old: list[int], made: list[bytes]) -> list[bytes]:
    """The new parts as one body, cut where the old one was; inside of a part that became shorter, at its end."""
    starts, news = [0], [0]
    for length, new in zip(old, made, strict=True):
        starts.append(starts[-1] + length)
        news.append(news[-1] + len(new))
    body, at, last, cut = b"".join(made), 0, 0, []
    for chunk in chunks:
        at += len(chunk)
        part = bisect_right(starts, at) - 1
        place = news[-1] if part >= len(made) else min(news[part] + at - starts[part], news[part + 1])
        cut.append(body[last:place])
        last = place
    return cut


def merged(spans: list[Span]) -> list[Span]:
    """The same places in order, those that touch as one."""
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made


def _split(text: str, spans: list[Span]) -> Iterator[tuple[str, bool]]:
    """The text in pieces, and whether each is within a span."""
    done = 0
    for start, end in merged(spans):
        yield text[done:start], False
        yield text[start:end], True
        done = end
    yield text[done:], False


def _starred(text: str, spans: list[Span]) -> str:
    if not spans:
        return text
    return "".join("*" * len(piece) if is_secret else piece for piece, is_secret in _split(text, spans))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
