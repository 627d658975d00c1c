"""`minimax-m3`: elements named after the arguments, nested as these are, and a mark before every tag.

    ]<]minimax[>[<tool_call>
    ]<]minimax[>[<invoke name="book">
    ]<]minimax[>[<cabin>economy]<]minimax[>[</cabin>
    ]<]minimax[>[<seats>]<]minimax[>[<item>1]<]minimax[>[</item>]<]minimax[>[</seats>
    ]<]minimax[>[</invoke>
    ]<]minimax[>[</tool_call>

What holds elements is an object, or an array where they are called `item` and the schema allows one. Everything else is
text, every character of it, and the schema says what it is: an array or object may also be written as JSON, and so may
all arguments together. Space may stand between the mark and its tag, and calls may stand without the wrapper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..arguments import Shape, shape_of
from ..control_marks import control_marks
from ..elements import ITEM, MARK, ElementsCall, begins_another, is_list, read_mark, read_space_in_tag
from ..family import family
from ..format import CallToWrite, Format
from ..invokes import read_attributes
from ..json_calls import read_arguments
from ..json_source import json_text, written
from ..marks import read_end
from ..prose import Thinking, marked
from ..scanner import Scanner, Wait
from .minimax_m2 import CHAT, TURNS, list_tools

OPEN, CLOSE = f"{MARK}<tool_call>", f"{MARK}</tool_call>"
INVOKE, END = f"{MARK}<invoke", f"{MARK}</invoke>"
THINKING = Thinking((("<mm:think>", "</mm:think>"),))
MARKS = (MARK, "<mm:think>", "</mm:think>", *TURNS, "<thinking_instructions>", "</thinking_instructions>")

_NOT_IN_TAGS = frozenset("<>/\r\n")


class _Calls:
    """The calls of an answer."""

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None) -> None:
        self._scanner = scanner
        self._tools = tools

    def begin(self) -> Wait[bool]:
        """After a mark, which is held: a wrapper with calls in it, or calls without one."""
        scanner = self._scanner
        yield from read_space_in_tag(scanner)
        wrapped = yield from scanner.read_literal("<tool_call>")
        if wrapped:
            yield from scanner.read_space()
            scanner.set_lead()
            if not (yield from read_mark(scanner)):
                return False
        if not (yield from scanner.read_literal("<invoke")) or not (yield from self._read(certain=wrapped)):
            return False
        while True:
            yield from scanner.read_space()
            scanner.set_lead()
            if not (yield from read_mark(scanner)):
                scanner.give_text()
                return True
            if (yield from scanner.read_literal("</tool_call>")):
                scanner.give_markup()
                return True
            if not (yield from scanner.read_literal("<invoke")):
                scanner.unread()
                return True
            yield from self._read(certain=True)

    def _read(self, *, certain: bool) -> Wait[bool]:
        """Reads a call of which the beginning is held; False, with all of it held, if it is none."""
        scanner = self._scanner
        size = scanner.held_length
        attributes = yield from read_attributes(scanner, ">")
        name = attributes.get("name", "") if attributes else ""
        if not name:
            if not certain:
                return False
            scanner.unread()
            scanner.read_to(scanner.at + size)
        yield from scanner.read_space()
        if name and (yield from scanner.need(1)) == "{":
            yield from read_arguments(scanner, self._tools, name, ends=(END, CLOSE))
            yield from read_end(scanner, END)
        else:
            yield from ElementsCall(scanner, self._tools).read(name)
        return True


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, {MARK: _Calls(scanner, tools).begin}, THINKING)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """All in one wrapper, each on a line of its own."""
    return f"{OPEN}\n{''.join(map(_write_call, calls))}{CLOSE}"


def _write_call(call: CallToWrite) -> str:
    whole = json_text(call.arguments)
    if any(map(_is_no_tag, call.arguments)) or MARK in whole:
        body = whole.replace("<", "\\u003c")
    else:
        shape = shape_of(call.tool)
        body = "".join(_element(key, value, shape.property(key)) for key, value in call.arguments.items())
    return f'{INVOKE} name="{call.name}">{body}{END}\n'


def _element(tag: str, value: Any, shape: Shape) -> str:
    """An element. What holds others is written as JSON where elements would be read as something else."""
    inside = written(value)
    if value and (shape.takes_any_text or _says(shape, value)):
        if isinstance(value, dict) and not any(map(_is_no_tag, value)):
            inside = "".join(_element(key, inner, shape.property(key)) for key, inner in value.items())
        elif isinstance(value, list):
            inside = "".join(_element(ITEM, inner, shape.item(at)) for at, inner in enumerate(value))
    return f"{MARK}<{tag}>{inside}{MARK}</{tag}>"


def _says(shape: Shape, value: Any) -> bool:
    """Whether a value that is written with elements is read back as it is."""
    if value and isinstance(value, dict):
        if any(map(_is_no_tag, value)) or (next(iter(value)) == ITEM and is_list(shape, ITEM)):
            return False
        return all(_says(shape.property(key), inner) for key, inner in value.items())
    if value and isinstance(value, list):
        return is_list(shape, ITEM) and all(_says(shape.item(at), inner) for at, inner in enumerate(value))
    return shape.json_of(written(value)) == json_text(value)


def _is_no_tag(name: str) -> bool:
    """Whether an argument of this name cannot be an element: its tag would be another one, or a mark."""
    tags = f"<{name}></{name}>"
    is_mark = control_marks(MARKS).harmless(tags) != tags
    return not name or not _NOT_IN_TAGS.isdisjoint(name) or begins_another(name) or is_mark


def write_result(_: ToolResultPart, content: str) -> str:
    """A result on a line of its own."""
    return f"\n<response>{content}</response>"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as MiniMax's models are told them, and a call."""
    first = [_sample("param-1", "value-1"), f"{MARK}<param-2>{MARK}<item>"]
    first += [_sample("key-a", "val-a"), _sample("key-b", "val-b"), f"{MARK}</item>{MARK}</param-2>"]
    return (
        f"{list_tools(tools)}To call tools, wrap all invocations in a single {OPEN}{CLOSE} block. Parameter values "
        "containing nested objects or arrays are recursively expanded into XML elements. Example:\n\n"
        f'{OPEN}\n{INVOKE} name="tool-name-1">{"".join(first)}{END}\n'
        f'{INVOKE} name="tool-name-2">{_sample("param-1", "value-1")}{END}\n{CLOSE}'
    )


