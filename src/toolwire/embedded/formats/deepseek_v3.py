"""`deepseek-v3` and `deepseek-v31`: a header with the name, then JSON, between marks with wide bars.

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search
    ```json
    {"query": "x"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

is how V3 and R1 write a call; V3.1 leaves out the kind and the fence:

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{"query": "x"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>

Both are read in either format, with the marks as some models and servers spell them: `_`, `\\_` or a space for `▁`, and
`|` for `｜`. Reasoning that is not closed ends with no call: what looks like one there is a thought.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..headers import Section, break_header, last_marks, read_before, sections
from ..json_calls import is_known, read_arguments
from ..json_source import json_text
from ..marks import at_mark
from ..names import read_run
from ..prose import FENCE, Thinking, marked
from ..scanner import Scanner, Wait

SECTION, SECTION_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL, SEPARATOR, CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"
SHORT_SECTION = "<｜tool▁calls｜>"
OUTPUTS, OUTPUTS_END = "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"
OUTPUT, OUTPUT_END = "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"
BEGIN, END = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"
USER, ASSISTANT = "<｜User｜>", "<｜Assistant｜>"
KIND = "function"

THOUGHT = Thinking(ended_by_calls=False)

_SPELLINGS = (("｜", "▁"), ("｜", "_"), ("｜", " "), ("｜", "\\_"), ("|", "_"))


def _spellings(*marks: str) -> tuple[str, ...]:
    return tuple(mark.replace("｜", bar).replace("▁", gap) for mark in marks for bar, gap in _SPELLINGS)


_SECTION = Section(
    opens=_spellings(SECTION, SHORT_SECTION),
    closes=_spellings(SECTION_END),
    calls=_spellings(CALL),
    ends=((FENCE,), _spellings(CALL_END)),
)
_OPENERS = _SECTION.openers
_SEPARATORS = _spellings(SEPARATOR)
_BOUNDS = (*(f"{FENCE}{mark}" for mark in _spellings(CALL_END)), *(mark for mark in _SECTION.bounds if mark != FENCE))
"""Where a broken call has ended. A fence alone may be the one that opens its arguments."""


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def read_one() -> Wait[bool]:
        longest = scanner.limits.name
        name, found = yield from read_before(scanner, _SEPARATORS, longest)
        if name and not found:
            named = "" if name == KIND else name
            return (yield from break_header(scanner, tools, named, f"{SEPARATOR} is missing", _BOUNDS, _OPENERS))
        if name == KIND and (yield from scanner.need(1)) != "{":
            run = yield from read_run(scanner, "\r\n<{`", longest)
            name = run.strip() if run is not None else ""
        if not name or len(name.split()) > 1:
            return False
        yield from scanner.read_space()
        if (yield from scanner.read_literal(FENCE)):
            yield from scanner.read_literal("json", fold=True)
            yield from scanner.read_space()
            if (yield from at_mark(scanner, FENCE)):
                scanner.begin_call(name, known=is_known(tools, name))
                scanner.end_call("{}")
                return True
        yield from read_arguments(scanner, tools, name, ends=_BOUNDS, openers=_OPENERS)
        return True

    return marked(scanner, sections(scanner, _SECTION, read_one) | last_marks(scanner, END), THOUGHT)


def write_calls_v3(calls: Sequence[CallToWrite]) -> str:
    """All in a section, each with its kind and in a fence."""
    written = "\n".join(
        f"{CALL}{KIND}{SEPARATOR}{call.name}\n{FENCE}json\n{json_text(call.arguments)}\n{FENCE}{CALL_END}"
        for call in calls
    )
    return f"{SECTION}{written}{SECTION_END}"


def write_calls_v31(calls: Sequence[CallToWrite]) -> str:
    """All in a section, without anything between them."""
    written = "".join(f"{CALL}{call.name}{SEPARATOR}{json_text(call.arguments)}{CALL_END}" for call in calls)
    return f"{SECTION}{written}{SECTION_END}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between marks."""
    return f"{OUTPUT}{content}{OUTPUT_END}"


def tell_tools_v3(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the chat template that teaches V3 and R1 to call."""
    told = "".join(f"\n{declare(tool)}" for tool in tools)
    return (
        "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        f"You are provided with function signatures within <tools></tools> XML tags:\n<tools>{told}\n</tools>\n\n"
        f"For function call returns, you should first print {SECTION}\n\n"
        "For each function call, you should return object like:\n"
        f"{CALL}{KIND}{SEPARATOR}<function_name>\n{FENCE}json\n<function_arguments_in_json_format>\n{FENCE}{CALL_END}\n\n"
        f"At the end of function call returns, you should print {SECTION_END}{END}"
    )


def tell_tools_v31(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words that V3.1 was trained on."""
    told = "".join(
        f"\n### {tool.name}\nDescription: {tool.description}\n\nParameters: {json_text(tool.parameters)}\n"
        for tool in tools
    )
    return (
        f"\n\n## Tools\nYou have access to the following tools:\n{told}\n"
        "IMPORTANT: ALWAYS adhere to this exact format for tool use:\n"
        f"{SECTION}{CALL}tool_call_name{SEPARATOR}tool_call_arguments{CALL_END}{{additional_tool_calls}}{SECTION_END}"
        "\n\nWhere:\n\n- `tool_call_name` must be an exact match to one of the available tools\n"
        "- `tool_call_arguments` must be valid JSON that strictly follows the tool's Parameters Schema\n"
        "- For multiple tool calls, chain them directly without separators or spaces\n"
    )


_MARKS = tuple(
    dict.fromkeys(
        _spellings(
            *(SECTION, SECTION_END, CALL, CALL_END, SEPARATOR, OUTPUTS, OUTPUTS_END, OUTPUT, OUTPUT_END),
            *(BEGIN, END, USER, ASSISTANT, SHORT_SECTION),
        )
    )
)

_CHAT = Chat(
    system=("", ""),
    user=(USER, ""),
    assistant=(ASSISTANT, END),
    results=(f"{END}{OUTPUTS}", OUTPUTS_END),
    between_results="\n",
    results_inside=True,
    answer=ASSISTANT,
    tools=tell_tools_v3,
    begin=BEGIN,
    reasoning="<think>\n",
    stop=(END,),
)

DEEPSEEK_V3: Format = family(
    "deepseek-v3",
    "DeepSeek's marks, a header and JSON in a fence",
    models=("DeepSeek V3", "DeepSeek R1"),
    read=read,
    write_calls=write_calls_v3,
    write_result=write_result,
    marks=_MARKS,
    thinking=THOUGHT,
    chat=_CHAT,
)

DEEPSEEK_V31: Format = family(
    "deepseek-v31",
    "DeepSeek's marks, a name and JSON",
    models=("DeepSeek V3.1",),
    read=read,
    write_calls=write_calls_v31,
    write_result=write_result,
    marks=_MARKS,
    thinking=THOUGHT,
    chat=_CHAT._replace(
        assistant=(f"{ASSISTANT}</think>", END),
        results=(END, ""),
        between_results="",
        tools=tell_tools_v31,
        reasoning="<think>",
        no_reasoning="<think></think>",
    ),
)
