"""What a call was asked to do, as it is best seen: a file as a file, an edit as a diff, a command as a command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rich.cells import cell_len

from ...agent.events import ApprovalAsked
from ...approval.hidden import marked
from ...stream.segments import SegmentType
from ...tools.forms import form_of
from .call import Call, State
from .changes import (
    Mark,
    Replacement,
    change_lines,
    counted,
    growing_marks,
    is_diff,
    is_new_file,
    marks_of,
    replaced,
    replacements,
)
from .code import AT_ONCE, Code, Whole, above, more
from .fields import Path, spelled
from .growing import GrowingText
from .line import MUTED, TAB, Line, fit, quiet
from .syntax import coloured, is_ready, language_of, prepare

LIVE, LIVE_OPEN = 12, 40
"""Last lines that are shown of what still arrives; the second where the card is open."""
SETTLED = 8
"""First lines of what has arrived."""
_CHANGES = 16
"""Lines of a diff: less says too little to be of use."""
_VALUE, _VALUE_OPEN = 5, 400
"""Lines of one value among others."""
_FIELDS_LIVE, _FIELDS = 8, 6
_FIELDS_OPEN = 400
_CHANGES_OPEN = 2_000
_COMPARED = 50
"""Changes of one call that are told line by line; of the others, all lines go and all come."""
_LABEL_WIDTH = 24
"""Cells of the name of an argument beside which its value still has room on a narrow screen."""
_LABEL = "$text-secondary"


class Body:
    """The lines of one call's arguments. It keeps what is costly to make: colours, and large texts whole."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._form = form_of(call.tool_name)
        self._code = Code()
        self._large: tuple[object, list[Line]] | None = None
        self._wanted: tuple[object, Callable[[], list[Line]]] | None = None
        self._made: tuple[tuple[object, ...], list[Line]] | None = None
        self._counted = ""
        self._in_head = True
        self._change_of: tuple[ApprovalAsked, list[Mark]] | None = None

    @property
    def path(self) -> str:
        """The file that the call is about; empty if it names none."""
        known = self._call.head.get(self._form.head or "path")
        if isinstance(known, str) and self._call.arguments is None:
            return known
        text = self._call.fields.get(self._form.head or "path", "path", "file_path", "filename", "file")
        return text.beginning(1_000) if text is not None else ""

    @property
    def telling(self) -> tuple[Path, str]:
        """The argument that stands in the head of the card, and its text. None for a command: it is the body."""
        if self._call.kind is SegmentType.RUN_BASH:
            return (), ""
        if self._call.kind is not SegmentType.TOOL_CALL and self.path:
            return (self._form.head or "path",), self.path
        return self._call.fields.telling()

    @property
    def size(self) -> str:
        """How much there is of it: lines and bytes of a file, lines that come and go."""
        call = self._call
        if call.kind is SegmentType.WRITE_FILE and (text := self._file()) is not None:
            lines = f"{text.count:,} line{'' if text.count == 1 else 's'} · {_bytes(text.bytes)}"
            return f"{lines} · CRLF" if text.crlf else lines
        return self._counted

    async def prepare(self, *languages: str) -> bool:
        """Does what takes longer than a moment, beside the loop; whether there is more to paint after it."""
        is_new = await prepare(self._language, *languages)
        wanted, self._wanted = self._wanted, None
        if wanted is None:
            return is_new
        key, make = wanted
        self._large = key, await asyncio.to_thread(make)
        self._made = None
        return True

    def lines(self, *, is_open: bool, in_head: bool = True) -> list[Line]:
        """The lines to show now. Made again only where something can have changed.

        `in_head`: the telling argument stands whole in the head, and so need not be here.
        """
        call = self._call
        self._in_head = in_head
        key = (call.fields, call.asked, call.state is State.STREAMING, is_open, in_head, is_ready(self._language))
        if self._is_cut or self._wanted is not None or self._made is None or self._made[0] != key:
            if not is_open:
                self._large = None
            self._made = key, self._lines(is_open)
        return self._made[1]

    def _lines(self, is_open: bool) -> list[Line]:
        call = self._call
        if not call.fields.texts and call.arguments is None:
            return self._unread(is_open)
        if call.kind is SegmentType.RUN_BASH:
            return self._command_lines(is_open)
        shown: set[Path] = set()
        lines: list[Line] = []
        pairs = replacements(call.fields.texts) if call.kind is not SegmentType.WRITE_FILE else []
        real = self._real_change()
        patch = self._patch()
        if real is not None:
            lines = self._change(real, is_open)
            shown.update(path for pair in pairs for path in pair[:2])
            shown.update((name,) for name in self._form.body)
        elif call.kind is SegmentType.WRITE_FILE and (text := self._file()) is not None:
            lines = self._file_lines(text, is_open)
            shown.add(self._file_path())
        elif patch is not None:
            lines = self._patch_lines(patch, is_open)
            shown.update((name,) for name in self._form.body)
        elif pairs:
            lines = self._pair_lines(pairs, is_open)
            shown.update(path for pair in pairs for path in pair[:2])
        return [*self._field_lines(shown, is_open), *lines]

    # ---- what the arguments are

    @property
    def _language(self) -> str:
        return "bash" if self._call.kind is SegmentType.RUN_BASH else language_of(self.path)

    @property
    def _grows(self) -> bool:
        return self._call.arguments is None and self._call.state is State.STREAMING

    @property
    def _is_cut(self) -> bool:
        return self._call.arguments is None

    def _file_path(self) -> Path:
        names = (*self._form.body, "content", "text", "body")
        return next(((name,) for name in names if (name,) in self._call.fields.texts), ())

    def _file(self) -> GrowingText | None:
        return self._call.fields.texts.get(self._file_path())

    def _command(self) -> GrowingText | None:
        return self._call.fields.get(*self._form.body, "command", "cmd")

    def _patch(self) -> GrowingText | None:
        if self._call.kind is not SegmentType.EDIT_FILE:
            return None
        text = self._call.fields.get(*self._form.body)
        return text if text is not None and text.size else None

    def _real_change(self) -> list[Mark] | None:
        """What the tool itself says that it would change. After the person changed the call it is another."""
        asked = self._call.asked
        if asked is None or self._call.edited or not is_diff(asked.request.preview):
            return None
        if self._call.kind is SegmentType.WRITE_FILE and is_new_file(asked.request.preview):
            return None
        if self._change_of is None or self._change_of[0] is not asked:
            self._change_of = asked, list(marks_of(asked.request.preview.removesuffix("\n").split("\n")))
        return self._change_of[1]

    # ---- how they are shown

    def _unread(self, is_open: bool) -> list[Line]:
        """What the model wrote, where no argument of it could be read."""
        text = self._call.raw
        if not text.size:
            return []
        _, lines = text.last(LIVE_OPEN if is_open else 3)
        return [Line(fit(line), MUTED, "  ", rows=0 if is_open else 2) for line in lines]

    def _file_lines(self, text: GrowingText, is_open: bool) -> list[Line]:
        language = self._language
        if self._is_cut:
            return self._code.end(text, LIVE_OPEN if is_open else LIVE, language)
        if not is_open:
            return self._code.beginning(text, SETTLED, language)
        whole = Whole(text.text(), language, text.count, text.left_out)
        if whole.is_quick:
            return whole.lines()
        return self._in_thread(whole, whole.lines, self._code.beginning(text, SETTLED, language))

    def _in_thread(self, key: object, make: Callable[[], list[Line]], meanwhile: list[Line]) -> list[Line]:
        """Lines that take longer than a moment to make: they come with the next painting."""
        if self._large is not None and self._large[0] == key:
            return self._large[1]
        self._wanted = key, make
        return [*meanwhile, quiet("reading all of it …")]

    def _change(self, marks: list[Mark], is_open: bool) -> list[Line]:
        self._counted = counted(marks)
        most = _CHANGES_OPEN if is_open else _CHANGES
        shown, language = marks[:most], self._language
        if len(shown) > AT_ONCE:
            meanwhile = change_lines(shown[:_CHANGES], language, rows=1)
            lines = self._in_thread((shown, language), lambda: change_lines(shown, language, rows=0), meanwhile)
        else:
            lines = change_lines(shown, language, rows=0 if is_open else 1)
        return [*lines, quiet(more(len(marks) - most))] if len(marks) > most else lines

    def _patch_lines(self, patch: GrowingText, is_open: bool) -> list[Line]:
        if not self._is_cut:
            return self._change(list(marks_of(patch.first(_CHANGES_OPEN), self.path)), is_open)
        most = LIVE_OPEN if is_open else LIVE
        first, lines = patch.last()
        # From the header of a hunk on the numbers are known; it is looked for among the lines at hand.
        known = first == 1 or any(line.startswith("@@") for line in lines)
        marks = list(marks_of(lines if known else ["@@", *lines], self.path))
        shown = change_lines(marks[-most:], self._language, rows=1)
        hidden = first - 1 + max(len(marks) - most, 0)
        return [quiet(above(hidden)), *shown] if hidden else shown

    def _pair_lines(self, pairs: list[Replacement], is_open: bool) -> list[Line]:
        language = self._language
        if not self._is_cut:
            marks: list[Mark] = []
            for number, pair in enumerate(pairs):
                if marks:
                    marks.append(Mark("@", "@@ @@"))
                marks += replaced(pair, self.path, compared=number < _COMPARED)
            return self._change(marks, is_open)
        most = LIVE_OPEN if is_open else LIVE
        hidden, marks = growing_marks(pairs[-1], most)
        lines = change_lines(marks, language, rows=1)
        if len(pairs) > 1:
            lines.insert(0, quiet(above(len(pairs) - 1, "change")))
        return [quiet(f"… {hidden:,} more lines"), *lines] if hidden else lines

    def _command_lines(self, is_open: bool) -> list[Line]:
        text = self._command()
        lines: list[Line] = []
        if text is not None:
            if self._grows:
                _, texts = text.last(LIVE_OPEN if is_open else LIVE)
            else:
                texts = text.first(_CHANGES_OPEN if is_open else LIVE)
            # A person decides upon it: what could be misread is marked.
            fitted = [marked(each.expandtabs(TAB)) for each in texts]
            spans = coloured(fitted, "bash") if len(fitted) <= AT_ONCE else [[] for _ in fitted]
            for number, (line, colours) in enumerate(zip(fitted, spans, strict=True)):
                gutter = "$ " if number == 0 else "  "
                lines.append(Line(line, "", gutter, "bold $text-primary", colours, 0 if is_open else 4))
            hidden = text.count - len(texts)
            if hidden > 0:
                lines = [quiet(above(hidden)), *lines] if self._grows else [*lines, quiet(more(hidden))]
        return [*lines, *self._field_lines({(self._form.head,), *((name,) for name in self._form.body)}, is_open)]

    def _field_lines(self, shown: set[Path], is_open: bool) -> list[Line]:
        """All other arguments, `name: value`; not the one that stands whole in the head."""
        fields = self._call.fields
        told, words = self.telling
        text = fields.texts.get(told)
        if self._in_head and text is not None and text.size == len(words) and words == words.strip():
            shown = shown | {told}
        left = [(path, text) for path, text in fields.texts.items() if path not in shown]
        most = _FIELDS_OPEN if is_open else _FIELDS_LIVE if self._grows else _FIELDS
        hidden = len(left) + fields.left_out - most
        lines: list[Line] = []
        for path, text in left[-most:] if self._grows else left[:most]:
            lines += self._value(path, text, is_open)
        if hidden > 0:
            count = max(hidden, fields.left_out)
            if self._grows:
                lines.insert(0, quiet(above(count, "value")))
            else:
                lines.append(quiet(more(count, "value") if not is_open else f"… {count:,} more values"))
        return lines

    def _value(self, path: Path, text: GrowingText, is_open: bool) -> list[Line]:
        label = f"{spelled(path)}: "
        most = _VALUE_OPEN if is_open else _VALUE
        rows = 0 if is_open else 2
        if text.count <= 1:
            _, lines = text.last(1)
            line = (marked if path == self.telling[0] else fit)(lines[0]) if lines else ""
            if cell_len(label) <= _LABEL_WIDTH:
                return [Line(line, "", label, _LABEL, rows=rows, by_words=True)]
            return [Line(label, _LABEL, rows=rows), Line(line, "", "│ ", rows=rows, by_words=True)]
        first, lines = text.last(LIVE_OPEN if is_open else LIVE) if self._grows and not text.done else (1, [])
        if lines:
            return [
                Line(label, _LABEL, rows=rows),
                *([quiet(above(first - 1), "│ ")] if first > 1 else []),
                *(Line(fit(line), "", "│ ", rows=1) for line in lines),
            ]
        lines = text.first(most)
        made = [Line(fit(line[:4_000]), "", "│ ", rows=rows, by_words=True) for line in lines]
        if text.count > most:
            # Folded in its middle: how it ends says as much as how it begins.
            _, end = text.last(2)
            made[most - 2 :] = [
                quiet(f"… {text.count - most:,} lines …", "│ "),
                *(Line(fit(line), "", "│ ", rows=rows, by_words=True) for line in end),
            ]
        return [Line(label, _LABEL, rows=rows), *made]


def _bytes(count: int) -> str:
    if count < 1_000:
        return f"{count} byte{'' if count == 1 else 's'}"
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
