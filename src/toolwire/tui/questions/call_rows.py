"""What a person reads before they answer: everything about one call, in rows. What they may misread stands first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rich.cells import cell_len

from ...approval.hidden import marked
from ...approval.misreading import warnings
from ...approval.request import ApprovalRequest
from ...approval.shown import show_arguments, whole_text
from ...cli.question import NO_RULE, SENTENCE_CHARACTERS, SHOWN_PARTS, difference_style, headed, is_known_content
from ...tools.forms import form_of
from .rows import Piece, Row, quoted, said
from .shell_colours import coloured

_DIFFERENCE_KINDS = {"green": "added", "red": "removed", "cyan": "place", "bold": "strong"}
_TOLD_ROWS = 2
"""Of a sentence about the change that stands above the arguments: it may quote them, and must not push them away."""
_NAME_CHARACTERS = 60
"""Of a tool's name that stands in the head."""


class Reading(NamedTuple):
    """What is to be read of a call."""

    request: ApprovalRequest
    changed: dict[str, Any] | None = None
    """The arguments that the person would run it with instead."""
    whole: bool = False
    """All of the arguments, however long."""

    @property
    def arguments(self) -> dict[str, Any]:
        """What it would run with."""
        return self.request.invocation.arguments if self.changed is None else self.changed

    @property
    def is_cut(self) -> bool:
        """Whether some of the arguments is not shown."""
        if self.whole:
            return False
        return not (self.request.fully_shown if self.changed is None else show_arguments(self.changed).complete)


def call_head(request: ApprovalRequest, width: int) -> str:
    """What wants to run, in the line above all; also where, if that fits. Its first row says how risky it is."""
    name = marked(request.invocation.tool_name)
    short = name if len(name) <= _NAME_CHARACTERS else f"{name[:_NAME_CHARACTERS]}…"
    risk = marked(request.risk)[:40]
    head = f"{short} wants to run (risk: {risk})"
    if cell_len(head) + 3 > width:
        return f"Risk {risk}: {short}"
    where = _where(request)
    return f"{head} {where}" if cell_len(head) + cell_len(where) + 4 < width else head


def _where(request: ApprovalRequest) -> str:
    return f"in {marked(request.cwd)}"


def call_rows(reading: Reading, width: int) -> list[Row]:
    """All there is to know before the answer, in rows of this width: what may be misread first, then what runs."""
    request = reading.request
    rows = list[Row]()
    if reading.changed is None:
        rows += _warned(request.warnings, width)
        for repair in request.invocation.repairs:
            rows += _sentence(f"The call was malformed and is a guess: {marked(repair)}", width, "warning")
    else:
        rows += _sentence("You changed the arguments. It would run with these instead:", width, "warning")
        rows += _warned(warnings(reading.changed), width)
    if reading.is_cut:
        once = "" if reading.changed is not None else " It can only be allowed once."
        rows += _sentence(f"Not all of the arguments is shown: v shows everything.{once}", width, "warning")
    why = list(_why(request, width))
    # A reason quotes the call, and so a model can make it long: what runs must not be pushed out of sight by it.
    return [*rows, *why, *_what_runs(reading, width)] if len(why) == 1 else [*rows, *_what_runs(reading, width), *why]


def lasting_rows(request: ApprovalRequest, width: int, kept_in: str) -> list[Row]:
    """What an answer can hold for, if for longer than once."""
    kept = f" (always: kept in {marked(kept_in)})" if kept_in else ""
    yes = [offer.words for offer in request.offers] if request.fully_shown else []
    no = [offer.words for offer in request.refusals]
    rows = list[Row]()
    if yes:
        also = " or denied" if yes == no else ""
        rows += _numbered(f"It can be allowed{also} for longer{kept}:", yes, width)
    if no and yes != no:
        rows += _numbered(f"It can be denied for longer{kept}:", no, width)
    return rows


def argument_rows(shown: str, width: int, command: str = "") -> Iterator[Row]:
    """Arguments as `approval.shown` writes them, behind bars; the one named `command` in the colours of a shell."""
    begun = ""
    for line in shown.split("\n"):
        name, colon, value = line.partition(":")
        if line[:1] in ("|", " ", "]", "}", "…") or not colon or not line:
            pieces = _block_line(line, begun == command)
        else:
            begun = name
            is_command = name == command and value.startswith(" ") and value[1:2] not in ('"', "[", "{")
            pieces = (Piece(f"{name}:", "name"), *(coloured(value) if is_command else [Piece(value)]))
        yield from quoted(pieces, width)


