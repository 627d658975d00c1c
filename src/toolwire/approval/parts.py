"""What a call does, part by part: each command it runs, each path it touches, or the call as a whole.

Policy judges the parts one by one, and the strictest judgement is that of the call: an allowed part never carries one
that is not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from ..tools.definition import Risk, ToolDefinition
from .command_runs import read_line, runs_of
from .commands.command_line import Assignment, Command, Word, WordKind
from .commands.expansion import links_below, names_matching, spellings
from .commands.git import files_read_by_git, takes_for_repository, without_folders, work_tree
from .commands.programs import is_breaker, program
from .commands.readers import files_read, looks_below, searches
from .commands.variables import are_harmless
from .places import MAX_PATH, Place, Program, Workspace

MAX_PARTS = 256
"""Parts of one call: a command line with more is not one that a person can look through."""
MAX_FOLDERS = 8
"""Folders that a command may run in, as `cd` before it leads: with more, its paths are not known."""


MAX_LOOKS = 256
"""Patterns in one call, from each folder that they may be meant from: each is looked for among the files there."""


class Part(msgspec.Struct, frozen=True):
    """One thing that a call does. `risk` is its own, which may be less than that of its tool: `ls` only reads."""

    risk: Risk | None
    command: Command | None = None
    places: tuple[Place, ...] = ()
    """Of a command: all that its words could name. Of a path: that one."""
    roots: tuple[Place, ...] = ()
    """Folders that it may go through, everything below them too."""
    searched: tuple[Place, ...] = ()
    """Of a command that is known to read: those of them that it reads all of."""
    beside: str = ""
    """What git may run there beside what was asked for, in a sentence; then it is asked about whatever allows it."""
    unsure: str = ""
    """Why it is not understood, in a sentence; then it is asked about whatever allows it."""
    what: str = ""
    """What it is called, where it is neither a command nor a path."""
    refused: str = ""
    """Why it is not looked at, in a sentence; then it is denied: what a rule denies may be in it."""
    program: str = ""
    """The file that the command's bare name resolves to, where that is in the workspace: it may be anything."""

    def __str__(self) -> str:
        if self.command is not None:
            where = f" ({self.command.name} is {self.program!r}, inside the workspace)" if self.program else ""
            return f"the command {str(self.command)!r}{where}"
        return f"the path {self.places[0].given!r}" if self.places else self.what or "the call"


