"""Strict JSON for arguments: what is accepted means one thing, everything else is refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwire import Limits
from toolwire.strict_json import NotStrict, parse, parse_arguments

ACCEPTED: dict[str, Any] = {
    "": {},
    " \t\r\n": {},
    "null": {},
    " null ": {},
    "{}": {},
    " {} \n": {},
    '{"a":1}': {"a": 1},
    '{"a":{"a":{"a":1}}}': {"a": {"a": {"a": 1}}},
    '{"":""}': {"": ""},
    '{"a":[1,-1,0.5,1e3,-0,true,false,null,"x"]}': {"a": [1, -1, 0.5, 1e3, 0, True, False, None, "x"]},
    '{"zip":"00501"}': {"zip": "00501"},
    '{"e":"\\u00e9\\ud83d\\ude00\\b\\f\\n\\r\\t\\/\\\\\\""}': {"e": 'é😀\b\f\n\r\t/\\"'},
    '{"n":12345678901234567890123}': {"n": 12345678901234567890123},
    '{"__proto__":1,"constructor":2}': {"__proto__": 1, "constructor": 2},
    '{"a":1,"A":2}': {"a": 1, "A": 2},
    '{"a":"\\u0000"}': {"a": "\x00"},
    '{"a":1e-400}': {"a": 0.0},
}

REFUSED: dict[str, str] = {
    '{"a":1,"a":2}': "'a' twice",
    '{"a":{"b":1,"b":1}}': "'b' twice",
    '{"a":1,"\\u0061":2}': "'a' twice",
    '{"a":NaN}': "NaN",
    '{"a":Infinity}': "Infinity",
    '{"a":-Infinity}': "-Infinity",
    '{"a":1e999}': "too large",
    '{"a":-1e999}': "too large",
    '{"a":"\\ud800"}': "surrogate",
    '{"\\udc00":1}': "surrogate",
    '{"a":["\\ud83d"]}': "surrogate",
    '{"a":1}x': "Extra data",
    '{"a":1}{"a":1}': "Extra data",
    "{}\x00": "Extra data",
    '{"a":1': "delimiter",
    '{"a":': "value",
    '{"a"': "delimiter",
    "{": "property name",
    "[": "value",
    '"': "Unterminated string starting at character 0",
    "{'a':1}": "property name",
    "{a:1}": "property name",
    '{"a":1,}': "Expecting property name enclosed in double quotes at character 7",
    '{"a":1, \n}': "Expecting property name enclosed in double quotes at character 9",
    '{"a":[1,]}': "Expecting value at character 8",
    '{"a":[1 , \t]}': "Expecting value at character 11",
    '{"a":01}': "",
    '{"a":+1}': "",
    '{"a":.5}': "",
    '{"a":1.}': "",
    '{"a":0x10}': "",
    '{"a":tru}': "",
    '{"a":undefined}': "",
    '{"a":"\n"}': "control character at character 6",
    '{"a":"\\x41"}': "escape",
    '{"a":"\\u12"}': "escape",
    '// comment\n{"a":1}': "",
    '{"a":1 /* no */}': "",
    "\ufeff{}": "",
    "\u00a0{}": "",
    "[]": "a list",
    "[1]": "a list",
    '"text"': "a string",
    "5": "a number",
    "true": "true or false",
    '{"n":' + "1" * 5000 + "}": "number",
    '{"a":' * 65 + "1" + "}" * 65: "deeper than 64",
    "[" * 65 + "]" * 65: "deeper than 64",
    "[" * 100_000 + "]" * 100_000: "deeper than 64",
    '{"a":' * 100_000: "",
}


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    assert parse_arguments(text) == ACCEPTED[text]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30])
def test_refused(text: str) -> None:
    with pytest.raises(NotStrict) as refused:
        parse_arguments(text)
    assert REFUSED[text] in str(refused.value)
    assert len(str(refused.value)) < 200


def test_depth_at_the_limit_is_accepted() -> None:
    parse("[" * 64 + "]" * 64)
    parse("[" * 3 + "]" * 3, Limits(depth=3))
    with pytest.raises(NotStrict):
        parse("[" * 4 + "]" * 4, Limits(depth=3))


@pytest.mark.timeout(30)
def test_very_deep_input_costs_little() -> None:
    text = "[" * 100_000
    with pytest.raises(NotStrict):
        parse(text)
    # The recursion stops at Python's own bound: far from reading on, let alone from a crash.


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values, max_size=5), st.booleans())
@settings(max_examples=200, deadline=None)
def test_every_object_reads_back(value: dict[str, Any], ascii_only: bool) -> None:
    assert parse_arguments(json.dumps(value, ensure_ascii=ascii_only)) == value


@given(st.text(alphabet='{}[]":,\\u0123456789aetrufNlsIniy. \n-+', max_size=30))
@settings(max_examples=500, deadline=None)
def test_whatever_comes_is_read_or_refused(text: str) -> None:
    try:
        value = parse(text)
    except NotStrict:
        return
    assert value == json.loads(text)
