"""Text that streams onto a terminal, broken between words and not inside them."""

from __future__ import annotations

from rich.cells import cell_len


class WordWrap:
    """Breaks lines at `width` cells. The last word is held back until it is known to be whole."""

    def __init__(self, width: int) -> None:
        self._width = max(width, 20)
        self._column = 0
        self._space = ""
        self._word = ""

    def feed(self, text: str) -> str:
        """What can be written now."""
        written: list[str] = []
        start = 0
        for end, char in enumerate(text):
            if char in " \t\n":
                self._word += text[start:end]
                start = end + 1
                written.append(self._whole_word())
                if char == "\n":
                    written.append("\n")
                    self._space, self._column = "", 0
                else:
                    self._space += char
        self._word += text[start:]
        if len(self._word) > self._width:
            written.append(self._whole_word())
        return "".join(written)

    def flush(self) -> str:
        """What was held back, at the end of the text."""
        return self._whole_word()

    def _whole_word(self) -> str:
        if not self._word:
            return ""
        word, space = self._word, self._space.replace("\t", "    ")
        self._word = self._space = ""
        size = cell_len(word)
        if self._column and self._column + len(space) + size > self._width:
            self._column = size
            return f"\n{word}"
        if size <= self._width:
            space = space[: self._width - self._column - size]  # of an indent that is too deep, what fits
        self._column += len(space) + size
        return f"{space}{word}"
