"""The harmless differences between what recording clients send and what Toolwire sends: each a named rule.

First those of several wires, then each wire's own.
"""

from __future__ import annotations

from typing import Any

import harmless_bedrock
import harmless_openai
import harmless_others
from harmless import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    OLLAMA,
    RESPONSES,
    Json,
    Rule,
    declaring,
    drop,
    keep,
    members,
)

RULES: list[Rule] = []
rule = declaring(RULES)


@rule("marks for the cache", CHAT, RESPONSES, ANTHROPIC, reason="What a provider should cache changes no answer.")
def _(body: Json) -> None:
    for member in members(body):
        for name in ("cache_control", "prompt_cache_breakpoint"):
            member.pop(name, None)


@rule(
    "scrubbed data",
    CHAT,
    RESPONSES,
    reason="The recordings have a digest in the place of long base64 data, and of a whole `data:` URL with such.",
)
def _(body: Json) -> None:
    for member in members(body):
        for name, value in member.items():
            if isinstance(value, str) and value.startswith("data:") and ";base64,<base64 " in value:
                member[name] = value.partition(";base64,")[2]


@rule(
    "one call at a time",
    ANTHROPIC,
    reason="Whether a model may make several calls at once is the client's choice, beside which tools it may call.",
)
def _(body: Json) -> None:
    body.get("tool_choice", {}).pop("disable_parallel_tool_use", None)


@rule(
    "tools that are shown later",
    RESPONSES,
    ANTHROPIC,
    reason="`defer_loading` leaves a tool to the provider's own search for tools, which Toolwire does not ask for.",
)
def _(body: Json) -> None:
    for tool in body.get("tools", ()):
        tool.pop("defer_loading", None)


@rule(
    "all tools allowed by name",
    RESPONSES,
    GEMINI,
    reason="A choice among tools by name that names all of them says no more than its mode.",
)
def _(body: Json) -> None:
    choice: Any = body.get("tool_choice")
    allowed = choice.get("tools") if isinstance(choice, dict) else None
    if allowed and {tool["name"] for tool in allowed} == {tool["name"] for tool in body["tools"]}:
        body["tool_choice"] = choice["mode"]
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    declared = {
        function["name"] for tool in body.get("tools", ()) for function in tool.get("functionDeclarations") or ()
    }
    if len(declared) > 1 and {*config.get("allowedFunctionNames", ())} == declared:
        del config["allowedFunctionNames"]


@rule("free choice", CHAT, RESPONSES, ANTHROPIC, GEMINI, reason="A model chooses freely unless it is told not to.")
def _(body: Json) -> None:
    drop(body, "tool_choice", "auto", {"type": "auto"}, None)
    drop(body, "toolConfig", None, {"functionCallingConfig": {"mode": "AUTO"}})


@rule("no tools", CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA, reason="An empty list of tools is none.")
def _(body: Json) -> None:
    drop(body, "tools", [], None)


@rule(
    "strict schemas",
    CHAT,
    RESPONSES,
    ANTHROPIC,
    GEMINI,
    reason="Whether the model is held to the schema is the client's choice; the schemas themselves are compared.",
)
def _(body: Json) -> None:
    for tool in body.get("tools", ()):
        tool.get("function", tool).pop("strict", None)
    drop(body, "toolConfig", {"functionCallingConfig": {"mode": "VALIDATED"}})


@rule(
    "no description", CHAT, RESPONSES, ANTHROPIC, GEMINI, reason="A tool may say nothing about itself: no text or none."
)
def _(body: Json) -> None:
    for tool in body.get("tools", ()):
        for function in tool.get("functionDeclarations") or (tool.get("function", tool),):
            drop(function, "description", "", None)


@rule(
    "tools on the provider's side",
    CHAT,
    RESPONSES,
    ANTHROPIC,
    GEMINI,
    reason="Toolwire declares the tools that it runs; a provider's own search or sandbox is not asked for by it.",
)
def _(body: Json) -> None:
    if "tools" in body:
        keep(body["tools"], declares_functions)
        drop(body, "tools", [])
    for tool in body.get("tools", ()):
        drop(tool, "codeExecution", None)
    drop(body, "toolConfig", {"includeServerSideToolInvocations": True})


def declares_functions(tool: Json) -> bool:
    return tool.get("type") == "function" or "input_schema" in tool or bool(tool.get("functionDeclarations"))


@rule("detail of pictures", CHAT, RESPONSES, reason="`auto` is what a provider does when nothing is said.")
def _(body: Json) -> None:
    for member in members(body):
        drop(member, "detail", "auto")


RULES += [*harmless_openai.RULES, *harmless_others.RULES, *harmless_bedrock.RULES]
