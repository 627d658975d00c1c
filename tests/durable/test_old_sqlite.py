"""SQLite below 3.42, as in Debian 12: `unixepoch('subsec')`, which DBOS uses, gives NULL or does not exist."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from toolwire.durable import sqlite_version
from toolwire.durable.database import Database
from toolwire.errors import ConfigError

DEFAULT = "CREATE TABLE made (name TEXT, at INTEGER NOT NULL DEFAULT (unixepoch('subsec') * 1000))"
"""As DBOS has it in its tables on Python 3.12 and later."""


def select_milliseconds(connection: sa.Connection) -> Any:
    connection.execute(sa.text(DEFAULT))
    connection.execute(sa.text("INSERT INTO made (name) VALUES ('x')"))
    return connection.execute(sa.text("SELECT at FROM made")).scalar()


def select_now(connection: sa.Connection) -> Any:
    return connection.execute(sa.select(sa.cast(sa.func.unixepoch("subsec") * 1000, sa.BigInteger))).scalar()


@pytest.mark.parametrize("version", ["the installed one", "an old one"])
@pytest.mark.parametrize("select", [select_milliseconds, select_now])
@pytest.mark.parametrize("patience", [None, 1.0])
def test_the_time_in_milliseconds_is_known(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    select: Callable[[sa.Connection], Any],
    patience: float | None,
) -> None:
    if version == "an old one":
        monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 40, 1))
    with closing(Database(f"sqlite:///{tmp_path}/runs.db", patience=patience)) as database:
        before = int(time.time() * 1000)
        assert before - 1 <= database.do(select) <= time.time() * 1000 + 1


def test_other_times_are_not_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 40, 1))
    with closing(Database(f"sqlite:///{tmp_path}/runs.db")) as database:
        select = sa.select(sa.func.unixepoch("2020-01-01"))
        assert database.do(lambda connection: connection.execute(select).scalar()) is None


def test_a_version_that_is_too_old_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    major, minor = sqlite_version.OLDEST
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (major, minor - 1, 5))
    monkeypatch.setattr(sqlite3, "sqlite_version", f"{major}.{minor - 1}.5")
    with pytest.raises(
        ConfigError, match=rf"SQLite 3\.{minor - 1}\.5 is too old: .* need 3\.{minor} or newer"
    ) as refused:
        Database(f"sqlite:///{tmp_path}/runs.db")
    assert "PostgreSQL" in refused.value.hint
    assert list(tmp_path.iterdir()) == []
    Database("postgresql://me@127.0.0.1:1/runs").close()
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (major, minor, 0))
    Database(f"sqlite:///{tmp_path}/runs.db").close()
