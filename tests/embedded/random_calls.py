"""Random tools, arguments that fit them, and answers that hold calls of them: what a format writes, it reads back.

Seeded, so that a fault has a name: `check_round_trips("xml", seed=7, count=1000)` is the same thousand every time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from embedded.family_writers import MARKS
from embedded.text_feeding import Reading, random_pieces, read_text
from toolwire import ToolDefinition
from toolwire.embedded.format import Format
from toolwire.embedded.registry import text_format
from toolwire.tools.registry import ToolRegistry

Schema = dict[str, Any]

TOOL_NAMES = (
    *("search", "get-weather", "a", "X", "files.read", "tool", "arg", "item", "arguments", "function", "name", "type"),
    *("tool_calls", "tool_name", "write_file", "edit_file", "patch_file", "run_bash", "SEG_START", "tool_result"),
)
PROPERTY_NAMES = (
    *("query", "path", "content", "patch", "command", "limit", "x", "A", "file_path", "some-thing", "dotted.name"),
    *("type", "name", "tool_name", "arguments", "args", "parameters", "tool", "item", "arg", "function", "id", "items"),
    *("with space", "ünïcödé", "名前", 'quo"te', "apos'trophe", "<angle>", "a&b", "back\\slash", "new\nline", ""),
)
PIECES = (
    *(
        "a",
        "b c",
        "0",
        "00501",
        "true",
        "null",
        "True",
        "-1",
        "1e5",
        "NaN",
        " ",
        "  ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
    ),
    *('"', "'", "\\", "\\n", '\\"', "\\u0041", "`", "```", "```json\n", "/", "&", "&lt;", "&amp;", "&#65;", "<", ">"),
    *(
        "{",
        "}",
        "[",
        "]",
        "[[",
        "]]",
        ",",
        ":",
        "{}",
        "[]",
        '{"a": 1}',
        "[1, 2]",
        "é",
        "漢字",
        "😀",
        "👩‍👩‍👧",
        "\u2028",
        "\u200b",
    ),
    *("İ", "ſ", "ＡＢＣ", "＜tool＞", "\x00", "\x07", "\x7f", "\ufeff", "\xa0", "a < b && c > d", "<br>", "<br/>"),
    *('<tool name="search">', '<tool name="search" />', "<tool", "</tool>", "<arg name=", '<arg name="x">', "</arg>"),
    *("<arguments>", "</arguments>", "<item>", "</item>", "<![CDATA[", "]]>", "]]]]><![CDATA[>", "<!--", "-->"),
    *("__START_CONTENT__", "__END_CONTENT__", "__START_PATCH__", "__END_PATCH__", '<write_file path="x">'),
    *("</write_file>", "<run_bash>", "</run_bash>", "<edit_file", "</edit_file>", "<patch_file", "</patch_file>"),
    *("<query>", "</query>", "</x>", "<content>", "</content>", "</path>", "</TOOL>", "</Arg>", 'type="json"'),
    *("[[SEG_START", "[[SEG_END]]", "[[SEG_END", "[[SEG_", '[[SEG_START {"type":"run_bash"}]]', "[[TOOL_RESULT"),
    *('{"tool":', '{"tool_calls":[', '{"name":"search","args":{}}', '{"function":', '"}', '"}}', '","', '"]'),
    *MARKS,
)
PROSE = (
    *(
        "Let me look. ",
        "I think a < b, so ",
        "see [1] and [[2]]. ",
        "{x} ",
        "`code` ",
        "\n\n",
        "Then: ",
        "😀 ",
        "“quoted” ",
    ),
    *("<b>bold</b> ", "if (a && b) { c } ", "x ``` y ", "<toolbox> ", "<tools> ", "[[SEG]] ", "[] {} ", "1 < 2 > 0\n"),
)


def random_text(rng: random.Random) -> str:
    shape = rng.random()
    if shape < 0.08:
        return ""
    if shape < 0.3:
        return rng.choice(PIECES)
    if shape < 0.97:
        return "".join(rng.choice(PIECES) for _ in range(rng.randint(2, 6)))
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(40, 120)))


def random_integer(rng: random.Random) -> int:
    return rng.choice((0, 1, -1, 7, 501, -(2**31), 2**53 + 1, 12345678901234567890, rng.randint(-999, 999)))


def random_number(rng: random.Random) -> float | int:
    return rng.choice((0.5, -0.25, 1e-7, 1.5e300, 3.0, 0.1, 1e22, rng.random(), random_integer(rng)))


def random_json(rng: random.Random, depth: int = 2) -> Any:
    """Any JSON value."""
    makers: list[Callable[[], Any]] = [
        lambda: random_text(rng),
        lambda: random_integer(rng),
        lambda: random_number(rng),
        lambda: rng.random() < 0.5,
        lambda: None,
    ]
    if depth:
        makers.append(lambda: [random_json(rng, depth - 1) for _ in range(rng.randint(0, 3))])
        makers.append(lambda: {name: random_json(rng, depth - 1) for name in random_names(rng, 3)})
    return rng.choice(makers)()


def random_names(rng: random.Random, most: int) -> list[str]:
    return rng.sample(PROPERTY_NAMES, rng.randint(0, most))


def random_schema(rng: random.Random, defs: Schema, depth: int = 3) -> Schema:
    """The schema of a value. References go to what `defs` holds."""
    plain: list[Schema] = [
        {"type": "string"},
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": rng.choice((["one", "two"], ["", " ", "true", "5"], ["a", 1, None, True], [1.5, "1.5"], [0, "0"]))},
        {"type": "string", "enum": ["economy", "</arg>", '"']},
        {"const": rng.choice(("fixed", 7, False, None, "7"))},
        {"type": rng.choice((["string", "null"], ["integer", "null"], ["string", "integer"], ["boolean", "number"]))},
        {},
    ]
    if defs:
        plain.append({"$ref": f"#/$defs/{rng.choice(list(defs))}"})
    if not depth or rng.random() < 0.5:
        return rng.choice(plain)
    kind = rng.randrange(7)
    if kind == 0:
        return {"type": "array", "items": random_schema(rng, defs, depth - 1)}
    if kind == 1:
        first = [random_schema(rng, defs, depth - 1) for _ in range(rng.randint(1, 2))]
        return {"type": "array", "prefixItems": first, "items": random_schema(rng, defs, depth - 1)}
    if kind == 2:
        return {"type": "object", "additionalProperties": random_schema(rng, defs, depth - 1)}
    if kind == 3:
        union = [random_schema(rng, defs, depth - 1) for _ in range(rng.randint(2, 3))]
        return {"anyOf": union, "description": "One of several."}
    if kind == 4:
        return {"allOf": [random_object(rng, defs, depth - 1)]}
    if kind == 5:
        return {"type": ["object", "array", "null"], "items": {"type": "integer"}}
    return random_object(rng, defs, depth - 1)


def random_object(rng: random.Random, defs: Schema, depth: int) -> Schema:
    properties = {name: random_schema(rng, defs, depth) for name in random_names(rng, 4)}
    required = [name for name in properties if rng.random() < 0.6]
    return {"type": "object", "properties": properties, "required": required}


def random_value(rng: random.Random, schema: Any, defs: Schema, depth: int = 4) -> Any:
    """A value that fits the schema; deep down, the least that fits."""
    if "$ref" in schema:
        return random_value(rng, defs[schema["$ref"].rpartition("/")[2]], defs, depth)
    if "anyOf" in schema:
        options = schema["anyOf"]
        return random_value(rng, options[0] if depth <= 0 else rng.choice(options), defs, depth - 1)
    if "allOf" in schema:
        return random_value(rng, schema["allOf"][0], defs, depth)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    if kind is None:
        return random_json(rng, 2 if depth > 0 else 0)
    if isinstance(kind, list):
        return random_value(rng, {**schema, "type": rng.choice(kind)}, defs, depth)
    if kind == "array":
        first = [random_value(rng, item, defs, depth - 1) for item in schema.get("prefixItems", ())]
        more = rng.randint(0, 3) if depth > 0 else 0
        return first + [random_value(rng, schema.get("items", {}), defs, depth - 1) for _ in range(more)]
    if kind == "object":
        made = {
            name: random_value(rng, inner, defs, depth - 1)
            for name, inner in schema.get("properties", {}).items()
            if name in schema.get("required", ()) or (depth > 0 and rng.random() < 0.6)
        }
        if "properties" not in schema and depth > 0:
            other = schema.get("additionalProperties", {})
            made |= {name: random_value(rng, other, defs, depth - 1) for name in random_names(rng, 3)}
        return made
    scalars: dict[str, Callable[[], Any]] = {
        "string": lambda: random_text(rng),
        "integer": lambda: random_integer(rng),
        "number": lambda: random_number(rng),
        "boolean": lambda: rng.random() < 0.5,
        "null": lambda: None,
    }
    return scalars[kind]()


def random_tool(rng: random.Random, name: str) -> ToolDefinition:
    defs: Schema = {}
    for key in ("leaf", "pair", "tree"):
        if rng.random() < 0.4:
            defs[key] = random_schema(rng, {}, 1)
    if rng.random() < 0.2:
        # A reference to itself, which ends because the children need not be there.
        children = {"type": "array", "items": {"$ref": "#/$defs/node"}}
        node = {"label": {"type": "string"}, "children": children}
        defs["node"] = {"type": "object", "properties": node, "required": ["label"]}
    schema = random_object(rng, defs, 3)
    if name in ("write_file", "edit_file", "patch_file", "run_bash") and rng.random() < 0.7:
        # As such tools are in life: the long text is a string.
        body = {"write_file": "content", "run_bash": "command"}.get(name, "patch")
        schema["properties"] |= {"path": {"type": "string"}, body: {"type": "string"}}
        schema["required"] = [*dict.fromkeys([*schema["required"], body])]
    if defs:
        schema["$defs"] = defs
    return ToolDefinition(name, f"The {name} tool.", schema)


class Answer(NamedTuple):
    """A text that holds these calls, and the tools that they call."""

    text: str
    tools: ToolRegistry
    calls: list[tuple[str, dict[str, Any]]]


class Answers:
    """Random answers in one format. A set of tools serves for `each` answers, since making one is dear."""

    def __init__(self, format_: Format, seed: int, each: int = 12) -> None:
        self._format = format_
        self._rng = random.Random(f"{format_.name} {seed}")
        self._each = each
        self._made = 0
        self._tools = ToolRegistry()

    def next(self) -> Answer:
        rng = self._rng
        if self._made % self._each == 0:
            self._tools = ToolRegistry([random_tool(rng, name) for name in rng.sample(TOOL_NAMES, 3)])
        self._made += 1
        calls: list[tuple[str, dict[str, Any]]] = []
        pieces: list[str] = []
        for _ in range(1 if rng.random() < 0.8 else 2):
            pieces += [rng.choice(PROSE) for _ in range(rng.randint(0, 2))]
            tool = self._tools[rng.choice(self._tools.names)]
            arguments: dict[str, Any] = random_value(rng, tool.parameters, tool.parameters.get("$defs", {}))
            assert tool.problem(arguments) is None, (tool.parameters, arguments)
            calls.append((tool.name, arguments))
            pieces += [self._format.write_call(tool.name, arguments, tool), rng.choice(("\n", "", " ", "\n\n"))]
        pieces += [rng.choice(PROSE) for _ in range(rng.randint(0, 2))]
        return Answer("".join(pieces), self._tools, calls)

    def pieces(self, answer: Answer) -> list[str]:
        return list(random_pieces(answer.text, self._rng, self._rng.choice((1, 4, 30, 5000))))


def fault_of(answer: Answer, reading: Reading) -> str:
    """What is wrong with a reading; empty when the calls came back exactly and no character was lost."""
    if reading.rebuilt != answer.text:
        return "the text was not rebuilt"
    # As JSON: to Python, 1, 1.0 and true are equal. The order of members means nothing.
    if json.dumps(reading.calls, sort_keys=True) != json.dumps(answer.calls, sort_keys=True):
        return f"read {reading.outcome}"
    return ""


def round_trips(format_name: str, seed: int, count: int) -> list[str]:
    """The faults among `count` answers: each with what is needed to see it again."""
    format_ = text_format(format_name)
    answers = Answers(format_, seed)
    faults: list[str] = []
    for number in range(count):
        answer = answers.next()
        pieces = answers.pieces(answer)
        fault = fault_of(answer, read_text(format_, pieces, answer.tools))
        if fault:
            schemas = {name: answer.tools[name].parameters for name, _ in answer.calls}
            told = json.dumps(schemas, ensure_ascii=False)
            faults.append(f"{format_name} {seed}/{number}: {answer.text!r} of {answer.calls} for {told}: {fault}")
    return faults
