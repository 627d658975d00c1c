"""A conversation made shorter: what can best be missed goes first, and every provider takes what is left.

In this order, and only until it is short enough, the oldest first:

1. Results of tools become their beginning and their end; pictures and files become a mention. Those of the last turns
   stay whole.
2. Questions go, each with all that was answered to it, up to the last question.
3. Of the turns that have followed the last question, the first go.
4. Where it must be (`hard`), the results of the last turns are shortened too, and all turns but the last go.

A call never goes without its results, nor reasoning without the calls that it led to. System messages, the last
question and the last turn stay. What goes leaves a note in front of the first question that is left: how much it was,
what the user had said, and which calls were made, so that nothing is done twice because it was forgotten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from ..messages import MediaPart, Message, Part, TextPart, ToolCallPart, ToolResultPart
from ..providers.encoding import arguments_text
from ..providers.media import mention

KEPT_TURNS = 3
"""Answers whose results stay as they are: the model is still at work on them."""

OLD_RESULT = 400
"""Characters that stay of a result: what it was, and how it ended."""
RECENT_RESULT = 4_000
"""Characters that stay of a result of the last turns, where it must be shortened: a page."""
_WORTH_IT = 200
"""Characters more than that, below which a text stays whole: shortening it would win nothing."""

LEFT_OUT = "[… left out to save room; call the tool again if it is needed …]"

NOTE_START = "[This conversation had grown too long: "
NOTE_MIDDLE = (
    " of its messages, before this one or right after it, are no longer shown."
    " What was done in them is done; look again before you build on it or repeat it."
)
NOTE_END = "]\n\n"
NOTE_CHARACTERS = 4_000
"""Of a note: some 40 lines. What the user said first stays, which is what it is all about, and the last lines do."""
SAID = "- The user said: "
_SAID = 200
_CALLED = 100


class Shorter(msgspec.Struct, frozen=True):
    """A shorter conversation, and what is no longer in it, in sentences for the person."""

    messages: list[Message]
    notes: list[str]


def compact(
    messages: Sequence[Message], measure: Callable[[Message], int], enough: int, *, hard: bool = False
) -> Shorter | None:
    """The conversation, shortened until it measures `enough` or no more can go; None where nothing can.

    Nothing given is changed. What was shortened once is left as it is the next time.
    """
    work = _Shortening(messages, measure, enough)
    work.shorten(OLD_RESULT, kept_turns=KEPT_TURNS)
    work.drop_questions()
    if work.drop_turns(KEPT_TURNS):
        work.drop_questions()  # what was not worth a note may be, now that there is one
    if hard:
        work.shorten(RECENT_RESULT, kept_turns=0)
        work.drop_turns(1)
        work.shorten(OLD_RESULT, kept_turns=0)
    return work.shorter()


class _Shortening:
    """A conversation while it is made shorter."""

    def __init__(self, messages: Sequence[Message], measure: Callable[[Message], int], enough: int) -> None:
        self._messages = list(messages)
        self._measure = measure
        self._enough = enough
        self._total = self._before = sum(map(measure, messages))
        self._note_room = max(_SAID, min(NOTE_CHARACTERS, enough // 5))
        self._results: set[tuple[str, str]] = set()
        self._characters = 0
        self._media = 0
        self._dropped = 0

    def shorten(self, characters: int, *, kept_turns: int) -> None:
        """Shortens the results before the last turns; the media of earlier questions are mentioned in their place."""
        turns = _starts(self._messages, "assistant")
        end = len(self._messages)
        if kept_turns:
            end = turns[-kept_turns] if len(turns) > kept_turns else 0
        last_question = _last_question(self._messages)
        for number, message in enumerate(self._messages):
            if self._total <= self._enough:
                return
            if message.role == "tool" and number < end:
                parts = [self._result(part, characters) for part in message.parts]
            elif message.role == "user" and number < last_question:
                parts = [self._mentioned(part) if isinstance(part, MediaPart) else part for part in message.parts]
            else:
                continue
            if parts != message.parts:
                shorter = msgspec.structs.replace(message, content=parts)
                self._total += self._measure(shorter) - self._measure(message)
                self._messages[number] = shorter

    def drop_questions(self) -> None:
        """Takes out the first questions with all that followed them; the last one stays."""
        starts = _starts(self._messages, "user")
        self._drop([0, *starts] if starts and starts[0] else starts)

    def drop_turns(self, kept: int) -> bool:
        """Takes out the first turns after the last question; tells whether any went."""
        last = _last_question(self._messages)
        turns = [start for start in _starts(self._messages, "assistant") if start > last]
        return self._drop(turns[: max(0, len(turns) - kept + 1)])

    def shorter(self) -> Shorter | None:
        """What has become of the conversation."""
        if self._total >= self._before:
            return None
        notes = []
        if self._results:
            results = _counted(len(self._results), "tool result", "tool results")
            notes.append(f"{results} no longer sent in full: {self._characters:,} characters were left out")
        if self._media:
            media = _counted(self._media, "picture or file", "pictures and files")
            notes.append(f"{media} no longer sent, but mentioned by name")
        if self._dropped:
            notes.append(f"{_counted(self._dropped, 'old message', 'old messages')} no longer sent")
        return Shorter(self._messages, notes)

    def _drop(self, starts: list[int]) -> bool:
        """Takes out what lies between the first of these places and as late a one as it takes, system messages apart.

        Where the note would be longer than what it stands for, nothing goes.
        """
        if self._total <= self._enough or len(starts) < 2:
            return False
        left = self._total + self._note_room // 4
        first = until = starts[0]
        for start in starts[1:]:
            left -= sum(self._measure(message) for message in self._messages[until:start] if message.role != "system")
            until = start
            if left <= self._enough:
                break
        gone = [message for message in self._messages[first:until] if message.role != "system"]
        stay = [message for message in self._messages[first:until] if message.role == "system"]
        stay = [*self._messages[:first], *stay, *self._messages[until:]]
        shorter = _with_note(stay, gone, _note_of(self._messages), self._note_room)
        total = sum(map(self._measure, shorter))
        if not gone or total >= self._total:
            return False
        self._messages, self._total = shorter, total
        self._dropped += len(gone)
        return True

    def _result(self, part: Part, characters: int) -> Part:
        """The result shortened; the same where that would win nothing."""
        if not isinstance(part, ToolResultPart):
            return part
        content: str | list[TextPart | MediaPart]
        if isinstance(part.content, str):
            content = self._cut(part, part.content, characters)
        else:
            content = [
                self._mentioned(item)
                if isinstance(item, MediaPart)
                else msgspec.structs.replace(item, text=self._cut(part, item.text, characters))
                for item in part.content
            ]
        return msgspec.structs.replace(part, content=content)

    def _cut(self, result: ToolResultPart, text: str, characters: int) -> str:
        """The beginning and the end of the text."""
        if len(text) <= characters + _WORTH_IT:
            return text
        end = characters // 3
        shorter = f"{text[: characters - end]}\n{LEFT_OUT}\n{text[-end:]}"
        self._results.add((result.id, result.name))
        self._characters += len(text) - len(shorter)
        return shorter

    def _mentioned(self, part: MediaPart) -> TextPart:
        self._media += 1
        return TextPart(mention(part))


def _starts(messages: Sequence[Message], role: str) -> list[int]:
    """Where a question (or a turn) begins, so that the conversation can be parted there: no result that comes later
    belongs to a call before. Answers in a row are one turn.
    """
    later = Counter(_key(part) for message in messages for part in _results(message))
    waiting: Counter[tuple[str, str]] = Counter()
    owed: set[tuple[str, str]] = set()
    starts: list[int] = []
    before = ""
    for number, message in enumerate(messages):
        if message.role == role and not (role == before == "assistant") and not owed:
            starts.append(number)
        for call in message.tool_calls:
            key = _key(call)
            waiting[key] += 1
            if later[key] > 0:
                owed.add(key)
        for result in _results(message):
            key = _key(result)
            later[key] -= 1
            waiting[key] = max(0, waiting[key] - 1)
            if not (waiting[key] and later[key]):
                owed.discard(key)
        if message.role != "system":
            before = message.role
    return starts


def _results(message: Message) -> Iterator[ToolResultPart]:
    return (part for part in message.parts if isinstance(part, ToolResultPart))


def _key(part: ToolCallPart | ToolResultPart) -> tuple[str, str]:
    """What ties a result to its call: the id, and where there is none the name."""
    return (part.id, "") if part.id else ("", part.name)


def _last_question(messages: Sequence[Message]) -> int:
    return max((number for number, message in enumerate(messages) if message.role == "user"), default=-1)


class _Note(msgspec.Struct, frozen=True):
    """What a conversation says of messages that are gone: how many, and a line for each thing to remember."""

    count: int = 0
    lines: tuple[str, ...] = ()


def _first_said(messages: Sequence[Message]) -> int:
    """The place of the first message that is not the system's."""
    return next((number for number, message in enumerate(messages) if message.role != "system"), len(messages))


