"""`json`: calls as JSON in the text, in the envelope that a provider's models know.

    default     {"tool": {"function": "search", "parameters": {"query": "x"}}}
    OpenAI      {"tool": {"function": {"name": "search", "arguments": {"query": "x"}}}}, {"tool_calls": [ … ]}
    Gemini      {"name": "search", "args": {"query": "x"}}

`JSON` reads all of them and teaches the first; `JSON_OPENAI` and `JSON_GEMINI` read and teach their own. Calls stand
alone or in lists, in a code fence or not. What members an envelope may have is said by the tables below.

- A name in an envelope that says "call" (`tool`, `tool_calls`, `functionCall`) is enough, and so is one alone in
  `function`; elsewhere the arguments must be there too. `{"name": "bob", "age": 3}` is data, and so is
  `{"name": …, "parameters": …}`, which declares a tool.
- Arguments may come before the name, and as a string that holds JSON; left out or null, they are empty.
- All other JSON is text, and nothing in it is read as a call (`toolwire.embedded.envelopes`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..envelopes import Certain, Envelopes, Members, Role, Wrap, read_envelopes
from ..format import Format
from ..grammar import Grammar
from ..json_source import json_text
from ..scanner import Scanner, Wait

# What is read.

_BESIDE = dict.fromkeys(("id", "type", "index", "call_id", "thoughtSignature"), Role.DECORATION)


def _inner(**arguments: Role) -> Members:
    return {"name": Role.NAME, **arguments, **_BESIDE}


def _functions(inner: Members) -> Members:
    """A call as OpenAI and the default envelope write it: `inner`, or that in `function`, or that in `tool`."""
    call = {**inner, "function": Wrap(inner, Certain.ENDED, names=True)}
    return {**call, "tool": Wrap(call, Certain.NAMED, names=True)}


def _with_lists(call: Members) -> Envelopes:
    lists = {
        "tool_calls": Wrap(call, Certain.NAMED, is_list=True),
        "tools": Wrap(call, Certain.ONLY_WITH_ARGUMENTS, is_list=True),
    }
    return Envelopes(call, {**call, **lists})


def _with_function_call(call: Members, inner: Members) -> Members:
    return {**call, "functionCall": Wrap(inner, Certain.NAMED)}


_OPENAI_INNER = _inner(arguments=Role.ARGUMENTS, parameters=Role.SCHEMA_OR_ARGUMENTS)
_GEMINI_INNER = _inner(args=Role.ARGUMENTS)
_ANY_INNER = {**_OPENAI_INNER, **_GEMINI_INNER}

_OPENAI = _with_lists(_functions(_OPENAI_INNER))
_GEMINI_CALL = _with_function_call(_GEMINI_INNER, _GEMINI_INNER)
_GEMINI = Envelopes(_GEMINI_CALL, _GEMINI_CALL)
_ANY = _with_lists(_with_function_call(_functions(_ANY_INNER), _ANY_INNER))


# What a model is told.


class _Envelope(NamedTuple):
    """One envelope as it is taught: a call is `before`, the name, `between`, the arguments, `after`."""

    before: str
    between: str
    after: str
    arguments: str
    several: str
    """Several calls, each with these places for a name and arguments."""

    def call(self, name: str, arguments: str) -> str:
        return f"{self.before}{name}{self.between}{arguments}{self.after}"


_FENCE = "```json\n"
_FENCE_END = "\n```"

_DEFAULT_ENVELOPE = _Envelope(
    '{"tool": {"function": ',
    ', "parameters": ',
    "}}",
    "parameters",
    '[{"tool": {"function": "first_tool", "parameters": {}}}, {"tool": {"function": "second_tool", "parameters": {}}}]',
)
_OPENAI_ENVELOPE = _Envelope(
    '{"tool": {"function": {"name": ',
    ', "arguments": ',
    "}}}",
    "arguments",
    '{"tool_calls": [{"function": {"name": "first_tool", "arguments": {}}}, '
    '{"function": {"name": "second_tool", "arguments": {}}}]}',
)
_GEMINI_ENVELOPE = _Envelope(
    '{"name": ',
    ', "args": ',
    "}",
    "args",
    '[{"name": "first_tool", "args": {}}, {"name": "second_tool", "args": {}}]',
)

_RULES = """\
To call a tool, write one JSON object in a code fence of its own:

{shape}

- `{arguments}` is a JSON object with the tool's arguments by their names, of the types that its schema gives. Leave \
out optional ones that you do not need; without any, write {{}}.
- Write valid JSON: names and strings in double quotes, no comments, no comma after the last item.
- In a string write " as \\", \\ as \\\\ and a line break as \\n. Numbers, true, false and null stand without quotes.
- An array is a JSON array even for one item: ["one"]. An array of objects is [{{"id": 1}}, {{"id": 2}}].
- A nested object is a JSON object in its place: {{"options": {{"deep": true}}}}. Never put JSON into a string instead.
- For several calls at once, put them into one list in one fence:

{several}

- After the calls, end your answer. The results come back in the next message as \
{{"tool_result": {{"tool": …, "status": …, "content": …}}}}. Never write a result yourself."""


def _fenced(text: str) -> str:
    return f"{_FENCE}{text}{_FENCE_END}"


def _write_result(part: ToolResultPart, content: str) -> str:
    """A result as data: its content is one JSON string, in which no quote stands unescaped."""
    status = "error" if part.is_error else "ok"
    return json_text({"tool_result": {"tool": part.name, "status": status, "content": content}})


def _declare(tool: ToolDefinition) -> str:
    return _fenced(json.dumps(tool.as_json(), ensure_ascii=False, indent=2))


def _declare_openai(tool: ToolDefinition) -> str:
    return _fenced(json.dumps({"type": "function", "function": tool.as_json()}, ensure_ascii=False, indent=2))


def _format(
    name: str, title: str, envelopes: Envelopes, envelope: _Envelope, declare: Callable[[ToolDefinition], str]
) -> Format:
    def rules(_tools: Sequence[ToolDefinition]) -> str:
        shape = _fenced(envelope.call('"tool_name"', '{"argument_name": "value"}'))
        return _RULES.format(shape=shape, arguments=envelope.arguments, several=_fenced(envelope.several))

    def write_call(name: str, arguments: dict[str, Any], tool: ToolDefinition | None = None) -> str:
        return _fenced(envelope.call(json_text(name), json_text(arguments)))

    def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
        return read_envelopes(scanner, tools, envelopes)

    def grammar(tools: Sequence[ToolDefinition]) -> str:
        made = Grammar()
        calls = [
            f"{made.literal(envelope.before + json_text(tool.name) + envelope.between)}"
            f" {made.json(tool.parameters, tool.parameters, f'{tool.name}-arguments')}"
            for tool in tools
        ]
        call = made.rule("call", " | ".join(calls))
        return made.text(f"{made.literal(_FENCE)} {call} {made.literal(envelope.after + _FENCE_END)}")

    return Format(name, title, rules, declare, write_call, _write_result, read, grammar)


JSON = _format("json", "JSON in the text, any envelope", _ANY, _DEFAULT_ENVELOPE, _declare)
JSON_OPENAI = _format(
    "json-openai", "JSON in the text, as OpenAI writes calls", _OPENAI, _OPENAI_ENVELOPE, _declare_openai
)
JSON_GEMINI = _format("json-gemini", "JSON in the text, as Gemini writes calls", _GEMINI, _GEMINI_ENVELOPE, _declare)
