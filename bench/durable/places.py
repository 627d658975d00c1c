"""Databases for many trials: each gets its own, copied from one in which all tables are made already."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from toolwire.durable.client import Runs

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from durable.databases import Server, postgres

KINDS = ("sqlite", "postgresql")
TEMPLATE = "toolwire_template"


class Place:
    """One trial: an address of a database, and a folder for everything else."""

    def __init__(self, kind: str, url: str, folder: Path, server: Server | None) -> None:
        self.kind = kind
        self.url = url
        self.folder = folder
        self.server = server

    def size(self) -> int:
        """Bytes that the database takes."""
        if self.server is None:
            path = Path(self.url.removeprefix("sqlite:///"))
            with sqlite3.connect(path) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
            return path.stat().st_size
        name = self.url.partition("@/")[2].partition("?")[0]
        return int(_told(self.server, f"SELECT pg_database_size('{name}')"))


class Places:
    """Where trials happen, of one kind of database."""

    def __init__(self, kind: str, *, on_disk: bool = False, programs: Path | None = None) -> None:
        self.kind = kind
        self._on_disk = on_disk
        self._programs = programs
        self._stack = ExitStack()
        self._count = 0

    def __enter__(self) -> Places:
        where = None if self._on_disk or not os.access("/dev/shm", os.W_OK) else "/dev/shm"
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(dir=where, prefix="toolwire-runs-")))
        if self.kind == "sqlite":
            self.server = None
            asyncio.run(_prepared(f"sqlite:///{self._folder / 'template.db'}"))
        else:
            # A worker that is killed loses nothing that was committed, so that a disk would only make it slow.
            self.server = self._stack.enter_context(postgres(fast=not self._on_disk, programs=self._programs))
            _told(self.server, f"CREATE DATABASE {TEMPLATE}")
            asyncio.run(_prepared(self.server.url(TEMPLATE)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def new(self) -> Iterator[Place]:
        """A new one, gone afterwards."""
        self._count += 1
        folder = self._folder / f"{self._count}"
        folder.mkdir()
        name = f"runs_{self._count}"
        try:
            if self.server is None:
                shutil.copy(self._folder / "template.db", folder / "runs.db")
                yield Place(self.kind, f"sqlite:///{folder / 'runs.db'}", folder, None)
            else:
                _told(self.server, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
                yield Place(self.kind, self.server.url(name), folder, self.server)
        finally:
            if self.server is not None:
                _told(self.server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            shutil.rmtree(folder, ignore_errors=True)


async def _prepared(url: str) -> None:
    """Makes all tables, and leaves nothing behind beside the file."""
    async with Runs(url) as runs:
        await runs.list()
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()


def _told(server: Server, command: str) -> str:
    import psycopg

    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        cursor = connection.execute(command.encode())
        row = cursor.fetchone() if cursor.description else None
    return "" if row is None else str(row[0])
