"""An event loop whose tasks start before `create_task` returns, as Textual has it on Python 3.12 and later."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from functools import partial
from typing import Any


def _start_eagerly(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, Any],
    *,
    context: Context | None = None,
    **options: Any,
) -> Any:
    """A stand-in for `asyncio.eager_task_factory`, which Python 3.11 does not have."""
    context = context or copy_context()
    try:
        waits_for = context.run(coroutine.send, None)
    except StopIteration as end:
        ended = loop.create_future()
        ended.set_result(end.value)
        return ended
    except Exception as error:
        ended = loop.create_future()
        ended.set_exception(error)
        return ended
    return asyncio.Task(_continue(coroutine, waits_for), loop=loop, context=context, **options)


@types.coroutine
def _continue(coroutine: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    while True:
        try:
            sent = yield waits_for
        except BaseException as error:
            resume = partial(coroutine.throw, error)
        else:
            resume = partial(coroutine.send, sent)
        try:
            waits_for = resume()
        except StopIteration as end:
            return end.value


@contextmanager
def eager_tasks() -> Iterator[None]:
    """Start every task of the running loop eagerly inside the block."""
    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    factory: Any = getattr(asyncio, "eager_task_factory", _start_eagerly)
    loop.set_task_factory(factory)
    try:
        yield
    finally:
        loop.set_task_factory(before)
