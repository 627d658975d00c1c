"""`/runs`, `/attach`, `/detach`, `/cancel`: durable runs, which go on without the chat."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...approval.hidden import marked
from ...cli.visible import one_line
from ...errors import ConfigError
from ..desk import Desk, Row
from ..talk import Talk
from .command import Command, Suggestion
from .layout import cells, code
from .sessions import ago

if TYPE_CHECKING:
    from ...durable.records import RunInfo

_LISTED = 200
_TITLE = 60
_ASKS, _GOES_ON, _OVER = "They ask you", "They go on", "They are over"


async def _runs(talk: Talk, desk: Desk, typed: str) -> None:
    found = await (await talk.runs()).list(limit=_LISTED)
    if not found:
        desk.say("There are no durable runs. One is begun with `toolwire runs submit`.")
        return
    rows = [Row(info.id, _title(info), run_words(info), _group(info)) for info in found]
    groups = [_ASKS, _GOES_ON, _OVER]
    current = "" if talk.attached is None else talk.attached.id
    chosen = await desk.choose(
        "Show which run?", sorted(rows, key=lambda row: groups.index(row.group)), current=current
    )
    if chosen is not None and chosen != current:
        await _show(talk, desk, chosen)


async def _attach(talk: Talk, desk: Desk, typed: str) -> None:
    if typed:
        await _show(talk, desk, typed)
    else:
        await _runs(talk, desk, typed)


async def _show(talk: Talk, desk: Desk, id: str) -> None:
    await talk.attach(id, desk)
    await desk.reload()


async def _detach(talk: Talk, desk: Desk, typed: str) -> None:
    if talk.attached is None:
        raise ConfigError("no run is shown", hint="/runs lists those that there are.")
    if talk.running:
        talk.interrupt()
    else:
        await talk.detach()


async def _cancel(talk: Talk, desk: Desk, typed: str) -> None:
    if not typed and talk.attached is None:
        raise ConfigError("which run?", hint="/runs lists those that there are; /cancel RUN ends one.")
    runs = await talk.runs()
    info = await runs.get(typed or (talk.attached.id if talk.attached is not None else ""))
    if info.state.is_over:
        desk.say(f"Run {code(info.id)} is {info.state} already.")
        return
    title = one_line(marked(info.title))[:200]
    if not await desk.confirm(f"End run {info.id} ({title}) with all that it started? What its tools do is stopped."):
        desk.say("It goes on.")
        return
    ended = await runs.cancel(info.id)
    desk.say(f"Run {code(ended.id)} is {ended.state}: {cells(ended.title)}")


def run_words(info: RunInfo) -> str:
    """How it stands, since when, who asks, and where it waits."""
    words = [str(info.state), ago(datetime.fromtimestamp(info.updated, UTC).isoformat())]
    if info.questions and not info.state.is_over:
        words.append(f"{info.questions} question{'' if info.questions == 1 else 's'}")
    return " · ".join([*words, one_line(info.queue)[:40], info.id])


def _title(info: RunInfo) -> str:
    title = one_line(marked(info.title)) or "(no words)"
    return f"{title[:_TITLE]}…" if len(title) > _TITLE else title


def _group(info: RunInfo) -> str:
    if info.state.is_over:
        return _OVER
    return _ASKS if info.questions else _GOES_ON


def _shown(talk: Talk, typed: str) -> Sequence[Suggestion]:
    shown = talk.attached
    if shown is None or not shown.id.startswith(typed):
        return ()
    return [Suggestion(shown.id, one_line(marked(shown.info.title))[:_TITLE])]


COMMANDS = (
    Command("runs", "Lists the durable runs, to show one.", _runs, at_once=True, more="They go on without the chat."),
    Command(
        "attach",
        "Shows a durable run, from its beginning on.",
        _attach,
        "[RUN]",
        at_once=True,
        more="Its questions are asked here. Esc or Ctrl-C leaves it, and it goes on. After its end, what you type "
        "goes on from there as a new durable run. A beginning of its id is enough; without one you choose.",
    ),
    Command("detach", "Leaves the run that is shown; it goes on.", _detach, at_once=True),
    Command(
        "cancel",
        "Ends a durable run and what it started.",
        _cancel,
        "[RUN]",
        _shown,
        at_once=True,
        more="Without an id: the one that is shown. You are asked first.",
    ),
)
