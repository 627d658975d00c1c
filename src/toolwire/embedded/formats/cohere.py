"""`cohere3` and `cohere4`: a JSON list between marks, with ids that count the calls of a conversation.

    <|START_THINKING|>…<|END_THINKING|><|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "search", "parameters": {"query": "x"}}
    ]<|END_ACTION|>

Words stand between `<|START_RESPONSE|>` and `<|END_RESPONSE|>`, in newer models `<|START_TEXT|>` and `<|END_TEXT|>`;
both formats read both. Citations are part of the words.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..json_calls import Members
from ..json_source import json_text
from ..listed import lists
from ..prose import Thinking, marked
from ..scanner import Scanner, Wait
from ..wrapped import wrappers

OPEN, CLOSE = "<|START_ACTION|>", "<|END_ACTION|>"
RESPONSE = ("<|START_RESPONSE|>", "<|END_RESPONSE|>")
TEXT = ("<|START_TEXT|>", "<|END_TEXT|>")
MEMBERS = Members(name=("tool_name",), arguments=("parameters",), call_id=("tool_call_id",))
THINKING = Thinking((("<|START_THINKING|>", "<|END_THINKING|>"),))
_TURN, _TURN_END = "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"
SYSTEM, USER, CHATBOT = f"{_TURN}<|SYSTEM_TOKEN|>", f"{_TURN}<|USER_TOKEN|>", f"{_TURN}<|CHATBOT_TOKEN|>"
TURN_MARKS = (_TURN, _TURN_END, "<|SYSTEM_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>", "<BOS_TOKEN>")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    openers = lists(scanner, tools, OPEN, CLOSE, MEMBERS)
    return marked(scanner, openers | wrappers(scanner, dict((RESPONSE, TEXT))), THINKING)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A list between marks, one call on a line."""
    made = (
        {"tool_call_id": call.call_id or str(call.number), "tool_name": call.name, "parameters": call.arguments}
        for call in calls
    )
    listed = ",\n".join(f"    {json_text(call)}" for call in made)
    return f"{OPEN}[\n{listed}\n]{CLOSE}"


def _write_result(part: ToolResultPart, result: str) -> str:
    return (
        f'    {{\n        "tool_call_id": {json_text(part.id)},\n        "results": {{\n            "0": {result}\n'
        f'        }},\n        "is_error": {"true" if part.is_error else "null"}\n    }}'
    )


def write_result3(part: ToolResultPart, content: str) -> str:
    """A result as an object with the id of its call."""
    return _write_result(part, json_text(content))


def write_result4(part: ToolResultPart, content: str) -> str:
    """A result as an object with the id of its call."""
    return _write_result(part, json_text({"content": content}))


def _told(tools: Sequence[ToolDefinition]) -> str:
    told = ",\n".join(f"    {json_text(tool.as_json() | {'responses': None})}" for tool in tools)
    return f"```json\n[\n{told}\n]\n```"


def _number(call: CallToWrite) -> str:
    return str(call.number)


