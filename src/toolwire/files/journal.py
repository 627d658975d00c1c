"""The undo journal: what files held before they were changed, so that it can be put back.

What is promised: before a file is changed, what it held and what will be done are on the disk; afterwards a word that
it was done follows. Whoever is killed in between leaves an entry without that word, and whether it was done is told by
what the file holds (`undoing`). A line that was cut off is passed over.

One folder for each workspace, for its user alone: `changes.jsonl`, which is added to, and `contents/`, named by their
digest. The newest changes are kept, within bounds; the oldest are dropped.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..errors import FileRefused
from ..folders import state_folder
from .locks import lock

CHANGES = 200
"""How many changes are kept at least, where their contents are not too large."""
CONTENTS = 200 * 1024 * 1024
"""Bytes of what is kept of files."""
_SLACK = 50
"""Changes over the bound, so that not every new one writes the file anew."""
_LARGEST = 64 * 1024 * 1024
"""Bytes of a file in it: a content is no larger, and the longest paths of all changes come to far less."""
_LOCK_SECONDS = 20.0
_DIGEST = 64
"""Characters of a digest."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one file, as it was meant."""

    id: str
    path: str
    """Absolute, without links."""
    before: str | None
    """The digest of what it held; None: there was no file."""
    after: str | None
    """The digest of what it was to hold; None: the file was to go."""
    mode: int | None
    """The permissions of what it held."""
    time: str
    tool: str
    of: str
    """The change that this one takes back or makes again; its own id where it is the first."""
    is_undo: bool
    """Whether it takes it back."""
    outcome: str = ""
    """`done`, `dropped`, or empty where whoever did it did not come to say."""


