"""What a program writes for a terminal, as plain text: colours gone, lines that were written over in their last form.

A model reads no escape sequences, and a progress bar is one line to a person and a thousand to it.
"""

from __future__ import annotations

from enum import Enum, auto

LINE = 8_192
"""How much of an unfinished line is held, because it may yet be written over: wider than any terminal. A longer one
stays as it is."""
SEQUENCE = 4_096
"""How long an escape sequence may be: titles and links are shorter. What is longer is text."""

_ESCAPE, _RETURN, _BACK, _BELL = "\x1b", "\r", "\b", "\a"
_PARAMETERS = "0123456789:;<=>?"
_STRINGS = frozenset("]PX^_")
"""What begins a string after an escape: a title, a link, a picture. A bell ends it, or an escape and a backslash."""

_PICTURES: dict[int, int | None] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    ord(_BELL): None,
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0)),
}


def with_pictures(text: str) -> str:
    """The text with other control characters made visible, such as ␀ for NUL; bells and those of C1 are left out."""
    return text.translate(_PICTURES)


class _In(Enum):
    TEXT = auto()
    ESCAPE = auto()
    SHORT = auto()
    """Escape and intermediates, before the last character."""
    CONTROL = auto()
    """Escape and `[`, before the last character."""
    STRING = auto()
    STRING_END = auto()
    """After an escape in a string."""


class TerminalText:
    """Takes text as it comes and gives the lines of it that can change no more. Linear, bounded, the same for any cut.

    A carriage return begins the line again, as does a sequence that goes to its first column; a backspace takes the
    last character. Every other escape sequence is left out. One that is broken loses its escape and is text.
    """

    def __init__(self) -> None:
        self.line = ""
        """The unfinished line, as it is now."""
        self.written_over = 0
        """How many forms of lines were written over and are in no text."""
        self._returned = False
        self._stays = False
        self._state = _In.TEXT
        self._sequence: list[str] = []
        self._settled: list[str] = []

    def feed(self, text: str) -> str:
        """More text; the lines that are settled by it."""
        first, *others = text.split(_ESCAPE)
        self._take_in(first)
        for other in others:
            self._escape()
            self._take_in(other)
        return self._take()

    def close(self) -> str:
        """No more will come: the last line."""
        self._break_off()
        self._settled.append(self.line)
        self.line = ""
        return self._take()

    def _take(self) -> str:
        settled, self._settled = "".join(self._settled), []
        return settled

    def _take_in(self, text: str) -> None:
        """Text without escapes: the rest of a sequence if one has begun, then what follows it."""
        if self._state is not _In.TEXT:
            text = text[self._sequenced(text) :]
        if _BACK not in text:
            self._lines(text)
            return
        first, *others = text.split(_BACK)
        self._lines(first)
        for other in others:
            if not self._returned:
                self.line = self.line[:-1]
            self._lines(other)

    def _lines(self, text: str) -> None:
        """Text without escapes and backspaces."""
        parts = text.split(_RETURN) if _RETURN in text else (text,)
        for number, part in enumerate(parts):
            if number:
                self._returned = True
            if part:
                self._plain(part)

    def _plain(self, text: str) -> None:
        """Text without escapes, returns and backspaces; not empty."""
        if self._returned:
            self._returned = False
            if text[0] != "\n":
                self._begin_again()
        lines, newline, rest = text.rpartition("\n")
        if newline:
            self._settled += (self.line, lines, newline)
            self.line, self._stays = "", False
        if self._stays:
            self._settled.append(rest)
            return
        self.line += rest
        if len(self.line) > LINE:
            self._settled.append(self.line)
            self.line, self._stays = "", True

    def _begin_again(self) -> None:
        if self._stays:
            self._settled.append("\n")
        elif self.line.strip():
            self.written_over += 1
        self.line, self._stays = "", False

    def _escape(self) -> None:
        """An escape: it begins a sequence, or is part of the end of a string."""
        if self._state is _In.STRING:
            self._state = _In.STRING_END
            return
        if self._state is _In.STRING_END:
            self._end()
        elif self._sequence:
            self._break_off()
        self._state = _In.ESCAPE

    def _sequenced(self, text: str) -> int:
        """Takes what belongs to the sequence that has begun; how much of the text that is."""
        if self._state is _In.ESCAPE and text.startswith("["):  # almost all of them: a colour, whole
            rest = text[1:].lstrip(_PARAMETERS)
            length = len(text) - len(rest)
            if rest and "@" <= rest[0] <= "~" and length <= SEQUENCE:
                self._control(rest[0], text[1:length])
                return length + 1
        for place, char in enumerate(text):
            state = self._state
            if state is _In.STRING:
                return self._string(text, place)
            if state is _In.STRING_END:
                self._end()
                if char == "\\":
                    return place + 1
                state = self._state = _In.ESCAPE
            if state is _In.ESCAPE and (char == "[" or char in _STRINGS):
                self._state = _In.CONTROL if char == "[" else _In.STRING
            elif state is _In.CONTROL and "@" <= char <= "~":
                self._control(char, "".join(self._sequence[1:]))
                return place + 1
            elif state is not _In.CONTROL and "0" <= char <= "~":
                self._end()
                return place + 1
            elif " " <= char <= ("?" if state is _In.CONTROL else "/") and len(self._sequence) < SEQUENCE:
                self._state = _In.CONTROL if state is _In.CONTROL else _In.SHORT
            else:
                self._break_off()
                return place
            self._sequence.append(char)
        return len(text)

    def _control(self, last: str, parameters: str) -> None:
        self._end()
        if last == "G" and parameters in ("", "0", "1"):
            self._returned = True

    def _string(self, text: str, place: int) -> int:
        end = place
        room = place + SEQUENCE - len(self._sequence)
        while end < len(text) and end < room and text[end] >= " ":
            end += 1
        self._sequence += text[place:end]
        if end == len(text):
            return end
        if text[end] == _BELL:
            self._end()
            return end + 1
        self._break_off()
        return end

    def _end(self) -> None:
        self._sequence = []
        self._state = _In.TEXT

    def _break_off(self) -> None:
        """What was no escape sequence after all is text, without its escape."""
        text = "".join(self._sequence)
        self._end()
        if text:
            self._plain(text)
