from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolwire.errors import ProtocolError
from toolwire.limits import MIB, Limits
from toolwire.wire.ndjson import NdjsonDecoder, NdjsonLine
from wire.wire_cuts import READ, Outcome, all_cuts, cut, flood, run

BOM = b"\xef\xbb\xbf"
LETTERS = [bytes([letter]) for letter in b'{}"a1 \r\n\t\xef\xbb\xbf\xc3\xa9']
bodies = st.lists(st.sampled_from([*LETTERS, BOM, b"\r\n", b'{"a":1}']), max_size=30).map(b"".join)
places = st.lists(st.integers(0, 200), max_size=8)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b"", []),
        (b'{"a":1}\n{"b":2}\n', [('{"a":1}', 0), ('{"b":2}', 8)]),
        (b'{"a":1}\r\n{"b":2}\r\n', [('{"a":1}', 0), ('{"b":2}', 9)]),
        (b'{"a":1}\n{"b":2}', [('{"a":1}', 0), ('{"b":2}', 8, True)]),
        (b"1\n2\n  ", [("1", 0), ("2", 2)]),
        (b"1\r", [("1", 0, True)]),
        (b"1\r2\n", [("1\r2", 0)]),
        (b"1\r\r\n2\n", [("1\r", 0), ("2", 4)]),
        (b"\n\r\n \n\t\r\n1\n\n2\n\n", [("1", 8), ("2", 11)]),
        (b"\n\n", []),
        (b"  ", []),
        (b" 1 \n", [(" 1 ", 0)]),
        (BOM + b"1\n2\n", [("1", 3), ("2", 5)]),
        (BOM + BOM + b"1\n", [("\ufeff1", 3)]),
        (b"1\n" + BOM + b"2\n", [("1", 0), ("\ufeff2", 2)]),
        (BOM, []),
        ("é\u2028\u2029\x85\x0b\x0c\x1c🦊\n1".encode(), [("é\u2028\u2029\x85\x0b\x0c\x1c🦊", 0), ("1", 18, True)]),
    ],
)
def test_case_for_every_cut(body: bytes, lines: list[tuple[Any, ...]]) -> None:
    for pieces in all_cuts(body):
        decoder = NdjsonDecoder()
        assert run(decoder, pieces) == Outcome([NdjsonLine(*line) for line in lines])
        assert decoder.position == len(body)


def reference(body: bytes) -> Outcome:
    lines: list[NdjsonLine] = []
    at = 3 if body.startswith(BOM) else 0
    raws = body[at:].split(b"\n")
    for number, raw in enumerate(raws, 1):
        line = raw[:-1] if raw.endswith(b"\r") else raw
        try:
            if line.strip():
                lines.append(NdjsonLine(line.decode(), at, cut=number == len(raws)))
        except UnicodeDecodeError as error:
            return Outcome(lines, ("ProtocolError", {"position": at + error.start}))
        at += len(raw) + 1
    return Outcome(lines)


@given(bodies, places)
@settings(max_examples=500)
def test_agrees_with_the_naive_reader_for_every_cut(body: bytes, where: list[int]) -> None:
    assert run(NdjsonDecoder(), cut(body, where)) == reference(body)


@given(bodies, places, st.integers(0, 9), st.integers(0, 40))
@settings(max_examples=500)
@example(b"123\r\n", [4], 3, 9)
@example(b"123\r", [3, 4], 3, 9)
@example(b"123\r4\n", [4], 3, 9)
def test_cuts_do_not_matter_at_the_bounds(body: bytes, where: list[int], line: int, stream: int) -> None:
    limits = Limits(line=line, stream=stream)
    whole, pieces = NdjsonDecoder(limits), NdjsonDecoder(limits)
    outcome = run(whole, [body])
    assert run(pieces, cut(body, where)) == outcome
    assert pieces.position == whole.position
    assert all(len(frame.data.encode()) <= line for frame in outcome.frames)
    assert outcome.error is not None or len(body) <= stream


def over(what: str, limit: int, position: int) -> tuple[str, dict[str, object]]:
    return ("LimitExceeded", {"what": what, "limit": limit, "position": position})


@pytest.mark.parametrize(
    ("body", "limits", "outcome"),
    [
        (b"123\n", Limits(line=3), Outcome([NdjsonLine("123", 0)])),
        (b"123\r\n", Limits(line=3), Outcome([NdjsonLine("123", 0)])),
        (b"123\r", Limits(line=3), Outcome([NdjsonLine("123", 0, cut=True)])),
        (b"1\n1234\n", Limits(line=3), Outcome([NdjsonLine("1", 0)], over("line", 3, 5))),
        (b"123\r4\n", Limits(line=3), Outcome([], over("line", 3, 3))),
        (b"    \n", Limits(line=3), Outcome([], over("line", 3, 3))),
        (BOM + b"123\n", Limits(line=3), Outcome([NdjsonLine("123", 3)])),
        (b"1\n2\n", Limits(stream=4), Outcome([NdjsonLine("1", 0), NdjsonLine("2", 2)])),
        (b"1\n2\n\n", Limits(stream=4), Outcome([NdjsonLine("1", 0), NdjsonLine("2", 2)], over("stream", 4, 4))),
        (b"1\n2\xff\n", Limits(), Outcome([NdjsonLine("1", 0)], ("ProtocolError", {"position": 3}))),
        ("1\n2é".encode()[:-1], Limits(), Outcome([NdjsonLine("1", 0)], ("ProtocolError", {"position": 3}))),
        (b"1\n" + BOM[:2], Limits(), Outcome([NdjsonLine("1", 0)], ("ProtocolError", {"position": 2}))),
        (BOM[:2], Limits(), Outcome([], ("ProtocolError", {"position": 0}))),
    ],
)
def test_a_fault_is_the_same_for_every_cut(body: bytes, limits: Limits, outcome: Outcome) -> None:
    for pieces in all_cuts(body):
        assert run(NdjsonDecoder(limits), pieces) == outcome


def test_a_line_comes_with_its_line_feed() -> None:
    decoder = NdjsonDecoder()
    assert [len(decoder.feed(piece)) for piece in (b"1", b"\r", b"\n2\n3", b"", b"\n")] == [0, 0, 2, 0, 1]


def test_an_error_brings_what_came_before_it_in_the_same_call_only() -> None:
    decoder = NdjsonDecoder()
    assert decoder.feed(bytearray(b"1\n")) == [NdjsonLine("1", 0)]
    with pytest.raises(ProtocolError, match="byte 4") as caught:
        decoder.feed(memoryview(b"2\n\xff\n3\n"))
    assert caught.value.before == [NdjsonLine("2", 2)]
    assert decoder.feed(b"4\n") == decoder.close() == []


def test_a_line_of_100_mb_ends_within_the_bound_and_one_read() -> None:
    refusal = flood(NdjsonDecoder(Limits(line=MIB)), b"", b"x")
    assert (refusal.what, refusal.position) == ("line", MIB)
    assert refusal.fed <= MIB + READ
    assert refusal.peak <= 2 * MIB + 4 * READ


@pytest.mark.timeout(60)
def test_one_long_line_in_small_pieces_is_read_in_one_pass() -> None:
    """8 MB in half a million pieces: under a second in one pass, hours if each piece cost a copy of the rest."""
    size = 8 * MIB
    decoder = NdjsonDecoder()
    pieces = cut(b"x" * size + b"\n", range(0, size, 16))
    frames = [frame for piece in pieces for frame in decoder.feed(piece)]
    assert [len(frame.data) for frame in frames] == [size]
