"""The heavy proofs of calls in text: cuts, injections, look-alikes, hostile text, round trips, soups; on all cores."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from time import process_time
from typing import Any

import msgspec

from toolwire import TextStream
from toolwire.embedded.registry import text_format
from toolwire.errors import LimitExceeded

from .checks import Fault, check_text, same_events
from .payloads import READ
from .proofs import JOBS, Extent, Found, run_tests
from .text_fuzz import FAMILIES, TOOLS, calls, cases, random_pieces, read

# isort: split
from embedded.family_answers import family_round_trips
from embedded.family_soups import a_call, check_family_soup
from embedded.injections import INJECTIONS  # `text_fuzz` made the tests' modules findable
from embedded.look_alikes import LOOK_ALIKES
from embedded.prompt_attacks import LAYOUTS, PLACES, Attack, got_through, some_attacks
from embedded.random_calls import round_trips

READERS = ("xml", "json", "sentinel")
"""One format of each reader of those that Toolwire teaches: the other envelopes of JSON are read by the same."""
SHARE = 2_500
"""Answers of one piece of work."""
NEAR = 2.1
"""A growth that is measured again, up to six times in all: another process may have been in the way."""

# B1


def splits(format_: str, extent: Extent) -> Found:
    """The inputs of the format's data file: every cut in two, in three where short, at random, and every prefix."""
    found = Found(faults=[])
    texts = sorted(cases(format_), key=lambda case: len(case["input"]), reverse=True)
    with ProcessPoolExecutor(JOBS) as pool:
        for runs, faults in pool.map(partial(_cut, format_, extent=extent), texts, chunksize=2):
            found.bodies += 1
            found.runs += runs
            found.faults += faults
    for fault in found.faults[:20]:
        print(f"FAULT {fault}")
    return found


def _cut(format_: str, case: dict[str, Any], *, extent: Extent) -> tuple[int, list[str]]:
    text: str = case["input"]
    read_so = partial(read, format_, reasoning=case.get("reasoning", False), repair=case.get("repair", False))
    rng = random.Random(text)
    whole = {live: read_so([text], live=live) for live in (False, True)}
    made = calls(whole[False][1])
    runs = 0
    try:
        for events, stream in whole.values():
            check_text(text, events, stream, TOOLS)
        for pieces in _ways_to_cut(text, rng, extent):
            live = bool(runs % 2)
            runs += 1
            events, stream = read_so(pieces, live=live)
            if not same_events(events, whole[live][0]):
                raise Fault(f"other events for pieces of {[len(piece) for piece in pieces[:20]]}")
        for end in range(len(text)):
            runs += 1
            events, stream = read_so([text[:end]])
            check_text(text[:end], events, stream, TOOLS)
            if calls(stream) != made[: len(stream.invocations)]:
                raise Fault(f"the first {end} characters run what the whole does not")
    except Exception as error:
        return runs, [f"{format_} {text[:200]!r}: {error!r}"]
    return runs, []


def _ways_to_cut(text: str, rng: random.Random, extent: Extent) -> Iterator[list[str]]:
    yield list(text)
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]
    if len(text) <= extent.cut_in_three // 3:
        for one, other in combinations(range(1, len(text)), 2):
            yield [text[:one], text[one:other], text[other:]]
    for _ in range(extent.random_cuts):
        yield random_pieces(text, rng, one_by_one=0.0)


# B2, B4, prompts


def injections() -> tuple[int, int, int]:
    """How many strings, and the tests of every format and place that pass and fail with all of them."""
    return len(INJECTIONS), *run_tests("tests/embedded/test_injections.py")


def prompt_marks(each: int) -> tuple[int, int, list[str]]:
    """Layouts of prompts, attacks on them (so many on each at most), and those that changed the marks of one."""
    with ProcessPoolExecutor(JOBS) as pool:
        met = list(pool.map(partial(_prompt_marks, each=each), LAYOUTS))
    return len(LAYOUTS), sum(tried for tried, _ in met), [fault for _, faults in met for fault in faults]


def _prompt_marks(layout: str, *, each: int) -> tuple[int, list[str]]:
    tried = some_attacks(layout, each)
    tried += [Attack(attack.mark, attack.words, number % PLACES) for number, attack in enumerate(tried)]
    return len(tried), [f"{layout} {attack}: {through}" for attack in tried if (through := got_through(layout, attack))]


def look_alikes(formats: Sequence[str]) -> tuple[int, int, list[str]]:
    """How many texts, how often they were read, and those that were taken for a call or lost a character."""
    texts = sorted({alike.text for alike in LOOK_ALIKES})
    runs = 0
    faults: list[str] = []
    for format_ in formats:
        for text in texts:
            for dressed in (text, f"Here: {text}\n", f"```\n{text}\n```"):
                runs += 1
                events, stream = read(format_, [dressed])
                check_text(dressed, events, stream, TOOLS)
                if stream.invocations:
                    faults.append(f"{format_}: {dressed!r}")
    return len(texts), runs, faults


# B5

