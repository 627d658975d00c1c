"""Between two reads a stream keeps the answer and a little state, never the bytes that it has taken."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from bench.wires import SUBJECTS

from toolwire import Stream

STREAMS = 20


@pytest.mark.thorough
@pytest.mark.parametrize("wire", SUBJECTS)
def test_what_was_read_is_let_go(wire: str) -> None:
    make = SUBJECTS[wire].text_answer
    assert make is not None
    body = make(200)
    read = body[: len(body) * 9 // 10]

    def half_read() -> Stream:
        stream = Stream(wire)
        stream.feed(read)
        return stream

    kept = [half_read()]  # what all share is made by the first
    text = kept[0].summary()["text"]
    assert text
    gc.collect()
    tracemalloc.start()
    try:
        kept += [half_read() for _ in range(STREAMS)]
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] / STREAMS
    finally:
        tracemalloc.stop()
    assert held < 10_000 + 4 * len(text)  # four bytes a character, for the emoji in it
