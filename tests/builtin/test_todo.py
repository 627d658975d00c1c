"""`todo`: the list back, exactly; refusals change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builtin_calls import call_tool
from toolwire.builtin.todo import todo_tools
from toolwire.tools.definition import Risk


def item(text: str, status: str = "pending") -> dict[str, Any]:
    return {"text": text, "status": status}


async def test_the_list_is_kept_and_shown(tmp_path: Path) -> None:
    (todo,) = todo_tools()
    assert todo.risk is Risk.READ
    assert (await call_tool(todo, {}, tmp_path)).content == "The list is empty."
    items = [item("read", "done"), item("write", "doing"), item("test é")]
    text = "1. [x] read\n2. [>] write\n3. [ ] test é\n1 of 3 done."
    assert (await call_tool(todo, {"items": items}, tmp_path)).content == text
    assert (await call_tool(todo, {}, tmp_path)).content == text
    assert (await call_tool(todo, {"items": []}, tmp_path)).content == "The list is empty."


async def test_each_set_of_tools_has_its_own_list(tmp_path: Path) -> None:
    (one,), (other,) = todo_tools(), todo_tools()
    await call_tool(one, {"items": [item("mine")]}, tmp_path)
    assert (await call_tool(other, {}, tmp_path)).content == "The list is empty."


async def test_two_on_doing_are_told_and_taken(tmp_path: Path) -> None:
    (todo,) = todo_tools()
    result = await call_tool(todo, {"items": [item("a", "doing"), item("b", "doing")]}, tmp_path)
    assert not result.is_error
    assert result.content.endswith("2 items are on doing: keep one at a time.")


async def test_an_item_is_one_line(tmp_path: Path) -> None:
    (todo,) = todo_tools()
    result = await call_tool(todo, {"items": [item(" a\n  2. [x] b\r\n")]}, tmp_path)
    assert result.content == "1. [ ] a 2. [x] b\n0 of 1 done."


REFUSED: list[tuple[Any, str]] = [
    ([item("x")] * 101, "101 items"),
    ([item("x" * 501)], "item 1 has 501"),
    ([item("a"), item(" \n ")], "item 2 has 0"),
    ([item("a", "later")], "status"),
    ([{"text": "a"}], "status"),
    (["a"], "object"),
    ("a", "array"),
]


@pytest.mark.parametrize(("items", "words"), REFUSED, ids=[words for _, words in REFUSED])
async def test_a_refused_list_changes_nothing(tmp_path: Path, items: Any, words: str) -> None:
    (todo,) = todo_tools()
    await call_tool(todo, {"items": [item("kept")]}, tmp_path)
    result = await call_tool(todo, {"items": items}, tmp_path)
    assert result.is_error
    assert words in result.content
    assert (await call_tool(todo, {}, tmp_path)).content == "1. [ ] kept\n0 of 1 done."


async def test_the_largest_list_is_taken(tmp_path: Path) -> None:
    (todo,) = todo_tools()
    result = await call_tool(todo, {"items": [item("x" * 500)] * 100}, tmp_path)
    assert result.content.count("x" * 500) == 100


def test_the_schema_says_what_is_taken() -> None:
    (todo,) = todo_tools()
    assert todo.problem({}) is None
    assert todo.problem({"items": [item("a", "doing")]}) is None
    refused: list[dict[str, Any]] = [
        {"items": [{"text": "a"}]},
        {"items": [item("a", "x")]},
        {"item": []},
        {"items": 1},
    ]
    for wrong in refused:
        assert todo.problem(wrong) is not None
