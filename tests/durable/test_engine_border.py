"""Why a part of durable runs is ours and not the engine's: what DBOS, left to itself, does or leaves undone.

Each test shows a property that we cannot do with. One that fails says that DBOS has learned it: then see
`docs/engines.md`, which lists the test beside the part that can be given back.
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
PAGE = TESTS.parent / "docs" / "engines.md"


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
    """The status of the dead process's run after another process has looked into its queue."""
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


def test_dbos_keeps_no_sign_of_life_of_its_workers(bare: Bare) -> None:
    tables = bare.tables()
    assert {"workflow_status", "queues"} <= set(tables)
    assert not [name for name in tables if re.search("executor|worker|lease|heartbeat", name)]


def test_a_run_whose_task_was_cancelled_is_given_to_no_worker_again(bare: Bare) -> None:
    run = bare.begin(bare.cancelled)
    assert bare.comes_to(run, "PENDING")
    bare.looks()
    assert bare.status(run).status == "PENDING"


def test_only_the_start_of_a_run_can_be_in_a_transaction_of_ours() -> None:
    """So whoever dies between our row and the engine's is mended by the sweep."""
    found = [name for name in dir(DBOSClient) if name.endswith("_in_transaction")]
    assert found == ["enqueue_in_transaction", "send_bulk_in_transaction", "send_in_transaction"]


# The fence (ledger.py).


def test_a_worker_that_lost_a_run_still_does_what_its_step_was_about_to_do(bare: Bare) -> None:
    bare.gate.clear()
    run = bare.begin(bare.slow)
    assert until(lambda: "begun" in bare.done())
    bare.client.resume_workflow(run, queue_name=NOBODYS)
    bare.gate.set()
    assert until(lambda: "slow" in bare.done())
    assert bare.steps(run) == [], "the record itself is refused"


# Calls with effects (intents.py).


def test_a_step_that_was_cut_is_run_again_whatever_it_did(taken_up: Bare) -> None:
    assert taken_up.done().count("cut") == 2


def test_a_step_inside_a_step_is_not_recorded(bare: Bare) -> None:
    run = bare.begin(bare.nested)
    assert bare.comes_to(run, "SUCCESS")
    assert bare.steps(run) == ["outer"]


def test_steps_must_begin_in_the_same_order(bare: Bare) -> None:
    """Calls of one answer are answered in any order: what is recorded between their start and end has no place."""
    run = bare.begin(bare.ordered)
    assert until(lambda: bare.steps(run) == ["a"])
    bare.order.reverse()
    bare.client.resume_workflow(run, queue_name=OPEN)
    assert bare.comes_to(run, "ERROR")
    assert "a" in str(bare.status(run).error)


def test_a_fork_drops_the_events_of_the_step_it_begins_at(bare: Bare) -> None:
    run = bare.begin(bare.announces)
    assert until(lambda: bare.client.get_event(run, "about to", timeout_seconds=0) == "save")
    forked = bare.client.fork_workflow(run, 2, queue_name=NOBODYS).workflow_id
    assert bare.steps(forked) == ["answer"]
    assert bare.client.get_event(forked, "about to", timeout_seconds=0) is None


# Runs that wait (the queue that nobody listens to; asked.py, fanout.py).


def test_a_run_that_waits_for_a_message_holds_its_slot(bare: Bare) -> None:
    waits = bare.begin(bare.asks, "one for messages")
    assert bare.comes_to(waits, "PENDING")
    other = bare.begin(bare.plain, "one for messages")
    bare.looks()
    assert bare.status(other).status == "ENQUEUED"
    bare.client.send(waits, "yes")
    assert bare.comes_to(other, "SUCCESS")


def test_a_run_that_waits_for_another_run_holds_its_slot(bare: Bare) -> None:
    run = bare.begin(bare.delegates, "one for others")
    assert until(lambda: bare.client.list_workflows(workflow_ids=[f"{run}.1"]))
    bare.looks()
    assert [bare.status(each).status for each in (run, f"{run}.1")] == ["PENDING", "ENQUEUED"]
    bare.client.cancel_workflow(f"{run}.1")
    assert bare.comes_to(run, "ERROR")


def test_nobody_is_told_that_an_answer_came_too_late(bare: Bare) -> None:
    run = bare.begin(bare.asks)
    for answer in ("yes", "no"):
        bare.client.send(run, answer)
        assert bare.comes_to(run, "SUCCESS")
    assert bare.status(run).output == "yes"


def test_runs_cannot_be_listed_by_attributes_in_sqlite(bare: Bare) -> None:
    with pytest.raises(error.DBOSException, match="SQLite"):
        bare.client.list_workflows(attributes={"state": "waiting"})


