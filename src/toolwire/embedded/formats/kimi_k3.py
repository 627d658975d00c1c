"""`kimi-k3`: XTML, in which every argument says its type, and channels for thinking, answering and calling.

    <|open|>think<|sep|>…<|close|>think<|sep|><|open|>response<|sep|>…<|close|>response<|sep|><|open|>tools<|sep|>
    <|open|>call tool="search" index="1"<|sep|>
    <|open|>argument key="query" type="string"<|sep|>a < b<|close|>argument<|sep|>
    <|close|>call<|sep|><|close|>tools<|sep|>

All of it without the line ends. `&` and `"` in attributes are written `&amp;` and `&quot;`. A body that is JSON stands
in `<|open|>json type="object"<|sep|>`. The index is what a result names its call by: it is the call's id. Where the
schema allows no string, it is right and `type="string"` is not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..branches import kind_of
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..invokes import Attributes, Invokes, Tags, write_invoke
from ..prose import Begin, Thinking, marked
from ..scanner import PieceKind, Scanner, Wait


def _opens(tag: str) -> str:
    return f"<|open|>{tag}<|sep|>"


def _closes(tag: str) -> str:
    return f"<|close|>{tag}<|sep|>"


def _encode(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _decode(text: str) -> str:
    return text.replace("&quot;", '"').replace("&amp;", "&")


def _is_text(attributes: Attributes) -> bool | None:
    kind = attributes.get("type", "")
    return kind == "string" if kind else None


def _kind(value: Any) -> str:
    kind = kind_of(value)
    return f' type="{"number" if kind == "integer" else kind}"'


THINKING = Thinking(((_opens("think"), _closes("think")),))
TOOLS, TOOLS_END = _opens("tools"), _closes("tools")
RESPONSE, RESPONSE_END = _opens("response"), _closes("response")
END = "<|end_of_msg|>"
TAGS = Tags(
    "<|open|>call",
    _closes("call"),
    "<|open|>argument",
    _closes("argument"),
    "<|sep|>",
    name="tool",
    key="key",
    call_id="index",
    body=('<|open|>json type="object"<|sep|>', _closes("json")),
    is_text=_is_text,
    kind=_kind,
    encode=_encode,
    decode=_decode,
)


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def channel() -> Wait[bool]:
        yield from ()
        if scanner.plain is PieceKind.REASONING:
            return False
        scanner.give_mark()
        return True

    channels: dict[str, Begin] = dict.fromkeys((RESPONSE, RESPONSE_END, _closes("message"), END), channel)
    return marked(scanner, channels | Invokes(scanner, tools, TAGS, {TOOLS: TOOLS_END}).begins(), THINKING)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each under its index, all in their channel."""
    told = (
        write_invoke(call, TAGS, line="", more=f' index="{_index(call.call_id, place)}"')
        for place, call in enumerate(calls, 1)
    )
    return f"{TOOLS}{''.join(told)}{TOOLS_END}"


def _index(call_id: str, place: int) -> str:
    return call_id if call_id.isascii() and call_id.isdecimal() else str(place)


def write_result(part: ToolResultPart, content: str) -> str:
    """A result as a message of its own, under the name of the tool and the index of the call."""
    about = f'role="tool" tool="{_encode(part.name)}" index="{_index(part.id, 1)}"'
    return f"<|open|>message {about}<|sep|>{content}{_closes('message')}{END}"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in a message of their own, in the words of the model's own chat template."""
    told = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]
    listed = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return (
        '<|open|>message role="system" type="tool-declare"<|sep|># Tools\n'
        f"Here are the available tools, described in JSONSchema.\n\n```json\n{listed}\n```{_closes('message')}{END}"
    )


def _turn(role: str) -> tuple[str, str]:
    return f'<|open|>message role="{role}"<|sep|>', f"{_closes('message')}{END}"


KIMI_K3: Format = family(
    "kimi-k3",
    "XTML with typed arguments",
    models=("Kimi K3",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=("<|open|>", "<|close|>", "<|sep|>", END),
    thinking=THINKING,
    chat=Chat(
        system=_turn("system"),
        user=_turn("user"),
        assistant=_turn("assistant"),
        results=("", ""),
        answer=_turn("assistant")[0],
        tools=tell_tools,
        tools_at="before_system",
        reasoning=_opens("think"),
        no_reasoning=RESPONSE,
        stop=(END,),
        words=(RESPONSE, RESPONSE_END),
        thought=(_opens("think"), _closes("think")),
        no_thought=f"{_opens('think')}{_closes('think')}",
        call_id=lambda call: str(call.number + 1),
    ),
)
