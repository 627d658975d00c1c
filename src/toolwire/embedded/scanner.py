"""The linear scanner under all text formats: the text of one answer in, pieces of it out.

A format's reader is a generator that reads through a `Scanner` and stops (`yield`) wherever the text that has come so
far is not enough, so that it is written as if the whole answer were there. What it has read is *held* until it is
given as a piece: of text, of markup around calls, or of a call. So every character comes out exactly once, in order,
and where the text was cut makes no difference.

The promise to keep when writing a reader: decide only on what has been read, never on whether more is there just now.
`more`, `need` and the reading methods wait by themselves; only the end of the answer ends a wait.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable
from enum import IntEnum
from typing import NoReturn, TypeVar

import msgspec

from ..errors import LimitExceeded
from ..limits import DEFAULT_LIMITS, Limits

T = TypeVar("T")
Wait = Generator[None, None, T]
"""What waits for text and then gives a `T`: call it with `yield from`."""

SPACE = frozenset(" \t\r\n")
SLICE = 4096
"""Characters that a reader gets at once: what a search costs is bounded by it, however much is fed."""

_FENCE = "```"
_FENCE_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.")
_FENCE_WORD_LENGTH = 20
_UNKNOWN_NAMES = 20
"""Names of tools that there are not, kept to tell the model: more would help nobody."""


class PieceKind(IntEnum):
    """What a piece of an answer is."""

    TEXT = 0
    MARKUP = 1
    """What stands around calls and is neither: fences, brackets and commas of a list, wrappers."""
    CALL = 2


class Piece(msgspec.Struct, gc=False):
    """A stretch of the answer. All `text` joined is the answer; `arguments` of one call joined are JSON.

    The pieces of a call follow one another. The first has its `name` and `position` (the characters of the answer
    before it); the last is `done`, or has a `problem`: why the call cannot run.
    """

    kind: PieceKind
    text: str
    name: str = ""
    position: int = 0
    arguments: str = ""
    done: bool = False
    problem: str = ""


def no_json(_: str) -> str:
    """The JSON of what adds nothing to a call's arguments."""
    return ""


