"""The benchmarks' own arithmetic: a target that is missed must be said to be missed."""

from __future__ import annotations

import ast

import pytest
from bench import agent_run
from bench.loopback.answers import bodies, chunked, frames, held_halves
from bench.loopback.contenders import CONTENDERS, FLOOR, OURS
from bench.loopback.race import Reading, race_table, race_verdicts
from bench.memory import MANY, Crowd, Weight, memory_verdicts
from bench.payloads import ROOT, payloads
from bench.text import Timed, call_table, plain_table, text_verdicts
from bench.text_families import Held, held_table, held_verdicts, peer_table
from bench.wires import SUBJECTS


def reading(name: str, micros: float | None, times: float = 0.0) -> Reading:
    seconds = None if micros is None else micros * 1000 / 1e6
    return Reading("anthropic", "text", name, times, 1000, seconds, "1.0")


@pytest.mark.parametrize(("micros", "holds"), [(19.9, False), (20.0, True), (50.0, True)])
def test_a_peer_that_is_too_near_is_a_miss(micros: float, holds: bool) -> None:
    readings = [reading(FLOOR, 1.0), reading(OURS, 2.0), reading("sdk", micros, 10.0)]
    (verdict,) = race_verdicts(readings)
    assert verdict.holds is holds


def test_a_peer_that_is_not_there_is_a_row_and_no_verdict() -> None:
    readings = [reading(FLOOR, 1.0), reading(OURS, 2.0), reading("sdk", None, 10.0)]
    assert race_verdicts(readings) == []
    assert "| not installed |" in race_table(readings, "anthropic")
    assert "| **2.00** | **2.0** | **1.0** |" in race_table(readings, "anthropic")


@pytest.mark.parametrize(
    ("complete", "own", "holds"),
    [(MANY, 9_000, [True, True]), (MANY - 1, 9_000, [False, True]), (MANY, 10_001, [True, False])],
)
def test_a_crowd_is_complete_and_light_or_it_is_a_miss(complete: int, own: int, holds: list[bool]) -> None:
    bare = Crowd(MANY, 5_000_000, 5_000_000 + MANY * 20_000)
    ours = Crowd(complete, 5_000_000, 5_000_000 + MANY * (20_000 + own))
    assert [verdict.holds for verdict in memory_verdicts(ours, bare, [])] == holds


def test_the_answer_itself_is_not_toolwires_own_part() -> None:
    heavy, light = Weight("gemini", "text", 12_000, 1_500), Weight("gemini", "text", 12_000, 2_500)
    free = Weight("gemini", "long calls", 50_000, 1, aimed=False)
    assert [verdict.holds for verdict in memory_verdicts(None, None, [heavy, light, free])] == [False, True]


@pytest.mark.parametrize(
    ("seconds", "holds"),
    [
        ([0.002, 0.02, 0.2], [True, True]),
        ([0.002, 0.02, 0.25], [False, True]),
        ([0.002, 0.025, 0.2], [False, True]),
        ([0.006, 0.06, 0.5], [True, False]),
    ],
)
def test_calls_in_text_are_linear_and_quick_or_it_is_a_miss(seconds: list[float], holds: list[bool]) -> None:
    floor, call = Timed("", "join", [0.001, 0.02, 0.9], 50_000), Timed("xml", "a call", seconds, 50_000)
    assert [verdict.holds for verdict in text_verdicts([floor, call], [])] == holds
    assert f"| {seconds[-1] * 1000:.2f} ms | {seconds[-1] * 20:.2f} |" in call_table([floor, call])


def test_prose_alone_has_a_target_in_microseconds_per_delta() -> None:
    quick, slow = Timed("xml", "prose", [0.75], 250_000), Timed("json", "prose", [0.76], 250_000)
    free = Timed("xml", "Markdown and code", [9.0], 250_000)
    assert [verdict.holds for verdict in text_verdicts([], [quick, slow, free])] == [True, False]
    assert "| 0.75 s | 3.00 |" in plain_table([quick])


@pytest.mark.parametrize(("alone", "kept", "holds"), [(2.5, 3.0, [True, True]), (2.6, 2.9, [False, True])])
def test_a_run_costs_little_more_than_its_stream_or_it_is_a_miss(alone: float, kept: float, holds: list[bool]) -> None:
    per_event = {agent_run.FLOOR: 0.5, agent_run.BARE: 2.0, agent_run.RUN: 2 * alone, agent_run.RUN_SESSION: 2 * kept}
    timing = agent_run.AgentTiming("anthropic", per_event)
    assert [verdict.holds for verdict in agent_run.agent_verdicts([timing])] == holds
    assert f"| {2 * alone:.2f} | {alone:.2f} | {4 * alone:.1f} |" in agent_run.agent_table([timing])


def test_runs_are_timed_to_their_end() -> None:
    pytest.importorskip("orjson", reason="orjson is not installed: make test-all installs it")
    timings = agent_run.time_runs(list(SUBJECTS), deltas=20, rounds=1)
    assert [timing.wire for timing in timings] == list(agent_run.MODELS)
    assert all(len(timing.per_event) == 5 for timing in timings)


def test_the_server_sends_each_answer_whole_an_event_a_chunk() -> None:
    for wire in SUBJECTS:
        made = dict(bodies(wire))
        assert set(made) == {"text", "calls"}, wire
        for kind, body in made.items():
            parts = frames(wire, body)
            assert b"".join(parts) == body, (wire, kind)
            assert len(parts) - len(payloads(body)) in (0, 1), (wire, kind)  # one more: the mark of the end
    assert chunked([b"ab", b"c" * 16]) == b"2\r\nab\r\n10\r\n" + b"c" * 16 + b"\r\n"
    assert all(held_halves())


def test_every_contender_has_its_reader() -> None:
    folder = ROOT / "bench" / "loopback"
    for contender in CONTENDERS:
        module, _, function = contender.place.partition(":")
        tree = ast.parse((folder / f"{module}.py").read_text())
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, contender
    assert {contender.wire for contender in CONTENDERS if contender.name == OURS} == set(SUBJECTS)


@pytest.mark.parametrize(("most", "holds"), [(0, True), (16, True), (17, False)])
def test_more_held_back_than_the_longest_mark_is_a_miss(most: int, holds: bool) -> None:
    (verdict,) = held_verdicts([Held("hermes", most, 16)])
    assert verdict.holds is holds
    assert f"| hermes | {most} | 16 |" in held_table([Held("hermes", most, 16)])


def test_figures_of_others_are_said_to_be_theirs() -> None:
    assert peer_table().startswith("| measured elsewhere |")
