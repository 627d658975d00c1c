"""The harmless differences on the wires of Anthropic, Google, Ollama and Cohere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from harmless import (
    ANTHROPIC,
    COHERE,
    GEMINI,
    OLLAMA,
    Json,
    Rule,
    declaring,
    drop,
    keep,
    members,
    messages,
    plain_json,
)

LONGEST_KEPT = 4096
"""Longer base64 texts are digests in the recordings."""

RULES: list[Rule] = []
rule = declaring(RULES)


# Anthropic Messages


def blocks(body: Json, *kinds: str) -> Iterator[Json]:
    """The content blocks of these types, in messages that are written as blocks."""
    for message in messages(body):
        if isinstance(message["content"], list):
            yield from (block for block in message["content"] if block["type"] in kinds)


@rule(
    "a string for one text block",
    ANTHROPIC,
    reason="The API takes a string for a list of one text block, and reads it so.",
)
def _(body: Json) -> None:
    for member in [*messages(body), *blocks(body, "tool_result")]:
        if isinstance(member.get("content"), str):
            member["content"] = [{"type": "text", "text": member["content"]}]


@rule(
    "system text in blocks",
    ANTHROPIC,
    reason="System text is a string, or text blocks that are read one after another.",
)
def _(body: Json) -> None:
    if isinstance(body.get("system"), list):
        body["system"] = "".join(block["text"] for block in body["system"])


@rule("no error", ANTHROPIC, reason="A result is no error unless it says so.")
def _(body: Json) -> None:
    for block in blocks(body, "tool_result"):
        drop(block, "is_error", False)


@rule(
    "called by the model itself",
    ANTHROPIC,
    reason="`caller: direct` is the default; Toolwire sends back what came, most clients leave it out.",
)
def _(body: Json) -> None:
    for block in blocks(body, "tool_use", "server_tool_use"):
        drop(block, "caller", {"type": "direct"})


# Gemini


def gemini_parts(body: Json, *kinds: str) -> Iterator[Json]:
    """The members of these names (`functionCall`, `functionResponse`) of all parts; the parts themselves, without."""
    for content in body.get("contents", ()):
        for part in content.get("parts") or ():
            if not kinds:
                yield part
            yield from (part[kind] for kind in kinds if kind in part)


@rule("names with underscores", GEMINI, reason="The API reads `function_call` as `functionCall`, and so on.")
def _(body: Json) -> None:
    for member in members({name: body[name] for name in ("contents", "toolConfig") if name in body}):
        for name in ("function_call", "function_response", "allowed_function_names"):
            if name in member:
                first, *words = name.split("_")
                member[first + "".join(map(str.title, words))] = member.pop(name)


@rule(
    "alphabet of signatures", GEMINI, reason="Base64 with `-` and `_` and base64 with `+` and `/` are the same bytes."
)
def _(body: Json) -> None:
    for part in gemini_parts(body):
        if "thoughtSignature" in part:
            part["thoughtSignature"] = part["thoughtSignature"].replace("+", "-").replace("/", "_")


@rule(
    "scrubbed signatures",
    GEMINI,
    reason="The recordings have a digest in the place of a long signature; ours is digested too.",
)
def _(body: Json) -> None:
    for part in gemini_parts(body):
        signature = part.get("thoughtSignature", "")
        if len(signature) > LONGEST_KEPT:
            digest = hashlib.sha256(signature.encode()).hexdigest()[:16]
            part["thoughtSignature"] = f"<base64 {len(signature)} chars sha256:{digest}>"


@rule("no thought", GEMINI, reason="A part is no thought unless it says so.")
def _(body: Json) -> None:
    for part in [*gemini_parts(body), *(body.get("systemInstruction") or {}).get("parts", ())]:
        drop(part, "thought", False, None)


@rule("empty text", GEMINI, reason="A part with no words and no signature says nothing.")
def _(body: Json) -> None:
    for content in body.get("contents", ()):
        keep(content.get("parts") or [], lambda part: part != {"text": ""})


@rule(
    "member of a result",
    GEMINI,
    reason="A result that is no object stands under a member that the client chose; Toolwire says `output`.",
)
def _(body: Json) -> None:
    for answer in gemini_parts(body, "functionResponse"):
        response = answer["response"]
        for name in ("result", "return_value"):
            if set(response) == {name}:
                answer["response"] = {"output": response[name]}


@rule(
    "thoughts without a signature",
    GEMINI,
    reason="A thought without one is a summary for people; Toolwire leaves it out, one client does not.",
)
def _(body: Json) -> None:
    for content in body.get("contents", ()):
        keep(content.get("parts") or [], lambda part: "thoughtSignature" in part or not part.get("thought"))


@rule("role of the system text", GEMINI, reason="System text has no side; the API ignores a role there.")
def _(body: Json) -> None:
    drop(body, "systemInstruction", None)
    body.get("systemInstruction", {}).pop("role", None)


@rule("names of types", GEMINI, reason="The API reads `string` as `STRING`.")
def _(body: Json) -> None:
    for tool in body.get("tools", ()):
        for member in members(tool["functionDeclarations"]):
            if isinstance(member.get("type"), str):
                member["type"] = member["type"].upper()


@rule("no parameters", GEMINI, reason="A function without parameters has none, or an object without properties.")
def _(body: Json) -> None:
    for tool in body.get("tools", ()):
        for function in tool["functionDeclarations"]:
            if not function.get("parameters", {}).get("properties"):
                function.pop("parameters", None)


@rule("JSON of a result", GEMINI, reason="A result is text here; a client that holds a number or an object sends that.")
def _(body: Json) -> None:
    for answer in gemini_parts(body, "functionResponse"):
        response = answer["response"]
        output = response.get("output", response)
        if not isinstance(output, str):
            output = msgspec.json.encode(output).decode()
        if output.startswith(("{", "[")):
            output = plain_json(output)
        if "error" not in response:
            answer["response"] = {"output": output}


@rule("ids of Gemini's calls", GEMINI, reason="Results follow their calls in order; one client leaves the ids out.")
def _(body: Json) -> None:
    for member in gemini_parts(body, "functionCall", "functionResponse"):
        member.pop("id", None)


# Ollama


@rule(
    "ids of calls",
    OLLAMA,
    reason="Newer versions of Ollama give calls ids and take them back; no recorded client sends them.",
)
def _(body: Json) -> None:
    for message in messages(body):
        message.pop("tool_call_id", None)
        for call in message.get("tool_calls", ()):
            call.pop("id", None)


@rule("no calls", OLLAMA, reason="An empty list of calls is none.")
def _(body: Json) -> None:
    for message in messages(body, "assistant"):
        drop(message, "tool_calls", [])


# Cohere


@rule(
    "empty members of an answer",
    COHERE,
    reason="One client (rig) sends lists of nothing and a plan that is null.",
)
def _(body: Json) -> None:
    for message in messages(body, "assistant"):
        for name in ("content", "citations", "tool_calls", "tool_plan"):
            drop(message, name, [], None)


@rule(
    "a list for one text",
    COHERE,
    reason="The API takes a string, or a list of text parts with the same words.",
)
def _(body: Json) -> None:
    for message in messages(body):
        content = message.get("content")
        if isinstance(content, list) and all(part["type"] == "text" for part in content):
            message["content"] = "".join(part["text"] for part in content)


@rule("the plan before calls", COHERE, reason="One client (rig) leaves the plan out; Toolwire sends back what came.")
def _(body: Json) -> None:
    for message in messages(body, "assistant"):
        message.pop("tool_plan", None)


@rule("JSON text of Cohere's calls", COHERE, reason="Arguments parsed and written again differ in spaces and escapes.")
def _(body: Json) -> None:
    for message in messages(body, "assistant"):
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = plain_json(call["function"]["arguments"])
