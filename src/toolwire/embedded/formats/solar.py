"""`solar`: id, name and JSON, each after a mark of its own, as Solar Open writes a call.

    <|tool_calls|><|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>search<|tool_call:args|>{"query": "x"}<|tool_call:end|>

An answer is one message or several, `<|begin|>assistant` between them: reasoning (`<|think|>…<|end|>`), text
(`<|content|>…<|end|>`) and calls. The prompt ends with the first `<|begin|>assistant`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import about, family
from ..format import CallToWrite, Chat, Format
from ..headers import Section, break_header, last_marks, read_before, sections
from ..json_calls import read_arguments
from ..json_source import json_text
from ..marks import at_any, give_to
from ..prose import Thinking, marked
from ..scanner import PieceKind, Scanner, Wait

BEGIN, CONTENT, THINK, END = "<|begin|>", "<|content|>", "<|think|>", "<|end|>"
ANSWER = f"{BEGIN}assistant"
CALLS, CALL, CALL_END = "<|tool_calls|>", "<|tool_call:begin|>", "<|tool_call:end|>"
NAME, ARGUMENTS = "<|tool_call:name|>", "<|tool_call:args|>"
FLUSH, CALLS_END = "<|flush|>", "<|calls|>"
RESULTS = "<|tool_response|>"
RESULT, RESULT_NAME = "<|tool_response:begin|>", "<|tool_response:name|>"
RESULT_CONTENT, RESULT_END = "<|tool_response:result|>", "<|tool_response:end|>"
TOOLS, TOOLS_END, TOOL, TOOL_END = "<|tools:begin|>", "<|tools:end|>", "<|tool:begin|>", "<|tool:end|>"

THOUGHT = Thinking(((THINK, END),), ended_by_calls=False)

_SECTION = Section(opens=(CALLS,), closes=(CALLS_END,), calls=(CALL,), ends=((CALL_END,),))
_BOUNDS, _OPENERS = (*_SECTION.bounds, END), _SECTION.openers


class _Answer:
    """An answer while it is read, message by message."""

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None) -> None:
        self._scanner = scanner
        self._tools = tools
        self._open = ""
        """The mark of the message that has begun, if it had one, and has not ended."""

    def read(self) -> Wait[None]:
        scanner = self._scanner
        if scanner.plain is PieceKind.REASONING:
            if not (yield from give_to(scanner, (END,), scanner.give_text_to)):
                return
            scanner.give_mark()
        openers = {
            **sections(scanner, _SECTION, self._read_call),
            ANSWER: self._begin,
            CONTENT: self._begin_content,
            THINK: self._begin_thought,
            END: self._end,
            **last_marks(scanner, FLUSH, CALLS_END),
        }
        yield from marked(scanner, openers)

    def _read_call(self) -> Wait[bool]:
        scanner = self._scanner
        if self._open == THINK:
            return False
        call_id, found = yield from read_before(scanner, (NAME,), scanner.limits.call_id)
        if call_id and not found:
            is_id = call_id.replace("_", "").replace("-", "").isalnum()
            return is_id and (
                yield from break_header(scanner, self._tools, "", f"{NAME} is missing", _BOUNDS, _OPENERS)
            )
        if not found:
            return False
        name, found = yield from read_before(scanner, (ARGUMENTS,), scanner.limits.name)
        if not name:
            return False
        if not found:
            return (yield from break_header(scanner, self._tools, name, f"{ARGUMENTS} is missing", _BOUNDS, _OPENERS))
        yield from read_arguments(scanner, self._tools, name, call_id or "", ends=_BOUNDS, openers=_OPENERS)
        return True

    def _begin(self) -> Wait[bool]:
        if self._open == THINK or not (yield from at_any(self._scanner, (CONTENT, THINK, CALLS, CALL))):
            return False
        self._scanner.give_mark()
        self._scanner.said = False
        return True

    def _begin_content(self) -> Wait[bool]:
        return (yield from self._begin_words(CONTENT, PieceKind.TEXT))

    def _begin_thought(self) -> Wait[bool]:
        return (yield from self._begin_words(THINK, PieceKind.REASONING))

    def _begin_words(self, mark: str, kind: PieceKind) -> Wait[bool]:
        yield from ()
        if self._scanner.said or self._open == THINK:
            return False
        self._open = mark
        self._scanner.give_mark()
        self._scanner.plain = kind
        return True

    def _end(self) -> Wait[bool]:
        scanner = self._scanner
        if not self._open and scanner.said and not (yield from at_any(scanner, (ANSWER,))):
            return False
        self._open = ""
        scanner.give_mark()
        scanner.plain, scanner.said = PieceKind.TEXT, False
        return True


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return _Answer(scanner, tools).read()


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """One after the other, each with its id."""
    written = "".join(
        f"{CALL}{call.call_id or make_id(call)}{NAME}{call.name}{ARGUMENTS}{json_text(call.arguments)}{CALL_END}"
        for call in calls
    )
    return f"{CALLS}{written}"


def make_id(call: CallToWrite) -> str:
    """An id of the length that this model gives to calls."""
    return f"{call.number:010}"


def write_result(part: ToolResultPart, content: str) -> str:
    """A result with the id and the name of its call."""
    return f"{RESULT}{part.id}{RESULT_NAME}{part.name}{RESULT_CONTENT}{content}{RESULT_END}"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools between marks, in the words that the model knows."""
    told = "".join(TOOL + about(tool) + TOOL_END for tool in tools)
    return (
        "\n\n## Tools\n\n### Tool Call Instruction\n"
        "You may invoke one or more tools to assist with the user's query. Available tools are provided in JSON Schema "
        f"format: {TOOLS}{TOOL}<tools-json-object>{TOOL_END}...{TOOLS_END}\n\n"
        f"### Available Tools\n{TOOLS}{told}{TOOLS_END}\n\n"
        "### Tool Call Format\nFor each tool call, return a JSON object with the following structure, enclosed within "
        f"{CALL} and {CALL_END} tags: \n"
        f"{CALL}<tool-call-id>{NAME}<tool-name>{ARGUMENTS}<args-json-object>{CALL_END}\n"
        "- The <tool-call-id> must be a randomly generated string consisting of 10 lowercase letters (a-z) and/or "
        "digits (0-9) (e.g., a1b2c3d4e5)\n\n"
        "### Tool Response Format\nEach tool is responded by `tool` with the following structure:\n"
        f"<|tool_response:id|><tool-call-id>{RESULT_NAME}<tool-name>{RESULT_CONTENT}<results>{RESULT_END}\n"
        "- Ensure the <tool-call-id> matches the corresponding tool call"
    )


