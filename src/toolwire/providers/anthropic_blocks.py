"""What Anthropic Messages streams are made of: the events as sent, and a content block while it is open."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from ..chunks import Citation
from .decoder import shown

TEXT: Final = "text"
THINKING: Final = "thinking"
CALL: Final = "call"
SERVER: Final = "server tool"
RESULT: Final = "server tool's result"
OPAQUE: Final = "opaque"

"""What a block is to us. Every type that ends in `_tool_use` but `tool_use` itself ran on the provider's side."""

_DELTAS = {
    TEXT: "text_delta",
    THINKING: "thinking_delta",
    CALL: "input_json_delta",
    SERVER: "input_json_delta",
}


class Delta(msgspec.Struct, gc=False):
    """What any kind of delta may hold."""

    type: str | None = None
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    citation: Any = None
    content: Any = None
    encrypted_content: Any = None
    stop_reason: str | None = None
    container: Any = None


class StartedMessage(msgspec.Struct, gc=False):
    """The message that `message_start` holds: mostly empty, sometimes whole."""

    content: Any = None
    stop_reason: str | None = None
    usage: Any = None
    container: Any = None


class MessageEvent(msgspec.Struct, gc=False):
    """Any event. The last two members are those of an answer that was not streamed."""

    type: str | None = None
    index: int | str | None = None
    delta: Delta | None = None
    content_block: dict[str, Any] | None = None
    message: StartedMessage | None = None
    usage: Any = None
    error: Any = None
    content: Any = None
    stop_reason: str | None = None


class Block:
    """One content block while it is open.

    `filled` says that input was streamed into it, which then counts instead of what its start had `given`; `spoiled`,
    that it came in a way after which it cannot go back as a whole; `room`, how much more input it may get.
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
        "size",
        "spoiled",
        "takes",
        "words",
    )

    def __init__(self, index: int | str | None, key: int, kind: str, body: dict[str, Any], room: int) -> None:
        self.index = index
        self.key = key
        self.kind = kind
        self.takes = _DELTAS.get(kind)
        self.body = body
        self.room = room
        self.given = ""
        self.signature = ""
        self.filled = False
        self.pieces: list[str] = []
        self.words: list[str] = []
        self.size = 0
        self.citations: list[dict[str, Any]] = []
        self.spoiled = False

    @property
    def part(self) -> Literal["text", "reasoning"] | None:
        """What its words are shown as, if it is one that has words."""
        if self.kind is THINKING:
            return "reasoning"
        return "text" if self.kind is TEXT or self.words else None


def block_kind(name: str) -> str:
    """What a block of this type is to us; whatever is not known is opaque."""
    if name == "text":
        return TEXT
    if name == "thinking":
        return THINKING
    if name == "tool_use":
        return CALL
    if name.endswith("_tool_use"):
        return SERVER
    return RESULT if name.endswith("_tool_result") else OPAQUE


def text_of(body: dict[str, Any], name: str) -> str:
    """A member that should be text; empty where it is anything else."""
    value = body.get(name)
    return value if isinstance(value, str) else ""


def items_of(body: dict[str, Any], name: str) -> list[Any]:
    """A member that should be a list; empty where it is anything else."""
    value = body.get(name)
    return value if isinstance(value, list) else []


def given_input(body: dict[str, Any]) -> str:
    """The input that came whole with the start of a block, as JSON; empty where it is to be streamed."""
    given = body.get("input")
    return shown(given) if given else ""


def citation_of(sent: dict[str, Any]) -> Citation:
    """What a citation says, whichever kind of source it is from."""
    return Citation(
        url=text_of(sent, "url") or text_of(sent, "source"),
        title=text_of(sent, "title") or text_of(sent, "document_title"),
        quote=text_of(sent, "cited_text"),
    )
