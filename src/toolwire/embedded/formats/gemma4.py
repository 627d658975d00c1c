"""`gemma4`: Gemma's own literals between marks.

    <|tool_call>call:search{query:<|"|>a "b"<|"|>,limit:3}<tool_call|>

What a literal is stands in `toolwire.embedded.gemma`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..gemma import Marks, begins, declaration, write_call, write_value
from ..prose import Thinking, marked
from ..scanner import Scanner, Wait

MARKS = Marks("<|tool_call>", "<tool_call|>", '<|"|>', is_typed=True, results="<|tool_response>")
THOUGHT = Thinking((("<|channel>thought\n", "<channel|>"), ("<|channel>thought", "<channel|>")))


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, begins(scanner, tools, MARKS), THOUGHT)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each between its marks."""
    return "".join(write_call(call, MARKS) for call in calls)


def write_result(part: ToolResultPart, content: str) -> str:
    """A result between marks."""
    return f"<|tool_response>response:{part.name}{write_value({'value': content}, MARKS.quote)}<tool_response|>"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as the models' own chat template declares them."""
    return "".join(f"<|tool>{declaration(tool, MARKS.quote)}<tool|>" for tool in tools)


GEMMA4: Format = family(
    "gemma4",
    "Gemma's own literals in <|tool_call> marks",
    models=("Gemma 4",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(MARKS.opening, MARKS.closing, MARKS.quote, "<|tool_response>", "<tool_response|>", "<|tool>", "<tool|>"),
        *("<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|think|>", "<bos>", "<eos>"),
    ),
    thinking=THOUGHT,
    chat=Chat(
        begin="<bos>",
        system=("<|turn>system\n", "<turn|>\n"),
        user=("<|turn>user\n", "<turn|>\n"),
        assistant=("<|turn>model\n", "<turn|>\n"),
        results=("", ""),
        results_inside=True,
        answer="<|turn>model\n",
        tools=tell_tools,
        reasoning="<|channel>thought\n",
        no_reasoning="<|channel>thought\n<channel|>",
        stop=("<turn|>", "<|tool_response>"),
        thought=("<|channel>thought\n", "<channel|>"),
    ),
)
