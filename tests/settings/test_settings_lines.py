from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwire.settings.lines import Path, key_lines, line_of

TEXT = '''\
# model = "not this one"
model = "a"   # nor = "this"
"system" = """
model = "in a text"
[chat]
"""
roots = [
  "/a", # ]
  "/b=c",
]
chat.theme = 'dark [x]'
literal = \'\'\'it's
x = 1\'\'\'
quotes = """ends in two"""""
dotted . "k.e\\"y" = 3
inline = { a = "}", b = [1,
2] }

[providers."a.b"]
base_url = "u"
[ providers . 'c' ]
  model = "m"
[[rule]]
x = 1
[[rule]]
x = 2
'''
LINES = {
    ("model",): 2,
    ("system",): 3,
    ("roots",): 7,
    ("chat", "theme"): 11,
    ("literal",): 12,
    ("quotes",): 14,
    ("dotted", 'k.e"y'): 15,
    ("inline",): 16,
    ("providers", "a.b"): 19,
    ("providers", "a.b", "base_url"): 20,
    ("providers", "c"): 21,
    ("providers", "c", "model"): 22,
    ("rule",): 23,
    ("rule", "x"): 24,
}


@pytest.mark.parametrize("ends", ["\n", "\n\n", ""])
def test_every_key_has_its_line(ends: str) -> None:
    tomllib.loads(TEXT)
    assert key_lines(TEXT.rstrip("\n") + ends) == LINES


def test_what_stands_in_an_inline_table_has_the_line_of_the_table() -> None:
    assert line_of(LINES, ("inline", "b")) == 16
    assert line_of(LINES, ("nowhere", "b")) == 0
    assert line_of({}, ()) == 0


def _places(table: dict[str, Any], above: Path = ()) -> set[Path]:
    found: set[Path] = set()
    for key, value in table.items():
        found.add((*above, key))
        if isinstance(value, dict):
            found |= _places(value, (*above, key))
    return found


_KEY = st.sampled_from(["a", "b-c", '"d e"', "'f.g'", '"h\\"#"', '"="', "'['", "1"])
_VALUE = st.sampled_from(
    [
        "1",
        '"#"',
        "'='",
        "[1, # ]\n 2]",
        '"""\n[x]\ny = 1\n"""',
        "'''\n\"'''",
        "{ z = 1 }",
        "[{ z = [1] }]",
        '"\\""',
        "1979-05-27",
    ]
)
_LINE = st.one_of(
    st.tuples(_KEY, _VALUE).map(lambda each: f"{each[0]} = {each[1]}"),
    st.tuples(_KEY, _KEY, _VALUE).map(lambda each: f" {each[0]} . {each[1]}={each[2]} # x = 1"),
    st.tuples(_KEY, _KEY).map(lambda each: f"[ {each[0]}.{each[1]} ] # y"),
    _KEY.map(lambda each: f"[[{each}]]"),
    st.sampled_from(["", "# a = 1", "  "]),
)


@given(st.lists(_LINE, max_size=12))
def test_whatever_is_toml_has_lines_that_begin_its_keys(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        meant = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    written = text.split("\n")
    found = key_lines(text)
    assert {each[:1] for each in _places(meant)} == {each[:1] for each in found}
    for place, line in found.items():
        key = place[-1].replace('"', '\\"')
        assert key in written[line - 1], (place, line, text)
