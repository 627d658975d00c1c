"""The faults that other parsers of calls in text have, each with the input that shows it: none of them here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded.text_feeding import FORMATS, Reading, check_cuts, check_truncated, joined, work
from embedded.text_tools import TOOLS, tool
from feeding import call, delta, sse
from feeding import read as read_bytes
from toolwire import EventType, SegmentType
from toolwire.embedded.registry import text_format
from toolwire.tools.registry import ToolRegistry

X = ToolRegistry([tool("x"), tool("danger"), tool("f", ["a"], a="string", b="string")])


def check(format_: str, text: str, tools: ToolRegistry | None = TOOLS) -> Reading:
    check_truncated(format_, text, tools)
    return check_cuts(format_, text, tools)


# W1: a stray `<` hides a call.


@pytest.mark.parametrize(
    "before", ["if a < b then ", "<", "a <b> ", "1<2<3 ", "< tool> ", "<t", "<too", "<tool ", "x <<"]
)
def test_w1_a_stray_bracket_hides_no_call(before: str) -> None:
    text = f'{before}<tool name="x"></tool> after'
    reading = check("xml", text, X)
    assert reading.calls == [("x", {})]
    assert joined(reading.outcome) == f"{before} after"


@pytest.mark.parametrize(
    "before", ["[", "[[", "[[[", "a[0] ", "[[SEG", "[[SEG_START", "[[SEG_START {", '[[SEG_START {"type']
)
def test_w1_nor_does_a_stray_square_one(before: str) -> None:
    text = f'{before}[[SEG_START {{"type":"tool","tool_name":"ping"}}]][[SEG_END]] after'
    reading = check("sentinel", text)
    assert reading.calls == [("ping", {})]
    assert joined(reading.outcome) == f"{before} after"


@pytest.mark.parametrize(
    "before", ["{", "{x} ", "if (a) { b } ", "{'a': 1} ", "[x] ", "[1, 2] ", '{"a": 1} ', "{{", "[["]
)
def test_w1_nor_does_a_stray_brace(before: str) -> None:
    text = f'{before}x {{"tool": {{"function": "ping", "parameters": {{}}}}}} after'
    reading = check("json", text)
    assert reading.calls == [("ping", {})]
    assert joined(reading.outcome) == f"{before}x  after"


# W2: sentinel marks.


def test_w2_a_mark_that_is_split_is_a_mark() -> None:
    text = 'Hi [[SEG_START {"type":"run_bash"}]]ls -la[[SEG_END]] bye'
    assert check("sentinel", text).calls == [("run_bash", {"command": "ls -la"})]


def test_w2_brackets_inside_the_header_do_not_end_it() -> None:
    text = (
        '[[SEG_START {"type":"tool","tool_name":"book","arguments":{"cabin":"economy","anything":[[1]]}}]][[SEG_END]]'
    )
    assert check("sentinel", text).calls == [("book", {"cabin": "economy", "anything": [[1]]})]
    text = '[[SEG_START {"type":"tool","tool_name":"search","arguments":{"query":"a]] [[SEG_END]] b"}}]][[SEG_END]]'
    assert check("sentinel", text).calls == [("search", {"query": "a]] [[SEG_END]] b"})]


# W3: what comes out depends on how it was cut.


def test_w3_a_path_after_the_content() -> None:
    arguments = '<arg name="content">hello</arg><arg name="path">a.txt</arg>'
    text = f'<tool name="write_file"><arguments>{arguments}</arguments></tool>'
    assert check("xml", text).calls == [("write_file", {"content": "hello", "path": "a.txt"})]


def test_w3_the_line_end_after_a_content_marker() -> None:
    text = (
        '<tool name="write_file">\n    <arguments>\n        <arg name="path">config/settings.json</arg>\n'
        '        <arg name="content">\n__START_CONTENT__\n{ "debug": true }\n__END_CONTENT__\n        </arg>\n'
        "    </arguments>\n</tool>"
    )
    (made,) = check("xml", text).calls
    assert made[1]["path"] == "config/settings.json"
    assert made[1]["content"].rstrip("\n") == '{ "debug": true }'


def test_w3_the_text_after_a_call_without_its_command() -> None:
    reading = check("xml", '<tool name="run_bash"></tool> tail')
    assert reading.calls == []
    assert [part[0] for part in reading.outcome] == ["broken", "text"]
    assert "command" in reading.outcome[0][2]
    assert reading.outcome[1] == ["text", " tail"]


# W4: half calls run.


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        ("xml", '<write_file path="/a.txt">hello wor'),
        ("xml", '<write_file path="/a.txt">'),
        ("xml", '<tool name="danger">'),
        ("xml", '<tool name="danger"'),
        ("xml", '<tool name="danger"><arguments></arguments>'),
        ("xml", '<tool name="danger"></tool'),
        ("xml", '<tool name="write_file"><arg name="path">a</arg><arg name="content">\n__START_CONTENT__\nhalf'),
        ("xml", '<tool name="write_file"><arg name="path">a</arg><arg name="content"><![CDATA[half'),
        ("sentinel", '[[SEG_START {"type":"write_file","path":"/a.txt"}]]hello wor'),
        ("sentinel", '[[SEG_START {"type":"tool","tool_name":"danger"}]]'),
        ("json", '{"tool": {"function": "danger", "parameters": {}}'),
        ("json", '{"tool": {"function": "danger"'),
        ("json", '```json\n{"tool": {"function": "write_file", "parameters": {"path": "a", "content": "hello wor'),
    ],
)
def test_w4_no_half_call_runs(format_: str, text: str) -> None:
    tools = ToolRegistry([*TOOLS, tool("danger")])
    reading = check(format_, text, tools)
    assert reading.calls == []
    for part in reading.outcome:
        assert part[0] != "broken" or part[2]


# W5: letters whose small form is longer.


@pytest.mark.parametrize("content", ["İ", "İabc", "abcİ", "ẞ straße ﬁ", "İ" * 50, "K\u212a ſ", "</wrİte_file>"])
def test_w5_no_letter_shifts_what_is_found(content: str) -> None:
    for text in (
        f'<write_file path="/a.py">{content}</write_file>',
        f'İ <WRITE_FILE path="/a.py">{content}</Write_File>',
        f'<tool name="write_file"><arg name="path">/a.py</arg><arg name="content">{content}</arg></tool>',
    ):
        assert check("xml", text).calls == [("write_file", {"path": "/a.py", "content": content})]


# W6: tags are matched as tags.


@pytest.mark.parametrize(
    "text", ['<toolbox name="z">', '<toolbox name="z"></tool> rest', '<tools name="ping"/>', "<tool>"]
)
def test_w6_other_tags_are_text(text: str) -> None:
    assert check("xml", text).outcome == [["text", text]]


def test_w6_an_angle_bracket_in_an_attribute() -> None:
    text = '<tool name="search" query="a > b"></tool> <write_file path="a>b.txt">x</write_file>'
    assert check("xml", text).calls == [
        ("search", {"query": "a > b"}),
        ("write_file", {"path": "a>b.txt", "content": "x"}),
    ]


def test_w6_a_closing_tag_in_an_argument() -> None:
    text = '<tool name="search"><arg name="query">say </tool> twice: </tool></arg></tool> after'
    assert check("xml", text).calls == [("search", {"query": "say </tool> twice: </tool>"})]


# W7: arguments.


def test_w7_children_by_their_names() -> None:
    assert check("xml", '<tool name="search"><query>x</query></tool>').calls == [("search", {"query": "x"})]


@pytest.mark.parametrize(
    "code", ["if (a<b && c>d) {", "<br>", "<b>hi</b> there", "a < b", "&lt;&amp;", "x -> y <- z", "</b>"]
)
def test_w7_code_and_html_are_text(code: str) -> None:
    text = f'<tool name="echo"><arg name="text">{code}</arg></tool>'
    assert check("xml", text).calls == [("echo", {"text": code})]


@pytest.mark.parametrize("value", ["  two before", "after  ", " ", "\ttab\t", "a\n", "a\n\n"])
def test_w7_space_at_the_ends_is_kept(value: str) -> None:
    text = f'<tool name="echo"><arg name="text">{value}</arg></tool>'
    assert check("xml", text).calls == [("echo", {"text": value})]


def test_w7_no_argument_is_dropped() -> None:
    expected = [("run_bash", {"background": True, "timeout_seconds": 60, "command": "ls"})]
    assert check("xml", '<run_bash background="true" timeout_seconds="60">ls</run_bash>').calls == expected
    text = '[[SEG_START {"type":"run_bash","background":true,"timeout_seconds":60}]]ls[[SEG_END]]'
    assert check("sentinel", text).calls == expected


# W8: JSON.


def test_w8_all_calls_of_a_list() -> None:
    text = '{"tool_calls":[{"name":"search","arguments":{"query":"a"}},{"name":"search","arguments":{"query":"b"}}]}'
    for format_ in ("json", "json-openai"):
        assert check(format_, text).calls == [("search", {"query": "a"}), ("search", {"query": "b"})]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "bob", "age": 3}',
        '{"name": "bob", "args": {"a": 1}}',
        '{"name": "search"}',
        '{"name": "search", "price": 3}',
        '{"name": "ping", "description": "A tool."}',
        '[{"name": "bob"}, {"name": "alice"}]',
        '{"tool": "hammer"}',
        '{"function": "f(x) = x"}',
        '{"tools": ["hammer", "saw"]}',
        '{"example": {"name": "search", "args": {"query": "x"}}}',
    ],
)
def test_w8_other_json_is_text(text: str) -> None:
    for format_ in ("json", "json-openai", "json-gemini"):
        assert check(format_, f"See {text} there").outcome == [["text", f"See {text} there"]]


def test_w8_truncated_json_is_reported() -> None:
    reading = check("json", '{"tool": {"function": "search", "parameters": {"query": "x')
    ((kind, name, problem),) = reading.outcome
    assert (kind, name) == ("broken", "search")
    assert problem


# W9, W10, W12: native calls.


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("delete_all", '{"where": "x'), ("delete_all", "{"), ("write_file", '{"path": "a", "content": "hello wor')],
)
def test_w9_native_calls_with_cut_arguments_do_not_run(name: str, arguments: str) -> None:
    body = sse(delta(tool_calls=[call(arguments, id="c1", name=name)]), delta(finish="tool_calls"))
    stream, events = read_bytes([body], tools=None)
    assert stream.invocations == []
    (end,) = [event for event in events if event.type is EventType.END]
    assert end.metadata is not None
    assert end.metadata["problem"]


def test_w10_escapes_are_what_json_says_on_the_screen_and_in_the_call() -> None:
    inner = '{"path": "in", "content": "in"}'
    arguments = f'{{"path": "caf\\u00e9 \\u201cq\\u201d", "content": "\\b\\f\\ud83d\\ude00\\/", "extra": {inner}}}'
    expected = json.loads(arguments)
    for size in (1, 2, 3, 5, len(arguments)):
        pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
        chunks = [delta(tool_calls=[call(piece, index=0)]) for piece in pieces]
        first = delta(tool_calls=[call("", id="c1", name="write_file")])
        stream, events = read_bytes([sse(first, *chunks, delta(finish="tool_calls"))])
        assert [made.arguments for made in stream.invocations] == [expected]
        fields: dict[tuple[str | int, ...], str] = {}
        for event in events:
            for field in event.fields or ():
                fields[field.path] = fields.get(field.path, "") + field.text
        assert fields[("path",)] == expected["path"]
        assert fields[("content",)] == expected["content"]
        (start,) = [event for event in events if event.type is EventType.START]
        assert (start.metadata or {})["path"] == "café “q”"


def test_w12_a_name_that_comes_late_still_makes_its_segment() -> None:
    body = sse(
        delta(tool_calls=[call("", id="c1")]),
        delta(tool_calls=[call("", name="run_bash")]),
        delta(tool_calls=[call('{"command": "ls"}')]),
        delta(finish="tool_calls"),
    )
    _, events = read_bytes([body])
    assert (events[0].segment_type, events[0].tool_name) == (SegmentType.RUN_BASH, "run_bash")


# W11: time.

_SIZE = 6_000


@pytest.mark.thorough
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    "pattern",
    ["plain text ", "<tool ", "<terminal ", "<content>", "{ \n\t", '{"a": [', "[[SEG_START ", "< ", "[ ", "``` "],
)
def test_w11_four_times_the_text_is_about_four_times_the_work(format_: str, pattern: str) -> None:
    short = pattern * (_SIZE // len(pattern))
    once, four_times = work(format_, short, 8), work(format_, short * 4, 8)
    assert four_times <= 5 * once + 1_000, "quadratic would be 16"


# W24: the prompt and the parser.


@pytest.mark.parametrize("format_", FORMATS)
def test_w24_arrays_enumerations_and_quotes_are_written_as_they_are_read(format_: str) -> None:
    arguments: dict[str, Any] = {
        "cabin": "business",
        "zip": "00501",
        "tags": ["nan", "true", 'say "hi"', "null"],
        "seats": [1, 2],
        "passengers": [{"name": "O'Hara", "age": 3}, {"name": '"'}],
        "options": {"deep": True, "note": None},
        "either": "7",
    }
    text = text_format(format_).write_call("book", arguments, TOOLS["book"])
    (made,) = check_cuts(format_, text, every=5).calls
    assert json.dumps(made[1], sort_keys=True) == json.dumps(arguments, sort_keys=True)


def test_w24_values_are_typed_by_the_schema_alone() -> None:
    text = (
        '<tool name="book"><arg name="cabin">economy</arg><arg name="zip">00501</arg><arg name="price">7</arg>'
        '<arg name="either">007</arg><arg name="tags"><item>nan</item><item>1e5</item></arg></tool>'
    )
    expected = {"cabin": "economy", "zip": "00501", "price": 7, "either": "007", "tags": ["nan", "1e5"]}
    assert check("xml", text).calls == [("book", expected)]


def test_w24_quotes_in_descriptions_leave_attributes_whole() -> None:
    declared = text_format("xml").declare(TOOLS["book"])
    assert 'description="Books seats; &quot;quotes&quot; &amp; &lt;tags&gt; in a description."' in declared


def test_w24_bad_json_calls_no_tool_of_that_name() -> None:
    for format_ in FORMATS:
        reading = check(format_, '{"name": search, "arguments": {}} <tool name=\'{"name":\'></tool>', X)
        assert reading.calls == []


def test_w24_a_closing_tag_inside_a_file_does_not_truncate_it() -> None:
    content = "<a>\n</content>\n</arg>\n</write_file>\n</tool>\n"
    for format_ in FORMATS:
        arguments = {"path": "a.xml", "content": content}
        text = text_format(format_).write_call("write_file", arguments, TOOLS["write_file"])
        assert check_cuts(format_, text).calls == [("write_file", arguments)]
    text = '<tool name="write_file"><path>a</path><content>one </path> two</content></tool>'
    assert check("xml", text).calls == [("write_file", {"path": "a", "content": "one </path> two"})]


@pytest.mark.parametrize("format_", FORMATS)
def test_w24_calls_run_in_the_order_in_which_they_stand(format_: str) -> None:
    write = text_format(format_).write_call
    kinds = [
        ("run_bash", {"command": "one"}),
        ("search", {"query": "two"}),
        ("write_file", {"path": "three", "content": "3"}),
        ("ping", {}),
        ("run_bash", {"command": "five"}),
    ]
    text = "\nthen\n".join(write(name, arguments, TOOLS[name]) for name, arguments in kinds)
    assert check_cuts(format_, text, every=3).calls == kinds