_RULES3 = f"""# System Preamble
You have been trained to have advanced reasoning and tool-use capabilities and you should make best use of these \
skills to serve user's requests.

## Tool Use
Think about how you can make best use of the provided tools to help with the task and come up with a high level plan \
that you will execute first.

0. Start by writing <|START_THINKING|> followed by a detailed step by step plan of how you will solve the problem. For \
each step explain your thinking fully and give details of required tool calls (if needed). Unless specified otherwise, \
you write your plan in natural language. When you finish, close it out with <|END_THINKING|>.
    You can optionally choose to skip this step when the user request is so straightforward to address that only a \
trivial plan would be needed.
    NOTE: You MUST skip this step when you are directly responding to the user's request without using any tools.

Then carry out your plan by repeatedly executing the following steps.
1. Action: write {OPEN} followed by a list of JSON-formatted tool calls, with each one containing "tool_name" and \
"parameters" fields.
    When there are multiple tool calls which are completely independent of each other (i.e. they can be executed in \
parallel), you should list them out all together in one step. When you finish, close it out with {CLOSE}.
2. Observation: you will then receive results of those tool calls in JSON format in the very next turn, wrapped around \
by <|START_TOOL_RESULT|> and <|END_TOOL_RESULT|>. Carefully observe those results and think about what to do next. \
Note that these results will be provided to you in a separate turn. NEVER hallucinate results.
    Every tool call produces a list of results (when a tool call produces no result or a single result, it'll still \
get wrapped inside a list). Each result is clearly linked to its originating tool call via its "tool_call_id".
3. Reflection: start the next turn by writing <|START_THINKING|> followed by what you've figured out so far, any \
changes you need to make to your plan, and what you will do next. When you finish, close it out with <|END_THINKING|>.
    You can optionally choose to skip this step when everything is going according to plan and no special pieces of \
information or reasoning chains need to be recorded.
    NOTE: You MUST skip this step when you are done with tool-use actions and are ready to respond to the user.

You can repeat the above 3 steps multiple times (could be 0 times too if no suitable tool calls are available or \
needed), until you decide it's time to finally respond to the user.

4. Response: then break out of the loop and write {RESPONSE[0]} followed by a piece of text which serves as a response \
to the user's last request. Use all previous tool calls and results to help you when formulating your response. When \
you finish, close it out with {RESPONSE[1]}.

## Available Tools
Here is the list of tools that you have available to you.
You can ONLY use the tools listed here. When a tool is not listed below, it is NOT available and you should NEVER \
attempt to use it.
Each tool is represented as a JSON object with fields like "name", "description", "parameters" (per JSON Schema), and \
optionally, "responses" (per JSON Schema).

"""


def tell_tools3(tools: Sequence[ToolDefinition]) -> str:
    """What the models' own chat template says of tools, in a turn before that of the system."""
    return f"{SYSTEM}{_RULES3}{_told(tools)}{_TURN_END}"


def tell_tools4(tools: Sequence[ToolDefinition]) -> str:
    """What the models' own chat template says of tools, in a turn before that of the system."""
    return f"{SYSTEM}{TEXT[0]}# Available Tools\n{_told(tools)}{TEXT[1]}{_TURN_END}"


CHAT3 = Chat(
    system=(SYSTEM, _TURN_END),
    user=(USER, _TURN_END),
    assistant=(CHATBOT, _TURN_END),
    results=(f"{SYSTEM}<|START_TOOL_RESULT|>[\n", f"\n]<|END_TOOL_RESULT|>{_TURN_END}"),
    between_results=",\n",
    answer=CHATBOT,
    tools=tell_tools3,
    begin="<BOS_TOKEN>",
    tools_at="before_system",
    reasoning="<|START_THINKING|>",
    no_reasoning="<|START_THINKING|><|END_THINKING|>",
    stop=(_TURN_END,),
    words=RESPONSE,
    thought=("<|START_THINKING|>", "<|END_THINKING|>"),
    call_id=_number,
)
CHAT4 = CHAT3._replace(
    system=(SYSTEM + TEXT[0], TEXT[1] + _TURN_END),
    user=(USER + TEXT[0], TEXT[1] + _TURN_END),
    tools=tell_tools4,
    words=TEXT,
)
MARKS = (
    *(OPEN, CLOSE, *RESPONSE, *TEXT, *THINKING.marks[0], "<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"),
    *TURN_MARKS,
)

COHERE3: Format = family(
    "cohere3",
    "a JSON list in <|START_ACTION|>, words in <|START_RESPONSE|>",
    models=("Command R7B", "Command A"),
    read=read,
    write_calls=write_calls,
    write_result=write_result3,
    marks=MARKS,
    thinking=THINKING,
    chat=CHAT3,
)

COHERE4: Format = family(
    "cohere4",
    "a JSON list in <|START_ACTION|>, words in <|START_TEXT|>",
    models=("Command A Reasoning", "Command A Vision", "Command A+"),
    read=read,
    write_calls=write_calls,
    write_result=write_result4,
    marks=MARKS,
    thinking=THINKING,
    chat=CHAT4,
)
