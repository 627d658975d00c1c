"""`/diff`, `/undo`: what tools have changed in the files here, and taking it back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

from ...approval.hidden import marked
from ...cli.visible import visible
from ...errors import FileRefused
from ...files.differences import count_changed, unified
from ...files.journal import Change, Journal, undo_path
from ...files.undoing import Undoing
from ..desk import Desk
from ..talk import Talk
from .command import Command
from .layout import cells, code

_LINES = 200
"""Lines of a difference that are shown."""
_NOTHING = "No tool has changed a file here in this conversation. What commands changed is not looked at."


async def _diff(talk: Talk, desk: Desk, typed: str) -> None:
    found = await asyncio.to_thread(lambda: list(_changed(talk)))
    if not found:
        desk.say(_NOTHING)
        return
    lines = [line for _, difference in found for line in difference.removesuffix("\n").split("\n")]
    heads = ", ".join(head for head, _ in found)
    more = f"\n\n… and {len(lines) - _LINES:,} more lines." if len(lines) > _LINES else ""
    undo = "`/undo` takes back the newest change. What commands changed is not among it."
    desk.say(f"Changed by tools: {heads}\n\n{_block(lines[:_LINES])}{more}\n\n{undo}")


async def _undo(talk: Talk, desk: Desk, typed: str) -> None:
    undoing = await asyncio.to_thread(_undoing, talk)
    if not undoing.to_undo:
        desk.say("No tool has changed a file in this folder that could be taken back.")
        return
    newest = undoing.to_undo[0]
    path = marked(undoing.shown(newest.change.path))
    difference = await asyncio.to_thread(_back, undoing, newest.change)
    if difference:
        lines = difference.removesuffix("\n").split("\n")
        more = f"\n\n… and {len(lines) - _LINES:,} more lines." if len(lines) > _LINES else ""
        desk.say(f"This would become of {code(path)}:\n\n{_block(lines[:_LINES])}{more}")
    if not await desk.confirm(f"Take back what {marked(newest.change.tool or 'a tool')} did to {path}?"):
        desk.say("Nothing was taken back.")
        return
    try:
        await asyncio.to_thread(undoing.take_back, newest.change)
    except FileRefused as error:
        desk.problem(f"{path} was not taken back: {error.message}", error.hint)
        return
    desk.say(f"Taken back: {cells(path)}. The model does not know of it unless you tell it.")


def _undoing(talk: Talk) -> Undoing:
    return Undoing(Journal(undo_path(os.environ), talk.assembly.workspace.root))


def _changed(talk: Talk) -> Iterator[tuple[str, str]]:
    """Each file that tools changed since the conversation began: its name with counts, and the whole difference."""
    undoing = _undoing(talk)
    # The journal counts seconds; a session's time has more digits.
    begun = talk.session.created[:19] if talk.session is not None else ""
    earliest: dict[str, Change] = {}
    for standing in undoing.to_undo:
        if standing.change.time >= begun:
            earliest[standing.change.path] = standing.change
    for path, change in sorted(earliest.items()):
        shown = undoing.shown(path)
        try:
            before, now = undoing.earlier(change), undoing.content(path)
        except FileRefused as error:
            yield f"{cells(shown)} ({cells(error.message)})", f"{marked(shown)}: {marked(error.message)}"
            continue
        if before != now:
            counted = count_changed(before, now)
            yield f"{cells(shown)} (+{counted.added} −{counted.removed})", unified(before, now, shown)


def _back(undoing: Undoing, change: Change) -> str:
    try:
        return unified(undoing.content(change.path), undoing.earlier(change), undoing.shown(change.path))
    except FileRefused:
        return ""


def _block(lines: list[str]) -> str:
    """Lines of a difference as a block that nothing in them can end."""
    text = visible("\n".join(lines))
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}diff\n{text}\n{fence}"


COMMANDS = (
    Command(
        "diff",
        "Shows what tools have changed in files.",
        _diff,
        at_once=True,
        more="Since the conversation began. What commands changed is not among it.",
    ),
    Command(
        "undo", "Takes back a tool's newest change to a file.", _undo, more="It is shown, and you are asked first."
    ),
)
