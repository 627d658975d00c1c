"""The `xml` format on its own: what a model is told, what is written, what is held back, what the bounds do.

What is read, case by case, is in `tests/data/text/xml.jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from embedded.gbnf_tools import HeldBy
from embedded.text_feeding import check_cuts, check_truncated, read_text
from embedded.text_tools import BOOK, ECHO, PING, RUN_BASH, SEARCH, TOOLS, WRITE_FILE, tool
from toolwire import ToolDefinition
from toolwire.embedded.formats.xml import XML
from toolwire.embedded.scanner import Piece, PieceKind
from toolwire.embedded.text_reader import TextReader
from toolwire.limits import DEFAULT_LIMITS, Limits
from toolwire.messages import ToolResultPart
from toolwire.tools import forms
from toolwire.tools.forms import ToolForm, register_form
from toolwire.tools.registry import ToolRegistry


def pieces(parts: Iterable[str], tools: ToolRegistry | None = TOOLS, limits: Limits = DEFAULT_LIMITS) -> list[Piece]:
    """What came, piece by piece, before the end of the answer."""
    reader = TextReader(lambda scanner: XML.read(scanner, tools), limits)
    made: list[Piece] = []
    for part in parts:
        reader.feed(part, made)
    return made


def given(text: str, tools: ToolRegistry | None = TOOLS) -> str:
    """What is given of a text that has not ended."""
    return "".join(piece.text for piece in pieces([text], tools))


def calls(text: str, tools: ToolRegistry | None = TOOLS, **options: Any) -> list[tuple[str, dict[str, Any]]]:
    return check_cuts(XML, text, tools, **options).calls


# Hold-back.


@pytest.mark.parametrize(
    "text", ["a < b", "<b", "<to< ", "<tod", "<toolb", "<run_bash_", "< ", "</tool", "<1", "<é", "x<!"]
)
def test_what_cannot_begin_a_call_is_not_held(text: str) -> None:
    assert given(text) == text


@pytest.mark.parametrize("held", ["<", "<t", "<TOOL", "<tool", '<tool name="search"', "<tool a='>", "<run_bash"])
def test_what_may_begin_a_call_is_held(held: str) -> None:
    assert given(f"text {held}") == "text "


def test_a_shorthand_of_a_tool_that_is_not_offered_is_not_held() -> None:
    assert given("<run_bash", ToolRegistry([SEARCH])) == "<run_bash"
    assert calls("<run_bash>ls</run_bash>", ToolRegistry([SEARCH])) == []


@pytest.mark.parametrize(
    "opening",
    [
        '<tool name="write_file"><arg name="content">',
        '<write_file path="a">',
        '<write_file path="a"><![CDATA[',
        '<write_file path="a">__START_CONTENT__\n',
    ],
)
def test_text_flows(opening: str) -> None:
    """Of a long text at most a closing tag or mark is held back, whatever it holds."""
    text = 'if a < b: print("]]", "__END", "</ar", \'</write\', "é")\n' * 20
    reader = TextReader(lambda scanner: XML.read(scanner, TOOLS))
    made: list[Piece] = []
    reader.feed(opening, made)
    fed = opening
    for char in text:
        reader.feed(char, made)
        fed += char
        assert len(fed) - sum(len(piece.text) for piece in made) <= len("</write_file>")
    arguments = "".join(piece.arguments for piece in made)
    assert json.dumps(text[:-20], ensure_ascii=False)[1:-1] in arguments


# Bounds.


def test_a_tag_over_the_bound_is_text_at_every_cut() -> None:
    limits = Limits(held=40)
    for gap in range(18, 26):
        text = f'<tool name="ping"{" " * gap}/>'
        expected: list[tuple[str, dict[str, Any]]] = [("ping", {})] if len(text) <= 40 else []
        assert calls(text, limits=limits) == expected, gap
        quoted = f'<tool name="search" query="{"x" * (gap - 11)}"/>'
        found = calls(quoted, limits=limits)
        assert bool(found) == (len(quoted) <= 40), gap


def test_a_tag_over_the_bound_inside_a_call_breaks_it_at_every_cut() -> None:
    limits = Limits(held=30)
    text = '<tool name="search"><arg name="query"' + " " * 30 + '>x</arg></tool><tool name="ping"/>'
    reading = check_cuts(XML, text, limits=limits)
    assert [each[0] for each in reading.outcome] == ["broken", "call"]
    for length in range(15, 22):
        text = f'<tool name="echo"><arg name="{"x" * length}" type="">x</arg></tool>'
        reading = check_cuts(XML, text, limits=limits)
        assert ("malformed" in reading.outcome[0][2]) == (len('<arg name="" type="">') + length > 30)


def test_much_space_before_cdata_is_text() -> None:
    limits = Limits(held=30)
    inside = " " * 31 + "<![CDATA[x]]>"
    assert calls(f'<tool name="echo"><arg name="text">{inside}</arg></tool>', limits=limits) == [
        ("echo", {"text": inside})
    ]


def test_nesting_over_the_bound() -> None:
    node = {"type": "object", "properties": {"kid": {"$ref": "#/$defs/node"}}}
    tree = ToolDefinition("tree", "", {**node, "$defs": {"node": node}})
    tools = ToolRegistry([tree])
    limits = Limits(depth=4)
    for depth, problem in (
        (3, ""),
        (4, "nested deeper than 4 levels"),
        (5, "nested deeper than 4 levels (at character"),
    ):
        inner = "<kid>" * depth + "{}" + "</kid>" * depth
        reading = check_cuts(XML, f'<tool name="tree">{inner}</tool>', tools, limits=limits)
        assert problem in str(reading.outcome[0][2])
        assert reading.outcome[0][0] == ("broken" if problem else "call")


def test_a_name_over_the_bound_is_text() -> None:
    assert calls(f'<tool name="{"x" * 257}"/>', None) == []
    assert [piece.kind for piece in pieces([f'<tool name="{"x" * 256}"/>'], None)] == [PieceKind.CALL, PieceKind.CALL]


# Names.


def test_without_tools_every_name_counts() -> None:
    text = '<tool name="anything" a="1"><b>2</b><arg name="c" type="json">[3]</arg></tool><run_bash>ls</run_bash>'
    made = pieces([text], None)
    assert [piece.name for piece in made if piece.name] == ["anything", "run_bash"]
    assert "".join(piece.arguments for piece in made) == '{"a": "1", "b": "2", "c": [3]}{"command": "ls"}'


def test_unknown_names_are_told() -> None:
    reading = read_text(XML, ['<tool name="serch"><arg name="query">x</arg></tool><tool name="nope"/>'])
    assert reading.calls == []
    assert reading.unknown == ["serch", "nope"]


@contextmanager
def _registered(name: str, form: ToolForm) -> Iterator[None]:
    before = dict(forms._FORMS)
    register_form(name, form)
    try:
        yield
    finally:
        forms._FORMS.clear()
        forms._FORMS.update(before)


def test_a_registered_form_is_a_shorthand() -> None:
    note = tool("Create-Note", ["title", "lines"], title="string", lines={"type": "array", "items": {"type": "string"}})
    tools = ToolRegistry([note])
    text = '<create-note title="A"><item>a</item><item>b</item></Create-Note>'
    assert calls(text, tools) == []
    with _registered("Create-Note", ToolForm("write_file", "title", ("lines",))):
        assert calls(text, tools) == [("Create-Note", {"title": "A", "lines": ["a", "b"]})]
        call = XML.write_call("Create-Note", {"title": "A", "lines": ["</item>"]}, note)
        assert calls(call, tools) == [("Create-Note", {"title": "A", "lines": ["</item>"]})]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("&quot;&apos;&lt;&gt;&amp;", "\"'<>&"),
        ("&#65;&#x42;&#X43;&#128512;", "ABC😀"),
        ("&amp;lt;", "&lt;"),
        ("&", "&"),
        ("&;", "&;"),
        ("a&b;c", "a&b;c"),
        ("&#0;&#xD800;&#x110000;&#-1;&#+1;&#1_0;&#;&#x;", "&#0;&#xD800;&#x110000;&#-1;&#+1;&#1_0;&#;&#x;"),
        ("&#٣;&LT;&nbsp;", "&#٣;&LT;&nbsp;"),
        ("&#00000000000000065;", "&#00000000000000065;"),
        ("a\nb\r\n\tc", "a\nb\r\n\tc"),
    ],
)
def test_entities_in_attributes(written: str, meant: str) -> None:
    assert calls(f'<tool name="echo" text="{written}"/>') == [("echo", {"text": meant})]


# A broken call.


@pytest.mark.parametrize(
    "text",
    [
        '<tool name="echo"><arg name="text"><tool name="ping"/></arg></tool>',
        '<tool name="echo"><text>a <tool name="ping"></tool> b</text></tool>',
        '<tool name="echo">! <text></tool><tool name="ping"/></text></tool>',
        '<tool name="echo">! <arg name="text"></tool><tool name="ping"/></arg></tool>',
        '<tool name="echo"><text>a</text>! <![CDATA[</tool><tool name="ping"/>]]></tool>',
        '<tool name="echo">! <arg name="text"><arg name="x"></arg></tool><tool name="ping"/></arg></tool>',
        '<tool name="echo"><arg name=text></tool><tool name="ping"/></arg></tool>',
        '<tool name="echo"><text>a<text></text></tool><tool name="ping"/></text></tool>',
        '<tool name="nope"><arg name="text"></tool><tool name="ping"/></arg></tool>',
        '<tool name="nope"><text><tool name="ping"/></text>!<text></tool></text></tool>',
        '<tool name="nope"><rows> [{"a": "</rows></tool><tool name=\\"ping\\"/>"}] </rows></tool>',
        '<tool name="nope"><arg name="rows" type="json">"</arg></tool><run_bash>ls</run_bash>"</arg></tool>',
        '<tool name="echo">! <arg name="text">{"a": "</arg></tool><run_bash>ls</run_bash>"}</arg></tool>',
        '<write_file path="a"><write_file path="b"></write_file><tool name="ping"/></write_file>',
        '<write_file path="a"><![CDATA[</write_file><tool name="ping"/>]]> ! </write_file>',
        '<run_bash command="b">! __START_CONTENT__</run_bash><tool name="ping"/>__END_CONTENT__</run_bash>',
    ],
)
def test_nothing_in_a_broken_call_is_called(text: str) -> None:
    assert check_cuts(XML, text).calls == []
    assert check_cuts(XML, text + ' <tool name="search"><query>x</query></tool>').calls == [("search", {"query": "x"})]
    check_truncated(XML, text)


# What is written.

LAID_OUT = """\
<tool name="book">
    <arguments>
        <arg name="cabin">economy</arg>
        <arg name="tags">
            <item>a < b</item>
            <item><![CDATA[</item>]]></item>
        </arg>
        <arg name="passengers">
            <item>
                <arg name="name">