class Scanner:
    """The text that has come, how far it was read, and the pieces that were made of it."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.text = ""
        """What has come and may not have been read yet."""
        self.at = 0
        """How far `text` was read."""
        self.ended = False
        """Nothing more will come."""
        self.pieces: list[Piece] = []
        """What was given and not yet taken away."""
        self.unknown: list[str] = []
        """Names in well-formed calls that are no tool's: such calls stay text."""
        self.stops = ""
        """While the reader waits between calls with nothing held: the characters that are not just more text."""
        self._held: list[str] = []
        self._held_length = 0
        self._lead = 0
        self._given = 0
        self._calls = 0
        self._room = 0

    # What has come.

    def feed(self, text: str) -> None:
        """Takes the next text."""
        self.text = self.text[self.at :] + text if self.at < len(self.text) else text
        self.at = 0

    def more(self) -> Wait[bool]:
        """Waits until there is text to read; False at the end of the answer."""
        while self.at >= len(self.text):
            if self.ended:
                return False
            yield
        return True

    def need(self, count: int) -> Wait[str]:
        """The next `count` characters without reading them; fewer at the end of the answer."""
        while len(self.text) - self.at < count and not self.ended:
            yield
        return self.text[self.at : self.at + count]

    # Reading: what is read is held.

    @property
    def position(self) -> int:
        """Characters of the answer before what is read next."""
        return self._given + self._held_length

    @property
    def held_length(self) -> int:
        """How many characters were read and not yet given."""
        return self._held_length

    def read_to(self, at: int) -> str:
        """Reads on to this place in `text`."""
        read = self.text[self.at : at]
        self._held.append(read)
        self._held_length += len(read)
        self.at = at
        return read

    def read_space(self) -> Wait[None]:
        """Reads whitespace, if any is next: at most so much that the bound on what is held is just passed."""
        room = self.limits.held + 1 - self._held_length
        while room > 0 and (yield from self.more()):
            text, at = self.text, self.at
            end = min(len(text), at + room)
            while at < end and text[at] in SPACE:
                at += 1
            room -= at - self.at
            self.read_to(at)
            if at < end:
                return

    def read_word(self, allowed: Container[str], longest: int) -> Wait[str]:
        """Reads a run of these characters, `longest` at most; the run, which may be empty."""
        pieces: list[str] = []
        while longest > 0 and (yield from self.more()):
            text, at = self.text, self.at
            end = min(len(text), at + longest)
            while at < end and text[at] in allowed:
                at += 1
            longest -= at - self.at
            pieces.append(self.read_to(at))
            if at < len(text):
                break
        return "".join(pieces)

    def read_literal(self, literal: str, *, fold: bool = False) -> Wait[bool]:
        """Reads exactly this, if it is next; otherwise reads nothing and says False as soon as that is certain.

        With `fold`, letters A to Z count as a to z; `literal` must then be in small letters.
        """
        size = len(literal)
        while True:
            come = self.text[self.at : self.at + size]
            if fold and come.isascii():
                come = come.lower()
            if come == literal:
                self.read_to(self.at + size)
                return True
            if len(come) == size or self.ended or not literal.startswith(come):
                return False
            yield

    def over_held(self) -> bool:
        """Whether more was held than may be while it is open whether a call begins."""
        return self._held_length > self.limits.held

    def find(self, stops: str) -> int:
        """Where in `text`, from `at` on, the first of these characters is; the end of `text` if none is there."""
        text, at = self.text, self.at
        end = len(text)
        for stop in stops:
            found = text.find(stop, at, end)
            if found >= 0:
                end = found
        return end

    # Giving: what is held becomes a piece.

    def _take(self) -> str:
        held = self._held
        text = "".join(held)
        held.clear()
        self._held_length = self._lead = 0
        self._given += len(text)
        return text

    def pass_by(self, count: int) -> None:
        """So many characters of text between calls went another way than through here."""
        self._given += count

    def _pass_to(self, at: int) -> None:
        """With nothing held: what comes up to this place in `text` is text."""
        text = self.text[self.at : at]
        self._given += at - self.at
        self.at = at
        self._append(PieceKind.TEXT, text, "")

    def give_text(self) -> None:
        """What is held is text."""
        if self._held_length:
            self._append(PieceKind.TEXT, self._take(), "")

    def give_text_to(self, at: int) -> None:
        """Reads on to this place in `text`; that and what was held is text."""
        self.read_to(at)
        self.give_text()

    def _append(self, kind: PieceKind, text: str, arguments: str) -> None:
        """Adds to the last piece where that is short, so that a stray bracket makes no piece of its own."""
        pieces = self.pieces
        if pieces:
            last = pieces[-1]
            if last.kind is kind and len(last.text) < SLICE:
                last.text += text
                if arguments:
                    last.arguments += arguments
                return
        pieces.append(Piece(kind, text, "", 0, arguments))

    def give_markup(self) -> None:
        """What is held is markup around calls."""
        if self._held_length:
            self._append(PieceKind.MARKUP, self._take(), "")

    def set_lead(self) -> None:
        """What is held so far is markup, if the next thing is a call."""
        self._lead = self._held_length

    def begin_call(self, name: str) -> None:
        """What is held begins a call of this tool: from here on `give_call`, until `end_call` or `break_call`."""
        if self._calls >= self.limits.calls:
            raise LimitExceeded("the number of calls in one answer", self.limits.calls)
        self._calls += 1
        self._room = self.limits.arguments
        lead, text = self._lead, self._take()
        if lead:
            self.pieces.append(Piece(PieceKind.MARKUP, text[:lead]))
        position = self._given - len(text) + lead
        self.pieces.append(Piece(PieceKind.CALL, text[lead:], name, position))

    def give_call(self, arguments: str = "") -> None:
        """What is held belongs to the open call, and adds this JSON to its arguments."""
        if self._held_length or arguments:
            self._use_room()
            self._append(PieceKind.CALL, self._take(), arguments)

    def give_run(self, at: int, encode: Callable[[str], str] = no_json) -> None:
        """Reads on to this place in `text` and gives it as a stretch of one of the open call's values.

        For what may be cut anywhere: `encode` makes JSON of each part, and all parts joined must be the JSON of the
        whole. Without it this adds nothing to the arguments: space, marks, the rest of a call that is broken. Where the
        bound on a call is reached, what still fits is given: no cut makes a difference there either.
        """
        if self._held_length:
            self.give_call()
        start = self.at
        fits = min(at, start + self._room)
        if fits > start:
            text = self.text[start:fits]
            self.at = fits
            self._room -= fits - start
            self._given += fits - start
            self._append(PieceKind.CALL, text, encode(text))
        if fits < at:
            self._exceeded()

    # Reading on through `give`, which takes what comes up to a place in `text`: `give_text_to`, `give_run` or the like.

    def give_space(self, give: Callable[[int], None]) -> Wait[None]:
        """Gives whitespace, if any is next, however much there is."""
        while (yield from self.more()):
            text, at = self.text, self.at
            end = len(text)
            while at < end and text[at] in SPACE:
                at += 1
            if at > self.at:
                give(at)
            if at < end:
                return

    def give_until(self, mark: str, give: Callable[[int], None]) -> Wait[bool]:
        """Gives all that comes before this mark, and reads the mark; False if it never comes.

        No more is kept waiting than may be the beginning of the mark.
        """
        while (yield from self.more()):
            text = self.text
            found = text.find(mark, self.at)
            if found >= 0:
                give(found)
                self.read_to(found + len(mark))
                return True
            kept = 0
            begun = text.find(mark[0], max(self.at, len(text) - len(mark) + 1))
            while begun >= 0 and not kept:
                kept = len(text) - begun if mark.startswith(text[begun:]) else 0
                begun = text.find(mark[0], begun + 1)
            give(len(text) - kept)
            if len((yield from self.need(kept + 1))) == kept:
                give(self.at + kept)
        return False

    def _use_room(self) -> None:
        self._room -= self._held_length
        if self._room < 0:
            self._exceeded()

    def _exceeded(self) -> NoReturn:
        raise LimitExceeded("the text of one call", self.limits.arguments)

    def end_call(self, arguments: str = "") -> None:
        """The open call has ended with what is held."""
        self._use_room()
        self.pieces.append(Piece(PieceKind.CALL, self._take(), arguments=arguments, done=True))

    def break_call(self, problem: str) -> None:
        """The open call ends with what is held, and cannot run: `problem` says what is wrong, and where (`fault`)."""
        self.pieces.append(Piece(PieceKind.CALL, self._take(), done=True, problem=problem))

    def fault(self, problem: str, place: int | None = None) -> str:
        """For `break_call`: these words and the place that they speak of; without one, how far was read."""
        return f"{problem} (at character {self.position if place is None else place})"

    def note_unknown(self, name: str) -> None:
        """A well-formed call of a tool that there is not: it stays text, and the model can be told."""
        if len(self.unknown) < _UNKNOWN_NAMES and name not in self.unknown:
            self.unknown.append(name)

    def retract(self) -> None:
        """What is held is no call: its first character is text, and the rest is read again."""
        if self._held_length <= self.at:
            self.at -= self._held_length
        else:  # some of it came with an earlier text
            self.text = "".join(self._held) + self.text[self.at :]
            self.at = 0
        self._held.clear()
        self._held_length = self._lead = 0
        self._pass_to(self.at + 1)

    # The loop of a format.

    def prose(
        self, starts: str, begin: Callable[[], Wait[bool]], may_begin: Callable[[str, int], bool] | None = None
    ) -> Wait[None]:
        """Reads an answer to its end: text, and what `begin` finds where one of the characters `starts` is next.

        `begin` reads on from there. It says True when it has given what it read, calls or text, and held nothing back;
        False when this is no call: then the first character is text and reading goes on after it. Calls that alone
        fill a code fence, or begin one, take the fence with them as markup.

        `may_begin`, if given, has a quick look at a text and a place in it: False when what is there can be none,
        however the text goes on. Where it says so `begin` is not asked. That only saves time.
        """
        stops = starts + "`"
        while True:
            if self.at >= len(self.text):
                self.stops = stops
                if not (yield from self.more()):
                    return
                self.stops = ""
            found = self._find_start(stops, may_begin)
            if found > self.at:
                self._pass_to(found)
                continue
            fenced = self.text[found] == "`"
            if fenced:
                if not (yield from self._read_fence(starts)):
                    self.retract()
                    continue
                self.set_lead()
            calls = self._calls
            if not (yield from begin()):
                self.retract()
            elif fenced and self._calls > calls:
                yield from self._read_fenced(starts, begin)

    def _read_fenced(self, starts: str, begin: Callable[[], Wait[bool]]) -> Wait[None]:
        """After a call that begins a code fence: the calls that follow it directly, and the end of the fence."""
        while True:
            yield from self.read_space()
            if (yield from self.read_literal(_FENCE)):
                self.give_markup()
                return
            come = yield from self.need(1)
            if come == "" or come not in starts:
                self.give_text()
                return
            self.set_lead()
            calls = self._calls
            if not (yield from begin()):
                self.retract()
                return
            if self._calls == calls:
                return

    def _find_start(self, stops: str, may_begin: Callable[[str, int], bool] | None) -> int:
        """Where in `text` one of these characters is next and a quick look does not show that it begins nothing; a
        place before that if it is far.
        """
        text, at = self.text, self.at
        length = len(text)
        while at < length:
            # A character that is nowhere must not be looked for to the end at each place where another is.
            far = end = min(length, at + SLICE)
            for stop in stops:
                found = text.find(stop, at, end)
                if found >= 0:
                    end = found
            if end == far:
                return end
            if text[end] == "`":
                come = text[end : end + 4]
                if come != "````" and (len(come) < 3 or come.startswith(_FENCE)):
                    return end
            elif may_begin is None or may_begin(text, end):
                return end
            at = end + 1
        return length

    def _read_fence(self, starts: str) -> Wait[bool]:
        """Reads a line that opens a code fence and the space after it, if one of `starts` comes then."""
        if not (yield from self.read_literal(_FENCE)):
            return False
        yield from self.read_word(_FENCE_WORD, _FENCE_WORD_LENGTH)
        yield from self.read_space()
        come = yield from self.need(1)
        return come != "" and come in starts