def _sample(tag: str, value: str) -> str:
    return f"{MARK}<{tag}>{value}{MARK}</{tag}>"


_ABOUT_ITSELF = (
    "]~b]system\nYour model version is MiniMax-M3, developed by MiniMax. Knowledge cutoff: January 2026. Founded in "
    "early 2022, MiniMax is a global AI foundation model company committed to advancing the frontiers of AI towards "
    "AGI.\n\n<thinking_instructions>\nYou have a thinking capability that allows you to reason step by step before "
    "responding. When thinking is enabled, wrap your reasoning in <mm:think></mm:think> tags before your response. "
    "When thinking is disabled, begin your response directly after the </mm:think> prefix. When thinking is adaptive, "
    "decide on your own whether to think for the current turn.\nCurrent thinking mode: adaptive. You are encouraged "
    "to think for complex decision-making, multi-step reasoning, or when analyzing function/tool results.\n"
    "</thinking_instructions>[e~[\n"
)
"""What the maker says before anybody else."""

MINIMAX_M3: Format = family(
    "minimax-m3",
    "nested elements, each tag after ]<]minimax[>[",
    models=("MiniMax M3",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=MARKS,
    thinking=THINKING,
    chat=CHAT._replace(
        begin=f"{CHAT.begin}{_ABOUT_ITSELF}",
        system=("]~b]developer\n", "[e~[\n"),
        tools=tell_tools,
        reasoning="<mm:think>",
        no_reasoning="</mm:think>",
        before_calls="",
        calls_apart=False,
        thought=("<mm:think>", "</mm:think>"),
        no_thought="</mm:think>",
    ),
)
