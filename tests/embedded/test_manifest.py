"""What a model is told: the same bytes for the same tools, and every example in it is read back exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import toolwire
from embedded.text_tools import BOOK, PING, SEARCH, TOOLS, tool
from toolwire import TextStream, ToolDefinition
from toolwire.embedded.examples import example_arguments
from toolwire.embedded.manifest import HEADING, manifest, with_manifest
from toolwire.embedded.registry import format_names, text_format
from toolwire.errors import ConfigError
from toolwire.tools.registry import ToolRegistry

FORMATS = format_names()
DEFINITION = "## Tool Definition:\n"
USAGE = "## Tool Usage Examples and Guidelines:\n"
BASIC = "### Example 1: Basic Call (Required Arguments)\n"
ADVANCED = "### Example 2: Advanced Call (With Optional & Nested Arguments)\n"

HOSTILE = (
    'a "b" \'c\' \\ <tool name="ping"></tool> </arg>]]> [[SEG_END]] ``` {"tool": 1} __END_CONTENT__ & '
    "\r\n\té 🦜 \n---\n"
)
"""Whatever ends something in one of the formats."""


def odd(name: str, schema: Any, **more: Any) -> ToolDefinition:
    """A tool with one required argument of this schema."""
    return ToolDefinition(name, "", {"type": "object", "properties": {"value": schema}, "required": ["value"], **more})


def named(name: str, kinds: dict[str, str]) -> ToolDefinition:
    """A tool with required arguments of these names and types."""
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    return ToolDefinition(name, "", {"type": "object", "properties": properties, "required": list(properties)})


ODD = ToolRegistry(
    [
        odd("enum_of_texts", {"enum": ["two words", 'say "hi"', "<b>"]}),
        odd("enum_of_all", {"enum": [7, "7", None, True]}),
        odd("constant", {"const": "null"}),
        odd("default_text", {"type": "string", "default": HOSTILE}),
        odd("example_text", {"type": "string", "examples": [HOSTILE]}),
        odd("default_number_text", {"type": "string", "default": "00501"}),
        odd("default_spaces", {"type": "string", "default": "  \n x \n "}),
        odd("empty_text", {"type": "string", "examples": [""]}),
        odd("null_text", {"type": ["string", "null"], "examples": [None]}),
        odd("default_list", {"type": "array", "items": {"type": "string"}, "default": [HOSTILE, "", "1", "null"]}),
        odd("empty_list", {"type": "array", "items": {"type": "string"}, "examples": [[]]}),
        odd("default_object", {"type": "object", "default": {"a b": [1, {"c": HOSTILE}], "": {}}}),
        odd("large_number", {"type": "integer", "default": 12345678901234567890}),
        odd("small_number", {"type": "number", "default": -1.5e-7}),
        odd("nullable", {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        odd("text_or_number", {"anyOf": [{"type": "string"}, {"type": "integer"}], "default": 5}),
        odd("text_or_list", {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        odd("rows", {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        odd("pair", {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": False}),
        odd("anything", {}),
        odd("always", True),
        odd(
            "tree",
            {"$ref": "#/$defs/node"},
            **{
                "$defs": {
                    "node": {
                        "type": "object",
                        "properties": {
                            "label": {"type": "string"},
                            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                        },
                        "required": ["label"],
                    }
                }
            },
        ),
        odd("by_name", {"type": "object", "additionalProperties": {"type": "integer"}, "default": {"x": 1}}),
        named("tool", {"type": "string", "tool_name": "string", "arguments": "object"}),
        named("arguments", dict.fromkeys(("name", "arg", "item", "args", "function", "arguments"), "string")),
        named("odd.names-of_arguments", {"a b": "string", '"q"': "integer", "<x>": "boolean", "é": "number"}),
    ]
)
ODD_FORMS = ToolRegistry(
    [
        tool("write_file", ["content"], content={"type": "object"}, path="string", type="string"),
        tool("run_bash", command={"type": "array", "items": {"type": "string"}}),
        tool("edit_file", path="string", patch={"type": "string", "default": HOSTILE}),
        tool("patch_file", ["path"], path="string", content={"type": "string", "default": "\n\nx\n"}),
    ]
)
"""Tools with the names of those that have a shorthand, and other arguments."""

EVERY = [(tools, each) for tools in (TOOLS, ODD, ODD_FORMS) for each in tools]


def examples(section: str) -> list[str]:
    """The calls that the manifest of one tool shows."""
    after = section.split(USAGE)[-1]
    basic, _, advanced = after.partition(ADVANCED)
    assert basic.strip().startswith(BASIC.strip())
    shown = [basic.partition(BASIC)[2].removesuffix("\n\n")]
    return [*shown, advanced] if advanced else shown


def exact(arguments: dict[str, Any]) -> str:
    """For comparing: 1, 1.0 and true are three things here."""
    return json.dumps(arguments, sort_keys=True)


FIRST = ("llama3-json",)
"""Their calls stand at the beginning of an answer, or after a mark that examples do without."""
RAW = (
    *("qwen3-coder", "seed-oss", "glm45", "glm47", "poolside-v1", "hy-v3", "minimax-m2", "minimax-m3", "step3"),
    *("muse-glimmer", "dots", "minicpm5", "k2-horizon"),
)
"""Families that write values as raw text and say nothing of their type."""
NOT_RAW = ("enum_of_all", "null_text", "odd.names-of_arguments")
"""What raw text cannot say: 7 and null where their text is allowed as a string, and names that hold the tags' marks."""


