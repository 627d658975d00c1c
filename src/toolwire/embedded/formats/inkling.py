"""`inkling`: an answer in typed blocks, one of which is a call.

    <|message_model|><|content_thinking|>I must look.<|end_message|>
    <|message_model|><|content_text|>One moment.<|end_message|>
    <|message_model|>search<|content_invoke_tool_json|>{"name":"search","args":{"query":"x"}}<|end_message|>

(The line ends are not there.) A prompt ends with `<|message_model|>`, so that an answer begins after it. The name
before a call's mark is said again in the object, which is what counts. A block may end without its mark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..json_calls import Members
from ..listed import read_objects
from ..marks import give_to
from ..prose import Begin, Thinking, marked
from ..scanner import PieceKind, Scanner, Wait

MODEL, TOOL, USER, SYSTEM = "<|message_model|>", "<|message_tool|>", "<|message_user|>", "<|message_system|>"
THINKING, TEXT, INVOKE = "<|content_thinking|>", "<|content_text|>", "<|content_invoke_tool_json|>"
XML, END, STOP = "<|content_xml|>", "<|end_message|>", "<|content_model_end_sampling|>"
THOUGHTS = Thinking(((THINKING, END),))

_MEMBERS = Members(arguments=("args", "arguments", "parameters"))
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    blocks = _Blocks(scanner, tools)
    if scanner.plain is PieceKind.REASONING:
        yield from blocks.read_thoughts()
    elif not (yield from blocks.read_named_call()):
        scanner.unread()
    yield from marked(scanner, blocks.begins())


class _Blocks:
    """The blocks of an answer."""

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None) -> None:
        self._scanner = scanner
        self._tools = tools
        self._after_call = False
        """A call was the last thing."""

    def begins(self) -> dict[str, Begin]:
        """What begins a block, or ends one."""
        return {
            MODEL: self._begin_message,
            INVOKE: self._read_call,
            THINKING: self._begin_thoughts,
            TEXT: self._give_mark,
            END: self._give_mark,
            STOP: self._give_mark,
        }

    def read_thoughts(self) -> Wait[None]:
        """Reads reasoning to its end: the mark, or that of another block."""
        scanner = self._scanner
        scanner.plain = PieceKind.REASONING
        self._after_call = False
        mark = yield from give_to(scanner, (END, STOP, INVOKE, MODEL), scanner.give_text_to)
        scanner.plain, scanner.said = PieceKind.TEXT, False
        if mark in (END, STOP):
            scanner.give_mark()
        else:
            scanner.unread()

    def read_named_call(self) -> Wait[bool]:
        """Reads a call with its name before it; False, with what was read held, if none is here."""
        yield from self._scanner.read_word(_NAME, self._scanner.limits.name)
        if not (yield from self._scanner.read_literal(INVOKE)):
            return False
        return (yield from self._read_call())

    def _begin_message(self) -> Wait[bool]:
        """After the mark of a message, which belongs to the call that follows only where another came before it."""
        scanner = self._scanner
        if not self._after_call or scanner.said:
            scanner.give_mark()
        is_mark = not scanner.held_length
        if (yield from self.read_named_call()):
            return True
        scanner.unread()
        if not is_mark:
            yield from scanner.read_literal(MODEL)
            scanner.give_mark()
        return True

    def _begin_thoughts(self) -> Wait[bool]:
        self._scanner.give_mark()
        yield from self.read_thoughts()
        return True

    def _read_call(self) -> Wait[bool]:
        ends = (END, STOP, MODEL, INVOKE)
        self._after_call = yield from read_objects(self._scanner, self._tools, END, ends, _MEMBERS)
        return self._after_call

    def _give_mark(self) -> Wait[bool]:
        yield from ()
        self._after_call = False
        self._scanner.give_mark()
        return True


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each as a block; the mark of the first message stands in the prompt."""
    return MODEL.join(
        f'{call.name}{INVOKE}{{"name":{_json(call.name)},"args":{_json(call.arguments)}}}{END}' for call in calls
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write_result(part: ToolResultPart, content: str) -> str:
    """A result under the name of its tool."""
    return f"{part.name}{TEXT}{content}"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as a list, in a block before all others."""
    told = [
        {"description": tool.description, "name": tool.name, "parameters": tool.parameters, "type": "function"}
        for tool in tools
    ]
    said = json.dumps(told, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return f"{SYSTEM}tool_declare{XML}{said}{END}"


INKLING: Format = family(
    "inkling",
    "JSON in a block of its own",
    models=("Inkling",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(MODEL, TOOL, USER, SYSTEM, THINKING, TEXT, INVOKE, XML, END, STOP, "<|content_invoke_tool_text|>"),
    thinking=THOUGHTS,
    chat=Chat(
        system=(f"{SYSTEM}{TEXT}", END),
        user=(f"{USER}{TEXT}", END),
        assistant=(MODEL, STOP),
        results=(TOOL, END),
        between_results=f"{END}{TOOL}",
        answer=MODEL,
        tools=tell_tools,
        tools_at="before_system",
        reasoning=THINKING,
        stop=(STOP,),
        words=(TEXT, END),
        before_calls=MODEL,
        thought=(THINKING, f"{END}{MODEL}"),
    ),
)
