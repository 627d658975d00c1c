"""Prompts against llama.cpp, which lays them out by the chat template inside the embedded model's own file.

That template knows turns and no tools: so the oracle is given what stands in the turns, and says how they stand.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from toolwire import render_prompt
from toolwire.embedded.format import CallToWrite, write_calls
from toolwire.embedded.registry import text_format
from toolwire.local.engine import LocalModel
from toolwire.local.weights import install_weights
from toolwire.messages import Message, TextPart, ToolCallPart, ToolResultPart, system, tool_results, user
from toolwire.tools.registry import ToolRegistry

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300), pytest.mark.xdist_group("local-model")]

TOOLS = ToolRegistry([{"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}])
HERMES = text_format("hermes")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalModel]:
    """A server that uses the file's own template, since to it the file is not the embedded model's."""
    weights = install_weights()
    other = tmp_path_factory.mktemp("weights") / "other.gguf"
    try:
        os.link(weights, other)
    except OSError:
        shutil.copy(weights, other)
    async with LocalModel(other) as model:
        yield model


async def laid_out(model: LocalModel, turns: list[tuple[str, str]]) -> str:
    body = {"messages": [{"role": role, "content": content} for role, content in turns]}
    headers = {"Authorization": f"Bearer {model.key.reveal()}"}
    url = model.base_url.removesuffix("/v1") + "/apply-template"
    async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as response:
        assert response.status == 200
        answer: dict[str, Any] = await response.json()
    return str(answer["prompt"])


def calls(*numbers: int) -> list[ToolCallPart]:
    return [ToolCallPart(f"c{number}", "add", {"a": number, "text": f'"{number}" ✓\n'}) for number in numbers]


def as_text(*numbers: int) -> str:
    return write_calls(HERMES, [CallToWrite(part.name, part.arguments) for part in calls(*numbers)])


def results(*numbers: int) -> list[ToolResultPart]:
    return [ToolResultPart(f"c{number}", "add", f"result {number}") for number in numbers]


def responses(*numbers: int) -> str:
    return "\n".join(f"<tool_response>\nresult {number}\n</tool_response>" for number in numbers)


TOLD = f"Be brief.{HERMES.chat.tools(list(TOOLS)) if HERMES.chat else ''}"
CASES: dict[str, tuple[list[Message], list[tuple[str, str]]]] = {
    "one_question": ([system("Be brief."), user("Hello.")], [("system", TOLD), ("user", "Hello.")]),
    "a_call": (
        [system("Be brief."), user("2 + 3?"), Message("assistant", [*calls(1)]), tool_results(results(1))],
        [("system", TOLD), ("user", "2 + 3?"), ("assistant", as_text(1)), ("user", responses(1))],
    ),
    "turns": (
        [
            *(system("Be brief."), user("Two?"), Message("assistant", [TextPart("So:"), *calls(1, 2)])),
            *(tool_results(results(2, 1)), Message("assistant", "5 and 7."), user("né 🦜\n\nAgain.")),
            *(Message("assistant", [*calls(3)]), tool_results(results(3))),
        ],
        [
            *(("system", TOLD), ("user", "Two?"), ("assistant", f"So:\n{as_text(1, 2)}"), ("user", responses(1, 2))),
            *(("assistant", "5 and 7."), ("user", "né 🦜\n\nAgain.")),
            *(("assistant", as_text(3)), ("user", responses(3))),
        ],
    ),
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", CASES)
async def test_turns_stand_as_the_models_own_template_puts_them(model: LocalModel, case: str) -> None:
    messages, turns = CASES[case]
    assert render_prompt(messages, TOOLS, "hermes").text == await laid_out(model, turns)
