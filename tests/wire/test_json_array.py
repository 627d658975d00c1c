from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolwire.errors import LimitExceeded, ProtocolError
from toolwire.limits import MIB, Limits
from toolwire.wire.json_array import ArrayElement, JsonArrayDecoder, SseOrArrayDecoder
from toolwire.wire.sse import SseDecoder
from wire.wire_cuts import READ, Outcome, all_cuts, cut, flood, run

BOM = b"\xef\xbb\xbf"
WORDS = [
    b"\n,\r\n{",
    b"}\n,\r\n{",
    b'{"a":[1]}',
    b'{"]}":"\\"}"}',
    b'{"\\\\":1}',
    b"{}",
    b",",
    b"\r\n,\n",
    b"[",
    b"]",
    b'"',
    b"\\",
    b"\xc3\xa9",
]
LETTERS = [bytes([letter]) for letter in b'[]{},:"\\ \r\n1a\xc3\xa9\xef\xbb\xbf']
bodies = st.lists(st.sampled_from(WORDS + LETTERS), max_size=30).map(b"".join)
places = st.lists(st.integers(0, 300), max_size=8)


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        (b"[]", []),
        (b" [ ]\r\n", []),
        (b'[{"a":1}]', [('{"a":1}', 1)]),
        (b'[{"a":1},{"b":2}]', [('{"a":1}', 1), ('{"b":2}', 9)]),
        (b'[{"a":1}\n,\r\n{"b":2}\n]\n', [('{"a":1}', 1), ('{"b":2}', 12)]),
        (b"[{},{}\t,{}]", [("{}", 1), ("{}", 4), ("{}", 8)]),
        (b'[{\n "a": [\n  {}\n ]\n}]', [('{\n "a": [\n  {}\n ]\n}', 1)]),
        (b'[{"}]":"{["}]', [('{"}]":"{["}', 1)]),
        (rb'[{"a":"\"}"},{"b":"\\"}]', [(r'{"a":"\"}"}', 1), (r'{"b":"\\"}', 13)]),
        (rb'[{"a":"\\\"},{"},{"\\\\":1}]', [(r'{"a":"\\\"},{"}', 1), (r'{"\\\\":1}', 17)]),
        (rb'[{"a":"\u005c\n\/"}]', [(r'{"a":"\u005c\n\/"}', 1)]),
        ('[{"é":"\u2028🦊"},{}]'.encode(), [('{"é":"\u2028🦊"}', 1), ("{}", 18)]),
        (b"[{\\{}}]", [("{\\{}}", 1)]),
        (b"[{]]", [("{]", 1)]),
        (b'[{"a":[{}\n,\r\n{}]}\n,\r\n{}]', [('{"a":[{}\n,\r\n{}]}', 1), ("{}", 21)]),
        (b'[{"a":1}\n,\r\n{x}\n,\r\n{"b":2}\n,\r\n{}\n]', [('{"a":1}', 1), ("{x}", 12), ('{"b":2}', 19), ("{}", 30)]),
        (b"[{} \n,\r\n{}]", [("{}", 1), ("{}", 8)]),
    ],
)
def test_case_for_every_cut(body: bytes, elements: list[tuple[str, int]]) -> None:
    for pieces in all_cuts(body):
        decoder = JsonArrayDecoder()
        assert run(decoder, pieces) == Outcome([ArrayElement(*element) for element in elements])
        assert decoder.position == len(body)


def over(what: str, limit: int, position: int) -> tuple[str, dict[str, object]]:
    return ("LimitExceeded", {"what": what, "limit": limit, "position": position})


def at(position: int) -> tuple[str, dict[str, object]]:
    return ("ProtocolError", {"position": position})


ONE = ArrayElement("{}", 1)


