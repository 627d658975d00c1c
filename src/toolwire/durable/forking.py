"""What is recorded of a run, for another to go on from: its beginning for a fork, its conversation for the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import sqlalchemy as sa

from ..agent.events import RunEnd
from ..agent.steps import ModelAnswer
from ..execution.executor import ToolResult
from ..messages import Message, ToolCallPart, ToolResultPart, tool_results
from .database import Database, effects, events, questions
from .event_json import decode_events, encode_event, is_voidable, kind_of
from .intents import Intents
from .ledger import Ledger
from .records import AttemptWithdrawn, RunEvent, RunInfo, RunSpec, StepInfo, to_text

_BATCH = 500


def copy_run(
    database: Database, ledger: Ledger, info: RunInfo, new: str, steps: Sequence[StepInfo], before: int
) -> None:
    """Writes down a run that begins as another one did, with the steps before a number.

    A call that was about to run, and of which nobody knows what came, is as unknown there.
    """
    kept_steps = [step for step in steps if step.number < before]
    units = {_unit(step.name) for step in kept_steps}
    kept = _kept(database, info.id, kept_steps)
    done = {_unit(step.name) for step in steps}
    unknown = {(turn, id) for turn, id in Intents(database).of(info.id) - done if (turn, "") in units}

    def copy(connection: sa.Connection) -> None:
        for table in (effects, questions):
            for row in connection.execute(sa.select(table).where(table.c.run == info.id)).mappings():
                unit = row["turn"], row["id"]
                if unit in unknown if table is effects else unit in units:
                    copied = database.insert(table).values(**{**row, "run": new})
                    connection.execute(copied.on_conflict_do_nothing())
        for first in range(0, len(kept), _BATCH):
            page = kept[first : first + _BATCH]
            body = ",".join(
                encode_event(number, each.turn, each.id, each.event) for number, each in enumerate(page, first + 1)
            )
            connection.execute(
                database.insert(events)
                .values(
                    run=new,
                    first=first + 1,
                    last=first + len(page),
                    attempt=0,
                    at=page[-1].at,
                    withdraws=False,
                    body=f"[{body}]",
                )
                .on_conflict_do_nothing()
            )

    ledger.add(
        new,
        ledger.spec(info.id),
        queue=info.queue,
        priority=info.priority,
        timeout=None,
        forked=info.id,
        position=len(kept),
        agent_version=info.agent_version,
        beside=copy,
    )


def _kept(database: Database, run: str, steps: Sequence[StepInfo]) -> list[RunEvent]:
    """What was told of these steps, and is not void."""
    units = {(0, ""), *(_unit(step.name) for step in steps)}
    wanted = sa.select(events).where(events.c.run == run).order_by(events.c.first)
    told: list[RunEvent] = []
    void: dict[tuple[int, str, int], int] = {}
    for row in database.do(lambda connection: connection.execute(wanted).all()):
        for position, turn, id, event in decode_events(row.body):
            if isinstance(event, AttemptWithdrawn):
                void[event.turn, event.id, event.attempt] = position
            elif (turn, to_text(id)) in units and not isinstance(event, RunEnd):
                told.append(RunEvent(position, row.attempt, turn, id, event, row.at))
    return [each for each in told if not _is_void(each, void)]


def _is_void(each: RunEvent, void: Mapping[tuple[int, str, int], int]) -> bool:
    """Whether it was withdrawn behind its place."""
    withdrawn = void.get((each.turn, each.id, each.attempt), 0)
    return each.position < withdrawn and is_voidable(kind_of(each.event), each.id)


def _unit(name: str) -> tuple[int, str]:
    """`answer 3` is of the turn itself, `call 3 tool id` of the call."""
    words = name.split(" ", 3)
    return int(words[1]), words[3] if words[0] == "call" else ""


def as_recorded(spec: RunSpec, records: Mapping[str, str]) -> tuple[list[Message], int]:
    """The conversation of a run as far as it was recorded, and how many requests it had.

    A call that was left open gets a result that says so: no provider takes one without.
    """
    messages, turns = [*spec.history, spec.prompt], 0
    results = {
        _unit(name): msgspec.json.decode(record, type=ToolResult)
        for name, record in records.items()
        if name.startswith("call ")
    }
    for name, record in records.items():
        if not name.startswith("answer "):
            continue
        turn, turns = _unit(name)[0], turns + 1
        answer = msgspec.json.decode(record, type=ModelAnswer)
        if answer.error is not None or not answer.message.parts:
            continue
        messages.append(answer.message)
        if calls := answer.message.tool_calls:
            messages.append(
                tool_results(_result(results.get((turn, to_text(call.id))), call, answer.problems) for call in calls)
            )
    return messages, spec.turn + turns


def _result(kept: ToolResult | None, call: ToolCallPart, problems: Mapping[str, str]) -> ToolResultPart:
    if kept is not None:
        return kept.part()
    why = problems.get(call.id, "the run was ended before it ran")
    return ToolResultPart(call.id, call.name, f"Error: not run: {why}", is_error=True)
