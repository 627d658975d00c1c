"""What a server may try on the person and the model behind us."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any, cast

import pytest
from mcp_types import CreateMessageResult, ElicitRequestFormParams, ErrorData, SamplingMessage, TextContent

from over_mcp.test_mcp_requests import CONTEXT, Person, Standing, asking, elicit, filling, form, requests_of, sample
from toolwire.mcp.form import read_form
from toolwire.mcp.sampling import PIECES


def pieces(count: int) -> SamplingMessage:
    return SamplingMessage(role="user", content=[TextContent(type="text", text="")] * count)


@pytest.mark.parametrize("counts", [[PIECES + 1], [100_000], [200, 200], [0], [1, 0]])
async def test_pieces_without_words_are_counted_too(counts: list[int]) -> None:
    person = Person()
    answer = await sample(Standing(person), asking(*map(pieces, counts)))
    assert isinstance(answer, ErrorData)
    assert "each of its messages must have a piece, and all together at most 256" in answer.message
    assert person.seen == []


async def test_as_many_pieces_as_can_be_are_asked() -> None:
    assert isinstance(await sample(Standing(Person()), asking(pieces(PIECES))), CreateMessageResult)


@pytest.mark.parametrize("kind", ["sampling", "elicitation"])
async def test_a_question_that_comes_as_its_call_ends_is_left_without_a_trace(kind: str) -> None:
    """The server sends its question and the result of the call in one go."""
    person = Person()
    requests = requests_of(Standing(person), filling({"name": "Ann"}))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with requests.answering():
            asked: Any = requests.sampling(CONTEXT, asking())
            if kind == "elicitation":
                asked.close()
                asked = requests.elicitation(CONTEXT, form())
            answering = asyncio.create_task(asked)
            await asyncio.sleep(0)
        await answering
        gc.collect()
    assert [str(each.message) for each in found] == []
    assert person.seen == []


@pytest.mark.parametrize("name", ["ｐａｓｓｗｏｒｄ", "p a s s w o r d", "𝐭𝐨𝐤𝐞𝐧", "Ａpi-Ｋey", "ⓟⓘⓝ", "pass\u200bword"])
async def test_a_secret_that_is_dressed_up_is_warned_of(name: str) -> None:
    person = Person()
    schema = {"type": "object", "properties": {name: {"type": "string"}}}
    await elicit(Standing(person), form(schema), filling({}))
    assert "LOOK OUT" in person.seen[0].why


@pytest.mark.parametrize(
    ("message", "warned"),
    [("Type your GitHub password here.", True), ("What is your pass-word?", True), ("Hi.", False)],
)
async def test_a_message_that_speaks_of_a_secret_is_warned_of(message: str, warned: bool) -> None:
    person = Person()
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    await elicit(Standing(person), ElicitRequestFormParams(message=message, requested_schema=schema), filling({}))
    assert ("LOOK OUT, it speaks of a password or a key" in person.seen[0].why) is warned


def test_a_format_that_nobody_knows_is_not_shown() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": "date) Toolwire asks: ("}}}
    assert read_form("notes", cast(Any, schema)).fields[0].format == ""
