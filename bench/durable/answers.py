"""Approvals answered from other processes while nobody works on the run: they hold, once, and for the exact call."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import msgspec

from bench.trust import Found
from toolwire.approval.request import Answer
from toolwire.durable.records import RunInfo, RunState
from toolwire.errors import ToolwireError

from .clients import Reply, Submission, reply, submit
from .crew import Crew, TooLate, forks
from .places import Places
from .trials import Trial, answers, many, trial

MOST = 30
"""More moments than an answer has."""


def answered(kind: str, count: int, seed: int) -> Found:
    """`count` runs whose worker is killed while they wait, answered with yes, no, for another call, twice, by two."""
    found = Found()
    rng = random.Random(seed)
    done: Counter[str] = Counter()
    kinds = ("yes", "no", "another call", "twice", "two at once", "yes, parked")
    with Places(kind) as places:

        async def one(number: int) -> bool:
            what = kinds[number % len(kinds)]
            with places.new() as place:
                async with trial(place) as made:
                    try:
                        words = await _case(made, what, rng)
                    except TooLate as error:
                        words = [str(error)]
            found.runs += 1
            done[what] += 1
            for fault in words:
                found.fault(f"{kind}, {what}: {fault}")
            return True

        asyncio.run(many(one, iter(range(count))))
    found.words = ", ".join(f"{times} × {what}" for what, times in done.items())
    return found


async def _case(made: Trial, what: str, rng: random.Random) -> list[str]:
    run = await made.submit("asked")
    first = made.crew.start()
    await _asks(made, run.id)
    if what == "yes, parked":
        await _state(made, run.id, RunState.WAITING)
    else:
        await asyncio.sleep(rng.choice((0.0, 0.0, 0.1, 0.3, 0.6)))
    made.crew.kill(first)
    await made.crew.gone(first)
    words = []
    question = (await made.runs.questions(run.id))[0]
    allowed = True
    if what == "another call":
        if await _reply(made, run.id, digest="0" * 64) != 3:
            words.append("an answer for another call was taken")
        if len(await made.runs.questions(run.id)) != 1:
            words.append("the question is gone after an answer for another call")
    elif what == "two at once":
        codes = await asyncio.gather(_reply(made, run.id, allowed=True), _reply(made, run.id, allowed=False))
        if sorted(codes) not in ([0, 3], [0, 0]):
            words.append(f"two answers at once gave {codes}")
        # One that came so late that nothing was asked any more has nothing to say.
        allowed = await _is_allowed(made, run.id, question.id)
    elif what == "no":
        allowed = False
    if what != "two at once" and (code := await _reply(made, run.id, allowed=allowed)):
        words.append(f"the answer was refused: {code}")
    if what == "twice" and await _reply_to(made, run.id, question.id, question.digest) != 3:
        words.append("a second answer was taken")
    await made.over(keep=1)
    if allowed:
        return [*words, *await made.faults()]
    last = made.records.requests()[-1]
    results = [str(message["content"]) for message in last.messages if "tool_call_id" in message]
    if any(each.tool == "send" for each in made.records.effects()):
        words.append("what was denied was done")
    if "not run" not in results[0]:
        words.append(f"the model is not told of the denial: {results}")
    return words


async def _asks(made: Trial, id: str) -> None:
    for _ in range(600):
        if await made.runs.questions(id):
            return
        await asyncio.sleep(0.02)
    raise TooLate("no question came")


async def _state(made: Trial, id: str, state: RunState) -> RunInfo:
    for _ in range(600):
        info = await made.runs.get(id)
        if info.state is state:
            return info
        await asyncio.sleep(0.02)
    raise TooLate(f"the run is {info.state}, not {state}")


async def _is_allowed(made: Trial, run: str, id: str) -> bool:
    """What stands as the answer."""
    return answers(made.place)[run, id]


async def _reply(made: Trial, run: str, *, allowed: bool = True, digest: str = "", at: int = 0) -> int:
    told = Reply(url=made.place.url, folder=str(made.place.folder), run=run, allowed=allowed, digest=digest, at=at)
    process = forks().Process(target=reply, args=(msgspec.json.encode(told),), daemon=True)
    process.start()
    try:
        return await Crew(made.place).gone(process)
    finally:
        process.close()


async def _reply_to(made: Trial, run: str, question: str, digest: str) -> int:
    """A second answer to a question that is answered already."""
    try:
        await made.runs.answer(run, question, Answer(allowed=False, who="person"), digest=digest)
    except ToolwireError:
        return 3
    return 0


def submitter_killed(kind: str, count: int, seed: int) -> Found:
    """Whoever submits a run is killed at each moment of it: there is no run, or it is done."""
    found = Found()
    with Places(kind) as places:

        async def one(at: int) -> bool:
            words: list[str] = []
            with places.new() as place:
                async with trial(place) as made:
                    told = Submission(url=place.url, folder=str(place.folder), plan="short", at=at)
                    process = forks().Process(target=submit, args=(msgspec.json.encode(told),), daemon=True)
                    process.start()
                    code = await made.crew.gone(process)
                    process.close()
                    made.plans.update((info.id, "short") for info in await made.runs.list())
                    try:
                        await made.over(keep=1, seconds=20)
                        words = await made.faults()
                    except TooLate as error:
                        words = [str(error)]
            found.runs += code != 0
            for fault in words:
                found.fault(f"{kind}, killed at moment {at} of the submission: {fault}")
            return code != 0 and at < MOST

        asyncio.run(many(one, iter(range(1, MOST))))
    return found


def answerer_killed(kind: str, count: int, seed: int) -> Found:
    """Whoever answers is killed at each moment of it; answered again where nothing had come of it, the run ends."""
    found = Found()
    with Places(kind) as places:

        async def one(at: int) -> bool:
            words: list[str] = []
            with places.new() as place:
                async with trial(place) as made:
                    run = await made.submit("asked")
                    made.crew.start()
                    code = 0
                    try:
                        await _state(made, run.id, RunState.WAITING)
                        code = await _reply(made, run.id, at=at)
                        await made.over(keep=1)
                        words = await made.faults()
                    except TooLate as error:
                        words = [str(error)]
            found.runs += code != 0
            for fault in words:
                found.fault(f"{kind}, killed at moment {at} of the answer: {fault}")
            return code != 0 and at < MOST

        asyncio.run(many(one, iter(range(1, MOST)), at_once=2 if count else 4))
    return found
