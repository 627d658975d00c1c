"""`llama3-json`: bare JSON objects, as Llama 3.1, 3.2 and 3.3 write calls.

    {"name": "search", "parameters": {"query": "x"}}; {"name": "ping", "parameters": {}}

An object counts where the answer begins with it, the name of a known tool first and then its arguments, or after
`<|python_tag|>` wherever that stands. The tools that Llama brought with it are called otherwise, with Python literals:

    <|python_tag|>brave_search.call(query="x")

What follows the tag and is neither is text: code, mostly.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..json_calls import Outcome, read_call
from ..json_source import json_text
from ..listed import write_object
from ..prose import marked
from ..scanner import Scanner, Wait
from ..tagged import TaggedCall

TAG = "<|python_tag|>"
_CALL = ".call("
_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        if (yield from scanner.need(1)) != "{":
            return (yield from _read_built_in(scanner, tools))
        scanner.set_lead()
        yield from read_call(scanner, tools, ends=(TAG,))
        yield from read_further(scanner, tools)
        return True

    yield from scanner.read_space()
    scanner.give_text()
    if (yield from scanner.need(1)) == "{":
        if (yield from read_call(scanner, tools, ends=(TAG,), certain=False)) is Outcome.NOTHING:
            scanner.retract()
        else:
            yield from read_further(scanner, tools)
    yield from marked(scanner, {TAG: begin})


def read_further(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """After a call: the calls that follow it directly, a semicolon between them or only space."""
    while True:
        yield from scanner.read_space()
        if (yield from scanner.read_literal(";")):
            yield from scanner.read_space()
        if (yield from scanner.need(1)) != "{":
            scanner.give_text()
            return
        scanner.set_lead()
        if (yield from read_call(scanner, tools, ends=(TAG,), certain=False)) is Outcome.NOTHING:
            scanner.retract()
            return


def _read_built_in(scanner: Scanner, tools: ToolRegistry | None) -> Wait[bool]:
    """Reads `name.call(key=literal, …)`. The rest of an answer in which that goes wrong belongs to the broken call."""
    scanner.set_lead()
    name = yield from scanner.read_word(_WORD, scanner.limits.name)
    if not name or not (yield from scanner.read_literal(_CALL)):
        return False
    call = TaggedCall(scanner, tools, "", "")
    call.begin(name)
    problem = yield from _read_keywords(scanner, call)
    if not problem:
        call.end()
        return True
    while (yield from scanner.more()):
        scanner.give_run(len(scanner.text))
    scanner.break_call(problem)
    return True


def _read_keywords(scanner: Scanner, call: TaggedCall) -> Wait[str]:
    """Reads arguments to the closing bracket; what is wrong, if anything."""
    while True:
        yield from scanner.give_space(scanner.give_run)
        if (yield from scanner.read_literal(")")):
            return ""
        key = yield from scanner.read_word(_WORD, scanner.limits.name)
        yield from scanner.read_space()
        if not key or not (yield from scanner.read_literal("=")):
            return scanner.fault("there is something other than name=value")
        problem = call.key(key) or (yield from call.literal((",", ")")))
        if problem or call.mark == ")":
            return problem


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """One after the other."""
    return "; ".join(write_object(call, "parameters") for call in calls)


def write_result(_: ToolResultPart, content: str) -> str:
    """A result as the output of a program."""
    return json_text({"output": content})


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template."""
    told = "".join(f"{json.dumps(json.loads(declare(tool)), indent=4, ensure_ascii=False)}\n\n" for tool in tools)
    return (
        "\n\nEnvironment: ipython\n\nYou have access to the following functions. To call a function, please respond "
        'with JSON for a function call. Respond in the format {"name": function name, "parameters": dictionary of '
        f"argument name and its value}}. Do not use variables.\n\n{told}"
    )


def _turn(role: str) -> tuple[str, str]:
    return f"<|start_header_id|>{role}<|end_header_id|>\n\n", "<|eot_id|>"


LLAMA3_JSON: Format = family(
    "llama3-json",
    "bare JSON, <|python_tag|> before it or not",
    models=("Llama 3.1", "Llama 3.2", "Llama 3.3"),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        TAG,
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|begin_of_text|>",
        "<|end_of_text|>",
    ),
    chat=Chat(
        begin="<|begin_of_text|>",
        system=_turn("system"),
        user=_turn("user"),
        assistant=_turn("assistant"),
        results=_turn("ipython"),
        between_results="".join(reversed(_turn("ipython"))),
        answer=_turn("assistant")[0],
        tools=tell_tools,
        default_system="You are a helpful assistant with tool calling capabilities. Only reply with a tool call if the "
        "function exists in the library provided by the user. If it doesn't exist, just reply directly in natural "
        "language. When you receive a tool call response, use the output to format an answer to the original user "
        "question.",
        stop=("<|eot_id|>", "<|eom_id|>"),
        before_calls=TAG,
    ),
)
