"""Walking through what was typed before, and back to what was being typed."""

from __future__ import annotations

from ...chat.typed_history import Typed, TypedHistory


class Walk:
    """Where in the history the prompt is: the draft at one end, the oldest entry at the other.

    The history is read when a walk begins, so that entries of other chats do not move what is underfoot.
    """

    def __init__(self, history: TypedHistory) -> None:
        self._history = history
        self._entries: list[Typed] = []
        self._at = -1
        self._draft = Typed("")

    @property
    def is_on(self) -> bool:
        """Whether an entry is shown, and not the draft."""
        return self._at >= 0

    @property
    def text(self) -> str:
        """The text of the entry that is shown."""
        return self._entries[self._at].text if self.is_on else self._draft.text

    def older(self, shown: Typed) -> Typed | None:
        """The next older one than what is shown now; None at the oldest."""
        if self._at < 0:
            self._draft = shown
            self._entries = [entry for entry in self._history.newest_first() if entry.text != shown.text]
        if self._at + 1 >= len(self._entries):
            return None
        self._at += 1
        return self._entries[self._at]

    def newer(self) -> Typed | None:
        """The next newer one, at last the draft; None where that is shown."""
        if self._at < 0:
            return None
        self._at -= 1
        return self._draft if self._at < 0 else self._entries[self._at]

    def end(self) -> None:
        """What is shown is a draft from now on."""
        self._at = -1
