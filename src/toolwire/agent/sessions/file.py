"""The SQLite file that sessions live in: opened when it is needed, written by any number of processes at a time.

What is promised of a write that has returned: the death of the process does not undo it (write-ahead log). A power cut
may undo the last of them, unless one was `durable`: then it and all before it are on the disk. One that fails is not
there, or is whole. Everything that goes wrong is a `SessionFailed`.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import SessionFailed
from ...limits import MIB
from .entries import check

if TYPE_CHECKING:
    import sqlite3

_BUSY_SECONDS = 5.0
"""How long another process may hold the file: a write takes it a millisecond, and clearing the log some more."""
_OURS = 0x544F4F4C
"""The application id in the head of the file, by which SQLite files are told apart."""
_VERSION = 1
_LONGEST = 256 * MIB
"""Bytes of one entry: more than an answer or a result can come to. A damaged file may say anything."""

_TABLES = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, info BLOB NOT NULL, checksum BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE entries (session TEXT NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL, checksum BLOB NOT NULL,"
    " PRIMARY KEY (session, number)) WITHOUT ROWID",
)

_WHY = {
    "SQLITE_FULL": ("the disk is full", "Make room on it; what was written before is there."),
    "SQLITE_READONLY": ("it may not be written", "Check who owns the file and its folder, and the disk."),
    "SQLITE_PERM": ("it may not be opened", "Check who owns the file and its folder."),
    "SQLITE_CANTOPEN": ("it cannot be opened", "Check the file and its folder."),
    "SQLITE_BUSY": ("another process holds it", "Try again when that one is done."),
    "SQLITE_LOCKED": ("another process holds it", "Try again when that one is done."),
    "SQLITE_NOTADB": ("it is no database", "Move it away; the next session makes a new one."),
    "SQLITE_CORRUPT": ("it is damaged", "Export what can still be read, then move it away."),
    "SQLITE_TOOBIG": ("it is too big", f"An entry has {_LONGEST // MIB} MiB at most."),
    "SQLITE_IOERR": ("the disk failed", "Check the disk; what was written before is there."),
}
_WHY_ELSE = ("it is not as it should be", "Move it away; the next session makes a new one.")


class StoreFile:
    """One file. Usable from any thread; not across a fork, since SQLite is not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._found: os.stat_result | None = None
        self._turn = threading.RLock()

    @property
    def locks(self) -> Path:
        """The folder for the locks of its sessions."""
        return self.path.with_name(f"{self.path.name}-locks")

    @property
    def all_paths(self) -> list[str]:
        """The file, what SQLite keeps beside it, and the locks: as named, and where that leads."""
        beside = [self.path, *(self.path.with_name(self.path.name + end) for end in ("-wal", "-shm", "-journal"))]
        return [way for path in (*beside, self.locks) for way in (os.path.abspath(path), os.path.realpath(path))]

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return os.path.lexists(self.path)

    def close(self) -> None:
        """Gives everything back; what is used later opens it again."""
        with self._turn:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection; what fails in there is a `SessionFailed`."""
        import sqlite3

        with self._turn:
            try:
                if self._connection is None:
                    self._open()
                assert self._connection is not None
                if self._pid != os.getpid():
                    raise self.failed("it was opened by a process of which this is a fork", "Open the store again.")
                yield self._connection
            except sqlite3.Error as error:
                if _code(error).startswith("SQLITE_CORRUPT"):
                    self.close()  # a page is looked at when it is read first, and would be taken for good from now on
                raise self._failed_by(error) from None
            except UnicodeDecodeError:  # SQLite quotes what it found, and that is no text
                self.close()
                raise self.failed(*_WHY["SQLITE_CORRUPT"]) from None
            except OSError as error:
                raise self.failed(str(error.strerror or error), "Check the file and its folder.") from None

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is in the file when this is left, or nothing is."""
        with self.reading() as connection:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._check_still_there()
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    with suppress(Exception):
                        connection.execute("ROLLBACK")
                raise

    def bodies(self, session: str) -> tuple[list[tuple[object, object, object]], str]:
        """Number, body and checksum of the entries of a session, as they stand there, and what kept them from going on
        where the file is damaged.
        """
        import sqlite3

        select = "SELECT number, body, checksum FROM entries WHERE session = ? ORDER BY number"
        rows: list[tuple[object, object, object]] = []
        with self.reading() as connection:
            try:
                rows.extend(connection.execute(select, (session,)))
            except sqlite3.DatabaseError as error:
                if _code(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                    raise
                self.close()
                return rows, f"the file is damaged ({error})"
        return rows, ""

    def infos(self) -> list[tuple[str, bytes | None]]:
        """The id of every session, and what is written of it as a whole; None where that is damaged."""
        with self.reading() as connection:
            rows = connection.execute("SELECT id, info, checksum FROM sessions ORDER BY id").fetchall()
        return [(str(id), _checked(str(id), info, checksum)) for id, info, checksum in rows]

    def info(self, session: str) -> bytes | None:
        """What is written of one session as a whole; None where that is damaged or there is none."""
        with self.reading() as connection:
            select = "SELECT info, checksum FROM sessions WHERE id = ?"
            row = connection.execute(select, (session,)).fetchone()
        return None if row is None else _checked(session, *row)

    def write(
        self, session: str, first: int, bodies: list[bytes], info: bytes | None = None, *, durable: bool = False
    ) -> None:
        """Adds entries, the first of which has this number, and says anew what is to be said of the whole."""
        rows = [(session, number, body, check(session, number, body)) for number, body in enumerate(bodies, first)]
        with self.writing(durable=durable) as connection:
            connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
            if info is not None:
                row = (session, info, check(session, -1, info))
                connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", row)

    def delete(self, session: str) -> None:
        """Removes a session and overwrites what was there of it."""
        import sqlite3

        with self.reading() as connection:
            with self.writing(durable=True):
                connection.execute("DELETE FROM entries WHERE session = ?", (session,))
                connection.execute("DELETE FROM sessions WHERE id = ?", (session,))
            # Pages that were put together anew keep pieces of what had stood there, so the file is written anew. Where
            # somebody reads it just now, or there is no room for that, it is left to be overwritten later.
            with suppress(sqlite3.OperationalError):
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def failed(self, why: str, hint: str, session: str = "") -> SessionFailed:
        """The error of a file that cannot be used."""
        return SessionFailed(f"{self._sentence}{why}", hint=hint, path=str(self.path), id=session or None)

    def why(self, error: SessionFailed) -> str:
        """What one of these errors says beside the name of the file."""
        return error.message.removeprefix(self._sentence)

    @property
    def _sentence(self) -> str:
        return f"the sessions in {self.path} cannot be used: "

    def _failed_by(self, error: sqlite3.Error) -> SessionFailed:
        why, hint = next((words for start, words in _WHY.items() if _code(error).startswith(start)), _WHY_ELSE)
        return self.failed(f"{why} ({error})", hint)

    def _open(self) -> None:
        import sqlite3

        self._make_private()
        # An autocommitting connection: transactions begin and end where `writing` says so.
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            # From the first write on: what moves inside of the file leaves copies behind that no delete would find.
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "secure_delete = ON"):
                connection.execute(f"PRAGMA {pragma}")
            if self._is_empty(connection):
                self._use_log(connection)
                self._make_tables(connection)
            owner, version = self._numbers(connection)
            if owner != _OURS:
                raise self.failed("it is another program's database", _WHY_ELSE[1])
            if version != _VERSION:
                raise self.failed(
                    f"a newer Toolwire made it (version {version}, not {_VERSION})", "Use that one, or another file."
                )
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._pid = os.getpid()
        self._found = os.lstat(self.path)

    def _check_still_there(self) -> None:
        """What is written to a file that was removed meanwhile is nowhere."""
        assert self._found is not None
        if not (self.exists and os.path.samestat(os.lstat(self.path), self._found)):
            raise self.failed("it was removed or replaced while it was open", "Begin a new session.")

    def _make_private(self) -> None:
        """Makes an empty file if there is none. It must be a plain one of this user, and nobody else may read it.

        One that is there is not opened for this: to close it again would give back the locks that SQLite holds.
        """
        if not self.exists:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        found = os.lstat(self.path)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is no plain file")
        if found.st_uid != os.geteuid():
            raise OSError("it belongs to another user")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.chmod(self.path, 0o600)

    def _use_log(self, connection: sqlite3.Connection) -> None:
        """Turns the write-ahead log on. Where another process does so too, SQLite does not wait by itself."""
        import sqlite3

        until = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
            except sqlite3.OperationalError as error:
                if not _code(error).startswith("SQLITE_BUSY") or time.monotonic() > until:
                    raise
                time.sleep(0.005)
            else:
                return

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        if self._is_empty(connection):  # or another process was first
            for table in _TABLES:
                connection.execute(table)
            connection.execute(f"PRAGMA application_id = {_OURS}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")

    def _is_empty(self, connection: sqlite3.Connection) -> bool:
        """Whether nobody has used the file yet: what another program keeps in it is not touched."""
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return tables == (0,) and self._numbers(connection) == (0, 0)

    def _numbers(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """The application id and the version in the head of the file."""
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return int(owner), int(version)


def _code(error: sqlite3.Error) -> str:
    """SQLite's own name for what went wrong; some errors of Python's module have none."""
    return getattr(error, "sqlite_errorname", "")


def _checked(session: str, info: object, checksum: object) -> bytes | None:
    return info if isinstance(info, bytes) and checksum == check(session, -1, info) else None
