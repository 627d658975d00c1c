"""What is promised of durable runs: each promise with how it is tried, and how often."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from bench.trust import Found

from . import answers, fanned, followers, frozen, kills, load, restarts, resumed, silent, steered
from .places import KINDS

Try = Callable[[int, int], Found]


class Row(NamedTuple):
    """One promise on one database: its part, what it says, how it is tried, how often, and how often in a quick run."""

    part: str
    title: str
    how: str
    tries: int
    quick: int
    run: Try


class _Promise(NamedTuple):
    part: str
    title: str
    how: str
    tries: int
    quick: int
    run: Callable[[str, int, int], Found]

    def on(self, kind: str) -> Row:
        name = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[kind]
        return Row(self.part, f"{self.title}: {name}", self.how, self.tries, self.quick, partial(self.run, kind))


_PROMISES = (
    _Promise(
        "kills",
        "kill -9 at every step boundary",
        "one run with parallel calls, effects, a slow tool, one that fails, one that may be repeated, one that asks a "
        "person: its worker kills itself before and after every commit of ours and the engine's, every request, every "
        "answer and every tool's work, each in a trial of its own; another worker (killed too, in a third of the "
        "trials) ends the run. No effect twice, what is unknown is said and not repeated, every recorded step and "
        "every result stays as it was, requests sent again are the same, and a reader's events are those of the log",
        0,
        12,
        kills.every_moment,
    ),
    _Promise(
        "random",
        "kill -9 at any moment",
        "2 to 4 workers, 3 to 6 runs at once, workers killed at random moments and replaced: the same must hold",
        200,
        4,
        kills.any_moment,
    ),
    _Promise(
        "deploys",
        "workers ended in good order at any moment",
        "SIGTERM while they work, and others in their place: steps end first, so that each effect is done exactly once "
        "and nothing is unknown",
        18,
        6,
        kills.deploys,
    ),
    _Promise(
        "frozen",
        "SIGSTOP past the lease, then SIGCONT",
        "a worker freezes itself at such moments; another takes the run over and ends it; the first is woken: the run, "
        "its events, its records and its effects stay as they are, and the worker that was woken works again",
        3,
        40,
        frozen.every_moment,
    ),
    _Promise(
        "answers",
        "approvals from another process",
        "the worker dies while its run waits; a process of its own says yes, no, says it for another call, twice, or "
        "two say both at once: an answer holds once and for the exact call, and the next worker goes by it",
        36,
        6,
        answers.answered,
    ),
    _Promise(
        "answers",
        "whoever answers is killed",
        "at every moment of it; the run goes on by the answer, or asks again where none came through",
        0,
        1,
        answers.answerer_killed,
    ),
    _Promise(
        "answers",
        "whoever submits is killed",
        "at every moment of it: there is no run, or it is worked on",
        0,
        1,
        answers.submitter_killed,
    ),
    _Promise(
        "load",
        "many runs over four workers",
        f"runs of {load.STEPS} steps (3 requests, 3 calls), eight at a time in each worker, on a disk with fsync; the "
        "model and the tools take no time, so that all of it is overhead",
        1_000,
        40,
        load.many_runs,
    ),
    _Promise(
        "followers",
        "readers across kills",
        "20 readers of 4 runs, half of whom leave and come back at their last position, while workers are killed: each "
        "event once and in order, and in the end what everyone sees",
        4,
        1,
        followers.read_across_kills,
    ),
    _Promise(
        "fanned",
        "one run with fifty sub-agents",
        "over four workers of which one is killed each second: every task is done once, and the answers come in the "
        "order of the tasks",
        2,
        1,
        fanned.gathered,
    ),
    _Promise(
        "resumed",
        "a run with 10,000 events is taken up in less than a second",
        "it waits for an answer, and no worker holds it: from the answer to the work of the tool",
        10_000,
        1_000,
        resumed.long_run,
    ),
    _Promise(
        "resumed",
        "all replays ask for the same",
        "forks of one run from its last step replay its record: the bytes of their next request are the same",
        100,
        5,
        resumed.same_requests,
    ),
    _Promise(
        "steered",
        "paused, resumed, cancelled, forked at any moment",
        "six runs at once, two workers, one killed now and then: a run that stands still does nothing, goes on when it "
        "is resumed, and ends well; so do forks; no effect of a run twice",
        30,
        3,
        steered.steered,
    ),
    _Promise(
        "steered",
        "other versions keep their hands off",
        "a run whose worker died, and workers of another format, of another version of the agent, and of one that "
        "accepts the older: untouched, refused with reasons, finished",
        6,
        1,
        steered.versions,
    ),
)

ROWS = (
    *(promise.on(kind) for promise in _PROMISES for kind in KINDS),
    Row(
        "restarts",
        "PostgreSQL restarted under load",
        "stopped as in a crash or in good order while three workers work on eight runs, and started at once, later, or "
        "after all leases are over: the same must hold as after kills",
        12,
        1,
        restarts.restarted,
    ),
    *(
        Row(
            "silent",
            f"PostgreSQL {version} falls silent",
            "for 20 s, 60 s and 10 min: a proxy swallows everything, answers only, all but the lease, new connections "
            "only, established ones only, or a network drops every packet, while two workers have eight runs; one of "
            "them is ended by SIGTERM, the other comes back: the same must hold as after kills",
            600,
            20,
            partial(silent.fell_silent, programs),
        )
        for version, programs in silent.versions()
    ),
)
PARTS = tuple(dict.fromkeys(row.part for row in ROWS))