# Events (log.py, following.py).


def test_a_stream_has_twice_what_a_cut_step_wrote(taken_up: Bare) -> None:
    assert list(taken_up.client.read_stream("cut", "words")) == ["half an answer"] * 2


def test_a_stream_write_outside_a_step_is_a_step(bare: Bare) -> None:
    run = bare.begin(bare.streams)
    assert bare.comes_to(run, "SUCCESS")
    assert bare.steps(run) == ["DBOS.writeStream"] * 2


# Limits (rates.py, `_limit_here`).


def test_a_rate_limit_counts_starts_and_no_requests(bare: Bare) -> None:
    first = bare.begin(bare.requests, "one an hour")
    assert bare.comes_to(first, "SUCCESS")
    assert bare.steps(first) == ["request"] * 3
    second = bare.begin(bare.plain, "one an hour")
    bare.looks()
    assert bare.status(second).status == "ENQUEUED"


def test_a_rate_limit_lets_a_whole_window_go_at_once(bare: Bare) -> None:
    """A provider that counts in its own windows sees twice as many."""
    runs = [bare.begin(bare.plain, "three an hour") for _ in range(3)]
    assert all(bare.comes_to(run, "SUCCESS") for run in runs)


def test_the_last_worker_to_register_a_queue_sets_its_limit_for_all(bare: Bare) -> None:
    for limit in (2, 5):
        bare.client.register_queue("shared", worker_concurrency=limit)
    found = bare.client.retrieve_queue("shared")
    assert found is not None
    assert found.worker_concurrency == 5
    assert not [name for name in DBOSConfig.__annotations__ if "concurrency" in name and "polling" not in name]


# Time, and runs that kill their workers (ledger.py, sweeping.py).


def test_moving_a_run_forgets_its_deadline_and_its_attempts(bare: Bare) -> None:
    run = bare.begin(bare.asks, workflow_timeout=3600.0)
    assert bare.comes_to(run, "PENDING")
    before = bare.status(run)
    assert before.workflow_deadline_epoch_ms is not None
    assert before.recovery_attempts == 1
    bare.client.resume_workflow(run, queue_name=NOBODYS)
    after = bare.status(run)
    assert (after.workflow_deadline_epoch_ms, after.recovery_attempts) == (None, 0)


# Records (`_record_for_good`).


def test_a_failed_recording_is_recorded_as_the_result(bare: Bare) -> None:
    run = bare.begin(bare.requests, NOBODYS)
    bare.has_no_room_once("operation_outputs")
    bare.client.resume_workflow(run, queue_name=OPEN)
    assert bare.comes_to(run, "ERROR")
    [step] = bare.client.list_workflow_steps(run)
    assert "full" in str(step["error"])


# What a caller cannot say.


@pytest.mark.parametrize(
    ("call", "lacks"),
    [
        (DBOSClient.fork_workflow, "priority"),
        (DBOS.workflow, "version"),
        (DBOS.listen_queues, "worker_concurrency"),
        (DBOS.migrate, "engine"),
        (DBOS.launch, "loop"),
    ],
)
def test_dbos_has_no_such_parameter(call: Callable[..., Any], lacks: str) -> None:
    assert lacks not in inspect.signature(call).parameters


def test_a_fork_has_no_priority(bare: Bare) -> None:
    """And comes before all that have one."""
    run = bare.begin(bare.plain, NOBODYS, priority=7)
    forked = bare.client.fork_workflow(run, 1, queue_name=NOBODYS).workflow_id
    assert [bare.status(each).priority for each in (run, forked)] == [7, 0]


def test_a_client_cannot_name_the_parent_of_a_run() -> None:
    """So DBOS does not know which runs to cancel with it."""
    assert not [name for name in EnqueueOptions.__annotations__ if "parent" in name]


def test_a_client_cannot_write_to_a_stream() -> None:
    """Whoever cancels a run writes its last event, although its worker may be dead."""
    assert not [name for name in dir(DBOSClient) if "write" in name]


# The list itself.


def test_no_other_private_part_of_dbos_is_used() -> None:
    """Tests above show why each is: the limit of a queue here, the record of a step, launch and migration."""
    found = re.findall(r"(?<!self)\.(_[a-z]\w*)", inspect.getsource(dbos_engine))
    assert sorted(set(found)) == ["_background_event_loop", "_sys_db", "_worker_concurrency"]


def test_the_page_names_each_of_these_tests() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    here = {name for name in globals() if name.startswith("test_")}
    others = {
        name for path in TESTS.glob("durable/test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    assert here - named == {"test_the_page_names_each_of_these_tests"}
    assert named <= others
