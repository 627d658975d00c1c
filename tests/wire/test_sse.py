from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolwire.errors import ProtocolError
from toolwire.limits import MIB, Limits
from toolwire.wire.sse import SseDecoder, SseEvent
from wire.sse_cases import CASES, Case
from wire.wire_cuts import READ, Outcome, all_cuts, cut, flood, run

BOM = b"\xef\xbb\xbf"
WORDS = [
    b"event: a\ndata: b\n\n",
    b"data: c\n\n",
    b"data",
    b"data: ",
    b"data:",
    b"event: ",
    b"id: ",
    b"retry: 5",
    b"error: ",
    BOM,
    "é".encode(),
    b"\r\n",
]
LETTERS = [bytes([letter]) for letter in b"data: \r\n:eventid\xef\xbb\xbf\x00\xc3\xa9"]
bodies = st.lists(st.sampled_from(WORDS + LETTERS), max_size=40).map(b"".join)
places = st.lists(st.integers(0, 400), max_size=8)


# The standard


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_for_every_cut(case: Case) -> None:
    quirks = {"last-event-without-blank-line": int(case.cut), "stray-line": case.stray}
    expected = {name: count for name, count in quirks.items() if count}
    whole = run(SseDecoder(), [case.body])
    assert [(event.event, event.data, event.id) for event in whole.frames] == case.events
    for pieces in all_cuts(case.body):
        decoder = SseDecoder()
        assert run(decoder, pieces) == whole
        assert (decoder.retry, decoder.quirks, decoder.position) == (case.retry, expected, len(case.body))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_cut_short_at_every_byte(case: Case) -> None:
    for length in range(len(case.body)):
        body = case.body[:length]
        whole = run(SseDecoder(keep_stray=True), [body])
        assert run(SseDecoder(keep_stray=True), [body[i : i + 1] for i in range(length)]) == whole
        assert whole == reference(body, keep_stray=True)


def test_there_are_enough_cases_with_names_of_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


# An interpreter of the standard as naive as can be, to compare with. One Latin-1 character is one byte here.


def reference(body: bytes, *, keep_stray: bool) -> Outcome:
    events: list[SseEvent] = []
    data: list[str] = []
    kind = last_id = ""
    first: int | None = None
    text = body.decode("latin-1")
    start = 3 if body.startswith(BOM) else 0

    def plain(value: str, at: int) -> str:
        try:
            return value.encode("latin-1").decode()
        except UnicodeDecodeError as error:
            raise ProtocolError("", position=at + error.start) from None

    def dispatch() -> None:
        if data:
            events.append(SseEvent("\n".join(data), kind or "message", last_id, first or 0))

    before_last_line = 0
    try:
        while start < len(text):
            before_last_line = len(events)
            found = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)").match(text, start)
            assert found is not None
            line = found[1]
            name, colon, value = line.partition(":")
            at = start + len(name) + len(colon)
            if value.startswith(" "):
                value, at = value[1:], at + 1
            if not line:
                dispatch()
                data, kind, first = [], "", None
            elif name in ("data", "event", "id", "retry"):
                first = start if first is None else first
                if name == "data":
                    data.append(plain(value, at))
                elif name == "event":
                    kind = plain(value, at)
                elif name == "id" and "\0" not in value:
                    last_id = plain(value, at)
            elif name and keep_stray:
                events.append(SseEvent(plain(line, start), position=start, stray=True))
            start = found.end()
        dispatch()
        if not text.endswith(("\r", "\n")) and len(events) > before_last_line:
            events[-1] = msgspec.structs.replace(events[-1], cut=True)
    except ProtocolError as error:
        return Outcome(events, ("ProtocolError", error.facts))
    return Outcome(events)


@given(bodies, st.booleans())
@settings(max_examples=500)
@example(BOM + b"data\r\r\n" + BOM + b"data:\xc3\xa9\xc3", True)
def test_agrees_with_the_naive_interpreter(body: bytes, keep_stray: bool) -> None:
    assert run(SseDecoder(keep_stray=keep_stray), [body]) == reference(body, keep_stray=keep_stray)


@given(bodies, places, st.booleans())
@settings(max_examples=500)
def test_cuts_do_not_matter(body: bytes, where: list[int], keep_stray: bool) -> None:
    whole, pieces = SseDecoder(keep_stray=keep_stray), SseDecoder(keep_stray=keep_stray)
    assert run(pieces, cut(body, where)) == run(whole, [body])
    assert (pieces.retry, pieces.quirks, pieces.position) == (whole.retry, whole.quirks, whole.position)


