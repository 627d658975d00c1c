"""Events of a run in words: what a person is told of them in a line, wherever that line stands."""

from __future__ import annotations

from typing import Any

from ..agent.events import (
    AgentEvent,
    HistoryCompacted,
    HistoryMoved,
    HookFailed,
    ParserChanged,
    RequestRetried,
    RunFinished,
    RunInterrupted,
    ToolsChanged,
)
from ..chunks import StopReason
from .visible import json_bytes, one_line

ARGUMENTS_SHOWN = 60
"""Characters of the arguments that tell calls of the same tool apart."""


def event_words(event: AgentEvent) -> list[str]:
    """What happened beside the conversation, in sentences for the person; none for what is shown otherwise."""
    if isinstance(event, RequestRetried):
        return [f"{event.error.message}; trying again in {_pause(event.seconds)} (attempt {event.attempt + 1})"]
    if isinstance(event, ParserChanged):
        return [f"{event.why}; from now on it is told of its tools in words and calls them so ({event.parser})"]
    if isinstance(event, HookFailed):
        return [f"The hook {event.hook} failed and is told nothing more in this run: {event.error.message}"]
    if isinstance(event, HistoryCompacted):
        tokens = f"{event.tokens_before:,} tokens are now about {event.tokens_after:,} of {event.window:,}"
        return [f"The conversation came near to what the model can read: {tokens}.", *event.notes]
    return list(event.notes) if isinstance(event, (HistoryMoved, ToolsChanged)) else []


def call_words(name: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """A tool's name and its arguments, short and on one line."""
    words = one_line(json_bytes(arguments).decode()) if arguments else ""
    return one_line(name)[:100], f" {words[:ARGUMENTS_SHOWN]}{'…' * (len(words) > ARGUMENTS_SHOWN)}" if words else ""


def _pause(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.1f} s"


ENDS = {
    StopReason.LENGTH: "cut by the token limit",
    StopReason.CONTENT_FILTER: "cut by the provider's content filter",
    StopReason.REFUSAL: "the model refused",
    StopReason.PAUSE: "paused by the provider",
    StopReason.ERROR: "the provider failed",
    StopReason.UNKNOWN: "ended for an unknown reason",
}
"""Why an answer ended, where that is worth a word."""


def end_words(event: RunFinished | RunInterrupted, seconds: float | None) -> str:
    """Turns, tokens, time as far as it is known, and why it ended where that is worth a word."""
    facts = ["interrupted"] if isinstance(event, RunInterrupted) else []
    if event.turns:
        facts.append(f"{event.turns} turn{'' if event.turns == 1 else 's'}")
    if event.usage.input_tokens or event.usage.output_tokens:
        facts.append(f"{event.usage.input_tokens:,} tokens in, {event.usage.output_tokens:,} out")
    if seconds is not None:
        facts.append(duration(seconds))
    if isinstance(event, RunFinished) and event.stop_reason in ENDS:
        facts.append(ENDS[event.stop_reason])
    return " · ".join(facts)


def duration(seconds: float) -> str:
    """How long something took."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
