from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwire.limits import Limits
from toolwire.providers.partial_args import ArgumentWriter, NotInOrder, PartialArg, Step, parse_path

MORE = {"willContinue": True}


def pieces_of(*pieces: dict[str, Any]) -> list[PartialArg]:
    return msgspec.json.decode(msgspec.json.encode(pieces), type=list[PartialArg])


def written(*pieces: dict[str, Any]) -> list[str]:
    """What each piece adds, and at last what the end does."""
    writer = ArgumentWriter()
    return [*(writer.add(piece) for piece in pieces_of(*pieces)), writer.close()]


def text(path: str, value: str, **members: Any) -> dict[str, Any]:
    return {"jsonPath": path, "stringValue": value, **members}


def number(path: str, value: float) -> dict[str, Any]:
    return {"jsonPath": path, "numberValue": value}


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([], [""]),
        ([text("$.a", "x")], ['{"a":"x"', "}"]),
        (
            [text("$.a", "Bos", **MORE), text("$.a", "ton", **MORE), text("$.a", "")],
            ['{"a":"Bos', "ton", '"', "}"],
        ),
        ([text("$.a", "", **MORE), {"jsonPath": "$.a"}], ['{"a":"', '"', "}"]),
        ([text("$.a", "x", **MORE), {"jsonPath": "$.a", **MORE}, text("$.a", "y")], ['{"a":"x', "", 'y"', "}"]),
        ([text("$.a", 'q"\\\n\u2028é', **MORE), text("$.a", "\t")], ['{"a":"q\\"\\\\\\n\u2028é', '\\t"', "}"]),
        ([number("$.a", 1), number("$.b", 0.5), number("$.c", 1e300)], ['{"a":1', ',"b":0.5', ',"c":1e300', "}"]),
        ([number("$.a", 2**70)], [f'{{"a":{2**70}', "}"]),
        (
            [{"jsonPath": "$.a", "boolValue": True}, {"jsonPath": "$.b", "boolValue": False}],
            ['{"a":true', ',"b":false', "}"],
        ),
        (
            [
                {"jsonPath": "$.a", "nullValue": None},
                {"jsonPath": "$.b", "nullValue": "NULL_VALUE"},
                {"jsonPath": "$.c", "nullValue": 0},
            ],
            ['{"a":null', ',"b":null', ',"c":null', "}"],
        ),
        (
            [
                text("$.r.i[0].n", "salt"),
                number("$.r.i[0].g", 2),
                text("$.r.i[1].n", "egg"),
                text("$.r.s[0]", "mix"),
                text("$.r.s[1]", "bake"),
                number("$.n", 4),
            ],
            [
                '{"r":{"i":[{"n":"salt"',
                ',"g":2',
                '},{"n":"egg"',
                '}],"s":["mix"',
                ',"bake"',
                ']},"n":4',
                "}",
            ],
        ),
        ([number("$.m[0][0]", 1), number("$.m[0][1]", 2), number("$.m[1][0]", 3)], ['{"m":[[1', ",2", "],[3", "]]}"]),
        ([number("$['a b'].c", 1), number('$["a b"]["d.e"]', 2)], ['{"a b":{"c":1', ',"d.e":2', "}}"]),
    ],
)
def test_pieces_become_json_as_they_come(pieces: list[dict[str, Any]], expected: list[str]) -> None:
    assert written(*pieces) == expected
    if pieces:
        json.loads("".join(expected))


