"""The page for operators: its queries fit the tables as they are, and its grants are enough and not too much."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from docs_console import fences
from durable.databases import Server
from durable.working import Work, at_work, happens, quick
from toolwire import Agent, Answer
from toolwire.durable.attempt import DurableAgent
from toolwire.durable.client import Runs
from toolwire.durable.database import Database, questions
from toolwire.durable.database import runs as runs_table
from toolwire.durable.dbos_engine import DbosEngine
from toolwire.durable.fanout import sub_agents
from toolwire.durable.rates import Rate
from toolwire.durable.records import RunSpec, to_json
from toolwire.durable.workplace import Workplace
from toolwire.errors import DurableFailed
from toolwire.testing import call, fail, say

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"
BLOCKS = [block.text for block in fences(PAGE.read_text()) if block.language == "sql"]
QUERIES = [block for block in BLOCKS if "FROM toolwire_runs" in block]
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
        block = re.sub(r"\btoolwire_(owner|worker|client|reader)\b", rf"{mark}_\1", block)
        return block.replace("DATABASE runs", f"DATABASE {mark}")

    admin = postgres_server.url("postgres")
    urls = {name.rpartition("_")[2]: postgres_server.url(mark).replace("postgres@", f"{name}@") for name in names}
    run(admin, [here(ROLES)])
    prepare(urls["owner"])
    run(urls["owner"], [here(GRANTS)])
    yield urls
    run(admin, [f"DROP DATABASE {mark} WITH (FORCE)", *(f"DROP ROLE {name}" for name in names)])


async def test_the_grants_of_a_reader_are_enough_and_not_too_much(roles: dict[str, str]) -> None:
    async with Runs(roles["client"]) as runs:
        id = (await runs.submit("Hello")).id
        assert (await runs.cancel(id)).state == "cancelled"
        assert (await runs.resume(id)).state == "queued"
    async with Runs(roles["reader"]) as runs:
        assert [info.id for info in await runs.list()] == [id]
        assert await runs.steps(id) == []
        assert await runs.workers() == []
        with pytest.raises(DurableFailed, match="permission denied"):
            await runs.submit("Hello again")
        with pytest.raises(DurableFailed, match="permission denied"):
            await runs.cancel(id)


async def test_the_grants_of_worker_and_client_are_enough(roles: dict[str, str]) -> None:
    options: dict[str, Any] = {"everywhere": 5, "rates": {"*": Rate(1000, 1.0)}}

    def offer(work: Work) -> list[DurableAgent]:
        return [DurableAgent("toolwire", work.make), DurableAgent("planner", make_planner)]

    def make_planner(spec: RunSpec, place: Workplace) -> Agent:
        return work.make(spec, place)

    def tools(place: Workplace) -> list[Any]:
        return [*work.deeds.tools(), sub_agents(place, agent="toolwire", risk="read")]

    async with at_work(
        roles["client"], worker_url=roles["worker"], agents=offer, agent={"tools": tools}, **options
    ) as work:
        run = await work.submit(call("save", text="a"), call("start_agents", tasks=["child"]), say("Done."))
        work.scripts["child"] = [say("I was here.")]
        (question,) = await work.asked(run)
        await work.runs.pause(run)
        await work.runs.resume(run)
        await work.runs.answer(run, question.id, Answer(allowed=True), digest=question.digest)
        assert (await work.over(run)).text == "Done."
        assert work.deeds.done == ["a"]
        assert [info.state for info in await work.runs.list(parent=run)] == ["finished"]
        async with Runs(roles["reader"]) as runs:
            assert [event async for event in runs.follow(run)]
            assert len(await runs.workers()) == 1
        work.scripts["question 0"] = [say("Again.")]
        assert (await work.over((await work.runs.fork(run, 4)).id)).text == "Again."
        failed = await work.submit(fail(400))
        assert (await work.over(failed)).state == "failed"
        await work.runs.cancel((await work.runs.resume(failed)).id)
        late = await work.submit(call("save", text="b"), say("Never."), timeout=0.2)
        assert (await work.over(late)).state == "failed"
        held = await work.submit(call("save", text="c"), say("Yes."))
        (question,) = await work.asked(held)
        gone = runs_table.update().where(runs_table.c.id == held).values(state="running", worker="gone")
        await work.ledger.database.use(lambda connection: connection.execute(gone))
        assert await happens(lambda: any("is taken over from gone" in told for told in work.told)), work.told
        await work.runs.answer(held, question.id, Answer(allowed=True))
        assert (await work.over(held)).text == "Yes."
    async with Runs(roles["client"]) as runs:
        assert await runs.prune(older_than=-10) >= 6
        assert await runs.list() == []
    assert not [told for told in work.told if "denied" in told or "Error" in told]


WRITE = {
    "worker": {
        "toolwire_runs": "IU",
        "toolwire_events": "I",
        "toolwire_effects": "I",
        "toolwire_questions": "D",
        "toolwire_workers": "IUD",
        "toolwire_rates": "IU",
        "workflow_status": "IU",
        "workflow_input": "IU",
        "workflow_output": "IU",
        "operation_outputs": "IU",
        "queues": "IU",
        "application_versions": "IU",
    },
    "client": {
        "toolwire_runs": "IUD",
        "toolwire_events": "ID",
        "toolwire_effects": "ID",
        "toolwire_questions": "ID",
        "workflow_status": "IUD",
        "workflow_input": "IUD",
        "workflow_output": "IUD",
        "operation_outputs": "IUD",
        "workflow_events": "I",
        "workflow_events_history": "I",
        "streams": "I",
    },
    "reader": {},
}
"""What a role may write: whole rows of which tables."""


def test_nobody_may_write_more_than_the_page_says(roles: dict[str, str]) -> None:
    tables = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'dbos')"
    for role, writes in WRITE.items():
        with closing(Database(roles[role])) as database, database.engine.connect() as connection:
            for schema, table in connection.execute(sa.text(tables)).all():
                rights = {
                    right: connection.execute(
                        sa.select(sa.func.has_table_privilege(f"{schema}.{table}", right))
                    ).scalar()
                    for right in ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
                }
                held = "".join(right[0] for right, has in rights.items() if has)
                assert held == writes.get(table, ""), (role, table)
            for schema in ("public", "dbos"):
                assert not connection.execute(sa.select(sa.func.has_schema_privilege(schema, "CREATE"))).scalar()


@pytest.mark.parametrize("role", ["worker", "reader"])
async def test_who_is_no_client_cannot_say_yes(roles: dict[str, str], role: str) -> None:
    async with at_work(roles["client"], worker_url=roles["worker"]) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        (question,) = await work.asked(run)
        async with Runs(roles[role]) as runs:
            with pytest.raises(DurableFailed, match="permission denied"):
                await runs.answer(run, question.id, Answer(allowed=True))
        yes = to_json(msgspec.structs.replace(question, request=None, answered=1.0, answer=Answer(allowed=True)))
        row = questions.insert().from_select(
            [column.name for column in questions.c],
            sa.select(
                *(
                    sa.literal(yes)
                    if column.name == "answer"
                    else sa.literal(1.0)
                    if column.name == "answered"
                    else sa.literal("another")
                    if column.name == "digest"
                    else column
                    for column in questions.c
                )
            ),
        )
        with closing(Database(roles[role])) as database, pytest.raises(DurableFailed, match="permission denied"):
            database.do(lambda connection: connection.execute(row))
        assert (await work.runs.get(run)).questions == 1
        assert work.deeds.started == []
