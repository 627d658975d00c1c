"""What the entries of a session come to: the conversation as it stands, wherever the program that wrote them ended.

A call that was started and has no outcome may have done its work or not. It is not repeated: the model is told that
nobody knows, and looks for itself.
"""

from __future__ import annotations

from ...messages import Message, TextPart, ToolCallPart, ToolResultPart, tool_results
from .entries import Answered, Began, Finished, Mended, Noted, Replaced, Said, Settled, Starting, Written

TITLE = 80
"""Characters of the first question by which a session is known."""

_UNKNOWN = (
    "Error: unknown: it was started and the program ended before its outcome was written; it was not repeated. "
    "Check before you call it again."
)
_UNKNOWN_REPEATABLE = (
    "Error: unknown: it was started and the program ended before its outcome was written; it was not repeated. "
    "It is safe to call it again."
)
_NOT_RUN = "Error: not run: the program ended before it ran"

_STATES = {
    "run_started": "running",
    "run_finished": "finished",
    "run_failed": "failed",
    "run_interrupted": "interrupted",
}
"""What the events that begin and end a run make of a session."""


class Summary:
    """What there is to say of a session without its conversation."""

    def __init__(self) -> None:
        self.model = self.cwd = self.base_url = self.title = self.state = ""
        self.turn = 0

    def take(self, what: Written) -> None:
        """The next entry."""
        match what:
            case Began():
                self.model, self.cwd, self.base_url = what.model, what.cwd, what.base_url
            case Said(message):
                if not self.title and message.role == "user":
                    # What goes along with a question stands behind its words.
                    words = next((part.text for part in message.parts if isinstance(part, TextPart)), "")
                    self.title = " ".join(words.split())[:TITLE] or "(no words)"
            case Answered(turn):
                self.turn = max(self.turn, turn)
            case Mended():
                self.state = "cut off"
            case Noted(event):
                self.state = _STATES.get(str(event.get("type")), self.state)
            case _:
                pass


class Resumed:
    """Takes the entries one after the other; afterwards, it holds the conversation that they come to."""

    def __init__(self) -> None:
        self.summary = Summary()
        self.messages: list[Message] = []
        self._answer: Message | None = None
        self._answer_turn = 0
        self._started: dict[str, Starting] = {}
        self._finished: dict[str, ToolResultPart] = {}

    def take(self, what: Written) -> None:
        """The next entry."""
        self.summary.take(what)
        match what:
            case Said(message):
                self.messages.append(message)
            case Answered(turn, message):
                if message.tool_calls:
                    self._answer, self._answer_turn = message, turn
                    self._started, self._finished = {}, {}
                else:
                    self.messages.append(message)
            case Starting(turn, id) if turn == self._answer_turn:
                self._started[id] = what
            case Finished(turn, result) if turn == self._answer_turn:
                self._finished[result.id] = result.part()
            case Settled(_, results):
                self._settle(results)
            case Replaced(messages):
                self.messages = list(messages)
            case Mended(results):
                self._settle(results)
            case _:
                pass  # also what came when its answer was settled already, and is too late

    @property
    def is_cut_off(self) -> bool:
        """Whether a run had not ended."""
        return self._answer is not None or self.summary.state == "running"

    @property
    def unknown(self) -> list[ToolCallPart]:
        """The calls that were started and of which nobody knows what came, with the arguments that ran."""
        calls = [] if self._answer is None else self._answer.tool_calls
        return [
            ToolCallPart(call.id, call.name, self._started[call.id].arguments)
            for call in calls
            if call.id in self._started and call.id not in self._finished
        ]

    def mending(self) -> Mended:
        """What makes it whole where it was cut off: a result for each call that was left open."""
        if self._answer is None:
            return Mended()
        return Mended(tool_results(self._result(call) for call in self._answer.tool_calls))

    def _result(self, call: ToolCallPart) -> ToolResultPart:
        if call.id in self._finished:
            return self._finished[call.id]
        words = _NOT_RUN
        if call.id in self._started:
            words = _UNKNOWN_REPEATABLE if self._started[call.id].repeatable else _UNKNOWN
        return ToolResultPart(call.id, call.name, words, is_error=True)

    def _settle(self, results: Message | None) -> None:
        if self._answer is not None and results is not None:
            self.messages += [self._answer, results]
        self._answer = None
        self._answer_turn = 0
