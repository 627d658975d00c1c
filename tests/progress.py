"""What a test run prints: how far it is at every twentieth, each failure at once, and each reason for skipping once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter

STEPS = 20


class Progress:
    """Prints a line per twentieth of the tests in place of a dot per test."""

    def __init__(self, reporter: TerminalReporter) -> None:
        self._reporter = reporter
        self._total = 0
        self._finished = 0
        self._failed = 0
        self._printed = 0
        self._start = time.monotonic()

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Count the tests where worker processes run them."""
        self._total = len(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the tests where this process runs them."""
        self._total = len(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name a failure when it happens: the summary may be minutes away."""
        if report.failed:
            self._failed += 1
            self._reporter.write_line(f"FAILED {report.nodeid} ({report.when})", red=True)

    def pytest_runtest_logfinish(self) -> None:
        """Print a line when another twentieth of the tests has finished."""
        self._finished += 1
        steps = self._finished * STEPS // self._total if self._total else 0
        if steps > self._printed:
            self._printed = steps
            minutes, seconds = divmod(int(time.monotonic() - self._start), 60)
            failed = f", {self._failed} failed" if self._failed else ""
            counts = f"{self._finished:,} of {self._total:,} tests{failed}"
            self._reporter.write_line(f"{steps * 100 // STEPS:3} %  {counts}, {minutes}:{seconds:02}")

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, tuple[str, str, str], tuple[str, str, str]]:
        """Keep pytest's verdict, and print no letter for it."""
        category, _, word = yield
        return category, "", word

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print one line for each reason why tests were skipped."""
        reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"Skipped {count:,} {'test' if count == 1 else 'tests'}: {reason}")


def _reason(report: pytest.TestReport) -> str:
    """The reason for skipping, without the place in the code."""
    assert isinstance(report.longrepr, tuple)
    return report.longrepr[2].removeprefix("Skipped: ")
