"""Questions on a small screen of their own, with a prompt below, and a clock that the test turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Static, TextArea

from toolwire.approval.misreading import warnings
from toolwire.approval.request import Answer, ApprovalRequest, Offer
from toolwire.approval.rules import Decision, Rule
from toolwire.approval.shown import show_arguments
from toolwire.stream.invocation import requested
from toolwire.tui.questions.pane import Pane
from toolwire.tui.questions.person import ScreenPerson, WaitingCall
from toolwire.tui.questions.questions import Questions
from tui import screens

SEE = 1.0
"""Longer than a question must stand before it is answered."""
SAID = (
    "> Make it greet people by name, and clean up after the build.\n\nI change the greeting and look at what is left."
)
LATER = 1e12
_CHARACTERS = {
    "space": " ",
    "comma": ",",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}


def offers(*words: str) -> tuple[Offer, ...]:
    return tuple(Offer(Rule(decision=Decision.ALLOW, tool=("run_bash",)), each) for each in words)


def request(
    id: str = "1", tool: str = "run_bash", arguments: dict[str, Any] | None = None, **more: Any
) -> ApprovalRequest:
    """A request as the gate would make it of this call; `more` are its other fields."""
    arguments = {"command": "make test"} if arguments is None else arguments
    shown = show_arguments(arguments)
    fields: dict[str, Any] = {
        "id": id,
        "invocation": requested(id, tool, arguments, 1),
        "risk": "execute",
        "why": "the mode is ask",
        "source": "mode",
        "shown": shown.text,
        "fully_shown": shown.complete,
        "preview": "",
        "warnings": tuple(warnings(arguments)),
        "parts": ("the call",),
        "offers": offers("exactly make test") if shown.complete else (),
        "refusals": offers("exactly make test"),
        "cwd": "/home/me/project",
        "digest": "d",
    }
    return ApprovalRequest(**{**fields, **more})


class Chat(App[None]):
    """A conversation, the questions, a prompt."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "stop")]
    CSS = "VerticalScroll { height: 1fr; } #prompt { height: 3; } #status { height: 1; }"

    def __init__(self, questions: Questions, light: bool) -> None:
        super().__init__()
        self._questions = questions
        self._light = light
        self.stop: Callable[[], object] = lambda: None

    def compose(self) -> ComposeResult:
        yield VerticalScroll(Static(SAID))
        yield self._questions
        yield TextArea(id="prompt")
        yield Static("the status line", id="status")

    def on_mount(self) -> None:
        self.theme = "textual-light" if self._light else "textual-dark"
        self.prompt.focus()

    def action_stop(self) -> None:
        self.stop()

    @property
    def prompt(self) -> TextArea:
        return self.query_one("#prompt", TextArea)


class Asking:
    """The screen, the person in front of it and their clock."""

    def __init__(self, pilot: Pilot[None], person: ScreenPerson, questions: Questions, now: list[float]) -> None:
        self.pilot = pilot
        self.person = person
        self.questions = questions
        self._now = now

    @property
    def app(self) -> Chat:
        assert isinstance(self.pilot.app, Chat)
        return self.pilot.app

    @property
    def now(self) -> float:
        return self._now[0]

    def wait(self, seconds: float) -> None:
        """Turns the clock on."""
        self._now[0] += seconds

    async def turn_back(self, now: float) -> None:
        """What is asked was painted at this time. A mouse keeps the real time: 0 is long ago, `LATER` is to come."""
        self._now[0] = now
        await self.questions._fit_anew()
        await self.painted()

    async def ask(self, *requests: ApprovalRequest) -> list[asyncio.Task[Answer]]:
        """Calls that wait from now on, in this order."""
        tasks = []
        for each in requests:
            tasks.append(asyncio.ensure_future(self.person(each)))
            await asyncio.sleep(0)
        await self.painted()
        return tasks

    async def painted(self) -> None:
        """Until the screen shows what waits, and nothing else is on its way."""
        still = 0
        for _ in range(200):
            # Quicker than `pause`, which waits for the processor to be idle: all messages were handled, twice.
            await self.pilot._wait_for_screen()
            await asyncio.sleep(0.003)
            await self.pilot._wait_for_screen()
            still = still + 1 if self._is_painted() else 0
            if still == 2:  # once is not enough: a widget may have told the screen just now that it has another size
                return
        raise AssertionError("the question was never painted")

    def _is_painted(self) -> bool:
        front, waiting = self.questions.front, self.person.waiting
        if front is None or front not in waiting:
            return front is None and not waiting
        # A layout to come may give it another size, and then it has to be read again before a key counts.
        screen = self.app.screen
        pending = screen._callbacks or any(
            each._layout_required for each in screen.walk_children(Widget, with_self=True)
        )
        return self.questions._stage.attention._from is not None and not pending

    def send(self, key: str) -> None:
        """A key, pressed now; what comes of it is not waited for."""
        event = events.Key(key, _CHARACTERS.get(key) or (key if len(key) == 1 else None))
        event.time = self.now
        self.app.post_message(event)

    async def press(self, *keys: str, after: float = SEE) -> None:
        """Keys, each after so many seconds with nothing else."""
        for key in keys:
            self.wait(after)
            self.send(key)
            await self.painted()

    async def type(self, text: str) -> None:
        """Keys one after the other, as quick as they come."""
        for char in text:
            self.send(next((name for name, shown in _CHARACTERS.items() if shown == char), char))
        await self.painted()

    async def paste(self, text: str) -> None:
        self.app.post_message(events.Paste(text))
        await self.painted()

    @property
    def pane(self) -> Pane:
        """What is asked."""
        assert self.questions.front is not None
        return self.questions._shown[self.questions.front].pane

    async def shows(self, words: str) -> bool:
        """Whether these words stand on the screen, now or in a moment."""
        for _ in range(50):
            if words in self.text():
                return True
            await self.painted()
        return False

    async def still(self) -> None:
        """Until nothing moves any more, for who points at something."""
        places: list[object] = []
        for _ in range(100):
            await self.pilot.pause()
            places.append([widget.region for widget in self.questions.walk_children(Widget)])
            if len(places) > 4 and places[-1] == places[-2] == places[-3] == places[-4]:
                return
        raise AssertionError("the screen does not come to rest")

    def text(self) -> str:
        """What stands on the screen."""
        return screens.text(self.app)

    def lines(self) -> list[str]:
        """The same, line by line."""
        return screens.lines(self.app)


@asynccontextmanager
async def asking(
    *,
    size: tuple[int, int] = (80, 24),
    light: bool = False,
    kept_in: str = "/home/me/.config/toolwire/always.toml",
    alone: float = 0,
) -> AsyncIterator[Asking]:
    """The screen with nothing asked yet."""
    now = [1000.0]
    person = ScreenPerson(kept_in=kept_in)
    questions = Questions(person, clock=lambda: now[0], alone=alone)
    async with Chat(questions, light).run_test(size=size) as pilot:
        yield Asking(pilot, person, questions, now)


async def cancel(*tasks: asyncio.Future[Any]) -> None:
    """Takes questions back."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def front_id(screen: Asking) -> str:
    """Which call is asked about."""
    front = screen.questions.front
    return front.request.id if isinstance(front, WaitingCall) else ""
