"""`muse-glimmer`: ATEM, one message to a tool for each call, beside messages to the model itself and to the user.

    <|start|>assistant to=self<|message|>…<|eom|><|start|>assistant to=search<|message|><atem:function_calls>
    <atem:invoke name="search">
    <atem:parameter name="query">a < b</atem:parameter>
    </atem:invoke>
    </atem:function_calls><|eom|>

What goes to itself is reasoning. What goes to the user is text, and holds no calls. The prompt ends with
`<|start|>assistant`, so that an answer begins with ` to=…`. A value is what stands between its tags, every character of
it; the schema says what it is. A tool's name may have that of its group, or itself once more, and a dot before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import about, family
from ..format import CallToWrite, Chat, Format
from ..invokes import Invokes, tags, write_invoke
from ..json_source import json_text
from ..marks import read_any
from ..prose import Thinking, pass_to_mark
from ..scanner import PieceKind, Scanner, Wait
from ..tagged import TaggedCall

START, MESSAGE = "<|start|>assistant", "<|message|>"
END_MESSAGE, END_TURN = "<|eom|>", "<|eot|>"
ENDS = (END_MESSAGE, END_TURN)
TO = " to="
OPEN, CLOSE = "<atem:function_calls>", "</atem:function_calls>"
TAGS = tags("atem:")
THINKING = Thinking(((f"{START} to=self{MESSAGE}", END_MESSAGE),), ended_by_calls=False)

_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/")


class _Messages:
    """An answer, message by message."""

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None) -> None:
        self._scanner = scanner
        self._tools = tools
        self._invokes = Invokes(
            scanner,
            tools,
            TAGS,
            {OPEN: CLOSE},
            leave_at=ENDS,
            openers=(START,),
            rename=lambda name: _tool_of(tools, name),
        )
        self._begins = self._invokes.begins()
        self._calls = scanner.plain is not PieceKind.REASONING
        """Whether there may be calls in this message."""

    def read(self) -> Wait[None]:
        scanner = self._scanner
        if self._calls:
            scanner.plain = PieceKind.TEXT
            if not (yield from self._read_header()):
                scanner.unread()
        while True:
            marks = (START, *ENDS, *(self._begins if self._calls else ()))
            mark = yield from pass_to_mark(scanner, marks)
            if not mark:
                return
            if mark in ENDS:
                scanner.give_mark()
                scanner.plain, scanner.said, self._calls = PieceKind.TEXT, False, True
            elif mark == START:
                if not (yield from self._read_header()):
                    scanner.retract()
            elif (yield from self._begins[mark]()):
                yield from self._read_end()
            else:
                scanner.retract()

    def _read_header(self) -> Wait[bool]:
        """Reads whom a message is for, and the message too if it is a call; False, with all of it held, if this is no
        header.
        """
        scanner = self._scanner
        to = "user"
        if (yield from scanner.read_literal(TO)):
            to = yield from scanner.read_word(_NAME, scanner.limits.name)
        if not to or not (yield from scanner.read_literal(MESSAGE)):
            return False
        scanner.plain = PieceKind.REASONING if to == "self" else PieceKind.TEXT
        self._calls = to not in ("self", "user")
        if not self._calls or not (yield from self._read_call(to)):
            scanner.give_mark()
        return True

    def _read_call(self, to: str) -> Wait[bool]:
        """Reads a call in a message to this tool, of which the header is held; False, and it is still, if there is
        none.
        """
        scanner = self._scanner
        size = scanner.held_length
        yield from scanner.read_space()
        opened = yield from scanner.read_literal(OPEN)
        if not (yield from self._invokes.wrapped()):
            call = TaggedCall(scanner, self._tools, TAGS.parameter, TAGS.value_end)
            problem = call.fault(f"there is something other than {TAGS.invoke}…>", TAGS.invoke)
            scanner.unread()
            scanner.read_to(scanner.at + size)
            if not opened:
                return False
            call.begin(_tool_of(self._tools, to))
            yield from call.break_off(problem, (CLOSE,), ENDS)
        yield from self._read_end()
        return True

    def _read_end(self) -> Wait[None]:
        """After calls: the mark that ends their message."""
        if (yield from read_any(self._scanner, ENDS)):
            self._scanner.give_markup()


def _tool_of(tools: ToolRegistry | None, name: str) -> str:
    """The tool that is meant: what stands before the last dot may be the name of a group."""
    last = name.rpartition(".")[2]
    return last if tools is not None and name not in tools and last in tools else name


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return _Messages(scanner, tools).read()


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each as a message to its tool."""
    told = (f"{START}{TO}{call.name}{MESSAGE}{OPEN}\n{write_invoke(call, TAGS)}\n{CLOSE}" for call in calls)
    return f"{END_MESSAGE.join(told)}{END_TURN}"


