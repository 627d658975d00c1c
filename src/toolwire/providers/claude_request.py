"""What requests to Anthropic and to Bedrock have in common, since the same models set the rules: two sides in turn with
results first, a budget for thinking, and tools without unions at the top of their schemas.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

DEFAULT_MAX_TOKENS = 8192
"""Anthropic wants a limit in every request, and thinking one above its budget: enough for a long file in one call, and
all models of the last years take it.
"""

LEAST_THINKING_BUDGET = 1024
"""The models refuse less."""

Block = dict[str, Any]


class Turn:
    """What one side says in a row. Results stand before everything else."""

    def __init__(self, role: str, results: list[Block], blocks: list[Block]) -> None:
        self.role = role
        self.results = results
        self.blocks = blocks

    @property
    def content(self) -> list[Block]:
        """All its blocks, as they go out."""
        return self.results + self.blocks


def joined(turns: Iterable[Turn]) -> list[Turn]:
    """The turns that say something, neighbours of one side made one."""
    made: list[Turn] = []
    for turn in turns:
        if not turn.content:
            continue
        if made and made[-1].role == turn.role:
            made[-1].results += turn.results
            made[-1].blocks += turn.blocks
        else:
            made.append(turn)
    return made


def without_unions(tool: ToolDefinition) -> tuple[str, dict[str, Any]]:
    """A tool's description and schema. The models take any JSON Schema of an object but unions at its top: those move
    into the description.
    """
    description, schema = tool.description, {**tool.parameters, "type": "object"}
    unions = {word: schema.pop(word) for word in ("anyOf", "oneOf", "allOf") if word in schema}
    if unions:
        said = msgspec.json.encode(unions).decode()
        description = f"{description}\n\nThe arguments must also fit this JSON Schema: {said}".lstrip()
    return description, schema


def check_thinking(budget: int, max_tokens: int, temperature: float | None, tool_choice: str) -> None:
    """A `ConfigError` for what the models refuse beside extended thinking."""
    if not LEAST_THINKING_BUDGET <= budget < max_tokens:
        raise ConfigError(
            f"a thinking budget of {budget} does not fit max_tokens {max_tokens}",
            hint=f"Give at least {LEAST_THINKING_BUDGET}, and less than max_tokens.",
        )
    if temperature not in (None, 1) or tool_choice not in ("auto", "none"):
        raise ConfigError(
            "with thinking, this API takes no other temperature than 1 and no tool_choice that forces a call",
            hint="Leave out temperature and tool_choice, or thinking_budget.",
        )