@pytest.mark.parametrize(
    ("body", "limits", "outcome"),
    [
        (b"", Limits(), Outcome([ArrayElement("", 0, cut=True)])),
        (b"[", Limits(), Outcome([ArrayElement("", 1, cut=True)])),
        (b"[{}", Limits(), Outcome([ONE, ArrayElement("", 3, cut=True)])),
        (b"[{},", Limits(), Outcome([ONE, ArrayElement("", 4, cut=True)])),
        (b'[{},{"]":', Limits(), Outcome([ONE, ArrayElement('{"]":', 4, cut=True)])),
        (b'[{},{"\\', Limits(), Outcome([ONE, ArrayElement('{"\\', 4, cut=True)])),
        ('[{},{"é'.encode()[:-1], Limits(), Outcome([ONE], at(6))),
        (b"{}", Limits(), Outcome([], at(0))),
        (b"[{}{}]", Limits(), Outcome([ONE], at(3))),
        (b"[{},,{}]", Limits(), Outcome([ONE], at(4))),
        (b"[{},]", Limits(), Outcome([ONE], at(4))),
        (b"[,{}]", Limits(), Outcome([], at(1))),
        (b"[1]", Limits(), Outcome([], at(1))),
        (b"[[{}]]", Limits(), Outcome([], at(1))),
        (b'["{}"]', Limits(), Outcome([], at(1))),
        (b'[{} "a", {}]', Limits(), Outcome([ONE], at(4))),
        (b"[{}\\, {}]", Limits(), Outcome([ONE], at(3))),
        (b"[{}}]", Limits(), Outcome([ONE], at(3))),
        (b"[{}] []", Limits(), Outcome([ONE], at(5))),
        (b'[{}]"', Limits(), Outcome([ONE], at(4))),
        (b"[{},\xff]", Limits(), Outcome([ONE], at(4))),
        (b'[{},{"\xff":1}]', Limits(), Outcome([ONE], at(6))),
        (b"[{},{1}]", Limits(line=3), Outcome([ONE, ArrayElement("{1}", 4)])),
        (b"[{},{12}]", Limits(line=3), Outcome([ONE], over("line", 3, 7))),
        (b"[{},{12", Limits(line=3), Outcome([ONE, ArrayElement("{12", 4, cut=True)])),
        (b'[{},{"12', Limits(line=3), Outcome([ONE], over("line", 3, 7))),
        (b"[{}    ]", Limits(line=3), Outcome([ONE])),
        (b"[{}]", Limits(stream=4), Outcome([ONE])),
        (b"[{}] ", Limits(stream=4), Outcome([ONE], over("stream", 4, 4))),
        (b"[{},{}]", Limits(stream=4), Outcome([ONE], over("stream", 4, 4))),
    ],
)
def test_a_cut_or_a_fault_is_the_same_for_every_cut(body: bytes, limits: Limits, outcome: Outcome) -> None:
    for pieces in all_cuts(body):
        assert run(JsonArrayDecoder(limits), pieces) == outcome


def reference(body: bytes) -> Outcome:
    """One byte after the other, nothing held back."""
    frames: list[ArrayElement] = []
    depth = start = 0
    in_string = escaped = False
    before = "("
    for place, byte in enumerate(body):
        char = chr(byte)
        if depth:
            if escaped:
                escaped = False
                if char in '"\\':
                    continue
            if char == "\\":
                escaped = True
            elif char == '"':
                in_string = not in_string
            elif not in_string and char in "{[":
                depth += 1
            elif not in_string and char in "}]":
                depth -= 1
                if not depth:
                    try:
                        frames.append(ArrayElement(body[start : place + 1].decode(), start))
                    except UnicodeDecodeError as error:
                        return Outcome(frames, at(start + error.start))
                    before = "}"
        elif char in " \t\r\n":
            continue
        elif before + char in ("[{", ",{"):
            depth, start = 1, place
        elif before + char in ("([", "[]", "},", "}]"):
            before = char
        else:
            return Outcome(frames, at(place))
    if before != "]":
        start = start if depth else len(body)
        try:
            frames.append(ArrayElement(body[start:].decode(), start, cut=True))
        except UnicodeDecodeError as error:
            return Outcome(frames, at(start + error.start))
    return Outcome(frames)


@pytest.mark.thorough
@given(bodies, places)
@settings(max_examples=1000)
@example(b"{\\{}]", [2])
@example(b'{"\\\\"}]', [3])
def test_agrees_with_the_naive_reader_for_every_cut(body: bytes, where: list[int]) -> None:
    body = b"[" + body
    assert run(JsonArrayDecoder(), cut(body, where)) == reference(body)


@given(bodies, places, st.integers(0, 9), st.integers(0, 40))
@settings(max_examples=500)
def test_cuts_do_not_matter_at_the_bounds(body: bytes, where: list[int], line: int, stream: int) -> None:
    body = b"[" + body
    limits = Limits(line=line, stream=stream)
    whole, pieces = JsonArrayDecoder(limits), JsonArrayDecoder(limits)
    outcome = run(whole, [body])
    assert run(pieces, cut(body, where)) == outcome
    assert pieces.position == whole.position
    assert all(len(frame.data.encode()) <= line for frame in outcome.frames)
    assert outcome.error is not None or len(body) <= stream


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(max_size=4), values, max_size=4), max_size=5), st.integers(0, 2), places)
def test_any_array_of_objects_comes_back(elements: list[object], indent: int, where: list[int]) -> None:
    body = json.dumps(elements, ensure_ascii=bool(indent % 2), indent=indent or None).encode()
    outcome = run(JsonArrayDecoder(), cut(body, where))
    assert outcome.error is None
    assert [json.loads(frame.data) for frame in outcome.frames] == elements


def test_an_element_comes_with_its_last_bracket() -> None:
    decoder = JsonArrayDecoder()
    assert [len(decoder.feed(piece)) for piece in (b"[{", b'"}":{', b"}", b"},{}", b"", b",{", b"}]")] == [
        *(0, 0, 0, 2, 0, 0, 1)
    ]