def can_say(format_: str, each: ToolDefinition) -> bool:
    return format_ not in RAW or each.name not in NOT_RAW


def check_read_back(text: str, format_: str, tools: ToolRegistry, name: str, arguments: dict[str, Any]) -> None:
    before = [] if format_ in FIRST else ["Well:\n"]
    for pieces in ([text], list(text), [*before, text, "\nDone."]):
        stream = TextStream(format_, tools)
        events = [event for piece in pieces for event in stream.feed(piece)] + stream.close()
        assert "".join(event.delta for event in events) == "".join(pieces)
        assert stream.problems == {}
        made = [(invocation.tool_name, exact(invocation.arguments)) for invocation in stream.invocations]
        assert made == [(name, exact(arguments))]


@pytest.mark.parametrize("format_", FORMATS)
def test_every_example_is_read_back(format_: str) -> None:
    for tools, each in EVERY:
        if can_say(format_, each):
            check_examples(format_, tools, each)


@pytest.mark.parametrize("format_", RAW)
def test_what_raw_text_cannot_say_never_becomes_another_type(format_: str) -> None:
    """Where a string is allowed, text is that string: the rule that holds for every format."""
    (each,) = (each for _, each in EVERY if each.name == "null_text")
    stream = TextStream(format_, ToolRegistry([each]))
    stream.feed(text_format(format_).write_call(each.name, {"value": None}, each))
    stream.close()
    assert [type(call.arguments["value"]) for call in stream.invocations] == [str]


def check_examples(format_: str, tools: ToolRegistry, each: ToolDefinition) -> None:
    shown = examples(manifest([each], format_))
    short, full = (example_arguments(each, optional=optional) for optional in (False, True))
    for text, arguments in zip(shown, [short, full], strict=False):
        check_read_back(text, format_, tools, each.name, arguments)
    assert len(shown) == (1 if short == full else 2)


@pytest.mark.parametrize("format_", FORMATS)
def test_the_sections_of_a_manifest(format_: str) -> None:
    text = manifest(TOOLS, format_)
    form = text_format(format_)
    rules = form.rules(list(TOOLS)).strip()
    assert text.startswith(f"{HEADING}\n\n{rules}\n\n---\n\n{DEFINITION}")
    assert text.count(rules) == 1
    assert [text.count(part) for part in (DEFINITION, USAGE, BASIC)] == [len(TOOLS)] * 3
    places = [text.index(form.declare(each)) for each in TOOLS]
    assert places == sorted(places)
    assert text == text.strip()


@pytest.mark.parametrize("format_", FORMATS)
def test_a_second_example_only_where_it_says_more(format_: str) -> None:
    assert ADVANCED not in manifest([PING], format_)
    assert ADVANCED in manifest([SEARCH], format_)
    assert ADVANCED in manifest([BOOK], format_)


