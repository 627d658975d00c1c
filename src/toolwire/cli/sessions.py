"""`toolwire sessions`: the conversations that are kept; to list, to read, to give away and to remove."""

from __future__ import annotations

import os
import sys
from typing import Annotated

from cyclopts import Parameter

from ..agent.sessions.store import SessionInfo, SessionRecord, SessionStore, sessions_path
from ..approval.places import Workspace
from ..errors import ConfigError, ToolwireError
from .console import PlainConsole, has_person
from .export import Format, exported, info_lines, when, write_export
from .faults import FAILED, say, say_error
from .inputs import as_text
from .question import fitting_pieces
from .transcript import Kind, pieces
from .visible import json_bytes, one_line, visible

_LAST = 20
_TITLE = 70
_STYLES: dict[Kind, str] = {
    "system": "dim",
    "question": "bold",
    "reasoning": "dim",
    "answer": "",
    "call": "cyan",
    "result": "green",
    "note": "dim",
}


def list_sessions(
    *,
    here: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    last: Annotated[int, Parameter(name="--last", metavar="N")] = _LAST,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Lists the sessions, the newest last. Times are in UTC.

    Parameters
    ----------
    here
        Only those of this folder.
    last
        How many, the newest ones; 0 for all.
    json
        Print one JSON object for each, a line each.
    """
    if last < 0:
        raise ConfigError(f"--last {last} is no number of sessions", hint="Give how many, or 0 for all.")
    with _store() as store:
        infos = store.list()
        path = str(store.path)
    if here:
        folder = Workspace.here().root
        infos = [info for info in infos if info.is_in(folder)]
    for info in reversed(infos[: last or None]):
        sys.stdout.buffer.write(json_bytes(info) + b"\n" if json else _row(info).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    if not (infos or json):
        say(f"there is no session{' in this folder' if here else ''}", f"toolwire run keeps them in {as_text(path)}")
    if last and len(infos) > last and not json:
        say(f"{len(infos) - last:,} older ones are not shown", "All of them: toolwire sessions list --last 0")
    return 0


def show(
    id: Annotated[str, Parameter(name="ID")],
    /,
    *,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Shows all that was said and done in a session.

    Parameters
    ----------
    id
        Its id, or as much of its beginning or end as no other has.
    json
        Print it as JSON, with everything that is kept.
    """
    record = _read(id)
    if json:
        sys.stdout.buffer.write(exported(record, "json"))
        sys.stdout.buffer.flush()
        return 0
    console = PlainConsole()
    for line in info_lines(record.info):
        console.out(line, style="dim")
    for piece in pieces(record.entries):
        style = _STYLES[piece.kind]
        heading, *more = _lines(piece.heading, console)
        console.out(f"\n{heading}", style=style or "bold")
        # What was said never stands at the start of a line, where it could pass for a heading.
        for line in more:
            console.out(f"    {line}", style=style or "bold")
        for line in _lines(visible(piece.text).rstrip(), console) if piece.text else ():
            console.out(f"  {line}", style="dim" if style == "dim" else None)
    return 0


def export(
    id: Annotated[str, Parameter(name="ID")],
    /,
    *,
    format: Annotated[Format | None, Parameter(show_default=False)] = None,
    output: Annotated[str | None, Parameter(name=["--output", "-o"], metavar="FILE")] = None,
    force: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Writes a session as Markdown to read, or as JSON with everything that is kept.

    Parameters
    ----------
    id
        Its id, or as much of its beginning or end as no other has.
    format
        markdown, or json, which toolwire request reads as a conversation.
        Without it, json for a file whose name ends so, and else markdown.
    output
        The file, which only you can read. Without it, the session is printed.
    force
        Replace a file that is there.
    """
    record = _read(id)
    chosen: Format = format or ("json" if output is not None and output.lower().endswith(".json") else "markdown")
    if output is not None:
        write_export(exported(record, chosen), output, force=force)
        return 0
    sys.stdout.buffer.write(exported(record, chosen))
    sys.stdout.buffer.flush()
    return 0


def delete(
    *id: Annotated[str, Parameter(name="ID")],
    yes: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Removes sessions for good. You are asked before.

    Parameters
    ----------
    id
        Their ids, or as much of the beginning or end of each as no other has.
    yes
        Do not ask.
    """
    if not id:
        raise ConfigError("no session is named", hint="Give their ids: toolwire sessions list")
    with _store() as store:
        found = list(dict.fromkeys(store.find(as_text(each)) for each in id))
        if not yes and not _agreed([info for info in store.list() if info.id in found]):
            say("nothing was removed")
            return FAILED
        code = 0
        for each in found:
            try:
                store.delete(each)
                print(f"Removed {each}.")
            except ToolwireError as error:
                code = say_error(error.info())
    return code


def _lines(text: str, console: PlainConsole) -> list[str]:
    """The lines of a text; a terminal gets them so that it breaks none itself."""
    lines = text.split("\n")
    if not console.is_terminal:
        return lines
    return [piece for line in lines for piece in fitting_pieces(line, console.width - 5, words=True)]


def _agreed(infos: list[SessionInfo]) -> bool:
    if not has_person():
        raise ConfigError("nobody is there to ask whether to remove them", hint="If you are sure, say so: --yes")
    for info in reversed(infos):
        sys.stdout.write(_row(info))
    count = "this session" if len(infos) == 1 else f"these {len(infos)} sessions"
    try:
        return input(f"Remove {count} for good? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
    except KeyboardInterrupt:
        print()
        raise


def _store() -> SessionStore:
    return SessionStore(sessions_path(os.environ))


def _read(id: str) -> SessionRecord:
    with _store() as store:
        record = store.read(as_text(id))
    if record.damage:
        say(f"session {record.info.id} is damaged: {record.damage}", "What stands before that is whole.")
    return record


def _row(info: SessionInfo) -> str:
    """A session in the list."""
    turns = f"{info.turns} turn{'' if info.turns == 1 else 's'}"
    title = one_line(info.title)
    return (
        f"{info.id}  {when(info.updated)}  {one_line(info.state) or 'begun'}, {turns}\n"
        f"    {title[:_TITLE]}{'…' * (len(title) > _TITLE)}\n"
        f"    {one_line(info.model)} in {one_line(info.cwd)}\n"
    )