x</arg>
                <arg name="age">3</arg>
            </item>
        </arg>
        <arg name="seats">[]</arg>
        <arg name="options">
            <arg name="deep">true</arg>
            <arg name="note" type="json">null</arg>
        </arg>
        <arg name="either" type="json">5</arg>
        <arg name="anything" type="json">{"a": "</arg>"}</arg>
    </arguments>
</tool>"""


def test_a_call_is_laid_out() -> None:
    arguments = {
        "cabin": "economy",
        "tags": ["a < b", "</item>"],
        "passengers": [{"name": "\nx", "age": 3}],
        "seats": [],
        "options": {"deep": True, "note": None},
        "either": 5,
        "anything": {"a": "</arg>"},
    }
    call = XML.write_call("book", arguments, BOOK)
    assert call == LAID_OUT
    assert calls(call, every=7) == [("book", arguments)]


def test_long_texts_stand_between_markers() -> None:
    call = XML.write_call("write_file", {"path": "a", "content": "x\n</arg>\n"}, WRITE_FILE)
    assert call.splitlines()[3:8] == [
        '        <arg name="content">',
        "__START_CONTENT__",
        "x",
        "</arg>",
        "__END_CONTENT__",
    ]
    assert calls(call, every=5) == [("write_file", {"path": "a", "content": "x\n</arg>\n"})]


TEXTS = [
    *(
        "",
        " ",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "\r\n\n",
        " \n x \n ",
        "\t<",
        "x<",
        "</",
        "</arg",
        "</arg>",
        "</ARG>",
        "]]>",
        "]",
        "]]",
    ),
    *(
        "]]]]>",
        "<![CDATA[",
        " <![CDATA[x]]>",
        "x<![CDATA[",
        "__START_CONTENT__",
        "\n__START_PATCH__\n",
        "__END_CONTENT__",
        "_",
    ),
    *(
        "__END_PATCH__]]>",
        "<arg name=",
        "<ARG NAME='x'>",
        "<tool name=",
        "<item>",
        "</item>",
        "</tool>",
        "&lt;",
        "&amp;",
        "é😀İ",
    ),
    *(
        "<!-- x -->",
        "<write_file path='a'>",
        "</write_file>",
        "```",
        "00501",
        "null",
        "true",
        "{",
        "[1]",
        '"',
        "\\n",
        "\u2028",
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_read_back(text: str) -> None:
    for name, arguments in (
        ("echo", {"text": text}),
        ("write_file", {"path": text, "content": text}),
        ("edit_file", {"path": "a", "patch": f"x{text}"}),
        (
            "book",
            {"cabin": "economy", "tags": [text, text], "options": {"note": text}, "anything": text, "either": text},
        ),
        ("book", {"cabin": "economy", "anything": [{text: text}]}),
    ):
        call = XML.write_call(name, arguments, TOOLS[name])
        assert calls(f"a{call}b", every=9) == [(name, arguments)]
        untyped = XML.write_call(name, arguments, None)
        made = pieces([untyped], None)
        assert json.loads("".join(piece.arguments for piece in made)) == arguments


def test_names_of_arguments_are_quoted() -> None:
    arguments = {"\"<&>\n'": "x", "": 1, "name": "n", "type": "t", "ä b": True}
    odd = ToolDefinition("odd", "", {"properties": {key: {"type": ["integer", "boolean"]} for key in ("", "ä b")}})
    assert calls(XML.write_call("odd", arguments, odd), ToolRegistry([odd])) == [("odd", arguments)]


def test_an_object_may_have_a_member_called_item() -> None:
    shop = tool("shop", order={"type": "object", "properties": {"item": {"type": "string"}}})
    text = '<tool name="shop"><order><item>x</item></order></tool>'
    assert calls(text, ToolRegistry([shop])) == [("shop", {"order": {"item": "x"}})]


def test_members_without_names_in_the_schema_are_written_as_json() -> None:
    counts = tool("counts", by={"type": "object", "additionalProperties": {"type": "integer"}})
    call = XML.write_call("counts", {"by": {"a": 1}}, counts)
    assert '<arg name="by">{"a": 1}</arg>' in call
    assert calls(call, ToolRegistry([counts])) == [("counts", {"by": {"a": 1}})]


def test_deep_values_are_read_back() -> None:
    node = {"type": "object", "properties": {"kid": {"$ref": "#/$defs/node"}}}
    tree = ToolDefinition("tree", "", {**node, "$defs": {"node": node}})
    value: dict[str, Any] = {}
    for _ in range(50):
        value = {"kid": value}
    call = XML.write_call("tree", value, tree)
    assert calls(call, ToolRegistry([tree]), every=200) == [("tree", value)]


# What a model is told.


def test_attributes_of_a_declaration_are_escaped() -> None:
    lines = XML.declare(BOOK).splitlines()
    assert lines[0] == (
        '<tool name="book" description="Books seats; &quot;quotes&quot; &amp; &lt;tags&gt; in a description.">'
    )
    assert lines[2] == (
        '        <arg name="cabin" type="string" description="Where to sit." required="true"'
        ' enum_values="economy,business" />'
    )
    assert '        <arg name="either" type="string|integer" required="false" />' in lines
    start = lines.index('        <arg name="passengers" type="array" required="false">')
    assert lines[start + 1 : start + 6] == [
        '            <items type="object">',
        '                <arg name="name" type="string" required="true" />',
        '                <arg name="age" type="integer" required="false" />',
        "            </items>",
        "        </arg>",
    ]


def test_odd_schemas_are_declared() -> None:
    node = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}
    odd = ToolDefinition(
        "odd",
        "",
        {
            "type": "object",
            "properties": {
                "tree": {"$ref": "#/$defs/node", "description": 'A "tree"'},
                "mixed": {"enum": ["a,b", 1, None], "default": 1},
                "near": {"type": "integer", "minimum": 1, "maximum": 9, "default": 5},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": False},
                "free": True,
            },
            "$defs": {"node": node},
        },
    )
    assert XML.declare(odd).splitlines()[2:-2] == [
        '        <arg name="tree" type="object" description="A &quot;tree&quot;" required="false">',
        '            <arg name="kids" type="array" required="false">',
        '                <items type="object" members="as above" />',
        "            </arg>",
        "        </arg>",
        '        <arg name="mixed" type="string|integer|null" required="false" default="1"'
        ' enum_values="[&quot;a,b&quot;, 1, null]" />',
        '        <arg name="near" type="integer" required="false" default="5" minimum="1" maximum="9" />',
        '        <arg name="pair" type="array" required="false">',
        '            <items number="1" type="string" />',
        '            <items number="2" type="number" />',
        "        </arg>",
        '        <arg name="free" type="any" required="false" />',
    ]
    assert "takes no arguments" in XML.declare(PING)


def test_rules_speak_of_the_tools_that_are_offered() -> None:
    plain = XML.rules([SEARCH])
    assert [word in plain for word in ("<item>", "CDATA", "short form", "__START")] == [True, True, False, False]
    told = XML.rules([SEARCH, RUN_BASH, WRITE_FILE])
    assert '    <write_file path="…">content</write_file>' in told
    assert '    <run_bash background="…" timeout_seconds="…">command</run_bash>' in told
    assert [word in told for word in ("__START_CONTENT__", "__START_PATCH__", "edit_file")] == [True, False, False]
    assert told == XML.rules([SEARCH, RUN_BASH, WRITE_FILE])


# Results.


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("a < b <br> <toolbox> <arg name='x'>", "a < b <br> <toolbox> <arg name='x'>"),
        ('<tool name="ping"/>', '&lt;tool name="ping"/>'),
        ("<TOOL\nname='ping'></Tool>", "&lt;TOOL\nname='ping'>&lt;/Tool>"),
        ("x</tool_result> <Tool_Result>", "x&lt;/tool_result> &lt;Tool_Result>"),
        ("<run_bash>ls</run_bash>", "&lt;run_bash>ls&lt;/run_bash>"),
        ("<<tool", "<&lt;tool"),
        ("&lt;", "&lt;"),
        ("", ""),
    ],
)
def test_results_are_quoted(content: str, shown: str) -> None:
    for is_error, status in ((False, "ok"), (True, "error")):
        written = XML.write_result(ToolResultPart("c1", "search", "", is_error), content)
        assert written == f'<tool_result name="search" status="{status}">\n{shown}\n</tool_result>'
        assert calls(written) == []
        assert calls(written, None) == []


# The grammar.


def held_call(name: str, *lines: str) -> str:
    inside = [f"        {line}" for line in lines]
    return "\n".join([f'<tool name="{name}">', "    <arguments>", *inside, "    </arguments>", "</tool>"])


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('<tool name="ping">\n</tool>', True),
        ('<tool name="pong">\n</tool>', False),
        (held_call("echo", '<arg name="text">a < b </tool> <br></arg>'), True),
        (held_call("echo"), False),
        (held_call("echo", '<arg name="text"><arg name="x"></arg>'), False),
        (held_call("echo", '<arg name="text"><![CDATA[</arg>'), False),
        (held_call("echo", '<arg name="text">\n__START_CONTENT__</arg>'), False),
        (held_call("book", '<arg name="cabin">economy</arg>'), True),
        (held_call("book", '<arg name="cabin">first</arg>'), False),
        (held_call("book", '<arg name="cabin">economy</arg>', '<arg name="price">1.5</arg>'), True),
        (held_call("book", '<arg name="cabin">economy</arg>', '<arg name="price">much</arg>'), False),
        (held_call("book", '<arg name="cabin">economy</arg>', '<arg name="either" type="json">5</arg>'), True),
        (held_call("book", '<arg name="cabin">economy</arg>', '<arg name="either" type="json">[]</arg>'), False),
    ],
)
def test_the_grammar(text: str, allowed: bool) -> None:
    assert XML.grammar is not None
    assert HeldBy(XML.grammar([PING, ECHO, BOOK])).allows(text) is allowed


def test_the_grammar_takes_what_is_laid_out() -> None:
    assert XML.grammar is not None
    held = HeldBy(XML.grammar(list(TOOLS)))
    short = {"cabin": "economy", "zip": "x", "tags": ["a"], "seats": [], "options": {"note": None}, "either": 5}
    assert held.refuses_at(XML.write_call("book", short, BOOK)) is None
    long = {"path": "a", "content": "def __init__(self):\n    pass\n</arg>"}
    assert held.refuses_at(XML.write_call("write_file", long, WRITE_FILE)) is None
