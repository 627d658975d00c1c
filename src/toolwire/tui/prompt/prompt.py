"""`Prompt`: where the person types. Enter sends, and nothing else does: no paste, no key meant for something else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from ...chat.completion import NOTHING, Completion, Completions
from ...chat.typed_history import Typed, TypedHistory
from ...cli.editing import NotEdited
from ...cli.visible import one_line
from ...errors import ToolwireError
from ...tasks import create_lazy_task
from .outside_editor import edited_outside
from .pasting import dropped_files, harmless, is_long, label
from .suggestions import Suggestions
from .terminal_keys import NEW_LINE, teach_alt_enter
from .typing_area import TypingArea
from .walking import Walk

PLACEHOLDER = "Ask anything · @file attaches · !command runs one of yours · /help"
_BURST_SECONDS = 0.001
"""An Enter so soon after a key was not pressed by a person: it may be in the middle of what a terminal pastes."""
_HOLD_SECONDS = 0.03
"""How long such an Enter waits for what comes behind it."""
_PATIENCE = 0.5
"""Seconds that Tab waits for suggestions."""
_MOST_FOUND = 50


class Prompt(Widget):
    """A few lines that grow, with suggestions above them and the history below the arrow keys.

    `complete` is asked at each change, and its answer is dropped if the text has changed again by then. `take_back`
    gives what was sent last and still waits, for the first Up where nothing is typed.
    """

    DEFAULT_CSS = """
    Prompt { height: auto; layout: vertical; }
    Prompt > Horizontal {
        height: auto; padding: 0 1; border: round $primary 50%;
        border-title-color: $text-muted; border-subtitle-color: $text-muted;
    }
    Prompt > Horizontal:focus-within { border: round $primary; }
    Prompt.shell > Horizontal { border: round $warning; }
    Prompt.search > Horizontal { border: round $accent; }
    Prompt #mark { width: 2; height: 1; color: $text-primary; text-style: bold; }
    Prompt.shell #mark { color: $text-warning; }
    Prompt.search #mark { color: $text-accent; }
    """

    class Submitted(Message):
        """Something was sent. `pasted` holds what stands behind the labels in its text."""

        def __init__(self, text: str, pasted: Mapping[str, str]) -> None:
            super().__init__()
            self.text = text
            self.pasted = pasted

    def __init__(
        self,
        complete: Callable[[str, int], Awaitable[Completions]],
        history: TypedHistory,
        *,
        root: str = "",
        take_back: Callable[[], Typed | None] = lambda: None,
    ) -> None:
        super().__init__()
        teach_alt_enter()
        self._complete = complete
        self._history = history
        self._root = root
        self._take_back = take_back
        self._area = TypingArea(self._key, self._pasted, PLACEHOLDER)
        self._list = Suggestions()
        self._mark = Static("›", id="mark", markup=False)
        self._line = Horizontal(self._mark, self._area)
        self._walk = Walk(history)
        self._suggested = ""
        self._asked: tuple[str, int] | None = None
        """The text and the place that suggestions were asked for last."""
        self._asking: asyncio.Task[None] | None = None
        self._draft: Typed | None = None
        """What was being typed when the search in the history began; None while none goes on."""
        self._entries: dict[str, Typed] = {}
        """What was found in the history last."""
        self._labels = 0
        """How many were made: no two have one number, also in messages that wait together."""
        self._chord = False
        self._last_key = 0.0
        self._held: Timer | None = None
        """An Enter that may be part of a paste, while it waits."""
        self._in_paste = False

    def compose(self) -> ComposeResult:
        """The suggestions lie above the line, over the conversation."""
        yield self._list
        yield self._line

    def on_unmount(self) -> None:
        """Nobody waits for suggestions any more."""
        if self._asking is not None:
            self._asking.cancel()

    # ---- for others

    @property
    def text(self) -> str:
        """What is typed; a search in the history is not."""
        return self._area.text if self._draft is None else self._draft.text

    @property
    def pasted(self) -> dict[str, str]:
        """What stands behind the labels in it."""
        return self._labelled(self.text)

    def put(self, text: str, pasted: Mapping[str, str] | None = None) -> None:
        """Puts this in the place of what is typed, the cursor at its end."""
        self._end_search()
        self._walk.end()
        self._set(Typed(harmless(text), "", dict(pasted or {})))

    def give_back(self, lines: Sequence[tuple[str, Mapping[str, str]]]) -> None:
        """Puts lines that were sent, with what was pasted into them, before what is typed now."""
        if self.text:
            lines = [*lines, (self.text, self.pasted)]
        behind = {label: text for _, pasted in lines for label, text in pasted.items()}
        self.put("\n".join(text for text, _ in lines), behind)

    def suggest(self, text: str) -> None:
        """A question to begin with: shown where nothing is typed, and there for Tab. Enter does not send it."""
        self._suggested = one_line(text)
        self._area.placeholder = f"{self._suggested}   (Tab takes it)" if text else PLACEHOLDER

    def focus(self, scroll_visible: bool = True) -> Prompt:
        """Types here from now on."""
        self._area.focus(scroll_visible)
        return self

    # ---- keys

    async def _key(self, event: events.Key) -> bool:
        """Whether the key was for the prompt. All others are for the lines, and then for whoever is around."""
        in_burst = 0 <= event.time - self._last_key < _BURST_SECONDS
        self._last_key = event.time
        self._in_paste = in_burst and self._in_paste
        self._release()
        chord, self._chord = self._chord, False
        if chord and event.key == "ctrl+e":
            self._edit_outside()
            return True
        if await self._in_list(event.key) or await self._in_search(event.key):
            return True
        match event.key:
            case "enter":
                self._enter(in_burst)
            case key if key in NEW_LINE:
                self._area.insert("\n")
            case "up":
                return self._older()
            case "down":
                return self._newer()
            case "tab":
                return await self._tab()
            case "right" | "ctrl+e":
                return self._take_suggested()
            case "ctrl+r":
                self._begin_search()
            case "ctrl+g":
                self._edit_outside()
            case "ctrl+x" if not self._area.selected_text:
                self._chord = True
            case "backspace" | "delete" | "ctrl+d" | "ctrl+w" as key:
                return self._delete_label(before=key in ("backspace", "ctrl+w"))
            case _:
                return False
        return True

    async def _in_list(self, key: str) -> bool:
        if not self._list.is_open:
            return False
        self._ask()
        if key in ("up", "down"):
            self._list.move(-1 if key == "up" else 1)
        elif key == "tab":
            await self._settled()
            self._take(self._list.row)
        elif key == "enter" and self._list.at is not None:
            self._take(self._list.row)
        elif key == "escape":
            self._end_search()
            self._list.show(NOTHING)
        else:
            return False
        return True

    def _enter(self, in_burst: bool) -> None:
        text, cursor = self._area.text, self._area.cursor
        before = text[:cursor]
        if before.endswith("\\") and not text[cursor:].strip():
            self._area.put("\n", cursor - 1, cursor)
        elif self._in_paste:
            self._area.insert("\n")
        elif in_burst:
            self._held = self.set_timer(_HOLD_SECONDS, self._send)
        else:
            self._send()

    def _release(self) -> None:
        """An Enter that waits and has a key behind it was none: a line ends there."""
        if self._held is not None:
            self._held.stop()
            self._held = None
            self._in_paste = True
            self._area.insert("\n")

    def _send(self) -> None:
        self._held = None
        text = self._area.text
        if not text.strip():
            return
        pasted = self._labelled(text)
        self._walk.end()
        self._history.add(text, pasted)
        self._set(Typed(""))
        self.suggest("")
        self.post_message(self.Submitted(text, pasted))

    def _older(self) -> bool:
        area = self._area
        if not area.navigator.is_first_wrapped_line(area.cursor_location):
            return False
        if not area.text and not self._walk.is_on and (waiting := self._take_back()) is not None:
            self._set(waiting)
            return True
        entry = self._walk.older(self._shown())
        if entry is not None:
            self._set(entry, cursor=len(entry.text.split("\n", 1)[0]))
        return True

    def _newer(self) -> bool:
        area = self._area
        if not self._walk.is_on or not area.navigator.is_last_wrapped_line(area.cursor_location):
            return False
        entry = self._walk.newer()
        if entry is not None:
            self._set(entry)
        return True

    async def _tab(self) -> bool:
        if self._take_suggested():
            return True
        if not self._area.text:
            return False
        await self._settled()
        if self._list.is_open:
            self._take(self._list.row)
        return True

    def _take_suggested(self) -> bool:
        if self._area.text or not self._suggested:
            return False
        self._set(Typed(self._suggested))
        return True

    def _delete_label(self, *, before: bool) -> bool:
        """A label goes as a whole."""
        found = self._area.label_beside(before=before)
        if found is not None:
            self._area.put("", *found)
        return found is not None

    # ---- pasting

    def _pasted(self, text: str) -> None:
        text = harmless(text)
        if not text:
            return
        area = self._area
        start, end = sorted(map(area.index_of, area.selection))
        if is_long(text):
            self._labels += 1
            name = label(text, area.pasted, self._labels)
            area.pasted[name] = text
            # Behind a name it would be read as part of it.
            before = "" if start == 0 or area.text[start - 1].isspace() else " "
            area.put(before + name, start, end)
            return
        area.put(text, start, end)
        mention = "" if area.text.startswith("!") else dropped_files(text, self._root)
        if mention:
            self._forget()
            row = Completion(f"{mention} ", mention, "attach it")
            self._asked = (area.text, area.cursor)
            self._list.show(Completions(start, start + len(text), (row,), kind="paste"))

    # ---- suggestions

    @on(TextArea.Changed)
    @on(TextArea.SelectionChanged)
    def _changed(self, event: Message) -> None:
        """Something was typed, or the cursor moved."""
        event.stop()
        text = self._area.text
        if self._draft is None:
            self.set_class(text.startswith("!"), "shell")
            self._mark.update("$" if text.startswith("!") else "›")
            self._line.border_title = _title(text)
            lines = text.count("\n")
            self._line.border_subtitle = "Enter sends · Alt+Enter or Ctrl+J begins a line" if lines else ""
        self._ask()

    def _ask(self) -> None:
        """Asks for suggestions, unless they were asked for already."""
        where = (self._area.text, self._area.cursor)
        if where == self._asked:
            return
        moved_only = self._asked is not None and self._asked[0] == where[0]
        self._forget()
        self._asked = where
        self._list.choose_none()
        if self._walk.is_on and self._walk.text != where[0]:
            self._walk.end()
        if self._draft is not None:
            self._list.show(self._found(where[0]))
        elif self._walk.is_on or not where[0] or (moved_only and not self._list.is_open):
            self._list.show(NOTHING)
        else:
            self._asking = create_lazy_task(self._suggestions(*where))

    async def _suggestions(self, text: str, cursor: int) -> None:
        try:
            found = await self._complete(text, cursor)
        except ToolwireError:
            found = NOTHING
        self._list.show(found)
        self._area.show_mentions([(start, text[start:end]) for start, end in found.mentioned])

    async def _settled(self) -> None:
        """Waits for suggestions for what is typed now, within reason."""
        self._ask()
        if self._asking is not None:
            await asyncio.wait((self._asking,), timeout=_PATIENCE)

    def _forget(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    @on(Suggestions.Taken)
    def _clicked(self, event: Suggestions.Taken) -> None:
        event.stop()
        self._take(event.row)
        self.focus()

    def _take(self, row: Completion | None) -> None:
        given = self._list.given
        if row is None or self._asked != (self._area.text, self._area.cursor):
            return
        self._list.show(NOTHING)
        if self._draft is not None:
            self._take_found(row)
            return
        self._area.put(row.put, given.start, given.end)
        if not row.goes_on:
            self._forget()
            self._asked = (self._area.text, self._area.cursor)

    # ---- the history

    async def _in_search(self, key: str) -> bool:
        if self._draft is None:
            return False
        self._ask()
        if key == "ctrl+r":
            self._list.move(1)
        elif key in ("enter", "tab"):
            self._take(self._list.row)
        elif key in ("escape", "ctrl+g"):
            self._end_search()
        elif key in ("up", "down") or key in NEW_LINE:
            pass
        else:
            return False
        return True

    def _begin_search(self) -> None:
        self._draft = self._shown()
        self.set_class(True, "search")
        self.set_class(False, "shell")
        self._mark.update("?")
        self._line.border_title = "search in what was typed · Enter takes, Esc goes back"
        self._area.set_text("")
        self._asked = None
        self._ask()

    def _found(self, words: str) -> Completions:
        """The entries that hold these words; each is put whole."""
        entries = self._history.search(words, _MOST_FOUND)
        self._entries = {entry.text: entry for entry in entries}
        rows = tuple(Completion(entry.text, one_line(entry.text)) for entry in entries)
        return Completions(0, len(words), rows, kind="history")

    def _take_found(self, row: Completion) -> None:
        entry = self._entries.get(row.put, Typed(row.put))
        self._draft = None
        self._leave_search(entry)

    def _end_search(self) -> None:
        if self._draft is not None:
            draft, self._draft = self._draft, None
            self._leave_search(draft)

    def _leave_search(self, shown: Typed) -> None:
        self.set_class(False, "search")
        self._list.show(NOTHING)
        self._walk.end()
        self._set(shown)
        self._asked = (self._area.text, self._area.cursor)

    # ---- the text

    def _shown(self) -> Typed:
        return Typed(self._area.text, "", self._labelled(self._area.text))

    def _set(self, entry: Typed, *, cursor: int | None = None) -> None:
        self._list.show(NOTHING)
        self._area.set_text(entry.text, entry.pasted, cursor=cursor)

    def _labelled(self, text: str) -> dict[str, str]:
        pasted = self._area.pasted if self._draft is None else self._draft.pasted
        return {name: content for name, content in pasted.items() if name in text}

    # ---- the editor

    def _edit_outside(self) -> None:
        self.run_worker(self._edited(), exclusive=True, group="editor")

    async def _edited(self) -> None:
        self._end_search()
        shown = self._shown()
        try:
            made = await edited_outside(self.app, shown.text)
        except NotEdited as error:
            self.app.notify(str(error), title="Nothing is changed", severity="warning", markup=False)
            return
        self.put(made, shown.pasted)
        self.focus()


def _title(text: str) -> str:
    if text.startswith("!!"):
        return "your own shell · the model is not told"
    if text.startswith("!"):
        return "your own shell · the model is told with your next question"
    return ""