@pytest.mark.thorough
@given(bodies, places, st.integers(0, 12), st.integers(0, 12), st.integers(0, 60))
@settings(max_examples=1000)
@example(b"data: abc\ndata: defg\n\n", [20], 64, 7, 64)
@example(b"data: ab\ndata\n\n", [10, 11, 12], 64, 2, 64)
@example(BOM[:2], [1], 1, 8, 64)
def test_cuts_do_not_matter_at_the_bounds(body: bytes, where: list[int], line: int, event: int, stream: int) -> None:
    limits = Limits(line=line, event=event, stream=stream)
    whole, pieces, bytewise = (SseDecoder(limits, keep_stray=True) for _ in range(3))
    outcome = run(whole, [body])
    assert run(pieces, cut(body, where)) == outcome
    assert run(bytewise, cut(body, range(len(body)))) == outcome
    assert pieces.quirks == bytewise.quirks == whole.quirks
    assert pieces.position == bytewise.position == whole.position
    assert all(len(frame.data.encode()) <= event for frame in outcome.frames if not frame.stray)
    assert outcome.error is not None or len(body) <= stream


# When, where, and from what


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("pieces", "counts"),
    [
        ([b"data: a\n", b"\n"], [0, 1]),
        ([b"data: a\r", b"\r"], [0, 1]),
        ([b"data: a\r", b"\n", b"\r", b"\n", b"data: b\r\n\r", b"\ndata: c\n\n"], [0, 0, 1, 0, 1, 1]),
        ([b"data: a\r\r", b"\ndata: b\n\n"], [1, 1]),
        ([b"data: a\r", b"", b"\n", b"", b"\r\n"], [0, 0, 0, 0, 1]),
    ],
)
def test_an_event_comes_with_the_byte_that_ends_it(pieces: list[bytes], counts: list[int]) -> None:
    decoder = SseDecoder()
    assert [len(decoder.feed(piece)) for piece in pieces] == counts
    assert decoder.close() == []


def test_position_is_that_of_the_first_field_line() -> None:
    body = BOM + b": hi\r\n\r\nfoo\nid: 1\r\n:\r\ndata: \xc3\xa9\r\n\r\nretry: x\rdata:b\r\rdata: c\n\ndata: d"
    starts = [b"id: 1\r\n:", b"retry: x", b"data: c\n", b"data: d"]
    for pieces in all_cuts(body):
        assert [body[frame.position :][:8] for frame in run(SseDecoder(), pieces).frames] == starts


def test_an_event_without_data_lends_its_position_to_nobody() -> None:
    assert run(SseDecoder(), [b"event: x\n\ndata: a\n\n"]).frames == [SseEvent("a", position=10)]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_takes_all_kinds_of_bytes(kind: Callable[[bytes], bytes | bytearray | memoryview]) -> None:
    decoder = SseDecoder()
    assert decoder.feed(kind(b"data: a\n\nda")) == [SseEvent("a")]
    assert decoder.feed(kind(b"ta: b\n\n")) == [SseEvent("b", position=9)]
    assert decoder.position == 18


def test_a_buffer_that_is_used_again_does_not_change_what_was_held() -> None:
    decoder, buffer = SseDecoder(), bytearray(b"data: abc")
    decoder.feed(buffer)
    buffer[:] = b"xxxxxxxxx"
    assert decoder.feed(b"\n\n") == [SseEvent("abc")]


def test_nothing_happens_after_close() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a") == []
    assert decoder.close() == [SseEvent("a", cut=True)]
    assert decoder.feed(b"data: b\n\n") == decoder.close() == []


def test_a_retry_of_very_many_digits_is_ignored() -> None:
    decoder = SseDecoder()
    assert run(decoder, [b"retry: 5\nretry: " + b"9" * 5000 + b"\n"]) == Outcome([])
    assert decoder.retry == 5


# Lines that are no SSE