@pytest.mark.parametrize(
    "pieces",
    [
        [{}],
        [{"jsonPath": "$.a"}],
        [{"jsonPath": "$.a", **MORE}],
        [{"jsonPath": 5, "stringValue": "x"}],
        [{"jsonPath": ["$.a"], "stringValue": "x"}],
        [{"stringValue": "x"}],
        [text("$", "x")],
        [text("$[0]", "x")],
        [text("a", "x")],
        [text("$a", "x")],
        [text("$.", "x")],
        [text("$..a", "x")],
        [text("$.*", "x")],
        [text("$.a[*]", "x")],
        [text("$.a[-1]", "x")],
        [text("$.a[0:1]", "x")],
        [text("$.a[²]", "x")],
        [text("$.a[0", "x")],
        [text("$.a[0]b", "x")],
        [text("$['a", "x")],
        [text("$['a\\", "x")],
        [text("$['a\\ud800']", "x")],
        [text("$['a\\u00']", "x")],
        [text("$['a\\ud83e\\u0041']", "x")],
        [text("$.a" + "x" * 20_000, "x")],
        [text("$['a'", "x")],
        [text("$['a'x]", "x")],
        [text("$.a[" + "9" * 5000 + "]", "x")],
        [text("$.a[1]", "x")],
        [text("$.a[0]", "x"), text("$.a[2]", "x")],
        [text("$.a[0]", "x"), text("$.a[0]", "x")],
        [text("$.a[0].b", "x"), text("$.a[0]", "x")],
        [text("$.a[0]", "x"), text("$.a[0].b", "x")],
        [text("$.a[0].b", "x"), text("$.a[1].b", "x"), text("$.a[0].c", "x")],
        [text("$.a.b", "x"), text("$.a[0]", "x")],
        [text("$.a[0]", "x"), text("$.a.b", "x")],
        [text("$.a", "x", **MORE), text("$.b", "y")],
        [text("$.a", "x", **MORE), number("$.a", 1)],
        [text("$.a", "x", **MORE), text("$.a", "y", numberValue=1)],
        [text("$.a", "x", **MORE), {"jsonPath": "$.a", "nullValue": None}],
        [text("$.a", "x", **MORE)],
        [text("$.a", "x", numberValue=1)],
        [{"jsonPath": "$.a", "stringValue": 5}],
        [{"jsonPath": "$.a", "numberValue": "NaN"}],
        [{"jsonPath": "$.a", "numberValue": True}],
        [{"jsonPath": "$.a", "numberValue": 1, **MORE}],
        [{"jsonPath": "$.a", "boolValue": "true"}],
        [{"jsonPath": "$.a", "boolValue": []}],
        [{"jsonPath": "$.a", "nullValue": "x"}],
        [{"jsonPath": "$.a", "nullValue": []}],
        [text("$" + ".a" * 65, "x")],
    ],
    ids=lambda pieces: json.dumps(pieces)[:60],
)
def test_nonsense_is_refused(pieces: list[dict[str, Any]]) -> None:
    with pytest.raises(NotInOrder):
        written(*pieces)


@pytest.mark.parametrize(
    "pieces",
    [
        [text("$.a", "x"), text("$.a", "y")],
        [text("$.a", "x"), text("$.a.b", "y")],
        [text("$.a.b", "x"), text("$.a", "y")],
        [text("$.a.x", "x"), text("$.b", "x"), text("$.a.y", "x")],
    ],
)
def test_a_member_that_comes_twice_is_there_twice(pieces: list[dict[str, Any]]) -> None:
    """And so refused, since arguments are read by a reader that takes no name twice."""

    def unique(pairs: list[tuple[str, Any]]) -> None:
        if len({name for name, _ in pairs}) < len(pairs):
            raise KeyError("twice")

    with pytest.raises(KeyError):
        json.loads("".join(written(*pieces)), object_pairs_hook=unique)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.a", ("a",)),
        ("$.a-b c", ("a-b c",)),
        ("$.a[0][12].b", ("a", 0, 12, "b")),
        (r"$['it\'s']", ("it's",)),
        (r"""$["a\"\\\n\u00e9"]""", ('a"\\\né',)),
        (r"$['\ud83e\udd8a\u00e9']", ("🦊é",)),
        (r"$['\ud000\ud83e\udd8a']", ("퀀🦊",)),
        ("$['']", ("",)),
        ("$['a]['].b", ("a][", "b")),
    ],
)
def test_paths(path: str, steps: tuple[Step, ...]) -> None:
    assert parse_path(path) == steps


def test_depth_is_bounded_by_the_limits() -> None:
    writer = ArgumentWriter(Limits(depth=2))
    fine, deep = pieces_of(text("$.a.b", "x"), text("$.a.c.d", "x"))
    assert writer.add(fine) == '{"a":{"b":"x"'
    with pytest.raises(NotInOrder, match="2 levels"):
        writer.add(deep)


leaves = (
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
arguments = st.dictionaries(
    names,
    st.recursive(
        leaves,
        lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(names, inner, min_size=1, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def streamed(value: Any, path: str, cut: int) -> list[dict[str, Any]]:
    """The pieces in which a model would send a value."""
    if isinstance(value, dict):
        members = ((json.dumps(name), inner) for name, inner in value.items())
        return [piece for name, inner in members for piece in streamed(inner, f"{path}[{name}]", cut)]
    if isinstance(value, list):
        return [piece for index, inner in enumerate(value) for piece in streamed(inner, f"{path}[{index}]", cut)]
    if isinstance(value, str):
        parts = [value[at : at + cut] for at in range(0, len(value), cut)]
        return [*(text(path, part, **MORE) for part in parts), text(path, "")]
    if isinstance(value, bool):
        return [{"jsonPath": path, "boolValue": value}]
    return [{"jsonPath": path, "nullValue": None} if value is None else number(path, value)]


@given(arguments, st.integers(1, 5))
def test_what_was_streamed_is_what_is_read(value: dict[str, Any], cut: int) -> None:
    made = "".join(written(*streamed(value, "$", cut)))
    assert (json.loads(made) if made else {}) == value


@pytest.mark.timeout(60)
def test_a_long_list_is_written_in_one_pass() -> None:
    writer = ArgumentWriter()
    count = 100_000
    made = [writer.add(PartialArg(json_path=f"$.a[{index}].b", number=index)) for index in range(count)]
    assert len(json.loads("".join([*made, writer.close()]))["a"]) == count
