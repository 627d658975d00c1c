"""`ask_user`: the person's words, within bounds; nobody there is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builtin_calls import call_tool
from toolwire.builtin.asking import ANSWER_CHARACTERS, NO_ANSWER, NOBODY, asking_tools
from toolwire.tools.definition import Risk


async def test_the_answer_is_the_result(tmp_path: Path) -> None:
    asked: list[tuple[str, Sequence[str]]] = []

    async def answer(question: str, options: Sequence[str]) -> str:
        asked.append((question, options))
        return " blue\n"

    (ask,) = asking_tools(answer)
    assert (ask.risk, ask.timeout) == (Risk.READ, 3600)
    assert (
        await call_tool(ask, {"question": "Which?", "options": ["red", " dark\nblue "]}, tmp_path)
    ).content == "blue"
    assert (await call_tool(ask, {"question": "Which\none?"}, tmp_path)).content == "blue"
    assert (await call_tool(ask, {"question": "Which?", "options": []}, tmp_path)).content == "blue"
    assert asked == [("Which?", ("red", "dark blue")), ("Which\none?", ()), ("Which?", ())]


async def test_nobody_is_told(tmp_path: Path) -> None:
    (ask,) = asking_tools()
    result = await call_tool(ask, {"question": "Which?"}, tmp_path)
    assert (result.content, result.is_error) == (NOBODY, False)


async def test_no_answer_is_told(tmp_path: Path) -> None:
    async def silent(question: str, options: Sequence[str]) -> str:
        return "  "

    (ask,) = asking_tools(silent)
    assert (await call_tool(ask, {"question": "Which?"}, tmp_path)).content == NO_ANSWER


async def test_a_long_answer_is_cut_and_told(tmp_path: Path) -> None:
    async def long(question: str, options: Sequence[str]) -> str:
        return "x" * (ANSWER_CHARACTERS + 1)

    (ask,) = asking_tools(long)
    content = (await call_tool(ask, {"question": "Which?"}, tmp_path)).content
    assert content == "x" * ANSWER_CHARACTERS + f"\n[the answer is cut: it had {ANSWER_CHARACTERS + 1:,} characters]"


async def test_a_question_that_cannot_be_asked_is_an_error(tmp_path: Path) -> None:
    async def gone(question: str, options: Sequence[str]) -> str:
        raise OSError("the terminal is gone")

    (ask,) = asking_tools(gone)
    for _ in range(2):
        result = await call_tool(ask, {"question": "Which?"}, tmp_path)
        assert result.is_error
        assert "the terminal is gone" in result.content


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"question": " \n"}, "empty"),
    ({"question": "x" * 4001}, "4,001 characters"),
    ({"question": "a", "options": ["x"] * 2}, "the same"),
    ({"question": "a", "options": [f"{n}" for n in range(21)]}, "21 options"),
    ({"question": "a", "options": ["ok", " "]}, "is empty"),
    ({"question": "a", "options": ["x" * 201]}, "over 200"),
    ({"question": "a", "options": [1]}, "options"),
    ({"question": 1}, "question"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=[words for _, words in REFUSED])
async def test_what_is_no_question_reaches_nobody(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    asked: list[str] = []

    async def answer(question: str, options: Sequence[str]) -> str:
        asked.append(question)
        return "yes"

    (ask,) = asking_tools(answer)
    result = await call_tool(ask, arguments, tmp_path)
    assert result.is_error
    assert words in result.content
    assert asked == []


async def test_questions_do_not_overlap(tmp_path: Path) -> None:
    open_now, most = 0, 0

    async def answer(question: str, options: Sequence[str]) -> str:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0.01)
        open_now -= 1
        return question

    (ask,) = asking_tools(answer)
    calls = [call_tool(ask, {"question": f"Question {n}?"}, tmp_path) for n in range(5)]
    results = await asyncio.gather(*calls)
    assert [result.content for result in results] == [f"Question {n}?" for n in range(5)]
    assert most == 1
