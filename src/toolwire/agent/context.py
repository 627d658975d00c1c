"""How much of a model's window a conversation takes, and what is left out of it when it comes near to the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ..chunks import TokenUsage
from ..messages import Message, ThinkingPart
from ..tools.definition import ToolDefinition
from .compaction import compact
from .sizes import size_of, size_of_tools

FULL = 0.8
"""The share of the window from which a conversation is shortened: the rest is room for the answer and for what the
estimate misses."""

GOAL = 0.5
"""The share that is left then: far enough below, so that it does not happen again at the next turn. Each time costs
the provider's cache."""

LEAST_GAIN = 0.05
"""The share that must come free: for less, the cache and what the model has before it are worth more."""

_ENOUGH = 1_000
"""Estimated tokens that must lie between two of the provider's numbers to learn from them."""
_RATIOS = (0.5, 3.0)
_BELIEVED = 0.1
"""The share of the estimate below which a number is not of the whole conversation: some servers count only what they
had not in their cache, some proxies nothing."""


class Compacted(msgspec.Struct, frozen=True):
    """A conversation made shorter, and what is no longer in it, in sentences."""

    messages: list[Message]
    notes: list[str]
    tokens_before: int
    tokens_after: int


class _Counted(msgspec.Struct, frozen=True):
    """What the provider counted, and what the estimate of the same messages was."""

    tokens: int
    estimate: int


class Context:
    """Keeps count of a conversation: by the provider's own numbers where it gave them, else by estimate.

    The last number holds for everything up to the answer it came with, tools and all; what has come or gone since is
    estimated (`size_of`), in the measure that earlier numbers have shown to be right for this model. `window` is how
    much the model can read; where a provider refuses a conversation as too long, it is less than that from then on.
    """

    def __init__(self, window: int | None) -> None:
        self.window = window
        self._tools = 0
        self._sizes: dict[int, tuple[Message, int]] = {}
        self._first: _Counted | None = None
        self._last: _Counted | None = None
        self._ratio = 1.0

    def offers(self, tools: Iterable[ToolDefinition]) -> None:
        """From now on these tools are described in every request, and take room in it."""
        self._tools = size_of_tools(tools)

    def tokens(self, messages: Sequence[Message]) -> int:
        """How many tokens these messages take, as far as is known."""
        return self._in_tokens(self._estimate(messages))

    def answered(self, messages: Sequence[Message], usage: TokenUsage | None) -> int:
        """The model has read all of `messages` but the last, which is its answer; gives the estimate of both."""
        estimate = self._estimate(messages)
        if usage is not None and usage.input_tokens > 0 and messages:
            counted = _Counted(usage.input_tokens + _kept_output(messages[-1], usage), estimate)
            if usage.output_tokens == 0:
                counted = _Counted(usage.input_tokens, estimate - self._size(messages[-1]))
            if counted.tokens >= _BELIEVED * counted.estimate:
                self._learn(counted)
        return self._in_tokens(estimate)

    def make_room(self, messages: Sequence[Message], *, force: bool = False, wanted: bool = False) -> Compacted | None:
        """The conversation made shorter, if it takes 80 % of the window, or if it must be, or if someone wants it so.

        It must (`force`) where the provider refused it: then the results of the last turn are shortened too, if nothing
        else helps, and None means that there is nothing left to shorten. What was left out once stays out. What is
        `wanted` shorter becomes half as long, if it can.
        """
        estimate = self._estimate(messages)
        before = self._in_tokens(estimate)
        if force:
            self.window = before if self.window is None else min(self.window, before)
        window = before if wanted else self.window
        if window is None or (before < FULL * window and not force):
            return None
        enough = estimate - self._tools - int((before - GOAL * window) / self._ratio)
        shorter = compact(messages, self._size, enough, hard=force)
        if shorter is None:
            return None
        after = self._in_tokens(self._estimate(shorter.messages))
        if not force and before - after < LEAST_GAIN * window:
            return None
        return Compacted(shorter.messages, shorter.notes, before, after)

    def _in_tokens(self, estimate: int) -> int:
        if self._last is None:
            return estimate
        return max(1, self._last.tokens + round(self._ratio * (estimate - self._last.estimate)))

    def _learn(self, counted: _Counted) -> None:
        """Two numbers of one conversation show what the estimate is worth; what both have in common, such as the
        descriptions of the tools, does not count for that.
        """
        self._last = counted
        if self._first is None:
            self._first = counted
        grown = counted.estimate - self._first.estimate
        if abs(grown) >= _ENOUGH:
            low, high = _RATIOS
            self._ratio = min(high, max(low, (counted.tokens - self._first.tokens) / grown))

    def _estimate(self, messages: Sequence[Message]) -> int:
        """All of them, and the tools. Each message is measured once, however often it is sent."""
        self._sizes = {id(message): (message, self._size(message)) for message in messages}
        return self._tools + sum(self._sizes[id(message)][1] for message in messages)

    def _size(self, message: Message) -> int:
        known = self._sizes.get(id(message))
        return known[1] if known is not None else size_of(message)


def _kept_output(answer: Message, usage: TokenUsage) -> int:
    """What of the tokens of an answer goes back with it: not the reasoning that was never shown."""
    shown = answer.provider_data or any(isinstance(part, ThinkingPart) for part in answer.parts)
    return usage.output_tokens if shown else max(1, usage.output_tokens - usage.reasoning_tokens)
