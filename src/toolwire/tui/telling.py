"""What went wrong, said at the desk. A worker that raises would end the app, and the conversation with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..chat.desk import Desk
from ..errors import ToolwireError


@contextmanager
def telling(desk: Desk) -> Iterator[None]:
    """Whatever goes wrong inside is said, and goes no further."""
    try:
        yield
    except Exception as error:
        tell(desk, error)


def tell(desk: Desk, error: Exception) -> None:
    """Says what it was and what to do, as the command would."""
    match error:
        case ToolwireError():
            desk.problem(error.message, error.hint)
        case OSError():
            desk.problem(f"the system refused: {error.strerror or error}", "Is there room on the disk?")
        case _:
            desk.problem(f"this is a bug in Toolwire: {type(error).__name__}: {error}", "Please report it.")