def test_an_error_brings_what_came_before_it_in_the_same_call_only() -> None:
    decoder = JsonArrayDecoder()
    assert decoder.feed(bytearray(b"[{}")) == [ONE]
    with pytest.raises(ProtocolError, match="byte 6") as caught:
        decoder.feed(memoryview(b",{}x,{}"))
    assert caught.value.before == [ArrayElement("{}", 4)]
    assert decoder.feed(b"{}") == decoder.close() == []


@pytest.mark.thorough
@pytest.mark.parametrize("more", [b"x", b"[", b'"', b"\\", b'"{'])
def test_an_element_of_100_mb_ends_within_the_bound_and_one_read(more: bytes) -> None:
    refusal = flood(JsonArrayDecoder(Limits(line=MIB)), b'[{"a":', more)
    assert (refusal.what, refusal.position) == ("line", MIB + 1)
    assert refusal.fed <= MIB + 2 * READ
    assert refusal.peak <= 2 * MIB + 40 * READ


@pytest.mark.thorough
@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", [b"x", b'"', b"\\", b"{", b'\\"'])
def test_one_long_element_in_small_pieces_is_read_in_one_pass(unit: bytes) -> None:
    size = 2 * MIB
    decoder = JsonArrayDecoder()
    body = b'[{"a":"' + unit * (size // len(unit))
    assert [frame for piece in cut(body, range(0, size, 16)) for frame in decoder.feed(piece)] == []
    assert [len(frame.data) for frame in decoder.close()] == [len(body) - 1]


@pytest.mark.timeout(60)
def test_many_small_elements_in_one_read_are_read_in_one_pass() -> None:
    count = MIB // 4
    assert len(JsonArrayDecoder().feed(b"[" + b"{}," * count)) == count
    assert len(JsonArrayDecoder().feed(b"[" + b'{"":1},' * count)) == count


# Which of the two it is


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\r\n",
        BOM,
        BOM[:2],
        b"data: {}\n\n",
        b'\r\n data: {"a":1}\r\n\r\n',
        BOM + b"data: [\n\n",
        b'{\n "error": []\n}\n',
        b"  \n\n x[\n",
        BOM + BOM + b"[{}]",
        BOM[:1] + b"[{}]",
        b" " + BOM + b"[{}]",
    ],
)
def test_what_does_not_begin_with_a_bracket_is_sse(body: bytes) -> None:
    expected = run(SseDecoder(keep_stray=True), [body])
    for pieces in all_cuts(body):
        decoder = SseOrArrayDecoder(keep_stray=True)
        assert run(decoder, pieces) == expected
        if expected.error is None:
            assert decoder.position == len(body)


@pytest.mark.parametrize(("start", "stray"), [(b"", 0), (BOM, 0), (b"\n\r\n", 0), (BOM + b"\n  ", 0), (b" \n [", 1)])
def test_what_begins_with_a_bracket_is_an_array(start: bytes, stray: int) -> None:
    body = start.removesuffix(b"[") + b'[{"a":1}\n,\r\n{"data: ":2}]\n'
    first = body.index(b"{")
    expected = [ArrayElement('{"a":1}', first), ArrayElement('{"data: ":2}', first + 11)]
    for pieces in all_cuts(body):
        decoder = SseOrArrayDecoder(keep_stray=True)
        outcome = run(decoder, pieces)
        assert outcome.error is None
        assert [frame.stray for frame in outcome.frames[:-2]] == [True] * stray
        assert outcome.frames[-2:] == expected
        assert decoder.position == len(body)
        assert decoder.quirks == ({"stray-line": 1} if stray else {})


@given(st.sampled_from([b"", BOM, b"\n", b" \n", b"x", b"data: "]), bodies, places, st.integers(0, 40))
@settings(max_examples=300)
def test_cuts_do_not_matter_for_either(start: bytes, body: bytes, where: list[int], bound: int) -> None:
    limits = Limits(line=bound, stream=2 * bound)
    body = start + body
    assert run(SseOrArrayDecoder(limits), cut(body, where)) == run(SseOrArrayDecoder(limits), [body])


@pytest.mark.thorough
def test_a_flood_of_blanks_is_bounded() -> None:
    refusal = flood(SseOrArrayDecoder(Limits(line=MIB)), b"\n", b" ")
    assert (refusal.what, refusal.position) == ("line", MIB + 1)


def test_bounds_count_from_the_start_of_the_body() -> None:
    decoder = SseOrArrayDecoder(Limits(stream=10))
    with pytest.raises(LimitExceeded) as caught:
        decoder.feed(b"\n\n\n\n[{},{},{}]")
    assert caught.value.position == 10
    assert [frame.position for frame in caught.value.before] == [5, 8]