def undo_path(env: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/toolwire/undo`, else below `~/.local/state`."""
    return state_folder(env) / "undo"


def digest_of(content: bytes | None) -> str | None:
    """What a content is known by; None for no file."""
    return None if content is None else sha256(content).hexdigest()


class Journal:
    """The changes in one workspace. Nothing is held open in between, so that any thread and process can use it."""

    def __init__(self, folder: str | os.PathLike[str], workspace: str) -> None:
        self.workspace = os.path.realpath(workspace)
        self.folder = Path(folder) / sha256(os.fsencode(self.workspace)).hexdigest()[:32]

    def begin(
        self,
        path: str,
        before: bytes | None,
        after: bytes | None,
        *,
        mode: int | None = None,
        tool: str = "",
        of: str = "",
        is_undo: bool = False,
    ) -> str:
        """Puts on the disk what is about to be done and what the file holds; gives the id of the change.

        A `FileRefused` if it cannot: then the change must not be made.
        """
        name = secrets.token_hex(8)
        kept = digest_of(before)
        change = Change(name, path, kept, digest_of(after), mode, _now(), tool, of or name, is_undo)
        record = {field: getattr(change, field) for field in _FIELDS}
        try:
            with self._opened() as folder:
                if before is not None and kept is not None:
                    _keep(folder, kept, before)
                _append(folder, record)
                self._bound(folder)
        except OSError as error:
            raise FileRefused(
                f"nothing was changed, because it could not be undone: the undo journal cannot be written "
                f"({error.strerror or error})",
                hint=f"Check the disk and the folder: {self.folder}",
                path=path,
                why="journal",
            ) from None
        return name

    def done(self, change: str) -> None:
        """Says that it was done. Where that cannot be written, what the file holds tells it."""
        self._tell(change, "done")

    def dropped(self, change: str) -> None:
        """Says that it was not done."""
        self._tell(change, "dropped")

    def _tell(self, change: str, outcome: str) -> None:
        with suppress(OSError), self._opened() as folder:
            _append(folder, {"id": change, "outcome": outcome}, sync=False)

    def changes(self) -> list[Change]:
        """All that are kept, the oldest first, those too that were not done. None where there is no journal."""
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._unreadable(error) from None
        try:
            return _read(folder)
        except OSError as error:
            raise self._unreadable(error) from None
        finally:
            os.close(folder)

    def content(self, digest: str) -> bytes:
        """What a file held; a `FileRefused` where it is not kept any more or is not what it was."""
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self.folder / _CONTENTS / digest, flags)
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(_LARGEST + 1)
        except FileNotFoundError:
            raise FileRefused("what the file held is not kept any more", path=str(self.folder), why="journal") from None
        except OSError as error:
            raise self._unreadable(error) from None
        if digest_of(content) != digest:
            raise FileRefused("what was kept of the file is damaged", path=str(self.folder), why="journal")
        return content

    def _unreadable(self, error: OSError) -> FileRefused:
        return FileRefused(
            f"the undo journal cannot be read: {error.strerror or error}",
            hint=f"Check the folder: {self.folder}",
            path=str(self.folder),
            why="journal",
        )

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The folder, made if there is none, while no other process writes in it."""
        try:
            os.stat(self.folder)  # is_dir() would take every error for a missing folder on Python 3.14
        except FileNotFoundError:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync_folder(self.folder.parent)
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            found = os.fstat(folder)
            if found.st_uid != os.geteuid():
                raise OSError("it belongs to another user")
            if stat.S_IMODE(found.st_mode) & 0o077:
                os.fchmod(folder, 0o700)
            lock(folder, _LOCK_SECONDS)
            yield folder
        finally:
            os.close(folder)

    def _bound(self, folder: int) -> None:
        """Drops the oldest changes where there are too many, or what is kept for them is too large."""
        sizes = _sizes(folder)
        # Counted, not read, since this is done at every change: each has two lines.
        if _data(folder).count(b"\n") <= 2 * (CHANGES + _SLACK) and sum(sizes.values()) <= CONTENTS:
            return
        changes = _needed(_read(folder))
        kept: list[Change] = []
        needed: set[str] = set()
        room = CONTENTS
        rows: set[str] = set()
        for change in reversed(changes):
            rows.add(change.of)
            if len(rows) > CHANGES:
                break
            if change.before is not None and change.before not in needed:
                room -= sizes.get(change.before, 0)
                if room < 0 and kept:
                    break
                needed.add(change.before)
            kept.append(change)
        lines = b"".join(_lines(change) for change in reversed(kept))
        _write_whole(folder, _FILE, lines)
        contents = _open_contents(folder)
        try:
            for name in sizes.keys() - needed:
                os.unlink(name, dir_fd=contents)
        finally:
            os.close(contents)


_FILE = "changes.jsonl"
_CONTENTS = "contents"
_FIELDS = ("id", "path", "before", "after", "mode", "time", "tool", "of", "is_undo")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _data(folder: int) -> bytes:
    try:
        descriptor = os.open(_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(_LARGEST + 1) or b""  # nothing at all from a pipe
    if len(data) > _LARGEST:
        raise OSError(errno.EFBIG, "it holds something else than changes")
    return data


def _read(folder: int) -> list[Change]:
    changes: dict[str, Change] = {}
    for line in _data(folder).split(b"\n"):
        record = _record(line)
        known = changes.get(str(record.get("id")))
        if known is None:
            change = _change(record)
            if change is not None:
                changes[change.id] = change
        elif record.get("outcome") in ("done", "dropped"):
            changes[known.id] = replace(known, outcome=record["outcome"])
    return list(changes.values())


def _needed(changes: list[Change]) -> list[Change]:
    """Without what was not done, and without what was taken back or made again: only the last of such a row counts."""
    needed = set({change.of: change.id for change in changes if change.outcome == "done"}.values())
    for place, change in enumerate(changes):
        if not change.outcome:
            # What the next one found there tells whether this one was made.
            following = (other.id for other in changes[place + 1 :] if other.path == change.path)
            needed |= {change.id, next(following, change.id)}
    return [change for change in changes if change.id in needed]


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _change(record: dict[str, Any]) -> Change | None:
    """None where a line is something else."""
    text = all(isinstance(record.get(name), str) for name in ("id", "time", "tool", "of"))
    text = text and _is_path(record.get("path"))
    digests = all(_is_digest(record.get(name)) for name in ("before", "after"))
    mode = record.get("mode")
    if not (text and digests and isinstance(record.get("is_undo"), bool) and (mode is None or isinstance(mode, int))):
        return None
    return Change(**{name: record[name] for name in _FIELDS})


def _is_path(value: Any) -> bool:
    """Whether it is a path as one is written there: whatever else it is could not be opened."""
    try:
        return os.path.isabs(value) and b"\0" not in os.fsencode(value)
    except (TypeError, ValueError):
        return False


def _is_digest(value: Any) -> bool:
    return value is None or (isinstance(value, str) and len(value) == _DIGEST and value.isalnum() and value.isascii())


def _lines(change: Change) -> bytes:
    lines = _line({field: getattr(change, field) for field in _FIELDS})
    return lines + _line({"id": change.id, "outcome": change.outcome}) if change.outcome else lines


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _append(folder: int, record: Mapping[str, Any], *, sync: bool = True) -> None:
    """One line in one write, behind the last one; what a writer left unfinished becomes a line of its own."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(_FILE, flags, 0o600, dir_fd=folder)
    try:
        size = os.fstat(descriptor).st_size
        line = _line(record)
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(descriptor, line) != len(line):
            raise OSError(errno.ENOSPC, "there is no room for all of it")
        if sync:
            os.fsync(descriptor)
            if not size:
                os.fsync(folder)
    finally:
        os.close(descriptor)


def _open_contents(folder: int) -> int:
    with suppress(FileExistsError):
        os.mkdir(_CONTENTS, 0o700, dir_fd=folder)
        os.fsync(folder)
    return os.open(_CONTENTS, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)


def _keep(folder: int, digest: str, content: bytes) -> None:
    contents = _open_contents(folder)
    try:
        # What is there under this name was put there whole.
        with suppress(FileNotFoundError):
            os.stat(digest, dir_fd=contents, follow_symlinks=False)
            return
        _write_whole(contents, digest, content)
    finally:
        os.close(contents)


def _sizes(folder: int) -> dict[str, int]:
    """Everything in the folder of contents, what a killed writer left there too."""
    contents = _open_contents(folder)
    try:
        with os.scandir(contents) as entries:
            return {entry.name: entry.stat(follow_symlinks=False).st_size for entry in entries}
    finally:
        os.close(contents)


def _write_whole(folder: int, name: str, content: bytes) -> None:
    """A file that is there whole or not at all, for its user alone."""
    beside = f".{name}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(beside, flags, 0o600, dir_fd=folder)
    try:
        try:
            write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    os.fsync(folder)


def write_all(descriptor: int, content: bytes) -> None:
    """All of it, in as many writes as it takes."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
