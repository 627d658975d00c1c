"""Output as bounded text: the same whatever the cuts, with an exact count of what is missing."""

from __future__ import annotations

import random

from toolwire.execution.captured import Captured

TEXT = "aé€😀\nz"


def captured(pieces: list[bytes], limit: int) -> Captured:
    output = Captured(limit)
    for piece in (*pieces, b""):
        output.feed(piece)
    return output


def plain(text: str, limit: int) -> tuple[str, int]:
    """The same, said in the simplest way."""
    cut = max(0, len(text) - limit)
    if not cut:
        return text, 0
    head = limit * 3 // 4
    return f"{text[:head]}\n[… {cut:,} characters cut …]\n{text[head + cut :]}", cut


def test_a_text_is_the_same_whatever_the_cuts_and_limits() -> None:
    rng = random.Random(1)
    for _ in range(3_000):
        text = "".join(rng.choices(TEXT, k=rng.randrange(40)))
        data = text.encode()
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(6)))
        pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if start < end]
        limit = rng.randrange(1, 45)
        output = captured(pieces, limit)
        assert (output.text, output.cut) == plain(text, limit)


def test_bad_bytes_are_replaced_as_python_does_it() -> None:
    rng = random.Random(2)
    for _ in range(1_000):
        data = bytes(rng.choices(b"\x80\xc3\xa9\xe2\x82\xf0\x9f\xff\xed\xa0a", k=12))
        single = [data[at : at + 1] for at in range(len(data))]
        assert captured(single, 100).text == data.decode("utf-8", "replace")


def test_what_watches_sees_all_of_the_text_until_it_raises() -> None:
    seen: list[str] = []
    output = Captured(4, seen.append)
    for byte in TEXT.encode() * 10:
        output.feed(bytes([byte]))
    output.feed(b"")
    assert "".join(seen) == TEXT * 10

    def refuse(text: str) -> None:
        seen.append(text)
        raise ValueError(text)

    seen.clear()
    output = Captured(100, refuse)
    output.feed(b"one")
    output.feed(b"two")
    assert (seen, str(output.error), output.text) == (["one"], "one", "onetwo")
