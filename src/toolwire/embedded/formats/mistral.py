"""`mistral-v3` and `mistral-v11`: calls after the mark `[TOOL_CALLS]`, as Mistral's models write them.

    [TOOL_CALLS] [{"name": "search", "arguments": {"query": "x"}, "id": "abcDEF123"}]
    [TOOL_CALLS]search[CALL_ID]abcDEF123[ARGS]{"query": "x"}

The first is that of older tokenizers, the second of those since version 11, where every call has its own mark and the
id is often left out. `[ARGS]` is lost where a server leaves special tokens out: the arguments follow the name then.
Both formats read both, and an object that stands without its list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...messages import ToolResultPart
from ...providers.ids import MISTRAL_IDS
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..headers import break_spoiled
from ..json_calls import Members, is_known, read_arguments
from ..json_source import json_text
from ..listed import read_list
from ..prose import Begin, Thinking, marked
from ..scanner import Scanner, Wait

CALLS, CALL_ID, ARGS = "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"
MEMBERS = Members(call_id=("id",))
THINKING = Thinking((("[THINK]", "[/THINK]"), ("<think>", "</think>")))
_IN_IDS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_IN_NAMES = _IN_IDS | frozenset(".:/")


def _begins(scanner: Scanner, tools: ToolRegistry | None) -> dict[str, Begin]:
    def begin() -> Wait[bool]:
        yield from scanner.read_space()
        if (yield from scanner.need(1)) in ("[", "{"):
            return (yield from read_list(scanner, tools, "", (CALLS,), MEMBERS))
        return (yield from _read_named(scanner, tools))

    return {CALLS: begin}


def _read_named(scanner: Scanner, tools: ToolRegistry | None) -> Wait[bool]:
    """Reads a call that begins with its name; False if what must follow that does not."""
    size = scanner.held_length
    name = yield from scanner.read_word(_IN_NAMES, scanner.limits.name + 1)
    if not 0 < len(name) <= scanner.limits.name:
        return False
    call_id = ""
    if (yield from scanner.read_literal(CALL_ID)):
        call_id = yield from scanner.read_word(_IN_IDS, scanner.limits.call_id)
    if not (yield from scanner.read_literal(ARGS)) and (yield from scanner.need(1)) != "{":
        # In prose a space follows the mark: then the name must be a tool's.
        size = size if is_known(tools, name) else len(CALLS)
        if (yield from break_spoiled(scanner, tools, size, (), (CALLS,), name)):
            return True
        if not call_id:
            return False
    yield from read_arguments(scanner, tools, name, call_id, openers=(CALLS,))
    return True


# mistral-v3


def read_v3(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of a model that does not mark its reasoning."""
    return marked(scanner, _begins(scanner, tools))


def write_v3(calls: Sequence[CallToWrite]) -> str:
    """All in one list, ids last."""
    return CALLS + json_text([_object(call) for call in calls])


def _object(call: CallToWrite) -> dict[str, Any]:
    made: dict[str, Any] = {"name": call.name, "arguments": call.arguments}
    if call.call_id:
        made["id"] = MISTRAL_IDS.fit(call.call_id)
    return made


def write_v3_result(part: ToolResultPart, content: str) -> str:
    """A result as an object between marks."""
    made = {"content": content}
    if part.id:
        made["call_id"] = MISTRAL_IDS.fit(part.id)
    return f"[TOOL_RESULTS]{json_text(made)}[/TOOL_RESULTS]"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools as a list between marks: nothing else is said of them."""
    return f"[AVAILABLE_TOOLS][{', '.join(map(declare, tools))}][/AVAILABLE_TOOLS]"


def _nine_characters(call: CallToWrite) -> str:
    return MISTRAL_IDS.fit(call.call_id or str(call.number))


CHAT_V3 = Chat(
    system=("[INST]", "[/INST]"),
    user=("[INST]", "[/INST]"),
    assistant=("", "</s>"),
    results=("", ""),
    answer="",
    tools=tell_tools,
    begin="<s>",
    tools_at="last_user",
    system_in_user=True,
    stop=("</s>",),
    call_id=_nine_characters,
)

MARKS = (
    *("<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", CALLS),
    *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
)

MISTRAL_V3: Format = family(
    "mistral-v3",
    "a JSON list after [TOOL_CALLS]",
    models=("Mistral 7B v0.3", "Mistral Nemo", "Mixtral 8x22B", "Mistral Large 2", "Mistral Small 3 and 3.1"),
    read=read_v3,
    write_calls=write_v3,
    write_result=write_v3_result,
    marks=MARKS,
    chat=CHAT_V3,
)


# mistral-v11


def read_v11(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return marked(scanner, _begins(scanner, tools), THINKING)


def write_v11(calls: Sequence[CallToWrite]) -> str:
    """Each after its mark; with its id, if that is one of theirs."""
    return "".join(f"{CALLS}{call.name}{_id_part(call)}{ARGS}{json_text(call.arguments)}" for call in calls)


def _id_part(call: CallToWrite) -> str:
    return CALL_ID + call.call_id if MISTRAL_IDS.allows(call.call_id) else ""


def write_v11_result(part: ToolResultPart, content: str) -> str:
    """A result between marks, after the id of its call where that has one."""
    before = f"{part.id}[TOOL_CONTENT]" if MISTRAL_IDS.allows(part.id) else ""
    return f"[TOOL_RESULTS]{before}{content}[/TOOL_RESULTS]"


MISTRAL_V11: Format = family(
    "mistral-v11",
    "[TOOL_CALLS]name[ARGS] and JSON",
    models=("Devstral", "Mistral Small 3.2", "Magistral", "Ministral 3", "Mistral Large 3"),
    read=read_v11,
    write_calls=write_v11,
    write_result=write_v11_result,
    marks=(*MARKS, CALL_ID, ARGS, "[TOOL_CONTENT]", "[THINK]", "[/THINK]", "<think>", "</think>"),
    thinking=THINKING,
    chat=CHAT_V3._replace(
        system=("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
        system_in_user=False,
        thought=("[THINK]", "[/THINK]"),
        call_id=None,
    ),
)
