"""What one run may use up, and what it has: each bound ends the run in a `RunLimitReached` that says which it was.

A bound is looked at where the history is whole: before a request, and when every call has its result. So that whoever
raises the bound can go on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ..chunks import TokenUsage
from ..errors import ConfigError, RunLimitReached
from ..messages import ToolCallPart, ToolResultPart


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one run. None: without one."""

    turns: int = 25
    """Requests: more than any ordinary task takes, and an end to a model that never stops calling."""

    calls: int = 32
    """Calls of one answer that are looked at; those beyond are answered, not run. No recorded answer holds more than
    20."""

    failed_turns: int = 3
    """Answers in a row of which no call could run: a model that has not found the form by then will not."""

    repeats: int = 8
    """Answers in a row with the same calls and the same results: no recorded conversation that ended well has more than
    6. Waiting for something, with results that change, is none."""

    tokens: int | None = None
    """Tokens that were sent and received, as the provider counts them, or else as they are estimated."""

    seconds: float | None = None
    """From the question to the end, with the time that people and tools take."""

    def check(self) -> None:
        """Raises a `ConfigError` for a bound that leaves nothing to do."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"a bound of {value:g} {name} leaves nothing to do", hint="Give more than 0.")


class Spent(msgspec.Struct):
    """What a run has used up so far."""

    bounds: Bounds
    turns: int = 0
    failed_turns: int = 0
    usage: TokenUsage = TokenUsage()
    tokens: int = 0
    last_calls: Sequence[bytes] = ()
    repeats: int = 0

    def next_turn(self) -> None:
        """Another request is about to be made."""
        bounds = self.bounds
        if self.turns >= bounds.turns:
            raise _reached(
                f"the model has not ended its turn after {bounds.turns} request{'' if bounds.turns == 1 else 's'}",
                "turns",
                bounds.turns,
                hint="Raise Bounds.turns if the task needs more.",
            )
        if bounds.tokens is not None and self.tokens >= bounds.tokens:
            raise _reached(f"the run has used {self.tokens:,} of its {bounds.tokens:,} tokens", "tokens", bounds.tokens)
        self.turns += 1

    def answered(self, usage: TokenUsage | None, estimated: int) -> None:
        """The model has answered; `estimated` counts where the provider said nothing, or that it was nothing."""
        counted = 0 if usage is None else usage.total_tokens or usage.input_tokens + usage.output_tokens
        self.tokens += counted or estimated
        self.add(usage)

    def add(self, usage: TokenUsage | None) -> None:
        """Adds to the provider's own counts."""
        if usage is not None:
            names = TokenUsage.__struct_fields__
            self.usage = TokenUsage(*(getattr(self.usage, name) + getattr(usage, name) for name in names))

    def add_nested(self, others: Iterable[Spent]) -> None:
        """Adds what agents that ran as tools have used up."""
        for other in others:
            self.tokens += other.tokens
            self.add(other.usage)

    def made_calls(self, calls: Iterable[ToolCallPart], results: Iterable[ToolResultPart], *, ran: bool) -> None:
        """The calls of an answer have their results; `ran` says whether any of them could run."""
        bounds = self.bounds
        self.failed_turns = 0 if ran else self.failed_turns + 1
        if self.failed_turns >= bounds.failed_turns:
            raise _reached(
                f"the model made calls that cannot run {self.failed_turns} times in a row",
                "failed turns",
                bounds.failed_turns,
                hint="Try a more capable model or fewer tools; each result told it what was wrong.",
            )
        made = sorted(
            msgspec.json.encode([call.name, call.arguments, result.content], order="deterministic")
            for call, result in zip(calls, results, strict=True)
        )
        self.repeats = self.repeats + 1 if made == self.last_calls else 1
        self.last_calls = made
        if self.repeats >= bounds.repeats:
            raise _reached(
                f"the model made the same calls {self.repeats} times in a row, with the same results",
                "repeated calls",
                bounds.repeats,
                hint="Say what it should do otherwise, or raise Bounds.repeats.",
            )


def out_of_time(seconds: float) -> RunLimitReached:
    """The error of a run that took too long."""
    return _reached(f"the run was not over after {seconds:g} second{'s' * (seconds != 1)}", "seconds", seconds)


def _reached(sentence: str, what: str, limit: float, *, hint: str = "") -> RunLimitReached:
    hint = hint or f"Raise Bounds.{what} if the task needs more; the conversation can go on as it is."
    return RunLimitReached(sentence, hint=hint, what=what, limit=limit)