SOLAR: Format = family(
    "solar",
    "id, name and JSON after marks",
    models=("Solar Open",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(BEGIN, CONTENT, THINK, END, CALLS, CALL, CALL_END, NAME, ARGUMENTS, FLUSH, CALLS_END, RESULTS),
        *(RESULT, RESULT_NAME, RESULT_CONTENT, RESULT_END, TOOLS, TOOLS_END, TOOL, TOOL_END),
    ),
    thinking=THOUGHT,
    chat=Chat(
        system=(
            f"{BEGIN}system{CONTENT}## Provider System Prompt\n\nYou are Solar Open 100B, a large language model "
            "trained by Upstage AI, a Korean startup. Your knowledge cutoff is 2025-07.\n\n## System Prompt\n\n",
            END,
        ),
        user=(f"{BEGIN}user{CONTENT}", END),
        assistant=(ANSWER, END),
        results=(f"{BEGIN}tool{RESULTS}", END),
        answer=ANSWER,
        tools=tell_tools,
        default_system="You are a helpful assistant.",
        reasoning=THINK,
        no_reasoning=f"{THINK}{END}{ANSWER}",
        stop=(FLUSH, CALLS_END),
        words=(CONTENT, ""),
        before_calls=f"{END}{ANSWER}",
        after_calls=CALLS_END,
        thought=(THINK, f"{END}{ANSWER}"),
        call_id=make_id,
    ),
)
