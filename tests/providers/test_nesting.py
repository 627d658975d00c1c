"""How deep JSON text is nested, against counting the brackets of what `json` reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwire.providers.nesting import Nesting, is_deeper


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("", 0),
        ('"[[[["', 0),
        ('"\\"[[["', 0),
        ('"\\\\"[[', 2),
        ('{"a":"\\\\\\"["}', 1),
        ("[" * 500, 500),
        ("[]" * 500, 1),
        ('{"a":' * 300 + "1" + "}" * 300, 300),
        ('["' + "[" * 2000 + '"]', 1),
        ('["[', 1),
        ("]]]][[", 0),
    ],
)
def test_depths(text: str, depth: int) -> None:
    padded = text + " " * 2000
    assert not is_deeper(padded, depth)
    if depth:
        assert is_deeper(padded, depth - 1)


values = st.recursive(
    st.text(alphabet='[]{}"\\a') | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='[{"\\b'), inner, max_size=3),
)


@given(values)
@settings(max_examples=300, deadline=None)
def test_any_value(value: Any) -> None:
    text = json.dumps(value) + " " * 500
    depth = depth_of(value)
    assert not is_deeper(text, depth)
    if depth:
        assert is_deeper(text, depth - 1)


def test_text_too_short_to_be_deep_is_not_looked_at() -> None:
    assert not is_deeper("[[[[", 4)
    assert is_deeper("[[[[", 3)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("", False),
        ("{", False),
        ("{}", True),
        ('{"a":[1,{"b":2}]}', True),
        ('{"a":[1', False),
        ('{"a":"}"', False),
        ('{"a":"\\"}"}', True),
        ('{"a":"\\\\"}', True),
        ("{}{", False),
    ],
)
def test_closing_is_seen_wherever_the_text_is_cut(text: str, closed: bool) -> None:
    for cut in range(len(text) + 1):
        nesting = Nesting()
        nesting.read(text[:cut])
        nesting.read(text[cut:])
        assert nesting.closed is closed
