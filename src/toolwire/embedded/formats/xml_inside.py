"""What stands inside a call of the `xml` format: space, comments, quoted text, and how it is given."""

from __future__ import annotations

from collections.abc import Callable

from ...json_reader import JsonReader
from ..scanner import SPACE, Scanner, Wait

CDATA, CDATA_END = "<![CDATA[", "]]>"
MARKERS = {"__START_CONTENT__": "__END_CONTENT__", "__START_PATCH__": "__END_PATCH__"}
"""What stands before and after a long text that may hold anything."""

Take = Callable[[str], str]
"""What makes of a stretch of a value's text what it adds to the arguments."""


def no_value(_: str) -> str:
    """For what adds nothing."""
    return ""


class Inside:
    """The text after an opening tag: a call's, or plain text where the tool is unknown."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._as_text = False
        """The tool is unknown: all of the call is text, so that nothing in it begins another."""

    def _give(self, arguments: str = "") -> None:
        if self._as_text:
            self._scanner.give_text()
        else:
            self._scanner.give_call(arguments)

    def _run(self, at: int, take: Take) -> None:
        if self._as_text:
            self._scanner.read_to(at)
            self._scanner.give_text()
        else:
            self._scanner.give_run(at, take)

    def _end(self, arguments: str) -> None:
        if self._as_text:
            self._scanner.give_text()
        else:
            self._scanner.end_call(arguments)

    def _break(self, problem: str) -> None:
        if self._as_text:
            self._scanner.give_text()
        else:
            self._scanner.break_call(problem)

    def _fault(self, problem: str, place: int = -1) -> str:
        return f"{problem} (at character {place if place >= 0 else self._scanner.position})"

    def _read_gap(self) -> Wait[bool]:
        """Reads space and comments; whether a tag comes next."""
        scanner = self._scanner
        while (yield from scanner.more()):
            text, at = scanner.text, scanner.at
            end = len(text)
            while at < end and text[at] in SPACE:
                at += 1
            self._run(at, no_value)
            if at == end:
                continue
            if text[at] != "<":
                return False
            if not (yield from scanner.read_literal("<!--")):
                return True
            if not (yield from self._read_until("-->", no_value)):
                return False
        return False

    def _read_until(self, mark: str, take: Take) -> Wait[bool]:
        """Reads on to this mark, and that; False if it never comes."""
        scanner = self._scanner
        while (yield from scanner.more()):
            text = scanner.text
            found = text.find(mark, scanner.at)
            if found >= 0:
                self._run(found, take)
                scanner.read_to(found + len(mark))
                return True
            kept = 0
            begun = text.find(mark[0], max(scanner.at, len(text) - len(mark) + 1))
            while begun >= 0 and not kept:
                kept = len(text) - begun if mark.startswith(text[begun:]) else 0
                begun = text.find(mark[0], begun + 1)
            self._run(len(text) - kept, take)
            if len((yield from scanner.need(kept + 1))) == kept:
                self._run(scanner.at + kept, take)
        return False

    def _read_json_value(self, take: Take) -> Wait[bool]:
        """Reads the JSON object, array or string that is next; False if it is none."""
        scanner = self._scanner
        reader = JsonReader(scanner.limits, fields=False)
        while not reader.complete and not reader.broken and (yield from scanner.more()):
            self._run(reader.skip(scanner.text, scanner.at), take)
        return reader.complete

    def _skip_json(self) -> Wait[None]:
        """Reads the JSON object or array that is next, if one is: what stands in its strings is no tag."""
        yield from self._read_space()
        if (yield from self._scanner.need(1)) in ("{", "["):
            yield from self._read_json_value(no_value)

    def _read_space(self) -> Wait[None]:
        """Reads space, however much there is."""
        scanner = self._scanner
        while (yield from scanner.more()) and scanner.text[scanner.at] in SPACE:
            yield from scanner.read_space()
            self._give()

    def _skip_quoted(self) -> Wait[bool]:
        """Reads a CDATA section, or what stands between markers, if that is next; to the end if it never ends."""
        for start, end in ((CDATA, CDATA_END), *MARKERS.items()):
            if (yield from self._scanner.read_literal(start)):
                yield from self._read_until(end, no_value)
                return True
        return False
