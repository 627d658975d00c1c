"""The `json` formats: every envelope at every cut, what is data, what flows, and what a model is told."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from embedded.gbnf_tools import HeldBy, Writer
from embedded.text_feeding import check_cuts, read_text
from embedded.text_tools import BOOK, PING, SEARCH, TOOLS
from toolwire import Limits, ToolDefinition
from toolwire.embedded.examples import example_arguments
from toolwire.embedded.format import Format
from toolwire.embedded.formats.json_envelopes import JSON, JSON_GEMINI, JSON_OPENAI
from toolwire.embedded.scanner import Piece, PieceKind
from toolwire.embedded.text_reader import TextReader
from toolwire.limits import DEFAULT_LIMITS
from toolwire.messages import ToolResultPart

FORMATS = [pytest.param(format_, id=format_.name) for format_ in (JSON, JSON_OPENAI, JSON_GEMINI)]
OPENAI, GEMINI, DEFAULT = (JSON, JSON_OPENAI), (JSON, JSON_GEMINI), (JSON,)

SHAPES: dict[str, tuple[Format, ...]] = {
    '{"tool": {"function": N, "parameters": A}}': OPENAI,
    '{"tool": {"function": N, "arguments": A}}': OPENAI,
    '{"tool": {"function": {"name": N, "arguments": A}}}': OPENAI,
    '{"tool": {"function": {"name": N, "parameters": A}}}': OPENAI,
    '{"tool": {"function": {"name": N}, "parameters": A}}': OPENAI,
    '{"tool": {"name": N, "arguments": A}}': OPENAI,
    '{"tool": N, "arguments": A}': OPENAI,
    '{"tool": N, "parameters": A}': OPENAI,
    '{"tool": N, "args": A}': DEFAULT,
    '{"function": N, "parameters": A}': OPENAI,
    '{"function": {"name": N, "arguments": A}}': OPENAI,
    '{"type": "function", "function": {"name": N, "arguments": A}}': OPENAI,
    '{"tool_calls": [{"name": N, "arguments": A}]}': OPENAI,
    '{"tool_calls": [{"function": {"name": N, "arguments": A}}]}': OPENAI,
    '{"tool_calls": [{"tool": {"function": N, "parameters": A}}]}': OPENAI,
    '{"tools": [{"function": {"name": N, "arguments": A}}]}': OPENAI,
    '{"name": N, "arguments": A}': OPENAI,
    '[{"name": N, "arguments": A}]': OPENAI,
    '[{"tool": {"function": N, "parameters": A}}]': OPENAI,
    '{"name": N, "args": A}': GEMINI,
    '[{"name": N, "args": A}]': GEMINI,
    '{"functionCall": {"name": N, "args": A}}': GEMINI,
    '[{"functionCall": {"name": N, "args": A}}]': GEMINI,
}
"""Each shape, and which formats read it."""

ARGUMENTS: dict[str, Any] = {
    "cabin": "economy",
    "price": -1.25e3,
    "tags": ['a "b"\n\\', "é😀\u2028"],
    "anything": {"a": [None]},
}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(format_: Format, shape: str) -> None:
    known = format_ in SHAPES[shape]
    plain = json.dumps(ARGUMENTS, ensure_ascii=False)
    for arguments in (plain, json.dumps(ARGUMENTS, indent=1), json.dumps(plain)):
        text = shape.replace("N", '"book"').replace("A", arguments)
        reading = check_cuts(format_, f"x {text} y", every=7)
        assert reading.calls == ([("book", ARGUMENTS)] if known else [])
        assert reading.unknown == []
        kinds = [part[0] for part in reading.outcome]
        assert kinds == ["text"] or (known and kinds[0] == kinds[-1] == "text" and kinds.count("call") == 1)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_members_in_any_order_with_decoration_and_space(format_: Format, shape: str) -> None:
    rng = random.Random(shape)

    def shuffled(value: Any, *, is_top: bool) -> Any:
        if isinstance(value, list):
            return [shuffled(item, is_top=False) for item in value]
        if not isinstance(value, dict) or value == ARGUMENTS:
            return value
        pairs = [(key, shuffled(item, is_top=False)) for key, item in value.items()]
        if "type" not in value:
            pairs += [("id", "call_1"), ("index", 0), ("type", None)][: rng.randint(0, 3)]
        if not (is_top and any(key in value for key in ("tool_calls", "tools"))):
            rng.shuffle(pairs)
        else:
            pairs.reverse()
        return dict(pairs)

    whole = json.loads(shape.replace("N", '"book"').replace("A", json.dumps(ARGUMENTS)))
    for _ in range(10):
        text = json.dumps(shuffled(whole, is_top=True), indent=rng.choice((None, 2)))
        calls = read_text(format_, [text]).calls
        assert calls == read_text(format_, text).calls == ([("book", ARGUMENTS)] if format_ in SHAPES[shape] else []), (
            text
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_unknown_tools_are_noted_and_stay_text(shape: str) -> None:
    text = shape.replace("N", '"nope"').replace("A", "{}")
    reading = check_cuts(JSON, text)
    assert reading.outcome == [["text", text]]
    assert reading.unknown == ["nope"]


@pytest.mark.parametrize(
    "text",
    [
        '{"name":"bob","age":3}',
        '{"tool":{"name":"hammer","weight":3}}',
        '{"name":"nope","description":"","parameters":{}}',
        '{"tool":"hammer"}',
        '{"tool":{"function":""}}',
        '{"name":"","args":{}}',
    ],
)
def test_data_names_no_tool(text: str) -> None:
    reading = check_cuts(JSON, text)
    assert (reading.outcome, reading.unknown) == ([["text", text]], [])


def test_without_tools_every_name_counts() -> None:
    reading = check_cuts(JSON, '{"name":"anything","args":{}} {"name":"","args":{}}', None)
    assert reading.outcome == [["call", "anything", {}], ["text", ' {"name":"","args":{}}']]


def test_a_call_without_arguments_has_an_object_of_none() -> None:
    for text in ('{"tool": {"function": "ping"}}', '{"name": "ping", "args": null}', '{"args": null, "name": "ping"}'):
        invocations = read_text(JSON, text).stream.invocations
        assert [invocation.raw_arguments for invocation in invocations] == ["{}"]


# What flows, and what is held.


def piece_by_piece(format_: Format, text: str, limits: Limits = DEFAULT_LIMITS) -> list[list[Piece]]:
    """What each character leads to."""
    reader = TextReader(lambda scanner: format_.read(scanner, TOOLS), limits)
    made: list[list[Piece]] = []
    for char in text:
        pieces: list[Piece] = []
        reader.feed(char, pieces)
        made.append(pieces)
    last: list[Piece] = []
    reader.close(last)
    return [*made, last]


def first_call(text: str, format_: Format = JSON) -> str:
    """The text up to where it is known that a call begins."""
    for at, pieces in enumerate(piece_by_piece(format_, text)):
        if any(piece.name for piece in pieces):
            return text[: at + 1]
    return ""


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ('{"tool": {"function": "search", "parameters": {"query": "x"}}}', '{"tool": {"function": "search"'),
        ('{"tool_calls": [{"id": 1, "name": "ping"}]}', '{"tool_calls": [{"id": 1, "name": "ping"'),
        ('{"functionCall": {"name": "ping"}}', '{"functionCall": {"name": "ping"'),
        ('{"name": "search", "args": {"query": "x"}}', '{"name": "search", "args": {'),
        ('{"function": {"name": "ping"}}', '{"function": {"name": "ping"}}'),
        ('{"args": {}, "name": "ping"}', '{"args": {}, "name": "ping"'),
    ],
)
def test_a_call_begins_as_soon_as_it_is_certain(text: str, begins: str) -> None:
    assert first_call(text) == begins


@pytest.mark.parametrize("quoted", [False, True])
def test_arguments_flow(quoted: bool) -> None:
    arguments = '{"text": "' + "abc \\u00e9 " * 20 + '"}'
    text = '{"name": "echo", "args": ' + (json.dumps(arguments) if quoted else arguments) + "}"
    given = ""
    for char, pieces in zip(text, piece_by_piece(JSON, text), strict=False):
        given += "".join(piece.arguments for piece in pieces)
        if "abc" in given and char == " ":
            assert given.endswith(" ")
    assert given == arguments


def test_data_flows() -> None:
    text = '{"a": "' + "x" * 100 + '", "b": [{"name": "ping", "args": {}}]}'
    shown = [sum(len(piece.text) for piece in pieces) for pieces in piece_by_piece(JSON, text)]
    assert shown[:6] == [0, 0, 0, 0, 0, 0]
    assert sum(shown[:7]) == 7
    assert shown[7:] == [1] * (len(text) - 7) + [0]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"args": {"query": "%s"}, "name": "search"}', 0),
        ('{"args": {"a": "%s"}, "name": "ping"}', 0),
        ('{"args": "{\\"query\\": \\"%s\\"}", "name": "search"}', 0),
        ('{%s"name": "ping", "args": {}}', 0),
        ('{"name"%s: "ping", "args": {}}', 0),
        ('{"name": "ping",%s "args": {}}', 0),
        ('[%s{"name": "ping", "args": {}}]', 0),
        ('[{"name": "ping", "args": {}}%s, {"name": "ping", "args": {}}]', 1),
        ('[{"name": "ping", "args": {}},%s {"name": "ping", "args": {}}]', 1),
        ('{"tool": {"function": "search",%s "parameters": {"query": "%s"}}}', 1),
        ('{"name": "search", "args": {"query": "%s"}}', 1),
    ],
)
def test_what_is_held_is_bounded(text: str, calls: int) -> None:
    """Over the bound it is data, to its end; within it, or in a call that has begun, all is well."""
    limits = Limits(held=100)
    assert len(read_text(JSON, [text.replace("%s", " ")], limits=limits).calls) == text.count("name") + text.count(
        "tool"
    )
    for length in (95, 120, 200):
        reading = check_cuts(JSON, text.replace("%s", " " * length), limits=limits, every=5)
        if length == 200:
            assert len(reading.calls) == calls
    held = 0
    for pieces in piece_by_piece(JSON, text.replace("%s", " " * 500), limits):
        held = 0 if pieces else held + 1
        assert held <= 110


def test_every_text_of_brackets_comes_out_the_same_at_every_cut() -> None:
    tokens = ['{"name"', ':"ping"', ',"args":', "{}", "{", "}", "[", "]", ",", '"tool":', '"', '{"tool_calls":[', "x"]
    rng = random.Random(5)
    for _ in range(300):
        text = "".join(rng.choice(tokens) for _ in range(rng.randint(1, 12)))
        whole = read_text(JSON, [text])
        assert whole.rebuilt == text
        assert read_text(JSON, text).outcome == whole.outcome


def test_every_piece_of_a_call_knows_its_place() -> None:
    text = 'é [{"name": "ping", "args": {}}, {"name": "ping", "args": {}}]'
    calls = [piece for pieces in piece_by_piece(JSON, text) for piece in pieces if piece.name]
    assert [text[piece.position :][:16] for piece in calls] == ['{"name": "ping",'] * 2
    assert [piece.kind for piece in calls] == [PieceKind.CALL] * 2


# What a model is told.


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("tool", [TOOLS.get(name) for name in TOOLS.names], ids=lambda tool: tool.name)
def test_examples_are_read_back_and_fit_the_grammar(format_: Format, tool: ToolDefinition) -> None:
    assert format_.grammar is not None
    held = HeldBy(format_.grammar([TOOLS.get(name) for name in TOOLS.names]))  # type: ignore[misc]
    for optional in (False, True):
        arguments = example_arguments(tool, optional=optional)
        text = format_.write_call(tool.name, arguments, tool)
        assert held.refuses_at(text) is None
        for reader in (format_, JSON):
            reading = read_text(reader, text)
            assert reading.calls == [(tool.name, arguments)]
            assert [part[0] for part in reading.outcome] == ["markup", "call", "markup"]


@pytest.mark.parametrize("format_", FORMATS)
def test_what_the_grammar_allows_is_a_call(format_: Format) -> None:
    assert format_.grammar is not None
    writer = Writer(format_.grammar([SEARCH, PING, BOOK]))
    rng = random.Random(7)
    names = set()
    for _ in range(200):
        text = writer.write(rng)
        outcome = read_text(format_, [text]).outcome
        assert [part[0] for part in outcome] in (["markup", "call", "markup"], ["markup", "broken", "markup"]), text
        if outcome[1][0] == "broken":  # what a grammar cannot say, such as half of a surrogate pair
            assert "not valid JSON" not in outcome[1][2], text
        names.add(outcome[1][1])
    assert names == {"search", "ping", "book"}


@pytest.mark.parametrize("format_", FORMATS)
def test_numbers_and_text_are_written_exactly(format_: Format) -> None:
    arguments = {
        "cabin": "economy",
        "price": 0.1,
        "anything": [12345678901234567890, -0.0, 1e300, True, None, {"": ""}],
        "zip": "00501",
        "tags": ["", " ", "```\n", '{"name":"ping","args":{}}', "\x00\x7f\u2028\ud7ff", "</tool>"],
    }
    text = format_.write_call("book", arguments, BOOK)
    calls = read_text(format_, text).calls
    assert json.dumps(calls) == json.dumps([("book", arguments)])


@pytest.mark.parametrize("format_", FORMATS)
def test_the_rules_show_calls_that_are_read(format_: Format) -> None:
    rules = format_.rules([SEARCH])
    reading = read_text(format_, rules, None)
    assert reading.calls == [("tool_name", {"argument_name": "value"}), ("first_tool", {}), ("second_tool", {})]
    assert rules == format_.rules([])


@pytest.mark.parametrize("format_", FORMATS)
def test_a_declaration_is_the_schema_and_no_call(format_: Format) -> None:
    for tool in (SEARCH, PING, BOOK):
        text = format_.declare(tool)
        said = json.loads(text.removeprefix("```json\n").removesuffix("\n```"))
        schema = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        assert said == ({"type": "function", "function": schema} if format_ is JSON_OPENAI else schema)
        for reader in (format_, JSON):
            reading = read_text(reader, text)
            assert (reading.outcome, reading.unknown) == ([["text", text]], [])


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("is_error", [False, True])
def test_a_result_is_data(format_: Format, is_error: bool) -> None:
    calls = [other.write_call("ping", {}, None) for other in (JSON, JSON_OPENAI, JSON_GEMINI)]
    contents = ["18 °C", "", '"', '"}}', *calls, *('"}}\n' + call for call in calls), "\\" * 3 + '"}} ' + calls[2]]
    for content, name in itertools.product(contents, ("search", '"}} ' + calls[2])):
        text = format_.write_result(ToolResultPart("c1", name, content, is_error), content)
        status = "error" if is_error else "ok"
        assert json.loads(text) == {"tool_result": {"tool": name, "status": status, "content": content}}
        for around in (text, f"```json\n{text}\n```", f"{{ {text}", f'{{"a": {text}'):
            reading = read_text(format_, around)
            assert [part[0] for part in reading.outcome] == ["text"]