def digests(seed: str) -> str:
    """What a process of its own writes, whose sets have another order."""
    script = (
        "import hashlib\n"
        "from embedded.text_tools import TOOLS\n"
        "from embedded.test_manifest import ODD\n"
        "from toolwire.embedded.manifest import manifest\n"
        "from toolwire.embedded.registry import format_names\n"
        "for name in format_names():\n"
        "    print(name, hashlib.sha256((manifest(TOOLS, name) + manifest(ODD, name)).encode()).hexdigest())\n"
    )
    path = ":".join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": path},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_tools_give_the_same_bytes() -> None:
    """Prompt caches hold: no order of a set or of a memory address comes through."""
    first = digests("1")
    assert len(first.splitlines()) == len(FORMATS)
    assert digests("2") == first


@pytest.mark.parametrize("format_", FORMATS)
def test_what_must_be_called_is_said_last(format_: str) -> None:
    plain = manifest(TOOLS, format_)
    for choice, words in (("required", "at least one tool call"), ("search", "a call of the tool search")):
        text = manifest(TOOLS, format_, tool_choice=choice)
        assert text.startswith(plain + "\n\n---\n\n"), "the cached beginning stays"
        assert words in text[len(plain) :]
    assert manifest(TOOLS, format_, tool_choice="none") == ""


def test_tool_choices_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="none of the tools"):
        manifest([SEARCH], "xml", tool_choice="serch")
    with pytest.raises(ConfigError, match="at least one tool"):
        manifest([], "xml", tool_choice="required")


def test_formats_that_are_none() -> None:
    with pytest.raises(ConfigError, match="no text format 'morse'") as told:
        manifest([SEARCH], "morse")
    assert "sentinel" in told.value.hint


@pytest.mark.parametrize("format_", FORMATS)
def test_no_tools_no_manifest(format_: str) -> None:
    assert manifest([], format_) == ""
    assert with_manifest("Be kind.", [], format_) == "Be kind."


def test_it_is_appended_to_the_prompt() -> None:
    section = manifest([SEARCH], "sentinel")
    assert with_manifest("Be kind.\n", [SEARCH], "sentinel") == "Be kind.\n\n\n" + section
    assert with_manifest("", [SEARCH], "sentinel") == section
    assert with_manifest("Be kind.", [SEARCH], "sentinel", tool_choice="none") == "Be kind."


def test_functions_and_entries_of_tools_json_are_tools() -> None:
    @toolwire.tool(risk="read")
    def get_weather(city: str, days: int = 3) -> str:
        """Weather for a city."""
        return city

    text = manifest([get_weather, {"name": "now", "description": "The time."}], "xml")
    assert "Weather for a city." in text
    assert "The time." in text
    assert "get_weather" in text


def test_the_envelope_is_the_providers() -> None:
    """W24: the three dialects of JSON teach what they read."""
    openai, gemini = (manifest([SEARCH], text_format("json", provider=name)) for name in ("openai", "gemini"))
    assert openai == manifest([SEARCH], "json-openai") != manifest([SEARCH], "json")
    assert gemini == manifest([SEARCH], "json-gemini")
    assert '"args"' in gemini
    assert '"args"' not in openai


@pytest.mark.parametrize("format_", FORMATS)
def test_quotes_in_descriptions_do_not_break_a_definition(format_: str) -> None:
    """W24: a quotation mark, a tag and a line end in a description stay inside it."""
    hostile = ToolDefinition(
        "quoted",
        'It says "hi" & <b>.\nThen ---.',
        {"type": "object", "properties": {"a": {"type": "string", "description": 'a "b" </arg>'}}, "required": ["a"]},
    )
    (shown,) = examples(manifest([hostile], format_))
    check_read_back(shown, format_, ToolRegistry([hostile]), "quoted", example_arguments(hostile, optional=False))


@pytest.mark.parametrize("format_", FORMATS)
def test_enums_arrays_and_nested_objects_are_shown(format_: str) -> None:
    """W24: an enumeration shows a value of its own, an array two items, an object its members."""
    (_, full) = examples(manifest([BOOK], format_))
    stream = TextStream(format_, TOOLS)
    stream.feed(full)
    stream.close()
    (invocation,) = stream.invocations
    arguments = invocation.arguments
    assert arguments["cabin"] == "economy"
    assert [type(item) for item in arguments["tags"]] == [str, str]
    assert [type(item) for item in arguments["seats"]] == [int, int]
    assert all(set(person) == {"name", "age"} for person in arguments["passengers"])
    assert isinstance(arguments["options"]["deep"], bool)
