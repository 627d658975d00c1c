"""`toolwire run --record` and `--replay`: a run as a file, and the same run again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import TYPE_CHECKING

from ..agent.events import AgentEvent, RunFailed, RunStarted
from .console import PlainConsole
from .faults import say_error
from .inputs import check_files
from .screen import Screen

if TYPE_CHECKING:
    from ..agent.recordings.recorded import Recording
    from ..agent.recordings.recording import Recorder


@contextmanager
def recording(path: str) -> Iterator[Recorder]:
    """A recorder of a new file. One into which nothing was written is not left behind."""
    from ..agent.recordings.recording import Recorder

    recorder = Recorder(path)
    try:
        yield recorder
    finally:
        try:
            recorder.close()
        finally:
            with suppress(OSError):
                if not os.stat(path).st_size:
                    os.unlink(path)


def replay_recording(path: str, print_event: Callable[[AgentEvent], None] | None) -> int:
    """Plays a recording on the screen, or hands its events to `print_event`.

    Raises the `ReplayDiffers` of one that does not come out as it was recorded. How the recorded runs themselves ended
    makes no difference to the exit code.
    """
    from ..agent.recordings.recorded import load_recording

    check_files([path])
    loaded = load_recording(path)
    if print_event is not None:
        asyncio.run(_play(loaded, print_event))
        return 0
    screen = Screen(PlainConsole())
    header = loaded.header
    screen.header(
        f"Recorded {header.started.partition('.')[0].replace('T', ' ')} with {header.provider}:{header.model} "
        f"(Toolwire {header.toolwire}). Nothing is sent, and nothing runs."
    )
    questions = iter(loaded.runs)

    def show(event: AgentEvent) -> None:
        if isinstance(event, RunStarted):
            screen.begin()
            screen.question(next(questions).begin.prompt.text)
        screen.show(event)
        if isinstance(event, RunFailed):
            screen.settle()
            say_error(event.error)

    try:
        asyncio.run(_play(loaded, show))
    finally:
        screen.settle()
    count = len(loaded.runs)
    screen.header(
        f"{count} run{'' if count == 1 else 's'}, as recorded.", *(["The recording breaks off here."] * loaded.cut)
    )
    return 0


async def _play(loaded: Recording, show: Callable[[AgentEvent], None]) -> None:
    from ..agent.recordings.replaying import replay

    async with aclosing(replay(loaded)) as events:
        async for event in events:
            show(event)