PATTERNS: dict[str, str] = {
    "openers of XML": '<tool name="search">',
    "openers without a name": "<tool ",
    "unclosed quotes": '<tool name="',
    "openers in an argument": '<tool name="search"><arg name="query">',
    "CDATA without end": '<tool name="search"><arg name="query"><![CDATA[',
    "angle brackets": "<",
    "near-markers": "<toolbox name='x'><tool_>[[SEG_STAR {\"tool\" ``",
    "openers of sentinel": "[[SEG_START ",
    "headers without end": '[[SEG_START {"type": "tool", "x": "',
    "square brackets": "[",
    "braces": "{",
    "openers of JSON": '{"tool": ',
    "nested arguments": '{"arguments": {',
    "lists of openers": '[{"name": "search", ',
    "JSON that is no call": '{"a": ["b", 1]} ',
    "code fences": "```json\n",
    "backticks": "`",
    "blanks": " \n\t",
    "a brace and blanks": "{" + " " * 100_000,
    "a tag and blanks": "<tool" + " " * 100_000,
    "a tag that is too long": "<tool a='" + "<" * 65_536,
}
"""What is repeated without end."""


def family_patterns(name: str) -> dict[str, str]:
    """The same for a family: beginnings of its calls, its marks, its reasoning that never ends."""
    rng = random.Random(name)
    call = max((a_call(FAMILIES[name], rng) for _ in range(10)), key=len)
    marks = text_format(name).marks
    made = {f"beginnings of calls, {part} of 6": call[: len(call) * part // 6] for part in range(1, 6)}
    made["all its marks"] = "".join(marks)
    made["its marks without their ends"] = "".join(mark[:-1] for mark in marks)
    made["first characters of marks"] = "".join(dict.fromkeys(mark[0] for mark in marks))
    think = FAMILIES[name].think
    if think is not None:
        made["reasoning"] = think[0]
        made["ends of reasoning"] = think[1]
    return made


class Hostile(msgspec.Struct):
    """One pattern in one format, of a size and of twice that."""

    format: str
    pattern: str
    size: int
    seconds: list[float]
    ends: str
    """How it ended: no error, or what a `LimitExceeded` said. Anything else is a fault, in words."""
    fault: str = ""

    @property
    def factor(self) -> float:
        """The time for twice the text; of what is over in a moment, nothing can be said."""
        return self.seconds[1] / self.seconds[0] if self.seconds[1] > 0.2 else 0.0


def hostile(size: int, formats: Sequence[str] = READERS) -> list[Hostile]:
    """Every pattern in every format, half of the size and all of it."""
    work = [(format_, name, size) for format_ in formats for name in _patterns(format_)]
    with ProcessPoolExecutor(JOBS) as pool:
        return list(pool.map(_hostile, *zip(*work, strict=True)))


def _patterns(format_: str) -> dict[str, str]:
    return family_patterns(format_) if format_ in FAMILIES else PATTERNS


def _hostile(format_: str, name: str, size: int) -> Hostile:
    met = Hostile(format_, name, size, [0.0, 0.0], "")
    pattern = _patterns(format_)[name]
    gc.freeze()  # else each look for garbage goes through all that the process was born with
    for _ in range(6):
        for number, part in enumerate((size // 2, size)):
            taken = _meet(met, (pattern * (part // len(pattern) + 1))[:part])
            met.seconds[number] = min(taken, met.seconds[number] or taken)
        if met.factor <= NEAR:
            break
    return met


def _meet(met: Hostile, text: str) -> float:
    stream = TextStream(met.format, TOOLS)
    started = process_time()
    try:
        for at in range(0, len(text), READ):
            stream.feed(text[at : at + READ])
        stream.close()
    except Exception as error:
        met.fault = repr(error)
    taken = process_time() - started
    met.ends = stream.error.message if stream.error is not None else ""
    if stream.invocations and met.format not in FAMILIES:
        met.fault = f"{len(stream.invocations)} calls"
    elif stream.error is not None and not isinstance(stream.error, LimitExceeded):
        met.fault = repr(stream.error)
    return taken


# The round trip


def round_trip(count: int, formats: Sequence[str]) -> dict[str, tuple[int, list[str]]]:
    """So many random calls in all, written and read back at random cuts: for each format how many, and the faults."""
    share = min(SHARE, -(-count // len(formats)))
    each = -(-count // (share * len(formats)))
    found: dict[str, tuple[int, list[str]]] = {format_: (0, []) for format_ in formats}
    work = [(format_, seed, share) for seed in range(each) for format_ in formats]
    with ProcessPoolExecutor(JOBS) as pool:
        for format_, faults in pool.map(_round_trips, work):
            runs, so_far = found[format_]
            found[format_] = (runs + share, so_far + faults)
    return found


def _round_trips(work: tuple[str, int, int]) -> tuple[str, list[str]]:
    format_, seed, count = work
    trips = family_round_trips if format_ in FAMILIES else round_trips
    return format_, trips(format_, 1_000 + seed, count)


# Soups


def soups(count: int, formats: Sequence[str]) -> dict[str, tuple[int, list[str]]]:
    """So many soups of marks in all, at random cuts and broken off: for each family how many, and the faults."""
    share = min(SHARE, -(-count // len(formats)))
    each = -(-count // (share * len(formats)))
    found: dict[str, tuple[int, list[str]]] = {format_: (0, []) for format_ in formats}
    work = [(format_, seed, share) for seed in range(each) for format_ in formats]
    with ProcessPoolExecutor(JOBS) as pool:
        for format_, faults in pool.map(_soups, work):
            runs, so_far = found[format_]
            found[format_] = (runs + share, so_far + faults)
    return found


def _soups(work: tuple[str, int, int]) -> tuple[str, list[str]]:
    format_, seed, count = work
    try:
        check_family_soup(format_, 1_000 + seed, count)
    except Exception as error:
        return format_, [f"{format_} {1_000 + seed}: {error!r}"]
    return format_, []
