"""Words of ours between what is said: notes, problems with what to do about them, and what happened beside it all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.content import Content

from ..agent.events import AgentEvent
from ..cli.visible import visible
from .markdown.document import Document
from .still import Still

_MOST = 20_000
"""Characters of a problem; servers answer with whole pages."""


class Note(Document, can_focus=True):
    """Something that we say, as Markdown."""

    DEFAULT_CSS = """
    Note { margin: 0 0 1 0; color: $foreground 80%; }
    """

    BAR = "$foreground 20%"

    def __init__(self, words: str) -> None:
        super().__init__(words, ended=True)

    def take(self, event: AgentEvent) -> None:
        """It has ended."""

    def plain(self) -> str:
        """The words."""
        return self.text

    def again(self) -> Callable[[], Note]:
        """Makes the same item later."""
        return partial(Note, self.text)


class Problem(Still, can_focus=True):
    """What went wrong, and what to do."""

    DEFAULT_CSS = """
    Problem { border-left: outer $error; }
    Problem:focus { border-left: outer $accent; }
    """

    def __init__(self, words: str, hint: str = "") -> None:
        self._words, self._hint = visible(words[:_MOST]).strip(), visible(hint[:_MOST]).strip()
        content = Content.styled("✗ ", "bold $text-error") + Content.styled(self._words, "$text-error")
        if self._hint:
            content = content + Content("\n→ ") + Content(self._hint)
        super().__init__(content, markup=False)

    def plain(self) -> str:
        """The words and what to do."""
        return "\n".join(filter(None, (self._words, self._hint)))

    def again(self) -> Callable[[], Problem]:
        """Makes the same item later."""
        return partial(Problem, self._words, self._hint)


class Aside(Still):
    """A faint line: how a run ended, a request that goes out again, a tool that ran at the provider."""

    DEFAULT_CSS = """
    Aside { padding: 0 1 0 2; color: $foreground 50%; }
    """

    def __init__(self, words: str) -> None:
        self.words = visible(words[:_MOST])
        super().__init__(Content(self.words), markup=False)

    def plain(self) -> str:
        """The words."""
        return self.words

    def again(self) -> Callable[[], Aside]:
        """Makes the same item later."""
        return partial(Aside, self.words)
