"""Durable runs on paper: a line of the list, all that is known of one, a call that waits, a worker.

Everything in a database may have been written by somebody else, and a model wrote most of it: nothing of it is obeyed
by the terminal, and what a person decides upon is shown from the call itself, not from words that were kept about it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ..approval.misreading import warnings
from ..approval.request import ApprovalRequest
from ..approval.shown import show_arguments, whole_text
from .question import Line, argument_lines, fitting_pieces, model_question_lines, question_lines
from .telling import duration
from .visible import json_bytes, one_line, visible

if TYPE_CHECKING:
    from ..durable.records import Question, RunInfo, RunSpec, StepInfo, WorkerInfo

_STYLES = {"running": "green", "waiting": "yellow", "paused": "yellow", "failed": "red", "refused": "red"}
_OVER = frozenset(("finished", "cancelled"))
_TEXT = 4_000
"""Characters of a question or an answer; `--json` has all of it."""


class WholeRun(msgspec.Struct, frozen=True, kw_only=True):
    """All that `runs show` says of a run."""

    run: Any
    spec: Any
    steps: Any
    questions: Any
    children: Any


def run_rows(infos: Sequence[RunInfo], width: int | None) -> Iterator[Line]:
    """The list, in columns; with a width, each run on one line of it."""
    now = time.time()
    rows = [
        (
            one_line(info.id),
            one_line(info.state),
            ago(now - info.created),
            f"{info.turns} turn{'' if info.turns == 1 else 's'}",
            f"{info.questions} to answer" if info.questions else "",
            one_line(info.title),
        )
        for info in infos
    ]
    for info, line in zip(infos, columns(rows, width), strict=True):
        style = "dim" if info.state in _OVER else _STYLES.get(info.state, "")
        yield Line(line, "bold yellow" if info.questions else style)


def worker_rows(workers: Sequence[WorkerInfo], width: int | None) -> Iterator[Line]:
    """The workers, in columns."""
    now = time.time()
    rows = [
        (
            one_line(each.id),
            one_line(each.state),
            f"{each.running} run{'' if each.running == 1 else 's'}",
            f"since {ago(now - each.started)}",
            f"last heard of {ago(now - each.beat)} ago",
            f"queues {', '.join(map(one_line, each.queues))}",
            f"agents {', '.join(map(one_line, each.agents))}",
        )
        for each in workers
    ]
    for each, line in zip(workers, columns(rows, width), strict=True):
        yield Line(line, {"alive": "", "draining": "yellow", "lost": "red"}.get(each.state, "dim"))


def columns(rows: Sequence[Sequence[str]], width: int | None) -> Iterator[str]:
    """Rows whose columns stand below each other; cut where they are wider than the terminal."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (f"{cell:{size}}" for cell, size in zip(row, widths, strict=True) if size)
        line = "  ".join(cells).rstrip()
        yield line if width is None or len(line) < width else f"{next(fitting_pieces(line, width - 2))}…"


def run_lines(info: RunInfo, spec: RunSpec, width: int) -> Iterator[Line]:
    """How a run stands, from its state to its answer."""
    now = time.time()
    yield Line(f"Run {one_line(info.id)}: {_state(info)}", _STYLES.get(info.state, "bold"))
    facts = [f"agent {one_line(info.agent)}", f"queue {one_line(info.queue)}"]
    if info.priority:
        facts.append(f"priority {info.priority}")
    facts.append(f"{info.turns} turn{'' if info.turns == 1 else 's'}")
    if info.usage.input_tokens or info.usage.output_tokens:
        facts.append(f"{info.usage.input_tokens:,} tokens in, {info.usage.output_tokens:,} out")
    facts.append(f"{info.position:,} event{'' if info.position == 1 else 's'}")
    yield Line(f"  {' · '.join(facts)}", "dim")
    for words, at in (("submitted", info.created), ("started", info.started), ("ended", info.ended)):
        if at is not None:
            yield Line(f"  {words} {when(at)}, {ago(now - at)} ago", "dim")
    if info.deadline is not None and info.ended is None:
        left = info.deadline - now
        yield Line(f"  must be over by {when(info.deadline)}{f', in {ago(left)}' if left > 0 else ''}", "dim")
    if info.begins:
        by = f", now by {one_line(info.worker)}" if info.worker else ""
        yield Line(f"  taken up {info.begins} time{'' if info.begins == 1 else 's'}{by}", "dim")
    if info.parent:
        yield Line(f"  started by run {one_line(info.parent)}", "dim")
    if info.forked:
        yield Line(f"  forked from run {one_line(info.forked)}", "dim")
    if spec.options:
        yield from _below("options", json_bytes(spec.options).decode(), width)
    if spec.history:
        yield Line(f"  goes on from a conversation of {len(spec.history)} messages", "dim")
    yield from _below("question", spec.prompt.text, width)
    if info.text:
        yield from _below("answer", info.text, width)
    if info.error is not None:
        yield from _below("error", f"{info.error.message}\n{info.error.hint}".rstrip(), width, "red")


