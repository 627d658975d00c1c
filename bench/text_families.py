"""Calls as models were trained to write them: the time, how much is held back, and what others need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from toolwire import TextStream
from toolwire.embedded.registry import text_format

from .report import Verdict, table
from .text import DELTA, Timed, call_text, reading, timed, tools

FAMILIES = ("hermes", "qwen3-coder", "glm47", "deepseek-v32", "pythonic", "kimi-k2", "gemma4")
"""One of each kind: JSON between marks, tags around untyped and typed values, call expressions."""
SIZES = [2_000, 20_000, 200_000]
HELD = 20_000
"""Characters of the argument that is full of half marks."""

WORDS = f"""
The same in the syntaxes that models were trained on, one of each kind: `note(path, overwrite, content)`, deltas of
{DELTA} characters. Held back: the most characters that had come and were in no event yet, at any time while an
argument of {HELD // 1000} kB flowed that is full of beginnings of the family's own marks, fed character by character.
It must not be more than the family's longest mark.
"""
PEER_WORDS = f"""
What others need for such a call, `write_file(path, content)` in deltas of {DELTA} characters, in seconds of processor
time. These are published figures, **measured elsewhere**, on another machine: they show how the time grows, not how
machines compare. *Stopped*: after 40 s, having read the share in brackets. *Wrong*: other arguments than were written.
"""

_FIRST, _LAST = "The argument begins here. ", " It ends here."

PEERS: tuple[tuple[str, str, str, str, str], ...] = (
    ("vLLM (2026-08)", "hermes", "0.034", "0.609", "29.3"),
    ("vLLM (2026-08)", "qwen3_coder", "0.378", "35.1", "stopped (11 %)"),
    ("vLLM (2026-08)", "glm47", "0.204", "13.0", "stopped (18 %)"),
    ("vLLM (2026-08)", "dsml", "0.019", "0.636", "stopped (82 %)"),
    ("vLLM (2026-08)", "pythonic", "0.185", "13.6", "stopped (21 %)"),
    ("vLLM (2026-08)", "kimi_k2", "0.038", "0.386", "4.4"),
    ("vLLM 0.32.0", "hermes", "0.031", "0.537", "28.0"),
    ("vLLM 0.32.0", "qwen3_coder", "0.386", "29.8", "stopped (11 %)"),
    ("vLLM 0.32.0", "glm47", "0.161", "12.6", "stopped (19 %)"),
    ("vLLM 0.32.0", "dsml", "0.022", "0.903", "stopped (65 %)"),
    ("SGLang (2026-08)", "hermes", "0.198", "18.4", "stopped (15 %)"),
    ("SGLang (2026-08)", "qwen3_coder", "0.004", "0.073", "6.3"),
    ("SGLang (2026-08)", "glm47", "0.044", "3.2", "stopped (41 %)"),
    ("SGLang (2026-08)", "dsml", "0.099", "8.8", "stopped (20 %)"),
    ("SGLang (2026-08)", "pythonic", "0.057", "4.8", "stopped (30 %)"),
    ("SGLang (2026-08)", "kimi_k2", "0.005, wrong", "0.072, wrong", "5.5, wrong"),
    ("SGLang 0.5.23", "hermes", "0.160", "16.4", "stopped (16 %)"),
    ("SGLang 0.5.23", "qwen3_coder", "0.002", "0.057", "5.5"),
    ("SGLang 0.5.23", "dsml", "0.032", "1.2", "stopped (55 %)"),
    ("llama.cpp (C++)", "hermes", "0.012", "0.316", "21.0"),
    ("llama.cpp (C++)", "qwen3_coder", "0.014", "0.642", "stopped (67 %)"),
    ("llama.cpp (C++)", "glm47", "0.015", "0.705", "stopped (68 %)"),
    ("llama.cpp (C++)", "dsml", "0.027", "1.2", "stopped (67 %)"),
    ("llama.cpp (C++)", "kimi_k2", "0.009", "0.306", "17.3"),
)
"""Whose parser, its name there, and the seconds for 2, 20 and 200 kB."""


class Held(msgspec.Struct, frozen=True):
    """How much of an argument was held back."""

    format: str
    most: int
    longest_mark: int


def time_families(formats: Sequence[str] = FAMILIES) -> list[Timed]:
    """One call of each size in each family."""
    made: list[Timed] = []
    for format_ in formats:
        for name, live in (("a call", False), ("a call, live arguments", True)):
            texts = [call_text(format_, "note", size) for size in SIZES]
            steps = [reading(format_, text, calls=1, live=live) for text in texts]
            made.append(timed(format_, name, texts, steps))
    return made


def hold_backs(formats: Sequence[str] = FAMILIES) -> list[Held]:
    """The most that was held back in each family."""
    return [hold_back(format_) for format_ in formats]


def hold_back(format_: str) -> Held:
    """Feeds a call with an argument full of half marks, character by character."""
    marks = text_format(format_).marks
    halves = "".join(f"{mark[:-1]}x {mark[: len(mark) // 2]}. " for mark in marks)
    content = f"{_FIRST}{(halves * (HELD // len(halves) + 1))[:HELD]}{_LAST}"
    arguments = {"path": "a", "overwrite": True, "content": content}
    text = text_format(format_).write_call("note", arguments, tools().get("note"))
    flows = range(text.index(_FIRST) + len(_FIRST), text.index(_LAST) + len(_LAST))
    stream = TextStream(format_, tools())
    given = most = 0
    for fed, character in enumerate(text, 1):
        given += sum(len(event.delta) for event in stream.feed(character))
        if fed in flows:
            most = max(most, fed - given)
    stream.close()
    if [invocation.arguments for invocation in stream.invocations] != [arguments]:
        raise AssertionError(f"{format_}: the call was not read")
    return Held(format_, most, max(map(len, marks)))


def held_table(held: Iterable[Held]) -> str:
    """A row for each."""
    rows = [[one.format, str(one.most), str(one.longest_mark)] for one in held]
    return table(["", "most held back", "longest mark"], rows)


def peer_table() -> str:
    """What others need."""
    return table(["measured elsewhere", "its parser", "2 kB", "20 kB", "200 kB"], PEERS)


def held_verdicts(held: Iterable[Held]) -> list[Verdict]:
    """No more than the longest mark."""
    return [
        Verdict(
            f"{one.format}: at most {one.most} characters of an argument held back, target {one.longest_mark}",
            one.most <= one.longest_mark,
        )
        for one in held
    ]
