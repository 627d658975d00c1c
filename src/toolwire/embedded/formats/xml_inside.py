"""What stands inside a call of the `xml` format: space, comments, quoted text, and how it is given."""

from __future__ import annotations

from collections.abc import Callable

from ..json_source import read_value
from ..marks import give_to
from ..scanner import Scanner, Wait, no_json

CDATA, CDATA_END = "<![CDATA[", "]]>"
MARKERS = {"__START_CONTENT__": "__END_CONTENT__", "__START_PATCH__": "__END_PATCH__"}
"""What stands before and after a long text that may hold anything."""

Take = Callable[[str], str]
"""What makes of a stretch of a value's text what it adds to the arguments."""


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

    def _run(self, at: int, take: Take = no_json) -> None:
        if self._as_text:
            self._scanner.give_text_to(at)
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

    def _read_gap(self) -> Wait[bool]:
        """Reads space and comments; whether a tag comes next."""
        scanner = self._scanner
        while True:
            yield from scanner.give_space(self._run)
            if (yield from scanner.need(1)) != "<":
                return False
            if not (yield from scanner.read_literal("<!--")):
                return True
            if not (yield from give_to(scanner, ("-->",), self._run)):
                return False

    def _read_until(self, mark: str, take: Take) -> Wait[str]:
        """Reads on to this mark, and that; empty if it never comes."""
        return give_to(self._scanner, (mark,), lambda at: self._run(at, take))

    def _read_space(self) -> Wait[None]:
        """Reads space, however much there is."""
        return self._scanner.give_space(self._run)

    def _skip_json(self) -> Wait[None]:
        """Reads the JSON object or array that is next, if one is: what stands in its strings is no tag."""
        yield from self._read_space()
        if (yield from self._scanner.need(1)) in ("{", "["):
            yield from read_value(self._scanner, self._run)

    def _skip_quoted(self) -> Wait[bool]:
        """Reads a CDATA section, or what stands between markers, if that is next; to the end if it never ends."""
        for start, end in ((CDATA, CDATA_END), *MARKERS.items()):
            if (yield from self._scanner.read_literal(start)):
                yield from give_to(self._scanner, (end,), self._run)
                return True
        return False
