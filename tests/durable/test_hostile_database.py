"""Whoever can write to the database makes nobody run their code: rows that say they are pickles are never decoded."""

from __future__ import annotations

import base64
import json
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from durable.working import Work, at_work, happens, quick
from toolwire import Answer
from toolwire.approval.request import Offer, Scope
from toolwire.approval.rules import Decision, Rule
from toolwire.builtin.asking import asking_tools
from toolwire.durable.client import Runs
from toolwire.durable.database import Database, questions
from toolwire.durable.dbos_engine import WORKFLOW, DbosEngine
from toolwire.durable.engine import WAITING_QUEUE
from toolwire.durable.portable_rows import COLUMN, OWN_TABLES, PICKLE, PORTABLE
from toolwire.durable.records import Question, RunState, to_json
from toolwire.errors import DurableFailed
from toolwire.testing import call, fail, say

dbos = pytest.importorskip("dbos")

from dbos._schemas.system_database import SystemSchema  # noqa: E402

__all__ = ["quick"]
pytestmark = pytest.mark.usefixtures("quick")
TABLES = SystemSchema.metadata_obj.tables
ROWS: dict[str, dict[str, Any]] = {
    "notifications": {"destination_uuid": "run", "topic": "x", "message": "", "message_uuid": "1"},
    "workflow_events": {"workflow_uuid": "run", "key": "x", "value": ""},
    "workflow_events_history": {"workflow_uuid": "run", "key": "x", "value": "", "function_id": 1},
    "operation_outputs": {"workflow_uuid": "run", "function_id": 99, "function_name": "x", "retention_timestamp": 1},
    "streams": {"workflow_uuid": "run", "key": "x", "value": "", "offset": 0, "function_id": 1},
    "workflow_schedules": {
        "schedule_id": "1",
        "schedule_name": "x",
        "workflow_name": WORKFLOW,
        "schedule": "* * * * * *",
        "context": "",
    },
}
"""What Toolwire never writes, and DBOS would decode."""
PAYLOADS = ("inputs", "output", "error", "message", "value", "context")


