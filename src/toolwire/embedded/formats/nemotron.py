"""`nemotron`: a JSON list between tags in capitals, as Nemotron Nano v2 and Llama Nemotron write calls.

    <TOOLCALL>[{"name": "search", "arguments": {"query": "x"}}]</TOOLCALL>

The prompt opens the reasoning; a call in it ends it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..json_source import json_text
from ..listed import lists, write_list
from ..prose import THINK, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<TOOLCALL>", "</TOOLCALL>"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, lists(scanner, tools, OPEN, CLOSE), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A list between tags."""
    return f"{OPEN}{write_list(calls)}{CLOSE}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result stands in a list of all, and has nothing else around it."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template, its doubled braces included."""
    told = ", ".join(json_text(tool.as_json()) for tool in tools)
    return (
        "\n\nYou can use the following tools to assist the user if required:"
        f"\n<AVAILABLE_TOOLS>[{told}]</AVAILABLE_TOOLS>\n\n"
        "If you decide to call any tool(s), use the following format:\n"
        f'{OPEN}[{{{{"name": "tool_name1", "arguments": "tool_args1"}}}}, '
        f'{{{{"name": "tool_name2", "arguments": "tool_args2"}}}}]{CLOSE}\n\n'
        "The user will execute tool-calls and return responses from tool(s) in this format:\n"
        '<TOOL_RESPONSE>[{{"tool_response1"}}, {{"tool_response2"}}]</TOOL_RESPONSE>\n\n'
        "Based on the tool responses, you can call additional tools if needed, correct tool calls if any errors are "
        "found, or just respond to the user."
    )


CHAT = Chat(
    system=("<SPECIAL_10>System\n", "\n\n"),
    user=("<SPECIAL_11>User\n", "\n"),
    assistant=("<SPECIAL_11>Assistant\n", "\n<SPECIAL_12>\n"),
    results=("<SPECIAL_11>User\n<TOOL_RESPONSE>[", "]</TOOL_RESPONSE>"),
    between_results=", ",
    answer="<SPECIAL_11>Assistant\n",
    tools=tell_tools,
    reasoning="<think>\n",
    no_reasoning="<think></think>",
    stop=("<SPECIAL_12>", "<SPECIAL_11>"),
    before_calls="\n",
)

NEMOTRON: Format = family(
    "nemotron",
    "a JSON list in <TOOLCALL> tags",
    models=("Nemotron Nano v2", "Nemotron-H", "Llama Nemotron Super and Ultra"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(OPEN, CLOSE, "<TOOL_RESPONSE>", "</TOOL_RESPONSE>", "<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>"),
        *("<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>", "<think>", "</think>"),
    ),
    thinking=THINK,
    chat=CHAT,
)
