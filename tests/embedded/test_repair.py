"""Repair, where it is asked for: what models get wrong in JSON is mended and told; what is cut off never is."""

from __future__ import annotations

import random
from typing import Any

import pytest

from embedded.text_feeding import check_cuts, check_truncated, random_pieces, read_text

COMMA = "a trailing comma was left out"
SINGLE = "single quotes became double ones"
MISSING = "a closing bracket was missing"
RAW = "a line end or other raw character in a string was escaped"

CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ('{"name": "search", "arguments": {"query": "x",}}', {"query": "x"}, [COMMA]),
    ('{"name": "search", "arguments": {"query": "x"},}', {"query": "x"}, [COMMA]),
    ('{"name": "search", "arguments": {"query": "x"}', {"query": "x"}, [MISSING]),
    ('{"name": "search", "arguments": {"query": "x"', {"query": "x"}, [MISSING]),
    ('{"name": "search", "arguments": {"query": "x",', {"query": "x"}, [COMMA, MISSING]),
    ('{"name": "search", "arguments": {"query": "x"},', {"query": "x"}, [COMMA, MISSING]),
    ('{"name": "search", "arguments": {"query": "a\nb\tc"}}', {"query": "a\nb\tc"}, [RAW]),
    ('{"name": "search", "arguments": {"query": \'it\\\'s "x"\'}}', {"query": 'it\'s "x"'}, [SINGLE]),
    ("{'name': 'search', 'arguments': {'query': 'x'}}", {"query": "x"}, [SINGLE]),
    ("{'name': 'ping', 'arguments': None}", {}, [SINGLE, "None became null"]),
    ("{'name': 'ping', 'id': 'a', 'arguments': {}, 'more': 'b',}", {}, [SINGLE, COMMA]),
    ('{"name": "search", "arguments": {"query": "x", "exact": True}}', {"query": "x", "exact": True}, ["True became"]),
    ('{"name": "search", "arguments": {"query": "x", "limit": +5}}', {"query": "x", "limit": 5}, ["+5 became 5"]),
    ('{"name": "search", "arguments": {"query": "\\d+ \\\'a\\\'"}}', {"query": "\\d+ 'a'"}, ["an escape that JSON"]),
    ('{"name": "book", "arguments": {"cabin": "economy", "tags": ["a"', {"cabin": "economy", "tags": ["a"]}, [MISSING]),
]


def call(json: str, end: str = "</tool_call>") -> str:
    return f"Well:\n<tool_call>\n{json}\n{end} and on"


@pytest.mark.parametrize(("json", "arguments", "repairs"), CASES)
def test_what_is_mended_is_told(json: str, arguments: dict[str, Any], repairs: list[str]) -> None:
    text = call(json)
    reading = check_cuts("hermes", text, repair=True)
    assert [told for _, told in reading.calls] == [arguments]
    (invocation,) = reading.stream.invocations
    assert len(invocation.repairs) == len(repairs)
    for told, words in zip(invocation.repairs, repairs, strict=True):
        assert told.startswith(words)
        assert 0 < int(told.rpartition("at character ")[2].rstrip(")")) <= text.index("</tool_call>")
    ends = [event.metadata["repairs"] for event in reading.events if event.metadata and "repairs" in event.metadata]
    assert ends == [list(invocation.repairs)]
    check_truncated("hermes", text, repair=True)


@pytest.mark.parametrize("json", [json for json, _, _ in CASES])
def test_nothing_is_mended_unless_it_is_asked_for(json: str) -> None:
    reading = check_cuts("hermes", call(json))
    assert not reading.calls
    assert not any("repairs" in (event.metadata or {}) for event in reading.events)


@pytest.mark.parametrize("json", [json for json, _, _ in CASES])
def test_what_is_cut_off_stays_broken(json: str) -> None:
    for end in range(len(json.rstrip(",}"))):
        assert not read_text("hermes", [f"<tool_call>\n{json[:end]}"], repair=True).calls


@pytest.mark.parametrize(
    "json",
    [
        '{"name": "search", "arguments": {"query": @}}',
        '{"name": "search", "arguments": {"query"}}',
        '{"name": "search", "arguments": {"query":',
        '{"name": "search", "arguments": {"query": "x" "limit": 1}}',
        '{"name": "search", "arguments": {"query": "x}}',
        '{"name": "search", "arguments": ["x"]}',
        '{"name" "search"}',
        "{'name': 'search', 'arguments': 'x'}",
        "{'name': 'sear",
    ],
)
def test_what_cannot_be_mended(json: str) -> None:
    good = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    reading = check_cuts("hermes", f"{call(json)} {good}", repair=True)
    assert [name for name, _ in reading.calls] in (["ping"], [])
    assert not any(invocation.repairs for invocation in reading.stream.invocations)


def test_valid_json_passes_as_it_stands() -> None:
    raw = '{ "cabin" : "economy",\n "price":12345678901234567890.10, "tags": [ ], "zip":"\\u00e9\\/" }'
    reading = check_cuts("hermes", f'<tool_call>{{"name": "book", "arguments": {raw}}}</tool_call>', repair=True)
    (invocation,) = reading.stream.invocations
    assert invocation.repairs == ()
    assert invocation.raw_arguments == raw


def test_an_unknown_tool_stays_text() -> None:
    text = call("{'name': 'nope', 'arguments': {'a': 1,}}")
    good = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    reading = check_cuts("hermes", text + good, repair=True)
    assert reading.unknown == ["nope"]
    (invocation,) = reading.stream.invocations
    assert invocation.repairs == ()


@pytest.mark.parametrize("seed", range(3))
def test_spoiled_calls_at_any_cut(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        json = rng.choice(CASES)[0]
        at = rng.randrange(len(json))
        json = json[:at] + rng.choice(("", "'", '"', "\\", ",", "}", "{", "</tool_call>", "\n")) + json[at + 1 :]
        text = call(json) + call(rng.choice(CASES)[0])
        whole = read_text("hermes", [text], repair=True)
        cut = read_text("hermes", random_pieces(text, rng, 9), repair=True)
        assert cut.outcome == whole.outcome
        assert cut.rebuilt == text
        assert [one.repairs for one in cut.stream.invocations] == [one.repairs for one in whole.stream.invocations]
        end = rng.randrange(len(text))
        half = read_text("hermes", [text[:end]], repair=True)
        assert half.calls == whole.calls[: len(half.calls)], (text, end)
