"""`command-r`: a JSON list in a fence after the word `Action:`, as Command R and R+ of 2024 write calls.

    Action:
    ```json
    [
        {
            "tool_name": "search",
            "parameters": {
                "query": "x"
            }
        }
    ]```

Without the fence it must begin with the name of a known tool and then its arguments: other lists are text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..json_calls import Members, Outcome, read_calls
from ..marks import read_end
from ..prose import FENCE, Begin, marked
from ..scanner import Scanner, Wait
from .cohere import CHATBOT, SYSTEM, TURN_MARKS, USER

WORD = "Action:"
MEMBERS = Members(name=("tool_name",), arguments=("parameters",))
_TURN_END = "<|END_OF_TURN_TOKEN|>"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        fenced = yield from scanner.read_literal(FENCE)
        if fenced:
            yield from scanner.read_literal("json")
            yield from scanner.read_space()
        if (yield from scanner.need(1)) != "[":
            return False
        ends = (FENCE, WORD)
        if (yield from read_calls(scanner, tools, MEMBERS, ends=ends, certain=fenced)) is Outcome.NOTHING:
            return False
        if fenced:
            yield from read_end(scanner, FENCE)
        return True

    openers: dict[str, Begin] = {WORD: begin}
    return marked(scanner, openers)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A list on several lines, in a fence after the word."""
    made = [{"tool_name": call.name, "parameters": call.arguments} for call in calls]
    return f"{WORD}\n{FENCE}json\n{json.dumps(made, ensure_ascii=False, indent=4)}{FENCE}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"<results>\n{content}</results>"


_ASKED = f"""Write '{WORD}' followed by a json-formatted list of actions that you want to perform in order to produce \
a good response to the user's last input. You can use any of the supplied tools any number of times, but you should \
aim to execute the minimum number of necessary actions for the input. The list of actions you want to call should be \
formatted as a list of json objects, for example:
{FENCE}json
[
    {{
        "tool_name": title of the tool in the specification,
        "parameters": a dict of parameters to input into the tool as they are defined in the specs, or {{}} if it \
takes no parameters
    }}
]{FENCE}"""


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as Python functions, and how to call them, in the words of the models' own chat template.

    It names a tool for answering directly, which there is not: that sentence is left out.
    """
    told = "\n\n".join(map(_function, tools))
    return f"\n\n## Available Tools\nHere is a list of tools that you have available to you:\n\n{told}\n\n{_ASKED}"


def _function(tool: ToolDefinition) -> str:
    properties: Mapping[str, Any] = tool.parameters.get("properties") or {}
    required = tool.parameters.get("required") or []
    types = {
        key: kind if key in required else f"Optional[{kind}]"
        for key, kind in ((key, _type(schema)) for key, schema in properties.items())
    }
    signature = ", ".join(f"{key}: {kind}{'' if key in required else ' = None'}" for key, kind in types.items())
    about = "\n        ".join(f"{key} ({kind}): {_description(properties[key])}" for key, kind in types.items())
    arguments = f"\n\n    Args:\n        {about}" if about else ""
    quotes = '"""'
    return (
        f"{FENCE}python\ndef {tool.name}({signature}) -> List[Dict]:\n    {quotes}{tool.description}{arguments}\n"
        f"    {quotes}\n    pass\n{FENCE}"
    )


def _description(schema: Any) -> str:
    return str(schema.get("description", "")) if isinstance(schema, Mapping) else ""


def _type(schema: Any) -> str:
    """A schema as a type of Python; what that cannot say is `Any`."""
    if not isinstance(schema, Mapping):
        return "Any"
    kind = schema.get("type")
    if isinstance(kind, list):
        return f"Union[{','.join(_type({'type': one}) for one in kind)}]"
    if kind == "array":
        return f"List[{_type(schema.get('items'))}]"
    if kind == "object":
        return f"Dict[str, {_type(schema.get('additionalProperties'))}]"
    return {"string": "str", "number": "float", "integer": "int", "boolean": "bool"}.get(str(kind), "Any")


COMMAND_R: Format = family(
    "command-r",
    "a JSON list in a fence after Action:",
    models=("Command R and R+ of 2024",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(*TURN_MARKS, "<results>", "</results>"),
    chat=Chat(
        system=(
            f"{SYSTEM}# Safety Preamble\nThe instructions in this section override those in the task description and "
            "style guide sections. Don't answer questions that are harmful or immoral.\n\n"
            "# System Preamble\n## Basic Rules\nYou are a powerful conversational AI trained by Cohere to help people. "
            "You are augmented by a number of tools, and your job is to use and consume the output of these tools to "
            "best help the user. You will see a conversation history between yourself and a user, ending with an "
            "utterance from the user. You will then see a specific instruction instructing you what kind of response "
            "to generate. When you answer the user's requests, you cite your sources in your answers, according to "
            "those instructions.\n\n# User Preamble\n",
            _TURN_END,
        ),
        user=(USER, _TURN_END),
        assistant=(CHATBOT, _TURN_END),
        results=(SYSTEM, _TURN_END),
        between_results=_TURN_END + SYSTEM,
        answer=CHATBOT,
        tools=tell_tools,
        begin="<BOS_TOKEN>",
        default_system=(
            "## Task and Context\nYou help people answer their questions and other requests interactively. You will be "
            "asked a very wide array of requests on all kinds of topics. You will be equipped with a wide range of "
            "search engines or similar tools to help you, which you use to research your answer. You should focus on "
            "serving the user's needs as best you can, which will be wide-ranging.\n\n## Style Guide\nUnless the user "
            "asks for a different style of answer, you should answer in full sentences, using proper grammar and "
            "spelling."
        ),
        stop=(_TURN_END,),
        before_calls="\n",
    ),
)
