"""What holds for the whole suite: nothing runs in it without a ticket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tickets import counting


@pytest.fixture(scope="session", autouse=True)
def executions_are_tickets() -> Iterator[None]:
    """In every test process, at its end."""
    with counting() as count:
        yield
    assert count.problem() == ""