def stray(data: str, position: int, cut: bool = False) -> SseEvent:
    return SseEvent(data, position=position, stray=True, cut=cut)


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b'error: {"detail":"x"}\n', [stray('error: {"detail":"x"}', 0)]),
        (b'data: a\n\n{"error":1}', [SseEvent("a"), stray('{"error":1}', 9, cut=True)]),
        (b"data: a\n data: b\ndata: c\n\n", [stray(" data: b", 8), SseEvent("a\nc")]),
        (b"id: 1\nevent: x\nfoo\ndata: a\n\n", [stray("foo", 15), SseEvent("a", "x", "1")]),
        (b"\r\n \r\n\t\r\n\r\n", [stray(" ", 2), stray("\t", 5)]),
        (b": no\n:\n\n<html>\r\n", [stray("<html>", 8)]),
        (BOM + "fehler: ä\r".encode(), [stray("fehler: ä", 3)]),
        (b"data: a\noops", [stray("oops", 8), SseEvent("a", cut=True)]),
    ],
)
def test_stray_lines_come_at_once_and_in_order(body: bytes, events: list[SseEvent]) -> None:
    for pieces in all_cuts(body):
        decoder = SseDecoder(keep_stray=True)
        assert run(decoder, pieces) == Outcome(events)
        assert decoder.quirks["stray-line"] == sum(event.stray for event in events)


# Bad UTF-8


@pytest.mark.parametrize(
    ("body", "position", "before"),
    [
        (b"data: \xff\n\n", 6, []),
        (b"data:\xff\r\n\r\n", 5, []),
        (b"data: a\n\ndata: bc\xc3\n\n", 17, [SseEvent("a")]),
        (b"data: a\ndata: b\xc3(\n\n", 15, []),
        (b"data: \xe2\x82\n\n", 6, []),
        (b"data: \xed\xa0\x80\n\n", 6, []),
        (b"data: \xc0\x80\n\n", 6, []),
        (b"data: \xf4\x90\x80\x80\n\n", 6, []),
        ("data: é€🦊".encode() + b"\x80\n\n", 15, []),
        (BOM + b"data: \xff\n\n", 9, []),
        (b"event: \xff\ndata: \xfe\n\n", 7, []),
        (b"data: \xfe\nevent: \xff\n\n", 6, []),
        (b"id: 1\xff\n\n", 5, []),
        ("data: a\n\ndata: ü".encode()[:-1], 15, [SseEvent("a")]),
        ("data: a\n\ndata: b\nevent: 🦊".encode()[:-2], 24, [SseEvent("a")]),
        (b"data: a\n\r\r\n\ndata: \xff\n\ndata: b\n\n", 18, [SseEvent("a")]),
    ],
)
def test_bad_utf8_is_named_by_its_first_byte(body: bytes, position: int, before: list[SseEvent]) -> None:
    for pieces in all_cuts(body):
        decoder = SseDecoder()
        assert run(decoder, pieces) == Outcome(before, ("ProtocolError", {"position": position}))
        assert decoder.position == position


def test_bad_utf8_in_a_stray_line_counts_where_such_lines_are_kept() -> None:
    body = b"data: a\n\n<p>caf\xe9</p>\n"
    assert run(SseDecoder(), [body]) == Outcome([SseEvent("a")])
    expected = Outcome([SseEvent("a")], ("ProtocolError", {"position": 15}))
    assert run(SseDecoder(keep_stray=True), [body]) == expected


def test_an_error_brings_what_came_before_it_in_the_same_call_only() -> None:
    decoder = SseDecoder()
    assert len(decoder.feed(b"data: a\n\n")) == 1
    with pytest.raises(ProtocolError, match="byte 24") as caught:
        decoder.feed(b"data: b\n\ndata: \xff\n\ndata: c\n\n")
    assert caught.value.before == [SseEvent("b", position=9)]
    assert caught.value.hint
    assert decoder.feed(b"data: d\n\n") == decoder.close() == []


# Bounds


def over(what: str, limit: int, position: int) -> tuple[str, dict[str, object]]:
    return ("LimitExceeded", {"what": what, "limit": limit, "position": position})


