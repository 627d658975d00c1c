"""`ask_user`: a model asks the person who runs it, one question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import Any

import msgspec

from ..errors import ConfigError
from ..tools.check import cut
from ..tools.definition import Risk, ToolDefinition

AskPerson = Callable[[str, Sequence[str]], Awaitable[str]]
"""Shows a person a question and what they can choose from (nothing: any answer), and gives what they say.

It is asked one question at a time, unless it has an attribute `overlaps` that is true.
"""

QUESTION_CHARACTERS = 4_000
OPTIONS = 20
OPTION_CHARACTERS = 200
ANSWER_CHARACTERS = 20_000
"""A page that was pasted, and no book."""
SECONDS = 3_600.0
"""People go to lunch."""

NOBODY = (
    "Nobody is there to answer. Decide by yourself what is safe and easy to change later, and say what you decided; "
    "if nothing is, stop and say what you need to know."
)
NO_ANSWER = "The person gave no answer. Decide by yourself, or say what you need to know."

_DESCRIPTION = (
    "Ask the person you work for, and wait for the answer. For what only they can know or decide: a choice with "
    "consequences, a missing fact. Not for permission to use a tool: that is asked for by itself. One question at a "
    "time."
)
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": f"The question, up to {QUESTION_CHARACTERS:,} characters."},
        "options": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"Answers to choose from, up to {OPTIONS} short ones. Leave out for any answer.",
        },
    },
    "required": ["question"],
    "additionalProperties": False,
}


class _Question(msgspec.Struct):
    question: str
    options: list[str] | None = None


def asking_tools(answer: AskPerson | None = None) -> list[ToolDefinition]:
    """`ask_user`. Without `answer` nobody is there, and the model is told so."""
    in_turn = nullcontext() if getattr(answer, "overlaps", False) else asyncio.Lock()

    async def ask_user(arguments: dict[str, Any]) -> str:
        asked = _checked(arguments)
        if answer is None:
            return NOBODY
        async with in_turn:
            said = await answer(asked.question, tuple(asked.options or ()))
        said = said.strip()
        if len(said) > ANSWER_CHARACTERS:
            return f"{said[:ANSWER_CHARACTERS]}\n[the answer is cut: it had {len(said):,} characters]"
        return said or NO_ANSWER

    return [ToolDefinition("ask_user", _DESCRIPTION, _PARAMETERS, Risk.READ, ask_user, timeout=SECONDS)]


def _checked(arguments: dict[str, Any]) -> _Question:
    try:
        asked = msgspec.convert(arguments, _Question)
    except msgspec.ValidationError as error:
        raise ConfigError(f"this is no question: {error}") from None
    if not asked.question.strip():
        raise ConfigError("the question is empty; write what you want to know")
    if len(asked.question) > QUESTION_CHARACTERS:
        raise ConfigError(
            f"the question has {len(asked.question):,} characters; ask in at most {QUESTION_CHARACTERS:,}"
        )
    options = [" ".join(each.split()) for each in asked.options or ()]
    if len(options) > OPTIONS:
        raise ConfigError(f"there are {len(options):,} options; give at most {OPTIONS}, or none for any answer")
    for option in options:
        if not option or len(option) > OPTION_CHARACTERS:
            raise ConfigError(f"the option {cut(option)!r} is empty or over {OPTION_CHARACTERS} characters")
    if len(set(options)) < len(options):
        raise ConfigError("two options are the same; give each one once")
    return _Question(asked.question, options)
