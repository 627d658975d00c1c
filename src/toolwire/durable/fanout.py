"""One run that starts many: a tool by which a model gives tasks to other agents, and gets their answers in order.

Each task is a run of its own on the queue, so that any worker takes it, and the run that waits for them holds none.
Their ids follow from the call: made again after a loss, the same call finds the same runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import RunLimitReached
from ..messages import user
from ..tools.definition import Risk, ToolDefinition
from ..tools.running import progress, this_call
from .records import RunInfo, RunSpec, RunState

if TYPE_CHECKING:
    from .workplace import Workplace

MOST = 100
DEPTH = 3
_SECONDS = 30 * 24 * 3600.0
_DESCRIPTION = (
    "Gives tasks to other agents that work on them at the same time, each on its own. Answers with what each of them "
    "said, in the order of the tasks. An agent knows nothing but the words of its task."
)


def sub_agents(
    place: Workplace,
    *,
    agent: str,
    options: Mapping[str, Any] | None = None,
    queue: str | None = None,
    name: str = "start_agents",
    description: str = _DESCRIPTION,
    risk: Risk | str | None = None,
    most: int = MOST,
    depth: int = DEPTH,
) -> ToolDefinition:
    """A tool that starts up to `most` runs of an agent of the workers, and waits for them.

    Without a `risk` the person is asked about it, as about any tool of unknown risk; the runs ask for themselves too.
    An agent that is started so may start others, `depth` deep. Without a `queue` they go where this run came from.
    """

    async def call(arguments: dict[str, Any]) -> list[dict[str, str]]:
        if place.run.count(".") >= depth * 2:
            raise RunLimitReached(
                f"agents start agents more than {depth} deep",
                hint="Do the task yourself, with the other tools.",
                what="depth",
                limit=depth,
            )
        specs = [RunSpec(prompt=user(task), agent=agent, options=dict(options or {})) for task in arguments["tasks"]]
        progress(f"{len(specs)} agents are at work.")
        found = await place.gather(this_call().id, specs, queue=queue)
        return [_told(task, info) for task, info in zip(arguments["tasks"], found, strict=True)]

    schema = {
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "maxItems": most,
                "description": "What each of them should do.",
            }
        },
        "required": ["tasks"],
        "additionalProperties": False,
    }
    return ToolDefinition(
        name, description, schema, None if risk is None else Risk(risk), call, timeout=_SECONDS, idempotent=True
    )


def child_ids(run: str, turn: int, call: str, count: int) -> Sequence[str]:
    """The ids of the runs that a call of a run starts."""
    digest = hashlib.blake2b(f"{turn} {call}".encode(errors="backslashreplace"), digest_size=4).hexdigest()
    return [f"{run}.{digest}.{number}" for number in range(1, count + 1)]


def call_of(id: str) -> str:
    """What the ids of all runs begin with that the same call started; empty where none did."""
    call, dot, _ = id.rpartition(".")
    return f"{call}{dot}"


def _told(task: str, info: RunInfo) -> dict[str, str]:
    told = {"task": task, "run": info.id, "state": str(info.state)}
    if info.state is RunState.FINISHED:
        return {**told, "answer": info.text}
    return {**told, "error": "it was ended" if info.error is None else info.error.message}
