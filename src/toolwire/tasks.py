"""Create asyncio tasks that are safe to store in an attribute."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, TypeVar

Result = TypeVar("Result")


def create_lazy_task(
    coroutine: Coroutine[Any, Any, Result], *, name: str | None = None, context: Context | None = None
) -> asyncio.Task[Result]:
    """Create a task on the running event loop that starts only after the caller has stored it.

    `asyncio.create_task` gives no such guarantee: under an eager task factory, which Textual sets on Python 3.12 and
    later, the coroutine runs up to its first suspension before `create_task` returns. A coroutine that clears the
    attribute its task is stored in would then clear it before the assignment.
    """
    # Creating the task without the loop's factory is the only way that works on every supported version of Python.
    return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), name=name, context=context)
