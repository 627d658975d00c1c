"""The linear scanner under all text formats: the text of one answer in, pieces of it out.

A format's reader is a generator that reads through a `Scanner` and stops (`yield`) wherever the text that has come so
far is not enough, so that it is written as if the whole answer were there. What it has read is *held* until it is
given as a piece: of text, of markup around calls, or of a call. So every character comes out exactly once, in order,
and where the text was cut makes no difference.

The promise to keep when writing a reader: decide only on what has been read, never on whether more is there just now.
`more`, `need` and the reading methods wait by themselves; only the end of the answer ends a wait.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator
from enum import IntEnum
from typing import NoReturn, TypeVar

import msgspec

from ..errors import LimitExceeded
from ..limits import DEFAULT_LIMITS, Limits
from ..strict_json import BLANKS

T = TypeVar("T")
Wait = Generator[None, None, T]
"""What waits for text and then gives a `T`: call it with `yield from`."""

SPACE = frozenset(BLANKS)
SLICE = 4096
"""Characters that a reader gets at once: what a search costs is bounded by it, however much is fed."""

_UNKNOWN_NAMES = 20
"""Names of tools that there are not, kept to tell the model: more would help nobody."""
_REPAIRS = 20
"""What was mended in one call, as far as it is told."""


class PieceKind(IntEnum):
    """What a piece of an answer is."""

    TEXT = 0
    MARKUP = 1
    """What stands around calls and is neither: fences, brackets and commas of a list, wrappers."""
    CALL = 2
    REASONING = 3
    MARK = 4
    """What stands around reasoning, or around the answer as a whole: a prompt's layout writes it by itself."""


class Piece(msgspec.Struct, gc=False):
    """A stretch of the answer. All `text` joined is the answer; `arguments` of one call joined are JSON.

    The pieces of a call follow one another. The first has a `position` (the characters of the answer before it) and
    the call's `name`, which is empty where the call broke before it; the last is `done`, and has a `problem` if the
    call cannot run. `call_id` is the id that stands in the text, with the first piece, or with the last where it comes
    after the arguments.
    """

    kind: PieceKind
    text: str
    name: str = ""
    position: int = -1
    arguments: str = ""
    done: bool = False
    problem: str = ""
    call_id: str = ""
    repairs: tuple[str, ...] = ()
    """What was mended in the call, and where: with the last piece, and only if the scanner was asked to `repair`."""


def no_json(_: str) -> str:
    """The JSON of what adds nothing to a call's arguments."""
    return ""


