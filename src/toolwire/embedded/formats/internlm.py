"""`internlm2`, `interns1`: a JSON object between special tokens, as InternLM 2 and Intern-S1 write a call.

    <|action_start|><|plugin|>
    {"name": "search", "parameters": {"query": "x"}}<|action_end|>

Intern-S1 has a space between the two tokens, and reasons before; both readers take both. `<|interpreter|>` in place of
`<|plugin|>` is code and no call.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..chatml import CHATML_MARKS, chatml
from ..family import about, declare, family
from ..format import CallToWrite, Format
from ..listed import read_objects, write_object
from ..prose import THINK, Begin, marked
from ..scanner import Scanner, Wait

START, PLUGIN, END = "<|action_start|>", "<|plugin|>", "<|action_end|>"
_MARKS = (START, PLUGIN, "<|interpreter|>", END, *CHATML_MARKS)
_RESULT = f"<|im_start|>environment name={PLUGIN}\n"


def _begins(scanner: Scanner, tools: ToolRegistry | None) -> dict[str, Begin]:
    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        if not (yield from scanner.read_literal(PLUGIN)):
            return False
        return (yield from read_objects(scanner, tools, END, (END, START)))

    return {START: begin}


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of InternLM 2."""
    return marked(scanner, _begins(scanner, tools))


def read_s1(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of Intern-S1."""
    return marked(scanner, _begins(scanner, tools), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """Each between its tokens."""
    return "".join(f"{START}{PLUGIN}\n{write_object(call, 'parameters')}{END}" for call in calls)


def write_s1_calls(calls: Sequence[CallToWrite]) -> str:
    """Each between its tokens, with the space of Intern-S1."""
    return "\n".join(f"{START} {PLUGIN}\n{write_object(call, 'parameters')}{END}" for call in calls)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result alone in its turn."""
    return content


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as a list, in a turn of their own after the system's."""
    return f"<|im_end|>\n<|im_start|>system name={PLUGIN}\n[{', '.join(map(about, tools))}]"


def tell_s1_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as JSON, and how to call one."""
    told = "\n".join(map(declare, tools))
    return (
        "\n\nYour response should consist of a reasoning step (**thought**) followed immediately by a function call in "
        f"valid JSON format. Wrap each function call using the `{START}{PLUGIN}` and `{END}` tags.\n\n"
        f"**Format example:**\n\n```\n(Your thought goes here...)\n\n{START}{PLUGIN}\n"
        '{\n    "name": "tool_name",\n    "parameters": {\n        "parameter1": "value1",\n'
        f'        "parameter2": "value2"\n    }}\n}}\n{END}\n```\n\n'
        f"# External Tools\nYou have access to these tools:\n{told}"
    )


_CHAT = chatml(tell_tools)._replace(
    begin="<s>",
    results=(_RESULT, "<|im_end|>\n"),
    between_results=f"<|im_end|>\n{_RESULT}",
    reasoning="",
    no_reasoning="",
    stop=("<|im_end|>",),
    before_calls="",
    thought=None,
)

INTERNLM2: Format = family(
    "internlm2",
    "JSON after <|action_start|><|plugin|>",
    models=("InternLM 2", "InternLM 2.5", "InternLM 3"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=_MARKS,
    chat=_CHAT,
)

INTERNS1: Format = family(
    "interns1",
    "JSON after <|action_start|> <|plugin|>",
    models=("Intern-S1",),
    read=read_s1,
    write_calls=write_s1_calls,
    write_result=write_result,
    marks=(*_MARKS, "<think>", "</think>"),
    thinking=THINK,
    chat=_CHAT._replace(begin="", tools=tell_s1_tools, reasoning="<think>", before_calls="\n"),
)
