"""Why a part of durable runs is ours and not the engine's: what DBOS, left to itself, does or leaves undone.

Each test shows a property that we cannot do with. One that fails says that DBOS has learned it: then see
`docs/engines.md`, where the test stands beside the part that can be given back.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dbos import DBOS, DBOSClient, DBOSConfig, EnqueueOptions, error

from durable.bare_dbos import NOBODYS, OPEN, Bare
from toolwire.durable import dbos_engine
from waiting import until

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    """A process of DBOS that comes after another one, which was killed in the middle of a step of the run `cut`."""
    folder = tmp_path_factory.mktemp("border")
    url = f"sqlite:///{folder / 'runs.db'}"
    dead = subprocess.run(
        [sys.executable, "-m", "durable.bare_dbos", url, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent)))},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert dead.returncode == -9, dead.stderr.decode()
    made = Bare(url, "living", folder)
    yield made
    made.close()


@pytest.fixture(scope="module")
def left(bare: Bare) -> Any:
    """How the run of the dead process stands when another one has looked into its queue."""
    bare.looks()
    return bare.status("cut")


@pytest.fixture(scope="module")
def taken_up(bare: Bare, left: Any) -> Bare:
    """When somebody has resumed that run, and it is over."""
    bare.client.resume_workflow("cut", queue_name=OPEN)
    assert bare.comes_to("cut", "SUCCESS")
    return bare


# Who lives (lease.py, sweeping.py).


def test_the_runs_of_a_dead_worker_stay_its_own_until_somebody_resumes_them(left: Any, taken_up: Bare) -> None:
    assert (left.status, left.executor_id) == ("PENDING", "dead")
    assert taken_up.status("cut").executor_id == "living"


def test_who_is_alive_is_written_nowhere(bare: Bare) -> None:
    tables = bare.tables()
    assert {"workflow_status", "queues"} <= set(tables)
    assert not [name for name in tables if re.search("executor|worker|lease|heartbeat", name)]


def test_a_run_whose_task_was_cancelled_is_given_to_nobody(bare: Bare) -> None:
    run = bare.begin(bare.cancelled)
    assert bare.comes_to(run, "PENDING")
    bare.looks()
    assert bare.status(run).status == "PENDING"


def test_of_all_that_is_done_to_a_run_only_its_start_can_be_in_a_transaction_of_ours() -> None:
    """So whoever dies between our row and the engine's is mended by the sweep."""
    found = [name for name in dir(DBOSClient) if name.endswith("_in_transaction")]
    assert found == ["enqueue_in_transaction", "send_bulk_in_transaction", "send_in_transaction"]


# The fence (ledger.py).


def test_a_worker_that_lost_a_run_goes_on_with_its_step_and_does_what_it_was_about_to_do(bare: Bare) -> None:
    bare.gate.clear()
    run = bare.begin(bare.slow)
    assert until(lambda: "begun" in bare.done())
    bare.client.resume_workflow(run, queue_name=NOBODYS)
    bare.gate.set()
    assert until(lambda: "slow" in bare.done())
    assert bare.steps(run) == [], "the record itself is refused"


# Calls with effects (intents.py).


def test_a_step_that_was_cut_is_done_again_whatever_it_does(taken_up: Bare) -> None:
    assert taken_up.done().count("cut") == 2


def test_a_step_in_the_middle_of_a_step_is_not_recorded(bare: Bare) -> None:
    run = bare.begin(bare.nested)
    assert bare.comes_to(run, "SUCCESS")
    assert bare.steps(run) == ["outer"]


def test_steps_must_be_begun_in_the_order_of_before(bare: Bare) -> None:
    """Calls of one answer are answered in any order: what is recorded between their start and end has no place."""
    run = bare.begin(bare.ordered)
    assert until(lambda: bare.steps(run) == ["a"])
    bare.order.reverse()
    bare.client.resume_workflow(run, queue_name=OPEN)
    assert bare.comes_to(run, "ERROR")
    assert "a" in str(bare.status(run).error)


def test_a_fork_does_not_know_what_the_step_it_begins_at_was_about_to_do(bare: Bare) -> None:
    run = bare.begin(bare.announces)
    assert until(lambda: bare.client.get_event(run, "about to", timeout_seconds=0) == "save")
    forked = bare.client.fork_workflow(run, 2, queue_name=NOBODYS).workflow_id
    assert bare.steps(forked) == ["answer"]
    assert bare.client.get_event(forked, "about to", timeout_seconds=0) is None


# Runs that wait (the queue that nobody listens to; asked.py, fanout.py).


def test_a_run_that_waits_for_a_message_holds_its_place(bare: Bare) -> None:
    waits = bare.begin(bare.asks, "one for messages")
    assert bare.comes_to(waits, "PENDING")
    other = bare.begin(bare.plain, "one for messages")
    bare.looks()
    assert bare.status(other).status == "ENQUEUED"
    bare.client.send(waits, "yes")
    assert bare.comes_to(other, "SUCCESS")


