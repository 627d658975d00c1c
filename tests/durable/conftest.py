"""Every test that takes `database_url` runs with an SQLite file and, in `make test-all`, with a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from durable.databases import Server, shared_postgres, why_no_postgres


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Server]:
    """The one of this test run, in whichever of its processes: not to be stopped by a test."""
    if why := why_no_postgres():
        pytest.skip(why)
    base = tmp_path_factory.getbasetemp()
    with shared_postgres((base if worker_id == "master" else base.parent) / "postgresql") as server:
        yield server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'runs.db'}"


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    url = postgres_server.new_database()
    yield url
    postgres_server.drop(url)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.thorough)])
def database_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url
