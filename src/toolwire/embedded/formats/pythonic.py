"""`pythonic`: a list of calls as Python writes them, by Llama 4, ToolACE and others; `gemma3` in Gemma's prompts.

    [search(query="x", limit=3), ping()]

Llama 4 may put it between `<|python_start|>` and `<|python_end|>`; Gemma 3 writes single calls in a fence of the kind
`tool_code` too. A list without marks counts only where an answer or a line begins with it, or directly after a call,
and only if its first name is that of a known tool: `[1]` and `[x](y)` are ordinary text.

Llama 4's own chat template writes JSON objects as Llama 3's does, after the marks with nothing in them:

    <|python_start|><|python_end|>{"name": "search", "parameters": {"query": "x"}}{"name": "ping", "parameters": {}}

Those are read too, with the marks or where the answer begins with one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..expressions import python_text, read_list, read_section, write_expression
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..json_calls import Outcome, read_call
from ..json_source import json_text
from ..prose import FENCE, Begin, marked
from ..scanner import Scanner, Wait
from .llama3 import read_further

START, END = "<|python_start|>", "<|python_end|>"
CODE = f"{FENCE}tool_code"
HEADER, HEADER_END, TURN_END = "<|header_start|>", "<|header_end|>", "<|eot|>"
TURN, GEMMA_END = "<start_of_turn>", "<end_of_turn>"
RESPONSES = ("<tool_response>", "</tool_response>")


def bare_lists(scanner: Scanner, tools: ToolRegistry | None) -> dict[str, Begin]:
    """What begins lists that have no marks around them."""

    def begin_first() -> Wait[bool]:
        if scanner.said:
            return False
        return (yield from read_list(scanner, tools, certain=False))

    def begin_line() -> Wait[bool]:
        scanner.unread()
        scanner.give_text_to(scanner.at + 1)
        scanner.read_to(scanner.at + 1)
        return (yield from read_list(scanner, tools, certain=False))

    return {"\n[": begin_line, "[": begin_first}


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin_section() -> Wait[bool]:
        if (yield from scanner.read_literal(END)):
            scanner.give_mark()
            return True
        return (yield from read_section(scanner, tools, START, END))

    def begin_objects() -> Wait[bool]:
        yield from scanner.read_space()
        return (yield from scanner.need(1)) == "{" and (yield from read_objects())

    def begin_first_object() -> Wait[bool]:
        if scanner.said:
            return False
        scanner.unread()
        return (yield from read_objects())

    def read_objects() -> Wait[bool]:
        scanner.set_lead()
        if (yield from read_call(scanner, tools, ends=(START,), certain=False)) is Outcome.NOTHING:
            return False
        yield from read_further(scanner, tools)
        return True

    sections: dict[str, Begin] = {START: begin_section, END: begin_objects, "{": begin_first_object}
    return marked(scanner, sections | bare_lists(scanner, tools))


def read_gemma(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of Gemma 3."""
    sections: dict[str, Begin] = {CODE: lambda: read_section(scanner, tools, CODE, FENCE)}
    return marked(scanner, sections | bare_lists(scanner, tools))


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A list, values as Python writes them."""
    return f"[{', '.join(write_expression(call, python_text) for call in calls)}]"


def write_gemma_calls(calls: Sequence[CallToWrite]) -> str:
    """A list, values as JSON."""
    return f"[{', '.join(write_expression(call, json_text) for call in calls)}]"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result as a JSON string."""
    return json_text(content)


def write_gemma_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"{RESPONSES[0]}\n{content}{RESPONSES[1]}"


def _listed(tools: Sequence[ToolDefinition]) -> str:
    return json.dumps([json.loads(declare(tool)) for tool in tools], indent=4, ensure_ascii=False)


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of Llama 4's chat template for this syntax."""
    return (
        "\nHere is a list of functions in JSON format that you can invoke. Use exact format: "
        f"[func_name1(param1=value1, param2=value2), func_name2(...)]\n{_listed(tools)}\n"
    )


def tell_gemma(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the prompts that Gemma 3 is used with."""
    return (
        "\n\nTools (functions) are available. If you decide to invoke one or more of the tools, you must respond with "
        "a python list of the function calls.\n"
        "Example Format: [func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)] \n"
        "Do not use variables. DO NOT USE MARKDOWN SYNTAX. You SHOULD NOT include any other text in the response if "
        "you call a function. If none of the functions can be used, point it out. If you lack the parameters required "
        "by the function, also point it out.\n"
        f"Here is a list of functions in JSON format that you can invoke.\n{_listed(tools)}"
    )


def _turn(role: str) -> str:
    return f"{HEADER}{role}{HEADER_END}\n\n"


PYTHONIC: Format = family(
    "pythonic",
    "a list of Python calls",
    models=("Llama 4", "Llama 3.2 (pythonic)", "ToolACE", "Watt Tool"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(START, END, HEADER, HEADER_END, TURN_END, "<|eom|>", "<|begin_of_text|>", "<|end_of_text|>"),
    chat=Chat(
        begin="<|begin_of_text|>",
        system=(_turn("system"), TURN_END),
        user=(_turn("user"), TURN_END),
        assistant=(_turn("assistant"), TURN_END),
        results=(_turn("ipython"), TURN_END),
        between_results=f"{TURN_END}{_turn('ipython')}",
        answer=_turn("assistant"),
        tools=tell_tools,
        stop=(TURN_END, "<|eom|>", "<|end_of_text|>"),
        before_calls="\n",
    ),
)

GEMMA3: Format = family(
    "gemma3",
    "a list of Python calls, in Gemma's prompts",
    models=("Gemma 3",),
    read=read_gemma,
    write_calls=write_gemma_calls,
    write_result=write_gemma_result,
    marks=(CODE, *RESPONSES, TURN, GEMMA_END, "<bos>", "<eos>"),
    chat=Chat(
        begin="<bos>",
        system=(f"{TURN}user\n", f"{GEMMA_END}\n"),
        system_in_user=True,
        user=(f"{TURN}user\n", f"{GEMMA_END}\n"),
        assistant=(f"{TURN}model\n", f"{GEMMA_END}\n"),
        results=(f"{TURN}user\n", f"{GEMMA_END}\n"),
        between_results=f"{GEMMA_END}\n{TURN}user\n",
        answer=f"{TURN}model\n",
        tools=tell_gemma,
        stop=(GEMMA_END,),
        before_calls="\n",
    ),
)
