"""The live argument reader: every case is fed whole, in every two pieces and character by character.

The standard library's parser, kept strict, is the oracle wherever a text is complete.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwire.json_reader import FieldDelta, JsonReader
from toolwire.limits import Limits

Path = tuple[str | int, ...]
Field = tuple[Path, str, bool]
Outcome = tuple[list[Field], bool, bool]
Leaves = list[tuple[Path, str]]

LONGEST = 4096


def merge(deltas: Iterable[FieldDelta]) -> list[Field]:
    """Join the deltas of each value: one field for each, done or not."""
    fields: list[Field] = []
    for delta in deltas:
        if fields and fields[-1][0] == delta.path and not fields[-1][2]:
            path, text, _ = fields.pop()
            fields.append((path, text + delta.text, delta.done))
        else:
            fields.append((delta.path, delta.text, delta.done))
    return fields


def read(pieces: Iterable[str], limits: Limits | None = None) -> Outcome:
    reader = JsonReader(limits) if limits else JsonReader()
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    assert all(delta.text or delta.done for delta in deltas), "a delta that says nothing"
    return merge(deltas), reader.broken, reader.complete


def read_at_every_cut(text: str, limits: Limits | None = None) -> Outcome:
    """The one outcome of all ways of cutting that are tried."""
    whole = read([text], limits)
    assert read(text, limits) == whole, "character by character"
    for cut in range(1, len(text)):
        assert read([text[:cut], text[cut:]], limits) == whole, f"cut at {cut}"
    return whole


def leaves_done(fields: list[Field]) -> Leaves:
    assert all(done for _, _, done in fields)
    return [(path, text) for path, text, _ in fields]


class Written(str):
    """A number as it was written."""


class Pairs(list[tuple[str, Any]]):
    """An object with its duplicate keys."""


def refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def visible(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, list):
        if not value and path:
            yield path, "{}" if isinstance(value, Pairs) else "[]"
        for key, item in value if isinstance(value, Pairs) else enumerate(value):
            yield from walk(item, (*path, visible(key) if isinstance(key, str) else key))
    elif isinstance(value, str):
        yield path, visible(value)
    else:
        yield path, {True: "true", False: "false", None: "null"}[value]


def oracle(text: str) -> Leaves | None:
    """The leaves that a strict parser finds, or None where it finds no JSON."""
    try:
        value = json.loads(
            text,
            strict=False,
            parse_constant=refuse,
            parse_int=Written,
            parse_float=Written,
            object_pairs_hook=Pairs,
        )
    except ValueError:
        return None
    return list(walk(value))


GOOD: list[tuple[str, Leaves]] = [
    (
        '{"path": "notes.md", "files":[{"content":"a\\nb"}]}',
        [(("path",), "notes.md"), (("files", 0, "content"), "a\nb")],
    ),
    ("{}", []),
    (" [ ] ", []),
    ('""', [((), "")]),
    ('"top"\n', [((), "top")]),
    ("-12.50e+3 ", [((), "-12.50e+3")]),
    ("null\t", [((), "null")]),
    ('{"":""}', [(("",), "")]),
    ('{"a":{},"b":[],"c":[{}, [ ]]}', [(("a",), "{}"), (("b",), "[]"), (("c", 0), "{}"), (("c", 1), "[]")]),
    ("[0,-0,10]", [((0,), "0"), ((1,), "-0"), ((2,), "10")]),
    ("[1.5,2e5,3E-07]", [((0,), "1.5"), ((1,), "2e5"), ((2,), "3E-07")]),
    ("[true ,false\n,null]", [((0,), "true"), ((1,), "false"), ((2,), "null")]),
    ('{"a":1,"a":"two","a":{"b":3}}', [(("a",), "1"), (("a",), "two"), (("a", "b"), "3")]),
    ('["","",["x"],"y"]', [((0,), ""), ((1,), ""), ((2, 0), "x"), ((3,), "y")]),
    ('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u4E2d\\u0000"', [((), '"\\/\b\f\n\r\tAé中\0')]),
    ('{"k\\u00e9\\n\\"\\ud83d\\ude00":1}', [(('ké\n"😀',), "1")]),
    ('{"é中":"ü😀"}', [(("é中",), "ü😀")]),
    ('"\\ud83d"', [((), "\ufffd")]),
    ('"\\ude00"', [((), "\ufffd")]),
    ('"\\ud83dx\\ude00y"', [((), "\ufffdx\ufffdy")]),
    ('"\\ud83d\\ud83d\\ude00"', [((), "\ufffd😀")]),
    ('"\\ud83d\\n\\ud83d\\u0041"', [((), "\ufffd\n\ufffdA")]),
    ('{"\\ud83d":"\\udbff\\udfff"}', [(("\ufffd",), "\U0010ffff")]),
    ('"raw\nnew\tlines\0\x1f\x7f"', [((), "raw\nnew\tlines\0\x1f\x7f")]),
    ('{"a" :\r\n\t"b" , "c":\n[ 1 , 2 ] }\n', [(("a",), "b"), (("c", 0), "1"), (("c", 1), "2")]),
    (
        '["]","}",",",":","{\\"a\\":1}"]',
        [((0,), "]"), ((1,), "}"), ((2,), ","), ((3,), ":"), ((4,), '{"a":1}')],
    ),
]


@pytest.mark.parametrize(("text", "leaves"), GOOD)
def test_leaves_of_a_whole_value(text: str, leaves: Leaves) -> None:
    assert oracle(text) == leaves
    fields, broken, complete = read_at_every_cut(text)
    assert leaves_done(fields) == leaves
    assert complete
    assert not broken


BROKEN: list[tuple[str, list[Field]]] = [
    ("x", []),
    ("\ufeff{}", []),
    ("\xa0{}", []),
    ("'a'", []),
    ("{'a':1}", []),
    ("{a:1}", []),
    ("NaN", []),
    ("[NaN]", []),
    ("[nan]", [((0,), "n", False)]),
    ("[Infinity]", []),
    ("[-Infinity]", [((0,), "-", False)]),
    ("[True]", []),
    ("[tru1]", [((0,), "tru", False)]),
    ("[true1]", [((0,), "true", False)]),
    ("[truetrue]", [((0,), "true", False)]),
    ("[nul ]", [((0,), "nul", False)]),
    ('[null"a"]', [((0,), "null", False)]),
    ("[01]", [((0,), "0", False)]),
    ("[-]", [((0,), "-", False)]),
    ("[+1]", []),
    ("[.5]", []),
    ("[1.]", [((0,), "1.", False)]),
    ("[1.e5]", [((0,), "1.", False)]),
    ("[1e]", [((0,), "1e", False)]),
    ("[1e+]", [((0,), "1e+", False)]),
    ("[1-2]", [((0,), "1", False)]),
    ("[1_0]", [((0,), "1", False)]),
    ("[١]", []),
    ("[1 2]", [((0,), "1", True)]),
    ('{"a" 1}', []),
    ('{"a"::1}', []),
    ('{"a","b"}', []),
    ('{"a":1 "b":2}', [(("a",), "1", True)]),
    ('{"a":1,}', [(("a",), "1", True)]),
    ('{"a":}', []),
    ("{1:2}", []),
    ("{,}", []),
    ("[,]", []),
    ("[1,]", [((0,), "1", True)]),
    ("[1,,2]", [((0,), "1", True)]),
    ('["a"}', [((0,), "a", True)]),
    ('{"a":"b"]', [(("a",), "b", True)]),
    ("[1}", [((0,), "1", True)]),
    ("}", []),
    ("]", []),
    ('["a\\x"]', [((0,), "a", False)]),
    ('["don\\\'t"]', [((0,), "don", False)]),
    ('["a\\u12G4"]', [((0,), "a", False)]),
    ('["a\\u+123"]', [((0,), "a", False)]),
    ('["a\\u 123"]', [((0,), "a", False)]),
    ('["a\\u1_23"]', [((0,), "a", False)]),
    ('["a\\u123"]', [((0,), "a", False)]),
    ('["a\\u١٢٣٤"]', [((0,), "a", False)]),
    ('["a\\U0041"]', [((0,), "a", False)]),
    ('["a\\nb", "c\\nd\\q e", "f"]', [((0,), "a\nb", True), ((1,), "c\nd", False)]),
    ('{"a":"b","c\\q":"d"}', [(("a",), "b", True)]),
    ('["a\\ud83d\\q"]', [((0,), "a", False)]),
    ('["a" /* no */]', [((0,), "a", True)]),
]


@pytest.mark.parametrize(("text", "given_before"), BROKEN)
def test_what_is_no_json_breaks_and_keeps_what_came_before(text: str, given_before: list[Field]) -> None:
    assert oracle(text) is None
    assert read_at_every_cut(text) == (given_before, True, False)
    assert read_at_every_cut(text + '","k":"v"}]} 1')[:2] == (given_before, True)


@pytest.mark.parametrize("after", ["x", "{}", "}", ",", '"', "\ufeff", "\0"])
@pytest.mark.parametrize("value", ['{"a":"b"}', "[]", '"s"', "1 "])
def test_only_whitespace_may_follow_the_value(value: str, after: str) -> None:
    fields, broken, complete = read_at_every_cut(value + " \n" + after)
    assert leaves_done(fields) == oracle(value)
    assert complete
    assert broken
    assert read_at_every_cut(value + " \n\r\t")[1:] == (False, True)


def test_half_a_value_is_neither_broken_nor_complete() -> None:
    text = '{"path": "a\\u00e9\\ud83d\\ude00", "n": [-1.5e3, true, {"k\\n": "v"}, {}, []], "z": null}'
    for end in range(len(text)):
        assert read_at_every_cut(text[:end])[1:] == (False, False), text[:end]
    assert read_at_every_cut(text)[1:] == (False, True)


def test_a_broken_reader_is_silent() -> None:
    reader = JsonReader()
    assert reader.feed('{"a":"b" "') == [FieldDelta(("a",), "b", True)]
    assert reader.broken
    assert reader.feed('c":"d"}') == []
    assert reader.feed("") == []
    assert reader.feed('{"a":1}') == []
    assert not reader.complete


def test_nothing_fed_gives_nothing() -> None:
    assert read([]) == ([], False, False)
    assert read(["", "", " ", ""]) == ([], False, False)
    assert read(["", '["', "", 'a"', "", "]", ""]) == ([((0,), "a", True)], False, True)


def test_number_and_literal_are_done_when_the_next_character_arrives() -> None:
    reader = JsonReader()
    assert reader.feed('{"n":12') == [FieldDelta(("n",), "12")]
    assert reader.feed(",") == [FieldDelta(("n",), "", True)]
    assert reader.feed('"t":tru') == [FieldDelta(("t",), "tru")]
    assert reader.feed("e}") == [FieldDelta(("t",), "e", True)]
    assert reader.complete


def test_escapes_do_not_split_the_text_of_one_feed() -> None:
    reader = JsonReader()
    assert reader.feed('{"a":"1\\n2\\t3\\u00e94') == [FieldDelta(("a",), "1\n2\t3é4")]
    assert reader.feed('\\"5\\\\","b":"x\\ny"}') == [
        FieldDelta(("a",), '"5\\', True),
        FieldDelta(("b",), "x\ny", True),
    ]


# A reader of this kind once wrote files from what it showed and got these wrong.


def test_regression_unicode_escapes_are_characters() -> None:
    text = '{"content":"caf\\u00e9 \\u201cq\\u201d"}'
    assert leaves_done(read_at_every_cut(text)[0]) == [(("content",), "café “q”")]


def test_regression_backspace_and_form_feed() -> None:
    assert leaves_done(read_at_every_cut('{"content":"a\\bb\\fc"}')[0]) == [(("content",), "a\bb\fc")]


def test_regression_nested_keys_of_the_same_name_stay_apart() -> None:
    text = '{"path":"a.md","content":"top","meta":{"path":"b.md","content":"in"},"l":[{"path":"c"}],"extra":1}'
    assert leaves_done(read_at_every_cut(text)[0]) == [
        (("path",), "a.md"),
        (("content",), "top"),
        (("meta", "path"), "b.md"),
        (("meta", "content"), "in"),
        (("l", 0, "path"), "c"),
        (("extra",), "1"),
    ]


def test_regression_a_key_inside_a_string_is_text() -> None:
    text = json.dumps({"content": '{"path": "x", "content": "y"}', "path": "real"})
    assert leaves_done(read_at_every_cut(text)[0]) == [
        (("content",), '{"path": "x", "content": "y"}'),
        (("path",), "real"),
    ]


@pytest.mark.parametrize("cut", range(13))
@pytest.mark.parametrize("before", ["", "a", "\\ud83d"])
def test_surrogate_pair_cut_at_each_of_its_characters(before: str, cut: int) -> None:
    pair = "\\ud83d\\ude00"
    reader = JsonReader()
    deltas = reader.feed(f'{{"a":"{before}{pair[:cut]}')
    if cut < 12:
        assert "😀" not in "".join(delta.text for delta in deltas)
    deltas += reader.feed(f'{pair[cut:]}!"}}')
    assert merge(deltas) == [(("a",), {"": "", "a": "a", "\\ud83d": "\ufffd"}[before] + "😀!", True)]


@pytest.mark.parametrize("text", ['["a\ud83d\ude00b"]', '["\\ud83d\ude00"]', '["é\udfff"]'])
def test_raw_surrogates_become_characters_that_can_be_written(text: str) -> None:
    fields, broken, complete = read_at_every_cut(text)
    assert leaves_done(fields) == oracle(text)
    assert "".join(field[1] for field in fields).encode()
    assert (broken, complete) == (False, True)


def test_depth_is_bounded() -> None:
    limits = Limits(depth=3)
    assert read_at_every_cut('[{"a":[1]}]', limits) == ([((0, "a", 0), "1", True)], False, True)
    assert read_at_every_cut('["x",{"a":[[1]]}]', limits) == ([((0,), "x", True)], True, False)
    assert read_at_every_cut('[{"a":[{}]}]', limits) == ([], True, False)
    deepest = "[" * 64 + "1" + "]" * 64
    assert read([deepest]) == ([((0,) * 64, "1", True)], False, True)
    assert read([f"[{deepest}]"]) == ([], True, False)
    assert read(["[" * 100_000]) == ([], True, False)
    assert read(['{"a":' * 100_000]) == ([], True, False)


def test_key_length_is_bounded() -> None:
    key = "k" * LONGEST
    assert read([f'{{"{key}":1}}']) == ([((key,), "1", True)], False, True)
    escaped = "\\u006b" * LONGEST
    assert read([f'{{"{escaped}":1}}']) == ([((key,), "1", True)], False, True)
    for long in (f'{{"b":1,"{key}k":1}}', f'{{"b":1,"{key}\\n":1}}', f'{{"b":1,"{key}\\ud83d":1}}'):
        for size in (1, 7, 1000, len(long)):
            pieces = [long[start : start + size] for start in range(0, len(long), size)]
            assert read(pieces) == ([(("b",), "1", True)], True, False)
    assert read_at_every_cut('{"' + "k" * 17, Limits(name=1)) == ([], True, False)
    assert read_at_every_cut('{"' + "k" * 16, Limits(name=1)) == ([], False, False)


def test_each_key_and_number_has_the_bound_for_itself() -> None:
    key, number = "k" * 16, "1" * 16
    text = f'{{"{key}":{number},"{key}":{{"{key}":{number}}}}}'
    assert read_at_every_cut(text, Limits(name=1)) == (
        [((key,), number, True), ((key, key), number, True)],
        False,
        True,
    )


def test_number_length_is_bounded() -> None:
    limits = Limits(name=1)
    number = "1234567890.12345"
    assert read_at_every_cut(f"[{number}]", limits) == ([((0,), number, True)], False, True)
    assert read_at_every_cut(f"[{number}6]", limits) == ([((0,), number, False)], True, False)
    assert read(["1" * 1_000_000]) == ([((), "1" * LONGEST, False)], True, False)


def test_text_of_a_string_is_not_bounded_by_the_key_bound() -> None:
    text = "x" * (10 * LONGEST)
    assert read([f'["{text}"]']) == ([((0,), text, True)], False, True)


def check_against_oracle(text: str, outcome: Outcome) -> None:
    fields, broken, complete = outcome
    leaves = oracle(text)
    assert (complete and not broken) == (leaves is not None)
    if leaves is not None:
        assert leaves_done(fields) == leaves


TOKENS = ["{", "}", "[", "]", ":", ",", '"', '"a"', "\\", "u00", "1", "0", "-", ".", "e", "true", "nul", " "]


def test_every_short_sequence_of_tokens_is_judged_like_a_strict_parser() -> None:
    for count in range(4):
        for tokens in itertools.product(TOKENS, repeat=count):
            text = "".join(tokens) + "\n"  # the end of a number at the top
            outcome = read([text])
            check_against_oracle(text, outcome)
            assert read(tokens) == read(["".join(tokens)])


any_text = st.text(alphabet=st.one_of(st.characters(), st.sampled_from('"\\/\b\f\n\r\tu{}[]:,0é中😀')))
surrogates = st.text(alphabet=st.sampled_from("\ud83d\ude00\udbff\udfffa\n\\u"))
strings = st.one_of(any_text, surrogates)
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        strings,
    ),
    lambda children: st.one_of(st.lists(children), st.dictionaries(strings, children)),
    max_leaves=20,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    indent = draw(st.sampled_from([None, 0, 2]))
    return json.dumps(draw(values), ensure_ascii=draw(st.booleans()), indent=indent) + "\n"


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=12))
    edges = [0, *sorted(cuts), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


@pytest.mark.thorough
@given(data=st.data(), text=documents())
@settings(max_examples=300, deadline=None)
def test_any_value_at_any_cuts_gives_its_leaves(data: st.DataObject, text: str) -> None:
    fields, broken, complete = read(data.draw(cut(text)))
    assert leaves_done(fields) == oracle(text)
    assert (broken, complete) == (False, True)
    assert read(text) == (fields, broken, complete)


@pytest.mark.thorough
@given(data=st.data(), text=documents())
@settings(max_examples=300, deadline=None)
def test_damaged_values_never_raise_and_never_depend_on_cuts(data: st.DataObject, text: str) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 3)))
        put = data.draw(st.one_of(st.just(""), st.sampled_from(TOKENS), st.text(max_size=3)))
        text = text[:start] + put + text[end:]
    text = text[: data.draw(st.integers(0, len(text)))] if data.draw(st.booleans()) else text
    outcome = read(data.draw(cut(text)))
    assert outcome == read([text]) == read(text)
    check_against_oracle(text + "\n", read([text, "\n"]))


LONG_TOKENS = [
    *(
        '"',
        '", "k": "',
        "\\",
        "\\n",
        '\\"',
        "\\\\",
        "\\/",
        "\\x",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\ud83d",
        "\\ude00",
        "\\u12",
        "\\uzz",
    ),
    *("a", "hello world " * 3, "é", "🦊", "\n", "\x01", "{", "]", "1"),
]


@pytest.mark.parametrize("seed", range(20))
def test_a_long_text_with_escapes_is_read_as_step_by_step(seed: int) -> None:
    """Long texts are decoded in stretches, short ones are not: nobody can tell."""
    rng = random.Random(seed)
    for _ in range(100):
        body = "".join(rng.choice(LONG_TOKENS) for _ in range(rng.randint(10, 40)))
        text = f'{{"k": "{" " * 60}{body}{rng.choice(("", chr(34), chr(34) + "}"))}'
        expected = read(text)
        edge = rng.randrange(len(text))
        assert read([text]) == expected
        assert read([text[:edge], text[edge:]]) == expected


def test_values_over_the_field_limit_are_not_shown() -> None:
    reader = JsonReader(Limits(fields=3))
    shown = reader.feed("[1,2,3,4,5]")
    assert [delta.text for delta in shown if delta.done] == ["1", "2", "3"]
    assert reader.broken


def test_as_many_values_as_the_field_limit_are_shown() -> None:
    reader = JsonReader(Limits(fields=4))
    reader.feed("[1,2,3]")
    assert reader.complete
    assert not reader.broken
