"""What Converse streams are made of: the events as sent, and a content block while it is open."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, Final, Literal

import msgspec

from ..chunks import Citation, TokenUsage
from .decoder import token_count

TEXT: Final = "text"
THINKING: Final = "thinking"
CALL: Final = "call"
SERVER: Final = "server tool"
RESULT: Final = "server tool's result"
IMAGE: Final = "image"
OPAQUE: Final = "opaque"

Index = int | str | None


class ToolInput(msgspec.Struct, gc=False):
    """A piece of a call's arguments."""

    input: str | None = None


class Thought(msgspec.Struct, gc=False, rename="camel"):
    """A piece of reasoning, its signature, or reasoning that is not shown."""

    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class Delta(msgspec.Struct, gc=False, rename="camel"):
    """What any kind of delta may hold."""

    text: str | None = None
    tool_use: ToolInput | None = None
    reasoning_content: Thought | None = None
    tool_result: Any = None
    citation: Any = None
    image: Any = None


class OtherMessage(msgspec.Struct, gc=False):
    """A message that is no event, or whose payload is no object."""

    type: str = "event"
    headers: dict[str, str] = {}
    payload: str = ""


class ConverseEvent(msgspec.Struct, gc=False, rename="camel"):
    """Any event; `chunk` is what one of an invoked model holds."""

    index: Index = msgspec.field(name="contentBlockIndex", default=None)
    delta: Delta | None = None
    kind: str = msgspec.field(name=":event-type", default="")
    start: dict[str, Any] | None = None
    stop_reason: str | None = None
    usage: Any = None
    chunk: bytes | None = msgspec.field(name="bytes", default=None)
    message: OtherMessage | None = msgspec.field(name=":message", default=None)
    output: Any = None
    """That of an answer which was not streamed."""


class Block:
    """One content block while it is open.

    `body` is what its start said of it; `spoiled` says that it came in a way after which it cannot go back as a whole,
    or be run; `room`, how much more of it there may be.
    """

    __slots__ = (
        "body",
        "citations",
        "filled",
        "given",
        "index",
        "key",
        "kind",
        "pieces",
        "room",
        "signature",
        "spoiled",
    )

    def __init__(self, index: Index, key: int, kind: str, body: dict[str, Any], room: int) -> None:
        self.index = index
        self.key = key
        self.kind = kind
        self.body = body
        self.room = room
        self.pieces: list[str] = []
        """Of a server tool its input, of an image and of hidden reasoning the base64 text."""
        self.given: list[Any] = []
        """What a server tool gave."""
        self.signature: list[str] = []
        self.citations: list[dict[str, Any]] = []
        self.filled = False
        self.spoiled = False

    @property
    def part(self) -> Literal["text", "reasoning"] | None:
        """What its words are shown as, if it is one that has words."""
        if self.kind is THINKING:
            return "reasoning"
        return "text" if self.kind is TEXT else None


def started_kind(start: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """What a block is to us and what its start says of it; None where that is left to its first delta."""
    for name, kind in (("toolUse", CALL), ("toolResult", RESULT), ("image", IMAGE)):
        body = start.get(name)
        if isinstance(body, dict):
            # Whatever else it is called, what is not ours to run is not run.
            ours = kind is not CALL or body.get("type") in (None, "", "tool_use")
            return kind if ours else SERVER, body
    return (OPAQUE, start) if start else None


def delta_kind(delta: Delta) -> str | None:
    """What a block is whose start was not sent: text and reasoning have none."""
    if delta.text is not None or delta.citation is not None:
        return TEXT
    if delta.reasoning_content is not None:
        return THINKING
    if delta.image is not None:
        return IMAGE
    return RESULT if delta.tool_result is not None else None


def text_of(body: Any, name: str) -> str:
    """A member that should be text; empty where it is anything else."""
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, str) else ""


def joined_base64(pieces: list[str]) -> str | None:
    """The base64 text of data that came in pieces, each by itself; None where a piece is no base64."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return b64encode(b"".join(b64decode(piece, validate=True) for piece in pieces)).decode()
    except ValueError:
        return None


def citation_of(sent: dict[str, Any]) -> Citation:
    """What a citation says, whichever kind of source it is from."""
    location = sent.get("location")
    web = location.get("web") if isinstance(location, dict) else None
    quoted = sent.get("sourceContent")
    return Citation(
        url=text_of(web, "url") or text_of(sent, "source"),
        title=text_of(sent, "title"),
        quote="".join(text_of(piece, "text") for piece in quoted) if isinstance(quoted, list) else "",
    )


def usage_of(sent: dict[str, Any]) -> TokenUsage:
    """Token counts. `inputTokens` leaves out what was read from the cache or written to it, unless the total says
    otherwise.
    """

    def count(*names: str) -> int:
        return next((token_count(sent[name]) for name in names if sent.get(name) is not None), 0)

    cached = count("cacheReadInputTokens", "cacheReadInputTokenCount")
    stored = count("cacheWriteInputTokens", "cacheWriteInputTokenCount")
    read, written = count("inputTokens", "inputTokenCount"), count("outputTokens", "outputTokenCount")
    if count("totalTokens") != read + written:
        read += cached + stored
    return TokenUsage(read, written, cached, stored, total_tokens=read + written)
