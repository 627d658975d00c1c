from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolwire.limits import Limits
from toolwire.wire.sse import SseDecoder
from toolwire.wire.sse_crlf import CrlfSseDecoder
from wire.sse_cases import CASES, Case
from wire.wire_cuts import all_cuts, cut, run

WORDS = [
    *(
        b"data: a\r\n\r\n",
        b"data: \xc3\xa9\r\n\r\n",
        b"data: b\n\n",
        b"event: c\r\n",
        b"id: d\r\n",
        b"data: ",
        b"data:",
    ),
    *(b"\r\n", b"\r", b"\n", b"\r\n\r\n", b": x", b"stray", b"\xef\xbb\xbf", b"\xff", b"\xc3"),
]
bodies = st.lists(st.sampled_from(WORDS), max_size=12).map(b"".join)
places = st.lists(st.integers(0, 120), max_size=6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_standard_with_crlf(case: Case) -> None:
    body = case.body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    expected = run(SseDecoder(keep_stray=True), [body])
    for pieces in all_cuts(body):
        assert run(CrlfSseDecoder(keep_stray=True), pieces) == expected


@given(bodies, places, st.integers(1, 40), st.integers(1, 200))
@settings(max_examples=1500)
@example(b"data: a\r\n\r\ndata: b\r\ndata: c\r\n\r\n", [], 40, 200)
@example(b"data: a\r\n\r\nid: d\r\n\r\ndata: b\r\n\r\ndata: \xff\r\n\r\n", [11], 40, 200)
@example(b"data: a\r\n\r\ndata: b\r\n\r\n\n", [], 40, 200)
def test_frames_faults_and_positions_are_those_of_the_plain_decoder(
    body: bytes, where: list[int], line: int, stream: int
) -> None:
    limits = Limits(line=line, event=line, stream=stream)
    plain, short = SseDecoder(limits, keep_stray=True), CrlfSseDecoder(limits, keep_stray=True)
    assert run(short, cut(body, where)) == run(plain, [body])
    assert (short.position, short.quirks) == (plain.position, plain.quirks)


def test_events_come_as_soon_as_they_are_whole() -> None:
    decoder = CrlfSseDecoder()
    reads = (b"data: a\r\n\r\ndata: b\r", b"\n\r\nda", b"ta: c\r\n\r\ndata: d\r\n\r\n")
    assert [[event.data for event in decoder.feed(read)] for read in reads] == [["a"], ["b"], ["c", "d"]]
