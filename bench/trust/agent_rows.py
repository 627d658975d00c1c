"""What is promised of the agent's loop: each promise with how it is tried, and how often."""

from __future__ import annotations

from . import (
    compaction,
    embedded_runs,
    histories,
    hooked,
    interrupts,
    many_runs,
    nested,
    network,
    replays,
    sessions,
    walks,
)
from .approval_rows import Row

ROWS = (
    Row(
        "Recorded conversations walked to their end",
        "a server on loopback gives the recorded answers of all seven wire formats, and the agent walks each chain "
        "with the recorded tools: the calls that ran are those that the recording clients echoed, each follow-up "
        "request is theirs under named rules, and the run ends with the recorded words",
        100_000,
        walks.walks,
    ),
    Row(
        "The embedded model with a real tool",
        "a real model reads a file with the built-in read_file, and tells the words that it found there",
        10,
        embedded_runs.embedded_runs,
    ),
    Row(
        "D4 histories repaired",
        "random histories (calls without results, results without calls, doubled, out of order, answers cut at random "
        "bytes, of other providers, compacted) encoded for all seven wires and one stricter service each, against "
        "rules written from the providers' documentation; repaired twice, they are as repaired once",
        100_000,
        histories.histories_repaired,
    ),
    Row(
        "D4 a shortened conversation is still one",
        "random conversations with calls, results, media and signed reasoning of all wires, in windows too small for "
        "them: after making room every rule of all seven wires holds, every call has its result, answers, system "
        "messages and the last question are as they were, fewer tokens are left, and a second time changes nothing",
        20_000,
        compaction.conversations_shortened,
    ),
    Row(
        "Interrupts at any moment",
        "runs on all wires, interrupted while connecting, streaming, waiting for a retry, a preview, a person, or "
        "tools (threads, deaf coroutines, programs that ignore SIGTERM): by interrupt(), cancellation, closing, "
        "hooks, Ctrl-C. Each returns within a second; no process after 5 s, no task, no connection is left; late "
        "results are dropped; every provider takes the history, and the next run ends well",
        1_000,
        interrupts.interrupts,
    ),
    Row(
        "D2 agents that call agents",
        "random trees of agents, interrupted, cancelled, closed, timed out or out of time at a random moment: at every "
        "level one result for each call, nothing runs twice or on, every agent is closed, no task is left",
        1_000,
        nested.nested,
    ),
    Row(
        "Hooks narrow and lose nothing",
        "runs, 1,000 at once, with hooks that fail, wait, say no, change what they are given and interrupt at random "
        "places, and readers that leave: one end told to everyone, no forbidden or changed call runs, every call has "
        "its result, no span stays open or hangs in a wrong place",
        5_000,
        hooked.hooked,
    ),
    Row(
        "G1 kill -9 at every write",
        "a run with a session, killed before and after each commit, killed again while it is resumed, then resumed to "
        "the end: each effect at most once, no finished result lost, what is unknown is said, every provider takes the "
        "history",
        0,
        sessions.killed,
    ),
    Row(
        "G1 kill -9 at any moment",
        "the same, killed from outside at random moments, half of the runs interrupted too",
        200,
        sessions.killed_anywhere,
    ),
    Row(
        "G1 long sessions",
        "a session with so many entries is resumed in less than a second; what a write costs",
        10_000,
        sessions.long_sessions,
    ),
    Row(
        "G2 damaged sessions",
        "bits flipped, blocks zeroed, files cut, the log too: a session has its first entries exactly, or a typed "
        "error",
        6_000,
        sessions.damaged,
    ),
    Row(
        "G2 writes that fail",
        "every statement of every write of a run fails (disk full, I/O error), before or after it was done: the run "
        "ends with SessionFailed, nothing is told that is not written, and the session is resumed to its end",
        0,
        sessions.failing_writes,
    ),
    Row(
        "G3 a replay is the run",
        "recordings of random conversations over every wire, with calls in text, refusals, cut connections, answers of "
        "a person, interrupts, each played 20 times at other cuts and once on each other Python: the same events, the "
        "same requests",
        60,
        replays.replays,
    ),
    Row(
        "G4 many runs in one process",
        "runs that are open at the same time, each with its own agent, slow answers and a call of read_file in the "
        "middle",
        1_000,
        many_runs.many_runs,
    ),
    Row(
        "G5 a reader that takes its time",
        "seconds in which an event a second is taken from a server that sends as fast as it can: memory stays, the "
        "server has to wait, and no event is lost",
        10,
        many_runs.slow_reader,
    ),
    Row(
        "G6 a network that fails",
        "a server on loopback resets, stalls, hangs up, ends the body too early, sends noise or refuses (429, 500, "
        "503, 529, no HTTP) at each event of every wire's answers and at random bytes: the right answer or the right "
        "error, no request again of which something had come, each tool once, pauses kept that were asked for, and a "
        "history that goes on by the provider's rules",
        3_000,
        network.network_faults,
    ),
)
