"""Tasks that are stored in attributes: they must not start before they are stored."""

from __future__ import annotations

import ast
import asyncio
import contextvars
from collections.abc import Iterator
from pathlib import Path

import toolwire
from eager import eager_tasks
from toolwire.tasks import create_lazy_task

PACKAGE = Path(toolwire.__file__).parent
EAGER = ("create_task", "ensure_future")


async def test_an_eager_task_starts_before_create_task_returns() -> None:
    started: list[str] = []

    async def work() -> str:
        started.append("yes")
        await asyncio.sleep(0)
        return "done"

    with eager_tasks():
        task = asyncio.create_task(work())
        assert started == ["yes"]
        assert await task == "done"


async def test_a_lazy_task_starts_after_it_is_returned() -> None:
    started: list[str] = []
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    async def work() -> str:
        started.append(variable.get())
        return "done"

    with eager_tasks():
        task = create_lazy_task(work(), name="lazy", context=contextvars.Context())
        variable.set("set")
        other = create_lazy_task(work())
        assert started == []
        assert task.get_name() == "lazy"
        assert await task == "done"
        assert await other == "done"
        assert started == ["unset", "set"]


def stored_eager_tasks(source: str) -> Iterator[int]:
    """The lines that store a task in an attribute or a container without `create_lazy_task`."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        stored = any(isinstance(part, ast.Attribute | ast.Subscript) for each in targets for part in ast.walk(each))
        calls = [part for part in ast.walk(node.value) if isinstance(part, ast.Call)]
        if stored and any(getattr(call.func, "attr", getattr(call.func, "id", "")) in EAGER for call in calls):
            yield node.lineno


def test_no_module_stores_a_task_that_may_have_started() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in stored_eager_tasks(path.read_text(encoding="utf-8"))
    }
    assert not found, "use toolwire.tasks.create_lazy_task"


def test_a_stored_eager_task_is_found() -> None:
    source = (
        "self.a = asyncio.create_task(f())\n"
        "task = self.b = loop.create_task(f())\n"
        "self.c[1] = 2, asyncio.ensure_future(f())\n"
        "task = asyncio.create_task(f())\n"
        "self.d = create_lazy_task(f())\n"
    )
    assert list(stored_eager_tasks(source)) == [1, 2, 3]
