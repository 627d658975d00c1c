"""`Questions`: what waits for the person, above the prompt, one at a time and in any order they like."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from textual import events
from textual.containers import Vertical
from textual.css.scalar import Unit
from textual.widget import Widget
from textual.widgets import Input, TextArea

from ...chat.decided import WORKER
from .approval import CallPane, CallQuestion
from .attention import ALONE_SECONDS, Attention, event_time
from .form import FormQuestion
from .model_question import ModelQuestion
from .pane import Pane, Stage
from .person import ScreenPerson, Waiting, WaitingCall, WaitingForm, WaitingQuestion
from .rows import LOOKS, LOOKS_CSS, Rows

SHARE = 0.6
"""Of the screen's height, unless the person wants to see all of a question."""
LEAST = 12
"""Rows, where the screen has them at all: with fewer nothing can be read."""
_BORDER = 2
_LOOK_SECONDS = 0.2
QUIET_SECONDS = 1.0
"""How long nothing must have stood in the prompt before a question that waited for that takes the keys."""
AWAY = "Ctrl+T or a click: answer here."
WRITING = "You are writing: the keys stay with your message. Ctrl+T or a click: answer here."
YES_KEYS = "ysa"

Question = CallQuestion | ModelQuestion | FormQuestion


class Questions(Vertical, can_focus=False):
    """Shows what waits, and gives each answer to exactly the question that it was shown for.

    It takes the keys when a question comes, unless something stands in the field that has them, or one of the keys for
    a yes does something else there: whoever writes or copies goes on with it. Closes the person when it is taken from
    the screen. With `bell` it rings when a question comes while there was none.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = LOOKS
    DEFAULT_CSS = f"""
    Questions {{
        display: none; height: auto; width: 100%; border: round $warning 50%; background: $surface; padding: 0;
        border-title-color: $text-warning; border-title-style: bold; border-subtitle-color: $text-muted;
        &.waits {{ display: block; }}
        &:focus-within {{ border: round $warning; }}
    }}
    {LOOKS_CSS}
    """

    def __init__(
        self,
        person: ScreenPerson,
        *,
        bell: bool = False,
        clock: Callable[[], float] = event_time,
        alone: float = ALONE_SECONDS,
    ) -> None:
        super().__init__()
        self._person = person
        self._bell = bell
        self._stage = Stage(Attention(clock), alone)
        self._shown: dict[Waiting[Any], Question] = {}
        self._front: Waiting[Any] | None = None
        self._before: Widget | None = None
        """What had the keys before."""
        self._wants_keys = False
        """They are taken as soon as nobody is writing."""
        self._empty_looks = 0
        self._covered = False
        """Another screen was in front of this one."""
        self._height = 0
        self._unwatch: Callable[[], None] = lambda: None
        self._looking = asyncio.Lock()

    def on_mount(self) -> None:
        """Shows what waits already."""
        self._unwatch = self._person.watch(self._look_later)
        self._timer = self.set_interval(_LOOK_SECONDS, self._look_around, pause=True)
        self.app.app_resume_signal.subscribe(self, lambda _: self.call_later(self._fit_anew))
        self._look_later()

    def on_unmount(self) -> None:
        """Nobody can answer any more."""
        self._unwatch()
        self._person.close()

    @property
    def front(self) -> Waiting[Any] | None:
        """What is shown."""
        return self._front

    def toggle(self) -> None:
        """Brings the keys to the question, or back to where they were."""
        if self._front is None:
            return
        if not self.has_focus_within:
            self._take_keys()
        elif self._before is not None and self._before.is_attached:
            self._before.focus()

    def _look_later(self) -> None:
        self.call_later(self._look)

    async def _look(self) -> None:
        """Makes the screen show what waits now."""
        async with self._looking:
            waiting = self._person.waiting
            gone = [self._shown.pop(each) for each in list(self._shown) if each not in waiting]
            if not waiting:
                self._leave()
            elif self._front not in waiting:
                await self._bring(waiting[0])
            # Only now, so that the keys never go to something else in between; and not waited for.
            for question in gone:
                question.remove()
            if waiting:
                self._say_which(waiting)
                await self._fit()

    async def _bring(self, waiting: Waiting[Any]) -> None:
        """Puts one of those that wait in front; it gets the keys if the one before had them."""
        self._stage.attention.changed()
        if self._front is None and self._bell:
            self.app.bell()
        self._front = waiting
        self._timer.resume()
        self._measure()
        self._stage.is_whole = False
        self.add_class("waits")
        if waiting not in self._shown:
            self._shown[waiting] = self._made(waiting)
            self._shown[waiting].display = False  # two at once would be in each other's place
            await self.mount(self._shown[waiting])
        self._stage.attention.changed()
        self._shown[waiting].display = True
        self._wants_keys = True
        if not self._is_busy():
            self._take_keys()
        for question in self.children:
            question.display = question is self._shown[waiting]

    def _made(self, waiting: Waiting[Any]) -> Question:
        answered = self._person.answered
        if isinstance(waiting, WaitingCall):
            kept_in = WORKER if waiting.of_run else self._person.kept_in
            return CallQuestion(self._stage, waiting, kept_in, answered)
        if isinstance(waiting, WaitingForm):
            return FormQuestion(self._stage, waiting, answered)
        assert isinstance(waiting, WaitingQuestion)
        return ModelQuestion(self._stage, waiting, answered)

    def _leave(self) -> None:
        """Nothing waits: the keys go back to where they were."""
        had_keys = self.has_focus_within
        self._front = None
        self._timer.pause()
        self._stage.attention.changed()
        if had_keys and self._before is not None and self._before.is_attached:
            self.screen.set_focus(self._before)
        self.remove_class("waits")

    def _say_which(self, waiting: list[Waiting[Any]]) -> None:
        at = waiting.index(self._front) + 1 if self._front in waiting else 1
        several = len(waiting) > 1
        self.border_title = f"Question {at} of {len(waiting)}" if several else "Question"
        self.border_subtitle = "Tab: the next" if several else ""

    async def _fit(self) -> None:
        """Gives the question in front its room."""
        if self._front is not None:
            self._measure()
            await self._shown[self._front].pane.fit()

    def _measure(self) -> None:
        """Finds out how much room there is."""
        around = self.parent if isinstance(self.parent, Widget) else self.screen
        self._stage.width = around.size.width - _BORDER
        self._height = self.screen.size.height
        height = _most_height(around, self._height)
        others = sum(_least_height(each) for each in around.children if each is not self and each.display)
        least = min(height - others, LEAST)
        most = height - others if self._stage.is_whole else max(int(height * SHARE), least)
        self._stage.room = most - _BORDER
        self._stage.away = "" if self.has_focus_within else (WRITING if self._written() else AWAY)

    async def _fit_anew(self) -> None:
        """No key counts until the question was painted again and could be read."""
        self._stage.attention.changed()
        await self._fit()

    async def on_resize(self) -> None:
        """The screen may have become another."""
        await self._fit()

    async def on_pane_moved(self, event: Pane.Moved) -> None:
        """Another question, or more room for this one."""
        event.stop()
        if event.where == "whole":
            await self._resize_front()
            return
        waiting = self._person.waiting
        if self._front in waiting and len(waiting) > 1:
            step = 1 if event.where == "next" else -1
            await self._bring(waiting[(waiting.index(self._front) + step) % len(waiting)])
            self._say_which(waiting)
        await self._fit()

    async def on_rows_pressed(self, event: Rows.Pressed) -> None:
        """A click on what is to be read shows all of it."""
        event.stop()
        if self._front is not None and isinstance(self._shown[self._front].pane, CallPane):
            await self._resize_front()

    async def _resize_front(self) -> None:
        self._stage.is_whole = not self._stage.is_whole
        await self._fit_anew()

    def _take_keys(self) -> None:
        """Keys go to the question from now on."""
        if self._front is None:
            return
        focused = self.screen.focused
        if focused is not None and self not in focused.ancestors_with_self:
            self._before = focused
        self._wants_keys = False
        self._empty_looks = 0
        self.screen.set_focus(self._shown[self._front].pane.answers_to())

    async def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Whoever comes from elsewhere may still be typing what was meant for there."""
        if self._stage.away:
            self._stage.attention.changed()
        await self._fit()

    async def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Says how to come back."""
        self.call_after_refresh(self._fit)

    def on_click(self) -> None:
        """A click brings the keys here."""
        if not self.has_focus_within:
            self._take_keys()

    def _is_busy(self) -> bool:
        """Whether whoever has the keys writes, or could press one for something else that would be a yes here."""
        if self.has_focus_within:
            return False
        return bool(self._written()) or any(key in self.screen.active_bindings for key in YES_KEYS)

    def _written(self) -> str:
        """What stands in the field that has the keys."""
        focused = self.screen.focused
        return focused.text if isinstance(focused, TextArea) else focused.value if isinstance(focused, Input) else ""

    async def _look_around(self) -> None:
        """Sees what nobody tells: another screen in front of this one, another size, a message that was sent."""
        if not self.screen.is_active:
            self._stage.attention.changed()
            self._covered = True
            return
        if self._covered:
            self._covered = False
            await self._fit_anew()
        if self._height != self.screen.size.height:
            await self._fit()
        self._take_keys_when_quiet()

    def _take_keys_when_quiet(self) -> None:
        """A message that was sent or deleted makes room for the question, a moment later."""
        if self._front is None or self.has_focus_within:
            return
        if self._is_busy():
            self._wants_keys, self._empty_looks = True, 0
        elif self._wants_keys:
            self._empty_looks += 1
            if self._empty_looks * _LOOK_SECONDS >= QUIET_SECONDS:
                self._take_keys()


def _most_height(around: Widget, screen: int) -> int:
    """How high what stands around may become: something of the conversation stays in sight."""
    if around.screen is around:
        return screen
    most = around.styles.max_height
    return min(int(most.resolve(around.app.size, around.app.size)) if most is not None else screen, screen - 1)


def _least_height(widget: Widget) -> int:
    """The rows that a widget keeps: of one that takes what others leave, a single one."""
    height = widget.styles.height
    is_rest = height is not None and height.unit is Unit.FRACTION
    return (1 if is_rest else widget.outer_size.height) + widget.styles.margin.height