class TextReader:
    """The text of one answer in, pieces out: a format's reader over a scanner of its own."""

    def __init__(self, read: Callable[[Scanner], Wait[None]], limits: Limits = DEFAULT_LIMITS) -> None:
        self._scanner = Scanner(limits)
        self._reading = read(self._scanner)
        self._fed = 0
        self._over = False

    @property
    def unknown(self) -> list[str]:
        """Names in well-formed calls that are no tool's: such calls stayed text."""
        return self._scanner.unknown

    def passes(self, text: str) -> bool:
        """Takes text that stands between calls and can begin none: True, and it is TEXT as it is.

        Nearly every delta of an answer is so, and `feed` would say the same, slower.
        """
        stops = self._scanner.stops
        if not stops or self._fed + len(text) > self._scanner.limits.stream:
            return False
        for stop in stops:
            if stop in text:
                return False
        self._fed += len(text)
        self._scanner.pass_by(len(text))
        return True

    def feed(self, text: str, pieces: list[Piece]) -> None:
        """Appends what this text leads to; also what came before a `LimitExceeded`."""
        limit = self._scanner.limits.stream
        self._fed += len(text)
        fits = text if self._fed <= limit else text[: max(0, len(text) - (self._fed - limit))]
        for part in (fits,) if len(fits) <= SLICE else _slices(fits):
            self._scanner.feed(part)
            self._wake(pieces)
        if self._fed > limit:
            raise LimitExceeded("the text of one answer", limit)

    def close(self, pieces: list[Piece]) -> None:
        """The end of the answer: nothing stays held back."""
        self._scanner.ended = True
        self._wake(pieces)

    def _wake(self, pieces: list[Piece]) -> None:
        scanner = self._scanner
        scanner.pieces = pieces
        if not self._over:
            self._over = next(self._reading, self) is self


def _slices(text: str) -> Iterable[str]:
    return (text[at : at + SLICE] for at in range(0, len(text), SLICE))
