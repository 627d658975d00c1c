"""`/new`, `/sessions`, `/resume`, `/export`, `/compact`, `/record`: the conversation as something that is kept."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from weakref import WeakKeyDictionary

from ...agent.sessions.store import SessionInfo
from ...cli.export import exported, write_export
from ...cli.visible import one_line
from ...errors import ConfigError
from ..desk import Desk, Row
from ..talk import Talk
from .command import Command, Suggestion
from .layout import cells, code

_LISTED = 200
_TITLE = 60
_KNOWN_SECONDS = 2.0
"""For so long, what the store listed is not asked for again while something is typed."""
_known: WeakKeyDictionary[Talk, tuple[float, list[SessionInfo]]] = WeakKeyDictionary()


async def _new(talk: Talk, desk: Desk, typed: str) -> None:
    await talk.new()
    await desk.reload()


async def _sessions(talk: Talk, desk: Desk, typed: str) -> None:
    found = _others(talk)
    if not found:
        desk.say("There is no earlier session.")
        return
    here = talk.assembly.workspace.root
    rows = [
        Row(info.id, _title(info), session_words(info), _group(info, here))
        for info in sorted(found, key=lambda info: not info.is_in(here))
    ]
    chosen = await desk.choose("Go on with which session?", rows)
    if chosen is not None:
        await _go_on(talk, desk, chosen)


async def _resume(talk: Talk, desk: Desk, typed: str) -> None:
    if not typed:
        here = [info for info in _others(talk) if info.is_in(talk.assembly.workspace.root)]
        if not here:
            raise ConfigError(
                "there is no earlier session in this folder", hint="/sessions lists those of all folders."
            )
        typed = here[0].id
    await _go_on(talk, desk, typed)


async def _go_on(talk: Talk, desk: Desk, id: str) -> None:
    await talk.resume(id)
    await desk.reload()
    for name in talk.unknown:
        desk.problem(
            f"{one_line(name)[:100]} was running when the program ended. Whether it did its work is not known.",
            "It is not repeated, and the model is told so.",
        )


async def _export(talk: Talk, desk: Desk, typed: str) -> None:
    if talk.attached is not None:
        raise ConfigError("what is shown is a durable run", hint=f"toolwire runs show {talk.attached.id}")
    record = talk.record()
    if record is None:
        raise ConfigError("there is nothing to export yet", hint="Ask something first; --no-session keeps nothing.")
    path = _path(typed or f"toolwire-{record.info.id}.md")
    if path.exists() and not await desk.confirm(f"{one_line(str(path))} is there already. Replace it?"):
        desk.say("Nothing was written.")
        return
    write_export(exported(record, "json" if path.suffix.lower() == ".json" else "markdown"), str(path), force=True)
    desk.say(f"Written: {code(str(path))}")


async def _compact(talk: Talk, desk: Desk, typed: str) -> None:
    compacted = talk.compact()
    if compacted is None:
        desk.say("There is nothing in the conversation that could be left out.")
        return
    sizes = f"{compacted.tokens_before:,} tokens are now about {compacted.tokens_after:,}."
    desk.say(
        "\n".join([f"The conversation is shorter: {sizes}", *(f"- {cells(note, 1_000)}" for note in compacted.notes)])
    )


async def _record(talk: Talk, desk: Desk, typed: str) -> None:
    if typed == "off":
        path = await talk.stop_recording()
        desk.say(f"The recording is in {code(path)}. Look at it: {code(f'toolwire inspect {shlex.quote(path)}')}")
        return
    if not typed and talk.recording:
        desk.say(f"{code(talk.recording)} is being written. End it: `/record off`")
        return
    path = str(_path(typed or time.strftime("toolwire-%y%m%d-%H%M%S.jsonl")))
    await talk.start_recording(path)
    desk.say(f"All that the provider sends is written to {code(path)}, without keys, until `/record off`.")


def _path(typed: str) -> Path:
    return Path(typed).expanduser().absolute()


def _others(talk: Talk) -> list[SessionInfo]:
    if talk.store is None:
        raise ConfigError("no sessions are kept here", hint="Start without --no-session.")
    own = talk.session.id if talk.session is not None else ""
    return [info for info in talk.store.list() if info.id != own][:_LISTED]


def session_words(info: SessionInfo) -> str:
    """When it was used, how long it is, how it ended where that was not as it should be, and with which model."""
    words = [ago(info.updated), f"{info.turns} turn{'' if info.turns == 1 else 's'}"]
    words += [info.state] if info.state not in ("finished", "") else []
    return " · ".join([*words, one_line(info.model)[:60]])


def ago(time: str, now: datetime | None = None) -> str:
    """A time of the store as people say it: `2 hours ago`, and by its day, where they are, when it is long ago."""
    try:
        then = datetime.fromisoformat(time)
        past = (now or datetime.now(UTC)) - then
    except (ValueError, TypeError):
        return one_line(time)[:30]
    minutes = max(0, int(past.total_seconds() // 60))
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} minute{'' if minutes == 1 else 's'} ago"
    if minutes < 24 * 60:
        return f"{minutes // 60} hour{'' if minutes < 120 else 's'} ago"
    local = then.astimezone()
    days = ((now or datetime.now(UTC)).astimezone().date() - local.date()).days
    if days < 7:
        return "yesterday" if days <= 1 else f"{days} days ago"
    return f"{local.day} {local.strftime('%b')}" + ("" if days < 300 else f" {local.year}")


def _title(info: SessionInfo) -> str:
    title = one_line(info.title) or "(nothing asked)"
    return f"{title[:_TITLE]}…" if len(title) > _TITLE else title


def _group(info: SessionInfo, here: str) -> str:
    return "This folder" if info.is_in(here) else "Other folders"


def _ids(talk: Talk, typed: str) -> Sequence[Suggestion]:
    if talk.store is None:
        return ()
    at, found = _known.get(talk, (-_KNOWN_SECONDS, []))
    if time.monotonic() - at > _KNOWN_SECONDS:
        found = _others(talk)
        _known[talk] = (time.monotonic(), found)
    wanted = typed.lower()
    fitting = [info for info in found if info.id.startswith(wanted) or wanted in info.title.lower()]
    return [Suggestion(info.id, f"{_title(info)} · {ago(info.updated)}") for info in fitting[:50]]


def _off(talk: Talk, typed: str) -> Sequence[Suggestion]:
    return [Suggestion("off", "ends the recording")] if talk.recording and "off".startswith(typed) else ()


COMMANDS = (
    Command(
        "new",
        "Begins a new conversation.",
        _new,
        aliases=("clear", "reset"),
        more="The one at hand is kept; what you decided for it ends with it.",
    ),
    Command("sessions", "Lists earlier conversations, to go on with one.", _sessions, aliases=("history", "chats")),
    Command(
        "resume",
        "Goes on with an earlier conversation.",
        _resume,
        "[ID]",
        _ids,
        aliases=("continue",),
        more="Without an id: with the newest of this folder.",
    ),
    Command(
        "export",
        "Writes the conversation to a file.",
        _export,
        "[FILE]",
        at_once=True,
        aliases=("save",),
        more="As Markdown, or with everything that is kept where the name ends with .json.",
    ),
    Command("compact", "Makes the conversation shorter for the model.", _compact, aliases=("compress", "summarize")),
    Command(
        "record",
        "Writes what the provider sends to a file.",
        _record,
        "[FILE | off]",
        _off,
        more="Without keys. Look at it with toolwire inspect.",
    ),
)
