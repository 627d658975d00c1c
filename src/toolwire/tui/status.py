"""The line at the bottom: who is asked, what runs unasked, what is going on, tokens, cost and room that is left."""

from __future__ import annotations

import time

from rich.text import Text
from textual.widget import Widget

from ..chat.costs import conversation_cost, money
from ..chat.talk import Talk
from ..chunks import TokenUsage
from ..cli.visible import one_line


class StatusLine(Widget):
    """Paints itself anew when it is told to; it looks everything up and keeps nothing."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; background: $surface; color: $text-muted; }
    """

    def __init__(self, talk: Talk) -> None:
        super().__init__()
        self._talk = talk
        self._began = 0.0
        self.waiting = 0
        """Questions that wait for the person."""
        self.queued = 0
        self.words = ""
        """What goes on beside an answer; empty: nothing."""

    def begin(self) -> None:
        """An answer is waited for from now on."""
        self._began = time.monotonic()
        self.refresh()

    def render(self) -> Text:
        """One line that fits: what matters least is left out where there is no room."""
        width = self.size.width - 2
        left = Text.assemble((_state(self), _STYLES.get(_state(self)[:1], "")), " ", one_line(self._talk.model))
        left.append(f" · {self._talk.mode}")
        facts = self._facts()
        while facts and left.cell_len + 3 + len(" · ".join(facts)) > width:
            facts.pop(0)
        right = Text(" · ".join(facts))
        left.truncate(max(width - right.cell_len - 1, 10), overflow="ellipsis")
        return Text.assemble(left, " " * max(width - left.cell_len - right.cell_len, 1), right)

    def _facts(self) -> list[str]:
        """What is nice to know, the least important first."""
        talk = self._talk
        facts = []
        if talk.recording:
            facts.append("● recording")
        used = total_usage(talk)
        if used.input_tokens or used.output_tokens:
            facts.append(f"{_short(used.input_tokens)} in, {_short(used.output_tokens)} out")
        cost = money(conversation_cost(talk, talk.usage)) if talk.usage else ""
        if cost and cost != "0":
            facts.append(f"cost {cost}")
        window = talk.agent.window
        if window:
            left = max(0.0, 1 - talk.agent.tokens() / window)
            facts.append(f"{left:.0%} of the window left")
        return facts

    @property
    def elapsed(self) -> float:
        """Seconds of the answer that is going on."""
        return time.monotonic() - self._began


def total_usage(talk: Talk) -> TokenUsage:
    """Tokens of all runs, the one that goes on included."""
    ended = list(talk.usage.values())
    if talk.running:
        ended.append(talk.agent.spent.usage)
    return TokenUsage(
        input_tokens=sum(each.input_tokens for each in ended), output_tokens=sum(each.output_tokens for each in ended)
    )


_STYLES = {"?": "bold yellow", "●": "green", "◌": "cyan"}


def _state(line: StatusLine) -> str:
    """What is going on, in a mark and words."""
    if line.waiting:
        return f"? {line.waiting} question{'' if line.waiting == 1 else 's'} for you"
    if line.words:
        return f"◌ {line.words}"
    if line._talk.running:
        queued = f", {line.queued} queued" if line.queued else ""
        return f"◌ working {line.elapsed:.0f} s{queued}"
    return "● ready"


def _short(count: int) -> str:
    return f"{count:,}" if count < 10_000 else f"{count / 1000:,.0f}k"