class Strike:
    """A pickle that makes a folder when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.mark),)


class Attacker:
    """Writes to the database, as anyone may who can connect to it."""

    def __init__(self, url: str, mark: Path) -> None:
        self.mark = mark
        self._payload = base64.b64encode(pickle.dumps(Strike(mark))).decode()
        backend, _, rest = url.partition(":")
        schema = None if backend == "sqlite" else "dbos"
        driver = backend if backend == "sqlite" else "postgresql+psycopg"
        engine = sa.create_engine(f"{driver}:{rest}", poolclass=sa.NullPool)
        self._engine = engine.execution_options(schema_translate_map={SystemSchema.metadata_obj.schema: schema})

    def add_rows(self, run: str) -> None:
        """Rows of every kind that DBOS would decode and Toolwire never writes."""
        with self._engine.begin() as connection:
            for name, row in ROWS.items():
                given = {key: run if value == "run" else value for key, value in row.items()}
                connection.execute(_table(name).insert().values(given))

    def poison(self, *tables: str, error: bool = False) -> None:
        """Makes every value that DBOS decodes a pickle, in these tables or in all: the outputs, or else the errors."""
        names = {name for name in PAYLOADS if name != ("output" if error else "error")}
        with self._engine.begin() as connection:
            for table in map(_table, tables) if tables else TABLES.values():
                values: dict[str, Any] = {each: self._payload for each in names if each in table.c}
                if "error" in table.c:
                    values["output" if error else "error"] = None
                if "serialization" in table.c:
                    values["serialization"] = PICKLE
                if values:
                    connection.execute(table.update().values(values))

    def set_status(self, run: str, **status: Any) -> None:
        """Changes what the engine says of a run."""
        table = _table("workflow_status")
        with self._engine.begin() as connection:
            connection.execute(table.update().where(table.c.workflow_uuid == run).values(status))


def _table(name: str) -> sa.Table:
    return next(table for table in TABLES.values() if table.name == name)


@pytest.fixture
def attacker(database_url: str, tmp_path: Path) -> Iterator[Attacker]:
    attacker = Attacker(database_url, tmp_path / "was here")
    yield attacker
    assert not attacker.mark.exists(), "code from the database was run"


def test_the_attack_works_where_nothing_stops_it(tmp_path: Path) -> None:
    attacker = Attacker("sqlite://", tmp_path / "was here")
    dbos._serialization.deserialize_value(attacker._payload, PICKLE, dbos.DBOSPortableJSONSerializer())
    assert attacker.mark.exists()


async def test_a_worker_runs_nothing_from_the_rows_that_it_takes(database_url: str, attacker: Attacker) -> None:
    async with Runs(database_url) as runs:
        await runs.submit("hostile")
        stale = (await runs.submit("stale")).id
    attacker.poison()
    attacker.set_status(stale, status="PENDING", executor_id="a worker that is gone")
    async with at_work(database_url, agent={"policy": "full"}) as work:
        good = await work.submit(say("Done."))
        assert (await work.over(good)).text == "Done."
        assert await happens(lambda: any("is taken over" in told for told in work.told))
        assert await happens(lambda: any("lost on the way" in told for told in work.told))


@pytest.mark.parametrize("error", [False, True])
async def test_a_worker_runs_nothing_from_the_steps_that_it_tells_again(
    database_url: str, attacker: Attacker, error: bool
) -> None:
    async with at_work(database_url) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        (question,) = await work.asked(run)
        attacker.poison("operation_outputs", error=error)
        await work.runs.answer(run, question.id, Answer(allowed=True))
        info = await work.over(run)
        assert info.state is RunState.FAILED
        assert info.error is not None
        assert PICKLE in info.error.message
        assert work.deeds.done == []


@pytest.mark.parametrize("error", [False, True])
async def test_a_client_runs_nothing_from_what_it_reads(database_url: str, attacker: Attacker, error: bool) -> None:
    async with at_work(database_url, agent={"policy": "full"}) as work:
        run = await work.submit(call("save", text="a"), say("Done."))
        await work.over(run)
        broken = await work.submit(call("save", text="a"), fail(500), prompt="broken")
        assert (await work.over(broken)).state is RunState.FAILED
        waits = await work.submit(say("Done."), prompt="waits", queue="nobody's")
        await work.runs.cancel(waits)
    attacker.poison(error=error)
    async with Runs(database_url) as runs:
        assert len(await runs.list()) == 3
        assert len(await runs.steps(run)) == 3
        await runs.history(run)
        await runs.history(waits)
        fork = await runs.fork(run, 3)
        await runs.cancel(fork.id)
        # A value that is refused is no record: what it says instead is not Toolwire's, or there is nothing at all.
        unread = nullcontext() if error else pytest.raises(DurableFailed, match="cannot be read")
        with unread:
            await runs.history(fork.id)
        with unread:
            await runs.cancel((await runs.resume(broken)).id)
        assert [event async for event in runs.follow(run)]
        assert await runs.prune(older_than=-10) == (5 if error else 4)


@pytest.mark.parametrize("error", [False, True])
def test_no_reader_of_the_engine_decodes_a_pickle(database_url: str, attacker: Attacker, error: bool) -> None:
    with closing(Database(database_url)) as database:
        database.prepare()
        engine = DbosEngine(database)
        engine.prepare()
        with database.engine.begin() as connection:
            engine.submit(connection, "run", WAITING_QUEUE, 0)
        client = engine._made
        system = client._sys_db
        attacker.add_rows("run")
        attacker.poison(error=error)
        attacker.set_status("run", status="ERROR" if error else "SUCCESS")
        refusing: list[Callable[[], Any]] = [
            lambda: client.retrieve_workflow("run").get_result(),
            lambda: client.get_event("run", "x", 0),
            lambda: system.get_all_events("run"),
            lambda: list(client.read_stream("run", "x")),
            lambda: system._replay_recorded(system.check_operation_execution("run", 99, "x"), "x"),
            lambda: system.recv_consume("run", 5, "x", 0),
        ]
        for read in refusing:
            with pytest.raises(TypeError, match="not available"):
                read()
        # These show what cannot be decoded as it is written.
        (status,) = client.list_workflows()
        assert isinstance(status.error if error else status.output, str)
        (step,) = client.list_workflow_steps("run")
        assert isinstance(step["error" if error else "output"], str)
        assert isinstance(client.get_schedule("x")["context"], str)
        with pytest.raises(json.JSONDecodeError):
            client.trigger_schedule("x")
        engine.close()


@pytest.mark.parametrize(
    ("select", "is_refused"),
    [
        ("SELECT 'py_pickle' AS serialization", True),
        ("SELECT 'yaml' AS serialization_1", True),
        ("SELECT 1, 'py_pickle' AS harmless", True),
        ("SELECT 'portable_json' AS serialization", False),
        ("SELECT NULL AS serialization", False),
        ("SELECT 'yaml' AS name", False),
        ("SELECT 'py_pickle' AS title FROM toolwire_meta", False),
    ],
)
def test_only_portable_rows_are_given_out(database_url: str, select: str, is_refused: bool) -> None:
    with closing(Database(database_url)) as database:
        database.prepare()
        (row,) = database.do(lambda connection: connection.execute(sa.text(select)).all())
        assert ("refused" in str(row[-1])) is is_refused
        assert is_refused or f"{row[-1]!r}".replace("None", "NULL") in select


def test_the_engine_has_no_other_form_and_names_it_in_no_other_column() -> None:
    module = dbos._serialization
    forms = {each().name() for each in module.Serializer.__subclasses__() if each.__module__ == module.__name__}
    assert forms == {PORTABLE, PICKLE}
    named = {column.name for table in TABLES.values() for column in table.c if "serial" in column.name}
    assert named == {COLUMN}
    assert not any(
        OWN_TABLES in column.table.name or OWN_TABLES in column.name for table in TABLES.values() for column in table.c
    )


def change(work: Work, question: Question, **values: Any) -> None:
    """Writes into the row of a question."""
    mine = questions.update().where(questions.c.run == question.run, questions.c.id == question.id)
    work.ledger.database.do(lambda connection: connection.execute(mine.values(**values)))


async def test_a_yes_to_a_call_that_the_worker_did_not_ask_about_is_none(sqlite_url: str) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="harm"), say("Done."))
        (question,) = await work.asked(run)
        assert question.request is not None
        shown = msgspec.structs.replace(question.request.invocation, arguments={"text": "harmless"})
        request = msgspec.structs.replace(question.request, invocation=shown)
        change(work, question, body=to_json(msgspec.structs.replace(question, request=request)))
        (seen,) = await work.runs.questions(run)
        assert seen.request is not None
        assert seen.request.invocation.arguments == {"text": "harmless"}
        await work.runs.answer(run, seen.id, Answer(allowed=True), digest=seen.digest)
        assert await happens(lambda: any("2. time" in told for told in work.told))
        (again,) = await work.asked(run)
        assert again.request is not None
        assert again.request.invocation.arguments == {"text": "harm"}
        assert work.deeds.started == []
        await work.runs.answer(run, again.id, Answer(allowed=True), digest=again.digest)
        assert (await work.over(run)).text == "Done."
        assert work.deeds.done == ["harm"]


async def test_words_for_a_question_that_the_model_did_not_ask_are_none(sqlite_url: str) -> None:
    async with at_work(sqlite_url, agent={"tools": lambda place: asking_tools(place.person.ask_person)}) as work:
        run = await work.submit(call("ask_user", question="Delete it?"), say("Done."))
        (question,) = await work.asked(run)
        change(work, question, body=to_json(msgspec.structs.replace(question, question="Keep it?")))
        await work.runs.answer(run, question.id, "Yes.")
        assert await happens(lambda: any("2. time" in told for told in work.told))
        (again,) = await work.asked(run)
        assert again.question == "Delete it?"


@pytest.mark.parametrize("allowed", [True, False])
async def test_an_answer_for_the_session_is_about_the_tool_that_was_asked_about(sqlite_url: str, allowed: bool) -> None:
    async with at_work(sqlite_url) as work:
        run = await work.submit(call("save", text="a"), call("alone", text="b"), say("Done."))
        (question,) = await work.asked(run)
        assert question.request is not None
        wide = (Offer(Rule(decision=Decision.ALLOW), "everything"),)
        request = msgspec.structs.replace(question.request, offers=wide, refusals=wide)
        change(work, question, body=to_json(msgspec.structs.replace(question, request=request)))
        answer = Answer(allowed=allowed, scope=Scope.SESSION)
        await work.runs.answer(run, question.id, answer, digest=question.digest)
        (second,) = await work.asked(run)
        assert second.request is not None
        assert second.request.invocation.tool_name == "alone"
        assert "b" not in work.deeds.started
