"""How the services that speak OpenAI's chat completions depart from OpenAI's own requests, as data.

A field is here because some service refuses the usual form, or loses something by it; a service departs only where that
was seen: in what it answered to real clients, or in its documents. Answers need no dialect: the decoder reads every
known departure, whoever makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from .ids import ANY_ID, MISTRAL_IDS, OPENAI_IDS, IdRule
from .moonshot_schema import moonshot_schema


class ChatDialect(msgspec.Struct, frozen=True, kw_only=True):
    """How a service departs from OpenAI's own chat requests."""

    reasoning_field: str | None = None
    """Where earlier reasoning goes back: the member of the assistant message that the service reads, or nowhere. Some
    refuse every other name. `content` means parts of type `thinking` among the words; `reasoning_details` goes back as
    it came, block by block; with `reasoning_text` goes the sealed `reasoning_opaque` that came beside it.
    """
    reasoning_back: Literal["always", "calls", "turn"] = "always"
    """How much of it: all; only that of turns in which tools were called, for services that refuse it elsewhere or
    throw it away; or only what was thought since the user last spoke, where another model may refuse it.
    """
    reasoning_missing: str | None = None
    """What stands for reasoning where a message with calls has none; with `reasoning_back="calls"`, any message of a
    turn with calls. Models that think refuse such a message without the member: from a history of another provider,
    say. None: the member is left out.
    """
    max_tokens_field: str = "max_tokens"
    """OpenAI's newer models read `max_completion_tokens` alone; others refuse that."""
    stream_usage: bool = True
    """Whether `stream_options` may be sent. Who refuses it sends the usage unasked."""
    required_word: str = "required"
    """The word for a call that must be made. Mistral's first versions know only `any`."""
    no_text: str | None = None
    """What stands for no words beside calls: null, or an empty string where the service refuses null. Others refuse the
    empty string.
    """
    known_members_only: bool = False
    """Whether messages with members that the service does not know are refused: a refusal is then said as words, and
    data beside a call (`extra_content`, another service's) stays away.
    """
    assistant_after_tools: bool = False
    """Whether the user may not speak right after results: an assistant message of four words goes between."""
    joined_users: bool = False
    """Whether user messages in a row are refused: they go out as one."""
    schema: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Tool parameters as the service takes them, where it refuses ordinary JSON Schema."""
    ids: IdRule = ANY_ID
    """Which call ids it takes."""

    @property
    def reads_foreign_reasoning(self) -> bool:
        """Whether another model's reasoning goes there in plain words: not where it must be the service's own blocks,
        nor where a model that does not think refuses it.
        """
        return self.reasoning_field not in (None, "reasoning_details") and self.reasoning_back != "turn"


COMPATIBLE = ChatDialect()
"""Any server that says it is compatible: what all of them take."""

OPENAI = ChatDialect(max_tokens_field="max_completion_tokens", ids=OPENAI_IDS)

OPENROUTER = ChatDialect(reasoning_field="reasoning_details")

COPILOT = ChatDialect(reasoning_field="reasoning_text")

DEEPSEEK = ChatDialect(reasoning_field="reasoning_content", reasoning_back="calls", reasoning_missing="", no_text="")
"""The first reasoner refused reasoning in its input and had no tools; since V3.2 a thinking model refuses a turn with
calls whose reasoning is left out, and later versions want it in every later request. That is so of each message of
such a turn, also of words alone; an empty text is taken. It refuses null for the words beside reasoning.
"""

MOONSHOT = ChatDialect(reasoning_field="reasoning_content", reasoning_missing=" ", schema=moonshot_schema)
"""Kimi refuses calls without reasoning while it thinks, and parameters beyond its own kind of JSON Schema."""

ZAI = ChatDialect(reasoning_field="reasoning_content")
"""GLM thinks between calls and wants those thoughts back; it drops the older ones itself unless told not to."""

MINIMAX = ChatDialect(reasoning_field="reasoning_details")
"""Unless it was asked to keep them apart, its thoughts are part of the text, and go back with it."""

ALIBABA = ChatDialect(reasoning_field="reasoning_content", reasoning_back="turn")

FIREWORKS = ChatDialect(reasoning_field="reasoning_content")
"""Its server chooses by model which earlier reasoning counts."""

MISTRAL = ChatDialect(
    reasoning_field="content",
    stream_usage=False,
    required_word="any",
    known_members_only=True,
    assistant_after_tools=True,
    ids=MISTRAL_IDS,
)

GROQ = ChatDialect(reasoning_field="reasoning", reasoning_back="turn", known_members_only=True)
"""Refuses `reasoning_content` always, and `reasoning` where the model is none that thinks."""

CEREBRAS = ChatDialect(reasoning_field="reasoning", reasoning_back="turn", known_members_only=True)

HUGGINGFACE = ChatDialect(known_members_only=True)
"""A router: the service behind it may be any of these, and the strict ones refuse what the others want."""

DATABRICKS = ChatDialect(stream_usage=False, known_members_only=True)

PERPLEXITY = ChatDialect(stream_usage=False, joined_users=True)

XAI = ChatDialect()
"""Its chat completions have no member for reasoning; its Responses API has."""

TOGETHER = ChatDialect()
NVIDIA = ChatDialect()
WRITER = ChatDialect()

VLLM = ChatDialect(reasoning_field="reasoning")
"""The name since it was renamed; the model's own template decides what is read of it."""

LLAMACPP = ChatDialect(reasoning_field="reasoning_content")

LMSTUDIO = ChatDialect(no_text="")
