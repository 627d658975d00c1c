"""Hostile servers, several at once beside an honest one: each ends as it should, and the honest one never waits."""

from __future__ import annotations

import random

import pytest
from bench.trust import mcp_hostile
from bench.trust.mcp_hostile import HTTP_ONLY, Case, Ordeal, every_case, hostile_servers, ordeal

from over_mcp.hostile_kinds import KINDS
from toolwire.execution import attached
from toolwire.mcp import connection as connections

pytestmark = pytest.mark.thorough

ANSWER, LIMIT, TIMEOUT, LOST, REFUSED, ABSENT = "answer", "limit", "timeout", "lost", "refused", "not offered"

ON_CALL: list[dict[str, str]] = [
    {
        "endless_line": LIMIT,
        "endless_junk": LIMIT,
        "endless_blanks": LIMIT,
        "endless_error_output": ANSWER,
        "bad_utf8": ANSWER,
        "half_characters": ANSWER,
        "large": ANSWER,
        "same_keys": ANSWER,
        "wrong_shapes": REFUSED,
    },
    {
        "huge": LIMIT,
        "many_values": LIMIT,
        "wrong_parts": ANSWER,
        "many_parts": ANSWER,
        "wrong_error": REFUSED,
        "twice": ANSWER,
        "to_nobody": LIMIT,
        "stays": ANSWER,
    },
    {
        "progress": LIMIT,
        "pings": LIMIT,
        "samplings": LIMIT,
        "forms": LIMIT,
        "cancels": ANSWER,
        "roots": ANSWER,
        "our_ids": ANSWER,
        "insists": LIMIT,
        "dies_by_signal": LOST,
        "dies_after_half": LOST,
    },
]
ON_LIST = {
    "many_tools": ABSENT,
    "endless_pages": ABSENT,
    "same_page": ABSENT,
    "no_list": ABSENT,
    "twins": ANSWER,
    "strange_names": ANSWER,
    "strange_tools": ANSWER,
    "changes_each_time": ANSWER,
    "rug_pull": f"{ABSENT} changed",
    "dies": ABSENT,
}
ON_START = dict.fromkeys(("endless_line", "dies", "wrong_shapes", "notifications"), ABSENT)
SILENT = [
    *(Case(kind, "call") for kind in ("trickle", "silent", "wrong_ids", "stops")),
    *(Case(kind, "call", http=True) for kind in ("silent", "trickle", "mute")),
]
OVER_HTTP = {
    "endless_string": f"{LOST} {LIMIT} {TIMEOUT}",
    "endless_body": f"{LOST} {LIMIT} {TIMEOUT}",
    "endless_headers": f"{LOST} {LIMIT} {TIMEOUT}",
    "bomb": f"{LOST} {LIMIT} {TIMEOUT}",
    "turns": f"{REFUSED} {TIMEOUT}",
    "dies_after_half": LOST,
    "many_parts": ANSWER,
}
ON_AND_ON = {"endless_blanks": f"{LOST} {LIMIT} {TIMEOUT}", "progress": f"{LIMIT} {TIMEOUT}"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(mcp_hostile, "SLOWEST", 5.0)
    monkeypatch.setattr(attached, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(attached.Attached.close, "__defaults__", (0.1,))


async def met(expected: dict[str, str], when: str, *, http: bool = False, seconds: float = 6) -> Ordeal:
    """The ordeal with these, of which each is to end in one of its ways."""
    cases = {kind: Case(kind, when, http) for kind in expected}
    went = await ordeal(list(cases.values()), seconds=seconds, calls=1)
    assert went.faults() == []
    ended = {kind: went.met[case].whys for kind, case in cases.items()}
    assert {kind: whys for kind, whys in ended.items() if not set(whys) <= set(_ways(expected[kind]))} == {}
    assert all(len(whys) == 1 for whys in ended.values())
    return went


def _ways(words: str) -> list[str]:
    return [ABSENT, *words.replace(ABSENT, "").split()] if ABSENT in words else words.split()


@pytest.mark.parametrize("expected", ON_CALL, ids=["lines", "values", "messages"])
async def test_in_the_middle_of_a_call(expected: dict[str, str]) -> None:
    await met(expected, "call", seconds=20)


async def test_with_its_list_of_tools() -> None:
    went = await met(ON_LIST, "list")
    offered = {case.kind: each.offered for case, each in went.met.items()}
    assert offered["twins"] == ["echo"], "nobody could say which of the two was looked at"
    assert offered["rug_pull"] == ["other"]
    names = offered["strange_names"]
    assert len(set(names)) == len(names)
    assert all(name.isascii() and name.isprintable() for name in names)
    assert "sampling" not in names
    assert "annotated" in offered["strange_tools"]
    assert not {"long", "s5", "s7", "s12", "s13"} & set(offered["strange_tools"])


async def test_before_it_has_said_who_it_is() -> None:
    await met(ON_START, "start")


async def test_over_http() -> None:
    await met(OVER_HTTP, "call", http=True)


async def test_over_http_to_the_end_of_its_time() -> None:
    await met(ON_AND_ON, "call", http=True, seconds=1)


async def test_those_that_do_not_answer() -> None:
    absent = [Case("silent", "list"), Case("silent", "start"), Case("stops", "start")]
    went = await ordeal([*SILENT, *absent], seconds=0.5, calls=1)
    assert went.faults() == []
    assert {case: each.whys for case, each in went.met.items()} == {
        **{case: [TIMEOUT] for case in SILENT},
        **{case: [ABSENT] for case in absent},
    }


def test_every_kind_is_tried_by_the_figures() -> None:
    cases = every_case()
    assert len(set(cases)) == len(cases)
    assert {case.kind for case in cases} == {*KINDS, *HTTP_ONLY}


def test_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_hostile, "SECONDS", 0.5)
    found = hostile_servers(2, random.randrange(2**31))
    assert found.faults == []
    assert found.runs == 2