def write_result(part: ToolResultPart, content: str) -> str:
    """A result as a turn of its own."""
    output = f'<tool_output name="{part.name}">\n{content}\n</tool_output>'
    return f"<|start|>tool {part.name}{MESSAGE}{output}{END_TURN}"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the model's own chat template, and whom it may write to."""
    groups = list(dict.fromkeys(tool.name.partition(".")[0] for tool in tools))
    described = "".join(f"{json_text({'name': group, 'description': ''})}\n" for group in groups)
    told = "".join(f"\n{about(tool)}" for tool in tools)
    recipients = ", ".join(['"self"', *(f'"{group}.*"' for group in groups), '"user"'])
    return (
        "\n\nReasoning strength: high.\n\n"
        "In this environment you have access to a set of tools you can use to answer the user's question.\n\n"
        f'You can invoke a function by writing a "{OPEN}" block like the following:\n{OPEN}\n'
        '<atem:invoke name="$FUNCTION_NAME">\n'
        '<atem:parameter name="$PARAMETER_NAME">$PARAMETER_VALUE</atem:parameter>\n...\n'
        f"</atem:invoke>\n{CLOSE}\n\n"
        "String and scalar parameters should be specified as is, while lists and objects should use JSON format. Note "
        "that spaces for string values are not stripped. The output is not expected to be valid XML and is parsed with "
        "regular expressions.\nHere are the functions available in JSONSchema format:\n// Tool metadata\n"
        f"{described}// Function schemas{told}\n\n"
        "Here's an example of how to call a function in the tool set. To make parallel tool calls, emit each call as "
        "its own message (one tool call per message) in consecutive messages:\n(If the tool namespace is not "
        "specified, invoke the function directly as `example_function_name` rather than "
        "`example_tool_name.example_function_name`)\n\nto=example_tool_name.example_function_name\n\n"
        f'{OPEN}\n<atem:invoke name="example_tool_name.example_function_name">\n'
        '<atem:parameter name="example_parameter_1">value_1</atem:parameter>\n'
        '<atem:parameter name="example_parameter_2">This is the value for the second parameter\nthat can span\n'
        f'"multiple" lines\n</atem:parameter>\n</atem:invoke>\n{CLOSE}\n\n# Valid recipients: {recipients}.'
    )


MUSE_GLIMMER: Format = family(
    "muse-glimmer",
    "ATEM tags in messages to tools",
    models=("Muse Glimmer",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        "<|start|>",
        MESSAGE,
        END_MESSAGE,
        END_TURN,
        "<atem:",
        "</atem:",
        "<tool_output",
        "</tool_output>",
    ),
    thinking=THINKING,
    chat=Chat(
        system=("<|start|>system<|message|>", END_TURN),
        user=("<|start|>user<|message|>", END_TURN),
        assistant=("", ""),
        results=("", ""),
        answer=START,
        tools=tell_tools,
        default_system="You are a helpful AI assistant.\nKnowledge cutoff: 2026-01-04.",
        reasoning=f" to=self{MESSAGE}",
        no_reasoning=f" to=user{MESSAGE}",
        stop=(END_TURN,),
        words=(f"{START}{TO}user{MESSAGE}", END_TURN),
        thought=(f"{START}{TO}self{MESSAGE}", END_MESSAGE),
    ),
)
