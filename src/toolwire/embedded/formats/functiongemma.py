"""`functiongemma`: Gemma's own literals, with values between `<escape>` marks.

    <start_function_call>call:search{query:<escape>a "b"<escape>,limit:3}<end_function_call>

Some prompts teach it to write every value between the marks, numbers too: the schema says what such a value is.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..gemma import Marks, begins, declaration, write_call, write_value
from ..prose import marked
from ..scanner import Scanner, Wait

MARKS = Marks(
    "<start_function_call>", "<end_function_call>", "<escape>", is_typed=False, results="<start_function_response>"
)
DECLARATION = ("<start_function_declaration>", "<end_function_declaration>")
RESPONSE = (MARKS.results, "<end_function_response>")
TURN, TURN_END = "<start_of_turn>", "<end_of_turn>"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, begins(scanner, tools, MARKS))


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each between its marks."""
    return "".join(write_call(call, MARKS) for call in calls)


def write_result(part: ToolResultPart, content: str) -> str:
    """A result between marks."""
    return f"{RESPONSE[0]}response:{part.name}{write_value({'value': content}, MARKS.quote)}{RESPONSE[1]}"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as the model's own chat template declares them, after the words that it needs."""
    told = "".join(f"{DECLARATION[0]}{declaration(tool, MARKS.quote)}{DECLARATION[1]}" for tool in tools)
    return f"\nYou are a model that can do function calling with the following functions{told}"


FUNCTIONGEMMA: Format = family(
    "functiongemma",
    "Gemma's own literals in <start_function_call> marks",
    models=("FunctionGemma",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(MARKS.opening, MARKS.closing, MARKS.quote, *DECLARATION, *RESPONSE, TURN, TURN_END, "<bos>", "<eos>"),
    chat=Chat(
        begin="<bos>",
        system=(f"{TURN}developer\n", f"{TURN_END}\n"),
        user=(f"{TURN}user\n", f"{TURN_END}\n"),
        assistant=(f"{TURN}model\n", f"{TURN_END}\n"),
        results=("", ""),
        results_inside=True,
        answer=f"{TURN}model\n",
        tools=tell_tools,
        stop=(TURN_END, RESPONSE[0]),
    ),
)
