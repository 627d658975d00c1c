"""What only looks like a call is none; a tool's name that is nearly right is told as unknown."""

from __future__ import annotations

import pytest

from embedded.look_alikes import LOOK_ALIKES, LookAlike, json_default, json_gemini, json_openai, sentinel, xml
from embedded.text_feeding import FORMATS, check_cuts, read_text


def test_there_are_enough_of_them_and_they_are_no_plain_calls() -> None:
    assert len({alike.text for alike in LOOK_ALIKES}) >= 200
    plain = {
        "xml": xml(),
        "sentinel": sentinel(),
        "json": json_default(),
        "json-openai": json_openai(),
        "json-gemini": json_gemini(),
    }
    assert not {*plain.values()} & {alike.text for alike in LOOK_ALIKES}
    for name, text in plain.items():
        assert read_text(name, [text]).calls == [("search", {"query": "x"})]


@pytest.mark.parametrize("format_", FORMATS)
def test_no_look_alike_is_a_call(format_: str) -> None:
    for alike in LOOK_ALIKES:
        for text in (alike.text, f"Here: {alike.text}\n", f"```\n{alike.text}\n```"):
            reading = read_text(format_, [text])
            assert reading.calls == [], alike
            assert reading.rebuilt == text


NEAR = [alike for alike in LOOK_ALIKES if alike.near]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_name_that_is_nearly_right_is_told(format_: str) -> None:
    for alike in NEAR:
        if alike.format == format_:
            reading = read_text(format_, [alike.text])
            assert reading.unknown == [alike.near], alike
            assert [part[0] for part in reading.outcome] == ["text"]


@pytest.mark.parametrize("alike", LOOK_ALIKES[::17], ids=lambda alike: ascii(alike.text)[:40])
def test_look_alikes_at_every_cut(alike: LookAlike) -> None:
    check_cuts(alike.format, f"a {alike.text} b")
