"""`TextReader`: a format's reader fed with the text of one answer as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..errors import LimitExceeded
from ..limits import DEFAULT_LIMITS, Limits
from .scanner import SLICE, Piece, PieceKind, Scanner, Wait


class TextReader:
    """The text of one answer in, pieces out: a format's reader over a scanner of its own."""

    def __init__(
        self,
        read: Callable[[Scanner], Wait[None]],
        limits: Limits = DEFAULT_LIMITS,
        *,
        reasoning: bool = False,
        repair: bool = False,
    ) -> None:
        self._scanner = Scanner(limits, reasoning=reasoning, repair=repair)
        self._reading = read(self._scanner)
        self._fed = 0
        self._over = False

    @property
    def unknown(self) -> list[str]:
        """Names in well-formed calls that are no tool's: such calls stayed text."""
        return self._scanner.unknown

    @property
    def format(self) -> str:
        """The name of the format that shows in the answer, where that had to be found and was."""
        return self._scanner.format

    @property
    def plain(self) -> PieceKind:
        """What is no call is this just now: text, or reasoning."""
        return self._scanner.plain

    def passes(self, text: str) -> bool:
        """Takes text that stands between calls and can begin none: True, and it is `plain` as it is.

        Nearly every delta of an answer is so, and `feed` would say the same, slower.
        """
        stops = self._scanner.stops
        if not stops or self._fed + len(text) > self._scanner.limits.stream:
            return False
        for stop in stops:
            if stop in text:
                return False
        self._fed += len(text)
        self._scanner.pass_by(text)
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