def step_lines(steps: Sequence[StepInfo]) -> Iterator[Line]:
    """Each step with its number, as `fork` takes it."""
    if not steps:
        return
    yield Line("  steps:", "dim")
    size = max(len(str(step.number)) for step in steps)
    for step in steps:
        took = f"  {duration(step.seconds)}" if step.seconds is not None else ""
        failed = f"  {one_line(step.error)[:200]}" if step.error else ""
        yield Line(f"    {step.number:>{size}}  {one_line(step.name)}{took}{failed}", "red" if step.error else "")


def question_of_run_lines(question: Question, width: int) -> Iterator[Line]:
    """What a run waits for: the exact call, or the model's own question. Names how to answer."""
    asked = ago(time.time() - question.asked)
    yield Line(f"  waits for an answer, since {asked}: call {one_line(question.id)}", "bold yellow")
    run, call = one_line(question.run), one_line(question.id)
    if question.request is None:
        yield from model_question_lines(question.question, question.options, width)
        yield Line(f"  Answer it: toolwire runs reply {run} {call} TEXT")
        return
    yield from call_lines(question.request, width)
    yield Line(f"  Answer it: toolwire runs approve {run} {call}")
    yield Line(f"         or: toolwire runs deny {run} {call}")


def call_lines(request: ApprovalRequest, width: int) -> Iterator[Line]:
    """A call that wants to run, all of it. Keys of the question at a terminal are not named."""
    request = as_it_is(request)
    yield from question_lines(
        msgspec.structs.replace(request, offers=(), refusals=(), fully_shown=True, shown=_whole(request)), width, ""
    )


def as_it_is(request: ApprovalRequest) -> ApprovalRequest:
    """The request with its arguments shown as they are, whatever was kept of how they were shown."""
    arguments = request.invocation.arguments
    shown = show_arguments(arguments)
    return msgspec.structs.replace(
        request,
        shown=shown.text,
        fully_shown=shown.complete,
        preview=visible(request.preview),
        warnings=tuple(dict.fromkeys((*warnings(arguments), *map(one_line, request.warnings)))),
        risk=one_line(request.risk),
    )


def _whole(request: ApprovalRequest) -> str:
    return request.shown if request.fully_shown else whole_text(request.invocation.arguments)


def _state(info: RunInfo) -> str:
    words = one_line(info.state)
    if info.questions:
        return f"{words}, {info.questions} question{'' if info.questions == 1 else 's'} to answer"
    return words


def _below(name: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    """A text below its name, each line behind a bar, where it passes for nothing of ours."""
    yield Line(f"  {name}:", style or "dim")
    shown = visible(text[:_TEXT])
    yield from (line._replace(style=style) for line in argument_lines(shown.rstrip("\n"), width))
    if len(text) > _TEXT:
        yield Line(f"    … {len(text) - _TEXT:,} more characters: --json has them", "dim")


def when(at: float) -> str:
    """A time, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def ago(seconds: float) -> str:
    """How long, in one number."""
    seconds = max(seconds, 0.0)
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def json_lines(values: Iterable[Any]) -> bytes:
    """Each as one line of JSON."""
    return b"".join(json_bytes(value) + b"\n" for value in values)
