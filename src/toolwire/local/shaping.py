"""Turn an ordinary OpenAI Chat request into the one that gets the best out of a very small model.

Pure: a body in, a body out. Four cases, by the last message:

- a question for something that the model cannot do here (`unsupported`): one sentence that says so;
- a question that fits a tool (`fitting`): that tool alone, examples of its calls as earlier turns (`examples`), its
  arguments bounded by the question (`narrowing`), and the answer begun with `<tool_call>`, so that a call must come;
- results of tools: no tools, and one sentence that quotes the results (`answering`);
- anything else: no tools, no earlier turns, a plain answer (`answering`).

What was piped in or attached takes no part in this: the question is what the person wrote.

`tool_choice` is respected: "none" never calls, "required" and a named function always do.

With a text format the same goes through text alone: the manifest of the fitting tool instead of its schema, examples as
that format writes them, and the format's grammar instead of the server's own.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..embedded.format import Format
from ..embedded.manifest import manifest
from ..framed import unframed
from ..tools.definition import ToolDefinition
from .answering import answer_from_results, plain_answer, refusal, text_of
from .examples import examples
from .fitting import fitting_tools
from .narrowing import narrow
from .question import Question
from .unsupported import serving_tools, unsupported

MAX_TOKENS = 256
"""Of an answer, unless the request says otherwise: left alone the model may go on for ever."""
DESCRIPTION = 200
"""Characters of a tool's description that the model is shown."""
_SYSTEM = "You answer by calling tools."
_REPLACED = frozenset(
    {
        "messages",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "stop",
        "max_tokens",
        "max_completion_tokens",
        "response_format",
    }
)


def shape_request(body: dict[str, Any], format: Format | None = None) -> dict[str, Any]:
    """The body to send instead of `body`. What is not about messages, tools or sampling passes unchanged.

    With a `format` the model calls in text: the body offers no tools, but says how one is called.
    """
    messages = [message for message in body.get("messages") or [] if isinstance(message, dict)]
    tools = _functions(body.get("tools"))
    asked = next((text_of(message) for message in reversed(messages) if message.get("role") == "user"), "")
    question = Question(unframed(asked))
    answering = bool(messages) and messages[-1].get("role") == "tool"
    passed = {key: value for key, value in body.items() if key not in _REPLACED}

    limit = body.get("max_completion_tokens") or body.get("max_tokens") or MAX_TOKENS
    choice = body.get("tool_choice")
    chosen, cannot = _forced(choice, question, tools), ""
    if not chosen and not answering:
        may_choose = choice != "none" and not isinstance(choice, dict)
        chosen = serving_tools(question, tools) if may_choose else []
        cannot = "" if chosen else unsupported(question, tools, material=unframed(asked).strip() != asked.strip())
    if chosen:
        call = _call(question, chosen) if format is None else _call_in_text(question, chosen, format)
        return passed | call | {"max_tokens": limit}
    if answering:
        answer = answer_from_results(messages, question, format)
    elif cannot:
        answer = refusal(cannot, question)
    else:
        answer = plain_answer(asked, question, tools)
    return passed | answer | {"max_tokens": limit}


def _forced(choice: object, question: Question, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools of which one must be called, whatever is asked."""
    if isinstance(choice, dict):
        function = choice.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        return [tool for tool in tools if tool["name"] == name]
    return fitting_tools(question, tools, at_least=0) if choice == "required" else []


def _call(question: Question, chosen: list[dict[str, Any]]) -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []
    for tool in chosen:
        schema = narrow(tool.get("parameters"), question)
        function = {"name": tool["name"], "description": _about(tool), "parameters": schema}
        tools.append({"type": "function", "function": function})
        for asked, arguments in examples(tool, list(schema["properties"])):
            written = {"name": tool["name"], "arguments": msgspec.json.encode(arguments).decode()}
            call = {"id": f"example_{len(turns)}", "type": "function", "function": written}
            turns += [
                {"role": "user", "content": asked},
                {"role": "assistant", "content": "", "tool_calls": [call]},
            ]
    turns += [
        {"role": "user", "content": question.text},
        {"role": "assistant", "content": "<tool_call>\n"},
    ]
    return {
        "messages": turns,
        "tools": tools,
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "stop": ["<tool_call>"],
        "temperature": 0,
    }


def _call_in_text(question: Question, chosen: list[dict[str, Any]], format: Format) -> dict[str, Any]:
    """As `_call`. The manifest shows a tool as it is, and only the grammar knows what the question offers: so that the
    beginning of the request is the same for every question, and is read once.
    """
    turns: list[dict[str, Any]] = []
    offered: list[ToolDefinition] = []
    narrowed: list[ToolDefinition] = []
    for tool in chosen:
        name, schema = tool["name"], narrow(tool.get("parameters"), question)
        definition = ToolDefinition(name, _about(tool), tool.get("parameters") or {"type": "object"})
        offered.append(definition)
        narrowed.append(ToolDefinition(name, "", schema))
        for asked, arguments in examples(tool, list(schema["properties"])):
            turns += [
                {"role": "user", "content": asked},
                {"role": "assistant", "content": format.write_call(name, arguments, definition)},
            ]
    request: dict[str, Any] = {
        "messages": [
            {"role": "system", "content": f"{_SYSTEM}\n\n{manifest(offered, format)}"},
            *turns,
            {"role": "user", "content": question.text},
        ],
        "temperature": 0,
    }
    if format.grammar is not None:
        request["grammar"] = format.grammar(narrowed)
    return request


def _about(tool: dict[str, Any]) -> str:
    return str(tool.get("description") or "").partition("\n")[0][:DESCRIPTION]


def _functions(tools: object) -> list[dict[str, Any]]:
    """The `function` objects of a request's tools; what is not one is left out."""
    if not isinstance(tools, list):
        return []
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)]
    return [function for function in functions if isinstance(function, dict) and isinstance(function.get("name"), str)]
