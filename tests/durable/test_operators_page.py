"""The page for operators: its queries fit the tables as they are, and its grants are enough and not too much."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from docs_console import fences
from durable.databases import Server
from toolwire.durable.client import Runs
from toolwire.durable.database import Database
from toolwire.durable.dbos_engine import DbosEngine
from toolwire.errors import DurableFailed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"
BLOCKS = [block.text for block in fences(PAGE.read_text()) if block.language == "sql"]
QUERIES = [block for block in BLOCKS if "toolwire_runs" in block]
ROLES, GRANTS = (block for block in BLOCKS if "toolwire_reader" in block)
ON_SQLITE = {"extract(epoch FROM now())": "unixepoch()", "to_timestamp(updated)": "datetime(updated, 'unixepoch')"}


def statements(block: str) -> Iterator[str]:
    text = "\n".join(line.partition("--")[0] for line in block.splitlines())
    yield from (each for each in text.split(";") if each.strip())


def run(url: str, blocks: list[str]) -> list[list[str]]:
    """Runs all of it, each statement by itself; the columns of each."""
    database = Database(url)
    try:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            done = [connection.execute(sa.text(each)) for block in blocks for each in statements(block)]
            return [list(each.keys()) for each in done if each.returns_rows]
    finally:
        database.close()


def prepare(url: str) -> None:
    """As the first worker does."""
    database = Database(url)
    engine = DbosEngine(database)
    try:
        database.prepare()
        engine.prepare()
    finally:
        engine.close()
        database.close()


def test_the_queries_fit_the_tables(database_url: str) -> None:
    prepare(database_url)
    queries = QUERIES
    if database_url.startswith("sqlite"):
        for words, instead in ON_SQLITE.items():
            queries = [query.replace(words, instead) for query in queries]
    columns = run(database_url, queries)
    assert len(columns) == 8
    assert all(columns)


@pytest.fixture
def roles(postgres_server: Server) -> Iterator[dict[str, str]]:
    """The addresses of a database set up as the page says, by role."""
    mark = f"page_{uuid.uuid4().hex[:8]}"
    names = [f"{mark}_{role}" for role in ("owner", "worker", "client", "reader")]

    def here(block: str) -> str:
        return block.replace("toolwire_", f"{mark}_").replace("DATABASE runs", f"DATABASE {mark}")

    admin = postgres_server.url("postgres")
    urls = {name.rpartition("_")[2]: postgres_server.url(mark).replace("postgres@", f"{name}@") for name in names}
    run(admin, [here(ROLES)])
    prepare(urls["owner"])
    run(urls["owner"], [here(GRANTS)])
    yield urls
    run(admin, [f"DROP DATABASE {mark} WITH (FORCE)", *(f"DROP ROLE {name}" for name in names)])


async def test_the_grants_are_enough_and_not_too_much(roles: dict[str, str]) -> None:
    async with Runs(roles["client"]) as runs:
        id = (await runs.submit("Hello")).id
        assert (await runs.cancel(id)).state == "cancelled"
        assert (await runs.resume(id)).state == "queued"
    async with Runs(roles["reader"]) as runs:
        assert [info.id for info in await runs.list()] == [id]
        assert await runs.steps(id) == []
        with pytest.raises(DurableFailed, match="permission denied"):
            await runs.submit("Hello again")
        with pytest.raises(DurableFailed, match="permission denied"):
            await runs.cancel(id)