def test_a_run_that_waits_for_another_holds_its_place(bare: Bare) -> None:
    run = bare.begin(bare.delegates, "one for others")
    assert until(lambda: bare.client.list_workflows(workflow_ids=[f"{run}.1"]))
    bare.looks()
    assert [bare.status(each).status for each in (run, f"{run}.1")] == ["PENDING", "ENQUEUED"]
    bare.client.cancel_workflow(f"{run}.1")
    assert bare.comes_to(run, "ERROR")


def test_runs_cannot_be_found_by_what_they_wait_for_in_sqlite(bare: Bare) -> None:
    with pytest.raises(error.DBOSException, match="SQLite"):
        bare.client.list_workflows(attributes={"state": "waiting"})


# Events (log.py, following.py).


def test_what_a_cut_step_told_is_told_twice(taken_up: Bare) -> None:
    assert list(taken_up.client.read_stream("cut", "words")) == ["half an answer"] * 2


def test_what_is_told_outside_of_a_step_is_a_step_each(bare: Bare) -> None:
    run = bare.begin(bare.streams)
    assert bare.comes_to(run, "SUCCESS")
    assert bare.steps(run) == ["DBOS.writeStream"] * 2


# Limits (rates.py, `_limit_here`).


def test_a_limiter_counts_starts_and_no_requests(bare: Bare) -> None:
    first = bare.begin(bare.requests, "one an hour")
    assert bare.comes_to(first, "SUCCESS")
    assert bare.steps(first) == ["request"] * 3
    second = bare.begin(bare.plain, "one an hour")
    bare.looks()
    assert bare.status(second).status == "ENQUEUED"


def test_a_limiter_lets_all_go_at_once(bare: Bare) -> None:
    """A provider that counts in its own windows sees twice as many."""
    runs = [bare.begin(bare.plain, "three an hour") for _ in range(3)]
    assert all(bare.comes_to(run, "SUCCESS") for run in runs)


def test_how_much_a_worker_may_do_is_said_by_the_last_one_for_all(bare: Bare) -> None:
    for limit in (2, 5):
        bare.client.register_queue("shared", worker_concurrency=limit)
    found = bare.client.retrieve_queue("shared")
    assert found is not None
    assert found.worker_concurrency == 5
    assert not [name for name in DBOSConfig.__annotations__ if "concurrency" in name and "polling" not in name]


# Time, and runs that kill their workers (ledger.py, sweeping.py).


def test_the_time_of_a_run_and_how_often_it_was_begun_are_forgotten_when_it_is_moved(bare: Bare) -> None:
    run = bare.begin(bare.asks, workflow_timeout=3600.0)
    assert bare.comes_to(run, "PENDING")
    before = bare.status(run)
    assert before.workflow_deadline_epoch_ms is not None
    assert before.recovery_attempts == 1
    bare.client.resume_workflow(run, queue_name=NOBODYS)
    after = bare.status(run)
    assert (after.workflow_deadline_epoch_ms, after.recovery_attempts) == (None, 0)


# Records (`_record_for_good`).


def test_a_fault_of_the_recording_is_recorded_for_what_the_step_gave(bare: Bare) -> None:
    run = bare.begin(bare.requests, NOBODYS)
    bare.has_no_room_once("operation_outputs")
    bare.client.resume_workflow(run, queue_name=OPEN)
    assert bare.comes_to(run, "ERROR")
    [step] = bare.client.list_workflow_steps(run)
    assert "full" in str(step["error"])


# What has no parameter.


@pytest.mark.parametrize(
    ("call", "lacks"),
    [
        (DBOSClient.fork_workflow, "priority"),
        (DBOS.fork_workflow, "priority"),
        (DBOS.workflow, "version"),
        (DBOS.listen_queues, "worker_concurrency"),
    ],
)
def test_this_cannot_be_said(call: Callable[..., Any], lacks: str) -> None:
    assert lacks not in inspect.signature(call).parameters


def test_a_fork_comes_before_all_others(bare: Bare) -> None:
    run = bare.begin(bare.plain, NOBODYS, priority=7)
    forked = bare.client.fork_workflow(run, 1, queue_name=NOBODYS).workflow_id
    assert [bare.status(each).priority for each in (run, forked)] == [7, 0]


@pytest.mark.parametrize("lacks", ["parent_workflow_id", "parent"])
def test_nobody_outside_can_say_which_run_started_another(lacks: str) -> None:
    """So that the engine cannot cancel all that a run started."""
    assert lacks not in EnqueueOptions.__annotations__


def test_nobody_outside_can_write_to_a_stream() -> None:
    """Whoever cancels a run of a dead worker tells its end."""
    assert not [name for name in dir(DBOSClient) if "write" in name]


def test_these_are_all_private_parts_of_dbos_that_are_touched() -> None:
    """Each is shown to be needed above: a queue's limit here, and a fault of the recording."""
    found = re.findall(r"(?<!self)\.(_[a-z]\w*)", inspect.getsource(dbos_engine))
    assert sorted({name for name in found if not name.startswith("__")}) == ["_sys_db", "_worker_concurrency"]
