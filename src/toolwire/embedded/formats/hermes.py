"""`hermes`: a JSON object between tags, as Hermes, Qwen 2.5 and 3 and many others write a call.

    <tool_call>
    {"name": "search", "arguments": {"query": "x"}}
    </tool_call>

LongCat and ERNIE 4.5 do the same in tags of their own. A call that stands in a code fence without its tags, the name of
a known tool first and then its arguments, is a call too: small models often write it so.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..json_calls import Outcome, read_call
from ..json_source import json_text
from ..prose import THINK, Begin, marked
from ..scanner import Scanner, Wait

OPEN, CLOSE = "<tool_call>", "</tool_call>"
FENCE = "```"


def tags(scanner: Scanner, tools: ToolRegistry | None, opening: str, closing: str) -> dict[str, Begin]:
    """What begins calls that stand between these tags, and in a fence without them."""

    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        if (yield from scanner.need(1)) != "{":
            return False
        scanner.set_lead()
        yield from read_call(scanner, tools, ends=(closing, opening))
        yield from read_end(scanner, closing)
        return True

    def begin_fenced() -> Wait[bool]:
        yield from scanner.read_literal("json")
        yield from scanner.read_space()
        if (yield from scanner.need(1)) != "{":
            return False
        scanner.set_lead()
        if (yield from read_call(scanner, tools, certain=False)) is Outcome.NOTHING:
            return False
        yield from read_end(scanner, FENCE)
        return True

    return {opening: begin, FENCE: begin_fenced}


def read_end(scanner: Scanner, mark: str) -> Wait[None]:
    """Reads the mark after a call, space before it, as markup; where it is not there, the space is text."""
    yield from scanner.read_space()
    if (yield from scanner.read_literal(mark)):
        scanner.give_markup()
    else:
        scanner.give_text()


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, tags(scanner, tools, OPEN, CLOSE), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each between its tags."""
    return "\n".join(
        f"{OPEN}\n{json_text({'name': call.name, 'arguments': call.arguments})}\n{CLOSE}" for call in calls
    )


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"<tool_response>\n{content}\n</tool_response>"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template."""
    told = "".join(f"\n{declare(tool)}" for tool in tools)
    return (
        "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        f"You are provided with function signatures within <tools></tools> XML tags:\n<tools>{told}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within "
        f"{OPEN}{CLOSE} XML tags:\n{OPEN}\n"
        '{"name": <function-name>, "arguments": <args-json-object>}'
        f"\n{CLOSE}"
    )


CHATML = Chat(
    system=("<|im_start|>system\n", "<|im_end|>\n"),
    user=("<|im_start|>user\n", "<|im_end|>\n"),
    assistant=("<|im_start|>assistant\n", "<|im_end|>\n"),
    results=("<|im_start|>user\n", "<|im_end|>\n"),
    between_results="\n",
    answer="<|im_start|>assistant\n",
    tools=tell_tools,
    default_system="You are a helpful assistant.",
    no_reasoning="<think>\n\n</think>\n\n",
    stop=("<|im_end|>", "<|endoftext|>"),
)

HERMES: Format = family(
    "hermes",
    "JSON in <tool_call> tags",
    models=("Hermes 2 and 3", "Qwen 2.5", "Qwen 3", "QwQ", "SmolLM3", "Bielik", "Reka Edge", "Granite 4", "Trinity"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(OPEN, CLOSE, "<tool_response>", "</tool_response>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"),
    thinking=THINK,
    chat=CHATML,
)
