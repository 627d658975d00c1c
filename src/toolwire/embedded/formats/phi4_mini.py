"""`phi4-mini`: a JSON list directly after the word `functools`, as Phi-4-mini and FireFunction v2 write calls.

    functools[{"name": "search", "arguments": {"query": "x"}}]

Phi-4-mini also knows `<|tool_call|>…<|/tool_call|>` around a list or an object, and writes it where its prompt does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..listed import lists, read_list, write_list
from ..prose import marked
from ..scanner import Scanner, Wait

WORD = "functools"
OPEN, CLOSE = "<|tool_call|>", "<|/tool_call|>"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin() -> Wait[bool]:
        if (yield from scanner.need(1)) != "[":
            return False
        return (yield from read_list(scanner, tools, "", (f"{WORD}[",)))

    return marked(scanner, {WORD: begin} | lists(scanner, tools, OPEN, CLOSE))


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A list after the word."""
    return WORD + write_list(calls)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result is a turn of its own and has nothing else around it."""
    return content


_RULES = f"""In addition to plain text responses, you can choose to call one or more of the provided functions.

Use the following rule to decide when to call a function:
  * if the response can be generated from your internal knowledge (e.g., as in the case of queries like "What is the \
capital of Poland?"), do so
  * if you need external information that can be obtained by calling one or more of the provided functions, generate a \
function calls

If you decide to call functions:
  * prefix function calls with functools marker (no closing marker required)
  * all function calls should be generated in a single JSON list formatted as {WORD}[{{"name": [function name], \
"arguments": [function arguments as JSON]}}, ...]
  * follow the provided JSON schema. Do not hallucinate arguments or values. Do to blindly copy values from the \
provided samples
  * respect the argument type formatting. E.g., if the type is number and format is float, write value 7 as 7.0
  * make sure you pick the right functions that match the user intent"""


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template, which follow the system's words directly."""
    told = (json.dumps(json.loads(declare(tool)), ensure_ascii=False, indent=4) for tool in tools)
    return _RULES + "".join(f"{tool}\n\n" for tool in told)


CHAT = Chat(
    system=("<|system|>\n", "<|end|>"),
    user=("<|user|>", "<|end|>"),
    assistant=("<|assistant|>", "<|end|>"),
    results=("<|tool|>", "<|end|>"),
    between_results="<|end|><|tool|>",
    answer="<|assistant|>",
    tools=tell_tools,
    default_system="You are a helpful assistant.",
    stop=("<|end|>", "<|endoftext|>"),
    before_calls="\n",
)

PHI4_MINI: Format = family(
    "phi4-mini",
    "a JSON list after functools",
    models=("Phi-4-mini", "FireFunction v2"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(f"{WORD}[", OPEN, CLOSE, "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|/tool|>"),
        *("<|tool_response|>", "<|end|>", "<|endoftext|>"),
    ),
    chat=CHAT,
)