class Scanner:
    """The text that has come, how far it was read, and the pieces that were made of it."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, reasoning: bool = False, repair: bool = False) -> None:
        self.limits = limits
        self.repair = repair
        """Whether a malformed call may be mended: what was done is then told with it."""
        self.plain = PieceKind.REASONING if reasoning else PieceKind.TEXT
        """What is no call is this just now. An answer begins with reasoning where its prompt opened it."""
        self.said = False
        """Text other than space has come since the answer, its last call or its last reasoning."""
        self.format = ""
        """The name of the format that shows in the answer, where that had to be found."""
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
        self.calls = 0
        """How many calls of known tools have begun."""
        self._room = 0
        self._foreign = ""
        """The call that is open, or the last one, is of this tool, which there is not: it is text as a whole."""
        self._repairs: dict[str, str] = {}
        """What was mended in the open call: each kind once, with the place where it came first."""

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

    def pass_by(self, text: str) -> None:
        """This text, which stands between calls, went another way than through here."""
        self._given += len(text)
        self.said = self.said or bool(text.strip())
        self._foreign = ""

    def pass_to(self, at: int) -> None:
        """With nothing held: what comes up to this place in `text` is no call."""
        text = self.text[self.at : at]
        self._given += at - self.at
        self.at = at
        self._foreign = ""
        self._append_plain(text)

    def _append_plain(self, text: str) -> None:
        self.said = self.said or bool(text.strip())
        self._append(self.plain, text, "")

    def give_text(self) -> None:
        """What is held is text, or reasoning where that is open (`plain`)."""
        if self._held_length:
            self._append_plain(self._take())

    def give_text_to(self, at: int) -> None:
        """Reads on to this place in `text`; that and what was held is text, or reasoning where that is open."""
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
        pieces.append(Piece(kind, text, "", -1, arguments))

    def give_markup(self) -> None:
        """What is held is markup around calls; directly after a call that is text as a whole, it is text too."""
        if self._foreign:
            self.give_text()
        elif self._held_length:
            self._append(PieceKind.MARKUP, self._take(), "")

    def give_mark(self) -> None:
        """What is held is a mark around reasoning, or around the answer as a whole: never a part of one."""
        self._foreign = ""
        self.pieces.append(Piece(PieceKind.MARK, self._take()))

    def set_lead(self) -> None:
        """What is held so far is markup, if the next thing is a call."""
        self._lead = self._held_length

    def begin_call(self, name: str, call_id: str = "", *, known: bool = True) -> None:
        """What is held begins a call of this tool: from here on `give_call`, until `end_call` or `break_call`.

        `name` is empty for a call that is broken before its name. A call of a tool that there is not (`known=False`) is
        read like any other and is text as a whole; if it ends well, `unknown` names it. Reasoning that is open ends.
        """
        self._foreign = "" if known else name
        if self._foreign:
            self.give_text()
            return
        if self.calls >= self.limits.calls:
            raise LimitExceeded("the number of calls in one answer", self.limits.calls)
        self.calls += 1
        self.plain = PieceKind.TEXT
        self._room = self.limits.arguments
        lead, text = self._lead, self._take()
        if lead:
            self.pieces.append(Piece(PieceKind.MARKUP, text[:lead]))
        position = self._given - len(text) + lead
        self.pieces.append(Piece(PieceKind.CALL, text[lead:], name, position, call_id=call_id))

    def give_call(self, arguments: str = "") -> None:
        """What is held belongs to the open call, and adds this JSON to its arguments."""
        if self._foreign:
            self.give_text()
        elif self._held_length or arguments:
            self._use_room()
            self._append(PieceKind.CALL, self._take(), arguments)

    def give_run(self, at: int, encode: Callable[[str], str] = no_json) -> None:
        """Reads on to this place in `text` and gives it as a stretch of one of the open call's values.

        For what may be cut anywhere: `encode` makes JSON of each part, and all parts joined must be the JSON of the
        whole. Without it this adds nothing to the arguments: space, marks, the rest of a call that is broken. Where the
        bound on a call is reached, what still fits is given: no cut makes a difference there either.
        """
        if self._foreign:
            self.give_text_to(at)
            return
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

    def _use_room(self) -> None:
        self._room -= self._held_length
        if self._room < 0:
            self._exceeded()

    def _exceeded(self) -> NoReturn:
        raise LimitExceeded("the text of one call", self.limits.arguments)

    def end_call(self, arguments: str = "", call_id: str = "") -> None:
        """The open call has ended with what is held; `call_id` is the one that came after the arguments, if any did."""
        self.said = False
        if self._foreign:
            self.note_unknown(self._foreign)
            self.give_text()
            return
        self._use_room()
        repairs, self._repairs = tuple(self._repairs.values()), {}
        self.pieces.append(
            Piece(PieceKind.CALL, self._take(), arguments=arguments, done=True, call_id=call_id, repairs=repairs)
        )

    def break_call(self, problem: str) -> None:
        """The open call ends with what is held, and cannot run: `problem` says what is wrong, and where (`fault`)."""
        self.said = False
        # What follows may be what the broken call quotes. Mended, it might become a call.
        self.repair = False
        if self._foreign:
            self.give_text()
            return
        self._repairs.clear()
        self.pieces.append(Piece(PieceKind.CALL, self._take(), done=True, problem=problem))

    def note_repair(self, what: str) -> None:
        """Something in the open call was mended, here."""
        if not self._foreign and len(self._repairs) < _REPAIRS:
            self._repairs.setdefault(what, self.fault(what))

    def fault(self, problem: str, place: int | None = None) -> str:
        """For `break_call`: these words and the place that they speak of; without one, how far was read."""
        return f"{problem} (at character {self.position if place is None else place})"

    def note_unknown(self, name: str) -> None:
        """A well-formed call of a tool that there is not: it stays text, and the model can be told."""
        if len(self.unknown) < _UNKNOWN_NAMES and name not in self.unknown:
            self.unknown.append(name)

    def unread(self) -> None:
        """What is held is read again."""
        if self._held_length <= self.at:
            self.at -= self._held_length
        else:  # some of it came with an earlier text
            self.text = "".join(self._held) + self.text[self.at :]
            self.at = 0
        self._held.clear()
        self._held_length = self._lead = 0

    def unread_to(self, size: int) -> None:
        """So many characters stay held; the others that are held are read again."""
        lead = self._lead
        self.unread()
        self.read_to(self.at + size)
        self._lead = lead

    def retract(self) -> None:
        """What is held is no call: its first character is text, and the rest is read again."""
        self.unread()
        self.pass_to(self.at + 1)
