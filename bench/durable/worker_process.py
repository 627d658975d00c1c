"""One worker process of these proofs, forked where everything is imported already."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec

from toolwire import Agent
from toolwire.durable import dbos_engine, lease, ledger, records
from toolwire.durable.attempt import DurableAgent
from toolwire.durable.fanout import sub_agents
from toolwire.durable.lease import Timing
from toolwire.durable.rates import Rate
from toolwire.durable.records import RunSpec
from toolwire.durable.worker import Worker
from toolwire.durable.workplace import Workplace

from .moments import Moment, Moments, no_moment, tally_commits, watch_commits
from .subject import AGENT, Records, make_agent

QUICK = Timing(beat=0.1, own=0.8, dead=1.2)
"""So that nobody waits long for the death of a worker, and a busy machine does not kill one."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker process is to do."""

    url: str
    folder: str
    """Of the records."""
    at: int = 0
    """Of all its moments, the one at which it is killed. 0: none, and they are not counted either."""
    freeze: bool = False
    """Stopped, not killed."""
    count: bool = False
    """The moments are counted, whatever `at` is."""
    tally: bool = False
    """All commits are counted, and written down at the end with the processor's time."""
    concurrency: int = 8
    timing: Timing = QUICK
    patience: float = 0.3
    version: str = "1"
    accepts: list[str] = []
    format: int = 0
    """Of the program: another than ours stands for a program that writes and reads other records. 0: ours."""
    rates: dict[str, Rate] = {}
    namespace: str = ""
    """The network that it works in."""
    life: int = 300
    """Seconds after which it ends in any case."""


def work(encoded: bytes) -> None:
    """The life of the process: until SIGTERM."""
    job = msgspec.json.decode(encoded, type=Job)
    signal.alarm(job.life)
    if job.namespace:
        from .silent import enter

        enter(job.namespace)
    folder = Path(job.folder)
    output = os.open(folder / f"{os.getpid()}.log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.register(signal.SIGUSR1)
    moment: Moment = no_moment
    if job.at or job.count:
        moment = Moments(folder / f"{os.getpid()}.moments", at=job.at, freeze=job.freeze)
        watch_commits(moment)
    tally: Counter[str] = Counter()
    if job.tally:
        tally_commits(tally)
    if job.format:
        for module in (records, lease, ledger, dbos_engine):
            vars(module)["FORMAT"] = job.format
        vars(dbos_engine)["VERSION"] = f"toolwire-{job.format}"
    files = Records(folder)

    def make(spec: RunSpec, place: Workplace) -> Agent:
        starts = [sub_agents(place, agent=AGENT, options={"plan": "short", "tool": 0.05}, risk="read")]
        more = starts if spec.options.get("plan") == "many" else []
        return make_agent(place.run, spec.options, files, moment, person=place.person, steps=place.steps, more=more)

    async def main() -> None:
        worker = Worker(
            job.url,
            [DurableAgent(AGENT, make, job.version, frozenset(job.accepts))],
            concurrency=job.concurrency,
            rates=job.rates,
            timing=job.timing,
            patience=job.patience,
            tell=lambda words: print(words, file=sys.stderr, flush=True),
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()

    asyncio.run(main())
    if job.tally:
        tally["milliseconds"] = round(time.process_time() * 1000)
        (folder / f"{os.getpid()}.tally").write_bytes(msgspec.json.encode(tally))
