"""`toolwire undo`: takes back what tools changed in the files of this folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from ..approval.places import Workspace
from ..errors import ConfigError, FileRefused
from ..files.differences import count_changed, unified
from ..files.journal import Journal, undo_path
from ..files.replacing import Changed
from ..files.undoing import Standing, Undoing
from .console import PlainConsole
from .faults import FAILED, say
from .question import difference_style
from .visible import one_line, visible

_NOT_IN_IT = "What commands changed is not among it."
_THIS_FOLDER = f"It looks at what toolwire run did when it was started in this folder. {_NOT_IN_IT}"


def undo(
    count: Annotated[int, Parameter(name="COUNT", show_default=False)] = 1,
    /,
    *,
    list: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    diff: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    redo: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    force: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Takes back the newest changes that tools made to files in this folder. What commands changed is not among them.

    Parameters
    ----------
    count
        How many, the newest first; otherwise one.
    list
        Show what can be taken back, and change nothing.
    diff
        Show what would become of the files, and change nothing.
    redo
        Make again what was taken back.
    force
        Also where the file was changed since: what it holds now is replaced. That can be taken back too.
    """
    if count < 1:
        raise ConfigError(f"{count} is no number of changes", hint="Give how many, from 1.")
    undoing = Undoing(Journal(undo_path(os.environ), Workspace.here().root))
    if list:
        return _list(undoing)
    standing = (undoing.to_redo if redo else undoing.to_undo)[:count]
    if not standing:
        say("nothing was taken back here" if redo else "there is nothing to undo in this folder", _THIS_FOLDER)
        return 0
    if diff:
        return _show(undoing, standing)
    for place, each in enumerate(standing):
        try:
            changed = undoing.take_back(each.change, force=force)
        except FileRefused as error:
            say(f"{_named(each)} was not {'made again' if redo else 'undone'}: {error.message}", _way_out(error))
            if place + 1 < len(standing):
                say(f"the {len(standing) - place - 1} before it were left as they are")
            return FAILED
        done = "Made again" if redo else "Undid"
        print(one_line(f"{done}: {_named(each)}, {undoing.shown(each.change.path)}. {_became(changed)}"))
    if not redo and len(standing) < count:
        say("there is nothing more to undo in this folder", _NOT_IN_IT)
    return 0


def _way_out(error: FileRefused) -> str:
    if error.facts.get("why") == "changed":
        return "See what would be lost: toolwire undo --diff. To do it all the same: toolwire undo --force"
    return error.hint


def _list(undoing: Undoing) -> int:
    if not (undoing.to_undo or undoing.to_redo):
        say("no tool has changed a file in this folder", _THIS_FOLDER)
        return 0
    for number, each in enumerate(undoing.to_undo, 1):
        since = "" if each.is_as_left else "  (the file was changed since)"
        print(f"{number:>3}  {_row(undoing, each, each.change.before, each.change.after)}{since}")
    for each in undoing.to_redo:
        # Its record is that of the undoing: what the tool did is the other way round.
        print(f"  -  {_row(undoing, each, each.change.after, each.change.before)}  (undone)")
    count = len(undoing.to_undo)
    ways = ["toolwire undo takes back number 1"] if count else []
    ways += [f"toolwire undo {count} all of them"] if count > 1 else []
    ways += ["toolwire undo --redo makes again what was undone"] if undoing.to_redo else []
    say(f"{', '.join(ways)}. {_NOT_IN_IT}")
    return 0


def _row(undoing: Undoing, each: Standing, before: object, after: object) -> str:
    what = "made" if before is None else "removed" if after is None else "changed"
    return one_line(f"{_when(each)} {each.change.tool or 'a tool'} {what}: {undoing.shown(each.change.path)}")


def _show(undoing: Undoing, standing: Sequence[Standing]) -> int:
    """What each file would become, one change after the other; in colours on a terminal."""
    console = PlainConsole()
    contents: dict[str, bytes | None] = {}
    for each in standing:
        path = each.change.path
        now = contents[path] if path in contents else undoing.content(path)
        contents[path] = undoing.earlier(each.change)
        for line in visible(unified(now, contents[path], undoing.shown(path))).removesuffix("\n").split("\n"):
            console.out(line, style=difference_style(line) or None)
    return 0


def _named(each: Standing) -> str:
    return f"{each.change.tool or 'the change'} of {_when(each)}"


def _when(each: Standing) -> str:
    return f"{each.change.time.replace('T', ' ').removesuffix('Z')} UTC"


def _became(changed: Changed) -> str:
    if changed.before == changed.after:
        return "It was so already."
    if changed.after is None:
        return "The file is gone."
    if changed.before is None:
        return "The file is back."
    counted = count_changed(changed.before, changed.after)
    return f"Its earlier content is back (+{counted.added:,} −{counted.removed:,} lines)."