def difference_rows(difference: str, width: int) -> Iterator[Row]:
    """A change behind bars, in the colours of a diff."""
    for line in difference.removesuffix("\n").split("\n"):
        yield from quoted((Piece(line, _DIFFERENCE_KINDS.get(difference_style(line), "")),), width)


def quoted_text(text: str, width: int) -> Iterator[Row]:
    """Words of somebody else behind bars, with marks for what is hidden in them."""
    for line in text.split("\n"):
        yield from quoted((Piece(marked(line)),), width)


def _block_line(line: str, is_command: bool) -> tuple[Piece, ...]:
    if not line.startswith("|"):
        return (Piece(line),)
    return (Piece(line[:2], "dim"), *(coloured(line[2:]) if is_command else [Piece(line[2:])]))


def _why(request: ApprovalRequest, width: int) -> Iterator[Row]:
    by = "" if request.source in NO_RULE else f" ({marked(request.source)})"
    yield from _sentence(f"Asked because {marked(request.why)}{by}", width, "dim")
    if not call_head(request, width + 1).endswith(_where(request)):
        yield from _sentence(f"In {marked(request.cwd)}", width, "dim")


def _what_runs(reading: Reading, width: int) -> Iterator[Row]:
    """The change, then the arguments, then what they do. Of a new file the arguments are the change."""
    request = reading.request
    preview = "" if reading.changed is not None else request.preview
    later = list[Row]()
    if preview and is_known_content(request):
        yield from _sentence("It would make a new file.", width, "strong")
    elif preview and "\n" not in preview:
        told = list(_sentence(preview, width, "warning"))
        if len(told) <= _TOLD_ROWS:
            yield from told
        else:
            later = told
    elif preview:
        words, below = headed(preview)
        yield from _sentence(words, width, "strong")
        yield from difference_rows(below, width)
        yield from _sentence("The arguments:", width, "strong")
    elif request.preview:
        yield from _sentence("What that would change in the file is not shown.", width, "warning")
    form = form_of(request.invocation.tool_name)
    yield from argument_rows(_shown(reading), width, form.head if form.segment == "run_bash" else "")
    yield from later
    if reading.changed is None and request.parts not in ((), ("the call",)):
        yield from _sentence("What it does:", width, "strong")
        for part in request.parts[:SHOWN_PARTS]:
            yield from _sentence(f"• {marked(part)}", width)
        if len(request.parts) > SHOWN_PARTS:
            yield from _sentence(f"• and {len(request.parts) - SHOWN_PARTS:,} more", width)


def _shown(reading: Reading) -> str:
    if reading.whole:
        return whole_text(reading.arguments)
    return reading.request.shown if reading.changed is None else show_arguments(reading.changed).text


def _warned(found: Iterable[str], width: int) -> Iterator[Row]:
    for warning in found:
        yield from _sentence(f"Look out: {warning}", width, "danger")


def _numbered(heading: str, choices: Iterable[str], width: int) -> Iterator[Row]:
    yield from _sentence(heading, width, "strong")
    for number, words in enumerate(choices, 1):
        yield from _sentence(f"{number}. {marked(words)}", width)


def _sentence(text: str, width: int, kind: str = "") -> Iterator[Row]:
    if len(text) > SENTENCE_CHARACTERS:
        text = f"{text[:SENTENCE_CHARACTERS]}… {len(text) - SENTENCE_CHARACTERS:,} more characters"
    return said(text, width, kind)


def long_text(tool_name: str, arguments: Mapping[str, Any]) -> str:
    """The argument that is edited by itself: a command, or the one text of several lines. Empty: there is none."""
    form = form_of(tool_name)
    if form.segment == "run_bash" and isinstance(arguments.get(form.head), str):
        return form.head
    long = [name for name, value in arguments.items() if isinstance(value, str) and "\n" in value]
    return long[0] if len(long) == 1 else ""
