"""`hermes`: a JSON object between tags, as Hermes, Qwen 2.5 and 3 and many others write a call.

    <tool_call>
    {"name": "search", "arguments": {"query": "x"}}
    </tool_call>

Several objects in one pair of tags are several calls. A call that stands in a code fence without its tags, the name of
a known tool first and then its arguments, is a call too: small models often write it so. In reasoning a fence is only a
draft.

`longcat` does the same in tags of its own, and its later models write a name and pairs of tags in them. `ernie45` puts
its words between `<response>` tags.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..argument_pairs import PairTags, read_pairs
from ..chatml import CHATML_MARKS, chatml
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..listed import read_objects, write_object
from ..prose import FENCE, THINK, Begin, Thinking, marked
from ..scanner import PieceKind, Scanner, Wait
from ..wrapped import wrappers

OPEN, CLOSE = "<tool_call>", "</tool_call>"
WORDS = {"<response>": "</response>"}
"""What may stand around the words of an answer."""
RESPONSES = ("<tool_response>", "</tool_response>")


def tags(scanner: Scanner, tools: ToolRegistry | None, opening: str, closing: str) -> dict[str, Begin]:
    """What begins calls that stand between these tags, and in a fence without them."""

    def begin() -> Wait[bool]:
        return (yield from read_objects(scanner, tools, closing, (closing, opening)))

    def begin_fenced() -> Wait[bool]:
        if scanner.plain is PieceKind.REASONING:
            return False
        yield from scanner.read_literal("json")
        return (yield from read_objects(scanner, tools, FENCE, (FENCE,), certain=False))

    return {opening: begin, FENCE: begin_fenced}


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, tags(scanner, tools, OPEN, CLOSE), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each between its tags."""
    return "\n".join(f"{OPEN}\n{write_object(call)}\n{CLOSE}" for call in calls)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"{RESPONSES[0]}\n{content}\n{RESPONSES[1]}"


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


HERMES: Format = family(
    "hermes",
    "JSON in <tool_call> tags",
    models=("Hermes 2 and 3", "Qwen 2.5", "Qwen 3", "QwQ", "SmolLM3", "Bielik", "Reka Edge", "Trinity"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(OPEN, CLOSE, *RESPONSES, *CHATML_MARKS, "<|endoftext|>", "<think>", "</think>"),
    thinking=THINK,
    chat=chatml(tell_tools),
)


# LongCat

LONGCAT_OPEN, LONGCAT_CLOSE = "<longcat_tool_call>", "</longcat_tool_call>"
LONGCAT_PAIRS = PairTags(
    LONGCAT_OPEN,
    LONGCAT_CLOSE,
    "<longcat_arg_key>",
    "</longcat_arg_key>",
    "<longcat_arg_value>",
    "</longcat_arg_value>",
)
LONGCAT_THINK = Thinking((("<longcat_think>", "</longcat_think>"), *THINK.marks))


def read_longcat(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of LongCat."""
    openers = tags(scanner, tools, LONGCAT_OPEN, LONGCAT_CLOSE)
    begin_object = openers[LONGCAT_OPEN]

    def begin() -> Wait[bool]:
        return (yield from begin_object()) or (yield from read_pairs(scanner, tools, LONGCAT_PAIRS))

    return marked(scanner, openers | {LONGCAT_OPEN: begin}, LONGCAT_THINK)


def write_longcat(calls: Sequence[CallToWrite]) -> str:
    """Each between its tags, one directly after the other."""
    return "".join(f"{LONGCAT_OPEN}\n{write_object(call)}\n{LONGCAT_CLOSE}" for call in calls)


LONGCAT: Format = family(
    "longcat",
    "JSON in <longcat_tool_call> tags",
    models=("LongCat-Flash",),
    read=read_longcat,
    write_calls=write_longcat,
    write_result=write_result,
    marks=(
        *LONGCAT_PAIRS.all,
        *RESPONSES,
        "<longcat_think>",
        "</longcat_think>",
        "<longcat_s>",
        "</longcat_s>",
    ),
    thinking=LONGCAT_THINK,
)


# ERNIE 4.5


def read_ernie(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of ERNIE."""
    return marked(scanner, tags(scanner, tools, OPEN, CLOSE) | wrappers(scanner, WORDS), THINK)


def write_ernie(calls: Sequence[CallToWrite]) -> str:
    """Each between its tags, with an empty line between two."""
    return "\n\n".join(f"{OPEN}\n{write_object(call)}\n{CLOSE}\n" for call in calls)


def write_ernie_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"<tool_output>\n{content}\n</tool_output>\n"


def tell_ernie(tools: Sequence[ToolDefinition]) -> str:
    """The tools as a list, in a turn of their own."""
    told = ", ".join(map(declare, tools))
    return f"<|im_start|>system\n<tool_list>\n[{told}]\n</tool_list><|im_end|>\n\n"


ERNIE45: Format = family(
    "ernie45",
    "JSON in <tool_call> tags, words in <response> tags",
    models=("ERNIE 4.5",),
    read=read_ernie,
    write_calls=write_ernie,
    write_result=write_ernie_result,
    marks=(
        OPEN,
        CLOSE,
        "<response>",
        "</response>",
        "<tool_output>",
        "</tool_output>",
        *("<global_setting>", "</global_setting>", "<system_setting>", "</system_setting>"),
        *("<tool_list>", "</tool_list>"),
        *CHATML_MARKS,
        "<think>",
        "</think>",
    ),
    thinking=THINK,
    chat=Chat(
        begin="<|im_start|>system\n<global_setting>\nthink_mode=True\n</global_setting><|im_end|>\n\n",
        system=("<|im_start|>system\n<system_setting>\n", "\n</system_setting><|im_end|>\n\n"),
        user=("<|im_start|>user\n", "<|im_end|>\n\n"),
        assistant=("<|im_start|>assistant\n", "<|im_end|>\n\n"),
        results=("<|im_start|>tool\n", "<|im_end|>\n\n"),
        answer="<|im_start|>assistant\n<think>\n",
        tools=tell_ernie,
        tools_at="before_system",
        stop=("<|im_end|>", "</s>"),
        words=("<response>\n", "\n</response>\n"),
        before_calls="\n\n",
        thought=("<think>\n", "\n</think>\n\n\n"),
    ),
)
