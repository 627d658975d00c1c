"""`glm45`, `glm47` and `poolside-v1`: a call is the tool's name and pairs of tags, one for each argument.

    <tool_call>search
    <arg_key>query</arg_key>
    <arg_value>a < b</arg_value>
    </tool_call>

GLM 4.5 and 4.6 write it on lines, GLM 4.7 and 5 and Poolside's Laguna all in a row; each reads both. Strings stand as
they are, everything else as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..argument_pairs import PairTags, read_pairs, write_pairs
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

TAGS = PairTags()
RESPONSES = ("<tool_response>", "</tool_response>")
ROLES = ("<|system|>", "<|user|>", "<|assistant|>", "<|observation|>", "<|endoftext|>", "[gMASK]", "<sop>")
THINKING = ("<think>", "</think>")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, {TAGS.opening: lambda: read_pairs(scanner, tools, TAGS)}, THINK)


def write_lines(calls: Sequence[CallToWrite]) -> str:
    """Each on lines."""
    return "\n".join(write_pairs(call, TAGS, "\n") for call in calls)


def write_rows(calls: Sequence[CallToWrite]) -> str:
    """All in a row."""
    return "".join(write_pairs(call, TAGS, "") for call in calls)


def write_result_lines(_: ToolResultPart, content: str) -> str:
    """A result between tags on lines of their own."""
    return f"{RESPONSES[0]}\n{content}\n{RESPONSES[1]}"


def write_result_row(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"{RESPONSES[0]}{content}{RESPONSES[1]}"


def write_result_line(_: ToolResultPart, content: str) -> str:
    """A result between tags, and the end of the line."""
    return f"{RESPONSES[0]}{content}{RESPONSES[1]}\n"


def _tell_tools(tools: Sequence[ToolDefinition], line: str) -> str:
    told = "".join(f"{declare(tool)}\n" for tool in tools)
    pairs = "".join(
        f"{TAGS.key}{{arg-key-{number}}}{TAGS.key_end}{line}{TAGS.value}{{arg-value-{number}}}{TAGS.value_end}{line}"
        for number in (1, 2)
    )
    return (
        "<|system|>\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        f"You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{told}</tools>\n\n"
        "For each function call, output the function name and arguments within the following XML format:\n"
        f"{TAGS.opening}{{function-name}}{line}{pairs}...{line}{TAGS.closing}"
    )


def tell_tools_lines(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the chat template of GLM 4.5 and 4.6."""
    return _tell_tools(tools, "\n")


def tell_tools_row(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the chat template of GLM 4.7."""
    return _tell_tools(tools, "")


def tell_tools_poolside(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of Laguna's chat template, which does not say how they are called."""
    told = "".join(f"{declare(tool)}\n" for tool in tools)
    return (
        "\n\n### Tools\n\nYou may call functions to assist with the user query.\n"
        f"All available function signatures are listed below:\n<available_tools>\n{told}</available_tools>"
    )


GLM45: Format = family(
    "glm45",
    "<tool_call> with <arg_key> and <arg_value> tags on lines",
    models=("GLM 4.5", "GLM 4.6"),
    read=read,
    write_calls=write_lines,
    write_result=write_result_lines,
    marks=(*TAGS.all, *RESPONSES, *ROLES, *THINKING),
    thinking=THINK,
    chat=Chat(
        begin="[gMASK]<sop>",
        system=("<|system|>\n", ""),
        user=("<|user|>\n", ""),
        assistant=("<|assistant|>\n", ""),
        results=("<|observation|>\n", ""),
        between_results="\n",
        answer="<|assistant|>",
        tools=tell_tools_lines,
        tools_at="before_system",
        no_reasoning="\n<think></think>",
        before_calls="\n",
        thought=("<think>", "</think>\n"),
        no_thought="<think></think>\n",
        stop=("<|user|>", "<|observation|>", "<|endoftext|>"),
    ),
)

GLM47: Format = family(
    "glm47",
    "<tool_call> with <arg_key> and <arg_value> tags in a row",
    models=("GLM 4.7", "GLM 5", "Ling 3", "Spark 2.5"),
    read=read,
    write_calls=write_rows,
    write_result=write_result_row,
    marks=(*TAGS.all, *RESPONSES, *ROLES, *THINKING),
    thinking=THINK,
    chat=Chat(
        begin="[gMASK]<sop>",
        system=("<|system|>", ""),
        user=("<|user|>", ""),
        assistant=("<|assistant|>", ""),
        results=("<|observation|>", ""),
        answer="<|assistant|>",
        tools=tell_tools_row,
        tools_at="before_system",
        reasoning="<think>",
        no_reasoning="</think>",
        thought=("<think>", "</think>"),
        no_thought="</think>",
        stop=("<|user|>", "<|observation|>", "<|endoftext|>"),
    ),
)

POOLSIDE_V1: Format = family(
    "poolside-v1",
    "<tool_call> with <arg_key> and <arg_value> tags, Laguna's layout",
    models=("Poolside Laguna",),
    read=read,
    write_calls=write_rows,
    write_result=write_result_line,
    marks=(
        *TAGS.all,
        *RESPONSES,
        *THINKING,
        *("<system>", "</system>", "<user>", "</user>", "<assistant>", "</assistant>", "〈|EOS|〉"),
    ),
    thinking=THINK,
    chat=Chat(
        begin="〈|EOS|〉",
        system=("<system>", "</system>\n"),
        user=("<user>", "</user>\n"),
        assistant=("<assistant>", "</assistant>\n"),
        results=("", ""),
        answer="<assistant>",
        tools=tell_tools_poolside,
        default_system=(
            "You are a helpful, conversationally-fluent assistant made by Poolside. You are here to be helpful to "
            "users through natural language conversations."
        ),
        reasoning="<think>",
        no_reasoning="</think>",
        thought=("<think>", "</think>"),
        no_thought="</think>",
        stop=("</assistant>",),
    ),
)
