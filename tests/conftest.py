"""What holds for the whole suite: nothing runs in it without a ticket, and its tests are handed out in little time."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

from progress import Progress
from tickets import counting

# No test is held to a clock: what takes long on a busy machine is not wrong.
settings.register_profile("unhurried", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# Files that tests write have the same permissions on every machine.
os.umask(0o022)

# What a shell starts in the background ignores Ctrl-C, and so would every program that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Whoever asks for more with -v gets pytest's own lines."""
    # Cohere's SDK uses a function that is deprecated on Python 3.14.
    deprecated = r"ignore:'asyncio.iscoroutinefunction' is deprecated:DeprecationWarning:cohere\.client"
    config.addinivalue_line("filterwarnings", deprecated)
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and config.get_verbosity() < 1:
        config.pluginmanager.register(Progress(reporter))


@pytest.fixture(scope="session", autouse=True)
def executions_are_tickets() -> Iterator[None]:
    """In every test process, at its end."""
    with counting() as count:
        yield
    assert count.problem() == ""


def pytest_collection_finish() -> None:
    """What all tests have in common is no garbage, and is not looked through for it."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Collect garbage between tests only: a collection of the whole process would pause a test that measures time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


class Schedule(LoadGroupScheduling):  # type: ignore[misc]
    """That of `--dist loadgroup`, with the tests that are in no group handed out eight at a time.

    One at a time, it goes through all that ran before each of them: the square of their number.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        self._units: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        return group if group != nodeid else f"unit {self._units.setdefault(nodeid, len(self._units) // 8)}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Schedule | None:
    return Schedule(config, log) if config.getoption("dist") == "loadgroup" else None