def parts_of(tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> tuple[Part, ...]:
    """Everything that the call does, at least one part."""
    found = tuple(islice(_parts(tool, arguments, workspace), MAX_PARTS + 1))
    if len(found) > MAX_PARTS:
        return (Part(tool.risk, refused=f"it does more than {MAX_PARTS} things at once; make several calls of it"),)
    return found or (Part(tool.risk),)


def only_reads(tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> bool:
    """Whether the call is known only to read. A call that is not understood is not."""
    if tool.risk is Risk.READ:
        return True
    try:
        return bool(tool.command) and all(part.risk is Risk.READ for part in parts_of(tool, arguments, workspace))
    except Exception:
        return False


def _parts(tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> Iterator[Part]:
    if tool.command:
        for part in _shell_parts(tool, arguments, workspace):
            # What runs somewhere else, or nobody knows where, is no harmless read here.
            is_elsewhere = tool.risk in (Risk.NETWORK, Risk.DANGEROUS, None)
            yield msgspec.structs.replace(part, risk=tool.risk) if is_elsewhere else part
    for path in path_arguments(tool, arguments):
        yield _path_part(tool, path, workspace)
    if tool.network and argument(tool, arguments, tool.network):
        yield Part(Risk.NETWORK, what="access to the network")


def path_arguments(tool: ToolDefinition, arguments: dict[str, Any]) -> Iterator[Any]:
    """What stands in the arguments that are paths, one by one; anything may."""
    for name in tool.paths:
        value = argument(tool, arguments, name)
        yield from value if isinstance(value, list) else () if value is None else (value,)


def argument(tool: ToolDefinition, arguments: dict[str, Any], name: str) -> Any:
    """What an argument is; where a call leaves it out, as the tool's schema has it."""
    if name in arguments:
        return arguments[name]
    schema = tool.parameters.get("properties", {}).get(name)
    return schema.get("default") if isinstance(schema, dict) else None


def _path_part(tool: ToolDefinition, path: Any, workspace: Workspace) -> Part:
    risk = tool.risk
    if not isinstance(path, str) or "\0" in path:
        words = "a path is not a plain text"
        return Part(risk, refused=words) if tool.confined else Part(risk, unsure=words)
    place = workspace.place(path)
    if tool.confined and len(path) > MAX_PATH:
        return Part(risk, refused=f"a path of {len(path):,} characters is too long; it has at most {MAX_PATH:,}")
    if tool.confined:
        # It takes a path as it is written, so that nothing is unsure about it.
        return Part(risk, places=(place,), refused="" if place.inside else _outside(place, workspace))
    # What is done to a folder may be done to everything in it.
    roots = (place,) if risk is not Risk.READ and os.path.isdir(place.real) else ()
    if path.startswith("~"):
        places = (place, workspace.place(path, home=True))
        return Part(risk, places=places, roots=roots, unsure="the tool may take ~ for the home folder")
    return Part(risk, places=(place,), roots=roots)


def _outside(place: Place, workspace: Workspace) -> str:
    there = f" (it leads to {place.real[:_SHOWN]!r})" if place.real != place.written else ""
    folders = " and ".join(map(repr, workspace.roots))
    return f"{place.given[:_SHOWN]!r}{there} is outside of {folders}, where this tool works; give a path inside"


def _shell_parts(tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> Iterator[Part]:
    """The parts of a command line, run where and with what the other arguments say."""
    folder = argument(tool, arguments, tool.folder)
    if folder is not None:
        if not isinstance(folder, str) or "\0" in folder:
            yield Part(tool.risk, unsure="the folder is not a plain text")
            return
        place = workspace.place(folder)
        yield Part(Risk.READ, places=(place,), refused="" if place.inside else _outside(place, workspace))
        workspace = workspace.starting_in(folder)
    given = argument(tool, arguments, tool.variables) or {}
    if not isinstance(given, dict):
        yield Part(tool.risk, unsure="the variables are not names with values")
    elif not are_harmless(Assignment(name, _text(value)) for name, value in given.items()):
        names = ", ".join(name[:_SHOWN] for name in list(given)[:_NAMED])
        yield Part(tool.risk, unsure=f"what it runs may depend on the variables that are set for it: {names}")
    yield from _command_parts(tool, argument(tool, arguments, tool.command), workspace)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


_SHOWN = 200
"""Characters of a path or a name in a sentence."""
_NAMED = 10


def _command_parts(tool: ToolDefinition, text: Any, workspace: Workspace) -> Iterator[Part]:
    if not isinstance(text, str):
        yield Part(Risk.EXECUTE, unsure="the command is not a text")
        return
    line = read_line(tool, text)
    if line.problem:
        # What was understood of it is judged all the same: a denial there is a denial.
        yield Part(Risk.EXECUTE, unsure=line.problem)
    looks = 0
    for count, run in enumerate(runs_of(line), 1):
        looks += _looks(run.command)
        if looks > MAX_LOOKS:
            yield Part(Risk.EXECUTE, refused=f"it has more than {MAX_LOOKS} patterns; make several calls of it")
            return
        yield from _parts_of_command(run.command, run.program(workspace), workspace)
        if count > MAX_PARTS or run.starts is None:
            yield Part(Risk.EXECUTE, unsure=f"what {str(run.command)!r} runs is not known before it runs")
        if count > MAX_PARTS:
            return


def _looks(command: Command) -> int:
    """How many patterns and folders of it are to be looked through."""
    patterns = {word.text for word in command.words[1:] if word.kind is WordKind.PATTERN}
    folders = set(command.words[1:]) if command.name == "diff" else ()
    looked = sum(len(spellings(text)) for text in patterns) + len(folders)
    return looked << min(len(command.folders), MAX_FOLDERS)


def _parts_of_command(command: Command, found: Program, workspace: Workspace) -> Iterator[Part]:
    starts = command_folders(command, workspace)
    if starts is None:
        yield Part(Risk.EXECUTE, command, unsure="the folder that it runs in is not known before it runs")
        return
    for redirect in command.redirects:
        risk = Risk.WRITE if redirect.writes else Risk.READ
        if redirect.target.kind is not WordKind.LITERAL:
            yield Part(risk, unsure=f"where {redirect.operator}{redirect.target.text} leads is not known")
        else:
            for start in starts:
                yield Part(risk, places=(place_of(redirect.target, start, workspace),))
    if command.words:
        yield _command_itself(command, found, starts, workspace)


def _command_itself(command: Command, found: Program, starts: Sequence[str], workspace: Workspace) -> Part:
    """What the words of a command do, where it may run in these folders."""
    # What lies in the workspace may be anything, whatever its name is.
    files = None if found.inside else files_read(command)
    reads = files is not None
    words = list(path_words(command)) if files is None else files
    named = [place_of(word, start, workspace) for word in words for start in starts]
    # Where it runs is something that it may look at, and it may have been led there.
    ways = [place for place in map(workspace.place, starts) if place.written != workspace.cwd or not place.inside]
    matched, unsure = _matched(words, starts, workspace, reads=reads, follows=reads and command.name == "diff")
    if not command.name:
        unsure = unsure or "which program it runs is not known before it runs"
    is_git = program(command)[:1] == (Word("git"),)
    unnamed = _searched(command, starts, workspace)
    places = [*named, *ways, *matched, *(place for place in unnamed if reads and not place.inside)]
    roots = [*unnamed, *(place for place in places if os.path.isdir(place.real))] if looks_below(command) else []
    folders = [place for place in named if os.path.isdir(place.real)]
    return Part(
        Risk.READ if reads else Risk.DANGEROUS if _can_break(command, places) else Risk.EXECUTE,
        command,
        tuple(places),
        tuple(roots),
        # Of other programs than git, one that is given folders reads those alone.
        tuple(folders if folders and not is_git else [*unnamed, *folders]) if roots and reads else (),
        _of_git(command, starts, workspace, reads=reads) if is_git else "",
        unsure,
        program=found.path if found.inside else "",
    )


def _matched(
    words: Sequence[Word], starts: Sequence[str], workspace: Workspace, *, reads: bool, follows: bool
) -> tuple[list[Place], str]:
    """Where patterns among the words may lead astray, and why that is not known, if a command that reads has them."""
    places: list[Place] = []
    unsure = ""
    for word in dict.fromkeys(words):
        through = _led_astray(word, starts, workspace, follows=follows)
        places += [place for place in through or () if reads or place.hidden]
        if through is None and reads:
            unsure = f"what {word.text} stands for cannot be looked through"
    return places, unsure


def _of_git(command: Command, starts: Sequence[str], workspace: Workspace, *, reads: bool) -> str:
    """Why git is asked about where it runs, whatever allows it; for what does more than read, its configuration counts
    as allowed with it."""
    folders = git_folders(command, starts, workspace)
    if folders is None:
        return "the folder that git works in is not known before it runs"
    if any(map(takes_for_repository, folders)):
        return "git would take a folder of plain files for a repository"
    if workspace.program(_GIT_LFS).inside:
        return f"git may run {_GIT_LFS}, which lies in the workspace"
    reads = reads or files_read_by_git(without_folders(program(command)[1:])[1]) is not None
    return next((why for folder in folders if (why := workspace.reading(folder).program)), "") if reads else ""


_GIT_LFS = "git-lfs"
"""What filters of repositories and users name alike, so that neither tells which file it is."""


def git_folders(command: Command, starts: Iterable[str], workspace: Workspace) -> list[str] | None:
    """The folders that git looks for its repository from, links followed as git does; None where they are not known."""
    found = [os.path.realpath(start) for start in starts]
    words = without_folders(program(command)[1:])[0]
    if len(words) > MAX_FOLDERS or any(word.kind is not WordKind.LITERAL for word in words):
        return None
    for word in words:
        found = [place_of(word, folder, workspace).real for folder in found]
    return list(dict.fromkeys(found))


def _searched(command: Command, starts: Sequence[str], workspace: Workspace) -> list[Place]:
    """The folders that it may go through though it is not given them: where it runs, and git's whole work tree."""
    if not searches(command):
        return []
    folders = git_folders(command, starts, workspace) if program(command)[:1] == (Word("git"),) else None
    return [workspace.place(each) for each in dict.fromkeys((*starts, *filter(None, map(work_tree, folders or ()))))]


def _can_break(command: Command, places: Sequence[Place]) -> bool:
    """Whether it may do harm to the machine that cannot be undone."""
    removes = program(command)[:1] == (Word("rm"),) and not all(place.inside for place in places)
    return removes or is_breaker(command)


def _led_astray(word: Word, starts: Sequence[str], workspace: Workspace, *, follows: bool) -> list[Place] | None:
    """What a pattern may match that is hidden, or leads out of the workspace through a link; None if it matches too
    much.

    With `follows`, also what the links below a folder lead to.
    """
    found: list[Place] = []
    text = workspace.home + word.text[1:] if word.home else word.text
    patterns = spellings(text) if word.kind is WordKind.PATTERN else []
    for start in starts:
        names: list[str] = []
        for pattern in patterns:
            matched = names_matching(pattern, start)
            if matched is None:
                return None
            names += matched
        for folder in (*names, place_of(word, start, workspace).written) if follows else ():
            links = links_below(folder)
            if links is None:
                return None
            names += links
        found += [place for place in map(workspace.place, names) if not place.inside or place.hidden]
    return found


def command_folders(command: Command, workspace: Workspace) -> list[str] | None:
    """Every folder that the command may run in; None where that is not known."""
    starts = [workspace.cwd]
    for folder in command.folders:
        if folder.kind is not WordKind.LITERAL or len(starts) * 2 > MAX_FOLDERS:
            return None
        starts += [place_of(folder, start, workspace).written for start in starts]
    return list(dict.fromkeys(starts))


def path_words(command: Command) -> Iterator[Word]:
    """Words that may name a file: each but the program's name, and what stands behind a mark or a short option."""
    for word in command.words[1:]:
        yield word
        for mark in "=:@":
            _, found, value = word.text.partition(mark)
            if found and value:
                yield Word(value, word.kind, value.startswith("~"))
        pieces = word.text.translate(_MARKS).split("\0")
        if len(pieces) > 1:
            yield from (Word(piece, word.kind, piece.startswith("~")) for piece in pieces if piece)
        if word.text.startswith("-") and not word.text.startswith("--"):
            yield from (Word(word.text[start:], word.kind) for start in _value_starts(word.text))


_IN_PLACE = frozenset(("tee", "dd", "truncate", "sponge", "shred", "ed", "ex"))
_LAST_IN_PLACE = frozenset(("cp", "install", "rsync"))


def written_in_place(tool: ToolDefinition, part: Part) -> Iterator[Place]:
    """The places whose files a part may write as they are, where they lie. Our own tools put a new file in place."""
    if part.command is None:
        yield from () if tool.confined or part.risk is not Risk.WRITE else part.places
        return
    words = program(part.command)
    name = os.path.basename(words[0].text) if words else ""
    last = words[-1].text if words else ""
    if name in _IN_PLACE or name in _LAST_IN_PLACE:
        yield from (place for place in part.places if name in _IN_PLACE or place.given == last)


_MARKS = str.maketrans(dict.fromkeys("=:@,;", "\0"))
"""What parts the members of a word: `type=bind,src=x,dst=y`."""


def _value_starts(text: str) -> set[int]:
    """Where a value may begin in a word of short options: `-fx`, `-sTx`, and for paths also behind more of them."""
    starts = (*range(2, 6), text.find("/"), text.find(".."))
    return {start for start in starts if 2 <= start < len(text)}


def place_of(word: Word, start: str, workspace: Workspace) -> Place:
    """Where a word leads, if it is a path, from this folder."""
    return workspace.place(word.text, start=start, home=word.home)
