"""What `decode` and `parse` share: files in, the events of each as JSON lines or one summary a file out."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import IncompleteStream, ToolwireError
from ..stream.segments import SegmentEvent
from .faults import FAILED, say
from .inputs import STANDARD_INPUT, Cut, as_text, check_files
from .visible import json_bytes

if TYPE_CHECKING:
    from ..stream.reading import AnswerStream
    from ..tools.definition import ToolDefinition

RECORD_AGAIN = "What arrived is shown; record the answer again for the rest."


class Showing(ABC):
    """One run of a command over its files. A child says how a file is read."""

    def __init__(
        self,
        files: Iterable[str],
        cut: str | None,
        *,
        tools: list[ToolDefinition] | None,
        summary: bool,
        fields: bool,
    ) -> None:
        self._names = list(files) or [STANDARD_INPUT]
        self._cuts = Cut(None if cut is None else as_text(cut))
        self._tools = tools
        self._summary = summary
        self._fields = fields
        self._write = sys.stdout.buffer.write

    def show_all(self) -> int:
        """Prints what is in each file; gives the exit code. A file that cannot be read is told before any output."""
        check_files(self._names)
        broken = [name for name in self._names if not self._show(name)]
        return FAILED if broken else 0

    def _show(self, name: str) -> bool:
        """Prints what is in one file; False, and a sentence, if it is no complete answer."""
        shown = as_text(name)
        stream, failure = self._read(name, shown)
        if self._summary:
            found = stream.summary()
            if failure is not None and found["error"] is None:
                found["error"] = failure.info()
            self._write(json_bytes({"file": shown, **found}) + b"\n")
        sys.stdout.buffer.flush()
        if failure is None:
            return True
        sentence, hint = _sentence(stream, failure)
        say(f"{'standard input' if name == STANDARD_INPUT else shown}: {sentence}", hint)
        return False

    @abstractmethod
    def _read(self, name: str, shown: str) -> tuple[AnswerStream, ToolwireError | None]:
        """Feeds one file, printing the events; the stream at its end, and what is wrong, if anything."""

    def _print(self, events: Iterable[SegmentEvent], shown: str) -> None:
        if self._summary:
            return
        wrote = False
        for event in events:
            line = json_bytes(event)
            if len(self._names) > 1:
                line = b'{"file":' + json_bytes(shown) + b"," + line[1:]
            self._write(line + b"\n")
            wrote = True
        if wrote:
            sys.stdout.buffer.flush()


def _sentence(stream: AnswerStream, failure: ToolwireError) -> tuple[str, str]:
    """What is wrong with a recording, and what to do about it."""
    words, hint = failure.message, failure.hint
    if isinstance(failure, IncompleteStream) and failure is stream.error:
        hint = RECORD_AGAIN
    calls: list[dict[str, Any]] = stream.summary()["calls"]
    stuck = sum(not call["complete"] for call in calls)
    if stuck:
        words += f": {stuck} call{' is' if stuck == 1 else 's are'} incomplete and would not run"
    return words, hint
