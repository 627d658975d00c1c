"""`granite`, `granite-20b-fc`, `granite4`: what IBM's models write.

Granite 3 writes a list after a mark, which in 3.1 is a tag that nothing closes:

    <|tool_call|>[{"name": "search", "arguments": {"query": "x"}}]

and marks its reasoning in words, or since 3.3 with tags. Granite 20B for function calling writes objects:

    <function_call> {"name": "search", "arguments": {"query": "x"}}

Granite 4 writes what Hermes does, in prompts of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import about, declare, family
from ..format import CallToWrite, Chat, Format
from ..json_calls import read_call
from ..listed import read_list, write_list, write_object
from ..prose import THINK, Thinking, marked
from ..scanner import Scanner, Wait
from ..wrapped import wrappers
from . import hermes
from .hermes import CLOSE, OPEN, RESPONSES, WORDS

MARK = "<|tool_call|>"
FUNCTION, RESULT = "<function_call>", "<function_response>"
THOUGHTS = Thinking(
    (
        ("Here is my thought process:", "Here is my response:"),
        ("Here's my thought process:", "Here's my response:"),
        *THINK.marks,
    )
)

_ROLE, _ROLE_END, _TEXT_END = "<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of Granite 3."""

    def begin() -> Wait[bool]:
        return (yield from read_list(scanner, tools, CLOSE, (CLOSE, MARK, OPEN)))

    return marked(scanner, {MARK: begin, OPEN: begin} | wrappers(scanner, WORDS), THOUGHTS)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """All as one list."""
    return f"{MARK}{write_list(calls)}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result alone in its turn."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """How to call, at the end of the system's words, and the tools in a turn of their own after it."""
    told = json.dumps([json.loads(declare(tool)) for tool in tools], indent=4, ensure_ascii=False)
    return (
        " You are a helpful assistant with access to the following tools. When a tool is required to answer the user's "
        f"query, respond only with {MARK} followed by a JSON list of tools used. If a tool does not exist in the "
        "provided list of tools, notify the user that you do not have the ability to fulfill the request."
        f"{_TEXT_END}\n{_ROLE}available_tools{_ROLE_END}{told}"
    )


def _turn(role: str) -> tuple[str, str]:
    return f"{_ROLE}{role}{_ROLE_END}", f"{_TEXT_END}\n"


_CHAT = Chat(
    system=_turn("system"),
    user=_turn("user"),
    assistant=_turn("assistant"),
    results=_turn("tool"),
    between_results="".join(reversed(_turn("tool"))),
    answer=_turn("assistant")[0],
    tools=tell_tools,
    default_system="You are Granite, developed by IBM.",
    stop=(_TEXT_END,),
)

GRANITE: Format = family(
    "granite",
    "a JSON list after <|tool_call|>",
    models=("Granite 3.0 to 3.3",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        MARK,
        OPEN,
        CLOSE,
        "<response>",
        "</response>",
        _ROLE,
        _ROLE_END,
        _TEXT_END,
        "<think>",
        "</think>",
    ),
    thinking=THOUGHTS,
    chat=_CHAT,
)


# Granite 20B for function calling


def read_20b(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of Granite 20B."""

    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        if (yield from scanner.need(1)) != "{":
            return False
        scanner.set_lead()
        yield from read_call(scanner, tools, ends=(FUNCTION,))
        return True

    return marked(scanner, {FUNCTION: begin})


def write_20b_calls(calls: Sequence[CallToWrite]) -> str:
    """Each after its mark."""
    return "".join(f"{FUNCTION} {write_object(call)}" for call in calls)


def write_20b_result(_: ToolResultPart, content: str) -> str:
    """A result after its mark."""
    return f"{RESULT} {content}"


def tell_20b_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools line by line, and what to say where none fits."""
    told = "\n".join(map(about, tools))
    return (
        f"\n<|function_call_library|>{told}\nIf none of the functions are relevant or the given question lacks the "
        f'parameters required by the function, please output "{FUNCTION} {{"name": "no_function", "arguments": {{}}}}".'
    )


GRANITE_20B_FC: Format = family(
    "granite-20b-fc",
    "JSON after <function_call>",
    models=("Granite 20B functioncalling",),
    read=read_20b,
    write_calls=write_20b_calls,
    write_result=write_20b_result,
    marks=(FUNCTION, RESULT, "<|function_call_library|>", "<|endoftext|>", "\nSYSTEM:", "\nUSER:", "\nASSISTANT:"),
    chat=Chat(
        system=("SYSTEM: ", "\n\n"),
        user=("\nUSER: ", ""),
        assistant=("\nASSISTANT: ", "<|endoftext|>"),
        results=("", ""),
        answer="\nASSISTANT: ",
        tools=tell_20b_tools,
        default_system="You are a helpful assistant with access to the following function calls. Your task is to "
        "understand the given conversation with function calls and responses and generate natural language response as "
        "the ASSISTANT to continue the conversation. You may use the following function calls to understand how to "
        "respond to the user query.",
        stop=("<|endoftext|>",),
    ),
)


# Granite 4


def tell_granite4_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template."""
    told = "".join(f"\n{declare(tool)}" for tool in tools)
    return (
        "\n\nYou are a helpful assistant with access to the following tools. You may call one or more tools to assist "
        "with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n"
        f"<tools>{told}\n</tools>\n\nFor each tool call, return a json object with function name and arguments within "
        f"{OPEN}{CLOSE} XML tags:\n{OPEN}\n"
        '{"name": <function-name>, "arguments": <args-json-object>}'
        f"\n{CLOSE}. If a tool does not exist in the provided list of tools, notify the user that you do not have the "
        "ability to fulfill the request."
    )


GRANITE4: Format = family(
    "granite4",
    "JSON in <tool_call> tags, prompts of Granite",
    models=("Granite 4",),
    read=hermes.read,
    write_calls=hermes.write_calls,
    write_result=hermes.write_result,
    marks=(OPEN, CLOSE, *RESPONSES, _ROLE, _ROLE_END, _TEXT_END, "<think>", "</think>"),
    thinking=THINK,
    chat=_CHAT._replace(
        tools=tell_granite4_tools,
        results=(f"{_ROLE}user{_ROLE_END}\n", f"{_TEXT_END}\n"),
        between_results="\n",
        default_system="",
        before_calls="\n",
    ),
)