@pytest.mark.parametrize(
    ("body", "limits", "outcome"),
    [
        (b"data: 12345\n\n", Limits(line=11), Outcome([SseEvent("12345")])),
        (b"data: 12345\r\n\r\n", Limits(line=11), Outcome([SseEvent("12345")])),
        (b"data: 123456\n\n", Limits(line=11), Outcome([], over("line", 11, 11))),
        (b"data: a\n\n:23456789012\n", Limits(line=11), Outcome([SseEvent("a")], over("line", 11, 20))),
        (b"data: a\n\nfoo: 6789012", Limits(line=11), Outcome([SseEvent("a")], over("line", 11, 20))),
        (BOM + b"data: 12345\n\n", Limits(line=11), Outcome([SseEvent("12345", position=3)])),
        (BOM + b"data: 123456\n\n", Limits(line=11), Outcome([], over("line", 11, 14))),
        (b"data: 12345\n\n", Limits(event=5), Outcome([SseEvent("12345")])),
        (b"data: 123456\n\n", Limits(event=5), Outcome([], over("event", 5, 11))),
        (b"data:123456\n\n", Limits(event=5), Outcome([], over("event", 5, 10))),
        (b"data: 12\ndata: 34\n\n", Limits(event=5), Outcome([SseEvent("12\n34")])),
        (b"data: 12\ndata: 345\n\n", Limits(event=5), Outcome([], over("event", 5, 17))),
        (b"data: 12\ndata: 3\n\n", Limits(event=2), Outcome([], over("event", 2, 14))),
        (b"data:\ndata:\ndata\n\n", Limits(event=2), Outcome([SseEvent("\n\n")])),
        (b"data:\ndata:\ndata\ndata:\n\n", Limits(event=2), Outcome([], over("event", 2, 21))),
        ("data: éé\n\n".encode(), Limits(event=4), Outcome([SseEvent("éé")])),
        ("data: ééé\n\n".encode(), Limits(event=5), Outcome([], over("event", 5, 11))),
        (b"data: 12\nevent: 3456789\n\n", Limits(event=2), Outcome([SseEvent("12", "3456789")])),
        (b"data: 12\n\ndata: 34\n\n", Limits(event=2), Outcome([SseEvent("12"), SseEvent("34", position=10)])),
        (b"data: 123456\xff\n\n", Limits(event=5), Outcome([], over("event", 5, 11))),
        (b"data: 1234567\n\n", Limits(line=11, event=5), Outcome([], over("line", 11, 11))),
        (b"data: 1234567\n\n", Limits(line=11, event=6), Outcome([], over("line", 11, 11))),
        (b"data: 1234567\n\n", Limits(line=11, event=4), Outcome([], over("event", 4, 10))),
        (b"data: 1\n\n", Limits(stream=9), Outcome([SseEvent("1")])),
        (b"data: 1\n\n\n", Limits(stream=9), Outcome([SseEvent("1")], over("stream", 9, 9))),
        (b"data: 1\n\r\n", Limits(stream=9), Outcome([SseEvent("1")], over("stream", 9, 9))),
        (b"data: 12\n\n", Limits(stream=9), Outcome([], over("stream", 9, 9))),
        (BOM + b"\n", Limits(stream=2), Outcome([], over("stream", 2, 2))),
    ],
)
def test_a_bound_holds_to_the_byte_for_every_cut(body: bytes, limits: Limits, outcome: Outcome) -> None:
    for pieces in all_cuts(body):
        assert run(SseDecoder(limits), pieces) == outcome


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("start", "more", "limits", "what", "position"),
    [
        (b"", b"x", Limits(line=MIB), "line", MIB),
        (b"data: ", b"x", Limits(line=MIB), "line", MIB),
        (b": ", b" ", Limits(line=MIB), "line", MIB),
        (b"data: ", b"x", Limits(event=MIB), "event", 6 + MIB),
        (b"data: " + b"x" * (MIB // 2) + b"\ndata: ", b"x", Limits(event=MIB), "event", 12 + MIB),
        (b": a comment without a bound of its own\ndata: ", b"x", Limits(event=MIB), "event", 45 + MIB),
        (b"", b"data: 123456789\n", Limits(event=MIB // 4), "event", MIB // 40 * 16 + 6 + 4),
        (b"", b"data:1\n", Limits(event=MIB // 8), "event", MIB // 16 * 7 + 5),
        (b"data: ", b"x", Limits(stream=MIB), "stream", MIB),
        (b"", b"\r\n", Limits(stream=MIB // 4), "stream", MIB // 4),
        (b"", b"id: 1\nevent: 2\n:\nfoo\n", Limits(stream=MIB // 4), "stream", MIB // 4),
    ],
)
def test_a_flood_of_100_mb_ends_within_the_bound_and_one_read(
    start: bytes, more: bytes, limits: Limits, what: str, position: int
) -> None:
    refusal = flood(SseDecoder(limits), start, more)
    assert (refusal.what, refusal.position) == (what, position)
    assert refusal.fed <= position + READ
    assert refusal.peak <= 2 * getattr(limits, what) + 16 * READ


@pytest.mark.timeout(60)
def test_one_long_line_in_small_pieces_is_read_in_one_pass() -> None:
    """8 MB in half a million pieces: under a second in one pass, hours if each piece cost a copy of the rest."""
    size = 8 * MIB
    decoder = SseDecoder()
    pieces = cut(b"data: " + b"x" * size + b"\n\n", range(0, size, 16))
    frames = [frame for piece in pieces for frame in decoder.feed(piece)]
    assert [len(frame.data) for frame in frames] == [size]
