"""Recordings of random conversations, played again: the same events and the same requests, however the bytes are cut,
and on another Python, where there is one that Toolwire runs on.

    python -m bench.trust.replays FOLDER TIMES SEED
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import toolwire
from bench.trust import Found
from toolwire import Agent
from toolwire.agent.asking import Retries
from toolwire.agent.bounds import Bounds
from toolwire.agent.events import RunInterrupted
from toolwire.agent.recordings.recording import Recorder
from toolwire.agent.recordings.replaying import load_recording, replay
from toolwire.approval.request import Answer, ApprovalRequest, deny
from toolwire.errors import ToolwireError
from toolwire.testing import ScriptedModel, call, cut_off, fail, half_call, say, think, token_limit

PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini", "ollama", "bedrock", "cohere", "mistral")
PARSERS = ("xml", "hermes", "api_tool_call+hermes")
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
WORDS = ("So,", "let", "me", "look", "at\n", "it:", "naïve", "日本", "😀", '"quoted"', "\\n", "<b>", "{", "5.")
AT_ONCE = 60.0
"""Seconds that any replay may take."""


@toolwire.tool(risk="read")
async def wait(turns: int, text: str = "") -> str:
    """Takes some turns of the event loop."""
    for _ in range(turns):
        await asyncio.sleep(0)
    return text * turns


@toolwire.tool(risk="write")
def keep(text: str) -> str:
    """Keeps a text, and tells so."""
    toolwire.progress(text[:20])
    if len(text) % 5 == 0:
        raise ValueError("no room")
    return f"kept {len(text)}"


class _Plan(NamedTuple):
    """One conversation: what the model says, who is asked, when it is stopped."""

    provider: str
    answers: list[Any]
    prompts: int
    stop_after: int
    options: dict[str, Any]


def replays(count: int, seed: int) -> Found:
    """`count` recordings, each played 20 times at other cuts. Plan: 60 (1,200 replays, 20 seconds), and once on each
    other Python.
    """
    found = Found()
    folder = Path(tempfile.mkdtemp(prefix="toolwire-replays-"))
    try:
        asyncio.run(_record_all(count, seed, folder))
        asyncio.run(_play_all(sorted(folder.iterdir()), 20, seed, found))
        runs = found.runs
        others = [_on_other(python, folder, seed, found) for python in _others()]
        where = f"again on {' and '.join(filter(None, others))}" if any(others) else "no other Python is here"
        found.words = f"{count:,} recordings, {runs:,} replays; {where}"
    finally:
        shutil.rmtree(folder)
    return found


async def _record_all(count: int, seed: int, folder: Path) -> None:
    dice = random.Random(seed)
    for number in range(count):
        await _record(_plan(dice), folder / f"{number:05}.jsonl", random.Random(dice.random()))


def _plan(dice: random.Random) -> _Plan:
    parser = dice.choice(PARSERS) if dice.random() < 0.25 else None
    options: dict[str, Any] = {} if parser is None else {"stream_parser": parser}
    if dice.random() < 0.2:
        options["bounds"] = Bounds(turns=dice.randint(1, 3), calls=dice.randint(1, 3))
    answers = [_answer(dice, in_text=parser is not None) for _ in range(dice.randint(1, 6))]
    stop = dice.randint(2, 40) if dice.random() < 0.3 else -1
    return _Plan(dice.choice(PROVIDERS), answers, dice.randint(1, 3), stop, options)


def _text(dice: random.Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(1, 12)))


def _answer(dice: random.Random, *, in_text: bool) -> Any:
    kind = dice.random()
    if kind < 0.1:
        return fail(dice.choice((429, 500, 503)), "busy", retry_after=dice.choice((None, 0, 0.001)))
    if kind < 0.14:
        return fail(dice.choice((400, 401, 404)), _text(dice))
    if kind < 0.24:
        return cut_off(say(_text(dice)), *([half_call("wait")] if dice.random() < 0.5 else []))
    if in_text and kind < 0.7:
        made = msgspec.json.encode({"name": "wait", "arguments": {"turns": dice.randint(0, 3)}}).decode()
        return f"{_text(dice)}\n<tool_call>\n{made}\n</tool_call>"
    said: list[Any] = []
    if dice.random() < 0.4:
        said.append(think(_text(dice)))
    if dice.random() < 0.7:
        said.append(say(_text(dice)))
    said += [_call(dice) for _ in range(dice.choice((0, 0, 1, 1, 2, 5)))]
    if dice.random() < 0.1:
        said.append(token_limit())
    return said or [say("Done.")]


def _call(dice: random.Random) -> Any:
    """One that runs, one that is asked about, one with wrong arguments, one of a tool that there is not."""
    made = [call("wait", turns=dice.randint(0, 9), text=_text(dice)), call("keep", text=_text(dice))]
    return dice.choice([*made, call("keep", text=7), call("lose", text="x")])


async def _record(plan: _Plan, path: Path, dice: random.Random) -> None:
    async def person(request: ApprovalRequest) -> Answer | bool:
        for _ in range(dice.randint(0, 5)):
            await asyncio.sleep(0)
        return dice.choice((True, True, deny("no"), Answer(allowed=True, arguments={"text": "changed"})))

    recorder = Recorder(path)
    model = ScriptedModel(plan.answers, chop=dice.choice((0, 1, 20, 500)))
    agent = Agent(
        f"{plan.provider}:m",
        [wait, keep],
        transport=recorder.transport(model),
        hooks=[recorder],
        approve=person,
        api_key="none",
        base_url="http://127.0.0.1:1",
        retries=Retries(first_pause=0.0001),
        **plan.options,
    )
    for _ in range(plan.prompts):
        left = plan.stop_after
        async with aclosing(agent.run(_text(dice))) as events:
            async for event in events:
                left -= 1
                if left == 0:
                    if dice.random() < 0.3 and not isinstance(event, RunInterrupted):
                        break
                    agent.interrupt()
    await agent.close()
    recorder.close()


async def _play_all(paths: list[Path], times: int, seed: int, found: Found) -> None:
    dice = random.Random(seed)

    def recut(body: bytes) -> Iterable[bytes]:
        edges = sorted(dice.randrange(len(body) + 1) for _ in range(dice.choice((0, 1, 5, 50))))
        return [body[start:end] for start, end in zip([0, *edges], [*edges, len(body)], strict=True)]

    for path in paths:
        for again in range(times):
            found.runs += 1
            try:
                async with asyncio.timeout(AT_ONCE):
                    async for _ in replay(load_recording(path), recut=recut if again else None):
                        pass
            except ToolwireError as error:
                found.fault(f"{path.name}, replay {again}: {error} {str(error.facts)[:600]}")
            except TimeoutError:
                found.fault(f"{path.name}, replay {again}: it did not end")


def _others() -> list[str]:
    """Interpreters of other versions, as far as they are found by their names."""
    here = f"python3.{sys.version_info.minor}"
    return [path for name in PYTHONS if name != here and (path := shutil.which(name))]


def _on_other(python: str, folder: Path, seed: int, found: Found) -> str:
    """Plays every recording there; gives its version, or nothing if Toolwire's libraries are not there."""
    here = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here / "src")])}
    able = subprocess.run([python, "-c", "import toolwire.agent.loop, tenacity"], env=environment, capture_output=True)
    if able.returncode:
        return ""
    command = [python, "-m", "bench.trust.replays", str(folder), "1", str(seed)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    there = msgspec.json.decode(done.stdout, type=Found)
    found.runs += there.runs
    for fault in there.faults:
        found.fault(f"{there.words}: {fault}")
    return there.words


if __name__ == "__main__":
    played = Found(words=f"Python {sys.version.split()[0]}")
    asyncio.run(_play_all(sorted(Path(sys.argv[1]).iterdir()), int(sys.argv[2]), int(sys.argv[3]), played))
    sys.stdout.buffer.write(msgspec.json.encode(played))