def _note_of(messages: Sequence[Message]) -> _Note:
    """The note that an earlier time has left."""
    at = _first_said(messages)
    text = _note_in(messages[at]) if at < len(messages) else ""
    head, *lines = text.removesuffix(NOTE_END).split("\n")
    count = head.removeprefix(NOTE_START).partition(" ")[0]
    return _Note(int(count) if count.isdecimal() else 0, tuple(lines))


def _note_in(message: Message) -> str:
    """The note with which a question begins, if it has one."""
    first = next(iter(message.parts), None)
    is_note = message.role == "user" and isinstance(first, TextPart) and first.text.startswith(NOTE_START)
    return first.text if is_note and isinstance(first, TextPart) else ""


def _without_note(message: Message) -> list[Part]:
    return message.parts[1:] if _note_in(message) else message.parts


def _with_note(messages: list[Message], gone: Iterable[Message], earlier: _Note, room: int) -> list[Message]:
    """The conversation with the note in front of its first question, in place of an earlier one."""
    gone = list(gone)
    lines = [*earlier.lines, *(line for message in gone for line in _lines(message))]
    begun = next((line for line in lines if line.startswith(SAID)), "")
    if begun:
        lines.remove(begun)
        room -= len(begun)
    kept = len(lines)
    while kept and room > len(lines[kept - 1]):
        kept -= 1
        room -= len(lines[kept]) + 1
    lines = [begun, *lines[kept:]] if begun else lines[kept:]
    text = "\n".join([f"{NOTE_START}{earlier.count + len(gone)}{NOTE_MIDDLE}", *lines]) + NOTE_END
    at = _first_said(messages)
    if at == len(messages) or messages[at].role != "user":
        return [*messages[:at], Message("user", [TextPart(text)]), *messages[at:]]
    question = msgspec.structs.replace(messages[at], content=[TextPart(text), *_without_note(messages[at])])
    return [*messages[:at], question, *messages[at + 1 :]]


def _lines(message: Message) -> Iterator[str]:
    """What is worth to be remembered of a message: what the user said, and which calls were made."""
    words = _one_line(" ".join(map(_said, _without_note(message))), _SAID) if message.role == "user" else ""
    if words:
        yield f"{SAID}{words}"
    for call in message.tool_calls:
        yield f"- You called {_one_line(call.name, _CALLED)} {_one_line(arguments_text(call), _CALLED)}"


def _said(part: Part) -> str:
    if isinstance(part, MediaPart):
        return mention(part)
    return part.text if isinstance(part, TextPart) else ""


def _one_line(text: str, characters: int) -> str:
    words = " ".join(text[: 2 * characters].split())
    return words if len(words) <= characters and len(text) <= 2 * characters else f"{words[:characters]}…"


def _counted(count: int, one: str, more: str) -> str:
    return f"1 {one} is" if count == 1 else f"{count:,} {more} are"
