"""`/new`, `/sessions`, `/resume`, `/export`, `/compact`, `/record`: the conversation as something that is kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from ...agent.sessions.store import SessionInfo
from ...cli.export import exported, when, write_export
from ...cli.visible import one_line
from ...errors import ConfigError
from ..desk import Desk, Row
from ..talk import Talk
from .command import Command, Suggestion

_LISTED = 200
_TITLE = 60


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
        Row(info.id, _title(info), f"{when(info.updated)} · {info.model} · {info.turns} turns", _group(info, here))
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
    record = talk.record()
    if record is None:
        raise ConfigError("there is nothing to export yet", hint="Ask something first; --no-session keeps nothing.")
    path = _path(typed or f"toolwire-{record.info.id}.md")
    if path.exists() and not await desk.confirm(f"{one_line(str(path))} is there already. Replace it?"):
        return
    write_export(exported(record, "json" if path.suffix.lower() == ".json" else "markdown"), str(path), force=True)
    desk.say(f"Written: `{one_line(str(path))}`")


async def _compact(talk: Talk, desk: Desk, typed: str) -> None:
    compacted = talk.compact()
    if compacted is None:
        desk.say("There is nothing in the conversation that could be left out.")
        return
    sizes = f"{compacted.tokens_before:,} tokens are now about {compacted.tokens_after:,}."
    desk.say("\n".join([f"The conversation is shorter: {sizes}", *(f"- {note}" for note in compacted.notes)]))


async def _record(talk: Talk, desk: Desk, typed: str) -> None:
    if typed == "off":
        path = await talk.stop_recording()
        desk.say(f"The recording is in `{one_line(path)}`. Look at it: `toolwire inspect {one_line(path)}`")
        return
    if not typed and talk.recording:
        desk.say(f"`{one_line(talk.recording)}` is being written. End it: `/record off`")
        return
    path = str(_path(typed or time.strftime("toolwire-%y%m%d-%H%M%S.jsonl")))
    await talk.start_recording(path)
    desk.say(f"All that the provider sends is written to `{one_line(path)}`, without keys, until `/record off`.")


def _path(typed: str) -> Path:
    return Path(typed).expanduser().absolute()


def _others(talk: Talk) -> list[SessionInfo]:
    if talk.store is None:
        raise ConfigError("no sessions are kept here", hint="Start without --no-session.")
    own = talk.session.id if talk.session is not None else ""
    return [info for info in talk.store.list() if info.id != own][:_LISTED]


def _title(info: SessionInfo) -> str:
    title = one_line(info.title) or "(nothing asked)"
    return f"{title[:_TITLE]}…" if len(title) > _TITLE else title


def _group(info: SessionInfo, here: str) -> str:
    return "This folder" if info.is_in(here) else "Other folders"


def _ids(talk: Talk, typed: str) -> Sequence[Suggestion]:
    if talk.store is None:
        return ()
    return [Suggestion(info.id, _title(info)) for info in _others(talk)[:50] if info.id.startswith(typed)]


def _off(talk: Talk, typed: str) -> Sequence[Suggestion]:
    return [Suggestion("off", "ends the recording")] if talk.recording and "off".startswith(typed) else ()


COMMANDS = (
    Command("new", "Begins a new conversation.", _new),
    Command("sessions", "Lists the conversations that are kept, to go on with one.", _sessions),
    Command("resume", "Goes on with an earlier conversation: the newest of this folder.", _resume, "[ID]", _ids),
    Command("export", "Writes the conversation as Markdown, or as JSON.", _export, "[FILE]", at_once=True),
    Command("compact", "Makes the conversation shorter for the model.", _compact),
    Command("record", "Writes all that the provider sends into a file.", _record, "[FILE | off]", _off),
)
