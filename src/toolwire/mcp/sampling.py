"""What a server wants to ask a model: read and bounded, written down for a person, and made a request of what they saw.

The arguments of the question are the whole of it, one for each piece of each message (`system`, `user_1`,
`assistant_2` …), so that a person reads it as text and may change the words. What the model is asked is made of them
alone, after the yes.
"""

from __future__ import annotations

import hashlib
import math
from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import McpFailed
from ..messages import MediaPart, Message, Part, TextPart
from .host import Sampling

if TYPE_CHECKING:
    from mcp_types import CreateMessageRequestParams, SamplingMessageContentBlock

MESSAGES = 64
PIECES = 256
"""Of all its messages: a person sees each by its name, also one that is empty."""
SAMPLING_BYTES = 256 * 1024
"""Of all its messages, pictures among them: what a person may still look through before they pay for it."""
MAX_TOKENS = 4_096
"""Of one answer: a server that wants more gets so many."""
STOPS = 16
STOP_CHARACTERS = 200


class Wanted(NamedTuple):
    """A question for the model that is not asked yet."""

    arguments: dict[str, Any]
    """All of it, for the person."""
    parameters: dict[str, Any]
    """Their schema: the words may be changed, the pictures and the order may not."""
    places: list[tuple[str, list[str]]]
    """Each message: whose it is, and the names of its arguments."""
    pictures: dict[str, MediaPart]

    def sampling(self, arguments: dict[str, Any]) -> Sampling:
        """The request with these arguments, which the schema has accepted."""
        return Sampling(
            messages=[
                Message("assistant" if role == "assistant" else "user", [self._part(arguments, name) for name in names])
                for role, names in self.places
            ],
            system=arguments.get("system", ""),
            max_tokens=arguments["max_tokens"],
            temperature=arguments.get("temperature"),
            stop=tuple(arguments.get("stop", ())),
        )

    def _part(self, arguments: dict[str, Any], name: str) -> Part:
        return self.pictures.get(name) or TextPart(arguments[name])


def wanted(server: str, params: CreateMessageRequestParams) -> Wanted:
    """What the server wants; `McpFailed` says why it is nothing that a model is asked here."""
    if params.tools or params.tool_choice:
        raise _refused(server, "a model that it asks gets no tools")
    if params.include_context not in (None, "none"):
        raise _refused(server, "it wants to see the conversation, and gets nothing of it")
    if not 0 < len(params.messages) <= MESSAGES:
        raise _refused(server, f"it has {len(params.messages):,} messages, and 1 to {MESSAGES} can be asked")
    if params.max_tokens < 1:
        raise _refused(server, f"{params.max_tokens} tokens are no answer")
    places: list[tuple[str, list[str]]] = []
    pictures: dict[str, MediaPart] = {}
    arguments: dict[str, Any] = {"system": params.system_prompt} if params.system_prompt else {}
    size = len((params.system_prompt or "").encode("utf-8", "replace"))
    blocks = [message.content_as_list for message in params.messages]
    if not all(blocks) or sum(map(len, blocks)) > PIECES:
        raise _refused(server, f"each of its messages must have a piece, and all together at most {PIECES}")
    for number, message in enumerate(params.messages, 1):
        names: list[str] = []
        for at, block in enumerate(blocks[number - 1], 1):
            name = f"{message.role}_{number}" if at == 1 else f"{message.role}_{number}_{at}"
            size += _size(server, block)
            if size > SAMPLING_BYTES:
                raise _refused(server, f"its messages have over {SAMPLING_BYTES:,} bytes")
            arguments[name] = _shown(server, name, block, pictures)
            names.append(name)
        places.append((message.role, names))
    arguments["max_tokens"] = min(params.max_tokens, MAX_TOKENS)
    if params.temperature is not None:
        if not (math.isfinite(params.temperature) and 0 <= params.temperature <= 2):
            raise _refused(server, f"{params.temperature:g} is no temperature")
        arguments["temperature"] = params.temperature
    if stops := params.stop_sequences:
        if len(stops) > STOPS or any(not stop or len(stop) > STOP_CHARACTERS for stop in stops):
            raise _refused(server, f"it may stop at {STOPS} texts of {STOP_CHARACTERS} characters")
        arguments["stop"] = stops
    return Wanted(arguments, _parameters(arguments), places, pictures)


def _size(server: str, block: SamplingMessageContentBlock) -> int:
    if block.type == "text":
        return len(block.text.encode("utf-8", "replace"))
    if block.type == "image":
        return len(block.data)
    raise _refused(server, f"only text and pictures can be asked, and it has {block.type}")


def _shown(server: str, name: str, block: SamplingMessageContentBlock, pictures: dict[str, MediaPart]) -> Any:
    """One piece as the person sees it: words as they are, of a picture what it is and a mark of its bytes."""
    if block.type == "text":
        return block.text
    assert block.type == "image", "others were refused when they were measured"
    try:
        data = b64decode(block.data, validate=True)
    except ValueError:
        raise _refused(server, "one of its pictures is no base64") from None
    if not block.mime_type.startswith("image/"):
        raise _refused(server, "one of its pictures is none by its type")
    pictures[name] = MediaPart(block.mime_type, data=block.data)
    return {"picture": block.mime_type, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _parameters(arguments: dict[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {
        "max_tokens": {"type": "integer", "minimum": 1, "maximum": MAX_TOKENS},
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "stop": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": STOPS},
    }
    schemas = {
        name: known.get(name) or ({"type": "string"} if isinstance(value, str) else {"const": value})
        for name, value in arguments.items()
    }
    return {"type": "object", "properties": schemas, "required": list(schemas), "additionalProperties": False}


def _refused(server: str, reason: str) -> McpFailed:
    return McpFailed(
        f"the MCP server {server!r} wants to ask the model what cannot be asked: {reason}",
        hint="Neither a person nor the model was asked.",
        server=server,
        why="protocol",
    )
