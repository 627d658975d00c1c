"""`ToolCard`: one call on the screen, from its first argument to its result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
from textual.widget import Widget

from ...agent.events import AgentEvent
from ...approval.hidden import marked
from ...approval.shown import whole_text
from ...cli.visible import json_bytes, one_line
from ...stream.segments import SegmentType
from ..still import read_from_top
from .body import Body
from .call import Call, State
from .fields import spelled
from .line import MUTED, Line, Sheet, shortened
from .outcome import exit_code, language, notes, outcome

MARKS = {
    State.STREAMING: ("◌", MUTED),
    State.WAITING: ("?", "bold $text-warning"),
    State.RUNNING: ("▶", "$text-primary"),
    State.DONE: ("✓", "$text-success"),
    State.FAILED: ("✗", "$text-error"),
    State.DENIED: ("⊘", "$text-warning"),
    State.INCOMPLETE: ("◐", "$text-warning"),
    State.CANCELLED: ("■", "$text-warning"),
}
"""The mark of each state and its style; the word stands beside it."""

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TURN = 0.15
"""Seconds for which one picture of the spinner stands."""
_WORD = max(map(len, State))
"""Cells of the longest word for a state."""
_LATER = 5
"""Cells by which the facts grow while it runs: from `0 s` to hours."""
_TELLING = 12
"""Cells below which the telling argument is not worth its place."""


class ToolCard(Widget, can_focus=True):
    """One call: a head with its state, below it what it was asked to do and what came of it.

    `take` notes an event, `draw` paints what is new. Enter or a click on the head opens it and closes it; `c` copies
    its result, `C` its arguments as JSON.
    """

    DEFAULT_CSS = """
    ToolCard {
        height: auto;
        width: 1fr;
        padding: 0 1 0 1;
        border-left: outer $foreground 20%;
        color: $foreground;
    }
    ToolCard:focus { background: $boost; }
    ToolCard.-waiting { border-left: outer $warning; }
    ToolCard.-running { border-left: outer $primary; }
    ToolCard.-done { border-left: outer $success 60%; }
    ToolCard.-failed { border-left: outer $error; }
    ToolCard.-exited, ToolCard.-denied, ToolCard.-incomplete, ToolCard.-cancelled { border-left: outer $warning 60%; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open or close"),
        Binding("c", "copy_result", "Copy the result"),
        Binding("C", "copy_arguments", "Copy the arguments"),
    ]

    def __init__(self, id: str, tool_name: str, kind: SegmentType, head: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.call = Call(id, tool_name, kind, head)
        self.is_open = False
        self._body = Body(self.call)
        self._tool = one_line(tool_name[:200])[:100] or "(no name)"
        self._drawn = -1
        self._head_drawn: tuple[str, str, str] = ("", "", "")
        self._sheet: Sheet | None = None
        self._in_head = True
        self._height = -1
        """Rows that Textual was told of last."""
        self._busy = False

    @property
    def call_id(self) -> str:
        """The id of the call and of its segment."""
        return self.call.id

    @property
    def state(self) -> State:
        """Where the call is on its way."""
        return self.call.state

    @property
    def live(self) -> bool:
        """Whether something is still to be painted, now or later."""
        return not self.call.state.is_final or self._drawn != self.call.changes

    def take(self, event: AgentEvent) -> None:
        """Notes what came. Costs the same whatever came before."""
        self.call.take(event)

    async def draw(self) -> None:
        """Paints what is new: all of it where something came, only the head where just time went by."""
        if self._drawn != self.call.changes:
            self._drawn = self.call.changes
            self._repaint()
            while not self._busy and await self._prepared():
                self._repaint()
        elif self.is_mounted and self._head_words() != self._head_drawn:
            self.refresh(Region(0, 0, self.content_size.width, 1))

    def plain(self) -> str:
        """All of the call as text: its state, its arguments, its result."""
        call = self.call
        told = [f"{self._tool}: {call.word}{_behind(self._time())}"]
        told += [line.text for line in notes(call, is_open=True)]
        told.append(self._arguments_text())
        if inner := call.inner.plain():
            told.append(inner)
        if call.result is not None:
            told.append(call.result.content)
        elif call.output.count:
            told.append("\n".join(call.output.last(200)))
        return "\n".join(part for part in told if part)

    async def _prepared(self) -> bool:
        """Waits for what takes longer than a moment; whether there is more to paint after it."""
        self._busy = True
        try:
            if not await self._body.prepare(language(self.call)):
                return False
            if self._sheet is not None:
                # Many wide characters take longer than a moment too; what is laid out is known to the next sheet.
                self._sheet = await asyncio.to_thread(Sheet, self._lines(), self._sheet.width, self._sheet)
            return True
        finally:
            self._busy = False

    # ---- painting

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The rows that the card takes at this width."""
        return 1 + self._laid_out(width).height if width else 0

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """All that there is."""
        return container.width

    def render_line(self, y: int) -> Strip:
        """One row: only those that are on the screen are made."""
        width = self.content_size.width
        if y == 0:
            self._head_drawn = self._head_words()
            content = self._head(width)
        else:
            content = self._laid_out(width).row(y - 1)
        if (selection := self.text_selection) is not None and (span := selection.get_span(y)) is not None:
            start, end = span
            style = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            content = content.stylize(style, start, None if end == -1 else end)
        strips = Visual.to_strips(self, content, width, 1, self.visual_style, apply_selection=False, pad=True)
        strip = strips[0] if strips else Strip.blank(width, self.visual_style.rich_style)
        return strip.apply_offsets(0, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that is marked with the mouse."""
        sheet = self._laid_out(self.content_size.width)
        return selection.extract(f"{self._head(sheet.width).plain}\n{sheet.text()}"), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Paints what is marked."""
        self.refresh()

    def _repaint(self) -> None:
        """Everything anew; the places of all else only where the height has changed."""
        for state in State:
            self.set_class(state is self.call.state, f"-{state}")
        self.set_class(bool(exit_code(self.call)), "-exited")
        before = self._sheet
        width = before.width if before is not None else self.content_size.width or 80
        self._in_head = self._tells_whole(width)
        self._sheet = Sheet(self._lines(), width, before)
        self.refresh(layout=self._sheet.height != self._height)
        self._height = self._sheet.height

    def _laid_out(self, width: int) -> Sheet:
        if self._sheet is None or self._sheet.width != width:
            before, was_in_head = self._sheet, self._in_head
            self._in_head = self._tells_whole(width)
            keeps = before is not None and self._in_head == was_in_head
            self._sheet = Sheet(before.lines if before is not None and keeps else self._lines(), width)
        self._height = self._sheet.height
        return self._sheet

    def _lines(self) -> list[Line]:
        return [
            *notes(self.call, is_open=self.is_open),
            *self._body.lines(is_open=self.is_open, in_head=self._in_head),
            *outcome(self.call, self._body.path, is_open=self.is_open),
        ]

    def _tells_whole(self, width: int) -> bool:
        """Whether the head has room for all of the telling argument, also in another state and after some time."""
        facts = self._facts()
        around = _WORD + cell_len(self._tool) + 6 + (cell_len(facts) + 2 + _LATER if facts else 0)
        text = self._body.telling[1]
        return len(text) <= width and "\n" not in text and cell_len(marked(text)) <= width - around

    def _head(self, width: int) -> Content:
        """`✓ done  write_file  src/app.py        240 lines · 9.1 kB · 0.2 s`."""
        mark, word, facts = self._head_words()
        style = MARKS[self.call.state][1]
        path, text = self._body.telling
        left = Content.assemble((f"{mark} {word}", style), "  ", (self._tool, "bold"))
        room = width - left.cell_length - 2 - (cell_len(facts) + 2 if facts else 0)
        if facts and room < _TELLING and text:
            facts = facts.rpartition(" · ")[2]
            room = width - left.cell_length - 2 - cell_len(facts) - 2
        if text and room >= min(_TELLING, cell_len(text)):
            is_path = spelled(path) in ("path", "file_path", "filename", "file") or path == ("path",)
            first, more, _ = text.strip().partition("\n")
            words = shortened(f"{marked(first)}{'…' if more else ''}", room, keep_end=is_path)
            left = left + Content("  ") + Content.styled(words, "$text-primary" if is_path else "")
        if not facts or left.cell_length + 2 + cell_len(facts) > width:
            return left.truncate(width, ellipsis=True)
        return left.pad_right(width - left.cell_length - cell_len(facts)) + Content.styled(
            facts, "$text-warning" if exit_code(self.call) else MUTED
        )

    def _head_words(self) -> tuple[str, str, str]:
        """The mark, the word and the facts as they are at this moment."""
        call = self.call
        mark = MARKS[call.state][0]
        if call.state is State.RUNNING and self.app.animation_level != "none":
            mark = _SPINNER[int(time.monotonic() / _TURN) % len(_SPINNER)]
        return mark, call.word, self._facts()

    def _facts(self) -> str:
        call = self.call
        facts = [self._body.size]
        if call.asked is not None and call.state is State.WAITING:
            facts.append(f"risk: {one_line(call.asked.request.risk)[:20]}")
        facts += [exit_code(call), self._outcome_word(), self._time()]
        return " · ".join(filter(None, facts))

    def _outcome_word(self) -> str:
        """What the result says beside well or badly: that it was late, or known before."""
        result = self.call.result
        if result is None or result.outcome in ("", "ok", "error", self.call.word):
            return ""
        return one_line(result.outcome.removeprefix("ok").strip(" ()"))[:40]

    def _time(self) -> str:
        """How long it runs or ran; of one that waits, how long, as soon as that is worth saying."""
        call = self.call
        if call.state is State.RUNNING or (call.state.is_final and call.seconds):
            return duration(call.seconds, exact=call.state.is_final)
        return ""

    # ---- keys and mouse

    def on_click(self, event: events.Click) -> None:
        """A click on the head opens and closes the card."""
        if event.get_content_offset(self) is not None and event.y == self.gutter.top:
            self.action_open()

    def action_open(self) -> None:
        """Opens the card, or closes it."""
        self.is_open = not self.is_open
        self.call.changes += 1
        self.refresh(layout=True)  # beside others it may get another place, whatever its height
        self.run_worker(self._show_opened())

    async def _show_opened(self) -> None:
        await self.draw()
        self.call_after_refresh(self._keep_in_sight)

    def _keep_in_sight(self) -> None:
        """Whoever opens or closes a card goes on at its head, wherever they had scrolled to."""
        if not self.is_attached:
            return
        place = self.screen.find_widget(self)
        if place.region.y < place.clip.y or place.region.y >= place.clip.bottom:
            read_from_top(self)

    def action_copy_result(self) -> None:
        """The result to the clipboard; where there is none yet, all that is known."""
        text = self.call.result.content if self.call.result is not None else self.plain()
        self._copy(text, "The result" if self.call.result is not None else "The call")

    def action_copy_arguments(self) -> None:
        """The arguments to the clipboard, as JSON; of a call that is not whole, as far as they came."""
        arguments = self.call.arguments
        text = self._arguments_text() if arguments is None else json_bytes(arguments, indent=2).decode()
        self._copy(text, "The arguments" if arguments is not None else "The arguments so far")

    def _copy(self, text: str, what: str) -> None:
        self.app.copy_to_clipboard(text)
        self.notify(f"{what} copied: {len(text):,} characters", timeout=2, markup=False)

    def _arguments_text(self) -> str:
        if self.call.arguments is not None:
            return whole_text(self.call.arguments)
        fields = (f"{spelled(path)}: {text.text()}" for path, text in self.call.fields.texts.items())
        return "\n".join(fields) or self.call.raw.text()


def duration(seconds: float, *, exact: bool = True) -> str:
    """`320 ms`, `4.2 s`, `2:05`; while it still runs, in whole seconds."""
    if seconds >= 60:
        minutes, rest = divmod(int(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    if not exact:
        return f"{int(seconds)} s"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _behind(words: str) -> str:
    return f" · {words}" if words else ""
