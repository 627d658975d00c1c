"""`deepseek-v32` and `deepseek-v4`: DSML, tags in which every argument says whether it is a string.

    <｜DSML｜tool_calls>
    <｜DSML｜invoke name="search">
    <｜DSML｜parameter name="query" string="true">a < b</｜DSML｜parameter>
    <｜DSML｜parameter name="limit" string="false">3</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜tool_calls>

V3.2 calls the wrapper `function_calls`; V4.1 calls it `calls` and has a space before each name. Either format reads all
three, also where `｜DSML｜` was lost on the way, a JSON object in place of the arguments, and calls without a wrapper.
Where the schema allows no string, it is right and `string="true"` is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import about, family
from ..format import CallToWrite, Chat, Format
from ..invokes import Attributes, Invokes, tags, write_wrapped
from ..prose import THINK, Begin, marked
from ..scanner import Scanner, Wait

DSML = "｜DSML｜"
WRAPPERS = ("function_calls", "tool_calls", "calls")


def _is_text(attributes: Attributes) -> bool | None:
    return {"true": True, "false": False}.get(attributes.get("string", ""))


def _kind(value: Any) -> str:
    return f' string="{"true" if isinstance(value, str) else "false"}"'


TAGS, SPACED, PLAIN = (tags(prefix)._replace(is_text=_is_text, kind=_kind) for prefix in (DSML, f"{DSML} ", ""))


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    begins: dict[str, Begin] = {}
    for prefix, form in ((DSML, TAGS), (f"{DSML} ", SPACED), ("", PLAIN)):
        wrappers = {f"<{prefix}{name}>": f"</{prefix}{name}>" for name in WRAPPERS}
        begins |= Invokes(scanner, tools, form, wrappers).begins(bare=bool(prefix))
    return marked(scanner, begins, THINK)


def _writes(wrapper: str) -> Callable[[Sequence[CallToWrite]], str]:
    def write_calls(calls: Sequence[CallToWrite]) -> str:
        return write_wrapped(calls, TAGS, f"<{DSML}{wrapper}>", f"</{DSML}{wrapper}>")

    return write_calls


def _syntax(wrapper: str, name: str) -> str:
    return (
        f"<{DSML}{wrapper}>\n"
        f'<{DSML}invoke name="${name}">\n'
        f'<{DSML}parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</{DSML}parameter>\n'
        "...\n"
        f"</{DSML}invoke>\n"
        f'<{DSML}invoke name="${name}2">\n'
        "...\n"
        f"</{DSML}invoke>\n"
        f"</{DSML}{wrapper}>"
    )


def tell_tools_v32(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of V3.2's own chat template."""
    told = "".join(f"\n{about(tool)}" for tool in tools)
    return (
        "\n\n## Tools\n\nYou have access to a set of tools you can use to answer the user's question.\n"
        f'You can invoke functions by writing a "<{DSML}function_calls>" block like the following as part of your '
        f"reply to the user:\n{_syntax('function_calls', 'FUNCTION_NAME')}\n\n"
        "String and scalar parameters should be specified as is without any escaping or quotes, while lists and "
        'objects should use JSON format. The "string" attribute should be set to "true" for string type parameters and '
        '"false" for other types (numbers, booleans, arrays, objects).\n\n'
        "If the thinking_mode is enabled, then after function results you should strongly consider outputting a "
        f"thinking block. Here is an example:\n\n<{DSML}function_calls>\n...\n</{DSML}function_calls>\n\n"
        "<function_results>\n...\n</function_results>\n\n<think>...thinking about results</think>\n\n"
        f"Here are the functions available in JSONSchema format:\n<functions>{told}\n</functions>\n"
    )


def tell_tools_v4(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of V4's own chat template."""
    told = "".join(f"{about(tool)}\n" for tool in tools)
    return (
        "\n\n## Tools\n\nYou have access to a set of tools to help answer the user's question. You can invoke tools by "
        f'writing a "<{DSML}tool_calls>" block like the following:\n\n{_syntax("tool_calls", "TOOL_NAME")}\n\n'
        'String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, '
        'arrays, objects), pass the value in JSON format and set `string="false"`.\n\n'
        "If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside "
        "<think>...</think> BEFORE any tool calls or final response.\n\n"
        "Otherwise, output directly after </think> with tool calls or final response.\n\n"
        f"### Available Tool Schemas\n\n{told}\n"
        "You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.\n"
    )


def write_result_v32(_: ToolResultPart, content: str) -> str:
    """A result on a line of its own."""
    return f"\n<result>{content}</result>"


def write_result_v4(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"<tool_result>{content}</tool_result>"


MARKS = (
    f"<{DSML}",
    f"</{DSML}",
    DSML,
    "<function_calls>",
    "</function_calls>",
    "<tool_calls>",
    "</tool_calls>",
    "<calls>",
    "</calls>",
    "<think>",
    "</think>",
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜System｜>",
)

CHAT_V4 = Chat(
    begin="<｜begin▁of▁sentence｜>",
    system=("", ""),
    user=("<｜User｜>", ""),
    assistant=("<｜Assistant｜>", "<｜end▁of▁sentence｜>"),
    results=("<｜User｜>", ""),
    between_results="\n\n",
    answer="<｜Assistant｜>",
    tools=tell_tools_v4,
    reasoning="<think>",
    no_reasoning="</think>",
    stop=("<｜end▁of▁sentence｜>", "<｜User｜>"),
    before_calls="\n\n",
    calls_apart=True,
    thought=("<think>", "</think>"),
    no_thought="</think>",
)

DEEPSEEK_V32: Format = family(
    "deepseek-v32",
    "DSML tags in <｜DSML｜function_calls>",
    models=("DeepSeek V3.2",),
    read=read,
    write_calls=_writes("function_calls"),
    write_result=write_result_v32,
    marks=(*MARKS, "<function_results>", "</function_results>", "<result>", "</result>"),
    thinking=THINK,
    chat=CHAT_V4._replace(
        results=("<｜end▁of▁sentence｜>\n\n<function_results>", "\n</function_results>\n\n"),
        results_inside=True,
        reasons_again=True,
        between_results="",
        tools=tell_tools_v32,
        no_reasoning="<think></think>",
    ),
)

DEEPSEEK_V4: Format = family(
    "deepseek-v4",
    "DSML tags in <｜DSML｜tool_calls>",
    models=("DeepSeek V4", "DeepSeek V4.1"),
    read=read,
    write_calls=_writes("tool_calls"),
    write_result=write_result_v4,
    marks=(*MARKS, "<tool_result>", "</tool_result>"),
    thinking=THINK,
    chat=CHAT_V4,
)
