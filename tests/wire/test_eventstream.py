"""AWS event stream messages: framing, checksums, headers of every type, bounds, and bodies that are none."""

from __future__ import annotations

import json
from struct import pack
from typing import Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given, settings
from hypothesis import strategies as st

from aws_frames import event, exception, message, string_header
from corpus import body as recorded
from corpus import every_row, needs_corpus
from toolwire.errors import LimitExceeded
from toolwire.limits import MIB, Limits
from toolwire.wire.eventstream import EventStreamDecoder, EventStreamFrame, begins_event_stream
from toolwire.wire.lines import Run
from wire.test_runs import outcome
from wire.wire_cuts import READ, Outcome, all_cuts, cut, flood, run

HELLO = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "é"}})
STOP = event("messageStop", {"stopReason": "end_turn"})
FRAME = '{"contentBlockIndex":0,"delta":{"text":"é"},":event-type":"contentBlockDelta"}'
STOPPED = '{"stopReason":"end_turn",":event-type":"messageStop"}'


def header(name: bytes, kind: int, value: bytes) -> bytes:
    return pack(">B", len(name)) + name + pack(">B", kind) + value


EVERY_TYPE = b"".join(
    [
        header(b"true", 0, b""),
        header(b"false", 1, b""),
        header(b"byte", 2, b"\x01"),
        header(b"short", 3, b"\x01\x02"),
        header(b"int", 4, b"\x01\x02\x03\x04"),
        header(b"long", 5, bytes(8)),
        header(b"bytes", 6, b"\x00\x03abc"),
        string_header(":event-type", "metadata"),
        header(b"time", 8, bytes(8)),
        header(b"uuid", 9, bytes(16)),
    ]
)
CASES: dict[str, tuple[bytes, list[tuple[str, int]]]] = {
    "nothing": (b"", []),
    "one message": (HELLO, [(FRAME, 0)]),
    "two of one kind": (HELLO + HELLO, [(FRAME, 0), (FRAME, len(HELLO))]),
    "three, one of another kind": (
        HELLO + STOP + HELLO,
        [(FRAME, 0), (STOPPED, len(HELLO)), (FRAME, len(HELLO + STOP))],
    ),
    "headers of every type": (message(EVERY_TYPE, b'{"a":1}'), [('{"a":1,":event-type":"metadata"}', 0)]),
    "no headers": (message(b"", b'{"a":1}'), [('{"a":1,":event-type":""}', 0)]),
    "no payload": (event("metadata", b""), [('{":event-type":"metadata"}', 0)]),
    "an empty object": (
        event("metadata", b"{}") * 2,
        [('{":event-type":"metadata"}', n * len(event("metadata", b"{}"))) for n in (0, 1)],
    ),
    "objects of blanks": (
        event("metadata", b"{ \n}") * 2,
        [('{ \n":event-type":"metadata"}', n * len(event("metadata", b"{ \n}"))) for n in (0, 1)],
    ),
    "objects that begin with a blank": (
        event("metadata", b'{ "a":1}') * 2,
        [('{ "a":1,":event-type":"metadata"}', n * len(event("metadata", b'{ "a":1}'))) for n in (0, 1)],
    ),
    "an exception that does not say so": (
        message(string_header(":exception-type", "x"), b"{}"),
        [('{":message":{"type":"exception","headers":{":exception-type":"x"},"payload":"{}"}}', 0)],
    ),
    "an error that does not say so": (
        message(string_header(":error-code", "x"), b""),
        [('{":message":{"type":"error","headers":{":error-code":"x"},"payload":""}}', 0)],
    ),
    "blanks around an object": (event("metadata", b' \n{"a":1}\n'), [('{  "a":1,":event-type":"metadata"}', 0)]),
    "a payload that names its own type": (
        event("metadata", b'{":event-type":"messageStop"}'),
        [('{":event-type":"messageStop",":event-type":"metadata"}', 0)],
    ),
    "a payload that is no object": (
        event("metadata", b'["x"]'),
        [('{":message":{"payload":"[\\"x\\"]"},":event-type":"metadata"}', 0)],
    ),
    "a type that is no name": (event('a","b":"', b'{"a":1}'), [('{"a":1,":event-type":"a\\",\\"b\\":\\""}', 0)]),
    "an exception": (
        exception("throttlingException", {"message": "slow"}),
        [
            (
                '{":message":{"type":"exception","headers":{":exception-type":"throttlingException",'
                '":content-type":"application/json",":message-type":"exception"},"payload":"{\\"message\\":\\"slow\\"}"}}',
                0,
            )
        ],
    ),
    "an exception that is no text": (
        message(string_header(":message-type", "error"), b"\xff"),
        [('{":message":{"type":"error","headers":{":message-type":"error"},"payload":"\ufffd"}}', 0)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case_for_every_cut(name: str) -> None:
    body, frames = CASES[name]
    expected = Outcome([EventStreamFrame(*frame) for frame in frames])
    for pieces in all_cuts(body):
        decoder = EventStreamDecoder()
        assert run(decoder, pieces) == expected
        assert decoder.position == len(body)
    for data, _ in frames:
        json.loads(data)


def wrong(position: int) -> tuple[str, dict[str, Any]]:
    return ("ProtocolError", {"position": position})


def changed(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def lengths(total: int, headers: int) -> bytes:
    """A prelude by itself, with the right checksum."""
    prelude = pack(">II", total, headers)
    return prelude + pack(">I", crc32(prelude))


START = len(HELLO)
METADATA = len(event("metadata", b"")) - 16
"""The length of the headers of such an event."""

FAULTS: dict[str, tuple[bytes, tuple[str, dict[str, Any]]]] = {
    "the checksum of a prelude": (HELLO + changed(HELLO, 8) + HELLO, wrong(START)),
    "the length": (HELLO + changed(HELLO, 3) + HELLO, wrong(START)),
    "the checksum of a message": (HELLO + changed(HELLO, len(HELLO) - 1) + HELLO, wrong(START)),
    "a byte of a header": (HELLO + changed(HELLO, 14) + HELLO, wrong(START)),
    "a byte of the payload": (HELLO + changed(HELLO, len(HELLO) - 9) + HELLO, wrong(START)),
    "shorter than itself": (HELLO + lengths(15, 0) + HELLO, wrong(START)),
    "headers longer than the message": (HELLO + lengths(100, 90) + HELLO, wrong(START)),
    "a name that is cut short": (HELLO + message(b"\x05ab", b""), wrong(START + 12)),
    "a value that is cut short": (HELLO + message(header(b"a", 7, b"\x00\x05ab"), b""), wrong(START + 12)),
    "a length that is cut short": (HELLO + message(header(b"a", 7, b"\x00"), b""), wrong(START + 12)),
    "an unknown type of header": (HELLO + message(header(b"a", 10, b""), b""), wrong(START + 14)),
    "a header twice": (HELLO + message(string_header("a", "b") * 2, b""), wrong(START + 12 + 6)),
    "a header that is no text": (HELLO + message(header(b"a", 7, b"\x00\x01\xff"), b""), wrong(START + 17)),
    "a payload that is no text": (HELLO + event("metadata", b'{"a":"\xff"}'), wrong(START + 12 + METADATA + 6)),
    "one that is no text, then a wrong checksum": (
        HELLO + event("metadata", b'{"a":"\xff"}') + changed(HELLO, 8),
        wrong(START + 12 + METADATA + 6),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("joined", [False, True], ids=["one by one", "joined"])
def test_a_fault_is_the_same_for_every_cut(name: str, joined: bool) -> None:
    body, error = FAULTS[name]
    for pieces in all_cuts(body):
        assert run(EventStreamDecoder(join_runs=joined), pieces) == Outcome([EventStreamFrame(FRAME, 0)], error)


def test_every_bit_counts() -> None:
    for place in range(len(HELLO)):
        for bit in range(8):
            broken = HELLO[:place] + bytes([HELLO[place] ^ 1 << bit]) + HELLO[place + 1 :]
            made = run(EventStreamDecoder(), [broken])
            # A body whose first byte is none of a message is judged at its end.
            assert [frame.stray for frame in made.frames] == [True] if made.error is None else made.frames == []


def test_cut_anywhere_it_is_incomplete() -> None:
    for length in range(1, len(HELLO)):
        outcome = run(EventStreamDecoder(), [HELLO + HELLO[:length]])
        at = len(HELLO) + length
        assert outcome == Outcome([EventStreamFrame(FRAME, 0)], ("IncompleteStream", {"position": at}))
        assert run(EventStreamDecoder(), [HELLO[:length]]).error == ("IncompleteStream", {"position": length})


@pytest.mark.parametrize(
    "text", ["{", '{"message":"no"}', "<html>", "\n", "é" * 40, " " * 20, "data: {}\n\n", "\ufffd" * 3 + "x" * 30]
)
def test_a_body_of_text_comes_at_its_end(text: str) -> None:
    data = text.encode()
    for pieces in all_cuts(data):
        assert run(EventStreamDecoder(), pieces) == Outcome([EventStreamFrame(text, 0, stray=True)])


def over(what: str, limit: int, position: int) -> tuple[str, dict[str, Any]]:
    return ("LimitExceeded", {"what": what, "limit": limit, "position": position})


@pytest.mark.parametrize(
    ("body", "limits", "error"),
    [
        (HELLO + STOP, Limits(event=len(HELLO)), None),
        (HELLO + STOP, Limits(event=len(HELLO) - 1), over("event", len(HELLO) - 1, len(HELLO) - 1)),
        (STOP + HELLO, Limits(event=len(STOP)), over("event", len(STOP), 2 * len(STOP))),
        (STOP + lengths(MIB, 0), Limits(event=len(STOP)), over("event", len(STOP), 2 * len(STOP))),
        (HELLO + STOP, Limits(stream=len(HELLO + STOP)), None),
        (HELLO + STOP, Limits(stream=len(HELLO + STOP) - 1), over("stream", *[len(HELLO + STOP) - 1] * 2)),
        (b"<" * 50, Limits(event=49), over("event", 49, 49)),
    ],
)
def test_bounds_are_the_same_for_every_cut(body: bytes, limits: Limits, error: Any) -> None:
    whole = run(EventStreamDecoder(limits), [body])
    assert whole.error == error
    for pieces in all_cuts(body):
        assert run(EventStreamDecoder(limits), pieces) == whole


def test_a_long_message_is_refused_by_its_prelude() -> None:
    decoder = EventStreamDecoder()
    with pytest.raises(LimitExceeded, match="event"):
        decoder.feed(lengths(17 * MIB, 0))


def test_a_page_of_100_mb_ends_within_the_bound_and_one_read() -> None:
    refusal = flood(EventStreamDecoder(Limits(event=MIB)), b"", b"<p>x")
    assert (refusal.what, refusal.position) == ("event", MIB)
    assert refusal.fed <= MIB + READ
    assert refusal.peak <= 2 * MIB + 4 * READ


@pytest.mark.timeout(60)
def test_one_long_message_in_small_pieces_is_read_in_one_pass() -> None:
    """8 MB in half a million pieces: under a second in one pass, hours if each piece cost a copy of the rest."""
    data = event("chunk", b'{"bytes":"' + b"x" * (8 * MIB) + b'"}')
    decoder = EventStreamDecoder()
    frames = [frame for piece in cut(data, range(0, len(data), 16)) for frame in decoder.feed(piece)]
    assert [len(frame.data) for frame in frames] == [8 * MIB + 34]


PAYLOADS = [b'{"a":1}', b'{"b":"\xc3\xa9"}', b"{}", b'{"c":"} {"}', b'{"d":[', b"1]}", b'{"\n":1}', b'{"e":\n1}', b"[]"]
MESSAGES = st.one_of(
    st.builds(event, st.sampled_from(["metadata", "chunk", 'x"']), st.sampled_from([*PAYLOADS, b"", b'{"f":\xff}'])),
    st.sampled_from([HELLO, HELLO, STOP, changed(HELLO, 60), HELLO[:-3], exception("e", {"message": "x"})]),
)


@pytest.mark.thorough
@given(st.lists(MESSAGES, max_size=9).map(b"".join), st.lists(st.integers(0, 900), max_size=4))
@settings(max_examples=800)
def test_runs(body: bytes, where: list[int]) -> None:
    plain = outcome(EventStreamDecoder(), body, [])
    assert outcome(EventStreamDecoder(join_runs=True), body, where)[:2] == plain[:2]


def test_messages_of_one_read_do_come_as_a_run() -> None:
    (made,) = EventStreamDecoder(join_runs=True).feed(HELLO * 3 + STOP)
    assert isinstance(made, Run)
    assert made.count == 4


def test_more_kinds_of_messages_than_are_remembered() -> None:
    body = b"".join(event(f"e{number % 90}", b'{"a":"%b"}' % (b"x" * (number % 40))) for number in range(3000))
    frames = run(EventStreamDecoder(), [body]).frames
    assert [json.loads(frame.data)[":event-type"] for frame in frames] == [f"e{number % 90}" for number in range(3000)]


def test_what_is_remembered_of_one_stream_widens_no_bound_of_another() -> None:
    short, long = event("chunk", b'{"a":1}'), event("chunk", b'{"a":"%b"}' % (b"x" * 500))
    assert len(run(EventStreamDecoder(), [short + long]).frames) == 2
    bound = len(long) - 1
    for pieces in ([short + long], [short, long[:100], long[100:]], [short, long[:12]]):
        narrow = run(EventStreamDecoder(Limits(event=bound)), pieces)
        assert narrow.error == over("event", bound, len(short) + bound)
        assert len(narrow.frames) == 1


def test_what_begins_an_event_stream() -> None:
    assert begins_event_stream(HELLO)
    assert not begins_event_stream(HELLO[:11])
    assert not begins_event_stream(changed(HELLO, 2))
    assert not begins_event_stream(b'{"choices":[]}')


@needs_corpus
def test_botocore_takes_every_recording_apart_in_the_same_way() -> None:
    seen = 0
    for row in every_row(core=False):
        if row["kind"] != "eventstream":
            continue
        theirs = EventStreamBuffer()
        theirs.add_data(recorded(row))
        frames = run(EventStreamDecoder(), [recorded(row)]).frames
        for frame, told in zip(frames, theirs, strict=True):
            expected = {**json.loads(told.payload), ":event-type": told.headers[":event-type"]}
            assert json.loads(frame.data) == expected
            seen += 1
    assert seen == 4109
