"""The audit trail: what was asked, by which rule, who answered, what ran and how it ended.

A file of JSON lines that is only ever added to, by any number of processes at a time. What is promised: a record is in
the file, whole, before the call goes on, also when the process is killed the moment after; that a call starts is on the
disk before it does. A record that cannot be written is an `AuditFailed`, and the call does not run. Each record holds
the hash of the line before it, so that a line which was changed or taken out later is seen (`read_trail`); not seen is
that the last lines were cut off, or that all was written anew by whoever may write the file.

The file is never cut, renamed or removed here. Whoever moves it away gets a new one with the next record.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import AuditFailed
from ..folders import state_folder
from ..limits import KIB
from ..redaction import Redactor

ARGUMENTS = 16 * KIB
"""Bytes of a call's arguments that are kept whole, as JSON. Of longer ones the beginning is, and their size."""
_WORDS = 2000
"""Characters of every other text."""
_LINE = 256 * KIB
"""Bytes of a line: more than the bounds above can come to, each character escaped."""
_LOCK_SECONDS = 5.0
"""How long another process may hold the file: writing a record takes it a few milliseconds."""
_SYNCED = frozenset({"started"})
"""What must be on the disk before it is true; all that was written before goes there with it."""


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened to one call."""

    event: str
    """`asked`, `allowed`, `approved`, `denied`, `started`, `finished`."""
    call: str
    tool: str
    risk: str
    digest: str = ""
    arguments: dict[str, Any] | None = None
    cwd: str = ""
    why: str = ""
    source: str = ""
    """The rule that decided, by where it stands, or `mode`."""
    who: str = ""
    outcome: str = ""
    beginning: str = ""
    """The beginning of the arguments, as JSON, where they are too long to be kept; set by the trail."""
    size: int = 0
    """How many bytes they have then. The digest is of all of them."""
    at: str = ""
    """When, in UTC; set by the trail."""
    pid: int = 0
    """The process that wrote it; set by the trail."""
    prev: str = ""
    """The SHA-256 of the line before, without its line end; empty in the first line. Set by the trail."""


Audit = Callable[[AuditRecord], None]
"""Writes one record down before it returns. What it raises denies the call."""


def audit_path(env: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/toolwire/audit.jsonl`, else below `~/.local/state`."""
    return state_folder(env) / "audit.jsonl"


class AuditTrail:
    """An `Audit` that adds to a file. Secrets are taken out of what it writes: those of the process's environment,
    or what another `redactor` knows.

    Nothing is held open between records, so that it can be used from any thread and after a fork.
    """

    def __init__(self, path: str | os.PathLike[str], redactor: Redactor | None = None) -> None:
        self.path = Path(path)
        self._redactor = redactor if redactor is not None else Redactor(environment=os.environ)

    def __call__(self, record: AuditRecord) -> None:
        """Adds one record; raises `AuditFailed` unless all of it was written."""
        record = _bounded(record, self._redactor)
        try:
            descriptor = self._open()
            try:
                _lock(descriptor)
                _append(descriptor, record)
                if record.event in _SYNCED:
                    os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise AuditFailed(
                f"the audit trail cannot be written: {error.strerror or error}",
                hint=f"Nothing runs without it. Check the disk and the file: {self.path}",
                path=str(self.path),
            ) from None

    def _open(self) -> int:
        """The file, made if there is none. It must be a plain one of this user, and nobody else may read it."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            descriptor = os.open(self.path, flags)
        except FileNotFoundError:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path, flags | os.O_CREAT, 0o600)
            _sync_folder(self.path.parent)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise OSError("it is no plain file")
            if found.st_uid != os.geteuid():
                raise OSError("it belongs to another user")
            if stat.S_IMODE(found.st_mode) & 0o077:
                os.fchmod(descriptor, 0o600)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor


class TrailLine(msgspec.Struct, frozen=True):
    """One line of a trail."""

    number: int
    record: AuditRecord | None
    """None if the line is no record: its writer was killed or ran out of disk in the middle of it."""
    broken: str = ""
    """What is wrong between this line and the one before it; empty if they are as they were written."""


def read_trail(file: IO[bytes]) -> Iterator[TrailLine]:
    """The lines of a trail in order, each checked against the one before it. Holds one line at a time."""
    prev = ""
    number = 0
    while line := file.readline(_LINE):
        number += 1
        record = None
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            record = _DECODER.decode(line)
        broken = ""
        if record is not None and record.prev != prev:
            broken = "the line before it was changed or taken out" if number > 1 else "the lines before it are missing"
        yield TrailLine(number, record, broken)
        prev = _hash(line)


_DECODER = msgspec.json.Decoder(AuditRecord)


def _hash(line: bytes) -> str:
    return sha256(line.removesuffix(b"\n")).hexdigest()


def _bounded(record: AuditRecord, redactor: Redactor) -> AuditRecord:
    """The record without secrets, and no longer than it may be."""
    # Cut before and after, since taking out secrets makes a text shorter: of a long one not all is looked through.
    texts = ("call", "tool", "risk", "cwd", "why", "source", "who", "outcome")
    changes: dict[str, Any] = {
        name: redactor.text(_plain(getattr(record, name)[: 2 * _WORDS]))[:_WORDS]
        for name in texts
        if getattr(record, name)
    }
    if record.arguments is not None:
        data = _as_json(record.arguments)
        if data is not None and len(data) <= ARGUMENTS:
            changes["arguments"] = redactor.value(record.arguments)
        else:
            text = _plain(repr(record.arguments)) if data is None else data[: 2 * ARGUMENTS].decode("utf-8", "ignore")
            changes["beginning"] = redactor.text(text[: 2 * ARGUMENTS])[: ARGUMENTS // 4]
            changes |= {"arguments": None, "size": len(text if data is None else data)}
    return msgspec.structs.replace(record, **changes)


def _plain(text: str) -> str:
    """Text that can be written, also where a path was no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _as_json(arguments: dict[str, Any]) -> bytes | None:
    """None for what JSON cannot hold. No such call runs, but that it was denied is written down."""
    try:
        return msgspec.json.encode(arguments)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _append(descriptor: int, record: AuditRecord) -> None:
    """One line in one write, behind the last one; what a writer left unfinished becomes a line of its own."""
    last = _last_line(descriptor)
    record = msgspec.structs.replace(
        record,
        at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        pid=os.getpid(),
        prev=_hash(last) if last else "",
    )
    line = msgspec.json.encode(record) + b"\n"
    if last and not last.endswith(b"\n"):
        line = b"\n" + line
    if os.write(descriptor, line) != len(line):
        raise OSError("there is no room for all of it")


def _last_line(descriptor: int) -> bytes:
    """The last line with its end, if it has one; empty where there is none."""
    size = os.fstat(descriptor).st_size
    reach = 4 * KIB
    while True:
        start = max(0, size - reach)
        data = os.pread(descriptor, size - start, start)
        before = data.rfind(b"\n", 0, max(0, len(data) - 1))
        if before >= 0 or start == 0:
            return data[before + 1 :]
        if reach > _LINE:
            raise OSError("it holds something else than an audit trail")
        reach *= 4


def _lock(descriptor: int) -> None:
    """Waits until no other process writes. The lock goes with the descriptor, whatever happens."""
    import fcntl

    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise OSError("another process holds it") from None
            time.sleep(0.001)


def _sync_folder(folder: Path) -> None:
    """Puts the name of a new file on the disk, without which its contents would be lost with the power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
