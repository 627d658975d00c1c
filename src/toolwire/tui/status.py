"""The line at the bottom: what is going on, who is asked, what runs unasked, tokens, cost and room that is left."""

from __future__ import annotations

import time

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widget import Widget

from ..chat.costs import conversation_cost, sum_of, usage_so_far
from ..chat.talk import Talk
from ..cli.visible import one_line
from .queued import Queued

_LITTLE = 0.2
"""The share of the window below which it is worth a warning."""
_RUN = 20
"""Cells of the id of a run."""
_USUAL_MODEL, _LEAST_MODEL = 28, 8
"""Cells of a model's name: as many as are kept before a fact is, and as many as are kept in any case."""


class StatusLine(Widget, can_focus=False):
    """Paints itself anew when it is told to; it looks everything up and keeps nothing."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; background: $surface; color: $text-muted; }
    StatusLine.waiting { background: $warning 25%; }
    """

    def __init__(self, talk: Talk, queue: Queued) -> None:
        super().__init__()
        self._talk = talk
        self._queue = queue
        """Messages that wait for the end of the answer."""
        self._began = time.monotonic()
        self._waiting = 0
        self.words = ""
        """What goes on beside an answer; empty: nothing."""

    @property
    def waiting(self) -> int:
        """Questions that wait for the person. Seen at once."""
        return self._waiting

    @waiting.setter
    def waiting(self, count: int) -> None:
        if count != self._waiting:
            self._waiting = count
            self.set_class(count > 0, "waiting")
            self.refresh()

    def begin(self) -> None:
        """An answer is waited for from now on."""
        self._began = time.monotonic()
        self.refresh()

    @property
    def elapsed(self) -> float:
        """Seconds of the answer that is going on."""
        return time.monotonic() - self._began

    def render(self) -> Content:
        """One line that fits: what matters least is left out, and a long name shortened, where there is no room."""
        talk, attached = self._talk, self._talk.attached
        model, mode = (
            (talk.model, str(talk.mode)) if attached is None else (attached.model or attached.info.agent, "attached")
        )
        return status_line(self.size.width, self._state(), model, mode, self._facts())

    def _state(self) -> tuple[str, str]:
        """What is going on, in a mark and words; and its style."""
        if self.waiting:
            return f"? {self.waiting} question{'' if self.waiting == 1 else 's'} for you", "bold $text-warning"
        queued = f", {self._queue.count} queued" if self._queue.count else ""
        if (attached := self._talk.attached) is not None:
            mark, style = ("●", "$text-success") if attached.is_over else ("◌", "$text-accent")
            return f"{mark} run {shortened(one_line(attached.id), _RUN)} {attached.info.state}{queued}", style
        if self.words:
            return f"◌ {self.words}{queued}", "$text-accent"
        if self._talk.running:
            return f"◌ working {took(self.elapsed)}{queued}", "$text-accent"
        return f"● ready{queued}", "$text-success"

    def _facts(self) -> list[tuple[str, str]]:
        """What is good to know, the least important first; each with its style."""
        talk = self._talk
        facts = [("F1 keys", "")]
        usage = usage_so_far(talk)
        used = sum_of(*usage.values())
        if used.input_tokens or used.output_tokens:
            facts.append((f"{short(used.input_tokens)} in, {short(used.output_tokens)} out", ""))
        cost = conversation_cost(talk, usage) if usage else None
        if cost is not None and cost.amount:
            facts.append((cost.words, ""))
        if talk.attached is not None:
            return [*facts, ("Esc leaves", "")] if talk.running else facts
        if window := talk.agent.window:
            left = max(0.0, 1 - talk.agent.tokens() / window)
            is_little = left < _LITTLE
            words = f"{left:.0%} window left{', /compact' if is_little else ''}"
            facts.append((words, "$text-warning" if is_little else ""))
        if talk.recording:
            facts.append(("◉ recording", "$text-error"))
        return facts


def status_line(
    width: int, state: tuple[str, str], model: str, mode: str, facts: list[tuple[str, str]], between: str = " · "
) -> Content:
    """What fits into `width` cells: the state always, then the mode, a name of the model, and facts from the last."""
    model = one_line(model)
    words, style = state
    fixed = cell_len(f"{words}{between}{mode}{between}")
    kept = list(facts)
    while kept and fixed + min(cell_len(model), _USUAL_MODEL) + _size(kept, between) + 2 > width:
        kept.pop(0)
    room = width - fixed - (_size(kept, between) + 2 if kept else 0)
    name = shortened(model, max(room, _LEAST_MODEL))
    left = Content.assemble((words, style), between, (mode, "bold $text-warning" * (mode == "full")), between, name)
    right = Content(between).join(Content.styled(fact, look) for fact, look in kept)
    gap = width - left.cell_length - right.cell_length
    whole = Content.assemble(left, " " * max(gap, 1 if kept else 0), right)
    return whole.truncate(max(width, 1), ellipsis=True)


def shortened(name: str, width: int) -> str:
    """A name in so many cells. Its end says more than its middle: `openrouter:…/gpt-oss-120b`."""
    if cell_len(name) <= width:
        return name
    head = set_cell_size(name[:width], width // 3).rstrip()
    tail = name[-width:] if width > 1 else ""
    while tail and cell_len(tail) > width - cell_len(head) - 1:
        tail = tail[1:]
    return f"{head}…{tail}"


def _size(facts: list[tuple[str, str]], between: str) -> int:
    return cell_len(between.join(fact for fact, _ in facts))


def took(seconds: float) -> str:
    """A time that goes on, in whole seconds."""
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def short(count: int) -> str:
    """A number of tokens in few characters."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1000:,.0f}k" if count < 999_500 else f"{count / 1_000_000:,.1f}M"
