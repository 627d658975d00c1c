"""How the services that speak OpenAI's chat completions depart from OpenAI's own requests, as data.

Answers need no dialect: the decoder reads every known departure, whoever makes it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .ids import ANY_ID, MISTRAL_IDS, OPENAI_IDS, IdRule


class ChatDialect(msgspec.Struct, frozen=True, kw_only=True):
    """How a service departs from OpenAI's own chat requests."""

    reasoning_field: str | None = None
    """Where earlier reasoning goes back: `reasoning_content`, `reasoning`, `reasoning_details`, or nowhere."""
    reasoning_back: Literal["turn", "always"] = "always"
    """Whether reasoning of earlier turns goes back too, or only what the model thought since the last user message."""
    max_tokens_field: str = "max_tokens"
    """OpenAI's newer models read `max_completion_tokens` alone."""
    stream_usage: bool = True
    """Whether `stream_options` may be sent; some services refuse what they do not know."""
    ids: IdRule = ANY_ID
    """Which call ids it takes."""


COMPATIBLE = ChatDialect()
OPENAI = ChatDialect(max_tokens_field="max_completion_tokens", ids=OPENAI_IDS)
OPENROUTER = ChatDialect(reasoning_field="reasoning_details")
DEEPSEEK = ChatDialect(reasoning_field="reasoning_content", reasoning_back="turn")
MISTRAL = ChatDialect(stream_usage=False, ids=MISTRAL_IDS)
COPILOT = ChatDialect()
XAI = ChatDialect()
GROQ = ChatDialect()
TOGETHER = ChatDialect()
FIREWORKS = ChatDialect()
CEREBRAS = ChatDialect()
PERPLEXITY = ChatDialect()
HUGGINGFACE = ChatDialect()
NVIDIA = ChatDialect()
DATABRICKS = ChatDialect()
WRITER = ChatDialect()
MOONSHOT = ChatDialect()
ZAI = ChatDialect()
MINIMAX = ChatDialect()
ALIBABA = ChatDialect()
